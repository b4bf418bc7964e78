/**
 * Checks a journal against its signed tree, and against heads that others have kept: finds a record that was changed,
 * left out, added or moved, or an end that is missing below such a head, and says which. Only reads, also beside the server that writes.
 */
import { readFileSync } from 'node:fs'
import type { Instant } from '../../domain/time/clock.js'
import { DataFileError, getErrorMessage } from '../../errors.js'
import { readOriginName } from '../../gate/journal/journal-origin.js'
import { compareIndex, maxDifferent } from '../../gate/journal/search/compare-index.js'
import { TreeReader, treeFolder, verifierKeyPath } from '../../gate/journal/tree/tree-files.js'
import { readHead } from '../../gate/journal/tree/tree-head.js'
import { isPresent } from '../../runtime/folders.js'
import { openCheckpoint, type SignedCheckpoint } from '../../transparency/checkpoint.js'
import { decodeEntry } from '../../transparency/log-entry.js'
import {
  formatVerifierKey,
  NoteError,
  parseVerifierKey,
  type VerifierKey,
} from '../../transparency/signed-note.js'
import type { KeptHeads } from '../kept-heads.js'
import type { EvidenceResult } from '../result.js'
import { type CheckedRecords, checkRecords, type RecordCounts } from './check-records.js'
import { checkTiles } from './check-tiles.js'
import { readSeenHeads, TimeCheck } from './check-times.js'
import { type ComparedJournal, compareHeads, listCosigned, listOwnHeads } from './compare-heads.js'
import { Findings, type VerificationFinding } from './findings.js'
import { checkFormerRecords, checkNamesFile } from './former-names.js'

export interface JournalToVerify {
  /** Of the journal. */
  readonly folder: string
  /** Who should have signed it; by default the key beside the tree, which proves less. */
  readonly key?: VerifierKey | undefined
  /** Who should have signed it under the names that it had before. */
  readonly formerKeys?: readonly VerifierKey[] | undefined
  /** Has the head and the key, as while a journal is being renamed; by default its tree. */
  readonly headFolder?: string | undefined
  /** Of the index of the journal, which is compared with it; not if absent. */
  readonly indexPath?: string | undefined
  /** Signed checkpoints of the journal that were kept elsewhere. */
  readonly heads?: readonly KeptHeads[] | undefined
  /** Whose cosignatures of the head beside the tree count as kept elsewhere. */
  readonly witnesses?: readonly VerifierKey[] | undefined
  readonly now: Instant
}

export interface Verification {
  readonly result: EvidenceResult
  readonly findings: readonly VerificationFinding[]
  /** Whether there were more than are listed. */
  readonly hasMore: boolean
  /** The newest signed checkpoint; `undefined` if there is none that can be trusted. */
  readonly head: SignedCheckpoint | undefined
  /** The largest head from elsewhere that leads to the tree; `undefined` if there is none. */
  readonly outside: OutsideHead | undefined
  readonly counts: RecordCounts
}

interface OutsideHead {
  /** Of the file, or of the witness that has signed it. */
  readonly name: string
  /** How many records it has. */
  readonly size: number
  /** When its last record was written, as its entry says. */
  readonly at: Instant | undefined
}

/** Everything that is wrong is a finding; throws only if there is no journal. */
export function verifyJournal(journal: JournalToVerify): Verification {
  const {
    folder,
    key: given,
    formerKeys = [],
    heads = [],
    witnesses = [],
    indexPath,
    now,
  } = journal
  if (!isPresent(folder)) throw new DataFileError(folder, 'there is no journal')
  const findings = new Findings()
  const tree = treeFolder(folder)
  const { headFolder = tree } = journal
  const own = readOwnKey(headFolder, findings)
  const key = given ?? own
  if (given === undefined) {
    const rule = 'only shows that the journal agrees with itself'
    findings.add(
      'unchecked',
      `no key was given (--key); the one in ${verifierKeyPath(tree)} ${rule}`,
    )
  } else if (own && formatVerifierKey(own) !== formatVerifierKey(given)) {
    findings.add('false', `${verifierKeyPath(tree)} has another key than ${given.name}`)
  }
  // Before the checkpoint, which is never older.
  const ownHeads = listOwnHeads(tree)
  const head = key && openOwnHead({ folder, headFolder }, key, findings)
  const reader = new TreeReader(tree, head?.size ?? 0)
  if (head) checkTiles(reader, findings)
  const keys = key ? [key, ...formerKeys] : []
  const seen = readSeenHeads({ reader, heads, keys, witnesses })
  const times = new TimeCheck(seen, findings)
  const checked = checkRecords({ folder, reader, seen, times, now }, findings)
  const { counts, names } = checked
  const isRenaming = headFolder !== tree
  const former = checkNamesFile({ folder, size: reader.size, isRenaming }, names, findings)
  if (given !== undefined) {
    checkFormerRecords({ folder, removed: counts.removed, keys: formerKeys }, former, findings)
  }
  const compared = key && { folder, key, reader, formerOrigins: names.signed }
  if (compared) for (const own of ownHeads) compareHeads(own, compared, findings)
  const outside = compared && findOutside({ heads, witnesses }, compared, findings)
  if (outside === undefined && given !== undefined) {
    const rule = 'anyone with the private key could have rewritten and signed all of it'
    findings.add(
      'unchecked',
      `no head from elsewhere leads to this journal (--head, --witness): ${rule}`,
    )
  }
  if (indexPath !== undefined)
    checkIndex(indexPath, { folder, size: reader.size, ...checked }, findings)
  const { list, hasMore, result } = findings
  return { result, findings: list, hasMore, head, outside, counts }
}

