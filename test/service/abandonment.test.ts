import { beforeEach, describe, expect, it } from 'vitest'
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import type { AnswerReport } from '../../src/domain/call-outcome.js'
import type { CallRequest, Decision } from '../../src/domain/decision.js'
import type { Pauses } from '../../src/domain/mandate.js'
import { replyTo } from '../../src/gate/record/write-record.js'
import type { RowRules } from '../../src/judge/row.js'
import { Abandonment } from '../../src/service/accounts/abandonment.js'
import { useDatabase } from '../support/database.js'
import { fakeCompliance } from '../support/fake-compliance.js'
import { alwaysOpen, knownFacts, landlineNowhere, ownGate } from '../support/own-facts.js'
import { buildSubjects } from '../support/service-subjects.js'
import { type TestClock, testClock } from '../support/test-clock.js'
import { aCall, testGate } from '../support/test-gate.js'

const database = useDatabase()
const callingRules = loadCallingRules('config/calling-rules.yaml')
const [newYork, ontario] = ['2125550100', '4165550100']
const day = 86_400_000

let clock: TestClock
let abandonment: Abandonment
let ids = 0

beforeEach(async () => {
  clock = testClock('2026-11-01T17:00:00Z')
  await buildSubjects(database.storage, { clock })
  abandonment = open()
})

const open = () => new Abandonment({ storage: database.storage, clock, timers: clock })

const inTime = (at: number): AnswerReport => {
  return { answeredBy: 'person', greetingEndedAt: at, connectedAt: at + 2_000 }
}
const abandoned = (): AnswerReport => ({ answeredBy: 'person' })

interface Reported {
  readonly campaign?: string
  readonly number?: string
  readonly callKind?: 'autodialed' | 'ai'
  readonly decisionId?: string
  readonly at?: number
}

function report(answer: AnswerReport, more: Reported = {}, by = abandonment): Promise<void> {
  const { campaign = 'project:main', number = newYork, callKind = 'autodialed' } = more
  const { at = clock.now(), decisionId = `d${++ids}` } = more
  const call = { accountId: 'main', campaign, callKind, decisionId, at }
  const called = { number, purpose: 'telemarketing' as const, places: [] }
  return by.count(call, answer, callingRules.abandonment.find(called, at))
}

/** So many answered calls, of which so many were abandoned. */
async function reportMany(answeredCalls: number, left: number, more: Reported = {}): Promise<void> {
  const at = more.at ?? clock.now()
  for (let call = 0; call < answeredCalls; call += 1) {
    await report(call < left ? abandoned() : inTime(at), more)
  }
}

async function read(rule = 'us-ftc') {
  const rows = await abandonment.list({ after: 0 })
  return rows
    .filter((row) => row.rule === rule)
    .map((row) => `${row.campaign} ${row.answered} ${row.abandoned}`)
}

interface Options {
  readonly pauses?: Pauses
  readonly opensAtHour?: number
}

function decide(
  call: Partial<CallRequest> = {},
  { pauses = new Map(), opensAtHour }: Options = {},
) {
  const find = () => knownFacts({ asOf: clock.now(), number: landlineNowhere })
  const windows: RowRules['windows'] = {
    ...alwaysOpen,
    evaluate(places, at, options) {
      const open = alwaysOpen.evaluate(places, at, options)
      if (opensAtHour === undefined) return open
      const hour = Math.floor((at % day) / 3_600_000)
      const opensAt = at - (at % day) + opensAtHour * 3_600_000
      return { ...open, permitted: hour >= opensAtHour, opensAt }
    },
  }
  const { gate } = ownGate(find, {
    abandonment: open(),
    callingRules,
    windows,
    clock,
    accountClock: clock,
    pauses: { read: () => pauses },
    settings: { deadlineMs: 60_000 },
  })
  return gate.decide(aCall({ callKind: 'autodialed', dialed: newYork, ...call }))
}

const findRate = ({ findings }: Decision) => findings.find(({ check }) => check === 'abandonment')

