/** The decisions of all servers in a backup, with how far each journal is copied, which must fit to them. */
import { writeTables } from '../../../storage/postgres/database-file.js'
import { copyTables, type Row } from '../../../storage/postgres/table-copy.js'
import type { Db } from '../../../storage/tables.js'
import { monthOf, readIdInstant } from './decision-months.js'
import { makeMonth } from './decision-store.js'

/** Writes them to a new SQLite file, and returns how many rows of decisions there are. */
export async function backUpDecisions(snapshot: Db, target: string): Promise<number> {
  const tables = ['journals', 'erased_journals', 'recorded_decisions']
  const [, , decisions = 0] = await writeTables(snapshot, target, tables)
  return decisions
}

/** Into the tables of a migrated database. */
export async function restoreDecisions(source: Db, transaction: Db, path: string): Promise<void> {
  const made = new Set<string>()
  const prepare = async (rows: readonly Row[]) => {
    for (const { id } of rows) {
      const at = typeof id === 'string' ? readIdInstant(id) : undefined
      if (at === undefined) continue
      const month = monthOf(at)
      if (!made.has(month.name)) await makeMonth(transaction, month)
      made.add(month.name)
    }
  }
  await copyTables(source, transaction, { path, prepare })
}
