/** What our own facts forbid beside a provider that permits, and what it is asked then. */
import { describe, expect, it } from 'vitest'
import { openNumberingPlan } from '../../../src/data/numbering/numbering-plan.js'
import {
  type Answer,
  type AnswerFailure,
  type AnswerFailureReason,
  type Compliance,
  type MaybePromise,
  mapMaybePromise,
  type Question,
} from '../../../src/domain/compliance.js'
import type { CallKind, Finding } from '../../../src/domain/decision.js'
import { noListEvidence } from '../../../src/domain/number-set.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import type { NumberingPlan } from '../../../src/domain/place.js'
import type { Timers } from '../../../src/domain/time/clock.js'
import { type FactSources, lookUp } from '../../../src/gate/look-up.js'
import type { OwnFacts, Sources } from '../../../src/judge/facts.js'
import { findOpenQuestions } from '../../../src/judge/judge-number.js'
import type { Reading } from '../../../src/sources/own/read-own-facts.js'
import {
  answered,
  cleanRow,
  fakeCompliance,
  noon,
  openHours,
} from '../../support/fake-compliance.js'
import { areaCodePlan, fakeLists, fakeProjects } from '../../support/scrub-parts.js'
import { instant, testClock } from '../../support/test-clock.js'
import { nothingOwn } from '../../support/test-gate.js'
import { virtualTime } from '../../support/virtual-time.js'
import {
  createJudged,
  entryOf,
  type JudgedAs,
  judgeSources,
  openReader,
  type ReaderOptions,
} from './own-facts-fixture.js'

const question: Question = { accountId: 'main', number: toPhoneNumber('2127361000') }
const night = instant('2026-11-24T04:00:00Z')

const yes = {
  internalDnc: { onList: false, addedAt: undefined },
  litigator: { isLitigator: false },
  legalTime: openHours,
}
const no = {
  internalDnc: { onList: true, addedAt: undefined },
  litigator: { isLitigator: true },
  legalTime: { ...openHours, permitted: false, secondsLeft: 0 },
}
const narrowed = ['internalDnc', 'litigator', 'legalTime'] as const
type Narrowed = (typeof narrowed)[number]

const lateMs = 700
const deadlineMs = 5_000

function failureOf(reason: string, source: string): AnswerFailure {
  const says = [{ code: 'source-failed', quote: `says ${reason}` }] as const
  return { ok: false, reason: reason as AnswerFailureReason, says, source }
}

/** `yes`, `no` or why not; behind a plus it comes late. */
function parse(script: string) {
  const [what = '', late] = script.split('+')
  return { what, isLate: late !== undefined }
}

function comeLate<Value>(value: Value, timers: Timers): Promise<Value> {
  return new Promise((resolve) => timers.after(lateMs, () => resolve(value)))
}

function provider(name: string, script: string, timers: Timers = virtualTime()) {
  const { what, isLate } = parse(script)
  const give = <T>(value: T | undefined): MaybePromise<Answer<T>> => {
    const asked = value === undefined ? failureOf(what, name) : answered(value, { source: name })
    return isLate ? comeLate(asked, timers) : asked
  }
  const values: Partial<typeof yes> = what === 'yes' ? yes : what === 'no' ? no : {}
  return fakeCompliance({
    scrub: () => give(what === 'yes' ? cleanRow : undefined),
    internalDnc: () => give(values.internalDnc),
    litigator: () => give(values.litigator),
    legalTime: () => give(values.legalTime),
  })
}

const unread = {
  litigator: { why: failureOf('unread', 'gate') },
  entry: { why: failureOf('unread', 'gate') },
  hours: { why: failureOf('unread', 'gate') },
  permission: 'not-asked',
} as const

const clear: OwnFacts = {
  ...nothingOwn,
  number: areaCodePlan.lookup(question.number),
  litigator: { value: { status: 'clear', ...noListEvidence } },
  entry: { value: undefined },
  hours: { value: [] },
}
const why = failureOf('source-failed', 'embedded')
const ownNo = {
  internalDnc: { entry: { value: entryOf(noon) } },
  litigator: { litigator: { value: { status: 'listed', asOf: noon, ...noListEvidence } } },
  /** They are judged at night. */
  legalTime: {},
} as const satisfies Readonly<Record<Narrowed, Partial<OwnFacts>>>
const ownSilent = {
  internalDnc: { entry: { why } },
  litigator: { litigator: { why } },
  legalTime: { hours: { why } },
} as const satisfies Readonly<Record<Narrowed, Partial<OwnFacts>>>

