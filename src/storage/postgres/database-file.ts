/**
 * The content of a PostgreSQL database as a SQLite file, which is its form in a backup: so a backup over one engine can be
 * restored over the other.
 */
import Sqlite from 'better-sqlite3'
import { Kysely, SqliteDialect, sql } from 'kysely'
import { DataFileError } from '../../errors.js'
import { findSchemaProblem, lockMigration, makeSchema, readSchemaState } from '../migrate.js'
import type { OpenDatabase } from '../open-database.js'
import { ReadDriver, SqliteFileDialect } from '../sqlite.js'
import type { Db, Tables } from '../tables.js'
import { type AnyDb, copyTables, listTables, RowSum, readTable } from './table-copy.js'

/** Runs `work` in a transaction that sees one instant of the database, while others go on writing. */
export async function readSnapshot<Result>(
  db: Db,
  work: (snapshot: Db) => Promise<Result>,
): Promise<Result> {
  const transaction = db.transaction().setIsolationLevel('repeatable read')
  return await transaction.execute(async (snapshot) => {
    await sql`set transaction read only`.execute(snapshot)
    return await work(snapshot)
  })
}

/**
 * Writes all tables that SQLite has as well to a new file. Throws {@link DataFileError} if there are none, or if this program
 * does not know the schema.
 */
export async function writeDatabaseFile(
  snapshot: Db,
  { source, target }: { readonly source: string; readonly target: string },
): Promise<void> {
  const { executed } = await readSchemaState(snapshot)
  if (executed.length === 0) throw new DataFileError(source, 'there is no database to back up')
  const problem = findSchemaProblem(executed)
  if (problem !== undefined) throw new DataFileError(source, problem)
  await writeFile(target, async (file, db) => {
    await db.transaction().execute(makeSchema)
    // The rows are from one instant, in which all references were right.
    file.pragma('foreign_keys = off')
    file.exec('delete from change_head; delete from changes')
    for (const name of await listTables(db)) await copyTable(snapshot, file, name)
  })
}

/** Writes further tables to a new file. */
export async function writeTables(
  snapshot: Db,
  target: string,
  names: readonly string[],
): Promise<void> {
  await writeFile(target, async (file) => {
    for (const name of names) {
      const { rows } = await sql<{ readonly column: string }>`
        select attname as column from pg_attribute
        where attrelid = ${name}::regclass and attnum > 0 and not attisdropped`.execute(snapshot)
      const columns = rows.map(({ column }) => quote(column)).join(', ')
      file.exec(`create table ${quote(name)} (${columns})`)
      await copyTable(snapshot, file, name)
    }
  })
}

/** A backup is synced as a whole, and one that is not complete is removed. */
async function writeFile<Result>(
  target: string,
  work: (file: Sqlite.Database, db: Db) => Promise<Result>,
): Promise<Result> {
  const file = new Sqlite(target)
  try {
    file.pragma('journal_mode = off')
    file.pragma('synchronous = off')
    return await work(file, new Kysely<Tables>({ dialect: new SqliteDialect({ database: file }) }))
  } finally {
    file.close()
  }
}

const quote = (name: string) => `"${name.replaceAll('"', '""')}"`

/** Throws if what is in the file is not the same. */
async function copyTable(snapshot: Db, file: Sqlite.Database, name: string): Promise<void> {
  const table = quote(name)
  const columns = file.prepare<[string], string>('select name from pragma_table_info(?)').pluck()
  const names = columns.all(name)
  const insert = file.prepare(
    `insert into ${table} (${names.map(quote).join(', ')}) values (${names.map(() => '?').join(', ')})`,
  )
  const sum = new RowSum()
  file.exec('begin')
  await readTable(snapshot as unknown as AnyDb, name, (row) => {
    sum.add(row)
    insert.run(names.map((column) => row[column]))
  })
  file.exec('commit')
  const found = new RowSum()
  for (const row of file.prepare<[], Record<string, unknown>>(`select * from ${table}`).iterate()) {
    found.add(row)
  }
  if (sum.equals(found)) return
  throw new Error(
    `table ${name} is not the same as in PostgreSQL (${found.rows} of ${sum.rows} rows)`,
  )
}

/** Only its rows are read, so the file stays as it is. */
export async function withDatabaseFile<Result>(
  path: string,
  work: (source: Db) => Promise<Result>,
): Promise<Result> {
  const file = new Sqlite(path, { readonly: true, fileMustExist: true })
  try {
    const driver = new ReadDriver(file, { observeFailure: () => undefined })
    return await work(new Kysely<Tables>({ dialect: new SqliteFileDialect(driver) }))
  } finally {
    file.close()
  }
}

/**
 * Restores a file of {@link writeDatabaseFile}, or the database of a data folder, into a PostgreSQL database that has no
 * tables. Nobody sees anything of it before all of it is committed, so no server can use a part of it. Throws
 * {@link DataFileError} with nothing stored if there are tables.
 */
export async function restoreDatabaseFile(
  source: Db,
  { db, path }: Pick<OpenDatabase, 'db' | 'path'>,
  restoreOthers: (transaction: Db) => Promise<void>,
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    // Standbys may be behind by more than a commit waits for them.
    await sql`set local synchronous_commit = local`.execute(transaction)
    // Another restore, or the first start of a server.
    await lockMigration(transaction)
    const { tables } = await readSchemaState(transaction)
    const [found] = tables
    if (found !== undefined) {
      throw new DataFileError(
        path,
        `the database must be empty, so that no data is lost, but it has the table ${found}; nothing was stored. ` +
          'Create a new database and name it in storage.url, or restore the data folder alone with --only folder',
      )
    }
    await makeSchema(transaction)
    await copyTables(source, transaction, { path })
    await restoreOthers(transaction)
  })
}
