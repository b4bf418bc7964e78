/**
 * The tree of a journal as files, in the layout of C2SP `tlog-tiles` below `tree/` of its folder: `tile/<level>/<number>`
 * with 256 hashes, `tile/entries/<number>` with 256 entries, each after its length in two bytes, and partial ones with
 * fewer, `<number>.p/<width>`, as they were when the newest checkpoint was signed. A hash of level L + 1 is the root of a
 * full tile of level L.
 */
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { countLossFirst, DataFileError, getErrorCode } from '../../../errors.js'
import { ensureFolder, isPresent, readWholeFile } from '../../../runtime/folders.js'
import type { KnownPosition } from '../../../storage/audit/installation.js'
import { parseCheckpoint } from '../../../transparency/checkpoint.js'
import { commitTo, encodeEntry, entryBytes, recordKinds } from '../../../transparency/log-entry.js'
import { hashBytes, hashLeaf, hashNode, type ReadNode } from '../../../transparency/merkle-tree.js'
import type { StoredRecord } from '../segment-format.js'

export const tileWidth = 256
/** A tile has the hashes of 8 levels of the tree. */
export const levelsPerTile = 8
export const bundledEntryBytes = 2 + entryBytes

/** A level, or `entries`. */
export type TileKind = number | 'entries'

export const treeFolder = (journalFolder: string): string => join(journalFolder, 'tree')
export const checkpointPath = (folder: string): string => join(folder, 'checkpoint')
/** Of the key that checks the signatures of this log, for those who read it. */
export const verifierKeyPath = (folder: string): string => join(folder, 'key')

/** The newest head with the signatures of witnesses. */
export const cosignedPath = (folder: string): string => join(folder, 'cosigned')
/** Of time stamps of heads. */
export const timestampsPath = (folder: string): string => join(folder, 'timestamps')
/** Of the last head and the key of a name that the journal had before. */
export const formerPath = (folder: string, origin: string): string =>
  join(folder, 'former', basename(origin))
const evidenceNames = ['cosigned', 'timestamps', 'former']

/** Groups of three digits, all but the last after an `x`; `width` is that of a partial tile. */
export function tilePath(
  folder: string,
  kind: TileKind,
  number: number,
  width = tileWidth,
): string {
  const groups = [String(number % 1000).padStart(3, '0')]
  for (let rest = Math.floor(number / 1000); rest > 0; rest = Math.floor(rest / 1000)) {
    groups.unshift(`x${String(rest % 1000).padStart(3, '0')}`)
  }
  const path = join(folder, 'tile', String(kind), ...groups)
  return width === tileWidth ? path : join(`${path}.p`, String(width))
}

/** How many hashes or entries a tree of this size has. */
export function countOf(kind: TileKind, size: number): number {
  return kind === 'entries' ? size : Math.floor(size / tileWidth ** kind)
}

const itemBytes = (kind: TileKind): number => (kind === 'entries' ? bundledEntryBytes : hashBytes)

/** What the tree commits to for a record. */
export const toEntry = ({ kind, seq, at, salt, body }: StoredRecord): Buffer =>
  encodeEntry({ kind: recordKinds[kind], seq, at, commitment: commitTo(salt, body) })

export const toPosition = (record: StoredRecord): KnownPosition => ({
  seq: record.seq,
  leaf: hashLeaf(toEntry(record)).toString('hex'),
})

/** Reads the tree of one size, whose partial tiles must exist. */
export class TreeReader {
  readonly folder: string
  readonly size: number
  /** The tiles that were read last, by path. */
  readonly #tiles = new Map<string, Buffer>()

  constructor(folder: string, size: number) {
    this.folder = folder
    this.size = size
  }

  readonly node: ReadNode = (level, index) => {
    const tileLevel = Math.floor(level / levelsPerTile)
    const count = 2 ** (level % levelsPerTile)
    const start = index * count
    const tile = this.readTile(tileLevel, Math.floor(start / tileWidth))
    const from = (start % tileWidth) * hashBytes
    return hashAll(tile.subarray(from, from + count * hashBytes))
  }

