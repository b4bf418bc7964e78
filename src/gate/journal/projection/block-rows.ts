/** Blocks of decisions in PostgreSQL: stores them, finds a decision in them, and takes erased numbers out of them. */
import { type Kysely, sql } from 'kysely'
import type { Instant } from '../../../domain/time/clock.js'
import type { Tables } from '../../../storage/tables.js'
import {
  type BlockDecision,
  type BlockEntry,
  blockSpanMs,
  packBlocks,
  packDecisions,
  unpackDecisions,
} from './block-format.js'
import { readIdInstant, toIdPrefix } from './decision-months.js'

const table = 'decision_blocks'

/** The position of the journal must be locked. Each id once; none may be in the months that were removed. */
export async function insertBlocks(
  db: Kysely<Tables>,
  origin: string,
  entries: readonly BlockEntry[],
): Promise<void> {
  const blocks = packBlocks(entries)
  if (blocks.length === 0) return
  await db
    .insertInto(table)
    .values(blocks.map((block) => ({ origin, ...block })))
    .execute()
}

export interface FoundInBlock {
  readonly origin: string
  /** JSON. */
  readonly body: Buffer
}

/** The latest of each journal. */
export async function findInBlocks(
  db: Kysely<Tables>,
  id: string,
): Promise<readonly FoundInBlock[]> {
  const madeAt = readIdInstant(id)
  if (madeAt === undefined) return []
  const spanEnd = (Math.floor(madeAt / blockSpanMs) + 1) * blockSpanMs
  const blocks = await db
    .selectFrom(table)
    .select(['origin', 'body'])
    .where('last_id', '>=', id)
    .where('last_id', '<', toIdPrefix(spanEnd))
    .where('first_id', '<=', id)
    .orderBy('first_seq')
    .execute()
  const found = new Map<string, Buffer>()
  for (const { origin, body } of blocks) {
    const decision = (await unpackDecisions(body)).find((one) => one.id === id)
    if (decision) found.set(origin, decision.body)
  }
  return [...found].map(([origin, body]) => ({ origin, body }))
}

/** More would be in memory at once. */
const blocksAtOnce = 64

export interface BlockErasure {
  /** Of decisions made in this time; the end is excluded. */
  readonly from: Instant
  readonly to: Instant
  /** The body without the number; `undefined` if it stays as it is. */
  readonly erase: (body: Buffer) => Buffer | undefined
}

/** The position of the journal must be locked. */
export async function eraseInBlocks(
  db: Kysely<Tables>,
  origin: string,
  { from, to, erase }: BlockErasure,
): Promise<void> {
  let [lastId, firstId, firstSeq] = [toIdPrefix(from), '', 0]
  for (;;) {
    const after = sql`(${lastId}, ${firstId}, ${firstSeq}::bigint)`
    const blocks = await db
      .selectFrom(table)
      .select(['last_id', 'first_id', 'first_seq', 'body'])
      .where('origin', '=', origin)
      .where('last_id', '<', toIdPrefix(to))
      .where(sql<boolean>`(last_id, first_id, first_seq) > ${after}`)
      .orderBy('last_id')
      .orderBy('first_id')
      .orderBy('first_seq')
      .limit(blocksAtOnce)
      .execute()
    for (const { last_id, first_id, first_seq, body } of blocks) {
      ;[lastId, firstId, firstSeq] = [last_id, first_id, first_seq]
      const erased = await eraseBody(body, erase)
      if (erased === undefined) continue
      await db
        .updateTable(table)
        .set(packDecisions(erased))
        .where('last_id', '=', last_id)
        .where('first_id', '=', first_id)
        .where('origin', '=', origin)
        .where('first_seq', '=', first_seq)
        .execute()
    }
    if (blocks.length < blocksAtOnce) return
  }
}

/** `undefined` if it stays as it is. */
async function eraseBody(
  body: Buffer,
  erase: BlockErasure['erase'],
): Promise<readonly BlockDecision[] | undefined> {
  let isChanged = false
  const decisions = (await unpackDecisions(body)).map((decision) => {
    const erased = erase(decision.body)
    if (erased === undefined) return decision
    isChanged = true
    return { ...decision, body: erased }
  })
  return isChanged ? decisions : undefined
}
