/** The port through which services notify customers' URLs. */
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

/** The latest attempt (spec, "Project", `LastDelivery`). */
export interface LastDelivery {
  readonly eventId: string
  readonly event: string
  readonly attempt: number
  /** `null` when no answer came. */
  readonly httpStatus: number | null
  readonly sentAt: Instant
}

export interface ProbeResult {
  /** `undefined` when no answer came. */
  readonly httpStatus: number | undefined
  /** Why the delivery failed; absent on success. */
  readonly problem?: string | undefined
}

export interface WebhookQueue {
  /** Stores the event in the transaction of the change that it reports; returns the event's id. */
  add(transaction: Db, event: NewWebhookEvent): Promise<string>
  /** Must be called after such a transaction is committed. */
  wake(): void
  /** Sends once, now, and stores nothing: for `TestNotificationURL`. */
  probe(event: NewWebhookEvent): Promise<ProbeResult>
  /** `undefined` before the first attempt. */
  findLastDelivery(
    accountId: string,
    kind: WebhookKind,
    subject: string,
  ): Promise<LastDelivery | undefined>
  /** Throws {@link AppError} naming the field for a URL that nothing may be sent to. */
  refuseBadUrl(field: string, url: string): void
}
