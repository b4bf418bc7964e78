/** What a server learns of what others commit, over a real PostgreSQL. */
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../../src/runtime/runtime.js'
import { ChangeHead } from '../../../src/storage/change-head.js'
import { openDatabase } from '../../../src/storage/engine.js'
import { migrateSchema } from '../../../src/storage/migrate.js'
import type { OpenDatabase, StorageSettings } from '../../../src/storage/open-database.js'
import { until } from '../../e2e/asterisk/lab/until.js'
import { type PostgresServer, startPostgres, startStandby } from '../../support/postgres-server.js'

let postgres: PostgresServer
let databases = 0
let settings: StorageSettings
let reader: OpenDatabase
let writer: OpenDatabase
/** Numbers, and `everything`, in the order in which the reader was told. */
let told: string[]

beforeAll(async () => {
  postgres = await startPostgres()
})

afterAll(() => postgres.end())

beforeEach(async () => {
  databases += 1
  const name = `feed_${databases}`
  await postgres.query(`create database ${name}`, 'postgres')
  settings = {
    postgres: { url: `${postgres.address}/${name}`, tls: false, maxConnections: 20 },
    dataDir: '/nowhere',
    blockForLockMs: 0,
    lockWaitMs: 1_000,
    inThread: true,
  }
  writer = await openDatabase(settings)
  await migrateSchema(writer)
  await writer.db
    .insertInto('accounts')
    .values({ id: 'main', kind: 'real', name: 'Main', agents_may_remove: 0, created_at: 0 })
    .execute()
  reader = await openDatabase(settings)
  told = []
  await reader.feed?.follow(
    {
      numbersChanged: (accountId, numbers) => void told.push(...numbers.map((n) => accountId + n)),
      everythingChanged: () => void told.push('everything'),
    },
    expectNoLoss,
  )
  expect(told.splice(0)).toEqual(['everything'])
})

afterEach(async () => {
  await reader.close()
  await writer.close()
})

const expectNoLoss = () => expect.unreachable()

/** Everything that is committed now has been told then. */
async function untilCurrent(): Promise<void> {
  const now = performance.now()
  await until('a look began later', () => (reader.feed?.currentAt.monotonicMs ?? 0) > now, {
    everyMs: 10,
  })
}

it('misses no change of transactions that overlap, and is told in the order of their commits', async () => {
  const head = new ChangeHead(writer, systemClock)
  const committed: { readonly seq: number; readonly number: string }[] = []
  let next = 2_125_550_000
  const write = async (index: number) => {
    next += 1
    const numbers = [String(next)] as never
    try {
      const { seq } = await writer.db.transaction().execute(async (transaction) => {
        await pause(Math.random() * 10)
        const change = await head.takeNext(transaction, { accountId: 'main', numbers })
        await pause(Math.random() * 10)
        if (index % 5 === 0) throw new Error('rolled back')
        return change
      })
      committed.push({ seq, number: `main${numbers[0]}` })
    } catch (cause) {
      expect(String(cause)).toContain('rolled back')
    }
  }
  const work = async () => {
    for (let index = 0; index < 25; index += 1) await write(index)
  }
  await Promise.all(Array.from({ length: 8 }, work))
  await untilCurrent()
  expect(committed).toHaveLength(160)
  committed.sort((one, other) => one.seq - other.seq)
  expect(told).toEqual(committed.map(({ number }) => number))
})

it('is told of everything by a write that does not say what it changes', async () => {
  const { db } = writer
  await db.updateTable('accounts').set({ name: 'Other' }).execute()
  await untilCurrent()
  expect(told.splice(0)).toEqual(['everything'])

  await db.transaction().execute(async (transaction) => {
    await transaction
      .insertInto('internal_dnc_lists')
      .values({ account_id: 'main', list: 'main', modified_at: 0 })
      .execute()
  })
  await untilCurrent()
  expect(told.splice(0)).toEqual(['everything'])

  await sql`with renamed as (update accounts set name = 'Third' returning id) select * from renamed`.execute(
    db,
  )
  await untilCurrent()
  expect(told.splice(0)).toEqual(['everything'])
})

it('is told nothing of a write that changes no row, or none that matters to a decision', async () => {
  const { db } = writer
  await db.updateTable('accounts').set({ name: 'x' }).where('id', '=', 'nobody').execute()
  await db.deleteFrom('webhook_events').execute()
  await db.selectFrom('accounts').selectAll().execute()
  await untilCurrent()
  expect(told).toEqual([])
})

it('drops everything when more has changed than it reads at once, or a number is missing', async () => {
  const fill = (from: number, to: number) =>
    sql`with added as (
      insert into changes (seq, account_id, numbers, at)
      select seq, 'main', '2125550100', 0 from generate_series(${from}::int, ${to}::int) as seq)
      update change_head set seq = ${to}`.execute(writer.db)
  const { seq } = await writer.db.selectFrom('change_head').select('seq').executeTakeFirstOrThrow()
  await fill(seq + 2, seq + 3)
  await untilCurrent()
  expect(told.splice(0)).toContain('everything')
  const again = await writer.db.selectFrom('change_head').select('seq').executeTakeFirstOrThrow()
  await fill(again.seq + 1, again.seq + 1_001)
  await untilCurrent()
  expect(told.splice(0)).toContain('everything')
})

it('has one leader, and the next when the first ends', async () => {
  await writer.feed?.follow(
    { numbersChanged: () => undefined, everythingChanged: () => undefined },
    expectNoLoss,
  )
  expect([reader.feed?.isLeader, writer.feed?.isLeader]).toEqual([true, false])
  const ended = reader
  reader = await openDatabase(settings)
  await ended.close()
  await until('the other leads', () => writer.feed?.isLeader === true)
})

it('refuses a standby, from which an opt-out may be missing', async () => {
  const standby = await startStandby(postgres)
  try {
    const name = new URL(settings.postgres?.url ?? '').pathname
    const url = `${standby.address}${name}`
    await expect(
      openDatabase({ ...settings, postgres: { url, tls: false, maxConnections: 4 } }),
    ).rejects.toThrow('it is a standby, which may be behind its primary')
  } finally {
    await standby.end()
  }
})
