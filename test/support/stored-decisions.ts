/** What is stored of decisions in PostgreSQL. */
import { unpackDecisions } from '../../src/gate/journal/projection/block-format.js'

export interface StoredDecision {
  readonly id: string
  /** JSON. */
  readonly body: string
  /** Its table. */
  readonly name: string
  /** Of the transaction that wrote it. */
  readonly xmin: string
}

type Query = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>

/** By id. */
export async function readStoredDecisions(query: Query): Promise<readonly StoredDecision[]> {
  const meta = 'tableoid::regclass::text as name, xmin::text'
  const blocks = await query(`select ${meta}, body from decision_blocks`)
  const unpacked = blocks.map(async ({ body, ...block }) =>
    (await unpackDecisions(body as Buffer)).map((one) => ({
      ...block,
      id: one.id,
      body: one.body.toString(),
    })),
  )
  const all = (await Promise.all(unpacked)).flat() as StoredDecision[]
  return all.sort((one, other) => (one.id < other.id ? -1 : 1))
}
