/**
 * Sends due events. Events are delivered at least once: an attempt is recorded when it has ended, so
 * one interrupted by a crash is repeated. Receivers recognize duplicates by the event's id.
 */

import { setMaxListeners } from 'node:events'
import type { Clock, Instant, Timers } from '../../domain/time/clock.js'
import { msPerDay } from '../../domain/time/dates.js'
import { sleep } from '../../runtime/runtime.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { WebhookEventRow } from '../../storage/tables.js'
import { type FindToday, HourlyCleanup } from '../background/hourly-cleanup.js'
import { runAccountTransaction } from '../sql/account-transaction.js'
import { DeliveryLanes, type LaneHead } from './delivery-lanes.js'
import type { PendingWebhookEvent, WebhookDispatcher } from './webhook-dispatcher.js'
import {
  countPending,
  deleteOldEvents,
  findLaneHeads,
  readWebhookEvent,
  recordAttempt,
} from './webhook-event-rows.js'
import {
  type AttemptOutcome,
  type AttemptResult,
  computeNextAttemptAt,
} from './webhook-retry-policy.js'
import { SendError } from './webhook-sender.js'

export interface WebhookObserver {
  onAttempt(outcome: AttemptOutcome): void
  onPending(count: number): void
  /** The event is not retried. */
  onFailure?(event: FailedDelivery): void
}

export interface FailedDelivery {
  readonly accountId: string
  readonly eventId: string
  readonly event: string
  readonly attempts: number
  readonly problem: string
}

export interface WebhookDeliveriesOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'traits' | 'retryWhileLocked'>
  readonly dispatcher: WebhookDispatcher
  readonly clock: Clock
  readonly findToday: FindToday
  readonly timers: Timers
  /** From 0 up to, not including, 1. */
  readonly random: () => number
  readonly settings: { readonly maxUnderWay: number; readonly retryMs: readonly number[] }
  readonly observer: WebhookObserver
  /** Called when another delivery may begin. */
  readonly onDeliveryEnded: () => void
  readonly onError: (cause: unknown) => void
}

/** Delay before retrying after a failure of this program, as opposed to the receiver. */
const internalRetryMs = 5_000
const pendingReportIntervalMs = 1_000
/** How long deliveries in flight may take to finish on shutdown. */
const graceMs = 2_000
/** The same as for scan results. */
const keepDays = 90

export class WebhookDeliveries {
  readonly #options: WebhookDeliveriesOptions
  readonly #lanes: DeliveryLanes
  readonly #inFlight = new Set<Promise<void>>()
  readonly #closing = new AbortController()
  #isClosed = false
  readonly #cleanup: HourlyCleanup
  #pendingReportedAt = Number.NEGATIVE_INFINITY

  constructor(options: WebhookDeliveriesOptions) {
    this.#options = options
    this.#cleanup = new HourlyCleanup(options.findToday, (now) => this.#deleteOld(now))
    this.#lanes = new DeliveryLanes(options.settings.maxUnderWay)
    // Each delivery in flight adds a listener.
    setMaxListeners(0, this.#closing.signal)
  }

  /**
   * Starts due deliveries within the limits, without waiting for them to finish. Resolves to the
   * milliseconds until the next event is due.
   */
  async run(): Promise<number> {
    const { storage, clock } = this.#options
    for (;;) {
      const firsts = await findLaneHeads(storage.db, this.#lanes.inFlight)
      const now = clock.now()
      if (!this.#isClosed && this.#startDue(firsts, now)) continue
      await this.#reportPending()
      if (!this.#isClosed) await this.#cleanup.run(now)
      const later = firsts.map((first) => first.next_attempt_at).filter((at) => at > now)
      return Math.min(...later) - now
    }
  }

  async #deleteOld(now: Instant): Promise<boolean> {
    const { db, retryWhileLocked } = this.#options.storage
    const deleteSome = () =>
      db
        .transaction()
        .execute((transaction) => deleteOldEvents(transaction, now - keepDays * msPerDay))
    return await retryWhileLocked(deleteSome).catch(() => false)
  }

  /** Returns whether any was started; its lane may then have another one due. */
  #startDue(firsts: readonly LaneHead[], now: Instant): boolean {
    const left = new Set(firsts)
    for (let next = this.#lanes.take(left, now); next; next = this.#lanes.take(left, now)) {
      left.delete(next)
      this.#start(next)
    }
    return left.size < firsts.length
  }

  /** Counting a long queue is slow, so it is not done after every delivery. */
  async #reportPending(): Promise<void> {
    const { storage, timers, observer } = this.#options
    const at = timers.monotonicMs()
    if (this.#lanes.inFlight.length > 0 && at - this.#pendingReportedAt < pendingReportIntervalMs)
      return
    this.#pendingReportedAt = at
    observer.onPending(await countPending(storage.db))
  }

  /** Starts nothing more. Deliveries that do not end soon are aborted and repeated at the next start. */
  async close(): Promise<void> {
    this.#isClosed = true
    const cancelTimer = this.#options.timers.after(graceMs, () => this.#closing.abort())
    await Promise.all(this.#inFlight)
    cancelTimer()
  }

  #start({ id }: LaneHead): void {
    const end = this.#deliver(id).finally(() => {
      this.#lanes.release(id)
      this.#inFlight.delete(end)
      this.#options.onDeliveryEnded()
    })
    this.#inFlight.add(end)
  }

  async #deliver(id: string): Promise<void> {
    const { storage, dispatcher, observer, onError } = this.#options
    try {
      const event = await readWebhookEvent(storage.db, id)
      const result = await dispatcher.attempt(toPendingEvent(event), this.#closing.signal)
      observer.onAttempt(result.outcome)
      await this.#record(event, result)
    } catch (cause) {
      if (cause instanceof SendError && cause.failure === 'aborted') return
      onError(cause)
      await this.#pause()
    }
  }

  /** Repeated until it succeeds: the lane sends nothing else before the attempt is recorded. */
  async #record(event: WebhookEventRow, result: AttemptResult): Promise<void> {
    const { storage, clock, settings, random, onError } = this.#options
    const attempt = event.attempts + 1
    const plan = { retryMs: settings.retryMs, random }
    const isDelivered = result.outcome === 'delivered'
    const next = isDelivered
      ? undefined
      : computeNextAttemptAt({ attempt, result, now: clock.now() }, plan)
    const ended = { attempt, result, nextAttemptAt: next }
    do {
      try {
        await runAccountTransaction(storage, event.account_id, (transaction) =>
          recordAttempt(transaction, event, ended),
        )
        if (!isDelivered && next === undefined) this.#reportFailure(event, attempt, result)
        return
      } catch (cause) {
        onError(cause)
        await this.#pause()
      }
    } while (!this.#isClosed)
  }

  #reportFailure(
    { account_id, id, event }: WebhookEventRow,
    attempts: number,
    { problem = '' }: AttemptResult,
  ): void {
    const about = { accountId: account_id, eventId: id, event }
    this.#options.observer.onFailure?.({ ...about, attempts, problem })
  }

  /** Waits before an internal retry; resolves early on shutdown. */
  #pause(): Promise<void> {
    const { timers } = this.#options
    return sleep(internalRetryMs, { timers, signal: this.#closing.signal })
  }
}

function toPendingEvent(event: WebhookEventRow): PendingWebhookEvent {
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
