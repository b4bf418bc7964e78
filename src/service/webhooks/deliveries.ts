/**
 * Sends what is due. An event is delivered at least once: its attempt is recorded when it has ended,
 * so one that a crash cuts off is made again, and receivers tell duplicates by the event's id.
 */
import { setMaxListeners } from 'node:events'
import type { Clock, Instant, Timers } from '../../domain/clock.js'
import type { OpenDatabase } from '../../storage/engine.js'
import type { WebhookEventRow } from '../../storage/tables.js'
import { writeForAccount } from '../sql/account-write.js'
import { countPending, firstOfLanes, forgetEvents, readEvent, recordAttempt } from './event-rows.js'
import { type FirstOfLane, Lanes } from './lanes.js'
import type { Notifier, Unsent } from './notifier.js'
import { type AttemptOutcome, type AttemptResult, nextAttemptAt } from './retry-plan.js'
import { SendError } from './sender.js'

/** Told of every attempt, of how many events wait, and of each that is given up. */
export interface WebhookWatch {
  attempted(outcome: AttemptOutcome): void
  pending(count: number): void
  gaveUp?(event: GivenUp): void
}

export interface GivenUp {
  readonly accountId: string
  readonly eventId: string
  readonly event: string
  readonly attempts: number
  readonly problem: string
}

export interface DeliveriesOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'patiently'>
  readonly notifier: Notifier
  readonly clock: Clock
  readonly timers: Timers
  /** From 0 up to, not including, 1. */
  readonly random: () => number
  readonly settings: { readonly maxUnderWay: number; readonly retryMs: readonly number[] }
  readonly watch: WebhookWatch
  /** A delivery has ended: another may begin. */
  readonly onEnded: () => void
  readonly onError: (cause: unknown) => void
}

/** Before what failed in this house, not at a receiver, is tried again. */
const ownRetryMs = 5_000
const pendingEveryMs = 1_000
/** What those under way are given to end when the program does. */
const graceMs = 2_000
/** As long as the results of the scans they tell of. */
const keepDays = 90
const hourMs = 3_600_000

export class Deliveries {
  readonly #options: DeliveriesOptions
  readonly #lanes: Lanes
  readonly #ends = new Set<Promise<void>>()
  readonly #closing = new AbortController()
  #isClosed = false
  #forgetAt: Instant = 0
  #toldPendingAt = Number.NEGATIVE_INFINITY

  constructor(options: DeliveriesOptions) {
    this.#options = options
    this.#lanes = new Lanes(options.settings.maxUnderWay)
    // Each delivery under way listens.
    setMaxListeners(0, this.#closing.signal)
  }

  /**
   * Begins what is due and may begin, and does not wait for its end. Gives the milliseconds until
   * something more becomes due.
   */
  async run(): Promise<number> {
    const { storage, clock } = this.#options
    for (;;) {
      const firsts = await firstOfLanes(storage.db, this.#lanes.underWay)
      const now = clock.now()
      if (!this.#isClosed && this.#beginDue(firsts, now)) continue
      await this.#tellPending()
      await this.#forgetOld(now)
      const later = firsts.map((first) => first.next_attempt_at).filter((at) => at > now)
      return Math.min(...later) - now
    }
  }

  async #forgetOld(now: Instant): Promise<void> {
    if (this.#isClosed || now < this.#forgetAt) return
    const { db, patiently } = this.#options.storage
    const forget = () =>
      db
        .transaction()
        .execute((transaction) => forgetEvents(transaction, now - keepDays * 24 * hourMs))
    // What is not deleted now is in an hour.
    this.#forgetAt = (await patiently(forget).catch(() => false)) ? now : now + hourMs
  }

  /** Whether at least one was begun. A lane may have more than what it has first. */
  #beginDue(firsts: readonly FirstOfLane[], now: Instant): boolean {
    const left = new Set(firsts)
    for (let next = this.#lanes.take(left, now); next; next = this.#lanes.take(left, now)) {
      left.delete(next)
      this.#begin(next)
    }
    return left.size < firsts.length
  }

  /** Counting them all takes a while when many wait, so it is not done after each of many. */
  async #tellPending(): Promise<void> {
    const { storage, timers, watch } = this.#options
    const at = timers.monotonicMs()
    if (this.#lanes.underWay.length > 0 && at - this.#toldPendingAt < pendingEveryMs) return
    this.#toldPendingAt = at
    watch.pending(await countPending(storage.db))
  }

  /** Begins nothing more. What is not sent in a moment is called off, and sent at the next start. */
  async close(): Promise<void> {
    this.#isClosed = true
    const callOff = this.#options.timers.after(graceMs, () => this.#closing.abort())
    await Promise.all(this.#ends)
    callOff()
  }

  #begin({ id }: FirstOfLane): void {
    const end = this.#deliver(id).finally(() => {
      this.#lanes.leave(id)
      this.#ends.delete(end)
      this.#options.onEnded()
    })
    this.#ends.add(end)
  }

  async #deliver(id: string): Promise<void> {
    const { storage, notifier, watch, onError } = this.#options
    try {
      const event = await readEvent(storage.db, id)
      const result = await notifier.attempt(unsentOf(event), this.#closing.signal)
      watch.attempted(result.outcome)
      await this.#record(event, result)
    } catch (cause) {
      if (cause instanceof SendError && cause.failure === 'aborted') return
      onError(cause)
      await this.#pause()
    }
  }

  /** What was sent is recorded before anything else is sent in its place, however long it takes. */
  async #record(event: WebhookEventRow, result: AttemptResult): Promise<void> {
    const { storage, clock, settings, random, onError } = this.#options
    const attempt = event.attempts + 1
    const plan = { retryMs: settings.retryMs, random }
    const isDelivered = result.outcome === 'delivered'
    const next = isDelivered
      ? undefined
      : nextAttemptAt({ attempt, result, now: clock.now() }, plan)
    const ended = { attempt, result, nextAttemptAt: next }
    do {
      try {
        await writeForAccount(storage, event.account_id, (transaction) =>
          recordAttempt(transaction, event, ended),
        )
        if (!isDelivered && next === undefined) this.#tellGivenUp(event, attempt, result)
        return
      } catch (cause) {
        onError(cause)
        await this.#pause()
      }
    } while (!this.#isClosed)
  }

  #tellGivenUp(
    { account_id, id, event }: WebhookEventRow,
    attempts: number,
    { problem = '' }: AttemptResult,
  ): void {
    const about = { accountId: account_id, eventId: id, event }
    this.#options.watch.gaveUp?.({ ...about, attempts, problem })
  }

  /** Ends early when the program does. */
  #pause(): Promise<void> {
    const { signal } = this.#closing
    return new Promise((resolve) => {
      const end = () => {
        callOff()
        signal.removeEventListener('abort', end)
        resolve()
      }
      const callOff = this.#options.timers.after(ownRetryMs, end)
      signal.addEventListener('abort', end, { once: true })
      if (signal.aborted) end()
    })
  }
}

function unsentOf(event: WebhookEventRow): Unsent {
  return {
    id: event.id,
    accountId: event.account_id,
    kind: event.kind,
    event: event.event,
    url: event.url,
    apiKey: event.api_key ?? undefined,
    body: event.body,
    attempt: event.attempts + 1,
  }
}
