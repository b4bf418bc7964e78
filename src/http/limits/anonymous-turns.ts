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

interface Turn {
  readonly startedAtMs: number
  readonly isDeferred: boolean
  hadLarge: boolean
}

/**
 * The queue of senders without a key. Those with at most one piece of data go first, in order of arrival,
 * then those with more, at least one in each turn of the event loop. A client that waits for each response
 * has little data buffered; a client that floods the server always has more.
 */
export class AnonymousTurnQueue {
  readonly #monotonicMs: () => number
  readonly #small = new Set<WaitingSocket>()
  readonly #large = new Set<WaitingSocket>()
  #turn: Turn | undefined
  #hasAccepted = false
  #lastPieceAtMs = 0

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs
  }

  /** Node.js accepts one connection per turn, so turns must be short while more may be waiting. */
  noteAccept(): void {
    this.#hasAccepted = true
  }

  enqueue(socket: WaitingSocket): void {
    const isWaiting = this.#small.has(socket) || this.#large.has(socket)
    const isLarge = socket.bufferedBytes > maxPieceBytes
    if (isLarge) this.#small.delete(socket)
    // A socket that is already queued keeps its place.
    const queue = isLarge ? this.#large : this.#small
    queue.add(socket)
    // One immediate for each piece: promises settle between two of them, so what a request awaits counts as part of the turn.
    if (!isWaiting) setImmediate(this.#releaseNext)
  }

  remove(socket: WaitingSocket): void {
    this.#small.delete(socket)
    this.#large.delete(socket)
  }

  readonly #releaseNext = (): void => {
    if (this.#small.size + this.#large.size === 0) return
    this.#turn ??= this.#beginTurn()
    const turn = this.#turn
    const isOver = this.#monotonicMs() - turn.startedAtMs >= maxTurnMs
    const isSmall = !isOver && this.#small.size > 0
    const [socket] = isSmall ? this.#small : this.#large
    if (turn.isDeferred || socket === undefined || (isOver && turn.hadLarge)) {
      return void setImmediate(this.#releaseNext)
    }
    if (!isSmall) turn.hadLarge = true
    this.remove(socket)
    socket.releaseNextPiece()
    this.#lastPieceAtMs = this.#monotonicMs()
  }

  #beginTurn(): Turn {
    // The first immediate of the next turn, since all others are set later.
    setImmediate(() => {
      this.#turn = undefined
    })
    const startedAtMs = this.#monotonicMs()
    const isDeferred = this.#hasAccepted && startedAtMs - this.#lastPieceAtMs < maxDeferralMs
    this.#hasAccepted = false
    return { startedAtMs, isDeferred, hadLarge: false }
  }
}
