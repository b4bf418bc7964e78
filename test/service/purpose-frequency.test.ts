/** How often a person may be called about something else than a sale: the law as packaged, over the table of attempts. */
import { beforeEach, expect, it } from 'vitest'
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import type { Question } from '../../src/domain/compliance.js'
import type { CallPurpose, CallRequest, Decision } from '../../src/domain/decision.js'
import type { CallReach } from '../../src/domain/mandate.js'
import { parseDay } from '../../src/domain/time/dates.js'
import { describeSaid } from '../../src/domain/words/words.js'
import type { Gate } from '../../src/gate/gate.js'
import type { EbrRecord } from '../../src/law/records/ebr-record.js'
import { AttemptOutcomes } from '../../src/service/accounts/attempt-outcomes.js'
import { Attempts } from '../../src/service/accounts/attempts.js'
import { CallingHours } from '../../src/service/calling-hours/calling-hours.js'
import { useDatabase } from '../support/database.js'
import { fakeNumberingPlan, fakePostalCodes } from '../support/fake-numbering.js'
import { knownFacts, ownGate } from '../support/own-facts.js'
import { aCall } from '../support/test-gate.js'

const database = useDatabase()
const callingRules = loadCallingRules('config/calling-rules.yaml')
const webhooks = { add: async () => '', wake: () => undefined }
const numberingPlan = fakeNumberingPlan({
  '404': ['GA America/New_York'],
  '617': ['MA America/New_York'],
  '212': ['NY America/New_York'],
  '416': ['ON America/Toronto'],
  '270': ['KY America/New_York', 'KY America/Chicago'],
})
const { windows } = new CallingHours({
  rules: callingRules,
  numberingPlan,
  postalCodes: fakePostalCodes({}),
  proclaimedDays: [],
  emergencies: [],
})

const georgia = '4045550100'
let now: number
let ids = 0

beforeEach(() => {
  now = Date.parse('2026-11-23T14:00:00Z')
})

const permission: EbrRecord = {
  ...{ type: 'P', contactOn: parseDay('2026-01-01') ?? 0, contactAt: undefined },
  ...{ obligationEndsOn: undefined, storedSeq: 1, liftsOptOut: true },
}

function openGate(purpose: CallPurpose, record?: EbrRecord): Gate {
  const clock = { now: () => now }
  const find = ({ number: dialed }: Question) => {
    const found = numberingPlan.lookup(dialed)
    const line = { lineClass: 'wireline', originalClass: 'wireline' } as const
    const number = found.status === 'ok' ? { ...found, ...line } : found
    return knownFacts({ asOf: now, number, record })
  }
  return ownGate(find, {
    attempts: new Attempts(database.storage, webhooks),
    callingRules,
    windows,
    clock,
    accountClock: clock,
    newId: () => `d${++ids}`,
    settings: {
      deadlineMs: 60_000,
      purposes: [{ purpose, requestsMay: [], setBy: 'test' }],
    },
  }).gate
}

type Call = Partial<CallRequest>

async function callAt(
  gate: Gate,
  instants: readonly string[],
  call: Call,
  reach?: CallReach,
): Promise<Decision[]> {
  const outcomes = new AttemptOutcomes(database.storage)
  const decisions: Decision[] = []
  for (const instant of instants) {
    now = Date.parse(instant)
    const decision = await gate.decide(aCall(call))
    decisions.push(decision)
    if (decision.decision === 'block' || reach === undefined) continue
    const { id: decisionId, accountId, number, decidedAt: at } = decision
    const { subject, personId } = decision.request
    const attempt = { decisionId, keyId: '', accountId, number, subject, personId, at }
    await outcomes.notePlaced(attempt, { reach })
  }
  return decisions
}

const outcomesOf = (decisions: readonly Decision[]) =>
  decisions.map(({ decision, reason, nextAllowedAt }) =>
    decision === 'allow'
      ? 'allow'
      : `${reason} ${nextAllowedAt === undefined ? '-' : new Date(nextAllowedAt).toISOString()}`,
  )

const week = [
  '2026-11-23T14:00:00Z',
  '2026-11-23T18:00:00Z',
  '2026-11-24T15:00:00Z',
  '2026-11-25T15:00:00Z',
  '2026-11-27T15:00:00Z',
  '2026-11-28T15:00:00Z',
  '2026-11-29T15:00:00Z',
]
const about = { dialed: georgia, subject: 'debt 4711', personId: 'p1' }

it('seven calls about a debt that rang out in seven days: the eighth waits for the morning of the next day', async () => {
  const gate = openGate('debt-collection')
  const made = await callAt(gate, week, about, 0)
  expect(outcomesOf(made)).toEqual(Array(7).fill('allow'))
  const [eighth, other, person] = [
    ...(await callAt(gate, ['2026-11-29T20:00:00Z'], about)),
    ...(await callAt(gate, ['2026-11-29T20:00:00Z'], { ...about, subject: 'debt 4712' }, 0)),
    ...(await callAt(gate, ['2026-11-29T20:00:00Z'], { ...about, dialed: '4045550101' })),
  ]
  expect(outcomesOf([eighth as Decision])).toEqual(['too-many-attempts 2026-11-30T13:00:00.000Z'])
  expect(describeSaid(eighth?.findings.at(-1)?.says ?? [])).toContain(
    '7 of 7 calls in 7 days (12 CFR 1006.14(b)(2)(i)(A)), until 2026-11-30T05:00:00Z',
  )
  expect(other?.decision).toBe('allow')
  expect(person?.reason).toBe('too-many-attempts')
  const next = await callAt(gate, ['2026-11-30T12:59:59Z', '2026-11-30T13:00:00Z'], about, 0)
  expect(outcomesOf(next)).toEqual(['outside-calling-hours 2026-11-30T13:00:00.000Z', 'allow'])
})

