import { expect, test } from 'vitest'
import { runAccountTransaction } from '../../src/service/sql/account-transaction.js'
import { openDatabase } from '../../src/storage/engine.js'
import { useDatabase } from '../support/database.js'
import { buildSubjects, caller, n } from '../support/service-subjects.js'
import { engineOf } from '../support/test-engine.js'

const database = useDatabase()

test('a transaction that fails half way leaves nothing', async () => {
  const { internalDnc } = await buildSubjects(database.storage)
  const failing = runAccountTransaction(database.storage, 'main', async (transaction) => {
    await transaction
      .insertInto('internal_dnc')
      .values({
        account_id: 'main',
        list: 'main',
        number: '2125550100',
        added_at: 1,
        modified_at: 1,
        removed_at: null,
        opted_out_at: 1,
        stored_at: 1,
        opted_out_seq: 1,
        opted_out_by_date: 0,
        key_id: null,
      })
      .execute()
    throw new Error('half way')
  })
  await expect(failing).rejects.toThrow('half way')
  expect((await internalDnc.findEntries('main', 'main', [n('2125550100')])).size).toBe(0)
})

test('an unknown account cannot be written for', async () => {
  await buildSubjects(database.storage)
  await expect(
    runAccountTransaction(database.storage, 'nobody', async () => undefined),
  ).rejects.toThrow("account 'nobody' does not exist")
})

test('two connections may write for one account in turn, each on what the other left', async () => {
  const here = await buildSubjects(database.storage)
  const elsewhere = await openDatabase({
    ...engineOf(database.folder),
    dataDir: database.folder,
    lockWaitMs: 100,
    blockForLockMs: 0,
  })
  try {
    const there = await buildSubjects(elsewhere)
    const record = (type: string) => ({
      keepBetterEbr: true,
      records: [{ phoneNumber: '2125550100', type, dateOfLastContact: '2026-11-01' }],
    })
    for (let round = 0; round < 10; round += 1) {
      await here.ebrRecords.record(caller(), record('P'))
      await there.ebrRecords.record(caller(), record('S'))
    }
    const inForce = await here.ebrRecords.findRecords('main', 'main', [n('2125550100')])
    expect(inForce.get('2125550100')?.type).toBe('P')
  } finally {
    await elsewhere.close()
  }
})

test('what is read during one long write waits for that one, and not for those asked for before', async () => {
  await buildSubjects(database.storage)
  const { storage, db } = database
  const order: string[] = []
  const write = (name: string) =>
    runAccountTransaction(storage, 'main', async (transaction) => {
      for (let turns = 0; turns < 5; turns += 1) {
        await new Promise((resume) => setImmediate(resume))
        await transaction.selectFrom('accounts').select('id').execute()
      }
      order.push(name)
    })
  const writes = ['first', 'second', 'third'].map(write)
  const failing = runAccountTransaction(storage, 'main', () => Promise.reject(new Error('refused')))
  const reading = db.selectFrom('accounts').select('id').execute()
  await reading.then(() => order.push('read'))
  await expect(failing).rejects.toThrow('refused')
  await Promise.all([...writes, write('last')])
  expect(order).toEqual(['first', 'read', 'second', 'third', 'last'])
})
