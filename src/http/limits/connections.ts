/**
 * Tracks the connections of a server: how many are open, which have sent a valid key, and which requests
 * are in progress on each. When too many are open, a connection without a key is closed to make room.
 *
 * Node.js reads up to 64 KB at once, and its parser cannot be stopped before it has processed all of it:
 * a thousand requests, or ten thousand one-byte chunks, which takes 15 ms. Data from a sender without a key
 * is therefore passed to the parser in small pieces, one connection at a time.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { AppError } from '../../errors.js'
import { type AcceptMark, type EventLoopMonitor, systemTimers } from '../../runtime/runtime.js'
import { findKeyInHeaders } from '../authenticate.js'
import { type PlainHeaders, type PlainRequest, readPlainRequest } from '../request/plain-request.js'
import { AnonymousTurnQueue, maxPieceBytes } from './anonymous-turns.js'

export interface ConnectionTrackerOptions {
  /**
   * At this limit, a new connection replaces the oldest one without a key. If all have a key, it replaces
   * the oldest idle one.
   */
  readonly maxConnections: number
  /** Gives the earliest time at which data can have arrived. */
  readonly eventLoop: EventLoopMonitor
  readonly metrics?: RequestMetrics | undefined
  readonly answerPlain?: AnswerPlain | undefined
}

/**
 * Answers a request that has not gone through `node:http`, now or later, by {@link ThrottledSocket.sendPlain}.
 * Returns false, having done nothing, to leave it to `node:http`.
 */
export type AnswerPlain = (request: PlainRequest, socket: ThrottledSocket) => boolean

export interface RequestMetrics {
  /**
   * Called once for each request with a known endpoint, when its response has been sent or its connection
   * has closed. The status is 499 if the client disconnected before the response was sent.
   */
  recordApiRequest(endpoint: string, status: number, seconds: number): void
}

/** A request without a complete response yet. */
interface PendingRequest {
  readonly request: IncomingMessage
  /** Its name in the metrics, once known; `unmatched` if no endpoint has this path and method. */
  endpoint: string | undefined
}

/** A client may pipeline this many requests; with more, it is disconnected. */
const maxRequestsAhead = 16
const maxKeylessRequestsAhead = 4

