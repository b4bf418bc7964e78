/** Reads tables of facts about telephone numbers, and the cells they have in common. */
import { type PhoneNumber, parsePhoneNumber } from '../../domain/phone-number.js'
import type { LocalDay } from '../../domain/time/clock.js'
import { parseDay } from '../../domain/time/dates.js'
import type { FieldProblem } from '../../errors.js'
import type { SourceFile } from '../files/source-file.js'
import type { BadLines } from './bad-lines.js'
import { isFieldProblem, type Row, type RowReader, readTable, type TableFormat } from './table.js'

/** One file being read, and where its facts go. */
export interface FeedFile<Fact> {
  readonly source: Pick<SourceFile, 'name' | 'path' | 'stream'>
  readonly badLines: BadLines
  /** The day of the import, in UTC. */
  readonly today: LocalDay
  /** When the operator says the file was true. */
  readonly statedDay: LocalDay | undefined
  keep(number: PhoneNumber, fact: Fact): void
  /** Counts a valid row without a fact; the reason in words. */
  skip(reason: string): void
  /** Called after each row. */
  onRow(): void
}

export interface FeedFileSummary {
  /** Data rows, bad ones included. */
  readonly rows: number
  /** Lines left out because they begin with `#`. */
  readonly comments: number
  /** Day of the content, if the file itself says. */
  readonly day?: LocalDay | undefined
}

/** A table of numbers; without a header its first cell is one. */
export interface FactTable<Name extends string>
  extends Omit<TableFormat<Name>, 'columnsWithoutHeader' | 'commentsOnlyBefore'> {
  readonly columnsWithoutHeader?: (cells: readonly string[]) => readonly NoInfer<Name>[]
}

/** Throws {@link DataFileError} for another kind of file and when too many rows are bad. */
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

/** The reader of a feed whose rows each give one fact about their number. */
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

/** Names a column of telephone numbers may have. */
export const numberColumnNames = [
  ...['number', 'phone', 'phonenumber', 'tn', 'telephonenumber', 'telephone', 'phoneno'],
] as const

/** Ten digits of North America, with or without a leading 1 or +1 and the usual punctuation. */
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
 * A day that is not in the future: `YYYY-MM-DD`, `MM/DD/YYYY` or `YYYYMMDD`; a time after it is
 * ignored, and blank gives `undefined`. Tomorrow is accepted, since it has begun in Guam.
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
  return day <= today + 1 ? day : { field, value: text, rule: 'must not lie in the future' }
}

/**
 * The day after `prefix`, or else anywhere in the name, such as 2026-11-18; `undefined` when there is
 * none, `several` when the name has different ones.
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
