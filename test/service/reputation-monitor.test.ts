import { describe, expect, test } from 'vitest'
import type { Complaint } from '../../src/domain/spam-labels.js'
import { maxRecordsPerReply } from '../../src/service/reputation/number-records.js'
import { useDatabase } from '../support/database.js'
import { caller, n } from '../support/service-subjects.js'
import { allClean, day, type MonitorSettings, monitorParts } from './reputation-fixture.js'

const database = useDatabase()
const build = (settings?: MonitorSettings) => monitorParts(database.storage, settings)
const me = caller('main')
const other = caller('other')

const [a, b, c] = [n('2125550100'), n('2125550101'), n('2125550102')]
const adding = (...numbers: (typeof a)[]) => ({ items: numbers.map((phone) => ({ phone })) })

const processing = {
  legalEntityId: null,
  currScore: 'Processing',
  maxScore: 'Processing',
  historicalScore: '0',
  labels: {
    CarrierA: 'Processing',
    CarrierB: 'Processing',
    CarrierC: 'Processing',
    AppA: 'Processing',
    AppB: 'Processing',
  },
  complaints: null,
}

const complaint: Complaint = {
  id: '0a1b2c',
  phone: a,
  createdDate: '11/02/2026 14:05:00',
  violationDate: '11/01/2026 09:30:00',
  city: 'Albany',
  state: 'NY',
  areaCode: '518',
  subject: 'Reducing your debt',
  recordedMessageOrRobocall: 'Y',
}

describe('adding', () => {
  test('a new number reads Processing throughout, one record per number in order', async () => {
    const { monitor, woken } = await build()
    expect(await monitor.add(me, adding(b, a, b))).toEqual([
      { phone: b, scores: processing },
      { phone: a, scores: processing },
    ])
    expect(woken.times).toBe(1)
  })

  test('complaints are shown from the first moment', async () => {
    const { monitor, complaints } = await build()
    complaints.set(a, [complaint])
    complaints.set(b, [])
    const [first, second] = await monitor.add(me, adding(a, b))
    expect(first?.scores?.complaints).toEqual([complaint])
    expect(second?.scores?.complaints).toBeNull()
  })

  test('of very many complaints the newest are shown', async () => {
    const { monitor, complaints } = await build()
    const filed = Array.from({ length: 30 }, (_, at) => ({ ...complaint, id: `c${at}` }))
    complaints.set(a, filed)
    const [first] = await monitor.add(me, adding(a))
    expect(first?.scores?.complaints).toEqual(filed.slice(0, 25))
  })

  test('a number added again goes on with its scores and takes new particulars', async () => {
    const { monitor, book, checkAll, entities } = await build()
    entities.add('main:7').add('main:8')
    const item = { phone: a, label: 'Sales', legalEntityId: 7, serviceType: 'x' }
    await monitor.add(me, { items: [item] })
    book.facts.set(a, { ...allClean, AppA: true })
    await checkAll()
    const [again] = await monitor.add(me, { items: [{ phone: a, label: 'Service' }] })
    expect(again?.scores).toMatchObject({ currScore: 'Medium', legalEntityId: 7 })
    const [once] = await monitor.add(me, { items: [{ phone: a, legalEntityId: 8 }] })
    expect(once?.scores).toMatchObject({ currScore: 'Medium', legalEntityId: 8 })
    const row = await database.db
      .selectFrom('monitored_numbers')
      .select(['label', 'legal_entity_id', 'service_type'])
      .executeTakeFirstOrThrow()
    expect(row).toEqual({ label: 'Service', legal_entity_id: 8, service_type: 'x' })
  })

  test('of a number given twice, the last particulars count', async () => {
    const { monitor } = await build()
    await monitor.add(me, {
      items: [
        { phone: a, label: 'one', serviceType: 'x' },
        { phone: a, label: 'two' },
      ],
    })
    const rows = await database.db
      .selectFrom('monitored_numbers')
      .select(['label', 'service_type'])
      .execute()
    expect(rows).toEqual([{ label: 'two', service_type: 'x' }])
  })

  test("another account's legal entity refuses the whole request", async () => {
    const { monitor, entities } = await build()
    entities.add('other:7')
    const items = [{ phone: b }, { phone: a, legalEntityId: 7 }]
    await expect(monitor.add(me, { items })).rejects.toMatchObject({
      kind: 'invalid-request',
      message: "body[1].LegalEntityId '7': must be a legal entity of the account",
    })
    expect(await monitor.all(me, { maxRecords: 10 })).toEqual({ records: [], total: 0 })
    await monitor.add(other, { items })
  })

  test('first looks are spread over the time they may take', async () => {
    const chances = [0, 0.25, 0.5]
    const { monitor, clock } = await build({
      firstCheckWithinMs: 1000,
      random: () => chances.shift() ?? 0,
    })
    const now = clock.now()
    await monitor.add(me, adding(a, b, c))
    const rows = await database.db.selectFrom('monitored_numbers').select('due_at').execute()
    expect(rows.map(({ due_at }) => due_at - now)).toEqual([0, 250, 500])
  })
})

