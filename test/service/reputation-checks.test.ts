import { describe, expect, test } from 'vitest'
import type { NumberLabels } from '../../src/domain/spam-labels.js'
import { systemTimers } from '../../src/runtime/runtime.js'
import { BackgroundTask } from '../../src/service/background/background-task.js'
import { useDatabase } from '../support/database.js'
import { caller, n } from '../support/service-subjects.js'
import {
  allClean,
  day,
  hour,
  type MonitorParts,
  type MonitorSettings,
  monitorParts,
} from './reputation-fixture.js'

const database = useDatabase()
const build = (settings?: MonitorSettings) => monitorParts(database.storage, settings)
const me = caller('main')
const other = caller('other')

const [a, b, c] = [n('2125550100'), n('2125550101'), n('2125550102')]
const adding = (...numbers: (typeof a)[]) => ({ items: numbers.map((phone) => ({ phone })) })

const medium: NumberLabels = { ...allClean, AppA: true }
const high: NumberLabels = { ...allClean, AppA: true, CarrierA: true, CarrierB: true }

async function scoresOf({ monitor }: MonitorParts, phone = a, who = me) {
  const [found] = await monitor.get(who, { numbers: [phone] })
  return found?.scores
}

/** One look a day, each with these labels. */
async function lookDaily(parts: MonitorParts, looks: readonly NumberLabels[]) {
  for (const labels of looks) {
    parts.book.facts.set(a, labels)
    await parts.checkAll()
    parts.clock.advance(day)
  }
}

const observations = () =>
  database.db
    .selectFrom('label_observations')
    .select(['account_id', 'number', 'first_at', 'last_at', 'looks', 'answered', 'flagged'])
    .select('complete')
    .orderBy('id')
    .execute()

describe('what a look tells', () => {
  test('scores follow the labels of the latest look', async () => {
    const parts = await build()
    await parts.monitor.add(me, adding(a))
    await lookDaily(parts, [{ ...allClean, CarrierC: true, AppB: true }])
    expect(await scoresOf(parts)).toEqual({
      legalEntityId: null,
      currScore: 'Medium',
      maxScore: 'Medium',
      historicalScore: '2',
      labels: {
        CarrierA: 'Clean',
        CarrierB: 'Clean',
        CarrierC: 'Flagged',
        AppA: 'Clean',
        AppB: 'Flagged',
      },
      complaints: null,
    })
    await lookDaily(parts, [allClean])
    expect(await scoresOf(parts)).toMatchObject({
      currScore: 'Clean',
      maxScore: 'Medium',
      historicalScore: '2',
      labels: { CarrierC: 'Clean', AppB: 'Clean' },
    })
  })

  test.each([
    ['all clean', [allClean, allClean], '0'],
    ['Medium once in eleven', [medium, ...Array(10).fill(allClean)], '1'],
    ['Medium once in ten', [medium, ...Array(9).fill(allClean)], '2'],
    ['High once in five', [high, ...Array(4).fill(allClean)], '3'],
    ['High once in four', [high, medium, allClean, allClean], '4'],
    ['High once in two', [high, allClean], '5'],
  ] as const)('HistoricalScore: %s', async (_case, looks, score) => {
    const parts = await build()
    await parts.monitor.add(me, adding(a))
    await lookDaily(parts, looks)
    expect((await scoresOf(parts))?.historicalScore).toBe(score)
  })

  test('MaxScore forgets a look after 15 days', async () => {
    const parts = await build()
    await parts.monitor.add(me, adding(a))
    const seenAt = parts.clock.now()
    await lookDaily(parts, [high, ...Array(14).fill(allClean)])
    expect(parts.clock.now()).toBe(seenAt + 15 * day)
    expect(await scoresOf(parts)).toMatchObject({ currScore: 'Clean', maxScore: 'High' })
    parts.clock.advance(1000)
    expect(await scoresOf(parts)).toMatchObject({ currScore: 'Clean', maxScore: 'Clean' })
  })

  test('two accounts that monitor one number have two histories', async () => {
    const parts = await build()
    await parts.monitor.add(me, adding(a))
    await lookDaily(parts, [high])
    await parts.monitor.add(other, adding(a))
    await lookDaily(parts, [allClean])
    expect(await scoresOf(parts, a, me)).toMatchObject({ maxScore: 'High', historicalScore: '5' })
    expect(await scoresOf(parts, a, other)).toMatchObject({
      maxScore: 'Clean',
      historicalScore: '0',
    })
    await parts.monitor.remove(me, { numbers: [a] })
    await lookDaily(parts, [medium])
    expect(await scoresOf(parts, a, me)).toBeUndefined()
    expect(await scoresOf(parts, a, other)).toMatchObject({ currScore: 'Medium' })
  })

  test('a Canadian account hears CarrierD and not CarrierB', async () => {
    const parts = await build()
    parts.countries.set('main', 'CA')
    await parts.monitor.add(me, adding(a))
    await lookDaily(parts, [{ ...allClean, CarrierB: true, CarrierD: true }])
    expect(parts.book.asked[0]?.wanted).toEqual([
      'CarrierA',
      'CarrierC',
      'CarrierD',
      'AppA',
      'AppB',
    ])
    expect(await scoresOf(parts)).toMatchObject({
      currScore: 'Medium',
      labels: { CarrierA: 'Clean', CarrierB: 'Processing', CarrierC: 'Clean' },
    })
  })

  test('an account that moves to the other country waits for the other carrier', async () => {
    const parts = await build()
    await parts.monitor.add(me, adding(a))
    await lookDaily(parts, [{ ...allClean, CarrierB: true }])
    parts.countries.set('main', 'CA')
    expect(await scoresOf(parts)).toMatchObject({
      currScore: 'Processing',
      labels: { CarrierB: 'Processing' },
    })
    await lookDaily(parts, [allClean])
    expect(await scoresOf(parts)).toMatchObject({ currScore: 'Clean' })
  })
})

