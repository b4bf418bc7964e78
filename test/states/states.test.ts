/**
 * Each state of docs/states.md, set up as the document says it: what a call gets over HTTP, what the checks of `/readyz` say,
 * and what `callgate doctor` finds.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getListsFolder, getNumberingFolder } from '../../src/app/data-folders.js'
import { listDataProbes } from '../../src/commands/doctor/data-findings.js'
import { findServerFindings, withoutRepeated } from '../../src/commands/doctor/server-findings.js'
import { listDataReadinessChecks, refreshData } from '../../src/commands/serve/data-watch.js'
import { listSourceReadinessChecks } from '../../src/commands/serve/source-readiness.js'
import { importList } from '../../src/data/number-list/import/list-import.js'
import { type ReasonCode, reasonTexts, undecidedReasons } from '../../src/domain/decision.js'
import type { CallLimits } from '../../src/domain/mandate.js'
import { insertProject } from '../../src/service/projects/project-rows.js'
import { tableRows } from '../support/markdown-table.js'
import {
  ofEachQuestion,
  openRemoteCallgate,
  type RemoteCallgate,
} from '../support/remote-callgate.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const root = join(import.meta.dirname, '../..')
const page = join(root, 'docs/states.md')

interface Call {
  readonly body?: object
  readonly key?: string
}
/** Sets the state up; gives the call that meets it. What it leaves behind is undone by the function in `undo`. */
type SetUp = (undo: (() => unknown)[]) => Promise<Call> | Call

const dayMs = 86_400_000
const clean = '2127360002'
let running: TestCallgate
let remote: RemoteCallgate
let nextLine = 0
const freshNumber = () => String(2_127_370_000 + nextLine++)

const folder = () => getListsFolder(running.callgate.settings)

async function importNumbers(name: string, numbers: readonly string[]): Promise<void> {
  const file = join(running.dataDir, 'numbers.txt')
  writeFileSync(file, numbers.join('\n'))
  const { clock } = running.callgate.runtime
  const made = { name, files: [file], folder: folder(), asOf: mondayNoon, allowOlder: true }
  await importList({ ...made, areaCodes: 'all', clock })
}

const listed = { 'us-dnc': '2127361003', 'canada-dnc': '4167361003', litigators: '2127361005' }

async function withoutList(name: string, undo: (() => unknown)[]): Promise<void> {
  const [file, aside] = [join(folder(), `${name}.cglist`), join(running.dataDir, `${name}.aside`)]
  renameSync(file, aside)
  undo.push(async () => {
    renameSync(aside, file)
    await refreshData(running.callgate)
  })
  await refreshData(running.callgate)
}

async function newKey(calls: CallLimits, more: object = {}): Promise<string> {
  const { keys } = running.callgate
  const made = {
    accountId: 'main',
    role: 'Administrator',
    label: 'limited',
    calls,
    ...more,
  } as const
  return (await keys.create(made)).key
}

async function pause(subject: 'ai' | `key:${string}`, undo: (() => unknown)[]): Promise<void> {
  const { pauses } = running.callgate
  await pauses.pause({ subject, because: 'test', pausedBy: 'ann' })
  undo.push(() => pauses.resume(subject))
}

async function vendorFault(
  kind: 'rate-limited' | 'missing-field' | 'server-error' | 'unauthorized',
) {
  remote.vendor.setFault('all', kind === 'rate-limited' ? { kind, retryAfterSeconds: 1 } : { kind })
  return { body: { number: freshNumber(), callKind: 'manual' } }
}

const own = { number: '2125550150', owner: 'Acme Inc.', proof: 'invoice 7', projectId: 'OWN' }

