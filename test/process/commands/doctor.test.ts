/** `callgate doctor` beside real servers and without one: each fault, its remedy and its exit code. */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runChild } from '../../../scripts/children.mjs'
import { until } from '../../e2e/asterisk/lab/until.js'
import { findClosedAddress } from '../../support/free-port.js'
import { callgate, program, type Serving, serve, startCallgate } from '../../support/program.js'

const dayMs = 86_400_000

interface Report {
  readonly code: number
  readonly found: readonly string[]
  readonly fixes: readonly string[]
}

let folder: string
let data: string
let running: Serving | undefined
/** Nothing listens there. */
let unreachable: string

beforeEach(async () => {
  unreachable = await findClosedAddress()
  folder = mkdtempSync(join(tmpdir(), 'callgate-test-doctor-'))
  data = join(folder, 'data')
})

afterEach(async () => {
  await stop()
  rmSync(folder, { recursive: true, force: true })
})

async function start(more: Readonly<Record<string, string>> = {}): Promise<Serving> {
  running = await serve({ CALLGATE_DATA_DIR: data, ...more })
  return running
}

async function stop(): Promise<void> {
  await running?.end('SIGTERM')
  running = undefined
}

const doctor = (
  args: readonly string[],
  more: Readonly<Record<string, string>> = {},
  as: { readonly uid?: number } = {},
) => callgate(['doctor', ...args], { CALLGATE_DATA_DIR: data, ...more }, as)

async function report(more: Readonly<Record<string, string>> = {}): Promise<Report> {
  const ended = await doctor(['--json', '--url', running?.url ?? unreachable], more)
  const { exitCode, findings } = JSON.parse(ended.out) as {
    exitCode: number
    findings: { level: string; subject: string; problem: string; fix: string }[]
  }
  expect(ended.code).toBe(exitCode)
  return {
    code: ended.code,
    found: findings.map(({ level, subject, problem }) => `${level} ${subject}: ${problem}`),
    fixes: findings.map(({ fix }) => fix),
  }
}

async function importLists(ageDays = 1): Promise<void> {
  const file = join(folder, 'numbers.txt')
  writeFileSync(file, '2127360001\n')
  const asOf = new Date(Date.now() - ageDays * dayMs).toISOString().slice(0, 10)
  for (const name of ['us-dnc', 'canada-dnc', 'litigators']) {
    const covered = name === 'litigators' ? [] : ['--area-codes', 'all']
    const args = ['import', name, file, '--as-of', asOf, '--allow-older', ...covered]
    expect(await callgate(args, { CALLGATE_DATA_DIR: data })).toMatchObject({ code: 0 })
  }
}

function change(sql: string, ...values: readonly unknown[]): void {
  const database = new Sqlite(join(data, 'callgate.sqlite'))
  database.prepare(sql).run(...values)
  database.close()
}

/** Of a stopped server; returns the folder of its lists. */
async function makeListHang(): Promise<string> {
  await start()
  await stop()
  const lists = join(data, 'lists')
  mkdirSync(lists)
  // To open a pipe that nobody writes to hangs as a read from a lost mount does.
  expect(await runChild('mkfifo', [join(lists, 'us-dnc.cglist')])).toMatchObject({ code: 0 })
  return lists
}

/** Names and contents of all files; `-shm` is memory that the readers of the database share. */
const contents = () =>
  readdirSync(data, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('-shm'))
    .map(({ parentPath, name }) => [
      join(parentPath, name),
      readFileSync(join(parentPath, name), 'base64'),
    ])
    .sort()

const goingLive =
  'Going live still needs: callgate import us-dnc, callgate import canada-dnc, callgate import litigators.'

