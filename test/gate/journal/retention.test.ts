/** Old decisions are removed by month, whatever ends the program in between. */
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Caller, noLimits } from '../../../src/domain/caller.js'
import { verifyJournal } from '../../../src/evidence/verify/verify-journal.js'
import { readBeginning } from '../../../src/gate/journal/journal-beginning.js'
import type { JournalOptions } from '../../../src/gate/journal/journal-options.js'
import { listSegments } from '../../../src/gate/journal/journal-reader.js'
import { journalRoutes } from '../../../src/gate/journal/journal-routes.js'
import { recordsIn } from '../../support/journal.js'
import { withoutRules } from '../../support/test-gate.js'
import { makeDecision, testJournal } from '../../support/test-journal.js'

const msPerDay = 86_400_000
const day = (text: string) => Date.parse(`${text}T12:00:00Z`)

let dataDir: string
let now: number
const folder = () => join(dataDir, 'journal')
const indexPath = () => join(dataDir, 'index.sqlite')

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-retention-'))
})

afterEach(() => {
  rmSync(dataDir, { recursive: true, force: true })
})

const caller: Caller = {
  accountId: 'main',
  role: 'Administrator',
  keyId: 'test',
  limits: noLimits,
}

const idAt = (at: number) => `${at.toString(36).padStart(9, '0')}${'0'.repeat(20)}`

/** A journal with one decision on each of the days; every one of them is a segment. */
async function writeDays(days: readonly number[], more: Partial<JournalOptions> = {}) {
  now = days[0] ?? 0
  const { journal, events, append } = testJournal(dataDir, () => now, more)
  await journal.open()
  for (const at of days) {
    now = at
    await append(await makeDecision({ id: idAt(at), decidedAt: at }))
    journal.record(idAt(at), { state: 'dialled', dialledAt: at }, true)
    await journal.drain()
  }
  // Each update of the index works on one segment.
  for (let update = 0; update < days.length; update += 1) await journal.drain()
  return { journal, events }
}

/** The last days of October 2021, the first of November, and eight days five years later. */
const lastDays = (first: string) =>
  Array.from({ length: 8 }, (_, index) => day(first) + index * msPerDay)
const october = [day('2021-10-30'), day('2021-10-31')]
const november = day('2021-11-01')

it('removes the months that are older than keepYears, with their rows in the index', async () => {
  const { journal, events } = await writeDays([...october, november, ...lastDays('2026-11-01')])
  const before = Date.UTC(2021, 10, 1)
  const notice = { firstSeq: 6, removedBefore: before, keepYears: 5, longestKeepYears: 5 }
  expect(events).toEqual([
    { kind: 'announced', work: 'remove', notices: [notice] },
    { kind: 'removed', segments: 2, decisions: 2, before },
  ])
  const noted = recordsIn(dataDir).find(({ kind }) => kind === 'notice')
  expect(JSON.parse(noted?.body ?? '')).toEqual(notice)
  for (const at of october) expect(journal.find('main', idAt(at))).toBeUndefined()
  expect(journal.find('main', idAt(november))?.outcome?.state).toBe('dialled')
  const index = new Sqlite(indexPath())
  for (const table of ['decisions', 'call_outcomes']) {
    expect(index.prepare(`select count(*) from ${table}`).pluck().get()).toBe(9)
  }
  index.close()
  const [oldest] = listSegments(folder())
  const begins = { firstSeq: oldest?.firstSeq, removedBefore: before, notice: noted?.seq }
  expect(readBeginning(folder())).toEqual(begins)
  await journal.close()
})

it('removes no more segments by one notice than a server that is often killed gets done', async () => {
  const old = Array.from({ length: 20 }, (_, index) => day('2021-10-01') + index * msPerDay)
  const { journal, events } = await writeDays([...old, november, ...lastDays('2026-11-01')])
  await journal.close()
  const notices = recordsIn(dataDir).filter(({ kind }) => kind === 'notice')
  const before = Date.UTC(2021, 10, 1)
  const announced = { kind: 'announced', work: 'remove', notices: [expect.anything()] }
  expect(events).toEqual([
    announced,
    announced,
    { kind: 'removed', segments: 20, decisions: 20, before },
  ])
  expect(notices.map(({ body }) => JSON.parse(body).firstSeq)).toEqual([2 * 16 + 2, 2 * 20 + 2])
  const begins = { firstSeq: 2 * 20 + 2, removedBefore: before, notice: notices[1]?.seq }
  expect(readBeginning(folder())).toEqual(begins)
  const { findings } = verifyJournal({ folder: folder(), now })
  expect(findings.filter(({ level }) => level === 'false')).toEqual([])
})

it('says of a removed decision that it was removed', async () => {
  const { journal } = await writeDays([...october, november, ...lastDays('2026-11-01')])
  const [route] = journalRoutes({
    journal,
    clock: { now: () => 0 },
    recordRead: async () => undefined,
    importedAttempts: { add: async () => undefined },
    counters: {
      attempts: { noteNotPlaced: async () => 'released', notePlaced: async () => undefined },
      abandonment: { count: async () => undefined },
      identities: { confirmIdentity: async () => undefined },
      getCallingRules: () => ({ ...withoutRules, findMinTalkMs: () => 30_000 }),
    },
    optOuts: { record: () => Promise.reject(new Error('not asked')) },
  })
  const read = (id: string) => route?.handle({ id }, { caller, jsonRequested: true })
  const removed = 'Decisions from before 2021-11-01T00:00:00Z were removed after journal.keepYears'
  await expect(read(idAt(october[0] ?? 0))).rejects.toThrow(
    `this account has no such decision. ${removed}`,
  )
  await expect(read(idAt(november + 1))).rejects.toThrow(/no such decision$/)
  await journal.close()
})

it('removes nothing on the last day of the month before, nor for a clock that is ahead', async () => {
  // Seven days of a wrong clock.
  const wrong = Array.from({ length: 7 }, (_, index) => day('2040-01-01') + index * msPerDay)
  const days = [...october, november, ...lastDays('2026-10-24'), ...wrong]
  const { journal, events } = await writeDays(days)
  expect(events).toEqual([])
  expect(existsSync(join(folder(), 'begins.json'))).toBe(false)
  expect(journal.find('main', idAt(october[0] ?? 0))?.decision).toBe('allow')
  await journal.close()
})

it('keeps what was recorded while the clock was behind', async () => {
  const behind = day('2001-01-01')
  const { journal, events } = await writeDays([behind, ...lastDays('2026-11-01')])
  expect(journal.find('main', idAt(behind))?.decision).toBe('allow')
  expect(events).toEqual([])
  await journal.close()
})

it('starts, also without its index, once the first segments are removed', async () => {
  const { journal } = await writeDays([...october, november, ...lastDays('2026-11-01')])
  await journal.close()
  rmSync(indexPath())
  const { journal: again } = testJournal(dataDir, () => now)
  await again.open()
  await again.drain()
  expect(again.find('main', idAt(november))?.outcome?.state).toBe('dialled')
  expect(again.index?.removedBefore).toBe(Date.UTC(2021, 10, 1))
  await again.close()

  const [oldest] = listSegments(folder())
  const path = oldest?.path ?? ''
  renameSync(path, `${path}-away`)
  const { journal: last } = testJournal(dataDir, () => now)
  await expect(last.open()).rejects.toThrow(
    /the segment with record \d+, with which the journal begins, is missing/,
  )
})
