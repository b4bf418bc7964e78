/**
 * Somebody changes files of a journal and then has the server itself erase or remove what he has changed, so that it signs a
 * notice of that.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import Sqlite from 'better-sqlite3'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { bufferSource } from '../../../src/evidence/byte-source.js'
import { verifyJournal } from '../../../src/evidence/verify/verify-journal.js'
import { JournalReader, listSegments } from '../../../src/gate/journal/journal-reader.js'
import { compressSegment } from '../../../src/gate/journal/segment-file.js'
import type { StoredRecord } from '../../../src/gate/journal/segment-format.js'
import { treeFolder } from '../../../src/gate/journal/tree/tree-files.js'
import { commitTo } from '../../../src/transparency/log-entry.js'
import { answered, fakeCompliance, noon } from '../../support/fake-compliance.js'
import { readSegment, segmentBytes, writeSegment } from '../../support/forge-journal.js'
import { recordsIn } from '../../support/journal.js'
import { makeDecision, testJournal } from '../../support/test-journal.js'
import { cosignHead, witnessKey } from '../../support/test-witness.js'
import { stampHead } from '../../support/time-stamp-authority.js'

const number = '2125550106'
const msPerDay = 86_400_000
const keepYears = 5

let dataDir: string
let now: number
const folder = () => join(dataDir, 'journal')

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-attacks-'))
  now = noon
})

afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

const open = () => testJournal(dataDir, () => now, { keepYears })
const verify = () => verifyJournal({ folder: folder(), now })
const falseMessages = () =>
  verify().findings.flatMap(({ level, message }) => (level === 'false' ? [message] : []))
const notices = () =>
  recordsIn(dataDir).flatMap(({ kind, body }) => (kind === 'notice' ? [JSON.parse(body)] : []))

/** A journal with one decision, a block or an allow, on each of some days; every one of them is a segment. */
async function writeDays(days: readonly number[], onList = true): Promise<void> {
  const compliance = fakeCompliance({
    internalDnc: () => answered({ onList, addedAt: noon, facts: '{}' }),
  })
  now = days[0] ?? noon
  const { journal, append } = open()
  await journal.open()
  for (const [index, at] of days.entries()) {
    now = at
    await append(
      await makeDecision({ id: `d${index}`, decidedAt: at }, { dialed: number }, compliance),
    )
    await journal.drain()
  }
  // Each update of the index works on one segment.
  for (const _ of days) await journal.drain()
  await journal.close()
}

/** Days one after another. */
const days = (first: string, count: number) =>
  Array.from({ length: count }, (_, index) => Date.parse(`${first}T12:00:00Z`) + index * msPerDay)

/** Changes the first decision of a segment, with right checksums, in the form that it has. */
function forge(at: number): number {
  const { path } = listSegments(folder())[at] ?? { path: '' }
  const content = readSegment(path)
  let seq = 0
  const change = (record: StoredRecord): StoredRecord => {
    if (seq > 0 || record.kind !== 'decision') return record
    seq = record.seq
    const text = record.body.toString().replace('"decision":"block"', '"decision":"allow"')
    return { ...record, body: Buffer.from(text) }
  }
  writeSegment(content, content.records.map(change))
  if (path.endsWith('.gz')) compressSegment(path.replace(/\.gz$/, ''))
  expect(seq).toBeGreaterThan(0)
  return seq
}

const request = { id: 'e1', number, accountId: undefined, includesAllowed: true }

it('a block that was changed to an allow is not erased, and no notice of it is signed', async () => {
  await writeDays(days('2026-11-01', 4))
  const seq = forge(1)
  expect(listSegments(folder())[1]?.path).toMatch(/\.gz$/)
  // What an erasure once left beside the journal says nothing.
  writeFileSync(join(folder(), 'er-1.changed'), `${seq}\n`)
  const { journal, events } = open()
  await journal.open()
  // A row in the table of erasures has the server do this.
  journal.erase(request)
  await journal.drain()
  const reason = expect.stringMatching(
    new RegExp(`record ${seq} is not the one that was signed, and no signed notice says why`),
  )
  expect(events).toEqual([{ kind: 'failed', work: 'erase', reason, isForgery: true }])
  expect(journal.findProblem()).toEqual(reason)
  await journal.close()
  expect(notices()).toEqual([])
  expect(falseMessages()).toEqual([expect.stringContaining(`record ${seq}, `)])

  // The next start finds it again, and signs no notice either.
  const { journal: again } = open()
  await again.open()
  again.erase(request)
  await again.drain()
  expect(again.findProblem()).toEqual(reason)
  await again.close()
  expect(notices()).toEqual([])
})

