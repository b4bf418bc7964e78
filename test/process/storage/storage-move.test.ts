/** `callgate storage move`: everything is there afterwards, or nothing is. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { callgate, type Serving, serve } from '../../support/program.js'

let postgres: PostgresServer
let dataDir: string
let toPostgres: Readonly<Record<string, string>>
let databases = 0

const inSqlite = () => ({
  CALLGATE_DATA_DIR: dataDir,
  CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
  CALLGATE_GATE_DEADLINE_MS: '5000',
})

beforeAll(async () => {
  postgres = await startPostgres()
})

afterAll(() => postgres.end())

beforeEach(async () => {
  databases += 1
  await postgres.query(`create database moved_${databases}`, 'postgres')
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-move-test-'))
  toPostgres = {
    ...inSqlite(),
    CALLGATE_STORAGE_ENGINE: 'postgres',
    CALLGATE_STORAGE_URL: `${postgres.address}/moved_${databases}`,
    CALLGATE_STORAGE_TLS: 'false',
  }
  return () => rmSync(dataDir, { recursive: true, force: true })
})

const move = () => callgate(['storage', 'move'], toPostgres)

function post({ url, keys }: Serving, path: string, body: object): Promise<Response> {
  return fetch(`${url}${path}`, {
    method: 'POST',
    headers: { loginId: keys.sandbox, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify(body),
  })
}

async function decide(on: Serving, number: string): Promise<string> {
  const response = await post(on, '/v1/decisions', { number, callKind: 'ai' })
  const { decision, reason } = (await response.json()) as Record<string, string>
  return `${decision} ${reason}`
}

const consent = (phoneNumber: string) => ({
  keepBetterEbr: false,
  ebrList: [{ phoneNumber, type: 'P', dateOfLastContact: '2026-11-20' }],
})

it('moves accounts, keys, opt-outs and consents, and goes on numbering after them', async () => {
  const before = await serve(inSqlite())
  const many = Array.from({ length: 1_500 }, (_, index) => String(2_125_551_000 + index))
  const optOut = { phoneList: ['2125550100', ...many].join(','), actionType: 'add' }
  expect((await post(before, '/app/main/rpc/pdnc', optOut)).status).toBe(200)
  expect((await post(before, '/app/main/rpc/ebr', consent('2125550102'))).status).toBe(200)
  const refused = await move()
  expect([refused.code, refused.err]).toEqual([
    1,
    expect.stringContaining('another callgate is already serving this data folder'),
  ])
  expect(await before.end('SIGTERM')).toBe(0)

  const { code, out, err } = await move()
  expect(code, err).toBe(0)
  expect(out).toContain('internal_dnc 1501\n')
  expect(out).toContain('ebr_records 1\n')
  expect(err).toContain('every row is the same in postgres://')

  const after = await serve(toPostgres)
  expect(await decide(after, '2125550100')).toBe('block internal-dnc')
  await expect.poll(() => decide(after, '2125550102')).toBe('allow permitted')
  // Its row gets the next id and the next number of a change.
  expect((await post(after, '/app/main/rpc/ebr', consent('7185550102'))).status).toBe(200)
  await expect.poll(() => decide(after, '7185550102')).toBe('allow permitted')
  expect(await after.end('SIGTERM')).toBe(0)

  const again = await move()
  expect([again.code, again.err]).toEqual([
    1,
    expect.stringMatching(/must be empty, and table accounts has rows; nothing was stored/),
  ])
})

it('stores nothing if PostgreSQL cannot keep a value as it is', async () => {
  const before = await serve(inSqlite())
  expect(await before.end('SIGTERM')).toBe(0)
  const database = new Sqlite(join(dataDir, 'callgate.sqlite'))
  database.prepare("update accounts set name = 'a' || char(0) || 'b' where id = 'main'").run()
  database.close()
  const { code, err } = await move()
  expect([code, err]).toEqual([1, expect.stringContaining('table accounts is not the same')])
  const [row] = await postgres.query(
    'select count(*)::int as count from accounts',
    `moved_${databases}`,
  )
  expect(row?.count).toBe(0)
})

it('says which setting names the target', async () => {
  const { code, err } = await callgate(['storage', 'move'], inSqlite())
  expect([code, err]).toEqual([2, expect.stringContaining('storage.engine: is sqlite')])
})
