/**
 * Reads files of any size whose lines have a published form: ported numbers and changes. Skips blank lines and `#` comments, and rejects
 * files that are not lists; the {@link LineFormat} parses the rest. A byte order mark and one header line are always allowed.
 */
import { DataFileError, truncate } from '../../../errors.js'
import { formatSourcePath, type SourceFile } from '../../files/source-file.js'
import { readTextLines } from '../../files/text-lines.js'
import type { BadLine, BadLines } from '../bad-lines.js'

export type NumberSource = Pick<SourceFile, 'name' | 'path' | 'stream'>

/** Parses the lines of one kind of file. */
export interface LineFormat {
  /** Numbers or changes read so far. */
  readonly rows: number
  /** Numbers whose day is unreadable or in the future; they are read without a day. */
  readonly unreadDays: number
  /**
   * Fast path for nearly all lines of a large file; see `LineReader`.
   */
  parseFast(bytes: Buffer, start: number): number
  /**
   * Parses a trimmed line that is neither blank nor a comment. Returns an error text if it is bad. The
   * first line may be a header, which is not bad.
   */
  parseLine(line: string, isFirst: boolean): string | undefined
  /** Whether a bad last line without a line break may be a valid line that was cut off. */
  isTruncated(line: string): boolean
}

/** A first line that was read as a header. */
export type AssumedHeader = Pick<BadLine, 'file' | 'line' | 'value'>

export interface NumberLinesSummary extends Pick<LineFormat, 'rows' | 'unreadDays'> {
  /** Whether every line is blank or a comment, as in an empty file. */
  readonly isBlank: boolean
  readonly header: AssumedHeader | undefined
}

/**
 * Passes every line to the format. Throws {@link DataFileError} for a web page, for a file that ends in
 * the middle of a line and for too many bad lines; the caller must then discard what was read.
 */
export async function readNumberLines(
  source: NumberSource,
  format: LineFormat,
  badLines: BadLines,
): Promise<NumberLinesSummary> {
  let hasData = false
  let header: AssumedHeader | undefined
  await readTextLines(
    { path: formatSourcePath(source), stream: source.stream },
    {
      parseFast(bytes, start) {
        const next = format.parseFast(bytes, start)
        if (next > 0) hasData = true
        return next
      },
      onLine(text, number, ended) {
        const line = text.trim()
        if (line === '' || line.startsWith('#')) return
        const isFirst = !hasData
        hasData = true
        const { rows } = format
        const rule = format.parseLine(line, isFirst)
        const place = { file: source.name, line: number, value: line }
        if (rule === undefined) {
          if (format.rows === rows) header = place
          return
        }
        // Even if bad lines are allowed, since the whole file is wrong.
        if (!ended && format.isTruncated(line)) refuseTruncated(source, place)
        const isHeaderRefused = isFirst && headerStart.test(line)
        badLines.add({ ...place, rule: isHeaderRefused ? `${rule}; ${headerRule}` : rule })
      },
    },
  )
  badLines.requireWithinLimit()
  const { rows, unreadDays } = format
  return { rows, unreadDays, isBlank: !hasData, header }
}

function refuseTruncated(source: NumberSource, { line, value }: Omit<BadLine, 'rule'>): never {
  const where = `line ${line} '${truncate(value)}'`
  throw new DataFileError(
    formatSourcePath(source),
    `${where}: the last line is cut off; download it again`,
  )
}

export const newline = 0x0a
export const carriageReturn = 0x0d
export const comma = 0x2c
const zero = 0x30

/** Matches letters, and digits of other scripts, which are never read as a number. */
export const headerStart = /^["']?(?:\p{L}|(?!\d)\p{N})/u

/** Few enough that a number with up to three damaged digits is not taken for a header. */
const maxHeaderDigits = 6
export const headerRule = `a header must not contain more than ${maxHeaderDigits} digits`

/** Whether a line begins like a header and {@link hasHeaderDigits}. */
export function isHeaderLike(line: string): boolean {
  return headerStart.test(line) && hasHeaderDigits(line)
}

/** Whether a line has few enough digits to be a header. Digits of every script count. */
export function hasHeaderDigits(line: string): boolean {
  return (line.match(/\p{N}/gu) ?? []).length <= maxHeaderDigits
}

/** Whether a line may be the cut-off start of a line that begins with a ten-digit number. */
export function isTruncatedNumber(line: string): boolean {
  return /^["\d][\d",\s]*$/.test(line) && line.replace(/\D/g, '').length < 10
}

/** Parses `count` digits; -1 if one of the bytes is not a digit. */
export function parseDigits(bytes: Buffer, at: number, count: number): number {
  let value = 0
  for (let place = at; place < at + count; place += 1) {
    const digit = (bytes[place] ?? 0) - zero
    if (digit < 0 || digit > 9) return -1
    value = value * 10 + digit
  }
  return value
}
