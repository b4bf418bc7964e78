/** A clock that is years ahead removes nothing that is kept for some time; days that have passed do. */
import { afterEach, expect, it } from 'vitest'
import { PermitKeys } from '../../src/permits/permit-keys.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const msPerHour = 3_600_000
const msPerDay = 24 * msPerHour
let running: TestCallgate

afterEach(() => running.end())

/** What was stored on the first day and is left. */
async function countRows() {
  const { db } = running.callgate.storage
  const end = mondayNoon + msPerDay
  const select = ['account_id'] as const
  const audit = await db.selectFrom('audit').select(select).where('at', '<', end).execute()
  const sessions = db.selectFrom('console_sessions').select(select)
  const requests = db.selectFrom('repeated_requests').select('key_id').where('key', '=', 'first')
  const tokens = db.selectFrom('access_tokens').select('key_id')
  const permitKeys = db.selectFrom('permit_keys').select('serial').where('serial', '=', 1)
  return {
    audit: audit.length,
    sessions: (await sessions.where('created_at', '<', end).execute()).length,
    requests: (await requests.execute()).length,
    tokens: (await tokens.execute()).length,
    permitKeys: (await permitKeys.execute()).length,
  }
}

const decide = (idempotencyKey: string) =>
  fetch(`${running.url}/v1/decisions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      loginId: running.keys.sandbox,
      'idempotency-key': idempotencyKey,
    },
    body: JSON.stringify({ number: '2125550100', callKind: 'manual' }),
  })

async function getToken(): Promise<void> {
  const form = { grant_type: 'client_credentials', client_id: 'sandbox' }
  const body = new URLSearchParams({ ...form, client_secret: running.keys.sandbox })
  const response = await fetch(`${running.url}/oauth/token`, { method: 'POST', body })
  expect(response.status).toBe(200)
}

/** As a server that starts. */
async function cleanUp(at: number) {
  const { dataDir } = running
  await running.stop()
  running = await openTestCallgate({ dataDir, at })
  const { backgroundJobs } = running.callgate
  backgroundJobs.start()
  await expect
    .poll(() => backgroundJobs.tasks.get('cleanup')?.lastRun, { timeout: 60_000 })
    .toMatchObject({ hasFailed: false })
}

it('is by the days of the journal', async () => {
  running = await openTestCallgate()
  expect((await decide('first')).status).toBe(200)
  const { db } = running.callgate.storage
  const ended = { hash: 'a', account_id: 'main', key_id: '', person: 'Jo', role: null }
  await db
    .insertInto('console_sessions')
    .values({ ...ended, created_at: mondayNoon, used_at: mondayNoon })
    .execute()
  await getToken()
  const { runtime, storage } = running.callgate
  const rotate = () => new PermitKeys({ storage, ...runtime }).rotate('edge-a', { atOnce: false })
  await rotate()
  running.clock.at += msPerHour
  await rotate()
  const stored = await countRows()
  expect(stored).toMatchObject({ sessions: 1, requests: 1, tokens: 1, permitKeys: 1 })
  expect(stored.audit).toBeGreaterThan(1)

  const wrong = mondayNoon + 3_660 * msPerDay
  await cleanUp(wrong)
  expect((await decide('second')).status).toBe(200)
  const { storage: later, runtime: now } = running.callgate
  await new PermitKeys({ storage: later, ...now }).rotate('edge-a', { atOnce: false })
  await getToken()
  expect(await countRows()).toEqual({ ...stored, tokens: 2 })

  for (let day = 1; day <= 8; day += 1) {
    running.clock.at = wrong + day * msPerDay
    expect((await decide(`${day}`)).status).toBe(200)
  }
  await cleanUp(running.clock.at)
  expect(await countRows()).toEqual({
    audit: 0,
    sessions: 0,
    requests: 0,
    tokens: 0,
    permitKeys: 0,
  })
})

it('takes keys of repeated requests, of which there are many, after two days', async () => {
  running = await openTestCallgate()
  expect((await decide('first')).status).toBe(200)
  const { db } = running.callgate.storage
  const many = Array.from({ length: 10_500 }, (_, index) => ({
    ...{ key_id: 'k', key: `${index}`, fingerprint: '', decision_id: null },
    at: mondayNoon,
  }))
  for (let from = 0; from < many.length; from += 500) {
    await db
      .insertInto('repeated_requests')
      .values(many.slice(from, from + 500))
      .execute()
  }
  const { audit } = await countRows()
  for (let day = 1; day <= 3; day += 1) {
    running.clock.at = mondayNoon + day * msPerDay
    expect((await decide(`${day}`)).status).toBe(200)
  }
  await cleanUp(running.clock.at)
  await expect
    .poll(async () => {
      const rows = running.callgate.storage.db.selectFrom('repeated_requests').select('key')
      return (await rows.where('at', '<', mondayNoon + msPerDay).execute()).length
    })
    .toBe(0)
  expect(await countRows()).toMatchObject({ audit, requests: 0 })
})
