/**
 * The decisions of all servers in PostgreSQL, copied from their journals, by month: decisions in blocks, and what became of their
 * calls in a row for each. Each journal has its position there, which advances in the transaction that stores its records, so
 * that each record is stored once.
 */
import { type Kysely, sql } from 'kysely'
import type { CallOutcome } from '../../../domain/call-outcome.js'
import type { Instant } from '../../../domain/time/clock.js'
import { AppError } from '../../../errors.js'
import type { KnownPosition } from '../../../storage/audit/installation.js'
import { edgeOriginMark } from '../../../storage/cluster/edge-origins.js'
import type { Db, JournalRow, RecordedOutcomeRow, Tables } from '../../../storage/tables.js'
import type { DecisionDocument } from '../../record/decision-document.js'
import { readId } from '../../record/read-head.js'
import { readRecord } from '../../record/read-record.js'
import { withOutcome } from '../../record/with-outcome.js'
import { mergeOutcome } from '../merge-outcome.js'
import { isOfDecision, type JournalRecord } from '../segment-format.js'
import type { BlockEntry } from './block-format.js'
import { findInBlocks, insertBlocks } from './block-rows.js'
import { type DecisionMonth, monthOf, readIdInstant } from './decision-months.js'
import { eraseArriving, eraseStoredRows } from './erase-rows.js'
import { dropMonthsBefore, makeMonths } from './month-tables.js'
import {
  addKnownOutcomes,
  type Entry,
  isVisible,
  mergeOutcomes,
  readOutcomes,
  upsertOutcomes,
} from './outcome-rows.js'

/** Tells a journal from another one of the same name, such as a copy of its folder. */
export interface CopiedRecord extends KnownPosition {
  /** Host and folder. */
  readonly sender: string
}

export interface RecordBatch {
  /** SHA-256 of the name of the journal, in hex; for that of an edge, after the account and a mark. */
  readonly origin: string
  /** Consecutive, from the next one to store on. */
  readonly records: readonly JournalRecord[]
  /** The last of them; absent if the sender does not say it. */
  readonly last?: CopiedRecord | undefined
}

export interface ClaimedJournal {
  /** Number of the next record to store. */
  readonly nextSeq: number
  /** The one before it; `undefined` if that is not known. */
  readonly last: CopiedRecord | undefined
}

export interface StoredRecords {
  /** Number of the first record of the journal that is not stored. */
  readonly nextSeq: number
  /** How many records of each kind were stored now, and were not before. */
  readonly decisions: number
  readonly outcomes: number
}

interface ListedJournal extends JournalRow {
  /** Its server, which says once a minute that it is there, has not for ten. */
  readonly isGone: boolean
}

const goneAfterMs = 600_000

