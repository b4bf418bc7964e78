import { describe, expect, it } from 'vitest'
import type { ListAges } from '../../../src/data/number-list/list-ages.js'
import { openNumberingPlan } from '../../../src/data/numbering/numbering-plan.js'
import {
  type Answer,
  type AnswerFailure,
  type Compliance,
  findUnanswered,
  type LegalTimeQuestion,
  type MaybePromise,
  type Question,
} from '../../../src/domain/compliance.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import type { NumberingPlan } from '../../../src/domain/place.js'
import { ListFacts } from '../../../src/service/lists/list-facts.js'
import { RestrictedCompliance } from '../../../src/sources/combine/restricted-compliance.js'
import { EmbeddedCompliance } from '../../../src/sources/embedded-compliance.js'
import { answered, cleanRow, fakeCompliance, openHours } from '../../support/fake-compliance.js'
import { quoted } from '../../support/said.js'
import {
  ageless,
  areaCodePlan,
  rules as callingRules,
  type FakeList,
  fakeFile,
  fakeLists,
  fakeProjects,
  hoursOver,
  type OnFile,
  testSandbox,
  testScrub,
} from '../../support/scrub-parts.js'
import { instant, testClock } from '../../support/test-clock.js'
import { virtualTime } from '../../support/virtual-time.js'

const question: LegalTimeQuestion = {
  accountId: 'main',
  number: toPhoneNumber('2127361000'),
  recordedVoice: false,
  requireStatutoryWindow: true,
  strictestPlace: false,
}

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

/** `yes`, `no` or why not; behind a plus it comes late. */
function source(name: string, script: string, time = virtualTime()) {
  const [what = '', late] = script.split('+')
  const give = <T>(value: T | undefined): MaybePromise<Answer<T>> => {
    const reason = what as AnswerFailure['reason']
    const asked: Answer<T> =
      value === undefined
        ? { ok: false, reason, says: quoted(`says ${what}`), source: name }
        : answered(value, { source: name })
    if (late === undefined) return asked
    return new Promise((resolve) => time.after(lateMs, () => resolve(asked)))
  }
  const values: Partial<typeof yes> = what === 'yes' ? yes : what === 'no' ? no : {}
  return fakeCompliance({
    scrub: () => give(what === 'yes' ? cleanRow : undefined),
    internalDnc: () => give(values.internalDnc),
    litigator: () => give(values.litigator),
    legalTime: () => give(values.legalTime),
  })
}

function told(name: Narrowed, asked: Answer<unknown>): string {
  if (!asked.ok) return `${asked.source} ${asked.reason}`
  const word = asked.value === yes[name] ? 'yes' : 'no'
  const also = (asked.otherAnswers ?? []).map((more) => told(name, more))
  return [`${asked.source} ${word}`, ...also].join(', ')
}

describe.each(narrowed)('%s', (name) => {
  const cases = [
    { provider: 'yes', own: 'yes', gives: 'acme yes, own yes', late: false },
    { provider: 'no', own: 'yes', gives: 'acme no, own yes', late: false },
    { provider: 'yes', own: 'no', gives: 'own no', late: false, spared: true },
    { provider: 'yes+', own: 'no', gives: 'own no', late: false, spared: true },
    { provider: 'deadline', own: 'no', gives: 'own no', late: false, spared: true },
    { provider: 'yes', own: 'no+', gives: 'acme yes, own no', late: true },
    { provider: 'deadline', own: 'no+', gives: 'own no, acme deadline', late: true },
    { provider: 'deadline', own: 'yes', gives: 'own yes, acme deadline', late: false },
    { provider: 'yes', own: 'source-failed', gives: 'acme yes, own source-failed', late: false },
    { provider: 'no', own: 'source-failed', gives: 'acme no, own source-failed', late: false },
    {
      provider: 'no',
      own: 'yes+',
      late: name === 'internalDnc',
      // The provider's entry may be lifted by its permission record, ours by nothing.
      gives: name === 'internalDnc' ? 'acme no, own yes' : 'acme no',
    },
    {
      provider: 'no',
      own: 'no+',
      late: name === 'internalDnc',
      gives: name === 'internalDnc' ? 'acme no, own no' : 'acme no',
    },
    { provider: 'yes+', own: 'source-failed', gives: 'acme yes, own source-failed', late: true },
    { provider: 'refused', own: 'source-failed', gives: 'acme+own refused', late: false },
    { provider: 'yes+', own: 'yes+', gives: 'acme yes, own yes', late: true },
  ]
  it.each(cases)('provider $provider, own $own -> $gives', async (test) => {
    const time = virtualTime()
    const provider = source('acme', test.provider, time)
    const asked = new RestrictedCompliance(provider, source('own', test.own, time))[name](question)
    if (!test.provider.endsWith('+') && !test.own.endsWith('+')) {
      expect(asked).not.toBeInstanceOf(Promise)
    }
    let gives = ''
    const noted = Promise.resolve(asked).then((answer) => {
      gives = told(name, answer)
    })
    await time.settle()
    expect(gives).toBe(test.late ? '' : test.gives)
    await time.advance(lateMs)
    await noted
    expect(gives).toBe(test.gives)
    expect(provider.asked).toEqual(test.spared ? [] : [name])
    expect(time.waiting()).toBe(0)
  })

  it('what two providers say stays beside what we say', async () => {
    const second = answered(no[name], { source: 'second' })
    const first = answered(yes[name], { source: 'first', otherAnswers: [second as never] })
    const provider = { ...fakeCompliance(), [name]: () => first } as Compliance
    const asked = await new RestrictedCompliance(provider, source('own', 'yes'))[name](question)
    expect(told(name, asked)).toBe('first yes, second no, own yes')
  })
})

