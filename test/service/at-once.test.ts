/** What two servers, or a server and a command, do at the same moment. */
import { randomBytes } from 'node:crypto'
import { basename } from 'node:path'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createFirstKeys } from '../../src/commands/serve/first-keys.js'
import { nodeRuntime } from '../../src/runtime/runtime.js'
import { Scans } from '../../src/service/scans/scans.js'
import { openDatabase } from '../../src/storage/engine.js'
import { migrateSchema, readSchemaState } from '../../src/storage/migrate.js'
import type { OpenDatabase } from '../../src/storage/open-database.js'
import { useDatabase } from '../support/database.js'
import { noWebhooks } from '../support/no-webhooks.js'
import { buildSubjects, caller, n } from '../support/service-subjects.js'
import { testClock } from '../support/test-clock.js'
import { engineOf, isPostgres, settingsOf } from '../support/test-engine.js'

const database = useDatabase()
let elsewhere: OpenDatabase

const settings = { lockWaitMs: 5_000, blockForLockMs: 0 }
const open = () =>
  openDatabase({ ...settings, ...engineOf(database.folder), dataDir: database.folder })

beforeEach(async () => {
  elsewhere = await open()
})

afterEach(() => elsewhere.close())

const rounds = 20

test('one of two servers creates the first keys', async () => {
  const { accounts } = await buildSubjects(database.storage)
  await accounts.ensure({ id: 'sandbox', kind: 'sandbox', name: 'Sandbox' })
  for (let round = 0; round < rounds; round += 1) {
    await database.db.deleteFrom('api_keys').execute()
    const saved: number[] = []
    const create = (storage: OpenDatabase) =>
      createFirstKeys({ storage, runtime: nodeRuntime }, ({ size }) => saved.push(size))
    const [here, there] = await Promise.all([create(database.storage), create(elsewhere)])
    expect(here.size + there.size).toBe(2)
    expect(saved).toEqual([2])
    expect(await database.db.selectFrom('api_keys').select('id').execute()).toHaveLength(2)
  }
})

test('an account is made once, with one Master Project', async () => {
  const [here, there] = [await buildSubjects(database.storage), await buildSubjects(elsewhere)]
  for (let round = 0; round < rounds; round += 1) {
    const account = { id: `account-${round}`, kind: 'real', name: 'Acme' } as const
    const made = await Promise.all([here.accounts.ensure(account), there.accounts.ensure(account)])
    expect(made.filter(Boolean)).toHaveLength(1)
    expect(await there.projects.resolve(account.id)).toMatchObject({ projectCode: account.id })
  }
})

test('both get the same webhook secret', async () => {
  const [here, there] = [await buildSubjects(database.storage), await buildSubjects(elsewhere)]
  for (let round = 0; round < rounds; round += 1) {
    await database.db.updateTable('accounts').set({ webhook_secret: null }).execute()
    const secrets = [here.accounts.webhookSecret('main'), there.accounts.webhookSecret('main')]
    expect(new Set(await Promise.all(secrets)).size).toBe(1)
  }
})

test('no credit is spent twice', async () => {
  const { accounts } = await buildSubjects(database.storage)
  const scansOver = (storage: OpenDatabase) =>
    new Scans({
      storage,
      clock: testClock('2026-11-23T17:00:00Z'),
      randomBytes,
      webhooks: { ...noWebhooks, refuseBadUrl: () => undefined },
      wake: () => undefined,
    })
  const servers = [scansOver(database.storage), scansOver(elsewhere)]
  await accounts.set('main', { mayScan: true, scanCredits: 5 })
  const request = {
    numbers: [n('2125550100')],
    scanType: 'carrier',
    notificationUrl: 'https://example.com',
    notificationKey: undefined,
    testOnly: false,
  } as const
  const submitted = await Promise.allSettled(
    Array.from({ length: 8 }, (_, index) => servers[index % 2]?.submit(caller(), request)),
  )
  expect(submitted.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
  expect((await accounts.find('main'))?.scanCredits).toBe(0)
})

describe.runIf(isPostgres())('an empty PostgreSQL database', () => {
  async function openEmpty(suffix: string) {
    const name = `${basename(database.folder).toLowerCase().replaceAll('-', '_')}_${suffix}`
    await sql`create database ${sql.raw(name)}`.execute(database.db)
    return () => openDatabase({ ...settings, ...settingsOf(name), dataDir: '' })
  }

  test('gets its schema from two servers that start together', async () => {
    const open = await openEmpty('empty')
    const servers = await Promise.all([open(), open()])
    try {
      await Promise.all(servers.map((server) => migrateSchema(server)))
    } finally {
      await Promise.all(servers.map((server) => server.close()))
    }
  })

  test('from before the first release is refused, and left as it is', async () => {
    const server = await (await openEmpty('before'))()
    try {
      await sql`create table kysely_migration as select '0001-initial' as name`.execute(server.db)
      await expect(migrateSchema(server)).rejects.toThrow(
        /made before the first release of callgate \(0001-initial\).*an empty database/,
      )
      expect(await readSchemaState(server.db)).toEqual({ tables: [], executed: ['0001-initial'] })
    } finally {
      await server.close()
    }
  })
})
