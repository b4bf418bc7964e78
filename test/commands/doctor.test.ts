/** From which moment on the doctor warns, and that the server says the same. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { getListsFolder } from '../../src/app/data-folders.js'
import { registerAccounts } from '../../src/commands/accounts/accounts.js'
import { findSpaceFindings, listDataProbes } from '../../src/commands/doctor/data-findings.js'
import { registerDoctor } from '../../src/commands/doctor/doctor.js'
import { findPolicyFindings } from '../../src/commands/doctor/policy-findings.js'
import { findShortDialTimes } from '../../src/commands/doctor/ring-time.js'
import { findWitnessFindings } from '../../src/commands/doctor/witness-findings.js'
import { refreshData, watchData } from '../../src/commands/serve/data-watch.js'
import { loadSettings } from '../../src/config/load.js'
import { importList } from '../../src/data/number-list/import/list-import.js'
import { formatDay } from '../../src/domain/time/dates.js'
import { getIanaVersion } from '../../src/domain/time/time-zones.js'
import { createPersonKey } from '../support/person-keys.js'
import { spoken } from '../support/platform-door.js'
import { runCommand } from '../support/run-command.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const dayMs = 86_400_000

let running: TestCallgate

beforeEach(async () => {
  running = await openTestCallgate()
})

afterEach(() => running.end())

async function importLists(
  names: readonly string[],
  daysAgo: number,
  areaCodes: 'all' | readonly string[] = 'all',
): Promise<void> {
  const file = join(running.dataDir, 'numbers.txt')
  writeFileSync(file, '2127360001\n')
  const { settings, runtime } = running.callgate
  const asOf = running.clock.at - daysAgo * dayMs
  const folder = getListsFolder(settings)
  for (const name of names) {
    await importList({ name, files: [file], folder, asOf, areaCodes, clock: runtime.clock })
  }
  await refreshData(running.callgate)
}

/** `<level> <subject> <account>: <problem>` of each finding about the data. */
async function findAll(settings = running.callgate.settings): Promise<readonly string[]> {
  const { runtime } = running.callgate
  const found: string[] = []
  const deps = { clock: runtime.clock, temporaryFolder: running.dataDir }
  for (const { subject: probe, run } of listDataProbes(settings, deps)) {
    // The machine of the tests decides what the disk has left, and whose files these are.
    if (probe === 'disk' || probe === 'files') continue
    for (const { level, subject, account = '-', problem } of await run()) {
      // As long as nothing about reassigned numbers is imported, and nobody keeps the heads of the journal.
      if (subject === 'reassigned' || subject === 'witnesses') continue
      found.push(`${level} ${subject} ${account}: ${problem}`)
    }
  }
  return found
}

it('notes that there is no source of reassigned numbers, unless decisions ask a provider', async () => {
  const subjects = async (more: Partial<typeof running.callgate.settings.lookups>) => {
    const { settings, runtime } = running.callgate
    const deps = { clock: runtime.clock, temporaryFolder: running.dataDir }
    const asked = { ...settings, lookups: { ...settings.lookups, ...more } }
    const data = listDataProbes(asked, deps).find(({ subject }) => subject === 'data')
    return (await data?.run())?.map(({ level, subject }) => `${level} ${subject}`)
  }
  const baseUrl = 'https://acme.test'
  expect(await subjects({})).toContain('note reassigned')
  expect(await subjects({ baseUrl })).not.toContain('note reassigned')
  expect(await subjects({ baseUrl, asksForCalls: false })).toContain('note reassigned')
})

