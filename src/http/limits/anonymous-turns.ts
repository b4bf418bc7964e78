/** Shares the event loop fairly among connections whose senders have not sent a valid key. */

/** Most requests fit, and the parser needs at most a millisecond for this many bytes. */
export const maxPieceBytes = 4_096

/** A connection with bytes that have been read but not passed on. */
export interface WaitingSocket {
  readonly bufferedBytes: number
  /** Passes on the next {@link maxPieceBytes} bytes. */
  releaseNextPiece(): void
}

/** Senders without a key get about this much time in each turn of the event loop. */
const maxTurnMs = 2
/** Senders without a key also wait while connections are being accepted, but at most this long. */
const maxDeferralMs = 5

/**
 * The queue of senders without a key. Those with at most one piece of data go first, in order of arrival,
 * then those with more, at least one in each turn of the event loop. A client that waits for each response
 * has little data buffered; a client that floods the server always has more.
 */
export class AnonymousTurnQueue {
  readonly #monotonicMs: () => number
  readonly #small = new Set<WaitingSocket>()
  readonly #large = new Set<WaitingSocket>()
  #isScheduled = false
  #hasAccepted = false
  #lastTurnAtMs = 0

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs
  }

  /** Node.js accepts one connection per turn, so turns must be short while more may be waiting. */
  noteAccept(): void {
    this.#hasAccepted = true
  }

  enqueue(socket: WaitingSocket): void {
    const isLarge = socket.bufferedBytes > maxPieceBytes
    if (isLarge) this.#small.delete(socket)
    // A socket that is already queued keeps its place.
    const queue = isLarge ? this.#large : this.#small
    queue.add(socket)
    this.#schedule()
  }

  remove(socket: WaitingSocket): void {
    this.#small.delete(socket)
    this.#large.delete(socket)
  }

  #schedule(): void {
    if (this.#isScheduled || this.#small.size + this.#large.size === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#runTurn()
      this.#schedule()
    })
  }

  #runTurn(): void {
    const startedAtMs = this.#monotonicMs()
    const isDeferred = this.#hasAccepted && startedAtMs - this.#lastTurnAtMs < maxDeferralMs
    this.#hasAccepted = false
    if (isDeferred) return
    for (const queue of [this.#small, this.#large]) {
      for (const socket of queue) {
        queue.delete(socket)
        socket.releaseNextPiece()
        this.#lastTurnAtMs = this.#monotonicMs()
        if (this.#lastTurnAtMs - startedAtMs >= maxTurnMs) break
      }
    }
  }
}
