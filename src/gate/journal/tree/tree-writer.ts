/**
 * Adds the records of a journal to its tree, and signs it. What is not signed is in memory, and in full tiles that are
 * written again after a crash: the records are still there. The order at a checkpoint: tiles on disk, checkpoint on disk,
 * then the partial tiles of the checkpoint before are removed.
 */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { DataFileError } from '../../../errors.js'
import { ensureFolder, syncFolder } from '../../../runtime/folders.js'
import type { Checkpoint } from '../../../transparency/checkpoint.js'
import {
  computeRoot,
  hashBytes,
  hashLeaf,
  type ReadNode,
} from '../../../transparency/merkle-tree.js'
import type { SigningKey } from '../../../transparency/signed-note.js'
import type { StoredRecord } from '../segment-format.js'
import { SignedTree } from './signed-tree.js'
import {
  bundledEntryBytes,
  countOf,
  hashAll,
  levelsPerTile,
  type TileKind,
  TreeReader,
  tilePath,
  tileWidth,
  toEntry,
  treeFolder,
} from './tree-files.js'
import { readHead, writeCheckpoint } from './tree-head.js'

/** The last tile of a level, or of the entries, which is being filled. */
interface GrowingTile {
  number: number
  readonly bytes: Buffer
  width: number
}

export class TreeWriter {
  readonly #folder: string
  readonly #key: SigningKey
  readonly #entries: GrowingTile
  /** By level. */
  readonly #tiles: GrowingTile[] = []
  #size: number
  /** The newest checkpoint. */
  #head: Checkpoint
  /** Written since the last checkpoint, and perhaps not on disk. */
  readonly #unsynced = new Set<string>()

  /** Goes on from the newest checkpoint. Throws {@link DataFileError} if the tree is damaged. */
  constructor(journalFolder: string, key: SigningKey) {
    this.#folder = treeFolder(journalFolder)
    this.#key = key
    this.#head = readHead(this.#folder, key)
    const { size } = this.#head
    const reader = new TreeReader(this.#folder, size)
    this.#size = size
    this.#entries = openTile(reader, 'entries')
    for (let level = 0; countOf(level, size) > 0; level += 1) {
      this.#tiles.push(openTile(reader, level))
    }
  }

  /** Number of the next record, which is one more than that of its leaf. */
  get nextSeq(): number {
    return this.#size + 1
  }

  /** Number of the last record that is in the newest checkpoint. */
  get signedSeq(): number {
    return this.#head.size
  }

  /** The tree of the newest checkpoint; to be asked for again after the next one. */
  openSigned(): SignedTree {
    return new SignedTree(this.#folder, this.#head)
  }

  /** Adds those of some consecutive records that are the next ones. */
  add(records: readonly StoredRecord[]): void {
    for (const record of records) {
      if (record.seq === this.nextSeq) this.addEntry(toEntry(record))
    }
  }

  /** Of the next record. */
  addEntry(entry: Buffer): void {
    const { bytes, width } = this.#entries
    const offset = bytes.writeUInt16BE(entry.length, width * bundledEntryBytes)
    entry.copy(bytes, offset)
    this.#grow('entries', this.#entries)
    this.#size += 1
    this.#addHash(0, hashLeaf(entry))
  }

  #addHash(level: number, hash: Buffer): void {
    const tile = this.#tiles[level] ?? createTile(level)
    this.#tiles[level] = tile
    hash.copy(tile.bytes, tile.width * hashBytes)
    const full = this.#grow(level, tile)
    if (full) this.#addHash(level + 1, hashAll(full))
  }

  /** Returns the tile if it is full; the next one begins then. */
  #grow(kind: TileKind, tile: GrowingTile): Buffer | undefined {
    tile.width += 1
    if (tile.width < tileWidth) return undefined
    this.#write(kind, tile)
    tile.number += 1
    tile.width = 0
    return tile.bytes
  }

  #write(kind: TileKind, { number, width, bytes }: GrowingTile): void {
    const path = tilePath(this.#folder, kind, number, width)
    ensureFolder(dirname(path))
    // Somebody may be reading the file that it replaces.
    const content = bytes.subarray(0, width * (bytes.length / tileWidth))
    writeFileSync(`${path}.tmp`, content, { mode: 0o600 })
    renameSync(`${path}.tmp`, path)
    this.#unsynced.add(path)
  }

  /** Signs what was added. Nothing is done if that is nothing. */
  sign(): void {
    const size = this.#size
    const signed = this.#head.size
    if (size === signed) return
    const growing: (readonly [TileKind, GrowingTile])[] = [
      ['entries', this.#entries],
      ...this.#tiles.entries(),
    ]
    for (const [kind, tile] of growing) if (tile.width > 0) this.#write(kind, tile)
    this.#sync()
    const root = computeRoot(size, this.#node)
    const head = { origin: this.#key.name, size, root }
    writeCheckpoint(this.#folder, head, this.#key)
    this.#head = head
    for (const [kind] of growing) this.#removePartial(kind, signed)
  }

  #sync(): void {
    const folders = new Set<string>()
    for (const path of this.#unsynced) {
      const file = openSync(path, 'r')
      try {
        fsyncSync(file)
      } finally {
        closeSync(file)
      }
      // Any of them may be new.
      for (
        let folder = dirname(path);
        folder.length >= this.#folder.length;
        folder = dirname(folder)
      ) {
        folders.add(folder)
      }
    }
    for (const folder of folders) syncFolder(folder)
    this.#unsynced.clear()
  }

  /** Of the checkpoint before: a wider tile has the same beginning. */
  #removePartial(kind: TileKind, size: number): void {
    const count = countOf(kind, size)
    const width = count % tileWidth
    if (width === 0) return
    const number = Math.floor(count / tileWidth)
    const path = tilePath(this.#folder, kind, number, width)
    const isStillPartial = number === Math.floor(countOf(kind, this.#size) / tileWidth)
    if (!isStillPartial) rmSync(dirname(path), { recursive: true, force: true })
    else if (count !== countOf(kind, this.#size)) rmSync(path, { force: true })
  }

  /** The root only needs nodes of the tiles that are being filled. */
  readonly #node: ReadNode = (level, index) => {
    const tile = this.#tiles[Math.floor(level / levelsPerTile)]
    const count = 2 ** (level % levelsPerTile)
    const start = index * count - (tile?.number ?? 0) * tileWidth
    if (tile === undefined || start < 0 || start + count > tile.width) {
      throw new DataFileError(this.#folder, `node ${index} of level ${level} is not in memory`)
    }
    return hashAll(tile.bytes.subarray(start * hashBytes, (start + count) * hashBytes))
  }
}

function createTile(kind: TileKind): GrowingTile {
  const itemBytes = kind === 'entries' ? bundledEntryBytes : hashBytes
  return { number: 0, bytes: Buffer.alloc(tileWidth * itemBytes), width: 0 }
}

function openTile(reader: TreeReader, kind: TileKind): GrowingTile {
  const count = countOf(kind, reader.size)
  const tile = createTile(kind)
  tile.number = Math.floor(count / tileWidth)
  tile.width = count % tileWidth
  if (tile.width > 0) reader.readTile(kind, tile.number).copy(tile.bytes)
  return tile
}
