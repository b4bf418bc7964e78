/**
 * Exports opt-outs, and relationship and permission records, as tables that an import can read. A table is a snapshot, unaffected by
 * writes during the export, and is written in parts, since a list may be long.
 */

import type { ConsentTerms } from '../../domain/compliance.js'
import { parsePhoneNumber } from '../../domain/phone-number.js'
import type { NumberingPlan } from '../../domain/place.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatDay, formatInstant } from '../../domain/time/dates.js'
import type { EbrRecord } from '../../law/records/ebr-record.js'
import { decodeDateOnly } from '../../law/records/opt-out.js'
import { findOptOutEffect } from '../../law/records/relationship.js'
import { formatCsvCell } from '../../runtime/csv-cell.js'
import { waitForNextTurn } from '../../runtime/yield-to-event-loop.js'
import type { Db, EbrRecordRow, InternalDncRow } from '../../storage/tables.js'
import type { ChangeRequests } from '../changes/change-requests.js'
import { toEbrRecord } from '../consent/ebr-record.js'
import { type ProjectLists, readCurrentLists, requireScope } from '../projects/project-scope.js'
import type { RowOwner } from '../sql/rows-by-number.js'
import type { RecordsImportDeps } from './records-import.js'

export interface RecordsExportOptions {
  readonly accountId: string
  /** The Master Project when absent. */
  readonly projectId?: string | undefined
  /** Called with each part of the table. */
  readonly write: (text: string) => void
}

export interface RecordsExportSummary {
  /** Code of the project whose list or records these are. */
  readonly project: string
  readonly rows: number
  /** How many rows are left out: records ended by an opt-out and permissions that override no opt-out. */
  readonly omitted: number
}

type RecordsExportDeps = Pick<RecordsImportDeps, 'storage' | 'projects'>

interface EbrExportDeps extends RecordsExportDeps {
  /** Finds a number's time zones, which determine the local day of an opt-out or record. */
  readonly numberingPlan: Pick<NumberingPlan, 'lookup'>
  readonly changeRequests: Pick<ChangeRequests, 'isNeededFor'>
}

const pageRows = 5_000

/** Exports the numbers on the list, each with its latest opt-out. Throws the same errors as an import. */
export function exportOptOuts(
  deps: RecordsExportDeps,
  options: RecordsExportOptions,
): Promise<RecordsExportSummary> {
  return exportRows<OptOut>(deps, options, {
    header: 'number,date,source\r\n',
    selectProject: ({ internalDncList }) => internalDncList,
    readPage: readEntriesPage,
    format: formatOptOut,
  })
}

/**
 * Exports the records in force, including expired ones, but not those that an opt-out ended: if the
 * number has since been removed from the list, the exported opt-outs lack it, and an import of the
 * records would revive the record.
 */
export function exportEbrRecords(
  deps: EbrExportDeps,
  options: RecordsExportOptions,
): Promise<RecordsExportSummary> {
  return exportRows<EbrRow>(deps, options, {
    header: 'number,type,date,obligationEnds,reference,brand,email,source\r\n',
    selectProject: ({ ebrProject }) => ebrProject,
    readPage: readEbrPage,
    format: (row) => (isEffective(row, deps) ? formatEbrRecord(row, deps) : undefined),
  })
}

interface ExportedTable<Row> {
  readonly header: string
  readonly selectProject: (lists: ProjectLists) => string
  readonly readPage: (db: Db, page: Page) => Promise<Row[]>
  /** Formats a row as a line; `undefined` leaves it out. */
  readonly format: (row: Row) => string | undefined
}

interface Page extends RowOwner {
  /** The last number of the previous page. */
  readonly after: string
  readonly internalDncList: string
}

async function exportRows<Row extends { readonly number: string }>(
  { storage, projects }: RecordsExportDeps,
  { accountId, projectId, write }: RecordsExportOptions,
  { header, selectProject, readPage, format }: ExportedTable<Row>,
): Promise<RecordsExportSummary> {
  const scope = await requireScope(projects, accountId, { projectId })
  // All pages are of one instant, also where another transaction may commit meanwhile.
  const reading = storage.db.transaction().setIsolationLevel('repeatable read')
  return await reading.execute(async (transaction) => {
    const lists = await readCurrentLists(transaction, scope)
    const { internalDncList } = lists
    const projectCode = selectProject(lists)
    write(header)
    let [rows, omitted, after] = [0, 0, '']
    for (;;) {
      const page = await readPage(transaction, { accountId, projectCode, internalDncList, after })
      const last = page.at(-1)
      if (!last) return { project: projectCode, rows, omitted }
      const lines = page.map(format).filter((line) => line !== undefined)
      rows += lines.length
      omitted += page.length - lines.length
      write(lines.join(''))
      after = last.number
      // Lets a signal end the export.
      await waitForNextTurn()
    }
  })
}

