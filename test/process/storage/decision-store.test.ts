/** Decisions in PostgreSQL: by month, each record once. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { CallOutcome } from '../../../src/domain/call-outcome.js'
import { formatInstant, parseInstant } from '../../../src/domain/time/dates.js'
import { DecisionStore } from '../../../src/gate/journal/projection/decision-store.js'
import type { JournalRecord, RecordKind } from '../../../src/gate/journal/segment-format.js'
import { nodeRuntime } from '../../../src/runtime/runtime.js'
import { openDatabase } from '../../../src/storage/engine.js'
import { migrateSchema } from '../../../src/storage/migrate.js'
import type { OpenDatabase } from '../../../src/storage/open-database.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'

let server: PostgresServer
let storage: OpenDatabase
let store: DecisionStore
const database = 'decision_store'
const query = (text: string) => server.query(text, database)

beforeAll(async () => {
  server = await startPostgres()
  await server.query(`create database ${database}`, 'postgres')
  const postgres = { url: `${server.address}/${database}`, tls: false, maxConnections: 4 }
  storage = await openDatabase({ dataDir: '', lockWaitMs: 100, blockForLockMs: 0, postgres })
  await migrateSchema(storage)
})
afterAll(async () => {
  await storage.close()
  await server.end()
})
beforeEach(async () => {
  for (const name of await monthTables()) await query(`drop table ${name}`)
  await query('truncate journals')
  store = new DecisionStore(storage.db)
})

const at = (text: string) => parseInstant(text) ?? Number.NaN
const newId = (text: string) => nodeRuntime.newDecisionId(at(text))

let seq = 0
const record = (kind: RecordKind, body: object): JournalRecord => {
  seq += 1
  return { seq, kind, at: 0, body: Buffer.from(JSON.stringify(body)) }
}
const decision = (id: string, reason = 'permitted') =>
  record('decision', { id, reason, whatIf: false, accountId: 'main', via: 'http' })
const note = (id: string, outcome: Partial<CallOutcome>, own = true) =>
  record('outcome', { id, own, outcome })

/** Claims the journal for the records, which begin with the first one. */
async function storeAll(origin: string, records: readonly JournalRecord[]) {
  await store.claim(origin, records[0]?.seq ?? 1)
  return await store.store({ origin, records })
}

const monthTables = async () =>
  (
    await query(
      `select relname as name from pg_class where relname like 'recorded_decisions_2%' and relkind = 'r' order by 1`,
    )
  ).map(({ name }) => String(name))

it('a decision is in the table of its month in UTC, to the millisecond', async () => {
  const [last, first] = ['2026-11-30T23:59:59.999Z', '2026-12-01T00:00:00Z'].map(newId)
  await storeAll('one', [decision(last ?? ''), decision(first ?? '')])
  const rows = await query('select tableoid::regclass::text as name, id from recorded_decisions')
  expect(new Map(rows.map(({ id, name }) => [id, name]))).toEqual(
    new Map([
      [last, 'recorded_decisions_2026_11'],
      [first, 'recorded_decisions_2026_12'],
    ]),
  )
  for (const id of [last, first]) expect(await store.find('main', id ?? '')).toMatchObject({ id })
  // The next month is there before its first decision.
  expect(await monthTables()).toContain('recorded_decisions_2027_01')
})

it('a look-up reads one month', async () => {
  const ids = ['2026-09-10', '2026-10-10', '2026-11-10'].map((day) => newId(`${day}T12:00:00Z`))
  await storeAll(
    'one',
    ids.map((id) => decision(id)),
  )
  const plan = await query(`explain select * from recorded_decisions where id = '${ids[1]}'`)
  const text = JSON.stringify(plan)
  expect(text).toContain('recorded_decisions_2026_10')
  expect(text).not.toMatch(/recorded_decisions_2026_(?:09|11)/)
})

it('the same records again change nothing; what is after them is stored', async () => {
  const id = newId('2026-11-10T12:00:00Z')
  const records = [decision(id), note(id, { state: 'dialled', dialledAt: 1 })]
  expect(await storeAll('one', records)).toMatchObject({ decisions: 1, outcomes: 1 })
  const before = await query('select xmin::text, * from recorded_decisions')
  expect(await storeAll('one', records)).toMatchObject({ decisions: 0, outcomes: 0 })
  expect(await query('select xmin::text, * from recorded_decisions')).toEqual(before)
  const more = note(id, { state: 'answered', answeredAt: 2 })
  expect(await store.store({ origin: 'one', records: [...records, more] })).toEqual({
    nextSeq: more.seq + 1,
    decisions: 0,
    outcomes: 1,
  })
  expect(await store.find('main', id)).toMatchObject({
    outcome: { state: 'answered', dialledAt: formatInstant(1), answeredAt: formatInstant(2) },
  })
})

it('records with a gap before them, or of a journal that is not claimed, are refused', async () => {
  const [one, , three] = [0, 1, 2].map(() => decision(newId('2026-11-10T12:00:00Z')))
  if (!one || !three) throw new Error('there are no records')
  await expect(store.store({ origin: 'one', records: [one] })).rejects.toThrow('is not claimed')
  await storeAll('one', [one])
  await expect(store.store({ origin: 'one', records: [three] })).rejects.toThrow(
    `record ${one.seq + 1} of journal one is the next one, not ${three.seq}`,
  )
  expect(await query('select id from recorded_decisions')).toHaveLength(1)
})

