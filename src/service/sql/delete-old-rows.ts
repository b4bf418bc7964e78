import { sql } from 'kysely'
import type { Instant } from '../../domain/time/clock.js'
import type { Db, Tables } from '../../storage/tables.js'

/** A day of rows may become old at once, and other writes wait for each statement. */
const maxDeletedAtOnce = 10_000

interface OldRows {
  /** Columns of the primary key. */
  readonly key: readonly string[]
  /** The column with the instant. */
  readonly at: string
  readonly before: Instant
}

/** Deletes at most 10,000 rows from before an instant. Returns whether there may be more. */
export async function deleteOldRows(
  db: Db,
  table: keyof Tables,
  { key, at, before }: OldRows,
): Promise<boolean> {
  const columns = sql.join(key.map((column) => sql.ref(column)))
  const { numDeletedRows } = await db
    .deleteFrom(table)
    .where(
      sql<boolean>`(${columns}) in (
        select ${columns} from ${sql.table(table)} where ${sql.ref(at)} < ${before} limit ${maxDeletedAtOnce})`,
    )
    .executeTakeFirst()
  return numDeletedRows >= maxDeletedAtOnce
}