function ownFacts(name: Narrowed, script: string, timers: Timers): FactSources['own'] {
  const { what, isLate } = parse(script)
  const more = what === 'yes' ? {} : what === 'no' ? ownNo[name] : ownSilent[name]
  const facts = { ...clear, ...more }
  const late = () => comeLate(facts, timers).then((all) => ({ facts: all }))
  return { find: () => (isLate ? { facts: { ...clear, ...unread }, later: late() } : { facts }) }
}

const toFound = ({ facts, later }: Reading) => ({
  facts,
  later: later?.then((all) => ({ facts: all.facts })),
})

/** What the gate does: it asks what is open, and judges what it was told. */
function ask(
  sources: FactSources,
  asked: Question = question,
  { as, timers = virtualTime() }: { readonly as?: JudgedAs; readonly timers?: Timers } = {},
): MaybePromise<Sources> {
  const listOpen = (own: OwnFacts) => findOpenQuestions(createJudged(asked, { own }, as))
  const found = lookUp(sources, { question: asked, deadlineMs, timers, listOpen })
  return mapMaybePromise(found, ({ sources: all }) => all)
}

function told({ parts, source, verdict, says }: Finding): string {
  if (parts) return parts.map(told).join(', ')
  const who = source.replace('embedded', 'own')
  if (verdict !== 'unknown') return `${who} ${verdict === 'pass' ? 'yes' : 'no'}`
  return `${who} ${says.map(({ quote = '' }) => quote.replace('says ', '')).join(' and ')}`
}

describe.each(narrowed)('%s', (name) => {
  const cases = [
    { provider: 'yes', own: 'yes', gives: 'acme yes, own yes' },
    { provider: 'no', own: 'yes', gives: 'acme no, own yes' },
    { provider: 'yes', own: 'no', gives: 'own no', spared: true },
    { provider: 'yes+', own: 'no', gives: 'own no', spared: true },
    { provider: 'deadline', own: 'no', gives: 'own no', spared: true },
    { provider: 'yes', own: 'no+', gives: 'acme yes, own no' },
    { provider: 'deadline', own: 'no+', gives: 'own no, acme deadline' },
    { provider: 'deadline', own: 'yes', gives: 'own yes, acme deadline' },
    { provider: 'yes', own: 'source-failed', gives: 'acme yes, own source-failed' },
    { provider: 'no', own: 'source-failed', gives: 'acme no, own source-failed' },
    { provider: 'no', own: 'yes+', gives: 'acme no, own yes' },
    { provider: 'no', own: 'no+', gives: 'acme no, own no' },
    { provider: 'yes+', own: 'source-failed', gives: 'acme yes, own source-failed' },
    { provider: 'refused', own: 'source-failed', gives: 'acme+own refused and source-failed' },
    { provider: 'yes+', own: 'yes+', gives: 'acme yes, own yes' },
  ]
  it.each(cases)('provider $provider, own $own -> $gives', async (test) => {
    const time = virtualTime()
    const acme = provider('acme', test.provider, time)
    const own = ownFacts(name, test.own, time)
    const isNight = name === 'legalTime' && parse(test.own).what === 'no'
    const asked = isNight ? { ...question, at: night } : question
    const looking = ask({ own, provider: acme }, asked, { timers: time })
    const isLate = test.provider.endsWith('+') || test.own.endsWith('+')
    expect(looking instanceof Promise).toBe(isLate)
    let gives = ''
    const noted = Promise.resolve(looking).then((sources) => {
      gives = told(judgeSources(asked, sources)[name])
    })
    await time.settle()
    // Facts are judged once all are known, those of other questions too.
    expect(gives).toBe(isLate ? '' : test.gives)
    await time.advance(lateMs)
    await noted
    expect(gives).toBe(test.gives)
    expect(acme.asked.includes(name)).toBe(test.spared !== true)
    expect(time.waiting()).toBe(0)
  })

  it('what two providers say stays beside what we say', async () => {
    const second = answered(no[name], { source: 'second' })
    const first = answered(yes[name], { source: 'first', otherAnswers: [second as never] })
    const both = { ...fakeCompliance(), [name]: () => first } as Compliance
    const own = ownFacts(name, 'yes', virtualTime())
    const sources = await ask({ own, provider: both })
    expect(told(judgeSources(question, sources)[name])).toBe('first yes, second no, own yes')
  })
})

