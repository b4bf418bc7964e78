/**
 * The index of the journal: a SQLite file with a row for each decision, which says where its record is,
 * and for each outcome. It holds nothing that the journal does not, so it can be deleted and is made again.
 */
import type Sqlite from 'better-sqlite3'
import type { CallOutcome } from '../../domain/call-outcome.js'
import type { Instant } from '../../domain/time/clock.js'
import { countLossFirst, DataFileError } from '../../errors.js'
import type { AuditPosition } from '../../storage/audit/audit-log.js'
import type { DecisionDocument } from '../record/decision-document.js'
import { type DecisionHead, readHead } from '../record/read-head.js'
import {
  type NoticeContent,
  type OutcomeNote,
  type RecordContents,
  readRecord,
} from '../record/read-record.js'
import type { JournalBeginning } from './journal-beginning.js'
import { type PlacedRecord, type RecordPlace, RecordReader } from './journal-reader.js'
import { mergeOutcome } from './merge-outcome.js'
import { toIdPrefix } from './projection/decision-months.js'
import {
  type DecisionRow,
  type IndexForm,
  openIndexFile,
  readDecision,
  readForm,
} from './search/index-file.js'
import { fieldColumns, toColumns } from './search/searched-fields.js'

export interface IndexOwner {
  /** SHA-256 of the name of the journal. */
  readonly origin: Buffer
  /** Of the last row of the audit table that is in the journal; 0 if none is. */
  readonly audited_seq: number
  readonly audited_mark: string
  /** Of the last start. */
  readonly installation: string | null
}

export interface NoticePlace extends RecordPlace {
  /** Number of the notice. */
  readonly notice: number
}

/** A decision as it was recorded, and what is known of its call. */
export interface IndexedDecision {
  readonly document: DecisionDocument
  readonly outcome: Partial<CallOutcome>
}

export class DecisionIndex {
  readonly #path: string
  readonly #journalFolder: string
  readonly #connection: Sqlite.Database
  readonly #form: IndexForm
  readonly #upsertDecision: Sqlite.Statement
  readonly #updateFields: Sqlite.Statement
  readonly #upsertOutcome: Sqlite.Statement
  readonly #setPosition: Sqlite.Statement
  readonly #findDecision: Sqlite.Statement<[string], DecisionRow>
  readonly #findOutcome: Sqlite.Statement<[string], { outcome: string }>

