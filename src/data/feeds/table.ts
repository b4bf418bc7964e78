/**
 * Reads a downloaded table. The first line determines the delimiter, and columns are found by name.
 * Each line is parsed separately, so that a stray quote only affects its own row.
 */
import { DataFileError, type FieldProblem, truncate } from '../../errors.js'
import type { SourceFile } from '../files/source-file.js'
import { type OnLine, readTextLines } from '../files/text-lines.js'
import type { BadLine } from './bad-lines.js'
import { detectDelimiter, splitCells } from './cells.js'

/** Our column name to the accepted headers, as lower-case letters and digits. */
export type Columns<Name extends string> = Readonly<Record<Name, readonly string[]>>

export type Row<Name extends string> = Readonly<Record<Name, string>>

export interface TableFormat<Name extends string> {
  /** Describes the expected file in error messages. */
  readonly description: string
  readonly columns: Columns<Name>
  /** Columns that may be missing; their cells are then empty. */
  readonly optional?: readonly NoInfer<Name>[]
  /** The columns of a file without a header; if absent, a header is required. */
  readonly columnsWithoutHeader?: {
    isRow(cells: readonly string[]): boolean
    order(cells: readonly string[]): readonly NoInfer<Name>[]
  }
  /** The problem of the columns in a header, if any. */
  readonly findHeaderProblem?: (found: ReadonlySet<Name>, width: number) => string | undefined
  /** Rejects a header in which several cells match the same column; else one of `columns`, which an option chooses. */
  readonly requireUniqueColumns?:
    | true
    | { readonly columns: readonly NoInfer<Name>[]; readonly option: string }
  /**
   * Treat `#` as the start of a comment only if this column is the first, since the cells of other
   * columns may begin with `#`. If absent, it always starts a comment.
   */
  readonly commentsOnlyBefore?: string
  /** Rows may have more cells than the header, but not fewer. */
  readonly hasLooseWidth?: true
  /**
   * The pattern of a complete last row without a line break, since `no` may be a cut-off `no data`. If
   * absent, such a row is never complete; with `any`, a cut-off row is only a bad row.
   */
  readonly completeRowPattern?: RegExp | 'any'
}

/** Reads a row; `found` has the columns of the file. Returns a problem if the row is unusable. */
export type RowReader<Name extends string> = (
  row: Row<Name>,
  found: ReadonlySet<Name>,
  line: number,
  cells: readonly string[],
) => FieldProblem | undefined

export interface TableReading<Name extends string> {
  readonly source: Pick<SourceFile, 'name' | 'path' | 'stream'>
  readonly table: TableFormat<Name>
  readonly readRow: RowReader<Name>
  readonly onBadRow: (bad: BadLine, problem: FieldProblem) => void
  /** Called after each row. */
  readonly onRow: () => void
}

export interface TableSummary {
  /** Header cells as in the file, trimmed. */
  readonly header: readonly string[]
  /** Data rows, bad ones included, without header, blank lines and comments. */
  readonly rows: number
  readonly comments: number
}

/** Throws {@link DataFileError} for another kind of file and for one that may be cut off. */
export async function readTable<Name extends string>({
  source,
  table,
  readRow,
  onBadRow,
  onRow,
}: TableReading<Name>): Promise<TableSummary> {
  let layout: Layout<Name> | undefined
  let [rows, comments] = [0, 0]
  const readLine: OnLine = (line, number, ended) => {
    if (!layout) {
      layout = parseLayout(source.path, table, line, number)
      if (!layout.isRow) return
    }
    rows += 1
    const problem = findRowProblem(line, number, layout, readRow)
    if (!ended && mayBeCutOff(table, line, problem)) refuseTruncated(source.path, line, number)
    if (problem) {
      const { field, value = '', rule } = problem
      onBadRow({ file: source.name, line: number, value, rule: `${field} ${rule}` }, problem)
    }
    onRow()
  }
  await readTextLines(source, (line, number, ended) => {
    if (line.startsWith('#') && (layout?.hasComments ?? true)) comments += 1
    else if (line.trim() !== '') readLine(line, number, ended)
  })
  if (layout) return { header: layout.header, rows, comments }
  throw new DataFileError(source.path, `is empty; must be ${table.description}`)
}

function mayBeCutOff(
  { completeRowPattern }: Pick<TableFormat<string>, 'completeRowPattern'>,
  line: string,
  problem: FieldProblem | undefined,
): boolean {
  if (completeRowPattern === 'any') return false
  return problem !== undefined || completeRowPattern?.test(line) !== true
}

function refuseTruncated(path: string, line: string, number: number): never {
  const where = `line ${number} '${truncate(line)}'`
  const advice = 'download it again, or if the file is complete, end it with a line break'
  throw new DataFileError(path, `${where}: the last line may be cut off; ${advice}`)
}

