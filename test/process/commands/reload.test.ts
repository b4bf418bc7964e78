/** Settings, calling rules and sandbox facts that change while the built program decides. */
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { registerReload } from '../../../src/commands/reload.js'
import { until } from '../../e2e/asterisk/lab/until.js'
import { callgate, type Ended, type Serving, serve } from '../../support/program.js'
import { runCommand } from '../../support/run-command.js'

interface Rules {
  readonly regions: Record<string, Record<string, unknown>>
}

const folder = mkdtempSync(join(tmpdir(), 'callgate-reload-'))
const settingsFile = join(folder, 'callgate.yaml')
const rulesFile = join(folder, 'rules.yaml')
const sandboxFile = join(folder, 'sandbox.yaml')
const commandFolder = mkdtempSync(join(folder, 'command-'))
/** A Monday, noon in New York. */
const sandboxAt = '2026-11-23T17:00:00Z'
const environment = {
  CALLGATE_DATA_DIR: join(folder, 'var'),
  CALLGATE_CONFIG: settingsFile,
  // A slow machine is late without a reload too; how long one holds the main thread is tested elsewhere.
  CALLGATE_GATE_DEADLINE_MS: '5000',
}
const baseSettings = {
  callingHours: { rulesFile },
  sandbox: { file: sandboxFile, at: sandboxAt },
}
const closedWeek = { monFri: 'none', sat: 'none', sun: 'none' }

function writeSettings(more: object = {}): void {
  writeFileSync(settingsFile, stringify({ ...baseSettings, ...more }))
}

function writeRules(change: (rules: Rules) => void): void {
  const rules = parse(readFileSync('config/calling-rules.yaml', 'utf8')) as Rules
  change(rules)
  // JSON is YAML, and takes a hundredth of the time to write.
  writeFileSync(rulesFile, JSON.stringify(rules))
}

const closeNewYork = () =>
  writeRules(({ regions }) => {
    regions.NY = { ...regions.NY, hours: closedWeek }
  })

let server: Serving

async function openServer(): Promise<Serving> {
  writeSettings()
  writeRules(() => undefined)
  copyFileSync('config/sandbox.yaml', sandboxFile)
  return serve(environment)
}

beforeEach(async () => {
  server ??= await openServer()
  writeSettings()
  writeRules(() => undefined)
  copyFileSync('config/sandbox.yaml', sandboxFile)
  const settings = { dataDir: environment.CALLGATE_DATA_DIR, configFolder: commandFolder }
  // A process takes longer than what most of the tests do.
  expect(await runCommand(registerReload, ['reload'], settings)).toMatchObject({ code: 0 })
})

afterAll(async () => {
  expect(await server.end('SIGTERM')).toBe(0)
  rmSync(folder, { recursive: true, force: true })
})

const reload = (...args: readonly string[]): Promise<Ended> =>
  callgate(['reload', ...args], environment)

interface Answer {
  readonly id: string
  readonly decision: string
  readonly reason: string
  readonly rules: string
  readonly findings: readonly { readonly check: string; readonly verdict: string }[]
  readonly policy?: readonly { readonly check: string; readonly effect: string }[]
}

