/** Splits a line of a table into its cells. The only file that uses csv-parse. */
import { CsvError, parse } from 'csv-parse/sync'

/** The most frequent delimiter of a line; any of them if the line has only one cell. */
export function detectDelimiter(header: string): string {
  const counts = ['\t', ',', ';', '|'].map((mark) => ({ mark, count: header.split(mark).length }))
  return counts.reduce((best, next) => (next.count > best.count ? next : best)).mark
}

/** Splits a line into cells, trimmed and unquoted; `undefined` for a misplaced quote. */
export function splitCells(line: string, delimiter: string): string[] | undefined {
  return line.includes('"')
    ? (splitPlainlyQuoted(line, delimiter) ?? splitQuoted(line, delimiter))
    : line.split(delimiter).map((cell) => cell.trim())
}

/**
 * Fast path for lines whose cells are either fully quoted or unquoted, as nearly all are; `undefined`
 * for any other line.
 */
function splitPlainlyQuoted(line: string, delimiter: string): string[] | undefined {
  const cells: string[] = []
  for (let at = 0; at <= line.length; ) {
    const end = findCellEnd(line, at, delimiter)
    if (end === undefined) return undefined
    const cell = line.slice(at, end).trim()
    cells.push(cell.startsWith('"') ? cell.slice(1, -1).trim() : cell)
    at = end + 1
  }
  return cells
}

function findCellEnd(line: string, at: number, delimiter: string): number | undefined {
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
