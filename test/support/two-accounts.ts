/** Two real accounts over one database, with a key each, and what an HTTP client of theirs gets. */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Callgate } from '../../src/app/callgate.js'
import { getListsFolder } from '../../src/app/data-folders.js'
import { importList } from '../../src/data/number-list/import/list-import.js'
import { allLists } from '../../src/data/number-list/list-names.js'
import { systemClock } from '../../src/runtime/runtime.js'
import { tokenPrefix } from '../../src/service/accounts/api-keys.js'
import { ListRights } from '../../src/service/lists/list-rights.js'
import { makePersonal } from './person-keys.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from './test-callgate.js'
import type { Refusal } from './walk-endpoints.js'

export interface Ask {
  readonly method?: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly json?: unknown
  readonly form?: Readonly<Record<string, string>>
}

export interface Answer extends Refusal {
  readonly headers: Headers
  json(): unknown
}

export interface TwoAccounts {
  readonly running: TestCallgate
  /** Key of account `main`. */
  readonly owner: string
  /** Key of account `other`. */
  readonly stranger: string
  /** Key of account `main` that is worthless. */
  readonly revoked: string
  send(key: string | undefined, asked: Ask): Promise<Answer>
}

/** With empty lists, so that numbers of real accounts may be called at all, and without limits. */
export async function openTwoAccounts(
  environment: Readonly<Record<string, string>> = {},
): Promise<TwoAccounts> {
  const running = await openTestCallgate({
    environment: {
      CALLGATE_WEBHOOKS_ALLOW: '127.0.0.0/8',
      CALLGATE_PERMITS_ISSUER: 'https://gate.example',
      CALLGATE_PERMITS_EDGES: '{ edge-a: { accounts: [main, other] } }',
      CALLGATE_LIMITS_SCRUB_PER_MINUTE: '0',
      CALLGATE_LIMITS_REPUTATION_PER_MINUTE: '0',
      ...environment,
    },
  })
  const { accounts, keys } = running.callgate
  await makePersonal(running, running.keys.main, 'owner')
  await accounts.ensure({ id: 'other', kind: 'real', name: 'Other' })
  await shareLists(running.callgate, 'other')
  const keyOf = (accountId: string) =>
    keys.create({ accountId, role: 'Administrator', label: 'isolation' })
  const worthless = await keyOf('main')
  await keys.revoke(worthless.id)
  await importEmptyLists(running)
  return {
    running,
    owner: running.keys.main,
    stranger: (await keyOf('other')).key,
    revoked: worthless.key,
    send: (key, asked) => send(running.url, key, asked),
  }
}

/** As `callgate lists share all --with <account>`. */
export async function shareLists({ storage }: Pick<Callgate, 'storage'>, accountId: string) {
  const right = { accountId, list: allLists, ownerId: 'main', because: 'test', grantedBy: 'test' }
  await new ListRights({ storage, clock: systemClock }).grant(right)
}

/** The files of the lists by name. Writing one takes longer than most cases. */
let emptyLists: ReadonlyMap<string, Buffer> | undefined

async function importEmptyLists(running: TestCallgate): Promise<void> {
  const folder = getListsFolder(running.callgate.settings)
  mkdirSync(folder, { recursive: true })
  emptyLists ??= await writeEmptyLists(folder, running)
  for (const [name, bytes] of emptyLists) writeFileSync(join(folder, name), bytes)
  running.callgate.data.lists.refresh()
}

async function writeEmptyLists(
  folder: string,
  { dataDir }: TestCallgate,
): Promise<ReadonlyMap<string, Buffer>> {
  const file = join(dataDir, 'empty.txt')
  writeFileSync(file, '')
  const clock = { now: () => mondayNoon }
  for (const name of ['us-dnc', 'litigators']) {
    const made = { name, files: [file], folder, asOf: mondayNoon, clock }
    await importList({ ...made, areaCodes: 'all' })
  }
  const names = readdirSync(folder).filter((name) => name.endsWith('.cglist'))
  return new Map(names.map((name) => [name, readFileSync(join(folder, name))]))
}

/** A token is accepted only after `Bearer`. */
const toCredential = (key: string) =>
  key.startsWith(tokenPrefix) ? { authorization: `Bearer ${key}` } : { loginId: key }

async function send(url: string, key: string | undefined, asked: Ask): Promise<Answer> {
  const { method, path, query, json, form } = asked
  const headers = new Headers(key === undefined ? {} : toCredential(key))
  if (json !== undefined) headers.set('content-type', 'application/json')
  const body = json === undefined ? form && new URLSearchParams(form) : JSON.stringify(json)
  const search = query === undefined ? '' : `?${new URLSearchParams(query)}`
  const response = await fetch(`${url}${path}${search}`, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers,
    ...(body !== undefined && { body }),
  })
  const text = await response.text()
  const contentType = response.headers.get('content-type')
  const { status, statusText, headers: answered } = response
  const read = () => JSON.parse(text) as unknown
  return { status, statusText, headers: answered, contentType, text, json: read }
}
