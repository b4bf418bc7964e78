/** Copies of a journal that a server may be writing to. */
import { constants, copyFileSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { getErrorCode } from '../../../errors.js'
import { beginningPath, formerOriginsPath, readBeginning } from '../journal-beginning.js'
import { readOrigin } from '../journal-origin.js'
import { JournalReader, listSegments } from '../journal-reader.js'
import { copyTree, treeFolder } from '../tree/tree-files.js'
import { recoverJournal } from './recover-journal.js'

export interface JournalExtent {
  /** Of the oldest record. */
  readonly firstSeq: number
  /** One less than `firstSeq` if there is no record. */
  readonly lastSeq: number
}

const noRecords: JournalExtent = { firstSeq: 1, lastSeq: 0 }

/**
 * Copies every record that is on disk when it begins, and perhaps some that follow, to an empty folder. A
 * copy of a file that only grows is its beginning; what it holds of an unfinished write is removed from the
 * copy. Reads and checks each record of the copy. Throws `DataFileError` with the place of any damage.
 */
export function copyJournal(folder: string, target: string): JournalExtent {
  if (!existsSync(folder)) return noRecords
  let begins: number
  do {
    for (const name of readdirSync(target)) rmSync(join(target, name), { recursive: true })
    begins = readBeginning(folder).firstSeq
    copyFiles(folder, target)
    // Segments that were removed meanwhile may be missing, with the notice of that.
  } while (begins !== readBeginning(folder).firstSeq)
  const [first] = listSegments(target)
  if (first === undefined) return noRecords
  const { nextSeq } = recoverJournal(target, readOrigin(target, 0), first.firstSeq)
  return { firstSeq: first.firstSeq, lastSeq: nextSeq - 1 }
}

function copyFiles(folder: string, target: string): void {
  const origin = join(folder, 'origin')
  if (existsSync(origin)) copyFileSync(origin, join(target, 'origin'))
  // Before the tree, which then has the notice that it names.
  const beginning = beginningPath(folder)
  if (existsSync(beginning)) copyFileSync(beginning, beginningPath(target))
  // Before the segments, which then have every record that was signed.
  copyTree(treeFolder(folder), treeFolder(target))
  for (const { path } of listSegments(folder)) copySegment(path, target)
  const former = formerOriginsPath(folder)
  if (existsSync(former)) copyFileSync(former, formerOriginsPath(target))
}

function copySegment(path: string, target: string): void {
  const copy = (from: string) =>
    copyFileSync(from, join(target, basename(from)), constants.COPYFILE_FICLONE)
  try {
    copy(path)
  } catch (cause) {
    if (getErrorCode(cause) !== 'ENOENT') throw cause
    // It has been replaced by its compressed form.
    copy(`${path}.gz`)
  }
}

/** Reads and checks each record without writing. Throws `DataFileError` with the place of a gap or damage. */
export function readJournalExtent(folder: string): JournalExtent {
  const [first] = listSegments(folder)
  if (first === undefined) return noRecords
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
