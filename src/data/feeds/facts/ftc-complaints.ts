/**
 * Reads the FTC's daily file of reported calls (`DNC_Complaint_Numbers_YYYY-MM-DD.csv`). The file has
 * no ids, so the id of a complaint is derived from its day, its text and its position among equal rows.
 * The same file therefore always gives the same ids.
 */
import { createHash } from 'node:crypto'
import type { LocalDay } from '../../../domain/time/clock.js'
import { formatDay, parseDay, parseInstant } from '../../../domain/time/dates.js'
import { DataFileError, type FieldProblem, isFieldProblem } from '../../../errors.js'
import {
  type FactTable,
  type FeedFile,
  type FeedFileSummary,
  findDayInName,
  readFactTable,
} from '../fact-table.js'
import { readNumber } from '../number-cells.js'
import type { Row } from '../table-layout.js'

export type ComplaintFact = {
  /** 32 hex characters. */
  readonly id: string
  /** As filed, `YYYY-MM-DD HH:MM:SS`, without a zone. */
  readonly createdAt: string
  /** The time of the call in the same form, or empty. */
  readonly violatedAt: string
  readonly city: string
  /** Full name of the state, as in the file. */
  readonly state: string
  readonly areaCode: string
  readonly subject: string
  readonly robocall: 'Y' | 'N'
}

const columns = {
  number: ['companyphonenumber'],
  created: ['createddate'],
  violated: ['violationdate'],
  city: ['consumercity'],
  state: ['consumerstate'],
  areaCode: ['consumerareacode'],
  subject: ['subject'],
  robocall: ['recordedmessageorrobocall'],
} as const

type Column = keyof typeof columns

const table: FactTable<Column> = {
  description: 'the FTC file of reported calls',
  columns,
  mayBeCutOff: (row, isBad) => isBad || !/[,;|\t]\s*"?[YN]"?\s*$/i.test(row),
}

/** Throws `DataFileError` if neither the file's name nor the operator gives its date. */
export async function readFtcComplaints(file: FeedFile<ComplaintFact>): Promise<FeedFileSummary> {
  const day = dayOf(file)
  const seen = new Map<string, number>()
  const idOf = (row: Row<Column>): string => {
    const text = JSON.stringify(Object.keys(columns).map((name) => row[name as Column]))
    const nth = (seen.get(text) ?? 0) + 1
    seen.set(text, nth)
    return createHash('sha256')
      .update(`${formatDay(day)}\n${text}\n${nth}`)
      .digest('hex')
  }
  const read = await readFactTable(file, table, (row) => readRow(row, file, idOf))
  if (read.rows === 0) throw new DataFileError(file.source.path, 'has a header but no complaint')
  return { ...read, day }
}

/** The day in the FTC's form of the name, otherwise any day in the name, which copies keep. */
function dayOf({ source, statedDay, today }: FeedFile<ComplaintFact>): LocalDay {
  const named = findDayInName(source.name, 'DNC_Complaint_Numbers_')
  const day = named === undefined || named === 'several' ? statedDay : named
  if (day === undefined) {
    const has = named === 'several' ? 'several days' : 'no day such as 2026-11-18'
    const rule = `its name contains ${has}; give the day with --as-of`
    throw new DataFileError(source.path, rule)
  }
  if (day <= today + 1) return day
  throw new DataFileError(source.path, `its name says ${formatDay(day)}, which is in the future`)
}

function readRow(
  row: Row<Column>,
  file: FeedFile<ComplaintFact>,
  idOf: (row: Row<Column>) => string,
): FieldProblem | undefined {
  if (row.number === '') return void file.skip('without a number')
  const number = readNumber(row.number)
  if (isFieldProblem(number)) {
    // Spoofed caller ids may be impossible numbers, which consumers report as they see them.
    return /^\d{10}$/.test(row.number) ? void file.skip('of impossible numbers') : number
  }
  const createdAt = readTime('Created_Date', row.created, file.today)
  if (isFieldProblem(createdAt)) return createdAt
  const violatedAt = row.violated === '' ? '' : readTime('Violation_Date', row.violated, file.today)
  if (isFieldProblem(violatedAt)) return violatedAt
  const robocall = row.robocall === '' ? 'N' : row.robocall.toUpperCase()
  if (robocall !== 'Y' && robocall !== 'N') {
    const rule = 'must be Y, N or blank'
    return { field: 'Recorded_Message_Or_Robocall', value: row.robocall, rule }
  }
  const { city, state, areaCode, subject } = row
  const id = idOf(row).slice(0, 32)
  file.keep(number, { id, createdAt, violatedAt, city, state, areaCode, subject, robocall })
  return undefined
}

function readTime(field: string, text: string, today: LocalDay): string | FieldProblem {
  const time = /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}:\d{2})(?:\.\d+)?$/.exec(text)
  if (!time || parseInstant(`${time[1]} ${time[2]}`) === undefined) {
    return { field, value: text, rule: 'must be YYYY-MM-DD HH:MM:SS' }
  }
  const isFuture = (parseDay(time[1] ?? '') ?? 0) > today + 1
  return isFuture
    ? { field, value: text, rule: 'must not be in the future' }
    : `${time[1]} ${time[2]}`
}