type OptOut = Pick<InternalDncRow, 'number' | 'opted_out_at' | 'key_id'>

function readEntriesPage(db: Db, { accountId, projectCode, after }: Page): Promise<OptOut[]> {
  return db
    .selectFrom('internal_dnc')
    .select(['number', 'opted_out_at', 'key_id'])
    .where('account_id', '=', accountId)
    .where('list', '=', projectCode)
    .where('number', '>', after)
    .where('removed_at', 'is', null)
    .orderBy('number')
    .limit(pageRows)
    .execute()
}

function formatOptOut({ number, opted_out_at: at, key_id: source }: OptOut): string {
  const day = decodeDateOnly(at)
  return formatCsvLine([number, day === undefined ? formatInstant(at) : formatDay(day), source])
}

type RecordColumns =
  | ('number' | 'type' | 'contact_on' | 'contact_at' | 'obligation_ends_on' | 'reference_num')
  | ('brand' | 'email' | 'recorded_at' | 'stored_seq' | 'imported' | 'lifts_opt_out' | 'key_id')

interface EbrRow extends Pick<EbrRecordRow, RecordColumns> {
  readonly consent: string | null
  /** The columns from here on are those of the number's internal list entry, null without one. */
  readonly added_at: Instant | null
  readonly removed_at: Instant | null
  readonly opted_out_at: Instant | null
  readonly opted_out_seq: number | null
  readonly opted_out_by_date: number | null
}

function readEbrPage(
  db: Db,
  { accountId, projectCode, internalDncList, after }: Page,
): Promise<EbrRow[]> {
  return db
    .selectFrom('ebr_records as record')
    .leftJoin('internal_dnc as entry', (join) =>
      join
        .onRef('entry.account_id', '=', 'record.account_id')
        .on('entry.list', '=', internalDncList)
        .onRef('entry.number', '=', 'record.number'),
    )
    .select(['record.number', 'type', 'contact_on', 'contact_at', 'obligation_ends_on'])
    .select(['reference_num', 'brand', 'email', 'recorded_at', 'stored_seq', 'imported'])
    .select(['lifts_opt_out', 'record.key_id', 'consent', 'added_at', 'removed_at'])
    .select(['opted_out_at', 'opted_out_seq', 'opted_out_by_date'])
    .where('record.account_id', '=', accountId)
    .where('project_code', '=', projectCode)
    .where('superseded_at', 'is', null)
    .where('record.number', '>', after)
    .orderBy('record.number')
    .limit(pageRows)
    .execute()
}

function isEffective(row: EbrRow, { numberingPlan, changeRequests }: EbrExportDeps): boolean {
  // The table cannot express that a permission overrides no opt-out, so an imported one would.
  if (row.type === 'P' && !row.lifts_opt_out) return false
  // Nor can it express that a consent ends, or is for some calls only.
  const { kinds, purposes, endsOn }: Partial<ConsentTerms> = JSON.parse(row.consent ?? '{}')
  if (kinds || purposes || endsOn !== undefined) return false
  const { added_at: addedAt, opted_out_at: optedOutAt, opted_out_seq: optedOutSeq } = row
  if (addedAt === null || optedOutAt === null || optedOutSeq === null) return true
  const optedOutByDate = row.opted_out_by_date === 1
  const entry = { addedAt, removedAt: row.removed_at, optedOutAt, optedOutSeq, optedOutByDate }
  const number = parsePhoneNumber(row.number)
  const facts = number && numberingPlan.lookup(number)
  const places = facts?.status === 'ok' ? facts.place.candidates : []
  return findOptOutEffect(toEbrRecord(row, changeRequests), entry, places) === undefined
}

function formatEbrRecord(row: EbrRow, { changeRequests }: EbrExportDeps): string {
  return formatCsvLine([
    row.number,
    row.type,
    formatContact(toEbrRecord(row, changeRequests)),
    row.obligation_ends_on,
    row.reference_num,
    row.brand,
    row.email,
    row.key_id,
  ])
}

/** The effective date, which is never later than the report of the record. */
function formatContact({ contactOn, contactAt }: EbrRecord): string {
  return contactAt === undefined ? formatDay(contactOn) : formatInstant(contactAt)
}

/** An import reads line by line, so no cell may contain a line break. */
function formatCsvLine(cells: readonly (string | null)[]): string {
  const texts = cells.map((text) => formatCsvCell((text ?? '').replaceAll(/[\r\n]+/g, ' ')))
  return `${texts.join(',')}\r\n`
}