it('a changed record with a changed entry is not erased', async () => {
  await writeDays(days('2026-11-01', 4))
  const seq = forge(1)
  const { records } = readSegment(listSegments(folder())[1]?.path ?? '')
  const entries = join(treeFolder(folder()), 'tile', 'entries', '000.p')
  const [width = ''] = readdirSync(entries)
  const bytes = readFileSync(join(entries, width))
  const record = records.find((one) => one.seq === seq)
  commitTo(record?.salt ?? bytes, record?.body ?? bytes).copy(bytes, (seq - 1) * 52 + 2 + 18)
  const { journal } = open()
  await journal.open()
  writeFileSync(join(entries, width), bytes)
  journal.erase(request)
  await journal.drain()
  expect(journal.findProblem()).toMatch(/the entries of records \d+ to \d+ are not those that were/)
  await journal.close()
  expect(notices()).toEqual([])
})

it('a record that is neither as before nor as its notice says keeps the server from starting', async () => {
  await writeDays(days('2026-11-01', 4))
  const { journal, events } = open()
  await journal.open()
  const [segment] = listSegments(folder())
  const before = { path: segment?.path ?? '', bytes: readFileSync(segment?.path ?? '') }
  journal.erase(request)
  await journal.drain()
  await journal.close()
  expect(events.at(-1)).toMatchObject({ kind: 'erased', erased: 4 })
  expect(falseMessages()).toEqual([])

  // As if it had ended before it was finished: the index says which records have a notice.
  const index = new Sqlite(join(dataDir, 'index.sqlite'))
  index.exec('update erased_records set is_finished = 0').close()
  writeFileSync(before.path, before.bytes)
  const { journal: again } = open()
  await again.open()
  await again.close()
  const seq = forge(0)
  await expect(open().journal.open()).rejects.toThrow(
    `record ${seq} is not the one that was signed`,
  )
})

it('a signed record of another kind that has what a notice says is none', async () => {
  await writeDays(days('2026-11-01', 4))
  const seq = forge(1)
  const [forged = expect.fail()] = readSegment(
    listSegments(folder())[1]?.path ?? '',
  ).records.filter((one) => one.seq === seq)
  // What a person writes is in such a record.
  const content = { changed: [[seq, commitTo(forged.salt, forged.body).toString('base64')]] }
  const { journal } = open()
  await journal.open()
  await journal.addReceipt(content as object)
  await journal.drain()
  await journal.close()
  const last = listSegments(folder()).at(-1) ?? expect.fail()
  const receipt = recordsIn(dataDir).findIndex(({ kind }) => kind === 'receipt') + 1
  const reader = new JournalReader(folder(), receipt)
  const [{ offset } = expect.fail()] = reader.read(receipt)
  reader.close()
  const index = new Sqlite(join(dataDir, 'index.sqlite'))
  index
    .prepare('insert into erased_records values (?, ?, ?, ?, ?, 1)')
    .run(seq, receipt, last.firstSeq, offset, 'e0')
  index.close()
  const { journal: again } = open()
  await again.open()
  again.erase(request)
  await again.drain()
  expect(again.findProblem()).toMatch(`record ${receipt} is not the one that was signed`)
  await again.close()
  expect(notices()).toEqual([])
})

const october = days('2021-10-30', 2)
const november = days('2021-11-01', 1)

it('retention removes no record that was changed', async () => {
  const all = [...october, ...november, ...days('2026-11-01', 7)]
  await writeDays(all)
  forge(0)
  now = (all.at(-1) ?? 0) + msPerDay
  const { journal, events, append } = open()
  await journal.open()
  await append(await makeDecision({ id: 'last', decidedAt: now }))
  await journal.drain()
  expect(events).toEqual([
    expect.objectContaining({ kind: 'failed', work: 'remove', isForgery: true }),
  ])
  expect(journal.findProblem()).toMatch(/record \d+ is not the one that was signed/)
  await journal.close()
  expect(notices()).toEqual([])
  expect(listSegments(folder())[0]?.firstSeq).toBe(1)
})

it('headers of segments that were dated ahead, and one start with a wrong clock, remove nothing', async () => {
  await writeDays(days('2026-11-01', 10))
  for (const { path, firstSeq } of listSegments(folder()).slice(1)) {
    const { records } = readSegment(path)
    const header = Buffer.from(segmentBytes(path).subarray(0, 64))
    header.writeBigUInt64BE(BigInt(Date.UTC(2040, 0, firstSeq)), 16)
    header.writeUInt32BE(crc32(header.subarray(0, 60)), 60)
    writeSegment({ path, header, records }, records)
  }
  now = Date.UTC(2040, 0, 20)
  const { journal, events, append } = open()
  await journal.open()
  await append(await makeDecision({ id: 'wrong', decidedAt: now }))
  await journal.drain()
  await journal.drain()
  await journal.close()
  expect(events).toEqual([])
  expect(listSegments(folder())[0]?.firstSeq).toBe(1)
  expect(existsSync(join(folder(), 'begins.json'))).toBe(false)
})

