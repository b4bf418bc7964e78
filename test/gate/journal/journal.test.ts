import { createHash } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import Sqlite from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Decision } from '../../../src/domain/decision.js'
import type { SegmentEvent } from '../../../src/gate/journal/index-writer.js'
import { Journal } from '../../../src/gate/journal/journal.js'
import type { JournalOptions } from '../../../src/gate/journal/journal-options.js'
import { toReply } from '../../../src/gate/record/describe-decision.js'
import { readRecord } from '../../../src/gate/record/read-record.js'
import { replyTo, writeDecision } from '../../../src/gate/record/write-record.js'
import { listDatabaseFiles } from '../../../src/storage/open-files.js'
import { answered, fakeCompliance, noon, unanswered } from '../../support/fake-compliance.js'
import { forgetHeads, recordsIn } from '../../support/journal.js'
import { quoted } from '../../support/said.js'
import { strictPolicy } from '../../support/strict-policy.js'
import { aCall, testGate } from '../../support/test-gate.js'

let dataDir: string
let opened: Journal[]
let fault: string | undefined
let now: number
const seen = {
  written: [] as number[],
  failures: 0,
  unrecorded: [] as string[],
  lost: 0,
  lag: [] as number[],
  indexFailures: 0,
  segmentEvents: [] as SegmentEvent[],
}

const folder = () => join(dataDir, 'journal')
const segments = () => readdirSync(folder()).filter((name) => /\.seg(?:\.gz)?$/.test(name))
const segment = (index = 0) => join(folder(), segments().at(index) ?? '')
const indexPath = () => join(dataDir, 'index.sqlite')

function create(options: Partial<JournalOptions> = {}): Journal {
  const journal = new Journal({
    dataDir,
    clock: { now: () => now },
    databaseFiles: [],
    checkFault: async () => fault,
    version: 'test',
    keepYears: 5,
    observer: {
      onWritten: (at) => void seen.written.push(at),
      onFailure() {
        seen.failures += 1
      },
      onUnrecorded: (id) => void seen.unrecorded.push(id),
      onLoss(count) {
        seen.lost += count
      },
      onFlushed: () => undefined,
      onIndexLag: (records) => void seen.lag.push(records),
      onIndexFailure() {
        seen.indexFailures += 1
      },
      onSegmentEvent: (event) => void seen.segmentEvents.push(event),
    },
    ...options,
  })
  opened.push(journal)
  return journal
}

async function open(options?: Partial<JournalOptions>): Promise<Journal> {
  const journal = create(options)
  await journal.open()
  return journal
}

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-journal-'))
  opened = []
  fault = undefined
  now = noon
  Object.assign(seen, {
    written: [],
    failures: 0,
    unrecorded: [],
    lost: 0,
    lag: [],
    indexFailures: 0,
  })
})

afterEach(async () => {
  await Promise.all(opened.map((journal) => journal.close().catch(() => undefined)))
  rmSync(dataDir, { recursive: true, force: true })
})

const append = (journal: Journal, decision: Decision) =>
  new Promise<void>((resolve, reject) => {
    journal.append(decision, (cause) => (cause === undefined ? resolve() : reject(cause)))
  })

const made = async (id: string, more: Partial<Decision> = {}): Promise<Decision> => ({
  ...(await testGate(fakeCompliance()).gate.decide(aCall())),
  id,
  ...more,
})

