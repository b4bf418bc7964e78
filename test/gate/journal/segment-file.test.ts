/** Segments before and after they are compressed: every record can be read at its place. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  compressOldestSegment,
  JournalReader,
  listSegments,
  type PlacedRecord,
  RecordReader,
  readSegmentHeader,
  segmentPath,
} from '../../../src/gate/journal/journal-reader.js'
import { recoverJournal } from '../../../src/gate/journal/recovery/recover-journal.js'
import type { JournalRecord } from '../../../src/gate/journal/segment-format.js'
import { SegmentWriter } from '../../../src/gate/journal/segment-writer.js'
import { fileFault } from '../../support/failing-files.js'
import { frameRunOf, nothingSigned, sealKey, signedTree } from '../../support/journal.js'

/** Bytes asked for at once. */
let largestRead = 0

// Test files share what they import, so these modules may have the real one already.
vi.hoisted(() => void vi.resetModules())
afterAll(() => void vi.resetModules())

vi.mock('node:fs', async (load) => {
  const { failingFiles } = await import('../../support/failing-files.js')
  const real = await load<typeof import('node:fs')>()
  const counted = (file: number, bytes: Buffer, offset: number, length: number, at: number) => {
    largestRead = Math.max(largestRead, bytes.length)
    return real.readSync(file, bytes, offset, length, at)
  }
  return {
    ...failingFiles(real),
    readSync: counted,
    readFileSync: (path: string) => {
      const bytes = real.readFileSync(path)
      largestRead = Math.max(largestRead, bytes.length)
      return bytes
    },
  }
})

const origin = Buffer.alloc(32, 7)
const day = 1_795_370_400_000
const recordCount = 700

let folder: string
let records: readonly PlacedRecord[]

const path = () => segmentPath(folder, 1)
const compressedPath = () => `${path()}.gz`

