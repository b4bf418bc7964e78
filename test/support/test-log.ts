/** A log in memory, whose tree can be written as the files of a journal. */
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  checkpointPath,
  tilePath,
  tileWidth,
  treeFolder,
  verifierKeyPath,
} from '../../src/gate/journal/tree/tree-files.js'
import { signCheckpoint } from '../../src/transparency/checkpoint.js'
import {
  computeRoot,
  hashLeaf,
  hashNode,
  proveConsistency,
  type ReadNode,
} from '../../src/transparency/merkle-tree.js'
import { formatVerifierKey, type SigningKey } from '../../src/transparency/signed-note.js'
import { seededKey } from './seeded-key.js'

export class TestLog {
  readonly origin: string
  readonly key: SigningKey
  readonly #leaves: Buffer[] = []

  constructor(origin = 'callgate/journal/2026-11-26-ab12cd34', seed = 1) {
    this.origin = origin
    this.key = seededKey(origin, 'signer', seed)
  }

  get size(): number {
    return this.#leaves.length
  }

  get verifierKey(): string {
    return formatVerifierKey(this.key)
  }

  get originHash(): string {
    return createHash('sha256').update(this.origin).digest('hex')
  }

  /** `history` tells the entries of one past from those of another. */
  grow(count: number, history = ''): this {
    for (let i = 0; i < count; i += 1) {
      this.#leaves.push(hashLeaf(Buffer.from(`${history} ${this.size}`)))
    }
    return this
  }

  readonly node: ReadNode = (level, index) => {
    if (level > 0)
      return hashNode(this.node(level - 1, 2 * index), this.node(level - 1, 2 * index + 1))
    const leaf = this.#leaves[index]
    if (leaf === undefined) throw new RangeError(`no leaf ${index}`)
    return leaf
  }

  sign(size = this.size, key = this.key): string {
    const root = computeRoot(size, this.node)
    return signCheckpoint({ origin: this.origin, size, root }, key)
  }

  /** The body of `add-checkpoint`. */
  request(oldSize: number, size = this.size): string {
    const path = oldSize > size ? [] : proveConsistency(oldSize, size, this.node)
    const hashes = path.map((hash) => `${hash.toString('base64')}\n`).join('')
    return `old ${oldSize}\n${hashes}\n${this.sign(size)}`
  }

  /** As the files of a journal that has signed all of it. */
  write(journalFolder: string): void {
    const folder = treeFolder(journalFolder)
    for (let level = 0; this.size >= tileWidth ** level; level += 1) {
      const count = Math.floor(this.size / tileWidth ** level)
      for (let start = 0; start < count; start += tileWidth) {
        const width = Math.min(tileWidth, count - start)
        const hashes = Array.from({ length: width }, (_, i) => this.node(8 * level, start + i))
        const path = tilePath(folder, level, start / tileWidth, width)
        mkdirSync(dirname(path), { recursive: true })
        writeFileSync(path, Buffer.concat(hashes))
      }
    }
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(journalFolder, 'origin'), `${this.origin}\n`)
    writeFileSync(verifierKeyPath(folder), `${this.verifierKey}\n`)
    writeFileSync(checkpointPath(folder), this.sign())
  }
}
