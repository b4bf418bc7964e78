/** Stores what people said when they opted out. */
import { createHash } from 'node:crypto'
import type { Selectable } from 'kysely'
import type { OptOutStatement, RecordedOptOut } from '../../domain/consent-records.js'
import type { Instant } from '../../domain/time/clock.js'
import type { Db, Tables } from '../../storage/tables.js'
import type { RowWrite } from '../sql/rows-by-number.js'

/**
 * If the statement is stored already, it is no new opt-out: a platform repeats its events, and one that is repeated
 * after a later consent must not end it.
 */
export async function insertStatement(
  db: Db,
  { owner, at, seq, keyId }: RowWrite,
  number: string,
  statement: OptOutStatement,
): Promise<RecordedOptOut> {
  const { decisionId, reference, said, source, channel, scope, isUnderstood } = statement
  const isRepeatable = decisionId !== undefined || reference !== undefined
  const content = [number, decisionId, reference, source, said]
  // Those of everything have the ids that they had before there were scopes.
  if (scope !== 'everything') content.push(scope)
  const hash = createHash('sha256').update(JSON.stringify(content)).digest('hex')
  const id = isRepeatable ? hash : `change-${seq}`
  const { accountId } = owner
  // An account's clock may be fixed.
  const receivedAt = Math.min(statement.receivedAt ?? at, at)
  const inserted = await db
    .insertInto('opt_out_statements')
    .values({
      account_id: accountId,
      id,
      list: owner.projectCode,
      number,
      decision_id: decisionId ?? null,
      source,
      said: said ?? null,
      heard_at: at,
      key_id: keyId,
      scope,
      channel,
      received_at: receivedAt,
      understood: isUnderstood ? 1 : 0,
    })
    .onConflict((conflict) => conflict.columns(['account_id', 'id']).doNothing())
    .executeTakeFirst()
  const isRepeated = inserted.numInsertedOrUpdatedRows !== 1n
  if (!isRepeated) return { scope, receivedAt, effectiveAt: at, isUnderstood, isRepeated }
  const stored = await db
    .selectFrom('opt_out_statements')
    .select(['heard_at', 'received_at'])
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const effectiveAt = stored.heard_at
  return {
    scope,
    receivedAt: stored.received_at ?? effectiveAt,
    effectiveAt,
    isUnderstood,
    isRepeated,
  }
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

/** Notes that a person has read it; it stays in force. False if there is none of that id to be read. */
export async function markAsRead(
  db: Db,
  { accountId, id }: { readonly accountId: string; readonly id: string },
  { at, by }: { readonly at: Instant; readonly by: string },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('opt_out_statements')
    .set({ read_at: at, read_by: by })
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .where('understood', '=', 0)
    .where('read_at', 'is', null)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}
