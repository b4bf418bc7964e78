/** Every server over a PostgreSQL shows the decisions of all, also those of a server that is gone. */
import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { LiveBody } from '../../../src/api/accounts/live.js'
import { readOrigin } from '../../../src/gate/journal/journal-origin.js'
import { readForm } from '../../../src/gate/journal/search/index-file.js'
import { until } from '../../e2e/asterisk/lab/until.js'
import { type Cluster, type ClusterNode, openCluster } from '../../support/cluster.js'
import { fetchMetrics } from '../../support/fresh-metrics.js'
import { callgate } from '../../support/program.js'
import { readStoredDecisions } from '../../support/stored-decisions.js'
import { openStreamReader } from '../../support/stream-reader.js'

let cluster: Cluster
let first: ClusterNode
let second: ClusterNode

beforeAll(async () => {
  const settings = { CALLGATE_GATE_DEADLINE_MS: '5000', CALLGATE_CLUSTER_MAX_STALENESS_MS: '1000' }
  cluster = await openCluster({ count: 2, settings })
  const [one, two] = cluster.nodes
  if (!one || !two) throw new Error('there are not two servers')
  first = one
  second = two
})

afterAll(() => cluster.close())

interface Decided {
  readonly id: string
  readonly decision: string
}

async function decide({ serving }: ClusterNode, number = '2125550100'): Promise<Decided> {
  const response = await fetch(`${serving.url}/v1/decisions`, {
    method: 'POST',
    headers: { loginId: cluster.key, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ number, callKind: 'manual' }),
  })
  return (await response.json()) as Decided
}

async function read({ serving }: ClusterNode, id: string) {
  const response = await fetch(`${serving.url}/v1/decisions/${id}`, {
    headers: { loginId: cluster.key, connection: 'close' },
  })
  return { status: response.status, body: (await response.json()) as { readonly id: string } }
}

/** In the last 15 minutes, by `GET /v1/live`. */
async function readSteps({ serving: { url } }: ClusterNode): Promise<LiveBody['steps']> {
  const loginId = first.serving.keys.main || second.serving.keys.main
  const answer = await fetch(`${url}/v1/live`, { headers: { loginId, connection: 'close' } })
  return ((await answer.json()) as LiveBody).steps
}

/** All of them, since a step, of five seconds, has ended. */
async function countDecided(on: ClusterNode): Promise<number> {
  const { length } = await readSteps(on)
  const steps = await until('a step ends', async () => {
    const known = await readSteps(on)
    return known.length > length && known
  })
  return steps.reduce((sum, { allowed, blocked }) => sum + allowed + blocked, 0)
}

const readProjected = (on: ClusterNode, id: string) =>
  until(`${id} is found`, async () => {
    const { status, body } = await read(on, id)
    return status === 200 && body
  })

const ship = (folder: string) => callgate(['decisions', 'ship', folder], cluster.environment)
const folderOf = ({ name }: ClusterNode) => join(cluster.folder, name)

/** Of everything that is projected, so that it is the same if and only if nothing has changed. */
const readAll = async () => [
  await readStoredDecisions(cluster.query),
  await cluster.query('select * from recorded_outcomes order by id, origin'),
]

const readMetric = async ({ serving: { url } }: ClusterNode, name: string) => {
  const text = await fetchMetrics(url)
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
}

it('a decision of one server is read on another, and none of the rows of changes tells of it', async () => {
  const readHead = async () => (await cluster.query('select seq from change_head'))[0]?.seq
  const before = await readHead()
  const decided = await decide(first)
  expect(decided.decision).toBe('allow')
  const found = await readProjected(second, decided.id)
  expect(found).toEqual((await read(first, decided.id)).body)
  expect(await readHead()).toBe(before)
  expect((await read(second, `${decided.id.slice(0, -1)}x`)).status).toBe(404)
  expect((await read(second, 'none')).status).toBe(404)
})

