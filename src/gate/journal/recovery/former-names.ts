/** The names that a journal had, in a file and in its records: the file is a copy of what the record of each start says. */
import { countLossFirst, DataFileError } from '../../../errors.js'
import type { Checkpoint } from '../../../transparency/checkpoint.js'
import { recordKinds } from '../../../transparency/log-entry.js'
import { formatVerifierKey } from '../../../transparency/signed-note.js'
import { readRecord } from '../../record/read-record.js'
import { type FormerOrigin, formerOriginsPath, readFormerOrigins } from '../journal-beginning.js'
import { hashOriginName, readOriginName } from '../journal-origin.js'
import { listSegments, RecordReader, readSegmentHeader } from '../journal-reader.js'
import { requireAsSigned } from '../removal/signed-records.js'
import { headerBytes, type StoredRecord } from '../segment-format.js'
import { changedRecord, type SignedTree } from '../tree/signed-tree.js'
import { checkpointPath, formerPath, treeFolder } from '../tree/tree-files.js'
import { readTree } from '../tree/tree-head.js'

/**
 * At the start, which records the names of the file; `undefined` if there are none. Throws {@link DataFileError} if they are
 * not those that the record of the last start says, that is not as it was signed, or a name that was given since does not
 * end where its head and the tree say. What follows the signed head must have been found to be sealed.
 */
export function requireFormerNames(
  folder: string,
  tree: SignedTree,
  nextSeq: number,
): readonly FormerOrigin[] | undefined {
  const names = readFormerOrigins(folder)
  const opened = findLastOpened(folder, tree, nextSeq)
  const formerOrigins = (opened && readRecord('opened', opened).formerOrigins) ?? []
  if (!isCopyOf({ folder, size: tree.size }, names, formerOrigins)) {
    const said = opened ? `record ${opened.seq}, that of the last start` : 'the tree'
    const rule = `the file does not agree with ${said}. Restore it from a backup${countLossFirst}`
    throw new DataFileError(formerOriginsPath(folder), rule)
  }
  for (const added of names.slice(formerOrigins.length)) openFormerHead(folder, added)
  return names.length === 0 ? undefined : names
}

/** Each start begins a segment. `undefined` if no record of one is left. */
function findLastOpened(
  folder: string,
  tree: SignedTree,
  nextSeq: number,
): StoredRecord | undefined {
  const reader = new RecordReader(folder)
  try {
    for (const { path, firstSeq: seq } of listSegments(folder).toReversed()) {
      if (seq >= nextSeq) continue
      const entry = seq <= tree.size ? tree.readEntries([seq, seq])(seq) : undefined
      if (entry && entry.kind !== recordKinds.opened) continue
      const record = reader.read({ segment: seq, offset: headerBytes })
      if (record?.seq !== seq) throw changedRecord(path, seq)
      if (entry) requireAsSigned(record, entry, path)
      if (record.kind === 'opened') return record
    }
    return undefined
  } finally {
    reader.close()
  }
}

/**
 * The head that a former name has signed last. Throws {@link DataFileError} unless it is one of its key and of the tree, and
 * has no more records than the name.
 */
export function openFormerHead(folder: string, { origin, key, size }: FormerOrigin): Checkpoint {
  const kept = formerPath(treeFolder(folder), origin)
  const signed = readTree(folder, kept)
  const isOwn = signed?.key.name === origin && formatVerifierKey(signed.key) === key
  if (signed && isOwn && signed.head.size <= size) return signed.head
  const rule = `there is no head of at most ${size} records that ${key} has signed for ${origin}`
  throw new DataFileError(
    checkpointPath(kept),
    `${rule}. Restore the folder from a backup${countLossFirst}`,
  )
}

interface NamedJournal {
  readonly folder: string
  /** How many records it has signed. */
  readonly size: number
}

/**
 * Whether the names of the file are those that a record says or, where the journal was given others since and has not been
 * started, go on from them to its present name.
 */
export function isCopyOf(
  { folder, size }: NamedJournal,
  names: readonly FormerOrigin[],
  recorded: readonly FormerOrigin[],
): boolean {
  if (JSON.stringify(names.slice(0, recorded.length)) !== JSON.stringify(recorded)) return false
  const added = names.slice(recorded.length)
  if (added.length === 0) return true
  // The first start under a new name may have been killed before its record was on disk.
  const newest = listSegments(folder).findLast(({ firstSeq }) => firstSeq <= size)
  const writtenBy = newest && readSegmentHeader(newest.path)?.origin
  const [first] = added
  const isNext = first !== undefined && writtenBy?.equals(hashOriginName(first.origin)) === true
  const present = readOriginName(folder)
  const all = new Set([...names.map(({ origin }) => origin), present])
  // No name is given twice.
  if (all.size <= names.length) return false
  const following = [...added.slice(1).map(({ origin }) => origin), present]
  const isInOrder = added.every(({ next }, index) => next === following[index])
  // Before the first start under a new name, nothing is recorded.
  return isNext && isInOrder && added.every((one) => one.size === size)
}