it('warns of what may be an opt-out until somebody has cleared it up', async () => {
  const body = spoken('CA1', 'stop calling me')
  const receivedAt = new Date(running.clock.at).toISOString()
  await running.postJson('/v1/platform-events', { platform: 'twilio', receivedAt, body, query: '' })
  const ofOptOuts = async () => (await findAll()).filter((one) => one.startsWith('soon opt-outs'))
  expect(await ofOptOuts()).toEqual([
    expect.stringMatching(/^soon opt-outs sandbox: account sandbox: unclear opt-outs .*: 1$/),
  ])
  const listed = await (await running.get('/v1/unclear-opt-outs')).json()
  const [{ id }] = (listed as { unclear: [{ id: string }] }).unclear
  await running.postJson(`/v1/unclear-opt-outs/${id}`, { action: 'dismiss' })
  expect(await ofOptOuts()).toEqual([])
})

it('warns about free space as the alerts do', () => {
  const levelsAt = (bytes: number) =>
    findSpaceFindings({ holds: 'journal', path: '/d', freeBytes: bytes }).map(
      ({ level, problem }) => {
        expect(problem).toContain('the disk of journal (/d): ')
        return level
      },
    )
  expect([5e9, 5e9 - 1, 5e8, 5e8 - 1].map(levelsAt)).toEqual([[], ['soon'], ['soon'], ['now']])
})

it('warns of the end of an exception in its last three days, and then no more', () => {
  const until = mondayNoon + 3 * dayMs
  const settings = loadSettings({
    environment: {
      CALLGATE_POLICY_LITIGATOR_ON_UNKNOWN: 'allow',
      CALLGATE_POLICY_LITIGATOR_REASON: 'test',
      CALLGATE_POLICY_LITIGATOR_UNTIL: new Date(until).toISOString(),
    },
  })
  const soonAt = (at: number) =>
    findPolicyFindings(settings, { now: () => at }).filter(({ level }) => level === 'soon').length
  expect([mondayNoon - 1, mondayNoon, until - 1, until].map(soonAt)).toEqual([0, 1, 1, 0])
})

it('warns of a list in the words of readiness and of the log', async () => {
  watchData(running.callgate)()
  await importLists(['canada-dnc', 'litigators'], 0)
  await importLists(['us-dnc', 'custom-own'], 25)
  expect(await findAll()).toEqual([
    'soon lists -: us-dnc becomes too old at 2026-11-29T17:00:00.001Z and will not be used after that',
  ])
  running.clock.at += 6 * dayMs + 1
  await importLists(['state-dnc-fl'], 1_000)
  running.logLines.length = 0
  watchData(running.callgate)()
  const late = 'us-dnc has been too old since 2026-11-29T17:00:00.001Z and is not used'
  const found = await findAll()
  expect(found).toContain(`now lists -: ${late}`)
  expect(found.join()).toContain('now lists -: state-dnc-fl has been too old since ')
  expect(found).toContain(`now calls main: every US call of account main is blocked: ${late}`)
  const readyz = await (await running.get('/readyz')).text()
  expect(readyz.split(late)).toHaveLength(3)
  expect(running.logLines.filter((line) => line.includes(late))).toHaveLength(1)
  expect(found.join()).not.toContain('custom-own')
})

it('warns of calling rules and zones that are more than a year old', async () => {
  await importLists(['us-dnc', 'canada-dnc', 'litigators'], 0)
  const { asOf } = running.callgate.data.rules
  const foundAt = async (at: number) => {
    running.clock.at = at
    return (await findAll()).filter((finding) => finding.startsWith('soon rules'))
  }
  expect(await foundAt((asOf + 366) * dayMs)).toEqual([])
  expect(await foundAt((asOf + 366) * dayMs + 1)).toEqual([
    expect.stringContaining(`the calling rules were collected on ${formatDay(asOf)}, more than a`),
  ])
  expect(await foundAt((asOf + 4 * 366) * dayMs)).toEqual([
    expect.stringContaining('the calling rules were collected on '),
    expect.stringContaining(`the rules of time zones are of IANA ${getIanaVersion()}, more than`),
  ])
})

