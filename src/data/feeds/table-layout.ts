/** Finds the columns of a table by their names, by what they hold, or as the operator says. */
import { DataFileError, truncate } from '../../errors.js'
import { normalizeColumnName } from './cells.js'
import type { RowCondition } from './column-contents.js'
import type { DayOrder } from './days.js'
import { hasOnlyNumbers } from './number-cells.js'
import type { TableRow } from './rows.js'

/** Our column name to the accepted headers, as lower-case letters and digits. */
type Columns<Name extends string> = Readonly<Record<Name, readonly string[]>>

export type Row<Name extends string> = Readonly<Record<Name, string>>

/** The operator's options for a table. */
export interface TableOptions {
  /** Maps a column to its headers, or to its position such as `2` in a table without a header. Only the column of numbers can have several. */
  readonly columns?: Readonly<Record<string, readonly string[]>> | undefined
  /** Rows that count; all of the conditions must hold. */
  readonly where?: readonly RowCondition[] | undefined
  /** Use every row, whatever its other columns say. */
  readonly allRows?: boolean | undefined
  readonly dates?: DayOrder | undefined
}

export interface TableFormat<Name extends string> {
  /** Describes the expected file in error messages. */
  readonly description: string
  readonly columns: Columns<Name>
  /** Columns that may be missing; their cells are then empty. */
  readonly optional?: readonly NoInfer<Name>[]
  /** The columns of a file without a header; if absent, a header is required. */
  readonly columnsWithoutHeader?: {
    isRow(cells: readonly string[], text: string): boolean
    order(cells: readonly string[]): readonly (NoInfer<Name> | undefined)[]
  }
  /** The problem of the columns in a header, if any. */
  readonly findHeaderProblem?: (found: ReadonlySet<Name>, width: number) => string | undefined
  /**
   * The column of telephone numbers. The operator can name several; each number of a row is then read as a separate row. Unless
   * the operator names them, no other column of numbers is ignored.
   */
  readonly numberColumn?: NoInfer<Name>
  /** The first column has the numbers if no header names it. */
  readonly hasNumbersFirst?: true
  /** Ask about columns that may decide which rows count, such as a status. */
  readonly asksWhichRows?: true
  /** For these columns, the first of several matching headers is used. For others, several matches are refused. */
  readonly firstOf?: readonly NoInfer<Name>[]
  /** Tests for the content of a column, to choose between headers with the same meaning. */
  readonly cellTests?: Partial<Readonly<Record<Name, (cell: string) => boolean>>>
  /** The option that names columns. */
  readonly option?: string
  /** No other columns are allowed. */
  readonly hasOnlyKnownColumns?: true
  /**
   * Treat `#` as the start of a comment only if this column is the first, since the cells of other
   * columns may begin with `#`. If absent, it always starts a comment.
   */
  readonly commentsOnlyBefore?: string
  /** Rows may have more cells than the header; with `more`, not fewer. */
  readonly hasLooseWidth?: 'more' | 'any'
  /** Whether a last row without a line break may be cut off, since `no` may be a cut-off `no data`. If absent, it may. */
  readonly mayBeCutOff?: (row: string, isBad: boolean) => boolean
  /** A table without any row is not refused. */
  readonly mayBeEmpty?: true
}

export interface Layout<Name extends string> {
  readonly header: readonly string[]
  readonly names: readonly Name[]
  /** For each of `names`, where its cells are. */
  readonly places: readonly (readonly number[])[]
  readonly presentColumns: ReadonlySet<Name>
  /** For each of `names`, whether a row must have a cell for it. */
  readonly isRequired: readonly boolean[]
  /** Whether the first line is a row, not a header. */
  readonly isRow: boolean
  /** Infinity for no limit. */
  readonly maxCells: number
  /** Of the header. */
  readonly problem: string | undefined
}

interface LayoutInput<Name extends string> {
  readonly table: TableFormat<Name>
  readonly options: TableOptions
  readonly rows: readonly TableRow[]
  readonly path: string
}

/** Throws {@link DataFileError} for a table whose header is not its first line. */
export function findLayout<Name extends string>(input: LayoutInput<Name>): Layout<Name> {
  const { table, rows, path } = input
  const [first] = rows as readonly [TableRow, ...TableRow[]]
  const header = first.cells ?? []
  const isRow = isFirstRow(input, first)
  const layout = isRow ? findPlaces(input, header) : findColumns(input, header)
  if (isRow || (layout.problem === undefined && !isNameless(input, layout))) return layout
  // People put a title above the header.
  const later = rows.slice(1).find(({ cells = [] }) => {
    const other = findColumns(input, cells)
    return other.problem === undefined && !isNameless(input, other)
  })
  if (!later) return layout
  const where = `line ${first.line} '${truncate(first.text.trim())}'`
  const rule = `is not the header, which seems to be line ${later.line}; delete the lines above it`
  throw new DataFileError(path, `${where} ${rule}; must be ${table.description}`)
}

/** Whether no header names the column of the numbers. */
function isNameless<Name extends string>(
  { table: { numberColumn, columns }, options }: LayoutInput<Name>,
  { header }: Layout<Name>,
): boolean {
  if (numberColumn === undefined || options.columns?.[numberColumn]) return false
  return !header.some((cell) => columns[numberColumn].includes(normalizeColumnName(cell)))
}

function isFirstRow<Name extends string>(
  { table, options: { columns = {} } }: LayoutInput<Name>,
  { cells = [], text }: TableRow,
): boolean {
  if (!table.columnsWithoutHeader?.isRow(cells, text)) return false
  const named = Object.values(columns).flat()
  const isNamed = named.some((header) => findHeaders(cells, header).length > 0)
  return !isNamed && named.every((header) => findPlace(header) !== undefined)
}

