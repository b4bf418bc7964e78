/** Reads a file of numbers to be called: one a line, or a CSV whose header names the columns. */
import { type BadLine, describeBadLine } from '../data/feeds/bad-lines.js'
import { readSourceLines } from '../data/feeds/source-lines.js'
import { delimiterOf, splitCells } from '../data/feeds/table.js'
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

/** As letters and digits in lower case. */
const numberColumns = ['number', 'phone', 'phonenumber', 'telephone', 'telephonenumber']
const postalColumns = ['postal', 'postalcode', 'postcode', 'zip', 'zipcode']

/**
 * Blank lines and `#` comments are passed over; text, gzip or zip. Throws {@link DataFileError} for
 * a file that is missing, empty or a web page, and for a header that names no column of numbers.
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
    const header = layout ? undefined : layoutOf(row, path)
    layout ??= header ?? { delimiter: delimiterOf(row), numberAt: 0, postalAt: -1 }
    if (header) return
    const read = readRow(row, layout, serviceCodes)
    if (typeof read === 'string') refused.push({ file: path, line, value: row, rule: read })
    else numbers.push({ ...read, line })
  })
  return { numbers, refused }
}

/** `undefined` for a line that holds a number instead of names. */
function layoutOf(row: string, path: string): Layout | undefined {
  const delimiter = delimiterOf(row)
  const names = (splitCells(row, delimiter) ?? []).map((cell) =>
    cell.toLowerCase().replace(/[^a-z0-9]/g, ''),
  )
  const numberAt = names.findIndex((name) => numberColumns.includes(name))
  const postalAt = names.findIndex((name) => postalColumns.includes(name))
  if (numberAt >= 0) return { delimiter, numberAt, postalAt }
  if (/\d/.test(row)) return undefined
  const rule = `no column ${numberColumns.map((name) => `'${name}'`).join(' or ')}`
  throw new DataFileError(path, `'${shorten(row)}': ${rule}, and no number`)
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

/** The first lines that were refused, for the operator's eyes. */
export function describeRefused(refused: readonly BadLine[]): readonly string[] {
  const shown = refused.slice(0, mostShown).map(describeBadLine)
  return refused.length > mostShown
    ? [...shown, `... and ${refused.length - mostShown} more`]
    : shown
}
