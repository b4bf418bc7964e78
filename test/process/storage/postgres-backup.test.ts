/** A backup of servers over PostgreSQL, and what they and an edge know once it is restored. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../../e2e/asterisk/lab/until.js'
import {
  type Callers,
  type Cluster,
  type ClusterNode,
  callersOf,
  database,
  openCluster,
} from '../../support/cluster.js'
import { callgate, type Ended, serve, startCallgate } from '../../support/program.js'
import { readStoredDecisions } from '../../support/stored-decisions.js'

let cluster: Cluster
let first: ClusterNode
let second: ClusterNode
let decide: Callers['decide']
let pdnc: Callers['pdnc']
let databases = 0
/** Of a test; in the folder of the cluster. */
let work: string
/** Of the first server and its database. */
let whole: string

beforeAll(async () => {
  const settings = { CALLGATE_GATE_DEADLINE_MS: '5000', CALLGATE_CLUSTER_MAX_STALENESS_MS: '1000' }
  cluster = await openCluster({ count: 2, settings, hasEdge: true })
  const [one, two] = cluster.nodes
  if (!one || !two) throw new Error('there are not two servers')
  first = one
  second = two
  ;({ decide, pdnc } = callersOf(cluster))
})

afterAll(() => cluster.close())

beforeEach(() => {
  databases += 1
  work = join(cluster.folder, `work-${databases}`)
  mkdirSync(work)
})

/** With the folder of the first server. */
const environmentOfFirst = () => ({
  ...cluster.environment,
  CALLGATE_DATA_DIR: join(cluster.folder, first.name),
})

const backUp = (target: string, ...options: readonly string[]) =>
  callgate(['backup', target, ...options], environmentOfFirst())

async function makeBackup(name: string, ...options: readonly string[]): Promise<string> {
  const target = join(work, name)
  const { code, err } = await backUp(target, ...options)
  expect(code, err).toBe(0)
  return target
}

/** Over an empty database of its own, with a folder that does not exist. */
async function prepareOther(): Promise<Readonly<Record<string, string>>> {
  const name = `restored_${databases}`
  await cluster.postgres.query(`create database ${name}`, 'postgres')
  return {
    ...cluster.environment,
    CALLGATE_DATA_DIR: join(work, 'restored'),
    CALLGATE_STORAGE_URL: `${cluster.postgres.address}/${name}`,
  }
}

const queryOther = (sql: string) => cluster.postgres.query(sql, `restored_${databases}`)
const listTables = () => queryOther(`select * from pg_tables where schemaname = 'public'`)

function expectFailure({ code, out, err }: Ended, ...texts: readonly string[]): void {
  expect({ code, out, err }).toMatchObject({ code: 1, out: '' })
  for (const text of texts) expect(err).toContain(text)
  expect(err).not.toContain('    at ')
}

const untilDecided = (on: ClusterNode, number: string, expected: string) =>
  until(`${number} is: ${expected}`, async () => (await decide(on, number)) === expected)

/** A slow server may block a call without recording it. */
async function decideWithId(on: ClusterNode, number: string): Promise<string> {
  return await until('a decision has a record', async () => {
    const response = await fetch(`${on.serving.url}/v1/decisions`, {
      method: 'POST',
      headers: { loginId: cluster.key, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ number, callKind: 'manual' }),
    })
    const { id } = (await response.json()) as { readonly id: string }
    return id !== '-' && id
  })
}

const findDecision = async ({ serving }: Pick<ClusterNode, 'serving'>, id: string) => {
  const headers = { loginId: cluster.key, connection: 'close' }
  return (await fetch(`${serving.url}/v1/decisions/${id}`, { headers })).status
}

const untilFound = (on: Pick<ClusterNode, 'serving'>, id: string) =>
  until(`${id} is found`, async () => (await findDecision(on, id)) === 200)

/** Each is stored once, by the journal of the server that made it. */
async function expectStoredOnce(ids: readonly string[]): Promise<void> {
  const stored = (await readStoredDecisions(cluster.query)).map(({ id }) => id)
  expect(stored.filter((id) => ids.includes(id))).toEqual([...ids].sort())
}

