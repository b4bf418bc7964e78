/** Copies of tables between SQLite and PostgreSQL, compared by the counts and hashes of their rows. */
import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { DataFileError } from '../../errors.js'
import type { Db } from '../tables.js'

export interface CopiedTable {
  readonly name: string
  readonly rows: number
}

export type Row = Readonly<Record<string, unknown>>
export type AnyDb = Kysely<Record<string, Record<string, unknown>>>

const rowsAtOnce = 500
/** The migrations of an empty database have rows in them. */
const replacedTables: readonly string[] = ['change_head', 'changes']
const hashModulus = 1n << 256n

/** Does not depend on the order of the rows, which each engine has its own of. */
export class RowSum {
  rows = 0
  hash = 0n

  add(row: Row): void {
    const fields = Object.entries(row)
      .map(([name, value]) => [name, Buffer.isBuffer(value) ? value.toString('base64') : value])
      .sort(([one], [other]) => (String(one) < String(other) ? -1 : 1))
    const digest = createHash('sha256').update(JSON.stringify(fields)).digest('hex')
    this.hash = (this.hash + BigInt(`0x${digest}`)) % hashModulus
    this.rows += 1
  }

  equals({ rows, hash }: RowSum): boolean {
    return this.rows === rows && this.hash === hash
  }
}

/** Of a SQLite database, in the order in which they were made: a table comes after those that it refers to. */
export async function listTables(source: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly name: string }>`select name from sqlite_master
    where type = 'table' and name not like 'sqlite\\_%' escape '\\' and name not like 'kysely\\_%' escape '\\'
    order by rowid`.execute(source)
  return rows.map(({ name }) => name)
}

export interface TableCopyOptions {
  /** Of PostgreSQL, for messages. */
  readonly path: string
  /** Called with rows before they are stored. */
  readonly prepare?: (rows: readonly Row[]) => Promise<void>
}

/**
 * Copies all tables of a SQLite database, which nobody may write to meanwhile, into those of PostgreSQL, which must be empty, in a
 * transaction that the caller commits. Throws {@link DataFileError} if one has rows, or if one that was read back is not
 * the same.
 */
export async function copyTables(
  source: Db,
  transaction: Db,
  { path, prepare }: TableCopyOptions,
): Promise<readonly CopiedTable[]> {
  const refuse = (problem: string) => new DataFileError(path, `${problem}; nothing was stored`)
  const to = transaction as unknown as AnyDb
  const tables = await listTables(source)
  const replaced = tables.filter((name) => replacedTables.includes(name))
  for (const name of tables) {
    if (!replaced.includes(name) && !(await isEmpty(to, name))) {
      throw refuse(`the database must be empty, and table ${name} has rows`)
    }
  }
  for (const name of replaced) await to.deleteFrom(name).execute()
  const copied: CopiedTable[] = []
  for (const name of tables) {
    const sum = new RowSum()
    await readFile(source, name, async (rows) => {
      for (const row of rows) sum.add(row)
      await prepare?.(rows)
      await to.insertInto(name).values(rows).execute()
    })
    const found = new RowSum()
    await readTable(to, name, (row) => found.add(row))
    if (!sum.equals(found)) {
      throw refuse(`table ${name} is not the same as in SQLite (${found.rows} of ${sum.rows} rows)`)
    }
    copied.push({ name, rows: sum.rows })
  }
  await continueIdentities(to)
  return copied
}

async function isEmpty(to: AnyDb, name: string): Promise<boolean> {
  const { rows } = await sql`select 1 from ${sql.table(name)} limit 1`.execute(to)
  return rows.length === 0
}

async function readFile(
  source: Db,
  name: string,
  onRows: (rows: readonly Row[]) => Promise<void>,
): Promise<void> {
  let last = Number.MIN_SAFE_INTEGER
  for (;;) {
    const { rows } = await sql<Row & { readonly copied_rowid: number }>`
      select rowid as copied_rowid, * from ${sql.table(name)} where rowid > ${last}
      order by rowid limit ${rowsAtOnce}`.execute(source)
    const values = rows.map(({ copied_rowid: rowid, ...row }) => {
      last = rowid
      return row
    })
    if (values.length === 0) return
    await onRows(values)
  }
}

/** Of PostgreSQL, in a transaction. */
export async function readTable(
  from: AnyDb,
  name: string,
  onRow: (row: Row) => void,
): Promise<void> {
  await sql`declare copied no scroll cursor for select * from ${sql.table(name)}`.execute(from)
  for (;;) {
    const { rows } = await sql<Row>`fetch ${sql.lit(rowsAtOnce)} from copied`.execute(from)
    if (rows.length === 0) break
    for (const row of rows) onRow(row)
  }
  await sql`close copied`.execute(from)
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
