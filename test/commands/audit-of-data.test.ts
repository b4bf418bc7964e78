/** Rows about what a server uses, which is in files. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { AuditOfData } from '../../src/commands/serve/audit-of-data.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate

beforeAll(async () => {
  running = await openTestCallgate()
})

afterAll(() => running.end())

const readRows = () =>
  running.callgate.storage.db
    .selectFrom('audit')
    .selectAll()
    .where('action', 'in', ['server.started', 'settings.in-use', 'rules.in-use'])
    .orderBy('seq')
    .execute()

const actions = async () => (await readRows()).map(({ action }) => action)

it('are written at the start and after a change, and not again by the next start', async () => {
  let versions = { settings: 'aaa', rules: 'bbb' }
  const first = new AuditOfData(running.callgate, () => versions)
  first.start()
  const started = ['server.started', 'settings.in-use', 'rules.in-use']
  await expect.poll(actions).toEqual(started)
  const [, settings] = await readRows()
  expect(JSON.parse(settings?.after ?? '{}')).toMatchObject({
    version: 'aaa',
    'retention.auditDays': '2557',
  })
  versions = { settings: 'ccc', rules: 'bbb' }
  running.callgate.changes.everythingChanged()
  await expect.poll(actions).toEqual([...started, 'settings.in-use'])
  const changed = (await readRows()).at(-1)
  expect(JSON.parse(changed?.before ?? '{}')).toEqual({ version: 'aaa' })
  await first.close()
  const second = new AuditOfData(running.callgate, () => versions)
  second.start()
  await expect.poll(actions).toEqual([...started, 'settings.in-use', 'server.started'])
  running.callgate.changes.everythingChanged()
  await second.close()
  expect(await actions()).toHaveLength(5)
})
