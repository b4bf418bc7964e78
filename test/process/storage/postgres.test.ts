/** A server over PostgreSQL, and what its callers meet when PostgreSQL stops, pauses or comes back. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { until } from '../../e2e/asterisk/lab/until.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { callgate, type Serving, serve } from '../../support/program.js'

let postgres: PostgresServer
let server: string
let dataDir: string
let serving: Serving
let databases = 0
let database: string

beforeAll(async () => {
  postgres = await startPostgres()
  server = postgres.address
})

afterAll(() => postgres.end())

const query = (sql: string, name = 'postgres') => postgres.query(sql, name)

const environment = (folder = dataDir) => ({
  CALLGATE_DATA_DIR: folder,
  CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
  // How long a slow machine takes is tested elsewhere.
  CALLGATE_GATE_DEADLINE_MS: '5000',
  CALLGATE_CLUSTER_MAX_STALENESS_MS: '1000',
  CALLGATE_STORAGE_ENGINE: 'postgres',
  CALLGATE_STORAGE_URL: `${server}/${database}`,
  CALLGATE_STORAGE_TLS: 'false',
})

beforeEach(async () => {
  databases += 1
  database = `callgate_${databases}`
  await query(`create database ${database}`)
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-postgres-test-'))
  serving = await serve(environment())
})

afterEach(() => {
  rmSync(dataDir, { recursive: true, force: true })
})

function send(path: string, body?: object) {
  return fetch(`${serving.url}${path}`, {
    headers: {
      loginId: serving.keys.sandbox,
      'content-type': 'application/json',
      connection: 'close',
    },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })
}

async function decide(number: string): Promise<string> {
  const response = await send('/v1/decisions', { number, callKind: 'manual' })
  if (!response.ok) return `status ${response.status}`
  const { decision, reason } = (await response.json()) as { decision: string; reason: string }
  return `${decision} ${reason}`
}

const numbers = Array.from({ length: 1_000 }, (_, index) => String(2_125_550_000 + index * 7))
const pdnc = (phoneList: string) =>
  send('/app/main/rpc/pdnc', { phoneList, actionType: 'add' }).then(({ status }) => status)

it('keeps opt-outs, short and long, over a restart, and has no database in its folder', async () => {
  await expect.poll(() => decide('2125550100')).toBe('allow permitted')
  expect(await pdnc('2125550100')).toBe(200)
  expect(await decide('2125550100')).toBe('block internal-dnc')
  expect(await pdnc(numbers.join(','))).toBe(200)
  expect(await decide(numbers[500] ?? '')).toBe('block internal-dnc')
  expect(await serving.end('SIGTERM')).toBe(0)
  const [row] = await query('select count(*)::int as count from internal_dnc', database)
  expect(row?.count).toBe(new Set([...numbers, '2125550100']).size)
  const { keys } = serving
  serving = { ...(await serve(environment())), keys }
  expect(await decide('2125550100')).toBe('block internal-dnc')
  expect(await serving.end('SIGTERM')).toBe(0)
})

it('takes up what a command has written', async () => {
  const other = mkdtempSync(join(tmpdir(), 'callgate-postgres-test-'))
  try {
    await expect.poll(() => decide('2125550106')).toMatch(/^allow/)
    const file = join(other, 'opt-outs.csv')
    writeFileSync(file, 'number,date\n2125550106,2026-11-20\n')
    const command = ['records', 'import', 'opt-outs', file, '--account', 'sandbox']
    const { code, err, out } = await callgate(command, environment(other))
    expect(code, err + out).toBe(0)
    await until('the opt-out holds', async () => (await decide('2125550106')).startsWith('block'))
  } finally {
    rmSync(other, { recursive: true, force: true })
  }
  expect(await serving.end('SIGTERM')).toBe(0)
})

it('allows nothing while PostgreSQL is paused, answers in time, and recovers by itself', async () => {
  await expect.poll(() => decide('2125550100')).toBe('allow permitted')
  postgres.signal('SIGSTOP')
  try {
    await until('allows end', async () => !(await decide('2125550100')).startsWith('allow'))
    const startedAt = performance.now()
    // Not cached, so it has to be asked for.
    expect(await decide('2125550102')).toMatch(/^(?:block|status 503)/)
    expect(performance.now() - startedAt).toBeLessThan(2_000)
    expect(await decide('911')).toBe('allow service-code')
    expect(await pdnc('2125550107')).toBe(503)
  } finally {
    postgres.signal('SIGCONT')
  }
  await until('it recovers', async () => (await decide('2125550100')) === 'allow permitted')
  expect(await serving.end('SIGTERM')).toBe(0)
})

it('ends in seconds when it is told to while PostgreSQL is paused', async () => {
  postgres.signal('SIGSTOP')
  try {
    await pause(3_000)
    const startedAt = performance.now()
    await serving.end('SIGTERM')
    // A connection that is being opened then is waited for: ten seconds.
    expect(performance.now() - startedAt).toBeLessThan(20_000)
  } finally {
    postgres.signal('SIGCONT')
  }
})

it('goes on with new connections when PostgreSQL has ended all of them', async () => {
  for (let round = 0; round < 10; round += 1) {
    await query(
      'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()',
      database,
    )
    await Promise.all([pdnc('2125550100'), decide('2125550102'), decide('2125550106')])
  }
  await until('opt-outs are stored', async () => (await pdnc('2125550100')) === 200)
  await until('the server is ready', async () => (await ready()) === 200)
  expect(await decide('2125550100')).toBe('block internal-dnc')
  expect(await serving.end('SIGTERM')).toBe(0)
})

it('has a doctor that says who could hold its locks, until the right to connect is revoked', async () => {
  expect(await serving.end('SIGTERM')).toBe(0)
  await query('create role stranger login')
  const asStranger = (sql: string) => {
    const client = new pg.Client(`${server.replace(/\/\/[^@/]*@?/, '//stranger@')}/${database}`)
    return client
      .connect()
      .then(() => client.query(sql))
      .finally(() => client.end())
  }
  const problem = `every role of PostgreSQL can connect to database ${database}, and hold the locks that servers wait for`
  const revoke = `revoke connect on database "${database}" from public;`
  const diagnose = async () => (await callgate(['doctor', '--json'], environment())).out
  await asStranger('select pg_advisory_lock(1)')
  const found = await diagnose()
  expect(found).toContain(problem)
  expect(found).toContain(JSON.stringify(revoke).slice(1, -1))
  await query(revoke)
  await expect(asStranger('select 1')).rejects.toThrow('permission denied for database')
  expect(await diagnose()).not.toContain(problem)
})

const ready = () => fetch(`${serving.url}/readyz`).then(({ status }) => status)

it('names a database that does not answer or does not exist', async () => {
  expect(await serving.end('SIGTERM')).toBe(0)
  database = 'missing'
  await expect(serve(environment())).rejects.toThrow('database "missing" does not exist')
  server = server.replace(/:\d+$/, ':1')
  await expect(serve(environment())).rejects.toThrow('postgres://127.0.0.1:1/missing')
})
