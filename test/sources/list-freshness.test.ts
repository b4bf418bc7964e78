/** No answer outlives the lists it rests on: what is read here, with its cache in front. */
import { describe, expect, it } from 'vitest'
import type { Question } from '../../src/domain/compliance.js'
import { type PhoneNumber, toPhoneNumber } from '../../src/domain/phone-number.js'
import { lookUp } from '../../src/gate/look-up.js'
import type { OwnFacts } from '../../src/judge/facts.js'
import { findOpenQuestions } from '../../src/judge/judge-number.js'
import { OwnFactsSource } from '../../src/sources/own/own-facts.js'
import { fakeCompliance } from '../support/fake-compliance.js'
import {
  agesWith,
  type FakeList,
  fakeLists,
  planWith,
  type TestScrubOptions,
  testScrub,
} from '../support/scrub-parts.js'
import { instant, testClock } from '../support/test-clock.js'
import { createJudged, judgeSources } from './own/own-facts-fixture.js'

const ny = '2127361000'
const question: Question = { accountId: 'main', number: toPhoneNumber(ny) }
const days = { usDnc: 31, stateDnc: 92, litigators: 31, ported: 15 }

/** Thirty-one days before the Monday that is noon in New York. */
const asOf = '2026-10-23T17:00:00Z'
const noon = '2026-11-23T17:00:00Z'

interface Opened extends Partial<TestScrubOptions> {
  readonly besideProvider?: boolean
}

function open(
  lists: Readonly<Record<string, FakeList>>,
  { besideProvider = false, ...more }: Opened = {},
) {
  const clock = testClock(noon)
  const plan = planWith({ [ny]: { lineClass: 'wireline' } })
  const options = { clock, plan, ages: agesWith(days), lists: fakeLists(lists), ...more }
  const { scrub, createReader } = testScrub(options)
  const reader = createReader(besideProvider)
  const asked: string[] = []
  const never = () => {
    throw new Error('nothing has to be waited for')
  }
  const cached = new OwnFactsSource({
    reader,
    settings: { maxEntries: 10, allowMs: 30 * 86_400_000, blockMs: 30 * 86_400_000 },
    timers: { monotonicMs: () => clock.monotonicMs(), after: never },
    observer: { countLookup: (result) => void asked.push(result), onRead: () => undefined },
  })
  const find = (one: Question = question): OwnFacts => {
    const { facts, later } = cached.find(one, 100)
    if (later) throw new TypeError('it is not known at once')
    return facts
  }
  const judge = (one: Question = question) => {
    const judged = judgeSources(one, { own: find(one) })
    if (judged.row === undefined) throw new TypeError('there is no row')
    return { ...judged, row: judged.row.row, holdsUntil: judged.row.holdsUntil }
  }
  return { clock, reader, find, judge, asked, scrub }
}

const fresh = { asOf: '2026-11-20' }

