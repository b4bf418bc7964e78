/** The entries of a tree, as far as they lead to the root that was signed: whoever can change a record can change its tile. */
import { countLossFirst, DataFileError } from '../../../errors.js'
import type { Checkpoint } from '../../../transparency/checkpoint.js'
import {
  commitTo,
  decodeEntry,
  type LogEntry,
  recordKinds,
} from '../../../transparency/log-entry.js'
import { hashLeaf } from '../../../transparency/merkle-tree.js'
import {
  hashSubtree,
  proveRanges,
  rootOfRanges,
  type SeqRange,
} from '../../../transparency/range-proof.js'
import type { StoredRecord } from '../segment-format.js'
import { TreeReader } from './tree-files.js'

/** A record that is not the one that was signed: only somebody who changes the files can have made it. */
export class ChangedRecordError extends DataFileError {}

export class SignedTree {
  readonly #reader: TreeReader
  readonly #head: Checkpoint

  /** The head must be one whose signature was checked, or made. */
  constructor(folder: string, head: Checkpoint) {
    this.#reader = new TreeReader(folder, head.size)
    this.#head = head
  }

  /** Number of the last record. */
  get size(): number {
    return this.#head.size
  }

  /**
   * The entries of some records, by number. Throws {@link ChangedRecordError} if they do not lead to the root, and
   * {@link DataFileError} if they cannot be read.
   */
  readEntries([first, last]: SeqRange): (seq: number) => LogEntry {
    const { size, root } = this.#head
    const { folder, node } = this.#reader
    const bytes: Buffer[] = []
    for (let seq = first; seq <= last; seq += 1) bytes.push(this.#reader.readEntry(seq - 1))
    const ranges = [[first - 1, last - 1]] as const
    const proof = proveRanges(ranges, size, (start, end) => hashSubtree(start, end, node))
    const leafOf = (index: number) => hashLeaf(bytes[index + 1 - first] ?? Buffer.alloc(0))
    if (rootOfRanges(ranges, size, leafOf, proof)?.equals(root) !== true) {
      const rule = `the entries of records ${first} to ${last} are not those that were signed`
      throw new ChangedRecordError(folder, `${rule}. ${checkAdvice}`)
    }
    return (seq) => {
      const entry = decodeEntry(bytes[seq - first] ?? Buffer.alloc(0))
      if (entry?.seq === seq) return entry
      throw new DataFileError(folder, `record ${seq} has no entry in the tree`)
    }
  }

  /** When a record was written, as was signed. */
  readTime(seq: number): number {
    return this.readEntries([seq, seq])(seq).at
  }
}

/** What to do about a record that was changed. */
const checkAdvice = `Find out who has changed it: callgate evidence verify. Restore the file from a backup${countLossFirst}`

/**
 * What a record commits to. Throws {@link ChangedRecordError} if its number, kind or time is another one than in its entry,
 * which no erasure changes.
 */
export function commitToRecord(
  { seq, kind, at, salt, body }: StoredRecord,
  entry: LogEntry,
  path: string,
): Buffer {
  if (entry.seq === seq && entry.kind === recordKinds[kind] && entry.at === at) {
    return commitTo(salt, body)
  }
  throw changedRecord(path, seq)
}

export function changedRecord(path: string, seq: number): ChangedRecordError {
  return new ChangedRecordError(
    path,
    `record ${seq} is not the one that was signed, and no signed notice says why. ${checkAdvice}`,
  )
}

/** Of one that was to be signed. */
export function unsealedRecord(path: string, seq: number): ChangedRecordError {
  const rule = `record ${seq} is not as the journal has written and sealed it, and is not signed`
  return new ChangedRecordError(path, `${rule}. ${checkAdvice}`)
}
