/**
 * Decisions over PostgreSQL beside those over SQLite, of one server and of three; how fast an opt-out reaches the others; and
 * what it costs to take a part of a limit that servers share.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { takeShared } from '../src/storage/cluster/shared-limits.js'
import { openDatabase } from '../src/storage/engine.js'
import { migrateSchema } from '../src/storage/migrate.js'
import type { OpenDatabase, StorageSettings } from '../src/storage/open-database.js'
import { decisionsOf } from './http.js'
import { type Load, latenciesOf, quantileOf, startLoad } from './load.js'
import { compare, figure, printTable } from './rounds.js'
import { type Serving, serveCallgate } from './serving.js'

const servers = 3
const connections = 33

interface Contender {
  readonly name: string
  readonly servings: readonly Serving[]
}

export async function benchCluster({ small }: { readonly small: boolean }): Promise<void> {
  const postgres = spawn(process.execPath, [join(import.meta.dirname, '../scripts/postgres.mjs')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const loads = Array.from({ length: servers }, startLoad)
  const started: Serving[] = []
  const start = async (environment: Readonly<Record<string, string>>, sandboxKey?: string) => {
    const all = { CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z', ...environment }
    const serving = await serveCallgate(all, sandboxKey === undefined ? {} : { sandboxKey })
    started.push(serving)
    return serving
  }
  try {
    const address = await readAddress(postgres)
    const postgresOf = async (database: string) => {
      await createDatabase(address, database)
      return {
        CALLGATE_STORAGE_ENGINE: 'postgres',
        CALLGATE_STORAGE_URL: `${address}/${database}`,
        CALLGATE_STORAGE_TLS: 'false',
      }
    }
    await createDatabase(address, 'limits')
    await measureSharedLimits(`${address}/limits`, small)
    for (const [title, aim, settings] of [
      ['answers cached', 0.9, {}],
      ['answers not cached', 0.5, { CALLGATE_GATE_CACHE_MAX_ENTRIES: '0' }],
    ] as const) {
      const name = title.replaceAll(' ', '_')
      const shared = { ...(await postgresOf(`shared_${name}`)), ...settings }
      const first = await start(shared)
      const others = [await start(shared, first.sandboxKey), await start(shared, first.sandboxKey)]
      const contenders: readonly Contender[] = [
        { name: 'SQLite, one server', servings: [await start(settings)] },
        {
          name: 'PostgreSQL, one server',
          servings: [await start({ ...(await postgresOf(`alone_${name}`)), ...settings })],
        },
        { name: 'PostgreSQL, three servers together', servings: [first, ...others] },
      ]
      await measure({ title, aim, small }, contenders, loads)
      if (title === 'answers cached') await measureOptOuts([first, ...others], small ? 30 : 300)
      for (const serving of started.splice(0)) await serving.end()
    }
  } finally {
    for (const serving of started) await serving.end()
    for (const load of loads) load.end()
    postgres.stdin?.end()
    await once(postgres, 'exit')
  }
}

export async function readAddress({ stdout }: ChildProcess): Promise<string> {
  const [line] = (await once(stdout as NonNullable<typeof stdout>, 'data')) as [Buffer]
  return line.toString().trim()
}

export async function createDatabase(address: string, name: string): Promise<void> {
  const client = new pg.Client(`${address}/postgres`)
  await client.connect()
  await client.query(`create database ${name}`)
  await client.end()
}

async function measure(
  { title, aim, small }: { readonly title: string; readonly aim: number; readonly small: boolean },
  contenders: readonly Contender[],
  loads: readonly Load[],
): Promise<void> {
  const withheld = new Map<string, number>()
  const lags = new Map<string, Lag[]>()
  const run = async ({ name, servings }: Contender) => {
    const results = await Promise.all(
      servings.map(({ url, sandboxKey }, index) => {
        const order = decisionsOf(url, sandboxKey, '"decision":"allow"')
        const atOnce = Math.floor(connections / servings.length)
        const run = { ...order, connections: atOnce, seconds: small ? 1 : 3 }
        return (loads[index] as Load).run(run)
      }),
    )
    const wrong = results.find((result) => result.wrong + result.cut > 0)
    if (wrong)
      throw new Error(`${name}: ${wrong.cut} missing, ${wrong.wrong} wrong: ${wrong.firstWrong}`)
    // Before another one has its turn, which it would slow down.
    const lag = await awaitCopies(servings)
    lags.set(name, [...(lags.get(name) ?? []), lag])
    const blocked = latenciesOf(results, 'withheld').length
    withheld.set(name, (withheld.get(name) ?? 0) + blocked)
    const share = blocked / latenciesOf(results).length
    return results.reduce((sum, { perSecond }) => sum + perSecond, 0) * (1 - share)
  }
  for (const contender of contenders) await run(contender)
  withheld.clear()
  lags.clear()
  const medians = await compare(
    `allows/s, ${title}, ${connections} connections`,
    contenders.map((contender) => ({ name: contender.name, run: () => run(contender) })),
    small ? 2 : 5,
  )
  const [sqlite = Number.NaN] = medians
  printTable(
    ['to SQLite', 'ratio', 'withheld', ''],
    contenders.map(({ name }, index) => [
      name,
      figure((medians[index] ?? Number.NaN) / sqlite),
      String(withheld.get(name) ?? 0),
      index === 1 ? `aim: at least ${aim}` : '',
    ]),
  )
  printTable(
    ['not copied to PostgreSQL when the load ends', 'records, most', 'ms to copy them, most'],
    contenders.slice(1).map(({ name }) => {
      const all = lags.get(name) ?? []
      return [
        name,
        figure(Math.max(...all.map(({ records }) => records))),
        figure(Math.max(...all.map(({ ms }) => ms))),
      ]
    }),
  )
}

interface Lag {
  /** Of all servers, when the load ended. */
  readonly records: number
  /** Until they were copied. */
  readonly ms: number
}

