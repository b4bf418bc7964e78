/** The port through which services send notifications to customers' URLs. */
import type { Instant } from '../../domain/time/clock.js'
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
   * `scan`: the body as sent (spec, "One-time scan completion webhook"). `project`: the fields besides
   * `EventId`, `Event`, `Attempt` and `SentOn`, which differ between attempts.
   */
  readonly body: Readonly<Record<string, unknown>>
}

/** The latest attempt to deliver an event (spec, "Project", `LastDelivery`). */
export interface LastDelivery {
  readonly eventId: string
  readonly event: string
  readonly attempt: number
  /** `null` if there was no response. */
  readonly httpStatus: number | null
  readonly sentAt: Instant
}

export interface ProbeResult {
  /** `undefined` if there was no response. */
  readonly httpStatus: number | undefined
  /** Why the delivery failed; absent on success. */
  readonly problem?: string | undefined
}

export interface WebhookQueue {
  /** Stores the event in the transaction of the change that it reports; returns the event's id. */
  add(transaction: Db, event: NewWebhookEvent): Promise<string>
  /** Must be called after the transaction of {@link add} is committed. */
  wake(): void
  /** Sends once, immediately, and stores nothing; for `TestNotificationURL`. */
  probe(event: NewWebhookEvent): Promise<ProbeResult>
  /** `undefined` before the first attempt. */
  findLastDelivery(
    accountId: string,
    kind: WebhookKind,
    subject: string,
  ): Promise<LastDelivery | undefined>
  /** Throws {@link AppError} naming the field if notifications may not be sent to the URL. */
  refuseBadUrl(field: string, url: string): void
}
