/** Reads the rows of all tables: finds the delimiter, and handles quoted line breaks. */
import type { SourceFile } from '../files/source-file.js'
import { type LineReader, maxLineBytes, readTextLines } from '../files/text-lines.js'
import { detectDelimiter, hasOpenQuote, splitCells } from './cells.js'
import { isTelephone } from './number-cells.js'

export interface TableRow {
  /** Number of its first line, starting at 1. */
  readonly line: number
  readonly text: string
  /** `undefined` for a misplaced or unclosed quote. */
  readonly cells: readonly string[] | undefined
  /** False for a last row without a line break. */
  readonly ended: boolean
}

export interface RowsReader extends Pick<LineReader, 'afterChunk'> {
  readonly onRow: (row: TableRow) => void
  /** Receives a line that begins with `#`. Returns true if it is a comment, not a row. */
  readonly isComment: (text: string) => boolean
  readonly parseFast?: LineReader['parseFast']
}

interface Line {
  readonly text: string
  readonly number: number
  readonly ended: boolean
}

/** Maximum lines of a quoted cell. A longer one means that the quote is never closed. */
const maxQuotedLines = 500
/** Number of lines that are searched for the delimiter. */
const headLines = 20

/** Passes each row that has a cell with text. Throws what {@link readTextLines} throws. */
export async function readRows(
  source: Pick<SourceFile, 'path' | 'stream'>,
  reader: RowsReader,
): Promise<void> {
  const rows = new RowSplitter(reader)
  const { afterChunk } = reader
  await readTextLines(source, {
    onLine: (text, number, ended) => rows.add({ text, number, ended }),
    get parseFast() {
      return rows.isBetweenRows ? reader.parseFast : undefined
    },
    afterChunk,
  })
  rows.end()
}

class RowSplitter {
  readonly #reader: RowsReader
  #head: Line[] | undefined = []
  #delimiter = '\t'
  /** The lines of a row whose quote is not closed yet. */
  #open: Line[] = []

  constructor(reader: RowsReader) {
    this.#reader = reader
  }

  get isBetweenRows(): boolean {
    return this.#head === undefined && this.#open.length === 0
  }

  add(line: Line): void {
    if (this.#head) this.#head.push(line)
    else this.#take(line)
    if (this.#head?.length === headLines) this.#begin(this.#head)
  }

  end(): void {
    if (this.#head) this.#begin(this.#head)
    while (this.#open.length > 0) this.#splitOpen()
  }

  #begin(head: readonly Line[]): void {
    this.#head = undefined
    const texts = head.map(({ text }) => text).filter((text) => !isBlank(text))
    const [first = '', ...others] = texts.filter((text) => !text.startsWith('#'))
    // Excel's first line that names the delimiter.
    const named = /^\s*"?sep=(.)"?[\s,;|]*$/i.exec(first)?.[1]
    const delimiters = [first, ...others].map(detectDelimiter)
    this.#delimiter = named ?? delimiters.find((found) => found !== undefined) ?? '\t'
    for (const line of head) if (named === undefined || line.text !== first) this.#take(line)
  }

  #take(line: Line): void {
    const { text } = line
    if (this.#open.length > 0) {
      this.#continue(line)
      return
    }
    if (isBlank(text) || (text.startsWith('#') && this.#reader.isComment(text))) return
    if (text.includes('"') && hasOpenQuote(text, this.#delimiter)) this.#open = [line]
    else this.#emit(line, splitCells(text, this.#delimiter))
  }

  #continue(line: Line): void {
    this.#open.push(line)
    const text = this.#open.map((one) => one.text).join('\n')
    if (line.text.includes('"') && !hasOpenQuote(text, this.#delimiter)) this.#close(text, line)
    else if (this.#open.length > maxQuotedLines || text.length > maxLineBytes) this.#splitOpen()
  }

  #close(text: string, { ended }: Line): void {
    const [first, ...others] = this.#open
    const cells = splitCells(text, this.#delimiter)
    // A stray quote would otherwise hide the rows up to the next one.
    if (!first || !cells || others.some((one) => this.#mayBeRow(one))) {
      this.#splitOpen()
      return
    }
    this.#open = []
    this.#emit({ ...first, text, ended }, cells)
  }

  #mayBeRow({ text }: Line): boolean {
    return text.split(this.#delimiter).some((cell) => isTelephone(cell.replaceAll('"', '').trim()))
  }

  /** Treats the quote of the first line as a stray one. */
  #splitOpen(): void {
    const [first, ...others] = this.#open
    this.#open = []
    if (first) this.#emit(first, undefined)
    for (const line of others) this.#take(line)
  }

  #emit({ text, number, ended }: Line, cells: readonly string[] | undefined): void {
    if (cells?.every((cell) => cell === '')) return
    this.#reader.onRow({ line: number, text, cells, ended })
  }
}

const isBlank = (text: string) => text.trim() === ''
