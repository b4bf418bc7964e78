import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Decision, strictPolicy } from '../../../src/domain/decision.js'
import { toDecisionDocument } from '../../../src/gate/decision-document.js'
import { Journal } from '../../../src/gate/journal/journal.js'
import { openDatabase } from '../../../src/storage/engine.js'
import { migrateSchema } from '../../../src/storage/migrate.js'
import type { OpenDatabase } from '../../../src/storage/open-database.js'
import { answered, fakeCompliance, noon, unanswered } from '../../support/fake-compliance.js'
import { aCall, testGate } from '../../support/test-gate.js'

let folder: string
let open: OpenDatabase
const failures: unknown[] = []
const pending: number[] = []
const lost: number[] = []
const watch = {
  onPending: (count: number) => void pending.push(count),
  onFailure: (cause: unknown) => void failures.push(cause),
  onLoss: (count: number) => void lost.push(count),
}

async function reopen(): Promise<OpenDatabase> {
  const database = openDatabase({
    engine: 'sqlite',
    dataDir: folder,
    lockWaitMs: 100,
    blockForLockMs: 0,
  })
  await migrateSchema(database.db)
  return database
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'callgate-journal-'))
  failures.length = 0
  pending.length = 0
  lost.length = 0
  open = await reopen()
})

afterEach(async () => {
  await open.close().catch(() => undefined)
  rmSync(folder, { recursive: true, force: true })
})

const made = (id: string, more: Partial<Decision> = {}): Promise<Decision> =>
  testGate(fakeCompliance())
    .gate.decide(aCall())
    .then((decision) => ({ ...decision, id, ...more }))

