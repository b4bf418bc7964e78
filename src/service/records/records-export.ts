/**
 * Opt-outs and consents as tables that an import reads again. Of one moment, whatever is stored
 * meanwhile, and in pieces, since a list may be long.
 */
import { csvCell } from '../../data/feeds/reject-file.js'
import { formatDay, formatInstant, type Instant } from '../../domain/clock.js'
import type { Db, EbrRecordRow, InternalDncRow } from '../../storage/tables.js'
import { type EbrRecord, recordOf } from '../consent/consent.js'
import { dayKnownAlone } from '../internal-dnc/opt-out-day.js'
import { currentLists } from '../projects/project-scope.js'
import { requireScope } from '../projects/require-scope.js'
import { optOutAgainst } from '../scrub/relationship.js'
import type { Owner } from '../sql/rows-by-number.js'
import type { RecordsImportParts } from './records-import.js'

export interface RecordsExportOptions {
  readonly accountId: string
  /** The Master Project when absent. */
  readonly projectId?: string | undefined
  /** Takes the next piece of the table. */
  readonly write: (text: string) => void
}

export interface RecordsExported {
  /** Code of the project whose list or records these are. */
  readonly project: string
  readonly rows: number
  /** Records that an opt-out ended, and permissions that may lift none, which are not in the table. */
  readonly leftOut: number
}

type Parts = Pick<RecordsImportParts, 'storage' | 'projects'>

const rowsAtOnce = 5_000

/** The numbers that are on the list, each with its latest opt-out. Throws as an import does. */
export async function exportOptOuts(
  { storage, projects }: Parts,
  { accountId, projectId, write }: RecordsExportOptions,
): Promise<RecordsExported> {
  const scope = await requireScope(projects, accountId, { projectId })
  return await storage.db.transaction().execute(async (transaction) => {
    const { internalDncList: project } = await currentLists(transaction, scope)
    write('number,date,source\r\n')
    let rows = 0
    const owner = { accountId, projectCode: project }
    for await (const page of pagesOf((after) => entriesAfter(transaction, { ...owner, after }))) {
      rows += page.length
      write(page.map(optOutLine).join(''))
    }
    return { project, rows, leftOut: 0 }
  })
}

/**
 * The records in force, expired ones too. One that an opt-out ended is left out: where the number was
 * taken off the list since, the table of opt-outs does not have it, and an import would revive it.
 */
export async function exportConsents(
  { storage, projects }: Parts,
  { accountId, projectId, write }: RecordsExportOptions,
): Promise<RecordsExported> {
  const scope = await requireScope(projects, accountId, { projectId })
  return await storage.db.transaction().execute(async (transaction) => {
    const { internalDncList: list, ebrProject: project } = await currentLists(transaction, scope)
    write('number,type,date,obligationEnds,reference,brand,email,source\r\n')
    let rows = 0
    let leftOut = 0
    const owner = { accountId, projectCode: project }
    for await (const page of pagesOf((after) =>
      recordsAfter(transaction, { ...owner, after }, list),
    )) {
      const acting = page.filter(isActing)
      rows += acting.length
      leftOut += page.length - acting.length
      write(acting.map(consentLine).join(''))
    }
    return { project, rows, leftOut }
  })
}

interface Page extends Owner {
  /** The last number of the page before. */
  readonly after: string
}

async function* pagesOf<Row extends { readonly number: string }>(
  read: (after: string) => Promise<Row[]>,
) {
  let after = ''
  for (;;) {
    const page = await read(after)
    const last = page.at(-1)
    if (!last) return
    yield page
    after = last.number
  }
}

type OptOut = Pick<InternalDncRow, 'number' | 'opted_out_at' | 'key_id'>

function entriesAfter(db: Db, { accountId, projectCode, after }: Page): Promise<OptOut[]> {
  return db
    .selectFrom('internal_dnc')
    .select(['number', 'opted_out_at', 'key_id'])
    .where('account_id', '=', accountId)
    .where('list', '=', projectCode)
    .where('number', '>', after)
    .where('removed_at', 'is', null)
    .orderBy('number')
    .limit(rowsAtOnce)
    .execute()
}

function optOutLine({ number, opted_out_at: at, key_id: source }: OptOut): string {
  const day = dayKnownAlone(at)
  return line([number, day === undefined ? formatInstant(at) : formatDay(day), source])
}

type RecordColumns =
  | ('number' | 'type' | 'contact_on' | 'contact_at' | 'obligation_ends_on' | 'reference_num')
  | ('brand' | 'email' | 'recorded_at' | 'stored_seq' | 'lifts_opt_out' | 'key_id')

interface Consent extends Pick<EbrRecordRow, RecordColumns> {
  /** Of the number's entry on the internal list, if there is or was one. */
  readonly added_at: Instant | null
  readonly removed_at: Instant | null
  readonly opted_out_at: Instant | null
  readonly opted_out_seq: number | null
}

function recordsAfter(
  db: Db,
  { accountId, projectCode, after }: Page,
  list: string,
): Promise<Consent[]> {
  return db
    .selectFrom('ebr_records as record')
    .leftJoin('internal_dnc as entry', (join) =>
      join
        .onRef('entry.account_id', '=', 'record.account_id')
        .on('entry.list', '=', list)
        .onRef('entry.number', '=', 'record.number'),
    )
    .select(['record.number', 'type', 'contact_on', 'contact_at', 'obligation_ends_on'])
    .select(['reference_num', 'brand', 'email', 'recorded_at', 'stored_seq', 'lifts_opt_out'])
    .select(['record.key_id', 'added_at', 'removed_at', 'opted_out_at', 'opted_out_seq'])
    .where('record.account_id', '=', accountId)
    .where('project_code', '=', projectCode)
    .where('superseded_at', 'is', null)
    .where('record.number', '>', after)
    .orderBy('record.number')
    .limit(rowsAtOnce)
    .execute()
}

function isActing(row: Consent): boolean {
  // A table cannot say that a permission lifts no opt-out; an import would let it.
  if (row.type === 'P' && !row.lifts_opt_out) return false
  const { added_at: addedAt, opted_out_at: optedOutAt, opted_out_seq: optedOutSeq } = row
  if (addedAt === null || optedOutAt === null || optedOutSeq === null) return true
  const entry = { addedAt, removedAt: row.removed_at, optedOutAt, optedOutSeq }
  return optOutAgainst(recordOf(row), entry, []) === undefined
}

function consentLine(row: Consent): string {
  return line([
    ...[row.number, row.type, contactOf(recordOf(row)), row.obligation_ends_on],
    ...[row.reference_num, row.brand, row.email, row.key_id],
  ])
}

/** As it counts: not later than it was reported. */
function contactOf({ contactOn, contactAt }: EbrRecord): string {
  return contactAt === undefined ? formatDay(contactOn) : formatInstant(contactAt)
}

/** An import reads line by line, so no cell may hold a line end. */
function line(cells: readonly (string | null)[]): string {
  const texts = cells.map((text) => csvCell((text ?? '').replaceAll(/[\r\n]+/g, ' ')))
  return `${texts.join(',')}\r\n`
}
