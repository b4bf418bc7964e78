/**
 * Reads files about reassigned numbers: lists of permanent disconnects (number, day) and answer files
 * of the national database (number, date of the consent, `yes`, `no` or `no data`). The layout of the
 * database's batch answers is not published, so date and answer may be in either order.
 */
import type { LocalDay } from '../../../domain/time/clock.js'
import { formatDay, parseDay } from '../../../domain/time/dates.js'
import { DataFileError, type FieldProblem, isFieldProblem } from '../../../errors.js'
import type { TableDays } from '../days.js'
import {
  type FactTable,
  type FeedFile,
  type FeedFileSummary,
  findDayInName,
  numberTable,
  readFactTable,
  readPastDay,
} from '../fact-table.js'
import { numberColumnNames, readNumber } from '../number-cells.js'
import type { Row } from '../table-layout.js'

export type ReassignedFact = {
  /**
   * `disconnected`: permanently, on `day`. `yes`: disconnected on or after `day`. `no`: not disconnected
   * from `day` to `asOn`.
   */
  readonly said: 'disconnected' | 'yes' | 'no'
  readonly day: LocalDay
  /** The date of the file's content. */
  readonly asOn: LocalDay
}

type Column = 'number' | 'disconnectedOn' | 'consentOn' | 'date' | 'answer'

const table: FactTable<Column> = {
  ...numberTable,
  description:
    'a list of permanent disconnects (number, disconnected-on) or an answer file of the national ' +
    'database (number, date, answer)',
  columns: {
    number: numberColumnNames,
    disconnectedOn: [
      'disconnectedon',
      'disconnecton',
      'disconnectdate',
      'disconnecteddate',
      'disconnectiondate',
      'permanentdisconnectdate',
      'permanentdisconnectiondate',
    ],
    consentOn: ['consentdate', 'dateofconsent', 'consenton', 'contactdate', 'askeddate'],
    date: ['date'],
    answer: ['answer', 'disconnected', 'result', 'response', 'reply', 'status'],
  },
  optional: ['disconnectedOn', 'consentOn', 'date', 'answer'],
  columnsWithoutHeader: (cells) =>
    cells.length === 2 ? ['number', 'date'] : ['number', 'date', 'answer'],
  findHeaderProblem: headerProblem,
}

/** Distinguishes the files strictly, since queries read as disconnects would make every number reassigned. */
function headerProblem(found: ReadonlySet<Column>, width: number): string | undefined {
  if (found.has('answer')) {
    const dated = found.has('date') || found.has('consentOn')
    return dated ? undefined : "no column 'date' beside the answer"
  }
  if (found.has('disconnectedOn') || (found.has('date') && width === 2)) return undefined
  return "no column 'disconnected-on', and no 'date' with 'answer'"
}

/**
 * `since` is the first possible day of a disconnect, `YYYY-MM-DD`. Throws `DataFileError` if neither
 * the operator nor the file's name gives its date: the modification time may be that of a copy, and a
 * `no` is valid only for a limited time.
 */
export async function readReassigned(
  file: FeedFile<ReassignedFact>,
  since: string,
): Promise<FeedFileSummary> {
  const asOn = dayOf(file)
  const read = await readFactTable(file, table, (row, { found, days }) => {
    const number = readNumber(row.number)
    if (isFieldProblem(number)) return number
    const asked = { row, found, days, today: file.today }
    const said = found.has('answer') ? readAnswer(asked) : readDisconnect(asked, since)
    if (isFieldProblem(said)) return said
    if (said === 'no data') file.skip('without data in the database')
    else file.keep(number, { ...said, asOn })
    return undefined
  })
  if (read.rows === 0) throw new DataFileError(file.source.path, 'has a header but no row')
  return { ...read, day: asOn }
}

function dayOf({ source, statedDay, today }: FeedFile<ReassignedFact>): LocalDay {
  const day = statedDay ?? findDayInName(source.name)
  if (day === undefined || day === 'several') {
    throw new DataFileError(source.path, `${undatedFileRule}; give the day with --as-of`)
  }
  if (day <= today + 1) return day
  throw new DataFileError(source.path, `its name says ${formatDay(day)}, which is in the future`)
}

/** The error text for a file whose date is unknown. */
export const undatedFileRule =
  'the date of its content is unknown: its name contains no day such as 2026-11-18, or several'

interface RowContext {
  readonly row: Row<Column>
  readonly found: ReadonlySet<Column>
  readonly days: TableDays
  readonly today: LocalDay
}

type ReassignedRow = Omit<ReassignedFact, 'asOn'>

function readDisconnect(
  { row, found, days, today }: RowContext,
  since: string,
): ReassignedRow | FieldProblem {
  const field = 'disconnected-on'
  const text = found.has('disconnectedOn') ? row.disconnectedOn : row.date
  const day = readDay(field, text, { today, days, since })
  return isFieldProblem(day) ? day : { said: 'disconnected', day }
}

/** Earlier days, such as 1900-01-01 and 1970-01-01, usually mean that the day is unknown. */
const earliestConsent = '1990-01-01'

function readAnswer({
  row,
  found,
  days,
  today,
}: RowContext): ReassignedRow | FieldProblem | 'no data' {
  const asked = found.has('consentOn') ? row.consentOn : row.date
  const swapped = answers.has(normalizeWord(asked)) && days.read(row.answer) !== undefined
  const [date, answer] = swapped ? [row.answer, asked] : [asked, row.answer]
  const said = answers.get(normalizeWord(answer))
  if (said === undefined) {
    return { field: 'answer', value: answer, rule: 'must be yes, no or no data' }
  }
  const day = readDay('date', date, { today, days, since: earliestConsent })
  if (isFieldProblem(day)) return day
  return said === 'no data' ? said : { said, day }
}

function readDay(
  field: string,
  text: string,
  { since, ...context }: Pick<RowContext, 'today' | 'days'> & { readonly since: string },
): LocalDay | FieldProblem {
  const day = readPastDay(field, text, context)
  if (isFieldProblem(day)) return day
  if (day === undefined) return { field, rule: 'is missing' }
  const early = day < (parseDay(since) ?? Number.POSITIVE_INFINITY)
  return early ? { field, value: text, rule: `must not be before ${since}` } : day
}

function normalizeWord(text: string): string {
  return text.toLowerCase().replace(/[\s_-]+/g, ' ')
}

const answers: ReadonlyMap<string, 'yes' | 'no' | 'no data'> = new Map([
  ['yes', 'yes'],
  ['no', 'no'],
  ['no data', 'no data'],
  ['nodata', 'no data'],
])
