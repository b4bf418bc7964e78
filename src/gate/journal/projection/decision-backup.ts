/** The decisions of all servers in a backup, with how far each journal is copied, which must fit to them. */
import { sql } from 'kysely'
import { writeTables } from '../../../storage/postgres/database-file.js'
import { copyTables, type Row } from '../../../storage/postgres/table-copy.js'
import type { Db } from '../../../storage/tables.js'
import { monthOf, readIdInstant } from './decision-months.js'
import { makeMonth } from './month-tables.js'

/** Of the database of an older version, without those that it does not have. */
const tables = [
  'journals',
  'erased_journals',
  'recorded_decisions',
  'decision_blocks',
  'recorded_outcomes',
]

/** Writes them to a new SQLite file, and returns how many decisions there are. */
export async function backUpDecisions(snapshot: Db, target: string): Promise<number> {
  const { rows } = await sql<{ readonly name: string }>`
    select name from unnest(${tables}::text[]) as name where to_regclass(name) is not null`.execute(
    snapshot,
  )
  const found = rows.map(({ name }) => name)
  await writeTables(snapshot, target, found)
  const inRows = await snapshot
    .selectFrom('recorded_decisions')
    .select((row) => row.fn.countAll<number>().as('count'))
    .where('body', 'is not', null)
    .executeTakeFirstOrThrow()
  if (!found.includes('decision_blocks')) return Number(inRows.count)
  const inBlocks = await snapshot
    .selectFrom('decision_blocks')
    .select((row) => row.fn.sum<number | null>('decisions').as('count'))
    .executeTakeFirstOrThrow()
  return Number(inRows.count) + Number(inBlocks.count ?? 0)
}

/** Into the tables of a migrated database. */
export async function restoreDecisions(source: Db, transaction: Db, path: string): Promise<void> {
  const made = new Set<string>()
  const prepare = async (rows: readonly Row[]) => {
    for (const { id, last_id: lastId } of rows) {
      const at = readIdInstant(String(id ?? lastId))
      if (at === undefined) continue
      const month = monthOf(at)
      if (!made.has(month.name)) await makeMonth(transaction, month)
      made.add(month.name)
    }
  }
  await copyTables(source, transaction, { path, prepare })
}
