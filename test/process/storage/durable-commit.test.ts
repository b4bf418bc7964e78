/** What is acknowledged has been committed as durably as PostgreSQL can, over a real one. */
import { sql } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openDatabase, openDatabaseInThread } from '../../../src/storage/engine.js'
import { migrateSchema } from '../../../src/storage/migrate.js'
import type { OpenDatabase, StorageSettings } from '../../../src/storage/open-database.js'
import { until } from '../../e2e/asterisk/lab/until.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'

let postgres: PostgresServer
let settings: StorageSettings
let database: OpenDatabase

beforeEach(async () => {
  postgres = await startPostgres()
  await postgres.query('create database durable', 'postgres')
  settings = {
    postgres: { url: `${postgres.address}/durable`, tls: false, maxConnections: 4 },
    dataDir: '/nowhere',
    blockForLockMs: 0,
    lockWaitMs: 1_000,
    inThread: true,
  }
  database = await openDatabase(settings)
  await migrateSchema(database)
})

afterEach(async () => {
  await database.close()
  await postgres.end()
})

const readLevel = async ({ db }: Pick<OpenDatabase, 'db'>) => {
  const { rows } = await sql<{ level: string }>`
    select current_setting('synchronous_commit') as level`.execute(db)
  return rows[0]?.level
}

it.each([
  ['off', 'on'],
  ['local', 'on'],
  ['remote_write', 'on'],
  ['on', 'on'],
  ['remote_apply', 'remote_apply'],
])('where the default of synchronous_commit is %s, it commits with %s', async (level, used) => {
  await postgres.query(`alter role callgate set synchronous_commit = ${level}`, 'postgres')
  await database.close()
  database = await openDatabase(settings)
  expect(await readLevel(database)).toBe(used)
  const command = await openDatabase({ ...settings, inThread: false })
  expect(await readLevel(command)).toBe(used)
  await command.close()
  const thread = await openDatabaseInThread({ ...settings, port: new MessageChannel().port1 })
  expect(await readLevel(thread)).toBe(used)
})

/** Commits wait for a standby that is not there from now on. */
async function loseStandby(): Promise<void> {
  await postgres.query(`alter system set synchronous_standby_names = 'gone'`, 'postgres')
  await postgres.query('select pg_reload_conf()', 'postgres')
  await until('commits wait', async () => {
    const [row] = await postgres.query('show synchronous_standby_names', 'postgres')
    return row?.synchronous_standby_names === 'gone'
  })
}

async function findStandby(): Promise<void> {
  await postgres.query('alter system reset synchronous_standby_names', 'postgres')
  await postgres.query('select pg_reload_conf()', 'postgres')
}

const waiting = `select pid from pg_stat_activity where wait_event = 'SyncRep' and datname = 'durable'`

const addAccount = (id: string) => ({
  id,
  kind: 'real' as const,
  name: id,
  agents_may_remove: 0 as const,
  created_at: 0,
})

it.each<[string, (id: string) => Promise<unknown>]>([
  [
    'transaction',
    (id) =>
      database.db
        .transaction()
        .execute((transaction) =>
          transaction.insertInto('accounts').values(addAccount(id)).execute(),
        ),
  ],
  ['statement', (id) => database.db.insertInto('accounts').values(addAccount(id)).execute()],
  [
    'statement that no other server has to know of',
    () => database.db.updateTable('change_head').set({ newest_at: 5 }).execute(),
  ],
])('a %s whose wait for the standby was canceled is not acknowledged', async (_, write) => {
  await loseStandby()
  const outcome = write('lonely').then(
    () => 'acknowledged',
    (cause: Error) => cause,
  )
  await until('the commit waits', async () => (await postgres.query(waiting, 'durable')).length > 0)
  await postgres.query(waiting.replace('select pid', 'select pg_cancel_backend(pid)'), 'durable')
  expect(await outcome).toMatchObject({
    kind: 'not-available',
    message: expect.stringContaining('no standby has confirmed it'),
  })
  await findStandby()
  await database.db.insertInto('accounts').values(addAccount('next')).execute()
})

it('a commit that waits for a standby without end is given up, and the next passes when it is back', async () => {
  await loseStandby()
  const startedAt = performance.now()
  const write = database.db.insertInto('accounts').values(addAccount('lonely')).execute()
  await expect(write).rejects.toMatchObject({ kind: 'not-available' })
  expect(performance.now() - startedAt).toBeLessThan(20_000)
  await findStandby()
  await until('it is stored', async () => {
    await database.db.insertInto('accounts').values(addAccount('next')).execute()
    return true
  })
})
