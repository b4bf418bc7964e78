/**
 * A child process that answers every request with its address: `http` on bare `node:http`,
 * `express` on express. Sends the port to its parent.
 */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'

const bare: RequestListener = (request, response) => {
  const body = Buffer.from(`${request.url}\n`)
  response.writeHead(200, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': body.length,
  })
  response.end(body)
}

function onExpress(): RequestListener {
  const app = express()
  app.get('/v1/predial', (request, response) => {
    response.type('text').send(`${request.url}\n`)
  })
  return app
}

const server = createServer(process.argv[2] === 'express' ? onExpress() : bare)
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit())
