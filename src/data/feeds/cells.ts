/** Splits a row of a table into its cells. The only file that uses csv-parse. */
import { CsvError, parse } from 'csv-parse/sync'

/** The most frequent delimiter of a line; `undefined` if the line has only one cell. */
export function detectDelimiter(line: string): string | undefined {
  const bare = line.replace(/"[^"]*"/g, '')
  const counts = ['\t', ',', ';', '|'].map((mark) => ({ mark, count: bare.split(mark).length }))
  const best = counts.reduce((best, next) => (next.count > best.count ? next : best))
  return best.count > 1 ? best.mark : undefined
}

/** Splits a row into cells, trimmed and unquoted; `undefined` for a misplaced quote. */
export function splitCells(line: string, delimiter: string): string[] | undefined {
  if (!line.includes('"')) return line.split(delimiter).map((cell) => toText(cell.trim()))
  const row = line.includes('="') ? line.replace(formulaCell, '$1"$2"') : line
  const cells = splitPlainlyQuoted(row, delimiter) ?? splitQuoted(row, delimiter)
  return cells?.map(toText)
}

/** Some programs write ="2125550101", so that a spreadsheet treats the text as text. */
const formulaCell = /(^|[\t,;|]\s*)="([^"]*)"(?=\s*(?:[\t,;|]|$))/g

/** Removes the marks that make a spreadsheet treat a cell as text: an apostrophe, or a formula. */
function toText(cell: string): string {
  if (cell.startsWith("'")) return cell.replace(/^'(?=[\d(+=@-])/, '')
  return cell.startsWith('="') ? cell.replace(/^="([^"]*)"$/, '$1').trim() : cell
}

/** Whether the row continues in the next line, because a quote at the beginning of a cell is not closed. */
export function hasOpenQuote(row: string, delimiter: string): boolean {
  for (let at = 0; at < row.length; ) {
    while (row[at] === ' ' || row[at] === '=') at += 1
    if (row[at] === '"') {
      at = findQuoteEnd(row, at + 1)
      if (at === -1) return true
    }
    const end = row.indexOf(delimiter, at)
    if (end === -1) return false
    at = end + 1
  }
  return false
}

/** Position of the quote that closes a cell; -1 for none. A doubled quote is one in the text. */
function findQuoteEnd(row: string, from: number): number {
  for (let at = row.indexOf('"', from); at !== -1; at = row.indexOf('"', at + 2)) {
    if (row[at + 1] !== '"') return at
  }
  return -1
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

/** Reduces a column name to lower-case letters and digits. */
export function normalizeColumnName(cell: string): string {
  return cell
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
}
