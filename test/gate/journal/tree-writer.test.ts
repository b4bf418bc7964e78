/** The tree of a journal as files, held against trees computed from all leaves at once. */
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { StoredRecord } from '../../../src/gate/journal/segment-format.js'
import {
  checkpointPath,
  TreeReader,
  tilePath,
  treeFolder,
} from '../../../src/gate/journal/tree/tree-files.js'
import { openSigningKey, readHead } from '../../../src/gate/journal/tree/tree-head.js'
import { TreeWriter } from '../../../src/gate/journal/tree/tree-writer.js'
import { commitTo, decodeEntry, encodeEntry } from '../../../src/transparency/log-entry.js'
import {
  hashLeaf,
  proveConsistency,
  proveInclusion,
  verifyConsistency,
  verifyInclusion,
} from '../../../src/transparency/merkle-tree.js'
import type { SigningKey } from '../../../src/transparency/signed-note.js'
import { damageByte } from '../../support/journal.js'

let parent: string
let folder: string
let keyPath: string
let key: SigningKey

function begin() {
  folder = mkdtempSync(join(parent, 'journal-'))
  keyPath = `${folder}.key`
  writeFileSync(join(folder, 'origin'), 'callgate/journal/2026-11-26-0a1b2c3d\n')
  key = openSigningKey(folder, keyPath)
}

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'callgate-tree-'))
  begin()
})

afterEach(() => rmSync(parent, { recursive: true, force: true }))

const record = (seq: number): StoredRecord => ({
  seq,
  kind: 'decision',
  at: 1_795_000_000_000 + seq,
  salt: createHash('md5').update(`salt ${seq}`).digest(),
  body: Buffer.from(`{"id":"d${seq}"}`),
})
const recordsTo = (from: number, to: number) =>
  Array.from({ length: Math.max(0, to - from) }, (_, index) => record(from + index))

function entryOf({ seq, at, salt, body }: StoredRecord): Buffer {
  return encodeEntry({ kind: 1, seq, at, commitment: commitTo(salt, body) })
}

const sha256 = (...parts: Uint8Array[]) =>
  createHash('sha256').update(Buffer.concat(parts)).digest()

/** As RFC 6962 defines it. */
function rootOf(leaves: readonly Buffer[]): Buffer {
  const [only] = leaves
  if (only === undefined) return sha256()
  if (leaves.length === 1) return sha256(Buffer.of(0), only)
  const k = 2 ** (Math.ceil(Math.log2(leaves.length)) - 1)
  return sha256(Buffer.of(1), rootOf(leaves.slice(0, k)), rootOf(leaves.slice(k)))
}

const rootOfRecords = (count: number) => rootOf(recordsTo(1, count + 1).map(entryOf))
const head = () => readHead(treeFolder(folder), key)

function filesBelow(path: string): readonly string[] {
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(path, name)).isFile())
    .sort()
}

