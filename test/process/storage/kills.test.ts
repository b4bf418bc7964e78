/**
 * A server that is killed under mixed load, again and again over one data folder, and sometimes while it starts. After each start,
 * rows and records are compared with what was acknowledged. `CALLGATE_TEST_KILLS=1000` kills as often over SQLite, and a fifth of
 * that over PostgreSQL.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import Sqlite from 'better-sqlite3'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { verifyJournal } from '../../../src/evidence/verify/verify-journal.js'
import { DecisionIndex } from '../../../src/gate/journal/decision-index.js'
import { readRecord } from '../../../src/gate/record/read-record.js'
import { until } from '../../e2e/asterisk/lab/until.js'
import { KillLoad, killSettings } from '../../support/kill-load.js'
import { shortOrLong } from '../../support/long.js'
import { randomFrom } from '../../support/opt-out-checker.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { type Serving, serve, startCallgate } from '../../support/program.js'
import { readStoredDecisions } from '../../support/stored-decisions.js'

const asked = process.env.CALLGATE_TEST_KILLS
const killsOverSqlite = Number(asked ?? shortOrLong(15, 100))
const killsOverPostgres = asked ? Math.ceil(Number(asked) / 5) : shortOrLong(5, 20)
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)

let dataDir: string
let serving: Serving | undefined
let postgres: PostgresServer | undefined

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-kills-'))
})

afterEach(async () => {
  await serving?.end('SIGKILL')
  await postgres?.end()
  postgres = undefined
  rmSync(dataDir, { recursive: true, force: true })
})

/** For hours beside other work. */
const patient = { withinMs: 600_000, everyMs: 2 }

type Query = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>

async function killAgainAndAgain(
  kills: number,
  storage: Readonly<Record<string, string>>,
  query: Query,
): Promise<KillLoad> {
  const environment = { CALLGATE_DATA_DIR: dataDir, ...killSettings, ...storage }
  const random = randomFrom(seed)
  const load = new KillLoad({ dataDir, query }, random)
  for (let kill = 0; kill < kills; kill += 1) {
    if (kill % 5 === 4) {
      const starting = startCallgate(['serve'], { ...environment, CALLGATE_HTTP_PORT: '0' })
      await pause(random() * 2_000)
      await starting.end('SIGKILL')
      continue
    }
    serving = await serve(environment)
    await load.judge()
    expect(load.faults, `seed ${seed}, before kill ${kill + 1}`).toEqual([])
    const running = load.run(serving)
    const enough = load.total + 5 + random() * 200
    await until('some answers have come', () => load.total >= enough, patient)
    expect(await serving.end('SIGKILL')).toBe('SIGKILL')
    await running
    if (kill % 20 === 0)
      process.stdout.write(`kill ${kill + 1}: ${JSON.stringify(load.acknowledged)}\n`)
  }
  serving = await serve(environment)
  await load.judge()
  expect(load.faults, `seed ${seed}`).toEqual([])
  await until('the index has all records', async () => {
    const metrics = await (await fetch(`${serving?.url}/metrics`)).text()
    return /^callgate_journal_index_lag_records 0$/m.test(metrics)
  })
  return load
}

async function judgeAtTheEnd(load: KillLoad, kills: number): Promise<void> {
  expect(await serving?.end('SIGTERM')).toBe(0)
  const index = new DecisionIndex(join(dataDir, 'index.sqlite'), join(dataDir, 'journal'))
  const differing: string[] = []
  let records = 0
  for (const { kind, seq, body } of load.readRecords(1)) {
    records += 1
    expect(seq).toBe(records)
    if (kind !== 'decision' && kind !== 'amendment') continue
    const document = readRecord(kind, { seq, body })
    if (load.recorded.get(document.id) !== seq) continue
    if (!isDeepStrictEqual(index.find(document.id)?.document, document)) differing.push(document.id)
  }
  index.close()
  expect(differing, 'not in the index as on record').toEqual([])
  const { findings } = verifyJournal({ folder: join(dataDir, 'journal'), now: Date.now() })
  expect(findings.filter(({ level }) => level === 'false')).toEqual([])
  const counts = JSON.stringify(load.acknowledged)
  process.stdout.write(
    `${kills} kills, seed ${seed}: ${records} records, ${counts}, none missing\n`,
  )
}

it(
  `loses nothing and allows nothing wrong in ${killsOverSqlite} kills over SQLite`,
  async () => {
    const load = await killAgainAndAgain(killsOverSqlite, {}, async (sql) => {
      const database = new Sqlite(join(dataDir, 'callgate.sqlite'), { readonly: true })
      try {
        return database.prepare<[], Record<string, unknown>>(sql).all()
      } finally {
        database.close()
      }
    })
    await judgeAtTheEnd(load, killsOverSqlite)
  },
  120_000 + killsOverSqlite * 20_000,
)

it(
  `loses nothing and allows nothing wrong in ${killsOverPostgres} kills over PostgreSQL`,
  async () => {
    const server = await startPostgres()
    postgres = server
    await server.query('create database callgate_kills', 'postgres')
    const query: Query = (sql) => server.query(sql, 'callgate_kills')
    const storage = {
      CALLGATE_STORAGE_ENGINE: 'postgres',
      CALLGATE_STORAGE_URL: `${server.address}/callgate_kills`,
      CALLGATE_STORAGE_TLS: 'false',
    }
    const load = await killAgainAndAgain(killsOverPostgres, storage, query)
    // One that was amended is there again, in a later block.
    await until('all decisions are copied', async () => {
      const ids = (await readStoredDecisions(query)).map(({ id }) => id)
      return isDeepStrictEqual(new Set(ids), new Set(load.recorded.keys()))
    })
    await judgeAtTheEnd(load, killsOverPostgres)
  },
  120_000 + killsOverPostgres * 20_000,
)