/** Of all connections; the others are for other accounts and for senders without a key. */
const accountShare = 1 / 2

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

  /** Wraps an accepted socket; the HTTP parser reads from the wrapper. */
  accept(accepted: Socket): ThrottledSocket {
    this.#turns.noteAccept()
    const { eventLoop, maxConnections, metrics, answerPlain } = this.#options
    const acceptMark = eventLoop.markAccept()
    const turns = this.#turns
    const makeRoom = this.#makeRoom
    const options = { turns, eventLoop, acceptMark, metrics, answerPlain, makeRoom }
    const socket = new ThrottledSocket(accepted, options)
    socket.isStopping = this.#isStopping
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
   * Passes each request to `answer`. If a connection pipelines too many requests, nothing more is read
   * from it, and it is closed after a delay.
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

  /** From now on, every response has `Connection: close`. */
  stop(): void {
    this.#isStopping = true
    for (const socket of this.#open) {
      socket.isStopping = true
      for (const response of socket.pending.keys()) announceClose(response)
    }
  }

  /** Closes every connection that has no complete request waiting for its response. */
  closeIdle(): void {
    for (const socket of this.#open) {
      if (isIdle(socket)) socket.destroy()
    }
  }

  closeAll(): void {
    for (const socket of this.#open) socket.destroy()
  }

  readonly #makeRoom = (accountId: string): void => {
    const held = [...this.#open].filter((socket) => socket.accountId === accountId)
    if (held.length < this.#options.maxConnections * accountShare) return
    const idle = held.find(isIdle)
    if (idle) return void idle.destroy()
    const problem = `All connections that account '${accountId}' may have (half of http.maxConnections) have a request in progress`
    throw new AppError('overloaded', problem, { retryAfterSeconds: 1 })
  }

  /** The oldest connection without a key, or else the oldest idle one. */
  #findLeastNeeded(): ThrottledSocket | undefined {
    let idle: ThrottledSocket | undefined
    for (const socket of this.#open) {
      if (!socket.isAuthenticated) return socket
      if (idle === undefined && isIdle(socket)) idle = socket
    }
    return idle
  }
}

/** Whether no complete request on this connection is waiting for its response. */
function isIdle({ pending, isAnsweringPlain }: ThrottledSocket): boolean {
  if (isAnsweringPlain) return false
  for (const { request } of pending.values()) {
    if (request.complete) return false
  }
  return true
}

/**
 * Node.js emits `close` only for the response that is being sent. The responses queued behind it need
 * the event too, to release their resources.
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

/** Longer than usual proxies keep an idle connection, so that they close first. */
export const keepAliveMs = 75_000

/** Minimum delay before closing a connection: a client that is cut off at once also reconnects at once. */
const minHoldMs = 5_000

export interface ThrottledSocketOptions {
  readonly turns: AnonymousTurnQueue
  readonly eventLoop: Pick<EventLoopMonitor, 'earliestArrivalMs'>
  /** When the connection was accepted. */
  readonly acceptMark?: AcceptMark | undefined
  readonly metrics?: RequestMetrics | undefined
  readonly answerPlain?: AnswerPlain | undefined
  /** Closes an idle connection of an account that has its share. Throws `overloaded` if none is idle. */
  readonly makeRoom?: ((accountId: string) => void) | undefined
}

export class ThrottledSocket extends Duplex {
  #accountId: string | undefined
  /** Its next answer is its last. */
  isStopping = false
  /** The earliest time at which the latest data can have arrived, on the monotonic clock. */
  arrivedAtMs = 0
  /** Keyed by response, in the order of the requests. */
  readonly pending = new Map<ServerResponse, PendingRequest>()
  /** The method of `net.Socket`: `http` calls it and waits for the event `timeout`. */
  readonly setTimeout: Socket['setTimeout']
  readonly #socket: Socket
  readonly #turns: AnonymousTurnQueue
  readonly #eventLoop: ThrottledSocketOptions['eventLoop']
  readonly #metrics: RequestMetrics | undefined
  readonly #answerPlain: AnswerPlain | undefined
  readonly #makeRoom: ThrottledSocketOptions['makeRoom']
  /** Whether all data so far were whole requests, so that the parser waits for the start of one. */
  #isBetweenRequests = true
  #lastHeaders: PlainHeaders | undefined
  /** When the plain request that is being answered was taken. */
  #plainSinceMs: number | undefined
  /** Set until the first data has been read. */
  #acceptMark: AcceptMark | undefined
  #buffer: Buffer | undefined
  #isReadRequested = false
  #isHeld = false
  #hasEnded = false
  #pausedAtMs = Number.POSITIVE_INFINITY

  constructor(socket: Socket, options: ThrottledSocketOptions) {
    super({ readableHighWaterMark: maxPieceBytes, decodeStrings: false })
    this.#socket = socket
    this.#turns = options.turns
    this.#eventLoop = options.eventLoop
    this.#acceptMark = options.acceptMark
    this.#metrics = options.metrics
    this.#answerPlain = options.answerPlain
    this.#makeRoom = options.makeRoom
    this.setTimeout = socket.setTimeout.bind(socket)
    socket.on('data', this.#onData)
    socket.on('end', () => this.#onEnd())
    socket.on('timeout', () => this.emit('timeout'))
    socket.on('error', (cause) => this.destroy(cause))
    socket.on('close', () => this.destroy())
  }

  /** Of the latest valid key that its sender has sent. */
  get accountId(): string | undefined {
    return this.#accountId
  }

  /** Its sender has sent a valid key: from now on, data is passed on as it arrives. Throws `overloaded`. */
  assignTo(accountId: string): void {
    if (accountId === this.#accountId) return
    this.#makeRoom?.(accountId)
    this.#accountId = accountId
  }

  get isAuthenticated(): boolean {
    return this.#accountId !== undefined
  }

  /** Bytes that have been read but not passed on. */
  get bufferedBytes(): number {
    return this.#buffer?.length ?? 0
  }

  /** Passes on the next piece of the buffer. */
  releaseNextPiece(): void {
    const waiting = this.#buffer
    if (waiting === undefined || this.destroyed || this.#isHeld || this.isAnsweringPlain) return
    const length = this.isAuthenticated ? waiting.length : maxPieceBytes
    this.#buffer = waiting.length > length ? waiting.subarray(length) : undefined
    const piece = waiting.subarray(0, length)
    if (this.#takePlain(piece)) return
    this.#isReadRequested = false
    this.push(piece)
    if (this.#hasEnded) this.#onEnd()
  }

  /** Whether a request is being answered that has not gone through `node:http`. */
  get isAnsweringPlain(): boolean {
    return this.#plainSinceMs !== undefined
  }

  /**
   * Sends the whole answer to a plain request, at the end of this tick. What came meanwhile is read once
   * this is written.
   */
  sendPlain(endpoint: string, status: number, answer: string): void {
    if (due.push({ socket: this, endpoint, status, answer }) === 1) process.nextTick(sendDue)
  }

  /**
   * One flush of the journal ends many requests at once. If their answers leave one right after the
   * other, a client that waits for all of them is woken up once, and not for each: that costs the sender too.
   */
  static sendDue(): void {
    const answers = due
    due = []
    for (const { socket, endpoint, status, answer } of answers) {
      socket.#socket.write(answer, (cause) => socket.#endPlain(endpoint, cause ? 499 : status))
    }
  }

  #endPlain(endpoint: string, status: number): void {
    const sinceMs = this.#plainSinceMs ?? Number.NaN
    this.#plainSinceMs = undefined
    const seconds = (systemTimers.monotonicMs() - sinceMs) / 1000
    this.#metrics?.recordApiRequest(endpoint, status, seconds)
    if (this.destroyed) return
    if (this.isStopping) this.destroySoon()
    else if (this.#buffer !== undefined) this.#turns.enqueue(this)
    else if (this.#hasEnded) this.#onEnd()
    else if (this.#socket.isPaused()) this.#resumeReading()
  }

  /** Stops reading, and closes the connection after a delay. */
  holdThenDestroy(): void {
    if (this.#isHeld) return
    this.#isHeld = true
    this.#buffer = undefined
    this.#socket.pause()
    // The port varies the delay, so that clients held at the same time do not all reconnect at the same time.
    const spread = ((this.#socket.remotePort ?? 0) % 64) / 64
    const cut = setTimeout(() => this.destroy(), minHoldMs * (1 + spread))
    this.once('close', () => clearTimeout(cut))
  }

  /** The method of `net.Socket`: closes once everything has been written. */
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
    const isReady = this.#buffer === undefined && this.#plainSinceMs === undefined
    if (this.isAuthenticated && isReady) {
      if (!this.#takePlain(chunk) && !this.push(chunk)) this.#stopReading()
      return
    }
    this.#buffer = this.#buffer ? Buffer.concat([this.#buffer, chunk]) : chunk
    if (this.bufferedBytes > maxPieceBytes || !this.#isReadRequested) this.#stopReading()
    if (this.#isReadRequested) this.#turns.enqueue(this)
  }

  /** Whether the bytes are a request that is answered without the HTTP parser. */
  #takePlain(bytes: Buffer): boolean {
    if (!this.#isBetweenRequests) return false
    const request = readPlainRequest(bytes, this.#lastHeaders)
    this.#isBetweenRequests = request !== undefined
    this.#lastHeaders = request?.headers
    // Answers to earlier requests leave first.
    const mayTake = this.isAuthenticated && !this.isStopping && this.pending.size === 0
    if (!request || !mayTake) return false
    this.#plainSinceMs = systemTimers.monotonicMs()
    const isTaken = this.#answerPlain?.(request, this) === true
    if (!isTaken) this.#plainSinceMs = undefined
    return isTaken
  }

  #onEnd(): void {
    this.#hasEnded = true
    if (this.#buffer === undefined && !this.isAnsweringPlain) this.push(null)
  }

  /** Data that arrives from now on waits in the kernel, so its arrival time may be as early as this. */
  #stopReading(): void {
    this.#pausedAtMs = this.arrivedAtMs
    this.#socket.pause()
  }

  #resumeReading(): void {
    this.#socket.resume()
    const pausedAtMs = this.#pausedAtMs
    // The next poll reads the data that waited in the kernel; data read after that has not waited.
    setImmediate(() => setImmediate(() => this.#forgetPause(pausedAtMs)))
  }

  #forgetPause(pausedAtMs: number): void {
    if (this.#pausedAtMs !== pausedAtMs || this.#socket.isPaused()) return
    this.#pausedAtMs = Number.POSITIVE_INFINITY
  }
}

/** Answers to plain requests of this tick. */
let due: {
  readonly socket: ThrottledSocket
  readonly endpoint: string
  readonly status: number
  readonly answer: string
}[] = []
const { sendDue } = ThrottledSocket

/** The connection of a request whose server uses a {@link ConnectionTracker}. */
export function throttledSocketOf({ socket }: IncomingMessage): ThrottledSocket {
  return socket as Duplex as ThrottledSocket
}