describe('the journal', () => {
  it('has a decision on disk when it says so, and finds it after a restart', async () => {
    const decision = await made('d1')
    const journal = await open()
    await append(journal, decision)
    expect(recordsIn(dataDir).map(({ seq, kind }) => [seq, kind])).toEqual([
      [1, 'opened'],
      [2, 'decision'],
    ])
    expect(recordsIn(dataDir)[1]?.body).toBe(writeDecision(decision))
    await journal.close()
    const found = (await open()).find('main', 'd1')
    expect(found).toEqual(readRecord('decision', { body: writeDecision(decision) }))
    expect(found && toReply(found)).toEqual(replyTo(decision))
    expect(found?.findings).toHaveLength(4)
  })

  it('refuses a record that could not be read back, and takes the next one', async () => {
    const journal = await open()
    const long = await made('d1', { says: quoted('x'.repeat(400_000)) })
    await expect(append(journal, long)).rejects.toThrow(/^the record has \d+ characters; it must/)
    expect(seen).toMatchObject({ unrecorded: ['d1'], lost: 1 })
    await append(journal, await made('d2'))
    await journal.close()
    const again = await open()
    await again.drain()
    expect([again.find('main', 'd1'), again.find('main', 'd2')?.id]).toEqual([undefined, 'd2'])
  })

  it('holds what policy allowed, and how old the answers were', async () => {
    const old = { asOf: noon - 60_000, notRenewed: quoted('circuit open') }
    const compliance = fakeCompliance({
      litigator: () => answered({ isLitigator: false }, old),
      scrub: () => unanswered(),
    })
    const shadow = { mode: 'shadow' } as const
    const { gate } = testGate(compliance, { policy: { ...strictPolicy, permission: shadow } })
    const journal = await open()
    await append(journal, await gate.decide(aCall()))
    await journal.drain()
    const found = journal.find('main', 'id1')
    expect(found).toMatchObject({
      decision: 'allow',
      degraded: ['litigator'],
      policy: [
        { check: 'litigator', effect: 'stale-allowed' },
        { check: 'permission', effect: 'shadowed' },
      ],
    })
    const litigator = found?.findings.find(({ check }) => check === 'litigator')
    expect(litigator).toMatchObject({ notRenewed: quoted('circuit open'), ageMs: 60_000 })
    const reply = found && toReply(found)
    expect(reply?.policy?.map(({ because }) => because)).toEqual([
      'the source failed: circuit open',
      'the source failed: fake source-failed',
    ])
    const told = reply?.findings.find(({ check }) => check === 'litigator')
    expect(told).toMatchObject({ stale: true, staleReason: 'the source failed: circuit open' })
  })

  it('does not take a rule that a finding names for a decision', async () => {
    const journal = await open()
    journal.append(await made('d0'))
    await journal.drain()
    const decision = await made('d1')
    const counts = [{ limit: { id: 'fl-24h' }, attempts: [] }]
    journal.append({ ...decision, facts: { ledger: { isCounted: true, counts } } })
    expect(journal.find('main', 'fl-24h')).toBeUndefined()
    expect(journal.find('main', 'd1')?.id).toBe('d1')
  })

  it('finds a decision at once, before it is on disk or in the index, for its own account', async () => {
    const journal = await open()
    journal.append(await made('d1'))
    expect(journal.find('main', 'd1')?.id).toBe('d1')
    expect(journal.find('other', 'd1')).toBeUndefined()
    await journal.drain()
    expect(journal.find('main', 'd2')).toBeUndefined()
    expect(journal.index?.find('d1')?.document.id).toBe('d1')
    expect(journal.find('other', 'd1')).toBeUndefined()
  })

  it('writes what arrives together with one flush, numbered without gaps', async () => {
    const journal = await open()
    const decision = await made('d0')
    const many = Array.from({ length: 2_500 }, (_, index) => ({ ...decision, id: `d${index}` }))
    const written = Promise.all(many.map((one) => append(journal, one)))
    expect(journal.waitingCount).toBe(2_500)
    await written
    const records = recordsIn(dataDir)
    expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index + 1))
    expect(records).toHaveLength(2_501)
    await journal.drain()
    expect(journal.waitingCount).toBe(0)
    expect(seen.lag.at(-1)).toBe(0)
    expect(journal.index?.find('d2499')?.document.id).toBe('d2499')
  })

  it('adds a further record for an allow that was withheld, and shows the last word', async () => {
    const journal = await open()
    const withheld = { decision: 'block', reason: 'not-recorded' } as const
    for (const [id, amendAt] of [
      ['d1', async () => undefined],
      ['d2', () => new Promise((resume) => setImmediate(resume))],
      ['d3', () => journal.drain()],
    ] as const) {
      const written = append(journal, await made(id))
      await amendAt()
      journal.amend(await made(id, withheld))
      await written
      expect(journal.find('main', id)).toMatchObject(withheld)
      await journal.drain()
      expect(journal.find('main', id)).toMatchObject(withheld)
    }
    const kinds = recordsIn(dataDir).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'decision')).toHaveLength(3)
    expect(kinds.filter((kind) => kind === 'amendment')).toHaveLength(3)
  })

  it('shows the outcome of a call, noted before or after the index has its decision', async () => {
    const journal = await open()
    await append(journal, await made('d1'))
    journal.record('d1', { state: 'handed-over', handedOverAt: noon }, true)
    expect(journal.find('main', 'd1')?.outcome).toEqual({
      state: 'handed-over',
      handedOverAt: '2026-11-23T17:00:00Z',
    })
    await journal.drain()
    journal.record('d1', { state: 'dialled', leg: 'PJSIP/a-1', dialledAt: noon + 1_000 }, false)
    const expected = {
      state: 'dialled',
      handedOverAt: '2026-11-23T17:00:00Z',
      leg: 'PJSIP/a-1',
      dialledAt: '2026-11-23T17:00:01Z',
    }
    expect(journal.find('main', 'd1')?.outcome).toEqual(expected)
    await journal.close()
    expect((await open()).find('main', 'd1')?.outcome).toEqual(expected)
  })

  it('writes an outcome by itself', async () => {
    const journal = await open()
    journal.record('d1', { state: 'handed-over', handedOverAt: noon }, true)
    await expect
      .poll(() => recordsIn(dataDir).map(({ kind }) => kind), { interval: 5 })
      .toEqual(['opened', 'outcome'])
  })

  it('keeps the outcome of another process’s decision only where there is a record of it', async () => {
    const journal = await open()
    await append(journal, await made('here'))
    for (const id of ['here', 'elsewhere']) journal.record(id, { state: 'answered' }, false)
    await journal.drain()
    expect(journal.index?.find('here')?.outcome.state).toBe('answered')
    await append(journal, await made('elsewhere'))
    await journal.drain()
    expect(journal.find('main', 'elsewhere')).not.toHaveProperty('outcome')
  })

  it('begins a new segment each day, and when one is full', async () => {
    const journal = await open({ maxSegmentBytes: 2_000 })
    for (const id of ['d1', 'd2', 'd3', 'd4']) await append(journal, await made(id))
    const full = segments().length
    expect(full).toBeGreaterThan(1)
    now += 86_400_000
    await append(journal, await made('d5', { decidedAt: now }))
    expect(segments()).toHaveLength(full + 1)
    await journal.drain()
    expect(recordsIn(dataDir)).toHaveLength(6)
    expect(journal.find('main', 'd5')?.id).toBe('d5')
  })

  it('does not keep what-ifs among the latest calls', async () => {
    const journal = await open()
    await append(journal, await made('d1', { accountId: 'a', request: aCall({ at: 0 }) }))
    await append(journal, await made('d2', { accountId: 'b' }))
    await journal.drain()
    expect([...(journal.index?.findAccountsOfLatest(10) ?? [])]).toEqual(['b'])
    const since = [...(journal.index?.decisionsSince('a', 0) ?? [])]
    expect(since).toEqual([])
  })

  it('finds decisions by their account, whatever its name and the texts of the call hold', async () => {
    const journal = await open()
    const reference = '","accountId":"main","whatIf":true,"é'
    const channel = { server: 'pbx', id: '"accountId":"main"' }
    const accountIds = ['a', 'é', '"', 'a\\', '']
    for (const [index, accountId] of accountIds.entries()) {
      const request = aCall({ reference, channel })
      await append(journal, await made(`d${index}`, { accountId, request }))
    }
    await journal.drain()
    for (const [index, accountId] of accountIds.entries()) {
      const found = [...(journal.index?.decisionsSince(accountId, 0) ?? [])]
      expect(found.map(({ id }) => id)).toEqual([`d${index}`])
    }
    expect([...(journal.index?.decisionsSince('main', 0) ?? [])]).toEqual([])
  })
})