it('an amendment replaces its decision, in the same batch and later', async () => {
  const id = newId('2026-11-10T12:00:00Z')
  const amend = (reason: string) =>
    record('amendment', { id, reason, whatIf: false, accountId: 'main', via: 'http' })
  await storeAll('one', [decision(id), amend('late')])
  expect(await store.find('main', id)).toMatchObject({ reason: 'late' })
  await store.store({ origin: 'one', records: [amend('later')] })
  expect(await store.find('main', id)).toMatchObject({ reason: 'later' })
  expect(await store.find('another', id)).toBeUndefined()
})

it('what another server has noted of a call is part of its decision, in whatever order they come', async () => {
  const id = newId('2026-11-10T12:00:00Z')
  const noted = [note(id, { state: 'answered', answeredAt: 3 }, false)]
  await storeAll('two', noted)
  expect(await store.find('main', id)).toBeUndefined()
  await storeAll('one', [decision(id), note(id, { state: 'handed-over', handedOverAt: 1 })])
  expect(await store.find('main', id)).toMatchObject({
    outcome: { state: 'answered', handedOverAt: formatInstant(1), answeredAt: formatInstant(3) },
  })
})

it('a note of something that is no decision holds nothing up', async () => {
  const id = newId('2026-11-10T12:00:00Z')
  await storeAll('one', [note('elsewhere', { state: 'dialled' }, false), decision(id)])
  expect(await store.find('main', id)).toMatchObject({ id })
})

it('months that have expired are dropped, and no decision of theirs comes back', async () => {
  const [old, kept] = ['2021-10-31T23:59:59.999Z', '2021-11-01T00:00:00Z'].map(newId)
  if (!old || !kept) throw new Error('there are no ids')
  const records = [decision(old), decision(kept)]
  await storeAll('one', records)
  expect(await store.removeBefore('one', at('2021-11-01T00:00:00Z'))).toBe(1)
  expect(await store.find('main', old)).toBeUndefined()
  expect(await store.find('main', kept)).toMatchObject({ id: kept })
  // As from the folder of another server.
  const other = new DecisionStore(storage.db)
  await other.claim('two', records[0]?.seq ?? 0)
  await other.store({ origin: 'two', records })
  expect(await other.find('main', old)).toBeUndefined()
  expect(await monthTables()).not.toContain('recorded_decisions_2021_10')
  expect(await store.removeBefore('one', at('2021-11-01T00:00:00Z'))).toBe(0)
})

it('a month stays as long as another server keeps it', async () => {
  const old = newId('2021-10-31T23:59:59.999Z')
  await storeAll('one', [])
  await storeAll('two', [decision(old)])
  expect(await store.removeBefore('one', at('2024-01-01T00:00:00Z'))).toBe(0)
  expect(await store.find('main', old)).toMatchObject({ id: old })
  // With the month after it, which was made ahead.
  expect(await store.removeBefore('two', at('2022-01-01T00:00:00Z'))).toBe(2)
})

it('an erasure is applied to what is stored of its journal, also to what comes in the same batch', async () => {
  const number = '2125550177'
  await query(
    `insert into erasures (id, number, includes_allowed, requested_by, requested_at, rows)
     values ('e1', '${number}', 0, 'test', 0, '[]')`,
  )
  const call = (day: string, more: object) => {
    const id = newId(`${day}T12:00:00Z`)
    const fixed = { whatIf: false, findings: [], accountId: 'main', via: 'http' }
    return { id, record: record('decision', { id, number, dialed: number, ...fixed, ...more }) }
  }
  const blocked = [
    call('2026-10-10', { decision: 'block' }),
    call('2026-11-10', { decision: 'block' }),
  ]
  const allowed = call('2026-11-10', { decision: 'allow' })
  const other = call('2026-11-11', {
    decision: 'block',
    number: '2125550178',
    dialed: '+1 212 555 0178',
  })
  const mentioned = call('2026-11-11', {
    decision: 'block',
    number: '2125550178',
    dialed: '212.555.0178',
    callerId: '+1 (212) 555-0177',
  })
  await storeAll(
    'one',
    blocked.map((one) => one.record),
  )
  const records = [allowed, other, mentioned].map((one) => one.record)
  const erasure = record('erasure', { id: 'e1' })
  const later = call('2026-11-12', { decision: 'block' })
  expect(
    await store.store({ origin: 'one', records: [...records, erasure, later.record] }),
  ).toMatchObject({ decisions: 4, nextSeq: later.record.seq + 1 })
  for (const { id } of blocked) {
    expect(await store.find('main', id)).toMatchObject({ id, number: '', dialed: '', erased: true })
  }
  expect(await store.find('main', mentioned.id)).toMatchObject({
    callerId: expect.stringContaining('xxx'),
  })
  expect(await store.find('main', other.id)).toMatchObject({ number: '2125550178' })
  for (const { id } of [allowed, later])
    expect(await store.find('main', id)).toMatchObject({ number })
  // The records as they were before change nothing.
  const before = await query('select * from recorded_decisions order by id')
  await storeAll(
    'one',
    blocked.map((one) => one.record),
  )
  expect(await query('select * from recorded_decisions order by id')).toEqual(before)
})

it('several servers make the same months at once', async () => {
  const ids = Array.from({ length: 4 }, () => newId('2026-11-10T12:00:00Z'))
  await Promise.all(
    ids.map(async (id, index) => {
      const one = new DecisionStore(storage.db)
      await one.claim(`server ${index}`, 1)
      await one.store({ origin: `server ${index}`, records: [{ ...decision(id), seq: 1 }] })
    }),
  )
  expect(await query('select id from recorded_decisions')).toHaveLength(4)
})
