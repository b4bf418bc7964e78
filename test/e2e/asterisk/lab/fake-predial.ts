/** A server in the place of callgate that answers `gate-curl` whatever it is told to. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

interface WholeReply {
  readonly body: string
  /** 200 unless given. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Says that so many bytes more are to come, and closes. */
  readonly missing?: number
  /** Sends one character at a time, with so long a pause after each. */
  readonly everyMs?: number
}
/** `bytes` stand in the place of status line, headers and body. */
export type FakeReply = WholeReply | { readonly bytes: string } | 'silence'

interface AskedPredial {
  readonly path: string
  readonly authorization: string | undefined
  readonly fields: Readonly<Record<string, string>>
}

export interface FakePredial {
  /** For `CALLGATE_URL`. */
  readonly url: string
  /** Requests so far. */
  readonly asked: readonly AskedPredial[]
  close(): Promise<void>
}

/** `reply` gets the path and the number that is asked about. */
export async function startFakePredial(
  reply: (path: string, number: string) => FakeReply,
): Promise<FakePredial> {
  const asked: AskedPredial[] = []
  const server = createServer((request, response) => {
    bodyOf(request).then((body) => {
      const fields = Object.fromEntries(new URLSearchParams(body))
      const path = request.url ?? ''
      asked.push({ path, authorization: request.headers.authorization, fields })
      send(reply(path, fields.number ?? ''), response)
    }, request.destroy)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1/predial`,
    asked,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  return body
}

function send(reply: FakeReply, response: ServerResponse): void {
  if (reply === 'silence') return
  if ('bytes' in reply) {
    response.socket?.end(reply.bytes)
    return
  }
  const { body, status = 200, headers = {}, missing = 0, everyMs } = reply
  const bytes = Buffer.from(body)
  response.writeHead(status, {
    'content-type': 'text/plain',
    'content-length': String(bytes.length + missing),
    ...headers,
  })
  if (everyMs !== undefined) drip(bytes, everyMs, response)
  else if (missing > 0) response.write(bytes, () => response.socket?.end())
  else response.end(bytes)
}

function drip(bytes: Buffer, everyMs: number, response: ServerResponse): void {
  let at = 0
  const timer = setInterval(() => {
    response.write(bytes.subarray(at, at + 1))
    at += 1
    if (at < bytes.length) return
    clearInterval(timer)
    response.end()
  }, everyMs)
  response.once('close', () => clearInterval(timer))
}
