/** The page of evidence: who may ask for a bundle, what it shows of one, and that nothing of another account is there. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { packageRoot } from '../../src/config/version.js'
import type { NewApiKey } from '../../src/service/accounts/api-keys.js'
import { type ConsoleClient, openConsoleClient } from '../support/console-client.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const hostile = '"><img src=x onerror=alert(1)><script>alert(2)</script>'
let running: TestCallgate
let admin: ConsoleClient
let other: ConsoleClient

const make = (limits: Partial<NewApiKey> = {}) =>
  running.callgate.keys.create({ accountId: 'main', role: 'Supervisor', label: 'made', ...limits })

beforeAll(async () => {
  const verifier = join(packageRoot, 'dist/evidence/verify.mjs')
  if (!existsSync(verifier)) {
    execFileSync(process.execPath, ['scripts/bundle-verifier.mjs', verifier])
  }
  running = await openTestCallgate()
  admin = await openConsoleClient(running, running.keys.main)
  other = await openConsoleClient(running, running.keys.sandbox)
  const call = { number: '2125550106', callKind: 'manual' }
  const decided = await running.postJson('/v1/decisions', call, running.keys.main)
  const { id } = (await decided.json()) as { id: string }
  await running.callgate.journal.drain()
  const prove = () => running.get(`/v1/decisions/${id}/proof`, running.keys.main)
  const untilSigned = { timeout: 30_000, interval: 100 }
  await vi.waitFor(async () => expect((await prove()).status).toBe(200), untilSigned)
})
afterAll(() => running.end())

/** The page of a bundle, once it is no longer going on. */
async function awaitEnd(client: ConsoleClient, path: string): Promise<string> {
  return await vi.waitFor(
    async () => {
      const { text } = await client.get(path)
      expect(text).not.toContain('Look again')
      return text
    },
    { timeout: 30_000, interval: 50 },
  )
}

it('asks for a bundle, shows how to check it, sends its file, and deletes it', async () => {
  expect((await admin.get('/console/evidence')).text).toContain('No bundle was asked for')
  const form = { number: '(212) 555-0106', from: '', to: '', reason: `Claim ${hostile}` }
  const asked = await admin.post('/console/evidence', form)
  expect(asked.path).toMatch(/^\/console\/evidence\/ev-\w+\?done=/)
  expect(asked.path).not.toContain('5550106')
  const path = asked.path.replace(/\?.*/, '')
  const page = await awaitEnd(admin, path)
  for (const text of [
    '✓ Done',
    '(212) 555-0106',
    'node verify.mjs --key',
    'SHA-256',
    'Claim &quot;',
  ]) {
    expect(page).toContain(text)
  }
  expect(page).not.toContain('<img')
  const list = (await admin.get('/console/evidence')).text
  expect(list).toContain(`href="${path}/file"`)
  expect(list).not.toContain('<img')
  const file = await admin.get(`${path}/file`)
  expect(file.text.slice(0, 2)).toBe('PK')
  expect(Object.fromEntries(file.headers)).toMatchObject({
    'content-type': 'application/zip',
    'content-disposition': expect.stringMatching(/^attachment; filename="evidence-ev-\w+\.zip"$/),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  // Nobody else has it, also if they know its address.
  for (const one of [path, `${path}/file`]) expect((await other.get(one)).status).toBe(404)
  expect((await other.post(path, { reason: 'mine' })).status).toBe(404)
  expect((await other.get('/console/evidence')).text).not.toContain('Claim')
  const none = await admin.post(path, { reason: ' ' })
  expect([none.status, none.text]).toEqual([400, expect.stringContaining('id="reason-problem"')])
  const gone = await admin.post(path, { reason: hostile })
  expect(gone.text).toContain('The bundle was deleted.')
  expect((await admin.get(path)).status).toBe(404)
})

it('says what went wrong, and may be asked by an officer', async () => {
  const officer = await openConsoleClient(
    running,
    (await make({ rights: ['decide', 'records', 'consent'] })).key,
  )
  const form = { number: '2125550199', from: '', to: '', reason: 'Nothing is there' }
  const asked = await officer.post('/console/evidence', form)
  const page = await awaitEnd(officer, asked.path.replace(/\?.*/, ''))
  expect(page).toContain('✕ Failed')
  expect(page).toContain('No signed record answers the question.')
  expect(page).toContain('only an Administrator of account main may see')
  expect(page).not.toContain('Download')
})

it.each([
  [{ reason: '' }, 'reason'],
  [{ number: '212', from: '' }, 'number'],
  [{ number: '', from: '', to: '' }, 'number'],
  [{ number: '', from: '2026-11-02T00:00', to: '' }, 'to'],
  [{ number: '', from: '2026-11-02T00:00', to: '2026-11-01T00:00' }, 'to'],
  [{ number: '', from: hostile, to: '2026-11-01T00:00' }, 'from'],
])('keeps what was entered and marks the field, of %j', async (fields, field) => {
  const form = { number: '2125550106', from: '', to: '', reason: 'kept', ...fields }
  const page = await admin.post('/console/evidence', form)
  expect(page.status).toBe(400)
  expect(page.text).toContain(`id="${field}-problem"`)
  expect(page.text).not.toContain('<img')
  if (form.reason) expect(page.text).toContain('value="kept"')
})

it.each([
  [{ role: 'Agent' }],
  [{ rights: ['decide', 'look-up'] }],
  [{ role: 'Administrator', projects: ['main'] }],
] as const)('refuses a key with %j', async (limits) => {
  const client = await openConsoleClient(running, (await make(limits as Partial<NewApiKey>)).key)
  expect((await client.get('/console/evidence')).status).toBe(403)
  const form = { number: '2125550106', reason: 'x' }
  expect((await client.post('/console/evidence', form)).status).toBe(403)
})
