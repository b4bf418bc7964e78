/** Copies a SQLite database into an empty one of PostgreSQL, and compares them before anything is committed. */
import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { DataFileError } from '../../errors.js'
import type { OpenDatabase } from '../open-database.js'
import type { Db } from '../tables.js'

export interface MovedTable {
  readonly name: string
  readonly rows: number
}

type Row = Readonly<Record<string, unknown>>
type AnyDb = Kysely<Record<string, Record<string, unknown>>>

const rowsAtOnce = 500
/** The migrations of an empty database have rows in them. */
const replacedTables: readonly string[] = ['change_head', 'changes']
const hashModulus = 1n << 256n

/**
 * Both must have the newest schema, and nobody may write to the source meanwhile. Throws {@link DataFileError} with
 * nothing stored if the target has rows, or if one that was read back is not the same.
 */
export async function moveToPostgres(
  source: Db,
  { db, path }: Pick<OpenDatabase, 'db' | 'path'>,
): Promise<readonly MovedTable[]> {
  const refuse = (problem: string) => new DataFileError(path, `${problem}; nothing was stored`)
  return await db.transaction().execute(async (transaction) => {
    const to = transaction as unknown as AnyDb
    const tables = await listTables(source)
    for (const name of tables) {
      if (!replacedTables.includes(name) && !(await isEmpty(to, name))) {
        throw refuse(`the database must be empty, and table ${name} has rows`)
      }
    }
    for (const name of replacedTables) await to.deleteFrom(name).execute()
    const moved: MovedTable[] = []
    for (const name of tables) {
      const copied = await copyTable(source, to, name)
      const found = await readBack(to, name)
      if (copied.rows !== found.rows || copied.hash !== found.hash) {
        throw refuse(
          `table ${name} is not the same as in SQLite (${found.rows} of ${copied.rows} rows)`,
        )
      }
      moved.push({ name, rows: copied.rows })
    }
    await continueIdentities(to)
    return moved
  })
}

/** In the order in which they were made: a table comes after those that it refers to. */
async function listTables(source: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly name: string }>`select name from sqlite_master
    where type = 'table' and name not like 'sqlite\\_%' escape '\\' and name not like 'kysely\\_%' escape '\\'
    order by rowid`.execute(source)
  return rows.map(({ name }) => name)
}

async function isEmpty(to: AnyDb, name: string): Promise<boolean> {
  const { rows } = await sql`select 1 from ${sql.table(name)} limit 1`.execute(to)
  return rows.length === 0
}

/** Does not depend on the order of the rows, which each engine has its own of. */
class RowSum {
  rows = 0
  hash = 0n

  add(row: Row): void {
    const fields = Object.entries(row).sort(([one], [other]) => (one < other ? -1 : 1))
    const digest = createHash('sha256').update(JSON.stringify(fields)).digest('hex')
    this.hash = (this.hash + BigInt(`0x${digest}`)) % hashModulus
    this.rows += 1
  }
}

async function copyTable(source: Db, to: AnyDb, name: string): Promise<RowSum> {
  const sum = new RowSum()
  let last = Number.MIN_SAFE_INTEGER
  for (;;) {
    const { rows } = await sql<Row & { readonly copied_rowid: number }>`
      select rowid as copied_rowid, * from ${sql.table(name)} where rowid > ${last}
      order by rowid limit ${rowsAtOnce}`.execute(source)
    const values = rows.map(({ copied_rowid: rowid, ...row }) => {
      last = rowid
      sum.add(row)
      return row
    })
    if (values.length === 0) return sum
    await to.insertInto(name).values(values).execute()
  }
}

async function readBack(to: AnyDb, name: string): Promise<RowSum> {
  const sum = new RowSum()
  await sql`declare moved no scroll cursor for select * from ${sql.table(name)}`.execute(to)
  for (;;) {
    const { rows } = await sql<Row>`fetch ${sql.lit(rowsAtOnce)} from moved`.execute(to)
    if (rows.length === 0) break
    for (const row of rows) sum.add(row)
  }
  await sql`close moved`.execute(to)
  return sum
}

/** The next row gets a greater id than any that was copied. */
async function continueIdentities(to: AnyDb): Promise<void> {
  const { rows } = await sql<{ readonly name: string; readonly column: string }>`
    select table_name as name, column_name as column from information_schema.columns
    where table_schema = current_schema() and is_identity = 'YES'`.execute(to)
  for (const { name, column } of rows) {
    await sql`select setval(pg_get_serial_sequence(${name}, ${column}), max(${sql.ref(column)}))
      from ${sql.table(name)} having max(${sql.ref(column)}) is not null`.execute(to)
  }
}
