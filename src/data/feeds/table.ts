/** Reads a table: finds its header and columns by name, and looks at what its columns hold. */
import { DataFileError, type FieldProblem, truncate } from '../../errors.js'
import type { SourceFile } from '../files/source-file.js'
import type { BadLine } from './bad-lines.js'
import { normalizeColumnName } from './cells.js'
import { ColumnContents, RowFilter } from './column-contents.js'
import { TableDays } from './days.js'
import { splitNumbers } from './number-cells.js'
import { type RowsReader, readRows, type TableRow } from './rows.js'
import {
  findLayout,
  type Layout,
  type Row,
  type TableFormat,
  type TableOptions,
} from './table-layout.js'

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
  /** Notes about cells that look like numbers but were not read. */
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

/** Rows that are examined before the columns are chosen. */
const headRows = 20
/** Rows that are examined to describe the columns of a refused table. */
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
      // Without a header, only its content shows what a column is.
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
      const rule = `has ${cells.length} cells, but the ${layout.isRow ? 'table has' : 'header has'} only ${maxCells}`
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