it('the server that made a decision shows what another one has noted about its call', async () => {
  const { id } = await decide(first)
  await readProjected(second, id)
  const noted = JSON.stringify({ state: 'answered', answeredAt: 1 })
  await cluster.query(
    `insert into recorded_outcomes (id, origin, outcome) values ('${id}', 'another', '${noted}')`,
  )
  const outcome = { state: 'answered', answeredAt: '1970-01-01T00:00:00.001Z' }
  for (const on of [first, second]) {
    expect((await read(on, id)).body).toMatchObject({ id, outcome })
  }
})

it('a reader of a server is told what all servers decide, and each server counts its own', async () => {
  const headers = { loginId: cluster.key }
  const reader = await openStreamReader(`${first.serving.url}/v1/decisions/stream`, headers)
  await reader.waitFor('retry')
  const countBoth = () => Promise.all([countDecided(first), countDecided(second)])
  const [ofFirst, ofSecond] = await countBoth()
  let text = ''
  for (const on of [first, second, second]) {
    const { id } = await decide(on)
    text = await reader.waitFor(`id: ${id}\n`)
  }
  reader.leave()
  expect(text.match(/^event: decision$/gm)).toHaveLength(3)
  expect(await countBoth()).toEqual([ofFirst + 1, ofSecond + 2])
})

it('what is judged again, and compared with a bill, are the decisions of all servers', async () => {
  const [one, two] = [await decide(first), await decide(second, '3055550100')]
  const [found, other] = [await readProjected(second, one.id), await readProjected(first, two.id)]
  const shown = JSON.stringify([found, other])
  for (const { id } of [one, two]) {
    const { code, out, err } = await callgate(['evidence', 'replay', id], cluster.environment)
    expect([code, err], out).toEqual([0, ''])
    expect(out).toContain('\n1 give the same bytes\n')
  }
  const bill = join(cluster.folder, 'bill.csv')
  const rows = (JSON.parse(shown) as { number: string; decidedAt: string }[]).map(
    ({ number, decidedAt }) => `${number},${decidedAt}\n`,
  )
  writeFileSync(bill, `called,start\n${rows.join('')}`)
  const args = ['evidence', 'reconcile', bill, '--account', 'sandbox', '--slack', '1s']
  const { code, out, err } = await callgate(args, cluster.environment)
  expect([code, err], out).toEqual([0, ''])
  expect(out).toContain('\n0 legs have their allow by its id, 2 by number and time\n')
})

it('the index of a server only says where its records are, since the blocks are searched', () => {
  const index = new Sqlite(join(folderOf(first), 'index.sqlite'), { readonly: true })
  try {
    expect(readForm(index)).toBe('places')
  } finally {
    index.close()
  }
})

it('the journal goes on without PostgreSQL, and what it has is there afterwards', async () => {
  let ids: readonly string[] = []
  const { id: own } = await decide(first)
  try {
    // A slow machine may read the key anew meanwhile, and then nothing is recorded.
    await until('decisions are recorded', async () => {
      first.line.resume()
      await decide(first)
      first.line.pause()
      const decided = await Promise.all(Array.from({ length: 20 }, () => decide(first, '911')))
      // Without a key that can be read, an emergency call is allowed without a record.
      ids = decided.flatMap(({ id }) => (id === undefined || id === '-' ? [] : id))
      return ids.length > 0
    })
    await until('some are not there', async () => {
      return (await readMetric(first, 'callgate_journal_projection_lag_records')) > 0
    })
    // Who reads it is recorded first, which nobody can do now.
    expect((await read(first, own)).status).toBe(503)
  } finally {
    first.line.resume()
  }
  for (const id of [own, ...ids]) await readProjected(second, id)
  await until('all are there', async () => {
    return (await readMetric(first, 'callgate_journal_projection_lag_records')) === 0
  })
})

