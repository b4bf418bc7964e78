/** The pages of imported lists. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { getListsFolder } from '../../src/app/data-folders.js'
import { importList } from '../../src/data/number-list/import/list-import.js'
import { msPerDay } from '../../src/domain/time/dates.js'
import { type ConsoleClient, openConsoleClient } from '../support/console-client.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const hostile = '"><img src=x onerror=alert(1)><script>alert(1)</script>'

let running: TestCallgate
let client: ConsoleClient
const versions: string[] = []

beforeAll(async () => {
  running = await openTestCallgate()
  const folder = getListsFolder(running.callgate.settings)
  for (const [index, daysAgo] of [30, 25].entries()) {
    const file = join(running.dataDir, `${index}.txt`)
    writeFileSync(file, '2127365001\n2127365002\n2127365003\n'.slice(0, 22 + 11 * index))
    const asOf = mondayNoon - daysAgo * msPerDay
    const made = { name: 'us-dnc', files: [file], folder, asOf, clock: { now: () => asOf } }
    versions.push((await importList({ ...made, areaCodes: 'all' })).version)
  }
  await running.callgate.accounts.ensure({ id: 'other', kind: 'real', name: hostile })
  client = await openConsoleClient(running, running.keys.main)
})
afterAll(() => running.end())

const clientOf = async (accountId: string, role: 'Agent' | 'Supervisor' | 'Administrator') => {
  const { key } = await running.callgate.keys.create({ accountId, role, label: role })
  return await openConsoleClient(running, key)
}

it('shows the age of each list as a bar up to its limit', async () => {
  const { text } = await client.get('/console/lists')
  expect(text).toContain('25 of 31 days')
  expect(text).toContain('width="80.6" height="24"')
  expect(text).toMatch(/Missing, so calls of this account are blocked: canada-dnc, litigators/)
  expect(text).not.toContain('style=')
})

it('shows the versions of a list, and goes back to one with a reason', async () => {
  const path = '/console/lists/us-dnc'
  const page = await client.get(path)
  expect(page.text).toContain(versions[0])
  expect(page.text).toContain('not recorded')
  const refused = await client.post(path, { version: versions[0] ?? '', reason: '' })
  expect(refused.status).toBe(400)
  expect(refused.text).toContain('<a href="#reason">')
  const done = await client.post(path, { version: versions[0] ?? '', reason: hostile })
  expect(done.status).toBe(200)
  expect(done.text).toContain(`Version ${versions[0]} of us-dnc is in use again`)
  const { reason, door } = await running.callgate.storage.db
    .selectFrom('audit')
    .select(['reason', 'door'])
    .where('action', '=', 'list.rolled-back')
    .executeTakeFirstOrThrow()
  expect(reason).toBe(hostile)
  expect(door).toBe('console /v1/lists/:name/rollback')
  const again = await client.post(path, { version: versions[0] ?? '', reason: 'again' })
  expect(again.status).toBe(409)
  expect(again.text).toContain('is already in use')
})

it.each(['Agent', 'Supervisor'] as const)('offers a key of role %s no way back', async (role) => {
  const limited = await clientOf('main', role)
  const page = await limited.get('/console/lists/us-dnc')
  expect(page.status).toBe(200)
  expect(page.text).not.toContain('Go back')
  const sent = await limited.post('/console/lists/us-dnc', { reason: 'x', version: '' })
  expect(sent.status).toBe(403)
})

it('shows another account nothing of a list that it may not use', async () => {
  const stranger = await clientOf('other', 'Administrator')
  expect((await stranger.get('/console/lists')).text).not.toContain('/console/lists/us-dnc')
  expect((await stranger.get('/console/lists/us-dnc')).status).toBe(404)
  const sent = await stranger.post('/console/lists/us-dnc', { reason: 'x', version: '' })
  expect(sent.status).toBe(404)
  expect(sent.text).not.toContain(versions[0])
})

it('escapes a name that is none', async () => {
  const page = await client.get(`/console/lists/${encodeURIComponent(hostile)}`)
  expect(page.status).toBe(404)
  expect(page.text).not.toContain('<img')
})
