/** The cache of what is stored and imported here: what is used again, how long, and what ends it. */
import { describe, expect, it } from 'vitest'
import type { Question } from '../../../src/domain/compliance.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import type { OwnFacts } from '../../../src/judge/facts.js'
import type { InternalDncEntry } from '../../../src/law/records/opt-out.js'
import type { OwnFactsSource } from '../../../src/sources/own/own-facts.js'
import { noon } from '../../support/fake-compliance.js'
import { agesWith, fakeLists, fakeProjects } from '../../support/scrub-parts.js'
import { virtualTime } from '../../support/virtual-time.js'
import { allowMs, entryOf, held, judgeSources, openSource } from './own-facts-fixture.js'

const number = toPhoneNumber('2127361000')
const question: Question = { accountId: 'main', number }
const deadlineMs = 1_000
const minute = 60_000

/** What is known at once. */
function find(own: OwnFactsSource, asked: Question = question): OwnFacts {
  const { facts, later } = own.find(asked, deadlineMs)
  if (later) throw new TypeError('it has to be waited for')
  return facts
}

/** All of it. */
async function findAll(
  own: OwnFactsSource,
  asked: Question = question,
  ms = deadlineMs,
): Promise<OwnFacts> {
  const found = own.find(asked, ms)
  return (await (found.later ?? found)).facts
}

const isListed = ({ entry }: OwnFacts) =>
  entry !== 'not-asked' && entry.why === undefined && entry.value !== undefined

