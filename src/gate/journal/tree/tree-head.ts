/** The newest signed checkpoint of a journal, and the key that signs it. */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { countLossFirst, DataFileError, getErrorMessage } from '../../../errors.js'
import { ensureFolder, isPresent, moveIntoPlace, readWholeFile } from '../../../runtime/folders.js'
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
  parseVerifierKey,
  type SigningKey,
  type VerifierKey,
} from '../../../transparency/signed-note.js'
import { readOriginName } from '../journal-origin.js'
import { listSegments } from '../journal-reader.js'
import { SignedTree } from './signed-tree.js'
import { checkpointPath, TreeReader, treeFolder, verifierKeyPath } from './tree-files.js'

/** Where the key of the journal of a data folder is, unless settings name another file. */
export function findSigningKey(dataDir: string, named: string | undefined): string {
  return named ?? join(dataDir, 'journal.key')
}

const restoreAdvice = `Restore it from a backup${countLossFirst}`

/** What a journal has signed so far, and with which key. */
export interface TreeHead<Key extends VerifierKey = VerifierKey> {
  readonly key: Key
  readonly head: SignedCheckpoint
}

/** The newest checkpoint's tree; that of an empty one is made if there is none. Throws as {@link openTree} does. */
export function openSignedTree(journalFolder: string, keyPath: string): SignedTree {
  const folder = treeFolder(journalFolder)
  return new SignedTree(folder, readHead(folder, openSigningKey(journalFolder, keyPath)))
}

/**
 * Checks that the tree of a journal is whole. Makes it and its key if there are no records either. Throws
 * {@link DataFileError}.
 */
export function openTree(journalFolder: string, keyPath: string): TreeHead<SigningKey> {
  const key = openSigningKey(journalFolder, keyPath)
  return { key, head: readHead(treeFolder(journalFolder), key) }
}

/**
 * As {@link openTree}, by the public key beside a head, which only shows that the tree agrees with itself. `undefined`
 * if there is none.
 */
export function readTree(
  journalFolder: string,
  headFolder = treeFolder(journalFolder),
): TreeHead | undefined {
  if (!isPresent(checkpointPath(headFolder))) return undefined
  const path = verifierKeyPath(headFolder)
  try {
    const key = parseVerifierKey(readWholeFile(path).toString().trimEnd())
    return { key, head: readHead(treeFolder(journalFolder), key, headFolder) }
  } catch (cause) {
    if (cause instanceof DataFileError) throw cause
    const why = getErrorMessage(cause)
    throw new DataFileError(path, `the key of the journal cannot be read: ${why}`, cause)
  }
}

/**
 * The key that signs the tree of a journal: a private key of Ed25519 in PEM. With a journal that has no records, makes the
 * key, and signs the empty tree. Throws {@link DataFileError} if the key or the tree is missing otherwise, or the key is
 * damaged.
 */
export function openSigningKey(journalFolder: string, keyPath: string): SigningKey {
  const name = readOriginName(journalFolder)
  const checkpoint = checkpointPath(treeFolder(journalFolder))
  const hasKey = isPresent(keyPath)
  const hasRecords = listSegments(journalFolder).length > 0
  if (!isPresent(checkpoint)) {
    if (!hasKey && !hasRecords) return createKey(journalFolder, keyPath, emptyHead(name))
    const other = hasKey ? 'the key that signs it exists' : 'there are records'
    const rule = `the signed tree of the journal is missing, although ${other}`
    throw new DataFileError(checkpoint, `${rule}. ${restoreAdvice}`)
  }
  if (hasKey) return readSigningKey(name, keyPath)
  // Nothing was signed before the key was on disk.
  if (!hasRecords && /^.*\n0\n/.test(readWholeFile(checkpoint).toString())) {
    return createKey(journalFolder, keyPath, emptyHead(name))
  }
  const rule = 'the key that signs the journal is missing'
  const advice = `${restoreAdvice}, or make another: callgate evidence new-origin --because <what happened>`
  throw new DataFileError(keyPath, `${rule}. ${advice}`)
}

/** Throws {@link DataFileError} if there is no key of Ed25519 in the file. */
export function readSigningKey(name: string, path: string): SigningKey {
  const pem = readWholeFile(path)
  try {
    return createSigningKey(name, 'signer', createPrivateKey(pem))
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
export const emptyHead = (origin: string): Checkpoint => ({
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
 * The newest checkpoint of a tree, or the one in another folder. Throws {@link DataFileError} unless it is signed by the
 * key, and its tiles have its root.
 */
export function readHead(folder: string, key: VerifierKey, headFolder = folder): SignedCheckpoint {
  const path = checkpointPath(headFolder)
  const head = openHead(path, key)
  const root = computeRoot(head.size, new TreeReader(folder, head.size).node)
  if (root.equals(head.root)) return head
  const rule = `the tiles of the tree do not have the root that was signed for ${head.size} records`
  throw new DataFileError(path, `${rule}. ${restoreAdvice}`)
}

function openHead(path: string, key: VerifierKey): SignedCheckpoint {
  const note = readWholeFile(path).toString()
  try {
    return openCheckpoint(note, key)
  } catch (cause) {
    const why = getErrorMessage(cause)
    throw new DataFileError(
      path,
      `the checkpoint cannot be trusted: ${why}. ${restoreAdvice}`,
      cause,
    )
  }
}
