/**
 * Reads a source file line by line, as UTF-8 or Windows-1252. The encoding is determined per line where
 * necessary, so that one Windows-1252 character does not affect other lines.
 */
import { DataFileError, truncate } from '../../errors.js'
import type { SourceFile } from './source-file.js'

/** Receives each line. `ended` is false for a last line without a line break. */
export type OnLine = (text: string, number: number, ended: boolean) => void

/** A longer line means that the file is not text. */
export const maxLineBytes = 65_536
export const newline = 0x0a

/** Receives the bytes of a file in whole lines. */
export interface LineBytesReader {
  /** Receives one or more whole lines. `lines` ends with a newline and is valid only until this returns. */
  push(lines: Buffer): void
  /** Receives the last line if it has no line break. */
  end(line: Buffer): void
  /** Called for a line of more than {@link maxLineBytes}. */
  refuseLongLine(): never
  /** Awaited before more is read. */
  afterChunk?: AfterChunk | undefined
}

/** For readers that take longer than the disk, so that no lines collect in memory. */
type AfterChunk = () => Promise<void>

/** Splits a stream into lines; used for both tables and lists of numbers. */
export async function readLineBytes(
  stream: SourceFile['stream'],
  reader: LineBytesReader,
): Promise<void> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const end = chunk.lastIndexOf(newline) + 1
    const left = chunk.subarray(end)
    if (end > 0) pushLines(reader, rest, chunk.subarray(0, end))
    rest = end > 0 ? Buffer.from(left) : Buffer.concat([rest, left])
    if (rest.length > maxLineBytes) reader.refuseLongLine()
    await reader.afterChunk?.()
  }
  if (rest.length === 0) return
  reader.end(rest)
  await reader.afterChunk?.()
}

/** Copies only a line that began in an earlier chunk. */
function pushLines(reader: LineBytesReader, rest: Buffer, lines: Buffer): void {
  const start = rest.length > 0 ? lines.indexOf(newline) + 1 : 0
  if (start > 0) reader.push(Buffer.concat([rest, lines.subarray(0, start)]))
  if (start < lines.length) reader.push(lines.subarray(start))
}

/**
 * Passes every line without its line break to `onLine`, numbered from 1, and waits for `afterChunk` after
 * some thousands of them. Throws {@link DataFileError}
 * for a file that cannot be read, a web page, and anything that is not text.
 */
export async function readTextLines(
  source: Pick<SourceFile, 'path' | 'stream'>,
  onLine: OnLine,
  afterChunk?: AfterChunk,
): Promise<void> {
  await readLineBytes(source.stream, new LineDecoder(source.path, onLine, afterChunk))
}

class LineDecoder implements LineBytesReader {
  readonly #path: string
  readonly #onLine: OnLine
  readonly afterChunk: AfterChunk | undefined
  #number = 0

  constructor(path: string, onLine: OnLine, afterChunk: AfterChunk | undefined) {
    this.#path = path
    this.#onLine = onLine
    this.afterChunk = afterChunk
  }

  push(bytes: Buffer): void {
    for (const line of splitLines(bytes.subarray(0, -1))) this.#emit(line, true)
  }

  end(bytes: Buffer): void {
    this.#emit(decodeLine(bytes), false)
  }

  refuseLongLine(): never {
    const where = `line ${this.#number + 1} is longer than ${maxLineBytes} bytes`
    throw new DataFileError(this.#path, `${where}: this is not a table`)
  }

  #emit(text: string, ended: boolean): void {
    if (text.length > maxLineBytes) this.refuseLongLine()
    this.#number += 1
    if (text.includes('\0')) {
      const rule = 'contains a zero byte, so it is not text in UTF-8 or Windows-1252'
      throw new DataFileError(this.#path, `line ${this.#number} ${rule}`)
    }
    if (this.#number === 1 && /^\s*</.test(text)) {
      const advice = 'this is a web page, not the file; download it again'
      throw new DataFileError(this.#path, `line 1 '${truncate(text.trim())}': ${advice}`)
    }
    this.#onLine(text.endsWith('\r') ? text.slice(0, -1) : text, this.#number, ended)
  }
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

function splitLines(bytes: Buffer): string[] {
  const text = asUtf8(bytes)
  if (text !== undefined) return text.split('\n')
  const lines: string[] = []
  for (let at = 0; at <= bytes.length; ) {
    const found = bytes.indexOf(newline, at)
    const end = found === -1 ? bytes.length : found
    lines.push(decodeLine(bytes.subarray(at, end)))
    at = end + 1
  }
  return lines
}

function asUtf8(bytes: Buffer): string | undefined {
  try {
    return strictUtf8.decode(bytes)
  } catch {
    return undefined
  }
}

/** Windows-1252 from 0x80 to 0x9f, which some Node releases decode as ISO 8859-1. */
const windowsLetters = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

function decodeLine(bytes: Buffer): string {
  const text = asUtf8(bytes)
  if (text !== undefined) return text
  return bytes
    .toString('latin1')
    .replace(/[\x80-\x9f]/g, (letter) => windowsLetters[letter.charCodeAt(0) - 0x80] ?? letter)
}
