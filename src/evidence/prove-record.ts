/** Makes the proof of one record of a journal. */
import { readFileSync } from 'node:fs'
import { AppError } from '../errors.js'
import { JournalReader } from '../gate/journal/journal-reader.js'
import type { StoredRecord } from '../gate/journal/segment-format.js'
import { checkpointPath, TreeReader, treeFolder } from '../gate/journal/tree/tree-files.js'
import { parseCheckpoint } from '../transparency/checkpoint.js'
import { commitTo, decodeEntry } from '../transparency/log-entry.js'
import { proveInclusion } from '../transparency/merkle-tree.js'
import { formatRecordProof } from '../transparency/record-proof.js'
import { parseNote } from '../transparency/signed-note.js'

/**
 * The proof of record `seq` for the newest checkpoint. Throws `not-found` if the journal has no such record, or its number
 * was erased, and `not-available` if it is not signed yet.
 */
export function proveRecord(journalFolder: string, seq: number): string {
  const folder = treeFolder(journalFolder)
  const checkpoint = readFileSync(checkpointPath(folder), 'utf8')
  const { size } = parseCheckpoint(parseNote(checkpoint).text)
  const { salt, body } = readRecord(journalFolder, seq)
  if (seq > size) {
    const rule = `record ${seq} is not signed yet; ${size} are. Try again in ten seconds`
    throw new AppError('not-available', rule)
  }
  const reader = new TreeReader(folder, size)
  const entry = reader.readEntry(seq - 1)
  if (decodeEntry(entry)?.commitment.equals(commitTo(salt, body)) !== true) {
    throw new AppError(
      'not-found',
      `record ${seq} is not as it was signed: see callgate evidence verify`,
    )
  }
  const path = proveInclusion(seq - 1, size, reader.node)
  return formatRecordProof({ entry, salt, body, path, checkpoint })
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