  /** The bytes of an entry; throws {@link DataFileError} with the place if it cannot be read. */
  readEntry(index: number): Buffer {
    const tile = this.readTile('entries', Math.floor(index / tileWidth))
    const from = (index % tileWidth) * bundledEntryBytes
    return tile.subarray(from + 2, from + bundledEntryBytes)
  }

  /** All of a tile that this tree has. Throws {@link DataFileError} if it is missing or too short. */
  readTile(kind: TileKind, number: number): Buffer {
    const left = countOf(kind, this.size) - number * tileWidth
    const width = Math.min(tileWidth, left)
    const path = tilePath(this.folder, kind, number, width)
    const known = this.#tiles.get(path)
    if (known) return known
    const bytes = this.#readFile(path, tilePath(this.folder, kind, number))
    if (bytes === undefined || bytes.length < width * itemBytes(kind)) {
      const rule = bytes === undefined ? 'is missing' : `has ${bytes.length} bytes`
      const wanted = `a tile of ${width} ${kind === 'entries' ? 'entries' : 'hashes'}`
      throw new DataFileError(
        path,
        `${wanted} ${rule}. Restore the folder from a backup${countLossFirst}`,
      )
    }
    if (this.#tiles.size >= maxTiles) this.#tiles.clear()
    const tile = bytes.subarray(0, width * itemBytes(kind))
    this.#tiles.set(path, tile)
    return tile
  }

  /** A partial tile may have become a wider or full one meanwhile, whose beginning is the same. */
  #readFile(path: string, fullPath: string): Buffer | undefined {
    // Each checkpoint may replace what was just found by something wider.
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const bytes =
        readIfThere(path, readBytes) ??
        readIfThere(fullPath, readBytes) ??
        (path === fullPath ? undefined : readIfThere(dirname(path), readWidest))
      if (bytes !== undefined) return bytes
    }
    return undefined
  }
}

const maxAttempts = 3

const readBytes = (path: string): Buffer => readFileSync(path)

function readWidest(folder: string): Buffer | undefined {
  const [widest] = readdirSync(folder)
    .filter((name) => /^\d+$/.test(name))
    .sort((a, b) => Number(b) - Number(a))
  return widest === undefined ? undefined : readIfThere(join(folder, widest), readBytes)
}

function readIfThere<Content>(path: string, read: (path: string) => Content): Content | undefined {
  try {
    return read(path)
  } catch (cause) {
    const code = getErrorCode(cause)
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw cause
    return undefined
  }
}

const maxTiles = 1_000

/** The root of a subtree with as many leaves as there are hashes, a power of 2. */
export function hashAll(hashes: Buffer): Buffer {
  if (hashes.length === hashBytes) return hashes
  const middle = hashes.length / 2
  return hashNode(hashAll(hashes.subarray(0, middle)), hashAll(hashes.subarray(middle)))
}

/** Copies the tree of the newest checkpoint, which may be replaced meanwhile; nothing if there is none. */
export function copyTree(folder: string, target: string): void {
  if (!isPresent(checkpointPath(folder))) return
  ensureFolder(target)
  // Before the checkpoint, so that the copy has no larger head than its own.
  for (const name of evidenceNames) {
    const path = join(folder, name)
    if (isPresent(path)) cpSync(path, join(target, name), { recursive: true })
  }
  const signed = readWholeFile(checkpointPath(folder)).toString()
  const { size } = parseCheckpoint(signed)
  const reader = new TreeReader(folder, size)
  const kinds: TileKind[] = ['entries']
  for (let level = 0; countOf(level, size) > 0; level += 1) kinds.push(level)
  for (const kind of kinds) {
    for (let number = 0; number * tileWidth < countOf(kind, size); number += 1) {
      const width = Math.min(tileWidth, countOf(kind, size) - number * tileWidth)
      const path = tilePath(target, kind, number, width)
      ensureFolder(dirname(path))
      writeFileSync(path, reader.readTile(kind, number), { mode: 0o600 })
    }
  }
  writeFileSync(verifierKeyPath(target), readFileSync(verifierKeyPath(folder)), { mode: 0o600 })
  writeFileSync(checkpointPath(target), signed, { mode: 0o600 })
}