/** The largest one. */
function findOutside(
  {
    heads,
    witnesses,
  }: { readonly heads: readonly KeptHeads[]; readonly witnesses: readonly VerifierKey[] },
  journal: ComparedJournal,
  findings: Findings,
): OutsideHead | undefined {
  const { key, reader } = journal
  const found = heads.flatMap((kept) => {
    const head = compareHeads(kept, journal, findings)
    return head ? [{ name: kept.name, size: head.size }] : []
  })
  for (const { signed } of listCosigned(treeFolder(journal.folder))) {
    // It was compared with the others beside the tree.
    for (const witness of witnesses) {
      const size = findCosignedSize(signed, key, witness)
      if (size !== undefined && size > 0) found.push({ name: witness.name, size })
    }
  }
  const [largest] = found.sort((a, b) => b.size - a.size)
  return largest && { ...largest, at: readEntryTime(largest.size, reader) }
}

function findCosignedSize(
  signed: string,
  key: VerifierKey,
  witness: VerifierKey,
): number | undefined {
  try {
    const { size, signatures } = openCheckpoint(signed, key, [witness])
    return signatures.some((one) => one.key === witness) ? size : undefined
  } catch (cause) {
    // A wrong signature of the witness; one of the journal was a finding before.
    if (cause instanceof NoteError) return undefined
    throw cause
  }
}

function readEntryTime(size: number, reader: TreeReader): Instant | undefined {
  try {
    return size === 0 ? undefined : decodeEntry(reader.readEntry(size - 1))?.at
  } catch {
    return undefined
  }
}

interface IndexedJournal extends Pick<CheckedRecords, 'isErasing'> {
  readonly folder: string
  /** How many records were signed. */
  readonly size: number
}

/** What is searched and shown by its id comes from the index. An erasure changes first the index, and then the journal. */
function checkIndex(
  path: string,
  { folder, size, isErasing }: IndexedJournal,
  findings: Findings,
): void {
  try {
    const { different, lastSeq } = compareIndex(path, folder)
    for (const id of confirmDifferent(different, path, folder)) {
      const rule = `decision ${id} is not in the index as it is in the journal`
      if (isErasing) {
        const advice = 'An erasure may be going on. Verify again in a minute'
        findings.add('unchecked', `${path}: ${rule}. ${advice}`)
      } else findings.add('false', `${path}: ${rule}`)
    }
    if (lastSeq < size) {
      const rule = `the index ends with record ${lastSeq}, but ${size} were signed`
      findings.add('unchecked', `${path}: ${rule}. Start the server: it makes the rest again`)
    }
  } catch (cause) {
    findings.add('unchecked', `${path}: the index cannot be compared: ${getErrorMessage(cause)}`)
  }
}

/** An erasure or a removal may have changed some between the looks at index and journal. */
function confirmDifferent(
  different: readonly string[],
  path: string,
  folder: string,
): readonly string[] {
  if (different.length === 0) return []
  const again = compareIndex(path, folder).different
  const isAll = again.length === maxDifferent
  return again.filter((id) => isAll || different.includes(id))
}

function readOwnKey(tree: string, findings: Findings): VerifierKey | undefined {
  const path = verifierKeyPath(tree)
  try {
    return parseVerifierKey(readFileSync(path, 'utf8').trimEnd())
  } catch (cause) {
    findings.add(
      'false',
      `${path}: the key of the journal cannot be read: ${getErrorMessage(cause)}`,
    )
    return undefined
  }
}

function openOwnHead(
  { folder, headFolder }: { readonly folder: string; readonly headFolder: string },
  key: VerifierKey,
  findings: Findings,
): SignedCheckpoint | undefined {
  try {
    if (readOriginName(folder) !== key.name) {
      findings.add(
        'false',
        `the journal is named ${readOriginName(folder)}, but the key is that of ${key.name}`,
      )
    }
    return readHead(treeFolder(folder), key, headFolder)
  } catch (cause) {
    findings.add('false', getErrorMessage(cause))
    return undefined
  }
}
