/** `callgate doctor` beside real servers and without one: each fault, its remedy and its exit code. */
import {
  chmodSync,
  cpSync,
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
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runChild } from '../../../scripts/children.mjs'
import { importList } from '../../../src/data/number-list/import/list-import.js'
import { nodeRuntime } from '../../../src/runtime/runtime.js'
import { until } from '../../e2e/asterisk/lab/until.js'
import { findClosedAddress } from '../../support/free-port.js'
import { callgate, program, type Serving, serve, startCallgate } from '../../support/program.js'

const dayMs = 86_400_000

interface Report {
  readonly code: number
  readonly found: readonly string[]
  readonly fixes: readonly string[]
}

/** Of all tests. */
let root: string
/** A data folder of a server that has been stopped; to be copied. */
let stopped: string
/** Of a test or a group of them. */
let folder: string
let data: string
let running: Serving | undefined
/** Nothing listens there. */
let unreachable: string

beforeAll(async () => {
  unreachable = await findClosedAddress()
  root = mkdtempSync(join(tmpdir(), 'callgate-test-doctor-'))
  chmodSync(root, 0o755)
  stopped = join(root, 'stopped')
  const serving = await serve({ CALLGATE_DATA_DIR: stopped })
  await serving.end('SIGTERM')
})

afterAll(() => rmSync(root, { recursive: true, force: true }))

function useFolder(): void {
  folder = mkdtempSync(join(root, 'test-'))
  data = join(folder, 'data')
}

const copyStopped = () => cpSync(stopped, data, { recursive: true, preserveTimestamps: true })

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
  const { exitCode, findings: all } = JSON.parse(ended.out) as {
    exitCode: number
    findings: { level: string; subject: string; problem: string; fix: string }[]
  }
  expect(ended.code).toBe(exitCode)
  // Nothing about reassigned numbers is imported here, and nobody keeps the heads of the journal.
  const findings = all.filter(({ subject }) => subject !== 'reassigned' && subject !== 'witnesses')
  return {
    code: ended.code,
    found: findings.map(({ level, subject, problem }) => `${level} ${subject}: ${problem}`),
    fixes: findings.map(({ fix }) => fix),
  }
}

async function importLists(ageDays = 1): Promise<void> {
  const file = join(folder, 'numbers.txt')
  writeFileSync(file, '2127360001\n')
  const asOf = Math.floor(Date.now() / dayMs - ageDays) * dayMs
  const options = { files: [file], folder: join(data, 'lists'), asOf, allowOlder: true }
  // As the program: its files are for its user alone.
  const umask = process.umask(0o077)
  for (const name of ['us-dnc', 'canada-dnc', 'litigators']) {
    await importList({ name, ...options, areaCodes: 'all', clock: nodeRuntime.clock })
  }
  process.umask(umask)
}

function change(sql: string, ...values: readonly unknown[]): void {
  const database = new Sqlite(join(data, 'callgate.sqlite'))
  database.prepare(sql).run(...values)
  database.close()
}

