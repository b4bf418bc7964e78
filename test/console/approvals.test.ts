/** The page of approvals: exactly what is approved, by whom it may be, and what has become of it. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { NewApiKey } from '../../src/service/accounts/api-keys.js'
import { type ConsoleClient, openConsoleClient } from '../support/console-client.js'
import { makePersonal } from '../support/person-keys.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const hostile = '"><img src=x onerror=alert(1)><script>alert(2)</script>'
let running: TestCallgate
let admin: ConsoleClient
let asker: { readonly id: string; readonly key: string }
let count = 0

beforeAll(async () => {
  running = await openTestCallgate()
  await makePersonal(running, running.keys.sandbox, 'ann')
  admin = await openConsoleClient(running, running.keys.sandbox)
})
beforeEach(async () => {
  running.clock.at = mondayNoon
  asker = await make({ rights: ['decide', 'manage'], calls: { approval: 'always' } })
})
afterAll(() => running.end())

const make = (limits: Partial<NewApiKey> = {}) =>
  running.callgate.keys.create({
    accountId: 'sandbox',
    role: 'Supervisor',
    label: `made-${count++}`,
    ...limits,
  })

/** The id of the approval that a call waits for. */
async function ask(more: object = {}): Promise<string> {
  const call = { number: '2125550106', callKind: 'ai', ...more }
  const answer = await running.postJson('/v1/decisions', call, asker.key)
  const body = (await answer.json()) as { mandate?: { approval?: { id: string } } }
  expect(body).toMatchObject({ reason: 'approval-needed' })
  return body.mandate?.approval?.id ?? ''
}

const hashOf = (text: string) => /name="subjectHash" value="([^"]+)"/.exec(text)?.[1] ?? ''

it('shows exactly what is approved, with the time left, and approves it', async () => {
  const id = await ask({ callerId: '2127365000' })
  running.clock.at += 5 * 60_000
  const queue = await admin.get('/console/approvals')
  expect(queue.text).toContain('(212) 555-0106')
  expect(queue.text).toMatch(/Waiting, (?:9|10) minutes left/)
  expect(queue.text).not.toMatch(/href="[^"]*2125550106/)
  const path = `/console/approvals/${id}`
  const page = await admin.get(path)
  for (const text of [
    '(212) 555-0106',
    'AI call',
    '(212) 736-5000',
    asker.id,
    'exactly this call',
  ]) {
    expect(page.text).toContain(text)
  }
  const form = { subjectHash: hashOf(page.text), verdict: 'approve', note: 'He asked for it' }
  const approved = await admin.post(path, form)
  expect(approved.path).toMatch(/^\/console\/approvals\?done=/)
  expect(approved.path).not.toContain('2125550106')
  expect(approved.text).toContain('Approved: the AI call to (212) 555-0106.')
  expect(approved.text).toContain('He asked for it')
  const call = { number: '2125550106', callKind: 'ai', callerId: '2127365000', approvalId: id }
  const decided = await (await running.postJson('/v1/decisions', call, asker.key)).json()
  expect(decided).not.toMatchObject({ reason: 'approval-needed' })
  const again = await admin.post(path, form)
  expect(again.status).toBe(409)
  expect(again.text).toContain('nothing was changed')
})

it('leads to everything about the number', async () => {
  const { text } = await admin.get(`/console/approvals/${await ask()}`)
  const path = /href="(\/console\/numbers\/[^"]+)"/.exec(text)?.[1] ?? ''
  expect((await admin.get(path)).text).toContain('Number (212) 555-0106')
})

it('refuses a call', async () => {
  const path = `/console/approvals/${await ask()}`
  const subjectHash = hashOf((await admin.get(path)).text)
  const refused = await admin.post(path, { subjectHash, verdict: 'refuse', note: '' })
  expect(refused.text).toContain('Refused: the AI call')
  const page = await admin.get(path)
  expect(page.text).toContain('✕ Refused')
  expect(page.text).not.toContain('name="verdict"')
})

it('takes no verdict for another subject, without one, or too late', async () => {
  const path = `/console/approvals/${await ask()}`
  const subjectHash = hashOf((await admin.get(path)).text)
  const wrong = await admin.post(path, { subjectHash: '0'.repeat(64), verdict: 'approve' })
  expect(wrong.status).toBe(409)
  const none = await admin.post(path, { subjectHash, note: 'kept' })
  expect(none.status).toBe(400)
  expect(none.text).toContain('must be approve or refuse')
  expect(none.text).toContain('value="kept"')
  const long = await admin.post(path, { subjectHash, verdict: 'approve', note: 'x'.repeat(501) })
  expect(long.status).toBe(400)
  expect(long.text).toContain('id="note-problem"')
  running.clock.at += 15 * 60_000
  const late = await admin.post(path, { subjectHash, verdict: 'approve' })
  expect(late.status).toBe(409)
  expect(late.text).toContain('is expired')
  expect((await admin.get('/console/approvals')).text).toContain('✕ Expired')
})

it('the key that asked does not decide, and Agents see nothing', async () => {
  const path = `/console/approvals/${await ask()}`
  const own = await openConsoleClient(running, asker.key)
  const subjectHash = hashOf((await admin.get(path)).text)
  expect((await own.post(path, { subjectHash, verdict: 'approve' })).status).toBe(403)
  for (const limits of [{ role: 'Agent' }, { rights: ['decide'] }] as const) {
    const client = await openConsoleClient(running, (await make(limits)).key)
    expect((await client.get('/console/approvals')).status).toBe(403)
    expect((await client.get(path)).status).toBe(403)
    expect((await client.post(path, { subjectHash, verdict: 'approve' })).status).toBe(403)
  }
  expect((await admin.get(path)).text).toContain('name="verdict"')
})

it('another account finds nothing', async () => {
  const id = await ask()
  const subjectHash = hashOf((await admin.get(`/console/approvals/${id}`)).text)
  const stranger = await openConsoleClient(running, running.keys.main)
  expect((await stranger.get('/console/approvals')).text).not.toContain('(212) 555-0106')
  expect((await stranger.get(`/console/approvals/${id}`)).status).toBe(404)
  const verdict = { subjectHash, verdict: 'approve' }
  expect((await stranger.post(`/console/approvals/${id}`, verdict)).status).toBe(404)
})

it('hostile texts are shown as texts', async () => {
  const path = `/console/approvals/${await ask()}`
  const subjectHash = hashOf((await admin.get(path)).text)
  await admin.post(path, { subjectHash, verdict: 'refuse', note: hostile })
  await running.callgate.storage.db
    .updateTable('approvals')
    .set({
      subject: JSON.stringify({
        ...{ number: hostile, callKind: hostile, projectId: hostile },
        ...{ campaignId: hostile, callerId: hostile },
      }),
      decided_by: hostile,
      decision_id: hostile,
    })
    .where('id', '=', path.split('/').at(-1) ?? '')
    .execute()
  for (const one of [path, '/console/approvals']) {
    const { status, text } = await admin.get(one)
    expect(status).toBe(200)
    expect(text).toContain('&lt;script&gt;')
    expect(text).not.toMatch(/<img|<script>/)
  }
})
