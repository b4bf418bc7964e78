/** Reads a table: finds its header and columns by name, and looks at what its columns hold. */
import { DataFileError, type FieldProblem, truncate } from '../../errors.js'
import type { SourceFile } from '../files/source-file.js'
import type { BadLine } from './bad-lines.js'
import { normalizeColumnName } from './cells.js'
import { ColumnContents, type RowCondition, RowFilter } from './column-contents.js'
import { type DayOrder, TableDays } from './days.js'
import { hasOnlyNumbers, splitNumbers } from './number-cells.js'
import { type RowsReader, readRows, type TableRow } from './rows.js'

/** Our column name to the accepted headers, as lower-case letters and digits. */
export type Columns<Name extends string> = Readonly<Record<Name, readonly string[]>>

export type Row<Name extends string> = Readonly<Record<Name, string>>

/** What the operator says of a table. */
export interface TableOptions {
  /** Column to its headers, or to its place in a table without a header, such as `2`. Only that of the numbers may have several. */
  readonly columns?: Readonly<Record<string, readonly string[]>> | undefined
  /** Rows that count; all of the conditions must hold. */
  readonly where?: readonly RowCondition[] | undefined
  /** Every row counts, whatever its other columns say. */
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
   * The column of telephone numbers. Several may be named; each number of a row is read as a row of its own. No other column of
   * numbers is ignored unless this one is named.
   */
  readonly numberColumn?: NoInfer<Name>
  /** The first column has the numbers if no header names it. */
  readonly hasNumbersFirst?: true
  /** Ask about columns that may decide which rows count, such as a status. */
  readonly asksWhichRows?: true
  /** Columns of which the first counts if several headers have a name of theirs; else several are refused. */
  readonly firstOf?: readonly NoInfer<Name>[]
  /** What a column holds, which tells it from others with a header of the same meaning. */
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

export interface RowContext<Name extends string> {
  /** The columns of the file. */
  readonly found: ReadonlySet<Name>
  readonly line: number
  readonly text: string
  readonly cells: readonly string[]
  readonly hasHeader: boolean
  readonly days: TableDays
}

/** Reads a row. Returns a problem if the row is unusable. */
export type RowReader<Name extends string> = (
  row: Row<Name>,
  context: RowContext<Name>,
) => FieldProblem | undefined

export interface TableReading<Name extends string> extends Pick<RowsReader, 'afterChunk'> {
  readonly source: Pick<SourceFile, 'name' | 'path' | 'stream'>
  readonly table: TableFormat<Name>
  readonly options?: TableOptions | undefined
  readonly readRow: RowReader<Name>
  readonly onBadRow: (bad: BadLine, problem: FieldProblem) => void
  /** Called after each row. */
  readonly onRow: () => void
  /** Reads a row that is nothing but the number; see `LineReader`. */
  readonly parseFast?: (bytes: Buffer, start: number) => number
}

export interface TableSummary {
  /** Header cells as in the file, trimmed. */
  readonly header: readonly string[]
  /** The header as a line of the file; `undefined` without one. */
  readonly headerLine: { readonly line: number; readonly text: string } | undefined
  /** Data rows, bad ones included, without header, blank lines and comments. */
  readonly rows: number
  readonly comments: number
  /** Data rows that the conditions of the operator leave out. */
  readonly leftOut: number
  /** What was not read although it looks like numbers. */
  readonly notes: readonly string[]
}

/** Throws {@link DataFileError} for another kind of file, for one that may be cut off, and for one that needs an option. */
export async function readTable<Name extends string>(
  reading: TableReading<Name>,
): Promise<TableSummary> {
  const table = new TableReader(reading)
  await readRows(reading.source, table)
  return table.finish()
}

interface Layout<Name extends string> {
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

/** Rows that are looked at before the columns are chosen. */
const headRows = 20
/** Rows that are looked at to say what the columns of a refused table hold. */
const maxRowsOfRefused = 1_000
const maxShownBadRows = 20

class TableReader<Name extends string> implements RowsReader {
  readonly #reading: TableReading<Name>
  readonly #days: TableDays
  readonly #bad: string[] = []
  #head: TableRow[] | undefined = []
  #layout: Layout<Name> | undefined
  #contents: ColumnContents | undefined
  #filter: RowFilter | undefined
  #hasComments: boolean | undefined
  #headerLine: TableSummary['headerLine']
  #fast: RowsReader['parseFast']
  #rows = 0
  #comments = 0
  readonly afterChunk: RowsReader['afterChunk']

  constructor(reading: TableReading<Name>) {
    this.#reading = reading
    this.#days = new TableDays(reading.options?.dates)
    this.afterChunk = reading.afterChunk
  }

  get parseFast(): RowsReader['parseFast'] {
    return this.#fast
  }

