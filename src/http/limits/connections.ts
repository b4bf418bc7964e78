/**
 * The connections of a server: how many there are, which of them have shown a key, and what is in
 * progress on each. Senders that are not known yet give way to newer connections when there are too many.
 *
 * Node.js reads up to 64 KB at once, and its parser processes all of it before it can be stopped: a
 * thousand requests, or ten thousand chunks of one byte, in 15 ms. What a sender without a key sends is
 * therefore passed on in small pieces, in turns.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { type AcceptMark, type EventLoopMonitor, systemTimers } from '../../runtime/runtime.js'
import { findKeyInHeaders } from '../authenticate.js'
import { AnonymousTurnQueue, maxPieceBytes } from './anonymous-turns.js'

export interface ConnectionTrackerOptions {
  /**
   * With so many open, a new one takes the place of the oldest that has not shown a key, or else of the
   * oldest that waits for no answer.
   */
  readonly maxConnections: number
  /** Finds when data arrived. */
  readonly eventLoop: EventLoopMonitor
  readonly metrics?: RequestMetrics | undefined
}

export interface RequestMetrics {
  /**
   * Called once for each request whose endpoint is known, when its answer has been sent or its
   * connection is gone. The status is 499 when the client left before the answer.
   */
  recordApiRequest(endpoint: string, status: number, seconds: number): void
}

/** A request that is not answered yet. */
interface PendingRequest {
  readonly request: IncomingMessage
  /** Its name in the metrics, once it is known; `unmatched` when path or method mean none. */
  endpoint: string | undefined
}

/** A client that sends requests ahead without reading the answers is cut beyond so many. */
const maxRequestsAhead = 16
const maxKeylessRequestsAhead = 4

export class ConnectionTracker {
  readonly #options: ConnectionTrackerOptions
  readonly #turns = new AnonymousTurnQueue(systemTimers.monotonicMs)
  /** Oldest first. */
  readonly #open = new Set<ThrottledSocket>()
  #isStopping = false
  #accepted = 0

  constructor(options: ConnectionTrackerOptions) {
    this.#options = options
  }

  /** Connections accepted so far. */
  get accepted(): number {
    return this.#accepted
  }

