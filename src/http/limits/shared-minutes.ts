/**
 * Counts what an account sends to several servers. Each takes a part of what is left of the current minute, in one step
 * that the servers' database decides, and gives none of it back: all together never admit more than the limit.
 */
import type { Clock, Instant, Timers } from '../../domain/time/clock.js'
import { AppError } from '../../errors.js'
import { withTimeout } from '../../runtime/runtime.js'
import { msPerMinute } from './minute-window.js'

/** Takes up to `amount` of what all servers may take; resolves to how much. */
export type TakeShared = (
  limit: { readonly key: string; readonly limit: number; readonly expiresAt: Instant },
  amount: number,
) => Promise<number>

export interface Taken {
  /** After which there may be room; absent if the amount was taken. */
  readonly retryAfterSeconds?: number | undefined
  /** Of the limit; with several servers, as far as this one knows. */
  readonly left: number
}

interface Share {
  /** Taken from the limit, and not yet used here. */
  left: number
  /** As far as is known here. */
  leftForAll: number
  taking: Promise<void> | undefined
}

/** Of the limit, taken at once: a server seldom has to ask, and keeps little from others. */
const part = 1 / 20

/** Clocks of servers differ; whose is behind still counts in the minute that has ended. */
const clockSkewMs = 60_000

/** A database that is away gives no error for a while. */
const maxWaitMs = 1_000

export interface SharedMinutesOptions {
  /** That of the machine. */
  readonly clock: Clock
  readonly timers: Timers
  readonly take: TakeShared
}

export class SharedMinutes {
  readonly #options: SharedMinutesOptions
  #minute = 0
  /** Of the current minute, by what is limited. */
  #shares = new Map<string, Share>()

  constructor(options: SharedMinutesOptions) {
    this.#options = options
  }

  /** Rejects with `not-available` if too little is left here and the database does not answer. */
  async take(key: string, most: number, amount = 1): Promise<Taken> {
    for (;;) {
      const share = this.#findShare(key, most)
      if (share.left >= amount) {
        share.left -= amount
        return { left: share.left + share.leftForAll }
      }
      if (share.left + share.leftForAll < amount) {
        const msLeft = (this.#minute + 1) * msPerMinute - this.#options.clock.now()
        const retryAfterSeconds = Math.max(1, Math.ceil(msLeft / 1000))
        return { retryAfterSeconds, left: share.left + share.leftForAll }
      }
      share.taking ??= this.#takeMore(key, { most, amount }, share).finally(() => {
        share.taking = undefined
      })
      await share.taking
    }
  }

  #findShare(key: string, most: number): Share {
    const minute = Math.floor(this.#options.clock.now() / msPerMinute)
    if (minute !== this.#minute) {
      this.#minute = minute
      this.#shares = new Map()
    }
    const known = this.#shares.get(key)
    if (known) return known
    const made = { left: 0, leftForAll: most, taking: undefined }
    this.#shares.set(key, made)
    return made
  }

  async #takeMore(
    key: string,
    { most, amount }: { readonly most: number; readonly amount: number },
    share: Share,
  ): Promise<void> {
    const wanted = Math.max(Math.ceil(most * part), amount - share.left)
    const limit = {
      key: `${key} ${this.#minute}`,
      limit: most,
      expiresAt: (this.#minute + 1) * msPerMinute + clockSkewMs,
    }
    const { take, timers } = this.#options
    const taken = await withTimeout(take(limit, wanted), maxWaitMs, refuse, { timers })
    share.left += taken
    share.leftForAll = taken < wanted ? 0 : Math.max(0, share.leftForAll - taken)
  }
}

function refuse(): never {
  const message = 'What the account may still send is not known, since the database does not answer'
  throw new AppError('not-available', `${message}; send it again`, { retryAfterSeconds: 1 })
}
