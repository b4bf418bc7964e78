/** The SQL of monitored numbers as the calls need them; the looks' own is in `look-rows.ts`. */
import type { Selectable } from 'kysely'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { EngineTraits } from '../../storage/engine.js'
import type { Db, MonitoredNumberRow } from '../../storage/tables.js'
import { chunksOf } from '../sql/chunks.js'

const shown = [
  ...(['number', 'legal_entity_id', 'heard', 'flagged', 'medium_at', 'high_at'] as const),
  ...(['looks', 'medium_looks', 'high_looks'] as const),
] as const

export type MonitoredRow = Pick<Selectable<MonitoredNumberRow>, (typeof shown)[number]>

type Traits = Pick<EngineTraits, 'maxParameters'>

/** Those of the numbers that the account monitors. */
export async function monitoredAmong(
  { db, traits }: { readonly db: Db; readonly traits: Traits },
  accountId: string,
  numbers: readonly PhoneNumber[],
): Promise<ReadonlyMap<string, MonitoredRow>> {
  const found = new Map<string, MonitoredRow>()
  for (const chunk of chunksOf(numbers, traits)) {
    const rows = await db
      .selectFrom('monitored_numbers')
      .select(shown)
      .where('account_id', '=', accountId)
      .where('number', 'in', chunk)
      .execute()
    for (const row of rows) found.set(row.number, row)
  }
  return found
}

/** The next numbers of the account in their order, behind the one given. */
export async function monitoredBehind(
  db: Db,
  accountId: string,
  { number, most }: { readonly number: string; readonly most: number },
): Promise<readonly MonitoredRow[]> {
  return await db
    .selectFrom('monitored_numbers')
    .select(shown)
    .where('account_id', '=', accountId)
    .where('number', '>', number)
    .orderBy('number')
    .limit(most)
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
 * Starts monitoring distinct numbers. One that is monitored already goes on as it was; of its
 * particulars those that are given replace the old ones.
 */
export async function putOnMonitor(
  db: Db,
  traits: Traits,
  rows: readonly NewMonitoredRow[],
): Promise<void> {
  for (const chunk of chunksOf(rows, traits, 7)) {
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

/** Gives those of the numbers that were monitored. Their observations stay as evidence. */
export async function takeOffMonitor(
  { db, traits }: { readonly db: Db; readonly traits: Traits },
  accountId: string,
  numbers: readonly PhoneNumber[],
): Promise<ReadonlySet<string>> {
  const removed = new Set<string>()
  for (const chunk of chunksOf(numbers, traits)) {
    const rows = await db
      .deleteFrom('monitored_numbers')
      .where('account_id', '=', accountId)
      .where('number', 'in', chunk)
      .returning('number')
      .execute()
    for (const { number } of rows) removed.add(number)
  }
  return removed
}
