import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { noLimits, serverAuthor } from '../../src/domain/caller.js'
import {
  type AuditQuestion,
  AuditTrail,
  deleteOldAudit,
  listAfter,
} from '../../src/service/audit/audit-trail.js'
import { createReadLog } from '../../src/service/audit/read-log.js'
import { hashNumber, recordAudit } from '../../src/storage/audit/audit-log.js'
import { openDatabase } from '../../src/storage/engine.js'
import type { Db } from '../../src/storage/tables.js'
import { useDatabase } from '../support/database.js'
import { caller } from '../support/service-subjects.js'
import { testClock } from '../support/test-clock.js'
import { engineOf, isPostgres } from '../support/test-engine.js'

const database = useDatabase()
const clock = testClock('2026-11-26T12:00:00Z')
const at = clock.now()

const record = (db: Db, id: string) =>
  recordAudit(db, {
    by: serverAuthor,
    accountId: 'main',
    action: 'thing.done',
    subject: { kind: 'thing', id },
    at,
  })

const readAll = () => database.db.selectFrom('audit').selectAll().orderBy('seq').execute()

describe('rows of the audit table', () => {
  it('are numbered without gaps, also when a transaction fails', async () => {
    const { db } = database
    await db.transaction().execute(async (transaction) => {
      await record(transaction, 'a')
      await record(transaction, 'b')
    })
    const failed = db.transaction().execute(async (transaction) => {
      await record(transaction, 'c')
      throw new RangeError('no')
    })
    await expect(failed).rejects.toThrow('no')
    await db.transaction().execute((transaction) => record(transaction, 'd'))
    expect((await readAll()).map(({ seq, subject }) => [seq, subject])).toEqual([
      [1, 'a'],
      [2, 'b'],
      [3, 'd'],
    ])
  })

  it('can be neither changed nor deleted', async () => {
    const { db } = database
    await db.transaction().execute((transaction) => record(transaction, 'a'))
    const refusal = 'rows of table audit are neither changed nor deleted'
    await expect(db.updateTable('audit').set({ who: 'x' }).execute()).rejects.toThrow(refusal)
    await expect(db.deleteFrom('audit').execute()).rejects.toThrow(refusal)
    expect(await readAll()).toMatchObject([{ subject: 'a', who: 'system' }])
  })
})

describe('a read of personal data', () => {
  it('is one row, with a keyed hash in the place of the number', async () => {
    const recordRead = createReadLog(database.storage, clock)
    const caller = { accountId: 'main', keyId: 'key-1', path: '/v1/decisions' }
    const subject = { kind: 'number', id: '2127365001' }
    await recordRead(caller, { what: 'decisions.searched', subject, rows: 3, purpose: 'case 7' })
    expect(await readAll()).toEqual([
      {
        seq: 1,
        at,
        account_id: 'main',
        who: 'key:key-1',
        door: 'api /v1/decisions',
        action: 'decisions.searched',
        subject_kind: 'number',
        subject: expect.stringMatching(/^[0-9a-f]{32}-5001$/),
        before: null,
        after: '{"rows":3}',
        reason: 'case 7',
        mark: expect.stringMatching(/^[0-9a-f]{32}$/),
      },
    ])
    const [row] = await readAll()
    expect(await hashNumber(database.db, '2127365001')).toBe(row?.subject)
    expect(await hashNumber(database.db, '2127355001')).not.toBe(row?.subject)
  })

  it('names the person at the command line, and fails if it cannot be stored', async () => {
    const author = { who: 'user:ann', door: 'command decisions' }
    const operator = { accountId: 'main', keyId: '' }
    const subject = { kind: 'decision', id: 'x' }
    const read = { what: 'decision.read', subject, rows: 1 }
    await createReadLog({ ...database.storage, author }, clock)(operator, read)
    expect(await readAll()).toMatchObject([{ who: 'user:ann', door: 'command decisions' }])
    const refuse = async () => {
      throw new RangeError('disk full')
    }
    const broken = { ...database.storage, retryWhileLocked: refuse }
    await expect(createReadLog(broken, clock)(operator, read)).rejects.toThrow('disk full')
  })
})

