/** Reads tables of facts about telephone numbers, and the kinds of cells they share. */
import { type PhoneNumber, parsePhoneNumber } from '../../domain/phone-number.js'
import type { LocalDay } from '../../domain/time/clock.js'
import { parseDay } from '../../domain/time/dates.js'
import type { FieldProblem } from '../../errors.js'
import type { SourceFile } from '../files/source-file.js'
import type { BadLines } from './bad-lines.js'
import { isFieldProblem, type Row, type RowReader, readTable, type TableFormat } from './table.js'

/** One file being read, with the receiver of its facts. */
export interface FeedFile<Fact> {
  readonly source: Pick<SourceFile, 'name' | 'path' | 'stream'>
  readonly badLines: BadLines
  /** The day of the import, in UTC. */
  readonly today: LocalDay
  /** Date of the file's content as stated by the operator. */
  readonly statedDay: LocalDay | undefined
  keep(number: PhoneNumber, fact: Fact): void
  /** Counts a valid row without a fact; `reason` is shown in the summary. */
  skip(reason: string): void
  /** Called after each row. */
  onRow(): void
}

export interface FeedFileSummary {
  /** Data rows, bad ones included. */
  readonly rows: number
  /** Lines left out because they begin with `#`. */
  readonly comments: number
  /** Date of the content, if the file states it. */
  readonly day?: LocalDay | undefined
}

/** A table of numbers; without a header, the first cell must be a number. */
export interface FactTable<Name extends string>
  extends Omit<TableFormat<Name>, 'columnsWithoutHeader' | 'commentsOnlyBefore'> {
  readonly columnsWithoutHeader?: (cells: readonly string[]) => readonly NoInfer<Name>[]
}

/** Throws {@link DataFileError} for another kind of file and for too many bad rows. */
export async function readFactTable<Name extends string>(
  { source, badLines, onRow }: Pick<FeedFile<unknown>, 'source' | 'badLines' | 'onRow'>,
  { columnsWithoutHeader: order, ...table }: FactTable<Name>,
  readRow: RowReader<Name>,
): Promise<FeedFileSummary> {
  const isRow = (cells: readonly string[]) => typeof readNumber(cells[0] ?? '') === 'string'
  const { rows, comments } = await readTable<Name>({
    source,
    table: {
      ...table,
      ...(order && { columnsWithoutHeader: { isRow, order } }),
      commentsOnlyBefore: 'number',
    },
    readRow,
    onBadRow: (bad) => badLines.add(bad),
    onRow,
  })
  badLines.requireWithinLimit()
  return { rows, comments }
}

/** Creates the reader of a feed with one fact per row. */
export function createFactReader<Name extends string, Fact>(
  table: FactTable<Name | 'number'>,
  toFact: (row: Row<Name | 'number'>, today: LocalDay) => Fact | FieldProblem,
): (file: FeedFile<Fact>) => Promise<FeedFileSummary> {
  return (file) =>
    readFactTable(file, table, (row) => {
      const number = readNumber(row.number)
      if (isFieldProblem(number)) return number
      const fact = toFact(row, file.today)
      if (isFieldProblem(fact)) return fact
      file.keep(number, fact)
      return undefined
    })
}

/** Accepted names for a column of telephone numbers. */
export const numberColumnNames = [
  'number',
  'phone',
  'phonenumber',
  'tn',
  'telephonenumber',
  'telephone',
  'phoneno',
] as const

/** Parses a North American number: ten digits with an optional 1 or +1 and the usual punctuation. */
export function readNumber(text: string): PhoneNumber | FieldProblem {
  const number = parsePhoneNumber(text) ?? parseNumber(text)
  if (number === undefined) return { field: 'number', value: text, rule: 'must be ten digits' }
  if (/^[2-9]\d{2}[2-9]/.test(number)) return number
  return { field: 'number', value: text, rule: 'must not have 0 or 1 first or fourth' }
}

function parseNumber(text: string): PhoneNumber | undefined {
  if (!/^(?:\+\s*1|[\d(])[\d\s().-]*$/.test(text)) return undefined
  if (text.startsWith('+') && text.replace(/\D/g, '').length !== 11) return undefined
  return parsePhoneNumber(text.replace(/\D/g, '').replace(/^1(?=\d{10}$)/, ''))
}

/**
 * Parses a day that is not in the future: `YYYY-MM-DD`, `MM/DD/YYYY` or `YYYYMMDD`, ignoring a time
 * after it; blank gives `undefined`. Tomorrow (UTC) is accepted, since it may have begun in Guam.
 */
export function readPastDay(
  field: string,
  text: string,
  today: LocalDay,
): LocalDay | FieldProblem | undefined {
  if (text === '') return undefined
  const day = parseDay(text) ?? parseDay(text.replace(/[T ]\d{1,2}:\d\d.*$/, ''))
  if (day === undefined) {
    return { field, value: text, rule: 'must be YYYY-MM-DD, MM/DD/YYYY or YYYYMMDD' }
  }
  return day <= today + 1 ? day : { field, value: text, rule: 'must not be in the future' }
}

/**
 * Finds a day such as 2026-11-18 right after `prefix`, otherwise anywhere in the name; `undefined` if
 * there is none, `several` if there are different ones.
 */
export function findDayInName(name: string, prefix = ''): LocalDay | 'several' | undefined {
  const found = [...name.matchAll(/(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)/g)].flatMap(
    ({ 0: text, index }) => {
      const day = parseDay(text)
      return day === undefined ? [] : [{ day, after: name.slice(0, index) }]
    },
  )
  const marked = found.filter(({ after }) => prefix !== '' && after.endsWith(prefix))
  const days = new Set((marked.length > 0 ? marked : found).map(({ day }) => day))
  if (days.size > 1) return 'several'
  return [...days][0]
}
