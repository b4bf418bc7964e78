/** Runs the cases of `test/cases/frequency.md`: the gate with the law as packaged, over the table of attempts. */
import { describe, expect, it, test } from 'vitest'
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import type { Question } from '../../src/domain/compliance.js'
import {
  type CallKind,
  type CallPurpose,
  type CallRequest,
  callPurposes,
  type Decision,
} from '../../src/domain/decision.js'
import type { CallReach } from '../../src/domain/mandate.js'
import type { LineClass } from '../../src/domain/place.js'
import { parseDay } from '../../src/domain/time/dates.js'
import type { Gate } from '../../src/gate/gate.js'
import { replyTo } from '../../src/gate/record/write-record.js'
import type { OwnFacts } from '../../src/judge/facts.js'
import type { RowRules } from '../../src/judge/row.js'
import { FrequencyRules } from '../../src/law/frequency-rules.js'
import type { EbrRecord } from '../../src/law/records/ebr-record.js'
import { AttemptOutcomes } from '../../src/service/accounts/attempt-outcomes.js'
import { Attempts } from '../../src/service/accounts/attempts.js'
import { CallingHours } from '../../src/service/calling-hours/calling-hours.js'
import { useDatabase } from '../support/database.js'
import { candidate, fakeNumberingPlan, fakePostalCodes } from '../support/fake-numbering.js'
import { tableRows } from '../support/markdown-table.js'
import { alwaysOpen, knownFacts, ownGate } from '../support/own-facts.js'

const database = useDatabase('file')
const callingRules = loadCallingRules('config/calling-rules.yaml')
const webhooks = { add: async () => '', wake: () => undefined }
const numberingPlan = fakeNumberingPlan({
  '201': ['NJ America/New_York'],
  '202': ['DC America/New_York'],
  '204': ['MB America/Winnipeg'],
  '206': ['WA America/Los_Angeles'],
  '207': ['ME America/New_York'],
  '212': ['NY America/New_York'],
  '214': ['TX America/Chicago'],
  '270': ['KY America/New_York', 'KY America/Chicago'],
  '304': ['WV America/New_York'],
  '305': ['FL America/New_York'],
  '403': ['AB America/Edmonton'],
  '404': ['GA America/New_York'],
  '405': ['OK America/Chicago'],
  '410': ['MD America/New_York'],
  '416': ['ON America/Toronto'],
  '503': ['OR America/Los_Angeles'],
  '514': ['QC America/Toronto'],
  '518': ['NY America/New_York'],
  '603': ['NH America/New_York'],
  '604': ['BC America/Vancouver'],
  '614': ['OH America/New_York'],
  '617': ['MA America/New_York'],
  '671': ['GU Pacific/Guam'],
  '703': ['VA America/New_York'],
})
const postalCodes = fakePostalCodes({
  '02108': ['MA America/New_York'],
  '10001': ['NY America/New_York'],
  '33101': ['FL America/New_York'],
})
const hours = new CallingHours({
  rules: callingRules,
  numberingPlan,
  postalCodes,
  proclaimedDays: [],
  emergencies: [],
})

/** Words of the table that stand for a value. */
const wordsOf: Readonly<Record<string, readonly string[]>> = {
  kind: ['manual', 'autodialed', 'ai'],
  report: ['unreported', 'unplaced', 'busy', 'rang', 'answered', 'talked'],
  onFile: ['nothing', 'permission', 'written-consent'],
}
const keys = ['number', 'person', 'subject', 'purpose', 'account', 'zip', 'line', 'hours', 'uses']
const reaches: Readonly<Record<string, CallReach>> = { busy: -1, rang: 0, answered: 1, talked: 2 }

type Words = ReadonlyMap<string, string>

/** A call at an instant, as the table describes it. */
interface TableCall {
  readonly at: number
  readonly words: Words
}

function readWord(word: string): readonly [key: string, value: string] {
  const [key = '', value] = word.split('=')
  const known = Object.keys(wordsOf).find((one) => wordsOf[one]?.includes(word))
  if (known !== undefined) return [known, word]
  if (value !== undefined && keys.includes(key)) return [key, value]
  if (value !== undefined && ['sale', 'inquiry'].includes(key)) return ['onFile', word]
  throw new Error(`the table holds '${word}', which is no word of it`)
}