  readonly onRow = (row: TableRow): void => {
    if (this.#head) this.#head.push(row)
    else this.#read(row)
    if (this.#head?.length === headRows) this.#begin(this.#head)
  }

  readonly isComment = (): boolean => {
    this.#hasComments ??= this.#head?.[0] && this.#findComments(this.#head[0])
    const isComment = this.#hasComments ?? true
    if (isComment) this.#comments += 1
    return isComment
  }

  #findComments({ cells = [], text }: TableRow): boolean {
    const { commentsOnlyBefore: name, columnsWithoutHeader: bare, columns } = this.#reading.table
    if (name === undefined) return true
    if (bare?.isRow(cells, text)) return bare.order(cells)[0] === name
    const named = this.#reading.options?.columns?.[name]
    const accepted = named?.map(normalizeColumnName) ?? columns[name as Name] ?? []
    return accepted.includes(normalizeColumnName(cells[0] ?? ''))
  }

  #begin(rows: readonly TableRow[]): void {
    this.#head = undefined
    const [first] = rows
    if (!first) return
    const { table, options = {}, source } = this.#reading
    const layout = findLayout({ table, options, rows, path: source.path })
    this.#layout = layout
    this.#filter = options.where && new RowFilter(options.where, layout.header, layout.isRow)
    this.#contents = this.#findContents(layout)
    const isPlain = this.#isPlain(layout)
    if (!layout.isRow) this.#headerLine = { line: first.line, text: first.text }
    for (const row of layout.isRow ? rows : rows.slice(1)) this.#read(row)
    const { parseFast } = this.#reading
    if (!isPlain || !parseFast) return
    this.#fast = (bytes, start) => {
      const next = parseFast(bytes, start)
      if (next > 0) this.#rows += 1
      return next
    }
  }

  /** Whether a row of a number alone has all that is read. */
  #isPlain({ names, places, problem }: Layout<Name>): boolean {
    const { table, options } = this.#reading
    return (
      problem === undefined &&
      options?.where === undefined &&
      names.every((name, index) => {
        const found = places[index] ?? []
        return name === table.numberColumn ? found.join() === '0' : found.length === 0
      })
    )
  }

