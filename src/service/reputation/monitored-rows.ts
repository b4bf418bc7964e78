/** The SQL of monitored numbers for the endpoints; that of the label checks is in `label-check-rows.ts`. */
import type { Selectable } from 'kysely'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { EngineTraits } from '../../storage/open-database.js'
import type { Db, MonitoredNumberRow } from '../../storage/tables.js'
import { queryInChunks, splitIntoChunks } from '../sql/chunks.js'

const shownColumns = [
  'number',
  'legal_entity_id',
  'heard',
  'flagged',
  'medium_at',
  'high_at',
  'looks',
  'medium_looks',
  'high_looks',
] as const

export type MonitoredRow = Pick<Selectable<MonitoredNumberRow>, (typeof shownColumns)[number]>

export interface DbAccess {
  readonly db: Db
  readonly traits: Pick<EngineTraits, 'maxParameters'>
}

/** Only those of the numbers that the account monitors. */
export async function findMonitored(
  { db, traits }: DbAccess,
  accountId: string,
  numbers: readonly PhoneNumber[],
): Promise<readonly MonitoredRow[]> {
  return await queryInChunks(numbers, traits, (chunk) =>
    db
      .selectFrom('monitored_numbers')
      .select(shownColumns)
      .where('account_id', '=', accountId)
      .where('number', 'in', chunk)
      .execute(),
  )
}

/** The next numbers of the account, in order, after the given one. */
export async function findMonitoredAfter(
  db: Db,
  accountId: string,
  { number, limit }: { readonly number: string; readonly limit: number },
): Promise<readonly MonitoredRow[]> {
  return await db
    .selectFrom('monitored_numbers')
    .select(shownColumns)
    .where('account_id', '=', accountId)
    .where('number', '>', number)
    .orderBy('number')
    .limit(limit)
    .execute()
}

export async function countMonitored(db: Db, accountId: string): Promise<number> {
  const { count } = await db
    .selectFrom('monitored_numbers')
    .select((row) => row.fn.countAll().as('count'))
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

export type NewMonitoredRow = Pick<
  MonitoredNumberRow,
  'account_id' | 'number' | 'label' | 'legal_entity_id' | 'service_type' | 'added_at' | 'due_at'
>

/**
 * Starts monitoring distinct numbers. A number that is monitored already keeps its history; the given
 * fields replace its old ones.
 */
export async function insertMonitored(
  { db, traits }: DbAccess,
  rows: readonly NewMonitoredRow[],
): Promise<void> {
  for (const chunk of splitIntoChunks(rows, traits, 7)) {
    await db
      .insertInto('monitored_numbers')
      .values(chunk)
      .onConflict((conflict) =>
        conflict.columns(['account_id', 'number']).doUpdateSet((row) => ({
          label: row.fn.coalesce('excluded.label', 'monitored_numbers.label'),
          legal_entity_id: row.fn.coalesce(
            'excluded.legal_entity_id',
            'monitored_numbers.legal_entity_id',
          ),
          service_type: row.fn.coalesce('excluded.service_type', 'monitored_numbers.service_type'),
        })),
      )
      .execute()
  }
}

/** Returns those of the numbers that were monitored. Their observations stay as evidence. */
export async function deleteMonitored(
  { db, traits }: DbAccess,
  accountId: string,
  numbers: readonly PhoneNumber[],
): Promise<ReadonlySet<string>> {
  const rows = await queryInChunks(numbers, traits, (chunk) =>
    db
      .deleteFrom('monitored_numbers')
      .where('account_id', '=', accountId)
      .where('number', 'in', chunk)
      .returning('number')
      .execute(),
  )
  return new Set(rows.map(({ number }) => number))
}