describe('permission', () => {
  it('is the provider’s alone', async () => {
    const own = { find: () => ({ facts: { ...clear, ...unread } }) }
    const acme = provider('acme', 'yes')
    const sources = await ask({ own, provider: acme })
    const { permission, row } = judgeSources(question, sources)
    expect(permission).toMatchObject({ verdict: 'pass', source: 'acme' })
    expect(permission.parts).toBeUndefined()
    expect(row).toBeUndefined()
    expect(acme.asked).toContain('scrub')
  })
})

interface OwnOptions extends Partial<ReaderOptions> {
  readonly fileFails?: boolean
}

const broken = { findEntry: () => Promise.reject(new Error('the database cannot be read')) }

/** The real reader over a few facts, beside a provider that permits everything. */
function beside({ fileFails = false, ...options }: OwnOptions = {}, as: JudgedAs = {}) {
  const never = { monFri: undefined, sat: undefined, sun: undefined }
  const day = { start: 0, end: 1440 }
  const always = { monFri: day, sat: day, sun: day }
  const projects = fakeProjects({
    OWN: { internalDncList: 'OWN', hours: [{ region: 'NY', ...never }] },
    WIDE: { hours: [{ region: 'NY', ...always }] },
  })
  const { reader } = openReader({
    clock: testClock('2026-11-23T17:00:00Z'),
    lists: fakeLists({}),
    projects,
    besideProvider: true,
    ...(fileFails && { internalDnc: broken }),
    ...options,
  })
  const seen: Question[] = []
  const acme = fakeCompliance()
  const provider: Compliance = {
    ...acme,
    legalTime: (asked) => {
      seen.push(asked)
      return answered(openHours, { source: 'acme' })
    },
  }
  const judge = async (asked: Question) => {
    const own = { find: (one: Question) => toFound(reader.read(one)) }
    return judgeSources(asked, await ask({ own, provider }, asked, { as }), as)
  }
  return { judge, seen }
}

/** Whether all who were asked permit; `unknown` when somebody is silent and nobody forbids. */
function summary({ verdict }: Finding): string {
  return { pass: 'yes', deny: 'no', unknown: 'unknown' }[verdict]
}

interface HoursCase {
  readonly of: string
  readonly number?: string
  readonly at?: string
  readonly postalCode?: string
  readonly projectId?: string
  readonly campaignId?: string
  readonly gives?: string
  readonly callKind?: CallKind
  readonly strictestPlace?: boolean
  readonly plan?: NumberingPlan
}

describe('the law’s own hours, beside a provider that permits every call', () => {
  const strictPlan = openNumberingPlan({ folder: 'test/no-such-folder', unknownPrefix: 'strict' })
  const west = { at: '2026-11-24T03:30:00Z', postalCode: '90001' }
  const indiana = { number: '3177361000', at: '2026-11-23T13:30:00Z' }
  const cases: readonly HoursCase[] = [
    { of: 'an ordinary number at noon', gives: 'yes' },
    { of: 'an ordinary number at night', at: '2026-11-24T04:00:00Z' },
    { of: 'Indiana at 8.30, a person', ...indiana, gives: 'yes' },
    { of: 'Indiana at 8.30, a recorded voice', ...indiana, callKind: 'autodialed' },
    { of: 'a postal code in the west at 22.30 New York', ...west, gives: 'yes' },
    { of: 'the same where every place counts', ...west, strictestPlace: true },
    { of: 'a postal code of the armed forces', postalCode: '09001', gives: 'yes' },
    {
      of: 'the same where every place counts',
      postalCode: '09001',
      strictestPlace: true,
      gives: 'unknown',
    },
    { of: 'an area code that is not in service', number: '9997361000' },
    { of: 'an exchange that nobody has', number: '2129581000' },
    { of: 'directory assistance', number: '2125551212' },
    { of: 'a number set aside for fiction', number: '2125550100', gives: 'yes' },
    { of: 'a fictional toll-free number', number: '8005550100' },
    { of: 'no prefixes imported, strict', plan: strictPlan },
    {
      of: 'fiction, no prefixes imported, strict',
      number: '2125550100',
      plan: strictPlan,
      gives: 'yes',
    },
    { of: 'a project of the provider', projectId: 'THEIRS', campaignId: '77', gives: 'yes' },
    { of: 'a project that is closed here', projectId: 'OWN', gives: 'yes' },
  ]

  it.each(cases)('$of: $gives', async ({ of, gives = 'no', plan, ...test }) => {
    const { number = '2127361000', at = '2026-11-23T17:00:00Z', ...more } = test
    const { callKind, strictestPlace: manual = false, ...scope } = more
    const settings = { strictestPlace: { manual, autodialed: false, ai: false } }
    const { judge, seen } = beside(plan ? { plan } : {}, { callKind, settings })
    const asked = { ...question, ...scope, number: toPhoneNumber(number), at: instant(at) }
    const { legalTime } = await judge(asked)
    expect([of, summary(legalTime)]).toEqual([of, gives])
    if (gives === 'yes') expect(seen).toEqual([asked])
  })

  it('are asked alone about a place nobody can judge: a silent provider is no excuse', async () => {
    const settings = { strictestPlace: { manual: true, autodialed: true, ai: true } }
    const { judge, seen } = beside({}, { settings })
    const { legalTime } = await judge({ ...question, postalCode: '09001' })
    expect(legalTime).toMatchObject({
      verdict: 'unknown',
      isRequestError: true,
      source: 'embedded',
    })
    expect(seen).toEqual([])
  })

  it('are asked whether or not a project may widen them', async () => {
    const { judge, seen } = beside({}, { settings: { projectMayWiden: true } })
    const { legalTime } = await judge({ ...question, projectId: 'WIDE', at: night })
    expect(legalTime).toMatchObject({ verdict: 'deny', reason: 'outside-calling-hours' })
    expect(seen).toEqual([])
  })
})

