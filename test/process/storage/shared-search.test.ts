/** The search over what all servers have copied to PostgreSQL, against one that looks at everything. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { CallOutcome } from '../../../src/domain/call-outcome.js'
import { type Caller, noLimits, normalizeProjectCode } from '../../../src/domain/caller.js'
import { parseInstant } from '../../../src/domain/time/dates.js'
import { readIdInstant } from '../../../src/gate/journal/projection/decision-months.js'
import { DecisionStore } from '../../../src/gate/journal/projection/decision-store.js'
import { SharedSearch } from '../../../src/gate/journal/projection/shared-search.js'
import type { DecisionFilter } from '../../../src/gate/journal/search/decision-search.js'
import type { JournalRecord, RecordKind } from '../../../src/gate/journal/segment-format.js'
import type { DecisionDocument } from '../../../src/gate/record/decision-document.js'
import { nodeRuntime } from '../../../src/runtime/runtime.js'
import { openDatabase } from '../../../src/storage/engine.js'
import { migrateSchema } from '../../../src/storage/migrate.js'
import type { OpenDatabase } from '../../../src/storage/open-database.js'
import { bodyOf as twoParts } from '../../support/journal.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { seededRandom } from '../../support/remote-gate.js'

let server: PostgresServer
let storage: OpenDatabase
let store: DecisionStore
let search: SharedSearch
const database = 'shared_search'
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
  const tables = await query(
    `select relname as name from pg_class where relkind = 'r' and relname ~ '_\\d{4}_\\d\\d$'`,
  )
  for (const { name } of tables) await query(`drop table ${name}`)
  await query('truncate journals')
  store = new DecisionStore(storage.db)
  search = new SharedSearch(storage.db)
  seqs.clear()
})

const start = parseInstant('2026-10-31T23:59:00Z') ?? 0
const seqs = new Map<string, number>()

function record(origin: string, kind: RecordKind, body: object): JournalRecord {
  const seq = (seqs.get(origin) ?? 0) + 1
  seqs.set(origin, seq)
  const text = 'findings' in body ? twoParts(body as DecisionDocument) : JSON.stringify(body)
  return { seq, kind, at: start, body: Buffer.from(text) }
}

type Body = Omit<DecisionDocument, 'outcome'>

function bodyOf(at: number, more: Partial<Body> = {}): Body {
  const [decision, reason] =
    more.decision === 'block' ? ['block', 'litigator'] : ['allow', 'permitted']
  const beginning = { id: nodeRuntime.newDecisionId(at), decision, reason, message: 'São "x"' }
  const document = {
    ...beginning,
    number: '2125550100',
    callKind: 'manual',
    whatIf: false,
    findings: [],
    accountId: 'main',
    keyId: 'key-1',
    via: 'http',
    dialed: '2125550100',
    ...more,
  }
  return document as unknown as Body
}

async function storeAll(origin: string, records: readonly JournalRecord[]): Promise<void> {
  await store.claim(origin, records[0]?.seq ?? 1)
  await store.store({ origin, records })
}

const callerOf = (accountId: string, limits: Caller['limits'] = noLimits) => ({
  accountId,
  keyId: 'key-1',
  limits,
})

/** All pages, which must go on until the last one and give each decision once. */
async function searchAll(filter: DecisionFilter, { limit = 7, caller = callerOf('main') } = {}) {
  const found: DecisionDocument[] = []
  let before: string | undefined
  for (let pages = 0; pages < 1_000; pages += 1) {
    const page = await search.search({ caller, filter, before, limit })
    expect(page.decisions.length).toBeLessThanOrEqual(limit)
    found.push(...page.decisions)
    expect(page.searchedBackTo === undefined).toBe(page.next === undefined)
    if (page.next === undefined) return found
    expect(before === undefined || page.next < before).toBe(true)
    for (const { id } of page.decisions) expect(id >= page.next).toBe(true)
    before = page.next
  }
  throw new Error('there is no last page')
}

