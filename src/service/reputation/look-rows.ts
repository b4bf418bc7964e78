/** The SQL of looks: what is known of a number before one, and what one writes. */
import type { Selectable } from 'kysely'
import type { Instant } from '../../domain/clock.js'
import type { EngineTraits } from '../../storage/engine.js'
import type { Db, FlagRemovalRow, MonitoredNumberRow } from '../../storage/tables.js'
import { chunksOf } from '../sql/chunks.js'
import type { Span } from './look.js'

export type WatchedRow = Selectable<MonitoredNumberRow>

interface Access {
  readonly db: Db
  readonly traits: Pick<EngineTraits, 'maxParameters'>
}

export interface Watched {
  readonly row: WatchedRow
  readonly span: Span | undefined
}

/** The numbers that are monitored still, each with its latest kept look. */
export async function watchedAmong(
  { db, traits }: Access,
  accountId: string,
  numbers: readonly string[],
): Promise<readonly Watched[]> {
  const watched: Watched[] = []
  for (const chunk of chunksOf(numbers, traits)) {
    const rows = await db
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
      .execute()
    for (const row of rows) watched.push(watchedOf(row))
  }
  return watched
}

type JoinedRow = WatchedRow & {
  readonly span_answered: number | null
  readonly span_flagged: number | null
  readonly span_complete: number | null
}

function watchedOf({ span_answered, span_flagged, span_complete, ...row }: JoinedRow): Watched {
  if (row.span_at === null || span_answered === null) return { row, span: undefined }
  return {
    row,
    span: {
      firstAt: row.span_at,
      answered: span_answered,
      flagged: span_flagged ?? 0,
      complete: span_complete === 1,
    },
  }
}

export interface KeptLook {
  readonly account_id: string
  readonly number: string
  readonly at: Instant
  readonly span: Span
}

/** Keeps looks: each goes on with its span or begins it. */
export async function keepLooks({ db, traits }: Access, looks: readonly KeptLook[]): Promise<void> {
  const rows = looks.map(({ account_id, number, at, span }) => ({
    ...{ account_id, number, first_at: span.firstAt, last_at: at, looks: 1 },
    ...{ answered: span.answered, flagged: span.flagged, complete: span.complete ? 1 : 0 },
  }))
  for (const chunk of chunksOf(rows, traits, 8)) {
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

export interface LookTally {
  readonly number: string
  readonly answered: number
  readonly flagged: number
  readonly looks: number
}

/** Complete looks since each number was added that are not older than `from`, by what was heard. */
export async function tallyLooks(
  { db, traits }: Access,
  accountId: string,
  { numbers, from }: { readonly numbers: readonly string[]; readonly from: Instant },
): Promise<readonly LookTally[]> {
  const tallies: LookTally[] = []
  for (const chunk of chunksOf(numbers, traits)) {
    const rows = await db
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
      .execute()
    for (const { looks, ...row } of rows) tallies.push({ ...row, looks: Number(looks) })
  }
  return tallies
}

/** Overwrites rows that exist; all columns are given, since the insert itself never happens. */
export async function storeWatched(
  { db, traits }: Access,
  rows: readonly WatchedRow[],
): Promise<void> {
  for (const chunk of chunksOf(rows, traits, 16)) {
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

export async function storeRemovals(
  { db, traits }: Access,
  rows: readonly Omit<FlagRemovalRow, 'id'>[],
): Promise<void> {
  for (const chunk of chunksOf(rows, traits, 4)) {
    await db.insertInto('flag_removals').values(chunk).execute()
  }
}
