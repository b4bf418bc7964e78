import { describe, expect, it } from 'vitest'
import { serverAuthor } from '../../src/domain/caller.js'
import { createReadLog } from '../../src/service/audit/read-log.js'
import { hashNumber, recordAudit } from '../../src/storage/audit/audit-log.js'
import type { Db } from '../../src/storage/tables.js'
import { useDatabase } from '../support/database.js'
import { testClock } from '../support/test-clock.js'

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
