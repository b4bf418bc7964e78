/**
 * A downloaded table: finds its delimiter and its columns by name and hands on one row at a time.
 * A row is a line, each judged alone, so that a stray quote spoils one row and not the rest of the
 * file; what a row must hold is left to the reader of each format. The one door to csv-parse.
 */
import { CsvError, parse } from 'csv-parse/sync'
import { DataFileError, describeProblem, type FieldProblem, shorten } from '../../errors.js'
import type { BadLine } from './bad-lines.js'
import { type Progress, readSourceLines, type SourceLines } from './source-lines.js'

/** A row that could not be used; `line` counts from 1 and includes the header. */
export interface BadRow {
  readonly line: number
  readonly reason: string
}

/** Column name of ours -> the header names it may have, as letters and digits in lower case. */
export type Columns<Name extends string> = Readonly<Record<Name, readonly string[]>>

export type Row<Name extends string> = Readonly<Record<Name, string>>

export interface TableRead extends SourceLines {
  /** Header cells as written, trimmed. */
  readonly header: readonly string[]
  /** Data rows, without header, blank lines and comments. */
  readonly rows: number
  readonly bad: readonly BadRow[]
}

export interface TableOptions<Name extends string> {
  readonly path: string
  readonly columns: Columns<Name>
  /** Columns a file may lack; their cells are then empty. */
  readonly optional?: readonly NoInfer<Name>[]
  /** What the file should be, for the message when its header is another one's. */
  readonly what: string
  /** Gives the problem that makes the row unusable, if there is one. */
  readonly onRow: (
    row: Row<Name>,
    line: number,
    cells: readonly string[],
  ) => FieldProblem | undefined
  /** Told of every row that is listed in `bad`, when it is met. */
  readonly rejects?: ((bad: BadLine) => void) | undefined
  readonly onProgress?: Progress | undefined
}

/** Reads the table; every data row is either accepted by `onRow` or listed in `bad`. */
export async function readTable<Name extends string>(
  options: TableOptions<Name>,
): Promise<TableRead> {
  const bad: BadRow[] = []
  let layout: Layout<Name> | undefined
  let rows = 0
  const read = await readSourceLines(
    options.path,
    (line, number, file) => {
      if (line.trim() === '' || line.startsWith('#')) return
      if (!layout) {
        layout = layoutOf(options, line, number)
        return
      }
      rows += 1
      const problem = readRow(options, layout, line, number)
      if (!problem) return
      bad.push({ line: number, reason: describeProblem(problem) })
      options.rejects?.(badLineOf(problem, file, number))
    },
    options.onProgress,
  )
  if (!layout) throw new DataFileError(options.path, `holds no header; is it ${options.what}?`)
  return { ...read, header: layout.header, rows, bad }
}

function badLineOf({ field, value = '', rule }: FieldProblem, file: string, line: number): BadLine {
  return { file, line, value, rule: `${field} ${rule}` }
}

interface Layout<Name extends string> {
  readonly delimiter: string
  readonly header: readonly string[]
  readonly names: readonly Name[]
  readonly positions: readonly number[]
}

function layoutOf<Name extends string>(
  { path, columns, optional = [], what }: TableOptions<Name>,
  line: string,
  number: number,
): Layout<Name> {
  const delimiter = delimiterOf(line)
  const header = splitCells(line, delimiter) ?? []
  const known = header.map((cell) => cell.toLowerCase().replace(/[^a-z0-9]/g, ''))
  const names = Object.keys(columns) as Name[]
  const positions = names.map((name) => known.findIndex((cell) => columns[name].includes(cell)))
  const missing = names.filter((name, index) => positions[index] === -1 && !optional.includes(name))
  if (missing.length > 0) {
    const asked = missing.map((name) => `'${columns[name].join("' or '")}'`).join(', ')
    throw new DataFileError(
      path,
      `line ${number} '${shorten(line.trim())}': no column ${asked}; must be the header of ${what}`,
    )
  }
  return { delimiter, header, names, positions }
}

/** The mark that parts the cells of a line; any of them when the line has one cell. */
export function delimiterOf(header: string): string {
  const counts = ['\t', ',', ';', '|'].map((mark) => ({ mark, count: header.split(mark).length }))
  return counts.reduce((best, next) => (next.count > best.count ? next : best)).mark
}

function readRow<Name extends string>(
  options: TableOptions<Name>,
  layout: Layout<Name>,
  line: string,
  number: number,
): FieldProblem | undefined {
  const cells = splitCells(line, layout.delimiter)
  if (!cells)
    return { field: 'row', value: line, rule: 'has a quote that is out of place or not closed' }
  const row = {} as Record<Name, string>
  for (let index = 0; index < layout.names.length; index += 1) {
    const name = layout.names[index]
    const position = layout.positions[index] ?? -1
    if (name === undefined) continue
    const cell = position === -1 ? '' : cells[position]
    if (cell === undefined) {
      return { field: name, rule: `missing: the row has ${cells.length} cells` }
    }
    row[name] = cell
  }
  return options.onRow(row, number, cells)
}

/** Cells of a line, trimmed and without quotes; `undefined` when a quote stands where none may. */
export function splitCells(line: string, delimiter: string): string[] | undefined {
  return line.includes('"')
    ? (splitPlainlyQuoted(line, delimiter) ?? splitQuoted(line, delimiter))
    : line.split(delimiter).map((cell) => cell.trim())
}

/**
 * Cells that are quoted whole or not at all and hold no quote, as nearly every row of a report of
 * millions has them; `undefined` for any other line.
 */
function splitPlainlyQuoted(line: string, delimiter: string): string[] | undefined {
  const cells: string[] = []
  for (let at = 0; at <= line.length; ) {
    const end = endOfPlainCell(line, at, delimiter)
    if (end === undefined) return undefined
    const cell = line.slice(at, end).trim()
    cells.push(cell.startsWith('"') ? cell.slice(1, -1).trim() : cell)
    at = end + 1
  }
  return cells
}

function endOfPlainCell(line: string, at: number, delimiter: string): number | undefined {
  const end = indexOrEnd(line, delimiter, at)
  const open = line.indexOf('"', at)
  if (open === -1 || open > end) return end
  const close = line.indexOf('"', open + 1)
  if (close === -1 || line.slice(at, open).trim() !== '') return undefined
  const quotedEnd = indexOrEnd(line, delimiter, close)
  return line.slice(close + 1, quotedEnd).trim() === '' ? quotedEnd : undefined
}

function indexOrEnd(line: string, mark: string, from: number): number {
  const found = line.indexOf(mark, from)
  return found === -1 ? line.length : found
}

function splitQuoted(line: string, delimiter: string): string[] | undefined {
  try {
    const [cells = []] = parse(line, {
      delimiter,
      record_delimiter: '\n',
      trim: true,
      relax_quotes: false,
      relax_column_count: true,
    })
    return cells.map((cell) => cell.trim())
  } catch (cause) {
    if (cause instanceof CsvError) return undefined
    throw cause
  }
}
