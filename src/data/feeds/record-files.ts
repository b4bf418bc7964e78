/**
 * Reads opt-outs, and relationship and permission records, exported by another system. Columns are found by their headers or named
 * by the operator; every row has its own date.
 */
import { type EbrType, ebrTypes } from '../../domain/compliance.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import {
  formatInstant,
  msPerDay,
  parseInstant,
  toEarliestDay,
  toUtcDay,
} from '../../domain/time/dates.js'
import { type FieldProblem, isFieldProblem } from '../../errors.js'
import type { TableDays } from './days.js'
import {
  type FactTable,
  type FeedFile,
  type FeedFileSummary,
  numberTable,
  readFactTable,
} from './fact-table.js'
import { numberColumnNames, readAnyNumber } from './number-cells.js'
import type { Row } from './table-layout.js'

/** The day of an opt-out or consent, and the exact time if the row has one with a zone. */
interface RecordedTime {
  readonly day: LocalDay
  readonly at: Instant | undefined
}

export interface ImportedOptOut {
  readonly number: PhoneNumber
  /** Absent for a row without a date. */
  readonly optedOutAt: RecordedTime | undefined
}

export interface ImportedEbrRecord {
  readonly number: PhoneNumber
  readonly type: EbrType
  readonly contact: RecordedTime
  readonly obligationEndsOn: LocalDay | undefined
  readonly referenceNum: string | undefined
  readonly brand: string | undefined
  readonly email: string | undefined
}

export interface RecordFile<Fact>
  extends Pick<FeedFile<never>, 'source' | 'badLines' | 'options' | 'onRow'> {
  /** The time of the import. */
  readonly now: Instant
  keep(row: Fact): void
}

export interface OptOutFile extends RecordFile<ImportedOptOut> {
  /** Accept rows without a date. */
  readonly undated: boolean
}

export const optOutColumns = {
  number: numberColumnNames,
  date: [
    ...['date', 'optedouton', 'optoutdate', 'optedout', 'optout', 'dncdate', 'requestedon'],
    ...['addedon', 'dateadded', 'addeddate', 'added', 'createdon', 'createdat', 'timestamp'],
  ],
  /** As in the status of the internal list: a repeated opt-out counts from the later day. */
  modified: ['lastmodifiedon', 'lastmodified', 'modifiedon', 'modified'],
} as const

/** Throws {@link DataFileError} for another kind of file and for too many bad lines. */
export function readOptOuts(file: OptOutFile): Promise<FeedFileSummary> {
  const table: FactTable<keyof typeof optOutColumns> = {
    ...numberTable,
    description: 'a table of opt-outs (number, date)',
    columns: optOutColumns,
    optional: ['date', 'modified'],
    columnsWithoutHeader: () => ['number', 'date', 'modified'],
    findHeaderProblem: (found) => {
      if (file.undated || found.has('date')) return undefined
      return 'no date column; name it with --column date=<header>, or use --undated'
    },
  }
  return readFactTable(file, table, (row, { days }) => {
    const number = readAnyNumber(row.number)
    if (isFieldProblem(number)) return number
    const texts = [row.date, row.modified].filter((text) => text !== '')
    if (texts.length === 0) {
      if (file.undated) return void file.keep({ number, optedOutAt: undefined })
      return { field: 'date', rule: 'is missing; with --undated such a row is an opt-out made now' }
    }
    let optedOutAt: RecordedTime | undefined
    for (const text of texts) {
      const one = readRecordedTime('date', text, { days, now: file.now })
      if (isFieldProblem(one)) return one
      if (!optedOutAt || lastInstant(one) > lastInstant(optedOutAt)) optedOutAt = one
    }
    file.keep({ number, optedOutAt })
    return undefined
  })
}

/** A day without a time is compared by its end, since the opt-out may have been at any time of the day. */
const lastInstant = ({ day, at }: RecordedTime): Instant => at ?? (day + 1) * msPerDay - 1

export const ebrColumns = {
  number: optOutColumns.number,
  type: ['type', 'ebrtype', 'recordtype', 'kind'],
  date: [
    'date',
    'dateoflastcontact',
    'lastcontact',
    'lastcontactdate',
    'contactdate',
    'contactedon',
    'consentdate',
    'consenton',
    'consentedon',
    'dateofconsent',
    'optindate',
    'optedinon',
  ],
  obligationEnds: ['obligationends', 'dateobligationends', 'obligationendson', 'obligationend'],
  reference: ['reference', 'referencenum', 'referencenumber', 'ref'],
  brand: ['brand'],
  email: ['email', 'emailaddress'],
} as const

export interface EbrRecordFile extends RecordFile<ImportedEbrRecord> {
  /** The type of all rows, for a file without a type column. */
  readonly type: EbrType | undefined
}

