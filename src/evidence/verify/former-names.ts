/** The records that a journal has under names that it had before: only the keys of these prove them. */
import { getErrorMessage } from '../../errors.js'
import {
  type FormerOrigin,
  formerOriginsPath,
  readFormerOrigins,
} from '../../gate/journal/journal-beginning.js'
import { readOriginName } from '../../gate/journal/journal-origin.js'
import { isCopyOf, openFormerHead } from '../../gate/journal/recovery/former-names.js'
import { formatVerifierKey, type VerifierKey } from '../../transparency/signed-note.js'
import type { Findings } from './findings.js'

export interface FormerNames {
  /** As the newest record of a start says that is signed, and as the newest one says. */
  readonly signed: readonly FormerOrigin[]
  readonly recorded: readonly FormerOrigin[]
}

interface NamedJournal {
  readonly folder: string
  /** How many records are signed. */
  readonly size: number
  readonly isRenaming: boolean
}

/**
 * Compares `former-origins.json` with what the records say; it is what the next start records. While a journal is being
 * renamed, its present name is in the file already. Gives the names of the file if they go on from the signed ones, which
 * they are otherwise.
 */
export function checkNamesFile(
  { folder, size, isRenaming }: NamedJournal,
  { signed, recorded }: FormerNames,
  findings: Findings,
): readonly FormerOrigin[] {
  const path = formerOriginsPath(folder)
  try {
    const present = isRenaming ? readOriginName(folder) : undefined
    const names = readFormerOrigins(folder).filter(({ origin }) => origin !== present)
    if (isCopyOf({ folder, size }, names, signed)) return names
    if (isCopyOf({ folder, size }, names, recorded)) {
      const rule = 'agrees with the record of the last start, which is not signed yet'
      findings.add('unchecked', `${path}: the file ${rule}. Verify again in a minute`)
    } else
      findings.add('false', `${path}: the file does not agree with the record of the last start`)
  } catch (cause) {
    findings.add('false', getErrorMessage(cause))
  }
  return signed
}

interface JournalWithNames {
  readonly folder: string
  /** How many records were removed after their time. */
  readonly removed: number
  /** Of the names that it had. */
  readonly keys: readonly VerifierKey[]
}

/** Whether what was recorded under each name is what the key of that name has signed. */
export function checkFormerRecords(
  { folder, removed, keys }: JournalWithNames,
  names: readonly FormerOrigin[],
  findings: Findings,
): void {
  for (const key of keys.filter(({ name }) => !names.some(({ origin }) => origin === name))) {
    findings.add('unchecked', `the journal does not say that it was ever named ${key.name} (--key)`)
  }
  let before = removed
  for (const entry of names) {
    const { origin, size } = entry
    const first = before + 1
    before = Math.max(before, size)
    const key = keys.find(({ name }) => name === origin)
    const about = `records that were written under the former name ${origin}`
    // The others were removed, or there were none.
    const add = (level: 'false' | 'unchecked', rule: string, from = first) => {
      if (level === 'false' || from <= size) {
        findings.add(level, `${about} ${rule}`, from <= size ? [from, size] : undefined)
      }
    }
    if (key === undefined) {
      add(
        'unchecked',
        'are not proven without its key (--key): the one who gave the journal its new name could have rewritten them',
      )
    } else if (formatVerifierKey(key) !== entry.key) {
      add('false', 'are those of another key, as the journal says')
    } else {
      try {
        const signed = openFormerHead(folder, entry).size
        const rule = `are in no head that it has signed: the last one has ${signed}`
        add('unchecked', rule, Math.max(first, signed + 1))
      } catch (cause) {
        add('false', `are not what it has signed last: ${getErrorMessage(cause)}`)
      }
    }
  }
}