describe('a journal whose folder is gone', () => {
  it('refuses at once in the disk’s own words, and writes everything when it is back', async () => {
    const journal = await open()
    await append(journal, await made('d1'))
    renameSync(folder(), `${folder()}-away`)
    await expect(append(journal, await made('d2'))).rejects.toThrow()
    expect(journal.findProblem()).toMatch(/^1 record could not be written/)
    await expect(append(journal, await made('d3'))).rejects.toThrow('ENOENT')
    expect(journal.findProblem()).toMatch(
      /^2 records could not be written to the journal; .*ENOENT/,
    )
    expect(seen.failures).toBe(2)
    journal.amend(await made('d2', { decision: 'block', reason: 'not-recorded' }))
    renameSync(`${folder()}-away`, folder())
    await journal.drain()
    expect(journal.findProblem()).toBeUndefined()
    const records = recordsIn(dataDir)
    expect(records.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5])
    expect(journal.find('main', 'd2')?.reason).toBe('not-recorded')
    await append(journal, await made('d4'))
    await journal.close()
    await open()
    expect(recordsIn(dataDir).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7])
  })

  it('keeps no more records than its limit, and tells how many are lost', async () => {
    const journal = await open({ maxWaiting: 200 })
    renameSync(folder(), `${folder()}-away`)
    const decision = await made('d0')
    const outcomes = await Promise.allSettled(
      Array.from({ length: 250 }, (_, index) => append(journal, { ...decision, id: `d${index}` })),
    )
    expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true)
    expect([journal.lostCount, seen.lost]).toEqual([50, 50])
    await journal.close()
    expect([journal.lostCount, seen.lost]).toEqual([250, 250])
  })
})

