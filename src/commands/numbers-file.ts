/** Reads a file of phone numbers: one per line, or CSV with a header. */
import { type BadLine, describeBadLine } from '../data/feeds/bad-lines.js'
import { detectDelimiter, splitCells } from '../data/feeds/cells.js'
import { computeReadDigest, openSourceFile, tablePattern } from '../data/files/source-file.js'
import { readTextLines } from '../data/files/text-lines.js'
import { parseDialString } from '../domain/phone-number.js'
import { DataFileError, truncate } from '../errors.js'
import { parseWarmupNumber, type WarmupNumber } from '../sources/warming/read-warmup-numbers.js'

export interface ListedNumber extends WarmupNumber {
  /** Line number, starting at 1. */
  readonly line: number
}

export interface NumbersFile {
  readonly numbers: readonly ListedNumber[]
  /** Lines without a number that can be looked up. */
  readonly refused: readonly BadLine[]
}

interface Layout {
  readonly delimiter: string
  readonly numberAt: number
  readonly postalAt: number
}

/**
 * Column names, normalized to lower-case letters and digits; digits at the end, as in `phone1`, are
 * ignored. A column called just `number` may be a row number, so it is tried last.
 */
const numberColumns = [
  /^(?:home|work|cell|mobile|contact|customer|primary)?(?:tele)?phone(?:number|no)?\d*$/,
  /^(?:mobile|cell|tel)(?:number|no)?\d*$/,
  /^number\d*$/,
]
const columnHint = "'phone', 'telephone', 'mobile', 'cell' or 'number'"
const postalColumns = ['postal', 'postalcode', 'postcode', 'zip', 'zipcode']

/** A line of the file, except for blank lines, comments and the header. */
export interface NumbersLine {
  /** Line number, starting at 1. */
  readonly line: number
  readonly text: string
  /** As in its cell; absent if the cell cannot be found. */
  readonly number?: string | undefined
  readonly postalCode?: string | undefined
  /** Why the cell cannot be found. */
  readonly problem?: string | undefined
}

export interface NumbersFileReader {
  onLine(line: NumbersLine): void
  /** Awaited after some thousands of lines, before more are read. */
  afterChunk?(): Promise<void>
  /** Called with the bytes of the file on disk read so far, and their total. */
  onBytes?(done: number, total: number): void
}

/**
 * Reads text, gzip or zip line by line; blank lines and `#` comments are skipped. Throws
 * {@link DataFileError} for a file that is missing, empty or a web page, and for a first row that has
 * neither a telephone number nor the name of a number column.
 */
export async function readNumbersLines(
  path: string,
  serviceCodes: ReadonlySet<string>,
  reader: NumbersFileReader,
): Promise<void> {
  let layout: Layout | undefined
  const source = await openSourceFile(path, {
    entryPattern: tablePattern,
    onBytes: (done) => reader.onBytes?.(done, source.bytesTotal),
  })
  let isEmpty = true
  await readTextLines(
    source,
    (text, line) => {
      isEmpty = false
      const row = text.trim()
      if (row === '' || row.startsWith('#')) return
      if (!layout) {
        const first = readFirstRow(row, path, serviceCodes)
        layout = first.layout
        if (first.isHeader) return
      }
      reader.onLine({ line, text: row, ...readRow(row, layout) })
    },
    () => reader.afterChunk?.() ?? Promise.resolve(),
  )
  // Throws if the file changed while it was read.
  await computeReadDigest(source)
  if (isEmpty) throw new DataFileError(path, 'is empty')
}

/** Collects the numbers of a file. Throws as {@link readNumbersLines} does, and for one without any. */
export async function readNumbersFile(
  path: string,
  serviceCodes: ReadonlySet<string>,
): Promise<NumbersFile> {
  const numbers: ListedNumber[] = []
  const refused: BadLine[] = []
  await readNumbersLines(path, serviceCodes, {
    onLine({ line, text, number, postalCode, problem }) {
      const read = problem ?? parseWarmupNumber({ number, postalCode }, serviceCodes)
      if (typeof read === 'string') refused.push({ file: path, line, value: text, rule: read })
      else numbers.push({ ...read, line })
    },
  })
  if (numbers.length > 0) return { numbers, refused }
  const rule = 'contains no number that can be looked up'
  throw new DataFileError(path, [rule, ...describeRefused(refused)].join('\n  '))
}

interface FirstRow {
  readonly layout: Layout
  readonly isHeader: boolean
}

/** The first row is a header, or data whose first telephone number shows which column has the numbers. */
function readFirstRow(row: string, path: string, serviceCodes: ReadonlySet<string>): FirstRow {
  const delimiter = detectDelimiter(row)
  const cells = splitCells(row, delimiter) ?? []
  const names = cells.map((cell) => cell.toLowerCase().replace(/[^a-z0-9]/g, ''))
  const headerAt = numberColumns
    .map((pattern) => names.findIndex((name) => pattern.test(name)))
    .find((at) => at >= 0)
  if (headerAt !== undefined) {
    const postalAt = names.findIndex((name) => postalColumns.includes(name))
    return { layout: { delimiter, numberAt: headerAt, postalAt }, isHeader: true }
  }
  const numberAt = cells.findIndex((cell) => isTelephoneNumber(cell, serviceCodes))
  if (numberAt >= 0) return { layout: { delimiter, numberAt, postalAt: -1 }, isHeader: false }
  const rule = `the first row must contain a telephone number or a column named ${columnHint}`
  throw new DataFileError(path, `'${truncate(row)}': ${rule}`)
}

/** Accepts foreign numbers and service codes, but no other short digit strings. */
function isTelephoneNumber(cell: string, serviceCodes: ReadonlySet<string>): boolean {
  const { kind } = parseDialString(cell, serviceCodes)
  return kind === 'nanp' || kind === 'foreign' || kind === 'service-code'
}

function readRow(
  row: string,
  { delimiter, numberAt, postalAt }: Layout,
): Pick<NumbersLine, 'number' | 'postalCode' | 'problem'> {
  const cells = splitCells(row, delimiter)
  if (!cells) return { problem: 'has a misplaced or unclosed quote' }
  const number = cells[numberAt]
  const problem = `has only ${cells.length} cells, so the number column is missing`
  if (number === undefined) return { problem }
  return { number, postalCode: postalAt < 0 ? undefined : cells[postalAt] }
}

const maxShownLines = 20

/** The first refused lines, and how many of `count` are not shown. */
export function describeRefused(
  refused: readonly BadLine[],
  count: number = refused.length,
): readonly string[] {
  const shown = refused.slice(0, maxShownLines).map(describeBadLine)
  return count > shown.length ? [...shown, `... and ${count - shown.length} more`] : shown
}