describe('scrub', () => {
  it('is the provider’s alone', async () => {
    const own = source('own', 'source-failed')
    const asked = await new RestrictedCompliance(source('acme', 'yes'), own).scrub(question)
    expect(asked).toEqual(answered(cleanRow, { source: 'acme' }))
    expect(own.asked).toEqual([])
  })
})

interface OwnOptions extends OnFile {
  readonly lists?: Readonly<Record<string, FakeList>>
  readonly listProblems?: Parameters<typeof fakeLists>[1]
  readonly ages?: ListAges
  readonly plan?: NumberingPlan
  readonly fileFails?: boolean
}

/** The real service over a few facts, beside a provider that permits everything. */
function beside(options: OwnOptions) {
  const { lists = {}, listProblems, ages = ageless, ...more } = options
  const { plan = areaCodePlan, fileFails, ...onFile } = more
  const clock = testClock('2026-11-23T17:00:00Z')
  const sandbox = testSandbox(clock)
  const seen: Question[] = []
  const noHours = { region: 'NY', monFri: undefined, sat: undefined, sun: undefined }
  const never = { ...noHours, effectiveFrom: undefined, effectiveUntil: undefined }
  const projects = fakeProjects({ OWN: { internalDncList: 'OWN', hours: [never] } })
  const broken = () => Promise.reject(new Error('the database cannot be read'))
  const account = {
    clock,
    lists: new ListFacts({ lists: fakeLists(lists, listProblems), ages, clock }),
    hours: hoursOver(plan),
    law: callingRules,
    numberingPlan: plan,
    fixedFacts: undefined,
  }
  const own = new EmbeddedCompliance({
    evaluator: testScrub({ clock, plan }).evaluator,
    internalDnc: fileFails ? { findEntry: broken } : fakeFile(onFile, sandbox).internalDnc,
    projects,
    views: { real: account, sandbox: account },
    kind: 'real',
    onError: () => undefined,
  })
  const provider = fakeCompliance()
  const noting = (asked: Question) => void seen.push(asked)
  const rules = new RestrictedCompliance(
    {
      ...provider,
      legalTime: (asked) => {
        noting(asked)
        return answered(openHours, { source: 'acme' })
      },
      internalDnc: (asked) => {
        noting(asked)
        return answered(yes.internalDnc, { source: 'acme' })
      },
    },
    own,
  )
  return { rules, seen }
}

/** Whether all who were asked permit; `unknown` when somebody is silent and nobody forbids. */
function summary<T>(asked: Answer<T>, permits: (value: T) => boolean): string {
  const all: Answer<T>[] = [asked, ...((asked.ok && asked.otherAnswers) || [])]
  if (all.some((one) => one.ok && !permits(one.value))) return 'no'
  return all.every((one) => one.ok) ? 'yes' : 'unknown'
}

