/** The page of the own numbers: list, add one, add many, end with a reason, and who may do it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { insertProject } from '../../src/service/projects/project-rows.js'
import { type ConsoleClient, openConsoleClient } from '../support/console-client.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const hostile = '"><img src=x onerror=alert(1)><script>alert(2)</script>'
const own = { number: '(212) 555-0150', owner: 'Acme Inc.', proof: 'invoice 7' }
let running: TestCallgate
let client: ConsoleClient

beforeAll(async () => {
  running = await openTestCallgate()
  const { db } = running.callgate.storage
  await insertProject(db, { accountId: 'sandbox', code: 'SPRING', name: 'Spring', createdAt: 0 })
  client = await openConsoleClient(running, running.keys.sandbox)
})
afterAll(() => running.end())
beforeEach(async () => {
  await running.callgate.storage.db.deleteFrom('caller_ids').execute()
})

const add = (more: object = {}) => client.post('/console/caller-ids/new', { ...own, ...more })

async function findEnd(): Promise<string> {
  const { text } = await client.get('/console/caller-ids')
  return /href="(\/console\/caller-ids\/end\/[^"]+)"/.exec(text)?.[1] ?? ''
}

const readReasons = async (action: string) =>
  (
    await running.callgate.storage.db
      .selectFrom('audit')
      .select('reason')
      .where('action', '=', action)
      .orderBy('seq', 'desc')
      .execute()
  ).map(({ reason }) => reason)

describe('the list', () => {
  it('says that there is none', async () => {
    expect((await client.get('/console/caller-ids')).text).toContain('There is no number in force')
    expect((await client.get('/console/caller-ids?ended=true')).text).toContain('was ever added')
  })

  it('shows what is known of a number, and whether calls may show it', async () => {
    await add({
      ...{ projectId: 'SPRING', carrier: 'Example Telecom', attestation: 'B' },
      ...{ until: '2027-01-01T00:00', tested: '2026-11-01T09:00', presence: '1 Main St' },
    })
    await add({ number: '2125550151', from: '2026-12-01T00:00' })
    await add({ number: '2125550152', from: '2026-01-01T00:00', until: '2026-11-01T00:00' })
    const { text } = await client.get('/console/caller-ids')
    for (const shown of [
      '(212) 555-0150',
      'SPRING',
      'Acme Inc.',
      'invoice 7',
      'Example Telecom, attestation B',
      '1 Main St',
      'Called back <time datetime="2026-11-01T09:00:00Z">',
      '✓ In force until <time datetime="2027-01-01T00:00:00Z">',
      'Not yet: from <time datetime="2026-12-01T00:00:00Z">',
      '✕ Expired <time datetime="2026-11-01T00:00:00Z">',
    ]) {
      expect(text).toContain(shown)
    }
  })
})

describe('one', () => {
  it('is added with a reason, and replaces the one before', async () => {
    const added = await add({ reason: 'new office' })
    expect(added.text).toContain('Calls may show (212) 555-0150.')
    expect((await readReasons('caller-id.added'))[0]).toBe('new office')
    running.clock.at += 1_000
    await add({ proof: 'port order 9' })
    const inForce = await client.get('/console/caller-ids')
    expect(inForce.text).toContain('port order 9')
    expect(inForce.text).not.toContain('invoice 7')
    const all = await client.get('/console/caller-ids?ended=true')
    expect(all.text).toContain('invoice 7')
    expect(all.text).toContain('✕ Ended')
  })

  it.each([
    ['number', { number: '911' }],
    ['owner', { owner: ' ' }],
    ['proof', { proof: 'x'.repeat(201) }],
    ['projectId', { projectId: 'NONE' }],
    ['attestation', { attestation: 'D' }],
    ['from', { from: 'yesterday' }],
    ['tested', { tested: 'yesterday' }],
    ['until', { from: '2027-01-01T00:00', until: '2026-01-01T00:00' }],
    ['reason', { reason: 'x'.repeat(201) }],
  ])('with a wrong %s is refused at that field, and nothing is added', async (field, wrong) => {
    const { status, text } = await add(wrong)
    expect(status).toBe(400)
    expect(text).toContain(`href="#${field}"`)
    expect(text).toContain(`id="${field}-problem"`)
    expect((await client.get('/console/caller-ids?ended=true')).text).toContain('was ever added')
  })

  it('is ended with a reason alone', async () => {
    await add()
    const path = await findEnd()
    expect(path).not.toContain('2125550150')
    const page = await client.get(path)
    expect(page.text).toContain('invoice 7')
    const without = await client.post(path, { reason: ' ' })
    expect([without.status, without.text.includes('id="reason-problem"')]).toEqual([400, true])
    const ended = await client.post(path, { reason: 'office closed' })
    expect(ended.text).toContain('No call may show (212) 555-0150 any more.')
    expect((await readReasons('caller-id.ended'))[0]).toBe('office closed')
    expect((await client.get(path)).text).toContain('It is not in force.')
    const again = await client.post(path, { reason: 'office closed' })
    expect(again.status).toBe(404)
    expect((await client.get('/console/caller-ids/end/forged')).status).toBe(404)
  })
})

describe('many', () => {
  const rows = [
    'number;project;owner;proof;attestation;until',
    '212-555-0160;;Acme;invoice 8;A;2027-01-01T00:00:00Z',
    '+1 212 555 0161;spring;Acme;invoice 8;;',
    '2125550161;SPRING;Acme;again;;',
    '911;;Acme;invoice 8;;',
    '2125550162;;;invoice 8;;',
    '2125550163;;Acme;invoice 8;E;soon',
  ].join('\n')

  it('are looked at first, and added together', async () => {
    const preview = await client.post('/console/caller-ids/many', { rows })
    expect(preview.text).toContain('2 numbers can be added')
    for (const why of [
      'number: is here twice for the project',
      'number &#39;911&#39;: is not a telephone number',
      'owner: is required',
      'attestation &#39;E&#39;: must be A, B or C',
      'until &#39;soon&#39;: must be an instant',
    ]) {
      expect(preview.text).toContain(why)
    }
    expect((await client.get('/console/caller-ids')).text).toContain('There is no number in force')
    const added = await client.post('/console/caller-ids/add', { rows, reason: 'ported in' })
    expect(added.text).toContain('Added: 2 numbers.')
    expect(added.text).toContain('(212) 555-0161')
    expect((await readReasons('caller-id.added'))[0]).toBe('ported in')
  })

  it('of which the account refuses one are not added, and the page names its line', async () => {
    const text = 'number,project,owner,proof\n2125550160,,Acme,x\n2125550161,NONE,Acme,x\n'
    const { status, text: page } = await client.post('/console/caller-ids/add', { rows: text })
    expect(status).toBe(400)
    expect(page).toContain('line 3: project &#39;NONE&#39;: not found')
    expect((await client.get('/console/caller-ids')).text).toContain('There is no number in force')
  })

  it.each([
    ['', 'is required: paste rows or choose a file'],
    ['number,colour\n1,red', 'has no column &#39;colour&#39;'],
    [`number,owner,proof\n${'2125550160,a,b\n'.repeat(101)}`, 'callgate caller-ids import'],
  ])('as %.20j are refused', async (text, rule) => {
    const { status, text: page } = await client.post('/console/caller-ids/many', { rows: text })
    expect([status, page.includes(rule)]).toEqual([400, true])
  })
})

it('shows texts of others as texts', async () => {
  const texts = { owner: hostile, proof: hostile, carrier: hostile, presence: hostile }
  expect((await add({ ...texts, reason: hostile })).status).toBe(200)
  const refused = await add({ ...texts, number: hostile, projectId: hostile, from: hostile })
  const rows = `number,owner,proof\n"${hostile.replaceAll('"', '""')}",a,b\n`
  for (const page of [
    await client.get('/console/caller-ids'),
    await client.get(await findEnd()),
    refused,
    await client.post('/console/caller-ids/many', { rows }),
  ]) {
    expect(page.text).toContain('&lt;script&gt;')
    expect(page.text).not.toMatch(/<img|<script>/)
  }
})

it('has nothing of another account', async () => {
  await add()
  const path = await findEnd()
  const stranger = await openConsoleClient(running, running.keys.main)
  expect((await stranger.get('/console/caller-ids?ended=true')).text).not.toContain('invoice 7')
  expect((await stranger.get(path)).status).toBe(404)
  expect((await stranger.post(path, { reason: 'x' })).status).toBe(404)
  expect((await client.get('/console/caller-ids')).text).toContain('invoice 7')
})

it('is for keys with the right manage, and of a limited one for its projects', async () => {
  const { keys } = running.callgate
  const open = async (limits: object) => {
    const asked = { accountId: 'sandbox', label: '', role: 'Administrator' } as const
    return await openConsoleClient(running, (await keys.create({ ...asked, ...limits })).key)
  }
  await add()
  for (const limits of [
    { rights: ['decide', 'look-up', 'records', 'consent'] },
    { role: 'Supervisor', rights: ['decide', 'records'] },
    { role: 'Agent', rights: ['decide'] },
  ] as const) {
    const other = await open(limits)
    for (const path of ['', '/new', '/many']) {
      const page = await other.get(`/console/caller-ids${path}`)
      expect(page.text).not.toContain('invoice 7')
      expect(page.text).not.toContain('>Caller IDs</a>')
    }
    expect((await other.get('/console/caller-ids')).status).toBe(403)
    const refused = await other.post('/console/caller-ids/new', own)
    expect(refused.status, JSON.stringify(limits)).toBe(403)
  }
  const ofSpring = await open({ rights: ['manage'], projects: ['SPRING'] })
  expect((await ofSpring.get('/console/caller-ids')).text).not.toContain('invoice 7')
  expect((await ofSpring.post('/console/caller-ids/new', own)).status).toBe(403)
  const inSpring = { ...own, projectId: 'SPRING' }
  expect((await ofSpring.post('/console/caller-ids/new', inSpring)).status).toBe(200)
})
