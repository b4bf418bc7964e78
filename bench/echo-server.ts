/**
 * A child process that answers without doing anything: `http` on bare `node:http`, `express` on express,
 * `flushing` on `node:http` once a text of as many bytes has been appended to a file in the working folder
 * and flushed, together with those of all that wait. A pre-dial request is answered with its address; of a
 * decision, the JSON of the body is read and answered with a text of as many bytes as the third argument
 * says. Sends the port to its parent.
 */
import { open } from 'node:fs/promises'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'

const [, , kind, answerBytes = '0'] = process.argv

/** With the number of the request, so that the body must have been read. */
function answerTo({ number }: { readonly number?: string }): object {
  const answer = { decision: 'echo', number, filler: '' }
  const missing = Number(answerBytes) - JSON.stringify(answer).length
  return { ...answer, filler: 'x'.repeat(Math.max(0, missing)) }
}

const answerBare: RequestListener = async (request, response) => {
  const isDecision = request.method === 'POST'
  const text = isDecision
    ? JSON.stringify(answerTo(JSON.parse(await readBody(request))))
    : `${request.url}\n`
  if (kind === 'flushing') await append()
  response.writeHead(200, {
    'Content-Type': isDecision ? 'application/json; charset=utf-8' : 'text/plain; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
  })
  response.end(text)
}

function readBody(request: IncomingMessage): Promise<string> {
  return new Promise((resolve) => {
    const parts: Buffer[] = []
    request.on('data', (bytes: Buffer) => parts.push(bytes))
    request.on('end', () => resolve(Buffer.concat(parts).toString()))
  })
}

const record = Buffer.alloc(Number(answerBytes), 'x')
let waiting: (() => void)[] = []
let isFlushing = false

async function append(): Promise<void> {
  const appended = new Promise<void>((resolve) => waiting.push(resolve))
  if (!isFlushing) void flush()
  await appended
}

const file = kind === 'flushing' ? await open('flushed', 'a', 0o600) : undefined

async function flush(): Promise<void> {
  isFlushing = true
  // The requests of one turn of the event loop share a flush.
  await new Promise(setImmediate)
  while (waiting.length > 0) {
    const batch = waiting
    waiting = []
    await file?.writev(batch.map(() => record))
    await file?.datasync()
    for (const resolve of batch) resolve()
  }
  isFlushing = false
}

function onExpress(): RequestListener {
  const app = express()
  app.get('/v1/predial', (request, response) => {
    response.type('text').send(`${request.url}\n`)
  })
  app.post('/v1/decisions', express.json(), (request, response) => {
    response.json(answerTo(request.body))
  })
  return app
}

const server = createServer(kind === 'express' ? onExpress() : answerBare)
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit())
