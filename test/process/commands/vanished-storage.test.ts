/** A server whose database vanishes, is damaged, locked or takes no writes: what it answers, and says. */
import { closeSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { CompiledQuery } from 'kysely'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { watchData } from '../../../src/commands/serve/data-watch.js'
import type { DecisionDocument } from '../../../src/gate/record/decision-document.js'
import { openTestCallgate, type TestCallgate } from '../../support/test-callgate.js'

let running: TestCallgate
let elsewhere: Sqlite.Database | undefined

beforeEach(async () => {
  running = await openTestCallgate()
})

afterEach(async () => {
  vi.restoreAllMocks()
  elsewhere?.close()
  elsewhere = undefined
  await running.end()
})

const database = () => join(running.dataDir, 'callgate.sqlite')

async function readiness() {
  const response = await running.get('/readyz')
  const { checks } = (await response.json()) as {
    checks: readonly { name: string; ready: boolean; detail?: string }[]
  }
  const of = (name: string) => checks.find((check) => check.name === name)
  return { status: response.status, database: of('database'), records: of('records') }
}

async function decide(): Promise<DecisionDocument> {
  const response = await running.postJson('/v1/decisions', {
    number: '2125550100',
    callKind: 'manual',
  })
  return (await response.json()) as DecisionDocument
}

const optOut = (number: string) =>
  running.get(`/app/main/rpc/pdnc?phoneList=${number}&actionType=add`)

const consent = () =>
  running.postJson('/app/main/rpc/ebr', {
    ebrList: [{ phoneNumber: '2125550100', type: 'P', dateOfLastContact: '11/20/2026' }],
  })

describe('a server whose database is removed', () => {
  it('allows and acknowledges nothing, says so, and lets emergency calls pass', async () => {
    expect((await decide()).decision).toBe('allow')
    expect((await readiness()).status).toBe(200)
    for (const ending of ['', '-wal', '-shm']) rmSync(database() + ending)

    expect(await decide()).toMatchObject({ decision: 'block', reason: 'not-recorded' })
    for (const refused of [await optOut('2125550101'), await consent()]) {
      expect(refused.status).toBe(503)
      expect(await refused.text()).toContain('was removed, replaced or emptied while callgate runs')
    }
    const scrub = await running.get(
      '/app/main/rpc/scrub?version=8&output=json&phoneList=2125550100',
    )
    expect(scrub.status).toBe(503)

    const { status, database: state } = await readiness()
    expect(status).toBe(503)
    expect(state).toMatchObject({ ready: false })
    expect(state?.detail).toContain(`${database()}: the file was removed, replaced or emptied`)
    expect(state?.detail).toContain('restart callgate')

    const emergency = await running.get('/v1/predial?number=911', 'no key')
    expect(await emergency.text()).toBe('allow:911:-:end\n')
    const asJson = await running.postJson('/v1/decisions', { number: '911' }, 'no key')
    expect(await asJson.json()).toMatchObject({ decision: 'allow', id: '-', dial: '911' })
    // The key of main has not been used before.
    for (const key of [running.keys.sandbox, running.keys.main]) {
      const body = { number: '911', callKind: 'manual' }
      const withKey = await running.postJson('/v1/decisions', body, key)
      expect(await withKey.json()).toMatchObject({ decision: 'allow', reason: 'service-code' })
    }
  })

  it('goes on, with what was asked meanwhile recorded, when the folder is back', async () => {
    expect((await decide()).decision).toBe('allow')
    const away = `${running.dataDir}-moved`
    renameSync(running.dataDir, away)
    const withheld = await decide()
    expect(withheld.reason).toBe('not-recorded')
    renameSync(away, running.dataDir)
    await expect.poll(async () => (await readiness()).status).toBe(200)
    expect((await decide()).decision).toBe('allow')
    const kept = await running.get(`/v1/decisions/${withheld.id}`)
    expect(await kept.json()).toMatchObject({ reason: 'not-recorded' })
  })
})

describe('a server that meets a damaged page', () => {
  const pageBytes = 4096

  function damageLastPages(): void {
    const file = openSync(database(), 'r+')
    const junk = Buffer.alloc(10 * pageBytes, 0x5a)
    writeSync(file, junk, 0, junk.length, statSync(database()).size - junk.length)
    closeSync(file)
  }

  it('is shut at once, and says that its database is damaged once a check has found that', async () => {
    const { db } = running.callgate.storage
    for (let index = 0; index < 100; index += 1) {
      const row = { account_id: 'main', list: `${index}${'x'.repeat(900)}`, modified_at: 0 }
      await db.insertInto('internal_dnc_lists').values(row).execute()
    }
    await running.stop()
    damageLastPages()
    running = await openTestCallgate({ dataDir: running.dataDir })
    expect((await readiness()).database).toMatchObject({ ready: true })

    const rows = running.callgate.storage.db.selectFrom('internal_dnc_lists').selectAll()
    await expect(rows.execute()).rejects.toThrow('read errors (database disk image is malformed)')
    expect((await readiness()).status).toBe(503)
    await expect
      .poll(async () => (await readiness()).database?.detail)
      .toContain(`${database()}: the database is damaged (`)
    expect((await readiness()).database?.detail).toContain('callgate backup loss <backup>')
    const refused = await optOut('2125550101')
    expect(refused.status).toBe(503)
    expect(await refused.text()).toContain('is damaged')
  })
})

describe('a server whose disk fails to read for a moment', () => {
  it('is shut until it is restarted, and says nothing of damage or a backup', async () => {
    expect((await optOut('2125550101')).status).toBe(200)
    const statement = Object.getPrototypeOf(new Sqlite(':memory:').prepare('select 1'))
    const malformed = 'database disk image is malformed'
    // As SQLite says of EIO.
    vi.spyOn(statement, 'run').mockImplementationOnce(() => {
      throw new Sqlite.SqliteError(malformed, 'SQLITE_CORRUPT')
    })
    expect((await optOut('2125550102')).status).toBe(503)
    await running.callgate.storage.checkIntegrity()
    const { status, database: state } = await readiness()
    expect(status).toBe(503)
    expect(state?.detail).toBe(
      `${database()}: read errors (${malformed}), so nothing is allowed or stored. ` +
        'Restart callgate: the start checks the database',
    )
    expect((await decide()).decision).toBe('block')
    await running.stop()
    running = await openTestCallgate({ dataDir: running.dataDir })
    expect((await readiness()).status).toBe(200)
    expect((await decide()).decision).toBe('allow')
  })
})

describe('the log', () => {
  it('names a file that vanished once, and that it is back', async () => {
    const stop = watchData(running.callgate)
    const told = () =>
      running.logLines
        .map((line) => JSON.parse(line) as { message: string; detail?: string })
        .filter(({ message }) => message.startsWith('the database'))
        .map(({ message, detail }) => `${message}: ${detail?.split(':')[0] ?? ''}`)
    const away = `${running.dataDir}-moved`
    renameSync(running.dataDir, away)
    const lost = `the database is not reliable; no call is allowed: ${database()}`
    await expect.poll(told).toEqual([lost])
    renameSync(away, running.dataDir)
    await expect.poll(told).toEqual([lost, 'the database is reliable again: '])
    const unread = running.logLines.filter((line) => line.includes('rows of other processes'))
    expect(unread).toEqual([])
    stop()
  })
})

describe('a server whose database another process has locked', () => {
  it('decides and records, but is not ready until the lock is gone', async () => {
    elsewhere = new Sqlite(database())
    elsewhere.exec('begin immediate')
    const idle = await readiness()
    expect(idle.status).toBe(503)
    expect(idle.database?.detail).toContain('is locked by another process')
    const decided = await Promise.all([decide(), decide(), decide()])
    expect(decided.map(({ reason }) => reason)).toEqual(Array(3).fill('permitted'))
    expect((await readiness()).records).toMatchObject({ ready: true })
    expect((await optOut('2125550101')).status).toBe(503)
    elsewhere.exec('rollback')
    await expect.poll(async () => (await readiness()).status).toBe(200)
    expect((await decide()).decision).toBe('allow')
  })
})

describe('a server whose database takes no writes', () => {
  it('is not ready, also while nobody asks for a decision', async () => {
    expect((await readiness()).status).toBe(200)
    await running.callgate.storage.db.executeQuery(pragma('query_only = on'))
    await expect
      .poll(async () => (await readiness()).database)
      .toMatchObject({
        ready: false,
        detail: expect.stringContaining('attempt to write a readonly database'),
      })
    await running.callgate.storage.db.executeQuery(pragma('query_only = off'))
    await expect.poll(async () => (await readiness()).status).toBe(200)
  })
})

describe('a server whose disk fails to write', () => {
  const optOutDoors: readonly (readonly [string, (number: string) => Promise<Response>])[] = [
    ['/v1/opt-outs', (number) => running.postJson('/v1/opt-outs', { number, said: 'stop' })],
    ['/app/main/rpc/pdnc', optOut],
    [
      '/v1/platform-events',
      (number) =>
        running.postJson('/v1/platform-events', {
          platform: 'twilio',
          receivedAt: '2026-11-23T17:00:00Z',
          body: `CallSid=${number}&CallStatus=completed`,
        }),
    ],
  ]

  it('confirms no opt-out, whatever fails, and takes it when it is sent again', async () => {
    const statement = Object.getPrototypeOf(new Sqlite(':memory:').prepare('select 1'))
    const { run } = statement
    let fault: string | undefined
    vi.spyOn(statement, 'run').mockImplementation(function (this: Sqlite.Statement, ...values) {
      const isWrite =
        this.database.name === database() && /^(?:insert|update|commit)/.test(this.source)
      if (fault === undefined || !isWrite) return run.apply(this, values)
      if (this.database.inTransaction) this.database.exec('rollback')
      throw new Sqlite.SqliteError('disk I/O error', fault)
    })
    let number = 2_125_560_100
    for (const code of ['SQLITE_IOERR_WRITE', 'SQLITE_IOERR_FSYNC', 'SQLITE_CANTOPEN']) {
      for (const [door, send] of optOutDoors) {
        number += 1
        fault = code
        const refused = await send(`${number}`)
        fault = undefined
        const said = await refused.text()
        const isRefused = [503, expect.stringContaining('not confirmed')]
        expect.soft([door, code, refused.status, said]).toEqual([door, code, ...isRefused])
        const again = [await send(`${number}`), await send(`${number}`)]
        expect.soft(again.map(({ status }) => status)).toEqual([200, 200])
      }
    }
    const { db } = running.callgate.storage
    const rows = await db.selectFrom('internal_dnc').select('number').execute()
    expect(rows.length).toBe(6)
  })
})

describe('a server whose disk is full', () => {
  it('says of an opt-out that it was not stored, and why', async () => {
    const { db } = running.callgate.storage
    const { rows } = await db.executeQuery<{ page_count: number }>(pragma('page_count'))
    await db.executeQuery(pragma(`max_page_count = ${rows[0]?.page_count}`))
    let refused: Response | undefined
    let lastLine = 0
    for (; refused === undefined && lastLine < 20_000; lastLine += 500) {
      const lines = Array.from({ length: 500 }, (_, index) => 2125560000 + lastLine + index)
      const phoneList = lines.join(',')
      const response = await running.postJson('/app/main/rpc/pdnc', {
        phoneList,
        actionType: 'add',
      })
      if (response.status !== 200) refused = response
    }
    expect(refused?.status).toBe(503)
    const said = `Nothing was stored, since the disk is full (${database()}: database or disk is full)`
    expect(await refused?.text()).toContain(said)

    await db.executeQuery(pragma('max_page_count = 1000000'))
    const first = String(2125560000 + lastLine - 500)
    const onList = `/app/main/rpc/pdnc?phoneList=${first}&actionType=status`
    expect(await (await running.get(onList)).text()).toBe(`${first},,`)
    expect((await optOut(first)).status).toBe(200)
  })
})

const pragma = (text: string) => CompiledQuery.raw(`pragma ${text}`)
