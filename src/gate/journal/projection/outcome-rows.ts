/** Outcomes of calls in PostgreSQL: one row for each decision and each journal that noted something about its call. */
import { type Kysely, sql } from 'kysely'
import type { CallOutcome } from '../../../domain/call-outcome.js'
import type { Instant } from '../../../domain/time/clock.js'
import { findEdgeAccount } from '../../../storage/cluster/edge-origins.js'
import type { RecordedOutcomeRow, Tables } from '../../../storage/tables.js'
import { mergeOutcome } from '../merge-outcome.js'

/** What a record says about a decision, or all records of a batch. */
export interface Entry {
  /** Of the first of the records. */
  readonly seq: number
  readonly id: string
  readonly madeAt: Instant
  /** Of a decision: as it is in the journal. */
  readonly body: Buffer | undefined
  /** Whether the body replaces that of an earlier batch. */
  readonly amends: boolean
  readonly outcome: Partial<CallOutcome> | undefined
}

/** To an account. An edge sends only decisions of its own one. */
export const isVisible = (origin: string, accountId: string) =>
  (findEdgeAccount(origin) ?? accountId) === accountId

export async function readOutcomes(
  db: Kysely<Tables>,
  ids: readonly string[],
): Promise<readonly RecordedOutcomeRow[]> {
  return await db
    .selectFrom('recorded_outcomes')
    .selectAll()
    .where(sql<boolean>`id = any(${ids}::text[])`)
    .execute()
}

/** Of one decision. What its own journal has noted comes first. */
export function mergeOutcomes(
  rows: readonly RecordedOutcomeRow[],
  ownOrigin?: string,
): Partial<CallOutcome> {
  const isOwn = ({ origin }: RecordedOutcomeRow) => origin === ownOrigin
  const ordered = [...rows.filter(isOwn), ...rows.filter((row) => !isOwn(row))]
  return ordered.reduce<Partial<CallOutcome>>(
    (known, { outcome }) => mergeOutcome(known, JSON.parse(outcome)),
    {},
  )
}

/** Nobody else writes those of this journal meanwhile, since its position is locked. */
export async function addKnownOutcomes(
  db: Kysely<Tables>,
  origin: string,
  entries: Map<string, Entry>,
): Promise<void> {
  const noted = [...entries].filter(([, { outcome }]) => outcome).map(([id]) => id)
  if (noted.length === 0) return
  const known = await sql<{ readonly id: string; readonly outcome: string }>`
    select id, outcome from recorded_outcomes
    where origin = ${origin} and id = any(${noted}::text[])`.execute(db)
  for (const { id, outcome } of known.rows) {
    const entry = entries.get(id)
    if (entry === undefined) continue
    entries.set(id, { ...entry, outcome: mergeOutcome(JSON.parse(outcome), entry.outcome ?? {}) })
  }
}

export async function upsertOutcomes(
  db: Kysely<Tables>,
  origin: string,
  entries: readonly Entry[],
): Promise<void> {
  if (entries.length === 0) return
  const ids = encodeTexts(entries.map(({ id }) => id))
  const outcomes = encodeTexts(entries.map(({ outcome }) => JSON.stringify(outcome)))
  await sql`insert into recorded_outcomes (id, origin, outcome)
    select id, ${origin}, outcome from unnest(${ids}::text[], ${outcomes}::text[]) as batch (id, outcome)
    on conflict (id, origin) do update set outcome = excluded.outcome`.execute(db)
}

const textOid = 25

/**
 * A `text[]` in the binary form of PostgreSQL, which takes bytes as they are. Of strings, the driver would make one text with
 * each quotation mark escaped, which takes several times as long as the rest of a copy. Buffers must be UTF-8.
 */
function encodeTexts(texts: readonly (string | Buffer | null)[]): Buffer {
  const sizes = texts.map((text) => (text === null ? 0 : Buffer.byteLength(text)))
  const array = Buffer.allocUnsafe(sizes.reduce((sum, size) => sum + 4 + size, 20))
  // One dimension, with nulls, and the first one has number 1.
  for (const [index, value] of [1, 1, textOid, texts.length, 1].entries())
    array.writeInt32BE(value, index * 4)
  let offset = 20
  for (const [index, text] of texts.entries()) {
    const size = sizes[index] ?? 0
    array.writeInt32BE(text === null ? -1 : size, offset)
    offset += 4
    if (typeof text === 'string') array.write(text, offset)
    else text?.copy(array, offset)
    offset += size
  }
  return array
}