describe('callgate doctor beside a server', () => {
  it('says in one sentence what a fresh server needs to go live, as its start banner does', async () => {
    const { url, output } = await start()
    expect(output()).toContain(goingLive)
    const { code, out } = await doctor(['--url', url])
    expect(code).toBe(2)
    expect(out).toContain(
      '[NOW ] calls: every call of account main is blocked: us-dnc is not imported'.replace(
        'every call',
        'every US call',
      ),
    )
    expect(out).toContain('every call of account main is blocked: litigators is not imported')
    expect(out).toContain('-> callgate import us-dnc')
    expect(out).toContain(goingLive)
    expect(out).not.toContain('sandbox')
  })

  it('has nothing to do now for a server with its lists, and warns before a list is too old', async () => {
    await start()
    await importLists()
    expect(await report()).toEqual({ code: 0, found: [], fixes: [] })
    await importLists(28)
    const aging = await report()
    expect(aging.code).toBe(1)
    expect(aging.found[0]).toMatch(/^soon lists: .* becomes too old at /)
  })

  it('names why an account is blocked: its subscription, and lists that are too old', async () => {
    await importLists(40)
    await start()
    expect((await report()).found).toContainEqual(
      expect.stringMatching(
        /^now calls: every US call of account main is blocked: us-dnc has been too old since \S+ and is not used$/,
      ),
    )
    await importLists()
    change("update projects set ftc_status = 'expired' where account_id = 'main'")
    const { found, fixes } = await report()
    expect(found).toEqual([
      'now calls: every US call of account main is blocked: the federal subscription of every ' +
        'active project has failed or expired',
    ])
    expect(fixes).toEqual(['callgate projects ftc-validation'])
  })

  it('reports the clock, keys that expire and keys that have expired', async () => {
    await start()
    await importLists()
    change("update api_keys set expires_at = ? where account_id = 'main'", Date.now() + 3 * dayMs)
    const soon = await report()
    expect(soon.code).toBe(1)
    expect(soon.found[0]).toMatch(/^soon keys: key \S+ \(.*\) of account main expires at /)
    change("update api_keys set expires_at = ? where account_id = 'main'", Date.now() - dayMs)
    change('update change_head set newest_at = ?', Date.now() + dayMs)
    const { code, found } = await report()
    expect(code).toBe(2)
    expect(found).toContainEqual(expect.stringMatching(/^now keys: .* expired at /))
    expect(found).toContainEqual(expect.stringMatching(/^now clock: the clock shows /))
  })

  it('names the problems of each account', async () => {
    await start()
    await importLists()
    const settings = { CALLGATE_DATA_DIR: data }
    for (const args of [
      ['accounts', 'create', 'acme', '--name', 'Acme'],
      [
        'keys',
        'create',
        '--account',
        'acme',
        '--expires',
        new Date(Date.now() + dayMs).toISOString(),
      ],
    ]) {
      expect(await callgate(args, settings)).toMatchObject({ code: 0 })
    }
    change("update projects set ftc_status = 'failed' where account_id = 'main'")
    const { out } = await doctor(['--json', '--url', running?.url ?? ''])
    const { findings } = JSON.parse(out) as { findings: { subject: string; account?: string }[] }
    const ofAccounts = findings.filter(({ account }) => account !== undefined)
    expect(ofAccounts.map(({ subject, account }) => `${subject} ${account}`)).toEqual([
      'calls main',
      'keys acme',
    ])
  })

  it('reports a provider that the server has stopped to ask', async () => {
    const settings = {
      CALLGATE_SOURCE_KIND: 'remote',
      CALLGATE_SOURCE_PROVIDER_NAME: 'acme',
      CALLGATE_SOURCE_PROVIDER_BASE_URL: unreachable,
      CALLGATE_SOURCE_PROVIDER_LOGIN_ID: 'key',
      CALLGATE_SOURCE_PROVIDER_CIRCUIT_FAILURES: '1',
      CALLGATE_SOURCE_PROVIDER_CIRCUIT_OPEN_MS: '600000',
    }
    const { url, keys } = await start(settings)
    await fetch(`${url}/v1/predial?number=2125550100&kind=manual`, {
      headers: { loginId: keys.main },
    })
    const { code, found } = await report(settings)
    expect(code).toBe(2)
    expect(found).toContainEqual(expect.stringMatching(/^now source: acme is not asked for /))
  })

  it('asks the server for its Asterisk, and never waits long for one that hangs', async () => {
    const asterisk = {
      CALLGATE_ASTERISK_URL: unreachable,
      CALLGATE_ASTERISK_USERNAME: 'a',
      CALLGATE_ASTERISK_PASSWORD: 'b',
    }
    await start(asterisk)
    expect((await report(asterisk)).found).toContainEqual(
      expect.stringMatching(/^now asterisk.*: /),
    )
    await stop()
    const silent = createServer(() => undefined).listen(0, '127.0.0.1')
    await new Promise((resolve) => silent.once('listening', resolve))
    try {
      const address = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
      const ended = await doctor(['--url', address], {
        ...asterisk,
        CALLGATE_ASTERISK_URL: address,
      })
      expect(ended.code).toBe(2)
      expect(ended.out).toContain(`server: no callgate answers at ${address}`)
      expect(ended.out).toContain(`asterisk: ${address} cannot be reached`)
    } finally {
      silent.closeAllConnections()
      silent.close()
    }
  })
})

