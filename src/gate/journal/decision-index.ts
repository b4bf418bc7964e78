/**
 * The index of the journal: a SQLite file with a row for each decision and each outcome, by which
 * decisions are found. It holds nothing that the journal does not, so it can be deleted and is made
 * again, except for decisions of versions before the journal, which it takes over from the database.
 */
import { existsSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import type { CallOutcome } from '../../domain/call-outcome.js'
import type { Instant } from '../../domain/time/clock.js'
import { DataFileError, getErrorMessage } from '../../errors.js'
import type { DecisionDocument } from '../decision-document.js'
import { mergeOutcome } from './merge-outcome.js'
import type { JournalRecord } from './segment-format.js'

/** The body of an outcome record: what was noted about a call. */
export interface OutcomeNote {
  readonly id: string
  /** Whether this process made the decision. */
  readonly own: boolean
  readonly outcome: Partial<CallOutcome>
}

/** A decision as it was recorded, and what is known of its call. */
export interface IndexedDecision {
  readonly document: DecisionDocument
  readonly outcome: Partial<CallOutcome>
}

/**
 * Rows are never flushed one by one: what a crash takes from the index is read from the journal again.
 * Instants are milliseconds since the epoch.
 */
const schema = `
  create table if not exists journal_position (
    id integer primary key check (id = 1), origin blob not null, next_seq integer not null);
  create table if not exists decisions (
    id text primary key, account_id text not null, decided_at integer not null,
    what_if integer not null, body text not null);
  create index if not exists decisions_by_time on decisions (account_id, decided_at);
  create table if not exists call_outcomes (
    decision_id text primary key, outcome text not null) without rowid;
  create table if not exists carried_over (id text primary key) without rowid;
`

export class DecisionIndex {
  readonly #path: string
  readonly #connection: Sqlite.Database
  readonly #upsertDecision: Sqlite.Statement
  readonly #upsertOutcome: Sqlite.Statement
  readonly #setPosition: Sqlite.Statement
  readonly #findDecision: Sqlite.Statement<[string], { account_id: string; body: string }>
  readonly #findOutcome: Sqlite.Statement<[string], { outcome: string }>

  /** Throws {@link DataFileError} if it cannot be opened. */
  constructor(path: string) {
    const connection = openIndexFile(path)
    this.#path = path
    this.#connection = connection
    this.#upsertDecision = connection.prepare(
      'insert into decisions values (?, ?, ?, ?, ?) on conflict do update set body = excluded.body',
    )
    this.#upsertOutcome = connection.prepare('insert or replace into call_outcomes values (?, ?)')
    this.#setPosition = connection.prepare('update journal_position set next_seq = ?')
    this.#findDecision = connection.prepare('select account_id, body from decisions where id = ?')
    this.#findOutcome = connection.prepare(
      'select outcome from call_outcomes where decision_id = ?',
    )
  }

  /** Makes a new index that of a journal. Throws {@link DataFileError} if it is that of another one. */
  claim(origin: Uint8Array): void {
    const claim = 'insert or ignore into journal_position values (1, ?, 1)'
    this.#connection.prepare(claim).run(Buffer.from(origin))
    const claimed = this.#connection
      .prepare<[], Buffer>('select origin from journal_position')
      .pluck()
    if (claimed.get()?.equals(origin)) return
    const rule = 'the index belongs to another journal than the one beside it'
    const advice =
      'Restore the folder journal from a backup. To go on without its records, delete this file'
    throw new DataFileError(this.#path, `${rule}. ${advice}`)
  }

  /** Number of the first record that is not in the index. */
  get nextSeq(): number {
    const position = this.#connection.prepare<[], number>('select next_seq from journal_position')
    return position.pluck().get() ?? 1
  }

  /** Adds the next records; all or none. The same records again change nothing. */
  add(records: readonly JournalRecord[]): void {
    const last = records.at(-1)
    if (last === undefined) return
    const addAll = this.#connection.transaction(() => {
      for (const record of records) this.#add(record)
      this.#setPosition.run(last.seq + 1)
    })
    addAll.immediate()
  }

  #add({ kind, at, body }: JournalRecord): void {
    if (kind === 'decision' || kind === 'amendment') this.#addDecision(body.toString(), at)
    else if (kind === 'outcome') this.#addOutcome(JSON.parse(body.toString()) as OutcomeNote)
  }

  #addDecision(body: string, decidedAt: Instant): void {
    const { id, accountId, whatIf } = readHead(body)
    this.#upsertDecision.run(id, accountId, decidedAt, whatIf ? 1 : 0, body)
  }

  /** A note about another process's decision is dropped if there is neither a record nor a note of it. */
  #addOutcome({ id, own, outcome }: OutcomeNote): void {
    const known = this.#findOutcome.get(id)
    if (!own && known === undefined && this.#findDecision.get(id) === undefined) return
    const merged = mergeOutcome(known ? JSON.parse(known.outcome) : {}, outcome)
    this.#upsertOutcome.run(id, JSON.stringify(merged))
  }

  /**
   * Takes over the next decisions of a database from before the journal, about a thousand. Returns
   * false when there are no more.
   */
  carryOver(databasePath: string): boolean {
    if (!existsSync(databasePath)) return false
    const database = new Sqlite(databasePath, { readonly: true, timeout: 1_000 })
    try {
      const carried = this.#connection
        .prepare<[], string>('select max(id) from carried_over')
        .pluck()
      const rows = selectOldDecisions(database).all(carried.get() ?? '')
      this.#connection.transaction(() => this.#carry(rows)).immediate()
      return rows.length > 0
    } finally {
      database.close()
    }
  }

  #carry(rows: readonly OldDecisionRow[]): void {
    for (const { id, account_id, decided_at, what_if, body, ...outcome } of rows) {
      this.#upsertDecision.run(id, account_id, decided_at, what_if, body)
      const noted = toOutcome(outcome)
      if (noted) this.#upsertOutcome.run(id, JSON.stringify(noted))
    }
    const last = rows.at(-1)
    if (last) this.#connection.prepare('insert into carried_over values (?)').run(last.id)
  }

  find(id: string): IndexedDecision | undefined {
    const row = this.#findDecision.get(id)
    const outcome = this.#findOutcome.get(id)
    if (row === undefined) return undefined
    return { document: JSON.parse(row.body), outcome: outcome ? JSON.parse(outcome.outcome) : {} }
  }

  /** Decisions of an account at or after an instant, in their order; what-ifs are left out. */
  *decisionsSince(accountId: string, since: Instant): Generator<DecisionDocument> {
    const rows = this.#connection
      .prepare<[string, Instant], string>(
        'select body from decisions where account_id = ? and decided_at >= ? and what_if = 0 ' +
          'order by decided_at, id',
      )
      .pluck()
      .iterate(accountId, since)
    for (const body of rows) yield JSON.parse(body)
  }

  /** Accounts among the latest decisions, without what-ifs. */
  findAccountsOfLatest(count: number): ReadonlySet<string> {
    const ids = this.#connection
      .prepare<[number], string>(
        'select distinct account_id from (select account_id, what_if from decisions ' +
          'order by id desc limit ?) where what_if = 0',
      )
      .pluck()
      .all(count)
    return new Set(ids)
  }

  close(): void {
    this.#connection.close()
  }
}

