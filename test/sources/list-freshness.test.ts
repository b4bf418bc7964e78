/** No answer outlives the lists it rests on: the source in process, with its cache in front. */
import { describe, expect, it } from 'vitest'
import type { Answer, Question } from '../../src/domain/compliance.js'
import { type PhoneNumber, toPhoneNumber } from '../../src/domain/phone-number.js'
import { describeSaid } from '../../src/domain/words/words.js'
import { CachedCompliance } from '../../src/sources/cache/cached-compliance.js'
import { RestrictedCompliance } from '../../src/sources/combine/restricted-compliance.js'
import { EmbeddedCompliance } from '../../src/sources/embedded-compliance.js'
import { fakeCompliance } from '../support/fake-compliance.js'
import {
  agesWith,
  type FakeList,
  fakeLists,
  hoursOver,
  planWith,
  rules,
  type TestScrubOptions,
  testScrub,
} from '../support/scrub-parts.js'
import { instant, testClock } from '../support/test-clock.js'
import { virtualTime } from '../support/virtual-time.js'

const ny = '2127361000'
const question: Question = { accountId: 'main', number: toPhoneNumber(ny) }
const days = { usDnc: 31, stateDnc: 92, litigators: 31, ported: 15 }

/** Thirty-one days before the Monday that is noon in New York. */
const asOf = '2026-10-23T17:00:00Z'
const noon = '2026-11-23T17:00:00Z'

function open(lists: Readonly<Record<string, FakeList>>, more: Partial<TestScrubOptions> = {}) {
  const clock = testClock(noon)
  const plan = planWith({ [ny]: { lineClass: 'wireline' } })
  const options = { clock, plan, ages: agesWith(days), lists: fakeLists(lists), ...more }
  const { scrub, evaluator, listFacts } = testScrub(options)
  const asked: string[] = []
  const account = {
    clock,
    lists: listFacts,
    hours: hoursOver(plan),
    law: rules,
    numberingPlan: plan,
    fixedFacts: undefined,
  }
  const embedded = new EmbeddedCompliance({
    evaluator,
    internalDnc: { findEntry: () => undefined },
    projects: { resolve: () => undefined },
    views: { real: account, sandbox: account },
    kind: 'real',
    onError: (name, cause) => {
      throw new Error(name, { cause })
    },
  })
  const cached = new CachedCompliance(embedded, {
    settings: { maxEntries: 10, allowMs: 86_400_000, blockMs: 86_400_000, refreshAheadMs: 0 },
    staleForMs: { scrub: 0, 'internal-dnc': 0, litigator: 0, 'legal-time': 0 },
    staleAfterMs: Number.POSITIVE_INFINITY,
    dependsOnLegalTimeOptions: true,
    timers: virtualTime(),
    clock,
    observer: {
      countLookups: (name) => (result) => void asked.push(`${name} ${result}`),
      onAnswer: () => undefined,
    },
  })
  return { clock, cached, embedded, asked, scrub }
}

function valueIn<T>(asked: Answer<T>): T {
  if (!asked.ok) throw new Error(describeSaid(asked.says))
  return asked.value
}

const fresh = { asOf: '2026-11-20' }