  /** `form` is that of the file by default. Throws {@link DataFileError} if it cannot be opened. */
  constructor(path: string, journalFolder: string, form?: IndexForm) {
    const connection = openIndexFile(path, form)
    this.#form = readForm(connection) ?? 'searched'
    this.#path = path
    this.#journalFolder = journalFolder
    this.#connection = connection
    this.#upsertDecision = connection.prepare(
      `insert into decisions values (?, ?, ?, ?, ?, ?, ${fieldColumns.map(() => '?')}) on conflict do update set ` +
        'segment = excluded.segment, byte_offset = excluded.byte_offset, ' +
        fieldColumns.map((name) => `${name} = excluded.${name}`).join(),
    )
    this.#updateFields = connection.prepare(
      `update decisions set ${fieldColumns.map((name) => `${name} = ?`)} where id = ? and segment = ? and byte_offset = ?`,
    )
    this.#upsertOutcome = connection.prepare('insert or replace into call_outcomes values (?, ?)')
    this.#setPosition = connection.prepare(
      'update journal_position set next_seq = ?, last_at = ?, last_segment = ?, last_offset = ?',
    )
    this.#findDecision = connection.prepare(`${selectPlaces} where id = ?`)
    this.#findOutcome = connection.prepare(
      'select outcome from call_outcomes where decision_id = ?',
    )
  }

  /** Makes a new index that of a journal. Throws {@link DataFileError} if it is that of another one. */
  claim(origin: Uint8Array): void {
    const claim =
      'insert or ignore into journal_position (id, origin, next_seq, removed_before, last_at) values (1, ?, 1, 0, 0)'
    this.#connection.prepare(claim).run(Buffer.from(origin))
    const claimed = this.#connection
      .prepare<[], Buffer>('select origin from journal_position')
      .pluck()
    if (claimed.get()?.equals(origin)) return
    const rule = 'the index belongs to another journal than the one beside it'
    const advice = `Restore the folder journal from a backup${countLossFirst}. To go on without its records, delete this file`
    throw new DataFileError(this.#path, `${rule}. ${advice}`)
  }

  /** Says with which record the journal begins, as was signed. */
  setBeginning({ firstSeq, removedBefore }: Omit<JournalBeginning, 'notice'>): void {
    const set = 'update journal_position set next_seq = max(next_seq, ?), removed_before = ?'
    this.#connection.prepare(set).run(firstSeq, removedBefore)
    this.#connection.prepare('delete from erased_records where seq < ?').run(firstSeq)
  }

  /** Decisions before this instant were removed; 0 if none were. */
  get removedBefore(): Instant {
    const removed = this.#connection.prepare<[], number>(
      'select removed_before from journal_position',
    )
    return removed.pluck().get() ?? 0
  }

  /**
   * Removes those of some decisions whose latest record is before number `firstSeq`, with their outcomes.
   * Returns how many there were.
   */
  remove(ids: Iterable<string>, firstSeq: number): number {
    const decision = this.#connection.prepare('delete from decisions where id = ? and segment < ?')
    const outcome = this.#connection.prepare(
      'delete from call_outcomes where decision_id = ? ' +
        'and not exists (select 1 from decisions where id = decision_id)',
    )
    const removeAll = this.#connection.transaction(() => {
      let removed = 0
      for (const id of ids) {
        removed += decision.run(id, firstSeq).changes
        outcome.run(id)
      }
      return removed
    })
    return removeAll.immediate()
  }

  /** Makes a row that of a record which is about to replace another at the same place, without a number. */
  erase({ kind, body, segment, offset }: PlacedRecord): void {
    if (kind !== 'decision' && kind !== 'amendment') return
    const head = readHead(body)
    this.#updateFields.run(...this.#toColumns(head), head.id, segment, offset)
  }

  /** Of what was erased, the file has nothing anymore; pages of it are in the log until then. */
  flush = () => void this.#connection.pragma('wal_checkpoint(truncate)')

  /** Number of the first record that is not in the index. */
  get nextSeq(): number {
    const select = 'select next_seq from journal_position'
    return this.#connection.prepare<[], number>(select).pluck().get() ?? 1
  }

  /** What its records say the journal belongs to; `undefined` while it is of no journal. */
  get owner(): IndexOwner | undefined {
    const select = 'select origin, audited_seq, audited_mark, installation from journal_position'
    return this.#connection.prepare<[], IndexOwner>(select).get()
  }

  /** Adds the next records; all or none. The same records again change nothing. */
  add(records: readonly PlacedRecord[]): void {
    const last = records.at(-1)
    if (last === undefined) return
    const addAll = this.#connection.transaction(() => {
      for (const record of records) this.#add(record)
      this.#setPosition.run(last.seq + 1, last.at, last.segment, last.offset)
    })
    addAll.immediate()
  }

  #add(record: PlacedRecord): void {
    const { kind } = record
    if (kind === 'decision' || kind === 'amendment') this.#addDecision(record)
    else if (kind === 'outcome') this.#addOutcome(readRecord(kind, record))
    else if (kind === 'audit') this.#noteAudited(readRecord(kind, record))
    else if (kind === 'opened') this.#noteInstallation(readRecord(kind, record))
    else if (kind === 'notice') this.#addNotice(record, readRecord(kind, record))
  }

  #addNotice(
    { seq, segment, offset }: PlacedRecord,
    { erasure, changed = [], finished }: NoticeContent,
  ): void {
    const insert = this.#connection.prepare(
      'insert or ignore into erased_records values (?, ?, ?, ?, ?, 0)',
    )
    for (const [of] of changed) insert.run(of, seq, segment, offset, erasure)
    if (!finished) return
    const finish = 'update erased_records set is_finished = 1 where erasure = ? and is_finished = 0'
    this.#connection.prepare(finish).run(erasure)
  }

  /** Where the notices about a record are, the newest first. What they say is to be compared with the tree. */
  listNotices(seq: number): readonly NoticePlace[] {
    return this.#connection
      .prepare<[number], NoticePlace>(
        'select notice, segment, byte_offset as offset from erased_records where seq = ? order by notice desc',
      )
      .all(seq)
  }

  /** Numbers of the records that an erasure in progress, or all of them, may have changed, in their order. */
  listErasing(erasure?: string): readonly number[] {
    return this.#connection
      .prepare<[string | null], number>(
        'select distinct seq from erased_records where is_finished = 0 and erasure = coalesce(?, erasure) order by seq',
      )
      .pluck()
      .all(erasure ?? null)
  }

  #noteAudited({ seq, mark }: AuditPosition): void {
    const note = 'update journal_position set audited_seq = ?, audited_mark = ?'
    this.#connection.prepare(note).run(seq, mark)
  }

  #noteInstallation({ installation }: RecordContents['opened']): void {
    this.#connection
      .prepare('update journal_position set installation = ?')
      .run(installation ?? null)
  }

  #addDecision({ at, body, segment, offset }: PlacedRecord): void {
    const head = readHead(body)
    const { id, accountId, whatIf } = head
    this.#upsertDecision.run(
      ...[accountId, id, at, whatIf ? 1 : 0, segment, offset],
      ...this.#toColumns(head),
    )
  }

  /** A note about another process's decision is dropped if there is neither a record nor a note of it. */
  #addOutcome({ id, own, outcome }: OutcomeNote): void {
    const known = this.#findOutcome.get(id)
    if (!own && known === undefined && this.#findDecision.get(id) === undefined) return
    const merged = mergeOutcome(known ? JSON.parse(known.outcome) : {}, outcome)
    this.#upsertOutcome.run(id, JSON.stringify(merged))
  }

  /**
   * `undefined` also if the segment with its record was removed. Throws {@link DataFileError} with the
   * place if the record cannot be read.
   */
  find(id: string): IndexedDecision | undefined {
    const row = this.#findDecision.get(id)
    const outcome = this.#findOutcome.get(id)
    if (row === undefined) return undefined
    const reader = new RecordReader(this.#journalFolder)
    try {
      const document = this.#readDecision(row, reader)
      return document && { document, outcome: outcome ? JSON.parse(outcome.outcome) : {} }
    } finally {
      reader.close()
    }
  }

  /**
   * Decisions of an account at or after an instant, in the order of their ids; what-ifs are left out. Throws as
   * {@link DecisionIndex.find} does.
   */
  *decisionsSince(accountId: string, since: Instant): Generator<DecisionDocument> {
    const rows = this.#connection
      .prepare<[string, string, Instant], DecisionRow>(
        `${selectPlaces} where account_id = ? and id >= ? and decided_at >= ? and what_if = 0 order by id`,
      )
      .iterate(accountId, toIdPrefix(Math.max(0, since - maxDecidingMs)), since)
    const reader = new RecordReader(this.#journalFolder)
    try {
      for (const row of rows) {
        const document = this.#readDecision(row, reader)
        if (document) yield document
      }
    } finally {
      reader.close()
    }
  }

  /** Number of the record of a decision; `undefined` if the journal has none. Throws as {@link DecisionIndex.find} does. */
  findSeq(id: string): number | undefined {
    const row = this.#findDecision.get(id)
    if (row === undefined) return undefined
    const reader = new RecordReader(this.#journalFolder)
    try {
      return reader.read({ segment: row.segment, offset: row.byte_offset })?.seq
    } finally {
      reader.close()
    }
  }

  #readDecision(row: DecisionRow, reader: RecordReader): DecisionDocument | undefined {
    return readDecision(row, { reader, folder: this.#journalFolder, indexPath: this.#path })
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

  /** In the order of {@link fieldColumns}. */
  #toColumns(head: DecisionHead): readonly (string | null)[] {
    return this.#form === 'searched' ? toColumns(head) : noColumns
  }

  close(): void {
    this.#connection.close()
  }
}

const noColumns = fieldColumns.map(() => null)

/** Ids are made before the instant of the decision, while its limits are counted. */
const maxDecidingMs = 60_000

const selectPlaces = 'select id, segment, byte_offset from decisions'
