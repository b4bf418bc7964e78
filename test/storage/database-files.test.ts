/** What stands when files of the database vanish, are damaged, or belong to another program. */
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openAppContext } from '../../src/app/app-context.js'
import { loadSettings } from '../../src/config/load.js'
import { nodeRuntime } from '../../src/runtime/runtime.js'
import { DatabaseHealth } from '../../src/storage/database-health.js'
import type { OpenDatabase } from '../../src/storage/open-database.js'
import { listDatabaseFiles } from '../../src/storage/open-files.js'
import { useTempFolder } from '../data/temp-folder.js'

const temp = useTempFolder()
const dataDir = () => temp.file('data')
const file = (ending = '') => join(dataDir(), `callgate.sqlite${ending}`)

interface OpenOptions {
  readonly init?: boolean
  readonly environment?: Readonly<Record<string, string>>
}

async function open({ init = false, environment = {} }: OpenOptions = {}): Promise<OpenDatabase> {
  const settings = loadSettings({ environment: { ...environment, CALLGATE_DATA_DIR: dataDir() } })
  const world = { ...nodeRuntime, processMetrics: false }
  const { storage } = await openAppContext(settings, world, { init })
  return { ...storage, close: once(() => storage.close()) }
}

/** Closes at the end of the test as well. */
function once(close: () => Promise<void>): () => Promise<void> {
  let closing: Promise<void> | undefined
  const closeOnce = () => (closing ??= close())
  onTestFinished(() => closeOnce())
  return closeOnce
}

const addAccount = (storage: OpenDatabase, id: string) =>
  storage.db
    .insertInto('accounts')
    .values({ id, kind: 'real', name: id, agents_may_remove: 0, created_at: 0 })
    .execute()

const accounts = async ({ db }: OpenDatabase) =>
  (await db.selectFrom('accounts').select('id').execute()).map(({ id }) => id)

const messageOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no error',
    (cause: Error) => cause.message,
  )

describe('a database whose files vanish while it is open', () => {
  const vanishings: readonly (readonly [string, string, () => void])[] = [
    ['the file is removed', '', () => rmSync(file())],
    ['its log is removed', '-wal', () => rmSync(file('-wal'))],
    ['its index is removed', '-shm', () => rmSync(file('-shm'))],
    ['the file is emptied', '', () => truncateSync(file(), 0)],
    ['the folder is moved', '', () => renameSync(dataDir(), temp.file('moved'))],
    [
      'the file is replaced',
      '',
      () => {
        writeFileSync(temp.file('other'), 'other')
        renameSync(temp.file('other'), file())
      },
    ],
    [
      'the folder becomes a file',
      '',
      () => {
        renameSync(dataDir(), temp.file('moved'))
        writeFileSync(dataDir(), '')
      },
    ],
  ]
  it.each(vanishings)('acknowledges nothing once %s', async (_case, ending, vanish) => {
    const storage = await open()
    await addAccount(storage, 'before')
    expect(await storage.checkFault()).toBeUndefined()
    vanish()
    const refusal = `${file(ending)}: the file was removed, replaced or emptied while callgate runs`
    expect(await storage.checkFault()).toContain(refusal)
    await expect(addAccount(storage, 'after')).rejects.toMatchObject({ kind: 'not-available' })
    expect(await messageOf(addAccount(storage, 'again'))).toContain(refusal)
    const inTransaction = storage.db
      .transaction()
      .execute((within) => sql`delete from accounts`.execute(within))
    expect(await messageOf(inTransaction)).toContain(refusal)
    expect(await messageOf(accounts(storage))).toContain(refusal)
  })

  it('acknowledges nothing once its log is emptied, unless by a checkpoint', async () => {
    const storage = await open()
    await sql`pragma wal_checkpoint(truncate)`.execute(storage.db)
    await addAccount(storage, 'before')
    expect(await storage.checkFault()).toBeUndefined()
    truncateSync(file('-wal'), 0)
    expect(await messageOf(addAccount(storage, 'after'))).toContain(`${file('-wal')}: the file was`)
  })

  it('does not acknowledge a transaction during which they vanish', async () => {
    const storage = await open()
    const writing = storage.db.transaction().execute(async (within) => {
      await sql`update accounts set name = 'x'`.execute(within)
      rmSync(file())
    })
    expect(await messageOf(writing)).toContain('was removed, replaced or emptied')
  })

  it('goes on when the same files are back', async () => {
    const storage = await open()
    renameSync(dataDir(), temp.file('moved'))
    expect(await storage.checkFault()).toContain(
      'Move the same file back, or restore a backup (count first what that would lose: callgate backup loss <backup>) and restart callgate',
    )
    renameSync(temp.file('moved'), dataDir())
    await addAccount(storage, 'after')
    expect(await accounts(storage)).toContain('after')
  })
})

