/** The page of the calling rules. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ConsoleClient, openConsoleClient } from '../support/console-client.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const hostile = '"><img src=x onerror=alert(1)><script>alert(1)</script>'

let running: TestCallgate
let client: ConsoleClient
beforeAll(async () => {
  running = await openTestCallgate({
    environment: {
      CALLGATE_CALLING_HOURS_PROCLAIMED_DAYS: JSON.stringify([
        { region: 'FL', date: '2026-11-25', name: hostile },
      ]),
      CALLGATE_CALLING_HOURS_EMERGENCIES: JSON.stringify([
        { region: 'FL', from: '2026-11-23T00:00:00Z', name: hostile },
      ]),
    },
  })
  client = await openConsoleClient(running, running.keys.sandbox)
})
afterAll(() => running.end())

it('has no hours on a day that the operator has closed', async () => {
  const { text } = await client.get('/console/rules?region=FL')
  expect(text).toMatch(/Wed 2026-11-25<\/th>\s*<td class="number">no calls</)
})

it('draws the week of a region', async () => {
  const page = await client.get('/console/rules?region=FL&kind=ai')
  expect(page.status).toBe(200)
  expect(page.text).toContain('Florida, US: the week of Mon 2026-11-23')
  expect(page.text.match(/<svg class="bar"/g)).toHaveLength(7)
  expect(page.text.match(/<rect class="open" x="480" y="0" width="720"/g)).toHaveLength(6)
  expect(page.text.match(/08:00 to 20:00/g)).toHaveLength(6)
  expect(page.text).toContain('Fla. Stat. 501.616(6)(a), (b)')
  expect(page.text).toContain('statute-text')
  expect(page.text).not.toContain('style=')
})

it('escapes what the operator has named', async () => {
  const { text } = await client.get('/console/rules?region=FL')
  expect(text).not.toContain('<img')
  expect(text).not.toContain('<script>alert')
  expect(text).toContain('No calls during &quot;&gt;&lt;img')
})

it('says what differs on another day', async () => {
  const page = await client.get('/console/rules?region=PA&date=2025-08-01&compareDate=2026-11-23')
  expect(page.text).toContain('What differs on Mon 2026-11-23')
  expect(page.text).toContain('Mon-Fri 09:00-19:00, Sat 09:00-12:00, Sun none')
  const same = await client.get('/console/rules?region=TX&date=2026-11-23&compareDate=2026-11-24')
  expect(same.text).toContain('Nothing: the same rules hold on both days.')
})

it('lists the hours of all regions', async () => {
  const page = await client.get('/console/rules?date=2026-11-25')
  expect(page.text.match(/<th scope="row"><a href="\/console\/rules\?region=/g)).toHaveLength(69)
  expect(page.text).toContain('08:00 to 20:00')
})

it.each([
  ['region=XX', 'region &#39;XX&#39;: must be the postal code of a state'],
  ['region=FL&date=2026-02-30', 'must be a date YYYY-MM-DD that exists'],
  ['region=FL&kind=robot', 'must be one of manual, autodialed, ai'],
  [`region=${encodeURIComponent('"><b>')}`, 'region'],
])('shows what is wrong with %s beside the form', async (query, problem) => {
  const page = await client.get(`/console/rules?${query}`)
  expect(page.text).toContain('role="alert"')
  expect(page.text).toContain(problem)
  expect(page.text).toContain('aria-invalid="true"')
  expect(page.text).toContain('<select id="region"')
  expect(page.text).not.toContain('"><b>')
})

it.each(['Agent', 'Supervisor', 'Administrator'] as const)(
  'is for a key of role %s',
  async (role) => {
    const { key } = await running.callgate.keys.create({ accountId: 'main', role, label: role })
    const page = await (await openConsoleClient(running, key)).get('/console/rules?region=CA')
    expect(page.status).toBe(200)
    expect(page.text).toContain('aria-current="page">Rules')
  },
)

it('is not for a key that may not look up', async () => {
  const options = { accountId: 'main', role: 'Agent', label: '', rights: ['decide'] } as const
  const { key } = await running.callgate.keys.create(options)
  const page = await (await openConsoleClient(running, key)).get('/console/rules?region=CA')
  expect(page.status).toBe(403)
  expect(page.text).not.toContain('>Rules</a>')
  expect(page.text).not.toContain('California')
})