describe('getting', () => {
  test('a number that is not monitored has no scores, also when another account has it', async () => {
    const { monitor, book, checkAll } = await build()
    await monitor.add(other, adding(a))
    await monitor.add(me, adding(b))
    book.facts.set(a, { ...allClean, AppA: true })
    await checkAll()
    expect(await monitor.get(me, { numbers: [c, a, b, a] })).toEqual([
      { phone: c },
      { phone: a },
      { phone: b, scores: processing },
    ])
  })

  test('lists longer than a page come whole and in order', async () => {
    const { monitor } = await build()
    const numbers = Array.from({ length: 3000 }, (_, at) =>
      n(`212556${String(at).padStart(4, '0')}`),
    )
    await monitor.add(me, adding(...numbers))
    const asked = [...numbers].reverse()
    const found = await monitor.get(me, { numbers: asked })
    expect(found.map(({ phone }) => phone)).toEqual(asked)
    expect(found.every(({ scores }) => scores?.currScore === 'Processing')).toBe(true)
    const all = await monitor.all(me, { maxRecords: 2500 })
    expect(all.total).toBe(3000)
    expect(all.records.map(({ phone }) => phone)).toEqual(numbers.slice(0, 2500))
    const removed = await monitor.remove(me, { numbers: asked })
    expect(removed).toEqual(asked.map((phone) => ({ phone, removed: true })))
    expect(await monitor.all(me, { maxRecords: 2500 })).toEqual({ records: [], total: 0 })
  })

  test('all numbers of the account in their order, and no other', async () => {
    const { monitor } = await build()
    await monitor.add(me, adding(c, a))
    await monitor.add(other, adding(b))
    expect(await monitor.all(me, { maxRecords: 15_000 })).toEqual({
      records: [
        { phone: a, scores: processing },
        { phone: c, scores: processing },
      ],
      total: 2,
    })
    expect(await monitor.all(me, { maxRecords: 1 })).toMatchObject({
      records: [{ phone: a }],
      total: 2,
    })
    expect(await monitor.all(me, { maxRecords: 2 })).toMatchObject({ total: 2 })
  })

  test('more records than one answer carries are refused', async () => {
    const { monitor } = await build()
    await expect(monitor.all(me, { maxRecords: maxRecordsPerReply })).resolves.toMatchObject({
      total: 0,
    })
    await expect(monitor.all(me, { maxRecords: maxRecordsPerReply + 1 })).rejects.toMatchObject({
      kind: 'too-large',
      message: `Too many records requested: maxRecords '${maxRecordsPerReply + 1}' must not be more than ${maxRecordsPerReply}`,
    })
  })
})

describe('removing', () => {
  test('says of each number whether it was monitored', async () => {
    const { monitor } = await build()
    await monitor.add(me, adding(a))
    await monitor.add(other, adding(b))
    expect(await monitor.remove(me, { numbers: [b, a, a] })).toEqual([
      { phone: b, removed: false },
      { phone: a, removed: true },
    ])
    expect(await monitor.get(me, { numbers: [a] })).toEqual([{ phone: a }])
    expect(await monitor.all(other, { maxRecords: 10 })).toMatchObject({ total: 1 })
  })

  test('a number added anew begins anew; what was seen of it is kept', async () => {
    const { monitor, book, checkAll, clock, flags } = await build()
    await monitor.add(me, adding(a))
    book.facts.set(a, { ...allClean, AppA: true, AppB: true, CarrierA: true })
    await checkAll()
    await monitor.remove(me, { numbers: [a] })
    expect(await monitor.add(me, adding(a))).toEqual([{ phone: a, scores: processing }])
    book.facts.set(a, allClean)
    await checkAll()
    const [found] = await monitor.get(me, { numbers: [a] })
    expect(found?.scores).toMatchObject({
      currScore: 'Clean',
      maxScore: 'Clean',
      historicalScore: '0',
    })
    clock.advance(day)
    expect((await flags.summary(me, { days: 7 })).total).toBe(0)
    const kept = await database.db.selectFrom('label_observations').select('flagged').execute()
    expect(kept.map(({ flagged }) => flagged).sort()).toEqual([0, 1 + 16 + 32])
  })
})

test('everything is there after a restart', async () => {
  const first = await build()
  await first.monitor.add(me, adding(a))
  first.book.facts.set(a, { ...allClean, CarrierB: true })
  await first.checkAll()
  const before = await first.monitor.get(me, { numbers: [a] })
  await database.reopen()
  const second = await build({ clock: first.clock })
  expect(await second.monitor.get(me, { numbers: [a] })).toEqual(before)
  expect(before[0]?.scores?.labels.CarrierB).toBe('Flagged')
})
