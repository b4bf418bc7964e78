/** Servers of one database whose clocks differ, or whose line to it passes what only one side sends. */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { until } from '../../e2e/asterisk/lab/until.js'
import {
  type Callers,
  type Cluster,
  type ClusterNode,
  callersOf,
  openCluster,
} from '../../support/cluster.js'

let cluster: Cluster
let first: ClusterNode
let second: ClusterNode
let decide: Callers['decide']
let pdnc: Callers['pdnc']
let readyz: Callers['readyz']

const hour = 3_600_000
const maxStalenessMs = 1_000

beforeAll(async () => {
  const settings = {
    CALLGATE_GATE_DEADLINE_MS: '5000',
    CALLGATE_CLUSTER_MAX_STALENESS_MS: String(maxStalenessMs),
  }
  cluster = await openCluster({ count: 2, settings })
  const [one, two] = cluster.nodes
  if (!one || !two) throw new Error('there are not two servers')
  first = one
  second = two
  ;({ decide, pdnc, readyz } = callersOf(cluster))
})

afterAll(() => cluster.close())

afterEach(() => {
  second.setClock(0)
  second.line.resume()
})

const untilDecided = (on: ClusterNode, number: string, decision: string) =>
  until(`${on.name} says ${decision}`, async () => (await decide(on, number)) === decision)

it('a server whose clock is an hour behind blocks, and its opt-outs hold for the others', async () => {
  await expect.poll(() => decide(second, '2125550100')).toBe('allow permitted')
  second.setClock(-hour)
  await untilDecided(second, '2125550100', 'block clock-behind')
  expect(await readyz(second)).toMatch(/^503 .*the clock shows/)
  expect(await pdnc(second, '7185550100')).toBe(200)
  await untilDecided(first, '7185550100', 'block internal-dnc')
  await expect.poll(() => decide(first, '2125550100')).toBe('allow permitted')
  second.setClock(0)
  await untilDecided(second, '2125550100', 'allow permitted')
  expect(await decide(second, '7185550100')).toBe('block internal-dnc')
})

it('one whose clock is an hour ahead blocks, and no other, and goes on when its clock is right', async () => {
  second.setClock(hour)
  await untilDecided(second, '2125550100', 'block clock-ahead')
  expect(await readyz(second)).toMatch(
    /^503 .*the clock shows .* 3600 s ahead of the clock of the database/,
  )
  expect(await pdnc(second, '3475550100')).toBe(200)
  await untilDecided(first, '3475550100', 'block internal-dnc')
  // It stores the newest instant that it knows every few seconds, and when it ends.
  expect(await second.serving.end('SIGTERM')).toBe(0)
  const [stored] =
    await cluster.query(`select newest_at <= extract(epoch from clock_timestamp()) * 1000 as "isPast",
    (select max(at) from changes) <= extract(epoch from clock_timestamp()) * 1000 as "arePast" from change_head`)
  expect(stored).toEqual({ isPast: true, arePast: true })
  await expect.poll(() => decide(first, '2125550100')).toBe('allow permitted')
  await second.restart()
  await untilDecided(second, '2125550100', 'block clock-ahead')
  await expect.poll(() => decide(first, '2125550100')).toBe('allow permitted')
  second.setClock(0)
  await untilDecided(second, '2125550100', 'allow permitted')
  expect(await decide(second, '3475550100')).toBe('block internal-dnc')
})

it('no other server blocks when one stores something with a clock that is ahead', async () => {
  const decisions: string[] = []
  second.setClock(hour)
  const endAt = performance.now() + 3_000
  while (performance.now() < endAt) {
    expect(await pdnc(second, '6465550100')).toBe(200)
    decisions.push(await decide(second, '2125550100'), await decide(first, '2125550100'))
  }
  const ofFirst = new Set(decisions.filter((_, index) => index % 2 === 1))
  expect(ofFirst).toContain('allow permitted')
  // A slow server may fall behind for a moment; that has nothing to do with clocks.
  ofFirst.delete('block not-current')
  expect(ofFirst).toEqual(new Set(['allow permitted']))
  expect(decisions.filter((_, index) => index % 2 === 0).slice(1)).not.toContain('allow permitted')
  second.setClock(0)
  await untilDecided(second, '2125550100', 'allow permitted')
})

it.each([
  ['server', '9175550100', '5165550100'],
  ['client', '9145550100', '8455550100'],
] as const)(
  'while what the %s sends is lost, nothing is allowed, and callers get an answer in time',
  async (side, number, optedOut) => {
    await expect.poll(() => decide(second, number)).toBe('allow permitted')
    const startedAt = performance.now()
    second.line.swallow(side)
    const optOut = pdnc(second, optedOut)
    await until('nothing is allowed', async () => {
      const askedAt = performance.now()
      const decision = await decide(second, number)
      expect.soft(performance.now() - askedAt).toBeLessThan(2_000)
      if (!decision.startsWith('allow')) return /^block not-current|^status 503/.test(decision)
      // It may have heard from the database just before.
      expect.soft(askedAt - startedAt).toBeLessThan(maxStalenessMs + 100)
      return false
    })
    expect(await pdnc(first, number)).toBe(200)
    expect(await optOut).toBe(503)
    expect(performance.now() - startedAt).toBeLessThan(15_000)
    expect(await decide(second, '911')).toBe('allow service-code')
    second.line.resume()
    await until('it is ready', async () => (await readyz(second)).startsWith('200'))
    expect(await decide(second, number)).toBe('block internal-dnc')
    expect(await pdnc(second, optedOut)).toBe(200)
  },
)

it('a connection that is lost while it is being opened ends no server', async () => {
  // A statement of every new connection; those that send it get no answer.
  second.line.pause('synchronous_commit')
  await cluster.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where pid <> pg_backend_pid() and application_name = 'callgate'`,
  )
  await until('a connection waits', async () => {
    // An opt-out needs a connection, also of a server that knows that it is not current.
    void pdnc(second, '2015550100').catch(() => undefined)
    const rows = await cluster.query(
      `select 1 from pg_stat_activity where pid <> pg_backend_pid() and query like '%set_config(''synchronous_commit''%'`,
    )
    return rows.length > 1
  })
  second.line.cut()
  second.line.resume()
  await until('it is ready', async () => (await readyz(second)).startsWith('200'))
})