it('what a clock has removed that was ahead for days is found by the next record, and by whoever verifies', async () => {
  await writeDays([...days('2026-11-01', 3), ...days('2040-01-01', 9)])
  expect(notices()).toHaveLength(1)
  const removed = 'were removed, as record \\d+ says, too early: journal.keepYears was 5'
  now = Date.parse('2040-02-01T00:00:00Z')
  expect(falseMessages()).toEqual([])
  now = Date.parse('2026-11-05T12:00:00Z')
  expect(falseMessages()).toEqual([
    expect.stringMatching(`${removed}.*the clock of this check of 2026-11-05`),
  ])
  await writeDays([now])
  now = Date.parse('2040-02-01T00:00:00Z')
  expect(falseMessages()).toEqual([
    expect.stringMatching(`${removed}.*the later record \\d+ of 2026-11-05`),
  ])
})

it('what a wrong clock has removed is found by a cosigned or stamped head with the notice', async () => {
  await writeDays(days('2026-11-01', 3))
  const early = cosignHead(folder(), Date.parse('2026-11-03T12:00:00Z'))
  await writeDays(days('2040-01-01', 9))
  expect(notices()).toHaveLength(1)
  now = Date.parse('2040-02-01T00:00:00Z')
  const tooEarly = (...heads: readonly string[]) => {
    const source = bufferSource(Buffer.from(heads.join('\n')))
    const given = { heads: [{ name: 'kept', source }], witnesses: [witnessKey] }
    const { result, findings } = verifyJournal({ folder: folder(), now, ...given })
    const messages = findings.map(({ message }) => message)
    return [result, messages.find((message) => message.includes('too early: journal.keepYears'))]
  }
  // Neither a head from before the removal, nor one that was seen when the records had expired.
  expect(tooEarly(early, cosignHead(folder(), now))).toEqual(['NOT PROVEN', undefined])
  const cosigned = cosignHead(folder(), Date.parse('2026-11-05T12:00:00Z'))
  expect(tooEarly(early, cosigned)).toEqual([
    'FALSE',
    expect.stringContaining(`and ${witnessKey.name} of 2026-11-05T12:00:00Z`),
  ])
  stampHead(folder(), join(dataDir, 'authority'))
  expect(tooEarly(early)).toEqual(['FALSE', expect.stringMatching(/and .*Test TSA.* of 20/)])
})

it('what was removed after keepYears was shortened is not proven, with both', async () => {
  await writeDays([...days('2023-10-11', 20), ...days('2026-10-30', 1)])
  for (const at of days('2026-11-01', 8)) {
    now = at
    const { journal, append } = testJournal(dataDir, () => now, { keepYears: 3 })
    await journal.open()
    await append(await makeDecision({ id: `late${at}`, decidedAt: at }))
    await journal.drain()
    await journal.close()
  }
  // The start with 5 years is among what the first notice has removed.
  expect(notices()).toMatchObject([{ longestKeepYears: 5 }, { keepYears: 3, longestKeepYears: 3 }])
  const { result, findings } = verify()
  expect(falseMessages()).toEqual([])
  expect(result).toBe('NOT PROVEN')
  const shortened = /after journal\.keepYears was shortened from 5 to 3/
  expect(findings.filter(({ message }) => shortened.test(message))).toHaveLength(2)
})

it.each<readonly [string, (firstSeq: number, notice: number) => object | undefined]>([
  ['no begins.json', () => undefined],
  ['a number that no notice has', (firstSeq, notice) => ({ firstSeq, notice })],
  ['a record that is no notice', (firstSeq) => ({ firstSeq, notice: firstSeq })],
])('the oldest segments cannot be removed by hand: %s', async (_, make) => {
  await writeDays([...october, ...november, ...days('2026-11-01', 8)])
  const path = join(folder(), 'begins.json')
  const begins: { readonly notice: number } = JSON.parse(readFileSync(path, 'utf8'))
  const [oldest, next] = listSegments(folder())
  rmSync(oldest?.path ?? '')
  const made = make(next?.firstSeq ?? 0, begins.notice)
  if (made) writeFileSync(path, JSON.stringify({ ...begins, ...made }))
  else rmSync(path)
  await expect(open().journal.open()).rejects.toThrow(/begins\.json|with which the journal begins/)
  expect(falseMessages()).toContainEqual(
    expect.stringMatching(/records \d+ to \d+ are missing, and no record says that they were/),
  )
  expect(falseMessages()).toContainEqual(expect.stringContaining('begins.json says that'))
})

it('a running server removes nothing because of a file', async () => {
  await writeDays([...october, ...november, ...days('2026-11-01', 8)])
  const { journal, append } = open()
  await journal.open()
  await journal.drain()
  const kept = listSegments(folder()).map(({ firstSeq }) => firstSeq)
  const path = join(folder(), 'begins.json')
  const begins = JSON.parse(readFileSync(path, 'utf8'))
  writeFileSync(path, JSON.stringify({ ...begins, firstSeq: kept[3] }))
  now += msPerDay
  await append(await makeDecision({ id: 'next', decidedAt: now }))
  await journal.drain()
  await journal.close()
  expect(listSegments(folder()).map(({ firstSeq }) => firstSeq)).toEqual(
    expect.arrayContaining(kept),
  )
  await expect(open().journal.open()).rejects.toThrow(/begins\.json: record \d+, which the file/)
})
