/**
 * Stages the records of an import in temporary tables, which lock nothing, so that the one
 * transaction that stores them is short. `import_rows` has the rows as read, the sorted table of each
 * kind has one row per number, and `import_judged` has the outcome for each number.
 */
import { type CompiledQuery, type RawBuilder, sql } from 'kysely'
import type { Instant } from '../../domain/time/clock.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { Db } from '../../storage/tables.js'
import { splitIntoChunks } from '../sql/chunks.js'
import type { RowOwner, RowWrite } from '../sql/rows-by-number.js'

type Value = string | number | null

/** How one kind of record is compared and stored. */
export interface RecordImportKind<Row> {
  /** Outcome to human-readable label, in the order of the summary. */
  readonly outcomeLabels: Readonly<Record<string, string>>
  /** In the audit table. */
  readonly action: string
  /** The outcomes that {@link store} writes. */
  readonly storedOutcomes: readonly string[]
  /** Name of the table with one row per number. */
  readonly sortedTable: string
  /** Columns of a row besides `number`, and of its outcome besides `number` and `outcome`, as SQL. */
  readonly columns: string
  readonly judgedColumns?: string
  /** The columns that {@link toValues} returns, as SQL. */
  readonly insertedColumns: RawBuilder<unknown>
  /** `now` is the time of the import, which limits the date of every row. */
  toValues(row: Row, now: Instant): readonly Value[]
  /** Fills the sorted table from `import_rows`. */
  readonly sort: RawBuilder<unknown>
  /** Fills `import_judged` from the sorted table and the stored records. */
  judge(db: Db, owner: RowOwner): Promise<RawBuilder<unknown>>
  /** Stores the numbers in `import_judged`; nothing may have changed since they were judged. */
  store(transaction: Db, write: RowWrite): Promise<void>
}

export class StagedRecords<Row> {
  readonly #kind: RecordImportKind<Row>
  readonly #storage: Pick<OpenDatabase, 'db' | 'traits'>
  readonly #now: Instant
  /** Cached by number of rows, since building the SQL takes longer than running it. */
  readonly #inserts = new Map<number, CompiledQuery>()

  constructor(
    kind: RecordImportKind<Row>,
    storage: Pick<OpenDatabase, 'db' | 'traits'>,
    now: Instant,
  ) {
    this.#kind = kind
    this.#storage = storage
    this.#now = now
  }

  /** Creates the temporary tables. */
  async open(): Promise<void> {
    const { sortedTable, columns, judgedColumns } = this.#kind
    await this.close()
    const judged = ['number text primary key, outcome text not null', judgedColumns ?? []].flat()
    const layouts = [
      ['import_rows', `number text not null, ${columns}`],
      [sortedTable, `number text primary key, ${columns}`],
      ['import_judged', judged.join(', ')],
    ] as const
    for (const [table, layout] of layouts) {
      await sql`create temporary table ${sql.table(table)} (${sql.raw(layout)})`.execute(
        this.#storage.db,
      )
    }
  }

  async add(records: readonly Row[]): Promise<void> {
    const { db, traits } = this.#storage
    const rows = records.map((record) => this.#kind.toValues(record, this.#now))
    for (const chunk of splitIntoChunks(rows, traits, rows[0]?.length)) {
      const compiled = this.#inserts.get(chunk.length) ?? this.#compileInsert(chunk)
      await db.executeQuery({ ...compiled, parameters: chunk.flat() })
    }
  }

  #compileInsert(chunk: readonly (readonly Value[])[]): CompiledQuery {
    const rows = sql.join(chunk.map((row) => sql`(${sql.join([...row])})`))
    const insert = sql`insert into import_rows (${this.#kind.insertedColumns}) values ${rows}`
    const compiled = insert.compile(this.#storage.db)
    this.#inserts.set(chunk.length, compiled)
    return compiled
  }

  /** Fills the sorted table. Call it once, after the last `add`. */
  async sort(): Promise<void> {
    await this.#kind.sort.execute(this.#storage.db)
  }

  /** Determines the outcome of each number and counts the numbers of each. Stores nothing. */
  async classify(db: Db, owner: RowOwner): Promise<ReadonlyMap<string, number>> {
    const judge = await this.#kind.judge(db, owner)
    await sql`delete from import_judged`.execute(db)
    await judge.execute(db)
    const { rows } = await sql<{ outcome: string; numbers: number }>`
      select outcome, count(*) as numbers from import_judged group by outcome`.execute(db)
    return new Map(rows.map(({ outcome, numbers }) => [outcome, Number(numbers)]))
  }

  /** Drops the temporary tables; may be called again. */
  async close(): Promise<void> {
    for (const table of ['import_rows', this.#kind.sortedTable, 'import_judged']) {
      await sql`drop table if exists ${sql.table(`temp.${table}`)}`.execute(this.#storage.db)
    }
  }
}
