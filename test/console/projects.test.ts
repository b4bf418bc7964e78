/** The pages of projects and their hours. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ConsoleClient, openConsoleClient } from '../support/console-client.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const hostile = '"><img src=x onerror=alert(1)><script>alert(1)</script>'
const hours = { region: 'fl', monFri: '09:00-19:00', sat: 'none', sun: 'none' }

let running: TestCallgate
let client: ConsoleClient
beforeAll(async () => {
  running = await openTestCallgate()
  const { projects, accounts } = running.callgate
  await projects.create({ accountId: 'main', code: 'SALES', name: hostile })
  await accounts.ensure({ id: 'other', kind: 'real', name: 'Other' })
  client = await openConsoleClient(running, running.keys.main)
})
afterAll(() => running.end())

const clientWith = async (options: object) => {
  const { key } = await running.callgate.keys.create({
    ...{ accountId: 'main', role: 'Administrator', label: '', ...options },
  })
  return await openConsoleClient(running, key)
}

it('lists the projects, with names escaped', async () => {
  const { text } = await client.get('/console/projects')
  expect(text).toContain('<a href="/console/projects/SALES">SALES</a>')
  expect(text).toContain('main</a> (Master Project)')
  expect(text).not.toContain('<img')
})

it('sets hours with a reason, and draws them in front of the law', async () => {
  const done = await client.post('/console/projects/SALES', { ...hours, reason: hostile })
  expect(done.status).toBe(200)
  expect(done.text).toContain('The hours of SALES in FL are set.')
  expect(done.text.match(/<rect class="law" x="480" y="0" width="720"/g)).toHaveLength(7)
  expect(done.text.match(/<rect class="open" x="540" y="6" width="600"/g)).toHaveLength(5)
  expect(done.text).not.toContain('style=')
  const row = await running.callgate.storage.db
    .selectFrom('audit')
    .selectAll()
    .where('action', '=', 'project-hours.set')
    .executeTakeFirstOrThrow()
  expect(row).toMatchObject({ subject: 'SALES', reason: hostile })
  expect(row.who).toMatch(/^key:/)
  expect(row.door).toBe('console /v1/projects/:code/hours')
})

it('leaves days outside their time to the law', async () => {
  const later = { ...hours, region: 'TX', effectiveFrom: '2026-11-26' }
  await client.post('/console/projects/SALES', later)
  const { text } = await client.get('/console/projects/SALES?weekOf=TX&weekDay=2026-11-23')
  expect(text.match(/as the law/g)).toHaveLength(3)
})

it.each([
  ['no region', { region: '' }, '#region'],
  ['an unknown region', { region: 'XX' }, '#region'],
  ['hours that end before they begin', { monFri: '19:00-09:00' }, '#monFri'],
  ['a day that does not exist', { effectiveFrom: '2026-02-30' }, '#effectiveFrom'],
])('shows what is wrong with %s', async (_, wrong, link) => {
  const page = await client.post('/console/projects/SALES', { ...hours, ...wrong })
  expect(page.status).toBe(400)
  expect(page.text).toContain(`<a href="${link}">`)
  expect(page.text).toContain('aria-invalid="true"')
})

it('removes the hours of a region', async () => {
  const done = await client.post('/console/projects/SALES', { region: 'FL', remove: '1' })
  expect(done.text).toContain('The hours of SALES in FL are removed.')
  const again = await client.post('/console/projects/SALES', { region: 'FL', remove: '1' })
  expect(again.status).toBe(400)
})

it('shows another account and a key for other projects nothing of it', async () => {
  await running.callgate.projects.create({ accountId: 'main', code: 'ALONE', name: 'Alone' })
  for (const options of [{ accountId: 'other' }, { projects: ['ALONE'] }]) {
    const stranger = await clientWith(options)
    expect((await stranger.get('/console/projects')).text).not.toContain('SALES')
    expect((await stranger.get('/console/projects/SALES')).status).toBe(404)
    const sent = await stranger.post('/console/projects/SALES', hours)
    expect([403, 404]).toContain(sent.status)
  }
})

it('offers a key without the right manage no change', async () => {
  const reader = await clientWith({ role: 'Agent', rights: ['look-up'] })
  const page = await reader.get('/console/projects/SALES')
  expect(page.status).toBe(200)
  expect(page.text).not.toContain('Change the hours')
  expect((await reader.post('/console/projects/SALES', hours)).status).toBe(403)
})
