/**
 * Notifications to customers' addresses (spec, "Events"): kept with the change they tell of, sent in
 * the background until delivered or given up, with every attempt on record.
 */
import type { Clock, Timers } from '../../domain/clock.js'
import { invalidRequest } from '../../errors.js'
import type { OpenDatabase } from '../../storage/engine.js'
import type { Db } from '../../storage/tables.js'
import { Recurring } from '../background/recurring.js'
import { Deliveries, type WebhookWatch } from './deliveries.js'
import { findLastDelivery, insertEvent } from './event-rows.js'
import type { NoticeSettings } from './notice.js'
import { Notifier } from './notifier.js'
import type { WebhookSender } from './sender.js'
import type {
  LastDelivery,
  NewWebhookEvent,
  Probe,
  WebhookKind,
  WebhookQueue,
} from './webhook-queue.js'

export interface WebhooksOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'patiently'>
  readonly sender: WebhookSender
  /** What the account's notifications are signed with. */
  readonly secretOf: (accountId: string) => Promise<string>
  /** The machine's, for the sandbox too. */
  readonly clock: Clock
  readonly timers: Timers
  readonly randomBytes: (size: number) => Uint8Array
  /** From 0 up to, not including, 1: spreads what must not happen at once. */
  readonly random: () => number
  readonly settings: NoticeSettings & {
    readonly timeoutMs: number
    readonly retryMs: readonly number[]
    readonly maxUnderWay: number
  }
  readonly watch: WebhookWatch
  /** What failed in this house; it is tried again. */
  readonly onError: (cause: unknown) => void
}

export class Webhooks implements WebhookQueue {
  readonly #options: WebhooksOptions
  readonly #notifier: Notifier
  readonly #deliveries: Deliveries
  readonly #recurring: Recurring

  constructor(options: WebhooksOptions) {
    const { timers, onError } = options
    this.#options = options
    this.#notifier = new Notifier(options)
    this.#deliveries = new Deliveries({
      ...options,
      notifier: this.#notifier,
      onEnded: () => this.#recurring.wake(),
    })
    this.#recurring = new Recurring({ run: () => this.#deliveries.run(), timers, onError })
  }

  /** Sends from now on what is due, beginning with what an earlier process left. */
  start(): void {
    this.#recurring.start()
  }

  /** Begins no further attempt; those under way have a moment to end. */
  async close(): Promise<void> {
    await Promise.all([this.#deliveries.close(), this.#recurring.close()])
  }

  async add(transaction: Db, event: NewWebhookEvent): Promise<string> {
    const id = this.#newId()
    await insertEvent(transaction, event, { id, at: this.#options.clock.now() })
    return id
  }

  wake(): void {
    this.#recurring.wake()
  }

  async probe({ apiKey, body, ...event }: NewWebhookEvent): Promise<Probe> {
    const { httpStatus, problem } = await this.#notifier.attempt({
      ...event,
      id: this.#newId(),
      apiKey,
      body: JSON.stringify(body),
      attempt: 1,
    })
    return { httpStatus: httpStatus ?? undefined, problem }
  }

  async lastDelivery(
    accountId: string,
    kind: WebhookKind,
    subject: string,
  ): Promise<LastDelivery | undefined> {
    return await findLastDelivery(this.#options.storage.db, accountId, { kind, subject })
  }

  refuseBadUrl(field: string, url: string): void {
    const rule = this.#options.sender.problemOf(url)
    if (rule !== undefined) throw invalidRequest([{ field, value: url, rule }])
  }

  /** Cannot be guessed: `evt_` and 32 letters and digits (spec, "Project webhook"). */
  #newId(): string {
    return `evt_${Buffer.from(this.#options.randomBytes(16)).toString('hex')}`
  }
}