interface Layout<Name extends string> {
  readonly delimiter: string
  readonly header: readonly string[]
  readonly names: readonly Name[]
  readonly positions: readonly number[]
  readonly presentColumns: ReadonlySet<Name>
  /** For each of `names`, whether a row must have a cell for it. */
  readonly isRequired: readonly boolean[]
  /** Whether the first line is a row, not a header. */
  readonly isRow: boolean
  readonly hasComments: boolean
  /** Infinity for no limit. */
  readonly maxCells: number
}

function parseLayout<Name extends string>(
  path: string,
  table: TableFormat<Name>,
  line: string,
  number: number,
): Layout<Name> {
  const { columns, optional = [], columnsWithoutHeader, commentsOnlyBefore, hasLooseWidth } = table
  const delimiter = detectDelimiter(line)
  const header = splitCells(line, delimiter) ?? []
  const names = Object.keys(columns) as Name[]
  const order = columnsWithoutHeader?.isRow(header) ? columnsWithoutHeader.order(header) : undefined
  const known = header.map(normalizeColumnName)
  const positions = names.map((name) =>
    order ? order.indexOf(name) : known.findIndex((cell) => columns[name].includes(cell)),
  )
  const presentColumns = new Set(names.filter((_, index) => positions[index] !== -1))
  const isPresentOrRequired = (name: Name) =>
    !optional.includes(name) || (hasLooseWidth === true && presentColumns.has(name))
  const problem = order ? undefined : findHeaderProblem(table, header, presentColumns)
  if (problem !== undefined) {
    const where = `line ${number} '${truncate(line.trim())}'`
    const rule = `must be the header of ${table.description}`
    throw new DataFileError(path, `${where}: ${problem}; ${rule}`)
  }
  return {
    delimiter,
    header,
    names,
    positions,
    presentColumns,
    isRequired: names.map(isPresentOrRequired),
    isRow: order !== undefined,
    hasComments:
      commentsOnlyBefore === undefined ||
      positions[(names as readonly string[]).indexOf(commentsOnlyBefore)] === 0,
    maxCells: hasLooseWidth ? Number.POSITIVE_INFINITY : header.length,
  }
}

function findHeaderProblem<Name extends string>(
  table: TableFormat<Name>,
  header: readonly string[],
  found: ReadonlySet<Name>,
): string | undefined {
  const { columns, optional = [], requireUniqueColumns } = table
  const names = Object.keys(columns) as Name[]
  const missing = names.filter((name) => !optional.includes(name) && !found.has(name))
  if (missing.length > 0) {
    const quoted = missing.map((name) => `'${columns[name].slice(0, 3).join("' or '")}'`)
    return `no column ${quoted.join(', ')}`
  }
  const problem = table.findHeaderProblem?.(found, header.length)
  if (problem !== undefined || !requireUniqueColumns) return problem
  const { columns: unique, option } =
    requireUniqueColumns === true ? { columns: names, option: '--column' } : requireUniqueColumns
  for (const name of unique) {
    const cells = header.filter((cell) => columns[name].includes(normalizeColumnName(cell)))
    if (cells.length > 1) {
      return `'${cells.join("' and '")}' could each be the column ${name}; choose one with ${option} ${name}=<header>`
    }
  }
  return undefined
}

/** Reduces a column name to lower-case letters and digits. */
export function normalizeColumnName(cell: string): string {
  return cell.toLowerCase().replace(/[^a-z0-9]/g, '')
}

function findRowProblem<Name extends string>(
  line: string,
  number: number,
  { delimiter, header, names, positions, presentColumns, isRequired, maxCells }: Layout<Name>,
  readRow: RowReader<Name>,
): FieldProblem | undefined {
  const cells = splitCells(line, delimiter)
  if (!cells) return { field: 'row', value: line, rule: 'has a misplaced or unclosed quote' }
  if (cells.length > maxCells && cells.slice(maxCells).some((cell) => cell !== '')) {
    const rule = `has ${cells.length} cells, more than the ${header.length} of the first line`
    return { field: 'row', value: line, rule }
  }
  const row = {} as Record<Name, string>
  for (let index = 0; index < names.length; index += 1) {
    const name = names[index] as Name
    const cell = cells[positions[index] ?? -1]
    if (cell === undefined && isRequired[index]) {
      return { field: name, value: line, rule: `is missing: the row has ${cells.length} cells` }
    }
    row[name] = cell ?? ''
  }
  return readRow(row, presentColumns, number, cells)
}

export function isFieldProblem(value: unknown): value is FieldProblem {
  return typeof value === 'object' && value !== null && 'rule' in value
}