describe('callgate doctor without a server', () => {
  it('creates nothing where the data folder is missing', async () => {
    const { code, found } = await report()
    expect(code).toBe(2)
    expect(found).toContain(`now disk: dataDir '${data}' does not exist`)
    expect(found.join('\n')).toContain('every US call of account main is blocked')
    expect(readdirSync(folder)).toEqual([])
  })

  it('reads a stopped server’s data and changes nothing', async () => {
    await start()
    await stop()
    const before = contents()
    const { found } = await report()
    expect(found[0]).toContain(`now server: no callgate answers at ${unreachable}`)
    expect(found.join('\n')).toContain('us-dnc is not imported')
    expect(contents()).toEqual(before)
  })

  it('says what to do when its own temporary folder is missing', async () => {
    await start()
    await stop()
    const { code, found, fixes } = await report({ TMPDIR: join(folder, 'missing') })
    expect(code).toBe(2)
    expect(found.join('\n')).toContain(
      'the data cannot be checked without a temporary folder: ENOENT',
    )
    expect(fixes).toContain(`free space in ${join(folder, 'missing')}, or set TMPDIR`)
  })

  it('lists all problems of wrong settings', async () => {
    const { code, found } = await report({
      CALLGATE_HTTP_PORT: 'many',
      CALLGATE_GATE_FOO: '1',
    })
    expect(code).toBe(2)
    expect(found.filter((line) => line.startsWith('now settings: '))).toHaveLength(2)
  })

  it('reports a provider that cannot be reached, and a key sent without TLS', async () => {
    const { found } = await report({
      CALLGATE_SOURCE_KIND: 'remote',
      CALLGATE_SOURCE_PROVIDER_BASE_URL: unreachable,
      CALLGATE_SOURCE_PROVIDER_LOGIN_ID: 'key',
    })
    expect(found).toContainEqual(
      expect.stringContaining(`now source: ${unreachable} cannot be reached`),
    )
  })

  it('reports files of other users’ reach, and a folder that cannot be written', async () => {
    await start()
    await stop()
    chmodSync(join(data, 'callgate.sqlite'), 0o644)
    const { found, fixes } = await report()
    expect(found.join('\n')).toContain('soon files: other users can read or write')
    expect(fixes).toContain(`chmod -R go= '${data}'`)
    chmodSync(folder, 0o755)
    chmodSync(data, 0o555)
    const ended = await doctor(['--url', unreachable], {}, { uid: 65_534 })
    expect(ended.code).toBe(2)
    expect(ended.out).toContain(`disk: dataDir '${data}': ${data}: cannot be written: EACCES`)
  })

  it.each([
    ['ro', 2, /\[NOW \] disk: dataDir '.*': .*: cannot be written: EROFS/],
    ['size=400m', 2, /\[NOW \] disk: dataDir '.*': 0\.4 GB are free/],
    ['size=4g', 2, /\[SOON\] disk: dataDir '.*': 4\.3 GB are free/],
  ])('reports what is wrong with a mount: %s', async (options, code, expected) => {
    mkdirSync(data)
    const mounted = 'mount -t tmpfs -o "$1" none "$2" && shift 2 && exec "$@"'
    const command = [process.execPath, program, 'doctor', '--url', unreachable]
    const ended = await runChild(
      'unshare',
      ['-m', 'sh', '-c', mounted, 'sh', options, data, ...command],
      {
        env: { ...process.env, CALLGATE_DATA_DIR: data },
      },
    )
    expect(ended.out).toMatch(expected)
    expect(ended.code).toBe(code)
  })

  it('says what does not answer on a disk that hangs, and ends', async () => {
    const lists = await makeListHang()
    const ended = await doctor(['--url', unreachable, '--timeout', '3s'])
    expect(ended.code).toBe(2)
    expect(ended.out).toContain(`[NOW ] data: no answer within 3 s: the files in ${lists} and `)
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('callgate-doctor-'))).toEqual([])
  })

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'leaves no copy of the database at %s',
    async (signal) => {
      await makeListHang()
      const temporary = join(folder, 'temporary')
      mkdirSync(temporary)
      const environment = { CALLGATE_DATA_DIR: data, TMPDIR: temporary }
      const checking = startCallgate(['doctor', '--url', unreachable], environment)
      await until('the probes run', () => readdirSync(temporary).length > 0)
      expect(await checking.end(signal)).toBe(signal)
      expect(readdirSync(temporary)).toEqual([])
    },
  )

  it('requires the address of a server whose port is not known, and times that are times', async () => {
    const { code, out, err } = await doctor([], { CALLGATE_HTTP_PORT: '0' })
    expect([code, out]).toEqual([2, ''])
    expect(err).toBe(
      'callgate: --url is missing: http.port is 0, so the server has another port after each start; ' +
        'give the address that it printed\n',
    )
    for (const time of ['0s', '2', '61m', '99999m']) {
      const wrong = await doctor(['--url', unreachable, '--timeout', time])
      expect(wrong).toMatchObject({ code: 2, out: '' })
      expect(wrong.err).toContain(
        `--timeout '${time}': must be a time such as 30s or 5m, at most 60m`,
      )
    }
  })

  it('reports a damaged database', async () => {
    await start()
    await stop()
    writeFileSync(join(data, 'callgate.sqlite'), 'not a database')
    expect((await report()).found).toContainEqual(expect.stringMatching(/^now database: /))
  })
})