  /** The connection as the HTTP parser is to read it. */
  accept(accepted: Socket): ThrottledSocket {
    this.#turns.noteAccept()
    const { eventLoop, maxConnections } = this.#options
    const acceptMark = eventLoop.markAccept()
    const socket = new ThrottledSocket(accepted, { turns: this.#turns, eventLoop, acceptMark })
    this.#accepted += 1
    if (this.#open.size >= maxConnections) {
      const dropped = this.#findLeastNeeded() ?? socket
      this.#open.delete(dropped)
      dropped.destroy()
      if (dropped === socket) return socket
    }
    this.#open.add(socket)
    socket.once('close', () => {
      this.#open.delete(socket)
      closeQueuedResponses(socket)
    })
    return socket
  }

  /**
   * Has each request answered, except one that is one too many on its connection: that is read no more
   * and then cut.
   */
  track(answer: RequestListener): RequestListener {
    return (request, response) => {
      const socket = throttledSocketOf(request)
      const { pending } = socket
      const hasKey = socket.isAuthenticated || findKeyInHeaders(request) !== undefined
      const maxPending = hasKey ? maxRequestsAhead : maxKeylessRequestsAhead
      if (!this.#open.has(socket) || pending.size >= maxPending) return socket.holdThenDestroy()
      const exchange: PendingRequest = { request, endpoint: undefined }
      const startedAtMs = systemTimers.monotonicMs()
      pending.set(response, exchange)
      response.once('close', () => {
        pending.delete(response)
        if (exchange.endpoint === undefined) return
        const status = response.writableFinished ? response.statusCode : 499
        const seconds = (systemTimers.monotonicMs() - startedAtMs) / 1000
        this.#options.metrics?.recordApiRequest(exchange.endpoint, status, seconds)
      })
      if (this.#isStopping) announceClose(response)
      answer(request, response)
    }
  }

  /** From now on every answer says that its connection closes after it. */
  stop(): void {
    this.#isStopping = true
    for (const { pending } of this.#open) {
      for (const response of pending.keys()) announceClose(response)
    }
  }

  /** Cuts every connection without a request that is whole and not answered yet. */
  closeIdle(): void {
    for (const socket of this.#open) {
      if (isIdle(socket)) socket.destroy()
    }
  }

  closeAll(): void {
    for (const socket of this.#open) socket.destroy()
  }

  /** The oldest that has not shown a key, or else the oldest idle one. */
  #findLeastNeeded(): ThrottledSocket | undefined {
    let idle: ThrottledSocket | undefined
    for (const socket of this.#open) {
      if (!socket.isAuthenticated) return socket
      if (idle === undefined && isIdle(socket)) idle = socket
    }
    return idle
  }
}

/** Without a request that is whole and not answered yet. */
function isIdle({ pending }: ThrottledSocket): boolean {
  for (const { request } of pending.values()) {
    if (request.complete) return false
  }
  return true
}

/**
 * Node.js emits `close` only for the response that is being sent. Without it, those that wait behind
 * that one would never release what they hold.
 */
function closeQueuedResponses({ pending }: ThrottledSocket): void {
  for (const response of pending.keys()) {
    if (response.socket !== null) continue
    response.destroy()
    response.emit('close')
  }
}

function announceClose(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close')
}

/** A connection is held unread at least this long: a client that is cut at once reconnects at once. */
const minHoldMs = 5_000

export interface ThrottledSocketOptions {
  readonly turns: AnonymousTurnQueue
  readonly eventLoop: Pick<EventLoopMonitor, 'earliestArrivalMs'>
  /** When the connection was accepted. */
  readonly acceptMark?: AcceptMark | undefined
}

export class ThrottledSocket extends Duplex {
  /** Its sender has shown a valid key: from now on everything is passed on as it comes. */
  isAuthenticated = false
  /** The earliest that the data passed on last can have arrived, on the monotonic clock. */
  arrivedAtMs = 0
  /** By response, in the order they came. */
  readonly pending = new Map<ServerResponse, PendingRequest>()
  /** Of `net.Socket`; `http` calls it and awaits the event `timeout`. */
  readonly setTimeout: Socket['setTimeout']
  readonly #socket: Socket
  readonly #turns: AnonymousTurnQueue
  readonly #eventLoop: ThrottledSocketOptions['eventLoop']
  /** Until the first data has been read. */
  #acceptMark: AcceptMark | undefined
  #buffer: Buffer | undefined
  #isReadRequested = false
  #isHeld = false
  #hasEnded = false
  #pausedAtMs = Number.POSITIVE_INFINITY

  constructor(socket: Socket, { turns, eventLoop, acceptMark }: ThrottledSocketOptions) {
    super({ readableHighWaterMark: maxPieceBytes, decodeStrings: false })
    this.#socket = socket
    this.#turns = turns
    this.#eventLoop = eventLoop
    this.#acceptMark = acceptMark
    this.setTimeout = socket.setTimeout.bind(socket)
    socket.on('data', this.#onData)
    socket.on('end', () => this.#onEnd())
    socket.on('timeout', () => this.emit('timeout'))
    socket.on('error', (cause) => this.destroy(cause))
    socket.on('close', () => this.destroy())
  }

  /** Bytes that have been read and not passed on. */
  get bufferedBytes(): number {
    return this.#buffer?.length ?? 0
  }

  /** Passes on the next piece of what waits. */
  releaseNextPiece(): void {
    const waiting = this.#buffer
    if (waiting === undefined || this.destroyed || this.#isHeld) return
    const length = this.isAuthenticated ? waiting.length : maxPieceBytes
    this.#buffer = waiting.length > length ? waiting.subarray(length) : undefined
    this.#isReadRequested = false
    this.push(waiting.subarray(0, length))
    if (this.#hasEnded) this.#onEnd()
  }

  /** Reads no more, and cuts the connection a while later. */
  holdThenDestroy(): void {
    if (this.#isHeld) return
    this.#isHeld = true
    this.#buffer = undefined
    this.#socket.pause()
    // Spread by the port, or those that were held together would come back together.
    const spread = ((this.#socket.remotePort ?? 0) % 64) / 64
    const cut = setTimeout(() => this.destroy(), minHoldMs * (1 + spread))
    this.once('close', () => clearTimeout(cut))
  }

  /** Of `net.Socket`: closes once everything has been written. */
  destroySoon(): void {
    if (this.writable) this.end()
    if (this.writableFinished) this.destroy()
    else this.once('finish', () => this.destroy())
  }

  override _read(): void {
    this.#isReadRequested = true
    if (this.#isHeld) return
    if (this.#buffer) this.#turns.enqueue(this)
    else if (this.#socket.isPaused()) this.#resumeReading()
  }

  override _write(
    chunk: Buffer | string,
    encoding: BufferEncoding,
    done: (cause?: Error | null) => void,
  ): void {
    this.#socket.write(chunk, encoding, done)
  }

  override _writev(
    chunks: readonly { readonly chunk: Buffer | string; readonly encoding: BufferEncoding }[],
    done: (cause?: Error | null) => void,
  ): void {
    this.#socket.cork()
    for (const [index, { chunk, encoding }] of chunks.entries()) {
      this.#socket.write(chunk, encoding, index === chunks.length - 1 ? done : undefined)
    }
    this.#socket.uncork()
  }

  override _final(done: () => void): void {
    this.#socket.end(done)
  }

  override _destroy(cause: Error | null, done: (cause?: Error | null) => void): void {
    this.#buffer = undefined
    this.#turns.remove(this)
    this.#socket.destroy()
    done(cause)
  }

  readonly #onData = (chunk: Buffer): void => {
    const earliestMs = this.#eventLoop.earliestArrivalMs(this.#acceptMark)
    this.#acceptMark = undefined
    const arrivedAtMs = Math.min(earliestMs, this.#pausedAtMs)
    this.arrivedAtMs = this.#buffer ? Math.min(this.arrivedAtMs, arrivedAtMs) : arrivedAtMs
    this.#pausedAtMs = Number.POSITIVE_INFINITY
    if (this.isAuthenticated && this.#buffer === undefined) {
      if (!this.push(chunk)) this.#stopReading()
      return
    }
    this.#buffer = this.#buffer ? Buffer.concat([this.#buffer, chunk]) : chunk
    if (this.bufferedBytes > maxPieceBytes || !this.#isReadRequested) this.#stopReading()
    if (this.#isReadRequested) this.#turns.enqueue(this)
  }

  #onEnd(): void {
    this.#hasEnded = true
    if (this.#buffer === undefined) this.push(null)
  }

  /** What comes meanwhile waits in the kernel, and may be as old as this. */
  #stopReading(): void {
    this.#pausedAtMs = this.arrivedAtMs
    this.#socket.pause()
  }

  #resumeReading(): void {
    this.#socket.resume()
    const pausedAtMs = this.#pausedAtMs
    // The poll of the next turn reads what has waited; what comes after that poll has not.
    setImmediate(() => setImmediate(() => this.#forgetPause(pausedAtMs)))
  }

  #forgetPause(pausedAtMs: number): void {
    if (this.#pausedAtMs !== pausedAtMs || this.#socket.isPaused()) return
    this.#pausedAtMs = Number.POSITIVE_INFINITY
  }
}

/** The connection of a request to a server that reads in turns. */
export function throttledSocketOf({ socket }: IncomingMessage): ThrottledSocket {
  return socket as Duplex as ThrottledSocket
}
