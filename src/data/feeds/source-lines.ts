/**
 * Reads a downloaded report line by line. Opening and unpacking it is the business of
 * `open-source-file.ts`; what a line means is left to the reader of each format.
 */
import { DataFileError, shorten } from '../../errors.js'
import { openSourceFile } from './open-source-file.js'
import { digestOfRead } from './source-digest.js'

/** Told how many bytes of the file on disk are read, how many it has, and the lines so far. */
export type Progress = (done: number, total: number, lines: number) => void

/** Told each line without its line end, its number from 1, and the file as messages name it. */
export type OnSourceLine = (line: string, number: number, file: string) => void

export interface SourceLines {
  /** SHA-256 of the file as downloaded, in hex. */
  readonly sha256: string
  readonly lines: number
}

const longestLine = 65_536

/**
 * Reads the whole file. Throws {@link DataFileError} for one that is missing, empty, a web page or
 * no text table, and for one that changes meanwhile.
 */
export async function readSourceLines(
  path: string,
  onLine: OnSourceLine,
  onProgress?: Progress,
): Promise<SourceLines> {
  let total = 0
  let lines = 0
  const onBytes = (done: number) => onProgress?.(done, total, lines)
  const source = await openSourceFile(path, { onBytes, entry: /\.(?:txt|csv|tsv)$/i })
  total = source.bytesTotal
  const splitter = new LineSplitter(path, (line, number) => {
    lines = number
    onLine(line, number, source.name)
  })
  const decoder = new TextDecoder('utf-8')
  for await (const chunk of source.stream as AsyncIterable<Uint8Array>) {
    splitter.push(decoder.decode(chunk, { stream: true }))
  }
  splitter.push(decoder.decode())
  return { lines: splitter.end(), sha256: await digestOfRead(source) }
}

class LineSplitter {
  readonly #path: string
  readonly #onLine: (line: string, number: number) => void
  #rest = ''
  #lines = 0

  constructor(path: string, onLine: (line: string, number: number) => void) {
    this.#path = path
    this.#onLine = onLine
  }

  push(text: string): void {
    const pieces = (this.#rest + text).split('\n')
    this.#rest = pieces.pop() ?? ''
    for (const piece of pieces) this.#give(piece)
    if (this.#rest.length > longestLine) this.#give(this.#rest)
  }

  end(): number {
    if (this.#rest !== '') this.#give(this.#rest)
    if (this.#lines === 0) throw new DataFileError(this.#path, 'is empty')
    return this.#lines
  }

  #give(piece: string): void {
    this.#lines += 1
    const where = `line ${this.#lines}`
    if (this.#lines === 1 && /^\s*</.test(piece)) {
      const shown = shorten(piece.trim())
      const advice = 'this is a web page, not the report; download it again'
      throw new DataFileError(this.#path, `${where} '${shown}': ${advice}`)
    }
    if (piece.length > longestLine) {
      const rule = `is longer than ${longestLine} characters: this is no text table`
      throw new DataFileError(this.#path, `${where} ${rule}`)
    }
    this.#onLine(piece.endsWith('\r') ? piece.slice(0, -1) : piece, this.#lines)
  }
}
