/** One attempt to deliver one event: builds and signs the request, sends it, and classifies the result. */
import type { Clock, Instant } from '../../domain/time/clock.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { WebhookKind } from './webhook-queue.js'
import type { AttemptResult } from './webhook-retry-policy.js'
import { SendError, type SendReply, type WebhookSender } from './webhook-sender.js'
import { signatureHeader, signWebhook } from './webhook-signature.js'

export interface WebhookDispatcherOptions {
  readonly sender: WebhookSender
  /** The secret with which the account's notifications are signed. */
  readonly getSecret: (accountId: string) => Promise<string>
  readonly clock: Clock
  readonly settings: {
    /** Header for the receiver's own key (spec, "One-time scan completion webhook"). */
    readonly keyHeader: string
    /** Version of this program. */
    readonly version: string
    /** Covers everything from the name lookup to the end of the response. */
    readonly timeoutMs: number
  }
}

export interface PendingWebhookEvent {
  readonly id: string
  readonly accountId: string
  readonly kind: WebhookKind
  readonly event: string
  readonly url: string
  readonly apiKey: string | undefined
  /** A JSON object as text. */
  readonly body: string
  /** From 1. */
  readonly attempt: number
}

export class WebhookDispatcher {
  readonly #options: WebhookDispatcherOptions

  constructor(options: WebhookDispatcherOptions) {
    this.#options = options
  }

  /**
   * Failures of the receiver are returned as results. Rejects if there is no secret to sign with, and
   * with {@link SendError} `aborted` if `signal` aborts the attempt.
   */
  async attempt(event: PendingWebhookEvent, signal?: AbortSignal): Promise<AttemptResult> {
    const { sender, getSecret, clock, settings } = this.#options
    const secret = await getSecret(event.accountId)
    const sentAt = clock.now()
    const body = buildBody(event, sentAt)
    const atSeconds = Math.floor(sentAt / 1000)
    // Entries that follow replace a key header of the same name.
    const headers = {
      ...(event.apiKey !== undefined && { [settings.keyHeader.toLowerCase()]: event.apiKey }),
      'content-type': 'application/json',
      'user-agent': `callgate/${settings.version}`,
      'webhook-id': event.id,
      'webhook-timestamp': String(atSeconds),
      [signatureHeader]: signWebhook({ id: event.id, atSeconds, body }, [secret]),
    }
    try {
      const { timeoutMs } = settings
      const reply = await sender.post({ url: event.url, headers, body, timeoutMs, signal })
      return { sentAt, ...classifyReply(reply) }
    } catch (cause) {
      if (!(cause instanceof SendError) || cause.failure === 'aborted') throw cause
      return { sentAt, outcome: cause.failure, httpStatus: null, problem: cause.message }
    }
  }
}

/**
 * The body of a scan contains only what the spec requires ("One-time scan completion webhook"); the
 * body of a project begins with the fields of its `LastDelivery` (spec, "Project").
 */
function buildBody(
  { id, kind, event, body, attempt }: PendingWebhookEvent,
  sentAt: Instant,
): string {
  if (kind === 'scan') return body
  const delivery = { EventId: id, Event: event, Attempt: attempt, SentOn: formatInstant(sentAt) }
  return JSON.stringify({ ...delivery, ...(JSON.parse(body) as object) })
}

function classifyReply({ status, retryAfter }: SendReply): Omit<AttemptResult, 'sentAt'> {
  if (status >= 200 && status < 300) return { outcome: 'delivered', httpStatus: status }
  const problem = `the receiver answered ${status}`
  return { outcome: 'bad-status', httpStatus: status, problem, retryAfter }
}