/** One segment with frames of many lengths, so that they begin and end anywhere in a block; and the next one. */
beforeEach(() => {
  Object.assign(fileFault, { calls: 0, failAt: 0 })
  largestRead = 0
  folder = mkdtempSync(join(tmpdir(), 'callgate-segment-'))
  const options = { folder, origin, key: sealKey, maxSegmentBytes: 67_108_864, databaseFiles: [] }
  const writer = new SegmentWriter(options)
  const ofOneDay = Array.from({ length: recordCount }, (_, index): JournalRecord => {
    // Some are larger than a block, and some cannot be compressed.
    const length = index % 100 === 7 ? 150_000 : (index * 211) % 3_000
    const text = index % 3 === 0 ? randomBytes(length).toString('hex') : 'x'.repeat(length)
    const body = Buffer.from(JSON.stringify({ id: `d${index}`, text }))
    return { seq: index + 1, kind: 'decision', at: day, body }
  })
  writer.handle(frameRunOf(ofOneDay))
  const body = Buffer.from('{}')
  const next = { seq: recordCount + 1, kind: 'opened', at: day + 86_400_000, body } as const
  writer.handle(frameRunOf([next]))
  writer.close()
  records = readAll()
  expect(records).toHaveLength(recordCount + 1)
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

function readAll(): readonly PlacedRecord[] {
  const reader = new JournalReader(folder, 1)
  const all: PlacedRecord[] = []
  try {
    for (let next = reader.read(); next.length > 0; next = reader.read()) all.push(...next)
  } finally {
    reader.close()
  }
  return all
}

/** Comparing texts is much quicker than comparing bytes with `toEqual`. */
const textOf = ({ seq, kind, at, body }: JournalRecord) => `${seq} ${kind} ${at} ${body}`

const placedTextOf = (record: PlacedRecord) =>
  `${record.segment} ${record.offset} ${textOf(record)}`

function expectAll(): void {
  expect(readAll().map(placedTextOf)).toEqual(records.map(placedTextOf))
}

/** Reads each record by itself, in a mixed order. */
function expectEach(): void {
  for (let index = 0; index < records.length; index += 1) {
    const record = records[(index * 269) % records.length] ?? expect.fail()
    const reader = new RecordReader(folder)
    const found = reader.read(record) ?? expect.fail()
    reader.close()
    expect(textOf(found)).toBe(textOf(record))
  }
}

describe('a segment', () => {
  it('gives every record by its place, before and after it is compressed', () => {
    expectEach()
    expect(compressOldestSegment(folder, recordCount + 1)).toBe(true)
    expect(existsSync(path())).toBe(false)
    expectEach()
    expectAll()
    const inOrder = new RecordReader(folder)
    for (const record of records) expect(inOrder.read(record)?.seq).toBe(record.seq)
    inOrder.close()
    expect(compressOldestSegment(folder, recordCount + 1)).toBe(false)
  })

  it('is read when it was compressed after it was listed', () => {
    const [listed] = listSegments(folder)
    const path = listed?.path ?? expect.fail()
    const before = readSegmentHeader(path)
    expect(compressOldestSegment(folder, recordCount + 1)).toBe(true)
    expect(readSegmentHeader(path)).toEqual(before)
    rmSync(`${path}.gz`)
    expect(() => readSegmentHeader(path)).toThrow(
      `ENOENT: no such file or directory, open '${path}'`,
    )
  })

  it('is compressed to a file that gzip can decompress, with members as BGZF has them', () => {
    const bytes = readFileSync(path())
    compressOldestSegment(folder, recordCount + 1)
    const packed = readFileSync(compressedPath())
    const options = { maxBuffer: 1e9 }
    expect(execFileSync('gzip', ['-dc', compressedPath()], options).equals(bytes)).toBe(true)
    // Another reader finds the members by their sizes.
    const sizes: number[] = []
    let end = 0
    while (end < packed.length) {
      expect(packed.toString('latin1', end, end + 4)).toBe('\x1f\x8b\x08\x04')
      expect(packed.toString('latin1', end + 12, end + 16)).toBe('BC\x02\0')
      end += packed.readUInt16LE(end + 16) + 1
      sizes.push(packed.readUInt32LE(end - 4))
    }
    expect(end).toBe(packed.length)
    expect([sizes[0], sizes.at(-1)]).toEqual([0, 0])
    expect(new Set(sizes.slice(1, -2))).toEqual(new Set([65_280]))
    const bgzfEnd = '1f8b08040000000000ff0600424302001b0003000000000000000000'
    expect(packed.subarray(-28).toString('hex')).toBe(bgzfEnd)
  })

  it('is compressed, and a record of it read, without reading much of it at once', () => {
    expect(statSync(path()).size).toBeGreaterThan(2_500_000)
    largestRead = 0
    compressOldestSegment(folder, recordCount + 1)
    expect(largestRead).toBeLessThanOrEqual(65_536)
    expect(largestRead).toBeGreaterThan(60_000)
    const place = records[600] ?? expect.fail()
    expect(place.offset).toBeGreaterThan(2_000_000)
    const reader = new RecordReader(folder)
    const before = largestRead
    largestRead = 0
    expect(reader.read(place)?.seq).toBe(601)
    reader.close()
    expect(largestRead).toBeLessThanOrEqual(before)
  })

  it('is whole after a failure at each step of its compression, and is compressed by the next attempt', () => {
    const bytes = readFileSync(path())
    fileFault.calls = 0
    compressOldestSegment(folder, recordCount + 1)
    const steps = fileFault.calls
    expect(steps).toBeGreaterThan(40)
    for (let step = 1; step <= steps; step += 1) {
      rmSync(compressedPath(), { force: true })
      writeFileSync(path(), bytes)
      Object.assign(fileFault, { calls: 0, failAt: step })
      expect(() => compressOldestSegment(folder, recordCount + 1), `step ${step}`).toThrow('EIO')
      fileFault.failAt = 0
      expectAll()
      expect(compressOldestSegment(folder, recordCount + 1)).toBe(true)
      expect(readdirSync(folder).filter((name) => !name.endsWith('.seg'))).toEqual([
        compressedPath().slice(folder.length + 1),
      ])
      expectAll()
    }
  })

  it('that is compressed and damaged is reported with the place, wherever it is damaged', () => {
    compressOldestSegment(folder, recordCount + 1)
    const packed = readFileSync(compressedPath())
    let reported = 0
    let tried = 0
    for (let at = 0; at < packed.length - 28; at += 2_003) {
      const damaged = Buffer.from(packed)
      damaged[at] = (damaged[at] ?? 0) ^ 0x55
      writeFileSync(compressedPath(), damaged)
      tried += 1
      try {
        recoverJournal(folder, origin, nothingSigned(1))
        // A byte that says nothing about the records, such as a time.
        expectAll()
      } catch (cause) {
        expect(String(cause), `byte ${at}`).toMatch(/0001\.seg\.gz: .*(at byte \d+|with gunzip)/)
        reported += 1
      }
    }
    expect(reported).toBeGreaterThan(tried * 0.98)
    for (let size = 0; size < packed.length - 28; size += 9_973) {
      writeFileSync(compressedPath(), packed.subarray(0, size))
      expect(readAll, `size ${size}`).toThrow('0001.seg.gz: ')
      expect(() => recoverJournal(folder, origin, nothingSigned(1)), `size ${size}`).toThrow(
        '0001.seg.gz: ',
      )
    }
  })

  it('keeps its other records when a block is damaged', () => {
    compressOldestSegment(folder, recordCount + 1)
    const packed = readFileSync(compressedPath())
    packed.fill(0, packed.length >> 1, (packed.length >> 1) + 10)
    writeFileSync(compressedPath(), packed)
    const found = records.filter((record) => {
      const reader = new RecordReader(folder)
      try {
        return reader.read(record)?.seq === record.seq
      } catch (cause) {
        expect(String(cause)).toMatch(/0001\.seg\.gz: the block at byte \d+ cannot be decompressed/)
        return false
      } finally {
        reader.close()
      }
    })
    expect(found.length).toBeLessThan(records.length)
    expect(found.length).toBeGreaterThan(records.length / 2)
    // The start needs only the newest segment, as the others are in the index.
    expect(
      recoverJournal(folder, origin, { tree: signedTree(recordCount), fromSeq: recordCount + 1 })
        .nextSeq,
    ).toBe(recordCount + 2)
  })

  it('that is compressed in one piece says what to do, and is read once that is done', () => {
    writeFileSync(compressedPath(), gzipSync(readFileSync(path())))
    renameSync(path(), join(folder, 'away'))
    expect(readAll).toThrow(
      /0001\.seg\.gz: it is not compressed in blocks.*Decompress it with gunzip/,
    )
    execFileSync('gzip', ['-d', compressedPath()])
    expectAll()
  })
})
