/**
 * Reads rows by number with a few statements that are compiled once, since building the SQL takes
 * longer than running it.
 */
import type { Compilable, CompiledQuery } from 'kysely'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'
import { yieldToEventLoop } from '../../runtime/yield-to-event-loop.js'
import type { ChangeStamp } from '../../storage/change-head.js'
import type { EngineTraits } from '../../storage/open-database.js'
import type { Db } from '../../storage/tables.js'
import { splitIntoChunks } from './chunks.js'

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
  readonly traits: Pick<EngineTraits, 'maxParameters'>
}

/** A query whose parameters are the account, the project code and the numbers, in that order. */
export type QueryByNumber<Row> = (
  owner: RowOwner,
  numbers: readonly string[],
) => Compilable<Row> & { compile(): CompiledQuery<Row> }

export class NumberRowReader<Row> {
  readonly #query: QueryByNumber<Row>
  readonly #traits: Pick<EngineTraits, 'maxParameters'>
  readonly #compiled = new Map<number, CompiledQuery<Row>>()

  constructor(traits: Pick<EngineTraits, 'maxParameters'>, query: QueryByNumber<Row>) {
    this.#traits = traits
    this.#query = query
  }

  /** Rows in no particular order; `db` may be a transaction. */
  async read(db: Db, owner: RowOwner, numbers: readonly PhoneNumber[]): Promise<readonly Row[]> {
    const rows: Row[] = []
    for (const chunk of splitIntoChunks(numbers, this.#traits)) {
      await yieldToEventLoop()
      for (const row of await this.readAtOnce(db, owner, chunk)) rows.push(row)
    }
    return rows
  }

  /** The rows of few numbers, with a single statement. */
  async readAtOnce(
    db: Db,
    owner: RowOwner,
    numbers: readonly PhoneNumber[],
  ): Promise<readonly Row[]> {
    let compiled = this.#compiled.get(numbers.length)
    if (!compiled) {
      compiled = this.#query(owner, numbers).compile()
      this.#compiled.set(numbers.length, compiled)
    }
    const parameters = [owner.accountId, owner.projectCode, ...numbers]
    const { query, queryId, sql } = compiled
    return (await db.executeQuery<Row>({ query, queryId, sql, parameters })).rows
  }
}
