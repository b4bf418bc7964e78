/**
 * Reads files of a telephone number a line, however large: cuts the bytes into lines, knows what is
 * no data and what is no list at all, and leaves what a line means to its format. Blank lines, `#`
 * comments, CR LF, a byte order mark and one line of column names are allowed everywhere.
 */
import { DataFileError, shorten } from '../../errors.js'
import type { BadLine, BadLines } from './bad-lines.js'
import { placeOf, type SourceFile } from './open-source-file.js'

export type NumberSource = Pick<SourceFile, 'name' | 'path' | 'stream'>

/** What the lines of one kind of file mean. */
export interface LineFormat {
  /** Numbers or changes taken so far. */
  readonly rows: number
  /**
   * The quick way for nearly all lines of a large file: takes the line that begins at `start` and
   * gives where the next one does, or 0 to have it read as text. `bytes` ends with a newline.
   */
  quick(bytes: Buffer, start: number): number
  /**
   * Takes a line that is trimmed and neither blank nor a comment. Gives the rule it breaks, if any.
   * The first one may be a line of column names, which breaks none.
   */
  text(line: string, isFirst: boolean): string | undefined
  /** Whether a last line without a line end, which breaks a rule, may be the start of a good one. */
  isCut(line: string): boolean
}

/** A first line that was taken for column names. */
export type TakenHeader = Pick<BadLine, 'file' | 'line' | 'value'>

export interface LinesRead {
  /** Whether every line is blank or a comment, as in an empty file. */
  readonly blank: boolean
  readonly header: TakenHeader | undefined
}

/**
 * Hands every line to the format. Throws
 * {@link DataFileError} for a web page, for a file that ends in the middle of a line and when too
 * many lines are bad: what the format was given is then to be dropped.
 */
export async function readNumberLines(
  source: NumberSource,
  format: LineFormat,
  badLines: BadLines,
): Promise<LinesRead> {
  const lines = new NumberLines(source, format, badLines)
  for await (const chunk of source.stream as AsyncIterable<Buffer>) lines.push(chunk)
  lines.end()
  badLines.judge()
  return { blank: lines.blank, header: lines.header }
}

export const newline = 0x0a
export const carriageReturn = 0x0d
export const comma = 0x2c
export const quote = 0x22
const zero = 0x30

/** A longer line means that the file is no list of lines at all. */
const longestLine = 65_536

class NumberLines {
  readonly #source: NumberSource
  readonly #format: LineFormat
  readonly #badLines: BadLines
  /** The start of a line whose end has not come yet. */
  #rest: Buffer = Buffer.alloc(0)
  #lineNumber = 0
  /** Whether there was a line that is neither blank nor a comment. */
  #hasData = false
  #header: TakenHeader | undefined
  /** Whether the line at hand is the last one and has no line end. */
  #unended = false

  constructor(source: NumberSource, format: LineFormat, badLines: BadLines) {
    this.#source = source
    this.#format = format
    this.#badLines = badLines
  }

  get blank(): boolean {
    return !this.#hasData
  }

  get header(): TakenHeader | undefined {
    return this.#header
  }

  push(chunk: Buffer): void {
    const firstEnd = chunk.indexOf(newline) + 1
    if (firstEnd === 0) {
      this.#keep(Buffer.concat([this.#rest, chunk]))
      return
    }
    let start = 0
    if (this.#rest.length > 0) {
      this.#readLines(Buffer.concat([this.#rest, chunk.subarray(0, firstEnd)]))
      start = firstEnd
    }
    const end = Math.max(start, chunk.lastIndexOf(newline) + 1)
    this.#readLines(chunk.subarray(start, end))
    this.#keep(Buffer.from(chunk.subarray(end)))
  }

