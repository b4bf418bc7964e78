/** Reads a file of numbers to be called: one a line, or a CSV whose header names the columns. */
import { type BadLine, describeBadLine } from '../data/feeds/bad-lines.js'
import { readSourceLines } from '../data/feeds/source-lines.js'
import { delimiterOf, splitCells } from '../data/feeds/table.js'
import { parseDialed } from '../domain/phone-number.js'
import { DataFileError, shorten } from '../errors.js'
import { type NumberToWarm, readNumberToWarm } from '../gate/warm-numbers.js'

export interface ListedNumber extends NumberToWarm {
  /** From 1. */
  readonly line: number
}

export interface NumbersFile {
  readonly numbers: readonly ListedNumber[]
  /** Lines that hold no number anybody can be asked about. */
  readonly refused: readonly BadLine[]
}

interface Layout {
  readonly delimiter: string
  readonly numberAt: number
  readonly postalAt: number
}

/**
 * Names of columns as letters and digits in lower case; the digits of `phone1` say nothing more. A
 * column called `number` alone may be one of running numbers, so the others go before it.
 */
const numberColumns = [
  /^(?:home|work|cell|mobile|contact|customer|primary)?(?:tele)?phone(?:number|no)?\d*$/,
  /^(?:mobile|cell|tel)(?:number|no)?\d*$/,
  /^number\d*$/,
]
const shownColumns = "'phone', 'telephone', 'mobile', 'cell' or 'number'"
const postalColumns = ['postal', 'postalcode', 'postcode', 'zip', 'zipcode']

/**
 * Blank lines and `#` comments are passed over; text, gzip or zip. Throws {@link DataFileError} for
 * a file that is missing, empty, a web page or without a number, and for a first row that neither
 * holds a telephone number nor names a column of them.
 */
export async function readNumbersFile(
  path: string,
  serviceCodes: ReadonlySet<string>,
): Promise<NumbersFile> {
  const numbers: ListedNumber[] = []
  const refused: BadLine[] = []
  let layout: Layout | undefined
  await readSourceLines(path, (text, line) => {
    const row = text.trim()
    if (row === '' || row.startsWith('#')) return
    if (!layout) {
      const first = readFirstRow(row, path, serviceCodes)
      layout = first.layout
      if (first.isHeader) return
    }
    const read = readRow(row, layout, serviceCodes)
    if (typeof read === 'string') refused.push({ file: path, line, value: row, rule: read })
    else numbers.push({ ...read, line })
  })
  if (numbers.length > 0) return { numbers, refused }
  const rule = 'holds no number that anybody can be asked about'
  throw new DataFileError(path, [rule, ...describeRefused(refused)].join('\n  '))
}

interface FirstRow {
  readonly layout: Layout
  readonly isHeader: boolean
}

/** Names of columns, else data whose first telephone number shows where the numbers are. */
function readFirstRow(row: string, path: string, serviceCodes: ReadonlySet<string>): FirstRow {
  const delimiter = delimiterOf(row)
  const cells = splitCells(row, delimiter) ?? []
  const names = cells.map((cell) => cell.toLowerCase().replace(/[^a-z0-9]/g, ''))
  const named = numberColumns
    .map((pattern) => names.findIndex((name) => pattern.test(name)))
    .find((at) => at >= 0)
  if (named !== undefined) {
    const postalAt = names.findIndex((name) => postalColumns.includes(name))
    return { layout: { delimiter, numberAt: named, postalAt }, isHeader: true }
  }
  const numberAt = cells.findIndex((cell) => isTelephoneNumber(cell, serviceCodes))
  if (numberAt >= 0) return { layout: { delimiter, numberAt, postalAt: -1 }, isHeader: false }
  const rule = `the first row must hold a telephone number, or name a column ${shownColumns}`
  throw new DataFileError(path, `'${shorten(row)}': ${rule}`)
}

/** Also one that nobody is asked about. Few digits may be anything. */
function isTelephoneNumber(cell: string, serviceCodes: ReadonlySet<string>): boolean {
  const { kind } = parseDialed(cell, serviceCodes)
  return kind === 'nanp' || kind === 'foreign' || kind === 'service-code'
}

function readRow(
  row: string,
  { delimiter, numberAt, postalAt }: Layout,
  serviceCodes: ReadonlySet<string>,
): NumberToWarm | string {
  const cells = splitCells(row, delimiter)
  if (!cells) return 'has a quote that is out of place or not closed'
  const number = cells[numberAt]
  if (number === undefined) return `has ${cells.length} cells, and no number among them`
  const postalCode = postalAt < 0 ? undefined : cells[postalAt]
  return readNumberToWarm({ number, postalCode }, serviceCodes)
}

const mostShown = 20

/** The first lines that were refused, for the operator's eyes, and how many of `count` are not shown. */
export function describeRefused(
  refused: readonly BadLine[],
  count: number = refused.length,
): readonly string[] {
  const shown = refused.slice(0, mostShown).map(describeBadLine)
  return count > shown.length ? [...shown, `... and ${count - shown.length} more`] : shown
}