describe('sources that are silent', () => {
  test('scores stay Processing until each was heard, in whatever order', async () => {
    const parts = await build()
    await parts.monitor.add(me, adding(a))
    const first: NumberLabels = { CarrierA: true, CarrierB: false, CarrierC: false }
    parts.book.facts.set(a, first)
    await parts.checkAll()
    expect(await scoresOf(parts)).toMatchObject({
      currScore: 'Processing',
      maxScore: 'Processing',
      historicalScore: '0',
      labels: { CarrierA: 'Flagged', CarrierB: 'Clean', AppA: 'Processing' },
    })
    parts.book.facts.set(a, { AppA: false, AppB: false })
    parts.clock.advance(hour)
    await parts.checkAll()
    expect(await scoresOf(parts)).toMatchObject({
      currScore: 'Medium',
      maxScore: 'Medium',
      historicalScore: '0',
      labels: { CarrierA: 'Flagged', AppA: 'Clean' },
    })
  })

  test('are asked again in an hour, then ever less often', async () => {
    const parts = await build()
    await parts.monitor.add(me, adding(a, b))
    parts.book.facts.set(b, allClean)
    const addedAt = parts.clock.now()
    const waits: number[] = []
    for (let round = 0; round < 8; round += 1) {
      await parts.checkAll()
      const { due_at } = await database.db
        .selectFrom('monitored_numbers')
        .select('due_at')
        .where('number', '=', a)
        .executeTakeFirstOrThrow()
      waits.push(Math.round((due_at - parts.clock.now()) / hour))
      parts.clock.advance(due_at - parts.clock.now())
    }
    expect(waits).toEqual([1, 1, 2, 4, 8, 16, 24, 24])
    expect(parts.clock.now() - addedAt).toBeGreaterThan(3 * day)
    expect((await observations()).map(({ number }) => number)).not.toContain(a)
  })

  test('that go silent later keep what they said last', async () => {
    const parts = await build()
    await parts.monitor.add(me, adding(a))
    await lookDaily(parts, [high])
    await lookDaily(parts, [{ CarrierA: false }, {}])
    expect(await scoresOf(parts)).toMatchObject({
      currScore: 'Medium',
      maxScore: 'High',
      historicalScore: '5',
      labels: { CarrierA: 'Clean', CarrierB: 'Flagged', AppA: 'Flagged' },
    })
    expect(await parts.flags.summary(me, { days: 7 })).toMatchObject({ total: 1 })
  })
})

