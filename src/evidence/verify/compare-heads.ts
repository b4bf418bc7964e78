/** Compares a journal with signed heads that were kept, also with those of names that it had before. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { getErrorMessage } from '../../errors.js'
import { type FormerOrigin, readFormerOrigins } from '../../gate/journal/journal-beginning.js'
import {
  cosignedPath,
  formerPath,
  type TreeReader,
  timestampsPath,
  treeFolder,
  verifierKeyPath,
} from '../../gate/journal/tree/tree-files.js'
import { type Checkpoint, findLastNote, openCheckpoint } from '../../transparency/checkpoint.js'
import { computeRoot } from '../../transparency/merkle-tree.js'
import { NoteError, parseVerifierKey, type VerifierKey } from '../../transparency/signed-note.js'
import type { Findings } from './findings.js'

export interface KeptHead {
  readonly name: string
  /** Of several in one text, the last counts. */
  readonly signed: string
}

export interface ComparedJournal {
  readonly folder: string
  readonly key: VerifierKey
  /** Of its newest checkpoint. */
  readonly reader: TreeReader
  /** As a signed record says. */
  readonly formerOrigins: readonly FormerOrigin[]
}

/** Heads beside the tree, with which nobody can go back to an older checkpoint unless they are gone too. */
export function listOwnHeads(tree: string): readonly KeptHead[] {
  const stamps = timestampsPath(tree)
  const stamped = existsSync(stamps) ? readdirSync(stamps) : []
  // Their names begin with the size.
  const newest = stamped
    .filter((name) => name.endsWith('.checkpoint'))
    .sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
    .at(-1)
  const paths = [cosignedPath(tree), ...(newest === undefined ? [] : [join(stamps, newest)])]
  return paths
    .filter((path) => existsSync(path))
    .map((path) => ({ name: path, signed: readFileSync(path, 'utf8') }))
}

/** A head that the journal has signed and does not lead to its tree proves that two views of it were shown. */
export function compareHead(
  { name, signed }: KeptHead,
  journal: ComparedJournal,
  findings: Findings,
): void {
  const { key, reader } = journal
  try {
    const own = findLastNote(signed, key.name)
    const former = own === undefined ? findFormer(signed, journal) : undefined
    if (former) {
      compareFormer({ name, ...former }, journal, findings)
      return
    }
    const head = openCheckpoint(own ?? signed, key)
    if (head.size <= reader.size) requireRoot({ name, head }, reader, findings)
    else {
      const rule = `a head of ${head.size} records was signed, but the journal has signed ${reader.size}`
      findings.add('false', `${name}: ${rule}: it was cut off or replaced by an older copy`, [
        reader.size + 1,
        head.size,
      ])
    }
  } catch (cause) {
    if (!(cause instanceof NoteError)) throw cause
    findings.add('false', `${name}: ${cause.message}`)
  }
}

interface HeadToFind {
  readonly name: string
  readonly head: Checkpoint
}

function requireRoot({ name, head }: HeadToFind, reader: TreeReader, findings: Findings): void {
  const { origin, size } = head
  try {
    if (hasRoot(head, reader)) return
    const rule = `the first ${size} records are not those that were signed in this head of ${origin}`
    findings.add('false', `${name}: ${rule}: two views of the journal were signed`, [1, size])
  } catch (cause) {
    findings.add('unchecked', `${name}: ${getErrorMessage(cause)}`)
  }
}

const hasRoot = ({ size, root }: Checkpoint, reader: TreeReader): boolean =>
  size <= reader.size && computeRoot(size, reader.node).equals(root)

interface FormerName {
  readonly entry: FormerOrigin
  /** Whether a signed record names it. */
  readonly isSigned: boolean
  readonly note: string
}

function findFormer(signed: string, journal: ComparedJournal): FormerName | undefined {
  const named = journal.formerOrigins.map((entry) => ({ entry, isSigned: true }))
  const listed = listFormer(journal.folder).map((entry) => ({ entry, isSigned: false }))
  for (const { entry, isSigned } of [...named, ...listed]) {
    const note = findLastNote(signed, entry.origin)
    if (note !== undefined) return { entry, isSigned, note }
  }
  return undefined
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
  { name, entry, isSigned, note }: FormerName & { readonly name: string },
  { folder, reader }: ComparedJournal,
  findings: Findings,
): void {
  const { origin, next, because, at } = entry
  const keyPath = verifierKeyPath(join(formerPath(treeFolder(folder)), basename(origin)))
  if (!existsSync(keyPath)) {
    findings.add('unchecked', `${name}: the key of ${origin} is missing: ${keyPath}`)
    return
  }
  const head = openCheckpoint(note, parseVerifierKey(readFileSync(keyPath, 'utf8').trimEnd()))
  if (!isSigned) {
    const rule = `no signed record says that ${next} goes on from ${origin}`
    const advice = 'Start the server, and verify again'
    findings.add('unchecked', `${name}: ${rule}, only former-origins.json. ${advice}`)
  }
  const kept = Math.min(entry.size, reader.size)
  if (head.size <= kept || hasRoot(head, reader)) {
    requireRoot({ name, head }, reader, findings)
    return
  }
  const rule =
    `is a head of ${head.size} records of ${origin}, the former name of this journal, which goes on from its first ` +
    `${kept} as ${next} since ${at} (${because}). What followed them under the old name is not here`
  const advice = 'Verify a copy of the old journal that has them, with its own key'
  findings.add('unchecked', `${name} ${rule}. ${advice}`, [kept + 1, head.size])
}
