/** What is not read, or not in time: it permits no call, and what was known before may still forbid it. */
import { describe, expect, it } from 'vitest'
import type { Question } from '../../../src/domain/compliance.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import type { OwnFacts } from '../../../src/judge/facts.js'
import type { EbrRecord } from '../../../src/law/records/ebr-record.js'
import type { InternalDncEntry } from '../../../src/law/records/opt-out.js'
import type { OwnFactsSource } from '../../../src/sources/own/own-facts.js'
import { noon } from '../../support/fake-compliance.js'
import { cleanLists, fakeLists, fakeProjects } from '../../support/scrub-parts.js'
import { allowMs, entryOf, held, judgeSources, openSource } from './own-facts-fixture.js'

const number = toPhoneNumber('2127361000')
const question: Question = { accountId: 'main', number }
const deadlineMs = 200
const minute = 60_000
const day = 86_400_000

const away = () => Promise.reject(new Error('the database is away'))
const isAway = [{ code: 'source-failed', quote: 'the database is away' }]

const find = async (own: OwnFactsSource, asked: Question = question): Promise<OwnFacts> => {
  const found = own.find(asked, deadlineMs)
  return (await (found.later ?? found)).facts
}
const judge = async (own: OwnFactsSource, asked: Question = question) =>
  judgeSources(asked, { own: await find(own, asked) }, { now: noon })

const optedOut = { 'main 2127361000': entryOf(noon - day) }
const consent: EbrRecord = {
  type: 'P',
  contactOn: Math.floor(noon / day) - 10,
  contactAt: noon - 10 * day,
  obligationEndsOn: undefined,
  storedSeq: 2,
  liftsOptOut: true,
  consent: { evidence: 'written' },
}

