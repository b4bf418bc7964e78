/** Of calls that may be under way, the journal knows the record without reading it, and says the same. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { LegOutcomeTracker } from '../../../src/asterisk/watch/leg-outcomes.js'
import { loadCallingRules } from '../../../src/data/calling-rules/calling-rules-schema.js'
import type { AnswerReport } from '../../../src/domain/call-outcome.js'
import { type Caller, noLimits } from '../../../src/domain/caller.js'
import type { CallRequest, Decision } from '../../../src/domain/decision.js'
import { DecisionIndex } from '../../../src/gate/journal/decision-index.js'
import type { JournalOptions } from '../../../src/gate/journal/journal-options.js'
import { journalRoutes } from '../../../src/gate/journal/journal-routes.js'
import type { ReportCounters } from '../../../src/gate/journal/reports/outcome-reports.js'
import { CountedOutcomes } from '../../../src/gate/outcomes/counted-outcomes.js'
import { silentLogger } from '../../../src/runtime/runtime.js'
import { noon } from '../../support/fake-compliance.js'
import { knownFacts } from '../../support/own-facts.js'
import { quoted } from '../../support/said.js'
import { aCall } from '../../support/test-gate.js'
import { makeDecision, testJournal } from '../../support/test-journal.js'

const callingRules = loadCallingRules('config/calling-rules.yaml')

let dataDir: string

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-recent-'))
})

afterEach(() => {
  vi.restoreAllMocks()
  rmSync(dataDir, { recursive: true, force: true })
})

async function open(more: Partial<JournalOptions> = {}) {
  const opened = testJournal(dataDir, () => noon, more)
  await opened.journal.open()
  return opened
}

/** An allow of a call to New York, whose number alone would be of no country. */
async function allowed(call: Partial<CallRequest>, more: Partial<Decision> = {}) {
  const decision = await makeDecision({ id: 'd1' })
  const facts = { own: knownFacts() }
  const request = aCall({ callKind: 'autodialed', campaignId: '12', ...call })
  return { ...decision, number: '2125550100', facts, request, ...more }
}

const watchReads = () => vi.spyOn(DecisionIndex.prototype, 'find')

const leftAlone = [
  ['http', 'autodialed'],
  ['predial', 'ai'],
  ['asterisk', 'manual'],
] as const

it.each(leftAlone)('by %s, an allow of kind %s is found without its record', async (via, kind) => {
  const first = await open()
  const reads = watchReads()
  await first.append(await allowed({ via, callKind: kind, reference: 'lead é 7' }))
  first.journal.record('d1', { state: 'handed-over', handedOverAt: noon }, true)
  const dialed = { state: 'dialled', leg: 'PJSIP/a-1', dialledAt: noon + 1_000 } as const
  first.journal.record('d1', dialed, false)
  await first.journal.drain()
  const found = first.journal.find('main', 'd1', { cause: 19 })
  expect(found).toMatchObject({ id: 'd1', via, callKind: kind })
  expect(found?.outcome).toMatchObject({ state: 'dialled', handedOverAt: '2026-11-23T17:00:00Z' })
  expect(first.journal.find('other', 'd1')).toBeUndefined()
  expect(reads).not.toHaveBeenCalled()
  await first.journal.close()
  const again = await open()
  expect(again.journal.find('main', 'd1', { cause: 19 })).toEqual(found)
  expect(reads).toHaveBeenCalledOnce()
  await again.journal.close()
})

it.each([
  ['a person’s call over HTTP', { callKind: 'manual' }, {}],
  ['a block', {}, { decision: 'block', reason: 'litigator' }],
  ['a what-if', { at: noon }, {}],
  ['an unusually long record', {}, { says: quoted('x'.repeat(8_192)) }],
] as const)('the record of %s is read', async (_, call, more) => {
  const { journal, append } = await open()
  const reads = watchReads()
  await append(await allowed(call, more))
  expect(journal.find('main', 'd1')?.id).toBe('d1')
  expect(reads).toHaveBeenCalledOnce()
  await journal.close()
})