describe('cached facts', () => {
  it('are used until the time of an allow has passed', async () => {
    const { own, time, seen, read } = openSource()
    const first = find(own)
    await time.advance(allowMs - 1)
    expect(find(own)).toBe(first)
    await time.advance(1)
    const later = find(own)
    expect(later).not.toBe(first)
    expect(later.asOf).toBe(noon + allowMs)
    expect(seen).toEqual(['miss', 'hit', 'expired'])
    expect(read).toEqual(['answered', 'answered'])
  })

  it.each([
    { name: 'us-dnc', asOf: '2026-10-23T17:00:00Z' },
    { name: 'state-dnc-ny', asOf: '2026-08-23T17:00:00Z' },
    { name: 'litigators', asOf: '2026-10-23T17:00:00Z' },
    { name: 'ported-wireless', asOf: '2026-11-08T17:00:00Z' },
    { name: 'litigators', asOf: '2026-10-23T17:00:00Z', besideProvider: true },
    { name: 'ported-wireless', asOf: '2026-11-08T17:00:00Z', besideProvider: true },
  ])(
    'are used until $name becomes too old (beside a provider: $besideProvider)',
    async ({ name, asOf, besideProvider = false }) => {
      const time = virtualTime()
      const lists = { 'us-dnc': {}, litigators: {}, [name]: { asOf } }
      const ages = agesWith({ usDnc: 31, stateDnc: 92, litigators: 31, ported: 15 })
      const { own, seen } = openSource({
        ...{ clock: time, lists: fakeLists(lists), ages, besideProvider },
      })
      find(own)
      find(own)
      await time.advance(1)
      find(own)
      expect(seen).toEqual(['miss', 'hit', 'expired'])
    },
  )

  it('are kept for the project and campaign, and by number and account; a postal code changes nothing that is stored', () => {
    const { own, read } = openSource({ projects: fakeProjects({ P1: {} }) })
    const others: readonly Question[] = [
      question,
      { ...question, accountId: 'other' },
      { ...question, number: toPhoneNumber('2127361001') },
      { ...question, projectId: 'P1' },
      { ...question, campaignId: '1' },
      { ...question, projectId: 'P1', campaignId: '1' },
      { ...question, postalCode: '10001' },
      { ...question, projectId: 'P1', postalCode: '10001' },
    ]
    for (const one of [...others, ...others]) find(own, one)
    expect(read).toHaveLength(others.filter(({ postalCode }) => !postalCode).length)
    const { postal } = find(own, { ...question, postalCode: '10001' })
    expect(postal?.source).toBe('postal-code')
    expect(find(own).postal).toBeUndefined()
  })

  it('are as old with another postal code as when they were read', async () => {
    const { own, time } = openSource()
    find(own)
    await time.advance(allowMs - 1)
    expect(find(own, { ...question, postalCode: '10001' }).asOf).toBe(noon)
    await time.advance(1)
    expect(find(own, { ...question, postalCode: '10001' }).asOf).toBe(noon + allowMs)
  })

  it('are dropped when their number changes, for every project, and only then', () => {
    const { own, read } = openSource({ projects: fakeProjects({ P1: {} }) })
    const both = [question, { ...question, projectId: 'P1' }]
    for (const one of both) find(own, one)
    own.numbersChanged('main', [toPhoneNumber('2127361001')])
    own.numbersChanged('other', [number])
    for (const one of both) find(own, one)
    expect(read).toHaveLength(2)
    own.numbersChanged('main', [toPhoneNumber('2127361001'), number])
    for (const one of both) find(own, one)
    expect(read).toHaveLength(4)
  })

  it('are dropped when everything changes', () => {
    const { own, read } = openSource()
    find(own)
    find(own, { ...question, accountId: 'other' })
    own.everythingChanged()
    find(own)
    find(own, { ...question, accountId: 'other' })
    expect(read).toHaveLength(4)
  })

  it.each([
    ['its number changes', (own: OwnFactsSource) => own.numbersChanged('main', [number])],
    ['everything changes', (own: OwnFactsSource) => own.everythingChanged()],
  ])('are none of a read that was under way while %s', async (_, change) => {
    const { own, stored, seen } = openSource()
    const { wait, answer } = held<InternalDncEntry | undefined>()
    stored.findEntry = wait
    const early = findAll(own, question, deadlineMs)
    change(own)
    const entry = entryOf(noon)
    stored.findEntry = () => entry
    answer(undefined)
    // It is used by the call that asked, and by no other.
    expect(isListed(await early)).toBe(false)
    expect(isListed(find(own))).toBe(true)
    expect(seen).toEqual(['miss', 'miss'])
  })

  it('are those of a read that was under way while another number changed', async () => {
    const { own, stored, seen } = openSource()
    const { wait, answer } = held<InternalDncEntry | undefined>()
    stored.findEntry = wait
    const first = findAll(own, question, deadlineMs)
    own.numbersChanged('main', [toPhoneNumber('2127361001')])
    own.numbersChanged('other', [number])
    answer(undefined)
    const facts = await first
    expect(find(own)).toBe(facts)
    expect(seen).toEqual(['miss', 'hit'])
  })

  it('are not replaced by those of a read that was begun earlier', async () => {
    const { own, stored, time } = openSource()
    const { wait, answer } = held<InternalDncEntry | undefined>()
    stored.findEntry = wait
    const slow = findAll(own, question, deadlineMs)
    await time.advance(1)
    // Written by another server, whose change is not yet known here.
    stored.findEntry = () => entryOf(noon)
    expect(isListed(find(own))).toBe(true)
    answer(undefined)
    expect(isListed(await slow)).toBe(false)
    expect(isListed(find(own))).toBe(true)
  })

  it('are as old as the question of a slow read', async () => {
    const { own, stored, time, seen } = openSource()
    const { wait, answer } = held<InternalDncEntry | undefined>()
    stored.findEntry = wait
    const first = findAll(own, question, minute)
    await time.advance(20_000)
    answer(undefined)
    await first
    await time.advance(allowMs - 20_000 - 1)
    find(own)
    await time.advance(1)
    void own.find(question, deadlineMs)
    expect(seen).toEqual(['miss', 'hit', 'expired'])
  })

  it('are as old as the question also when its project took long', async () => {
    const known = fakeProjects({ P1: {} })
    const { wait, answer } = held<void>()
    const resolve: typeof known.resolve = (accountId, choice) =>
      choice?.projectId === undefined
        ? known.resolve(accountId, choice)
        : wait().then(() => known.resolve(accountId, choice))
    const { own, time, seen } = openSource({ projects: { resolve } })
    const asked = { ...question, projectId: 'P1' }
    const first = findAll(own, asked, minute)
    await time.advance(20_000)
    answer()
    await first
    await time.advance(allowMs - 20_000)
    void own.find(asked, deadlineMs)
    expect(seen).toEqual(['miss', 'expired'])
  })

  it('are not used by a clock that was set back, and give way to new ones', async () => {
    const time = virtualTime()
    let aheadMs = 0
    const { own, seen } = openSource({ clock: { now: () => time.now() + aheadMs } })
    find(own)
    aheadMs = -1
    const later = find(own)
    expect(find(own)).toBe(later)
    expect(seen).toEqual(['miss', 'expired', 'hit'])
  })

  it('are not made young by a clock that was set back', async () => {
    let aheadMs = 3_600_000
    const start = virtualTime()
    const opened = openSource({ clock: { now: () => start.now() + aheadMs } })
    find(opened.own)
    aheadMs -= 3_600_000
    await opened.time.advance(allowMs)
    aheadMs += 3_600_000
    find(opened.own)
    expect(opened.seen).toEqual(['miss', 'expired'])
  })

  it('are used by what the question says of the clocks', () => {
    const { own, seen } = openSource()
    find(own)
    const at = (ms: number) => ({ ...question, asked: { now: noon + ms, monotonicMs: ms } })
    find(own, at(allowMs - 1))
    find(own, at(allowMs))
    expect(seen).toEqual(['miss', 'hit', 'expired'])
  })

  it('are at most sixteen of a number: the oldest give way', () => {
    const { own, read } = openSource()
    const placed = (code: number) => ({ ...question, postalCode: String(10_000 + code) })
    const first = find(own, placed(1))
    for (let code = 2; code <= 16; code += 1) find(own, placed(code))
    expect(find(own, placed(1))).toBe(first)
    find(own, placed(17))
    expect(find(own, placed(1))).not.toBe(first)
    expect(read).toHaveLength(1)
  })

  it('are of the numbers that were used last', () => {
    const { own, seen } = openSource({ settings: { maxEntries: 2 } })
    const about = (line: number) => ({
      ...question,
      number: toPhoneNumber(String(2_127_361_000 + line)),
    })
    for (const line of [0, 1, 0, 2, 0, 1]) find(own, about(line))
    expect(seen).toEqual(['miss', 'miss', 'hit', 'miss', 'hit', 'miss'])
  })
})

