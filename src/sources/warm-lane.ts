/**
 * The pace of warming: jobs take turns, a block of numbers at a time, and no more numbers are under
 * way than the source takes. Whole blocks, so that the source's requests are full.
 */
import type { Timers } from '../domain/clock.js'
import type { Warmed } from './answer-shelf.js'
import { Pause } from './pause.js'

/** What a job wants asked. */
export interface WarmAsking {
  readonly accountId: string
  /** Places in the job's list. */
  readonly places: ArrayLike<number>
  /** How many of them have been taken already. */
  readonly from: number
  isOver(): boolean
  /** Never rejects. */
  ask(place: number): Promise<Warmed>
  tell(place: number, warmed: Warmed): void
}

export interface WarmLane {
  /**
   * Once it is this job's turn, asks about the next places and resolves when all are told of. Gives
   * how many it took: at least one while the job is not over.
   */
  block(asking: WarmAsking): Promise<number>
}

/** What one turn of the event loop is given to, so that decisions do not wait for it. */
const sliceMs = 5
const sliceNumbers = 1_000

/** Smaller blocks would leave the source's requests nearly empty. */
const smallestBlock = 500
/**
 * More than this share of a block unanswered: the source does not keep up with blocks so large. It
 * may also be the account that asks for what nobody answers, so each has a size of its own.
 */
const tolerableShare = 0.05

export class PacedLane implements WarmLane {
  readonly #timers: Timers
  readonly #pause: Pause
  readonly #mostUnderWay: number
  /** Of the accounts whose blocks are smaller than {@link PacedLane.#mostUnderWay}. */
  readonly #sizes = new Map<string, number>()
  #turns: Promise<unknown> = Promise.resolve()

  constructor(options: { readonly timers: Timers; readonly mostUnderWay: number }) {
    this.#timers = options.timers
    this.#pause = new Pause(options.timers)
    this.#mostUnderWay = options.mostUnderWay
  }

  /** Each job waits for its block before it wants another, so they take turns. */
  block(asking: WarmAsking): Promise<number> {
    const mine = this.#turns.then(() => this.#ask(asking))
    this.#turns = mine
    return mine
  }

  /** Leaves no timer; jobs must be over. */
  close(): void {
    this.#pause.end()
  }

  async #ask({ accountId, places, from, isOver, ask, tell }: WarmAsking): Promise<number> {
    const size = this.#sizes.get(accountId) ?? this.#mostUnderWay
    const underWay: Promise<void>[] = []
    let unanswered = 0
    let sliceEnd = this.#timers.monotonicMs() + sliceMs
    while (underWay.length < size && from + underWay.length < places.length && !isOver()) {
      const place = places[from + underWay.length] ?? 0
      const told = ask(place).then((warmed) => {
        if (warmed === 'unanswered') unanswered += 1
        tell(place, warmed)
      })
      underWay.push(told)
      const isLong = this.#timers.monotonicMs() >= sliceEnd
      if (isLong || underWay.length % sliceNumbers === 0) {
        await this.#pause.wait(0)
        sliceEnd = this.#timers.monotonicMs() + sliceMs
      }
    }
    await Promise.all(underWay)
    const isTooMuch = unanswered > underWay.length * tolerableShare
    this.#keepSize(accountId, isTooMuch ? size / 2 : size * 2)
    return underWay.length
  }

  #keepSize(accountId: string, wanted: number): void {
    const size = Math.floor(Math.max(smallestBlock, wanted))
    if (size < this.#mostUnderWay) this.#sizes.set(accountId, size)
    else this.#sizes.delete(accountId)
  }
}
