/** What all senders without a key may take of the server together, so that decisions do not wait for them. */
import { AppError } from '../../errors.js'
import { systemTimers, withTimeout } from '../../runtime/runtime.js'
import { Credit } from './credit.js'

/** To send a shorter answer costs no more than to refuse it. */
const freeBytes = 16_384
const bytesPerSecond = 8_388_608
/** Of the thread that decides. What it does meanwhile for others is counted too. */
const msPerSecond = 200
/** So that a person who clicks through pages need not wait. */
const savedSeconds = 5
/** The others wait for it, and what it waits for may never come. */
const maxWorkMs = 5_000
const retryAfterSeconds = 1

/** A request is admitted while something is left, and charged with what it took. */
export class StrangersAllowance {
  readonly #bytes = new Credit(bytesPerSecond, bytesPerSecond)
  readonly #ms = new Credit(msPerSecond, savedSeconds * msPerSecond)
  #lastWork: Promise<unknown> = Promise.resolve()

  /** For the body of an answer. Throws `overloaded`. */
  takeBytes(count: number): void {
    if (count <= freeBytes) return
    requireLeft(this.#bytes)
    this.#bytes.take(count)
  }

  /** One work after the other. Rejects with `overloaded`, also after five seconds: the next one begins then. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#lastWork.then(async () => {
      requireLeft(this.#ms)
      const startedAtMs = systemTimers.monotonicMs()
      try {
        return await withTimeout(work(), maxWorkMs, refuse)
      } finally {
        this.#ms.take(systemTimers.monotonicMs() - startedAtMs)
      }
    })
    this.#lastWork = turn.catch(() => undefined)
    return await turn
  }
}

function requireLeft(credit: Credit): void {
  if (credit.left <= 0) refuse()
}

function refuse(): never {
  const problem =
    'The senders without a key have taken all that the server has for them; ' +
    `send the request again in ${retryAfterSeconds} second`
  throw new AppError('overloaded', problem, { retryAfterSeconds })
}
