/**
 * Reads files of any size with one telephone number per line. Splits the bytes into lines, skips blank
 * lines and `#` comments, and rejects files that are not lists; the {@link LineFormat} parses the rest.
 * CR LF, a byte order mark and one header line are always allowed.
 */
import { DataFileError, truncate } from '../../../errors.js'
import { formatSourcePath, type SourceFile } from '../../files/source-file.js'
import {
  type LineBytesReader,
  maxLineBytes,
  newline,
  readLineBytes,
} from '../../files/text-lines.js'
import type { BadLine, BadLines } from '../bad-lines.js'

export type NumberSource = Pick<SourceFile, 'name' | 'path' | 'stream'>

/** Parses the lines of one kind of file. */
export interface LineFormat {
  /** Numbers or changes read so far. */
  readonly rows: number
  /** Numbers whose day is unreadable or in the future; they are read without a day. */
  readonly unreadDays: number
  /**
   * Fast path for nearly all lines of a large file: parses the line that begins at `start` and returns
   * where the next one begins, or 0 if the line must be parsed as text. `bytes` ends with a newline.
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
  const lines = new NumberLines(source, format, badLines)
  await readLineBytes(source.stream, lines)
  badLines.requireWithinLimit()
  const { rows, unreadDays } = format
  return { rows, unreadDays, isBlank: !lines.hasData, header: lines.header }
}

export const carriageReturn = 0x0d
export const comma = 0x2c
export const quote = 0x22
const zero = 0x30

/**
 * Lines are parsed from bytes, since a registry has 259 million of them and decoding each as text would
 * take several times as long as the rest of the import.
 */
class NumberLines implements LineBytesReader {
  readonly #source: NumberSource
  readonly #format: LineFormat
  readonly #badLines: BadLines
  #lineNumber = 0
  /** Whether any line was neither blank nor a comment. */
  hasData = false
  header: AssumedHeader | undefined
  /** Whether the current line is the last one and has no line break. */
  #unterminated = false

  constructor(source: NumberSource, format: LineFormat, badLines: BadLines) {
    this.#source = source
    this.#format = format
    this.#badLines = badLines
  }

  end(line: Buffer): void {
    this.#unterminated = true
    this.push(Buffer.concat([line, Buffer.of(newline)]))
  }

  refuseLongLine(): never {
    const where = `line ${this.#lineNumber + 1} is longer than ${maxLineBytes} bytes`
    throw new DataFileError(
      formatSourcePath(this.#source),
      `${where}: this is not a list of numbers`,
    )
  }

  push(lines: Buffer): void {
    const format = this.#format
    let at = 0
    while (at < lines.length) {
      this.#lineNumber += 1
      const next = format.parseFast(lines, at)
      if (next > 0) {
        this.hasData = true
        at = next
        continue
      }
      const end = lines.indexOf(newline, at)
      this.#readText(lines.toString('latin1', at, end))
      at = end + 1
    }
  }

  #readText(text: string): void {
    const line = (this.#lineNumber === 1 ? text.replace(/^\xef\xbb\xbf/, '') : text).trim()
    this.#refuseCarriageReturns(line)
    if (line === '' || line.startsWith('#')) return
    const isFirst = !this.hasData
    this.hasData = true
    const { rows } = this.#format
    const rule = this.#format.parseLine(line, isFirst)
    const place = { file: this.#source.name, line: this.#lineNumber, value: line }
    if (rule === undefined) {
      if (this.#format.rows === rows) this.header = { ...place, value: asUtf8(line) }
      return
    }
    this.#refuseTruncated(line, isFirst)
    const isHeaderRefused = isFirst && headerStart.test(line)
    this.#badLines.add({ ...place, rule: isHeaderRefused ? `${rule}; ${headerRule}` : rule })
  }

  /** Otherwise a file with CR line breaks would be read as one line, and all numbers but the first lost. */
  #refuseCarriageReturns(line: string): void {
    if (!line.includes('\r')) return
    const where = `line ${this.#lineNumber} '${truncate(line.replaceAll('\r', '\\r'))}'`
    const rule = 'contains a carriage return; lines must end with LF or CR LF'
    throw new DataFileError(formatSourcePath(this.#source), `${where}: ${rule}`)
  }

  /** Throws regardless of the allowed bad lines, since the file as a whole is wrong. */
  #refuseTruncated(line: string, isFirst: boolean): void {
    const isPage = isFirst && line.startsWith('<')
    const isCut = this.#unterminated && this.#format.isTruncated(line)
    if (!isPage && !isCut) return
    const advice = isPage ? 'this is a web page, not a list' : 'the last line is cut off'
    const where = `line ${this.#lineNumber} '${truncate(line)}'`
    throw new DataFileError(
      formatSourcePath(this.#source),
      `${where}: ${advice}; download it again`,
    )
  }
}

const headerStart = /^["']?[A-Za-z\xc0-\xff]/

/** Few enough that a number with up to three damaged digits is not taken for a header. */
const maxHeaderDigits = 6
export const headerRule = `a header must not contain more than ${maxHeaderDigits} digits`

/** Whether a line, as ISO 8859-1, begins like a header and {@link hasHeaderDigits}. */
export function isHeaderLike(line: string): boolean {
  return headerStart.test(line) && hasHeaderDigits(line)
}

/**
 * Whether a line, as ISO 8859-1, has few enough digits to be a header. Digits of every script count.
 * UTF-16, whose digits cannot be counted here, is not supported.
 */
export function hasHeaderDigits(line: string): boolean {
  if (/\0|^\xff\xfe|^\xfe\xff/.test(line)) return false
  return (asUtf8(line).match(/\p{N}/gu) ?? []).length <= maxHeaderDigits
}

function asUtf8(line: string): string {
  return Buffer.from(line, 'latin1').toString('utf8')
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