describe('opt-outs recorded here, beside a provider that has none', () => {
  const entry = entryOf(instant('2026-11-20'))
  const ofAccount = { 'main 2127361000': entry }
  const ofProject = { 'OWN 2127361000': entry }
  const cases = [
    { of: 'the account’s list', entries: ofAccount, gives: 'no' },
    { of: 'another list', entries: { 'other 2127361000': entry }, gives: 'yes' },
    { of: 'the project’s list', entries: ofProject, projectId: 'OWN', gives: 'no' },
    { of: 'the project’s list, no project named', entries: ofProject, gives: 'yes' },
    { of: 'the provider’s project', entries: ofAccount, projectId: 'THEIRS', gives: 'no' },
    { of: 'the provider’s campaign', entries: ofAccount, campaignId: '77', gives: 'no' },
    { of: 'the provider’s project, no entry', entries: {}, projectId: 'THEIRS', gives: 'yes' },
    { of: 'a list that cannot be read', entries: {}, fileFails: true, gives: 'unknown' },
    {
      of: 'the provider’s project and a list that cannot be read',
      entries: {},
      projectId: 'THEIRS',
      fileFails: true,
      gives: 'unknown',
    },
  ]
  it.each(cases)('$of: $gives', async ({ of, entries, fileFails = false, gives, ...more }) => {
    const { judge } = beside({ entries, fileFails })
    const { internalDnc } = await judge({ ...question, ...more })
    expect([of, summary(internalDnc)]).toEqual([of, gives])
  })
})

describe('a litigator list, beside a provider that knows none', () => {
  const damaged = [{ name: 'litigators', detail: 'is damaged or truncated' }]
  const unreadable = [{ detail: 'permission denied' }]
  const cases = [
    { of: 'not imported', lists: fakeLists({}), gives: 'yes' },
    { of: 'imported and clear', lists: fakeLists({ litigators: {} }), gives: 'yes' },
    { of: 'imported and damaged', lists: fakeLists({}, damaged), gives: 'unknown' },
    {
      of: 'imported, in a folder that cannot be read',
      lists: fakeLists({}, unreadable),
      gives: 'unknown',
    },
    {
      of: 'imported',
      lists: fakeLists({ litigators: { numbers: ['2127361000'] } }),
      gives: 'no',
    },
  ]
  it.each(cases)('$of: $gives', async ({ lists, gives }) => {
    const { judge } = beside({ lists })
    const { litigator } = await judge(question)
    expect(summary(litigator)).toBe(gives)
  })
})

describe('when the budget of the provider is used up', () => {
  const says = [{ code: 'budget-spent' }] as const
  const spent: AnswerFailure = { ok: false, reason: 'budget-spent', says, source: 'acme' }
  const fails = () => spent
  const acme: Compliance = {
    scrub: fails,
    internalDnc: fails,
    litigator: fails,
    legalTime: fails,
  }

  it.each(['permission', ...narrowed] as const)('%s has no answer', async (name) => {
    const sources = await ask({ own: { find: () => ({ facts: clear }) }, provider: acme })
    const unanswered = { verdict: 'unknown', source: 'acme', says }
    expect(judgeSources(question, sources)[name]).toMatchObject(unanswered)
  })
})