it('a folder whose server runs is refused', async () => {
  for (const folder of [folderOf(first), join(folderOf(first), 'journal')]) {
    const { code, err } = await ship(folder)
    expect([code, err]).toEqual([1, expect.stringContaining('already serving this data folder')])
  }
  const { code, err } = await ship(cluster.folder)
  expect([code, err]).toEqual([1, expect.stringContaining('there is no journal')])
})

it('every allow of a server that was killed is read on another once its folder was shipped', async () => {
  const allowed: string[] = []
  let isKilled = false
  const load = async () => {
    while (!isKilled) {
      const decided = await decide(first).catch(() => undefined)
      if (decided?.decision === 'allow') allowed.push(decided.id)
    }
  }
  const clients = Array.from({ length: 8 }, load)
  await until('there are decisions', () => allowed.length > 200)
  // Only the copying is held up, so that some decisions are in the journal alone.
  first.line.pause('removed_before')
  const before = allowed.length
  await until('more were allowed', () => allowed.length > before + 50)
  await first.serving.end('SIGKILL')
  isKilled = true
  await Promise.all(clients)
  first.line.resume()
  const copy = join(cluster.folder, 'copied')
  cpSync(join(folderOf(first), 'journal'), copy, { recursive: true })
  const shipped = await ship(folderOf(first))
  expect(shipped.code, shipped.err).toBe(0)
  expect(Number(/^\d+/.exec(shipped.out)?.[0]), shipped.out).toBeGreaterThan(0)
  for (const id of allowed) expect((await read(second, id)).status, id).toBe(200)
  const copied = (await readStoredDecisions(cluster.query)).map(({ id }) => id)
  expect(copied.filter((id) => allowed.includes(id))).toEqual([...allowed].sort())
  const stored = await readAll()
  for (const folder of [folderOf(first), copy]) {
    const again = await ship(folder)
    expect(again.out, again.err).toMatch(/^0 decisions and 0 outcomes/)
  }
  expect(await readAll()).toEqual(stored)
})

it('a journal that goes on from an older copy is copied from there', async () => {
  const journal = join(folderOf(first), 'journal')
  await first.restart()
  await readProjected(second, (await decide(first)).id)
  await first.serving.end('SIGKILL')
  // The copy ends before what is stored.
  rmSync(journal, { recursive: true })
  cpSync(join(cluster.folder, 'copied'), journal, { recursive: true })
  for (const name of readdirSync(folderOf(first))) {
    if (name.startsWith('index.sqlite')) rmSync(join(folderOf(first), name))
  }
  await first.restart()
  expect((await decide(first)).decision).toBe('block')
  const because = ['--because', 'its disk was replaced']
  expect(await callgate(['storage', 'accept', ...because], cluster.environment)).toMatchObject({
    code: 0,
  })
  await until('the first server is open', async () =>
    (await (await fetch(`${first.serving.url}/readyz`)).text()).includes(
      '"name":"parts","ready":true',
    ),
  )
  const { id } = await decide(first)
  expect((await readProjected(second, id)).id).toBe(id)
})

it('a number is erased in the journals of all servers, and in what is copied of them', async () => {
  const number = '2125550106'
  const call = async (on: ClusterNode) => {
    const response = await fetch(`${on.serving.url}/app/main/rpc/pdnc`, {
      method: 'POST',
      headers: { loginId: cluster.key, 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ phoneList: number, actionType: 'add' }),
    })
    expect(response.status).toBe(200)
    return (await decide(on, number)).id
  }
  const ids = [await call(first), await call(second)]
  for (const on of [first, second]) for (const id of ids) await readProjected(on, id)
  const hasNumber = async () =>
    (await readStoredDecisions(cluster.query))
      .filter(({ body }) => body.includes(number))
      .map(({ id }) => id)
  expect(await hasNumber()).toEqual(expect.arrayContaining(ids))
  const erased = await callgate(['erase', '--number', number, '--yes'], cluster.environment)
  expect(erased.code, erased.err).toBe(0)
  expect(erased.out).toMatch(/^reduced +[2-9] decisions: without the number$/m)
  expect(await hasNumber()).toEqual([])
  for (const on of [first, second]) {
    for (const id of ids) {
      expect((await read(on, id)).body).toMatchObject({ id, number: '', erased: true })
    }
  }
  expect(await cluster.query('select number from erasures')).toEqual([{ number: null }])
})

