/**
 * Reads the rows of many numbers with few, once-compiled statements: building the SQL costs more
 * than running it.
 */
import type { Compilable, CompiledQuery } from 'kysely'
import type { Instant } from '../../domain/clock.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import { yieldToEventLoop } from '../../domain/slices.js'
import type { Change } from '../../storage/change-head.js'
import type { EngineTraits } from '../../storage/engine.js'
import type { Db } from '../../storage/tables.js'
import { chunksOf } from './chunks.js'

/** Whose rows: an account and the code of the project the list or records belong to. */
export interface Owner {
  readonly accountId: string
  readonly projectCode: string
}

/** Whose rows are written, when and by whom. */
export interface OwnerWrite extends Change {
  readonly owner: Owner
  /** Now as the account sees it; `storedAt` is the same by the machine's clock. */
  readonly at: Instant
  /** The API key of the request. */
  readonly keyId: string
  readonly traits: Pick<EngineTraits, 'maxParameters'>
}

/** A query whose parameters are the account, the project code and the numbers, in that order. */
export type QueryByNumber<Row> = (
  owner: Owner,
  numbers: readonly string[],
) => Compilable<Row> & { compile(): CompiledQuery<Row> }

export class RowsByNumber<Row> {
  readonly #query: QueryByNumber<Row>
  readonly #traits: Pick<EngineTraits, 'maxParameters'>
  readonly #compiled = new Map<number, CompiledQuery<Row>>()

  constructor(traits: Pick<EngineTraits, 'maxParameters'>, query: QueryByNumber<Row>) {
    this.#traits = traits
    this.#query = query
  }

  /** Rows in no particular order; `db` may be a transaction. */
  async read(db: Db, owner: Owner, numbers: readonly PhoneNumber[]): Promise<readonly Row[]> {
    if (numbers.length === 1) return await this.#run(db, owner, numbers)
    const rows: Row[] = []
    for (const chunk of chunksOf(numbers, this.#traits)) {
      await yieldToEventLoop()
      for (const row of await this.#run(db, owner, chunk)) rows.push(row)
    }
    return rows
  }

  async #run(db: Db, owner: Owner, numbers: readonly PhoneNumber[]): Promise<readonly Row[]> {
    const compiled = this.#compiledFor(owner, numbers)
    const parameters = [owner.accountId, owner.projectCode, ...numbers]
    const { query, queryId, sql } = compiled
    return (await db.executeQuery<Row>({ query, queryId, sql, parameters })).rows
  }

  #compiledFor(owner: Owner, numbers: readonly PhoneNumber[]): CompiledQuery<Row> {
    const known = this.#compiled.get(numbers.length)
    if (known) return known
    const made = this.#query(owner, numbers).compile()
    this.#compiled.set(numbers.length, made)
    return made
  }
}
