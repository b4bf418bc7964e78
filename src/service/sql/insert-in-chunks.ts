/** Inserts long lists of rows with a few statements that are compiled once per size. */
import type { Compilable, CompiledQuery } from 'kysely'
import { yieldToEventLoop } from '../../runtime/yield-to-event-loop.js'
import type { EngineTraits } from '../../storage/open-database.js'
import type { Db } from '../../storage/tables.js'
import { splitIntoChunks } from './chunks.js'

/** A query whose only parameters are the values of the rows. */
type InsertQuery<Row> = (db: Db, rows: readonly Row[]) => Compilable

/**
 * Gives a function that inserts rows, which must have the same fields in the same order, and resolves to how
 * many rows the database says it has written. Building the SQL takes longer than running it.
 */
export function insertInChunks<Row extends object>(build: InsertQuery<Row>) {
  const compiled = new Map<string, CompiledQuery>()
  const compile = (
    db: Db,
    engine: string,
    {
      rows,
      parameters,
    }: { readonly rows: readonly Row[]; readonly parameters: readonly unknown[] },
  ) => {
    const key = `${engine} ${rows.length}`
    const known = compiled.get(key)
    if (known) return known
    const made = build(db, rows).compile()
    if (made.parameters.length !== parameters.length)
      throw new TypeError('an insert has parameters other than the values of its rows')
    compiled.set(key, made)
    return made
  }
  return async <Item>(
    db: Db,
    items: readonly Item[],
    { traits, toRow }: InsertOptions<Item, Row>,
  ): Promise<number> => {
    const [first] = items
    if (first === undefined) return 0
    const columns = Object.keys(toRow(first, 0)).length
    let written = 0n
    let position = 0
    for (const chunk of splitIntoChunks(items, traits, columns)) {
      await yieldToEventLoop()
      const rows = chunk.map((item) => toRow(item, position++))
      const parameters = rows.flatMap((row) => Object.values(row))
      const { query, queryId, sql } = compile(db, traits.name, { rows, parameters })
      const result = await db.executeQuery({ query, queryId, sql, parameters })
      written += result.numAffectedRows ?? 0n
    }
    return Number(written)
  }
}

interface InsertOptions<Item, Row> {
  readonly traits: Pick<EngineTraits, 'name' | 'maxParameters'>
  readonly toRow: (item: Item, position: number) => Row
}