it('warns of a key in its last seven days, until it is revoked', async () => {
  await importLists(['us-dnc', 'canada-dnc', 'litigators'], 0)
  const expiresAt = running.clock.at + 7 * dayMs
  const { keys } = running.callgate
  const made = await keys.create({
    accountId: 'main',
    role: 'Administrator',
    label: 'week',
    expiresAt,
  })
  expect(await findAll()).toEqual([])
  running.clock.at += 1
  const [soon] = await findAll()
  expect(soon).toMatch(/^soon keys main: key \S+ \(week\) of account main expires at 2026-11-30T17/)
  running.clock.at = expiresAt
  expect((await findAll())[0]).toMatch(/^now keys main: .* expired at /)
  await keys.revoke(made.id)
  expect(await findAll()).toEqual([])
})

it('warns of an account that asked for decisions and has no key left that may', async () => {
  await importLists(['us-dnc', 'canada-dnc', 'litigators'], 0)
  const { accounts, keys, keyUses } = running.callgate
  const makeKey = async (label: string, rights: readonly ('decide' | 'look-up')[]) =>
    await keys.create({ accountId: 'acme', role: 'Agent', label, rights })
  const keysOfAcme = async () => (await findAll()).filter((one) => one.startsWith('now keys acme'))
  await accounts.ensure({ id: 'acme', kind: 'real', name: 'Acme' })
  const dialer = await makeKey('dialer', ['decide'])
  await makeKey('crm', ['look-up'])
  await keys.revoke(dialer.id)
  // Never used: an account that somebody has tried out.
  expect(await keysOfAcme()).toEqual([])
  const other = await makeKey('dialer', ['decide'])
  const call = { number: '2127360001', callKind: 'manual' }
  expect((await running.postJson('/v1/decisions', call, other.key)).status).toBe(200)
  await keyUses.store()
  expect(await keysOfAcme()).toEqual([])
  await keys.change(other.id, { rights: ['look-up'], by: 'ann' })
  expect((await running.postJson('/v1/decisions', call, other.key)).status).toBe(403)
  const keyless = expect.stringContaining('none of its keys in force has the right decide')
  expect(await keysOfAcme()).toEqual([keyless])
  await keys.revoke(other.id)
  expect(await keysOfAcme()).toEqual([keyless])
  running.clock.at += 31 * dayMs
  expect(await keysOfAcme()).toEqual([])
})

it('names the area codes that calls ask for and those that the list has', async () => {
  await importLists(['canada-dnc', 'litigators'], 0)
  await importLists(['us-dnc'], 0, ['201', '551'])
  const call = async (number: string) => {
    const made = await running.postJson(
      '/v1/decisions',
      { number, callKind: 'manual' },
      running.keys.main,
    )
    expect(await made.json()).toMatchObject({ decision: expect.any(String) })
  }
  const ofLists = async () => {
    return (await findAll()).filter((one) => one.includes('area codes'))
  }
  for (const number of ['2127360002', '2127360003', '7182340001']) await call(number)
  const blocked =
    'were blocked since us-dnc does not cover their area codes: 212, 718; it covers 201, 551'
  // The index follows the journal a moment later.
  await expect
    .poll(ofLists, { timeout: 60_000 })
    .toEqual([`now lists main: account main: of the latest 3 calls of the last day, 3 ${blocked}`])
  for (const line of [1, 2, 3]) await call(`201734000${line}`)
  await expect
    .poll(ofLists, { timeout: 60_000 })
    .toEqual([`note lists main: account main: of the latest 6 calls of the last day, 3 ${blocked}`])
  await importLists(['us-dnc'], 0)
  expect(await ofLists()).toEqual([])
})

it('says that it could not look at the area codes of calls where their index cannot be read', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'callgate-doctor-'))
  try {
    cpSync(running.dataDir, dataDir, { recursive: true })
    writeFileSync(join(dataDir, 'index.sqlite'), 'no database')
    writeFileSync(join(dataDir, 'index.sqlite-wal'), '')
    expect(await findAll({ ...running.callgate.settings, dataDir })).toContainEqual(
      expect.stringMatching(
        /^soon lists -: the area codes of the calls of the last day could not be compared with the lists: .*: file is not a database$/,
      ),
    )
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
})