describe('when looks are taken', () => {
  test('only what is due is asked, each number once a day', async () => {
    const parts = await build({ firstCheckWithinMs: hour, random: () => 0.5 })
    await parts.monitor.add(me, adding(a))
    parts.book.facts.set(a, allClean)
    expect(await parts.checks.run()).toBeCloseTo(hour / 2, -1)
    expect(parts.book.asked).toEqual([])
    parts.clock.advance(hour / 2 + 1)
    expect(await parts.checks.run()).toBe(0.9 * day)
    expect(parts.book.asked.map(({ numbers }) => numbers)).toEqual([[a]])
    parts.clock.advance(day)
    await parts.checkAll()
    expect(parts.book.asked.map(({ numbers }) => numbers)).toEqual([[a], [a]])
  })

  test('nothing is due when nothing is monitored', async () => {
    const { checks } = await build()
    expect(await checks.run()).toBe(Number.POSITIVE_INFINITY)
  })

  test('many numbers are asked about in parts', async () => {
    const parts = await build()
    const numbers = Array.from({ length: 600 }, (_, at) =>
      n(`212556${String(at).padStart(4, '0')}`),
    )
    for (const number of numbers) parts.book.facts.set(number, allClean)
    await parts.monitor.add(me, adding(...numbers))
    await parts.checkAll()
    const sizes = parts.book.asked.map((asked) => asked.numbers.length)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(500)
    expect(new Set(parts.book.asked.flatMap((asked) => asked.numbers))).toEqual(new Set(numbers))
    const { records } = await parts.monitor.all(me, { maxRecords: 1000 })
    expect(records.every(({ scores }) => scores?.currScore === 'Clean')).toBe(true)
  })

  test('a book that cannot be asked leaves the numbers due soon', async () => {
    const parts = await build()
    await parts.monitor.add(me, adding(a))
    await parts.monitor.add(other, adding(b))
    parts.book.failure = new Error('down')
    expect(await parts.checks.run()).toBe(hour / 4)
    expect(parts.failures).toEqual(['main: Error: down', 'other: Error: down'])
    expect(await scoresOf(parts)).toMatchObject({ currScore: 'Processing' })
    parts.book.failure = undefined
    parts.book.facts.set(a, medium)
    expect(await parts.checks.run()).toBeGreaterThan(0)
    expect(await scoresOf(parts)).toMatchObject({ currScore: 'Processing' })
    parts.clock.advance(hour / 4)
    await parts.checkAll()
    expect(await scoresOf(parts)).toMatchObject({ currScore: 'Medium' })
  })

  test('what was due is looked at after a restart', async () => {
    const first = await build()
    await first.monitor.add(me, adding(a))
    await database.reopen()
    const second = await build({ clock: first.clock })
    second.book.facts.set(a, medium)
    await second.checkAll()
    expect(await scoresOf(second)).toMatchObject({ currScore: 'Medium' })
  })

  test('a number taken off while it is asked about stays off', async () => {
    const parts = await build()
    await parts.monitor.add(me, adding(a, b))
    parts.book.facts.set(a, high).set(b, high)
    parts.book.meanwhile = async () => {
      await parts.monitor.remove(me, { numbers: [a] })
    }
    await parts.checks.run()
    expect(await scoresOf(parts, a)).toBeUndefined()
    expect(await scoresOf(parts, b)).toMatchObject({ currScore: 'High' })
    expect((await observations()).map(({ number }) => number)).toEqual([b])
  })

  test('particulars that change while it is asked about are not lost', async () => {
    const parts = await build()
    parts.entities.add('main:7')
    await parts.monitor.add(me, adding(a))
    parts.book.meanwhile = async () => {
      await parts.monitor.add(me, { items: [{ phone: a, legalEntityId: 7 }] })
    }
    parts.book.facts.set(a, medium)
    await parts.checks.run()
    expect(await scoresOf(parts)).toMatchObject({ currScore: 'Medium', legalEntityId: 7 })
  })

  test('in the background a number that is added is looked at without waiting', async () => {
    const parts = await build()
    parts.book.facts.set(a, medium)
    const recurring = new BackgroundTask({
      run: () => parts.checks.run(),
      timers: systemTimers,
      onError: (cause) => parts.failures.push(String(cause)),
    })
    recurring.start()
    await parts.monitor.add(me, adding(a))
    recurring.wake()
    await expect.poll(async () => (await scoresOf(parts))?.currScore).toBe('Medium')
    await recurring.close()
    expect(parts.failures).toEqual([])
  })

  test('counts what is monitored and what was not looked at for a day', async () => {
    const parts = await build()
    await parts.monitor.add(me, adding(a, b))
    await parts.monitor.add(other, adding(c))
    for (const number of [a, b]) parts.book.facts.set(number, allClean)
    await parts.checkAll()
    expect(await parts.checks.countNumbers()).toEqual({ monitored: 3, overdue: 0 })
    parts.clock.advance(day + 1000)
    expect(await parts.checks.countNumbers()).toEqual({ monitored: 3, overdue: 3 })
    await parts.checkAll()
    expect(await parts.checks.countNumbers()).toEqual({ monitored: 3, overdue: 1 })
  })
})

