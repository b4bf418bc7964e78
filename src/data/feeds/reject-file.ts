/**
 * The bad lines of an import in a file of their own, as CSV (RFC 4180) with the columns file, line,
 * value and reason. The values may be people's telephone numbers: only the owner may read it.
 */
import {
  closeSync,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { DataFileError } from '../../errors.js'
import { makeFolder } from '../../folders.js'
import type { BadLine } from './bad-lines.js'

export interface RejectFile {
  add(bad: BadLine): void
  /** Gives how many lines were added; with none there is no file. May be called again. */
  close(): Promise<number>
}

/**
 * The file is made, its folder too, with the first line; an older one of that path is replaced.
 * Adding the first line throws {@link DataFileError} when a file of another kind is there, such as
 * the list that is being read, or when none can be made.
 */
export function openRejectFile(path: string): RejectFile {
  return new CsvRejectFile(path)
}

const header = 'file,line,value,reason\r\n'
/** Lines are written when they are this many characters together. */
const writtenAtOnce = 65_536

class CsvRejectFile implements RejectFile {
  readonly #path: string
  #file: number | undefined
  #text = header
  #lines = 0

  constructor(path: string) {
    this.#path = path
  }

  add({ file, line, value, rule }: BadLine): void {
    this.#file ??= openForOwner(this.#path)
    this.#lines += 1
    this.#text += `${csvCell(file)},${line},${csvCell(value)},${csvCell(rule)}\r\n`
    if (this.#text.length >= writtenAtOnce) this.#write(this.#file)
  }

  async close(): Promise<number> {
    const file = this.#file
    this.#file = undefined
    if (file === undefined) return this.#lines
    try {
      this.#write(file)
    } finally {
      closeSync(file)
    }
    return this.#lines
  }

  #write(file: number): void {
    const bytes = Buffer.from(this.#text, 'utf8')
    this.#text = ''
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
  }
}

function openForOwner(path: string): number {
  try {
    makeFolder(dirname(path))
    return emptied(path, openSync(path, appending, 0o600))
  } catch (cause) {
    if (cause instanceof DataFileError) throw cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new DataFileError(path, `cannot hold the bad lines (--rejects): ${reason}`, cause)
  }
}

/** Readable too, made when it is not there, and not emptied. */
const appending = 'a+'

/** What is no file, such as `/dev/null`, stays as it is. */
function emptied(path: string, file: number): number {
  try {
    const found = fstatSync(file)
    if (!found.isFile()) return file
    if (found.size > 0) refuseOther(path, file)
    ftruncateSync(file)
    // The mode it is opened with is only for a file that is new.
    fchmodSync(file, 0o600)
    return file
  } catch (cause) {
    closeSync(file)
    throw cause
  }
}

function refuseOther(path: string, file: number): void {
  const start = Buffer.alloc(header.length)
  readSync(file, start, 0, start.length, 0)
  if (start.toString('latin1') === header) return
  const rule = 'is there and holds no bad lines; name another file for them with --rejects'
  throw new DataFileError(path, rule)
}

/** One value as RFC 4180 has it. */
export function csvCell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
