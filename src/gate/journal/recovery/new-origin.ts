/**
 * Gives a journal a new name and a new key, so that what it records from now on cannot be taken for what the journal of
 * the old name recorded after the same point. Its records and their tree stay; the next record names the old journal.
 */
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Instant } from '../../../domain/time/clock.js'
import { formatInstant } from '../../../domain/time/dates.js'
import { DataFileError } from '../../../errors.js'
import { ensureFolder, moveIntoPlace } from '../../../runtime/folders.js'
import { parseCheckpoint } from '../../../transparency/checkpoint.js'
import { formatVerifierKey, parseNote } from '../../../transparency/signed-note.js'
import { type FormerOrigin, readFormerOrigins, writeFormerOrigins } from '../journal-beginning.js'
import { chooseOriginName, originPath, readOriginName } from '../journal-origin.js'
import {
  checkpointPath,
  cosignedPath,
  formerPath,
  treeFolder,
  verifierKeyPath,
} from '../tree/tree-files.js'
import { createKey, readSigningKey } from '../tree/tree-head.js'

interface NewOriginOptions {
  /** Of the private key; it is replaced. */
  readonly keyPath: string
  readonly because: string
  readonly now: Instant
}

/**
 * No server may have the journal open. Finishes what an earlier call did not. Returns the entry of the old name. Throws
 * {@link DataFileError} if the key is that of another journal, or the checkpoint cannot be read.
 */
export function beginNewOrigin(
  folder: string,
  { keyPath, because, now }: NewOriginOptions,
): FormerOrigin {
  const name = readOriginName(folder)
  const known = readFormerOrigins(folder)
  const begun = known.at(-1)
  if (begun?.origin === name) return finish(folder, begun, keyPath)
  requireOwnKey(folder, name, keyPath)
  keepOldHead(folder, name)
  const entry: FormerOrigin = {
    origin: name,
    ...readSignedHead(folder),
    because,
    at: formatInstant(now),
    next: chooseOriginName(now),
  }
  writeFormerOrigins(folder, [...known, entry])
  return finish(folder, entry, keyPath)
}

/** Each step may be done twice. The name comes last: before that, the journal cannot be opened. */
function finish(folder: string, entry: FormerOrigin, keyPath: string): FormerOrigin {
  const tree = treeFolder(folder)
  const { next, size, root } = entry
  if (root === null) rmSync(keyPath, { force: true })
  else createKey(folder, keyPath, { origin: next, size, root: Buffer.from(root, 'base64') })
  rmSync(cosignedPath(tree), { force: true })
  // It belongs to the old name, and may know records that the journal no longer has. It is made again.
  for (const suffix of ['', '-wal', '-shm']) {
    rmSync(join(dirname(folder), `index.sqlite${suffix}`), { force: true })
  }
  const path = originPath(folder)
  writeFileSync(`${path}.tmp`, `${next}\n`, { mode: 0o600, flush: true })
  moveIntoPlace(`${path}.tmp`, path)
  return entry
}

function readSignedHead(folder: string): Pick<FormerOrigin, 'size' | 'root'> {
  const path = checkpointPath(treeFolder(folder))
  if (!existsSync(path)) return { size: 0, root: null }
  try {
    const { size, root } = parseCheckpoint(parseNote(readFileSync(path, 'utf8')).text)
    return { size, root: root.toString('base64') }
  } catch (cause) {
    throw new DataFileError(path, 'the checkpoint is damaged. Restore it from a backup', cause)
  }
}

/** A lost key is a reason for a new one; that of another journal, which settings name by mistake, is not replaced. */
function requireOwnKey(folder: string, name: string, keyPath: string): void {
  const path = verifierKeyPath(treeFolder(folder))
  if (!existsSync(keyPath) || !existsSync(path)) return
  const own = readFileSync(path, 'utf8').trim()
  if (formatVerifierKey(readSigningKey(name, keyPath)) === own) return
  throw new DataFileError(keyPath, 'the key belongs to another journal; it would be replaced')
}

/** For those who have proofs that lead to a head of the old name. */
function keepOldHead(folder: string, name: string): void {
  const tree = treeFolder(folder)
  const target = join(formerPath(tree), basename(name))
  for (const path of [checkpointPath(tree), verifierKeyPath(tree), cosignedPath(tree)]) {
    if (!existsSync(path)) continue
    ensureFolder(target)
    cpSync(path, join(target, basename(path)))
  }
}