const embedded: Readonly<Record<string, SetUp>> = {
  'an ordinary call': () => ({}),
  'a call to an emergency number': () => ({ body: { number: '911' } }),
  'text that is not a number': () => ({ body: { number: '2125550106;2125550105' } }),
  'a number of another country': () => ({ body: { number: '+442071838750' } }),
  'an extension': () => ({ body: { number: '101' } }),
  'a toll-free number': () => ({ body: { number: '8007360002' } }),
  'an area code that is not in service': () => ({ body: { number: '2997360002' } }),
  'a number on the litigator list': () => ({ body: { number: listed.litigators } }),
  'a number on the national list': () => ({ body: { number: listed['us-dnc'] } }),
  'a person who has opted out': async () => {
    const number = '2127361010'
    await running.get(`/app/main/rpc/pdnc?phoneList=${number}&actionType=add`, running.keys.main)
    return { body: { number } }
  },
  'an opt-out after a permission': async () => {
    const number = '2127361011'
    const ebrList = [{ phoneNumber: number, type: 'P', dateOfLastContact: '11/20/2026' }]
    await running.postJson('/app/main/rpc/ebr', { ebrList }, running.keys.main)
    await running.get(`/app/main/rpc/pdnc?phoneList=${number}&actionType=add`, running.keys.main)
    return { body: { number } }
  },
  'a machine calls without consent': () => ({ body: { callKind: 'ai' } }),
  'a project that does not exist': () => ({ body: { projectId: 'NOPE' } }),
  'a call at night': () => ({ body: { at: '2026-11-24T08:00:00Z' } }),
  'a call on a day without calls': () => ({
    body: { number: '2057360002', at: '2026-11-26T19:00:00Z' },
  }),
  'a subject that the account does not have': () => ({ body: { subject: 'wind' } }),
  'a purpose that the settings do not allow': () => ({ body: { purpose: 'political' } }),
  'a caller ID that is not a number': () => ({ body: { callerId: '0000000000' } }),
  'a caller ID of somebody else': async () => {
    await running.postJson('/v1/caller-ids', { callerIds: [own] }, running.keys.main)
    return { body: { callerId: '2125550151', projectId: 'OWN' } }
  },
  'a caller ID that was given up': async () => {
    await running.postJson('/v1/caller-ids', { callerIds: [own] }, running.keys.main)
    const { number, projectId } = own
    running.clock.at += 1_000
    await running.postJson('/v1/caller-ids/end', { number, projectId }, running.keys.main)
    return { body: { callerId: number, projectId } }
  },
  'a key for other kinds of calls': async () => ({
    key: await newKey({}, { callKinds: ['ai'] }),
  }),
  'a key for another project': async () => ({ key: await newKey({}, { projects: ['OWN'] }) }),
  'a key for another caller ID': async () => ({ key: await newKey({ callerIds: ['2125550198'] }) }),
  'a key for another state': async () => ({ key: await newKey({ regions: ['NJ'] }) }),
  'a key that has had its calls of the day': async () => {
    const key = await newKey({ attemptsPerDay: 1 })
    await running.postJson('/v1/decisions', { number: clean, callKind: 'manual' }, key)
    return { key }
  },
  'a key whose calls a person approves': async () => ({
    key: await newKey({ approval: 'always' }),
  }),
  'a paused key': async (undo) => {
    const { id, key } = await running.callgate.keys.create({
      ...{ accountId: 'main', role: 'Administrator', label: 'paused' },
    })
    await pause(`key:${id}`, undo)
    return { key }
  },
  'paused AI calls': async (undo) => {
    await pause('ai', undo)
    return { body: { callKind: 'ai' } }
  },
  'a person who was called as often as a house limit allows': async () => {
    const body = { number: freshNumber(), projectId: 'CAPPED' }
    await running.postJson('/v1/decisions', { callKind: 'manual', ...body }, running.keys.main)
    return { body }
  },
  'a number of the sandbox whose facts are not known': () => ({
    body: { number: '2125550132', callKind: 'ai' },
    key: running.keys.sandbox,
  }),
  'a reassigned number of the sandbox': () => ({
    body: { number: '2125550130', callKind: 'ai' },
    key: running.keys.sandbox,
  }),
  'a number of the sandbox that is out of service': () => ({
    body: { number: '2125550131', callKind: 'ai' },
    key: running.keys.sandbox,
  }),
  'a number on the list of a state': async () => {
    const number = '3057361012'
    await importNumbers('state-dnc-fl', [number])
    await refreshData(running.callgate)
    return { body: { number } }
  },
  'a key that nobody knows': () => ({ key: 'unknown' }),
  'litigators is missing': async (undo) => {
    await withoutList('litigators', undo)
    return {}
  },
  'us-dnc is missing': async (undo) => {
    await withoutList('us-dnc', undo)
    return {}
  },
  'us-dnc is missing, and the call goes to Canada': async (undo) => {
    await withoutList('us-dnc', undo)
    return { body: { number: '4167361004' } }
  },
  'every list is too old': (undo) => {
    running.clock.at += 40 * dayMs
    undo.push(() => running.setBack(mondayNoon))
    return {}
  },
  'a list is damaged': async (undo) => {
    await withoutList('us-dnc', undo)
    const file = join(folder(), 'us-dnc.cglist')
    writeFileSync(file, 'not a list')
    undo.unshift(() => rmSync(file))
    await refreshData(running.callgate)
    return {}
  },
  'the file of prefixes is damaged': async (undo) => {
    const numbering = getNumberingFolder(running.callgate.settings)
    mkdirSync(numbering, { recursive: true })
    const file = join(numbering, 'numbering-us.cg')
    writeFileSync(file, 'not a prefix file')
    await refreshData(running.callgate)
    undo.push(async () => {
      rmSync(file)
      await refreshData(running.callgate)
    })
    return {}
  },
  'the clock is behind': async (undo) => {
    running.clock.at = mondayNoon - 3_600_000
    undo.push(() => {
      running.clock.at = mondayNoon + 60_000
    })
    return {}
  },
  'the server is shut': (undo) => {
    const { shut } = running.callgate
    shut.problem = 'the database is of another installation'
    undo.push(() => {
      shut.problem = undefined
    })
    return {}
  },
  'the server is shut, and the call is an emergency': (undo) => {
    const { shut } = running.callgate
    shut.problem = 'the database is of another installation'
    undo.push(() => {
      shut.problem = undefined
    })
    return { body: { number: '911' } }
  },
  'the database is locked by another program': (undo) => {
    lock(undo)
    return {}
  },
  'the database is locked, and the call is counted': (undo) => {
    lock(undo)
    return { body: { number: freshNumber(), projectId: 'CAPPED' } }
  },
  'a table of the database cannot be read': async (undo) => {
    const { schema } = running.callgate.storage.db
    await schema.alterTable('internal_dnc').renameTo('hidden').execute()
    undo.push(() => schema.alterTable('hidden').renameTo('internal_dnc').execute())
    return { body: { number: freshNumber() } }
  },
  'the federal subscription has expired': async (undo) => {
    const set = async (ftc_status: 'expired' | null) => {
      const { storage, projects, changes } = running.callgate
      await storage.db
        .updateTable('projects')
        .set({ ftc_status })
        .where('account_id', '=', 'main')
        .execute()
      projects.clearCache()
      changes.everythingChanged()
    }
    await set('expired')
    undo.push(() => set(null))
    return {}
  },
  'the folder of the journal is gone': async (undo) => {
    const [journal, aside] = [join(running.dataDir, 'journal'), join(running.dataDir, 'aside')]
    await running.callgate.journal.drain()
    renameSync(journal, aside)
    undo.push(() => renameSync(aside, journal))
    return {}
  },
  'another account has no lists': async () => ({ key: await otherKey() }),
}

