/**
 * Reads a source file line by line: UTF-8, UTF-16 with a byte order mark, or Windows-1252. Each line is tested for UTF-8 separately,
 * so that one Windows-1252 character does not affect other lines. A line ends with LF, CR LF or CR.
 */
import { DataFileError, truncate } from '../../errors.js'
import { asUtf8, decodeBytes, findUtf16 } from '../../runtime/decode-text.js'
import type { SourceFile } from './source-file.js'

/** Receives each line without its end. `ended` is false for a last line without a line break. */
type OnLine = (text: string, number: number, ended: boolean) => void

/** A longer line means that the file is not text. */
export const maxLineBytes = 65_536
const newline = 0x0a
const carriageReturn = 0x0d

/** For readers that take longer than the disk, so that no lines collect in memory. */
type AfterChunk = () => Promise<void>

export interface LineReader {
  readonly onLine: OnLine
  /**
   * Parses a line from its bytes, since a registry has 259 million lines and decoding each as text would take several times as long as
   * the rest of an import: returns where the next line begins, or 0 if the line must be read as text. `bytes` ends with a newline. It
   * is asked for each line anew, and `undefined` while no line may be parsed like that.
   */
  readonly parseFast?: ((bytes: Buffer, start: number) => number) | undefined
  /** Awaited before more is read, after some thousands of lines. */
  readonly afterChunk?: AfterChunk | undefined
}

/**
 * Passes every line to the reader, numbered from 1. Throws {@link DataFileError} for a file that cannot be read, for a web page or XML,
 * and for anything that is not text.
 */
export async function readTextLines(
  source: Pick<SourceFile, 'path' | 'stream'>,
  reader: LineReader,
): Promise<void> {
  const lines = new LineDecoder(source.path, reader)
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of toUtf8(source)) {
    const end = findLastLineEnd(chunk)
    const left = chunk.subarray(end)
    if (end > 0) pushLines(lines, rest, chunk.subarray(0, end))
    rest = end > 0 ? Buffer.from(left) : Buffer.concat([rest, left])
    if (rest.length > maxLineBytes) lines.refuseLongLine()
    await reader.afterChunk?.()
  }
  if (rest.length === 0) return
  lines.push(Buffer.concat([rest, Buffer.of(newline)]), rest.at(-1) === carriageReturn)
  await reader.afterChunk?.()
}

/** A file with CR alone has no other line end. */
function findLastLineEnd(chunk: Buffer): number {
  const end = chunk.lastIndexOf(newline) + 1
  // One at the end of the chunk may be the first half of CR LF.
  return end > 0 || chunk.length < 2 ? end : chunk.lastIndexOf(carriageReturn, chunk.length - 2) + 1
}

/** Copies only a line that began in an earlier chunk. */
function pushLines(to: LineDecoder, rest: Buffer, lines: Buffer): void {
  const ended = lines.at(-1) === newline ? lines : Buffer.concat([lines, Buffer.of(newline)])
  const start = rest.length > 0 ? ended.indexOf(newline) + 1 : 0
  if (start > 0) to.push(Buffer.concat([rest, ended.subarray(0, start)]), true)
  if (start < ended.length) to.push(ended.subarray(start), true)
}

/** Number of bytes that is enough to recognize the type of a file. */
const signatureBytes = 8

/** The bytes of a file in UTF-16 as UTF-8, and all others unchanged. */
async function* toUtf8({ path, stream }: Pick<SourceFile, 'path' | 'stream'>) {
  let start: Buffer | undefined = Buffer.alloc(0)
  let decoder: ReturnType<typeof findUtf16>
  const decode = (bytes: Buffer) =>
    decoder ? Buffer.from(decoder.decode(bytes, { stream: true })) : bytes
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const bytes: Buffer = start ? Buffer.concat([start, chunk]) : chunk
    if (start && bytes.length < signatureBytes) {
      start = bytes
      continue
    }
    if (start) decoder = openDecoder(path, bytes)
    start = undefined
    yield decode(bytes)
  }
  if (start?.length) {
    decoder = openDecoder(path, start)
    yield decode(start)
  }
  if (decoder) yield Buffer.from(decoder.decode())
}