it('reports a fault of the data after the flush, and keeps the record', async () => {
  const journal = await open({ maxWaiting: 10 })
  fault = 'the database is damaged'
  journal.setFault(fault)
  await expect(append(journal, await made('d1'))).rejects.toThrow('the database is damaged')
  expect(journal.find('main', 'd1')?.id).toBe('d1')
  expect(journal.findProblem()).toBeUndefined()
  expect([seen.written, seen.unrecorded, seen.failures]).toEqual([[], ['d1'], 0])
  fault = undefined
  await append(journal, await made('d2'))
  expect(seen.written).toHaveLength(1)
})

it('writes a batch once, though nothing can be said of the database after its flush', async () => {
  const log = join(dataDir, 'callgate.sqlite-wal')
  writeFileSync(log, Buffer.from('377f0682', 'hex'))
  const journal = await open({
    databaseFiles: listDatabaseFiles(join(dataDir, 'callgate.sqlite')),
    checkFault: async () => {
      throw new Error('EIO: i/o error')
    },
  })
  rmSync(log)
  await expect(append(journal, await made('d1'))).rejects.toThrow('EIO: i/o error')
  expect(recordsIn(dataDir).map(({ seq }) => seq)).toEqual([1, 2])
  expect([seen.failures, segments().length]).toEqual([0, 1])
})

it('notices after each flush that a file of the database is gone', async () => {
  writeFileSync(join(dataDir, 'callgate.sqlite'), '')
  const databaseFiles = listDatabaseFiles(join(dataDir, 'callgate.sqlite'))
  const journal = await open({
    databaseFiles,
    checkFault: async () => (existsSync(join(dataDir, 'callgate.sqlite')) ? undefined : 'gone'),
  })
  await append(journal, await made('d1'))
  renameSync(join(dataDir, 'callgate.sqlite'), join(dataDir, 'moved'))
  await expect(append(journal, await made('d2'))).rejects.toThrow('gone')
  renameSync(join(dataDir, 'moved'), join(dataDir, 'callgate.sqlite'))
  await append(journal, await made('d3'))
  expect(recordsIn(dataDir)).toHaveLength(4)
})

