import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Decision } from '../../src/domain/decision.js'
import { decisionDocument } from '../../src/gate/decision-document.js'
import { Journal } from '../../src/gate/journal.js'
import { type OpenDatabase, openDatabase } from '../../src/storage/engine.js'
import { migrate } from '../../src/storage/migrate.js'
import { fakeCompliance } from '../support/fake-compliance.js'
import { aCall, testGate } from '../support/test-gate.js'

let folder: string
let open: OpenDatabase
const failures: unknown[] = []
const pending: number[] = []
const watch = {
  pending: (count: number) => void pending.push(count),
  failed: (cause: unknown) => void failures.push(cause),
}

async function reopen(): Promise<OpenDatabase> {
  const database = openDatabase({ engine: 'sqlite', dataDir: folder, lockWaitMs: 100 })
  await migrate(database.db)
  return database
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'callgate-journal-'))
  failures.length = 0
  pending.length = 0
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
    await new Journal(open.db, watch).append(decision)
    await open.close()
    open = await reopen()
    const found = await new Journal(open.db, watch).find('main', 'd1')
    expect(found).toEqual(decisionDocument(decision))
    expect(found?.findings).toHaveLength(4)
  })

  it('shows a decision to its own account only', async () => {
    const journal = new Journal(open.db, watch)
    await journal.append(await made('d1'))
    expect(await journal.find('other', 'd1')).toBeUndefined()
    expect(await journal.find('main', 'd2')).toBeUndefined()
  })

  it('writes what arrives together in one go, and loses none of it', async () => {
    const journal = new Journal(open.db, watch)
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

  it('replaces the record of an allow that was withheld', async () => {
    const journal = new Journal(open.db, watch)
    await journal.append(await made('d1'))
    await journal.append(await made('d1', { decision: 'block', reason: 'not-recorded' }))
    expect(await journal.find('main', 'd1')).toMatchObject({
      decision: 'block',
      reason: 'not-recorded',
    })
  })

  it('rejects when the disk refuses, says so, and recovers', async () => {
    const journal = new Journal(open.db, watch)
    await open.db.schema.alterTable('decisions').renameTo('elsewhere').execute()
    await expect(journal.append(await made('d1'))).rejects.toThrow('decisions')
    expect(journal.healthy).toBe(false)
    expect(failures).toHaveLength(1)
    await open.db.schema.alterTable('elsewhere').renameTo('decisions').execute()
    await journal.append(await made('d2'))
    expect(journal.healthy).toBe(true)
  })

  it('keeps what-ifs apart from attempts', async () => {
    const journal = new Journal(open.db, watch)
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
