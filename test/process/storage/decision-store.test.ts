/** Decisions in PostgreSQL: by month, each record once. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type KyselyPlugin, sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { CallOutcome } from '../../../src/domain/call-outcome.js'
import { createOperatorCaller } from '../../../src/domain/caller.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import { formatInstant, msPerDay, parseInstant } from '../../../src/domain/time/dates.js'
import { createEdgeDecisionsRoute } from '../../../src/edge/edge-decisions-route.js'
import { writeFormerOrigins } from '../../../src/gate/journal/journal-beginning.js'
import { hashOriginName } from '../../../src/gate/journal/journal-origin.js'
import { DecisionStore } from '../../../src/gate/journal/projection/decision-store.js'
import { eraseStoredRows } from '../../../src/gate/journal/projection/erase-rows.js'
import { claimJournal } from '../../../src/gate/journal/projection/journal-projection.js'
import { readRange } from '../../../src/gate/journal/projection/read-range.js'
import type { JournalRecord, RecordKind } from '../../../src/gate/journal/segment-format.js'
import type { DecisionDocument } from '../../../src/gate/record/decision-document.js'
import { readRecord } from '../../../src/gate/record/read-record.js'
import { nodeRuntime } from '../../../src/runtime/runtime.js'
import { Erasures } from '../../../src/service/erasure/erasure.js'
import { openDatabase } from '../../../src/storage/engine.js'
import { migrateSchema } from '../../../src/storage/migrate.js'
import type { OpenDatabase } from '../../../src/storage/open-database.js'
import { bodyOf } from '../../support/journal.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { readStoredDecisions } from '../../support/stored-decisions.js'

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
const parents = ['decision_blocks', 'recorded_outcomes'] as const

beforeEach(async () => {
  for (const parent of parents) {
    for (const name of await monthTables(parent)) await query(`drop table ${name}`)
  }
  await query('truncate journals, erasures')
  store = new DecisionStore(storage.db)
})

const at = (text: string) => parseInstant(text) ?? Number.NaN
const newId = (text: string) => nodeRuntime.newDecisionId(at(text))

let seq = 0
const record = (kind: RecordKind, body: object): JournalRecord => {
  seq += 1
  const text = 'findings' in body ? bodyOf(body as DecisionDocument) : JSON.stringify(body)
  return { seq, kind, at: 0, body: Buffer.from(text) }
}
const judged = { whatIf: false, number: '', dialed: '', findings: [], accountId: 'main' }
const decision = (id: string, reason = 'permitted') =>
  record('decision', { id, reason, ...judged, via: 'http' })
const note = (id: string, outcome: Partial<CallOutcome>, own = true) =>
  record('outcome', { id, own, outcome })

/** Claims the journal for the records, which begin with the first one. */
async function storeAll(origin: string, records: readonly JournalRecord[]) {
  await store.claim(origin, records[0]?.seq ?? 1)
  return await store.store({ origin, records })
}

const monthTables = async (parent = 'decision_blocks') =>
  (
    await query(
      `select relname as name from pg_class where relname like '${parent}_2%' and relkind = 'r' order by 1`,
    )
  ).map(({ name }) => String(name))

const readStored = () => readStoredDecisions(query)

