/**
 * Segments on a disk that fails and crashes: whatever it does, what was acknowledged is found again at
 * the next start, in order, and nothing else is taken for it.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { DataFileError } from '../../../src/errors.js'
import { JournalReader } from '../../../src/gate/journal/journal-reader.js'
import { recoverJournal } from '../../../src/gate/journal/recovery/recover-journal.js'
import type { JournalRecord } from '../../../src/gate/journal/segment-format.js'
import { type SegmentFiles, SegmentWriter } from '../../../src/gate/journal/segment-writer.js'
import { frameRunOf, nothingSigned, sealKey } from '../../support/journal.js'
import { shortOrLong } from '../../support/long.js'

const origin = Buffer.alloc(32, 7)
const runs = shortOrLong(60, 3_000)

interface DiskFile {
  bytes: Buffer
  /** So much of it is on the disk for certain. */
  flushed: number
  /** Whether the folder's entry is. */
  isNamed: boolean
}

/**
 * A disk in memory. A fault happens at the call with its number; then the disk works again. From the call
 * `liesFrom` on, a flush reports success and has not written anything.
 */
class FaultyDisk implements SegmentFiles {
  readonly files = new Map<string, DiskFile>()
  readonly #faults: ReadonlySet<number>
  readonly #liesFrom: number
  readonly #open: { readonly path: string; readonly file: DiskFile }[] = []
  #calls = 0

  constructor(faults: readonly number[], liesFrom = Number.MAX_SAFE_INTEGER) {
    this.#faults = new Set(faults)
    this.#liesFrom = liesFrom
  }

  #mayFail(): void {
    this.#calls += 1
    if (this.#faults.has(this.#calls)) throw Object.assign(new Error('EIO'), { code: 'EIO' })
  }

  #at(index: number): { readonly path: string; readonly file: DiskFile } {
    const open = this.#open[index]
    if (open === undefined) throw new Error('not open')
    return open
  }

  open(path: string): number {
    this.#mayFail()
    const file = { bytes: Buffer.alloc(0), flushed: 0, isNamed: false }
    this.files.set(path, file)
    return this.#open.push({ path, file }) - 1
  }

  write(index: number, bytes: Buffer): void {
    const { file } = this.#at(index)
    try {
      this.#mayFail()
    } catch (cause) {
      // Half of it was written before the disk was full.
      file.bytes = Buffer.concat([file.bytes, bytes.subarray(0, bytes.length / 2)])
      throw cause
    }
    file.bytes = Buffer.concat([file.bytes, bytes])
  }

  flush(index: number): void {
    this.#mayFail()
    const { file } = this.#at(index)
    if (this.#calls >= this.#liesFrom) return
    file.flushed = file.bytes.length
  }

  flushFolder(): void {
    this.#mayFail()
    for (const file of this.files.values()) file.isNamed = true
  }

  close(): void {
    this.#mayFail()
  }

  identify(fileOrPath: number | string): string {
    this.#mayFail()
    const path = typeof fileOrPath === 'number' ? this.#at(fileOrPath).path : fileOrPath
    return `${path} ${[...this.files.keys()].indexOf(path)}`
  }

  remove(path: string): void {
    this.#mayFail()
    this.files.delete(path)
  }

  /** What may be left after a crash: of what was not flushed, a part chosen by `random`. */
  writeRemains(folder: string, random: () => number): void {
    for (const [path, { bytes, flushed, isNamed }] of this.files) {
      if (!isNamed && random() < 0.5) continue
      const kept = flushed + Math.floor(random() * (bytes.length - flushed + 1))
      const remains = Buffer.from(bytes.subarray(0, random() < 0.5 ? kept : bytes.length))
      // The length was written, the bytes were not.
      if (random() < 0.3 && kept < remains.length) remains.fill(0, kept)
      writeFileSync(join(folder, basename(path)), remains)
    }
  }
}

const bodyOf = (number: number, length: number) =>
  Buffer.from(JSON.stringify({ id: `d${number}`, text: 'x'.repeat(length) }))

