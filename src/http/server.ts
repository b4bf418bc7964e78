/** A `node:http` server that opens and closes cleanly. Listener and router decide what it answers. */
import { createServer, type Server } from 'node:http'
import { type AddressInfo, Server as NetServer } from 'node:net'
import type { EventLoopMonitor } from '../runtime/runtime.js'
import { createDecisionListener } from './decision-listener.js'
import { BodyBudget } from './limits/body-budget.js'
import { ConnectionTracker, keepAliveMs, type RequestMetrics } from './limits/connections.js'
import { StrangersAllowance } from './limits/strangers-allowance.js'
import { createRouter, type RouterOptions } from './router.js'

export interface ServerOptions
  extends Omit<RouterOptions, 'maxBodyBytes' | 'bodyBudget' | 'strangers'> {
  readonly metrics?: RequestMetrics | undefined
  /** Shared with what else answers senders without a key; its own when absent. */
  readonly strangers?: StrangersAllowance | undefined
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  /** Largest request body; 8 MiB when absent. */
  readonly maxBodyBytes?: number | undefined
  /** Finds when a request arrived. */
  readonly eventLoop: EventLoopMonitor
  readonly limits?: Partial<ServerLimits> | undefined
  /** How long `close` waits for requests in progress before it cuts them off; 10 s when absent. */
  readonly closeGraceMs?: number | undefined
}

/** What senders may take of the server (`http.*`). */
interface ServerLimits {
  /** Open connections; see {@link ConnectionTracker}. */
  readonly maxConnections: number
  /** Bytes of all request bodies in progress; see {@link BodyBudget}. */
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
   * Takes no new connections, answers what is in progress and says in each answer that the connection
   * closes, then cuts idle and half-sent requests, and what outlasts the grace. May be called again.
   * `idleGraceMs`, 400 when absent, is the time for requests that are on their way.
   */
  close(idleGraceMs?: number): Promise<void>
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
/** How often node looks for connections whose time is up. */
const timeoutSweepMs = 500
/** Turns of the event loop without a new connection after which the server stops listening. */
const quietTurnsToStop = 3
const maxAcceptTurns = 1_000
const defaultIdleGraceMs = 400
/** The grace is counted in sweeps, so that a busy process reads what has come before it cuts. */
const sweepsPerIdleGrace = 8

/** Resolves when the server listens; rejects when it cannot, such as on a port in use. */
export async function openServer(options: ServerOptions): Promise<RunningServer> {
  const { eventLoop, metrics, maxBodyBytes = defaultMaxBodyBytes } = options
  const limits = { ...defaultLimits, ...options.limits }
  const decisionRoutes = options.decisionRoutes ?? []
  const bodyBudget = new BodyBudget(limits.maxBodiesBytes)
  const strangers = options.strangers ?? new StrangersAllowance()
  const router = createRouter({ ...options, maxBodyBytes, bodyBudget, strangers })
  const { answer, answerPlain } = createDecisionListener(decisionRoutes, router)
  const connections = new ConnectionTracker({ ...limits, eventLoop, metrics, answerPlain })
  eventLoop.start()
  const bounds = {
    maxHeaderSize,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: timeoutSweepMs,
    keepAliveTimeout: keepAliveMs,
  }
  const server = createServer(bounds, connections.track(answer))
  // Otherwise `http` drops the answer to a client that ends its side after the request, and headers after the 2,000th; `maxHeaderSize`
  // bounds them.
  Object.assign(server, { httpAllowHalfOpen: true, maxHeadersCount: 0 })
  installThrottledSockets(server, connections)
  await listen(server, options)
  const { port } = server.address() as AddressInfo
  const host = options.host.includes(':') ? `[${options.host}]` : options.host
  let closing: Promise<void> | undefined
  return {
    port,
    url: `http://${host}:${port}`,
    close(idleGraceMs = defaultIdleGraceMs) {
      const graceMs = options.closeGraceMs ?? defaultCloseGraceMs
      closing ??= drainServer(server, connections, { graceMs, idleGraceMs })
      return closing
    },
  }
}

/** The parser of the server reads from the throttled socket of each connection. */
function installThrottledSockets(server: Server, connections: ConnectionTracker): void {
  const parsers = server.listeners('connection')
  server.removeAllListeners('connection')
  server.on('connection', (socket) => {
    const throttled = connections.accept(socket)
    for (const parse of parsers) parse.call(server, throttled)
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

async function drainServer(
  server: Server,
  connections: ConnectionTracker,
  { graceMs, idleGraceMs }: { readonly graceMs: number; readonly idleGraceMs: number },
): Promise<void> {
  connections.stop()
  await acceptPendingConnections(connections)
  const cutOff = setTimeout(() => connections.closeAll(), graceMs)
  let sweeps = 0
  const sweep = setInterval(() => {
    sweeps += 1
    // After the poll of this turn, so that what has come while the process was busy is read first.
    if (sweeps > sweepsPerIdleGrace) setImmediate(() => connections.closeIdle())
  }, idleGraceMs / sweepsPerIdleGrace)
  // The `close` of `http` would cut at once every connection that it considers idle, also one whose
  // request is on its way.
  await new Promise((resolve) => NetServer.prototype.close.call(server, resolve))
  clearInterval(sweep)
  clearTimeout(cutOff)
  // Ends the timer of `http` that looks for connections whose time is up.
  server.close()
}

/** Closing would reset the connections that the kernel has taken and that are not accepted yet. */
async function acceptPendingConnections(connections: ConnectionTracker): Promise<void> {
  let quietTurns = 0
  for (let turn = 0; quietTurns < quietTurnsToStop && turn < maxAcceptTurns; turn += 1) {
    const before = connections.accepted
    await new Promise((resolve) => setImmediate(resolve))
    quietTurns = connections.accepted === before ? quietTurns + 1 : 0
  }
}
