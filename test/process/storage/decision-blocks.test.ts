/** Blocks of decisions in PostgreSQL: when it crashes, beside servers that do not know them, and without erased numbers. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { CallOutcome } from '../../../src/domain/call-outcome.js'
import { formatInstant, parseInstant } from '../../../src/domain/time/dates.js'
import { packBlocks, unpackDecisions } from '../../../src/gate/journal/projection/block-format.js'
import { mayMeet } from '../../../src/gate/journal/projection/block-terms.js'
import { DecisionStore } from '../../../src/gate/journal/projection/decision-store.js'
import { eraseStoredRows } from '../../../src/gate/journal/projection/erase-rows.js'
import type { JournalRecord, RecordKind } from '../../../src/gate/journal/segment-format.js'
import type { DecisionDocument } from '../../../src/gate/record/decision-document.js'
import { readRecord } from '../../../src/gate/record/read-record.js'
import { nodeRuntime } from '../../../src/runtime/runtime.js'
import { openDatabase } from '../../../src/storage/engine.js'
import { migrateSchema } from '../../../src/storage/migrate.js'
import type { OpenDatabase } from '../../../src/storage/open-database.js'
import { until } from '../../e2e/asterisk/lab/until.js'
import { bodyOf as twoParts } from '../../support/journal.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'

let server: PostgresServer
let storage: OpenDatabase
let store: DecisionStore
const database = 'decision_blocks'
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
  await query('truncate journals, erasures, erased_journals, decision_blocks, recorded_outcomes')
  store = new DecisionStore(storage.db)
})

const noon = parseInstant('2026-11-10T12:00:00Z') ?? 0
const newId = (at = noon) => nodeRuntime.newDecisionId(at)

let seq = 0
const record = (kind: RecordKind, body: object): JournalRecord => {
  seq += 1
  const text = 'findings' in body ? twoParts(body as DecisionDocument) : JSON.stringify(body)
  return { seq, kind, at: noon, body: Buffer.from(text) }
}
const bodyOf = (id: string, more: object = {}) => ({
  id,
  decision: 'block',
  reason: 'litigator',
  message: '',
  number: '2125550100',
  callKind: 'manual',
  whatIf: false,
  findings: [],
  accountId: 'main',
  via: 'http',
  dialed: '2125550100',
  ...more,
})
const decision = (id: string, more: object = {}) => record('decision', bodyOf(id, more))
const amendment = (id: string, reason: string) => record('amendment', bodyOf(id, { reason }))
const note = (id: string, outcome: Partial<CallOutcome>) =>
  record('outcome', { id, own: true, outcome })

async function readBlocks() {
  const rows = await query('select * from decision_blocks order by last_id, origin')
  const read = rows.map(async ({ body, ...row }) => ({
    ...row,
    ids: (await unpackDecisions(body as Buffer)).map(({ id }) => id),
  }))
  return await Promise.all(read)
}

it('a block has decisions of ten seconds, of a quarter of a megabyte, and at most 256', async () => {
  const entry = (madeAt: number, size = 10) => {
    const id = newId(madeAt)
    seq += 1
    const body = Buffer.from(
      twoParts(bodyOf(id, { message: 'x'.repeat(size) }) as unknown as DecisionDocument),
    )
    return { seq, id, madeAt, body, amends: false }
  }
  const split = (entries: ReturnType<typeof entry>[]) =>
    packBlocks(entries).map(({ decisions }) => decisions)
  expect(split([entry(noon), entry(noon + 9_999), entry(noon + 10_000), entry(noon + 1)])).toEqual([
    3, 1,
  ])
  expect(split(Array.from({ length: 600 }, () => entry(noon)))).toEqual([256, 256, 88])
  expect(split(Array.from({ length: 5 }, () => entry(noon, 100_000)))).toEqual([2, 2, 1])
  // A record may have a megabyte.
  expect(split([entry(noon, 900_000), entry(noon)])).toEqual([1, 1])
  const entries = [entry(noon + 5), entry(noon), entry(noon + 3)]
  const [block] = packBlocks(entries)
  expect(block).toMatchObject({
    first_id: entries[1]?.id,
    last_id: entries[0]?.id,
    first_seq: entries[0]?.seq,
    amends: 0,
  })
  expect(await unpackDecisions(block?.body ?? Buffer.alloc(0))).toEqual(
    entries.map(({ id, body }) => ({ id, body })),
  )
})

it('what PostgreSQL loses in a crash is copied again, each record once', async () => {
  const ids = Array.from({ length: 40 }, () => newId())
  const records = ids.flatMap((id) => [decision(id), note(id, { state: 'dialled', dialledAt: 1 })])
  const origin = 'one'
  const [{ seq: firstSeq } = { seq: 0 }] = records
  await store.claim(origin, firstSeq)
  for (let index = 0; index < records.length; index += 10) {
    await store.store({ origin, records: records.slice(index, index + 10) })
  }
  const [{ pid } = { pid: undefined }] = await query(
    `select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
  )
  // All of its memory is lost with it, as in a crash of the whole.
  process.kill(Number(pid), 'SIGKILL')
  const later = decision(newId())
  await until('it is there again', async () => {
    try {
      const { nextSeq } = await store.claim(origin, firstSeq)
      const rest = [...records, later].filter((one) => one.seq >= nextSeq)
      const inBlocks = (await readBlocks()).flatMap((block) => block.ids)
      // The position and what is stored are of one moment.
      expect(inBlocks).toHaveLength(
        records.filter((one) => one.kind === 'decision' && one.seq < nextSeq).length,
      )
      await store.store({ origin, records: rest })
      return true
    } catch (cause) {
      if (cause instanceof Error && cause.name === 'AssertionError') throw cause
      return false
    }
  })
  const stored = (await readBlocks()).flatMap((block) => block.ids)
  expect(stored.length).toBe(41)
  expect(new Set(stored).size).toBe(41)
  for (const id of ids) {
    expect(await store.find('main', id)).toMatchObject({ id, outcome: { state: 'dialled' } })
  }
})

it('a transaction that fails after its blocks leaves nothing', async () => {
  const one = decision(newId())
  await store.claim('one', one.seq)
  await query(`create function refuse() returns trigger as $$ begin raise 'refused'; end $$ language plpgsql;
    create trigger refuse before update on journals for each row execute function refuse()`)
  await expect(store.store({ origin: 'one', records: [one] })).rejects.toThrow('refused')
  await query('drop function refuse cascade')
  expect(await readBlocks()).toEqual([])
  await store.store({ origin: 'one', records: [one] })
  expect(await readBlocks()).toHaveLength(1)
})

it('records after a position that went back are refused until the journal is claimed again', async () => {
  const [one, two, three] = [decision(newId()), decision(newId()), decision(newId())]
  await store.claim('one', one.seq)
  await store.store({ origin: 'one', records: [one] })
  await store.store({ origin: 'one', records: [two] })
  await query(
    `update journals set next_seq = ${two.seq}; delete from decision_blocks where first_seq = ${two.seq}`,
  )
  await expect(store.store({ origin: 'one', records: [three] })).rejects.toThrow(
    `record ${two.seq} of journal one is the next one`,
  )
  expect((await store.claim('one', one.seq)).nextSeq).toBe(two.seq)
  await store.store({ origin: 'one', records: [two, three] })
  expect((await readBlocks()).flatMap(({ ids }) => ids)).toHaveLength(3)
})

it('a journal restored from an older copy keeps what was stored of it, and goes on', async () => {
  const [old, lost] = [decision(newId()), decision(newId())]
  await store.claim('one', old.seq)
  await store.store({ origin: 'one', records: [old, lost] })
  const other = { ...decision(newId()), seq: lost.seq }
  expect((await store.claim('one', old.seq, lost.seq)).nextSeq).toBe(lost.seq)
  await store.store({ origin: 'one', records: [other] })
  for (const { body } of [old, lost, other]) {
    const { id } = readRecord('decision', { body })
    expect(await store.find('main', id)).toMatchObject({ id })
  }
})

it('an erased number is in no block, in no term of one, and in no outcome', async () => {
  const number = '2125550177'
  await query(
    `insert into erasures (id, number, includes_allowed, requested_by, requested_at, rows)
     values ('e1', '${number}', 0, 'test', 0, '[]')`,
  )
  const ids = Array.from({ length: 300 }, (_, index) => newId(noon + index * 100))
  const records = ids.map((id, index) =>
    decision(id, index % 3 === 0 ? { number, dialed: `+1 ${number}`, reference: `ref-${id}` } : {}),
  )
  records.push(note(ids[0] ?? '', { state: 'dialled', leg: `SIP/${number}` }))
  for (const origin of ['one', 'two', 'main edge 1'])
    await store.claim(origin, records[0]?.seq ?? 1)
  for (const origin of ['one', 'two', 'main edge 1']) await store.store({ origin, records })
  const before = await readBlocks()
  const hasTerm = async (value: string) =>
    await storage.db
      .selectFrom('decision_blocks')
      .select('origin')
      .where(mayMeet('main', { number: value }))
      .execute()
  expect((await hasTerm(number)).length).toBeGreaterThan(5)
  await eraseStoredRows(storage.db, 'one', 'e1')
  await eraseStoredRows(storage.db, 'two', 'e1')
  const bodies = await query('select body from decision_blocks')
  for (const { body } of bodies) {
    for (const one of await unpackDecisions(body as Buffer)) {
      expect(one.body.toString()).not.toContain(number)
      if (!one.body.includes('\t#')) expect(one.body.toString()).toContain('2125550100')
    }
  }
  expect(JSON.stringify(await query('select outcome from recorded_outcomes'))).not.toContain(number)
  expect(await hasTerm(number)).toEqual([])
  expect((await hasTerm('2125550100')).length).toBe(before.length)
  const places = (blocks: typeof before) =>
    blocks.map(({ ids: in_, ...block }) => ({ in_, ...block, terms: '' }))
  expect(places(await readBlocks())).toEqual(places(before))
  expect(await store.find('main', ids[0] ?? '')).toMatchObject({ number: '', erased: true })
  expect(await store.find('main', ids[1] ?? '')).toMatchObject({ number: '2125550100' })
})

it('a later block amends a decision, and what is noted of its call is merged', async () => {
  const [first, second] = [newId(), newId()]
  const early = decision(first)
  await store.claim('one', early.seq)
  const handedOver = note(first, { state: 'handed-over', handedOverAt: 1 })
  await store.store({ origin: 'one', records: [early, handedOver] })
  const answered = note(first, { state: 'answered', answeredAt: 2 })
  const later = [amendment(first, 'late'), decision(second), answered]
  await store.store({
    origin: 'one',
    records: later.map((one, index) => ({ ...one, seq: handedOver.seq + 1 + index })),
  })
  expect(await readBlocks()).toMatchObject([{ decisions: 1 }, { amends: 1, decisions: 2 }])
  expect(await store.find('main', first)).toMatchObject({
    reason: 'late',
    outcome: { state: 'answered', handedOverAt: formatInstant(1), answeredAt: formatInstant(2) },
  })
})
