/**
 * What is put behind the end of a journal, or in the place of what a crash left there: a start takes over what the journal
 * has sealed, names the rest and keeps it aside, and refuses where what is missing was recorded.
 */
import { createHash, createPrivateKey } from 'node:crypto'
import {
  appendFileSync,
  cpSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { bufferSource } from '../../../src/evidence/byte-source.js'
import { verifyJournal } from '../../../src/evidence/verify/verify-journal.js'
import { listSegments } from '../../../src/gate/journal/journal-reader.js'
import {
  checksumSeedOf,
  createSeal,
  decodeFrame,
  decodeSeal,
  encodeHeader,
  finishFrames,
  headerBytes,
  type JournalRecord,
  withErased,
} from '../../../src/gate/journal/segment-format.js'
import { parseCheckpoint } from '../../../src/transparency/checkpoint.js'
import { parseVerifierKey } from '../../../src/transparency/signed-note.js'
import { useTempFolder } from '../../data/temp-folder.js'
import { forgeFrames, forgetHeads, frameRunOf, recordsIn, sealKey } from '../../support/journal.js'
import { makeDecision, type TestJournal, testJournal } from '../../support/test-journal.js'

const folder = useTempFolder()
const now = Date.parse('2026-11-28T12:00:00Z')
let journal: string

beforeEach(() => {
  journal = folder.file('journal')
})

/** Records each decision in a group of its own. */
async function serve(...ids: readonly string[]): Promise<TestJournal> {
  const served = testJournal(folder.path, () => now)
  const { journal: opened, append } = served
  await opened.open()
  for (const id of ids) await append(await makeDecision({ id, decidedAt: now }))
  await opened.drain()
  await opened.close()
  return served
}

/** As a server that was killed before it had signed or indexed anything. */
function forget(): void {
  forgetHeads(folder.path)
  rmSync(folder.file('index.sqlite'))
}

const newest = () => listSegments(journal).at(-1) ?? expect.fail()
const seqs = () => recordsIn(folder.path).map(({ seq }) => seq)
const lastOpened = () => {
  const opened = recordsIn(folder.path).findLast(({ kind }) => kind === 'opened')
  return JSON.parse(opened?.body ?? '')
}

const forge = (seq: number, segmentSeq: number, at = now) =>
  forgeFrames(seq, segmentSeq, [
    { seq, kind: 'decision', at, body: Buffer.from('{"id":"forged","decision":"allow"}') },
  ])

const originHash = () =>
  createHash('sha256')
    .update(readFileSync(join(journal, 'origin')))
    .digest()

/** Where each group of a segment ends. */
function groupEnds(path: string, firstSeq: number): readonly number[] {
  const bytes = readFileSync(path)
  const seed = checksumSeedOf(firstSeq)
  const ends: number[] = []
  for (let offset = headerBytes; offset < bytes.length; ) {
    const seal = decodeSeal(bytes, offset, seed)
    const end = seal?.end ?? decodeFrame(bytes, offset, seed)?.end ?? expect.fail()
    if (seal) ends.push(end)
    offset = end
  }
  return ends
}

describe('a record that is put behind the end', () => {
  const fourWeeksAgo = Date.parse('2026-10-31T12:00:00Z')

  it.each([
    ['without a seal', () => Buffer.alloc(0)],
    [
      'with a seal of another key',
      (frames: Buffer, seq: number, segment: number) =>
        createSeal(
          frames,
          { origin: originHash(), firstSeq: seq, lastSeq: seq },
          { checksumSeed: checksumSeedOf(segment), key: sealKey.privateKey },
        ),
    ],
    [
      'with the seal of another group',
      (_: Buffer, _seq: number, segment: number) => {
        const bytes = readFileSync(newest().path)
        const end = groupEnds(newest().path, segment).at(-1) ?? 0
        return bytes.subarray(end - 88, end)
      },
    ],
  ] as const)('%s is not taken over, but named, and kept aside', async (_, sealOf) => {
    await serve('d1', 'd2')
    const { path, firstSeq } = newest()
    const frames = forge(4, firstSeq, fourWeeksAgo)
    const forged = Buffer.concat([frames, sealOf(frames, 4, firstSeq)])
    appendFileSync(path, forged)
    await serve('d3')
    expect(recordsIn(folder.path).map(({ kind }) => kind)).toEqual([
      'opened',
      'decision',
      'decision',
      'opened',
      'decision',
    ])
    expect(lastOpened().notTakenOver).toEqual({
      file: '00000000000000000004.cut',
      bytes: forged.length,
      sha256: createHash('sha256').update(forged).digest('hex'),
      records: 1,
    })
    expect(readFileSync(join(journal, lastOpened().notTakenOver.file))).toEqual(forged)
    const tree = join(journal, 'tree')
    const key = parseVerifierKey(readFileSync(join(tree, 'key'), 'utf8').trim())
    const source = bufferSource(readFileSync(join(tree, 'checkpoint')))
    const heads = [{ name: 'kept', source }]
    expect(verifyJournal({ folder: journal, key, now, heads })).toMatchObject({
      result: 'PROVEN',
      counts: { proven: 5 },
    })
  })

  it('is gone from the folder once any number was erased', async () => {
    await serve('d1')
    appendFileSync(newest().path, forge(3, 1))
    await serve('d2')
    expect(readdirSync(journal)).toContain('00000000000000000003.cut')
    const { journal: opened } = testJournal(folder.path, () => now)
    await opened.open()
    opened.erase({ id: 'e1', number: '2125550106', accountId: undefined, includesAllowed: false })
    await opened.drain()
    await opened.close()
    expect(readdirSync(journal)).not.toContain('00000000000000000003.cut')
  })

  it('in a segment of its own is not taken over either', async () => {
    await serve('d1')
    const header = encodeHeader({ firstSeq: 3, createdAt: fourWeeksAgo, origin: originHash() })
    const path = join(journal, `${'3'.padStart(20, '0')}.seg`)
    writeFileSync(path, Buffer.concat([header, forge(3, 3, fourWeeksAgo)]))
    await serve('d2')
    expect(recordsIn(folder.path).map(({ body }) => /^\{"id":"(\w+)"/.exec(body)?.[1])).toEqual([
      undefined,
      'd1',
      undefined,
      'd2',
    ])
    expect(lastOpened().notTakenOver).toMatchObject({ records: 1 })
  })

  it('is not in a backup, which has all that was sealed', async () => {
    await serve('d1')
    appendFileSync(newest().path, forge(3, 1))
    const { copyJournal } = await import('../../../src/gate/journal/recovery/copy-journal.js')
    const { keepRules } = await import('../../../src/gate/journal/recovery/kept-rules.js')
    const copy = folder.file('copy')
    cpSync(join(journal, 'origin'), join(copy, 'journal', 'origin'), { recursive: true })
    keepRules(journal, '{}')
    expect(copyJournal(journal, join(copy, 'journal'))).toEqual({ firstSeq: 1, lastSeq: 2 })
    expect(recordsIn(copy)).toEqual(recordsIn(folder.path).slice(0, 2))
    expect(readdirSync(join(copy, 'journal')).filter((name) => /cut/.test(name))).toEqual([])
    // The folder that was copied is as it was.
    expect(seqs()).toEqual([1, 2, 3])
  })
})

describe('the last group', () => {
  it('is taken over without a signed head or index, if its seal fits', async () => {
    await serve('d1', 'd2')
    forget()
    await serve('d3')
    expect(seqs()).toEqual([1, 2, 3, 4, 5])
    expect(lastOpened()).not.toHaveProperty('notTakenOver')
  })

  it('is cut where it is changed, without a part or without its seal, and nothing before it is', async () => {
    await serve('d1', 'd2')
    forget()
    const { path } = newest()
    const whole = readFileSync(path)
    const [, before = 0, end = 0] = groupEnds(path, 1)
    expect(end).toBe(whole.length)
    const changes: readonly ((bytes: Buffer) => Buffer)[] = [
      (bytes) => bytes.subarray(0, end - 88),
      (bytes) => bytes.subarray(0, end - 1),
      (bytes) => bytes.fill(0, before, before + 512),
      (bytes) => bytes.fill(0, end - 88, end - 64),
      (bytes) => Buffer.concat([bytes.subarray(0, before), forge(3, 1), bytes.subarray(end - 88)]),
    ]
    for (const [index, change] of changes.entries()) {
      writeFileSync(path, change(Buffer.from(whole)))
      await serve('again')
      expect(recordsIn(folder.path).map(({ body }) => /^\{"id":"(\w+)"/.exec(body)?.[1])).toEqual([
        undefined,
        'd1',
        undefined,
        'again',
      ])
      expect(lastOpened().notTakenOver, `change ${index}`).toMatchObject({
        bytes: expect.any(Number),
      })
      for (const { path: later } of listSegments(journal).slice(1)) rmSync(later)
      forget()
    }
  })

  it('is refused where a signed head or the index names one of its records, and nothing is changed', async () => {
    await serve('d1', 'd2')
    const { path } = newest()
    const whole = readFileSync(path)
    const changed = Buffer.from(whole)
    const last = whole.length - 200
    changed[last] = (changed[last] ?? 0) ^ 1
    writeFileSync(path, changed)
    await expect(serve('d3')).rejects.toThrow(/is damaged: record 3 cannot be read, at byte/)
    rmSync(folder.file('index.sqlite'))
    await expect(serve('d3')).rejects.toThrow(/is damaged: record 3 cannot be read, at byte/)
    expect(readFileSync(path)).toEqual(changed)
    writeFileSync(path, whole)
    await serve('d3')
    // Of the index alone.
    forgetHeads(folder.path)
    const next = newest()
    truncateSync(next.path, readFileSync(next.path).length - 88)
    await expect(serve('d4')).rejects.toThrow(/is damaged: record 5 cannot be read/)
    rmSync(folder.file('index.sqlite'))
    await serve('d4')
    expect(seqs()).toEqual([1, 2, 3, 4, 5, 6])
  })

  it('is not the only one that is missing where a later one is there', async () => {
    await serve('d1', 'd2', 'd3')
    forget()
    const { path } = newest()
    const whole = readFileSync(path)
    const [, second = 0] = groupEnds(path, 1)
    const bytes = Buffer.from(whole)
    bytes.fill(0, second - 88, second)
    writeFileSync(path, bytes)
    await expect(serve('d4')).rejects.toThrow(/is damaged: record 2 cannot be read/)
    expect(readFileSync(path)).toEqual(bytes)
    expect(readdirSync(journal).filter((name) => name.endsWith('.cut'))).toEqual([])
  })
})

describe('a record that is on disk and not signed', () => {
  const sizeSigned = () =>
    parseCheckpoint(readFileSync(join(journal, 'tree/checkpoint'), 'utf8')).size

  it.each([
    ['alone', []],
    ['after another one', ['d3']],
  ])('is never signed once it is changed, %s', async (_, before) => {
    const { journal: opened, append, events } = testJournal(folder.path, () => now)
    await opened.open()
    for (const id of ['d1', 'd2']) await append(await makeDecision({ id, decidedAt: now }))
    await opened.drain()
    const { path, firstSeq } = newest()
    for (const id of [...before, 'changed'])
      await append(await makeDecision({ id, decidedAt: now }))
    const bytes = readFileSync(path)
    const end = groupEnds(path, firstSeq).at(-2) ?? 0
    const frame = decodeFrame(bytes, end, checksumSeedOf(firstSeq)) ?? expect.fail()
    const { seq } = frame.record
    const body = Buffer.from(frame.record.body.toString().replace('"allow"', '"block"'))
    expect(body).not.toEqual(frame.record.body)
    withErased(bytes.subarray(end, frame.end), body, checksumSeedOf(firstSeq)).copy(bytes, end)
    writeFileSync(path, bytes)
    await opened.drain()
    await append(await makeDecision({ id: 'after', decidedAt: now }))
    await opened.drain()
    const failed = events.find(({ kind }) => kind === 'failed')
    const reason = `record ${seq} is not as the journal has written and sealed it`
    expect(failed).toMatchObject({ work: 'sign', isForgery: true })
    expect(failed).toHaveProperty('reason', expect.stringContaining(reason))
    expect(opened.findProblem()).toContain(reason)
    await opened.close()
    expect(sizeSigned()).toBeLessThan(seq)
    await expect(serve('d4')).rejects.toThrow(`is damaged: record ${seq} cannot be read`)
    expect(sizeSigned()).toBeLessThan(seq)
  })
})

describe('records that are in a segment once more, as where a write was repeated', () => {
  const check = () => verifyJournal({ folder: journal, now })

  /** As sealed in one group by the journal's own key, each with a salt of its own. */
  function seal(records: readonly JournalRecord[]): Buffer {
    const { memory, end } = frameRunOf(records)
    const frames = Buffer.from(memory, 0, end)
    const checksumSeed = checksumSeedOf(1)
    finishFrames(frames, checksumSeed)
    const firstSeq = records[0]?.seq ?? 0
    const group = { origin: originHash(), firstSeq, lastSeq: firstSeq + records.length - 1 }
    const key = createPrivateKey(readFileSync(folder.file('journal.key')))
    return Buffer.concat([frames, createSeal(frames, group, { checksumSeed, key })])
  }

  const decisions = (count: number, text = '') =>
    Array.from({ length: count }, (_, index) => {
      const body = Buffer.from(JSON.stringify({ id: `more${index}`, own: true, outcome: {}, text }))
      return { seq: 4 + index, kind: 'outcome' as const, at: now, body }
    })

  beforeEach(async () => {
    await serve('d1', 'd2')
    rmSync(folder.file('index.sqlite'))
  })

  it.each([
    ['of a few bytes', 5, 'short'],
    ['of more than a reader reads at once', 400, 'x'.repeat(6_000)],
  ])('count once, and are named, %s', async (_, count, text) => {
    const records = decisions(count, text)
    const repeated = [count - 3, count - 3, count - 1, count].map((end) => records.slice(0, end))
    for (const group of repeated) appendFileSync(newest().path, seal(group))
    expect(check().counts).toMatchObject({ unsigned: count, copies: 3 * count - 7 })
    const { events } = await serve('d3')
    expect(events).toContainEqual({ kind: 'recovered', copies: 3 * count - 7 })
    expect(seqs()).toEqual(Array.from({ length: count + 5 }, (_, index) => index + 1))
    // The finding about the key that was not given.
    expect(check().findings.map(({ level }) => level)).toEqual(['unchecked'])
    expect(check().counts).toMatchObject({ proven: count + 5, copies: 3 * count - 7 })
  })

  it('are not taken over, but kept aside, if one has another content', async () => {
    const records = decisions(5)
    appendFileSync(newest().path, seal(records))
    const body = Buffer.from('{"id":"other","own":true,"outcome":{}}')
    const others = records.map((one) => (one.seq === 6 ? { ...one, body } : one))
    appendFileSync(newest().path, seal(others))
    expect(check().result).toBe('FALSE')
    const { events } = await serve('d3')
    const notTakenOver = expect.objectContaining({ records: 5 })
    expect(events).toEqual([{ kind: 'recovered', notTakenOver, copies: 0 }])
    expect(recordsIn(folder.path)[5]?.body).toContain('more2')
  })
})

it('a start does not make a tree and a key for records that are there', async () => {
  await serve('d1')
  rmSync(join(journal, 'tree'), { recursive: true })
  await expect(serve('d2')).rejects.toThrow('the signed tree of the journal is missing')
  rmSync(folder.file('journal.key'))
  await expect(serve('d2')).rejects.toThrow('the signed tree of the journal is missing')
  expect(basename(newest().path)).toBe(`${'1'.padStart(20, '0')}.seg`)
})