const provided: Readonly<Record<string, SetUp>> = {
  'the provider answers': () => ({ body: { number: freshNumber() } }),
  'the provider limits the rate': () => vendorFault('rate-limited'),
  'no row of the provider’s answers can be read': () => vendorFault('missing-field'),
  'the provider fails': () => vendorFault('server-error'),
  'the provider refuses the key': () => vendorFault('unauthorized'),
  'the provider fails, and the answer is cached': async () => {
    const body = { number: freshNumber(), callKind: 'manual' }
    await expect.poll(() => ask(remote, { body })).toBe('allow permitted')
    await vendorFault('server-error')
    return { body }
  },
}

function lock(undo: (() => unknown)[]): void {
  const other = new Sqlite(join(running.dataDir, 'callgate.sqlite'))
  other.exec('begin immediate')
  undo.push(() => other.close())
}

async function otherKey(): Promise<string> {
  const { accounts, keys } = running.callgate
  await accounts.ensure({ id: 'other', kind: 'real', name: 'Other' })
  return (await keys.create({ accountId: 'other', role: 'Agent', label: 'a' })).key
}

async function ask(server: TestCallgate, { body, key = server.keys.main }: Call): Promise<string> {
  const response = await server.postJson(
    '/v1/decisions',
    { number: clean, callKind: 'manual', ...body },
    key,
  )
  const { decision, reason } = (await response.json()) as { decision?: string; reason: string }
  return decision === undefined ? `status ${response.status}` : `${decision} ${reason}`
}

