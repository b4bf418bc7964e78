/** Reads what clients write to standard input, and reports mistakes that the library silently ignores. */
import { createInterface } from 'node:readline'
import { PassThrough, type Readable, type Writable } from 'node:stream'

const parseError = { code: -32_700, message: 'Parse error: not a line of JSON' }
const invalidRequest = { code: -32_600, message: 'Invalid Request: not a JSON-RPC 2.0 message' }

/**
 * Yields one message per line: without a byte order mark, and each message of a batch separately. A line that is not a
 * message is answered with an error, since its sender would wait forever.
 */
export function readMessages(input: Readable, output: Writable): Readable {
  const messages = new PassThrough()
  const refuse = (error: object, id: unknown = null) =>
    void output.write(`${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`)
  const pass = (message: unknown) => {
    const { jsonrpc, id } = (message ?? {}) as { readonly jsonrpc?: unknown; readonly id?: unknown }
    if (jsonrpc === '2.0') messages.write(`${JSON.stringify(message)}\n`)
    else refuse(invalidRequest, ['string', 'number'].includes(typeof id) ? id : null)
  }
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
  lines.on('line', (line) => {
    const text = line.replace(/^\uFEFF/, '')
    if (text.trim() === '') return
    let content: unknown
    try {
      content = JSON.parse(text)
    } catch {
      return refuse(parseError)
    }
    if (!Array.isArray(content)) return pass(content)
    if (content.length === 0) return refuse(invalidRequest)
    for (const message of content) pass(message)
  })
  lines.on('close', () => messages.end())
  return messages
}