/** `2026-11-16T14:00Z 16:00Z x2 busy; 2026-11-17T14:00Z subject=roof`. */
function readCalls(cell: string, base: Words): readonly TableCall[] {
  if (cell === '') return []
  return cell.split(';').flatMap((part) => {
    const tokens = part.trim().split(' ')
    let day = ''
    const instants: number[] = []
    let times = 1
    const own = new Map(base)
    for (const token of tokens) {
      if (/^\d{4}-\d\d-\d\dT/.test(token)) day = token.slice(0, 11)
      const time = /^(?:\d{4}-\d\d-\d\dT)?(\d\d:\d\d\S*Z)$/.exec(token)?.[1]
      if (time !== undefined) instants.push(Date.parse(day + time))
      else if (/^x\d+$/.test(token)) times = Number(token.slice(1))
      else own.set(...readWord(token))
    }
    if (instants.length === 0 || instants.some(Number.isNaN)) {
      throw new Error(`the table holds '${part}', in which an instant is wrong`)
    }
    return instants.flatMap((first) =>
      Array.from({ length: times }, (_, index) => ({
        at: first + index * 60_000,
        words: own.get('subject') === 'each' ? new Map(own).set('subject', `debt ${index}`) : own,
      })),
    )
  })
}

const rows = tableRows('test/cases/frequency.md')
const bases = new Map(
  rows
    .filter((row) => row.has('Of'))
    .map((row) => [
      row.get('Of') ?? '',
      new Map((row.get('Each call') ?? '').split(' ').map(readWord)),
    ]),
)
const cases = rows
  .filter((row) => row.has('Rule'))
  .map((row, index) => {
    const cell = (name: string) => row.get(name) ?? ''
    const rule = cell('Rule')
    const base = bases.get(rule)
    if (!base) throw new Error(`the table does not say what the calls of ${rule} are`)
    const [call] = readCalls(cell('Call'), base)
    if (!call) throw new Error(`a row of ${rule} has no call`)
    const before = readCalls(cell('Calls before'), base)
    const answer = cell('Answer')
    return { rule, index, before, call, answer, asked: cell('Call'), why: cell('Why') }
  })

const ebrTypes = { permission: 'P', 'written-consent': 'P', sale: 'S', inquiry: 'I' } as const

function record(onFile: string): EbrRecord | undefined {
  const [kind = '', day = '2026-01-01'] = onFile.split('=')
  const type = ebrTypes[kind as keyof typeof ebrTypes]
  const contactOn = parseDay(day)
  if (!type || contactOn === undefined) return undefined
  return {
    ...{ type, contactOn, contactAt: undefined, obligationEndsOn: undefined },
    ...{ storedSeq: 1, liftsOptOut: true },
    consent: kind === 'written-consent' ? { evidence: 'written' } : undefined,
  }
}

let now = 0
let ids = 0
let current: Words = new Map()

function findFacts({ number: dialed, postalCode }: Question): OwnFacts {
  const found = numberingPlan.lookup(dialed)
  const lineClass: LineClass = current.get('line') === 'mobile' ? 'wireless' : 'wireline'
  const number = found.status === 'ok' ? { ...found, lineClass, originalClass: lineClass } : found
  const postal = postalCode === undefined ? undefined : postalCodes.locate(postalCode)
  const onFile = record(current.get('onFile') ?? '')
  return knownFacts({ asOf: now, number, postalCode, postal, record: onFile })
}

/** At any time, if the table says so. */
const windows: RowRules['windows'] = {
  evaluate: (places, at, options) =>
    (current.get('hours') === 'open' ? alwaysOpen : hours.windows).evaluate(places, at, options),
  findNextOpening: (places, at, options) => hours.windows.findNextOpening(places, at, options),
}

function openGate(uses: string | undefined): Gate {
  const clock = { now: () => now }
  return ownGate(findFacts, {
    attempts: new Attempts(database.storage, webhooks),
    callingRules,
    windows,
    clock,
    accountClock: clock,
    newId: () => `d${++ids}`,
    settings: {
      deadlineMs: 60_000,
      subjects: [{ subjects: ['solar', 'roof', 'debt-1'] }],
      purposes: [{ purpose: 'telemarketing', requestsMay: callPurposes, setBy: 'test' }],
      exceptions: uses === undefined ? [] : [{ id: uses, decidedBy: 'test', on: 0 }],
    },
  }).gate
}

function toRequest(call: Words, account: string): CallRequest {
  const optional = (key: string) => call.get(key) || undefined
  return {
    accountId: `${account}-${call.get('account') ?? 'main'}`,
    dialed: call.get('number') ?? '',
    callKind: (call.get('kind') ?? 'manual') as CallKind,
    purpose: call.get('purpose') as CallPurpose,
    subject: optional('subject'),
    personId: optional('person'),
    postalCode: optional('zip'),
    via: 'http',
  }
}