/** In a copy of the stopped one; returns the folder of its lists. */
async function makeListHang(): Promise<string> {
  copyStopped()
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
  beforeAll(async () => {
    useFolder()
    await start()
  })

  afterAll(stop)

  it('says in one sentence what a fresh server needs to go live, as its start banner does', async () => {
    expect(running?.output()).toContain(goingLive)
    const { code, out } = await doctor(['--url', running?.url ?? ''])
    expect(code).toBe(2)
    expect(out).toContain(
      '[NOW ] calls: every US call of account main is blocked: us-dnc is not imported',
    )
    expect(out).toContain('every call of account main is blocked: litigators is not imported')
    expect(out).toContain('-> callgate import us-dnc')
    expect(out).toContain(goingLive)
    expect(out).not.toContain('sandbox')
  })

  it('names why an account is blocked: lists that are too old', async () => {
    await importLists(40)
    expect((await report()).found).toContainEqual(
      expect.stringMatching(
        /^now calls: every US call of account main is blocked: us-dnc has been too old since \S+ and is not used$/,
      ),
    )
  })

  it('has nothing to do now for a server with its lists, and warns before a list is too old', async () => {
    await importLists()
    // A server may take a moment to use its lists.
    await expect.poll(() => report()).toEqual({ code: 0, found: [], fixes: [] })
    await importLists(28)
    const aging = await report()
    expect(aging.code).toBe(1)
    expect(aging.found[0]).toMatch(/^soon lists: .* becomes too old at /)
    await importLists()
  })

  it('names why an account is blocked: its subscription', async () => {
    change("update projects set ftc_status = 'expired' where account_id = 'main'")
    const { found, fixes } = await report()
    expect(found).toEqual([
      'now calls: every US call of account main is blocked: the federal subscription of every ' +
        'active project has failed or expired',
    ])
    expect(fixes).toEqual(['callgate projects ftc-validation'])
  })

  it('names the problems of each account', async () => {
    const settings = { CALLGATE_DATA_DIR: data }
    const expires = new Date(Date.now() + dayMs).toISOString()
    for (const args of [
      ['accounts', 'create', 'acme', '--name', 'Acme'],
      ['lists', 'share', 'all', '--with', 'acme', '--because', 'contract'],
      ['keys', 'create', '--account', 'acme', '--expires', expires],
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
    change("update projects set ftc_status = 'active' where account_id = 'main'")
    change("update api_keys set expires_at = null where account_id = 'acme'")
  })

  it('reports the clock, keys that expire and keys that have expired', async () => {
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
})

describe('callgate doctor beside a server that asks others', () => {
  const asterisk = (address: string) => ({
    CALLGATE_ASTERISK_URL: address,
    CALLGATE_ASTERISK_USERNAME: 'a',
    CALLGATE_ASTERISK_PASSWORD: 'b',
  })

  beforeEach(useFolder)
  afterEach(stop)

  it('reports a provider that the server has stopped to ask, and what it says of its Asterisk', async () => {
    const settings = {
      ...asterisk(unreachable),
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
    expect(found).toContainEqual(expect.stringMatching(/^now asterisk.*: /))
  })

  it('never waits long for a server or an Asterisk that hangs', async () => {
    copyStopped()
    const silent = createServer(() => undefined).listen(0, '127.0.0.1')
    await new Promise((resolve) => silent.once('listening', resolve))
    try {
      const address = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
      const ended = await doctor(['--url', address], asterisk(address))
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
  beforeEach(useFolder)

  it('creates nothing where the data folder is missing', async () => {
    const { code, found } = await report()
    expect(code).toBe(2)
    expect(found).toContain(`now disk: dataDir '${data}' does not exist`)
    expect(found.join('\n')).toContain('every US call of account main is blocked')
    expect(readdirSync(folder)).toEqual([])
  })

  it('reads a stopped server’s data and changes nothing', async () => {
    copyStopped()
    const before = contents()
    const { found } = await report()
    expect(found[0]).toContain(`now server: no callgate answers at ${unreachable}`)
    expect(found.join('\n')).toContain('us-dnc is not imported')
    expect(contents()).toEqual(before)
  })

  it('says what to do when its own temporary folder is missing', async () => {
    copyStopped()
    const { code, found, fixes } = await report({ TMPDIR: join(folder, 'missing') })
    expect(code).toBe(2)
    expect(found.join('\n')).toContain(
      'the data cannot be checked without a temporary folder: ENOENT',
    )
    expect(fixes).toContain(`free space in ${join(folder, 'missing')}, or set TMPDIR`)
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
    copyStopped()
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
    ['size=400m', 2, /\[NOW \] disk: the disk of data \(.*\): 0\.4 GB are free/],
    ['size=4g', 2, /\[SOON\] disk: the disk of data \(.*\): 4\.3 GB are free/],
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
    const temporary = join(folder, 'temporary')
    mkdirSync(temporary)
    const ended = await doctor(['--url', unreachable, '--timeout', '3s'], { TMPDIR: temporary })
    expect(ended.code).toBe(2)
    expect(ended.out).toContain(`[NOW ] data: no answer within 3 s: the files in ${lists} and `)
    expect(readdirSync(temporary)).toEqual([])
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

  it('reports a damaged database', async () => {
    copyStopped()
    writeFileSync(join(data, 'callgate.sqlite'), 'not a database')
    // The server may have left a write-ahead log with every page, from which SQLite would read them.
    rmSync(join(data, 'callgate.sqlite-wal'), { force: true })
    expect((await report()).found).toContainEqual(expect.stringMatching(/^now database: /))
  })
})
