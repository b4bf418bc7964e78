/** Makes the tiles of a tree again from what is left of them, and the records of its journal. */
import { generateKeyPairSync } from 'node:crypto'
import { readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { DataFileError } from '../../../errors.js'
import {
  ensureFolder,
  isFolder,
  isPresent,
  readWholeFile,
  syncFolder,
} from '../../../runtime/folders.js'
import { parseCheckpoint } from '../../../transparency/checkpoint.js'
import { createSigningKey, parseNote, type SigningKey } from '../../../transparency/signed-note.js'
import { JournalReader } from '../journal-reader.js'
import {
  checkpointPath,
  countOf,
  type TileKind,
  TreeReader,
  tilePath,
  tileWidth,
  treeFolder,
} from './tree-files.js'
import { emptyHead, readHead, writeCheckpoint } from './tree-head.js'
import { TreeWriter } from './tree-writer.js'

/**
 * Does nothing unless tiles are missing. Hashes are made from the entries, and entries that are missing from their records. They stay
 * missing if that does not give the root that was signed, as where the entry of a record is missing that was erased or removed.
 */
export function restoreTiles(journalFolder: string): void {
  const folder = treeFolder(journalFolder)
  const made = join(folder, 'made')
  rmSync(made, { recursive: true, force: true })
  if (!isPresent(checkpointPath(folder))) return
  const { text } = parseNote(readWholeFile(checkpointPath(folder)).toString())
  const { size, root, origin } = parseCheckpoint(text)
  if (hasAllTiles(new TreeReader(folder, size))) return
  // The key of the journal signs nothing that was not compared, not even here.
  const key = createSigningKey(origin, 'signer', generateKeyPairSync('ed25519').privateKey)
  try {
    makeTree(made, { journalFolder, size, key })
    if (readHead(treeFolder(made), key).root.equals(root)) moveTiles(treeFolder(made), folder)
  } catch (cause) {
    // Then the tile that is missing is named.
    if (!(cause instanceof DataFileError)) throw cause
  }
  rmSync(made, { recursive: true })
  syncFolder(folder)
}

/** Looks for full ones by the names in their folders: there may be many. */
function hasAllTiles(reader: TreeReader): boolean {
  const { folder, size } = reader
  const names = new Map<string, ReadonlySet<string>>()
  const hasFile = (path: string): boolean => {
    const parent = dirname(path)
    const known = names.get(parent) ?? new Set(isFolder(parent) ? readdirSync(parent) : [])
    names.set(parent, known)
    return known.has(basename(path))
  }
  const kinds: TileKind[] = ['entries']
  for (let level = 0; countOf(level, size) > 0; level += 1) kinds.push(level)
  return kinds.every((kind) => {
    const full = Math.floor(countOf(kind, size) / tileWidth)
    for (let number = 0; number < full; number += 1) {
      if (!hasFile(tilePath(folder, kind, number))) return false
    }
    return countOf(kind, size) === full * tileWidth || canRead(() => reader.readTile(kind, full))
  })
}

function canRead(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch (cause) {
    if (cause instanceof DataFileError) return false
    throw cause
  }
}

interface TreeToMake {
  readonly journalFolder: string
  readonly size: number
  readonly key: SigningKey
}

function makeTree(made: string, { journalFolder, size, key }: TreeToMake): void {
  ensureFolder(treeFolder(made))
  writeCheckpoint(treeFolder(made), emptyHead(key.name), key)
  const writer = new TreeWriter(made, key)
  const entries = new TreeReader(treeFolder(journalFolder), size)
  while (writer.nextSeq <= size) {
    const first = writer.nextSeq
    const last = Math.min(first + tileWidth - 1, size)
    if (canRead(() => entries.readEntry(first - 1))) {
      for (let seq = first; seq <= last; seq += 1) writer.addEntry(entries.readEntry(seq - 1))
    } else {
      const next = findEntries(entries, last + 1)
      addRecords(writer, journalFolder, next - 1)
    }
  }
  writer.sign()
}

/** Number of the first record from this one on whose entry is there, or is not in the tree. */
function findEntries(entries: TreeReader, from: number): number {
  let seq = from
  while (seq <= entries.size && !canRead(() => entries.readEntry(seq - 1))) seq += tileWidth
  return Math.min(seq, entries.size + 1)
}

function addRecords(writer: TreeWriter, journalFolder: string, lastSeq: number): void {
  const reader = new JournalReader(journalFolder, writer.nextSeq)
  try {
    for (let records = reader.read(lastSeq); records.length > 0; records = reader.read(lastSeq)) {
      writer.add(records)
    }
    if (writer.nextSeq <= lastSeq) throw new DataFileError(journalFolder, 'records are missing')
  } finally {
    reader.close()
  }
}

/** Nothing is removed, so that a crash loses no tile that is left. */
function moveTiles(from: string, to: string): void {
  const files = readdirSync(join(from, 'tile'), { recursive: true, withFileTypes: true })
  const folders = new Set<string>()
  for (const file of files) {
    if (!file.isFile()) continue
    const path = join(file.parentPath, file.name)
    const target = join(to, relative(from, path))
    ensureFolder(dirname(target))
    renameSync(path, target)
    folders.add(dirname(target))
  }
  for (const path of folders) syncFolder(path)
}
