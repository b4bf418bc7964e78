/** What callers meet when PostgreSQL has no more connections, is locked by others, or its disk is full. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { until } from '../../e2e/asterisk/lab/until.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { type Serving, serve } from '../../support/program.js'

let folder: string
let postgres: PostgresServer
let serving: Serving
const others: pg.Client[] = []
const maxConnections = 24
/** PostgreSQL's default. */
const reservedForSuperusers = 3

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'callgate-exhausted-test-'))
})

afterEach(async () => {
  await leave()
  await serving.end('SIGTERM')
  await postgres.end()
  rmSync(folder, { recursive: true, force: true })
})

/** Without the rights of a superuser, who has connections of its own. */
async function start(settings: readonly string[], within?: string): Promise<void> {
  postgres = await startPostgres(settings, within)
  await postgres.query('create role app login', 'postgres')
  await postgres.query('create database app owner app', 'postgres')
  serving = await serve({
    CALLGATE_DATA_DIR: join(folder, 'node'),
    // How long a slow machine takes is tested elsewhere.
    CALLGATE_GATE_DEADLINE_MS: '3000',
    CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
    CALLGATE_STORAGE_ENGINE: 'postgres',
    CALLGATE_STORAGE_URL: `${postgres.address.replace('callgate@', 'app@')}/app`,
    CALLGATE_STORAGE_TLS: 'false',
  })
}

async function connectAnother(user = 'app'): Promise<pg.Client> {
  const client = new pg.Client(`${postgres.address.replace('callgate@', `${user}@`)}/app`)
  client.on('error', () => undefined)
  await client.connect()
  others.push(client)
  return client
}

async function leave(): Promise<void> {
  await Promise.all(others.splice(0).map((client) => client.end()))
}

function send(path: string, body: object) {
  return fetch(`${serving.url}${path}`, {
    method: 'POST',
    headers: {
      loginId: serving.keys.sandbox,
      'content-type': 'application/json',
      connection: 'close',
    },
    body: JSON.stringify(body),
  })
}

/** Soon after the deadline. */
async function decide(number: string): Promise<string> {
  const startedAt = performance.now()
  const response = await send('/v1/decisions', { number, callKind: 'manual' })
  const answer = (await response.json()) as { decision: string; reason: string }
  expect(performance.now() - startedAt).toBeLessThan(10_000)
  return response.ok ? `${answer.decision} ${answer.reason}` : `status ${response.status}`
}

/** A server that has just started, or lost its database, may not be current yet. */
const untilAllowed = (number: string) =>
  until(`${number} is allowed`, async () => (await decide(number)) === 'allow permitted')

const pdnc = (phoneList: string) =>
  send('/app/main/rpc/pdnc', { phoneList, actionType: 'add' }).then(
    async (response) => `${response.status} ${await response.text()}`,
  )

const readyz = async () => {
  const response = await fetch(`${serving.url}/readyz`)
  return `${response.status} ${await response.text()}`
}

it('without a free connection nothing is allowed, and it goes on when there is one', async () => {
  await start([`max_connections=${maxConnections}`])
  await untilAllowed('2125550100')
  await postgres.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'app'`,
    'postgres',
  )
  await until('the server has none of the connections', async () => {
    const fill = async () => {
      for (;;) await connectAnother()
    }
    await expect(fill()).rejects.toThrow(/remaining connection slots|too many clients/)
    const ended = await postgres.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'callgate%'`,
      'postgres',
    )
    // The query itself needs a connection, and may have held the last one when the others were opened.
    return ended.length === 0 && others.length === maxConnections - reservedForSuperusers
  })
  await until('it is not ready, and says why', async () =>
    /^503 .*(?:remaining connection slots|too many clients)/.test(await readyz()),
  )
  for (const number of ['2125550100', '2125550102']) {
    expect(await decide(number)).toMatch(/^block|^status 503/)
  }
  expect(await decide('911')).toBe('allow service-code')
  expect(await pdnc('2125550102')).toMatch(/^503 /)
  await leave()
  await until('it is ready', async () => (await readyz()).startsWith('200'))
  await untilAllowed('2125550100')
  expect(await pdnc('2125550102')).toMatch(/^200 /)
})

it('while another program has locked the opt-outs, nothing is allowed that needs them', async () => {
  await start([])
  await untilAllowed('2125550100')
  const other = await connectAnother()
  await other.query('begin')
  await other.query('lock table internal_dnc in access exclusive mode')
  const startedAt = performance.now()
  const optOuts = Array.from({ length: 30 }, (_, index) => pdnc(String(7_185_550_100 + index)))
  const calls = Array.from({ length: 10 }, (_, index) => decide(String(2_125_550_102 + index)))
  expect(await decide('911')).toBe('allow service-code')
  for (const decided of await Promise.all(calls)) expect(decided).toMatch(/^block|^status 503/)
  expect(await Promise.all(optOuts)).toEqual(optOuts.map(() => expect.stringMatching(/^503 /)))
  // They do not wait one after the other.
  expect(performance.now() - startedAt).toBeLessThan(60_000)
  await leave()
  await until('opt-outs are stored', async () => (await pdnc('7185550100')).startsWith('200'))
  await until('it is ready', async () => (await readyz()).startsWith('200'))
  await untilAllowed('2125550102')
})

const isRoot = process.getuid?.() === 0
it.skipIf(!isRoot)(
  'opt-outs for which the disk has no room are refused, and stored when it has (root mounts the disk)',
  async () => {
    const disk = join(folder, 'disk')
    mkdirSync(disk)
    execFileSync('sh', ['-c', 'mount -t tmpfs -o size=160m tmpfs "$1"', 'sh', disk])
    try {
      for (const path of [folder, disk]) chmodSync(path, 0o755)
      await start(['min_wal_size=32MB', 'max_wal_size=64MB'], disk)
      await untilAllowed('2125550100')
      const filler = join(disk, 'filler')
      try {
        writeFileSync(filler, Buffer.alloc(200_000_000))
      } catch (cause) {
        expect(String(cause)).toContain('ENOSPC')
      }
      const numbers = Array.from({ length: 10_000 }, (_, index) => String(7_185_550_100 + index))
      const refused = await pdnc(numbers.join(','))
      expect(refused).toMatch(/^503 .*Nothing was stored, since the disk is full/)
      expect(await decide('2125550100')).toMatch(/^allow permitted|^block/)
      rmSync(filler)
      await until('it is stored', async () => (await pdnc(numbers.join(','))).startsWith('200'))
      expect(await decide('7185550100')).toBe('block internal-dnc')
      await serving.end('SIGTERM')
      await postgres.end()
    } finally {
      execFileSync('sh', ['-c', 'umount -l "$1"', 'sh', disk])
    }
  },
)
