/** Copies of a journal that a server may be writing to. */
import { constants, copyFileSync, readdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { getErrorCode } from '../../../errors.js'
import { isPresent } from '../../../runtime/folders.js'
import { beginningPath, formerOriginsPath } from '../journal-beginning.js'
import { readOrigin } from '../journal-origin.js'
import { JournalReader, listSegments } from '../journal-reader.js'
import { copyTree, treeFolder } from '../tree/tree-files.js'
import { readTree } from '../tree/tree-head.js'
import { keepRules, listRules, readRules } from './kept-rules.js'
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
  if (!isPresent(folder)) return noRecords
  let signedSeq: number
  do {
    for (const name of readdirSync(target)) rmSync(join(target, name), { recursive: true })
    signedSeq = readTree(folder)?.head.size ?? 0
    copyFiles(folder, target)
    // What it says was erased or removed may still be in the copy, or already be gone.
  } while (hasRecord('notice', target, signedSeq + 1))
  const [first] = listSegments(target)
  if (first === undefined) return noRecords
  const known = { tree: readTree(target), fromSeq: first.firstSeq }
  const { nextSeq, notTakenOver } = recoverJournal(target, readOrigin(target, 0), known)
  // It is still in the folder, or was being written.
  if (notTakenOver) rmSync(join(target, notTakenOver.file))
  return { firstSeq: first.firstSeq, lastSeq: nextSeq - 1 }
}

function copyFiles(folder: string, target: string): void {
  const origin = join(folder, 'origin')
  if (isPresent(origin)) copyFileSync(origin, join(target, 'origin'))
  // Before the tree, which then has the notice that it names.
  const beginning = beginningPath(folder)
  if (isPresent(beginning)) copyFileSync(beginning, beginningPath(target))
  // What is copied after the tree has every record that was signed, and no erasure has the time to change one that was not.
  const complete = listSegments(folder).slice(0, -1)
  for (const { path } of complete) copySegment(path, target)
  copyTree(treeFolder(folder), treeFolder(target))
  const copiedSeq = complete.at(-1)?.firstSeq ?? 0
  for (const { path, firstSeq } of listSegments(folder)) {
    if (firstSeq > copiedSeq) copySegment(path, target)
  }
  // After the records, which name only what was kept before them.
  if (hasRecord('decision', target, 1))
    for (const version of listRules(folder))
      keepRules(target, readRules(folder, version).toString())
  const former = formerOriginsPath(folder)
  if (isPresent(former)) copyFileSync(former, formerOriginsPath(target))
}

/** Whether one was written from a record on. Nothing is erased or removed before its notice is signed. */
function hasRecord(sought: 'notice' | 'decision', folder: string, fromSeq: number): boolean {
  const [first] = listSegments(folder)
  if (first === undefined) return false
  const reader = new JournalReader(folder, Math.max(first.firstSeq, fromSeq))
  try {
    for (let records = reader.read(); records.length > 0; records = reader.read()) {
      if (records.some(({ kind }) => kind === sought)) return true
    }
    return false
  } finally {
    reader.close()
  }
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
