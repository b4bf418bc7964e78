/** A `node:http` server over the app that opens and closes cleanly. What it answers is the app's. */
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import { monotonicSeconds } from '../domain/clock.js'
import type { EventLoopWatch } from '../domain/event-loop.js'
import { type AppOptions, createApp } from './app.js'
import { BodyBudget } from './body-budget.js'
import { Connections } from './connections.js'
import type { FrontDoor } from './front-door.js'
import { PacedSocket, pacedSocketOf, StrangerTurns } from './paced-socket.js'

export type { RequestMeasure } from './measure.js'

export interface ServerOptions extends Omit<AppOptions, 'maxBodyBytes' | 'bodies' | 'onKnown'> {
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  /** Largest request body; 8 MiB when absent. */
  readonly maxBodyBytes?: number | undefined
  /** Handed every request first; `true` means that it answers this one itself. */
  readonly frontDoor?: FrontDoor | undefined
  /** Finds when a request arrived; without it, requests arrive when they are handled. */
  readonly eventLoop: EventLoopWatch
  readonly limits?: Partial<ServerLimits> | undefined
  /** How long `close` waits for requests under way before it cuts them off; 10 s when absent. */
  readonly closeGraceMs?: number | undefined
}

/** What senders may take of the server (`http.*`). */
export interface ServerLimits {
  /** Open connections; see {@link Connections}. */
  readonly maxConnections: number
  /** Bytes of all request bodies under way; see {@link BodyBudget}. */
  readonly maxBodiesBytes: number
  /** From the first byte of a request, or from connecting, to the end of its headers. */
  readonly headersTimeoutMs: number
  /** To the end of its body. */
  readonly requestTimeoutMs: number
}

export interface RunningServer {
  readonly port: number
  /** `http://host:port`, without a slash at the end. */
  readonly url: string
  /**
   * Takes no new connections, answers what is under way and says in each answer that the connection
   * closes, then cuts idle and half-sent requests, and what outlasts the grace. May be called again.
   */
  close(): Promise<void>
}

const defaultMaxBodyBytes = 8 * 1024 * 1024
const defaultLimits: ServerLimits = {
  maxConnections: 1_000,
  maxBodiesBytes: 64 * 1024 * 1024,
  headersTimeoutMs: 5_000,
  requestTimeoutMs: 30_000,
}
const defaultCloseGraceMs = 10_000
/** Clients in use put a list of numbers into one address of 16 KB; its headers come on top. */
const maxHeaderSize = 24_576
/** Longer than usual proxies keep an idle connection, so that they close first. */
const keepAliveMs = 75_000
/** How often node looks for connections whose time is up. */
const timeoutSweepMs = 500
/** Turns of the event loop without a new connection after which the server stops listening. */
const quietTurnsToStop = 3
const maxAcceptTurns = 1_000
const idleSweepMs = 50
/** Sweeps without effect when the server stops: time for requests that are on their way. */
const keptSweeps = 8

/** Resolves when the server listens; rejects when it cannot, such as on a port in use. */
export async function openServer(options: ServerOptions): Promise<RunningServer> {
  const { frontDoor, eventLoop, maxBodyBytes = defaultMaxBodyBytes } = options
  const limits = { ...defaultLimits, ...options.limits }
  const connections = new Connections(limits)
  const bodies = new BodyBudget(limits.maxBodiesBytes)
  const onKnown = (request: IncomingMessage) => connections.markKnown(pacedSocketOf(request))
  const app = createApp({ ...options, maxBodyBytes, bodies, onKnown })
  eventLoop.start()
  const bounds = {
    maxHeaderSize,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: timeoutSweepMs,
    keepAliveTimeout: keepAliveMs,
  }
  const server = createServer(bounds, (request, response) => {
    const { arrivedAtMs } = pacedSocketOf(request)
    if (!connections.begin(request, response)) return
    if (frontDoor?.(request, response, { arrivedAtMs, onKnown }) !== true) app(request, response)
  })
  // Of a client that ends its side after the request, `http` would else drop the answer.
  Object.assign(server, { httpAllowHalfOpen: true })
  const turns = new StrangerTurns(() => monotonicSeconds() * 1_000)
  readInTurns(server, (socket) => {
    turns.noteAccept()
    const accepted = eventLoop.markAccept()
    const arrivalOf = (isFirst: boolean) =>
      isFirst ? eventLoop.earliestArrivalSince(accepted) : eventLoop.earliestArrivalMs()
    const paced = new PacedSocket(socket, { turns, arrivalOf })
    connections.accept(paced)
    return paced
  })
  await listen(server, options)
  const { port } = server.address() as AddressInfo
  const host = options.host.includes(':') ? `[${options.host}]` : options.host
  let closing: Promise<void> | undefined
  return {
    port,
    url: `http://${host}:${port}`,
    close() {
      closing ??= drain(server, connections, options.closeGraceMs ?? defaultCloseGraceMs)
      return closing
    },
  }
}

/** The parser of the server reads from what `pace` makes of each connection. */
function readInTurns(server: Server, pace: (socket: Socket) => PacedSocket): void {
  const parsers = server.listeners('connection')
  server.removeAllListeners('connection')
  server.on('connection', (socket) => {
    const paced = pace(socket)
    for (const parse of parsers) parse.call(server, paced)
  })
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

async function drain(server: Server, connections: Connections, graceMs: number): Promise<void> {
  connections.stop()
  await acceptWaiting(connections)
  const cutOff = setTimeout(() => connections.closeAll(), graceMs)
  let sweeps = 0
  const sweep = setInterval(() => {
    sweeps += 1
    // After the poll of this turn, so that what has come while the process stood still is read first.
    if (sweeps > keptSweeps) setImmediate(() => connections.closeIdle())
  }, idleSweepMs)
  // The `close` of `http` would cut at once every connection that it takes for idle, also one whose
  // request is on its way.
  await new Promise((resolve) => NetServer.prototype.close.call(server, resolve))
  clearInterval(sweep)
  clearTimeout(cutOff)
  // Ends the timer of `http` that looks for connections whose time is up.
  server.close()
}

/** Closing would reset the connections that the kernel has taken and that are not accepted yet. */
async function acceptWaiting(connections: Connections): Promise<void> {
  let quietTurns = 0
  for (let turn = 0; quietTurns < quietTurnsToStop && turn < maxAcceptTurns; turn += 1) {
    const before = connections.accepted
    await new Promise((resolve) => setImmediate(resolve))
    quietTurns = connections.accepted === before ? quietTurns + 1 : 0
  }
}
