/**
 * The decisions of all servers in PostgreSQL, copied from their journals, by month. Each journal has its position
 * there, which advances in the transaction that stores its records, so that each record is stored once.
 */
import { type Kysely, sql } from 'kysely'
import type { CallOutcome } from '../../../domain/call-outcome.js'
import type { Instant } from '../../../domain/time/clock.js'
import { edgeOriginMark } from '../../../storage/cluster/edge-origins.js'
import type { Db, Tables } from '../../../storage/tables.js'
import { type DecisionDocument, withOutcome } from '../../decision-document.js'
import { type ErasureNote, type OutcomeNote, readHead } from '../decision-index.js'
import { mergeOutcome } from '../merge-outcome.js'
import type { JournalRecord } from '../segment-format.js'
import { type DecisionMonth, monthOf, readIdInstant, toIdPrefix } from './decision-months.js'
import { eraseStoredRows } from './erase-rows.js'

export interface RecordBatch {
  /** SHA-256 of the name of the journal, in hex; for that of an edge, after the account and a mark. */
  readonly origin: string
  /** Consecutive. Those that are stored already are left out. */
  readonly records: readonly JournalRecord[]
}

export interface StoredRecords {
  /** Number of the first record of the journal that is not stored. */
  readonly nextSeq: number
  /** How many records of each kind were stored now, and were not before. */
  readonly decisions: number
  readonly outcomes: number
}

/** What the records of a batch say about one decision. */
interface BatchRow {
  accountId: string | null
  body: string | null
  outcome: Partial<CallOutcome> | undefined
}

const table = 'recorded_decisions'
/** Held by whoever makes months. */
const monthsLock = 5_550_101

export class DecisionStore {
  readonly #db: Db
  /** Months that have a table, as far as known. */
  readonly #months = new Set<string>()

  constructor(db: Db) {
    this.#db = db
  }

  /**
   * Must be called before the first {@link DecisionStore.store} of a journal. `firstSeq` is that of the first record
   * that the journal still has. If its records from number `notStoredSeq` on are certainly not stored, although the
   * position is after them, it was restored from a copy, and goes on there. Returns the number of the next record to store.
   */
  async claim(
    origin: string,
    firstSeq: number,
    notStoredSeq = Number.MAX_SAFE_INTEGER,
  ): Promise<number> {
    // What the others have removed does not come back.
    const removedBefore = await readRemovedBefore(this.#db)
    const { rows } = await sql<{ readonly next_seq: number }>`
      insert into journals (origin, next_seq, removed_before, shipped)
      values (${origin}, ${firstSeq}, ${removedBefore}::bigint, 0)
      on conflict (origin) do update
        set shipped = 0, next_seq = greatest(excluded.next_seq, least(journals.next_seq, ${notStoredSeq}::bigint))
      returning next_seq`.execute(this.#db)
    return rows[0]?.next_seq ?? firstSeq
  }

  /**
   * Stores the records that are not stored yet, all or none. Throws if the journal is not claimed, or if records
   * before the first one are missing. An erasure among them is applied to what is stored of the journal.
   */
  async store({ origin, records }: RecordBatch): Promise<StoredRecords> {
    const sum = { nextSeq: 0, decisions: 0, outcomes: 0 }
    for (const part of splitAtErasures(records)) {
      const [first] = part
      if (first?.kind === 'erasure') {
        const { id }: ErasureNote = JSON.parse(first.body.toString())
        await eraseStoredRows(this.#db, origin, id)
      }
      const { nextSeq, decisions, outcomes } = await this.#storePart(origin, part)
      sum.nextSeq = nextSeq
      sum.decisions += decisions
      sum.outcomes += outcomes
    }
    return sum
  }

  async #storePart(origin: string, records: readonly JournalRecord[]): Promise<StoredRecords> {
    await this.#prepareMonths(records)
    try {
      return await this.#db.transaction().execute(async (db) => {
        const position = await lockPosition(db, origin)
        const fresh = records.filter(({ seq }) => seq >= position.next_seq)
        const [first] = fresh
        const last = fresh.at(-1)
        if (first === undefined || last === undefined) {
          return { nextSeq: position.next_seq, decisions: 0, outcomes: 0 }
        }
        if (first.seq !== position.next_seq) {
          throw new Error(
            `record ${position.next_seq} of journal ${origin} is the next one, not ${first.seq}`,
          )
        }
        const removedBefore = Math.max(position.removed_before, await readRemovedBefore(db))
        const rows = collectRows(fresh, removedBefore)
        await addKnownOutcomes(db, origin, rows)
        await upsertRows(db, origin, rows)
        const nextSeq = last.seq + 1
        await db
          .updateTable('journals')
          .set({ next_seq: nextSeq, shipped: 0 })
          .where('origin', '=', origin)
          .execute()
        const outcomes = fresh.filter(({ kind }) => kind === 'outcome').length
        const decisions = fresh.filter(({ kind }) => kind === 'decision').length
        return { nextSeq, decisions, outcomes }
      })
    } catch (cause) {
      this.#months.clear()
      throw cause
    }
  }

