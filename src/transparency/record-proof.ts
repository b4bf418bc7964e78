/**
 * Proofs of single records of a journal: C2SP `tlog-proof` files whose extra data is the entry of the record (50 bytes), its
 * salt (16) and its body. Who has the key of the journal can check one without anything else.
 */
import {
  formatProofFile,
  openCheckpoint,
  parseProofFile,
  type SignedCheckpoint,
  toInclusionProof,
} from './checkpoint.js'
import { commitTo, decodeEntry, entryBytes, type LogEntry, saltBytes } from './log-entry.js'
import { hashLeaf, verifyInclusion } from './merkle-tree.js'
import { NoteError, type VerifierKey } from './signed-note.js'

export interface RecordToProve {
  readonly entry: Buffer
  readonly salt: Buffer
  readonly body: Buffer
  readonly path: readonly Buffer[]
  /** A signed checkpoint of the tree that the path leads to. */
  readonly checkpoint: string
}

export function formatRecordProof({ entry, salt, body, path, checkpoint }: RecordToProve): string {
  const seq = decodeEntry(entry)?.seq ?? 0
  const extra = Buffer.concat([entry, salt, body])
  return formatProofFile({ extra, index: seq - 1, path, checkpoint })
}

export interface ProvenRecord {
  readonly entry: LogEntry
  readonly body: Buffer
  readonly checkpoint: SignedCheckpoint
}

/** Throws {@link NoteError} unless the record is in the log with this key. */
export function verifyRecordProof(
  file: string,
  key: VerifierKey,
  witnesses: readonly VerifierKey[] = [],
): ProvenRecord {
  const proof = parseProofFile(file)
  const checkpoint = openCheckpoint(proof.checkpoint, key, witnesses)
  const { extra } = proof
  if (extra === undefined || extra.length < entryBytes + saltBytes) {
    throw new NoteError('the proof does not have the record that it is about')
  }
  const bytes = extra.subarray(0, entryBytes)
  const entry = decodeEntry(bytes)
  const salt = extra.subarray(entryBytes, entryBytes + saltBytes)
  const body = extra.subarray(entryBytes + saltBytes)
  if (entry === undefined || !commitTo(salt, body).equals(entry.commitment)) {
    throw new NoteError('the record in the proof is not the one that its entry stands for')
  }
  if (entry.seq !== proof.index + 1) {
    throw new NoteError(
      `the proof is about place ${proof.index}, but the record has number ${entry.seq}`,
    )
  }
  if (!verifyInclusion(hashLeaf(bytes), toInclusionProof(proof, checkpoint))) {
    throw new NoteError(`record ${entry.seq} is not in the tree that was signed`)
  }
  return { entry, body, checkpoint }
}
