/**
 * Reads rows by number with a few statements that are compiled once, since building the SQL takes
 * longer than running it.
 */
import type { Compilable, CompiledQuery } from 'kysely'
import type { MaybePromise } from '../../domain/compliance.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'
import { yieldToEventLoop } from '../../runtime/yield-to-event-loop.js'
import type { ChangeStamp } from '../../storage/change-head.js'
import type { EngineTraits, OpenDatabase, ReadFirst } from '../../storage/open-database.js'
import type { Db } from '../../storage/tables.js'
import { splitIntoChunks } from './chunks.js'

export type RowStorage = Pick<OpenDatabase, 'db' | 'traits' | 'prepareRead' | 'observeFailure'>

/** The owner of rows: an account, and the code of the project that has the list or records. */
export interface RowOwner {
  readonly accountId: string
  readonly projectCode: string
}

/** The owner, time and author of a write. */
export interface RowWrite extends ChangeStamp {
  readonly owner: RowOwner
  /** Time of the write by the account's clock; `storedAt` is the same instant by the machine's clock. */
  readonly at: Instant
  /** The API key of the request. */
  readonly keyId: string
  readonly traits: Pick<EngineTraits, 'isCopy' | 'name' | 'maxParameters'>
}

/** A query whose parameters are the account, the project code and the numbers, in that order. */
export type QueryByNumber<Row> = (
  db: Db,
  owner: RowOwner,
  numbers: readonly string[],
) => Compilable<Row> & { compile(): CompiledQuery<Row> }

export class NumberRowReader<Row> {
  readonly #query: QueryByNumber<Row>
  readonly #storage: RowStorage
  readonly #compiled = new Map<number, CompiledQuery<Row>>()
  #readFirst: ReadFirst<Row> | undefined

  constructor(storage: RowStorage, query: QueryByNumber<Row>) {
    this.#storage = storage
    this.#query = query
  }

  /** The committed row of a number; without a wait if the database is in the same process. */
  find(owner: RowOwner, number: PhoneNumber): MaybePromise<Row | undefined> {
    try {
      this.#readFirst ??= this.#storage.prepareRead(this.#compile(owner, [number]))
      return this.#readFirst(owner.accountId, owner.projectCode, number)
    } catch (cause) {
      this.#storage.observeFailure(cause)
      throw cause
    }
  }

  /** Rows in no particular order; `db` may be a transaction. */
  async read(db: Db, owner: RowOwner, numbers: readonly PhoneNumber[]): Promise<readonly Row[]> {
    const rows: Row[] = []
    for (const chunk of splitIntoChunks(numbers, this.#storage.traits)) {
      await yieldToEventLoop()
      const { query, queryId, sql } = this.#compile(owner, chunk)
      const parameters = [owner.accountId, owner.projectCode, ...chunk]
      const found = await db.executeQuery<Row>({ query, queryId, sql, parameters })
      for (const row of found.rows) rows.push(row)
    }
    return rows
  }

  #compile(owner: RowOwner, numbers: readonly PhoneNumber[]): CompiledQuery<Row> {
    const known = this.#compiled.get(numbers.length)
    if (known) return known
    const compiled = this.#query(this.#storage.db, owner, numbers).compile()
    this.#compiled.set(numbers.length, compiled)
    return compiled
  }
}
