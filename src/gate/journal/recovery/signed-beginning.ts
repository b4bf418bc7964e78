import { countLossFirst, DataFileError } from '../../../errors.js'
import { readRecord } from '../../record/read-record.js'
import { beginningPath, type JournalBeginning, readBeginning } from '../journal-beginning.js'
import { JournalReader } from '../journal-reader.js'
import { requireAsSigned } from '../removal/signed-records.js'
import type { SignedTree } from '../tree/signed-tree.js'

/**
 * With which record a journal begins, as the file says and a signed notice too. Throws {@link DataFileError} if there is no such
 * notice, or it says something else: then somebody has written the file.
 */
export function readSignedBeginning(folder: string, tree: SignedTree): JournalBeginning {
  const begins = readBeginning(folder)
  const { firstSeq, removedBefore, notice } = begins
  if (notice === undefined) return begins
  const path = beginningPath(folder)
  const rule = `record ${notice}, which the file names as the notice of the removal,`
  const advice = `Restore the folder journal from a backup${countLossFirst}`
  if (notice > tree.size) throw new DataFileError(path, `${rule} is not signed. ${advice}`)
  const reader = new JournalReader(folder, notice)
  try {
    const [record] = reader.read(notice)
    if (record?.kind !== 'notice') throw new DataFileError(path, `${rule} is none. ${advice}`)
    requireAsSigned(record, tree.readEntries([notice, notice])(notice), folder)
    const said = readRecord(record.kind, record)
    if (said.firstSeq === firstSeq && said.removedBefore === removedBefore) return begins
    const found = `says firstSeq ${said.firstSeq} and removedBefore ${said.removedBefore}`
    throw new DataFileError(path, `${rule} ${found}. ${advice}`)
  } finally {
    reader.close()
  }
}
