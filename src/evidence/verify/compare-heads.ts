/** Compares a journal with signed heads that were kept, also with those of names that it had before. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { getErrorMessage } from '../../errors.js'
import { type FormerOrigin, readFormerOrigins } from '../../gate/journal/journal-beginning.js'
import {
  cosignedPath,
  type TreeReader,
  timestampsPath,
} from '../../gate/journal/tree/tree-files.js'
import { isPresent } from '../../runtime/folders.js'
import { type Checkpoint, type ListedNote, openCheckpoint } from '../../transparency/checkpoint.js'
import { computeRoot } from '../../transparency/merkle-tree.js'
import { NoteError, parseVerifierKey, type VerifierKey } from '../../transparency/signed-note.js'
import { fileSource } from '../byte-source.js'
import { type KeptHeads, listHeads } from '../kept-heads.js'
import type { Findings, VerificationFinding } from './findings.js'

export interface ComparedJournal {
  readonly folder: string
  readonly key: VerifierKey
  /** Of its newest checkpoint. */
  readonly reader: TreeReader
  /** As a signed record says. */
  readonly formerOrigins: readonly FormerOrigin[]
}

/** Heads beside the tree: to go back to an older checkpoint, somebody has to remove them too. */
export function listOwnHeads(tree: string): readonly KeptHeads[] {
  return [cosignedPath(tree), ...listStamps(tree)]
    .filter((path) => isPresent(path))
    .map((path) => ({ name: path, source: fileSource(path) }))
}

/** Files with a head that was stamped. */
function listStamps(tree: string): readonly string[] {
  const stamps = timestampsPath(tree)
  const stamped = isPresent(stamps) ? readdirSync(stamps) : []
  const names = stamped.filter((name) => name.endsWith('.checkpoint')).sort()
  return names.map((name) => join(stamps, name))
}

/** The newest head that a witness has signed, with its signatures; none or one. */
export function listCosigned(tree: string): Iterable<ListedNote> {
  const path = cosignedPath(tree)
  return isPresent(path) ? listHeads(fileSource(path)) : []
}

/**
 * Compares all heads of the journal in a file; the first one that does not lead to its tree proves that two views of it were
 * shown, and is the last one that is compared. Returns the largest one that leads to it.
 */
export function compareHeads(
  { name, source }: KeptHeads,
  journal: ComparedJournal,
  findings: Findings,
): Checkpoint | undefined {
  let largest: Checkpoint | undefined
  /** One of each name is enough of those that cannot be compared. */
  const unchecked = new Set<string>()
  let isAny = false
  for (const { origin, signed } of listHeads(source)) {
    // The present name is never a former one, whatever the file says.
    const isOwn = origin === journal.key.name
    const former = isOwn ? undefined : findFormer(origin, journal)
    if (!isOwn && former === undefined) continue
    isAny = true
    const found = former ? compareFormer(signed, former, journal) : compareOwn(signed, journal)
    if (!('level' in found)) {
      // The empty head is one of every journal of the key.
      if (found.size >= (largest?.size ?? 1)) largest = found
      continue
    }
    const { level, message, seqs } = found
    if (level === 'false' || !unchecked.has(origin))
      findings.add(level, `${name}: ${message}`, seqs)
    if (level === 'false') return undefined
    unchecked.add(origin)
  }
  if (!isAny) findings.add('unchecked', `${name}: it has no signed head of ${journal.key.name}`)
  return largest
}

/** A head that leads to the tree, or what there is to say about it. */
type Compared = Checkpoint | VerificationFinding

const isFalse = (message: string, seqs?: VerificationFinding['seqs']): VerificationFinding => ({
  level: 'false',
  message,
  seqs,
})
const isUnchecked = (message: string, seqs?: VerificationFinding['seqs']): VerificationFinding => ({
  level: 'unchecked',
  message,
  seqs,
})

function compareOwn(signed: string, { key, reader }: ComparedJournal): Compared {
  return withHead(
    signed,
    () => key,
    (head) => {
      if (head.size <= reader.size) return requireRoot(head, reader)
      const rule = `a head of ${head.size} records was signed, but the journal has signed ${reader.size}`
      return isFalse(`${rule}: it was cut off or replaced by an older copy`, [
        reader.size + 1,
        head.size,
      ])
    },
  )
}

/** A signature that is wrong was not made by the journal, but the file was changed. */
function withHead(
  signed: string,
  readKey: () => VerifierKey,
  compare: (head: Checkpoint) => Compared,
): Compared {
  try {
    return compare(openCheckpoint(signed, readKey()))
  } catch (cause) {
    if (cause instanceof NoteError) return isFalse(cause.message)
    throw cause
  }
}

function requireRoot(head: Checkpoint, reader: TreeReader): Compared {
  const { origin, size } = head
  try {
    if (hasRoot(head, reader)) return head
    const rule = `the first ${size} records are not those that were signed in this head of ${origin}`
    return isFalse(`${rule}: two views of the journal were signed`, [1, size])
  } catch (cause) {
    return isUnchecked(getErrorMessage(cause))
  }
}

/** Whether a head is one of the tree. */
export const hasRoot = ({ size, root }: Checkpoint, reader: TreeReader): boolean =>
  size <= reader.size && computeRoot(size, reader.node).equals(root)

interface FormerName {
  readonly entry: FormerOrigin
  /** Whether a signed record names it. */
  readonly isSigned: boolean
}

function findFormer(origin: string, journal: ComparedJournal): FormerName | undefined {
  const named = journal.formerOrigins.map((entry) => ({ entry, isSigned: true }))
  const listed = listFormer(journal.folder).map((entry) => ({ entry, isSigned: false }))
  return [...named, ...listed].find(({ entry }) => entry.origin === origin)
}

function listFormer(folder: string): readonly FormerOrigin[] {
  try {
    return readFormerOrigins(folder)
  } catch {
    return []
  }
}

/** The tree stays when a journal goes on under another name, so a head of the old one is of the same tree. */
function compareFormer(
  signed: string,
  { entry, isSigned }: FormerName,
  { reader }: ComparedJournal,
): Compared {
  const { origin, next, because, at } = entry
  return withHead(
    signed,
    () => parseVerifierKey(entry.key),
    (head) => {
      const kept = Math.min(entry.size, reader.size)
      if (head.size > kept && !hasRoot(head, reader)) {
        const rule =
          `is a head of ${head.size} records of ${origin}, the former name of this journal, which goes on from its first ` +
          `${kept} as ${next} since ${at} (${because}). What followed them under the old name is not here`
        const advice = 'Verify a copy of the old journal that has them, with its own key'
        return isUnchecked(`${rule}. ${advice}`, [kept + 1, head.size])
      }
      const found = requireRoot(head, reader)
      if (isSigned || 'level' in found) return found
      const rule = `no signed record says that ${next} goes on from ${origin}`
      const advice = 'Start the server, and verify again'
      return isUnchecked(`${rule}, only former-origins.json. ${advice}`)
    },
  )
}