describe('a scrub verdict', () => {
  it.each([
    { what: 'the national list', name: 'us-dnc', lists: { 'us-dnc': { asOf } } },
    {
      what: 'a state list',
      name: 'state-dnc-ny',
      lists: { 'us-dnc': fresh, 'state-dnc-ny': { asOf: '2026-08-23T17:00' } },
    },
  ])('ends with the age of $what, also in the cache', async ({ name, lists }) => {
    const { clock, cached, asked } = open({ litigators: {}, ...lists })
    const ask = async () => valueIn(await cached.scrub(question))
    expect(await ask()).toMatchObject({ letter: 'C', allowed: { manual: true } })
    expect(await ask()).toMatchObject({ letter: 'C' })
    clock.advance(1)
    const later = await ask()
    expect(later).toMatchObject({ letter: 'B', allowed: { manual: false }, listProblem: 'stale' })
    expect(later.says).toMatchObject([{ code: 'list-too-old', params: { list: name } }])
    expect(asked).toEqual(['scrub miss', 'scrub hit', 'scrub expired'])
  })

  it('is blocked for a number that was on the list, whatever record is on file', async () => {
    const record = { type: 'P' as const, contactOn: 20_000, contactAt: instant(noon) }
    const records = {
      [`main ${ny}`]: { ...record, obligationEndsOn: undefined, storedSeq: 0, liftsOptOut: true },
    }
    const { clock, cached } = open(
      { 'us-dnc': { asOf, numbers: [ny] }, litigators: {} },
      { records },
    )
    const ask = async () => valueIn(await cached.scrub(question))
    expect(await ask()).toMatchObject({ letter: 'O', allowed: { manual: true } })
    clock.advance(1)
    expect(await ask()).toMatchObject({ letter: 'B', allowed: { manual: false, ai: false } })
  })

  it('says that no list covers the number where that is so, old or not', async () => {
    const { cached } = open({ 'us-dnc': { asOf: '2026-01-01', covers: ['305'] } })
    const verdict = valueIn(await cached.scrub(question))
    expect(verdict).toMatchObject({ letter: 'B', listProblem: undefined })
    expect(verdict.says).toMatchObject([
      { code: 'list-not-covering', params: { list: 'us-dnc', areaCode: '212' } },
    ])
  })

  it('ends with the age of the list of litigators and of the ported numbers', async () => {
    const lists = { 'us-dnc': fresh, litigators: { asOf }, 'ported-wireless': fresh }
    const { clock, embedded } = open(lists)
    const holdsUntil = async () => {
      const asked = await embedded.scrub(question)
      return asked.ok ? asked.holdsUntil : undefined
    }
    expect(await holdsUntil()).toBe(instant(noon) + 1)
    clock.set('2026-12-04T23:59:00Z')
    expect(await holdsUntil()).toBe(instant('2026-12-05') + 1)
  })

  it('ends at once when a list of ported numbers becomes too old while it is made', async () => {
    const clock = testClock(noon)
    const plan = planWith({ [ny]: { lineClass: 'wireline' } })
    const slow = {
      ...plan,
      lookup(number: PhoneNumber) {
        clock.advance(1)
        return plan.lookup(number)
      },
    }
    const ported = {
      'us-dnc': fresh,
      litigators: {},
      'ported-wireless': { asOf: '2026-11-08T17:00' },
    }
    const { evaluator, listFacts } = testScrub({
      clock,
      plan: slow,
      ages: agesWith(days),
      lists: fakeLists(ported),
    })
    const judged = await evaluator.evaluate(
      {
        clock,
        lists: listFacts,
        numberingPlan: slow,
        hours: hoursOver(plan),
        law: rules,
        fixedFacts: undefined,
      },
      'main',
      { number: toPhoneNumber(ny) },
    )
    expect(judged.verdict.letter).toBe('C')
    expect(judged.holdsUntil).toBe(clock.now())
  })

  it('names every list that was looked at', async () => {
    const lists = { 'us-dnc': fresh, 'state-dnc-ny': fresh, 'ported-wireline': fresh }
    const { cached } = open({ ...lists, litigators: fresh, 'canada-dnc': fresh })
    const verdict = valueIn(await cached.scrub(question))
    const version = { version: 'test', asOf: instant('2026-11-20') }
    expect(verdict.lists).toEqual(
      ['us-dnc', 'state-dnc-ny', 'litigators', 'ported-wireline'].map((name) => ({
        name,
        ...version,
      })),
    )
    const other = { ...question, number: toPhoneNumber('2127361001') }
    expect(valueIn(await cached.scrub(other)).lists).toBe(verdict.lists)
  })
})

describe('a scrub by rows', () => {
  it('is judged by the age of the lists at the moment, whatever instant it asks about', async () => {
    const { clock, scrub } = open({ 'us-dnc': { asOf }, litigators: {} })
    const letters = async (at: string) => {
      const items = [{ phone: ny }, { phone: '2125551' }]
      const rows = await scrub.listRows('main', { items, version: 8, at: instant(at) })
      return rows.map(({ letter, lists = [] }) => [letter, ...lists.map(({ name }) => name)])
    }
    const named = ['us-dnc', 'litigators']
    expect(await letters('2027-01-04T17:00:00Z')).toEqual([['C', ...named], ['M']])
    clock.advance(1)
    expect(await letters('2026-11-01T17:00:00Z')).toEqual([['B', ...named], ['M']])
  })
})

describe('a litigator answer', () => {
  it('ends with the age of its list, and then there is none', () => {
    const { clock, cached, asked } = open({ litigators: { asOf } })
    const answer = cached.litigator(question)
    expect(answer).toMatchObject({
      value: {
        isLitigator: false,
        list: { name: 'litigators', version: 'test', asOf: instant(asOf) },
      },
      holdsUntil: instant(noon) + 1,
    })
    expect(cached.litigator(question)).toBe(answer)
    clock.advance(1)
    expect(cached.litigator(question)).toMatchObject({
      ok: false,
      reason: 'list-stale',
      says: [{ code: 'list-too-old', params: { load: 'callgate import litigators' } }],
    })
    expect(asked).toEqual(['litigator miss', 'litigator hit', 'litigator expired'])
  })

  it('goes on to name those who were on it', () => {
    const { clock, cached } = open({ litigators: { asOf, numbers: [ny] } })
    const named = { value: { isLitigator: true } }
    expect(cached.litigator(question)).toMatchObject(named)
    clock.advance(1)
    expect(cached.litigator(question)).toMatchObject(named)
  })

  it('of a list that is too old is not silence beside a provider: it withholds the call', () => {
    const { clock, embedded } = open({ litigators: { asOf } })
    const rules = new RestrictedCompliance(fakeCompliance(), embedded)
    expect(rules.litigator(question)).toMatchObject({ otherAnswers: [{ ok: true }] })
    clock.advance(1)
    const withheld = { otherAnswers: [{ ok: false, reason: 'list-stale' }] }
    expect(rules.litigator(question)).toMatchObject(withheld)
  })
})
