/** Copies of a journal that a server may be writing to. */
import { closeSync, copyFileSync, fstatSync, openSync, writeSync } from 'node:fs'
import { basename, join } from 'node:path'
import { getErrorCode } from '../../errors.js'
import { JournalReader, listSegments, type Segment } from './journal-reader.js'
import { readAt } from './segment-file.js'

export interface JournalCopyOptions {
  /** Of the journal. */
  readonly folder: string
  /** An empty folder. */
  readonly target: string
  /** Copies or links a file that is never written to again. */
  readonly copyFile: (from: string, to: string) => void
}

/**
 * Copies all records that are on disk when it begins. What is being written meanwhile may be in the copy as
 * an unfinished end, which the next start removes. Retries while segments are being compressed.
 */
export function copyJournal({ folder, target, copyFile }: JournalCopyOptions): void {
  copyFileSync(join(folder, 'origin'), join(target, 'origin'))
  const segments = listSegments(folder)
  const last = segments.at(-1)
  for (const segment of segments) {
    if (segment === last) copyGrowingSegment(segment, target)
    else copyCompleteSegment(segment, { target, copyFile })
  }
}

function copyCompleteSegment(
  { path }: Segment,
  { target, copyFile }: Pick<JournalCopyOptions, 'target' | 'copyFile'>,
): void {
  try {
    copyFile(path, join(target, basename(path)))
  } catch (cause) {
    if (getErrorCode(cause) !== 'ENOENT') throw cause
    // It was replaced by its compressed form.
    copyFile(`${path}.gz`, join(target, `${basename(path)}.gz`))
  }
}

const chunkBytes = 4_194_304

/** Up to its size now: all bytes before that have been written. */
function copyGrowingSegment(segment: Segment, target: string): void {
  let from: number
  try {
    from = openSync(segment.path, 'r')
  } catch (cause) {
    if (getErrorCode(cause) !== 'ENOENT') throw cause
    return copyCompleteSegment(segment, { target, copyFile: copyFileSync })
  }
  try {
    const { size } = fstatSync(from)
    const to = openSync(join(target, basename(segment.path)), 'wx', 0o600)
    try {
      for (let offset = 0; offset < size; ) {
        const bytes = readAt(from, offset, Math.min(chunkBytes, size - offset))
        writeSync(to, bytes)
        offset += bytes.length
      }
    } finally {
      closeSync(to)
    }
  } finally {
    closeSync(from)
  }
}

export interface JournalExtent {
  /** 0 for one without records. */
  readonly firstSeq: number
  readonly lastSeq: number
}

/**
 * Reads and checks every record of a copy. Throws `DataFileError` with the place if one before the end cannot be
 * read.
 */
export function readJournalExtent(folder: string): JournalExtent {
  const [first] = listSegments(folder)
  if (first === undefined) return { firstSeq: 0, lastSeq: 0 }
  const reader = new JournalReader(folder, first.firstSeq)
  try {
    while (reader.read().length > 0) {
      // Each record is checked as it is read.
    }
    return { firstSeq: first.firstSeq, lastSeq: reader.nextSeq - 1 }
  } finally {
    reader.close()
  }
}