async function place(gate: Gate, call: TableCall, account: string): Promise<Decision> {
  now = call.at
  current = call.words
  return await gate.decide(toRequest(call.words, account))
}

/** What is reported after an allowed call. */
async function report(decision: Decision, { words: call }: TableCall): Promise<void> {
  const outcomes = new AttemptOutcomes(database.storage)
  const { id: decisionId, accountId, decidedAt: at } = decision
  const reported = call.get('report') ?? 'unreported'
  if (reported === 'unplaced') await outcomes.noteNotPlaced({ decisionId, accountId })
  const reach = reaches[reported]
  if (reach !== undefined) {
    // Without the number only what is counted is updated, as calls that no limit counts are not.
    await outcomes.notePlaced({ decisionId, keyId: '', accountId, at }, { reach })
  }
}

function describeDecision({ decision, reason, nextAllowedAt }: Decision): string {
  if (decision === 'allow') return 'allow'
  const next = nextAllowedAt === undefined ? '' : ` ${new Date(nextAllowedAt).toISOString()}`
  return reason + next.replace('.000', '').replace(':00Z', 'Z')
}

/** The rules by which the calls before are too many. */
function listFullRules(decision: Decision): readonly string[] {
  const found = replyTo(decision).findings.find(({ check }) => check === 'attempts')
  const limits = (found?.facts?.limits ?? []) as { id: string; calls: number; attempts: string[] }[]
  return limits.filter((one) => one.attempts.length === one.calls).map(({ id }) => id)
}

const ruleIds = callingRules.document.frequencyRules.map(({ id }) => id)

test('every rule has eight cases or more, and every case a rule', () => {
  const few = ruleIds.filter((id) => cases.filter(({ rule }) => rule === id).length < 8)
  expect(few).toEqual([])
  expect([...new Set(cases.map(({ rule }) => rule))].sort()).toEqual([...ruleIds].sort())
})

test.each(ruleIds)('%s has a last call that is allowed and a first that is refused', (id) => {
  const answers = cases.filter(({ rule }) => rule === id).map(({ answer }) => answer.split(' ')[0])
  expect(answers).toEqual(expect.arrayContaining(['allow', 'too-many-attempts']))
})

describe.each([...bases.keys()])('%s', (id) => {
  const own = cases.filter(({ rule }) => rule === id)
  it.each(own)('$asked: $answer, since $why', async ({ rule, index, before, call, answer }) => {
    const gate = openGate(call.words.get('uses'))
    const account = `case${index}`
    for (const earlier of before) {
      const decision = await place(gate, earlier, account)
      expect(describeDecision(decision)).toBe('allow')
      await report(decision, earlier)
    }
    const decision = await place(gate, call, account)
    expect(describeDecision(decision)).toBe(answer)
    const isByCount = /^(too-many-attempts|outside)/.test(answer)
    expect(listFullRules(decision).includes(rule)).toBe(isByCount)
  })
})

describe('a row of a single day, 2026-11-30', () => {
  const day = parseDay('2026-11-30')
  const row = callingRules.document.frequencyRules.find(({ id }) => id === 'regf-7-days')
  const countries = new Map([
    ['GU', 'US' as const],
    ['HI', 'US' as const],
  ])

  it.each([
    ['in Guam', 'GU Pacific/Guam', '2026-11-29T14:00:00Z', '2026-11-30T14:00:00Z'],
    ['in Hawaii', 'HI Pacific/Honolulu', '2026-11-30T10:00:00Z', '2026-12-01T10:00:00Z'],
    ['where the place is not known', '', '2026-11-29T14:00:00Z', '2026-12-01T11:00:00Z'],
  ])('holds on it %s', (_, place, first, end) => {
    if (!row) throw new Error('the rules have no such row')
    const rules = new FrequencyRules([{ ...row, from: day, until: day }], countries)
    const places = place === '' ? [] : [candidate(place)]
    const call = { callKind: 'manual', purpose: 'debt-collection', hasPermission: false } as const
    const isCounted = (at: number) =>
      rules.find({ ...call, places, number: '8005550100' }, at).length > 0
    const [from, until] = [Date.parse(first), Date.parse(end)]
    expect([from - 1, from, until - 1, until].map(isCounted)).toEqual([false, true, true, false])
  })
})
