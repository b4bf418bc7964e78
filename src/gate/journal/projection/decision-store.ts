/**
 * The decisions of all servers in PostgreSQL, copied from their journals, by month. Each journal has its position
 * there, which advances in the transaction that stores its records, so that each record is stored once.
 */
import { type Kysely, sql } from 'kysely'
import type { CallOutcome } from '../../../domain/call-outcome.js'
import type { Instant } from '../../../domain/time/clock.js'
import { getErrorCode } from '../../../errors.js'
import { edgeOriginMark, findEdgeAccount } from '../../../storage/cluster/edge-origins.js'
import type { Db, JournalRow, RecordedDecisionRow, Tables } from '../../../storage/tables.js'
import { type DecisionDocument, withOutcome } from '../../decision-document.js'
import type { ErasureNote, OutcomeNote } from '../decision-index.js'
import { mergeOutcome } from '../merge-outcome.js'
import type { TimeRange } from '../recorded-decisions.js'
import { readHead } from '../search/searched-fields.js'
import { isOfDecision, type JournalRecord } from '../segment-format.js'
import { type DecisionMonth, monthOf, readIdInstant, toIdPrefix } from './decision-months.js'
import { eraseArriving, eraseStoredRows } from './erase-rows.js'

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

/** What a record says about a decision. */
interface Entry {
  readonly seq: number
  readonly id: string
  readonly madeAt: Instant
  /** Of a decision: with its account, as it is in the journal. */
  readonly accountId?: string
  readonly body?: Buffer
  readonly outcome?: Partial<CallOutcome>
}

/** What the records of a batch say about one decision. */
interface BatchRow {
  accountId: string | null
  body: Buffer | null
  outcome: Partial<CallOutcome> | undefined
}

/** A decision, as it was recorded last. */
export interface StoredDecision {
  /** JSON. */
  readonly body: string
  readonly outcome: Partial<CallOutcome>
}

const rowsPerRead = 1_000

interface ListedJournal extends JournalRow {
  /** Its server, which says once a minute that it is there, has not for ten. */
  readonly isGone: boolean
}

const goneAfterMs = 600_000

