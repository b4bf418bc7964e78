/** The numbers as the primary key of a SQLite table without a rowid, queried in process. */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { nsEach, type Store } from './store.js'

export function sqliteStore(): Store {
  const folder = mkdtempSync(join(tmpdir(), 'callgate-bench-sqlite-'))
  const path = join(folder, 'numbers.sqlite')
  const db = new Database(path)
  db.pragma('journal_mode = WAL')
  db.pragma('cache_size = -1000000')
  db.exec('create table numbers (number integer primary key) without rowid')
  const insert = db.prepare('insert into numbers (number) values (?)')
  const find = db.prepare('select 1 from numbers where number = ?').pluck()
  return {
    name: 'SQLite, an indexed table',
    async fill(numbers) {
      const rising = Float64Array.from(numbers).sort()
      db.transaction(() => {
        for (const number of rising) insert.run(number)
      })()
      db.pragma('wal_checkpoint(TRUNCATE)')
    },
    bytes: async () => statSync(path).size,
    lookUp: (numbers) => nsEach(numbers, (number) => find.get(number) === 1),
    async close() {
      db.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