describe('a call that is reported as answered', () => {
  const at = Date.UTC(2026, 10, 1, 17)
  const connected = 'project:main 1 0'
  const left = 'project:main 1 1'

  it.each<readonly [string, AnswerReport, 'autodialed' | 'ai', string | undefined]>([
    ['by a person, with a voice in time', inTime(at), 'autodialed', connected],
    ['late by a moment', { ...inTime(at), connectedAt: at + 2_001 }, 'autodialed', left],
    ['by a person and nothing more', abandoned(), 'autodialed', left],
    ['with a greeting and no voice', { greetingEndedAt: at }, 'autodialed', left],
    ['by a machine', { ...inTime(at), answeredBy: 'machine' }, 'autodialed', undefined],
    [
      'by nobody knows whom, in time',
      { ...inTime(at), answeredBy: 'unknown' },
      'autodialed',
      connected,
    ],
    ['by nobody knows whom', { answeredBy: 'unknown' }, 'autodialed', left],
    ['without a word on whom', { answeredAt: at }, 'autodialed', left],
    ['in time of the answer', { answeredAt: at, connectedAt: at + 1_500 }, 'autodialed', connected],
    ['with a voice and no other time', { connectedAt: at }, 'autodialed', left],
    ['of an AI without times', abandoned(), 'ai', undefined],
    ['of an AI that speaks in time', inTime(at), 'ai', connected],
    ['of an AI that is silent', { greetingEndedAt: at }, 'ai', left],
  ])('%s', async (_, answer, callKind, expected) => {
    await report(answer, { callKind })
    expect(await read()).toEqual(expected === undefined ? [] : [expected])
    expect(await read('us-fcc')).toEqual(await read())
    expect(await read('ca-crtc')).toEqual([])
  })

  it('counts once, however often it is reported, also after a restart', async () => {
    const call = { decisionId: 'again' }
    for (let again = 0; again < 3; again += 1) await report(abandoned(), call)
    await database.reopen()
    abandonment = open()
    await report(abandoned(), call)
    expect(await read()).toEqual([left])
    await Promise.all(Array.from({ length: 20 }, () => report(abandoned(), { decisionId: 'race' })))
    expect(await read()).toEqual(['project:main 2 2'])
  })

  it('is corrected by a later report, and back', async () => {
    const call = { decisionId: 'corrected' }
    await report({ answeredAt: at }, call)
    await report({ answeredBy: 'person', connectedAt: at + 1_000 }, call)
    expect(await read()).toEqual([connected])
    await report({ answeredBy: 'machine' }, call)
    expect(await read()).toEqual(['project:main 0 0'])
    await report({ answeredBy: 'person' }, call)
    expect(await read()).toEqual([connected])
  })

  it('counts once when all are reported at the same time by several servers', async () => {
    const servers = [abandonment, open(), open()]
    const all = Array.from({ length: 60 }, (_, call) =>
      report(abandoned(), { decisionId: `r${call % 20}` }, servers[call % 3]),
    )
    await Promise.all(all)
    expect(await read()).toEqual(['project:main 20 20'])
    expect(await abandonment.list({ after: 0 })).toHaveLength(2)
  })

  it('counts for its campaign, and for the laws of the country of the person', async () => {
    await report(abandoned(), { campaign: 'campaign:7' })
    await report(abandoned(), { campaign: 'campaign:8', number: ontario })
    expect(await read()).toEqual(['campaign:7 1 1'])
    expect(await read('ca-crtc')).toEqual(['campaign:8 1 1'])
  })

  it('does not count when it was allowed more than 31 days ago', async () => {
    await report(abandoned(), { at: clock.now() - 31 * day - 1 })
    expect(await read()).toEqual([])
    await report(abandoned(), { at: clock.now() - 31 * day })
    expect(await read()).toEqual([left])
  })
})

describe('a call that nobody answered', () => {
  const ring = (ringMs: number, isEndedByCaller = true) => ({ ring: { ringMs, isEndedByCaller } })
  const readRings = async () =>
    (await abandonment.list({ after: 0 })).map(
      ({ rule, answered, unanswered, disconnectedEarly }) =>
        `${rule} ${answered} ${unanswered} ${disconnectedEarly}`,
    )

  it('is disconnected early if the caller ends it before 15 seconds, and counts once', async () => {
    for (let again = 0; again < 3; again += 1) await report(ring(14_999), { decisionId: 'early' })
    await report(ring(15_000))
    await report(ring(3_000, false))
    expect(await readRings()).toEqual(['us-fcc 0 3 1', 'us-ftc 0 3 1'])
    await database.reopen()
    abandonment = open()
    await report(ring(14_999), { decisionId: 'early' })
    // When more is known: the network ended it.
    await report(ring(14_999, false), { decisionId: 'early' })
    expect(await readRings()).toEqual(['us-fcc 0 3 0', 'us-ftc 0 3 0'])
  })

  it('is in another number than those that were answered, also when a second leg is', async () => {
    await report(ring(2_000), { decisionId: 'twice' })
    await report(inTime(clock.now()), { decisionId: 'twice' })
    await report(abandoned())
    expect(await readRings()).toEqual(['us-fcc 2 0 0', 'us-ftc 2 0 0'])
    expect(await read()).toEqual(['project:main 2 1'])
  })

  it('counts for no law that says nothing of it, and gives no finding', async () => {
    await report(ring(1_000), { number: ontario })
    expect(await readRings()).toEqual([])
    for (let call = 0; call < 120; call += 1) await report(ring(1_000))
    expect(await readRings()).toEqual(['us-fcc 0 120 120', 'us-ftc 0 120 120'])
    const decision = await decide()
    expect(decision.decision).toBe('allow')
    expect(findRate(decision)).toBeUndefined()
  })

  it('counts once when servers report it at the same time, in the period of the campaign', async () => {
    await report(abandoned())
    clock.advance(31 * day)
    const servers = [abandonment, open(), open()]
    const all = Array.from({ length: 30 }, (_, call) =>
      report(ring(1_000), { decisionId: `u${call % 10}` }, servers[call % 3]),
    )
    await Promise.all(all)
    expect(await abandonment.list({ after: clock.now() })).toMatchObject([
      {
        rule: 'us-fcc',
        from: Date.parse('2026-12-01T17:00:00Z'),
        unanswered: 10,
        disconnectedEarly: 10,
      },
      {
        rule: 'us-ftc',
        from: Date.parse('2026-12-01T17:00:00Z'),
        unanswered: 10,
        disconnectedEarly: 10,
      },
    ])
  })
})

