/** What several servers do with one permit, and with the first key of an edge, at the same moment. */
import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Decision } from '../../src/domain/decision.js'
import { PermitKeys } from '../../src/permits/permit-keys.js'
import {
  claimPermit,
  deleteOldPermits,
  insertPermit,
  movePermit,
  readPermit,
} from '../../src/permits/permit-rows.js'
import { Permits } from '../../src/permits/permits.js'
import { silentLogger } from '../../src/runtime/runtime.js'
import { openDatabase } from '../../src/storage/engine.js'
import type { OpenDatabase } from '../../src/storage/open-database.js'
import type { PermitRow } from '../../src/storage/tables.js'
import { useDatabase } from '../support/database.js'
import { caller, n } from '../support/service-subjects.js'
import { engineOf } from '../support/test-engine.js'

const database = useDatabase()
let elsewhere: OpenDatabase
let servers: readonly OpenDatabase[]

beforeEach(async () => {
  elsewhere = await openDatabase({
    ...engineOf(database.folder),
    lockWaitMs: 5_000,
    blockForLockMs: 0,
    dataDir: database.folder,
  })
  servers = [database.storage, elsewhere]
  await database.db
    .insertInto('accounts')
    .values({ id: 'main', kind: 'real', name: 'Main', agents_may_remove: 0, created_at: 0 })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  await database.db
    .insertInto('api_keys')
    .values({
      id: 'key-1',
      account_id: 'main',
      key_hash: 'hash',
      label: '',
      role: 'Administrator',
      created_at: 0,
      rights: 'decide',
      root: '',
      is_personal: 0,
    })
    .execute()
})

afterEach(() => elsewhere.close())

const now = 1_000_000

function rowOf(id: string): PermitRow {
  return {
    id,
    account_id: 'main',
    decision_id: 'd1',
    key_id: 'key-1',
    edge: 'edge-a',
    number: '2125550106',
    caller_id: '2125550199',
    call_kind: 'ai',
    project_id: null,
    campaign_id: null,
    postal_code: null,
    purpose: null,
    subject: null,
    person: null,
    asked_kinds: null,
    state: 'issued',
    issued_at: now,
    expires_at: now + 60_000,
    ended_at: null,
    channel: null,
  }
}

test('of all uses and releases on two servers at once, one gets the permit', async () => {
  for (let round = 0; round < 20; round += 1) {
    const id = `p${round}`
    await insertPermit(database.db, rowOf(id))
    const moves = Array.from({ length: 12 }, (_, index) => {
      const server = servers[index % 2] as OpenDatabase
      const state = index % 4 === 3 ? 'released' : 'used'
      return server.retryWhileLocked(() => movePermit(server.db, { id, state, now }))
    })
    const got = (await Promise.all(moves)).filter((row) => row !== undefined)
    expect(got).toHaveLength(1)
    expect(await readPermit(elsewhere.db, 'main', id)).toEqual(got[0])
  }
})

test.each([
  ['revoked', { revoked_at: now }],
  ['expired', { expires_at: now }],
])('a permit of a key that is %s is not used', async (_, end) => {
  await insertPermit(database.db, rowOf('p'))
  await database.db.updateTable('api_keys').set(end).where('id', '=', 'key-1').execute()
  expect(await movePermit(elsewhere.db, { id: 'p', state: 'used', now })).toBeUndefined()
  const voided = await movePermit(elsewhere.db, { id: 'p', state: 'void', now })
  expect(voided).toMatchObject({ state: 'void', ended_at: now })
})

test('one channel dials by a used permit, soon after', async () => {
  await insertPermit(database.db, rowOf('p'))
  const claim = (channel: string, more: object = {}) =>
    claimPermit(elsewhere.db, {
      id: 'p',
      accountId: 'main',
      number: '2125550106',
      channel,
      usedAfter: now - 1,
      ...more,
    })
  expect(await claim('a/1')).toBeUndefined()
  await movePermit(database.db, { id: 'p', state: 'used', now })
  for (const wrong of [{ number: '2125550107' }, { accountId: 'sandbox' }, { usedAfter: now }]) {
    expect(await claim('a/1', wrong)).toBeUndefined()
  }
  const claims = await Promise.all([claim('a/1'), claim('a/2')])
  expect(claims.filter((one) => one !== undefined)).toEqual([{ decision_id: 'd1' }])
  const [first] = claims
  // As another leg of the same call.
  expect(await claim(first ? 'a/1' : 'a/2')).toEqual({ decision_id: 'd1' })
  expect(await claim(first ? 'a/2' : 'a/1')).toBeUndefined()
})

test('old permits are deleted', async () => {
  await insertPermit(database.db, rowOf('p'))
  const end = now + 60_000 + 30 * 86_400_000
  expect(await deleteOldPermits(database.db, end)).toBe(false)
  expect(await readPermit(database.db, 'main', 'p')).toBeDefined()
  await deleteOldPermits(database.db, end + 1)
  expect(await readPermit(database.db, 'main', 'p')).toBeUndefined()
})

test('all servers sign with the first key that one of them creates', async () => {
  const clock = { now: () => now }
  const timers = { monotonicMs: () => 0 }
  const keys = servers.map((storage) => new PermitKeys({ storage, clock, timers }))
  const signing = await Promise.all(keys.map((one) => one.getSigning('edge-a')))
  expect(new Set(signing.map(({ kid }) => kid)).size).toBe(1)
})

test('permits and their keys change nothing that other servers have cached', async () => {
  const changes = () => database.db.selectFrom('changes').select('seq').execute()
  const before = await changes()
  await insertPermit(database.db, rowOf('p'))
  await movePermit(elsewhere.db, { id: 'p', state: 'used', now })
  const clock = { now: () => now }
  const timers = { monotonicMs: () => 0 }
  await new PermitKeys({ storage: elsewhere, clock, timers }).rotate('edge-b', { atOnce: true })
  expect(await changes()).toEqual(before)
})

test('a permit that is used is lost if the call may not leave by then', async () => {
  await insertPermit(database.db, rowOf('p'))
  const allowed = { decision: 'allow', reason: 'permitted' } as Decision
  const finals = [allowed, { decision: 'block', reason: 'not-current' } as Decision]
  const asker = caller('main')
  const permits = new Permits({
    settings: { edges: { 'edge-a': { freshness: 60, asks: true, accounts: ['main'] } } },
    storage: database.storage,
    keys: new PermitKeys({
      storage: database.storage,
      clock: { now: () => now },
      timers: { monotonicMs: () => 0 },
    }),
    clock: { now: () => now },
    expiryClock: { now: () => now },
    recheck: () => () => finals.shift() ?? allowed,
    findKey: async () => asker,
    attempts: { release: async () => undefined },
    randomBytes,
    countEvent: () => undefined,
    log: silentLogger,
  })
  const use = () =>
    permits.useById(asker, { id: 'p', number: n('2125550106'), callerId: n('2125550199') })
  await expect(use()).rejects.toMatchObject({ kind: 'not-available' })
  expect(await permits.read(asker, { id: 'p' })).toMatchObject({ state: 'used' })
  await expect(use()).rejects.toMatchObject({ kind: 'conflict' })
})
