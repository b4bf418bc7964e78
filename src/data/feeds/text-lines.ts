/**
 * Reads a source file line by line, written in UTF-8 or in Windows-1252: a stretch that is no UTF-8
 * is taken line by line, so that one old letter does not spoil the rest.
 */
import { DataFileError, shorten } from '../../errors.js'
import type { SourceFile } from './open-source-file.js'

/** `ended` is false for a last line without a line end. */
export type OnLine = (text: string, number: number, ended: boolean) => void

/** A longer line means that the file is no text at all. */
const longestLine = 65_536
const newline = 0x0a

/**
 * Hands on every line without its line end, with its number from 1. Throws {@link DataFileError}
 * for a file that cannot be read, a web page, and what is no text.
 */
export async function readTextLines(
  source: Pick<SourceFile, 'path' | 'stream'>,
  onLine: OnLine,
): Promise<void> {
  const lines = new Lines(source.path, onLine)
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of source.stream as AsyncIterable<Buffer>) {
    const whole = chunk.lastIndexOf(newline) + 1
    const start = Buffer.concat([rest, chunk.subarray(0, whole)])
    if (whole > 0) lines.give(start.subarray(0, -1))
    rest = whole > 0 ? Buffer.from(chunk.subarray(whole)) : Buffer.concat([rest, chunk])
    if (rest.length > longestLine) lines.refuseLength()
  }
  if (rest.length > 0) lines.giveRest(rest)
}

class Lines {
  readonly #path: string
  readonly #onLine: OnLine
  #number = 0

  constructor(path: string, onLine: OnLine) {
    this.#path = path
    this.#onLine = onLine
  }

  /** Whole lines, without the end of the last one. */
  give(bytes: Buffer): void {
    for (const line of linesOf(bytes)) this.#one(line, true)
  }

  giveRest(bytes: Buffer): void {
    this.#one(decodeLine(bytes), false)
  }

  refuseLength(): never {
    const where = `line ${this.#number + 1} is longer than ${longestLine} bytes`
    throw new DataFileError(this.#path, `${where}: this is no table`)
  }

  #one(text: string, ended: boolean): void {
    if (text.length > longestLine) this.refuseLength()
    this.#number += 1
    if (text.includes('\0')) {
      const rule = 'holds a zero byte: this is no text in UTF-8 or Windows-1252'
      throw new DataFileError(this.#path, `line ${this.#number} ${rule}`)
    }
    if (this.#number === 1 && /^\s*</.test(text)) {
      const advice = 'this is a web page, not the file; download it again'
      throw new DataFileError(this.#path, `line 1 '${shorten(text.trim())}': ${advice}`)
    }
    this.#onLine(text.endsWith('\r') ? text.slice(0, -1) : text, this.#number, ended)
  }
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

function linesOf(bytes: Buffer): string[] {
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

/** What Windows-1252 has from 0x80 to 0x9f; below and above it is ISO 8859-1. */
const windowsLetters = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

function decodeLine(bytes: Buffer): string {
  const text = asUtf8(bytes)
  if (text !== undefined) return text
  return bytes
    .toString('latin1')
    .replace(/[\x80-\x9f]/g, (letter) => windowsLetters[letter.charCodeAt(0) - 0x80] ?? letter)
}
