/** The records that a journal has under names that it had before: only the keys of these prove them. */
import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { getErrorMessage } from '../../errors.js'
import {
  type FormerOrigin,
  formerOriginsPath,
  readFormerOrigins,
} from '../../gate/journal/journal-beginning.js'
import { readOriginName } from '../../gate/journal/journal-origin.js'
import { isCopyOf } from '../../gate/journal/recovery/former-names.js'
import {
  checkpointPath,
  formerPath,
  type TreeReader,
  treeFolder,
} from '../../gate/journal/tree/tree-files.js'
import { openCheckpoint } from '../../transparency/checkpoint.js'
import { computeRoot } from '../../transparency/merkle-tree.js'
import { formatVerifierKey, type VerifierKey } from '../../transparency/signed-note.js'
import type { Findings } from './findings.js'

export interface FormerNames {
  /** As the newest record of a start says that is signed, and as the newest one says. */
  readonly signed: readonly FormerOrigin[]
  readonly recorded: readonly FormerOrigin[]
}

/**
 * Compares `former-origins.json` with what the records say; it is what the next start records. While a journal is being
 * renamed, its present name is in the file already.
 */
export function checkNamesFile(
  { folder, isRenaming }: { readonly folder: string; readonly isRenaming: boolean },
  { signed, recorded }: FormerNames,
  findings: Findings,
): void {
  const path = formerOriginsPath(folder)
  try {
    const present = isRenaming ? readOriginName(folder) : undefined
    const names = readFormerOrigins(folder).filter(({ origin }) => origin !== present)
    if (isCopyOf(folder, names, signed)) return
    if (isCopyOf(folder, names, recorded)) {
      const rule = 'agrees with the record of the last start, which is not signed yet'
      findings.add('unchecked', `${path}: the file ${rule}. Verify again in a minute`)
    } else
      findings.add('false', `${path}: the file does not agree with the record of the last start`)
  } catch (cause) {
    findings.add('false', getErrorMessage(cause))
  }
}

interface JournalWithNames {
  readonly folder: string
  readonly reader: TreeReader
  /** Of the first record. */
  readonly firstSeq: number
  /** Of the names that it had. */
  readonly keys: readonly VerifierKey[]
}

/** Whether what was recorded under each name is what the key of that name has signed. */
export function checkFormerRecords(
  { folder, reader, firstSeq, keys }: JournalWithNames,
  names: readonly FormerOrigin[],
  findings: Findings,
): void {
  let before = firstSeq - 1
  for (const entry of names) {
    const { origin, size } = entry
    const seqs = [before + 1, size] as const
    before = Math.max(before, size)
    // They were removed, or there were none.
    if (seqs[0] > seqs[1]) continue
    const key = keys.find(({ name }) => name === origin)
    if (key === undefined) {
      const rule = `were signed under the former name ${origin}, whose key was not given (--key)`
      findings.add(
        'unchecked',
        `records ${rule}: whoever gave the journal its new name could have rewritten them`,
        seqs,
      )
      continue
    }
    const wrong = findFault({ folder, reader, entry }, key)
    if (wrong !== undefined) {
      findings.add(
        'false',
        `records that were signed under the former name ${origin}: ${wrong}`,
        seqs,
      )
    }
  }
}

function findFault(
  {
    folder,
    reader,
    entry,
  }: Pick<JournalWithNames, 'folder' | 'reader'> & { readonly entry: FormerOrigin },
  key: VerifierKey,
): string | undefined {
  const { origin, size, root } = entry
  if (formatVerifierKey(key) !== entry.key)
    return 'the journal says that another key has signed them'
  const path = checkpointPath(join(formerPath(treeFolder(folder)), basename(origin)))
  if (!existsSync(path)) return `the head that was signed last is missing: ${path}`
  try {
    const head = openCheckpoint(readFileSync(path, 'utf8'), key)
    const isSame = head.size === size && head.root.toString('base64') === root
    if (!isSame) return 'the journal does not go on from the head that was signed last'
    return computeRoot(size, reader.node).equals(head.root)
      ? undefined
      : 'they are not those of the head that was signed last'
  } catch (cause) {
    return getErrorMessage(cause)
  }
}
