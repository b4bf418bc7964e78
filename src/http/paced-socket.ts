/**
 * A connection as the HTTP parser reads it. Node.js reads up to 64 KB at once, and its parser works off
 * all it is handed before anybody can stop it: a thousand requests, or ten thousand chunks of one byte,
 * in 15 ms. What a sender without a key sends is therefore handed on in small pieces, in turns.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

/** Most requests fit in; so many bytes cost the parser a millisecond at worst. */
export const pieceBytes = 4_096
/** At least so long a connection is held unread: one that is cut at once would be opened anew at once. */
const holdMs = 5_000

/** The earliest instant, on the monotonic clock, at which data that is read now can have arrived. */
export type ArrivalOf = (isFirst: boolean) => number

export interface PacedSocketOptions {
  readonly turns: StrangerTurns
  readonly arrivalOf: ArrivalOf
}

export class PacedSocket extends Duplex {
  readonly #socket: Socket
  readonly #turns: StrangerTurns
  readonly #arrivalOf: ArrivalOf
  #waiting: Buffer | undefined
  #isWanted = false
  #isKnown = false
  #isHeld = false
  #hasRead = false
  #hasEnded = false
  #pausedAtMs = Number.POSITIVE_INFINITY

  /** The earliest that the data handed on last can have arrived, on the monotonic clock. */
  arrivedAtMs = 0

  constructor(socket: Socket, { turns, arrivalOf }: PacedSocketOptions) {
    super({ readableHighWaterMark: pieceBytes, decodeStrings: false })
    this.#socket = socket
    this.#turns = turns
    this.#arrivalOf = arrivalOf
    socket.on('data', (chunk) => this.#take(chunk))
    socket.on('end', () => this.#takeEnd())
    socket.on('timeout', () => this.emit('timeout'))
    socket.on('error', (cause) => this.destroy(cause))
    socket.on('close', () => this.destroy())
  }

  /** Bytes that have been read and not handed on. */
  get waitingBytes(): number {
    return this.#waiting?.length ?? 0
  }

  /** From now on everything is handed on as it comes. */
  markKnown(): void {
    this.#isKnown = true
  }

  /** Hands on the next piece of what waits. */
  handOn(): void {
    const waiting = this.#waiting
    if (waiting === undefined || this.destroyed || this.#isHeld) return
    const length = this.#isKnown ? waiting.length : pieceBytes
    this.#waiting = waiting.length > length ? waiting.subarray(length) : undefined
    this.#isWanted = false
    this.push(waiting.subarray(0, length))
    if (this.#hasEnded) this.#takeEnd()
  }

  /** Reads no more, and cuts the connection a while later. */
  holdThenCut(): void {
    if (this.#isHeld) return
    this.#isHeld = true
    this.#waiting = undefined
    this.#socket.pause()
    // Spread by the port, or those that were held together would come back together.
    const spread = ((this.#socket.remotePort ?? 0) % 64) / 64
    const cut = setTimeout(() => this.destroy(), holdMs * (1 + spread))
    this.once('close', () => clearTimeout(cut))
  }

  /** Of `net.Socket`; `http` sets and awaits it. */
  setTimeout(ms: number, onTimeout?: () => void): this {
    this.#socket.setTimeout(ms)
    if (onTimeout) this.once('timeout', onTimeout)
    return this
  }

  /** Of `net.Socket`: closes once everything has been written. */
  destroySoon(): void {
    if (this.writable) this.end()
    if (this.writableFinished) this.destroy()
    else this.once('finish', () => this.destroy())
  }

  override _read(): void {
    this.#isWanted = true
    if (this.#isHeld) return
    if (this.#waiting) this.#turns.ask(this)
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
    this.#waiting = undefined
    this.#turns.leave(this)
    this.#socket.destroy()
    done(cause)
  }

  #take(chunk: Buffer): void {
    const arrivedAtMs = Math.min(this.#arrivalOf(!this.#hasRead), this.#pausedAtMs)
    this.arrivedAtMs = this.#waiting ? Math.min(this.arrivedAtMs, arrivedAtMs) : arrivedAtMs
    this.#hasRead = true
    this.#pausedAtMs = Number.POSITIVE_INFINITY
    if (this.#isKnown && this.#waiting === undefined) {
      if (!this.push(chunk)) this.#stopReading()
      return
    }
    this.#waiting = this.#waiting ? Buffer.concat([this.#waiting, chunk]) : chunk
    if (this.waitingBytes > pieceBytes || !this.#isWanted) this.#stopReading()
    if (this.#isWanted) this.#turns.ask(this)
  }

  #takeEnd(): void {
    this.#hasEnded = true
    if (this.#waiting === undefined) this.push(null)
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
export function pacedSocketOf({ socket }: IncomingMessage): PacedSocket {
  return socket as Duplex as PacedSocket
}

/** Senders without a key get about so much of each turn of the event loop. */
const turnMs = 2
/** While connections wait to be accepted, senders without a key wait as well, but no longer. */
const mostDeferralMs = 5

/**
 * Whose turn it is among the senders without a key. Those with no more than a piece come first, in the
 * order they came, and then those with more, at least one in each turn of the event loop: a flood always
 * has more, and who awaits answers has not.
 */
export class StrangerTurns {
  readonly #monotonicMs: () => number
  readonly #small = new Set<PacedSocket>()
  readonly #large = new Set<PacedSocket>()
  #isScheduled = false
  #hasAccepted = false
  #lastTurnAtMs = 0

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs
  }

  /** Node.js accepts one connection a turn, so turns must be short while more may wait. */
  noteAccept(): void {
    this.#hasAccepted = true
  }

  ask(socket: PacedSocket): void {
    const isLarge = socket.waitingBytes > pieceBytes
    if (isLarge) this.#small.delete(socket)
    // Who waits already keeps the place.
    const queue = isLarge ? this.#large : this.#small
    queue.add(socket)
    this.#schedule()
  }

  leave(socket: PacedSocket): void {
    this.#small.delete(socket)
    this.#large.delete(socket)
  }

  #schedule(): void {
    if (this.#isScheduled || this.#small.size + this.#large.size === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#takeTurn()
      this.#schedule()
    })
  }

  #takeTurn(): void {
    const startedAtMs = this.#monotonicMs()
    const isDeferred = this.#hasAccepted && startedAtMs - this.#lastTurnAtMs < mostDeferralMs
    this.#hasAccepted = false
    if (isDeferred) return
    for (const queue of [this.#small, this.#large]) {
      for (const socket of queue) {
        queue.delete(socket)
        socket.handOn()
        this.#lastTurnAtMs = this.#monotonicMs()
        if (this.#lastTurnAtMs - startedAtMs >= turnMs) break
      }
    }
  }
}
