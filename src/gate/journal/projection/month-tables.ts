/** The tables of the months. */
import { type Kysely, sql } from 'kysely'
import { getErrorCode } from '../../../errors.js'
import type { Db, Tables } from '../../../storage/tables.js'
import { type DecisionMonth, toIdPrefix } from './decision-months.js'

const parents = ['decision_blocks', 'recorded_outcomes'] as const

/** Held by whoever makes months. */
const monthsLock = 5_550_101

/** Makes those that there are not. */
export async function makeMonths(db: Db, months: Iterable<DecisionMonth>): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await sql`select pg_advisory_xact_lock(${monthsLock})`.execute(transaction)
    const made = new Set(await listMonthTables(transaction))
    for (const month of months) {
      for (const parent of parents) {
        if (!made.has(tableOf(parent, month))) await makeTable(transaction, parent, month)
      }
    }
  })
}

/** Of a month that has none. */
export async function makeMonth(db: Kysely<Tables>, month: DecisionMonth): Promise<void> {
  for (const parent of parents) await makeTable(db, parent, month)
}

const tableOf = (parent: string, { name }: Pick<DecisionMonth, 'name'>) => `${parent}_${name}`

/** `create table ... partition of` would wait for all who read the parent, and everybody else would wait for it. */
async function makeTable(
  db: Kysely<Tables>,
  parent: (typeof parents)[number],
  month: DecisionMonth,
): Promise<void> {
  const name = sql.table(tableOf(parent, month))
  const [from, to] = [month.start, month.end].map((at) => sql.lit(toIdPrefix(at)))
  await sql`create table ${name} (like ${sql.table(parent)} including all)`.execute(db)
  await sql`alter table ${sql.table(parent)} attach partition ${name}
    for values from (${from}) to (${to})`.execute(db)
}

async function listMonthTables(db: Kysely<Tables>): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly name: string }>`
    select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = any(${parents}::regclass[])`.execute(db)
  return rows.map(({ name }) => name)
}

/** Those before a month; false if some of them are being read. */
export async function dropMonthsBefore(db: Db, end: DecisionMonth): Promise<boolean> {
  const tables = await listMonthTables(db)
  const old = tables.filter((name) =>
    parents.some((parent) => name.startsWith(parent) && name < tableOf(parent, end)),
  )
  for (const name of old.sort()) if (!(await dropTable(db, name))) return false
  return true
}

const lockNotAvailable = '55P03'

/** It waits for all who read the parent, and whoever reads or copies then waits for it, so not for long. */
async function dropTable(db: Db, name: string): Promise<boolean> {
  try {
    await db.transaction().execute(async (transaction) => {
      await sql`set local lock_timeout = '500ms'`.execute(transaction)
      await sql`drop table if exists ${sql.table(name)}`.execute(transaction)
    })
    return true
  } catch (cause) {
    if (getErrorCode(cause) !== lockNotAvailable) throw cause
    return false
  }
}
