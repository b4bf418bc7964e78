/**
 * Reads a table of facts about telephone numbers: columns by their names, the delimiter from the
 * first line, one row a line. What a row says is the business of the reader of each feed, which
 * hands its facts on; rows it cannot use are counted and told.
 */
import type { LocalDay } from '../../domain/clock.js'
import { parseDay } from '../../domain/clock.js'
import { asPhoneNumber, type PhoneNumber } from '../../domain/phone-number.js'
import { DataFileError, type FieldProblem, shorten } from '../../errors.js'
import type { BadLine, BadLines } from './bad-lines.js'
import type { SourceFile } from './open-source-file.js'
import { type Columns, delimiterOf, type Row, splitCells } from './table.js'
import { type OnLine, readTextLines } from './text-lines.js'

/** One file being read, and where its facts go. */
export interface FeedFile<Fact> {
  readonly source: Pick<SourceFile, 'name' | 'path' | 'stream'>
  readonly badLines: BadLines
  /** The day of the import, in UTC. */
  readonly today: LocalDay
  /** When the operator says the file was true. */
  readonly statedDay: LocalDay | undefined
  keep(number: PhoneNumber, fact: Fact): void
  /** Counts a row that is right but says nothing; the reason in words. */
  leaveOut(reason: string): void
  /** Told after each row. */
  onRow(): void
}

/** What is told of a file that was read whole. */
export interface FileRead {
  /** Data rows, bad ones included. */
  readonly rows: number
  /** Lines left out because they begin with `#`. */
  readonly comments: number
  /** Day of the content, where the file itself says. */
  readonly day?: LocalDay | undefined
}

export interface FactTable<Name extends string> {
  /** What the file should be, for the message when it is another one. */
  readonly what: string
  readonly columns: Columns<Name>
  /** Columns a file may lack; their cells are then empty. */
  readonly optional?: readonly Name[]
  /** The columns by position of a file whose first line is a row already; without it none may be. */
  readonly unnamed?: (cells: readonly string[]) => readonly Name[]
  /** What is wrong with the columns a header has, if anything. */
  readonly headerProblem?: (found: ReadonlySet<Name>, width: number) => string | undefined
  /** Refuse a header in which several cells may be the same column. */
  readonly noDoubles?: true
  /**
   * What a last row without a line end must look like to be whole. Left out, none is taken for it:
   * `no` may be the beginning of `no data`.
   */
  readonly wholeRow?: RegExp
}

/** `found` has the columns of the file. */
export type ReadRow<Name extends string> = (
  row: Row<Name>,
  found: ReadonlySet<Name>,
) => FieldProblem | undefined

/** Throws {@link DataFileError} for another kind of file and when too many rows are bad. */
export async function readFactTable<Name extends string>(
  file: Pick<FeedFile<unknown>, 'source' | 'badLines' | 'onRow'>,
  table: FactTable<Name>,
  readRow: ReadRow<Name>,
): Promise<FileRead> {
  const { source, badLines } = file
  let layout: Layout<Name> | undefined
  let rows = 0
  let comments = 0
  const readLine: OnLine = (line, number, ended) => {
    if (!layout) {
      layout = layoutOf(source.path, table, line)
      if (!layout.isRow) return
    }
    rows += 1
    const problem = problemOf(line, layout, readRow)
    if (!ended && (problem || !table.wholeRow?.test(line))) refuseCutOff(source.path, line, number)
    if (problem) badLines.add(badLineOf(problem, { file: source.name, line: number }))
    file.onRow()
  }
  await readTextLines(source, (line, number, ended) => {
    if (isComment(line, layout)) comments += 1
    else if (line.trim() !== '') readLine(line, number, ended)
  })
  if (!layout) throw new DataFileError(source.path, `holds no table; is it ${table.what}?`)
  badLines.judge()
  return { rows, comments }
}

/** Where the rows do not begin with the number, `#` may begin a name. */
function isComment(line: string, layout: Layout<string> | undefined): boolean {
  return line.startsWith('#') && (!layout || layout.positions[layout.names.indexOf('number')] === 0)
}

function badLineOf(
  { field, value = '', rule }: FieldProblem,
  place: Pick<BadLine, 'file' | 'line'>,
): BadLine {
  return { ...place, value, rule: `${field} ${rule}` }
}

function refuseCutOff(path: string, line: string, number: number): never {
  const where = `line ${number} '${shorten(line)}'`
  const advice = 'download it again, or if the file is whole, end it with a line end'
  throw new DataFileError(path, `${where}: the last line may be cut off; ${advice}`)
}

interface Layout<Name extends string> {
  readonly delimiter: string
  /** Cells a row may have. */
  readonly width: number
  readonly names: readonly Name[]
  readonly positions: readonly number[]
  readonly found: ReadonlySet<Name>
  /** Names of `names` that a row must have a cell for. */
  readonly needed: ReadonlySet<Name>
  /** Whether the first line is a row and names no columns. */
  readonly isRow: boolean
}