describe('a folder that has held a database', () => {
  const losses: readonly (readonly [string, () => void])[] = [
    ['is missing', () => removeDatabase()],
    [
      'is empty',
      () => {
        removeDatabase()
        writeFileSync(file(), '')
      },
    ],
    [
      'holds no table',
      () => {
        removeDatabase()
        const empty = new Sqlite(file())
        empty.pragma('journal_mode = WAL')
        empty.close()
      },
    ],
  ]
  it.each(losses)('gets no new one when its own %s, except on request', async (_case, lose) => {
    await (await open()).close()
    lose()
    const message = await messageOf(open())
    expect(message).toContain(`${file()}: the database is missing or empty, but ${dataDir()}`)
    expect(message).toContain('run: callgate serve --init')
    expect(existsWithContent()).toBe(false)
    const storage = await open({ init: true })
    expect(await accounts(storage)).toEqual(['main', 'sandbox'])
    await storage.close()
    await (await open()).close()
  })

  it('keeps its database when it is asked to make one', async () => {
    await addAccount(await open(), 'kept')
    expect(await messageOf(open({ init: true }))).toContain('the database exists already')
    expect(await accounts(await open())).toContain('kept')
  })

  const removeDatabase = () => {
    for (const name of readdirSync(dataDir())) {
      if (name.startsWith('callgate.sqlite')) rmSync(join(dataDir(), name))
    }
  }
  const existsWithContent = () => {
    const path = file()
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
    if (size === 0) return false
    const database = new Sqlite(path)
    const tables = database.prepare('select count(*) from sqlite_master').pluck().get()
    database.close()
    return tables !== 0
  }
})

describe('a new folder', () => {
  it('holds database, lists and marker after the first command, which a second one finds', async () => {
    mkdirSync(join(dataDir(), 'lists'), { recursive: true })
    await addAccount(await open(), 'kept')
    expect(readdirSync(dataDir())).toContain('initialized')
    expect(await accounts(await open())).toContain('kept')
  })

  it('is one that holds imported files alone, which may come before the first start', async () => {
    for (const name of ['lists', 'numbering', 'facts', 'rejects']) {
      mkdirSync(join(dataDir(), name), { recursive: true })
      writeFileSync(join(dataDir(), name, 'file'), 'imported')
    }
    expect(await accounts(await open())).toEqual(['main', 'sandbox'])
  })

  it('gets no database where the settings forbid it, except on request', async () => {
    const environment = { CALLGATE_STORAGE_CREATE_DATABASE: 'false' }
    expect(await messageOf(open({ environment }))).toContain('storage.createDatabase: false')
    expect(existsSync(join(dataDir(), 'callgate.sqlite'))).toBe(false)
    const storage = await open({ environment, init: true })
    await storage.close()
    expect(await accounts(await open({ environment }))).toEqual(['main', 'sandbox'])
  })
})