describe('the cache is passed by', () => {
  it('with a what-if, which neither uses it nor adds to it', () => {
    const { own, seen } = openSource()
    const whatIf = { ...question, at: noon }
    find(own, whatIf)
    find(own)
    const known = find(own)
    expect(find(own, whatIf)).not.toBe(known)
    expect(seen).toEqual(['bypass', 'miss', 'hit', 'bypass'])
  })

  it('with room for no number', () => {
    const { own, seen, read } = openSource({ settings: { maxEntries: 0 } })
    find(own)
    find(own)
    expect(seen).toEqual(['bypass', 'bypass'])
    expect(read).toHaveLength(2)
  })
})

it('a question in the background uses what is cached and adds nothing', async () => {
  const { own, time, seen } = openSource()
  const inBackground = { ...question, inBackground: true }
  find(own, inBackground)
  find(own, inBackground)
  find(own)
  find(own, inBackground)
  expect(seen).toEqual(['miss', 'miss', 'miss', 'hit'])
  await time.advance(allowMs)
  find(own, inBackground)
  find(own)
  expect(seen.slice(4)).toEqual(['expired', 'expired'])
})

describe('warming a number', () => {
  it('reads what is missing, and nothing twice', async () => {
    const { own, seen, read } = openSource()
    expect(await own.warmUp(question, minute)).toBe('answered')
    expect(await own.warmUp(question, minute)).toBe('fresh')
    find(own)
    expect(seen).toEqual(['refresh', 'hit'])
    expect(read).toEqual(['answered'])
  })

  it('reads again what would expire too early', async () => {
    const { own, time } = openSource()
    find(own)
    await time.advance(allowMs - minute - 1)
    expect(await own.warmUp(question, minute)).toBe('fresh')
    await time.advance(1)
    expect(await own.warmUp(question, minute)).toBe('answered')
  })

  it('reads nothing again before half of its life, however long it is to be fresh', async () => {
    const { own, time } = openSource()
    find(own)
    await time.advance(allowMs / 2 - 1)
    expect(await own.warmUp(question, 1_000 * minute)).toBe('fresh')
    await time.advance(1)
    expect(await own.warmUp(question, 1_000 * minute)).toBe('answered')
  })

  it('says that there is no answer, of a database that fails and of an unknown project', async () => {
    const { own, stored, read } = openSource()
    stored.findEntry = () => Promise.reject(new Error('the database is away'))
    expect(await own.warmUp(question, minute)).toBe('unanswered')
    expect(await own.warmUp({ ...question, projectId: 'NOPE' }, minute)).toBe('unanswered')
    expect(read).toEqual(['unanswered', 'unanswered'])
  })

  it('keeps what was known while the database fails', async () => {
    const { own, stored, time } = openSource({
      entries: { 'main 2127361000': entryOf(noon - minute) },
    })
    find(own)
    await time.advance(allowMs)
    stored.findEntry = () => Promise.reject(new Error('the database is away'))
    expect(await own.warmUp(question, minute)).toBe('unanswered')
    const facts = await findAll(own)
    expect(judgeSources(question, { own: facts }).internalDnc.verdict).toBe('deny')
  })

  it('is of no use with room for no number', async () => {
    const { own, read } = openSource({ settings: { maxEntries: 0 } })
    expect(await own.warmUp(question, minute)).toBe('unanswered')
    expect(read).toEqual([])
  })

  it('keeps nothing of a number that changed meanwhile', async () => {
    const { own, stored, seen } = openSource()
    const { wait, answer } = held<InternalDncEntry | undefined>()
    stored.findEntry = wait
    const warming = own.warmUp(question, minute)
    own.numbersChanged('main', [number])
    answer(undefined)
    expect(await warming).toBe('answered')
    void own.find(question, deadlineMs)
    expect(seen).toEqual(['refresh', 'miss'])
  })
})
