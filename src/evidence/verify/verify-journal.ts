/**
 * Checks a journal against its signed tree, and against heads that others have kept: finds a record that was changed,
 * left out, added, moved or cut off, and says which. Only reads, also beside the server that writes.
 */
import { existsSync, readFileSync } from 'node:fs'
import { DataFileError, getErrorMessage } from '../../errors.js'
import { type JournalBeginning, readBeginning } from '../../gate/journal/journal-beginning.js'
import { readOriginName } from '../../gate/journal/journal-origin.js'
import { compareIndex } from '../../gate/journal/search/compare-index.js'
import { TreeReader, treeFolder, verifierKeyPath } from '../../gate/journal/tree/tree-files.js'
import { readHead } from '../../gate/journal/tree/tree-head.js'
import { openCheckpoint, type SignedCheckpoint } from '../../transparency/checkpoint.js'
import { computeRoot } from '../../transparency/merkle-tree.js'
import {
  formatVerifierKey,
  NoteError,
  parseVerifierKey,
  type VerifierKey,
} from '../../transparency/signed-note.js'
import { checkRecords, type RecordCounts } from './check-records.js'
import { checkTiles } from './check-tiles.js'
import { Findings, type VerificationFinding } from './findings.js'

export interface JournalToVerify {
  /** Of the journal. */
  readonly folder: string
  /** Who should have signed it; by default the key beside the tree, which proves less. */
  readonly key?: VerifierKey | undefined
  /** Of the index of the journal, which is compared with it; not if absent. */
  readonly indexPath?: string | undefined
  /** Signed checkpoints of the journal that were kept elsewhere, with a name for people. */
  readonly heads?: readonly { readonly name: string; readonly signed: string }[] | undefined
}

export interface Verification {
  readonly findings: readonly VerificationFinding[]
  /** Whether there were more than are listed. */
  readonly hasMore: boolean
  /** The newest signed checkpoint; `undefined` if there is none that can be trusted. */
  readonly head: SignedCheckpoint | undefined
  readonly counts: RecordCounts
}

/** Everything that is wrong is a finding; throws only if there is no journal. */
export function verifyJournal(journal: JournalToVerify): Verification {
  const { folder, key: given, heads = [], indexPath } = journal
  if (!existsSync(folder)) throw new DataFileError(folder, 'there is no journal')
  const findings = new Findings()
  const tree = treeFolder(folder)
  const own = readOwnKey(tree, findings)
  const key = given ?? own
  if (given === undefined) {
    const rule = 'only shows that the journal agrees with itself'
    findings.add('unchecked', `no key was given; the one in ${verifierKeyPath(tree)} ${rule}`)
  } else if (own && formatVerifierKey(own) !== formatVerifierKey(given)) {
    findings.add('false', `${verifierKeyPath(tree)} has another key than ${given.name}`)
  }
  const head = key && openOwnHead(folder, key, findings)
  const reader = new TreeReader(tree, head?.size ?? 0)
  if (head) checkTiles(reader, findings)
  const beginning = openBeginning(folder, findings)
  const counts = checkRecords({ folder, reader, beginning }, findings)
  for (const { name, signed } of heads) {
    if (key) compareHead({ name, signed, key, reader }, findings)
  }
  if (indexPath !== undefined) checkIndex(indexPath, folder, findings)
  return { findings: findings.list, hasMore: findings.hasMore, head, counts }
}

/** What is searched and shown by its id comes from the index. */
function checkIndex(path: string, folder: string, findings: Findings): void {
  try {
    for (const id of compareIndex(path, folder).different) {
      findings.add('false', `${path}: decision ${id} is not in the index as it is in the journal`)
    }
  } catch (cause) {
    findings.add('unchecked', `${path}: the index cannot be compared: ${getErrorMessage(cause)}`)
  }
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
  folder: string,
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
    return readHead(treeFolder(folder), key)
  } catch (cause) {
    findings.add('false', getErrorMessage(cause))
    return undefined
  }
}

function openBeginning(folder: string, findings: Findings): JournalBeginning {
  try {
    return readBeginning(folder)
  } catch (cause) {
    findings.add('false', getErrorMessage(cause))
    return { firstSeq: 1, removedBefore: 0 }
  }
}

interface HeadToCompare {
  readonly name: string
  readonly signed: string
  readonly key: VerifierKey
  readonly reader: TreeReader
}

/** A head that the journal has signed and does not lead to its tree proves that two views of it were shown. */
function compareHead({ name, signed, key, reader }: HeadToCompare, findings: Findings): void {
  let head: SignedCheckpoint
  try {
    head = openCheckpoint(signed, key)
  } catch (cause) {
    if (!(cause instanceof NoteError)) throw cause
    findings.add('false', `${name}: ${cause.message}`)
    return
  }
  if (head.size > reader.size) {
    const rule = `a head of ${head.size} records was signed, but the journal has signed ${reader.size}`
    findings.add('false', `${name}: ${rule}: it was cut off or replaced by an older copy`, [
      reader.size + 1,
      head.size,
    ])
    return
  }
  try {
    if (computeRoot(head.size, reader.node).equals(head.root)) return
    const rule = `the first ${head.size} records are not those that were signed in this head`
    findings.add('false', `${name}: ${rule}: two views of the journal were signed`, [1, head.size])
  } catch (cause) {
    findings.add('unchecked', `${name}: ${getErrorMessage(cause)}`)
  }
}
