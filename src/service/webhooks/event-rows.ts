/** The tables of events and attempts. An event that is pending has a time of its next attempt. */
import { sql } from 'kysely'
import type { Instant } from '../../domain/clock.js'
import type { Db, WebhookEventRow } from '../../storage/tables.js'
import { type FirstOfLane, laneOf } from './lanes.js'
import type { AttemptResult } from './retry-plan.js'
import type { LastDelivery, NewWebhookEvent, WebhookKind } from './webhook-queue.js'

export async function insertEvent(
  db: Db,
  event: NewWebhookEvent,
  { id, at }: { readonly id: string; readonly at: Instant },
): Promise<void> {
  const { accountId, kind, subject, url } = event
  await db
    .insertInto('webhook_events')
    .values({
      id,
      account_id: accountId,
      kind,
      subject,
      event: event.event,
      url,
      lane: laneOf(accountId, url),
      api_key: event.apiKey ?? null,
      body: JSON.stringify(event.body),
      state: 'pending',
      attempts: 0,
      next_attempt_at: at,
      created_at: at,
    })
    .execute()
}

/**
 * Of every lane the event whose time comes first, those under way left out. Goes from lane to lane in
 * the index, so that what waits behind the first costs nothing.
 */
export async function firstOfLanes(
  db: Db,
  underWay: readonly string[],
): Promise<readonly FirstOfLane[]> {
  const found = await sql<FirstOfLane>`
    with recursive lanes (lane) as (
      select min(lane) from webhook_events where next_attempt_at is not null
      union all
      select (
        select min(e.lane) from webhook_events e
        where e.next_attempt_at is not null and e.lane > lanes.lane
      ) from lanes where lanes.lane is not null
    )
    select e.id, e.lane, e.next_attempt_at
    from lanes join webhook_events e on e.id = (
      select f.id from webhook_events f
      where f.lane = lanes.lane and f.next_attempt_at is not null
        and f.id not in (${sql.join(padded(underWay))})
      order by f.next_attempt_at limit 1
    )`.execute(db)
  return found.rows
}

/** Lists of few different lengths make few different statements for the engine to keep. */
function padded(texts: readonly string[]): readonly string[] {
  const length = 2 ** Math.ceil(Math.log2(Math.max(1, texts.length)))
  return [...texts, ...Array<string>(length - texts.length).fill('')]
}

export async function readEvent(db: Db, id: string): Promise<WebhookEventRow> {
  return await db
    .selectFrom('webhook_events')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
}

export async function countPending(db: Db): Promise<number> {
  const row = await db
    .selectFrom('webhook_events')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('next_attempt_at', 'is not', null)
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

export interface EndedAttempt {
  readonly attempt: number
  readonly result: AttemptResult
  /** Absent after the last. */
  readonly nextAttemptAt: Instant | undefined
}

/** To be written in one transaction. */
export async function recordAttempt(
  transaction: Db,
  { id, account_id, kind }: Pick<WebhookEventRow, 'id' | 'account_id' | 'kind'>,
  { attempt, result, nextAttemptAt }: EndedAttempt,
): Promise<void> {
  const { sentAt, httpStatus, outcome } = result
  const error = outcome === 'delivered' ? null : outcome
  await transaction
    .insertInto('webhook_attempts')
    .values({ event_id: id, attempt, sent_at: sentAt, http_status: httpStatus, error })
    .execute()
  const ended = outcome === 'delivered' ? 'delivered' : 'failed'
  await transaction
    .updateTable('webhook_events')
    .set({
      attempts: attempt,
      state: nextAttemptAt === undefined ? ended : 'pending',
      next_attempt_at: nextAttemptAt ?? null,
      ...(nextAttemptAt === undefined && forgotten(kind)),
    })
    .where('id', '=', id)
    .where('account_id', '=', account_id)
    .execute()
}

/** Nothing is sent any more: the receiver's key goes, and results, which the scan itself keeps. */
function forgotten(kind: WebhookKind) {
  return { api_key: null, ...(kind === 'scan' && { body: '{}' }) }
}

const mostForgottenAtOnce = 500

/**
 * Deletes some notifications of scans, with their attempts, that ended and were made before an
 * instant; those of projects stay, for `LastDelivery`. Gives whether there may be more.
 */
export async function forgetEvents(transaction: Db, madeBefore: Instant): Promise<boolean> {
  const old = await transaction
    .selectFrom('webhook_events')
    .select('id')
    .where('kind', '=', 'scan')
    .where('next_attempt_at', 'is', null)
    .where('created_at', '<', madeBefore)
    .limit(mostForgottenAtOnce)
    .execute()
  const ids = old.map(({ id }) => id)
  if (ids.length === 0) return false
  await transaction.deleteFrom('webhook_attempts').where('event_id', 'in', ids).execute()
  await transaction.deleteFrom('webhook_events').where('id', 'in', ids).execute()
  return ids.length === mostForgottenAtOnce
}

export async function findLastDelivery(
  db: Db,
  accountId: string,
  { kind, subject }: { readonly kind: WebhookKind; readonly subject: string },
): Promise<LastDelivery | undefined> {
  const row = await db
    .selectFrom('webhook_attempts as a')
    .innerJoin('webhook_events as e', 'e.id', 'a.event_id')
    .select(['e.id', 'e.event', 'a.attempt', 'a.http_status', 'a.sent_at'])
    .where('e.account_id', '=', accountId)
    .where('e.kind', '=', kind)
    .where('e.subject', '=', subject)
    .orderBy('a.sent_at', 'desc')
    .orderBy('e.created_at', 'desc')
    .orderBy('a.attempt', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (!row) return undefined
  return {
    eventId: row.id,
    event: row.event,
    attempt: row.attempt,
    httpStatus: row.http_status,
    sentAt: row.sent_at,
  }
}