const table = 'recorded_decisions'
/** In milliseconds, the same for all servers. */
const databaseNow = sql<Instant>`(extract(epoch from clock_timestamp()) * 1000)::bigint`
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
      insert into journals (origin, next_seq, removed_before, shipped, seen_at)
      values (${origin}, ${firstSeq}, ${removedBefore}::bigint, 0, ${databaseNow})
      on conflict (origin) do update
        set shipped = 0, seen_at = excluded.seen_at, next_seq = greatest(excluded.next_seq, least(journals.next_seq, ${notStoredSeq}::bigint))
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
    const entries = records.flatMap((record) => readEntry(record) ?? [])
    await this.#prepareMonths(entries)
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
        const erased = await eraseArriving(db, origin, fresh)
        const freshEntries = erased ? erased.flatMap((record) => readEntry(record) ?? []) : entries
        const rows = collectRows(
          freshEntries.filter(({ seq, madeAt }) => seq >= first.seq && madeAt >= removedBefore),
        )
        await addKnownOutcomes(db, origin, rows)
        await upsertRows(db, origin, rows)
        const nextSeq = last.seq + 1
        await db
          .updateTable('journals')
          .set({ next_seq: nextSeq, shipped: 0, seen_at: databaseNow })
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

  /** The one whose server was not seen for longest comes first; those of older versions, which do not say it, come last. */
  async listJournals(): Promise<readonly ListedJournal[]> {
    const isGone = sql<boolean>`coalesce(seen_at, 0) <= ${databaseNow} - ${goneAfterMs}`
    const query = this.#db.selectFrom('journals').selectAll().select(isGone.as('isGone'))
    return await query.orderBy('seen_at').execute()
  }

  /**
   * The decisions of a time, in the order of their ids, with what is known of their calls. Reads about a thousand rows at a
   * time, so that none of them is locked meanwhile.
   */
  async *readRange({ since, until }: TimeRange): AsyncGenerator<StoredDecision> {
    let rows: RecordedDecisionRow[] = []
    for (let after = ''; ; ) {
      const next = await this.#db
        .selectFrom(table)
        .selectAll()
        .where('id', '>=', toIdPrefix(since))
        .where('id', '<', toIdPrefix(until))
        .where('id', '>', after)
        .orderBy('id')
        .limit(rowsPerRead)
        .execute()
      // The rows of the last id may not be all of it.
      const isLast = next.length < rowsPerRead
      const end = isLast ? undefined : next.at(-1)?.id
      rows = next.filter(({ id }) => id !== end)
      after = rows.at(-1)?.id ?? after
      for (const same of groupById(rows)) {
        const body = same.find((row) => row.body !== null)?.body
        if (body) yield { body, outcome: mergeRows(same) }
      }
      if (isLast) return
    }
  }

  /** `undefined` when the account has none of that id. */
  async find(accountId: string, id: string): Promise<DecisionDocument | undefined> {
    const rows = await this.#readRows(accountId, id)
    const decided = rows.find((row) => row.body !== null && row.account_id === accountId)
    if (decided === undefined) return undefined
    const others = rows.filter((row) => row !== decided)
    return withOutcome(JSON.parse(decided.body ?? ''), mergeRows([decided, ...others]))
  }

  /** What journals other than that of `origin` have noted about the call of a decision. */
  async findNotes(accountId: string, id: string, origin: string): Promise<Partial<CallOutcome>> {
    const rows = await this.#readRows(accountId, id)
    return mergeRows(rows.filter((row) => row.origin !== origin))
  }

  /** Without those of edges of other accounts. */
  async #readRows(accountId: string, id: string): Promise<readonly RecordedDecisionRow[]> {
    if (readIdInstant(id) === undefined) return []
    const rows = await this.#db.selectFrom(table).selectAll().where('id', '=', id).execute()
    return rows.filter(({ origin }) => (findEdgeAccount(origin) ?? accountId) === accountId)
  }

  /**
   * Removes the months that end at or before an instant, and stores none of their decisions any more. False if some of
   * them are being read, so that it has to be called again.
   */
  async removeBefore(origin: string, before: Instant): Promise<boolean> {
    await this.#db
      .updateTable('journals')
      .set({ removed_before: before })
      .where('origin', '=', origin)
      .where('removed_before', '<', before)
      .execute()
    // Another server may keep its decisions for longer.
    const end = tableOf(monthOf(await readRemovedBefore(this.#db)))
    for (const name of await listMonthTables(this.#db)) {
      if (name < end && !(await dropMonth(this.#db, name))) return false
    }
    return true
  }

  /** Those of the records, and the next one, so that the first decision of a month does not wait. */
  async #prepareMonths(entries: readonly Entry[]): Promise<void> {
    const missing = new Map<string, DecisionMonth>()
    let month: DecisionMonth | undefined
    for (const { madeAt } of entries) {
      // Almost all of a batch are of one month.
      if (month && madeAt >= month.start && madeAt < month.end) continue
      month = monthOf(madeAt)
      for (const one of [month, monthOf(month.end)]) {
        if (!this.#months.has(one.name)) missing.set(one.name, one)
      }
    }
    if (missing.size === 0) return
    const removedBefore = await readRemovedBefore(this.#db)
    for (const [name, { end }] of missing) if (end <= removedBefore) missing.delete(name)
    const made = new Set<string>()
    await this.#db.transaction().execute(async (db) => {
      await sql`select pg_advisory_xact_lock(${monthsLock})`.execute(db)
      for (const name of await listMonthTables(db)) made.add(name)
      for (const month of missing.values())
        if (!made.has(tableOf(month))) await makeMonth(db, month)
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

async function listMonthTables(db: Kysely<Tables>): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly name: string }>`
    select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = ${table}::regclass order by relname`.execute(db)
  return rows.map(({ name }) => name)
}

/** `create table ... partition of` would wait for all who read the parent, and everybody else would wait for it. */
export async function makeMonth(db: Kysely<Tables>, month: DecisionMonth): Promise<void> {
  const name = sql.table(tableOf(month))
  const [from, to] = [month.start, month.end].map((at) => sql.lit(toIdPrefix(at)))
  await sql`create table ${name} (like ${sql.table(table)} including all)`.execute(db)
  await sql`alter table ${sql.table(table)} attach partition ${name}
    for values from (${from}) to (${to})`.execute(db)
}

const lockNotAvailable = '55P03'

/** It waits for all who read the parent, and whoever reads or copies then waits for it, so not for long. */
async function dropMonth(db: Db, name: string): Promise<boolean> {
  try {
    await db.transaction().execute(async (transaction) => {
      await sql`set local lock_timeout = '500ms'`.execute(transaction)
      await sql`drop table if exists ${sql.table(name)}`.execute(transaction)
    })
    return true
  } catch (cause) {
    if (getErrorCode(cause) !== lockNotAvailable) throw cause
    return false
  }
}

async function lockPosition(db: Kysely<Tables>, origin: string) {
  const { rows } = await sql<{ readonly next_seq: number; readonly removed_before: number }>`
    select next_seq, removed_before from journals where origin = ${origin} for update`.execute(db)
  const [position] = rows
  if (position === undefined) throw new Error(`journal ${origin} is not claimed`)
  return position
}

function mergeRows(rows: readonly RecordedDecisionRow[]): Partial<CallOutcome> {
  return rows.reduce<Partial<CallOutcome>>(
    (known, { outcome }) => mergeOutcome(known, outcome ? JSON.parse(outcome) : {}),
    {},
  )
}

/** Of rows in the order of their ids. */
function groupById(rows: readonly RecordedDecisionRow[]): readonly RecordedDecisionRow[][] {
  const groups: RecordedDecisionRow[][] = []
  for (const row of rows) {
    const last = groups.at(-1)
    if (last?.[0]?.id === row.id) last.push(row)
    else groups.push([row])
  }
  return groups
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

/** `undefined` if it says nothing about a decision, as a note of an id that is none of a decision. */
function readEntry({ seq, kind, body }: JournalRecord): Entry | undefined {
  if (!isOfDecision(kind)) return undefined
  const about =
    kind === 'outcome' ? (JSON.parse(body.toString()) as OutcomeNote) : { ...readHead(body), body }
  const madeAt = readIdInstant(about.id)
  return madeAt === undefined ? undefined : { ...about, seq, madeAt }
}

function collectRows(entries: readonly Entry[]): Map<string, BatchRow> {
  const rows = new Map<string, BatchRow>()
  for (const { id, accountId, body, outcome } of entries) {
    const row = rows.get(id) ?? { accountId: null, body: null, outcome: undefined }
    if (accountId !== undefined) row.accountId = accountId
    if (body !== undefined) row.body = body
    if (outcome !== undefined) row.outcome = mergeOutcome(row.outcome ?? {}, outcome)
    rows.set(id, row)
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
  const ids = encodeTexts([...rows.keys()])
  const accountIds = encodeTexts(all.map(({ accountId }) => accountId))
  const bodies = encodeTexts(all.map(({ body }) => body))
  const outcomes = encodeTexts(all.map(({ outcome }) => (outcome ? JSON.stringify(outcome) : null)))
  await sql`insert into recorded_decisions (id, origin, account_id, body, outcome)
    select id, ${origin}, account_id, body, outcome from unnest(
      ${ids}::text[], ${accountIds}::text[], ${bodies}::text[], ${outcomes}::text[]
    ) as batch (id, account_id, body, outcome)
    on conflict (id, origin) do update set
      account_id = coalesce(excluded.account_id, recorded_decisions.account_id),
      body = coalesce(excluded.body, recorded_decisions.body),
      outcome = coalesce(excluded.outcome, recorded_decisions.outcome)`.execute(db)
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
