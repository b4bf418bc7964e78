/**
 * A child process that answers without doing anything: `http` on bare `node:http`, `express` on express.
 * A pre-dial request is answered with its address; of a decision, the JSON of the body is read and
 * answered with a text of as many bytes as the third argument says. Sends the port to its parent.
 */
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

const bare: RequestListener = async (request, response) => {
  const isDecision = request.method === 'POST'
  const text = isDecision
    ? JSON.stringify(answerTo(JSON.parse(await readBody(request))))
    : `${request.url}\n`
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

const server = createServer(kind === 'express' ? onExpress() : bare)
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit())