  #findContents(layout: Layout<Name>): ColumnContents | undefined {
    const { table, options = {} } = this.#reading
    const { numberColumn } = table
    if (numberColumn === undefined) return undefined
    const numbersAt = layout.places[layout.names.indexOf(numberColumn)] ?? []
    return new ColumnContents({
      header: layout.isRow ? [] : layout.header,
      numbersAt,
      // Without a header nothing says what a column holds.
      readAt: layout.isRow ? numbersAt : layout.problem === undefined ? layout.places.flat() : [],
      isNamed: options.columns?.[numberColumn] !== undefined,
      asksWhichRows: table.asksWhichRows === true && options.allRows !== true,
      decidedAt: this.#filter?.places ?? [],
      option: `${table.option ?? '--column'} ${numberColumn}=`,
    })
  }

  #read(row: TableRow): void {
    const { onRow, table, source } = this.#reading
    const layout = this.#layout as Layout<Name>
    this.#rows += 1
    if (layout.problem !== undefined) {
      this.#contents?.add(row.cells ?? [])
      if (this.#rows > maxRowsOfRefused) this.#refuseHeader(layout)
      return
    }
    if (row.cells && this.#filter?.leavesOut(row.cells)) {
      onRow()
      return
    }
    if (row.cells) this.#contents?.add(row.cells)
    const problems = this.#findProblems(row, layout)
    const mayBeCutOff = table.mayBeCutOff ?? (() => true)
    if (!row.ended && mayBeCutOff(row.text, problems.length > 0)) {
      refuseTruncated(source.path, row.text, row.line)
    }
    for (const problem of problems) this.#report(row, problem)
    onRow()
  }

  #report({ line }: TableRow, problem: FieldProblem): void {
    const { field, value = '', rule } = problem
    if (this.#bad.length < maxShownBadRows) {
      this.#bad.push(`line ${line} '${truncate(value)}': ${field} ${rule}`)
    }
    const { source, onBadRow } = this.#reading
    onBadRow({ file: source.name, line, value, rule: `${field} ${rule}` }, problem)
  }

  /** At most one for each number of the row. */
  #findProblems({ cells, text, line }: TableRow, layout: Layout<Name>): readonly FieldProblem[] {
    if (!cells) return [{ field: 'row', value: text, rule: 'has a misplaced or unclosed quote' }]
    const { header, names, places, presentColumns, isRequired, maxCells } = layout
    if (cells.length > maxCells && cells.slice(maxCells).some((cell) => cell !== '')) {
      const rule = `has ${cells.length} cells, more than the ${maxCells} of the ${layout.isRow ? 'columns' : 'first line'}`
      return [{ field: 'row', value: text, rule }]
    }
    const row = {} as Record<Name, string>
    for (let index = 0; index < names.length; index += 1) {
      const name = names[index] as Name
      const found = places[index] ?? []
      const cell = cells[found[0] ?? -1]
      if (cell === undefined && isRequired[index] && found.length < 2) {
        return [{ field: name, value: text, rule: `is missing: the row has ${cells.length} cells` }]
      }
      row[name] = cell ?? ''
    }
    const { readRow, table } = this.#reading
    const hasHeader = !layout.isRow
    const context = { found: presentColumns, line, text, cells, hasHeader, days: this.#days }
    const { numberColumn } = table
    if (numberColumn === undefined) return toList(readRow(row, context))
    const numbersAt = places[names.indexOf(numberColumn)] ?? []
    return this.#readNumbers(row, numbersAt, context, header)
  }

  #readNumbers(
    row: Record<Name, string>,
    numbersAt: readonly number[],
    context: RowContext<Name>,
    header: readonly string[],
  ): readonly FieldProblem[] {
    const { readRow, table } = this.#reading
    const name = table.numberColumn as Name
    const problems: FieldProblem[] = []
    let isEmpty = true
    for (const place of numbersAt) {
      const cell = context.cells[place] ?? ''
      if (cell === '') continue
      isEmpty = false
      for (const number of splitNumbers(cell)) {
        row[name] = number
        const problem = readRow(row, context)
        if (!problem) continue
        const isOne = problem.field !== name || numbersAt.length === 1
        const column = context.hasHeader ? `'${header[place]}'` : `column ${place + 1}`
        const field = isOne ? problem.field : `${name} of ${column}`
        problems.push({ ...problem, field })
      }
    }
    if (!isEmpty) return problems
    row[name] = ''
    return toList(readRow(row, context)).map((problem) =>
      problem.value === '' ? { ...problem, value: context.text } : problem,
    )
  }

  /** Throws {@link DataFileError} for a table that cannot be used as it is. */
  finish(): TableSummary {
    if (this.#head) this.#begin(this.#head)
    const { source, table } = this.#reading
    const layout = this.#layout
    const comments = this.#comments
    if (!layout) {
      if (table.mayBeEmpty) {
        return { header: [], headerLine: undefined, rows: 0, comments, leftOut: 0, notes: [] }
      }
      throw new DataFileError(source.path, `is empty; must be ${table.description}`)
    }
    if (layout.problem !== undefined) this.#refuseHeader(layout)
    const questions = [
      ...(this.#contents?.findQuestions() ?? []),
      ...toList(this.#days.findQuestion()),
      ...toList(this.#filter?.findProblem(this.#rows)),
    ]
    if (questions.length > 0) {
      throw new DataFileError(source.path, [...questions, ...this.#bad].join('\n  '))
    }
    return {
      header: layout.header,
      headerLine: this.#headerLine,
      rows: this.#rows,
      comments,
      leftOut: this.#filter?.leftOut ?? 0,
      notes: this.#contents?.findNotes() ?? [],
    }
  }

  #refuseHeader({ header, problem }: Layout<Name>): never {
    const { source, table } = this.#reading
    const { line = 1, text = header.join() } = this.#headerLine ?? {}
    const where = `line ${line} '${truncate(text.trim())}'`
    const advice = this.#contents?.describeNumbers() ?? []
    const rule = `must be the header of ${table.description}`
    throw new DataFileError(source.path, [`${where}: ${problem}; ${rule}`, ...advice].join('\n  '))
  }
}

const toList = <Value>(value: Value | undefined): readonly Value[] =>
  value === undefined ? [] : [value]

function refuseTruncated(path: string, line: string, number: number): never {
  const where = `line ${number} '${truncate(line)}'`
  const advice = 'download it again, or if the file is complete, end it with a line break'
  throw new DataFileError(path, `${where}: the last line may be cut off; ${advice}`)
}

interface LayoutInput<Name extends string> {
  readonly table: TableFormat<Name>
  readonly options: TableOptions
  readonly rows: readonly TableRow[]
  readonly path: string
}

function findLayout<Name extends string>(input: LayoutInput<Name>): Layout<Name> {
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
  const rule = `is not the header, which seems to stand in line ${later.line}; delete the lines above it`
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

/** By its header, or by its place if it has none. */
const findNamed = (header: readonly string[], name: string): readonly number[] => {
  const found = findHeaders(header, name)
  const place = findPlace(name)
  return found.length === 0 && place !== undefined && !header[place] ? [place] : found
}

/** The place that an operator names, from 1. */
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

/** Those of the columns whose first rows hold what the column should. */
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
  if (number) return `'${number}' in it is a telephone number, so it is no header`
  const missing = names.filter((name) => !optional.includes(name) && !found.has(name))
  if (missing.length > 0) {
    const quoted = missing.map((name) => `'${columns[name].slice(0, 3).join("' or '")}'`)
    return `no column ${quoted.join(', ')}`
  }
  return table.findHeaderProblem?.(found, header.length)
}
