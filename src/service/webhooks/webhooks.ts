/**
 * Notifications to customers' URLs (spec, "Events"): stored in the transaction of the change they
 * report, and sent in the background until delivered or out of attempts. Every attempt is recorded.
 */
import type { Timers } from '../../domain/time/clock.js'
import { invalidRequest } from '../../errors.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { Db } from '../../storage/tables.js'
import { BackgroundTask } from '../background/background-task.js'
import type { FindToday } from '../background/hourly-cleanup.js'
import { WebhookDeliveries, type WebhookObserver } from './webhook-deliveries.js'
import { WebhookDispatcher, type WebhookDispatcherOptions } from './webhook-dispatcher.js'
import { findLastDelivery, insertEvent } from './webhook-event-rows.js'
import type {
  LastDelivery,
  NewWebhookEvent,
  ProbeResult,
  WebhookKind,
  WebhookQueue,
} from './webhook-queue.js'

/** `clock` must be the machine's clock, even for the sandbox. */
export interface WebhooksOptions extends WebhookDispatcherOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'feed' | 'traits' | 'retryWhileLocked'>
  readonly timers: Timers
  readonly randomBytes: (size: number) => Uint8Array
  /** From 0 up to, not including, 1: spreads retries. */
  readonly random: () => number
  readonly settings: WebhookDispatcherOptions['settings'] & {
    readonly retryMs: readonly number[]
    readonly maxUnderWay: number
  }
  readonly observer: WebhookObserver
  readonly findToday: FindToday
  /** Called for failures of this program, which are retried. */
  readonly onError: (cause: unknown) => void
}

export class Webhooks implements WebhookQueue {
  readonly #options: WebhooksOptions
  readonly #dispatcher: WebhookDispatcher
  readonly #deliveries: WebhookDeliveries
  readonly task: BackgroundTask

  constructor(options: WebhooksOptions) {
    const { timers, onError, storage } = options
    this.#options = options
    this.#dispatcher = new WebhookDispatcher(options)
    this.#deliveries = new WebhookDeliveries({
      ...options,
      dispatcher: this.#dispatcher,
      onDeliveryEnded: () => this.task.wake(),
    })
    this.task = new BackgroundTask({
      run: () => this.#deliveries.run(),
      timers,
      leadership: storage.feed,
      // The leader counts them.
      onFollow: () => options.observer.onPending?.(0),
      onError,
    })
  }

  /** Starts sending, beginning with events left by an earlier process. */
  start(): void {
    this.task.start()
  }

  /** Starts no further attempts; resolves when those in flight have ended or the grace period is over. */
  async close(): Promise<void> {
    await Promise.all([this.#deliveries.close(), this.task.close()])
  }

  async add(transaction: Db, event: NewWebhookEvent): Promise<string> {
    const id = this.#newId()
    await insertEvent(transaction, event, { id, at: this.#options.clock.now() })
    return id
  }

  wake(): void {
    this.task.wake()
  }

  async probe({ apiKey, body, ...event }: NewWebhookEvent): Promise<ProbeResult> {
    const { httpStatus, problem } = await this.#dispatcher.attempt({
      ...event,
      id: this.#newId(),
      apiKey,
      body: JSON.stringify(body),
      attempt: 1,
    })
    return { httpStatus: httpStatus ?? undefined, problem }
  }

  async findLastDelivery(
    accountId: string,
    kind: WebhookKind,
    subject: string,
  ): Promise<LastDelivery | undefined> {
    return await findLastDelivery(this.#options.storage.db, accountId, { kind, subject })
  }

  refuseBadUrl(field: string, url: string): void {
    const rule = this.#options.sender.findProblem(url)
    if (rule !== undefined) throw invalidRequest([{ field, value: url, rule }])
  }

  /** Unguessable: `evt_` and 32 letters and digits (spec, "Project webhook"). */
  #newId(): string {
    return `evt_${Buffer.from(this.#options.randomBytes(16)).toString('hex')}`
  }
}