it('asks for the lists of the countries that an account calls alone', async () => {
  await importLists(['us-dnc', 'litigators'], 0)
  const accounts = (...args: string[]) =>
    runCommand(registerAccounts, ['accounts', ...args], { dataDir: running.dataDir })
  const decide = async (number: string) => {
    const call = { number, callKind: 'manual' }
    return await (await running.postJson('/v1/decisions', call, running.keys.main)).json()
  }
  const readyz = async () => await (await running.get('/readyz')).text()
  const missing =
    'now calls main: every CA call of account main is blocked: canada-dnc is not imported'
  expect(await findAll()).toEqual([missing])
  expect(await readyz()).toContain('canada-dnc')
  expect(await accounts('countries', 'main', 'FR')).toMatchObject({
    code: 2,
    err: expect.stringContaining("countries 'FR': must be US, CA, or both with a comma"),
  })
  expect((await accounts('countries', 'main', 'us')).code).toBe(0)
  expect((await accounts('list')).out).toMatch(/^main .* US /m)
  const tooLong = await accounts('countries', 'main', 'CA', '--because', 'x'.repeat(5_000))
  expect(tooLong.err).toContain('because')
  expect((await accounts('list')).out).toMatch(/^main .* US /m)
  await expect.poll(readyz, { timeout: 60_000 }).not.toContain('canada-dnc')
  expect(await findAll()).toEqual([])
  const metrics = await (await running.get('/metrics')).text()
  expect(metrics).not.toContain('list="canada-dnc"')
  expect(await decide('4165550100')).toMatchObject({
    decision: 'block',
    reason: 'foreign-number',
    findings: expect.arrayContaining([
      expect.objectContaining({ detail: expect.stringContaining('the account does not call CA') }),
    ]),
  })
  expect(await decide('2127360002')).toMatchObject({ decision: 'allow' })
  const body = { numbers: ['4165550100', '2127360002'], callKind: 'manual' }
  const preview = await running.postJson('/v1/decisions/preview', body, running.keys.main)
  expect(await preview.json()).toMatchObject({ reasons: { 'foreign-number': 1 } })
  // A list of that country may get old.
  await importLists(['canada-dnc'], 100)
  expect(await findAll()).toEqual([])
  const subject = 'country:CA:main'
  const end = await running.postJson('/v1/pauses/end', { subject }, running.keys.main)
  expect(end.status).toBe(200)
  expect((await findAll()).join()).toContain('canada-dnc has been too old')
  const again = { subject, reason: 'we sell in the US alone' }
  expect((await running.postJson('/v1/pauses', again, running.keys.main)).status).toBe(200)
  expect(await findAll()).toEqual([])
})

it('notes what is paused, with who and since when', async () => {
  await importLists(['us-dnc', 'canada-dnc', 'litigators'], 0)
  const { keys, pauses } = running.callgate
  const { id } = await keys.create({ accountId: 'main', role: 'Agent', label: 'dialer' })
  const gone = await keys.create({ accountId: 'main', role: 'Agent', label: 'gone' })
  const order = { because: 'complaints', pausedBy: 'ann' }
  const subjects = [`key:${id}`, `key:${gone.id}`, 'agents:main', 'ai:main', 'ai'] as const
  for (const subject of subjects) await pauses.pause({ subject, ...order })
  await keys.revoke(gone.id)
  const since = 'since 2026-11-23T17:00:00Z (ann: complaints)'
  expect(await findAll()).toEqual([
    `note policy main: account main: all keys for AI calls alone are paused ${since}`,
    `note policy -: all AI calls are paused ${since}`,
    `note policy main: account main: all AI calls are paused ${since}`,
    `note policy main: account main: key ${id} is paused ${since}`,
  ])
})

