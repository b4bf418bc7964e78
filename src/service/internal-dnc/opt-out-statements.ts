/** Stores what people said when they opted out. */

import { createHash } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import type { Author } from '../../domain/caller.js'
import type { OptOutStatement, RecordedOptOut } from '../../domain/consent/consent-records.js'
import type { Instant } from '../../domain/time/clock.js'
import { recordAudit } from '../../storage/audit/audit-log.js'
import type { Db, Tables } from '../../storage/tables.js'
import type { RowWrite } from '../sql/rows-by-number.js'
import { hasOwnList } from './internal-dnc-rows.js'

/**
 * If the statement is stored already and still in force, it is no new opt-out: a platform repeats its events. About a decision, or
 * with the same time of receipt, it is the same event also after a later consent, which it must not end. Otherwise a platform may
 * use one reference for all that a person says, so that after a consent it is taken for a new one.
 */
export async function insertStatement(
  db: Db,
  write: RowWrite,
  number: string,
  statement: OptOutStatement,
): Promise<RecordedOptOut> {
  const { owner, at, seq } = write
  const { decisionId, reference, said, source, scope, isUnderstood } = statement
  const isRepeatable = decisionId !== undefined || reference !== undefined
  const content = [number, decisionId, reference, source, said, scope]
  const hash = createHash('sha256').update(JSON.stringify(content)).digest('hex')
  const id = isRepeatable ? hash : `change-${seq}`
  // An account's clock may be fixed.
  const receivedAt = Math.min(statement.receivedAt ?? at, at)
  const row = { ...statement, id, number, receivedAt }
  const recorded = { scope, receivedAt, effectiveAt: at, isUnderstood, isRepeated: false }
  if (await insertUnlessStored(db, write, row)) return recorded
  const stored = await db
    .selectFrom('opt_out_statements')
    .select(['heard_at', 'received_at'])
    .where('account_id', '=', owner.accountId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const isSameEvent =
    statement.receivedAt === stored.received_at ||
    (decisionId !== undefined && statement.receivedAt === undefined)
  if (!isSameEvent && !(await isInForce(db, owner, { number, scope }))) {
    await insertUnlessStored(db, write, { ...row, id: `change-${seq}` })
    return recorded
  }
  return {
    ...recorded,
    ...{ receivedAt: stored.received_at, effectiveAt: stored.heard_at, isRepeated: true },
  }
}

async function insertUnlessStored(
  db: Db,
  { owner, at, keyId }: RowWrite,
  {
    id,
    number,
    ...statement
  }: OptOutStatement & {
    readonly id: string
    readonly number: string
    readonly receivedAt: Instant
  },
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('opt_out_statements')
    .values({
      account_id: owner.accountId,
      id,
      list: owner.projectCode,
      number,
      decision_id: statement.decisionId ?? null,
      source: statement.source,
      said: statement.said ?? null,
      goods: statement.goods ?? null,
      heard_at: at,
      key_id: keyId,
      scope: statement.scope,
      channel: statement.channel,
      received_at: statement.receivedAt,
      understood: statement.isUnderstood ? 1 : 0,
    })
    .onConflict((conflict) => conflict.columns(['account_id', 'id']).doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** Whether the number is still on each list that an opt-out is for, and no permission was stored after it. */
async function isInForce(
  db: Db,
  { accountId, projectCode }: RowWrite['owner'],
  { number, scope }: { readonly number: string; readonly scope: OptOutStatement['scope'] },
): Promise<boolean> {
  const isCovered =
    scope === 'everything'
      ? hasOwnList(accountId)
      : sql<boolean>`account_id = ${accountId} and code = ${projectCode}`
  const { rows } = await sql`
    select code from projects where ${isCovered} and not exists (
      select 1 from internal_dnc
      where account_id = ${accountId} and list = projects.code and number = ${number} and removed_at is null
        and opted_out_seq >= (
          select coalesce(max(stored_seq), 0) from ebr_records
          where account_id = ${accountId} and number = ${number} and type = 'P' and superseded_at is null
            and project_code in (select code from projects where account_id = ${accountId})))
    limit 1`.execute(db)
  return rows.length === 0
}

export type StoredStatement = Selectable<Tables['opt_out_statements']>

export interface StatementFilter {
  readonly accountId: string
  /** Ten digits. */
  readonly number?: string | undefined
  /** Only those whose words a person should read and has not. */
  readonly isUnread: boolean
  readonly limit: number
}

/** The latest first. */
export async function listStatements(
  db: Db,
  { accountId, number, isUnread, limit }: StatementFilter,
): Promise<readonly StoredStatement[]> {
  return await db
    .selectFrom('opt_out_statements')
    .selectAll()
    .where('account_id', '=', accountId)
    .$if(number !== undefined, (query) => query.where('number', '=', number ?? ''))
    .$if(isUnread, (query) => query.where('understood', '=', 0).where('read_at', 'is', null))
    .orderBy('heard_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Notes, in a transaction, that a person has read it; it stays in force. False if there is none of that id to be read. */
export async function markAsRead(
  db: Db,
  { accountId, id }: { readonly accountId: string; readonly id: string },
  { at, by, author }: { readonly at: Instant; readonly by: string; readonly author: Author },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('opt_out_statements')
    .set({ read_at: at, read_by: by })
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .where('understood', '=', 0)
    .where('read_at', 'is', null)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows === 0n) return false
  await recordAudit(db, {
    by: author,
    accountId,
    action: 'opt-out-words.read',
    subject: { kind: 'opt-out-statement', id },
    at,
  })
  return true
}