async function ask(number = '2125550100'): Promise<Answer> {
  const response = await fetch(`${server.url}/v1/decisions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', loginId: server.keys.sandbox },
    body: JSON.stringify({ number, callKind: 'manual' }),
  })
  expect(response.status).toBe(200)
  return (await response.json()) as Answer
}

const recordOf = (id: string) =>
  until('the record', async () => {
    const headers = { loginId: server.keys.sandbox }
    const response = await fetch(`${server.url}/v1/decisions/${id}`, { headers })
    return response.status === 200 && ((await response.json()) as Answer)
  })

interface Asked {
  readonly sentAt: number
  readonly ms: number
  readonly reason: string
}

/** Decisions without pause on several connections until it is stopped. */
function startLoad(connections = 8) {
  const asked: Asked[] = []
  let isRunning = true
  const work = Array.from({ length: connections }, async () => {
    while (isRunning) {
      const sentAt = performance.now()
      const { reason } = await ask()
      asked.push({ sentAt, ms: performance.now() - sentAt, reason })
    }
  })
  return {
    asked,
    reasonsSince: (at: number) => [
      ...new Set(asked.filter(({ sentAt }) => sentAt > at).map(({ reason }) => reason)),
    ],
    async stop() {
      isRunning = false
      await Promise.all(work)
    },
  }
}

/** Ends once so many more decisions have been answered. */
const moreOf = (asked: readonly Asked[], count: number) => {
  const target = asked.length + count
  return until(`${count} decisions`, () => asked.length >= target)
}

describe('a reload under load', () => {
  test('closes a state and opens it again, without a failed or late decision', async () => {
    const load = startLoad()
    await moreOf(load.asked, 200)
    expect(load.reasonsSince(0)).toEqual(['permitted'])

    closeNewYork()
    const { code, out } = await reload()
    const closedAt = performance.now()
    expect([code, out]).toEqual([0, expect.stringMatching(/^reloaded:\n/)])
    expect(out).toContain('regions.NY.hours.monFri:')
    await moreOf(load.asked, 200)

    writeRules(() => undefined)
    expect(await reload()).toMatchObject({ code: 0 })
    const openedAt = performance.now()
    await moreOf(load.asked, 200)
    await load.stop()

    const whileClosed = load.asked.filter(({ sentAt }) => sentAt > closedAt && sentAt < openedAt)
    expect(whileClosed[0]?.reason).toBe('outside-calling-hours')
    expect(load.reasonsSince(openedAt)).toEqual(['permitted'])
    // Neither overloaded nor unknown: each was judged by the one or the other.
    expect(load.reasonsSince(0).sort()).toEqual(['outside-calling-hours', 'permitted'])
  })

  test('takes a proclaimed day over at SIGHUP, and lifts it', async () => {
    const load = startLoad(2)
    writeSettings({
      callingHours: {
        rulesFile,
        proclaimedDays: [{ region: 'NY', date: '2026-11-23', name: 'Day of Mourning' }],
      },
    })
    server.signal('SIGHUP')
    await until('a block on the proclaimed day', async () => (await ask()).decision === 'block')
    writeSettings()
    server.signal('SIGHUP')
    await until('an allow again', async () => (await ask()).decision === 'allow')
    await load.stop()
    expect(load.asked.map(({ reason }) => reason)).not.toContain('overloaded')
  })

  test('survives a storm of SIGHUP, and the last files count', async () => {
    const load = startLoad(2)
    for (let round = 0; round < 100; round += 1) {
      if (round % 2 === 0) closeNewYork()
      else writeRules(() => undefined)
      server.signal('SIGHUP')
    }
    closeNewYork()
    const results = await Promise.all([reload(), reload(), reload('--json')])
    expect(results.map(({ code }) => code)).toEqual([0, 0, 0])
    expect(await ask()).toMatchObject({ reason: 'outside-calling-hours' })
    await load.stop()
    expect(load.asked.length).toBeGreaterThan(0)
    const reasons = new Set(load.asked.map(({ reason }) => reason))
    reasons.delete('permitted')
    reasons.delete('outside-calling-hours')
    expect([...reasons]).toEqual([])
  })
})

describe('wrong files', () => {
  test('change nothing, and every mistake is reported with field, value and rule', async () => {
    writeSettings({
      gate: { maxPending: 0, foo: 1 },
      callingHours: {
        rulesFile,
        proclaimedDays: [{ region: 'XX', date: '2026-11-23', name: 'x' }],
      },
    })
    writeRules(({ regions }) => {
      regions.NY = { ...regions.NY, hours: { ...closedWeek, sun: '25:00-26:00' } }
    })
    writeFileSync(sandboxFile, 'listsAsOf: 2026-13-01\nlines: {}\n')
    const { code, err } = await reload()
    expect(code).toBe(2)
    for (const text of [
      'gate.maxPending: Too small: expected number to be >=1 (got 0)',
      "unknown setting 'gate.foo'",
      `regions.NY.hours.sun '25:00-26:00': must be none or HH:MM-HH:MM`,
      "listsAsOf '2026-13-01': must be a day",
    ]) {
      expect(err).toContain(text)
      await until('the same in the log', () =>
        server.output().includes(text.replaceAll('"', '\\"')),
      )
    }
    expect(await ask()).toMatchObject({ decision: 'allow' })
    const metrics = await (await fetch(`${server.url}/metrics`)).text()
    expect(metrics).toContain('callgate_config_last_reload_successful 0')
    // `config check` says the same without a server.
    const checked = await callgate(['config', 'check', settingsFile, '--json'], {})
    expect(checked.code).toBe(2)
    expect(JSON.parse(checked.out).problems.length).toBe(err.match(/\n {2}- /g)?.length)
  })

  test('such as broken YAML or a region without rules keep the previous ones', async () => {
    closeNewYork()
    writeFileSync(settingsFile, 'gate: [')
    expect(await reload()).toMatchObject({ code: 2, err: expect.stringMatching(/: line \d+: /) })
    writeSettings({
      callingHours: {
        rulesFile,
        proclaimedDays: [{ region: 'XX', date: '2026-11-23', name: 'x' }],
      },
    })
    const { code, err } = await reload()
    expect([code, err]).toEqual([
      2,
      expect.stringContaining("proclaimedDays.0.region 'XX': must be a"),
    ])
    expect(await ask()).toMatchObject({ decision: 'allow' })
  })
})

describe('the calling rules in use', () => {
  const rulesOf = (dataDir: string, version = '') => {
    const path = join(dataDir, 'journal', 'rules')
    return version === '' ? path : join(path, `${version}.json`)
  }
  const kept = (version?: string) => rulesOf(environment.CALLGATE_DATA_DIR, version)
  const closedVersion = async () => {
    closeNewYork()
    const { versions, problems } = JSON.parse((await reload('--json')).out)
    expect(problems).toEqual([])
    return String(versions.rules)
  }

  test('are kept beside the journal once, and a decision names those it was judged by', async () => {
    const open = await ask()
    const version = await closedVersion()
    const closed = await ask()
    expect([open.decision, closed.decision]).toEqual(['allow', 'block'])
    expect(closed.rules).toBe(version)
    expect(open.rules).not.toBe(version)
    for (const { id, rules } of [open, closed]) {
      const text = readFileSync(kept(rules))
      expect(createHash('sha256').update(text).digest('hex').slice(0, 12)).toBe(rules)
      expect(await recordOf(id)).toMatchObject({ rules })
    }
    const { regions } = JSON.parse(readFileSync(kept(version), 'utf8'))
    expect(regions.NY.hours).toEqual({})
    // By the rules that close the state, this allow would be a block.
    const replayed = await callgate(['evidence', 'replay', open.id], environment)
    expect(replayed).toMatchObject({ code: 0, out: expect.stringContaining(`rules ${open.rules}`) })
    const { ino } = statSync(kept(version))
    writeRules(() => undefined)
    expect(await reload()).toMatchObject({ code: 0 })
    await closedVersion()
    expect(statSync(kept(version)).ino).toBe(ino)
  })

  test('are not taken over, and no server starts with them, if they cannot be kept', async () => {
    const version = await closedVersion()
    writeRules(() => undefined)
    expect(await reload()).toMatchObject({ code: 0 })
    const text = readFileSync(kept(version))
    writeFileSync(kept(version), text.subarray(1))
    closeNewYork()
    const other = 'does not hold the calling rules that it is named after. Move it away'
    const refused = (why: string) => ({ code: 2, err: expect.stringContaining(why) })
    expect(await reload()).toMatchObject(refused(`${kept(version)}: ${other}`))
    expect(await ask()).toMatchObject({ decision: 'allow' })

    const started = { ...environment, CALLGATE_DATA_DIR: join(folder, 'refused') }
    mkdirSync(rulesOf(started.CALLGATE_DATA_DIR), { recursive: true })
    copyFileSync(kept(version), rulesOf(started.CALLGATE_DATA_DIR, version))
    await expect(serve(started)).rejects.toThrow(other)
    writeFileSync(kept(version), text)

    renameSync(kept(), `${kept()}-aside`)
    writeFileSync(kept(), '')
    expect(await reload()).toMatchObject(refused(`${kept()}: exists and is not a folder`))
    expect(await ask()).toMatchObject({ decision: 'allow' })
    rmSync(kept())
    renameSync(`${kept()}-aside`, kept())
  })
})

describe('a changed setting', () => {
  test('that needs a restart is named, with its secret hidden, and not in use', async () => {
    const changed = {
      http: { maxConnections: 77 },
      logLevel: 'debug',
      lookups: { baseUrl: 'http://127.0.0.1:9', loginId: 'a-secret-key' },
    }
    writeSettings(changed)
    const { code, out } = await reload()
    expect(code).toBe(0)
    const [applied, restart] = out.split('needs a restart, not in use yet:\n')
    expect(applied).toContain('logLevel: "info" -> "debug"')
    expect(restart?.split('\n')).toEqual([
      '  http.maxConnections: 1000 -> 77',
      '  lookups.baseUrl: unset -> "http://127.0.0.1:9"',
      '  lookups.loginId: unset -> "(hidden)"',
      expect.stringMatching(/^in use: settings [0-9a-f]{12}, calling rules [0-9a-f]{12}$/),
      '',
    ])
    const again = JSON.parse((await reload('--json')).out)
    expect([again.applied.length, again.needRestart.length]).toEqual([0, 3])
    expect(server.output()).not.toContain('a-secret-key')
  })

  test('has a version that the reload, the log, the metrics and config check agree on', async () => {
    closeNewYork()
    const { versions, problems } = JSON.parse((await reload('--json')).out)
    expect(problems).toEqual([])
    const checked = await callgate(['config', 'check', settingsFile, '--json'], environment)
    // The server has a port of its own.
    expect(JSON.parse(checked.out).versions.rules).toBe(versions.rules)
    const metrics = await (await fetch(`${server.url}/metrics`)).text()
    const { settings, rules } = versions
    expect(metrics).toContain(`callgate_config_info{settings="${settings}",rules="${rules}"} 1\n`)
    expect(metrics.match(/^callgate_config_info\{/gm)).toHaveLength(1)
    expect(server.output()).toContain(JSON.stringify({ versions }).slice(1, -1))
  })

  test('names accounts of budgets that do not exist, as the start does', async () => {
    const writeBudget = (account: string) => {
      const budget = { accounts: { main: { numbersPerDay: 5 }, [account]: { numbersPerDay: 5 } } }
      writeSettings({ lookups: { baseUrl: 'http://127.0.0.1:9', loginId: 'a', budget } })
    }
    writeBudget('amce')
    const own = { ...environment, CALLGATE_DATA_DIR: join(folder, 'budgets') }
    const other = await serve(own)
    const warning = (account: string) =>
      `lookups.budget.accounts has a budget for account '${account}', which does not exist`
    const logged = (account: string) => other.output().includes(warning(account))
    try {
      await expect.poll(() => logged('amce')).toBe(true)
      writeBudget('acmee')
      expect((await callgate(['reload'], own)).code).toBe(0)
      await expect.poll(() => logged('acmee')).toBe(true)
      expect(logged('main')).toBe(false)
    } finally {
      await other.end('SIGTERM')
    }
  })

  test('of a key file is named, without its content', async () => {
    const keyFile = join(folder, 'key')
    writeFileSync(keyFile, 'first-secret-key\n')
    writeSettings({ lookups: { baseUrl: 'http://127.0.0.1:9', loginIdFile: keyFile } })
    const other = await serve({ ...environment, CALLGATE_DATA_DIR: join(folder, 'other') })
    const otherReload = () =>
      callgate(['reload'], { ...environment, CALLGATE_DATA_DIR: join(folder, 'other') })
    try {
      expect((await otherReload()).out).not.toContain('loginIdFile')
      writeFileSync(keyFile, 'second-secret-key\n')
      const { code, out } = await otherReload()
      expect(code).toBe(0)
      expect(out).toContain(
        'needs a restart, not in use yet:\n' +
          '  lookups.loginIdFile: the file at the start -> the file, which has changed since\n',
      )
      expect(out + other.output()).not.toContain('secret-key')
    } finally {
      await other.end('SIGTERM')
    }
  })

  test('of policy is seen in the record of the next decision', async () => {
    expect(await ask('2125550103')).toMatchObject({ decision: 'block', reason: 'national-dnc' })
    writeSettings({ policy: { permission: { mode: 'shadow' } } })
    expect(await reload()).toMatchObject({ code: 0 })
    const { id } = await ask('2125550103')
    expect(await recordOf(id)).toMatchObject({
      decision: 'allow',
      policy: [{ check: 'permission', effect: 'shadowed' }],
    })
    await until('a warning', () => server.output().includes('policy.permission: in shadow'))
  })

  test('of limits counts from the next request', async () => {
    writeSettings({ limits: { scrubPerMinute: 1 } })
    expect(await reload()).toMatchObject({ code: 0 })
    expect((await scrub(['2125550100'])).status).toBe(200)
    expect((await scrub(['2125550100'])).status).toBe(429)
    writeSettings()
    expect(await reload()).toMatchObject({ code: 0 })
    expect((await scrub(['2125550100'])).status).toBe(200)
  })

  test('of subjects is known to the next import of attempts', async () => {
    const attempt = { number: '2125550100', channel: 'call', subject: 'solar' }
    const send = async (ref: string) => {
      const attempts = [{ ...attempt, at: new Date().toISOString(), ref }]
      const response = await fetch(`${server.url}/v1/attempts`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', loginId: server.keys.sandbox },
        body: JSON.stringify({ attempts }),
      })
      return response.status
    }
    expect(await send('a')).toBe(400)
    writeSettings({ gate: { subjects: [{ subjects: ['solar'] }] } })
    expect(await reload()).toMatchObject({ code: 0 })
    expect(await send('a')).toBe(200)
    writeSettings()
    expect(await reload()).toMatchObject({ code: 0 })
    expect(await send('b')).toBe(400)
  })

  test('of the age of lists applies to those in use and to those imported later', async () => {
    const findVerdict = async () => {
      const response = await fetch(`${server.url}/v1/decisions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', loginId: server.keys.main },
        body: JSON.stringify({ number: '2127361000', callKind: 'manual' }),
      })
      const { findings } = (await response.json()) as Answer
      return findings.find(({ check }) => check === 'litigator')?.verdict
    }
    const importLitigators = async (asOf: string) => {
      const file = join(folder, 'litigators.txt')
      writeFileSync(file, '2125551234\n')
      const { code, err } = await callgate(
        ['import', 'litigators', file, '--as-of', asOf],
        environment,
      )
      expect([code, code === 0 ? '' : err]).toEqual([0, ''])
    }
    await importLitigators('2026-01-01')
    await until('the list is used', async () => (await findVerdict()) === 'pass')
    writeSettings({ lists: { maxAgeDays: { litigators: 5 } } })
    expect(await reload()).toMatchObject({ code: 0 })
    expect(await findVerdict()).toBe('unknown')
    await importLitigators(new Date().toISOString().slice(0, 10))
    await until('a newer list is used', async () => (await findVerdict()) === 'pass')
  })

  test('of the sandbox file changes its facts', async () => {
    const { lines, ...rest } = parse(readFileSync('config/sandbox.yaml', 'utf8'))
    lines['0100'].litigator = true
    writeFileSync(sandboxFile, stringify({ ...rest, lines }))
    const { out } = await reload()
    expect(out).toContain('lines.0100.litigator: false -> true')
    expect(await ask()).toMatchObject({ decision: 'block', reason: 'litigator' })
  })
})

