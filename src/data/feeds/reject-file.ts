/**
 * Writes the bad lines of an import as CSV (RFC 4180) with the columns file, line, value and reason.
 * The values may be people's telephone numbers, so only the owner may read the file.
 */
import {
  closeSync,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { DataFileError, getErrorMessage } from '../../errors.js'
import { formatCsvCell } from '../../runtime/csv-cell.js'
import { ensureFolder } from '../../runtime/folders.js'
import type { BadLine } from './bad-lines.js'

const header = 'file,line,value,reason\r\n'
/** Lines are buffered up to this many characters. */
const bufferSize = 65_536

export interface RejectFile {
  add(bad: BadLine): void
  /** Resolves to the count of lines; no file is created without any. May be called more than once. */
  close(): Promise<number>
}

/**
 * The file and its folder are created with the first line, replacing an older reject file at that path.
 * Adding the first line throws {@link DataFileError} if the path has another kind of file, such as the
 * list being read, or cannot be created.
 */
export function openRejectFile(path: string): RejectFile {
  let file: number | undefined
  let text = header
  let lines = 0
  const flush = (to: number) => {
    const written = text
    text = ''
    writeFileSync(to, written)
  }
  return {
    add({ file: source, line, value, rule }) {
      file ??= openOwnerOnly(path)
      lines += 1
      text += `${formatCsvCell(source)},${line},${formatCsvCell(value)},${formatCsvCell(rule)}\r\n`
      if (text.length >= bufferSize) flush(file)
    },
    async close() {
      const opened = file
      file = undefined
      if (opened === undefined) return lines
      try {
        flush(opened)
      } finally {
        closeSync(opened)
      }
      return lines
    },
  }
}

function openOwnerOnly(path: string): number {
  try {
    ensureFolder(dirname(path))
    return truncateRejectFile(path, openSync(path, appendMode, 0o600))
  } catch (cause) {
    if (cause instanceof DataFileError) throw cause
    const reason = getErrorMessage(cause)
    throw new DataFileError(path, `cannot be used for the bad lines (--rejects): ${reason}`, cause)
  }
}

/** Opens for reading and appending, creating the file if missing. */
const appendMode = 'a+'

/** Leaves anything but a regular file, such as `/dev/null`, unchanged. */
function truncateRejectFile(path: string, file: number): number {
  try {
    const found = fstatSync(file)
    if (!found.isFile()) return file
    if (found.size > 0) refuseForeignFile(path, file)
    ftruncateSync(file)
    // open() sets the mode of new files only.
    fchmodSync(file, 0o600)
    return file
  } catch (cause) {
    closeSync(file)
    throw cause
  }
}

function refuseForeignFile(path: string, file: number): void {
  const start = Buffer.alloc(header.length)
  readSync(file, start, 0, start.length, 0)
  if (start.toString('latin1') === header) return
  const rule = 'already exists and is not a reject file; name another file with --rejects'
  throw new DataFileError(path, rule)
}