it('an allow that was withheld is the block that left', async () => {
  const { journal, append } = await open()
  await append(await allowed({}))
  const withheld = { decision: 'block', reason: 'not-recorded' } as const
  journal.amend(await allowed({}, withheld))
  expect(journal.find('main', 'd1')).toMatchObject(withheld)
  await journal.close()
})

it('what was refused is not known', async () => {
  const { journal } = await open({ maxWaiting: 1 })
  journal.append(await allowed({}))
  journal.record('d1', { state: 'answered' }, true)
  journal.append(await allowed({}, { id: 'd2' }))
  await journal.drain()
  expect(journal.find('main', 'd1')).not.toHaveProperty('outcome')
  expect(journal.find('main', 'd2')).toBeUndefined()
  await journal.close()
})

it('an erasure leaves no number in memory', async () => {
  const { journal, append } = await open()
  await append(await allowed({ dialed: '2125550100' }))
  const erasure = { number: '2125550100', accountId: undefined, includesAllowed: true }
  journal.erase({ id: 'e1', ...erasure })
  await journal.drain()
  expect(journal.find('main', 'd1')).toMatchObject({ number: '', erased: true })
  await journal.close()
})

it('forgets calls after five minutes, and those of which nothing was heard beyond 10,000', async () => {
  const { journal, append } = await open()
  const reads = watchReads()
  const decision = await allowed({})
  await append(decision)
  for (let count = 2; count <= 10_001; count += 1) {
    journal.append({ ...decision, id: `d${count}` })
    if (count === 5_000) journal.record('d2', { state: 'handed-over' }, true)
  }
  for (const id of ['d2', 'd4', 'd10001']) expect(journal.find('main', id)?.id).toBe(id)
  expect(reads).not.toHaveBeenCalled()
  expect(journal.find('main', 'd1')?.id).toBe('d1')
  expect(reads).toHaveBeenCalledOnce()
  const later = performance.now() + 300_000
  vi.spyOn(performance, 'now').mockReturnValue(later)
  expect(journal.find('main', 'd4')?.id).toBe('d4')
  expect(reads).toHaveBeenCalledTimes(2)
  vi.restoreAllMocks()
  await journal.close()
})

const caller: Caller = {
  accountId: 'main',
  role: 'Administrator',
  keyId: 'test',
  limits: noLimits,
}

interface Counted extends Pick<AnswerReport, 'ring'> {
  readonly campaign: string
  readonly limits: readonly string[]
}

type Opened = Awaited<ReturnType<typeof open>>

/** Counts what becomes of the calls of a journal. */
function count({ journal }: Opened) {
  const counted: Counted[] = []
  const counters: ReportCounters = {
    attempts: { noteNotPlaced: async () => 'released', notePlaced: async () => undefined },
    abandonment: {
      count: async ({ campaign }, { ring }, limits) =>
        void counted.push({ campaign, ring, limits: limits.map(({ id }) => id) }),
    },
    identities: { confirmIdentity: async () => undefined },
    getCallingRules: () => ({ ...callingRules, findMinTalkMs: () => 30_000 }),
  }
  const outcomes = new CountedOutcomes({
    journal,
    counters,
    findDecision: (id) => journal.find('main', id),
    attempts: { findCounted: () => undefined },
    log: silentLogger,
  })
  const [, outcomeRoute] = journalRoutes({
    journal,
    counters,
    clock: { now: () => noon + 60_000 },
    recordRead: async () => undefined,
    importedAttempts: { add: async () => undefined },
    optOuts: { record: () => Promise.reject(new Error('not asked')) },
  })
  const legs = new LegOutcomeTracker({ outcomes })
  return {
    counted,
    journal,
    /** A leg rings for six seconds before somebody gives up. */
    ring(leg: string, status = 'NOANSWER', cause = 16) {
      legs.onLegDialed({ id: leg, name: `PJSIP/${leg}` }, 'd1', noon + 1_000)
      legs.onLegProgressed({ peer: { id: leg } as never, status, at: noon + 7_000 })
      legs.onLegEnded(leg, cause, noon + 7_010)
    },
    async report(state: string, seconds: number, leg: string) {
      const report = { id: 'd1', state, at: new Date(noon + seconds * 1_000).toISOString(), leg }
      await outcomeRoute?.handle(report, { caller, jsonRequested: true })
    },
  }
}