describe('in blocks', () => {
  it('a decision is in the table of its month in UTC, to the millisecond', async () => {
    const [last, first] = ['2026-11-30T23:59:59.999Z', '2026-12-01T00:00:00Z'].map(newId)
    await storeAll('one', [decision(last ?? ''), decision(first ?? '')])
    expect((await readStored()).map(({ id, name }) => [id, name])).toEqual([
      [last, 'decision_blocks_2026_11'],
      [first, 'decision_blocks_2026_12'],
    ])
    for (const id of [last, first]) expect(await store.find('main', id ?? '')).toMatchObject({ id })
    // The next month is there before its first decision.
    for (const parent of parents) expect(await monthTables(parent)).toContain(`${parent}_2027_01`)
  })

  it('a look-up reads one month', async () => {
    const ids = ['2026-09-10', '2026-10-10', '2026-11-10'].map((day) => newId(`${day}T12:00:00Z`))
    await storeAll(
      'one',
      ids.map((id) => decision(id)),
    )
    const locked = await storage.db.transaction().execute(async (transaction) => {
      expect(await new DecisionStore(transaction).find('main', ids[1] ?? '')).toBeDefined()
      const { rows } = await sql<{ readonly name: string }>`
      select distinct relation::regclass::text as name from pg_locks
      where pid = pg_backend_pid() and relation::regclass::text like '%\\_2026\\___'`.execute(
        transaction,
      )
      return rows.map(({ name }) => name)
    })
    expect(locked).toContain('decision_blocks_2026_10')
    for (const name of locked) expect(name).toMatch(/_2026_10$/)
  })

  it('the decisions of a time are read in their order, each with what all journals say of it', async () => {
    const instants = Array.from(
      { length: 1_234 },
      (_, index) => at('2026-11-30T23:50:00Z') + index * 1_000,
    )
    const ids = instants.map((instant) => nodeRuntime.newDecisionId(instant))
    await storeAll(
      'one',
      ids.map((id) => decision(id)),
    )
    await storeAll(
      'two',
      ids.map((id) => note(id, { state: 'dialled', dialledAt: 1 }, false)),
    )
    const range = { since: (instants[3] ?? 0) + 1, until: instants[1_230] ?? 0 }
    const read = async (time: typeof range) => {
      const found: string[] = []
      for await (const { body, outcome } of readRange(storage.db, time)) {
        expect(outcome).toEqual({ state: 'dialled', dialledAt: 1 })
        found.push(readRecord('decision', { body }).id)
      }
      return found
    }
    expect(await read(range)).toEqual(ids.slice(4, 1_230))
    // A note of a decision that nobody has is none.
    await storeAll('three', [note(newId('2026-10-10T12:00:00Z'), { state: 'failed' }, false)])
    const october = { since: at('2026-10-01'), until: at('2026-11-01') }
    expect(await read(october)).toEqual([])
  })

  it('a journal that goes on under another name is copied from where the old copy ends, and no erasure waits for the old one', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'callgate-claim-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const [old, next] = ['callgate/journal/old', 'callgate/journal/next']
    const [oldHash = '', nextHash = ''] = [old, next].map((name) =>
      hashOriginName(name).toString('hex'),
    )
    seq = 0
    const id = newId('2026-11-10T12:00:00Z')
    await storeAll(oldHash, [record('opened', {}), decision(id), record('opened', {})])
    const entry = { origin: old, key: '', size: 3, root: '', because: 'test', at: '', next }
    writeFormerOrigins(folder, [entry])
    // The journal was rolled back to its second record, and has written the third one anew.
    expect(await claimJournal(store, folder, nextHash, 3)).toBe(3)
    seq = 2
    await store.store({ origin: nextHash, records: [note(id, { state: 'dialled', dialledAt: 1 })] })
    // As after a restart.
    expect(await claimJournal(store, folder, nextHash, 4)).toBe(4)
    expect(await claimJournal(store, folder, nextHash)).toBe(4)
    expect(await store.find('main', id)).toMatchObject({ id, outcome: { state: 'dialled' } })
    const shipped = await query('select origin, shipped from journals order by shipped')
    expect(shipped).toEqual([
      { origin: nextHash, shipped: 0 },
      { origin: oldHash, shipped: 1 },
    ])
  })

  it('the same records again are refused and change nothing; those after them are stored', async () => {
    const id = newId('2026-11-10T12:00:00Z')
    const records = [decision(id), note(id, { state: 'dialled', dialledAt: 1 })]
    expect(await storeAll('one', records)).toMatchObject({ decisions: 1, outcomes: 1 })
    const before = await readStored()
    expect(before).toHaveLength(1)
    await expect(storeAll('one', records)).rejects.toThrow('is the next one, not')
    expect(await readStored()).toEqual(before)
    const more = note(id, { state: 'answered', answeredAt: 2 })
    expect(await store.store({ origin: 'one', records: [more] })).toEqual({
      nextSeq: more.seq + 1,
      decisions: 0,
      outcomes: 1,
    })
    expect(await store.find('main', id)).toMatchObject({
      outcome: { state: 'answered', dialledAt: formatInstant(1), answeredAt: formatInstant(2) },
    })
  })

  it('a decision is stored as it is in the journal, whatever is in it', async () => {
    const id = newId('2026-11-10T12:00:00Z')
    const odd = decision(id, 'São Paulo “quoted” \\ "{}" NULL 📞 \u0000\n')
    await storeAll('one', [odd])
    expect(await readStored()).toMatchObject([{ id, body: odd.body.toString() }])
    expect(await store.find('main', id)).toEqual(readRecord('decision', odd))
  })

  it('records with a gap before them, or of a journal that is not claimed, are refused', async () => {
    const [one, , three] = [0, 1, 2].map(() => decision(newId('2026-11-10T12:00:00Z')))
    if (!one || !three) throw new Error('there are no records')
    await expect(store.store({ origin: 'one', records: [one] })).rejects.toThrow('is not claimed')
    await storeAll('one', [one])
    await expect(store.store({ origin: 'one', records: [three] })).rejects.toThrow(
      `record ${one.seq + 1} of journal one is the next one, not ${three.seq}`,
    )
    expect(await readStored()).toHaveLength(1)
  })

  it('an amendment replaces its decision, in the same batch and later', async () => {
    const id = newId('2026-11-10T12:00:00Z')
    const amend = (reason: string) => record('amendment', { id, reason, ...judged, via: 'http' })
    await storeAll('one', [decision(id), amend('late')])
    expect(await store.find('main', id)).toMatchObject({ reason: 'late' })
    expect(await store.findJournal('main', id)).toBe('one')
    expect(await store.findJournal('another', id)).toBeUndefined()
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

  it('what others have noted is found without what the journal itself has, and without edges of other accounts', async () => {
    const id = newId('2026-11-10T12:00:00Z')
    await storeAll('one', [decision(id), note(id, { state: 'handed-over', handedOverAt: 1 })])
    expect(await store.findNotes('main', id, 'one')).toEqual({})
    await storeAll('two', [note(id, { state: 'answered', answeredAt: 3 }, false)])
    await storeAll('main edge 1', [note(id, { endedAt: 4 }, false)])
    await storeAll('other edge 1', [note(id, { cause: 17 }, false)])
    expect(await store.findNotes('main', id, 'one')).toEqual({
      state: 'answered',
      answeredAt: 3,
      endedAt: 4,
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
    expect(await store.removeBefore('one', at('2021-11-01T00:00:00Z'))).toBe(true)
    expect(await store.find('main', old)).toBeUndefined()
    expect(await store.find('main', kept)).toMatchObject({ id: kept })
    // As from the folder of another server.
    const other = new DecisionStore(storage.db)
    await other.claim('two', records[0]?.seq ?? 0)
    await other.store({ origin: 'two', records })
    expect(await other.find('main', old)).toBeUndefined()
    for (const parent of parents)
      expect(await monthTables(parent)).not.toContain(`${parent}_2021_10`)
    expect(await store.removeBefore('one', at('2021-11-01T00:00:00Z'))).toBe(true)
  })

  it('a month stays as long as another server keeps it', async () => {
    const old = newId('2021-10-31T23:59:59.999Z')
    await storeAll('one', [])
    await storeAll('two', [decision(old)])
    expect(await store.removeBefore('one', at('2024-01-01T00:00:00Z'))).toBe(true)
    expect(await store.find('main', old)).toMatchObject({ id: old })
    // With the month after it, which was made ahead.
    expect(await store.removeBefore('two', at('2022-01-01T00:00:00Z'))).toBe(true)
    for (const parent of parents) expect(await monthTables(parent)).toEqual([])
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
      expect(await store.find('main', id)).toMatchObject({
        id,
        number: '',
        dialed: '',
        erased: true,
      })
    }
    expect(await store.find('main', mentioned.id)).toMatchObject({
      callerId: expect.stringContaining('xxx'),
    })
    expect(await store.find('main', other.id)).toMatchObject({ number: '2125550178' })
    for (const { id } of [allowed, later])
      expect(await store.find('main', id)).toMatchObject({ number })
    // The records as they were before change nothing.
    const before = await readStored()
    const again = blocked.map((one) => one.record)
    await expect(storeAll('one', again)).rejects.toThrow('is the next one, not')
    expect(await readStored()).toEqual(before)
  })

  it('whoever reads for long holds up neither a new month nor, for long, the removal of an old one', async () => {
    const [old, current] = ['2021-10-31T12:00:00Z', '2026-11-10T12:00:00Z'].map(newId)
    await storeAll('one', [decision(old ?? '')])
    const reader = new pg.Client(`${server.address}/${database}`)
    await reader.connect()
    try {
      await reader.query('begin; select count(*) from decision_blocks')
      const started = performance.now()
      await store.store({ origin: 'one', records: [decision(current ?? '')] })
      expect(await monthTables()).toContain('decision_blocks_2026_12')
      const removal = store.removeBefore('one', at('2022-01-01T00:00:00Z'))
      // It waits for the reader, and this one for it.
      expect(await store.find('main', current ?? '')).toMatchObject({ id: current })
      expect(await removal).toBe(false)
      // Any other statement would wait ten seconds for a lock.
      expect(performance.now() - started).toBeLessThan(8_000)
      expect(await monthTables()).toContain('decision_blocks_2021_10')
    } finally {
      await reader.end()
    }
    expect(await store.removeBefore('one', at('2022-01-01T00:00:00Z'))).toBe(true)
    expect(await monthTables()).toEqual(['decision_blocks_2026_11', 'decision_blocks_2026_12'])
  })

  it('what an edge sends after an erasure is without the number, but not what it has recorded since', async () => {
    const number = '2125550166'
    const requestedAt = at('2026-11-20T00:00:00Z')
    await query(
      `insert into erasures (id, number, includes_allowed, requested_by, requested_at, rows, account_id, finished_at)
     values ('e2', '${number}', 0, 'test', ${requestedAt}, '[]', null, ${requestedAt}),
       ('e3', '2125550165', 0, 'test', ${requestedAt}, '[]', 'another', null)`,
    )
    const call = (day: string, more: object = {}) => {
      const id = newId(`${day}T12:00:00Z`)
      const fixed = { whatIf: false, findings: [], accountId: 'main', via: 'http' }
      const body = { id, decision: 'block', number, dialed: number, ...fixed, ...more }
      return { id, record: { ...record('decision', body), at: at(`${day}T12:00:00Z`) } }
    }
    const blocked = call('2026-11-10')
    const allowed = call('2026-11-10', { decision: 'allow' })
    const ofAnother = call('2026-11-10', { number: '2125550165', dialed: '2125550165' })
    const later = call('2026-11-21')
    const noted = {
      ...note(blocked.id, { state: 'dialled', leg: `SIP/${number}` }),
      at: requestedAt,
    }
    const records = [...[blocked, allowed, ofAnother, later].map((one) => one.record), noted]
    await storeAll(
      'main edge 1',
      records.map((one, index) => ({ ...one, seq: (records[0]?.seq ?? 0) + index })),
    )
    expect(await store.find('main', blocked.id)).toMatchObject({ number: '', erased: true })
    const stored = (await readStored()).find((one) => one.id === blocked.id)
    expect(stored?.body).not.toContain(number)
    const noteRows = await query(`select outcome from recorded_outcomes where id = '${blocked.id}'`)
    expect(JSON.stringify(noteRows)).not.toContain(number)
    for (const { id } of [allowed, later])
      expect(await store.find('main', id)).toMatchObject({ number })
    expect(await store.find('main', ofAnother.id)).toMatchObject({ number: '2125550165' })
  })

  it('a route of edges looks for its months once', async () => {
    const read: string[] = []
    const plugin: KyselyPlugin = {
      transformQuery: ({ node }) => {
        if (node.kind === 'RawNode') read.push(node.sqlFragments.join(' '))
        return node
      },
      transformResult: async ({ result }) => result,
    }
    const route = createEdgeDecisionsRoute(
      { db: storage.db.withPlugin(plugin), traits: storage.traits },
      '',
    )
    const origin = '0'.repeat(64)
    const send = (records: readonly object[]) =>
      route.handle(
        { origin, firstSeq: 1, records },
        { caller: createOperatorCaller('main'), jsonRequested: true },
      )
    await send([])
    for (const number of [1, 2, 3]) {
      const id = newId('2026-11-10T12:00:00Z')
      const body = { id, whatIf: false, number: '', dialed: '', findings: [], accountId: 'main' }
      await send([
        { seq: number, kind: 'decision', at: 1, body: bodyOf(body as object as DecisionDocument) },
      ])
    }
    expect(await readStored()).toHaveLength(3)
    expect(read.filter((text) => text.includes('pg_advisory_xact_lock'))).toHaveLength(1)
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
    expect(await readStored()).toHaveLength(4)
  })
})

it('the number of an erasure that is done is kept for thirty days if there are edges', async () => {
  let now = at('2026-11-20T00:00:00Z')
  const clock = { now: () => now }
  const { randomBytes } = nodeRuntime
  const erasures = new Erasures({ storage, clock, randomBytes })
  const readNumbers = async () =>
    (await query('select number from erasures')).map(({ number }) => number)
  const eraseOnce = async () => {
    const number = toPhoneNumber('2125550166')
    const who = { accountId: undefined, requestedBy: 'test', reason: undefined, keepYears: 5 }
    const id = await erasures.request({
      ...who,
      number,
      includesAllowed: false,
    })
    await eraseStoredRows(storage.db, 'one', id)
    await erasures.finishJournal(id, 'one', { erased: 0, kept: 0 })
    expect((await erasures.find(id))?.decisions).toEqual({ erased: 0, kept: 0 })
  }
  await storeAll('one', [])
  await eraseOnce()
  expect(await readNumbers()).toEqual([null])
  await query('truncate erasures')
  await storeAll('main edge 1', [])
  await eraseOnce()
  now += 30 * msPerDay - 1
  await erasures.deleteExpired(now)
  expect(await readNumbers()).toEqual(['2125550166'])
  now += 1
  await erasures.deleteExpired(now)
  expect(await readNumbers()).toEqual([null])
})