const recordsFrom = (nextSeq: number, count: number): readonly JournalRecord[] =>
  Array.from({ length: count }, (_, index) => ({
    seq: nextSeq + index,
    kind: 'decision',
    at: 1_795_370_400_000 + nextSeq,
    body: bodyOf(nextSeq + index, (nextSeq * 31) % 400),
  }))

const readAll = (folder: string) => {
  const reader = new JournalReader(folder, 1)
  const all: JournalRecord[] = []
  for (let next = reader.read(); next.length > 0; next = reader.read()) {
    all.push(...next.map(({ seq, kind, at, body }) => ({ seq, kind, at, body })))
  }
  reader.close()
  return all
}

const scenario = fc.record({
  groups: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 12 }),
  faults: fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { maxLength: 6 }),
  crash: fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })),
})
const seed = Number(process.env.CALLGATE_TEST_SEED ?? Date.now() % 1_000_000)

/** Writes groups of records until each is acknowledged or has failed. */
function writeGroups(disk: FaultyDisk, groups: readonly number[]) {
  const options = {
    folder: '/journal',
    origin,
    key: sealKey,
    maxSegmentBytes: 900,
    databaseFiles: [],
  }
  const writer = new SegmentWriter(options, disk)
  const acknowledged: JournalRecord[] = []
  let waiting: readonly JournalRecord[] = []
  let nextSeq = 1
  let failures = 0
  for (const count of groups) {
    waiting = [...waiting, ...recordsFrom(nextSeq, count)]
    nextSeq += count
    try {
      writer.handle(frameRunOf(waiting))
      acknowledged.push(...waiting)
      waiting = []
    } catch {
      failures += 1
    }
  }
  return { acknowledged, waiting, failures }
}

function afterCrash(disk: FaultyDisk, random: Iterator<number>, check: (folder: string) => void) {
  const folder = mkdtempSync(join(tmpdir(), 'callgate-segments-'))
  try {
    disk.writeRemains(folder, () => random.next().value ?? 0)
    check(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

it('finds every acknowledged record again after faults and a crash', () => {
  let faulty = 0
  const property = fc.property(scenario, ({ groups, faults, crash }) => {
    const disk = new FaultyDisk(faults)
    const { acknowledged, waiting, failures } = writeGroups(disk, groups)
    faulty += failures
    afterCrash(disk, crash, (folder) => {
      const recovered = recoverJournal(folder, origin, nothingSigned(1))
      const found = readAll(folder)
      expect(found.slice(0, acknowledged.length)).toEqual(acknowledged)
      // Beyond these there may be whole records of a write that was not acknowledged, and no others.
      expect(found).toEqual([...acknowledged, ...waiting].slice(0, found.length))
      expect(recovered.nextSeq).toBe(found.length + 1)
    })
  })
  fc.assert(property, { numRuns: runs, seed })
  process.stdout.write(`segments: seed ${seed}, ${runs} crashes, ${faulty} failed writes\n`)
  expect(faulty).toBeGreaterThan(0)
})

it('names the place where acknowledged records are missing, after a crash of a disk that did not write them', () => {
  let whole = 0
  let damaged = 0
  const liesFrom = fc.integer({ min: 1, max: 60 })
  const property = fc.property(scenario, liesFrom, ({ groups, faults, crash }, firstLie) => {
    const disk = new FaultyDisk(faults, firstLie)
    const { acknowledged, waiting } = writeGroups(disk, groups)
    afterCrash(disk, crash, (folder) => {
      let found: readonly JournalRecord[]
      try {
        // The index has all of them.
        recoverJournal(folder, origin, nothingSigned(acknowledged.length + 1))
        found = readAll(folder)
      } catch (cause) {
        damaged += 1
        expect(cause).toBeInstanceOf(DataFileError)
        return
      }
      whole += 1
      expect(found.length).toBeGreaterThanOrEqual(acknowledged.length)
      expect(found).toEqual([...acknowledged, ...waiting].slice(0, found.length))
    })
  })
  fc.assert(property, { numRuns: runs, seed })
  process.stdout.write(`segments: seed ${seed}, ${whole} whole, ${damaged} damaged\n`)
  expect(Math.min(whole, damaged)).toBeGreaterThan(0)
})
