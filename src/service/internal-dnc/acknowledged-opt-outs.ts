/** Opt-outs that this server has acknowledged lately, to be written again if a failover loses them. */
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'
import { AppError } from '../../errors.js'
import { computeBackoffMs } from '../../runtime/backoff.js'
import { sleep } from '../../runtime/runtime.js'
import { nameNumbers } from '../../storage/change-head.js'
import type { ChangeFeed, SeenChange } from '../../storage/open-database.js'

export interface AcknowledgedOptOut {
  readonly accountId: string
  /** For which it was given; the project may read another list by now. */
  readonly projectCode: string
  readonly onAllLists?: boolean | undefined
  readonly keyId: string
  readonly numbers: readonly PhoneNumber[]
  /** Number of its change. */
  readonly seq: number
  /** When it was stored. */
  readonly at: Instant
}

export interface AcknowledgedOptOutsDeps {
  readonly feed: Pick<ChangeFeed, 'remember'> | undefined
  readonly add: (optOut: AcknowledgedOptOut) => Promise<void>
  readonly onWritten: (optOut: AcknowledgedOptOut) => void
  /** It will not be tried again. */
  readonly onRefused: (optOut: AcknowledgedOptOut, cause: AppError) => void
}

/** More than a standby is behind. */
const maxOptOuts = 1_000
const maxNumbers = 200_000
const backoff = { firstMs: 200, maxMs: 10_000 }

export class AcknowledgedOptOuts {
  readonly #deps: AcknowledgedOptOutsDeps
  /** The oldest first. A number of a change may come twice, since a failover may give it to another one. */
  #latest: AcknowledgedOptOut[] = []
  #count = 0
  readonly #closing = new AbortController()
  #writing: Promise<void> = Promise.resolve()

  constructor(deps: AcknowledgedOptOutsDeps) {
    this.#deps = deps
  }

  /** To be called before it is acknowledged. */
  remember(optOut: AcknowledgedOptOut): void {
    const { seq, accountId, numbers, at } = optOut
    // One that was stored by a service thread may not have been read yet.
    this.#deps.feed?.remember?.({ seq, accountId, numbers: nameNumbers(numbers), at })
    this.#latest.push(optOut)
    this.#count += optOut.numbers.length
    while (this.#latest.length > maxOptOuts || this.#count > maxNumbers) {
      this.#count -= this.#latest.shift()?.numbers.length ?? 0
    }
  }

  /**
   * Writes those again that are in one of the changes, one after the other. An opt-out is always right: it is written also if a
   * removal or a consent of its number was lost as well.
   */
  writeAgain(changes: readonly SeenChange[]): void {
    const lost = new Set(changes.map(({ seq, at }) => `${seq} ${at}`))
    const isLost = ({ seq, at }: AcknowledgedOptOut) => lost.has(`${seq} ${at}`)
    const optOuts = this.#latest.filter(isLost)
    this.#latest = this.#latest.filter((optOut) => !isLost(optOut))
    this.#count = this.#latest.reduce((sum, { numbers }) => sum + numbers.length, 0)
    this.#writing = this.#writing.then(async () => {
      for (const optOut of optOuts) await this.#write(optOut)
    })
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#writing
  }

  async #write(optOut: AcknowledgedOptOut): Promise<void> {
    const { signal } = this.#closing
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        await this.#deps.add(optOut)
        return this.#deps.onWritten(optOut)
      } catch (cause) {
        const isRefused = cause instanceof AppError && cause.kind !== 'not-available'
        if (isRefused) return this.#deps.onRefused(optOut, cause)
        await sleep(computeBackoffMs(attempt, backoff), { signal })
      }
    }
  }
}
