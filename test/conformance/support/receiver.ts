/** A receiver of webhooks on this machine, for servers that can reach it. */
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { run } from './run.js'
import type { Needs } from './sentence.js'

export interface Delivery {
  readonly method: string
  /** With the slash. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Receiver {
  /** An address of its own for each path. */
  url(path: string): string
  /** Waits for the first delivery to the path; `undefined` when none comes in time. */
  delivery(path: string, waitMs?: number): Promise<Delivery | undefined>
  deliveries(path: string): readonly Delivery[]
}

let open: Promise<Receiver> | undefined

/** Opened once for all sections; it does not keep the process alive. */
export function receiver(needs: Needs): Promise<Receiver> {
  const host = needs(run.receiverHost, '--receiver-host, at which the server reaches this machine')
  open ??= listen(host)
  return open
}

async function listen(host: string): Promise<Receiver> {
  const got: Delivery[] = []
  const server: Server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request
      got.push({ method, path, headers, body })
      response.end()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, host, resolve)
  })
  server.unref()
  const { port } = server.address() as AddressInfo
  const deliveries = (path: string) => got.filter((one) => one.path === path)
  return {
    url: (path) => `http://${host}:${port}${path}`,
    deliveries,
    async delivery(path, waitMs = run.slow ? 120_000 : 15_000) {
      const until = Date.now() + waitMs
      while (deliveries(path).length === 0 && Date.now() < until) await pause(50)
      return deliveries(path)[0]
    },
  }
}
