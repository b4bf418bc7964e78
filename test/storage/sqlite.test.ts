import { once } from 'node:events'
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openDatabase, openDatabaseInThread } from '../../src/storage/engine.js'
import { migrateSchema } from '../../src/storage/migrate.js'
import type { OpenDatabase } from '../../src/storage/open-database.js'

let folder: string
let storage: OpenDatabase
let elsewhere: Sqlite.Database

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'callgate-sqlite-'))
  storage = await openDatabase({
    dataDir: folder,
    lockWaitMs: 50,
    blockForLockMs: 0,
  })
  await migrateSchema(storage)
  elsewhere = new Sqlite(join(folder, 'callgate.sqlite'))
})

afterEach(async () => {
  elsewhere.close()
  await storage.close().catch(() => undefined)
  rmSync(folder, { recursive: true, force: true })
})

const anAccount = (id: string) =>
  storage.db
    .insertInto('accounts')
    .values({ id, kind: 'real', name: id, agents_may_remove: 0, created_at: 0 })
    .execute()

describe('the SQLite engine', () => {
  it('keeps every acknowledged write: WAL, full synchronisation, foreign keys', async () => {
    const pragma = async (name: string) => {
      const { rows } = await sql.raw(`pragma ${name}`).execute(storage.db)
      return Object.values(rows[0] as object)[0]
    }
    expect(await pragma('journal_mode')).toBe('wal')
    expect(await pragma('synchronous')).toBe(2)
    expect(await pragma('foreign_keys')).toBe(1)
    const orphan = storage.db
      .insertInto('internal_dnc_lists')
      .values({ account_id: 'nobody', list: 'x', modified_at: 0 })
    await expect(orphan.execute()).rejects.toThrow('FOREIGN KEY')
  })

  it('tells the writes of another process from its own', async () => {
    await storage.hasExternalChanges()
    await anAccount('mine')
    expect(await storage.hasExternalChanges()).toBe(false)
    elsewhere.exec(
      "insert into accounts (id, kind, name, agents_may_remove, created_at) values ('theirs', 'real', 'x', 0, 0)",
    )
    expect(await storage.hasExternalChanges()).toBe(true)
    expect(await storage.hasExternalChanges()).toBe(false)
  })

  it('tries again while another process holds the lock, no longer than told', async () => {
    elsewhere.exec('begin immediate')
    let attempts = 0
    const writing = storage.retryWhileLocked(() => {
      attempts += 1
      return anAccount('a')
    })
    await expect(writing).rejects.toThrow('locked by another process; nothing was changed')
    expect(attempts).toBeGreaterThan(1)
    elsewhere.exec('rollback')
    await storage.retryWhileLocked(() => anAccount('a'))
  })

  it('serves many queries and transactions at once, each in its turn', async () => {
    const order: number[] = []
    const insert = (index: number) =>
      storage.db.transaction().execute(async (transaction) => {
        const { count } = await transaction
          .selectFrom('accounts')
          .select((row) => row.fn.countAll<number>().as('count'))
          .executeTakeFirstOrThrow()
        expect(count).toBe(index)
        order.push(index)
        await transaction
          .insertInto('accounts')
          .values({ id: `a${index}`, kind: 'real', name: '', agents_may_remove: 0, created_at: 0 })
          .execute()
      })
    await Promise.all(Array.from({ length: 500 }, (_, index) => insert(index)))
    expect(order).toEqual(Array.from({ length: 500 }, (_, index) => index))
  })

  it('goes on after a query that failed', async () => {
    const failing = Array.from({ length: 5 }, () => anAccount('same').catch(() => 'refused'))
    const outcomes = await Promise.all([...failing, anAccount('other').then(() => 'made')])
    expect(outcomes.filter((outcome) => outcome === 'refused')).toHaveLength(4)
    expect(outcomes.at(-1)).toBe('made')
  })

  it('gives all rows of a long result, in their order', async () => {
    const { rows } = await sql<{ n: number }>`
      with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 1001)
      select n from numbers`.execute(storage.db)
    expect(rows.map(({ n }) => n)).toEqual(Array.from({ length: 1_001 }, (_, index) => index + 1))
  })

  it('reads what is committed beside a transaction, and cannot write there', async () => {
    await anAccount('committed')
    await storage.db.transaction().execute(async (transaction) => {
      await transaction.deleteFrom('accounts').execute()
      const rows = await storage.reads.selectFrom('accounts').select('id').execute()
      expect(rows).toEqual([{ id: 'committed' }])
    })
    const writing = storage.reads.deleteFrom('accounts').returning('id')
    await expect(writing.execute()).rejects.toThrow('readonly')
  })

  it('closes when the transactions before have ended, and takes no more', async () => {
    let closing: Promise<void> | undefined
    await storage.db.transaction().execute(async (transaction) => {
      closing = storage.close()
      await transaction
        .insertInto('accounts')
        .values({ id: 'late', kind: 'real', name: '', agents_may_remove: 0, created_at: 0 })
        .execute()
    })
    await closing
    await expect(anAccount('too late')).rejects.toThrow('the database is closed')
    expect(elsewhere.prepare('select id from accounts').all()).toEqual([{ id: 'late' }])
  })

  it('names a database that cannot be opened', async () => {
    const file = join(folder, 'file')
    writeFileSync(file, 'not a folder')
    const open = (dataDir: string) => openDatabase({ dataDir, lockWaitMs: 50, blockForLockMs: 0 })
    await expect(open(file)).rejects.toThrow(`${file}: exists and is not a folder`)
    const taken = join(folder, 'taken/callgate.sqlite')
    mkdirSync(taken, { recursive: true })
    const opening = open(join(folder, 'taken'))
    await expect(opening).rejects.toThrow(`${taken}: the database cannot be opened`)
  })
})