function scrub(numbers: readonly string[]): Promise<Response> {
  return fetch(`${server.url}/app/main/rpc/scrub`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', loginId: server.keys.sandbox },
    body: JSON.stringify({ phoneList: numbers.join(','), version: '8', output: 'json' }),
  })
}

test('a scrub of 10,000 that runs during a reload is complete, and the next one is by the new rules', async () => {
  const numbers = Array.from(
    { length: 10_000 },
    (_, index) => `212555${String(100 + (index % 20)).padStart(4, '0')}`,
  )
  const windows = async (response: Response) => {
    expect(response.status).toBe(200)
    const rows = (await response.json()) as readonly { readonly CallingWindow: string }[]
    return { count: rows.length, of: new Set(rows.map((row) => row.CallingWindow)) }
  }
  const before = await windows(await scrub(numbers))
  const running = Promise.all([scrub(numbers), scrub(numbers)])
  closeNewYork()
  expect(await reload()).toMatchObject({ code: 0 })
  for (const response of await running) expect((await windows(response)).count).toBe(10_000)
  const after = await windows(await scrub(numbers))
  expect([before.count, after.count]).toEqual([10_000, 10_000])
  expect([...after.of].sort()).not.toEqual([...before.of].sort())
})

test('callgate reload without a server says so', async () => {
  const dataDir = join(folder, 'none')
  const { code, err } = await callgate(['reload'], { CALLGATE_DATA_DIR: dataDir })
  expect([code, err]).toEqual([
    1,
    expect.stringContaining(`no server is running on the data folder ${dataDir}`),
  ])
})

test('callgate config check of valid files needs no data folder and makes none', async () => {
  const { code, out } = await callgate(['config', 'check', settingsFile], {})
  expect([code, out]).toEqual([0, expect.stringMatching(/^valid: /)])
})