/** Throws {@link DataFileError} for another kind of file and for too many bad lines. */
export function readEbrRecords(file: EbrRecordFile): Promise<FeedFileSummary> {
  const optional = ['type', 'obligationEnds', 'reference', 'brand', 'email'] as const
  const table: FactTable<keyof typeof ebrColumns> = {
    ...numberTable,
    description: 'a table of relationship and permission records (number, type, date)',
    columns: ebrColumns,
    optional,
    findHeaderProblem: (found) => {
      if (found.has('type') === (file.type === undefined)) return undefined
      return found.has('type')
        ? 'has a type column, but --type is also given; use only one of them'
        : 'no type column; name it with --column type=<header>, or give --type for all rows'
    },
  }
  return readFactTable(file, table, (row, { days }) => {
    const fact = readEbrRecord(row, file, days)
    if (isFieldProblem(fact)) return fact
    file.keep(fact)
    return undefined
  })
}

function readEbrRecord(
  row: Row<keyof typeof ebrColumns>,
  { type: typeOfAll, now }: EbrRecordFile,
  days: TableDays,
): ImportedEbrRecord | FieldProblem {
  const number = readAnyNumber(row.number)
  if (isFieldProblem(number)) return number
  const type = typeOfAll ?? parseEbrType(row.type)
  if (type === undefined) return { field: 'type', value: row.type, rule: 'must be S, I, P or T' }
  const contact = readRecordedTime('date', row.date, { days, now })
  if (isFieldProblem(contact)) return contact
  const ends =
    row.obligationEnds === ''
      ? undefined
      : readRecordedTime('obligationEnds', row.obligationEnds, { days })
  if (isFieldProblem(ends)) return ends
  if (row.email.length > maxEmailLength) {
    const rule = `must not be longer than ${maxEmailLength} characters`
    return { field: 'email', value: row.email, rule }
  }
  return {
    number,
    type,
    contact,
    // The earliest day that it may be where the person is.
    obligationEndsOn: ends?.at === undefined ? ends?.day : toEarliestDay(ends.at),
    referenceNum: readTextCell(row.reference),
    brand: readTextCell(row.brand),
    email: readTextCell(row.email),
  }
}

/** Spec, "EBR record". */
const maxEmailLength = 100

const ebrTypeByWord: Readonly<Record<string, EbrType>> = {
  sale: 'S',
  inquiry: 'I',
  permission: 'P',
  consent: 'P',
  trial: 'T',
}

/** Parses a letter of the spec or its word, in any letter case; `undefined` for anything else. */
export function parseEbrType(text: string): EbrType | undefined {
  const letter = text.trim().toUpperCase()
  return ebrTypes.find((type) => type === letter) ?? ebrTypeByWord[letter.toLowerCase()]
}

function readTextCell(cell: string): string | undefined {
  return cell === '' ? undefined : cell
}

/**
 * Parses a date. A time is used only if it has a zone (`2026-06-14T14:05:00Z`, `+02:00`); otherwise only
 * the day is. If `now` is given, the date must be plausible and not in the future.
 */
function readRecordedTime(
  field: string,
  text: string,
  { days, now }: { readonly days: TableDays; readonly now?: Instant },
): RecordedTime | FieldProblem {
  const hasZone = /(?:Z|UTC|GMT|[+-]\d\d:?\d\d)$/i.test(text)
  const at = hasZone ? parseInstant(text.replace(/ ?(?:UTC|GMT)$/i, 'Z')) : undefined
  const day = at === undefined ? days.read(text) : toUtcDay(at)
  if (day === undefined) return { field, value: text, rule: dateRule }
  const rule = now === undefined ? undefined : findPastProblem({ day, at }, now)
  if (rule !== undefined) return { field, value: text, rule }
  return { day, at: at === undefined ? undefined : Math.floor(at / 1000) * 1000 }
}

/**
 * Rejects dates such as 1900-01-01 and 1970-01-01, which many programs use for a missing date: any
 * consent would be newer than such an opt-out. Tomorrow (UTC) is accepted, since it may have begun in
 * Guam.
 */
function findPastProblem({ day, at }: RecordedTime, now: Instant): string | undefined {
  const today = toUtcDay(now)
  const isAhead = at === undefined ? day > today + 1 : at > now + maxClockSkewMs
  if (isAhead) return `must not be in the future; it is ${formatInstant(now)}`
  return day < firstDay
    ? 'must not be before 1980; such a day often means that the date is unknown'
    : undefined
}

/** How far the other system's clock may be ahead of ours. */
const maxClockSkewMs = 5 * 60_000
const firstDay: LocalDay = Date.UTC(1980, 0, 1) / msPerDay
const dateRule =
  'must be a date, YYYY-MM-DD, MM/DD/YYYY, DD.MM.YYYY or YYYYMMDD, or an ISO 8601 date-time with its zone'