describe('a period', () => {
  const periods = async (rule: string) =>
    (await abandonment.list({ after: 0 }))
      .filter((row) => row.rule === rule)
      .map(({ from, until, answered: count }) =>
        [from, until].map((at) => new Date(at).toISOString().slice(0, 16)).concat(String(count)),
      )

  it('is of 30 days from the first call on in the United States, and does not roll', async () => {
    await report(abandoned())
    clock.advance(30 * day - 1)
    await report(abandoned())
    clock.advance(1)
    await report(abandoned())
    clock.advance(70 * day)
    await report(abandoned())
    expect(await periods('us-ftc')).toEqual([
      ['2027-01-30T17:00', '2027-03-01T17:00', '1'],
      ['2026-12-01T17:00', '2026-12-31T17:00', '1'],
      ['2026-11-01T17:00', '2026-12-01T17:00', '2'],
    ])
  })

  it('has the calls from before the first one that was reported', async () => {
    await report(abandoned())
    await report(abandoned(), { at: clock.now() - day })
    expect(await periods('us-ftc')).toEqual([['2026-11-01T17:00', '2026-12-01T17:00', '2']])
  })

  it('is a calendar month in Canada, by its time zone', async () => {
    clock.set('2026-12-01T04:59:59Z')
    await report(abandoned(), { number: ontario })
    clock.set('2026-12-01T05:00:00Z')
    await report(abandoned(), { number: ontario })
    expect(await periods('ca-crtc')).toEqual([
      ['2026-12-01T05:00', '2027-01-01T05:00', '1'],
      ['2026-11-01T04:00', '2026-12-01T05:00', '1'],
    ])
  })

  it('begins once when first calls are reported at the same time', async () => {
    const all = Array.from({ length: 10 }, (_, call) =>
      report(abandoned(), { at: clock.now() + call, campaign: 'campaign:1' }, open()),
    )
    await Promise.all(all)
    expect(await periods('us-ftc')).toMatchObject([[expect.anything(), expect.anything(), '10']])
  })
})

