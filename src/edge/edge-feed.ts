/**
 * Follows the center: fetches what an edge's copy is missing, then what changes, and delivers the opt-outs that were
 * given to the edge.
 */
import type { ChangesCopy } from '../api/edges.js'
import type { PhoneNumber } from '../domain/phone-number.js'
import type { ClockReading } from '../domain/time/clock.js'
import { getErrorMessage } from '../errors.js'
import type { Logger } from '../observability/log.js'
import { computeBackoffMs } from '../runtime/backoff.js'
import { sleep, systemClock, systemTimers } from '../runtime/runtime.js'
import type { ChangeFeed, FeedObserver } from '../storage/open-database.js'
import { CenterClient, type CenterClientOptions } from './center-client.js'
import { type CopyState, EdgeCopy } from './edge-copy.js'

/** The center answers after so long, at the latest. */
const waitMs = 100
const backoff = { firstMs: 100, maxMs: 2_000 }
const storeCurrentEveryMs = 5_000
const maxOptOuts = 1_000
const retryOptOutsMs = 1_000

export interface EdgeFeedDeps extends CenterClientOptions {
  readonly storage: ConstructorParameters<typeof EdgeCopy>[0]
  readonly log: Logger
  /** At least 0 and below 1; spreads the attempts of several edges. */
  readonly random: () => number
}

export class EdgeFeed implements ChangeFeed {
  readonly #client: CenterClient
  readonly #copy: EdgeCopy
  readonly #log: Logger
  readonly #random: () => number
  #state: CopyState | undefined
  #current: ClockReading = { now: 0, monotonicMs: Number.NEGATIVE_INFINITY }
  #problem: string | undefined = 'nothing was copied from the center yet'
  readonly #closing = new AbortController()
  #following: Promise<unknown> = Promise.resolve()

  constructor({ storage, log, random, ...center }: EdgeFeedDeps) {
    this.#client = new CenterClient(center)
    this.#copy = new EdgeCopy(storage)
    this.#log = log
    this.#random = random
  }

  get currentAt(): ClockReading {
    return this.#current
  }

  /** The changes of an edge are those of its center. */
  readonly position = undefined

  /** What only one server does is done at the center. */
  readonly isLeader = false

  get problem(): string | undefined {
    return this.#problem
  }

  async follow(observer: FeedObserver): Promise<void> {
    const state = await this.#copy.read()
    this.#state = state
    await observer.everythingChanged()
    if (state.cursor !== '') {
      const ageMs = systemClock.now() - state.currentAt
      this.#current = {
        now: state.currentAt,
        monotonicMs: systemTimers.monotonicMs() - ageMs,
      }
    }
    // The rest of the start needs the account, so it waits for it for a moment.
    else await this.#copyAccount(observer)
    this.#following = Promise.all([this.#keepCurrent(observer), this.#keepDelivering()])
  }

  async #copyAccount(observer: FeedObserver): Promise<void> {
    try {
      await this.#step(observer)
      await this.#step(observer)
    } catch (cause) {
      this.#problem = getErrorMessage(cause)
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#client.close()
    await this.#following
  }

  async #keepCurrent(observer: FeedObserver): Promise<void> {
    const { signal } = this.#closing
    let failures = 0
    while (!signal.aborted) {
      try {
        await this.#step(observer)
        failures = 0
      } catch (cause) {
        if (signal.aborted) return
        failures += 1
        const problem = getErrorMessage(cause)
        if (problem !== this.#problem) this.#log.warn('the center is not followed', { problem })
        this.#problem = problem
        await sleep(computeBackoffMs(failures, backoff) * (0.5 + this.#random() / 2), { signal })
      }
    }
  }

  async #step(observer: FeedObserver): Promise<void> {
    const state = this.#state ?? (await this.#copy.read())
    if (state.missing) {
      this.#state = await this.#fetchMissing(state)
      // Answers that were cached while rows were replaced.
      if (this.#state.missing === undefined) await observer.everythingChanged()
      return
    }
    const began = { now: systemClock.now(), monotonicMs: systemTimers.monotonicMs() }
    const changes = await this.#client.changes(state.cursor, waitMs)
    if (changes.isUnknown) {
      this.#state = await this.#copy.startAgain(changes.cursor, state)
      return
    }
    this.#state = await this.#apply(changes, state, observer)
    if (this.#state.missing || changes.hasMore) return
    await this.#setCurrent(began, changes.knownAfterMs)
  }

  async #fetchMissing(state: CopyState): Promise<CopyState> {
    if (state.missing?.account) {
      return await this.#copy.replaceAccount(await this.#client.account(), state)
    }
    const [first] = state.missing?.records ?? []
    if (!first) return state
    return await this.#copy.replacePage(await this.#client.records(first.table, first.after), state)
  }

  async #apply(changes: ChangesCopy, state: CopyState, observer: FeedObserver): Promise<CopyState> {
    if (changes.cursor === state.cursor) return state
    const next = await this.#copy.applyChanges(changes, state)
    if (next.missing) await observer.everythingChanged()
    else await observer.numbersChanged(state.accountId, changes.numbers as PhoneNumber[])
    return next
  }

  /** What the center knew so long after the request arrived there was known so long after it was sent. */
  async #setCurrent(sent: ClockReading, knownAfterMs: number): Promise<void> {
    const knownMs = Math.min(knownAfterMs, systemTimers.monotonicMs() - sent.monotonicMs)
    this.#current = { now: sent.now + knownMs, monotonicMs: sent.monotonicMs + knownMs }
    this.#problem = undefined
    const state = this.#state
    if (state === undefined || this.#current.now - state.currentAt < storeCurrentEveryMs) return
    this.#state = await this.#copy.storeCurrentAt(this.#current.now, state)
  }

  async #keepDelivering(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      let pauseMs = waitMs
      try {
        await this.#deliver()
      } catch (cause) {
        if (signal.aborted) return
        pauseMs = retryOptOutsMs
        const problem = getErrorMessage(cause)
        this.#log.warn('opt-outs could not be passed on to the center; trying again', { problem })
      }
      await sleep(pauseMs, { signal })
    }
  }

  /** An opt-out is kept until the center's answer to a later request has it. */
  async #deliver(): Promise<void> {
    const optOuts = await this.#copy.readOptOuts(maxOptOuts)
    for (const list of new Set(optOuts.map((optOut) => optOut.list))) {
      const numbers = optOuts.filter((optOut) => optOut.list === list)
      await this.#client.addOptOuts(
        list,
        numbers.map(({ number }) => number),
      )
    }
    if (optOuts.length === 0) return
    const deliveredMs = systemTimers.monotonicMs()
    const { signal } = this.#closing
    while (!signal.aborted && this.#current.monotonicMs <= deliveredMs) {
      await sleep(waitMs, { signal })
    }
    if (!signal.aborted) await this.#copy.forgetOptOuts(optOuts)
  }
}