  /** `undefined` when the account has none of that id. */
  async find(accountId: string, id: string): Promise<DecisionDocument | undefined> {
    if (readIdInstant(id) === undefined) return undefined
    const rows = await this.#db.selectFrom(table).selectAll().where('id', '=', id).execute()
    const decided = rows.find((row) => row.body !== null && row.account_id === accountId)
    if (decided === undefined) return undefined
    // Another server may have noted what became of the call.
    const mayNote = ({ origin }: (typeof rows)[number]) =>
      !origin.includes(edgeOriginMark) || origin.startsWith(`${accountId}${edgeOriginMark}`)
    const notes = [decided, ...rows.filter((row) => row !== decided && mayNote(row))]
    const outcome = notes.reduce<Partial<CallOutcome>>(
      (known, note) => mergeOutcome(known, note.outcome ? JSON.parse(note.outcome) : {}),
      {},
    )
    return withOutcome(JSON.parse(decided.body ?? ''), outcome)
  }

  /**
   * Removes the months that end at or before an instant, and stores none of their decisions any more. Returns how
   * many months there were.
   */
  async removeBefore(origin: string, before: Instant): Promise<number> {
    await this.#db
      .updateTable('journals')
      .set({ removed_before: before })
      .where('origin', '=', origin)
      .where('removed_before', '<', before)
      .execute()
    const { rows } = await sql<{ readonly name: string }>`
      select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
      where inhparent = ${table}::regclass order by relname`.execute(this.#db)
    // Another server may keep its decisions for longer.
    const end = tableOf(monthOf(await readRemovedBefore(this.#db)))
    const expired = rows.filter(({ name }) => name < end)
    for (const { name } of expired) {
      await sql`drop table if exists ${sql.table(name)}`.execute(this.#db)
    }
    return expired.length
  }

  /** Those of the records, and the next one, so that the first decision of a month does not wait. */
  async #prepareMonths(records: readonly JournalRecord[]): Promise<void> {
    const months = new Map<string, DecisionMonth>()
    for (const id of idsOf(records)) {
      const month = monthOf(readIdInstant(id) ?? 0)
      months.set(month.name, month)
    }
    const missing = new Map<string, DecisionMonth>()
    for (const month of months.values()) {
      for (const one of [month, monthOf(month.end)]) {
        if (!this.#months.has(one.name)) missing.set(one.name, one)
      }
    }
    if (missing.size === 0) return
    const removedBefore = await readRemovedBefore(this.#db)
    for (const [name, { end }] of missing) if (end <= removedBefore) missing.delete(name)
    await this.#db.transaction().execute(async (db) => {
      await sql`select pg_advisory_xact_lock(${monthsLock})`.execute(db)
      for (const month of missing.values()) await makeMonth(db, month)
    })
    for (const name of missing.keys()) this.#months.add(name)
  }
}

/** What all servers that still write have removed; edges keep nothing there. */
async function readRemovedBefore(db: Kysely<Tables>): Promise<Instant> {
  const { removed } = await db
    .selectFrom('journals')
    .select((row) => row.fn.min('removed_before').as('removed'))
    .where('shipped', '=', 0)
    .where('origin', 'not like', `%${edgeOriginMark}%`)
    .executeTakeFirstOrThrow()
  return Number(removed ?? 0)
}

const tableOf = ({ name }: DecisionMonth) => `${table}_${name}`

export async function makeMonth(db: Kysely<Tables>, month: DecisionMonth): Promise<void> {
  const [from, to] = [month.start, month.end].map((at) => sql.lit(toIdPrefix(at)))
  await sql`create table if not exists ${sql.table(tableOf(month))}
    partition of ${sql.table(table)} for values from (${from}) to (${to})`.execute(db)
}

async function lockPosition(db: Kysely<Tables>, origin: string) {
  const { rows } = await sql<{ readonly next_seq: number; readonly removed_before: number }>`
    select next_seq, removed_before from journals where origin = ${origin} for update`.execute(db)
  const [position] = rows
  if (position === undefined) throw new Error(`journal ${origin} is not claimed`)
  return position
}

/** Each erasure begins a part: what is before it is stored when it is applied. */
function splitAtErasures(records: readonly JournalRecord[]): readonly JournalRecord[][] {
  const parts: JournalRecord[][] = [[]]
  for (const record of records) {
    if (record.kind === 'erasure') parts.push([])
    parts.at(-1)?.push(record)
  }
  return parts.filter(({ length }) => length > 0)
}

/** Of decisions that can be stored. */
function* idsOf(records: readonly JournalRecord[]): Generator<string> {
  for (const { kind, body } of records) {
    if (kind === 'opened' || kind === 'erasure') continue
    const { id } =
      kind === 'outcome' ? (JSON.parse(body.toString()) as OutcomeNote) : readHead(body)
    if (readIdInstant(id) !== undefined) yield id
  }
}

/** Leaves out what is before an instant, and what was noted of an id that is none of a decision. */
function collectRows(
  records: readonly JournalRecord[],
  removedBefore: Instant,
): Map<string, BatchRow> {
  const rows = new Map<string, BatchRow>()
  const rowOf = (id: string): BatchRow => {
    const known = rows.get(id)
    if (known) return known
    const row: BatchRow = { accountId: null, body: null, outcome: undefined }
    if ((readIdInstant(id) ?? -1) >= removedBefore) rows.set(id, row)
    return row
  }
  for (const { kind, body } of records) {
    if (kind === 'decision' || kind === 'amendment') {
      const { id, accountId } = readHead(body)
      Object.assign(rowOf(id), { accountId, body: body.toString() })
    } else if (kind === 'outcome') {
      const note: OutcomeNote = JSON.parse(body.toString())
      const row = rowOf(note.id)
      row.outcome = mergeOutcome(row.outcome ?? {}, note.outcome)
    }
  }
  return rows
}

/** Nobody else writes those of this journal meanwhile, since its position is locked. */
async function addKnownOutcomes(
  db: Kysely<Tables>,
  origin: string,
  rows: ReadonlyMap<string, BatchRow>,
): Promise<void> {
  const noted = [...rows].filter(([, { outcome }]) => outcome).map(([id]) => id)
  if (noted.length === 0) return
  const known = await sql<{ readonly id: string; readonly outcome: string }>`
    select id, outcome from recorded_decisions
    where origin = ${origin} and id = any(${noted}::text[]) and outcome is not null`.execute(db)
  for (const { id, outcome } of known.rows) {
    const row = rows.get(id)
    if (row) row.outcome = mergeOutcome(JSON.parse(outcome), row.outcome ?? {})
  }
}

/** What a later batch does not say stays. */
async function upsertRows(
  db: Kysely<Tables>,
  origin: string,
  rows: ReadonlyMap<string, BatchRow>,
): Promise<void> {
  const all = [...rows.values()]
  if (all.length === 0) return
  const outcomes = all.map(({ outcome }) => (outcome ? JSON.stringify(outcome) : null))
  await sql`insert into recorded_decisions (id, origin, account_id, body, outcome)
    select id, ${origin}, account_id, body, outcome from unnest(
      ${[...rows.keys()]}::text[], ${all.map(({ accountId }) => accountId)}::text[],
      ${all.map(({ body }) => body)}::text[], ${outcomes}::text[]) as batch (id, account_id, body, outcome)
    on conflict (id, origin) do update set
      account_id = coalesce(excluded.account_id, recorded_decisions.account_id),
      body = coalesce(excluded.body, recorded_decisions.body),
      outcome = coalesce(excluded.outcome, recorded_decisions.outcome)`.execute(db)
}
