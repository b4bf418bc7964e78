/** The port through which subjects notify customers' addresses. Who fills it keeps and delivers. */
import type { Instant } from '../../domain/clock.js'
import type { Db } from '../../storage/tables.js'

export type WebhookKind = 'scan' | 'project'

export interface NewWebhookEvent {
  readonly accountId: string
  readonly kind: WebhookKind
  /** A scan job's id or a project's code. */
  readonly subject: string
  /** Such as `scan.complete` or `project.ftcValidation`. */
  readonly event: string
  readonly url: string
  /** Sent in the key header. */
  readonly apiKey?: string | undefined
  /**
   * `scan`: the body as it is sent (spec, "One-time scan completion webhook"). `project`: what is
   * sent beside `EventId`, `Event`, `Attempt` and `SentOn`, which each attempt has of its own.
   */
  readonly body: Readonly<Record<string, unknown>>
}

/** The latest attempt (spec, "Project", `LastDelivery`). */
export interface LastDelivery {
  readonly eventId: string
  readonly event: string
  readonly attempt: number
  /** `null` when no answer came. */
  readonly httpStatus: number | null
  readonly sentAt: Instant
}

export interface Probe {
  /** `undefined` when no answer came. */
  readonly httpStatus: number | undefined
  /** Why it is no delivery; absent when it is one. */
  readonly problem?: string | undefined
}

export interface WebhookQueue {
  /** Kept with the change it tells of, in that transaction; gives the event's id. */
  add(transaction: Db, event: NewWebhookEvent): Promise<string>
  /** To be called when such a transaction is committed. */
  wake(): void
  /** Sends once, now, and keeps nothing: for `TestNotificationURL`. */
  probe(event: NewWebhookEvent): Promise<Probe>
  /** `undefined` before the first attempt. */
  lastDelivery(
    accountId: string,
    kind: WebhookKind,
    subject: string,
  ): Promise<LastDelivery | undefined>
  /** Throws {@link AppError} naming the field for an address nothing may be sent to. */
  refuseBadUrl(field: string, url: string): void
}
