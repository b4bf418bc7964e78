/** What one attempt sends: the body of the event's kind, the headers, the signature. */
import { formatInstant, type Instant } from '../../domain/clock.js'
import { sign, signatureHeader } from './signature.js'
import type { WebhookKind } from './webhook-queue.js'

/** An event at one of its attempts. */
export interface Notice {
  readonly id: string
  readonly kind: WebhookKind
  readonly event: string
  readonly apiKey: string | undefined
  /** JSON of an object. */
  readonly body: string
  /** From 1. */
  readonly attempt: number
  readonly sentAt: Instant
}

export interface NoticeSettings {
  /** Header that carries the receiver's own key (spec, "One-time scan completion webhook"). */
  readonly keyHeader: string
  /** Of this program. */
  readonly version: string
}

export interface Composed {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The key header gives way to any other of its name. */
export function composeNotice(notice: Notice, secret: string, settings: NoticeSettings): Composed {
  const atSeconds = Math.floor(notice.sentAt / 1000)
  const body = bodyOf(notice)
  const headers = {
    ...(notice.apiKey === undefined ? {} : { [settings.keyHeader.toLowerCase()]: notice.apiKey }),
    'content-type': 'application/json',
    'user-agent': `callgate/${settings.version}`,
    'webhook-id': notice.id,
    'webhook-timestamp': String(atSeconds),
    [signatureHeader]: sign({ id: notice.id, atSeconds, body }, [secret]),
  }
  return { headers, body }
}

/**
 * A scan's body is what the spec says and no more ("One-time scan completion webhook"); a project's
 * has what its `LastDelivery` tells of an attempt in front (spec, "Project").
 */
function bodyOf({ id, kind, event, body, attempt, sentAt }: Notice): string {
  if (kind === 'scan') return body
  const about = { EventId: id, Event: event, Attempt: attempt, SentOn: formatInstant(sentAt) }
  return JSON.stringify({ ...about, ...(JSON.parse(body) as object) })
}
