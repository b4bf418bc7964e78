/**
 * Limits the bytes of all request bodies in progress (`http.maxBodiesBytes`), and the part of them that
 * one account, or all senders that are not known yet, may hold.
 */
import { AppError } from '../../errors.js'

/** Not counted: small bodies, such as those of decisions, never wait for big ones. */
const freeBytesPerBody = 16_384
/** One account may hold a quarter, senders that are not known yet an eighth together. */
const accountShare = 1 / 4
const anonymousShare = 1 / 8

const anonymous = ''
const retryAfterSeconds = 1

export class BodyBudget {
  readonly #maxBytes: number
  #bytes = 0
  readonly #byHolder = new Map<string, number>()

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Counted bytes of all bodies in progress. */
  get bytes(): number {
    return this.#bytes
  }

  /** For one body, of a sender that is not known yet. */
  openCharge(): BodyCharge {
    return new BodyCharge(this)
  }

  /** Throws `overloaded` when there is no room; `bytes` may be negative, which gives room back. */
  charge(holder: string, bytes: number): void {
    const held = (this.#byHolder.get(holder) ?? 0) + bytes
    const share = holder === anonymous ? anonymousShare : accountShare
    const isFull = held > this.#maxBytes * share || this.#bytes + bytes > this.#maxBytes
    if (bytes > 0 && isFull) throw createOverloadedError()
    this.#bytes += bytes
    if (held === 0) this.#byHolder.delete(holder)
    else this.#byHolder.set(holder, held)
  }
}

/** The share of one body in a {@link BodyBudget}, until it is released. */
export class BodyCharge {
  readonly #budget: BodyBudget
  #holder = anonymous
  #counted = 0

  constructor(budget: BodyBudget) {
    this.#budget = budget
  }

  /** The body takes that many bytes in all. Throws `overloaded` when there is no room for them. */
  resize(bytes: number): void {
    const counted = Math.max(0, bytes - freeBytesPerBody)
    this.#budget.charge(this.#holder, counted - this.#counted)
    this.#counted = counted
  }

  /** The sender is known now. Throws `overloaded` when its account has no room for the body. */
  assignTo(accountId: string): void {
    const counted = this.#counted
    this.release()
    this.#holder = accountId
    this.#budget.charge(accountId, counted)
    this.#counted = counted
  }

  release(): void {
    this.#budget.charge(this.#holder, -this.#counted)
    this.#counted = 0
  }
}

function createOverloadedError(): AppError {
  const problem =
    'The request bodies in progress use all memory allowed for them (http.maxBodiesBytes); ' +
    `send the request again in ${retryAfterSeconds} second`
  return new AppError('overloaded', problem, { retryAfterSeconds })
}