describe('our own row', () => {
  it.each([
    { what: 'the national list', name: 'us-dnc', lists: { 'us-dnc': { asOf } } },
    {
      what: 'a state list',
      name: 'state-dnc-ny',
      lists: { 'us-dnc': fresh, 'state-dnc-ny': { asOf: '2026-08-23T17:00' } },
    },
  ])('ends with the age of $what, also in the cache', ({ name, lists }) => {
    const { clock, judge, asked } = open({ litigators: {}, ...lists })
    expect(judge().row).toMatchObject({ letter: 'C', allowed: { manual: true } })
    expect(judge().row).toMatchObject({ letter: 'C' })
    clock.advance(1)
    const { row, permission } = judge()
    expect(row).toMatchObject({ letter: 'B', allowed: { manual: false }, listProblem: 'stale' })
    expect(row.says).toMatchObject([{ code: 'list-too-old', params: { list: name } }])
    expect(permission).toMatchObject({ verdict: 'deny', reason: 'list-stale' })
    expect(asked).toEqual(['miss', 'hit', 'expired'])
  })

  it('is blocked for a number that was on the list, whatever record is on file', () => {
    const record = { type: 'P' as const, contactOn: 20_000, contactAt: instant(noon) }
    const records = {
      [`main ${ny}`]: { ...record, obligationEndsOn: undefined, storedSeq: 0, liftsOptOut: true },
    }
    const { clock, judge } = open(
      { 'us-dnc': { asOf, numbers: [ny] }, litigators: {} },
      { records },
    )
    expect(judge().row).toMatchObject({ letter: 'O', allowed: { manual: true } })
    clock.advance(1)
    expect(judge().row).toMatchObject({ letter: 'B', allowed: { manual: false, ai: false } })
  })

  it('says that no list covers the number where that is so, old or not', () => {
    const { judge } = open({ 'us-dnc': { asOf: '2026-01-01', covers: ['305'] } })
    const { row } = judge()
    expect(row).toMatchObject({ letter: 'B', listProblem: undefined })
    expect(row.says).toMatchObject([
      { code: 'list-not-covering', params: { list: 'us-dnc', areaCode: '212' } },
    ])
  })

  it('ends with the age of the list of litigators and of the ported numbers', () => {
    const lists = { 'us-dnc': fresh, litigators: { asOf }, 'ported-wireless': fresh }
    const { clock, judge, asked } = open(lists)
    expect(judge().holdsUntil).toBe(instant(noon) + 1)
    expect(judge().permission.holdsUntil).toBe(instant(noon) + 1)
    clock.set('2026-12-04T23:59:00Z')
    expect(judge().holdsUntil).toBe(instant('2026-12-05') + 1)
    clock.set('2026-12-05T00:00:00Z')
    judge()
    clock.advance(1)
    judge()
    expect(asked).toEqual(['miss', 'hit', 'expired', 'hit', 'expired'])
  })

  it('ends at once when a list of ported numbers becomes too old while it is made', () => {
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
    const { judge, asked } = open(ported, { clock, plan: slow })
    const { row, holdsUntil } = judge()
    expect(row.letter).toBe('C')
    expect(holdsUntil).toBe(clock.now())
    judge()
    expect(asked).toEqual(['miss', 'expired'])
  })

  it('names every list that was looked at', () => {
    const lists = { 'us-dnc': fresh, 'state-dnc-ny': fresh, 'ported-wireline': fresh }
    const { judge } = open({ ...lists, litigators: fresh, 'canada-dnc': fresh })
    const version = { version: 'test', asOf: instant('2026-11-20') }
    const named = ['us-dnc', 'state-dnc-ny', 'litigators', 'ported-wireline'].map((name) => ({
      name,
      ...version,
    }))
    const { row, permission } = judge()
    expect(row.lists).toEqual(named)
    expect(permission.lists).toEqual(named)
  })

  it('rests on findings that many numbers share, so that a cached number takes little memory', () => {
    const { find } = open({ 'us-dnc': fresh, litigators: fresh })
    const listsOf = (number: string) => {
      const { permission } = find({ ...question, number: toPhoneNumber(number) })
      return permission === 'not-asked' ? undefined : permission.value?.lists
    }
    const [one, other] = [listsOf(ny), listsOf('2127361001')]
    expect(one?.national).toBe(other?.national)
    expect(one?.litigator).toBe(other?.litigator)
    expect(one?.national).toBeDefined()
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

describe('whether somebody is a litigator', () => {
  it('ends with the age of the list, and then it is not known', () => {
    const { clock, find, judge, asked } = open({ litigators: { asOf } })
    expect(judge().litigator).toMatchObject({
      verdict: 'pass',
      lists: [{ name: 'litigators', version: 'test', asOf: instant(asOf) }],
      holdsUntil: instant(noon) + 1,
    })
    expect(find()).toBe(find())
    clock.advance(1)
    expect(judge().litigator).toMatchObject({
      verdict: 'unknown',
      reason: 'list-stale',
      says: [{ code: 'list-too-old', params: { load: 'callgate import litigators' } }],
    })
    expect(asked).toEqual(['miss', 'hit', 'hit', 'expired'])
  })

  it('goes on to be named of those who were on it', () => {
    const { clock, judge } = open({ litigators: { asOf, numbers: [ny] } })
    const named = { verdict: 'deny', reason: 'litigator' }
    expect(judge().litigator).toMatchObject(named)
    clock.advance(1)
    expect(judge().litigator).toMatchObject(named)
  })

  it('of a list that is too old is not silence beside a provider: it withholds the call', async () => {
    const { clock, find } = open({ litigators: { asOf } }, { besideProvider: true })
    const litigator = async () => {
      const { sources } = await lookUp(
        { own: { find: () => ({ facts: find() }) }, provider: fakeCompliance() },
        {
          question,
          deadlineMs: 100,
          timers: { monotonicMs: () => clock.monotonicMs(), after: () => () => undefined },
          listOpen: (own) => findOpenQuestions(createJudged(question, { own })),
        },
      )
      return judgeSources(question, sources).litigator
    }
    expect(await litigator()).toMatchObject({
      verdict: 'pass',
      parts: [{ source: 'fake' }, { source: 'embedded', verdict: 'pass' }],
    })
    clock.advance(1)
    expect(await litigator()).toMatchObject({
      verdict: 'unknown',
      reason: 'list-stale',
      parts: [
        { source: 'fake', verdict: 'pass' },
        { source: 'embedded', verdict: 'unknown', reason: 'list-stale' },
      ],
    })
  })
})
