/** A `node:http` server over the app that opens and closes cleanly. What it answers is the app's. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { EventLoopWatch, TurnMark } from '../domain/event-loop.js'
import { type AppOptions, createApp } from './app.js'
import type { FrontDoor } from './front-door.js'

export type { RequestMeasure } from './measure.js'

export interface ServerOptions extends Omit<AppOptions, 'maxBodyBytes'> {
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  /** Largest request body; 8 MiB when absent. */
  readonly maxBodyBytes?: number | undefined
  /** Handed every request first; `true` means that it answers this one itself. */
  readonly frontDoor?: FrontDoor | undefined
  /** Tells when a request arrived; without it, when it is handled. */
  readonly eventLoop: EventLoopWatch
  /** How long `close` waits for requests under way before it cuts them off; 10 s when absent. */
  readonly closeGraceMs?: number | undefined
}

export interface RunningServer {
  readonly port: number
  /** `http://host:port`, without a slash at the end. */
  readonly url: string
  /**
   * Takes no new requests, lets those under way finish, cuts off what outlasts the grace, then
   * resolves. May be called again.
   */
  close(): Promise<void>
}

const defaultMaxBodyBytes = 8 * 1024 * 1024
const defaultCloseGraceMs = 10_000
/** A whole request must be in by then, so that slow senders cannot hold connections. */
const requestTimeoutMs = 60_000
/** Longer than usual proxies keep an idle connection, so that they close first. */
const keepAliveMs = 75_000
const idleSweepMs = 50

/** Resolves when the server listens; rejects when it cannot, such as on a port in use. */
export async function openServer(options: ServerOptions): Promise<RunningServer> {
  const { frontDoor, eventLoop, maxBodyBytes = defaultMaxBodyBytes } = options
  const app = createApp({ ...options, maxBodyBytes })
  eventLoop.start()
  const accepts = new WeakMap<Socket, TurnMark>()
  const timeouts = { requestTimeout: requestTimeoutMs, keepAliveTimeout: keepAliveMs }
  const server = createServer(timeouts, (request, response) => {
    const accepted = accepts.get(request.socket)
    const arrivedAtMs = accepted
      ? eventLoop.earliestArrivalSince(accepted)
      : eventLoop.earliestArrivalMs()
    accepts.delete(request.socket)
    if (frontDoor?.(request, response, arrivedAtMs) !== true) app(request, response)
  })
  server.on('connection', (socket) => accepts.set(socket, eventLoop.mark()))
  await listen(server, options)
  const { port } = server.address() as AddressInfo
  const host = options.host.includes(':') ? `[${options.host}]` : options.host
  let closing: Promise<void> | undefined
  return {
    port,
    url: `http://${host}:${port}`,
    close() {
      closing ??= drain(server, options.closeGraceMs ?? defaultCloseGraceMs)
      return closing
    },
  }
}

function listen(server: Server, { host, port }: ServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** A kept-alive connection becomes idle only after its answer, so idle ones are swept repeatedly. */
function drain(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const sweep = setInterval(() => server.closeIdleConnections(), idleSweepMs)
    const cutOff = setTimeout(() => server.closeAllConnections(), graceMs)
    server.close(() => {
      clearInterval(sweep)
      clearTimeout(cutOff)
      resolve()
    })
    server.closeIdleConnections()
  })
}