/** All servers are cut off, and try to connect again. */
async function loseDatabase(): Promise<void> {
  await cluster.postgres.query(`drop database ${database} with (force)`, 'postgres')
  await cluster.postgres.query(`create database ${database}`, 'postgres')
}

const restoreDatabase = (backup: string) =>
  callgate(['restore', backup, '--only', 'database'], cluster.environment)

const allowed = 'allow permitted'
const blocked = 'block internal-dnc'

it('brings back what was acknowledged before it began, and all servers and edges go on from there', async () => {
  const acknowledged: string[] = []
  let isDone = false
  let next = 2_125_560_000
  const write = async () => {
    while (!isDone) {
      next += 1
      const number = String(next)
      if ((await pdnc(second, number)) === 200) acknowledged.push(number)
    }
  }
  const clients = [write(), write(), write()]
  let before: readonly string[] = []
  let backup = ''
  const decided: string[] = []
  try {
    await until('there are opt-outs', () => acknowledged.length > 100, { withinMs: 60_000 })
    before = [...acknowledged]
    decided.push(await decideWithId(first, '2125550100'), await decideWithId(second, '911'))
    for (const id of decided) await untilFound(first, id)
    backup = await makeBackup('monday.tgz')
    const during = acknowledged.length
    await until('there are more', () => acknowledged.length > during + 20)
  } finally {
    isDone = true
    await Promise.all(clients)
  }

  const late = '7185550100'
  expect(await pdnc(first, late)).toBe(200)
  const [kept = ''] = before
  for (const on of cluster.nodes) {
    await untilDecided(on, kept, blocked)
    await untilDecided(on, late, blocked)
  }
  const afterBackup = [await decideWithId(first, '911'), await decideWithId(second, '911')]
  for (const id of afterBackup) await untilFound(second, id)

  await loseDatabase()
  const restored = await restoreDatabase(backup)
  expect(restored.code, restored.err).toBe(0)
  expect(restored.err).toContain('is not in the backup. Before you place calls')
  const rows = await cluster.query('select number from internal_dnc')
  const numbers = new Set(rows.map(({ number }) => number))
  expect(before.filter((number) => !numbers.has(number))).toEqual([])
  for (const on of cluster.nodes) {
    await untilDecided(on, late, blocked)
    await untilDecided(on, kept, blocked)
  }
  // Those that were lost are known to who had acknowledged them, and written again by it.
  const lost = readFileSync(join(cluster.folder, first.name, 'lost-changes.csv'), 'utf8')
  expect(lost).toContain(late)

  // A new opt-out gets the number of a change that was lost.
  expect(await pdnc(second, '7185550101')).toBe(200)
  for (const on of cluster.nodes) await untilDecided(on, '7185550101', blocked)

  const since = [await decideWithId(first, '911'), await decideWithId(second, '911')]
  const all = [...decided, ...afterBackup, ...since]
  for (const id of all) for (const on of [first, second]) await untilFound(on, id)
  await expectStoredOnce(all)
})

it('copies decisions again from the journals if the backup has none', async () => {
  const ids: string[] = []
  for (const on of cluster.nodes) ids.push(await decideWithId(on, '2125550103'))
  for (const id of ids) await untilFound(second, id)
  const backup = await makeBackup('small', '--without-decisions')
  expect(readdirSync(backup)).not.toContain('decisions.sqlite')
  await loseDatabase()
  // Of two restores at once, one finds what the other has stored.
  const restores = await Promise.all([restoreDatabase(backup), restoreDatabase(backup)])
  expect(restores.map(({ code }) => code).sort()).toEqual([0, 1])
  expect(restores.find(({ code }) => code === 1)?.err).toContain('the database must be empty')
  for (const on of cluster.nodes) await untilDecided(on, '2125550102', allowed)
  for (const id of ids) for (const on of [first, second]) await untilFound(on, id)
  await expectStoredOnce(ids)
})