/** In milliseconds, the same for all servers, and within a statement. */
export const databaseNow = sql<Instant>`(extract(epoch from statement_timestamp()) * 1000)::bigint`

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
   * position is after them, it was restored from a copy, and goes on there. One whose first record would be the next one to
   * store says that it has nothing else.
   */
  async claim(
    origin: string,
    firstSeq: number,
    notStoredSeq = Number.MAX_SAFE_INTEGER,
  ): Promise<ClaimedJournal> {
    // What the others have removed does not come back.
    const removedBefore = await readRemovedBefore(this.#db)
    const { rows } = await sql<Pick<JournalRow, 'next_seq' | 'last_record'>>`
      insert into journals (origin, next_seq, removed_before, shipped, seen_at, copied_until)
      values (${origin}, ${firstSeq}, ${removedBefore}::bigint, 0, ${databaseNow}, 0)
      on conflict (origin) do update
        set shipped = 0, seen_at = excluded.seen_at,
          copied_until = case when excluded.next_seq = journals.next_seq and excluded.next_seq > 1
            then excluded.seen_at else journals.copied_until end,
          next_seq = greatest(excluded.next_seq, least(journals.next_seq, ${notStoredSeq}::bigint))
      returning next_seq, last_record`.execute(this.#db)
    const { next_seq: nextSeq = firstSeq, last_record: stored = null } = rows[0] ?? {}
    const last: CopiedRecord | undefined = stored === null ? undefined : JSON.parse(stored)
    return { nextSeq, last: last?.seq === nextSeq - 1 ? last : undefined }
  }

  /** Who has sent records of a journal in the last minutes; `undefined` if that is not known. */
  async findSender(origin: string): Promise<string | undefined> {
    const row = await this.#db
      .selectFrom('journals')
      .select('last_record')
      .where('origin', '=', origin)
      .where('seen_at', '>', sql<number>`${databaseNow} - ${goneAfterMs}`)
      .executeTakeFirst()
    return row?.last_record ? (JSON.parse(row.last_record) as CopiedRecord).sender : undefined
  }

  /** As {@link DecisionStore.claim}, for a journal that goes on under another name: no erasure waits for it. */
  async retire(origin: string, firstSeq: number, notStoredSeq?: number): Promise<ClaimedJournal> {
    const claimed = await this.claim(origin, firstSeq, notStoredSeq)
    await this.#db
      .updateTable('journals')
      .set({ shipped: 1 })
      .where('origin', '=', origin)
      .execute()
    return claimed
  }

  /**
   * Stores the records, all or none. Throws if the journal is not claimed, or if the first of them is not the next one to store: the sender
   * claims the journal again then, and learns what is stored. An erasure among them is applied to what is stored of the journal.
   */
  async store({ origin, records, last }: RecordBatch): Promise<StoredRecords> {
    const sum = { nextSeq: 0, decisions: 0, outcomes: 0 }
    for (const part of splitAtErasures(records)) {
      const [first] = part
      if (first?.kind === 'erasure') {
        const { id } = readRecord(first.kind, first)
        await eraseStoredRows(this.#db, origin, id)
      }
      const { nextSeq, decisions, outcomes } = await this.#storePart(origin, part, last)
      sum.nextSeq = nextSeq
      sum.decisions += decisions
      sum.outcomes += outcomes
    }
    return sum
  }

  async #storePart(
    origin: string,
    records: readonly JournalRecord[],
    newest: CopiedRecord | undefined,
  ): Promise<StoredRecords> {
    const entries = records.flatMap((record) => readEntry(record) ?? [])
    await this.#prepareMonths(entries)
    try {
      return await this.#db.transaction().execute(async (db) => {
        const position = await lockPosition(db, origin)
        const [first] = records
        const last = records.at(-1)
        if (first === undefined || last === undefined) {
          return { nextSeq: position.next_seq, decisions: 0, outcomes: 0 }
        }
        if (first.seq !== position.next_seq) {
          const rule = `record ${position.next_seq} of journal ${origin} is the next one, not ${first.seq}`
          throw new AppError('conflict', `${rule}; nothing was stored`)
        }
        const removedBefore = Math.max(position.removed_before, await readRemovedBefore(db))
        const erased = await eraseArriving(db, origin, records)
        const freshEntries = erased ? erased.flatMap((record) => readEntry(record) ?? []) : entries
        const merged = mergeEntries(freshEntries.filter(({ madeAt }) => madeAt >= removedBefore))
        await addKnownOutcomes(db, origin, merged)
        const all = [...merged.values()]
        await insertBlocks(db, origin, all.filter(isDecision))
        const noted = all.filter(({ outcome }) => outcome)
        await upsertOutcomes(db, origin, noted)
        const nextSeq = last.seq + 1
        await db
          .updateTable('journals')
          .set({
            next_seq: nextSeq,
            shipped: 0,
            seen_at: databaseNow,
            copied_until: last.at,
            last_record: newest?.seq === last.seq ? JSON.stringify(newest) : null,
          })
          .where('origin', '=', origin)
          .execute()
        const outcomes = records.filter(({ kind }) => kind === 'outcome').length
        const decisions = records.filter(({ kind }) => kind === 'decision').length
        return { nextSeq, decisions, outcomes }
      })
    } catch (cause) {
      this.#months.clear()
      throw cause
    }
  }

  /** The one whose server was not seen for longest comes first. */
  async listJournals(): Promise<readonly ListedJournal[]> {
    const isGone = sql<boolean>`seen_at <= ${databaseNow} - ${goneAfterMs}`
    const query = this.#db.selectFrom('journals').selectAll().select(isGone.as('isGone'))
    return await query.orderBy('seen_at').execute()
  }

  /** `undefined` when the account has none of that id. */
  async find(accountId: string, id: string): Promise<DecisionDocument | undefined> {
    const found = await this.#find(accountId, id)
    if (!found) return undefined
    const outcomes = await this.#readOutcomes(accountId, id)
    return withOutcome(found.document, mergeOutcomes(outcomes, found.origin))
  }

  /** Of the journal that a decision was copied from: SHA-256 of its name, in hex; `undefined` if the account has none of that id. */
  async findJournal(accountId: string, id: string): Promise<string | undefined> {
    const found = await this.#find(accountId, id)
    return found?.origin.split(edgeOriginMark).at(-1)
  }

  async #find(accountId: string, id: string) {
    for (const { origin, body } of await findInBlocks(this.#db, id)) {
      const document = readRecord('decision', { id, body })
      const isOfAccount = document.accountId === accountId && isVisible(origin, accountId)
      if (isOfAccount) return { origin, document }
    }
    return undefined
  }

  /** What journals other than that of `origin` have noted about the call of a decision. */
  async findNotes(accountId: string, id: string, origin: string): Promise<Partial<CallOutcome>> {
    const rows = await this.#readOutcomes(accountId, id)
    return mergeOutcomes(rows.filter((row) => row.origin !== origin))
  }

  /** Without those of edges of other accounts. */
  async #readOutcomes(accountId: string, id: string): Promise<readonly RecordedOutcomeRow[]> {
    if (readIdInstant(id) === undefined) return []
    const rows = await readOutcomes(this.#db, [id])
    return rows.filter(({ origin }) => isVisible(origin, accountId))
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
    return await dropMonthsBefore(this.#db, monthOf(await readRemovedBefore(this.#db)))
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
    await makeMonths(this.#db, missing.values())
    for (const name of missing.keys()) this.#months.add(name)
  }
}

/** What all servers that still write have removed; edges keep nothing there. */
export async function readRemovedBefore(db: Kysely<Tables>): Promise<Instant> {
  const { removed } = await db
    .selectFrom('journals')
    .select((row) => row.fn.min('removed_before').as('removed'))
    .where('shipped', '=', 0)
    .where('origin', 'not like', `%${edgeOriginMark}%`)
    .executeTakeFirstOrThrow()
  return Number(removed ?? 0)
}

interface Position {
  readonly next_seq: number
  readonly removed_before: number
}

/** If PostgreSQL loses what it has not flushed, that is lost with the position, and copied again: so nobody waits for its disk. */
async function lockPosition(db: Kysely<Tables>, origin: string): Promise<Position> {
  const { rows } = await sql<Position>`
    select next_seq, removed_before, set_config('synchronous_commit', 'off', true)
    from journals where origin = ${origin} for update`.execute(db)
  const [position] = rows
  if (position === undefined) {
    const rule =
      'is not claimed: ask which record is the next one, with no records, before sending any'
    throw new AppError('conflict', `journal ${origin} ${rule}`)
  }
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

/** `undefined` if it says nothing about a decision, as a note of an id that is none of a decision. */
function readEntry({ seq, kind, body }: JournalRecord): Entry | undefined {
  if (!isOfDecision(kind)) return undefined
  const note = kind === 'outcome' ? readRecord(kind, { seq, body }) : undefined
  const id = note ? note.id : readId(body)
  const madeAt = readIdInstant(id)
  if (madeAt === undefined) return undefined
  const amends = kind === 'amendment'
  return { seq, id, madeAt, body: note ? undefined : body, amends, outcome: note?.outcome }
}

/** One for each decision. */
function mergeEntries(entries: readonly Entry[]): Map<string, Entry> {
  const merged = new Map<string, Entry>()
  for (const entry of entries) {
    const known = merged.get(entry.id)
    merged.set(entry.id, known ? mergeEntry(known, entry) : entry)
  }
  return merged
}

function mergeEntry(known: Entry, { body, amends, outcome }: Entry): Entry {
  return {
    ...known,
    body: body ?? known.body,
    amends: known.body ? known.amends : amends,
    outcome: outcome ? mergeOutcome(known.outcome ?? {}, outcome) : known.outcome,
  }
}

const isDecision = (entry: Entry): entry is Entry & BlockEntry => entry.body !== undefined