it('warns while nobody with a key could approve what needs a second person', async () => {
  const { settings, keys } = running.callgate
  const twoPeople = { ...settings.twoPeople, for: ['lift-opt-out'] as const }
  const found = async (of: object = { twoPeople }) => {
    const all = await findAll({ ...settings, ...of } as typeof settings)
    return all.filter((one) => one.startsWith('soon keys'))
  }
  expect(await found({})).toEqual([])
  expect(await found()).toEqual([expect.stringContaining('all its keys have one root, system')])
  // Another root, but that of a program.
  const { id } = await keys.create({ accountId: 'main', role: 'Supervisor', label: 'b' })
  const { db } = running.callgate.storage
  await db.updateTable('api_keys').set({ root: 'user:b' }).where('id', '=', id).execute()
  expect(await found()).toEqual([expect.stringContaining('all its keys are those of programs')])
  await createPersonKey(running, 'ben')
  expect(await found()).toEqual([])
})

it('recommends a witness, and one on another volume', () => {
  const { dataDir } = running
  const findWith = (journal: string) => {
    writeFileSync(join(dataDir, 'witnesses.yaml'), `journal: { witnesses: ${journal} }\n`)
    const { journal: set } = loadSettings({
      file: join(dataDir, 'witnesses.yaml'),
      environment: {},
    })
    return findWitnessFindings({ dataDir, journal: set }).map(
      ({ level, problem }) => `${level}: ${problem}`,
    )
  }
  mkdirSync(join(dataDir, 'journal'), { recursive: true })
  const none = expect.stringMatching(/^note: nobody outside of the data folder keeps/)
  expect(findWith('[]')).toEqual([none])
  expect(findWith('[{ kind: webhook, url: "http://127.0.0.1:1" }]')).toEqual([none])
  const path = join(dataDir, 'heads.txt')
  expect(findWith(`[{ kind: file, path: ${path} }]`)).toEqual([
    `soon: journal.witnesses '${path}' is on the same volume as the journal, and is lost or put back with it`,
  ])
  const missing = join(dataDir, 'volume/heads.txt')
  expect(findWith(`[{ kind: file, path: ${missing} }]`)).toEqual([
    `soon: the folder of journal.witnesses '${missing}' does not exist`,
  ])
  expect(findWith('[{ kind: file, path: /proc/heads.txt }]')).toEqual([])
})

const doctor = (args: readonly string[], more = '') =>
  runCommand(registerDoctor, ['doctor', ...args], { dataDir: running.dataDir, more })

it('lists all problems of wrong settings', async () => {
  const { code, out } = await doctor(['--json'], 'http: { port: many }\ngate: { foo: 1 }\n')
  expect(code).toBe(2)
  const { findings } = JSON.parse(out) as { findings: { level: string; subject: string }[] }
  expect(findings.map(({ level, subject }) => `${level} ${subject}`)).toEqual([
    'now settings',
    'now settings',
  ])
})

it('requires the address of a server whose port is not known, and times that are times', async () => {
  const { code, out, err } = await doctor([], 'http: { port: 0 }\n')
  expect([code, out]).toEqual([2, ''])
  expect(err).toBe(
    '--url is missing: http.port is 0, so the server has another port after each start; ' +
      'give the address that it printed',
  )
  for (const time of ['0s', '2', '61m', '99999m']) {
    const wrong = await doctor(['--timeout', time])
    expect(wrong).toMatchObject({ code: 2, out: '' })
    expect(wrong.err).toContain(
      `--timeout '${time}': must be a time such as 30s or 5m, at most 60m`,
    )
  }
})

/** With a provider of which account acme has a login. */
const withProvider = () => {
  const { settings } = running.callgate
  const environment = {
    CALLGATE_SOURCE_KIND: 'remote',
    CALLGATE_SOURCE_PROVIDER_NAME: 'vendor',
    CALLGATE_SOURCE_PROVIDER_BASE_URL: 'https://vendor.test',
    CALLGATE_SOURCE_PROVIDER_LOGIN_ID: 'x',
    CALLGATE_SOURCE_PROVIDER_ACCOUNTS: '{acme: {loginId: y}, gone: {loginId: z}}',
  }
  const { source } = loadSettings({ environment })
  return { ...settings, source }
}