it('is restored with the folder of its server, which goes on with its journal', async () => {
  const early = await makeBackup('early', '--without-decisions')
  const old = await decideWithId(first, '911')
  const ofOther = await decideWithId(second, '911')
  for (const id of [old, ofOther]) await untilFound(first, id)
  whole = await makeBackup('whole')
  const environment = await prepareOther()
  const { code, out, err } = await callgate(['restore', whole], environment)
  expect(code, err).toBe(0)
  expect(out).toMatch(/ \d+ decisions of all servers\n/)
  expect(readdirSync(environment.CALLGATE_DATA_DIR ?? '')).not.toContain('callgate.sqlite')
  const serving = await serve(environment)
  const on = { ...first, serving }
  await untilDecided(on, '2125560001', blocked)
  for (const id of [old, ofOther]) await untilFound(on, id)
  await untilStoredInOther(await decideWithId(on, '911'))
  expect(await serving.end('SIGTERM')).toBe(0)
  // Another restore finds both in use.
  const again = await callgate(['restore', whole], environment)
  expect([again.code, again.err]).toEqual([2, expect.stringContaining('needs an empty folder')])
  const elsewhere = { ...environment, CALLGATE_DATA_DIR: join(work, 'third') }
  const full = await callgate(['restore', whole], elsewhere)
  expectFailure(full, 'the database must be empty', 'name it in storage.url', '--only folder')
  expect(readdirSync(join(work, 'third'))).toEqual([])
  // The database has more of its journal than this folder.
  const folder = await callgate(['restore', early, '--only', 'folder'], elsewhere)
  expect(folder.code, folder.err).toBe(0)
  const later = await serve(elsewhere)
  const last = { ...first, serving: later }
  for (const id of [old, ofOther]) await untilFound(last, id)
  await untilStoredInOther(await decideWithId(last, '911'))
  expect(await later.end('SIGTERM')).toBe(0)
})

const untilStoredInOther = (id: string) =>
  until('it is stored', async () => {
    const stored = await readStoredDecisions(queryOther)
    return stored.some((one) => one.id === id)
  })