function openDecoder(path: string, start: Buffer): ReturnType<typeof findUtf16> {
  const signature = start.toString('latin1', 0, signatureBytes)
  const other = foreignFiles.find(([begins]) => signature.startsWith(begins))
  if (other) throw new DataFileError(path, `is ${other[1]}; save it as CSV (UTF-8)`)
  return findUtf16(start)
}

const foreignFiles = [
  ['\xd0\xcf\x11\xe0', 'an old Excel workbook (.xls)'],
  ['PK\x03\x04', 'an Excel workbook (.xlsx) or another archive'],
  ['%PDF', 'a PDF'],
  ['{\\rtf', 'an RTF document'],
  ['PAR1', 'a Parquet file'],
] as const

class LineDecoder {
  readonly #path: string
  readonly #reader: LineReader
  #number = 0
  /** Whether all lines so far are. */
  #isBlank = true

  constructor(path: string, reader: LineReader) {
    this.#path = path
    this.#reader = reader
  }

  /** Receives one or more whole lines; `ended` is false if the last line break was added. */
  push(lines: Buffer, ended: boolean): void {
    const { length } = lines
    for (let at = 0; at < length; ) {
      const { parseFast } = this.#reader
      if (!parseFast) {
        this.#pushTexts(lines.subarray(at, -1), ended)
        return
      }
      const next = this.#parseFast(lines, at)
      if (next > 0) {
        at = next
        continue
      }
      const end = lines.indexOf(newline, at)
      this.#emit(decodeBytes(lines.subarray(at, end)), ended || end + 1 < length)
      at = end + 1
    }
  }

  #parseFast(lines: Buffer, at: number): number {
    const next = this.#reader.parseFast?.(lines, at) ?? 0
    if (next > 0) {
      this.#number += 1
      this.#isBlank = false
    }
    return next
  }

  #pushTexts(bytes: Buffer, ended: boolean): void {
    const texts = splitLines(bytes)
    texts.forEach((text, index) => {
      this.#emit(text, ended || index + 1 < texts.length)
    })
  }

  refuseLongLine(): never {
    const where = `line ${this.#number + 1} is longer than ${maxLineBytes} bytes`
    throw new DataFileError(this.#path, `${where}: this is not a table`)
  }

  #emit(text: string, ended: boolean): void {
    const line = text.endsWith('\r') ? text.slice(0, -1) : text
    // As split does, but nearly no line has one.
    if (!line.includes('\r')) {
      this.#emitLine(line, ended)
      return
    }
    const parts = line.split('\r')
    parts.forEach((part, index) => {
      this.#emitLine(part, ended || index + 1 < parts.length)
    })
  }

  #emitLine(text: string, ended: boolean): void {
    if (text.length > maxLineBytes) this.refuseLongLine()
    this.#number += 1
    if (text.includes('\0')) {
      const rule =
        'contains a zero byte, so it is not text in UTF-8, Windows-1252 or UTF-16 with a byte order mark'
      throw new DataFileError(this.#path, `line ${this.#number} ${rule}`)
    }
    if (this.#isBlank && text.trim() !== '') {
      this.#isBlank = false
      if (/^\s*[<{[]/.test(text)) this.#refuseMarkup(text.trim())
    }
    this.#reader.onLine(text, this.#number, ended)
  }

  #refuseMarkup(text: string): never {
    const rule = text.startsWith('<?xml')
      ? 'this is XML, not a table; download the flat text file, or save it as CSV'
      : text.startsWith('<')
        ? 'this is a web page, not the file; download it again'
        : 'this is JSON, not a table; save it as CSV'
    const where = `line ${this.#number} '${truncate(text)}'`
    throw new DataFileError(this.#path, `${where}: ${rule}`)
  }
}

function splitLines(bytes: Buffer): string[] {
  const text = asUtf8(bytes)
  if (text !== undefined) return text.split('\n')
  const lines: string[] = []
  for (let at = 0; at <= bytes.length; ) {
    const found = bytes.indexOf(newline, at)
    const end = found === -1 ? bytes.length : found
    lines.push(decodeBytes(bytes.subarray(at, end)))
    at = end + 1
  }
  return lines
}
