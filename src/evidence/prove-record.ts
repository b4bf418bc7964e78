/** Makes the proof of one record of a journal. */
import { readFileSync } from 'node:fs'
import { AppError, getErrorCode } from '../errors.js'
import { JournalReader } from '../gate/journal/journal-reader.js'
import type { StoredRecord } from '../gate/journal/segment-format.js'
import { checkpointPath, TreeReader, treeFolder } from '../gate/journal/tree/tree-files.js'
import { parseCheckpoint } from '../transparency/checkpoint.js'
import { commitTo, decodeEntry } from '../transparency/log-entry.js'
import { proveInclusion } from '../transparency/merkle-tree.js'
import { formatRecordProof } from '../transparency/record-proof.js'
import { parseNote } from '../transparency/signed-note.js'

/** As {@link proveStored}, of record `seq`. Throws `not-found` if the journal has no such record. */
export function proveRecord(journalFolder: string, seq: number): string {
  return proveStored(journalFolder, readRecord(journalFolder, seq))
}

/** The next checkpoint follows the one before after so long, if there is anything to sign. */
const retryAfterSeconds = 10

/**
 * The proof of a record for the newest checkpoint. Throws `not-available` if it is not signed yet, and `conflict` if it is not as
 * it was signed, as when its number was erased.
 */
export function proveStored(journalFolder: string, { seq, salt, body }: StoredRecord): string {
  const folder = treeFolder(journalFolder)
  const checkpoint = readCheckpoint(folder)
  const { size } = parseCheckpoint(parseNote(checkpoint).text)
  if (seq > size) {
    const rule = `record ${seq} is not signed yet; ${size} are. Try again in ten seconds`
    throw new AppError('not-available', rule, { retryAfterSeconds })
  }
  const reader = new TreeReader(folder, size)
  const entry = reader.readEntry(seq - 1)
  if (decodeEntry(entry)?.commitment.equals(commitTo(salt, body)) !== true) {
    const rule = `record ${seq} is not as it was signed, as when its number was erased`
    throw new AppError('conflict', `${rule}, so it cannot be proven: see callgate evidence verify`)
  }
  const path = proveInclusion(seq - 1, size, reader.node)
  return formatRecordProof({ entry, salt, body, path, checkpoint })
}

function readCheckpoint(folder: string): string {
  try {
    return readFileSync(checkpointPath(folder), 'utf8')
  } catch (cause) {
    if (getErrorCode(cause) !== 'ENOENT') throw cause
    const rule = 'the journal has not signed anything yet. Try again in ten seconds'
    throw new AppError('not-available', rule, { retryAfterSeconds, cause })
  }
}

function readRecord(journalFolder: string, seq: number): StoredRecord {
  const reader = new JournalReader(journalFolder, seq)
  try {
    const [record] = reader.read(seq)
    if (record?.seq === seq) return record
    throw new AppError('not-found', `the journal has no record ${seq}`)
  } finally {
    reader.close()
  }
}
