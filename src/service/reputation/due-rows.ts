/** The SQL of when numbers are looked at: which are due, and putting them off. */
import type { Instant } from '../../domain/clock.js'
import type { EngineTraits } from '../../storage/engine.js'
import type { Db } from '../../storage/tables.js'
import { chunksOf } from '../sql/chunks.js'

export interface DueNumber {
  readonly account_id: string
  readonly number: string
}

/** Of all accounts, those that have waited longest first. */
export async function dueNumbers(
  db: Db,
  { now, most }: { readonly now: Instant; readonly most: number },
): Promise<readonly DueNumber[]> {
  return await db
    .selectFrom('monitored_numbers')
    .select(['account_id', 'number'])
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .limit(most)
    .execute()
}

/** Undefined when nothing is monitored. */
export async function nextDueAt(db: Db): Promise<Instant | undefined> {
  const row = await db
    .selectFrom('monitored_numbers')
    .select('due_at')
    .orderBy('due_at')
    .limit(1)
    .executeTakeFirst()
  return row?.due_at
}

export interface MonitorCounts {
  readonly monitored: number
  /** Not looked at in full for a day, or since they were added. */
  readonly overdue: number
}

/** Of all accounts; those count as overdue that were last looked at before `from`. */
export async function monitorCounts(db: Db, from: Instant): Promise<MonitorCounts> {
  const { monitored, overdue } = await db
    .selectFrom('monitored_numbers')
    .select((row) => [
      row.fn.countAll().as('monitored'),
      row.fn
        .countAll()
        .filterWhere(row.fn.coalesce('checked_at', 'added_at'), '<', from)
        .as('overdue'),
    ])
    .executeTakeFirstOrThrow()
  return { monitored: Number(monitored), overdue: Number(overdue) }
}

export async function postpone(
  { db, traits }: { readonly db: Db; readonly traits: Pick<EngineTraits, 'maxParameters'> },
  accountId: string,
  { numbers, until }: { readonly numbers: readonly string[]; readonly until: Instant },
): Promise<void> {
  for (const chunk of chunksOf(numbers, traits)) {
    await db
      .updateTable('monitored_numbers')
      .set({ due_at: until })
      .where('account_id', '=', accountId)
      .where('number', 'in', chunk)
      .execute()
  }
}
