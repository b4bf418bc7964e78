/** The SQL of events and attempts. A pending event has the time of its next attempt. */
import { sql } from 'kysely'
import type { Instant } from '../../domain/time/clock.js'
import type { Db, WebhookEventRow } from '../../storage/tables.js'
import { computeLane, type LaneHead } from './delivery-lanes.js'
import type { LastDelivery, NewWebhookEvent, WebhookKind } from './webhook-queue.js'
import type { AttemptResult } from './webhook-retry-policy.js'

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
      lane: computeLane(accountId, url),
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
 * The next due event of every lane, except those in flight. Skips from lane to lane in the index, so
 * that the other events of a lane are never read.
 */
export async function findLaneHeads(
  db: Db,
  inFlight: readonly string[],
): Promise<readonly LaneHead[]> {
  const found = await sql<LaneHead>`
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
        and f.id not in (${sql.join(padToPowerOfTwo(inFlight))})
      order by f.next_attempt_at limit 1
    )`.execute(db)
  return found.rows
}

/** Few distinct lengths mean few distinct statements in the engine's cache. */
function padToPowerOfTwo(texts: readonly string[]): readonly string[] {
  const length = 2 ** Math.ceil(Math.log2(Math.max(1, texts.length)))
  return [...texts, ...Array<string>(length - texts.length).fill('')]
}

export async function readWebhookEvent(db: Db, id: string): Promise<WebhookEventRow> {
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

export interface AttemptRecord {
  readonly attempt: number
  readonly result: AttemptResult
  /** `undefined` after the last attempt. */
  readonly nextAttemptAt: Instant | undefined
}

/**
 * Stores the attempt and updates its event, unless another server has stored one of this number; must run in a transaction.
 */
export async function recordAttempt(
  transaction: Db,
  { id, account_id, kind }: Pick<WebhookEventRow, 'id' | 'account_id' | 'kind'>,
  { attempt, result, nextAttemptAt }: AttemptRecord,
): Promise<void> {
  const { sentAt, httpStatus, outcome } = result
  const error = outcome === 'delivered' ? null : outcome
  const { numInsertedOrUpdatedRows: stored } = await transaction
    .insertInto('webhook_attempts')
    .values({ event_id: id, attempt, sent_at: sentAt, http_status: httpStatus, error })
    .onConflict((conflict) => conflict.columns(['event_id', 'attempt']).doNothing())
    .executeTakeFirst()
  if (stored === 0n) return
  const ended = outcome === 'delivered' ? 'delivered' : 'failed'
  await transaction
    .updateTable('webhook_events')
    .set({
      attempts: attempt,
      state: nextAttemptAt === undefined ? ended : 'pending',
      next_attempt_at: nextAttemptAt ?? null,
      ...(nextAttemptAt === undefined && clearedColumns(kind)),
    })
    .where('id', '=', id)
    .where('account_id', '=', account_id)
    .execute()
}

/** Columns to clear after the last attempt: the receiver's key, and scan results, which the job keeps too. */
function clearedColumns(kind: WebhookKind) {
  return { api_key: null, ...(kind === 'scan' && { body: '{}' }) }
}

const maxDeletedAtOnce = 500

/**
 * Deletes some finished notifications of scans that were created before an instant, with their
 * attempts; those of projects stay, for `LastDelivery`. Returns whether there may be more.
 */
export async function deleteOldEvents(transaction: Db, createdBefore: Instant): Promise<boolean> {
  const old = await transaction
    .selectFrom('webhook_events')
    .select('id')
    .where('kind', '=', 'scan')
    .where('next_attempt_at', 'is', null)
    .where('created_at', '<', createdBefore)
    .limit(maxDeletedAtOnce)
    .execute()
  const ids = old.map(({ id }) => id)
  if (ids.length === 0) return false
  await transaction.deleteFrom('webhook_attempts').where('event_id', 'in', ids).execute()
  await transaction.deleteFrom('webhook_events').where('id', 'in', ids).execute()
  return ids.length === maxDeletedAtOnce
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