const findHeaders = (header: readonly string[], name: string) => {
  const wanted = normalizeColumnName(name)
  return header.flatMap((cell, index) => (normalizeColumnName(cell) === wanted ? [index] : []))
}

/** Finds a column by its header, or by its position if it has none. */
const findNamed = (header: readonly string[], name: string): readonly number[] => {
  const found = findHeaders(header, name)
  const place = findPlace(name)
  return found.length === 0 && place !== undefined && !header[place] ? [place] : found
}

/** The position that an operator names, from 1. */
function findPlace(text: string): number | undefined {
  return /^[1-9]\d?$/.test(text.trim()) ? Number(text) - 1 : undefined
}

/** Of a table without a header. */
function findPlaces<Name extends string>(
  { table, options: { columns: named = {} } }: LayoutInput<Name>,
  cells: readonly string[],
): Layout<Name> {
  const order = table.columnsWithoutHeader?.order(cells) ?? []
  const names = Object.keys(table.columns) as Name[]
  const taken = Object.values(named).flatMap((texts) => texts.map(findPlace))
  const places = names.map((name) => {
    const asked = named[name]?.flatMap((text) => findPlace(text) ?? [])
    return (
      asked ??
      order.flatMap((one, index) => (one === name && !taken.includes(index) ? [index] : []))
    )
  })
  const maxCells = table.hasLooseWidth
    ? Number.POSITIVE_INFINITY
    : Math.max(order.length, ...places.flat().map((place) => place + 1))
  return toLayout(table, { header: cells, names, places, isRow: true, maxCells })
}

function findColumns<Name extends string>(
  input: LayoutInput<Name>,
  header: readonly string[],
): Layout<Name> {
  const { table, options, rows } = input
  const names = Object.keys(table.columns) as Name[]
  let problem: string | undefined
  const places = names.map((name) => {
    const named = options.columns?.[name]
    if (named) {
      const missing = named.find((one) => findNamed(header, one).length === 0)
      if (missing !== undefined) {
        problem ??= `has no column '${missing}'; its columns are ${truncate(header.join(', '))}`
      }
      const found = named.flatMap((one) => findNamed(header, one))
      if (found.length > 1 && name !== table.numberColumn) {
        problem ??= `${table.option ?? '--column'} ${name}: must be one column, not ${found.length}`
      }
      return found
    }
    const found = header.flatMap((cell, index) =>
      table.columns[name].includes(normalizeColumnName(cell)) ? [index] : [],
    )
    const chosen = found.length > 1 ? chooseByContent(input, name, found) : found
    if (chosen.length > 1 && !table.firstOf?.includes(name)) {
      const cells = chosen.map((index) => header[index])
      problem ??= `'${cells.join("' and '")}' could each be the column ${name}; choose one with ${table.option ?? '--column'} ${name}=<header>`
    }
    return chosen.slice(0, 1)
  })
  if (table.hasNumbersFirst && table.numberColumn !== undefined) {
    const index = names.indexOf(table.numberColumn)
    if (places[index]?.length === 0) places[index] = [0]
  }
  const maxCells = table.hasLooseWidth ? Number.POSITIVE_INFINITY : header.length
  const layout = toLayout(table, { header, names, places, isRow: false, maxCells })
  const isUnread = rows[0]?.cells === undefined && header.length === 0
  const unread = isUnread ? 'has a misplaced or unclosed quote' : undefined
  return { ...layout, problem: unread ?? problem ?? findHeaderProblem(table, layout) }
}

/** The columns whose first rows have the expected content. */
function chooseByContent<Name extends string>(
  { table, rows }: LayoutInput<Name>,
  name: Name,
  found: readonly number[],
): readonly number[] {
  const test = table.cellTests?.[name] ?? (name === table.numberColumn ? hasOnlyNumbers : undefined)
  if (!test) return found
  const fitting = found.filter((place) => rows.some(({ cells }) => test(cells?.[place] ?? '')))
  return fitting.length === 0 ? found : fitting
}

function toLayout<Name extends string>(
  { optional = [], hasLooseWidth }: TableFormat<Name>,
  layout: Omit<Layout<Name>, 'presentColumns' | 'isRequired' | 'problem'>,
): Layout<Name> {
  const { names, places } = layout
  const presentColumns = new Set(names.filter((_, index) => places[index]?.length))
  return {
    ...layout,
    presentColumns,
    isRequired: names.map(
      (name) => !optional.includes(name) || (hasLooseWidth === 'more' && presentColumns.has(name)),
    ),
    problem: undefined,
  }
}

function findHeaderProblem<Name extends string>(
  table: TableFormat<Name>,
  { header, names, places, presentColumns: found }: Layout<Name>,
): string | undefined {
  const { columns, optional = [] } = table
  if (table.hasOnlyKnownColumns) {
    const read = new Set(places.flat())
    const unknown = header.filter((_, index) => !read.has(index))
    if (unknown.length > 0) {
      return `has no column '${unknown.join("', '")}'; the columns are ${names.join(', ')}`
    }
  }
  const number = table.numberColumn && header.find(hasOnlyNumbers)
  if (number) return `is not a header, since '${number}' in it is a telephone number`
  const missing = names.filter((name) => !optional.includes(name) && !found.has(name))
  if (missing.length > 0) {
    const quoted = missing.map((name) => `'${columns[name].slice(0, 3).join("' or '")}'`)
    return `no column ${quoted.join(', ')}`
  }
  return table.findHeaderProblem?.(found, header.length)
}