describe('a read that fails', () => {
  it('is unknown, by why it fails, and is not kept', async () => {
    const { own, stored, read, errors } = openSource()
    stored.findEntry = away
    const { litigator, internalDnc, legalTime, permission, row } = await judge(own)
    const unknown = { verdict: 'unknown', reason: 'check-unanswered', says: isAway }
    expect([internalDnc, permission]).toMatchObject([unknown, unknown])
    expect([litigator.verdict, legalTime.verdict, row]).toEqual(['pass', 'pass', undefined])
    expect(errors).toEqual(['Error: the database is away'])
    stored.findEntry = () => undefined
    expect((await judge(own)).internalDnc.verdict).toBe('pass')
    expect(read).toEqual(['unanswered', 'answered'])
  })

  it('keeps what was known before as the last of each fact that is missing', async () => {
    const { own, stored, time } = openSource()
    const before = await find(own)
    await time.advance(allowMs)
    stored.findEntry = away
    const facts = await find(own)
    const { entry, permission } = facts
    expect(entry).toMatchObject({ why: { reason: 'source-failed' } })
    const { asOf } = before
    expect(entry).toHaveProperty('last', { ...Object(before.entry), asOf })
    expect(permission).toHaveProperty('last', { ...Object(before.permission), asOf })
    expect(facts.hours).toEqual({ value: [] })
    expect(facts.litigator).not.toHaveProperty('last')
  })

  it('leaves an opt-out a denial for as long as the database fails', async () => {
    const { own, stored, time } = openSource({ entries: optedOut })
    await find(own)
    stored.findEntry = away
    for (const ms of [allowMs, minute, day, 400 * day]) {
      await time.advance(ms)
      const { internalDnc, permission } = await judge(own)
      expect(internalDnc).toMatchObject({
        verdict: 'deny',
        reason: 'internal-dnc',
        notRenewed: isAway,
      })
      expect(permission).toMatchObject({ verdict: 'deny', notRenewed: isAway })
    }
    stored.findEntry = () => undefined
    const { internalDnc: removed } = await judge(own)
    expect([removed.verdict, removed.notRenewed]).toEqual(['pass', undefined])
    stored.findEntry = away
    await time.advance(allowMs)
    expect((await judge(own)).internalDnc.verdict).toBe('unknown')
  })

  it('says of what was known before when it was read', async () => {
    const { own, stored, time } = openSource({ entries: optedOut })
    await find(own)
    await time.advance(day)
    stored.findEntry = away
    const { internalDnc, permission, legalTime } = await judge(own)
    expect([internalDnc.verdict, internalDnc.asOf]).toEqual(['deny', noon])
    expect([permission.verdict, permission.asOf]).toEqual(['deny', noon])
    expect(legalTime.asOf).toBe(noon + day)
  })

  it('leaves a listing a denial, as long as no record on file can be read', async () => {
    const lists = fakeLists({ ...cleanLists, 'us-dnc': { numbers: [number] } })
    const { own, stored, time } = openSource({ lists })
    expect((await judge(own)).permission).toMatchObject({ reason: 'national-dnc' })
    await time.advance(allowMs)
    stored.findRecord = away
    expect((await judge(own)).permission).toMatchObject({
      verdict: 'deny',
      reason: 'national-dnc',
      notRenewed: isAway,
    })
  })

  it('permits nothing by what was known before, neither a clean number nor a consent', async () => {
    const listed = fakeLists({ ...cleanLists, 'us-dnc': { numbers: [number] } })
    for (const options of [{}, { lists: listed, records: { 'main 2127361000': consent } }]) {
      const { own, stored, time } = openSource(options)
      const first = await judge(own)
      expect([first.internalDnc.verdict, first.permission.verdict]).toEqual(['pass', 'pass'])
      await time.advance(allowMs)
      stored.findEntry = away
      const { internalDnc, permission } = await judge(own)
      const unknown = { verdict: 'unknown', says: isAway }
      expect([internalDnc, permission]).toMatchObject([unknown, unknown])
    }
  })

  it('has no project to know: the hours and litigators that were known forbid, and permit nothing', async () => {
    const known = fakeProjects({ NEVER: { hours: [closed] } })
    let isDown = false
    const resolve: typeof known.resolve = (...about) => (isDown ? away() : known.resolve(...about))
    const lists = fakeLists({ ...cleanLists, litigators: { numbers: [number] } })
    const { own, time } = openSource({ lists, projects: { resolve } })
    const never = { ...question, projectId: 'NEVER' }
    const other = { ...question, number: toPhoneNumber('2127361001') }
    for (const one of [never, other]) await find(own, one)
    isDown = true
    await time.advance(allowMs)
    const { litigator, legalTime } = await judge(own, never)
    expect(litigator).toMatchObject({ verdict: 'deny', reason: 'litigator', notRenewed: isAway })
    expect(legalTime).toMatchObject({ verdict: 'deny', notRenewed: isAway })
    const clean = await judge(own, other)
    expect([clean.litigator, clean.legalTime, clean.internalDnc, clean.permission]).toMatchObject(
      Array(4).fill({ verdict: 'unknown', says: isAway }),
    )
  })

  it('of a question in the background knows what was known before, too', async () => {
    const { own, stored, time } = openSource({ entries: optedOut })
    await find(own)
    await time.advance(allowMs)
    stored.findEntry = away
    const { internalDnc } = await judge(own, { ...question, inBackground: true })
    expect(internalDnc.verdict).toBe('deny')
  })

  it('knows an opt-out also where another postal code is given', async () => {
    const { own, stored, time } = openSource({ entries: optedOut })
    await find(own)
    await time.advance(allowMs)
    stored.findEntry = away
    const { internalDnc } = await judge(own, { ...question, postalCode: '90001' })
    expect(internalDnc).toMatchObject({ verdict: 'deny', notRenewed: isAway })
  })

  it('knows what was known of its own project, and of no other', async () => {
    const projects = fakeProjects({ P1: {} })
    const { own, stored, time } = openSource({ entries: optedOut, projects })
    const ofOther = { ...question, projectId: 'P1' }
    await find(own)
    const { findEntry } = stored
    stored.findEntry = away
    expect((await find(own, ofOther)).entry).not.toHaveProperty('last')
    stored.findEntry = findEntry
    await find(own, ofOther)
    await time.advance(allowMs)
    stored.findEntry = away
    expect((await judge(own)).internalDnc.verdict).toBe('deny')
  })

  it('knows an opt-out that another call read meanwhile', async () => {
    const { own, stored } = openSource()
    const { wait, fail } = held<InternalDncEntry | undefined>()
    stored.findEntry = wait
    const slow = judge(own)
    stored.findEntry = () => entryOf(noon)
    await find(own)
    fail()
    expect((await slow).internalDnc.verdict).toBe('deny')
  })

  it.each([
    ['its number', (own: OwnFactsSource) => own.numbersChanged('main', [number])],
    ['everything', (own: OwnFactsSource) => own.everythingChanged()],
  ])('knows nothing from before a change of %s', async (_, change) => {
    const { own, stored, time } = openSource({ entries: optedOut })
    await find(own)
    change(own)
    stored.findEntry = away
    const { entry } = await find(own)
    expect(entry).toMatchObject({ why: { reason: 'source-failed' } })
    expect(entry).not.toHaveProperty('last')
    expect(time.waiting()).toBe(0)
  })

  it('knows nothing from before a change that was made meanwhile', async () => {
    const { own, stored, time } = openSource({ entries: optedOut })
    await find(own)
    await time.advance(allowMs)
    const { wait, fail } = held<InternalDncEntry | undefined>()
    stored.findEntry = wait
    const slow = find(own)
    // The opt-out was an error, and is taken back.
    own.numbersChanged('main', [number])
    fail()
    expect((await slow).entry).not.toHaveProperty('last')
  })
})

const closed = { region: 'NY', monFri: undefined, sat: undefined, sun: undefined }