it('finds what one that looks at everything finds, over months, servers and edges', async () => {
  const random = seededRandom(148)
  const pick = <Value>(values: readonly Value[]) =>
    values[Math.floor(random() * values.length)] as Value
  const numbers = Array.from(
    { length: 30 },
    (_, index) => `21255501${String(index).padStart(2, '0')}`,
  )
  const decided = new Map<string, Body>()
  const origins = new Map<string, string>()
  const outcomes = new Map<string, CallOutcome>()
  const newBody = (at: number, accountId: string) =>
    bodyOf(at, {
      accountId,
      decision: pick(['allow', 'block']),
      number: pick(numbers),
      callKind: pick(['manual', 'ai']),
      via: pick(['http', 'predial']),
      keyId: pick(['key-1', 'key-2', undefined]),
      projectId: pick([undefined, 'Sales', 'sales ', 'OTHER']),
      reference: random() < 0.1 ? pick(['é', 'a "b"', 'ref-1']) : undefined,
      whatIf: random() < 0.1,
    })
  for (let batch = 0; batch < 24; batch += 1) {
    const origin = pick(['one', 'two', 'main edge 1', 'other edge 1'])
    const ofEdge = /^(\w+) edge/.exec(origin)?.[1]
    const records: JournalRecord[] = []
    for (let index = 0; index < 120; index += 1) {
      const at = start + batch * 5_000 + Math.floor(random() * 9_000)
      const body = newBody(at, ofEdge ?? pick(['main', 'main', 'other']))
      records.push(record(origin, 'decision', body))
      decided.set(body.id, body)
      origins.set(body.id, origin)
      if (random() < 0.05) {
        const amended = { ...body, decision: 'block', reason: 'late' } as Body
        records.push(record(origin, 'amendment', amended))
        decided.set(body.id, amended)
      }
      if (random() < 0.2) {
        const outcome: CallOutcome = { state: 'handed-over', handedOverAt: at }
        records.push(record(origin, 'outcome', { id: body.id, own: true, outcome }))
        outcomes.set(body.id, outcome)
      }
    }
    // Of decisions in earlier batches.
    const own = [...decided.values()].filter(({ id }) => origins.get(id) === origin)
    for (let index = 0; index < 3 && own.length > 0; index += 1) {
      const amended = { ...pick(own), decision: 'block', reason: 'late' } as Body
      records.push(record(origin, 'amendment', amended))
      decided.set(amended.id, amended)
    }
    await storeAll(origin, records)
  }
  const expectSame = async (filter: DecisionFilter, limit = 50) => {
    const { from = 0, to = Number.POSITIVE_INFINITY, projectId, ...texts } = filter
    const wanted = [...decided.values()].filter((body) => {
      const at = readIdInstant(body.id) ?? 0
      const isInTime = at >= from && at < to
      const isSame = Object.entries(texts).every(
        ([name, value]) => body[name as keyof Body] === value,
      )
      const code = normalizeProjectCode(body.projectId ?? '')
      return (
        body.accountId === 'main' &&
        !body.whatIf &&
        isInTime &&
        isSame &&
        (projectId === undefined || code === projectId)
      )
    })
    const ids = wanted
      .map(({ id }) => id)
      .sort()
      .reverse()
    const found = await searchAll(filter, { limit })
    expect(found.map(({ id }) => id)).toEqual(ids)
    for (const { outcome, ...document } of found) {
      expect(document).toEqual(JSON.parse(JSON.stringify(decided.get(document.id))))
      expect(outcome?.state).toBe(outcomes.get(document.id)?.state)
    }
    return found.length
  }
  expect(await expectSame({})).toBeGreaterThan(800)
  for (const number of numbers.slice(0, 5)) expect(await expectSame({ number })).toBeGreaterThan(5)
  for (const filter of [
    { decision: 'block' },
    { reason: 'late' },
    { callKind: 'ai', decision: 'allow' },
    { projectId: 'SALES' },
    { reference: 'é' },
    { reference: 'a "b"' },
    { keyId: 'key-2', via: 'predial' },
    { number: numbers[0], decision: 'block' },
    { from: start + 20_000, to: start + 61_000 },
    { to: start + 30_000, reason: 'permitted' },
  ] satisfies readonly DecisionFilter[]) {
    expect(await expectSame(filter)).toBeGreaterThan(0)
  }
  expect(await expectSame({ number: '9995550100' })).toBe(0)
  expect(await expectSame({ decision: 'block' }, 1)).toBeGreaterThan(100)
})

it('an answer that would take too long is a part, and the parts go on to the end', async () => {
  const wanted = bodyOf(start, { number: '2125550177', decision: 'block' })
  const records = [record('one', 'decision', wanted)]
  for (let index = 0; index < 8_000; index += 1) {
    const at = start + 20_000 + index * 5
    const body = bodyOf(at, index % 2 ? { number: '2125550177' } : { decision: 'block' })
    records.push(record('one', 'decision', body))
  }
  await storeAll('one', records)
  const filter: DecisionFilter = { number: '2125550177', decision: 'block' }
  const page = await search.search({ caller: callerOf('main'), filter, limit: 10 })
  expect(page.decisions).toEqual([])
  expect(page.searchedBackTo).toBeGreaterThan(start + 20_000)
  expect(page.searchedBackTo).toBeLessThan(start + 40_000)
  expect((await searchAll(filter)).map(({ id }) => id)).toEqual([wanted.id])
})

it('only decisions that the key may see are found', async () => {
  const sales = bodyOf(start, { projectId: 'SALES', callKind: 'ai' })
  const other = bodyOf(start, { projectId: 'OTHER', callKind: 'manual' })
  await storeAll('one', [record('one', 'decision', sales), record('one', 'decision', other)])
  const find = async (limits: Partial<Caller['limits']>) => {
    const caller = callerOf('main', { ...noLimits, ...limits })
    return (await searchAll({}, { caller })).map(({ id }) => id)
  }
  expect(await find({ callKinds: ['manual'] })).toEqual([other.id])
  expect(await find({ projects: { codes: ['SALES'], campaignIds: [] } })).toEqual([sales.id])
})

it('says until when nothing is missing, and what was removed', async () => {
  const find = () => search.search({ caller: callerOf('main'), filter: {}, limit: 1 })
  await storeAll('one', [record('one', 'decision', bodyOf(start))])
  await storeAll('two', [{ ...record('two', 'decision', bodyOf(start)), at: start + 5_000 }])
  expect(await find()).toMatchObject({ completeUntil: start })
  // It has nothing else.
  await store.claim('one', 2)
  expect(await find()).toMatchObject({ completeUntil: start + 5_000 })
  await store.claim('other edge 1', 1)
  expect((await find()).completeUntil).toBe(start + 5_000)
  await store.claim('main edge 1', 1)
  expect((await find()).completeUntil).toBe(0)
  expect((await find()).removedBefore).toBeUndefined()
  for (const origin of ['one', 'two']) await store.removeBefore(origin, start - 1)
  expect((await find()).removedBefore).toBe(start - 1)
})