  end(): void {
    this.#unended = this.#rest.length > 0
    if (this.#unended) this.#readLines(Buffer.concat([this.#rest, Buffer.of(newline)]))
  }

  #keep(rest: Buffer): void {
    if (rest.length > longestLine) {
      const where = `line ${this.#lineNumber + 1} is longer than ${longestLine} bytes`
      throw new DataFileError(placeOf(this.#source), `${where}: this is no list of numbers`)
    }
    this.#rest = rest
  }

  /** `lines` ends with a newline. */
  #readLines(lines: Buffer): void {
    const format = this.#format
    let at = 0
    while (at < lines.length) {
      this.#lineNumber += 1
      const next = format.quick(lines, at)
      if (next > 0) {
        this.#hasData = true
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
    this.#refuseReturns(line)
    if (line === '' || line.startsWith('#')) return
    const isFirst = !this.#hasData
    this.#hasData = true
    const { rows } = this.#format
    const rule = this.#format.text(line, isFirst)
    const place = { file: this.#source.name, line: this.#lineNumber, value: line }
    if (rule === undefined) {
      if (this.#format.rows === rows) this.#header = { ...place, value: asUtf8(line) }
      return
    }
    this.#refuseOtherThanWhole(line, isFirst)
    const isHeaderRefused = isFirst && headerStart.test(line)
    this.#badLines.add({ ...place, rule: isHeaderRefused ? `${rule}; ${headerRule}` : rule })
  }

  /** Else a file whose lines end with a return alone would be one line, and all but its start lost. */
  #refuseReturns(line: string): void {
    if (!line.includes('\r')) return
    const where = `line ${this.#lineNumber} '${shorten(line.replaceAll('\r', '\\r'))}'`
    const rule = 'has a carriage return inside; lines have to end with LF or CR LF'
    throw new DataFileError(placeOf(this.#source), `${where}: ${rule}`)
  }

  /** No count of bad lines that may be put up with reaches these: the file as a whole is wrong. */
  #refuseOtherThanWhole(line: string, isFirst: boolean): void {
    const isPage = isFirst && line.startsWith('<')
    const isCut = this.#unended && this.#format.isCut(line)
    if (!isPage && !isCut) return
    const advice = isPage ? 'this is a web page, not a list' : 'the last line is cut off'
    const where = `line ${this.#lineNumber} '${shorten(line)}'`
    throw new DataFileError(placeOf(this.#source), `${where}: ${advice}; download it again`)
  }
}

const headerStart = /^["']?[A-Za-z\xc0-\xff]/

/** A number of which up to three digits are mangled is no header. */
const maxHeaderDigits = 6
export const headerRule = `a header must not hold more than ${maxHeaderDigits} digits`

/** Whether a line, as ISO 8859-1, begins as one of column names does and {@link hasHeaderDigits}. */
export function looksLikeHeader(line: string): boolean {
  return headerStart.test(line) && hasHeaderDigits(line)
}

/**
 * Whether a line, as ISO 8859-1, has so few digits that it can be one of column names. Digits of
 * every script count, and UTF-16, whose digits cannot be counted here, is no text we read.
 */
export function hasHeaderDigits(line: string): boolean {
  if (/\0|^\xff\xfe|^\xfe\xff/.test(line)) return false
  return (asUtf8(line).match(/\p{N}/gu) ?? []).length <= maxHeaderDigits
}

function asUtf8(line: string): string {
  return Buffer.from(line, 'latin1').toString('utf8')
}

/** Whether a line may be the start of one that begins with a number of ten digits. */
export function isCutNumber(line: string): boolean {
  return /^["\d][\d",\s]*$/.test(line) && line.replace(/\D/g, '').length < 10
}

/** The number these digits make, or -1 when one of them is no digit. */
export function digitsAt(bytes: Buffer, at: number, count: number): number {
  let value = 0
  for (let place = at; place < at + count; place += 1) {
    const digit = (bytes[place] ?? 0) - zero
    if (digit < 0 || digit > 9) return -1
    value = value * 10 + digit
  }
  return value
}
