/** Compares records with what was signed: with their entries in the tree or, once something was erased, with the notices of that. */
import type { LogEntry } from '../../../transparency/log-entry.js'
import { type NoticeContent, readRecord } from '../../record/read-record.js'
import type { DecisionIndex, NoticePlace } from '../decision-index.js'
import { JournalReader, RecordReader, segmentPath } from '../journal-reader.js'
import type { StoredRecord } from '../segment-format.js'
import { changedRecord, commitToRecord, type SignedTree } from '../tree/signed-tree.js'

export class SignedRecords {
  readonly #folder: string
  readonly #tree: SignedTree
  readonly #index: Pick<DecisionIndex, 'listNotices'>
  #latest: { readonly seq: number; readonly notice: NoticeContent } | undefined

  /** `folder` is that of the journal. */
  constructor(folder: string, tree: SignedTree, index: Pick<DecisionIndex, 'listNotices'>) {
    this.#folder = folder
    this.#tree = tree
    this.#index = index
  }

  /** Throws {@link ChangedRecordError} unless the record is as its entry says, or a signed notice. */
  require(record: StoredRecord, entry: LogEntry, path: string): void {
    const commitment = commitToRecord(record, entry, path)
    if (commitment.equals(entry.commitment)) return
    const { seq } = record
    const text = commitment.toString('base64')
    for (const place of this.#index.listNotices(seq)) {
      if (place.notice > this.#tree.size) continue
      const { changed = [] } = this.#readNotice(place)
      if (changed.some(([of, noticed]) => of === seq && noticed === text)) return
    }
    throw changedRecord(path, seq)
  }

  /** The index only says where it is. */
  #readNotice({ notice: seq, ...place }: NoticePlace): NoticeContent {
    if (this.#latest?.seq === seq) return this.#latest.notice
    const reader = new RecordReader(this.#folder)
    try {
      const path = segmentPath(this.#folder, place.segment)
      const record = reader.read(place)
      if (record?.kind !== 'notice') throw changedRecord(path, seq)
      requireAsSigned(record, this.#tree.readEntries([seq, seq])(seq), path)
      const notice = readRecord(record.kind, record)
      this.#latest = { seq, notice }
      return notice
    } finally {
      reader.close()
    }
  }
}

/** Of a record from which nothing is ever erased. Throws {@link ChangedRecordError}. */
export function requireAsSigned(record: StoredRecord, entry: LogEntry, path: string): void {
  if (commitToRecord(record, entry, path).equals(entry.commitment)) return
  throw changedRecord(path, record.seq)
}

/**
 * After a crash, a record that an erasure in progress was about to change is as before, or as the notice says: then it is erased
 * again. Throws {@link ChangedRecordError} if one is neither.
 */
export function requireErasedRecords(
  folder: string,
  tree: SignedTree,
  index: Pick<DecisionIndex, 'listNotices' | 'listErasing'>,
): void {
  const signed = new SignedRecords(folder, tree, index)
  for (const seq of index.listErasing()) {
    const reader = new JournalReader(folder, seq)
    try {
      const [record] = reader.read(seq)
      if (record === undefined) throw changedRecord(folder, seq)
      const path = segmentPath(folder, record.segment)
      signed.require(record, tree.readEntries([seq, seq])(seq), path)
    } finally {
      reader.close()
    }
  }
}