describe('a segment that is complete', () => {
  async function writeMany(journal: Journal, count: number): Promise<void> {
    const decision = await made('d0')
    for (let index = 0; index < count; index += 50) {
      const many = Array.from({ length: 50 }, (_, more) => ({
        ...decision,
        id: `0mabcdefg${createHash('sha256')
          .update(`${index + more}`)
          .digest('hex')
          .slice(0, 20)}`,
      }))
      await Promise.all(many.map((one) => append(journal, one)))
      await journal.drain()
    }
  }

  it('is compressed once it is in the index, and is read as before', async () => {
    const options = { maxSegmentBytes: 60_000 }
    const journal = await open(options)
    await writeMany(journal, 1_000)
    await journal.close()
    const names = segments()
    expect(names.length).toBeGreaterThan(8)
    expect(names.filter((name) => name.endsWith('.gz')).length).toBeGreaterThan(names.length - 4)
    expect(readdirSync(folder()).filter((name) => name.endsWith('.tmp'))).toEqual([])
    const sizes = names.map((name) => statSync(join(folder(), name)).size)
    const perDecision = Math.max(...sizes.slice(0, 5)) / 50
    expect(perDecision).toBeLessThan(500)
    const records = recordsIn(dataDir)
    expect(records).toHaveLength(1_001)

    rmSync(indexPath())
    const again = await open(options)
    await again.drain()
    for (const { kind, body } of records) {
      if (kind !== 'decision') continue
      const document = readRecord('decision', { body })
      expect(again.find('main', document.id)).toEqual(document)
    }
    expect([...(again.index?.decisionsSince('main', 0) ?? [])]).toHaveLength(1_000)
    expect(recordsIn(dataDir).slice(0, 1_001)).toEqual(records)
  })

  it('does not hold up the index when it cannot be compressed', async () => {
    seen.segmentEvents = []
    const journal = await open({ maxSegmentBytes: 60_000 })
    // The copy cannot be written where a folder is.
    mkdirSync(`${segment()}.gz.tmp`)
    await writeMany(journal, 200)
    const reason = expect.stringContaining('EISDIR')
    expect(seen.segmentEvents).toEqual([
      { kind: 'failed', work: 'compress', reason, isForgery: false },
    ])
    expect([seen.indexFailures, seen.lag.at(-1)]).toEqual([0, 0])
    expect(segments().every((name) => name.endsWith('.seg'))).toBe(true)
    await journal.close()
    expect(recordsIn(dataDir)).toHaveLength(201)
  })

  it('stops the start when its compressed form is damaged, and counts once beside it', async () => {
    const options = { maxSegmentBytes: 60_000 }
    const journal = await open(options)
    await writeMany(journal, 200)
    await journal.close()
    const [first = ''] = segments()
    expect(first).toMatch(/\.gz$/)
    const path = join(folder(), first)
    const bytes = readFileSync(path)
    // As after a crash between the two: the copy is there, and the segment is not removed yet.
    writeFileSync(path.replace(/\.gz$/, ''), gunzipSync(bytes))
    writeFileSync(`${path.replace(/\.gz$/, '')}.tmp`, 'half')
    expect(recordsIn(dataDir)).toHaveLength(201)
    rmSync(path.replace(/\.gz$/, ''))

    const damaged = Buffer.from(bytes)
    damaged[damaged.length >> 1] = (damaged[damaged.length >> 1] ?? 0) ^ 0xff
    writeFileSync(path, damaged)
    rmSync(indexPath())
    await expect(create(options).open()).rejects.toThrow(first)
    writeFileSync(path, bytes)
    await open(options)
  })
})