interface Case {
  readonly name: string
  readonly call?: Partial<CallRequest>
  /** What happens before the leg rings. */
  readonly begin?: (calls: ReturnType<typeof count>) => unknown
  readonly counts?: Partial<Counted> | 'not'
  /** What is known is no longer sure. */
  readonly isRead?: true
}

const usual: Counted = {
  campaign: 'campaign:12',
  ring: { ringMs: 6_000, isEndedByCaller: true },
  limits: ['us-fcc', 'us-ftc'],
}

const cases: readonly Case[] = [
  { name: 'a leg that rang' },
  { name: 'an AI call that rang', call: { callKind: 'ai' } },
  { name: 'a person’s call', call: { callKind: 'manual', via: 'asterisk' }, counts: 'not' },
  {
    name: 'a call of a project',
    call: { campaignId: undefined, projectId: 'SALES' },
    counts: { campaign: 'project:SALES' },
  },
  { name: 'a call after a second trunk', begin: ({ ring }) => ring('b-1', 'CHANUNAVAIL', 3) },
  { name: 'a busy trunk before', begin: ({ ring }) => ring('b-1', 'BUSY', 17) },
  {
    name: 'a call that another leg answered',
    begin: ({ ring }) => ring('b-1', 'ANSWER', 16),
    counts: 'not',
  },
  {
    name: 'a call that the dialer reports as answered',
    begin: ({ report }) => report('answered', 3, 'dialer-1'),
    counts: 'not',
  },
  {
    name: 'a call that the dialer reports as failed',
    begin: ({ report }) => report('failed', 2, 'dialer-1'),
  },
  {
    name: 'a leg that the dialer reports as well',
    begin: ({ report }) => report('failed', 2, 'PJSIP/a-1'),
  },
  {
    name: 'an allow that was withheld',
    begin: async ({ journal }) =>
      journal.amend(await allowed({}, { decision: 'block', reason: 'not-recorded' })),
  },
  {
    name: 'a number that was erased meanwhile',
    begin: ({ journal }) =>
      journal.erase({
        ...{ id: 'e1', number: '2125550100', accountId: undefined, includesAllowed: true },
      }),
    counts: { limits: callingRules.abandonment.limits.map(({ id }) => id) },
    isRead: true,
  },
]

type Memory = 'kept' | 'forgotten' | 'restarted'

async function countCase({ call, begin }: Case, memory: Memory) {
  let opened = await open()
  await opened.append(await allowed({ ...call }))
  await begin?.(count(opened))
  await opened.journal.drain()
  if (memory === 'restarted') {
    await opened.journal.close()
    opened = await open()
  }
  const { ring, counted } = count(opened)
  const later = performance.now() + 300_000
  if (memory === 'forgotten') vi.spyOn(performance, 'now').mockReturnValue(later)
  const reads = watchReads()
  ring('a-1')
  const readCount = reads.mock.calls.length
  vi.restoreAllMocks()
  await opened.journal.drain()
  await opened.journal.close()
  return { counted, readCount }
}

it.each(cases)('$name counts the same without its record', async (one) => {
  const { counts, isRead = false } = one
  const expected = counts === 'not' ? [] : [{ ...usual, ...counts }]
  expect(await countCase(one, 'kept')).toEqual({ counted: expected, readCount: isRead ? 1 : 0 })
  for (const memory of ['forgotten', 'restarted'] as const) {
    rmSync(dataDir, { recursive: true, force: true })
    mkdirSync(dataDir)
    expect(await countCase(one, memory)).toEqual({ counted: expected, readCount: 1 })
  }
})
