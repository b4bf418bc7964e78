/**
 * What both kinds of imported records have in common. Rows are put aside in temporary tables, which
 * hold up nobody, so that the one transaction that stores them is short and all or nothing.
 */
import { type CompiledQuery, type RawBuilder, sql } from 'kysely'
import type { Instant } from '../../domain/clock.js'
import type { OpenDatabase } from '../../storage/engine.js'
import type { Db } from '../../storage/tables.js'
import { chunksOf } from '../sql/chunks.js'
import type { Owner, OwnerWrite } from '../sql/rows-by-number.js'

export interface StageOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'traits'>
  /** Of the import; no row is of a later time. */
  readonly now: Instant
}

/** What may become of a record -> that for people. */
export type Outcomes = Readonly<Record<string, string>>

export interface StagedRecords<Row> {
  readonly outcomes: Outcomes
  /** The outcomes that {@link store} has to do with. */
  readonly stores: readonly string[]
  /** Makes the temporary tables. */
  open(): Promise<void>
  put(rows: readonly Row[]): Promise<void>
  /** Leaves one row of each number, in their order; to be called once, after the last put. */
  sort(): Promise<void>
  /** Says what becomes of each number, and gives how many have each outcome. Changes nothing. */
  judge(db: Db, owner: Owner): Promise<ReadonlyMap<string, number>>
  /** Stores what was judged last; nothing may have changed since. */
  store(transaction: Db, write: OwnerWrite): Promise<void>
  /** Drops the temporary tables; may be called again. */
  close(): Promise<void>
}

type Value = string | number | null

/**
 * Inserts rows whose values are all the parameters the statement has. Building the SQL costs more than
 * running it, so it is built once for each number of rows.
 */
export class RowInserts {
  readonly #storage: StageOptions['storage']
  readonly #statement: (values: RawBuilder<unknown>) => RawBuilder<unknown>
  readonly #compiled = new Map<number, CompiledQuery>()

  constructor(
    storage: StageOptions['storage'],
    statement: (values: RawBuilder<unknown>) => RawBuilder<unknown>,
  ) {
    this.#storage = storage
    this.#statement = statement
  }

  async insert(rows: readonly (readonly Value[])[]): Promise<void> {
    const { db, traits } = this.#storage
    for (const chunk of chunksOf(rows, traits, rows[0]?.length)) {
      const compiled = this.#compiled.get(chunk.length) ?? this.#compile(chunk)
      await db.executeQuery({ ...compiled, parameters: chunk.flat() })
    }
  }

  #compile(chunk: readonly (readonly Value[])[]): CompiledQuery {
    const rows = chunk.map((row) => sql`(${sql.join([...row])})`)
    const compiled = this.#statement(sql.join(rows)).compile(this.#storage.db)
    this.#compiled.set(chunk.length, compiled)
    return compiled
  }
}

export async function judgedIn(db: Db): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ outcome: string; numbers: number }>`
    select outcome, count(*) as numbers from import_judged group by outcome`.execute(db)
  return new Map(rows.map(({ outcome, numbers }) => [outcome, Number(numbers)]))
}
