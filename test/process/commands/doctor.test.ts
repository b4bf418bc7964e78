/** `callgate doctor` beside real servers and without one: each fault, its remedy and its exit code. */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { callgate, type Serving, serve } from '../../support/program.js'

const dayMs = 86_400_000
const unreachable = 'http://127.0.0.1:9'

interface Report {
  readonly code: number
  readonly found: readonly string[]
  readonly fixes: readonly string[]
}

let folder: string
let data: string
let running: Serving | undefined

beforeEach(() => {
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

/** Names and contents of all files. */
const contents = () =>
  readdirSync(data, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
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
    expect(aging.found[0]).toMatch(/^soon lists: .* will be too old from /)
  })

  it('names why an account is blocked: its subscription, and lists that are too old', async () => {
    await importLists(40)
    await start()
    expect((await report()).found).toContainEqual(
      expect.stringMatching(
        /^now calls: every US call of account main is blocked: us-dnc is too old/,
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
      CALLGATE_SOURCE_PROVIDER_BASE_URL: 'http://127.0.0.1:9',
      CALLGATE_SOURCE_PROVIDER_LOGIN_ID: 'key',
    })
    expect(found).toContainEqual(
      expect.stringContaining('now source: http://127.0.0.1:9 cannot be reached'),
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
    expect(ended.out).toContain(`disk: dataDir '${data}' cannot be written`)
  })

  it('reports a damaged database', async () => {
    await start()
    await stop()
    writeFileSync(join(data, 'callgate.sqlite'), 'not a database')
    expect((await report()).found).toContainEqual(expect.stringMatching(/^now database: /))
  })
})