describe('a decision whose record is not where the index says', () => {
  const options = { maxSegmentBytes: 500 }
  const change = (sql: string) => {
    const index = new Sqlite(indexPath())
    index.exec(sql)
    index.close()
  }

  async function writeFour(): Promise<Journal> {
    const journal = await open(options)
    for (const id of ['d1', 'd2', 'd3', 'd4']) await append(journal, await made(id))
    await journal.drain()
    expect(segments().length).toBeGreaterThan(3)
    return journal
  }

  it('is an error that names the place', async () => {
    const journal = await writeFour()
    change("update decisions set byte_offset = byte_offset + 8 where id = 'd2'")
    expect(() => journal.find('main', 'd2')).toThrow(
      /\d{20}\.seg\S*: there is no record at byte \d+/,
    )
    change(
      "update decisions set (segment, byte_offset) = (select segment, byte_offset from decisions where id = 'd3') where id = 'd2'",
    )
    expect(() => journal.find('main', 'd2')).toThrow(
      /\.seg: .* at byte \d+ is not that of decision d2/,
    )
    expect(() => [...(journal.index?.decisionsSince('main', 0) ?? [])]).toThrow('decision d2')
    expect(journal.find('main', 'd1')?.id).toBe('d1')
  })

  it('is not found once its segment and all before it were removed, and the others are', async () => {
    const journal = await writeFour()
    await journal.close()
    const names = segments()
    const middle = join(folder(), names[2] ?? '')
    renameSync(middle, `${middle}-away`)
    const again = await open(options)
    await again.drain()
    const missing = ['d1', 'd2', 'd3', 'd4'].filter((id) => {
      try {
        return again.find('main', id)?.id !== id
      } catch (cause) {
        expect(String(cause)).toMatch(/\.seg: the segment is missing\. Restore it/)
        return true
      }
    })
    expect(missing).toEqual(['d3'])
    for (const name of names.slice(0, 2)) rmSync(join(folder(), name))
    for (const id of ['d1', 'd2', 'd3']) expect(again.find('main', id)).toBeUndefined()
    const left = [...(again.index?.decisionsSince('main', 0) ?? [])].map(({ id }) => id)
    expect(left).toEqual(['d4'])
    await again.close()
    await expect(create(options).open()).rejects.toThrow(
      /0001\.seg: the segment with record 1, with which the journal begins, is missing/,
    )
    const firstSeq = Number(names[2]?.slice(0, 20))
    renameSync(`${middle}-away`, middle)
    const beginning = { firstSeq, removedBefore: '2026-11-01T00:00:00Z', notice: firstSeq }
    writeFileSync(join(folder(), 'begins.json'), JSON.stringify(beginning))
    await expect(create(options).open()).rejects.toThrow(
      /begins\.json: record \d+, which the file names as the notice of the removal, is none/,
    )
  })
})

