/** The decisions of all servers in a backup, with how far each journal is copied, which must fit to them. */
import { writeTables } from '../../../storage/postgres/database-file.js'
import { copyTables, type Row } from '../../../storage/postgres/table-copy.js'
import type { Db } from '../../../storage/tables.js'
import { monthOf, readIdInstant } from './decision-months.js'
import { makeMonth } from './month-tables.js'

const tables = ['journals', 'erased_journals', 'decision_blocks', 'recorded_outcomes']

/** Writes them to a new SQLite file, and returns how many decisions there are. */
export async function backUpDecisions(snapshot: Db, target: string): Promise<number> {
  await writeTables(snapshot, target, tables)
  const { count } = await snapshot
    .selectFrom('decision_blocks')
    .select((row) => row.fn.sum<number | null>('decisions').as('count'))
    .executeTakeFirstOrThrow()
  return Number(count ?? 0)
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