function layoutOf<Name extends string>(
  path: string,
  table: FactTable<Name>,
  line: string,
): Layout<Name> {
  const delimiter = delimiterOf(line)
  const cells = splitCells(line, delimiter) ?? []
  const names = Object.keys(table.columns) as Name[]
  const needed = new Set(names.filter((name) => table.optional?.includes(name) !== true))
  const isRow = table.unnamed !== undefined && isNumber(cells[0] ?? '')
  const order = table.unnamed && isRow ? table.unnamed(cells) : undefined
  const positions = order
    ? names.map((name) => order.indexOf(name))
    : names.map((name) => cells.findIndex((cell) => table.columns[name].includes(plain(cell))))
  const width = cells.length
  const found = new Set(names.filter((_, index) => positions[index] !== -1))
  const layout = { delimiter, width, names, positions, found, needed, isRow }
  const problem = isRow ? undefined : (headerProblemOf(table, layout) ?? doubleIn(cells, table))
  if (problem === undefined) return layout
  const shown = shorten(line.trim())
  throw new DataFileError(path, `header '${shown}': ${problem}; must be that of ${table.what}`)
}

function headerProblemOf<Name extends string>(
  { columns, headerProblem }: FactTable<Name>,
  { found, needed, width }: Layout<Name>,
): string | undefined {
  const missing = [...needed].filter((name) => !found.has(name))
  if (missing.length === 0) return headerProblem?.(found, width)
  const asked = missing.map((name) => `'${columns[name].slice(0, 3).join("' or '")}'`)
  return `no column ${asked.join(', ')}`
}

function doubleIn<Name extends string>(
  cells: readonly string[],
  { columns, noDoubles }: FactTable<Name>,
): string | undefined {
  if (!noDoubles) return undefined
  for (const name of Object.keys(columns) as Name[]) {
    const found = cells.filter((cell) => columns[name].includes(plain(cell)))
    if (found.length > 1) {
      return `'${found.join("' and '")}' may all be the column ${name}; say which with --column ${name}=<header>`
    }
  }
  return undefined
}

/** The letters and digits of a column's name. */
export function plain(cell: string): string {
  return cell.toLowerCase().replace(/[^a-z0-9]/g, '')
}

function problemOf<Name extends string>(
  line: string,
  layout: Layout<Name>,
  readRow: ReadRow<Name>,
): FieldProblem | undefined {
  const cells = splitCells(line, layout.delimiter)
  if (!cells) return { field: 'row', value: line, rule: 'has a quote out of place or not closed' }
  if (cells.length > layout.width && cells.slice(layout.width).some((cell) => cell !== '')) {
    const rule = `has ${cells.length} cells, more than the ${layout.width} of the first line`
    return { field: 'row', value: line, rule }
  }
  const row = {} as Record<Name, string>
  for (const [index, name] of layout.names.entries()) {
    const cell = cells[layout.positions[index] ?? -1]
    if (cell === undefined && layout.needed.has(name)) {
      return { field: name, value: line, rule: `is missing: the row has ${cells.length} cells` }
    }
    row[name] = cell ?? ''
  }
  return readRow(row, layout.found)
}

/** Names a column of telephone numbers may have. */
export const numberNames = [
  ...['number', 'phone', 'phonenumber', 'tn', 'telephonenumber', 'telephone', 'phoneno'],
] as const

/** Ten digits of North America, a 1 or +1 before them or not, the usual marks between them. */
export function readNumber(text: string): PhoneNumber | FieldProblem {
  const number = asPhoneNumber(text) ?? numberOf(text)
  if (number === undefined) return { field: 'number', value: text, rule: 'must be ten digits' }
  if (/^[2-9]\d{2}[2-9]/.test(number)) return number
  return { field: 'number', value: text, rule: 'must not have 0 or 1 first or fourth' }
}

function numberOf(text: string): PhoneNumber | undefined {
  if (!/^(?:\+\s*1|[\d(])[\d\s().-]*$/.test(text)) return undefined
  if (text.startsWith('+') && text.replace(/\D/g, '').length !== 11) return undefined
  return asPhoneNumber(text.replace(/\D/g, '').replace(/^1(?=\d{10}$)/, ''))
}

function isNumber(text: string): boolean {
  return typeof readNumber(text) === 'string'
}

/**
 * A day that is not ahead: `YYYY-MM-DD`, `MM/DD/YYYY` or `YYYYMMDD`, a time after it ignored.
 * Blank gives `undefined`. Guam is a day ahead of UTC for most of it.
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

export function isFieldProblem(value: unknown): value is FieldProblem {
  return typeof value === 'object' && value !== null && 'rule' in value
}