describe('opening a journal', () => {
  async function writeThree(): Promise<void> {
    const journal = await open()
    for (const id of ['d1', 'd2', 'd3']) await append(journal, await made(id))
    await journal.close()
  }

  it('removes what a crash left of an unfinished write, at every byte', async () => {
    await writeThree()
    const whole = readFileSync(segment())
    const path = segment()
    for (let cut = 1; cut < 1_400; cut += 37) {
      truncateSync(path, whole.length - cut)
      rmSync(indexPath(), { force: true })
      forgetHeads(dataDir)
      const journal = await open()
      await append(journal, await made('again'))
      await journal.close()
      const seqs = recordsIn(dataDir).map(({ seq }) => seq)
      expect(seqs).toEqual(seqs.map((_, index) => index + 1))
      for (const name of segments().slice(1)) rmSync(join(folder(), name))
      writeFileSync(path, whole)
    }
  })

  it('removes junk and zeros behind the last record', async () => {
    await writeThree()
    appendFileSync(segment(), Buffer.alloc(3_000, 0x5a))
    await (await open()).close()
    appendFileSync(segment(-1), Buffer.alloc(3_000))
    await open()
    const opening = recordsIn(dataDir).filter(({ kind }) => kind === 'opened')
    const notTakenOver = opening.map(({ body }) => JSON.parse(body).notTakenOver)
    expect(notTakenOver).toMatchObject([
      undefined,
      { bytes: 3_000, records: 0, file: '00000000000000000005.cut' },
      { bytes: 3_000, records: 0, file: '00000000000000000006.cut' },
    ])
    for (const { file, sha256 } of notTakenOver.slice(1)) {
      const bytes = readFileSync(join(folder(), file))
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256)
    }
  })

  it('stops with the place when a record in the middle is damaged', async () => {
    await writeThree()
    rmSync(indexPath())
    const path = segment()
    const whole = readFileSync(path)
    for (let at = 64; at < whole.length - 1_600; at += 101) {
      const damaged = Buffer.from(whole)
      damaged[at] = (damaged[at] ?? 0) ^ 0x01
      writeFileSync(path, damaged)
      await expect(create().open(), `byte ${at}`).rejects.toThrow(
        /is damaged: record \d+ cannot be read, at byte/,
      )
      expect(readFileSync(path).equals(damaged)).toBe(true)
    }
  })

  it('stops when a segment is missing, of another journal, or the journal is older than its index', async () => {
    const small = { maxSegmentBytes: 500 }
    const journal = await open(small)
    for (const id of ['d1', 'd2', 'd3', 'd4']) await append(journal, await made(id))
    await journal.drain()
    await journal.close()
    const all = segments()
    expect(all.length).toBeGreaterThan(3)

    const last = join(folder(), all.at(-1) ?? '')
    renameSync(last, `${last}-away`)
    await expect(create().open()).rejects.toThrow(
      /ends with record \d+, but its index has record 5/,
    )
    renameSync(`${last}-away`, last)

    rmSync(indexPath())
    const middle = join(folder(), all[1] ?? '')
    renameSync(middle, `${middle}-away`)
    await expect(create().open()).rejects.toThrow(/record \d+ cannot be read/)
    renameSync(`${middle}-away`, middle)

    const origin = join(folder(), 'origin')
    const name = readFileSync(origin)
    rmSync(origin)
    await expect(create().open()).rejects.toThrow('origin: the file is missing')
    writeFileSync(origin, 'another\n')
    rmSync(indexPath(), { force: true })
    await expect(create().open()).rejects.toThrow("not of 'another'")
    writeFileSync(origin, name)
    rmSync(indexPath(), { force: true })
    await open()
  })

  it('stops when the journal is gone and its index is not', async () => {
    await writeThree()
    rmSync(folder(), { recursive: true })
    await expect(create().open()).rejects.toThrow('index belongs to another journal')
  })

  it('does not call a decision unknown while the index is not complete', async () => {
    await writeThree()
    rmSync(indexPath())
    // A block has one record.
    const journal = await open({ blockBytes: 1, maxUnindexedBlocks: 2 })
    // Of the time before this start; the index is made again after it.
    expect(() => journal.find('main', 'd1')).toThrow('being brought up to date')
    await journal.drain()
    expect(journal.find('main', 'd1')?.id).toBe('d1')
    expect(journal.find('main', 'd9')).toBeUndefined()
    const other = new Sqlite(indexPath())
    other.exec('begin immediate')
    for (const id of ['d4', 'd5', 'd6']) await append(journal, await made(id))
    expect(journal.find('main', 'd5')?.id).toBe('d5')
    expect(journal.find('main', 'd6')?.id).toBe('d6')
    expect(() => journal.find('main', 'd4')).toThrow('being brought up to date')
    other.close()
    await journal.drain()
    expect(journal.find('main', 'd4')?.id).toBe('d4')
    expect(journal.find('main', 'd9')).toBeUndefined()
  })

  it('makes an index of another version again', async () => {
    await writeThree()
    rmSync(indexPath())
    const index = new Sqlite(indexPath())
    index.exec(`
      create table journal_position (
        id integer primary key check (id = 1), origin blob not null, next_seq integer not null);
      create table decisions (
        id text primary key, account_id text not null, decided_at integer not null,
        what_if integer not null, body text not null);
      create index decisions_by_time on decisions (account_id, decided_at);
      create table call_outcomes (
        decision_id text primary key, outcome text not null) without rowid;
      insert into journal_position values (1, x'00', 5);
      insert into decisions values ('d1', 'main', 0, 0, '{"id":"d1","accountId":"main"}')`)
    index.close()
    const journal = await open()
    await journal.drain()
    for (const id of ['d1', 'd2', 'd3']) {
      const body = writeDecision(await made(id))
      expect(journal.find('main', id)).toEqual(readRecord('decision', { body }))
    }
    await journal.close()
    const again = await open()
    expect(again.index?.find('d1')?.document.id).toBe('d1')
  })

  it('makes the same index again when it was deleted', async () => {
    await writeThree()
    const rows = () => {
      const index = new Sqlite(indexPath(), { readonly: true })
      const all = index.prepare('select * from decisions order by id').all()
      index.close()
      return all
    }
    const before = rows()
    expect(before).toHaveLength(3)
    for (const ending of ['', '-wal', '-shm']) rmSync(indexPath() + ending, { force: true })
    await (await open()).drain()
    expect(rows()).toEqual(before)
  })
})
