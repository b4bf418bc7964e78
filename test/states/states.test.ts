/**
 * Each state of docs/states.md, set up as the document says it: what a call gets over HTTP, what the checks of `/readyz` say,
 * and what `callgate doctor` finds.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { getListsFolder, getNumberingFolder } from '../../src/app/data-folders.js'
import { listDataProbes } from '../../src/commands/doctor/data-findings.js'
import { findServerFindings, withoutRepeated } from '../../src/commands/doctor/server-findings.js'
import { listDataReadinessChecks, refreshData } from '../../src/commands/serve/data-watch.js'
import { attachAsterisk } from '../../src/commands/serve/serve.js'
import { listSourceReadinessChecks } from '../../src/commands/serve/source-readiness.js'
import { importList } from '../../src/data/number-list/import/list-import.js'
import { type ReasonCode, reasonCodes, undecidedReasons } from '../../src/domain/checks.js'
import type { CallLimits } from '../../src/domain/mandate.js'
import { openFakeVendor } from '../../src/fake-vendor/fake-vendor.js'
import { DoNotOriginate } from '../../src/service/accounts/do-not-originate.js'
import { insertProject } from '../../src/service/projects/project-rows.js'
import { FakeAsterisk, user } from '../support/fake-asterisk.js'
import { openLoginProxy } from '../support/login-proxy.js'
import {
  ofEachQuestion,
  openRemoteCallgate,
  type RemoteCallgate,
} from '../support/remote-callgate.js'
import {
  cellsOf,
  describeReadiness,
  describeSubjects,
  expectState,
  stateRows,
} from '../support/states-page.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const root = join(import.meta.dirname, '../..')

interface Call {
  readonly body?: object
  readonly key?: string
  readonly path?: string
  /** Goes first each time that the call is made. */
  readonly before?: () => unknown
  /** In place of a request over HTTP; gives the decision and its reason. */
  readonly ask?: () => Promise<string>
  /** Where another one than that of all states is asked. */
  readonly server?: TestCallgate
}
/** Sets the state up; gives the call that meets it. What it leaves behind is undone by the function in `undo`. */
type SetUp = (undo: (() => unknown)[]) => Promise<Call> | Call

const dayMs = 86_400_000
const clean = '2127360002'
/** Of the calling hours of New York. */
const closing = Date.UTC(2026, 10, 24, 2)
let running: TestCallgate
let remote: RemoteCallgate
let nextLine = 0
const freshNumber = () => String(2_127_370_000 + nextLine++)

const folder = () => getListsFolder(running.callgate.settings)

