/** What several servers take of one limit at the same time. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { deleteExpiredLimits, takeShared } from '../../src/storage/cluster/shared-limits.js'
import { openDatabase } from '../../src/storage/engine.js'
import type { OpenDatabase } from '../../src/storage/open-database.js'
import { useDatabase } from '../support/database.js'
import { engineOf } from '../support/test-engine.js'

const database = useDatabase()
let elsewhere: OpenDatabase

beforeEach(async () => {
  elsewhere = await openDatabase({
    ...engineOf(database.folder),
    lockWaitMs: 5_000,
    blockForLockMs: 0,
    dataDir: database.folder,
  })
})

afterEach(() => elsewhere.close())

const expiresAt = 1_000
const take = (on: OpenDatabase, limit: number, amount: number, key = 'calls') =>
  on.retryWhileLocked(() => takeShared(on.db, { key, limit, expiresAt }, amount))

const sum = (amounts: readonly number[]) => amounts.reduce((total, amount) => total + amount, 0)

test.each([
  [1, 1],
  [7, 1],
  [50, 7],
  [100, 5],
  [3, 10],
])('of a limit of %i, taken %i at a time, exactly all is given', async (limit, amount) => {
  const servers = [database.storage, elsewhere]
  const takings = Array.from({ length: 40 }, (_, index) =>
    take(servers[index % 2] as OpenDatabase, limit, amount),
  )
  const taken = await Promise.all(takings)
  expect(sum(taken)).toBe(limit)
  for (const one of taken) expect(one).toBeGreaterThanOrEqual(0)
  expect(await take(elsewhere, limit, amount)).toBe(0)
})

test('what happens once happens on one server', async () => {
  for (let round = 0; round < 20; round += 1) {
    const key = `code ${round}`
    const taken = await Promise.all([take(database.storage, 1, 1, key), take(elsewhere, 1, 1, key)])
    expect(taken.sort()).toEqual([0, 1])
  }
})

test('a transaction that fails has taken nothing', async () => {
  const limit = { key: 'calls', limit: 1, expiresAt }
  const failing = database.db.transaction().execute(async (transaction) => {
    expect(await takeShared(transaction, limit, 1)).toBe(1)
    throw new Error('half way')
  })
  await expect(failing).rejects.toThrow('half way')
  expect(await take(elsewhere, 1, 1)).toBe(1)
})

test('a limit that was lowered gives no more', async () => {
  expect(await take(database.storage, 10, 8)).toBe(8)
  expect(await take(database.storage, 5, 1)).toBe(0)
  expect(await take(database.storage, 9, 5)).toBe(1)
})

test('what has expired is deleted', async () => {
  await take(database.storage, 1, 1)
  expect(await deleteExpiredLimits(database.db, expiresAt)).toBe(false)
  expect(await take(database.storage, 1, 1)).toBe(0)
  expect(await deleteExpiredLimits(database.db, expiresAt + 1)).toBe(false)
  expect(await take(database.storage, 1, 1)).toBe(1)
})

test('other servers keep what they have cached', async () => {
  const changes = () => database.db.selectFrom('changes').select('seq').execute()
  const before = await changes()
  await take(database.storage, 1, 1)
  await deleteExpiredLimits(database.db, expiresAt + 1)
  expect(await changes()).toEqual(before)
})
