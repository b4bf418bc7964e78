/** The tiles of a tree, made again from the records of its journal. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { JournalReader, listSegments } from '../../../src/gate/journal/journal-reader.js'
import { restoreTiles } from '../../../src/gate/journal/tree/restore-tiles.js'
import { checkpointPath, treeFolder } from '../../../src/gate/journal/tree/tree-files.js'
import { openSigningKey, readHead } from '../../../src/gate/journal/tree/tree-head.js'
import { TreeWriter } from '../../../src/gate/journal/tree/tree-writer.js'
import type { SigningKey } from '../../../src/transparency/signed-note.js'
import { listFiles, writeJournal } from '../../support/journal.js'

const bodies = Array.from({ length: 600 }, (_, index) => JSON.stringify({ version: String(index) }))
let dataDir: string
let folder: string
let keyPath: string
let key: SigningKey

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-tiles-'))
  folder = join(dataDir, 'journal')
  keyPath = join(dataDir, 'journal.key')
  mkdirSync(folder)
  writeFileSync(join(folder, 'origin'), 'callgate/journal/2026-11-26-0a1b2c3d\n')
  // Without records, or it refuses to make a tree.
  key = openSigningKey(folder, keyPath)
  writeJournal(dataDir, bodies)
  const writer = new TreeWriter(folder, key)
  const reader = new JournalReader(folder, 1)
  for (let records = reader.read(); records.length > 0; records = reader.read()) writer.add(records)
  reader.close()
  writer.sign()
})

afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

const readTree = () =>
  new Map(listFiles(folder).map((path) => [path, readFileSync(join(folder, path)).toString('hex')]))
const removeTiles = () => rmSync(join(treeFolder(folder), 'tile'), { recursive: true })

it('are the same, with the same head', () => {
  const before = readTree()
  removeTiles()
  expect(() => readHead(treeFolder(folder), key)).toThrow('is missing')
  restoreTiles(folder)
  expect(readTree()).toEqual(before)
  expect(readHead(treeFolder(folder), key).size).toBe(bodies.length)
})

it('are made again after a start that was killed while it made them', () => {
  const before = readTree()
  removeTiles()
  mkdirSync(join(treeFolder(folder), 'made', 'tree'), { recursive: true })
  writeFileSync(join(treeFolder(folder), 'made', 'tree', 'checkpoint'), 'half')
  restoreTiles(folder)
  expect(readTree()).toEqual(before)
})

const tile = (...names: readonly string[]) => join(treeFolder(folder), 'tile', ...names)
const segments = () => listSegments(folder).map(({ path }) => path)

it.each([
  ['hashes of a full tile', ['0/001']],
  ['hashes of the last tile', ['0/002.p/88']],
  ['a whole level', ['1']],
  ['entries', ['entries/000', 'entries/002.p/88']],
  ['entries and hashes', ['entries/001', '0/000', '0/001']],
])('are the same when only %s are missing', (_, missing) => {
  const before = readTree()
  for (const path of missing) rmSync(tile(path), { recursive: true })
  restoreTiles(folder)
  expect(readTree()).toEqual(before)
})

it('are made from the entries where records were erased or removed', () => {
  const before = readTree()
  writeJournal(dataDir, ['{"erased":true}'])
  for (const path of ['0', '1']) rmSync(tile(path), { recursive: true })
  restoreTiles(folder)
  const names = [...before.keys()].filter((path) => !path.endsWith('.seg'))
  const after = readTree()
  expect(names.map((name) => after.get(name))).toEqual(names.map((name) => before.get(name)))
  for (const path of segments()) rmSync(path)
  rmSync(tile('entries/001'))
  restoreTiles(folder)
  expect(readTree().size).toBe(before.size - 2)
})

it('are left alone when an entry is not the one that was signed', () => {
  const bytes = readFileSync(tile('entries/000'))
  bytes[100] = (bytes[100] ?? 0) ^ 1
  writeFileSync(tile('entries/000'), bytes)
  rmSync(tile('0'), { recursive: true })
  const before = readTree()
  restoreTiles(folder)
  expect(readTree()).toEqual(before)
})

it('stay missing when a record is not the one that was signed', () => {
  const head = readFileSync(checkpointPath(treeFolder(folder)), 'utf8')
  removeTiles()
  writeJournal(dataDir, bodies)
  restoreTiles(folder)
  expect(() => readHead(treeFolder(folder), key)).toThrow('is missing')
  expect(readFileSync(checkpointPath(treeFolder(folder)), 'utf8')).toBe(head)
  expect(listFiles(folder).filter((path) => path.includes('made'))).toEqual([])
})
