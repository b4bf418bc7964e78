/** The newest signed checkpoint of a journal, and the key that signs it. */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DataFileError, getErrorMessage } from '../../../errors.js'
import { ensureFolder, moveIntoPlace } from '../../../runtime/folders.js'
import {
  type Checkpoint,
  openCheckpoint,
  type SignedCheckpoint,
  signCheckpoint,
} from '../../../transparency/checkpoint.js'
import { computeRoot } from '../../../transparency/merkle-tree.js'
import {
  createSigningKey,
  formatVerifierKey,
  type SigningKey,
  type VerifierKey,
} from '../../../transparency/signed-note.js'
import { readOriginName } from '../journal-origin.js'
import { SignedTree } from './signed-tree.js'
import { checkpointPath, TreeReader, treeFolder, verifierKeyPath } from './tree-files.js'

/** Where the key of the journal of a data folder is, unless settings name another file. */
export function findSigningKey(dataDir: string, named: string | undefined): string {
  return named ?? join(dataDir, 'journal.key')
}

const restoreAdvice = 'Restore it from a backup'

/**
 * Checks at the start that the tree of a journal is whole, and that the journal, whose next record has number `nextSeq`,
 * has the records that were signed. Makes the tree and its key if there is none. Returns the key. Throws
 * {@link DataFileError}.
 */
export function openTree(journalFolder: string, keyPath: string, nextSeq: number): SigningKey {
  const key = openSigningKey(journalFolder, keyPath)
  const { size } = readHead(treeFolder(journalFolder), key)
  if (size < nextSeq) return key
  const rule = `the journal ends with record ${nextSeq - 1}, but record ${size} was signed`
  throw new DataFileError(journalFolder, `${rule}. Restore a later backup of the folder`)
}

/** The newest checkpoint's tree; that of an empty one is made if there is none. Throws as {@link openTree} does. */
export function openSignedTree(journalFolder: string, keyPath: string): SignedTree {
  const folder = treeFolder(journalFolder)
  return new SignedTree(folder, readHead(folder, openSigningKey(journalFolder, keyPath)))
}

/**
 * The key that signs the tree of a journal: a private key of Ed25519 in PEM. With a journal that has no tree, makes the
 * key, and signs the empty tree. Throws {@link DataFileError} if only one of the two is there, or the key is damaged.
 */
export function openSigningKey(journalFolder: string, keyPath: string): SigningKey {
  const name = readOriginName(journalFolder)
  const checkpoint = checkpointPath(treeFolder(journalFolder))
  const hasKey = existsSync(keyPath)
  if (!existsSync(checkpoint)) {
    if (!hasKey) return createKey(journalFolder, keyPath, emptyHead(name))
    const rule = 'the signed tree of the journal is missing, although the key that signs it exists'
    throw new DataFileError(checkpoint, `${rule}. ${restoreAdvice}`)
  }
  if (hasKey) return readSigningKey(name, keyPath)
  // Nothing was signed before the key was on disk.
  if (/^.*\n0\n/.test(readFileSync(checkpoint, 'utf8'))) {
    return createKey(journalFolder, keyPath, emptyHead(name))
  }
  const rule = 'the key that signs the journal is missing'
  const advice = `${restoreAdvice}, or make another: callgate evidence new-origin --because <what happened>`
  throw new DataFileError(keyPath, `${rule}. ${advice}`)
}

/** Throws {@link DataFileError} if there is no key of Ed25519 in the file. */
export function readSigningKey(name: string, path: string): SigningKey {
  try {
    return createSigningKey(name, 'signer', createPrivateKey(readFileSync(path)))
  } catch (cause) {
    const rule = 'the file must have a private key of Ed25519 in PEM'
    const why = getErrorMessage(cause)
    throw new DataFileError(path, `${rule}: ${why}. ${restoreAdvice}`, cause)
  }
}

/** Makes a key for a journal whose tree has this head, and signs it. */
export function createKey(journalFolder: string, path: string, head: Checkpoint): SigningKey {
  const { privateKey } = generateKeyPairSync('ed25519')
  const key = createSigningKey(head.origin, 'signer', privateKey)
  const folder = treeFolder(journalFolder)
  ensureFolder(folder)
  replaceFile(verifierKeyPath(folder), `${formatVerifierKey(key)}\n`)
  writeCheckpoint(folder, head, key)
  replaceFile(path, toPem(privateKey))
  return key
}

const noNode = () => Buffer.alloc(0)
const emptyHead = (origin: string): Checkpoint => ({
  origin,
  size: 0,
  root: computeRoot(0, noNode),
})
const toPem = (key: KeyObject) => key.export({ format: 'pem', type: 'pkcs8' }).toString()

/** It is on disk when this returns, and only then may anybody see it. */
export function writeCheckpoint(folder: string, checkpoint: Checkpoint, key: SigningKey): void {
  replaceFile(checkpointPath(folder), signCheckpoint(checkpoint, key))
}

function replaceFile(path: string, content: string): void {
  writeFileSync(`${path}.tmp`, content, { mode: 0o600, flush: true })
  moveIntoPlace(`${path}.tmp`, path)
}

/**
 * The newest checkpoint of a tree. Throws {@link DataFileError} unless it is signed by the key, and its tiles have
 * its root.
 */
export function readHead(folder: string, key: VerifierKey): SignedCheckpoint {
  const path = checkpointPath(folder)
  const head = openHead(path, key)
  const root = computeRoot(head.size, new TreeReader(folder, head.size).node)
  if (root.equals(head.root)) return head
  const rule = `the tiles of the tree do not have the root that was signed for ${head.size} records`
  throw new DataFileError(path, `${rule}. ${restoreAdvice}`)
}

function openHead(path: string, key: VerifierKey): SignedCheckpoint {
  try {
    return openCheckpoint(readFileSync(path, 'utf8'), key)
  } catch (cause) {
    const why = getErrorMessage(cause)
    throw new DataFileError(
      path,
      `the checkpoint cannot be trusted: ${why}. ${restoreAdvice}`,
      cause,
    )
  }
}
