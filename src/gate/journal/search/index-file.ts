/** The file of an index of decisions: its tables, its form, and how a row leads to the decision. */
import Sqlite from 'better-sqlite3'
import { DataFileError, getErrorMessage } from '../../../errors.js'
import type { DecisionDocument } from '../../record/decision-document.js'
import { readRecord } from '../../record/read-record.js'
import { type RecordReader, segmentPath } from '../journal-reader.js'

/** What a row has: the fields that are searched as well, or only where the record is. */
export type IndexForm = 'searched' | 'places'

/** An index of another version is made again. */
const schemaVersions: Readonly<Record<IndexForm, number>> = { searched: 7, places: 8 }

/**
 * Rows are never flushed one by one: what a crash takes from the index is read from the journal again.
 * Instants are milliseconds since the epoch. Of an
 * erased record, the notices about it are found. Decisions are in the order of their ids, which is that of time, and each index ends with it. Most
 * are allowed, so that reason has no index.
 */
const schema = `
  drop table if exists journal_position;
  drop table if exists decisions;
  drop table if exists call_outcomes;
  drop table if exists erased_records;
  create table journal_position (
    id integer primary key check (id = 1), origin blob not null, next_seq integer not null,
    removed_before integer not null, last_at integer not null, last_segment integer, last_offset integer,
    audited_seq integer not null default 0, audited_mark text not null default '',
    installation text);
  create table decisions (
    account_id text not null, id text not null, decided_at integer not null,
    what_if integer not null, segment integer not null, byte_offset integer not null, number text, decision text,
    reason text, call_kind text, via text, project_code text, campaign_id text, key_id text, reference text,
    primary key (account_id, id)) without rowid;
  create unique index decisions_by_id on decisions (id);
  create table call_outcomes (
    decision_id text primary key, outcome text not null) without rowid;
  create table erased_records (
    seq integer not null, notice integer not null, segment integer not null, byte_offset integer not null,
    erasure text not null, is_finished integer not null default 0, primary key (seq, notice)) without rowid;
  create index erasures_in_progress on erased_records (erasure) where is_finished = 0;
`

const searchIndexes = `
  create index decisions_by_number on decisions (account_id, number);
  create index decisions_by_reason on decisions (account_id, reason) where reason <> 'permitted';
  create index blocked_decisions on decisions (account_id, id) where decision = 'block';
  create index decisions_by_reference on decisions (account_id, reference) where reference is not null;
`

const dropSearchIndexes = `
  drop index decisions_by_number;
  drop index decisions_by_reason;
  drop index blocked_decisions;
  drop index decisions_by_reference;
`

/** `undefined` of another version. */
export function readForm(connection: Sqlite.Database): IndexForm | undefined {
  const version = connection.pragma('user_version', { simple: true })
  const forms = Object.keys(schemaVersions) as IndexForm[]
  return forms.find((form) => schemaVersions[form] === version)
}

/** Gives a file the form that is wanted, by default the one it has. Throws {@link DataFileError} if it cannot be opened. */
export function openIndexFile(path: string, wanted?: IndexForm): Sqlite.Database {
  let connection: Sqlite.Database | undefined
  try {
    connection = new Sqlite(path, { timeout: 1_000 })
    connection.pragma('journal_mode = WAL')
    connection.pragma('synchronous = NORMAL')
    // What is deleted, such as an erased number, is not left in free space of the file.
    connection.pragma('secure_delete = ON')
    // Numbers are in no order, so each row changes pages of its own; copied more rarely, many of them are copied once.
    connection.pragma('wal_autocheckpoint = 16000')
    const found = readForm(connection)
    // Another process may do it at the same moment.
    const change = connection.transaction(changeForm)
    if (found === undefined || found !== (wanted ?? found)) change.immediate(connection, wanted)
    return connection
  } catch (cause) {
    connection?.close()
    const why = getErrorMessage(cause)
    throw new DataFileError(path, `the index of the journal cannot be opened: ${why}`, cause)
  }
}

/** One that lacks the fields that are searched, or is of another version, is emptied, and made from the journal again. */
function changeForm(connection: Sqlite.Database, wanted: IndexForm = 'searched'): void {
  const found = readForm(connection)
  if (found === wanted) return
  if (found === 'searched') connection.exec(dropSearchIndexes)
  else connection.exec(wanted === 'searched' ? schema + searchIndexes : schema)
  connection.pragma(`user_version = ${schemaVersions[wanted]}`)
}

/** Where a decision is. */
export interface DecisionRow {
  readonly id: string
  readonly segment: number
  readonly byte_offset: number
}

export interface DecisionFiles {
  readonly reader: RecordReader
  /** Of the journal. */
  readonly folder: string
  readonly indexPath: string
}

/**
 * `undefined` if the segment with its record was removed. Throws {@link DataFileError} with the place if the record cannot be
 * read.
 */
export function readDecision(
  row: DecisionRow,
  { reader, folder, indexPath }: DecisionFiles,
): DecisionDocument | undefined {
  const { id, segment, byte_offset: offset } = row
  const record = reader.read({ segment, offset })
  if (record === undefined) return undefined
  const { kind } = record
  const isDecision = kind === 'decision' || kind === 'amendment'
  const document = isDecision ? readRecord(kind, record) : undefined
  if (document?.id === id) return document
  const rule = `the record at byte ${offset} is not that of decision ${id}, as the index says`
  const advice = `Stop the server and delete ${indexPath}`
  throw new DataFileError(segmentPath(folder, segment), `${rule}. ${advice}`)
}
