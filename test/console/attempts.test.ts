/** The page Attempts: how often a number may be called, how often it was, when again; and attempts of other systems. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { insertProject } from '../../src/service/projects/project-rows.js'
import { type ConsoleClient, openConsoleClient } from '../support/console-client.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const hostile = '"><img src=x onerror=alert(1)><script>alert(2)</script>'
/** In Florida, where three calls in a day are the limit, which an own limit makes two in an hour. */
const number = '3055550107'
const at = '2026-11-23T16:30'
const path = '/console/attempts'
let running: TestCallgate
let client: ConsoleClient

beforeAll(async () => {
  running = await openTestCallgate({
    environment: {
      CALLGATE_GATE_HOUSE_LIMITS: '[{ account: sandbox, calls: 2, seconds: 3600 }]',
      CALLGATE_GATE_SUBJECTS: '[{ account: sandbox, subjects: [solar] }]',
    },
  })
  const { db } = running.callgate.storage
  await insertProject(db, { accountId: 'sandbox', code: 'SPRING', name: 'Spring', createdAt: 0 })
  client = await openConsoleClient(running, running.keys.sandbox)
})
afterAll(() => running.end())
beforeEach(async () => {
  await running.callgate.storage.db.deleteFrom('attempts').execute()
})

const add = (more: object = {}, who = client) =>
  who.post(`${path}/new`, { number, at, ref: 'cdr-1', channel: 'call', ...more })
const show = (more: object = {}, who = client) => who.post(path, { number, ...more })

describe('the page', () => {
  it('shows the limits of all places before a number is entered', async () => {
    const { text } = await client.get(path)
    expect(text).toContain('Limits of all places')
    expect(text).toContain('Your own limit')
    expect(text).not.toContain('By these limits')
  })

  it('says how often a number was called, and when it may be again', async () => {
    await add()
    const once = await show({ number: '(305) 555-0107' })
    expect(once.path).not.toContain('5550107')
    expect(once.text).toContain('1 of 2')
    expect(once.text).toContain('1 of 3')
    expect(once.text).toContain('it may be called now')
    const decided = await running.postJson('/v1/decisions', { number, callKind: 'manual' })
    const { id } = (await decided.json()) as { id: string }
    const { text } = await show()
    expect(text).toContain('may be called again from <time datetime="2026-11-23T17:30:00Z">')
    expect(text).toContain(`href="/console/decisions/${id}"`)
    expect(text).toContain('cdr-1')
  })

  it.each([
    ['number', { number: '305' }],
    ['projectId', { projectId: 'NONE' }],
    ['reason', { reason: 'x'.repeat(201) }],
    ['personId', { personId: 'x'.repeat(300) }],
  ])('names a wrong %s at its field', async (field, wrong) => {
    const { text } = await show(wrong)
    expect(text).toContain(`href="#${field}"`)
    expect(text).toContain(`id="${field}-problem"`)
  })

  it('says when the limits are in shadow mode', async () => {
    const { pauses } = running.callgate
    const subject = 'check:attempts:sandbox'
    await pauses.pause({ subject, because: 'a trial', pausedBy: 'test' })
    expect((await show()).text).toContain('in shadow mode')
    await pauses.resume(subject)
    expect((await show()).text).not.toContain('in shadow mode')
  })

  it('refuses an address that it has not made', async () => {
    expect((await client.get(`${path}/forged`)).status).toBe(404)
  })
})

describe('an attempt of another system', () => {
  it('is counted, once for its reference', async () => {
    const added = await add({ number: '(305) 555-0107', answered: 'true' })
    expect(added.text).toContain('Counted: a call to (305) 555-0107.')
    expect(added.text).toContain('1 of 2')
    await add({ answered: 'true' })
    expect((await show()).text).toContain('1 of 2')
    const other = await add({ answered: 'false' })
    expect([other.status, other.text.includes('id="ref-problem"')]).toEqual([409, true])
  })

  it.each([
    ['number', { number: '305' }],
    ['at', { at: 'yesterday' }],
    ['at', { at: '2026-12-24T00:00' }],
    ['at', { at: '2026-10-01T00:00' }],
    ['ref', { ref: 'a b' }],
    ['channel', { channel: 'pigeon' }],
    ['purpose', { purpose: 'fun' }],
    ['subject', { subject: 'roof' }],
  ])('with a wrong %s is refused at that field', async (field, wrong) => {
    const { status, text } = await add(wrong)
    expect(status).toBe(400)
    expect(text).toContain(`href="#${field}"`)
    expect(text).toContain(`id="${field}-problem"`)
    expect((await show()).text).toContain('0 of 2')
  })
})

it('shows texts of others as texts', async () => {
  await add({ ref: '"><script>alert(2)</script>' })
  for (const page of [
    await show(),
    await show({ number: hostile, projectId: hostile, personId: hostile, reason: hostile }),
    await show({ personId: hostile, reason: hostile }),
    await add({ number: hostile, ref: hostile, subject: hostile, personId: hostile, at: hostile }),
  ]) {
    expect(page.text).toContain('&lt;script&gt;')
    expect(page.text).not.toMatch(/<img|<script>/)
  }
})

it('has nothing of another account', async () => {
  await add()
  const stranger = await openConsoleClient(running, running.keys.main)
  const { text } = await show({}, stranger)
  expect(text).not.toContain('cdr-1')
  expect(text).not.toContain('Your own limit')
  expect(text).toContain('0 of 3')
})

describe('of a key', () => {
  const open = async (limits: object) => {
    const asked = { accountId: 'sandbox', label: '', role: 'Administrator' } as const
    return await openConsoleClient(
      running,
      (await running.callgate.keys.create({ ...asked, ...limits })).key,
    )
  }

  it.each(['Agent', 'Supervisor'])(
    '%s with the right look-up, it shows and adds nothing',
    async (role) => {
      await add()
      const reader = await open({ role, rights: ['look-up'] })
      const { text } = await show({}, reader)
      expect(text).toContain('1 of 2')
      expect(text).not.toContain(`${path}/new`)
      expect((await add({ ref: 'cdr-9' }, reader)).status).toBe(403)
    },
  )

  it('with the right records alone, it adds and shows nothing', async () => {
    const writer = await open({ role: 'Agent', rights: ['records'] })
    expect((await show({}, writer)).status).toBe(403)
    const added = await add({ ref: 'cdr-8' }, writer)
    expect(added.text).toContain('Counted: a call')
    expect(added.text).not.toContain('1 of 2')
  })

  it('with neither, there is no page', async () => {
    const other = await open({ role: 'Agent', rights: ['decide'] })
    expect((await other.get(path)).status).toBe(403)
    expect((await other.get('/console')).text).not.toContain('>Attempts</a>')
  })

  it('limited to a project, it names one, and lists its own attempts alone', async () => {
    await add()
    const limited = await open({ rights: ['look-up'], projects: ['SPRING'] })
    expect((await limited.get(path)).status).toBe(200)
    expect((await show({}, limited)).status).toBe(403)
    const { text } = await show({ projectId: 'SPRING' }, limited)
    expect(text).toContain('1 of 2')
    expect(text).not.toContain('cdr-1')
    expect(text).toContain('only those of your key are listed')
  })
})
