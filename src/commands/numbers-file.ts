/** Reads a file of phone numbers: one per line, or a table. */
import { type BadLine, describeBadLine } from '../data/feeds/bad-lines.js'
import { hasOnlyNumbers, numberColumnNames, readAnyNumber } from '../data/feeds/number-cells.js'
import { readTable } from '../data/feeds/table.js'
import type { TableFormat, TableOptions } from '../data/feeds/table-layout.js'
import { computeReadDigest, openSourceFile, tablePattern } from '../data/files/source-file.js'
import { parseDialString } from '../domain/phone-number.js'
import { DataFileError } from '../errors.js'
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

const columns = {
  number: numberColumnNames,
  postal: ['postal', 'postalcode', 'postcode', 'zip', 'zipcode'],
} as const

export const numbersFileColumns = Object.keys(columns)

/** A number of the file, or a row without one. */
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
  readonly serviceCodes: ReadonlySet<string>
  readonly table?: TableOptions | undefined
  onLine(line: NumbersLine): void
  /** Awaited after some thousands of lines, before more are read. */
  afterChunk?(): Promise<void>
  /** Called with the bytes of the file on disk read so far, and their total. */
  onBytes?(done: number, total: number): void
}

function describeTable(serviceCodes: ReadonlySet<string>): TableFormat<keyof typeof columns> {
  /** Accepts foreign numbers and service codes, but no other short digit strings. */
  const isNumber = (cell: string) => {
    const { kind } = parseDialString(cell, serviceCodes)
    return ['nanp', 'foreign', 'service-code'].includes(kind) || hasOnlyNumbers(cell)
  }
  return {
    description: 'a list of telephone numbers',
    columns,
    optional: ['postal'],
    columnsWithoutHeader: {
      isRow: (cells) => cells.some(isNumber),
      order: (cells) => [...Array(cells.findIndex(isNumber)).fill(undefined), 'number'],
    },
    numberColumn: 'number',
    firstOf: ['postal'],
    hasLooseWidth: 'any',
    mayBeCutOff: () => false,
    mayBeEmpty: true,
  }
}

/**
 * Reads text, gzip or zip; blank lines and `#` comments are skipped. Throws {@link DataFileError} for a file that is missing, empty or a
 * web page, and for one whose columns of numbers must be named.
 */
export async function readNumbersLines(path: string, reader: NumbersFileReader): Promise<void> {
  const source = await openSourceFile(path, {
    entryPattern: tablePattern,
    onBytes: (done) => reader.onBytes?.(done, source.bytesTotal),
  })
  await readTable<keyof typeof columns>({
    source,
    table: describeTable(reader.serviceCodes),
    options: reader.table,
    readRow({ number, postal }, { line, text, found }) {
      const isDialable = parseDialString(number, reader.serviceCodes).kind !== 'invalid'
      const read = isDialable ? undefined : readAnyNumber(number)
      reader.onLine({
        line,
        text: text.trim(),
        number: typeof read === 'string' ? read : number,
        postalCode: found.has('postal') ? postal : undefined,
      })
      return undefined
    },
    onBadRow: ({ line, value, rule }) => reader.onLine({ line, text: value, problem: rule }),
    onRow: () => undefined,
    afterChunk: () => reader.afterChunk?.() ?? Promise.resolve(),
  })
  await reader.afterChunk?.()
  // Throws if the file changed while it was read.
  await computeReadDigest(source)
  if (source.bytesTotal === 0) throw new DataFileError(path, 'is empty')
}

/** Collects the numbers of a file. Throws as {@link readNumbersLines} does, and for one without any. */
export async function readNumbersFile(
  path: string,
  { serviceCodes, table }: Pick<NumbersFileReader, 'serviceCodes' | 'table'>,
): Promise<NumbersFile> {
  const numbers: ListedNumber[] = []
  const refused: BadLine[] = []
  await readNumbersLines(path, {
    serviceCodes,
    table,
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

const maxShownLines = 20

/** The first refused lines, and how many of `count` are not shown. */
export function describeRefused(
  refused: readonly BadLine[],
  count: number = refused.length,
): readonly string[] {
  const shown = refused.slice(0, maxShownLines).map(describeBadLine)
  return count > shown.length ? [...shown, `... and ${count - shown.length} more`] : shown
}