describe('the law’s own hours, beside a provider that permits every call', () => {
  const noon = '2026-11-23T17:00:00Z'
  const strictPlan = openNumberingPlan({ folder: 'test/no-such-folder', unknownPrefix: 'strict' })
  const legal = [
    { of: 'an ordinary number at noon', number: '2127361000', at: noon, gives: 'yes' },
    { of: 'an ordinary number at night', number: '2127361000', at: '2026-11-24T04:00:00Z' },
    { of: 'Indiana at 8.30, a person', number: '3177361000', at: '2026-11-23T13:30:00Z' },
    {
      of: 'Indiana at 8.30, a recorded voice',
      number: '3177361000',
      at: '2026-11-23T13:30:00Z',
      recordedVoice: true,
    },
    {
      of: 'a postal code in the west at 22.30 New York',
      number: '2127361000',
      at: '2026-11-24T03:30:00Z',
      postalCode: '90001',
      gives: 'yes',
    },
    {
      of: 'the same where every place counts',
      number: '2127361000',
      at: '2026-11-24T03:30:00Z',
      postalCode: '90001',
      strictestPlace: true,
    },
    {
      of: 'a postal code of the armed forces',
      number: '2127361000',
      at: noon,
      postalCode: '09001',
      gives: 'yes',
    },
    {
      of: 'the same where every place counts',
      number: '2127361000',
      at: noon,
      postalCode: '09001',
      strictestPlace: true,
      gives: 'unknown',
    },
    { of: 'an area code that is not in service', number: '9997361000', at: noon },
    { of: 'an exchange that nobody has', number: '2129581000', at: noon },
    { of: 'directory assistance', number: '2125551212', at: noon },
    { of: 'a number set aside for fiction', number: '2125550100', at: noon, gives: 'yes' },
    { of: 'a fictional toll-free number', number: '8005550100', at: noon },
    { of: 'no prefixes imported, strict', number: '2127361000', at: noon, plan: strictPlan },
    {
      of: 'fiction, no prefixes imported, strict',
      number: '2125550100',
      at: noon,
      plan: strictPlan,
      gives: 'yes',
    },
    {
      of: 'a project of the provider',
      number: '2127361000',
      at: noon,
      projectId: 'THEIRS',
      campaignId: '77',
      gives: 'yes',
    },
    {
      of: 'a project that is closed here',
      number: '2127361000',
      at: noon,
      projectId: 'OWN',
      gives: 'yes',
    },
  ].map((test) => ({ gives: test.of.endsWith('a person') ? 'yes' : 'no', ...test }))

  it.each(legal)('$of: $gives', async ({ number, at, gives, of, plan, ...more }) => {
    const { rules, seen } = beside(plan ? { plan } : {})
    const asked = { ...question, ...more, number: toPhoneNumber(number), at: instant(at) }
    const answer = await rules.legalTime(asked)
    expect([of, summary(answer, ({ permitted }) => permitted)]).toEqual([of, gives])
    if (gives === 'yes') expect(seen).toEqual([asked])
  })

  it('are asked alone about a place nobody can judge: a silent provider is no excuse', async () => {
    const { rules, seen } = beside({})
    const asked = { ...question, postalCode: '09001', strictestPlace: true, at: instant(noon) }
    expect(rules.legalTime(asked)).toMatchObject({ ok: false, reason: 'bad-question' })
    expect(seen).toEqual([])
  })

  it('are asked whether or not a project may widen them', async () => {
    const seen: LegalTimeQuestion[] = []
    const own: Compliance = {
      ...fakeCompliance(),
      legalTime: (asked) => {
        seen.push(asked)
        return answered(openHours)
      },
    }
    const asked = {
      ...question,
      requireStatutoryWindow: false,
      projectId: 'P',
      campaignId: '1',
      postalCode: 'x',
    }
    await new RestrictedCompliance(fakeCompliance(), own).legalTime(asked)
    expect(seen).toEqual([
      { ...asked, requireStatutoryWindow: true, projectId: undefined, campaignId: undefined },
    ])
  })
})

describe('opt-outs recorded here, beside a provider that has none', () => {
  const at = instant('2026-11-20')
  const entry = { addedAt: at, removedAt: null, optedOutAt: at, optedOutSeq: 1 }
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
    const { rules } = beside({ entries, fileFails })
    const answer = await rules.internalDnc({ ...question, ...more })
    expect([of, summary(answer, ({ onList }) => !onList)]).toEqual([of, gives])
  })
})

describe('a litigator list, beside a provider that knows none', () => {
  const cases: readonly (OwnOptions & { readonly of: string; readonly gives: string })[] = [
    { of: 'not imported', lists: {}, gives: 'yes' },
    { of: 'imported and clear', lists: { litigators: {} }, gives: 'yes' },
    {
      of: 'imported and damaged',
      gives: 'unknown',
      listProblems: [{ name: 'litigators', detail: 'is damaged or truncated' }],
    },
    {
      of: 'imported, in a folder that cannot be read',
      gives: 'unknown',
      listProblems: [{ detail: 'permission denied' }],
    },
    { of: 'imported', lists: { litigators: { numbers: ['2127361000'] } }, gives: 'no' },
  ]
  it.each(cases)('$of: $gives', async ({ lists = {}, listProblems = [], gives }) => {
    const { rules } = beside({ lists, listProblems })
    const answer = await rules.litigator(question)
    expect(summary(answer, ({ isLitigator }) => !isLitigator)).toBe(gives)
  })
})

describe('when the budget of the provider is used up', () => {
  const spent: AnswerFailure = { ok: false, reason: 'budget-spent', says: [], source: 'acme' }
  const fails = () => spent
  const provider: Compliance = {
    scrub: fails,
    internalDnc: fails,
    litigator: fails,
    legalTime: fails,
  }
  const own = fakeCompliance({
    scrub: () => answered(cleanRow),
    internalDnc: () => answered(yes.internalDnc),
    litigator: () => answered(yes.litigator),
    legalTime: () => answered(yes.legalTime),
  })

  it.each(['scrub', ...narrowed] as const)('%s has no answer', async (name) => {
    const answer: Answer<unknown> = await new RestrictedCompliance(provider, own)[name](question)
    expect(findUnanswered(answer)).toEqual(spent)
  })
})
