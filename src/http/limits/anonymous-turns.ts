/** Whose turn it is to be read, among the connections whose senders have not shown a key. */

/** Most requests fit in; so many bytes cost the parser a millisecond at worst. */
export const maxPieceBytes = 4_096

/** A connection with bytes that have been read and not passed on. */
export interface WaitingSocket {
  readonly bufferedBytes: number
  /** Passes on the next {@link maxPieceBytes}. */
  releaseNextPiece(): void
}

/** Senders without a key get about so much of each turn of the event loop. */
const maxTurnMs = 2
/** While connections wait to be accepted, senders without a key wait as well, but no longer. */
const maxDeferralMs = 5

/**
 * Whose turn it is among the senders without a key. Those with no more than a piece come first, in the
 * order they came, and then those with more, at least one in each turn of the event loop: a flood always
 * has more, and who awaits answers has not.
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

  /** Node.js accepts one connection a turn, so turns must be short while more may wait. */
  noteAccept(): void {
    this.#hasAccepted = true
  }

  enqueue(socket: WaitingSocket): void {
    const isLarge = socket.bufferedBytes > maxPieceBytes
    if (isLarge) this.#small.delete(socket)
    // Who waits already keeps the place.
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