describe('what is kept', () => {
  test('looks that hear the same are one row for a week', async () => {
    const parts = await build()
    await parts.monitor.add(me, adding(a))
    const start = parts.clock.now()
    await lookDaily(parts, [...Array(9).fill(allClean), medium, medium, { AppA: true }])
    const rows = await observations()
    const shown = rows.map(({ first_at, last_at, ...row }) => ({
      ...row,
      from: Math.round((first_at - start) / day),
      to: Math.round((last_at - start) / day),
    }))
    const of = { account_id: 'main', number: a }
    const all = 1 + 2 + 4 + 16 + 32
    expect(shown).toEqual([
      { ...of, from: 0, to: 7, looks: 8, answered: all, flagged: 0, complete: 1 },
      { ...of, from: 8, to: 8, looks: 1, answered: all, flagged: 0, complete: 1 },
      { ...of, from: 9, to: 10, looks: 2, answered: all, flagged: 16, complete: 1 },
      { ...of, from: 11, to: 11, looks: 1, answered: 16, flagged: 16, complete: 0 },
    ])
  })

  test('looks older than the days that are kept count no longer and are dropped', async () => {
    const parts = await build({ keepDays: 15 })
    await parts.monitor.add(me, adding(a))
    await parts.monitor.add(other, adding(a))
    await lookDaily(parts, [high])
    await parts.monitor.remove(other, { numbers: [a] })
    expect(await observations()).toHaveLength(2)
    await lookDaily(parts, Array(14).fill(allClean))
    expect((await scoresOf(parts))?.historicalScore).toBe('3')
    parts.clock.advance(hour)
    await lookDaily(parts, [allClean])
    expect(await scoresOf(parts)).toMatchObject({ maxScore: 'Clean', historicalScore: '0' })
    const rows = await observations()
    expect(rows.map(({ flagged }) => flagged)).toEqual(rows.map(() => 0))
    expect(new Set(rows.map(({ account_id }) => account_id))).toEqual(new Set(['main']))
  })

  test('a book that contradicts itself for years does not grow the tables for ever', async () => {
    const parts = await build({ keepDays: 15 })
    await parts.monitor.add(me, adding(a))
    await lookDaily(
      parts,
      Array.from({ length: 150 }, (_, at) => (at % 2 === 0 ? medium : allClean)),
    )
    expect((await observations()).length).toBeLessThanOrEqual(17)
    const removals = await database.db.selectFrom('flag_removals').select('id').execute()
    expect(removals.length).toBeLessThanOrEqual(46)
    expect(await parts.flags.summary(me, { days: 90 })).toMatchObject({ total: 0 })
  })
})
