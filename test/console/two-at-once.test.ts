/** Two people send a form at the same moment: one change is made, whoever is late is told, and the audit log has what happened. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getListsFolder } from '../../src/app/data-folders.js'
import { importList } from '../../src/data/number-list/import/list-import.js'
import { type ConsoleClient, openConsoleClient } from '../support/console-client.js'
import { makePersonal } from '../support/person-keys.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
let ann: ConsoleClient
let bob: ConsoleClient
let key: string

beforeAll(async () => {
  running = await openTestCallgate()
  const create = (label: string) =>
    running.callgate.keys.create({ accountId: 'main', role: 'Administrator', label })
  key = (await create('ann')).key
  ann = await openConsoleClient(running, key)
  bob = await openConsoleClient(running, (await create('bob')).key)
})
afterAll(() => running.end())

type Form = Readonly<Record<string, string>>
const both = async (path: string, form: Form, other = form, by = [ann, bob] as const) => {
  const pages = await Promise.all([by[0].post(path, form), by[1].post(path, other)])
  return pages.map(({ status, text }) => ({ status, text })).sort((a, b) => a.status - b.status)
}

const countAudit = async (action: string) =>
  (
    await running.callgate.storage.db
      .selectFrom('audit')
      .select('seq')
      .where('action', '=', action)
      .execute()
  ).length

describe('of two at once', () => {
  it('one approves or refuses a call', async () => {
    const of = { accountId: 'sandbox', label: 'asks' } as const
    const calls = { approval: 'always' } as const
    const asker = await running.callgate.keys.create({ ...of, role: 'Agent', calls })
    const call = { number: '2125550106', callKind: 'ai' }
    const asked = await (await running.postJson('/v1/decisions', call, asker.key)).json()
    const { id } = (asked as { mandate: { approval: { id: string } } }).mandate.approval
    const path = `/console/approvals/${id}`
    await makePersonal(running, running.keys.sandbox, 'ann')
    const officers = [
      await openConsoleClient(running, running.keys.sandbox),
      await openConsoleClient(running, running.keys.sandbox),
    ] as const
    const { text } = await officers[0].get(path)
    const subjectHash = /name="subjectHash" value="([^"]+)"/.exec(text)?.[1] ?? ''
    const [done, late] = await both(
      path,
      { subjectHash, verdict: 'approve' },
      { subjectHash, verdict: 'refuse' },
      officers,
    )
    expect([done?.status, late?.status]).toEqual([200, 409])
    expect(late?.text).toContain('nothing was changed')
  })

  it('one makes a key of a label', async () => {
    const form = { role: 'Agent', rights: 'decide', kinds: 'ai', label: 'same' }
    const [done, late] = await both('/console/keys/new', form)
    expect([done?.status, late?.status]).toEqual([200, 409])
    expect(late?.text).not.toContain('class="secret"')
    const labels = (await running.callgate.keys.list('main')).map(({ label }) => label)
    expect(labels.filter((label) => label === 'same')).toHaveLength(1)
  })

  it('one revokes a key', async () => {
    const { id } = await running.callgate.keys.create({
      ...{ accountId: 'main', role: 'Agent', label: 'lost' },
    })
    const pages = await both(`/console/keys/${id}/revoke`, { reason: 'lost' })
    expect(pages.map(({ status }) => status)).toEqual([200, 404])
    expect(await countAudit('key.revoked')).toBe(1)
  })

  it('one changes what a key may, and the other is shown what it may now', async () => {
    const { id } = await running.callgate.keys.create({
      ...{
        accountId: 'main',
        role: 'Agent',
        label: 'changed',
        rights: ['decide'],
        callKinds: ['ai'],
      },
    })
    const form = { version: '1', rights: 'decide', kinds: 'ai', reason: 'less' }
    const pages = await both(
      `/console/keys/${id}/change`,
      { ...form, attemptsPerHour: '30' },
      { ...form, attemptsPerHour: '20' },
    )
    expect(pages.map(({ status }) => status)).toEqual([200, 409])
  })

  it('both add an opt-out, which is there once, and both may end it', async () => {
    const added = await both('/console/opt-outs', { number: '2127365002', said: 'stop' })
    expect(added.map(({ status }) => status)).toEqual([200, 200])
    const ended = await both('/console/opt-outs/end', {
      phoneList: '2127365002',
      reason: 'in writing',
    })
    expect(ended.map(({ status }) => status)).toEqual([200, 200])
    const decided = await running.postJson(
      '/v1/decisions',
      { number: '2127365002', callKind: 'manual' },
      key,
    )
    expect(await decided.text()).not.toContain('"reason":"internal-dnc"')
  })

  it('one goes back to an earlier list', async () => {
    const folder = getListsFolder(running.callgate.settings)
    const file = join(running.dataDir, 'numbers.txt')
    const versions: string[] = []
    for (const numbers of ['2127365001\n', '2127365001\n2127365002\n']) {
      writeFileSync(file, numbers)
      const clock = { now: () => mondayNoon }
      const made = { name: 'us-dnc', files: [file], folder, asOf: mondayNoon, clock }
      versions.push((await importList({ ...made, areaCodes: 'all' })).version)
    }
    const form = { version: versions[0] ?? '', reason: 'cut short' }
    const pages = await both('/console/lists/us-dnc', form)
    expect(pages.map(({ status }) => status)).toEqual([200, 409])
    expect(await countAudit('list.rolled-back')).toBe(1)
  })

  it('of hours the later ones hold, and the audit log has both', async () => {
    const region = { region: 'FL', sat: 'none', sun: 'none' }
    const pages = await both(
      '/console/projects/main',
      { ...region, monFri: '09:00-18:00', reason: 'one' },
      { ...region, monFri: '10:00-17:00', reason: 'other' },
    )
    expect(pages.map(({ status }) => status)).toEqual([200, 200])
    expect(await countAudit('project-hours.set')).toBe(2)
  })
})
