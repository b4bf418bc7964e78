import { describe, expect, test } from 'vitest'
import type { LabelIssuer, NumberLabels } from '../../src/domain/spam-labels.js'
import { useDatabase } from '../support/database.js'
import { caller, n } from '../support/service-subjects.js'
import { allClean, day, hour, type MonitorParts, monitorParts } from './reputation-fixture.js'

const database = useDatabase()
const build = () => monitorParts(database.storage)
const me = caller('main')
const other = caller('other')
const [a, b] = [n('2125550100'), n('2125550101')]

const labelledBy = (...sources: LabelIssuer[]): NumberLabels => ({
  ...allClean,
  ...Object.fromEntries(sources.map((source) => [source, true])),
})

async function lookAt(parts: MonitorParts, labels: NumberLabels, number = a) {
  parts.book.facts.set(number, labels)
  await parts.checkAll()
  parts.clock.advance(day)
}

const none = { CarrierA: 0, CarrierB: 0, CarrierC: 0, CarrierD: 0 }

test('counts labels that were there and are gone, by carrier', async () => {
  const parts = await build()
  await parts.monitor.add(me, { items: [{ phone: a }, { phone: b }] })
  parts.book.facts.set(b, labelledBy('CarrierC'))
  await lookAt(parts, labelledBy('CarrierA', 'CarrierC', 'AppA'))
  expect(await parts.flags.summary(me, { days: 7 })).toEqual({ byCarrier: none, total: 0 })
  parts.book.facts.set(b, allClean)
  await lookAt(parts, labelledBy('CarrierA'))
  expect(await parts.flags.summary(me, { days: 7 })).toEqual({
    byCarrier: { ...none, CarrierC: 2 },
    total: 2,
  })
  await lookAt(parts, allClean)
  expect(await parts.flags.summary(me, { days: 7 })).toEqual({
    byCarrier: { ...none, CarrierA: 1, CarrierC: 2 },
    total: 3,
  })
  expect(await parts.flags.summary(other, { days: 90 })).toEqual({ byCarrier: none, total: 0 })
})

test('a label that comes back and goes again is removed twice; silence removes nothing', async () => {
  const parts = await build()
  await parts.monitor.add(me, { items: [{ phone: a }] })
  for (const labels of [labelledBy('CarrierB'), allClean, labelledBy('CarrierB')]) {
    await lookAt(parts, labels)
  }
  await lookAt(parts, {})
  expect((await parts.flags.summary(me, { days: 7 })).total).toBe(1)
  await lookAt(parts, allClean)
  expect((await parts.flags.summary(me, { days: 7 })).byCarrier.CarrierB).toBe(2)
})

describe('the look-back', () => {
  test.each([
    [1, day, 1],
    [1, day + 1, 0],
    [7, 7 * day, 1],
    [7, 7 * day + 1, 0],
    [90, 90 * day, 1],
    [90, 90 * day + 1, 0],
  ])('%i days reach back %i ms: %i', async (days, ms, total) => {
    const parts = await build()
    await parts.monitor.add(me, { items: [{ phone: a }] })
    await lookAt(parts, labelledBy('CarrierA'))
    await parts.checkAll()
    parts.book.facts.set(a, allClean)
    parts.clock.advance(day)
    await parts.checkAll()
    const { removed_at } = await database.db
      .selectFrom('flag_removals')
      .select('removed_at')
      .executeTakeFirstOrThrow()
    parts.clock.advance(removed_at + ms - parts.clock.now())
    expect((await parts.flags.summary(me, { days })).total).toBe(total)
  })
})

test('carriers of the other country count nothing', async () => {
  const parts = await build()
  parts.countries.set('main', 'CA')
  await parts.monitor.add(me, { items: [{ phone: a }] })
  await parts.monitor.add(other, { items: [{ phone: a }] })
  await lookAt(parts, labelledBy('CarrierA', 'CarrierB', 'CarrierC', 'CarrierD'))
  await lookAt(parts, allClean)
  expect(await parts.flags.summary(me, { days: 7 })).toEqual({
    byCarrier: { CarrierA: 1, CarrierB: 0, CarrierC: 1, CarrierD: 1 },
    total: 3,
  })
  expect(await parts.flags.summary(other, { days: 7 })).toEqual({
    byCarrier: { CarrierA: 1, CarrierB: 1, CarrierC: 1, CarrierD: 0 },
    total: 3,
  })
  parts.countries.set('main', 'US')
  expect(await parts.flags.summary(me, { days: 7 })).toEqual({
    byCarrier: { CarrierA: 1, CarrierB: 0, CarrierC: 1, CarrierD: 0 },
    total: 2,
  })
})

test('what was removed while a number was monitored still counts when it is not', async () => {
  const parts = await build()
  await parts.monitor.add(me, { items: [{ phone: a }] })
  await lookAt(parts, labelledBy('CarrierA'))
  await lookAt(parts, allClean)
  await parts.monitor.remove(me, { numbers: [a] })
  parts.clock.advance(hour)
  expect((await parts.flags.summary(me, { days: 7 })).total).toBe(1)
})
