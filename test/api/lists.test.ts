/** What the API says of imported lists, and the way back to an earlier version. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ListsBody, RollbackBody } from '../../src/api/lists/lists.js'
import { getListsFolder } from '../../src/app/data-folders.js'
import { importList } from '../../src/data/number-list/import/list-import.js'
import { msPerDay } from '../../src/domain/time/dates.js'
import { runTransaction } from '../../src/service/sql/account-transaction.js'
import { recordAudit } from '../../src/storage/audit/audit-log.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'
import { shareLists } from '../support/two-accounts.js'

let running: TestCallgate
let other: string
let agent: string
const versions: string[] = []

async function addList(name: string, numbers: readonly string[], daysAgo: number) {
  const file = join(running.dataDir, `${numbers.length}.txt`)
  writeFileSync(file, numbers.map((number) => `${number}\n`).join(''))
  const folder = getListsFolder(running.callgate.settings)
  const asOf = mondayNoon - daysAgo * msPerDay
  const clock = { now: () => asOf }
  const made = { name, files: [file], folder, asOf, clock, allowShrink: true }
  return await importList({ ...made, areaCodes: 'all' })
}

beforeAll(async () => {
  running = await openTestCallgate()
  versions.push((await addList('us-dnc', ['2127365001'], 20)).version)
  versions.push((await addList('us-dnc', ['2127365001', '2127365002'], 3)).version)
  await addList('canada-dnc', ['4167365003'], 400)
  const { callgate } = running
  for (const id of ['other', 'third']) {
    await callgate.accounts.ensure({ id, kind: 'real', name: id })
  }
  await addList('third/us-dnc', ['2127365004'], 1)
  await shareLists(callgate, 'other')
  const keyOf = async (accountId: string, role: 'Agent' | 'Administrator') =>
    (await callgate.keys.create({ accountId, role, label: 'lists' })).key
  other = await keyOf('other', 'Administrator')
  agent = await keyOf('main', 'Agent')
  // As a command records it.
  await runTransaction(callgate.storage, (transaction) =>
    recordAudit(transaction, {
      by: { who: 'user:jane', door: 'command import' },
      accountId: 'main',
      action: 'data.imported',
      subject: { kind: 'import', id: 'us-dnc' },
      after: [{ name: 'us-dnc', version: versions[1] }],
      at: mondayNoon,
    }),
  )
})
afterAll(() => running.end())

async function read(key: string): Promise<ListsBody> {
  const response = await running.get('/v1/lists', key)
  const text = await response.text()
  expect(response.status, text).toBe(200)
  return JSON.parse(text) as ListsBody
}

const namesOf = ({ lists }: ListsBody) => lists.map(({ name }) => name)

describe('GET /v1/lists', () => {
  it('has each list with its age, its versions and who imported them', async () => {
    const body = await read(running.keys.main)
    expect(namesOf(body)).toEqual(['canada-dnc', 'third/us-dnc', 'us-dnc'])
    expect(body.lists[2]).toMatchObject({
      ...{ name: 'us-dnc', entries: 2, ageDays: 3, maxAgeDays: 31, state: 'fresh' },
      versions: [
        { version: versions[1], entries: 2, inUse: true, importedBy: 'user:jane' },
        { version: versions[0], entries: 1, inUse: false, importedBy: null },
      ],
    })
    expect(body.lists[0]).toMatchObject({ state: 'stale' })
    expect(body.missing).toEqual(['litigators'])
  })

  it('has of other accounts what the account may use, without their versions', async () => {
    const body = await read(other)
    expect(namesOf(body)).toEqual(['canada-dnc', 'us-dnc'])
    expect(body.lists.map(({ versions: all }) => all)).toEqual([null, null])
    expect(JSON.stringify(body)).not.toContain('jane')
  })

  it('has the lists of all accounts for an Administrator of account main alone', async () => {
    expect(namesOf(await read(agent))).toEqual(['canada-dnc', 'us-dnc'])
  })

  it('has none for the sandbox, whose lists are built in', async () => {
    expect(await read(running.keys.sandbox)).toMatchObject({ lists: [], missing: [] })
  })
})

describe('POST /v1/lists/{name}/rollback', () => {
  const rollBack = (name: string, body: object, key = running.keys.main) =>
    running.postJson(`/v1/lists/${encodeURIComponent(name)}/rollback`, body, key)
  const reason = 'the file of the 20th was cut short'

  it.each([
    ['no reason', 'us-dnc', {}, 400, 'reason'],
    ['an empty reason', 'us-dnc', { reason: ' ' }, 400, 'reason'],
    ['what is no name', '../us-dnc', { reason }, 400, 'name'],
    ['a list that is not there', 'litigators', { reason }, 404, "list 'litigators' not found"],
    ['no kept version', 'canada-dnc', { reason }, 409, 'no earlier version is kept'],
    ['an unknown version', 'us-dnc', { reason, version: 'f'.repeat(16) }, 409, 'is not kept'],
    ['another field', 'us-dnc', { reason, force: true }, 400, 'force'],
  ])('refuses %s', async (_, name, body, status, text) => {
    const response = await rollBack(name, body)
    expect(await response.text()).toContain(text)
    expect(response.status).toBe(status)
    expect((await read(running.keys.main)).lists[2]?.version).toBe(versions[1])
  })

  it.each([
    ['another account', () => other],
    ['another role', () => agent],
    ['the sandbox', () => running.keys.sandbox],
  ])('is not for %s', async (_, findKey) => {
    const response = await rollBack('us-dnc', { reason }, findKey())
    expect(response.status).toBe(403)
    expect(await response.text()).toContain('account main, role Administrator')
  })

  it('goes back, keeps the replaced version, and says who did it and why', async () => {
    const response = await rollBack('us-dnc', { reason })
    const body = (await response.json()) as RollbackBody
    expect(body).toMatchObject({ version: versions[0], entries: 1, replaced: versions[1] })
    const { lists } = await read(running.keys.main)
    expect(lists[2]?.versions?.map(({ version, inUse }) => [version, inUse])).toEqual([
      [versions[0], true],
      [versions[1], false],
    ])
    const row = await running.callgate.storage.db
      .selectFrom('audit')
      .selectAll()
      .where('action', '=', 'list.rolled-back')
      .executeTakeFirstOrThrow()
    expect(row).toMatchObject({
      ...{ account_id: 'main', subject_kind: 'import', subject: 'us-dnc', reason },
      after: JSON.stringify({ version: versions[0], replaced: versions[1] }),
    })
    expect(row.who).toMatch(/^key:/)
    expect(row.door).toBe('api /v1/lists/:name/rollback')
    running.callgate.data.lists.refresh()
    expect(running.callgate.data.lists.get('us-dnc')?.version).toBe(versions[0])
    const back = await rollBack('us-dnc', { reason: 'it was whole', version: versions[1] })
    expect(back.status).toBe(200)
  })

  it('rolls back the list of another account by its whole name', async () => {
    const before = (await read(running.keys.main)).lists[1]?.version
    await addList('third/us-dnc', ['2127365005', '2127365006'], 0)
    const response = await rollBack('third/us-dnc', { reason })
    expect(await response.json()).toMatchObject({ name: 'third/us-dnc', version: before })
  })
})