describe('the tree of a journal', () => {
  it('begins empty and signed, with a key that only its owner can read', () => {
    expect(head()).toMatchObject({ size: 0, root: sha256() })
    expect(statSync(keyPath).mode & 0o777).toBe(0o600)
    expect(openSigningKey(folder, keyPath).publicKey).toEqual(key.publicKey)
  })

  it('has the root of its records, whatever is signed and lost when', () => {
    const step = fc.record({
      add: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 200, max: 600 })),
      end: fc.constantFrom('sign', 'sign', 'crash', 'go on'),
    })
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 8 }), (steps) => {
        begin()
        let writer = new TreeWriter(folder, key)
        const heads = [head()]
        for (const { add, end } of steps) {
          writer.add(recordsTo(writer.nextSeq, writer.nextSeq + add))
          if (end === 'sign') {
            writer.sign()
            heads.push(head())
          }
          if (end === 'crash') writer = new TreeWriter(folder, key)
        }
        writer.sign()
        const last = head()
        const reader = new TreeReader(treeFolder(folder), last.size)
        expect(last.root).toEqual(rootOfRecords(last.size))
        for (const old of heads) {
          const proof = proveConsistency(old.size, last.size, reader.node)
          expect(verifyConsistency(old, last, proof)).toBe(true)
        }
        for (const index of [0, 255, 256, 511, last.size - 1].filter(
          (i) => i >= 0 && i < last.size,
        )) {
          const entry = reader.readEntry(index)
          expect(decodeEntry(entry)?.seq).toBe(index + 1)
          const path = proveInclusion(index, last.size, reader.node)
          expect(verifyInclusion(hashLeaf(entry), { ...last, index, path })).toBe(true)
        }
      }),
      { numRuns: 25 },
    )
  })

  it('has the files of C2SP tlog-tiles for 70,000 records, and no others', {
    timeout: 60_000,
  }, () => {
    const writer = new TreeWriter(folder, key)
    for (let seq = 1; seq <= 70_000; seq += 7_000) {
      writer.add(recordsTo(seq, seq + 7_000))
      writer.sign()
    }
    const names = filesBelow(join(treeFolder(folder), 'tile'))
    expect(names.filter((name) => name.startsWith('0/'))).toHaveLength(274)
    expect(names).toContain('0/273.p/112')
    expect(names.filter((name) => name.startsWith('1/'))).toEqual(['1/000', '1/001.p/17'])
    expect(names.filter((name) => name.startsWith('2/'))).toEqual(['2/000.p/1'])
    expect(names.filter((name) => name.startsWith('entries/'))).toHaveLength(274)
    expect(head().root).toEqual(rootOfRecords(70_000))
  })

  it('names tiles in groups of three digits', () => {
    expect(tilePath('t', 0, 1_234_067)).toBe('t/tile/0/x001/x234/067')
    expect(tilePath('t', 'entries', 5, 7)).toBe('t/tile/entries/005.p/7')
  })

  it('is read while a later checkpoint replaces its partial tiles', () => {
    const writer = new TreeWriter(folder, key)
    writer.add(recordsTo(1, 101))
    writer.sign()
    const old = head()
    for (const next of [151, 400]) {
      writer.add(recordsTo(writer.nextSeq, next))
      writer.sign()
      const reader = new TreeReader(treeFolder(folder), old.size)
      const path = proveInclusion(42, old.size, reader.node)
      expect(verifyInclusion(hashLeaf(entryOf(record(43))), { ...old, index: 42, path })).toBe(true)
    }
  })

  it('adds no record twice, and none before its turn', () => {
    const writer = new TreeWriter(folder, key)
    writer.add(recordsTo(1, 6))
    writer.add(recordsTo(3, 9))
    writer.add(recordsTo(12, 14))
    expect(writer.nextSeq).toBe(9)
  })

  describe('is refused', () => {
    beforeEach(() => {
      const writer = new TreeWriter(folder, key)
      writer.add(recordsTo(1, 301))
      writer.sign()
    })
    const tree = () => treeFolder(folder)

    it.each<[string, () => void, string]>([
      [
        'with a tile of other hashes',
        () => damageByte(tilePath(tree(), 0, 1, 44), 100),
        'do not have the root',
      ],
      ['with a short tile', () => truncateSync(tilePath(tree(), 1, 0, 1), 31), 'has 31 bytes'],
      ['without a tile', () => rmSync(tilePath(tree(), 0, 1, 44)), 'is missing'],
      [
        'with a changed checkpoint',
        () => damageByte(checkpointPath(tree()), 60),
        'cannot be trusted',
      ],
    ])('%s', (_, damage, message) => {
      damage()
      expect(() => new TreeWriter(folder, key)).toThrow(message)
    })

    it('without its key, without its tree, and with another key', () => {
      const aside = `${keyPath}.aside`
      cpSync(keyPath, aside)
      rmSync(keyPath)
      expect(() => openSigningKey(folder, keyPath)).toThrow(
        'the key that signs the journal is missing',
      )
      writeFileSync(keyPath, 'no key')
      expect(() => openSigningKey(folder, keyPath)).toThrow(
        'must have a private key of Ed25519 in PEM',
      )
      cpSync(aside, keyPath)
      expect(openSigningKey(folder, keyPath).publicKey).toEqual(key.publicKey)
      const other = join(parent, 'other')
      mkdirSync(other)
      cpSync(join(folder, 'origin'), join(other, 'origin'))
      const otherKey = openSigningKey(other, join(parent, 'other.key'))
      expect(() => readHead(tree(), otherKey)).toThrow('is not signed by')
      rmSync(tree(), { recursive: true })
      expect(() => openSigningKey(folder, keyPath)).toThrow(
        'the signed tree of the journal is missing',
      )
    })

    it('but not after a crash between the empty tree and its key', () => {
      rmSync(keyPath)
      rmSync(tree(), { recursive: true })
      openSigningKey(folder, keyPath)
      rmSync(keyPath)
      const again = openSigningKey(folder, keyPath)
      expect(existsSync(keyPath)).toBe(true)
      expect(readHead(tree(), again).size).toBe(0)
      expect(readFileSync(checkpointPath(tree()), 'utf8')).toContain('\n0\n')
    })
  })
})