it('warns of logins for accounts that do not exist, and of accounts without any', async () => {
  const { accounts } = running.callgate
  for (const id of ['acme', 'beta']) await accounts.ensure({ id, kind: 'real', name: id })
  const found = await findAll(withProvider())
  expect(found).toContain(
    "soon login -: source.provider.accounts has a login for account 'gone', which does not exist",
  )
  expect(found.filter((line) => line.includes('is blocked'))).toEqual([
    'now calls beta: every call of account beta is blocked: it has no login for vendor and no right to that of account main',
  ])
})

it('says that opt-outs wait for a person to read them', async () => {
  const said = { number: '2125550100', said: 'I will sue you', channel: 'text' }
  expect((await running.postJson('/v1/opt-outs', said, running.keys.main)).status).toBe(200)
  const problem = 'opt-outs with words that were not understood wait for a person to read them: 1'
  expect(await findAll()).toContainEqual(`soon opt-outs main: account main: ${problem}`)
})

it('notes the campaigns whose unanswered calls were ended too early, in the current period', async () => {
  await importLists(['us-dnc', 'canada-dnc', 'litigators'], 0)
  const call = { accountId: 'main', campaign: 'campaign:7', callKind: 'autodialed' } as const
  const { abandonment, data } = running.callgate
  const called = { number: '2125550100', purpose: 'telemarketing' as const, places: [] }
  const { at } = running.clock
  const limits = data.rules.abandonment.find(called, at)
  for (const [decisionId, ringMs] of [
    ['d1', 5_000],
    ['d2', 20_000],
  ] as const) {
    const ring = { ringMs, isEndedByCaller: true }
    await abandonment.count({ ...call, decisionId, at }, { ring }, limits)
  }
  const early = (await findAll()).filter((line) => line.includes('too early'))
  expect(early).toEqual([
    'note ring time -: account main, campaign:7: of 2 unanswered calls, the caller ended 1 too early',
  ])
  running.clock.at += 31 * dayMs
  expect((await findAll()).join()).not.toContain('too early')
})

it.each([
  ['10', ['soon asterisk: asterisk: CALLGATE_DIAL_SECONDS is 10']],
  ['14.9', ['soon asterisk: asterisk: CALLGATE_DIAL_SECONDS is 14.9']],
  ['15', []],
  ['', []],
  [undefined, []],
])('reads CALLGATE_DIAL_SECONDS %j of an Asterisk', async (value, expected) => {
  const asked: (string | undefined)[] = []
  const server = createServer(({ url, headers }, response) => {
    asked.push(url, headers.authorization)
    response.writeHead(value === undefined ? 404 : 200).end(JSON.stringify({ value }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = server.address() as AddressInfo
    const settings = loadSettings({
      environment: {
        CALLGATE_ASTERISK_URL: `http://127.0.0.1:${port}`,
        CALLGATE_ASTERISK_USERNAME: 'callgate',
        CALLGATE_ASTERISK_PASSWORD: 'pa:ss',
      },
    })
    const found = await findShortDialTimes(settings)
    expect(
      found.map(({ level, subject, problem }) => `${level} ${subject}: ${problem.split(',')[0]}`),
    ).toEqual(expected)
    expect(asked).toEqual([
      '/ari/asterisk/variable?variable=CALLGATE_DIAL_SECONDS',
      `Basic ${Buffer.from('callgate:pa:ss').toString('base64')}`,
    ])
  } finally {
    server.close()
  }
})

it('says nothing of the time of ringing without an Asterisk, or of one that does not answer', async () => {
  const findAt = (environment: Record<string, string>) =>
    findShortDialTimes(loadSettings({ environment }))
  expect(await findAt({})).toEqual([])
  const nobody = { CALLGATE_ASTERISK_URL: 'http://127.0.0.1:1', CALLGATE_ASTERISK_PASSWORD: 'x' }
  expect(await findAt(nobody)).toEqual([])
})
