/** The names that a journal had, in a file and in its records: the file is a copy of what the record of each start says. */
import { DataFileError } from '../../../errors.js'
import { commitTo, decodeEntry } from '../../../transparency/log-entry.js'
import { hashLeaf, proveInclusion, verifyInclusion } from '../../../transparency/merkle-tree.js'
import { type FormerOrigin, formerOriginsPath, readFormerOrigins } from '../journal-beginning.js'
import { hashOriginName, readOriginName } from '../journal-origin.js'
import { listSegments, RecordReader, readSegmentHeader } from '../journal-reader.js'
import { headerBytes, type StoredRecord } from '../segment-format.js'
import { TreeReader, treeFolder } from '../tree/tree-files.js'
import type { TreeHead } from '../tree/tree-head.js'

/**
 * At the start, which records the names of the file; `undefined` if there are none. Throws {@link DataFileError} if they are not those that the record of the
 * last start says, or that is not as it was signed. What follows the signed head must have been found to be sealed.
 */
export function requireFormerNames(
  folder: string,
  { head }: TreeHead,
  nextSeq: number,
): readonly FormerOrigin[] | undefined {
  const names = readFormerOrigins(folder)
  const opened = findLastOpened(folder, nextSeq)
  const known = names.length === 0 ? undefined : names
  if (opened === undefined) return known
  if (opened.seq <= head.size) requireSigned(folder, head, opened)
  const { formerOrigins = [] }: { readonly formerOrigins?: readonly FormerOrigin[] } = JSON.parse(
    opened.body.toString(),
  )
  if (isCopyOf(folder, names, formerOrigins)) return known
  const rule = `does not have the former names that the record of the last start has, record ${opened.seq}`
  throw new DataFileError(formerOriginsPath(folder), `the file ${rule}. Restore it from a backup`)
}

/** Each start begins a segment. `undefined` if the record of the last one was removed after its time. */
function findLastOpened(folder: string, nextSeq: number): StoredRecord | undefined {
  const reader = new RecordReader(folder)
  try {
    for (const { firstSeq } of listSegments(folder).toReversed()) {
      if (firstSeq >= nextSeq) continue
      const record = reader.read({ segment: firstSeq, offset: headerBytes })
      if (record?.kind === 'opened') return record
    }
    return undefined
  } finally {
    reader.close()
  }
}

function requireSigned(
  folder: string,
  { size, root }: TreeHead['head'],
  { seq, kind, salt, body }: StoredRecord,
): void {
  const reader = new TreeReader(treeFolder(folder), size)
  const entry = reader.readEntry(seq - 1)
  const signed = decodeEntry(entry)
  const path = proveInclusion(seq - 1, size, reader.node)
  const isSigned = verifyInclusion(hashLeaf(entry), { index: seq - 1, size, root, path })
  if (isSigned && signed?.seq === seq && signed.commitment.equals(commitTo(salt, body))) return
  const rule = `record ${seq}, of kind ${kind}, is not as it was signed`
  throw new DataFileError(folder, `${rule}. Restore the folder from a backup`)
}

/**
 * Whether the names of the file are those that a record says or, where the journal was given others since and has not been
 * started, go on from them to its present name.
 */
export function isCopyOf(
  folder: string,
  names: readonly FormerOrigin[],
  recorded: readonly FormerOrigin[],
): boolean {
  if (JSON.stringify(names.slice(0, recorded.length)) !== JSON.stringify(recorded)) return false
  const added = names.slice(recorded.length)
  if (added.length === 0) return true
  const newest = listSegments(folder).at(-1)
  const writtenBy = newest && readSegmentHeader(newest.path)?.origin
  const [first] = added
  const isNext = first !== undefined && writtenBy?.equals(hashOriginName(first.origin)) === true
  const present = readOriginName(folder)
  const all = new Set([...names.map(({ origin }) => origin), present])
  // No name is given twice.
  if (all.size <= names.length) return false
  const following = [...added.slice(1).map(({ origin }) => origin), present]
  return isNext && added.every(({ next }, index) => next === following[index])
}