describe('reading the audit table', () => {
  const page = async (trail: AuditTrail, question: AuditQuestion = {}) => {
    const { records, cursor } = await trail.list(caller(), question)
    return { ids: records.map(({ subject: { id } }) => id), cursor }
  }
  const openTrail = () => new AuditTrail(database.storage, createReadLog(database.storage, clock))

  it('gives the rows of the account, newest first, and adds one', async () => {
    const { db } = database
    await db.transaction().execute(async (transaction) => {
      for (let number = 1; number <= 450; number += 1) await record(transaction, `${number}`)
      await recordAudit(transaction, {
        ...{ by: serverAuthor, accountId: 'other', action: 'thing.done', at },
        subject: { kind: 'thing', id: 'theirs' },
      })
    })
    const trail = openTrail()
    const action = 'thing.done'
    const first = await page(trail, { action })
    expect(first.ids).toEqual(Array.from({ length: 200 }, (_, index) => `${450 - index}`))
    const second = await page(trail, { action, cursor: first.cursor ?? '' })
    expect([second.ids[0], second.ids.length]).toEqual(['250', 200])
    const last = await page(trail, { action, cursor: second.cursor ?? '' })
    expect([last.ids[0], last.ids.at(-1), last.cursor]).toEqual(['50', '1', null])
    const reads = await trail.list(caller(), { action: 'audit.read' })
    expect(reads.records).toMatchObject([
      { who: 'key:key-of-main', after: { rows: 50 }, before: null },
      { after: { rows: 200 } },
      { after: { rows: 200 } },
    ])
  })

  it('gives many rows page by page, as one read, and says where more begin', async () => {
    await database.db.transaction().execute(async (transaction) => {
      for (let number = 1; number <= 450; number += 1) await record(transaction, `${number}`)
    })
    const trail = openTrail()
    const exportIds = async (question: AuditQuestion, maxRows: number) => {
      const { pages, getNextCursor } = await trail.export(caller(), question, maxRows)
      const lengths: number[] = []
      const ids: string[] = []
      for await (const records of pages) {
        lengths.push(records.length)
        ids.push(...records.map(({ subject: { id } }) => id))
      }
      return { ids, lengths, cursor: getNextCursor() }
    }
    const action = 'thing.done'
    const all = await exportIds({ action }, 1_000)
    expect(all.ids).toEqual(Array.from({ length: 450 }, (_, index) => `${450 - index}`))
    expect([all.lengths, all.cursor]).toEqual([[200, 200, 50], undefined])
    const some = await exportIds({ action }, 250)
    expect([some.lengths, some.ids.at(-1)]).toEqual([[200, 50], '201'])
    const rest = await exportIds({ action, cursor: some.cursor }, 200)
    expect([rest.lengths, rest.ids[0], rest.cursor]).toEqual([[200], '200', undefined])
    const { records } = await trail.list(caller(), { action: 'audit.read' })
    expect(records).toHaveLength(3)
    expect(records[0]?.after).toEqual({})
    await expect(trail.export(caller(), { cursor: 'x' }, 1)).rejects.toThrow('cursor')
  })

  it('finds rows by time, author and subject, also reads of a number', async () => {
    const { db, storage } = database
    const number = '2127365001'
    const by = { who: 'user:ann', door: 'command x' }
    await db.transaction().execute(async (transaction) => {
      const about = { accountId: 'main', action: 'opt-out.added', by }
      await recordAudit(transaction, { ...about, subject: { kind: 'number', id: number }, at })
      const subject = { kind: 'number', id: '2127365002' }
      await recordAudit(transaction, { ...about, by: serverAuthor, subject, at: at + 1_000 })
    })
    const trail = openTrail()
    expect((await page(trail, { from: at + 1, action: 'opt-out.added' })).ids).toEqual([
      '2127365002',
    ])
    expect((await page(trail, { to: at + 1, action: 'opt-out.added' })).ids).toEqual([number])
    expect((await page(trail, { who: 'user:ann' })).ids).toEqual([number])
    await createReadLog(storage, clock)(caller(), {
      ...{ what: 'number.read', rows: 1 },
      subject: { kind: 'number', id: number },
    })
    const { records } = await trail.list(caller(), { subject: number })
    expect(records.map(({ action }) => action)).toEqual(['number.read', 'opt-out.added'])
  })

  it('needs an Administrator without a limit to projects, and the cursor of a page', async () => {
    const trail = openTrail()
    const supervisor = caller('main', 'Supervisor')
    await expect(trail.list(supervisor, {})).rejects.toThrow('needs role Administrator')
    const projects = { codes: ['A'], campaignIds: [] }
    const limited = { ...caller(), limits: { ...noLimits, projects } }
    await expect(trail.list(limited, {})).rejects.toThrow('no limit to projects')
    await expect(trail.list(caller(), { cursor: '7' })).rejects.toThrow('cursor')
  })

  it('in the order of the commits goes on after a number', async () => {
    const { db } = database
    for (const id of ['a', 'b', 'c']) {
      await db.transaction().execute((transaction) => record(transaction, id))
    }
    const ids = async (seq: number, limit: number) =>
      (await listAfter(db, seq, limit)).map(({ seq, subject }) => `${seq}${subject.id}`)
    expect(await ids(0, 2)).toEqual(['1a', '2b'])
    expect(await ids(2, 2)).toEqual(['3c'])
    expect(await ids(3, 2)).toEqual([])
  })
})

it.runIf(isPostgres())('a row waits for the one before, until that is committed', async () => {
  const { folder } = database
  const place = { dataDir: folder, lockWaitMs: 100, blockForLockMs: 0, ...engineOf(folder) }
  const other = await openDatabase(place)
  try {
    const order: string[] = []
    let second: Promise<void> = Promise.resolve()
    await database.db.transaction().execute(async (first) => {
      await record(first, 'first')
      second = other.db.transaction().execute(async (transaction) => {
        await record(transaction, 'second')
        order.push('second')
      })
      // PostgreSQL says that it waits for a lock.
      for (let waiting = 0; waiting === 0; await nextTurn()) {
        const { rows } = await sql<{ count: number }>`
          select count(*)::int as count from pg_locks where not granted`.execute(first)
        waiting = rows[0]?.count ?? 0
      }
      expect(await listAfter(other.reads, 0, 10)).toEqual([])
      order.push('first')
    })
    await second
    expect(order).toEqual(['first', 'second'])
    const rows = await listAfter(database.db, 0, 10)
    expect(rows.map(({ seq, subject }) => `${seq} ${subject.id}`)).toEqual(['1 first', '2 second'])
  } finally {
    await other.close()
  }
})

it('rows are deleted when they are older than the settings say, and numbers go on after them', async () => {
  const { db, storage } = database
  await db.transaction().execute((transaction) => record(transaction, 'old'))
  expect(await deleteOldAudit(storage, at)).toBe(false)
  expect(await readAll()).toHaveLength(1)
  expect(await deleteOldAudit(storage, at + 1)).toBe(false)
  expect(await readAll()).toEqual([])
  await db.transaction().execute((transaction) => record(transaction, 'new'))
  expect(await readAll()).toMatchObject([{ seq: 2, subject: 'new' }])
  await expect(db.deleteFrom('audit').execute()).rejects.toThrow('neither changed nor deleted')
})