/** What `/readyz` would answer anew: its answers to others are shared for a second. */
async function readChecks({ callgate }: TestCallgate) {
  const checks = [...listDataReadinessChecks(callgate), ...listSourceReadinessChecks(callgate)]
  return await Promise.all(checks.map(async ({ name, check }) => ({ name, ...(await check()) })))
}

type Checks = Awaited<ReturnType<typeof readChecks>>

function describeReadiness(checks: Checks): string {
  const failed = checks.filter(({ ready }) => !ready).map(({ name }) => name)
  return failed.length === 0 ? '200' : `503 ${failed.join(', ')}`
}

/** The subjects of what the doctor finds to be done now. */
async function diagnose({ callgate, dataDir }: TestCallgate, checks: Checks): Promise<string> {
  const server = createServer((_, response) => response.end(JSON.stringify({ checks })))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const { settings, runtime } = callgate
  const said = await findServerFindings(settings, `http://127.0.0.1:${port}`)
  server.close()
  server.closeAllConnections()
  const probes = listDataProbes(settings, { clock: runtime.clock, temporaryFolder: dataDir })
  const found = []
  for (const { subject, run } of probes) {
    // The machine of the tests decides what the disk has left, and whose files these are.
    if (subject !== 'disk' && subject !== 'files') found.push(...(await run()))
  }
  const now = [...withoutRepeated(said, found), ...found].filter(({ level }) => level === 'now')
  return [...new Set(now.map(({ subject }) => subject))].sort().join(', ') || 'nothing'
}

const rows = tableRows(page).filter((row) => row.has('State'))
const tested = rows.filter((row) => !row.has('Test'))

const plain = (text: string) => text.replaceAll('`', '')

function cellsOf(state: string): Readonly<Record<string, string>> {
  const row = rows.find((one) => one.get('State') === state) ?? []
  return Object.fromEntries([...row].map(([name, text]) => [plain(name), plain(text)]))
}

async function compare(server: TestCallgate, state: string, setUp: SetUp): Promise<void> {
  const undo: (() => unknown)[] = []
  const cells = cellsOf(state)
  const { metrics } = server.callgate
  try {
    const call = await setUp(undo)
    let checks: Checks = []
    // A call counts more the later it came, so earlier ones are outweighed after some.
    await expect
      .poll(
        async () => {
          const got = await ask(server, call)
          checks = await readChecks(server)
          return [got, describeReadiness(checks)]
        },
        { interval: 5 },
      )
      .toEqual([cells['A call gets'], cells['/readyz']])
    expect(await diagnose(server, checks)).toBe(cells['Doctor: now'])
    metrics.setReadiness(checks)
    const { body } = await metrics.render()
    const value = new RegExp(`^${cells.Metric?.replace('}', '.*}')} ([1-9]|0$)`, 'm').exec(body)
    expect(value?.[1] === '0', cells.Metric).toBe(cells.Metric?.startsWith('callgate_ready'))
  } finally {
    for (const one of undo) await one()
  }
}