/**
 * The fields of a decision that its row needs. Parsing the whole of it would take longer than storing it.
 * Within a text of JSON, a quotation mark follows a backslash, so what is found are the fields.
 */
function readHead(body: string): Pick<DecisionDocument, 'id' | 'accountId' | 'whatIf'> {
  const id = /^\{"id":"([^"\\]+)"/.exec(body)?.[1]
  const accountId = /"accountId":"([^"\\]*)"/.exec(body)?.[1]
  if (id === undefined || accountId === undefined) return JSON.parse(body) as DecisionDocument
  return { id, accountId, whatIf: body.includes('"whatIf":true') }
}

function openIndexFile(path: string): Sqlite.Database {
  let connection: Sqlite.Database | undefined
  try {
    connection = new Sqlite(path, { timeout: 1_000 })
    connection.pragma('journal_mode = WAL')
    connection.pragma('synchronous = NORMAL')
    connection.exec(schema)
    return connection
  } catch (cause) {
    connection?.close()
    const why = getErrorMessage(cause)
    throw new DataFileError(path, `the index of the journal cannot be opened: ${why}`, cause)
  }
}

/** Columns of the tables `decisions` and `call_outcomes` of versions before the journal. */
interface OldDecisionRow extends OldOutcomeColumns {
  readonly id: string
  readonly account_id: string
  readonly decided_at: number
  readonly what_if: number
  readonly body: string
}

/** Null where nothing is known. */
interface OldOutcomeColumns {
  readonly state: CallOutcome['state'] | null
  readonly handed_over_at: number | null
  readonly not_carried_out_at: number | null
  readonly not_carried_out: CallOutcome['notCarriedOut'] | null
  readonly leg: string | null
  readonly dialled_at: number | null
  readonly answered_at: number | null
  readonly failed_at: number | null
  readonly ended_at: number | null
  readonly dial_status: string | null
  readonly cause: number | null
}

const selectOldDecisions = (database: Sqlite.Database) =>
  database.prepare<[string], OldDecisionRow>(
    'select id, account_id, decided_at, what_if, body, state, handed_over_at, not_carried_out_at, ' +
      'not_carried_out, leg, dialled_at, answered_at, failed_at, ended_at, dial_status, cause ' +
      'from decisions left join call_outcomes on decision_id = id where id > ? order by id limit 1000',
  )

function toOutcome(row: OldOutcomeColumns): CallOutcome | undefined {
  if (row.state === null) return undefined
  return {
    state: row.state,
    handedOverAt: row.handed_over_at ?? undefined,
    notCarriedOutAt: row.not_carried_out_at ?? undefined,
    notCarriedOut: row.not_carried_out ?? undefined,
    leg: row.leg ?? undefined,
    dialledAt: row.dialled_at ?? undefined,
    answeredAt: row.answered_at ?? undefined,
    failedAt: row.failed_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
    dialStatus: row.dial_status ?? undefined,
    cause: row.cause ?? undefined,
  }
}
