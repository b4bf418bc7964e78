/** A server whose database vanishes, is locked or takes no writes: what it answers, and says of it. */
import { renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { CompiledQuery } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { watchData } from '../../src/commands/data-watch.js'
import type { DecisionDocument } from '../../src/gate/decision-document.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
let elsewhere: Sqlite.Database | undefined

beforeEach(async () => {
  running = await openTestCallgate()
})

afterEach(async () => {
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

    const { status, database: state, records } = await readiness()
    expect(status).toBe(503)
    expect(state).toMatchObject({ ready: false })
    expect(state?.detail).toContain(`${database()}: the file was removed, replaced or emptied`)
    expect(state?.detail).toContain('restart callgate')
    expect(records).toMatchObject({ ready: false })

    // The key of main has not been used before, so it cannot be looked up.
    for (const key of ['no key', running.keys.main]) {
      const emergency = await running.get('/v1/predial?number=911', key)
      expect(await emergency.text()).toBe('allow:911:-:end\n')
      const asJson = await running.postJson('/v1/decisions', { number: '911' }, key)
      expect(await asJson.json()).toMatchObject({ decision: 'allow', id: '-', dial: '911' })
    }
    const withKey = await running.postJson('/v1/decisions', { number: '911', callKind: 'manual' })
    expect(await withKey.json()).toMatchObject({ decision: 'allow', reason: 'service-code' })
  })

  it('goes on, with what was asked meanwhile recorded, when the folder is back', async () => {
    expect((await decide()).decision).toBe('allow')
    const away = `${running.dataDir}-moved`
    renameSync(running.dataDir, away)
    const withheld = await decide()
    expect(withheld.reason).toBe('not-recorded')
    renameSync(away, running.dataDir)
    await expect.poll(async () => (await readiness()).status, { timeout: 15_000 }).toBe(200)
    expect((await decide()).decision).toBe('allow')
    const kept = await running.get(`/v1/decisions/${withheld.id}`)
    expect(await kept.json()).toMatchObject({ reason: 'not-recorded' })
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
    const lost = `the database cannot be relied on; no call is allowed: ${database()}`
    await expect.poll(told, { timeout: 15_000 }).toEqual([lost])
    renameSync(away, running.dataDir)
    await expect
      .poll(told, { timeout: 15_000 })
      .toEqual([lost, 'the database can be relied on again: '])
    stop()
  })
})

describe('a server whose database another process has locked', () => {
  it('is not ready, with calls or without, until the lock is gone', async () => {
    elsewhere = new Sqlite(database())
    elsewhere.exec('begin immediate')
    const idle = await readiness()
    expect(idle.status).toBe(503)
    expect(idle.database?.detail).toContain('another process holds the lock')
    const decided = await Promise.all([decide(), decide(), decide()])
    expect(decided.map(({ reason }) => reason)).toEqual(Array(3).fill('not-recorded'))
    await expect
      .poll(async () => (await readiness()).records, { timeout: 15_000 })
      .toMatchObject({
        ready: false,
        detail: expect.stringMatching(/^records of 3 decisions wait to be written, since \d+ s: /),
      })
    elsewhere.exec('rollback')
    await expect.poll(async () => (await readiness()).status, { timeout: 15_000 }).toBe(200)
    expect((await decide()).decision).toBe('allow')
  })
})

describe('a server whose database takes no writes', () => {
  it('is not ready, also while nobody asks for a decision', async () => {
    expect((await readiness()).status).toBe(200)
    await running.callgate.storage.db.executeQuery(pragma('query_only = on'))
    await expect
      .poll(async () => (await readiness()).database, { timeout: 15_000 })
      .toMatchObject({
        ready: false,
        detail: expect.stringContaining('attempt to write a readonly database'),
      })
    await running.callgate.storage.db.executeQuery(pragma('query_only = off'))
    await expect.poll(async () => (await readiness()).status, { timeout: 15_000 }).toBe(200)
  })

  const pragma = (text: string) => CompiledQuery.raw(`pragma ${text}`)
})
