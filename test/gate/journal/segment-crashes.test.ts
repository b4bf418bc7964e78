/** Erasing and removing segments, ended at each call that changes a file, and then done again by the next start. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest'
import { verifyJournal } from '../../../src/evidence/verify/verify-journal.js'
import { DecisionIndex } from '../../../src/gate/journal/decision-index.js'
import { type IndexProgress, indexWriting } from '../../../src/gate/journal/index-writer.js'
import { listSegments } from '../../../src/gate/journal/journal-reader.js'
import { checkFolder } from '../../../src/gate/journal/recovery/check-folder.js'
import type { JournalRecord } from '../../../src/gate/journal/segment-format.js'
import { SegmentWriter } from '../../../src/gate/journal/segment-writer.js'
import { readRecord } from '../../../src/gate/record/read-record.js'
import { fileFault } from '../../support/failing-files.js'
import { frameRunOf, listFiles, recordsIn } from '../../support/journal.js'
import { makeDecision, testJournal } from '../../support/test-journal.js'

// Test files share what they import, so these modules may have the real one already.
vi.hoisted(() => void vi.resetModules())
afterAll(() => void vi.resetModules())

vi.mock('node:fs', async (load) => {
  const { failingFiles } = await import('../../support/failing-files.js')
  return failingFiles(await load())
})

const number = '2125550106'
const msPerDay = 86_400_000
const firstDay = Date.UTC(2021, 9, 30, 12)
const later = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => from + index * msPerDay)
/** The days before and after the end of October 2021, and eight days five years later. */
const allDays = [...later(firstDay, 3), ...later(Date.UTC(2026, 10, 1, 12), 8)]
const now = allDays.at(-1) ?? 0
const idOf = (at: number) => `d${at}`

let dataDir: string
const folder = () => join(dataDir, 'journal')
const keyPath = () => join(dataDir, 'journal.key')
const indexPath = () => join(dataDir, 'index.sqlite')
const copies = ['journal', 'index.sqlite', 'journal.key'] as const

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-segments-'))
})

async function writeDays(days: readonly number[]): Promise<void> {
  let at = firstDay
  const { journal, append } = testJournal(dataDir, () => at, { keepYears: 5 })
  await journal.open()
  for (at of days) {
    await append(await makeDecision({ id: idOf(at), decidedAt: at }, { dialed: number }))
    // Retention is left to the test: it looks at the journal when this many days are there.
    if (at !== now) await journal.drain()
  }
  await journal.close()
  for (const name of copies)
    cpSync(join(dataDir, name), join(dataDir, 'before', name), { recursive: true })
}

afterEach(() => {
  fileFault.failAt = 0
  rmSync(dataDir, { recursive: true, force: true })
})

function restore(): void {
  for (const name of copies) {
    rmSync(join(dataDir, name), { recursive: true, force: true })
    cpSync(join(dataDir, 'before', name), join(dataDir, name), { recursive: true })
  }
}

function checkAtStart() {
  const index = new DecisionIndex(indexPath(), folder())
  try {
    return checkFolder({ folder: folder(), keyPath: keyPath(), index, now })
  } finally {
    index.close()
  }
}