describe('damage', () => {
  const pageBytes = 4096

  async function fillAndClose(table: 'internal_dnc_lists' | 'accounts'): Promise<void> {
    const storage = await open()
    for (let index = 0; index < 100; index += 1) {
      const text = `a${index}${'x'.repeat(900)}`
      if (table === 'accounts') await addAccount(storage, text)
      else {
        const row = { account_id: 'main', list: text, modified_at: 0 }
        await storage.db.insertInto(table).values(row).execute()
      }
    }
    await storage.close()
  }

  /** Overwrites the last pages, which hold rows. */
  function damagePages(): void {
    const pages = statSync(file()).size / pageBytes
    const handle = openSync(file(), 'r+')
    for (let page = pages - 10; page < pages; page += 1) {
      writeSync(handle, Buffer.alloc(pageBytes, 0x5a), 0, pageBytes, page * pageBytes)
    }
    closeSync(handle)
  }

  it('is found by reading every page, and then nothing is allowed or stored', async () => {
    await fillAndClose('internal_dnc_lists')
    damagePages()
    const storage = await open()
    await storage.checkIntegrity()
    expect(await storage.checkFault()).toContain(`${file()}: the database is damaged (`)
    expect(await storage.checkFault()).toContain('restore a backup')
    expect(await messageOf(addAccount(storage, 'after'))).toContain('is damaged')
  })

  it('is found by a read of a decision', async () => {
    await fillAndClose('internal_dnc_lists')
    damagePages()
    const storage = await open()
    const query = storage.db
      .selectFrom('internal_dnc_lists')
      .select(({ fn }) => fn.max('list').as('last'))
      .where('list', '>=', '')
    const read = storage.prepareRead(query.compile())
    let damage = 0
    try {
      void read('')
    } catch (cause) {
      storage.observeFailure(cause)
      damage += 1
    }
    expect(damage).toBe(1)
    expect(await storage.checkFault()).toContain(`${file()}: read errors (`)
    await storage.checkIntegrity()
    expect(await storage.checkFault()).toContain(`${file()}: the database is damaged (`)
  })

  it('is not found in a whole database, also while it is written', async () => {
    const storage = await open()
    const checking = storage.checkIntegrity()
    for (let index = 0; index < 50; index += 1) await addAccount(storage, `a${index}`)
    await checking
    expect(await storage.checkFault()).toBeUndefined()
  })

  it('is no longer looked for by another process once the database is closed, or its log would stay', async () => {
    await (await open()).close()
    const health = new DatabaseHealth(file(), listDatabaseFiles(file()), {
      faultChanged: () => undefined,
    })
    let hasEnded = false
    const checking = health.checkIntegrity().finally(() => {
      hasEnded = true
    })
    await health.close()
    await nextTurn()
    expect(hasEnded).toBe(true)
    await checking
  })

  it('of a file that is cut off while it is open is found at once', async () => {
    const storage = await open()
    await sql`pragma wal_checkpoint(truncate)`.execute(storage.db)
    truncateSync(file(), pageBytes)
    expect(await storage.checkFault()).toContain('became smaller; its pages are being checked')
    await expect.poll(() => storage.checkFault()).toContain('is damaged')
  })

  it('of a file that is cut off while it is moved away is found when it is back', async () => {
    const storage = await open()
    await sql`pragma wal_checkpoint(truncate)`.execute(storage.db)
    renameSync(dataDir(), temp.file('moved'))
    expect(await storage.checkFault()).toContain('was removed, replaced or emptied')
    truncateSync(join(temp.file('moved'), 'callgate.sqlite'), pageBytes)
    renameSync(temp.file('moved'), dataDir())
    expect(await storage.checkFault()).toContain('became smaller')
    await expect.poll(() => storage.checkFault()).toContain('is damaged')
  })

  it('is not seen in a file that a VACUUM made smaller', async () => {
    const storage = await open()
    for (let index = 0; index < 200; index += 1)
      await addAccount(storage, `a${index}${'x'.repeat(900)}`)
    await sql`delete from accounts where id like 'a%'`.execute(storage.db)
    await sql`pragma wal_checkpoint(truncate)`.execute(storage.db)
    await storage.checkFault()
    const before = statSync(file()).size
    const elsewhere = new Sqlite(file())
    elsewhere.exec('vacuum')
    elsewhere.pragma('wal_checkpoint(truncate)')
    elsewhere.close()
    expect(statSync(file()).size).toBeLessThan(before)
    await storage.checkFault()
    await expect.poll(() => storage.checkFault()).toBeUndefined()
    await addAccount(storage, 'after')
  })

  it('that keeps the database from being opened is told in one line', async () => {
    await (await open()).close()
    writeFileSync(file(), Buffer.alloc(3 * pageBytes, 0x5a))
    expect(await messageOf(open())).toBe(
      `${file()}: the database cannot be opened: file is not a database`,
    )
  })

  it('that shows while it is opened is told in one line', async () => {
    await fillAndClose('accounts')
    damagePages()
    expect(await messageOf(open())).toBe(
      `${file()}: read errors (database disk image is malformed), so nothing is allowed or stored. ` +
        'Restart callgate: the start checks the database',
    )
  })
})

describe('a full disk', () => {
  it('says so, also where SQLite has ended the transaction by itself', async () => {
    const storage = await open()
    const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(storage.db)
    await sql.raw(`pragma max_page_count = ${rows[0]?.page_count}`).execute(storage.db)
    const filling = storage.db.transaction().execute(async (within) => {
      for (let index = 0; index < 100; index += 1) {
        await sql`insert into accounts (id, kind, name, agents_may_remove, created_at)
          values (${index}, 'real', ${'x'.repeat(4000)}, 0, 0)`.execute(within)
      }
    })
    expect(await messageOf(filling)).toBe('database or disk is full')
    await sql.raw('pragma max_page_count = 1000000').execute(storage.db)
    await addAccount(storage, 'after')
    expect(await accounts(storage)).toEqual(['after', 'main', 'sandbox'])
  })
})

describe('a database that another program made', () => {
  async function changed(...statements: readonly string[]): Promise<string> {
    await (await open()).close()
    const elsewhere = new Sqlite(file())
    for (const statement of statements) elsewhere.exec(statement)
    elsewhere.close()
    return messageOf(open())
  }

  it('with a newer schema is refused in one line with what to do', async () => {
    const message = await changed("insert into kysely_migration values ('9999-future', '')")
    expect(message).toMatch(/^\S+callgate\.sqlite: the database has a newer schema .*9999-future/)
    expect(message).toContain('Install the callgate version that wrote it')
  })

  it('from before the first release is refused in one line with what to do', async () => {
    const message = await changed("update kysely_migration set name = '0001-initial'")
    expect(message).toMatch(/^\S+callgate\.sqlite: the database was made before the first release/)
    expect(message).toContain('Start with an empty data folder')
    expect(message).not.toContain('\n')
  })

  it.each(['drop table kysely_migration', 'delete from kysely_migration'])(
    'without a record of its schema is refused: %s',
    async (statement) => {
      const message = await changed(statement)
      expect(message).toMatch(/callgate\.sqlite: the database contains tables \(.*accounts/)
      expect(message).toContain('Restore a backup')
      expect(message).not.toContain('\n')
    },
  )
})
