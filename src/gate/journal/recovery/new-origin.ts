/**
 * Gives a journal a new name and a new key, so that what it records from now on cannot be taken for what the journal of
 * the old name recorded after the same point. Its records and their tree stay; the next record names the old journal.
 */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Instant } from '../../../domain/time/clock.js'
import { formatInstant } from '../../../domain/time/dates.js'
import { countLossFirst, DataFileError } from '../../../errors.js'
import { ensureFolder, isPresent, moveIntoPlace } from '../../../runtime/folders.js'
import {
  formatVerifierKey,
  type SigningKey,
  toPublicKey,
} from '../../../transparency/signed-note.js'
import {
  type FormerOrigin,
  formerOriginsPath,
  readFormerOrigins,
  writeFormerOrigins,
} from '../journal-beginning.js'
import { chooseOriginName, hashOriginName, originPath, readOriginName } from '../journal-origin.js'
import {
  checkpointPath,
  cosignedPath,
  formerPath,
  treeFolder,
  verifierKeyPath,
} from '../tree/tree-files.js'
import { createKey, readSigningKey, readTree, type TreeHead } from '../tree/tree-head.js'
import { TreeWriter } from '../tree/tree-writer.js'
import { recoverJournal } from './recover-journal.js'
import { SealedReader } from './sealed-groups.js'

interface NewOriginOptions {
  /** Of the private key; it is replaced. */
  readonly keyPath: string
  readonly because: string
  readonly now: Instant
}

/** Where the head and the key are that a journal had under its name: not beside the tree once it is being renamed. */
export function findOldHead(folder: string): string {
  const name = readOriginName(folder)
  const isBegun = readFormerOrigins(folder).at(-1)?.origin === name
  const tree = treeFolder(folder)
  return isBegun ? formerPath(tree, name) : tree
}

/**
 * No server may have the journal open, and its records must have been compared with its old head ({@link findOldHead}). Finishes
 * what an earlier call did not. Returns the entry of the old name. Throws {@link DataFileError} if the key is that of another
 * journal, the old head is not one of the old key, or what follows it was not sealed by that.
 */
export function beginNewOrigin(
  folder: string,
  { keyPath, because, now }: NewOriginOptions,
): FormerOrigin {
  const name = readOriginName(folder)
  const known = readFormerOrigins(folder)
  const begun = known.at(-1)?.origin === name ? known.at(-1) : undefined
  if (!begun) {
    requireOwnKey(folder, name, keyPath)
    keepOldHead(folder, name)
  }
  const tree = readTree(folder, formerPath(treeFolder(folder), name))
  if (tree === undefined) {
    const rule =
      'the signed head of the journal is missing, so its records cannot be compared with it'
    throw new DataFileError(checkpointPath(treeFolder(folder)), `${rule}. ${restoreAdvice}`)
  }
  const fromSeq = tree.head.size + 1
  const { nextSeq } = recoverJournal(folder, hashOriginName(name), { tree, fromSeq })
  const old = { origin: name, key: formatVerifierKey(tree.key), size: nextSeq - 1 }
  if (begun && (begun.key !== old.key || begun.size !== old.size)) {
    const rule = `does not agree with what ${name} has signed and sealed last`
    throw new DataFileError(formerOriginsPath(folder), `the file ${rule}. ${restoreAdvice}`)
  }
  const entry = begun ?? {
    ...old,
    because,
    at: formatInstant(now),
    next: chooseOriginName(now),
  }
  if (!begun) writeFormerOrigins(folder, [...known, entry])
  finish(folder, { entry, keyPath, tree })
  return entry
}

const restoreAdvice = `Restore it from a backup${countLossFirst}`

/** Each step may be done twice. The name comes last: before that, the journal cannot be opened. */
function finish(
  folder: string,
  {
    entry: { next, size: lastSeq },
    keyPath,
    tree,
  }: {
    readonly entry: FormerOrigin
    readonly keyPath: string
    readonly tree: TreeHead
  },
): void {
  const { size, root } = tree.head
  signRest(folder, lastSeq, { key: createKey(folder, keyPath, { origin: next, size, root }), tree })
  rmSync(cosignedPath(treeFolder(folder)), { force: true })
  // It belongs to the old name, and may know records that the journal no longer has. It is made again.
  for (const suffix of ['', '-wal', '-shm']) {
    rmSync(join(dirname(folder), `index.sqlite${suffix}`), { force: true })
  }
  const path = originPath(folder)
  writeFileSync(`${path}.tmp`, `${next}\n`, { mode: 0o600, flush: true })
  moveIntoPlace(`${path}.tmp`, path)
}

/** What the old name had sealed and not signed: the new key cannot check its seals. */
function signRest(
  folder: string,
  lastSeq: number,
  { key, tree }: { readonly key: SigningKey; readonly tree: TreeHead },
): void {
  const writer = new TreeWriter(folder, key)
  if (writer.nextSeq > lastSeq) return
  const { signedSeq } = writer
  const origin = hashOriginName(tree.key.name)
  const reader = new SealedReader(folder, { origin, key: toPublicKey(tree.key), signedSeq })
  try {
    while (writer.nextSeq <= lastSeq) writer.add(reader.read(lastSeq))
  } finally {
    reader.close()
  }
  writer.sign()
}

/** A lost key is a reason for a new one; that of another journal, which settings name by mistake, is not replaced. */
function requireOwnKey(folder: string, name: string, keyPath: string): void {
  const path = verifierKeyPath(treeFolder(folder))
  if (!isPresent(keyPath) || !isPresent(path)) return
  const own = readFileSync(path, 'utf8').trim()
  if (formatVerifierKey(readSigningKey(name, keyPath)) === own) return
  throw new DataFileError(keyPath, 'the key belongs to another journal; it would be replaced')
}

/** For those who have proofs that lead to a head of the old name. */
function keepOldHead(folder: string, name: string): void {
  const tree = treeFolder(folder)
  const target = formerPath(tree, name)
  for (const path of [checkpointPath(tree), verifierKeyPath(tree), cosignedPath(tree)]) {
    if (!isPresent(path)) continue
    ensureFolder(target)
    cpSync(path, join(target, basename(path)))
  }
}