describe('an autodialed call', () => {
  it('has no finding while nothing is reported, nor has one that a person dials', async () => {
    expect(findRate(await decide())).toBeUndefined()
    await reportMany(200, 200)
    expect(findRate(await decide({ callKind: 'manual' }))).toBeUndefined()
    expect((await decide({ callKind: 'manual' })).decision).toBe('allow')
  })

  it('passes below the minimum, whatever the share', async () => {
    await reportMany(99, 99)
    const decision = await decide()
    expect(decision.decision).toBe('allow')
    expect(findRate(decision)).toMatchObject({ verdict: 'pass', reason: 'permitted' })
    const few = { code: 'abandoned-calls', params: { abandoned: 99, answered: 99, state: 'few' } }
    expect(findRate(decision)?.says).toMatchObject([few, few])
    await reportMany(1, 1)
    expect((await decide()).reason).toBe('abandonment-rate')
  })

  it('passes with 5 of 199, and is blocked with 6 of 200, of which the next one would be too many', async () => {
    await reportMany(199, 5)
    const before = await decide()
    expect(before.decision).toBe('allow')
    const near = { code: 'abandoned-calls', params: { state: 'near', warnPercent: 2 } }
    expect(findRate(before)?.says).toMatchObject([near, near])
    await reportMany(1, 1)
    const decision = await decide()
    expect(decision).toMatchObject({
      decision: 'block',
      reason: 'abandonment-rate',
      nextAllowedAt: Date.parse('2026-12-01T17:00:00Z'),
    })
    const finding = findRate(decision)
    const over = { abandoned: 6, answered: 200, state: 'over', until: '2026-12-01T17:00:00Z' }
    expect(finding?.says).toMatchObject([
      { params: { ...over, citation: '47 CFR 64.1200(a)(7)' } },
      { params: { ...over, citation: '16 CFR 310.4(b)(1)(iv), (b)(4)' } },
    ])
    expect(replyTo(decision).findings.at(-1)?.facts).toMatchObject({
      rules: [
        { rule: 'us-fcc', answered: 200, abandoned: 6 },
        { rule: 'us-ftc', answered: 200, abandoned: 6 },
      ],
    })
    await reportMany(40, 0)
    expect((await decide()).decision).toBe('allow')
  })

  it('is judged of a call of AI, too', async () => {
    await reportMany(100, 100)
    expect(findRate(await decide({ callKind: 'ai' }))?.reason).toBe('abandonment-rate')
  })

  it('is judged of a call at another time by the period of that time', async () => {
    await reportMany(100, 100)
    const [last, first] = ['2026-12-01T16:59:59Z', '2026-12-01T17:00:00Z'].map(Date.parse)
    expect(findRate(await decide({ at: last }))?.reason).toBe('abandonment-rate')
    expect(findRate(await decide({ at: first }))).toBeUndefined()
  })

  it('is judged by its own campaign, however that is named', async () => {
    await reportMany(100, 100, { campaign: 'campaign:7' })
    for (const call of [{ campaignId: '7' }, { campaignId: ' 007 ', projectId: 'X' }]) {
      expect((await decide(call)).reason).toBe('abandonment-rate')
    }
    for (const call of [{ campaignId: '8' }, { projectId: 'X' }, {}, { accountId: 'other' }]) {
      expect((await decide(call)).decision).toBe('allow')
    }
  })

  it('is judged by the law of the country of the person called', async () => {
    await reportMany(100, 4)
    expect((await decide()).reason).toBe('abandonment-rate')
    expect((await decide({ dialed: ontario })).decision).toBe('allow')
    await reportMany(100, 4, { number: ontario })
    const canada = await decide({ dialed: ontario })
    expect(canada.decision).toBe('allow')
    expect(findRate(canada)?.says).toMatchObject([{ params: { abandoned: 4, answered: 100 } }])
    await reportMany(1, 1, { number: ontario })
    expect(await decide({ dialed: ontario })).toMatchObject({
      reason: 'abandonment-rate',
      nextAllowedAt: Date.parse('2026-12-01T05:00:00Z'),
    })
  })

  it('may be placed again at the latest when the next period begins, in the hours of that day', async () => {
    clock.set('2026-11-01T06:00:00Z')
    await reportMany(100, 50)
    clock.set('2026-11-23T17:00:00Z')
    const { nextAllowedAt } = await decide({}, { opensAtHour: 8 })
    expect(nextAllowedAt).toBe(Date.parse('2026-12-01T08:00:00Z'))
    clock.set('2026-12-01T08:00:00Z')
    expect(findRate(await decide({}, { opensAtHour: 8 }))).toBeUndefined()
  })

  it('is only reported in shadow', async () => {
    const paused = { pausedAt: 0, pausedBy: 'operator', because: 'new' }
    const pauses = new Map([['check:abandonment:main', paused]])
    await reportMany(100, 100)
    const decision = await decide({}, { pauses })
    expect(decision).toMatchObject({
      decision: 'allow',
      effects: [{ check: 'abandonment', effect: 'shadowed' }],
    })
  })

  it('is blocked if the counts cannot be read, unless a person dials it or no law counts it', async () => {
    const failing = { read: () => Promise.reject(new Error('no database')) }
    const rows = [{ purpose: 'telemarketing', requestsMay: ['emergency'], setBy: 'test' }] as const
    const { gate } = testGate(fakeCompliance(), {
      abandonment: failing,
      callingRules,
      settings: { purposes: rows },
    })
    const decision = await gate.decide(aCall({ callKind: 'autodialed' }))
    expect(decision).toMatchObject({ decision: 'block', reason: 'check-unanswered' })
    expect(findRate(decision)).toMatchObject({ verdict: 'unknown' })
    expect((await gate.decide(aCall())).decision).toBe('allow')
    // No law counts it.
    const emergency = aCall({ callKind: 'autodialed', purpose: 'emergency' })
    expect((await gate.decide(emergency)).decision).toBe('allow')
  })
})

it('what was counted is forgotten after 62 days, and the counts are not', async () => {
  await report(abandoned(), { decisionId: 'old' })
  clock.advance(40 * day)
  await report(abandoned(), { decisionId: 'newer' })
  const kept = async () =>
    (await database.db.selectFrom('answered_calls').select('decision_id').execute()).length
  await abandonment.deleteOld(clock.now() + 1_000 * day)
  expect(await kept()).toBe(2)
  clock.advance(22 * day + 1)
  await report(abandoned(), { decisionId: 'newest' })
  await abandonment.deleteOld(clock.now())
  expect(await kept()).toBe(2)
  expect(await abandonment.list({ after: 0 })).toHaveLength(6)
})