it('busy signals and numbers not in service are no calls about a debt', async () => {
  const gate = openGate('debt-collection')
  const times = Array.from(
    { length: 10 },
    (_, index) => `2026-11-23T${15 + (index >> 2)}:0${index % 4}:00Z`,
  )
  expect(outcomesOf(await callAt(gate, times, about, -1))).toEqual(Array(10).fill('allow'))
})

it.each([
  ['after a conversation, and after a call that nobody reported', 2],
  ['and after a call that nobody reported', undefined],
] as const)('no call about a debt in the week %s', async (_, reach) => {
  const gate = openGate('debt-collection')
  await callAt(gate, ['2026-11-23T16:00:00Z'], about, reach)
  const later = ['2026-11-28T15:00:00Z', '2026-11-30T05:00:00Z', '2026-11-30T13:00:00Z']
  expect(outcomesOf(await callAt(gate, later, about))).toEqual([
    'too-many-attempts 2026-11-30T13:00:00.000Z',
    'outside-calling-hours 2026-11-30T13:00:00.000Z',
    'allow',
  ])
})

it.each([
  ['a machine answered', 1],
  ['it rang out', 0],
] as const)('a call about a debt may follow when %s', async (_, reach) => {
  const gate = openGate('debt-collection')
  await callAt(gate, ['2026-11-23T16:00:00Z'], about, reach)
  expect(outcomesOf(await callAt(gate, ['2026-11-24T16:00:00Z'], about))).toEqual(['allow'])
})

it.each([
  ['617', 2, '2026-11-30T14:00:00.000Z', '940 CMR 7.04(1)(f)'],
  ['212', 3, '2026-11-30T14:00:00.000Z', '6 RCNY 5-77'],
  ['416', 3, '2026-11-30T14:00:00.000Z', 'Reg. 74, s. 22'],
])('in area code %s %i calls about a debt in a week', async (areaCode, calls, next, citation) => {
  const gate = openGate('debt-collection')
  const times = Array.from({ length: calls }, (_, index) => `2026-11-23T14:0${index}:00Z`)
  const call = { ...about, dialed: `${areaCode}5550100` }
  expect(outcomesOf(await callAt(gate, times, call, 0))).toEqual(Array(calls).fill('allow'))
  const [refused] = await callAt(gate, ['2026-11-24T15:00:00Z'], call)
  expect(outcomesOf([refused as Decision])).toEqual([`too-many-attempts ${next}`])
  expect(refused?.findings.at(-1)?.says).toContainEqual({
    code: 'limit-count',
    params: expect.objectContaining({ citation: expect.stringContaining(citation) }),
  })
})

it('calls for a sale do not count towards a debt, nor the other way round', async () => {
  const sale = openGate('telemarketing')
  const massachusetts = { dialed: '6175550100' }
  const times = ['2026-11-23T14:00:00Z', '2026-11-23T15:00:00Z', '2026-11-23T16:00:00Z']
  await callAt(sale, times, massachusetts, 0)
  const debt = openGate('debt-collection')
  expect(outcomesOf(await callAt(debt, ['2026-11-23T17:00:00Z'], massachusetts, 0))).toEqual([
    'allow',
  ])
})

it.each([
  ['informational', 'autodialed', 3, '2026-12-23T14:00:00.000Z'],
  ['healthcare', 'autodialed', 1, '2026-11-24T14:00:00.000Z'],
] as const)('%s: %s calls to a home, %i', async (purpose, callKind, calls, next) => {
  const gate = openGate(purpose)
  const times = Array.from({ length: calls + 1 }, (_, index) => `2026-11-23T14:0${index}:00Z`)
  const call = { dialed: georgia, callKind }
  const made = outcomesOf(await callAt(gate, times, call))
  expect(made).toEqual([...Array(calls).fill('allow'), `too-many-attempts ${next}`])
  const permitted = openGate(purpose, permission)
  expect(outcomesOf(await callAt(permitted, times.slice(-1), call))).toEqual(['allow'])
  const person = openGate(purpose)
  expect(outcomesOf(await callAt(person, times.slice(-1), { dialed: georgia }))).toEqual(['allow'])
})

it('a number in two time zones counts whole days in both', async () => {
  const gate = openGate('debt-collection')
  const call = { ...about, dialed: '2705550100' }
  const [first] = await callAt(gate, ['2026-11-23T16:00:00Z'], call, 2)
  expect(first?.decision).toBe('allow')
  const [refused] = await callAt(gate, ['2026-11-24T16:00:00Z'], call)
  expect(outcomesOf([refused as Decision])).toEqual(['too-many-attempts 2026-11-30T14:00:00.000Z'])
})