describe('a database that several threads have open', () => {
  const open = async () => {
    const port = storage.connectThread()
    const database = await openDatabaseInThread({
      dataDir: folder,
      lockWaitMs: 50,
      port,
    })
    const end = () => port?.close()
    return { database, end, ended: port && once(port, 'close') }
  }
  const newAccount = (id: string) =>
    ({ id, kind: 'real', name: '', agents_may_remove: 0, created_at: 0 }) as const
  const ids = (db: OpenDatabase['db']) => db.selectFrom('accounts').select('id').execute()

  it('runs their transactions one after the other, and never a part of one within another', async () => {
    const threads = [await open(), await open()]
    const databases = [storage, ...threads.map(({ database }) => database)]
    let openCount = 0
    const insert = ({ db }: Pick<OpenDatabase, 'db'>, id: string) =>
      db.transaction().execute(async (transaction) => {
        await transaction.insertInto('accounts').values(newAccount(id)).execute()
        openCount += 1
        expect(openCount).toBe(1)
        const { count } = await transaction
          .selectFrom('accounts')
          .select((row) => row.fn.countAll<number>().as('count'))
          .executeTakeFirstOrThrow()
        openCount -= 1
        return count
      })
    const counts = await Promise.all(
      Array.from({ length: 60 }, (_, index) => {
        const database = databases[index % databases.length]
        return database && insert(database, `a${index}`)
      }),
    )
    expect(counts.toSorted((one, other) => Number(one) - Number(other))).toEqual(
      Array.from({ length: 60 }, (_, index) => index + 1),
    )
    for (const { end } of threads) end()
  })

  it('shows a thread what the others have committed, and others nothing of its open transaction', async () => {
    const { database, end } = await open()
    await storage.db.insertInto('accounts').values(newAccount('first')).execute()
    expect(await ids(database.db)).toEqual([{ id: 'first' }])
    await database.db.transaction().execute(async (transaction) => {
      await transaction.insertInto('accounts').values(newAccount('second')).execute()
      expect(await ids(transaction)).toHaveLength(2)
      expect(await ids(database.db)).toHaveLength(1)
      expect(await ids(storage.reads)).toHaveLength(1)
    })
    expect(await ids(database.db)).toHaveLength(2)
    expect(await ids(storage.db)).toHaveLength(2)
    end()
  })

  it('rolls back what a thread had not committed when it ended, and goes on', async () => {
    const { database, end } = await open()
    let waiting: Promise<unknown> | undefined
    const isWaiting = new Promise<void>((resolve) => {
      const begun = database.db.transaction().execute(async (transaction) => {
        await transaction.insertInto('accounts').values(newAccount('lost')).execute()
        waiting = storage.db.insertInto('accounts').values(newAccount('kept')).execute()
        end()
        resolve()
        await new Promise(() => undefined)
      })
      begun.catch(() => undefined)
    })
    await isWaiting
    await waiting
    expect(await ids(storage.db)).toEqual([{ id: 'kept' }])
  })

  it('goes on after a thread that ended while it waited for another', async () => {
    const [first, second] = [await open(), await open()]
    const stored: string[] = []
    const insert = async ({ db }: Pick<OpenDatabase, 'db'>, id: string) => {
      await db
        .transaction()
        .execute((transaction) =>
          transaction.insertInto('accounts').values(newAccount(id)).execute(),
        )
      stored.push(id)
    }
    let waiting: Promise<void> | undefined
    await first.database.db.transaction().execute(async (transaction) => {
      await transaction.insertInto('accounts').values(newAccount('first')).execute()
      void insert(second.database, 'second').catch(() => undefined)
      // Its statement is in the queue of the store before the next one.
      await transaction.selectFrom('accounts').select('id').execute()
      waiting = insert(storage, 'third')
      await transaction.selectFrom('accounts').select('id').execute()
      second.end()
      await second.ended
      await transaction.selectFrom('accounts').select('id').execute()
    })
    await waiting
    expect(stored).toEqual(['third'])
    expect(await ids(storage.db)).toEqual([{ id: 'first' }, { id: 'third' }])
    first.end()
  })

  it('refuses a write of a thread outside a transaction', async () => {
    const { database, end } = await open()
    const writing = database.db.insertInto('accounts').values(newAccount('stray')).execute()
    await expect(writing).rejects.toThrow()
    expect(await ids(storage.db)).toEqual([])
    end()
  })

  it('tells each thread of a database that is gone, and that it is back', async () => {
    const early = await open()
    renameSync(join(folder, 'callgate.sqlite'), join(folder, 'away.sqlite'))
    await storage.checkFault()
    const insert = ({ db }: Pick<OpenDatabase, 'db'>, id: string) =>
      db
        .transaction()
        .execute((transaction) =>
          transaction.insertInto('accounts').values(newAccount(id)).execute(),
        )
    await expect(insert(early.database, 'unsure')).rejects.toThrow('the file was removed')
    renameSync(join(folder, 'away.sqlite'), join(folder, 'callgate.sqlite'))
    await storage.checkFault()
    await insert(early.database, 'stored')
    early.end()
  })
})

describe('migrations', () => {
  it('run once, and again without effect', async () => {
    await anAccount('kept')
    await migrateSchema(storage)
    const rows = await storage.db.selectFrom('accounts').select('id').execute()
    expect(rows).toEqual([{ id: 'kept' }])
  })

  it('refuse a schema that is newer than the program, and leave it alone', async () => {
    elsewhere.exec("insert into kysely_migration values ('9999-future', '2030-01-01T00:00:00Z')")
    const executed = elsewhere.prepare('select * from kysely_migration')
    const before = executed.all()
    await expect(migrateSchema(storage)).rejects.toThrow('newer schema than this program knows')
    expect(executed.all()).toEqual(before)
  })
})