describe('docs/states.md', () => {
  it('has each state of this test, and at least 50', () => {
    const states = [...Object.keys(embedded), ...Object.keys(provided)]
    expect(tested.map((row) => row.get('State'))).toEqual(states)
    expect(rows.length).toBeGreaterThanOrEqual(50)
  })

  it('has every reason for which a call is blocked', () => {
    const text = readFileSync(page, 'utf8')
    const allowed = new Set<string>(['permitted', 'service-code', 'policy-allows'])
    const reasons = Object.keys(reasonTexts).filter((reason) => !allowed.has(reason))
    expect(reasons.filter((reason) => !text.includes(reason))).toEqual([])
  })

  it('says why where a call and readiness differ', () => {
    const unexplained = rows.flatMap((row) => {
      const cells = cellsOf(row.get('State') ?? '')
      const [decision, reason] = (cells['A call gets'] ?? '').split(' ')
      const isFault = undecidedReasons.has(reason as ReasonCode) || /^list-/.test(reason ?? '')
      const isReady = cells['/readyz'] === '200'
      const differs = isReady ? decision === 'block' && isFault : decision === 'allow'
      return differs && !cells['Why they differ'] ? [row.get('State')] : []
    })
    expect(unexplained).toEqual([])
  })

  it('names the alert of what is not ready', () => {
    const alerts = readFileSync(join(root, 'config/prometheus/alerts.yml'), 'utf8')
    for (const row of rows) {
      const { Alert: alert = '', '/readyz': ready = '' } = cellsOf(row.get('State') ?? '')
      const failed = ready.split(/[ ,]+/).slice(1)
      const wanted = [
        ...(failed.includes('calls') ? ['CallgateEveryCallBlocked'] : []),
        ...(failed.some((check) => check !== 'calls') ? ['CallgateNotReady'] : []),
      ]
      const named = alert === 'none' ? [] : alert.split(', ')
      expect(named, row.get('State')).toEqual(expect.arrayContaining(wanted))
      for (const name of named) expect(alerts).toContain(`alert: ${name}\n`)
    }
  })
})

beforeAll(async () => {
  const houseLimits = [{ account: 'main', project: 'CAPPED', calls: 1, seconds: 60 }]
  running = await openTestCallgate({
    environment: {
      CALLGATE_GATE_SUBJECTS: '[{ account: main, subjects: [solar] }]',
      CALLGATE_GATE_HOUSE_LIMITS: JSON.stringify(houseLimits),
      CALLGATE_STORAGE_LOCK_WAIT_MS: '100',
    },
  })
  const { db } = running.callgate.storage
  for (const code of ['OWN', 'CAPPED']) {
    await insertProject(db, { accountId: 'main', code, name: code, createdAt: 0 })
  }
  for (const [name, number] of Object.entries(listed)) await importNumbers(name, [number])
  await refreshData(running.callgate)
  remote = await openRemoteCallgate({
    provider: {
      ...ofEachQuestion('DEADLINE_MS', '1000'),
      CIRCUIT_FAILURES: '1',
      CIRCUIT_OPEN_MS: '100',
      RETRIES: '0',
    },
  })
})
afterAll(async () => {
  await running.end()
  await remote.end()
})

describe('a server with the data of its own', () => {
  it.each(Object.entries(embedded))('%s', async (state, setUp) => {
    await compare(running, state, setUp)
    const now = async () => [await ask(running, {}), describeReadiness(await readChecks(running))]
    await expect.poll(now, { interval: 5 }).toEqual(['allow permitted', '200'])
  })
})

describe('a server that asks a provider', () => {
  it.each(Object.entries(provided))('%s', async (state, setUp) => {
    try {
      await compare(remote, state, setUp)
    } finally {
      remote.vendor.setFault('all', undefined)
      const allowed = () => ask(remote, { body: { number: freshNumber() } })
      await expect.poll(allowed).toBe('allow permitted')
    }
  })
})