describe('a read that is late', () => {
  const late = [{ code: 'not-answered-within', params: { ms: deadlineMs } }]
  const why = { ok: false, reason: 'deadline', says: late, source: 'gate' }

  it('is unknown by the deadline, and not earlier', async () => {
    const { own, stored, time } = openSource()
    stored.findEntry = held<InternalDncEntry | undefined>().wait
    let facts: OwnFacts | undefined
    const finding = find(own).then((found) => {
      facts = found
    })
    await time.advance(deadlineMs - 1)
    expect(facts).toBeUndefined()
    await time.advance(1)
    await finding
    expect(facts).toMatchObject({ entry: { why }, permission: { why } })
    // The number and its place are known without a database.
    expect(facts?.number).toMatchObject({ status: 'ok' })
    expect(time.waiting()).toBe(0)
  })

  it('leaves no timer when it is in time', async () => {
    const { own, stored, time } = openSource()
    const { wait, answer } = held<InternalDncEntry | undefined>()
    stored.findEntry = wait
    const finding = find(own)
    answer(undefined)
    expect(await finding).toMatchObject({ entry: { value: undefined } })
    expect(time.waiting()).toBe(0)
  })

  it('leaves an opt-out a denial, and permits nothing', async () => {
    const { own, stored, time } = openSource({ entries: optedOut })
    const clean = { ...question, number: toPhoneNumber('2127361001') }
    for (const one of [question, clean]) await find(own, one)
    await time.advance(allowMs)
    stored.findEntry = held<InternalDncEntry | undefined>().wait
    const judging = Promise.all([judge(own), judge(own, clean)])
    await time.advance(deadlineMs)
    const [forbidden, unknown] = await judging
    expect(forbidden.internalDnc).toMatchObject({ verdict: 'deny', notRenewed: late })
    const { internalDnc, permission } = unknown
    const isLate = { verdict: 'unknown', says: late, source: 'gate' }
    expect([internalDnc, permission]).toMatchObject([isLate, isLate])
  })

  it('is all unknown where the project is late, and permits nothing', async () => {
    const resolve = () => new Promise<undefined>(() => undefined)
    const { own, time } = openSource({ projects: { resolve } })
    const judging = judge(own)
    await time.advance(deadlineMs)
    const { litigator, internalDnc, legalTime, permission } = await judging
    expect([litigator, internalDnc, legalTime, permission]).toMatchObject(
      Array(4).fill({ verdict: 'unknown', says: late, source: 'gate' }),
    )
  })

  it.each([false, true])(
    'does not hide what is known by then: a litigator, hours that are closed (beside a provider: %s)',
    async (besideProvider) => {
      const lists = fakeLists({ ...cleanLists, litigators: { numbers: [number] } })
      const projects = fakeProjects({ NEVER: { hours: [closed] } })
      const { own, stored, time } = openSource({ lists, projects, besideProvider })
      stored.findEntry = held<InternalDncEntry | undefined>().wait
      const never = { ...question, projectId: 'NEVER' }
      const at = noon + 12 * 60 * minute
      const finding = find(own, never)
      await time.advance(deadlineMs)
      const facts = await finding
      expect(facts.litigator).toMatchObject({ value: { status: 'listed' } })
      expect(facts.hours).toEqual({ value: besideProvider ? [] : [closed] })
      const { litigator, legalTime } = judgeSources({ ...never, at }, { own: facts })
      expect([litigator.verdict, legalTime.verdict]).toEqual(['deny', 'deny'])
    },
  )

  it('is kept when it arrives after all', async () => {
    const { own, stored, time, seen, read } = openSource()
    const { wait, answer } = held<InternalDncEntry | undefined>()
    stored.findEntry = wait
    const finding = find(own)
    await time.advance(deadlineMs)
    expect(await finding).toMatchObject({ entry: { why } })
    answer(entryOf(noon))
    await time.settle()
    expect((await judge(own)).internalDnc.verdict).toBe('deny')
    expect(seen).toEqual(['miss', 'hit'])
    expect(read).toEqual(['answered'])
  })

  it('of a what-if knows nothing from before', async () => {
    const { own, stored, time } = openSource({ entries: optedOut })
    await find(own)
    stored.findEntry = held<InternalDncEntry | undefined>().wait
    const finding = find(own, { ...question, at: noon })
    await time.advance(deadlineMs)
    expect((await finding).entry).toEqual({ why })
  })

  it('beside a provider asks nothing of consent, either', async () => {
    const { own, stored, time } = openSource({ besideProvider: true, entries: optedOut })
    await find(own)
    await time.advance(allowMs)
    stored.findEntry = held<InternalDncEntry | undefined>().wait
    const finding = find(own)
    await time.advance(deadlineMs)
    const { entry, permission } = await finding
    expect(entry).toEqual({ why, last: { value: optedOut['main 2127361000'], asOf: noon } })
    expect(permission).toBe('not-asked')
  })
})