/** What a server does at its start, and then until nothing is left to do, in one thread. */
function runServer(keepYears: number, erasures: readonly string[] = []): void {
  const { origin, key, nextSeq } = checkAtStart()
  let lastSeq = nextSeq - 1
  const writer = new SegmentWriter({
    ...{ folder: folder(), origin, key },
    ...{ maxSegmentBytes: 10_000_000, databaseFiles: [] },
  })
  const index = indexWriting.create({
    ...{ folder: folder(), indexPath: indexPath(), keyPath: keyPath(), keepYears },
  })
  const add = (kind: JournalRecord['kind'], content: object) => {
    const body = Buffer.from(JSON.stringify(content))
    writer.handle(frameRunOf([{ seq: lastSeq + 1, kind, at: now, body }]))
    lastSeq += 1
  }
  const requested = erasures.map((id) => ({
    ...{ id, number, accountId: undefined, includesAllowed: true },
  }))
  // It is a thread's work, which may take its time; that of the index does not.
  const step = (mustSign: boolean) =>
    index.handle({ lastSeq, erasures: requested, mustSign }) as IndexProgress
  try {
    add('opened', { version: 'test', removedBytes: 0, keepYears })
    for (const { id } of requested) add('erasure', { id })
    for (let isDone = false; !isDone; ) {
      const before = lastSeq
      const { hasMore, nextSeq, event } = step(false)
      if (event?.kind === 'failed') throw new Error(event.reason)
      if (event?.kind === 'announced') for (const notice of event.notices) add('notice', notice)
      if (event?.kind === 'erased') add('notice', { erasure: event.id, finished: true })
      isDone = !hasMore && nextSeq > lastSeq && before === lastSeq
    }
    const { event } = step(true)
    if (event?.kind === 'failed') throw new Error(event.reason)
  } finally {
    void index.close()
    writer.close()
  }
}

const falseFindings = () => {
  const { findings } = verifyJournal({ folder: folder(), indexPath: indexPath(), now })
  return findings.filter(({ level }) => level === 'false').map(({ message }) => message)
}

/** Runs the work without a failure, and then once for each of its steps with one. */
function failAtEachStep(work: () => void, check: () => void): void {
  restore()
  Object.assign(fileFault, { calls: 0, failAt: 0 })
  work()
  const steps = fileFault.calls
  check()
  expect(steps).toBeGreaterThan(20)
  for (let step = 1; step <= steps; step += 1) {
    restore()
    Object.assign(fileFault, { calls: 0, failAt: step })
    expect(work, `step ${step}`).toThrow('EIO')
    fileFault.failAt = 0
    expect(falseFindings(), `after step ${step}`).toEqual([])
    work()
    check()
    expect(falseFindings(), `step ${step}, done again`).toEqual([])
  }
}

function readFiles(): string {
  const texts = listFiles(folder()).map((name) => {
    const bytes = readFileSync(join(folder(), name))
    return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('latin1')
  })
  return texts.join('\n')
}

it('erases a number wherever it ended before', { timeout: 120_000 }, async () => {
  const days = allDays.slice(-3)
  await writeDays(days)
  expect(listSegments(folder()).filter(({ path }) => path.endsWith('.gz'))).not.toEqual([])
  failAtEachStep(
    () => runServer(100, ['e1']),
    () => {
      const ids = recordsIn(dataDir).flatMap(({ kind, body }) =>
        kind === 'decision' ? [readRecord('decision', { body })] : [],
      )
      expect(ids.map(({ id }) => id)).toEqual(days.map(idOf))
      expect(ids.filter(({ erased }) => erased === true)).toHaveLength(days.length)
      expect(readFiles()).not.toContain(number)
    },
  )
})

it('removes the same segments wherever it ended before', { timeout: 120_000 }, async () => {
  const days = allDays
  await writeDays(days)
  failAtEachStep(
    () => runServer(5),
    () => {
      const index = new DecisionIndex(indexPath(), folder())
      const found = days.filter((at) => index.find(idOf(at)))
      index.close()
      expect(found).toEqual(days.filter((at) => at >= Date.UTC(2021, 10, 1)))
      const [oldest] = listSegments(folder())
      expect(readdirSync(folder()).filter((name) => name.endsWith('.tmp'))).toEqual([])
      const begins = JSON.parse(readFileSync(join(folder(), 'begins.json'), 'utf8'))
      expect(begins).toMatchObject({
        firstSeq: oldest?.firstSeq,
        removedBefore: '2021-11-01T00:00:00Z',
      })
      const notice = recordsIn(dataDir).find(({ seq }) => seq === begins.notice)
      expect(JSON.parse(notice?.body ?? '')).toEqual({
        firstSeq: oldest?.firstSeq,
        removedBefore: Date.UTC(2021, 10, 1),
        keepYears: 5,
        longestKeepYears: 5,
      })
    },
  )
})