describe('without a server beside it', () => {
  // Idle servers need a part of the machine.
  beforeAll(async () => {
    await Promise.all(cluster.nodes.map(({ serving }) => serving.end('SIGTERM')))
  })

  it('is restored over SQLite, without the decisions of other servers', async () => {
    const environment = {
      CALLGATE_DATA_DIR: join(work, 'sqlite'),
      CALLGATE_GATE_DEADLINE_MS: '5000',
    }
    const { code, err } = await callgate(['restore', whole], environment)
    expect(code, err).toBe(0)
    expect(err).toContain('decisions of other servers in it were not restored')
    expect(readdirSync(join(work, 'sqlite'))).not.toContain('decisions.sqlite')
    const serving = await serve({ ...environment, CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z' })
    const on = { ...first, serving }
    expect(await decide(on, '2125560001')).toBe(blocked)
    expect(await decide(on, '2125550102')).toBe(allowed)
    expect(await pdnc(on, '2125550102')).toBe(200)
    expect(await decide(on, '2125550102')).toBe(blocked)
    expect(await serving.end('SIGTERM')).toBe(0)
  })

  const untilWaiting = (name: string) =>
    until('the command waits for a lock', async () => {
      const rows = await cluster.postgres.query(
        `select from pg_stat_activity where datname = '${name}' and wait_event_type = 'Lock'
        and application_name = 'callgate' and backend_type = 'client backend'`,
        'postgres',
      )
      return rows.length > 0
    })

  /** Runs `work` while a transaction that ran the statements is open. */
  async function holding<Result>(
    name: string,
    statements: string,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const client = new pg.Client(`${cluster.postgres.address}/${name}`)
    await client.connect()
    try {
      await client.query(`begin; ${statements}`)
      return await work()
    } finally {
      await client.end()
    }
  }

  it('leaves nothing that passes for a backup if it is killed, or waits too long for a lock', async () => {
    const target = join(work, 'killed')
    const lock = 'lock table erased_journals in access exclusive mode'
    await holding(database, lock, async () => {
      const running = startCallgate(['backup', target], environmentOfFirst())
      await untilWaiting(database)
      await running.end('SIGKILL')
      const [partial = ''] = readdirSync(work)
      expect(partial).toMatch(/^killed\.partial-/)
      expect(readdirSync(join(work, partial))).toContain('callgate.sqlite')
      const restored = await restoreDatabase(join(work, partial))
      expectFailure(restored, 'this is not a complete backup')
      const late = await backUp(join(work, 'late'))
      expect([late.code, late.err]).toEqual([1, expect.stringContaining('lock timeout')])
      expect(readdirSync(work)).toEqual([partial])
    })
  })

  it('that is being restored is not seen by anybody before it is complete', async () => {
    const environment = await prepareOther()
    const month = new Date().toISOString().slice(0, 7).replace('-', '_')
    // Restored after everything else.
    const conflict = `create table decision_blocks_${month} (id text)`
    await holding(`restored_${databases}`, conflict, async () => {
      const running = startCallgate(['restore', whole], environment)
      await untilWaiting(`restored_${databases}`)
      expect(await listTables()).toEqual([])
      await running.end('SIGKILL')
    })
    expect(await listTables()).toEqual([])
    await expect(serve(environment)).rejects.toThrow('a restore into this folder did not end')
    const { code, err } = await callgate(['restore', whole], environment)
    expect(code, err).toBe(0)
    expect(existsSync(join(environment.CALLGATE_DATA_DIR ?? '', '.restoring'))).toBe(false)
  })

  it('that is damaged is refused before anything is stored', async () => {
    const backup = join(work, 'whole')
    cpSync(whole, backup, { recursive: true })
    const environment = await prepareOther()
    truncateSync(join(backup, 'decisions.sqlite'), 4_096)
    for (const options of [[], ['--only', 'database']]) {
      const { code, err } = await callgate(['restore', backup, ...options], environment)
      expect([code, err]).toEqual([1, expect.stringMatching(/decisions\.sqlite: has 4096 bytes/)])
    }
    expect(await listTables()).toEqual([])
  })

  it('is not made of a database with a newer schema', async () => {
    const other = await prepareOther()
    const restored = await callgate(['restore', whole, '--only', 'database'], other)
    expect(restored.code, restored.err).toBe(0)
    await queryOther("insert into kysely_migration (name, timestamp) values ('9901-other', '')")
    const newer = await callgate(['backup', join(work, 'newer')], {
      ...environmentOfFirst(),
      CALLGATE_STORAGE_URL: other.CALLGATE_STORAGE_URL ?? '',
    })
    expectFailure(newer, '9901-other', 'newer schema than this program knows')
  })

  it('needs a database that has something', async () => {
    const environment = await prepareOther()
    const empty = await callgate(['backup', join(work, 'b')], environment)
    expectFailure(empty, 'there is no database to back up')
  })

  it('needs no more memory for many rows', async () => {
    // 80 MB, which is more than the memory that the commands get.
    const rows = 5_000
    await cluster.query(
      `insert into internal_dnc (account_id, list, number, added_at, modified_at, opted_out_at, stored_at, opted_out_seq,
        opted_out_by_date, key_id)
      select 'main', 'main', (2120000000 + i)::text, 1, 1, 1, 1, i, 0, repeat('x', 16000) from generate_series(1, ${rows}) i`,
    )
    const small = { NODE_OPTIONS: '--max-old-space-size=64' }
    const target = join(work, 'many')
    const made = await callgate(['backup', target], { ...environmentOfFirst(), ...small })
    expect(made.code, made.err).toBe(0)
    const environment = { ...(await prepareOther()), ...small }
    const restored = await callgate(['restore', target, '--only', 'database'], environment)
    expect(restored.code, restored.err).toBe(0)
    const [row] = await queryOther(
      `select count(*)::int as rows from internal_dnc where account_id = 'main'`,
    )
    expect(row?.rows).toBe(rows)
  })
})
