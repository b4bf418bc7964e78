/** The SQL of the label checks: due numbers, their stored observations, and the results of a check. */
import type { Selectable } from 'kysely'
import type { Instant } from '../../domain/time/clock.js'
import { msPerDay } from '../../domain/time/dates.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { Db, FlagRemovalRow, MonitoredNumberRow } from '../../storage/tables.js'
import { queryInChunks, splitIntoChunks } from '../sql/chunks.js'
import type { ObservationSpan } from './label-observation.js'
import type { DbAccess } from './monitored-rows.js'

export interface DueNumber {
  readonly account_id: string
  readonly number: string
}

/** Due numbers of all accounts, the longest overdue first. */
export async function findDueNumbers(
  db: Db,
  { now, limit }: { readonly now: Instant; readonly limit: number },
): Promise<readonly DueNumber[]> {
  return await db
    .selectFrom('monitored_numbers')
    .select(['account_id', 'number'])
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .limit(limit)
    .execute()
}

/** When the next check is due; `undefined` if no number is monitored. */
export async function findNextDueAt(db: Db): Promise<Instant | undefined> {
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
  /** Numbers whose last complete check, or if there is none, their addition, is over a day ago. */
  readonly overdue: number
}

/** Counts the numbers of all accounts; one is overdue if its last complete check was before `from`. */
export async function countMonitoredNumbers(db: Db, from: Instant): Promise<MonitorCounts> {
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

export async function postponeNumbers(
  { db, traits }: DbAccess,
  accountId: string,
  { numbers, until }: { readonly numbers: readonly string[]; readonly until: Instant },
): Promise<void> {
  for (const chunk of splitIntoChunks(numbers, traits)) {
    await db
      .updateTable('monitored_numbers')
      .set({ due_at: until })
      .where('account_id', '=', accountId)
      .where('number', 'in', chunk)
      .execute()
  }
}

export type StoredMonitoredNumber = Selectable<MonitoredNumberRow>

export interface MonitoredNumberWithSpan {
  readonly row: StoredMonitoredNumber
  readonly span: ObservationSpan | undefined
}

/** The numbers that are still monitored, each with its latest stored observation. */
export async function findMonitoredWithSpan(
  { db, traits }: DbAccess,
  accountId: string,
  numbers: readonly string[],
): Promise<readonly MonitoredNumberWithSpan[]> {
  const rows = await queryInChunks(numbers, traits, (chunk) =>
    db
      .selectFrom('monitored_numbers as number')
      .leftJoin('label_observations as span', (join) =>
        join
          .onRef('span.account_id', '=', 'number.account_id')
          .onRef('span.number', '=', 'number.number')
          .onRef('span.first_at', '=', 'number.span_at'),
      )
      .selectAll('number')
      .select([
        'span.answered as span_answered',
        'span.flagged as span_flagged',
        'span.complete as span_complete',
      ])
      .where('number.account_id', '=', accountId)
      .where('number.number', 'in', chunk)
      .execute(),
  )
  return rows.map(({ span_answered, span_flagged, span_complete, ...row }) => {
    if (row.span_at === null || span_answered === null) return { row, span: undefined }
    const flagged = span_flagged ?? 0
    const complete = span_complete === 1
    return { row, span: { firstAt: row.span_at, answered: span_answered, flagged, complete } }
  })
}

export interface LabelObservation {
  readonly account_id: string
  readonly number: string
  readonly at: Instant
  readonly span: ObservationSpan
}

/** Stores observations: each extends its span or begins a new one. */
export async function storeObservations(
  { db, traits }: DbAccess,
  observations: readonly LabelObservation[],
): Promise<void> {
  const rows = observations.map(({ account_id, number, at, span }) => ({
    account_id,
    number,
    first_at: span.firstAt,
    last_at: at,
    looks: 1,
    answered: span.answered,
    flagged: span.flagged,
    complete: span.complete ? 1 : 0,
  }))
  for (const chunk of splitIntoChunks(rows, traits, 8)) {
    await db
      .insertInto('label_observations')
      .values(chunk)
      .onConflict((conflict) =>
        conflict.columns(['account_id', 'number', 'first_at']).doUpdateSet((row) => ({
          last_at: row.ref('excluded.last_at'),
          looks: row('label_observations.looks', '+', 1),
        })),
      )
      .execute()
  }
}

export interface ObservationTally {
  readonly number: string
  readonly answered: number
  readonly flagged: number
  readonly looks: number
}

/**
 * Counts the complete observations since each number was added, but not before `from`, grouped by
 * their answers.
 */
export async function tallyObservations(
  { db, traits }: DbAccess,
  accountId: string,
  { numbers, from }: { readonly numbers: readonly string[]; readonly from: Instant },
): Promise<readonly ObservationTally[]> {
  const tallies = await queryInChunks(numbers, traits, (chunk) =>
    db
      .selectFrom('label_observations as span')
      .innerJoin('monitored_numbers as number', (join) =>
        join
          .onRef('number.account_id', '=', 'span.account_id')
          .onRef('number.number', '=', 'span.number'),
      )
      .select(['span.number', 'span.answered', 'span.flagged'])
      .select((row) => row.fn.sum('span.looks').as('looks'))
      .where('span.account_id', '=', accountId)
      .where('span.number', 'in', chunk)
      .where('span.complete', '=', 1)
      .where('span.last_at', '>=', from)
      .whereRef('span.first_at', '>=', 'number.added_at')
      .groupBy(['span.number', 'span.answered', 'span.flagged'])
      .execute(),
  )
  return tallies.map((tally) => ({ ...tally, looks: Number(tally.looks) }))
}

/** Updates existing rows in one upsert, which needs all columns although it never inserts. */
export async function updateMonitoredNumbers(
  { db, traits }: DbAccess,
  rows: readonly StoredMonitoredNumber[],
): Promise<void> {
  for (const chunk of splitIntoChunks(rows, traits, 16)) {
    await db
      .insertInto('monitored_numbers')
      .values(chunk)
      .onConflict((conflict) =>
        conflict.columns(['account_id', 'number']).doUpdateSet((row) => ({
          due_at: row.ref('excluded.due_at'),
          checked_at: row.ref('excluded.checked_at'),
          heard: row.ref('excluded.heard'),
          flagged: row.ref('excluded.flagged'),
          medium_at: row.ref('excluded.medium_at'),
          high_at: row.ref('excluded.high_at'),
          looks: row.ref('excluded.looks'),
          medium_looks: row.ref('excluded.medium_looks'),
          high_looks: row.ref('excluded.high_looks'),
          span_at: row.ref('excluded.span_at'),
        })),
      )
      .execute()
  }
}

export async function insertFlagRemovals(
  { db, traits }: DbAccess,
  rows: readonly Omit<FlagRemovalRow, 'id'>[],
): Promise<void> {
  for (const chunk of splitIntoChunks(rows, traits, 4)) {
    await db.insertInto('flag_removals').values(chunk).execute()
  }
}

/** The longest period of the flags-removed summary (spec, "Limits"). */
const summaryDays = 90

/** Maximum rows per statement, so that none locks the database for long. */
const maxDeletedRows = 1000

/** Returns whether there may be more to delete. */
export async function deleteOldObservations(
  { db, retryWhileLocked }: Pick<OpenDatabase, 'db' | 'traits' | 'retryWhileLocked'>,
  { now, keepDays }: { readonly now: Instant; readonly keepDays: number },
): Promise<boolean> {
  const deleteOld = (
    table: 'label_observations' | 'flag_removals',
    column: 'last_at' | 'removed_at',
    before: Instant,
  ) =>
    retryWhileLocked(() =>
      db
        .deleteFrom(table)
        .where('id', 'in', (row) =>
          row.selectFrom(table).select('id').where(column, '<', before).limit(maxDeletedRows),
        )
        .executeTakeFirst(),
    )
  const removalDays = Math.max(keepDays, summaryDays)
  const deleted = [
    await deleteOld('label_observations', 'last_at', now - keepDays * msPerDay),
    await deleteOld('flag_removals', 'removed_at', now - removalDays * msPerDay),
  ]
  return deleted.some(({ numDeletedRows }) => numDeletedRows >= maxDeletedRows)
}
