/** Reads tables of facts about telephone numbers, and the kinds of cells they share. */
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { LocalDay } from '../../domain/time/clock.js'
import { parseDay } from '../../domain/time/dates.js'
import { type FieldProblem, isFieldProblem } from '../../errors.js'
import type { SourceFile } from '../files/source-file.js'
import type { BadLines } from './bad-lines.js'
import type { TableDays } from './days.js'
import { hasOnlyNumbers, readNumber } from './number-cells.js'
import { type RowReader, readTable, type TableSummary } from './table.js'
import type { Row, TableFormat, TableOptions } from './table-layout.js'

/** One file being read, with the receiver of its facts. */
export interface FeedFile<Fact> {
  readonly source: Pick<SourceFile, 'name' | 'path' | 'stream'>
  readonly badLines: BadLines
  readonly options?: TableOptions | undefined
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

export interface FeedFileSummary
  extends Pick<TableSummary, 'rows' | 'comments' | 'leftOut' | 'notes'> {
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
  { source, badLines, options, onRow }: FactTableFile,
  { columnsWithoutHeader: order, ...table }: FactTable<Name>,
  readRow: RowReader<Name>,
): Promise<FeedFileSummary> {
  const isRow = (cells: readonly string[]) => hasOnlyNumbers(cells[0] ?? '')
  const { rows, comments, leftOut, notes } = await readTable<Name>({
    source,
    options,
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
  return { rows, comments, leftOut, notes }
}

type FactTableFile = Pick<FeedFile<unknown>, 'source' | 'badLines' | 'options' | 'onRow'>

/** For every table whose rows are about a number. */
export const numberTable = { numberColumn: 'number', asksWhichRows: true } as const

/** Creates the reader of a feed with one fact per row. */
export function createFactReader<Name extends string, Fact>(
  table: FactTable<Name | 'number'>,
  toFact: (row: Row<Name | 'number'>, today: LocalDay, days: TableDays) => Fact | FieldProblem,
): (file: FeedFile<Fact>) => Promise<FeedFileSummary> {
  return (file) =>
    readFactTable<Name | 'number'>(file, { ...table, ...numberTable }, (row, { days }) => {
      const number = readNumber(row.number)
      if (isFieldProblem(number)) return number
      const fact = toFact(row, file.today, days)
      if (isFieldProblem(fact)) return fact
      file.keep(number, fact)
      return undefined
    })
}

/**
 * Reads a day that is not in the future, ignoring a time after it; blank gives `undefined`. Tomorrow (UTC) is accepted, since it may
 * have begun in Guam.
 */
export function readPastDay(
  field: string,
  text: string,
  { today, days }: { readonly today: LocalDay; readonly days: TableDays },
): LocalDay | FieldProblem | undefined {
  if (text === '') return undefined
  const day = days.read(text)
  if (day === undefined) return { field, value: text, rule: dayRule }
  return day <= today + 1 ? day : { field, value: text, rule: 'must not be in the future' }
}

const dayRule = 'must be YYYY-MM-DD, MM/DD/YYYY, DD.MM.YYYY or YYYYMMDD'

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