async function importNumbers(
  name: string,
  numbers: readonly string[],
  { callgate, dataDir } = running,
): Promise<void> {
  const file = join(dataDir, 'numbers.txt')
  writeFileSync(file, numbers.join('\n'))
  const { clock } = callgate.runtime
  const folder = getListsFolder(callgate.settings)
  const made = { name, files: [file], folder, asOf: mondayNoon, allowOlder: true }
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

/** Stores a permission, which nothing shows. */
async function permit(number: string, projectId?: string) {
  const ebrList = [{ phoneNumber: number, type: 'P', dateOfLastContact: '11/20/2026' }]
  const path = `/app/main/rpc/ebr${projectId ? `?projId=${projectId}` : ''}`
  expect((await running.postJson(path, { ebrList }, running.keys.main)).status).toBe(200)
  return { number, projectId }
}

async function afterACall(key: string): Promise<Call> {
  expect(await ask(running, { key })).toBe('allow permitted')
  return { key }
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
    const { number } = await permit('2127361011')
    await running.get(`/app/main/rpc/pdnc?phoneList=${number}&actionType=add`, running.keys.main)
    return { body: { number } }
  },
  'a machine calls without consent': () => ({ body: { callKind: 'ai' } }),
  'an AI calls with a consent that nothing shows': async () => {
    return { body: { ...(await permit('2127361013')), callKind: 'ai' } }
  },
  'a mobile number in a state that forbids calls to those': () => ({
    body: { number: '2015550101' },
    key: running.keys.sandbox,
  }),
  'a project that does not exist': () => ({ body: { projectId: 'NOPE' } }),
  'a call at night': () => ({ body: { at: '2026-11-24T08:00:00Z' } }),
  'a permit for the last seconds of the calling hours': (undo) => {
    running.clock.at = closing - 4_000
    undo.push(() => running.setBack(mondayNoon))
    return { path: '/v1/permits', body: { callerId: '2125550199', edge: 'edge-a' } }
  },
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
  'a caller ID that only takes calls': async (undo) => {
    const { storage, runtime } = running.callgate
    const lists = new DoNotOriginate({ storage, clock: runtime.clock })
    await lists.replace('inbound', ['2125550152'], 'ann')
    undo.push(() => lists.replace('inbound', [], 'ann'))
    return { body: { callerId: '2125550152' } }
  },
  'a machine that shows no caller ID': async () => {
    await running.postJson('/v1/caller-ids', { callerIds: [own] }, running.keys.main)
    return { body: { ...(await permit('2127361014', 'OWN')), callKind: 'autodialed' } }
  },
  'a caller ID of a place where the account is not': () => ({
    body: { number: '8037360002', callerId: '8435550150' },
  }),
  'a campaign that abandons too many calls': async () => {
    const { abandonment, data } = running.callgate
    const called = { number: clean, purpose: 'telemarketing', places: [] } as const
    const laws = data.rules.abandonment.find(called, mondayNoon)
    const call = { accountId: 'main', campaign: 'project:DIALED', callKind: 'autodialed' } as const
    for (let left = 0; left < 100; left += 1) {
      const one = { ...call, decisionId: `left-${left}`, at: mondayNoon }
      await abandonment.count(one, { answeredBy: 'person' }, laws)
    }
    return { body: { ...(await permit('2127361015', 'DIALED')), callKind: 'autodialed' } }
  },
  'a key for other kinds of calls': async () => ({
    key: await newKey({}, { callKinds: ['ai'] }),
  }),
  'a key for another project': async () => ({ key: await newKey({}, { projects: ['OWN'] }) }),
  'a key for another caller ID': async () => ({ key: await newKey({ callerIds: ['2125550198'] }) }),
  'a key for another state': async () => ({ key: await newKey({ regions: ['NJ'] }) }),
  'a key that has had its calls of the day': async () =>
    afterACall(await newKey({ attemptsPerDay: 1 })),
  'a key that has a call in progress': async () => afterACall(await newKey({ concurrent: 1 })),
  'a key that has just called the number': async () =>
    afterACall(await newKey({ coolDownSeconds: 600 })),
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
  'the facts expire while the decision is written': (undo) => {
    const { journal } = running.callgate
    const { append } = journal
    const spy = vi.spyOn(journal, 'append').mockImplementation((decision, onWritten) => {
      const written = (failure?: unknown) => {
        running.clock.at = closing
        onWritten?.(failure)
      }
      return append.call(journal, decision, onWritten && written)
    })
    undo.push(() => {
      spy.mockRestore()
      return running.setBack(mondayNoon)
    })
    const before = () => {
      running.clock.at = closing - 1
    }
    return { before }
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

/** Ends with the case. */
async function openAlone(
  undo: (() => unknown)[],
  environment: Readonly<Record<string, string>> = {},
  lists: readonly string[] = Object.keys(listed),
): Promise<TestCallgate> {
  const server = await openTestCallgate({ environment })
  undo.push(() => server.end())
  for (const name of lists) await importNumbers(name, ['2127361003'], server)
  await refreshData(server.callgate)
  return server
}

const ofTheirOwn: Readonly<Record<string, SetUp>> = {
  'no list of litigators was ever imported': async (undo) => ({
    server: await openAlone(undo, {}, ['us-dnc']),
  }),
  'strict numbering without prefixes': async (undo) => ({
    server: await openAlone(undo, { CALLGATE_NUMBERING_UNKNOWN_PREFIX: 'strict' }),
  }),
  'a file of the database is removed': async (undo) => {
    const server = await openAlone(undo)
    expect(await ask(server, {})).toBe('allow permitted')
    for (const ending of ['', '-wal', '-shm']) {
      rmSync(`${join(server.dataDir, 'callgate.sqlite')}${ending}`)
    }
    return { server }
  },
  'a call of an Asterisk whose facts cannot be read': async (undo) => {
    const fake = await new FakeAsterisk().listen()
    const { username, password } = user
    const server = await openAlone(undo, {
      CALLGATE_ASTERISK_URL: fake.url,
      CALLGATE_ASTERISK_USERNAME: username,
      CALLGATE_ASTERISK_PASSWORD: password,
    })
    const asterisk = await attachAsterisk(server.callgate)
    undo.unshift(() => asterisk.close())
    undo.push(() => fake.close())
    await expect.poll(() => asterisk.readiness[0]?.check().ready).toBe(true)
    return { server, ask: () => askAsAsterisk(fake, [clean, 'kind=robot']) }
  },
  'the provider says that the line is out of service': async (undo) => {
    const vendor = await openFakeVendor({ at: mondayNoon })
    const disconnect = (body: string) => body.replace(/"ResultCode":"\w"/, '"ResultCode":"S"')
    const provider = await openLoginProxy(vendor, disconnect)
    const server = await openRemoteCallgate({ provider: { BASE_URL: provider.url } })
    undo.push(
      () => server.end(),
      () => provider.close(),
      () => vendor.close(),
    )
    return { server }
  },
  'more calls wait than may': async (undo) => {
    const server = await openRemoteCallgate({
      provider: ofEachQuestion('DEADLINE_MS', '60000'),
      environment: { CALLGATE_GATE_MAX_PENDING: '1', CALLGATE_GATE_DEADLINE_MS: '60000' },
    })
    // What waits for it ends with it.
    undo.push(
      () => server.vendor.close(),
      () => server.end(),
    )
    server.vendor.setFault('all', { kind: 'silent' })
    // A what-if says nothing about real calls.
    ask(server, { body: { at: '2026-11-23T17:00:00Z' } }).catch(() => undefined)
    await expect.poll(() => server.callgate.gate.pendingCount).toBe(1)
    return { server }
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

async function ask(
  server: TestCallgate,
  { body, key = server.keys.main, path = '/v1/decisions', before, ask: asked }: Call,
): Promise<string> {
  before?.()
  if (asked) return await asked()
  const response = await server.postJson(path, { number: clean, callKind: 'manual', ...body }, key)
  const { decision, reason } = (await response.json()) as { decision?: string; reason: string }
  return decision === undefined ? `status ${response.status}` : `${decision} ${reason}`
}

/** What a channel gets that enters the application with these arguments. */
async function askAsAsterisk(fake: FakeAsterisk, args: readonly string[]): Promise<string> {
  fake.requests.length = 0
  const caller = { name: '', number: '' }
  const dialplan = { context: 'gate', exten: clean, priority: 1, app_name: 'Stasis', app_data: '' }
  const channel = { id: 'c1', name: 'PJSIP/trunk-1', state: 'Ring', caller, dialplan }
  fake.send({ type: 'StasisStart', channel, args })
  await expect.poll(() => fake.of('channels.continueInDialplan').length).toBe(1)
  const { variable = '', value = '' } = fake.of('channels.setChannelVar')[0]?.query ?? {}
  const values = value.split(',')
  const names = variable.replace(/^ARRAY\(|\)$/g, '').split(',')
  const read = (name: string) => values[names.indexOf(name)]
  return `${read('CALLGATE_DECISION')} ${read('CALLGATE_REASON')}`
}

/** What `/readyz` would answer anew: its answers to others are shared for a second. */
async function readChecks({ callgate }: TestCallgate) {
  const checks = [...listDataReadinessChecks(callgate), ...listSourceReadinessChecks(callgate)]
  return await Promise.all(checks.map(async ({ name, check }) => ({ name, ...(await check()) })))
}

type Checks = Awaited<ReturnType<typeof readChecks>>

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
  for (const { run } of probes) found.push(...(await run()))
  const now = [...withoutRepeated(said, found), ...found].filter(({ level }) => level === 'now')
  return describeSubjects(now.map(({ subject }) => subject))
}

const tested = stateRows.filter((row) => !row.has('Test'))

async function compare(given: TestCallgate, state: string, setUp: SetUp): Promise<void> {
  const undo: (() => unknown)[] = []
  try {
    const call = await setUp(undo)
    const { server = given } = call
    const { metrics } = server.callgate
    let checks: Checks = []
    await expectState(state, {
      callGets: () => ask(server, call),
      async readiness() {
        checks = await readChecks(server)
        return describeReadiness(checks)
      },
      doctor: () => diagnose(server, checks),
      async metrics() {
        metrics.setReadiness(checks)
        return (await metrics.render()).body
      },
    })
  } finally {
    for (const one of undo) await one()
  }
}

describe('docs/states.md', () => {
  it('has each state of this test, and at least 50', () => {
    const states = [embedded, provided, ofTheirOwn].flatMap((all) => Object.keys(all))
    expect(tested.map((row) => row.get('State'))).toEqual(states)
    expect(stateRows.length).toBeGreaterThanOrEqual(50)
  })

  it('names the test that sets up each other state', () => {
    const others = stateRows.filter((row) => row.has('Test'))
    const notSetUp = others.filter((row) => {
      const file = join(root, row.get('Test')?.replaceAll('`', '') ?? '')
      return !readFileSync(file, 'utf8').includes(`expectState('${row.get('State')}'`)
    })
    expect(notSetUp).toEqual([])
  })

  it('has every reason for which a call is blocked', () => {
    const cells = stateRows.map((row) => cellsOf(row.get('State') ?? ''))
    const got = cells.flatMap((row) => row['A call gets']?.split(' or ') ?? [])
    const allowed = ['permitted', 'service-code', 'policy-allows']
    // Needs servers whose clocks differ.
    const others = new Set([...allowed, 'clock-ahead'])
    const reasons = reasonCodes.filter((reason) => !others.has(reason))
    expect(reasons.filter((reason) => !got.includes(`block ${reason}`))).toEqual([])
  })

  it('says why where a call and readiness differ', () => {
    const unexplained = stateRows.flatMap((row) => {
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
    for (const row of stateRows) {
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
      CALLGATE_GATE_AI_CONSENT_EVIDENCE: 'oral',
      CALLGATE_PERMITS_ISSUER: 'https://gate.example',
      CALLGATE_PERMITS_EDGES: '{ edge-a: { accounts: [main] } }',
    },
  })
  const { db } = running.callgate.storage
  for (const code of ['OWN', 'CAPPED', 'DIALED']) {
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

describe('a server of its own', () => {
  it.each(Object.entries(ofTheirOwn))('%s', (state, setUp) => compare(running, state, setUp))
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
