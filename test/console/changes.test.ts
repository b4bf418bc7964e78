/** The page of changes that need two people, and the pages that ask for such a change. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { NewApiKey } from '../../src/service/accounts/api-keys.js'
import { type ConsoleClient, openConsoleClient } from '../support/console-client.js'
import { createPersonKey } from '../support/person-keys.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const hostile = '"><img src=x onerror=alert(1)><script>alert(2)</script>'
let running: TestCallgate
let ann: ConsoleClient
let ben: ConsoleClient
let number = 2_125_550_110
let count = 0

beforeAll(async () => {
  running = await openTestCallgate({
    environment: { CALLGATE_TWO_PEOPLE_FOR: '["lift-opt-out", "widen-hours"]' },
  })
})
beforeEach(async () => {
  running.clock.at = mondayNoon
  ann = await signIn()
  ben = await signIn()
})
afterAll(() => running.end())

async function signIn(
  more: Partial<NewApiKey> & { readonly madeAt?: number } = {},
): Promise<ConsoleClient> {
  const label = `made-${count++}`
  return await openConsoleClient(running, (await createPersonKey(running, label, more)).key)
}

/** The page of the change that ending an opt-out becomes. */
async function ask(reason = 'He asked in writing', phoneList?: string): Promise<string> {
  number += 1
  const all = phoneList ?? String(number)
  const added = { actionType: 'add', phoneList: all.replaceAll('\n', ',') }
  const { status } = await running.postJson('/app/main/rpc/pdnc', added, running.keys.main)
  expect(status).toBe(200)
  const asked = await ann.post('/console/opt-outs/end', { phoneList: all, reason })
  expect(asked.path).toMatch(/^\/console\/opt-outs\/end\?done=/)
  expect(asked.path).not.toContain(String(number))
  expect(asked.text).toContain('Not done yet: ending ')
  expect(asked.text).toContain('waits for a second person until')
  return `/console/changes/${/\bch-[0-9a-f]{20}\b/.exec(asked.text)?.[0]}`
}

async function isListed(): Promise<boolean> {
  const asked = { actionType: 'status', phoneList: String(number) }
  const answer = await running.postJson('/app/main/rpc/pdnc', asked, running.keys.main)
  return ((await answer.json()) as { onList: boolean }[])[0]?.onList ?? false
}

const hashOf = (text: string) => /name="requestHash" value="([^"]+)"/.exec(text)?.[1] ?? ''

it('says exactly what is asked for, by whom and why, and does it when another one approves', async () => {
  const path = await ask()
  running.clock.at += 10 * 60_000
  const queue = await ben.get('/console/changes')
  expect(queue.text).toContain('ending one opt-out of the Master Project')
  expect(queue.text).toContain('Waiting, 23 hours left')
  const page = await ben.get(path)
  const shown = `(212) 555-${String(number).slice(-4)}`
  for (const text of [shown, 'He asked in writing', 'key:', 'exactly this']) {
    expect(page.text).toContain(text)
  }
  const form = { requestHash: hashOf(page.text), verdict: 'approve', reason: 'Letter of 11/20' }
  const done = await ben.post(path, form)
  expect(done.path).toMatch(/^\/console\/changes\?done=/)
  expect(done.text).toContain('Approved and done: ending one opt-out')
  expect(done.text).toContain('Letter of 11/20')
  expect(await isListed()).toBe(false)
  const again = await ben.post(path, form)
  expect(again.status).toBe(409)
  expect(again.text).toContain('nothing was changed')
  expect(again.text).not.toContain(shown)
})

it('who asked waits for another person', async () => {
  const path = await ask()
  const page = await ann.get(path)
  expect(page.text).toContain('It waits for another person')
  expect(page.text).not.toContain('name="verdict"')
  const requestHash = hashOf((await ben.get(path)).text)
  const own = await ann.post(path, { requestHash, verdict: 'approve', reason: 'mine' })
  expect(own.status).toBe(403)
  expect(await isListed()).toBe(true)
})

it('refuses it, with a reason', async () => {
  const path = await ask()
  const requestHash = hashOf((await ben.get(path)).text)
  const without = await ben.post(path, { requestHash, verdict: 'refuse', reason: ' ' })
  expect(without.status).toBe(400)
  expect(without.text).toContain('id="reason-problem"')
  const none = await ben.post(path, { requestHash, reason: 'kept' })
  expect(none.status).toBe(400)
  expect(none.text).toContain('value="kept"')
  const refused = await ben.post(path, { requestHash, verdict: 'refuse', reason: 'No letter' })
  expect(refused.text).toContain('Refused: ending one opt-out')
  const page = await ben.get(path)
  expect(page.text).toContain('✕ Refused')
  expect(page.text).not.toContain('name="verdict"')
  expect(await isListed()).toBe(true)
})

it('takes no verdict on another one than was shown, or too late', async () => {
  const path = await ask()
  const verdict = { verdict: 'approve', reason: 'yes' }
  const requestHash = hashOf((await ben.get(path)).text)
  expect((await ben.post(path, { ...verdict, requestHash: '0'.repeat(64) })).status).toBe(409)
  running.clock.at += 24 * 3_600_000
  // The session has ended.
  const later = await signIn({ madeAt: mondayNoon - 86_400_000 })
  const late = await later.post(path, { ...verdict, requestHash })
  expect(late.status).toBe(409)
  expect((await later.get('/console/changes')).text).toContain('✕ Expired')
})

it('shows all of many numbers', async () => {
  const many = Array.from({ length: 30 }, (_, index) => String(2_125_558_000 + index))
  const page = await ben.get(await ask('A wrong import', many.join('\n')))
  expect(page.text).toContain('<summary>30 numbers</summary>')
  expect(page.text).toContain('(212) 555-8029')
})

it('each role sees what it may approve, and another account nothing', async () => {
  const path = await ask()
  const requestHash = hashOf((await ben.get(path)).text)
  const verdict = { requestHash, verdict: 'approve', reason: 'yes' }
  for (const limits of [{ role: 'Agent' }, { rights: ['records'] }] as const) {
    const client = await signIn(limits)
    expect((await client.get('/console/changes')).status).toBe(403)
    expect((await client.get(path)).status).toBe(403)
    expect((await client.post(path, verdict)).status).toBe(403)
  }
  const manager = await signIn({ rights: ['manage'] })
  expect((await manager.get('/console/changes')).text).toContain('No change waits')
  expect((await manager.get(path)).status).toBe(403)
  const stranger = await signIn({ accountId: 'sandbox', role: 'Administrator' })
  expect((await stranger.get('/console/changes')).text).toContain('No change waits')
  expect((await stranger.get(path)).status).toBe(404)
  expect((await stranger.post(path, verdict)).status).toBe(404)
  expect(await isListed()).toBe(true)
})

it('hostile texts are shown as texts', async () => {
  const path = await ask(hostile)
  const id = path.split('/').at(-1) ?? ''
  const { db } = running.callgate.storage
  const update = (change: object) =>
    db.updateTable('change_requests').set(change).where('id', '=', id).execute()
  await update({
    ...{ what: hostile, asked_by: hostile, problem: hostile, decided_by: hostile, note: hostile },
    request: JSON.stringify({
      phoneList: hostile,
      [hostile]: { [hostile]: hostile },
      number: hostile,
    }),
  })
  for (const where of ['/console/changes', path]) {
    const page = await ben.get(where)
    expect(page.status).toBe(200)
    expect(page.text).toContain('&lt;script&gt;')
    expect(page.text).not.toContain('<img src=x')
    expect(page.text).not.toContain('<script>alert')
  }
})
