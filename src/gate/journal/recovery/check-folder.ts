/** What is checked and made right at each start before a journal is written to. */
import type { SigningKey } from '../../../transparency/signed-note.js'
import type { DecisionIndex } from '../decision-index.js'
import { readOrigin } from '../journal-origin.js'
import { requireErasedRecords } from '../removal/signed-records.js'
import { restoreTiles } from '../tree/restore-tiles.js'
import { SignedTree } from '../tree/signed-tree.js'
import { treeFolder } from '../tree/tree-files.js'
import { openTree } from '../tree/tree-head.js'
import { requireFormerNames } from './former-names.js'
import { type RecoveredJournal, recoverJournal } from './recover-journal.js'
import { readSignedBeginning } from './signed-beginning.js'

interface FolderToCheck {
  /** Of the journal. */
  readonly folder: string
  readonly keyPath: string
  readonly index: DecisionIndex
  readonly now: number
}

export interface CheckedFolder extends RecoveredJournal {
  /** SHA-256 of the journal's name. */
  readonly origin: Buffer
  readonly key: SigningKey
  readonly formerOrigins: ReturnType<typeof requireFormerNames>
}

/** Throws `DataFileError` with the place if something is damaged, missing, or not as it was signed. */
export function checkFolder({ folder, keyPath, index, now }: FolderToCheck): CheckedFolder {
  const origin = readOrigin(folder, now)
  index.claim(origin)
  restoreTiles(folder)
  const tree = openTree(folder, keyPath)
  const recovered = recoverJournal(folder, origin, { tree, fromSeq: index.nextSeq })
  const formerOrigins = requireFormerNames(folder, tree, recovered.nextSeq)
  const signed = new SignedTree(treeFolder(folder), tree.head)
  index.setBeginning(readSignedBeginning(folder, signed))
  requireErasedRecords(folder, signed, index)
  return { ...recovered, origin, key: tree.key, formerOrigins }
}