describe('the journal', () => {
  it('has a decision on disk when append resolves, after a restart too', async () => {
    const decision = await made('d1')
    await new Journal(open, watch).append(decision)
    await open.close()
    open = await reopen()
    const found = await new Journal(open, watch).find('main', 'd1')
    expect(found).toEqual(toDecisionDocument(decision))
    expect(found?.findings).toHaveLength(4)
  })

  it('holds what policy let pass, and how old the answers were', async () => {
    const old = { asOf: noon - 60_000, staleReason: 'circuit open' }
    const compliance = fakeCompliance({
      litigator: () => answered({ isLitigator: false }, old),
      scrub: () => unanswered(),
    })
    const shadow = { mode: 'shadow' } as const
    const { gate } = testGate(compliance, { policy: { ...strictPolicy, permission: shadow } })
    const journal = new Journal(open, watch)
    await journal.append(await gate.decide(aCall()))
    const found = await journal.find('main', 'id1')
    expect(found).toMatchObject({
      decision: 'allow',
      degraded: ['litigator'],
      policy: [
        { check: 'litigator', effect: 'stale-allowed', because: 'circuit open' },
        { check: 'permission', effect: 'shadowed', because: 'fake source-failed' },
      ],
    })
    const litigator = found?.findings.find(({ check }) => check === 'litigator')
    expect(litigator).toMatchObject({ stale: true, ageMs: 60_000 })
  })

  it('shows a decision to its own account only', async () => {
    const journal = new Journal(open, watch)
    await journal.append(await made('d1'))
    expect(await journal.find('other', 'd1')).toBeUndefined()
    expect(await journal.find('main', 'd2')).toBeUndefined()
  })

  it('writes what arrives together in one go, and loses none of it', async () => {
    const journal = new Journal(open, watch)
    const many = await Promise.all(Array.from({ length: 2_500 }, (_, index) => made(`d${index}`)))
    await Promise.all(many.map((decision) => journal.append(decision)))
    const { count } = await open.db
      .selectFrom('decisions')
      .select((row) => row.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    expect(count).toBe(2_500)
    expect(Math.max(...pending)).toBe(2_500)
    expect(pending.at(-1)).toBe(0)
  })

  it('replaces the record of an allow that was withheld, waiting, written or being written', async () => {
    const journal = new Journal(open, watch)
    const withheld = { decision: 'block', reason: 'not-recorded' } as const
    for (const [id, amendAt] of [
      ['d1', async () => undefined],
      ['d2', () => new Promise((resume) => setImmediate(resume))],
      ['d3', () => journal.drain()],
    ] as const) {
      const written = journal.append(await made(id))
      await amendAt()
      journal.amend(await made(id, withheld))
      await written
      await journal.drain()
      expect(await journal.find('main', id)).toMatchObject(withheld)
    }
  })

  const rename = (from: string, to: string) =>
    open.db.schema.alterTable(from).renameTo(to).execute()

  it('rejects at once when the disk refuses, and writes the record when it no longer does', async () => {
    const journal = new Journal(open, watch)
    await rename('decisions', 'elsewhere')
    await expect(journal.append(await made('d1'))).rejects.toThrow('decisions')
    expect(journal.findProblem()).toContain('no such table: decisions')
    expect(failures).toHaveLength(1)
    await rename('elsewhere', 'decisions')
    await journal.drain()
    expect(journal.findProblem()).toBeUndefined()
    expect((await journal.find('main', 'd1'))?.id).toBe('d1')
  })

  it('withholds nobody else’s call for one record that the database refuses', async () => {
    const journal = new Journal(open, watch)
    await sql`create trigger refuse before insert on decisions when new.id = 'bad'
      begin select raise(abort, 'refused'); end`.execute(open.db)
    const outcomes = await Promise.allSettled(
      ['d1', 'bad', 'd2'].map(async (id) => journal.append(await made(id))),
    )
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    await journal.close()
    expect([lost, journal.lostCount]).toEqual([[1], 1])
  })

  it('keeps so many failed records and no more, and tells how many are lost', async () => {
    const journal = new Journal(open, watch, { maxWaiting: 200 })
    await rename('decisions', 'elsewhere')
    const decision = await made('d0')
    const outcomes = await Promise.allSettled(
      Array.from({ length: 250 }, (_, index) => journal.append({ ...decision, id: `d${index}` })),
    )
    expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true)
    expect(lost.reduce((sum, count) => sum + count, 0)).toBe(50)
    await rename('elsewhere', 'decisions')
    await journal.close()
    expect(journal.findProblem()).toBeUndefined()
    expect(lost.reduce((sum, count) => sum + count, 0)).toBe(50)
  })

  it('keeps no more when decisions it gave up are amended', async () => {
    const journal = new Journal(open, watch, { maxWaiting: 200 })
    const elsewhere = openDatabase({
      engine: 'sqlite',
      dataDir: folder,
      lockWaitMs: 1,
      blockForLockMs: 0,
    })
    await elsewhere.db.connection().execute(async (connection) => {
      await sql`begin immediate`.execute(connection)
      const decision = await made('d0')
      for (let index = 0; index < 450; index += 1) {
        const one = { ...decision, id: `d${index}` }
        journal.append(one).catch(() => journal.amend(one))
      }
      await new Promise((resolve) => setImmediate(resolve))
      expect(Math.max(...new Set(pending))).toBeLessThanOrEqual(400)
      expect(journal.lostCount).toBe(50)
      await sql`rollback`.execute(connection)
    })
    await elsewhere.close()
    await journal.close()
    expect(journal.lostCount).toBe(50)
  })

  it('closes though another process holds the lock, and tells what is lost', async () => {
    const journal = new Journal(open, watch)
    const elsewhere = openDatabase({
      engine: 'sqlite',
      dataDir: folder,
      lockWaitMs: 1,
      blockForLockMs: 0,
    })
    await elsewhere.db.connection().execute(async (connection) => {
      await sql`begin immediate`.execute(connection)
      const waiting = journal.append(await made('d1'))
      const outcome = expect(waiting).rejects.toThrow('locked')
      await journal.close()
      await outcome
      await sql`rollback`.execute(connection)
    })
    await elsewhere.close()
    expect(lost).toEqual([1])
  })

  it('keeps what-ifs apart from attempts', async () => {
    const journal = new Journal(open, watch)
    await journal.append(await made('d1', { request: aCall({ at: 0 }) }))
    await journal.append(await made('d2'))
    const rows = await open.db
      .selectFrom('decisions')
      .select(['id', 'what_if'])
      .orderBy('id')
      .execute()
    expect(rows).toEqual([
      { id: 'd1', what_if: 1 },
      { id: 'd2', what_if: 0 },
    ])
  })
})