async function awaitCopies(servings: readonly Serving[]): Promise<Lag> {
  const endedAt = performance.now()
  const records = await readLag(servings)
  while ((await readLag(servings)) > 0) await sleep(20)
  return { records, ms: performance.now() - endedAt }
}

async function readLag(servings: readonly Serving[]): Promise<number> {
  const lags = servings.map(async ({ url }) => {
    const text = await (await fetch(`${url}/metrics`)).text()
    return Number(/^callgate_journal_projection_lag_records (\d+)$/m.exec(text)?.[1])
  })
  return (await Promise.all(lags)).reduce((sum, lag) => sum + lag, 0)
}

const takersAtOnce = 16

/** Each operation is one statement, and committed. */
async function measureSharedLimits(url: string, small: boolean): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'callgate-bench-limits-'))
  const open = async (postgres: StorageSettings['postgres']) => {
    const settings = { dataDir: folder, lockWaitMs: 1_000, blockForLockMs: 0, inThread: true }
    const storage = await openDatabase({ ...settings, postgres })
    await migrateSchema(storage)
    return storage
  }
  const engines = [
    { name: 'SQLite', storage: await open(undefined) },
    { name: 'PostgreSQL', storage: await open({ url, tls: false, maxConnections: 32 }) },
  ]
  const run = async (storage: OpenDatabase, keyOf: (taker: number, round: number) => string) => {
    const startedAt = performance.now()
    const endAt = startedAt + (small ? 500 : 2_000)
    let taken = 0
    const takeAgainAndAgain = async (taker: number) => {
      for (let round = 0; performance.now() < endAt; round += 1) {
        const limit = { key: keyOf(taker, round), limit: 1_000_000_000, expiresAt: 0 }
        taken += await takeShared(storage.db, limit, 1)
      }
    }
    await Promise.all(Array.from({ length: takersAtOnce }, (_, taker) => takeAgainAndAgain(taker)))
    return (taken / (performance.now() - startedAt)) * 1_000
  }
  try {
    for (const [what, keyOf] of [
      ['of one limit', () => 'one'],
      ['once each, of limits of their own', (taker, round) => `${taker} ${round} ${Math.random()}`],
    ] satisfies [string, (taker: number, round: number) => string][]) {
      await compare(
        `taken/s, ${what}, ${takersAtOnce} at once`,
        engines.map(({ name, storage }) => ({ name, run: () => run(storage, keyOf) })),
        small ? 2 : 5,
      )
    }
  } finally {
    for (const { storage } of engines) await storage.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** From the acknowledgement by one server until all others have blocked. */
async function measureOptOuts(servings: readonly Serving[], count: number): Promise<void> {
  const [first, ...others] = servings
  if (!first) return
  const took: number[] = []
  for (let index = 0; index < count; index += 1) {
    const number = '2125550100'
    await change(first, number, 'remove')
    for (const other of others) while ((await decide(other, number)) !== 'allow');
    await change(first, number, 'add')
    const acknowledgedAt = performance.now()
    for (const other of others) while ((await decide(other, number)) !== 'block');
    took.push(performance.now() - acknowledgedAt)
  }
  const sorted = Float64Array.from(took).sort()
  printTable(
    ['opt-out acknowledged to enforced by both others, ms', 'p50', 'p99', 'slowest', ''],
    [
      [
        `${count} opt-outs`,
        figure(quantileOf(sorted, 0.5)),
        figure(quantileOf(sorted, 0.99)),
        figure(sorted.at(-1) ?? Number.NaN),
        'aim: p99 below 250',
      ],
    ],
  )
}

async function post({ url, sandboxKey }: Serving, path: string, body: object): Promise<Response> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { loginId: sandboxKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return response
}

async function change(on: Serving, phoneList: string, actionType: string): Promise<void> {
  await (await post(on, '/app/main/rpc/pdnc', { phoneList, actionType })).text()
}

async function decide(on: Serving, number: string): Promise<unknown> {
  const response = await post(on, '/v1/decisions', { number, callKind: 'manual' })
  return ((await response.json()) as { readonly decision: unknown }).decision
}
