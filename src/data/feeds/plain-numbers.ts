/**
 * Reads lists of telephone numbers: one ten-digit number per line or first CSV column, or the
 * `AAA,NNNNNNN` of the US registry's flat files. Blank lines, `#` comments, quotes, CR LF, a byte
 * order mark and one line of column names are allowed. What becomes of the numbers is left to the
 * caller.
 */
import { DataFileError, shorten } from '../../errors.js'
import type { BadLines } from './bad-lines.js'
import type { SourceFile } from './open-source-file.js'

/** Given each number as its first six digits and its last four. */
export type NumberSink = (prefix: number, line: number) => void

export interface PlainNumbersRead {
  /** Numbers, duplicates included. */
  readonly rows: number
  /** True when every line is blank or a comment, as in an empty file. */
  readonly blank: boolean
}

/**
 * Feeds the numbers of a source to `sink`. Throws {@link DataFileError} for a web page, for a file
 * that ends in the middle of a number and when too many lines are bad: the caller then drops what
 * `sink` was given.
 */
export async function readPlainNumbers(
  source: Pick<SourceFile, 'name' | 'path' | 'stream'>,
  sink: NumberSink,
  badLines: BadLines,
): Promise<PlainNumbersRead> {
  const parser = new PlainNumberParser(source, sink, badLines)
  for await (const chunk of source.stream as AsyncIterable<Buffer>) parser.push(chunk)
  parser.end()
  badLines.judge()
  return { rows: parser.rows, blank: parser.blank }
}

const newline = 0x0a
const carriageReturn = 0x0d
const comma = 0x2c
const quote = 0x22
const zero = 0x30

/** A longer line means that the file is no list of lines at all. */
const longestLine = 65_536

class PlainNumberParser {
  readonly #source: Pick<SourceFile, 'name' | 'path'>
  readonly #sink: NumberSink
  readonly #badLines: BadLines
  /** The start of a line whose end has not come yet. */
  #rest: Buffer = Buffer.alloc(0)
  #lineNumber = 0
  /** Lines that are neither blank nor a comment. */
  #dataLines = 0
  #rows = 0
  /** Whether the line at hand is the last one and has no line end. */
  #unended = false

  constructor(source: Pick<SourceFile, 'name' | 'path'>, sink: NumberSink, badLines: BadLines) {
    this.#source = source
    this.#sink = sink
    this.#badLines = badLines
  }

  get rows(): number {
    return this.#rows
  }

  get blank(): boolean {
    return this.#dataLines === 0
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
      throw new DataFileError(this.#source.path, `${where}: this is no list of numbers`)
    }
    this.#rest = rest
  }

  /** `lines` ends with a newline. */
  #readLines(lines: Buffer): void {
    let at = 0
    while (at < lines.length) {
      this.#lineNumber += 1
      const next = this.#readDigits(lines, at)
      if (next > 0) {
        at = next
        continue
      }
      const end = lines.indexOf(newline, at)
      this.#readText(lines.toString('latin1', at, end))
      at = end + 1
    }
  }

  /** The quick way for nearly all lines of a large file: gives its end, or 0 to read it as text. */
  #readDigits(lines: Buffer, start: number): number {
    const areaCode = digitsAt(lines, start, 3)
    const exchangeAt = lines[start + 3] === comma ? start + 4 : start + 3
    const exchange = digitsAt(lines, exchangeAt, 3)
    const line = digitsAt(lines, exchangeAt + 3, 4)
    if (areaCode < 200 || exchange < 200 || line < 0) return 0
    const end = plainEndOf(lines, exchangeAt + 7)
    if (end === 0) return 0
    this.#dataLines += 1
    this.#accept(areaCode * 1000 + exchange, line)
    return end
  }

  #readText(text: string): void {
    const line = (this.#lineNumber === 1 ? text.replace(/^\xef\xbb\xbf/, '') : text).trim()
    if (line === '' || line.startsWith('#')) return
    const found = numberPattern.exec(line)
    if (!found) this.#refuseOtherThanWhole(line)
    const rule = found ? problemOf(line, found) : this.#isHeader(line) ? undefined : shapeRule
    if (rule !== undefined) this.#refuse(line, rule)
    else if (found) this.#accept(Number(`${found[1]}${found[2]}`), Number(found[3]))
    this.#dataLines += 1
  }

  /** No count of bad lines that may be put up with reaches these: the file as a whole is wrong. */
  #refuseOtherThanWhole(line: string): void {
    const isPage = this.#dataLines === 0 && line.startsWith('<')
    const isCut = this.#unended && isCutNumber(line)
    if (!isPage && !isCut) return
    const advice = isPage ? 'this is a web page, not a list' : 'the last line is cut off'
    const where = `line ${this.#lineNumber} '${shorten(line)}'`
    throw new DataFileError(this.#source.path, `${where}: ${advice}; download it again`)
  }

  /** The first line that is neither blank nor a comment may name the columns. */
  #isHeader(line: string): boolean {
    return this.#dataLines === 0 && /^["']?[A-Za-z]/.test(line)
  }

  #accept(prefix: number, line: number): void {
    this.#rows += 1
    this.#sink(prefix, line)
  }

  #refuse(value: string, rule: string): void {
    this.#badLines.add({ file: this.#source.name, line: this.#lineNumber, value, rule })
  }
}

/** Whether a line may be the start of one that holds a number. */
function isCutNumber(line: string): boolean {
  return /^["\d][\d",\s]*$/.test(line) && line.replace(/\D/g, '').length < 10
}

/** The number these digits make, or -1 when one of them is no digit. */
function digitsAt(bytes: Buffer, at: number, count: number): number {
  let value = 0
  for (let place = at; place < at + count; place += 1) {
    const digit = (bytes[place] ?? 0) - zero
    if (digit < 0 || digit > 9) return -1
    value = value * 10 + digit
  }
  return value
}

/**
 * Where the next line starts, when the number that ends at `at` is followed by nothing, or by
 * columns of which the last cannot be the mark of a change list. 0 in all other cases.
 */
function plainEndOf(lines: Buffer, at: number): number {
  const after = lines[at]
  if (after === newline) return at + 1
  if (after === carriageReturn && lines[at + 1] === newline) return at + 2
  if (after !== comma) return 0
  const end = lines.indexOf(newline, at)
  let last = end - 1
  if (lines[last] === carriageReturn) last -= 1
  if (lines[last] === quote) last -= 1
  return mayMarkChange.has(lines[last] ?? 0) ? 0 : end + 1
}

/** What a row of a change list may end with, a quote aside: its mark, or blanks after it. */
const mayMarkChange: ReadonlySet<number> = new Set(Buffer.from('AD" \t'))

/** Area code, exchange and line, whether in one column or, as `AAA,NNNNNNN`, in two. */
const numberPattern = /^"?(\d{3})(?:"?\s*,\s*"?)?(\d{3})(\d{4})"?\s*(?:$|[,;|\t])/

/** A row of the US registry's change list: a number, a time, added or deleted. */
const changePattern = /,\s*"?\d{4}-?\d{2}-?\d{2}[^,]*,\s*"?[AD]"?$/

const shapeRule = 'has to begin with a number of ten digits, or with AAA,NNNNNNN'

function problemOf(line: string, [, areaCode, exchange]: RegExpExecArray): string | undefined {
  if (changePattern.test(line)) {
    return 'is a row of a change list; only a full list can be imported'
  }
  if (Number(areaCode) < 200 || Number(exchange) < 200) {
    return 'area code and exchange have to begin with 2 to 9'
  }
  return undefined
}