const untilErasureWaits = () =>
  until('an erasure waits for the first server alone', async () => {
    const done = await cluster.query(
      'select erased from erased_journals join erasures on id = erasure_id ' +
        'where finished_at is null and erased is not null and rows_done = 1',
    )
    return done.length === 1
  })

it('an erasure waits for a server that does not run, and its shipped folder has the number no more', async () => {
  const number = '2125550100'
  const decided = await decide(first, number)
  // Only an allow waits for its record.
  expect(decided.decision).toBe('allow')
  await first.serving.end('SIGKILL')
  const erasing = callgate(
    ['erase', '--number', number, '--allowed-calls', '--yes'],
    cluster.environment,
  )
  await untilErasureWaits()
  const shipped = await ship(folderOf(first))
  expect(shipped.code, shipped.err).toBe(0)
  const { code, err } = await erasing
  expect(code, err).toBe(0)
  expect((await read(second, decided.id)).body).toMatchObject({ number: '', erased: true })
  await first.restart()
  expect((await read(first, decided.id)).body).toMatchObject({ number: '', erased: true })
})

it('an erasure no longer waits for a server whose folder is lost once that is given up', async () => {
  const number = '2125550102'
  const decided = await decide(first, number)
  await readProjected(second, decided.id)
  await first.serving.end('SIGKILL')
  const origin = readOrigin(join(folderOf(first), 'journal'), Date.now()).toString('hex')
  const erasing = callgate(
    ['erase', '--number', number, '--allowed-calls', '--yes'],
    cluster.environment,
  )
  await untilErasureWaits()
  const find = async () => (await read(second, decided.id)).body
  const { out: list } = await callgate(['decisions', 'list'], cluster.environment)
  const [journal = ''] = list.split('\n').filter((line) => origin.startsWith(line.slice(0, 12)))
  expect(journal).toMatch(/^[0-9a-f]{12} {2}server +20\S+ +\d+ +yes$/)
  const giveUp = (...args: string[]) =>
    callgate(['decisions', 'give-up', ...args], cluster.environment)
  const name = origin.slice(0, 12)
  for (const [given, why] of [
    [name, 'stop it, and try again ten minutes later'],
    [name.slice(0, 11), 'must be one that callgate decisions list shows'],
  ] as const) {
    const { code, err } = await giveUp(given, '--yes')
    expect(code).not.toBe(0)
    expect(err).toContain(why)
  }
  await cluster.query(
    `update journals set seen_at = seen_at - 600000 where origin = '${origin}';
      insert into journals (origin, next_seq, removed_before, shipped, seen_at, copied_until)
        values ('main edge ${'e'.repeat(64)}', 1, 0, 0, 0, 0)`,
  )
  expect((await giveUp('e'.repeat(12), '--yes')).err).toContain('is of an edge')
  // Its own journal was done with it, but that was not copied.
  await cluster.query(
    `insert into erased_journals (erasure_id, origin, erased, kept, rows_done)
      select id, '${origin}', 0, 0, 0 from erasures where finished_at is null`,
  )
  expect(await giveUp(name)).toMatchObject({
    code: 2,
    err: expect.stringContaining('nothing was changed'),
  })
  expect(await find()).toMatchObject({ number })
  const { code, out } = await giveUp(name, '--yes')
  expect([code, out]).toEqual([0, 'given up; erasures that were in progress: 1\n'])
  expect((await erasing).code).toBe(0)
  expect(await find()).toMatchObject({ number: '', erased: true })
  expect(await cluster.query('select id from erasures where finished_at is null')).toEqual([])
})
