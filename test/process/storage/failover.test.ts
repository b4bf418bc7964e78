/** The primary is lost, its standby is promoted, and the lines of two servers move there while they work. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { until } from '../../e2e/asterisk/lab/until.js'
import {
  type Callers,
  type Cluster,
  type ClusterNode,
  callersOf,
  database,
  openCluster,
  portOf,
} from '../../support/cluster.js'
import { Checker, randomFrom } from '../../support/opt-out-checker.js'
import { findForbiddenAllows } from '../../support/opt-out-history.js'
import { type StandbyServer, startStandby } from '../../support/postgres-server.js'
import { openScanReceiver } from '../../support/scan-receiver.js'
import { openTcpProxy, type TcpProxy } from '../../support/tcp-proxy.js'

const again = 'written-again.csv'

let cluster: Cluster
let first: ClusterNode
let second: ClusterNode
let decide: Callers['decide']
let pdnc: Callers['pdnc']
let readyz: Callers['readyz']
/** From the standby to its primary. */
let replication: TcpProxy
let standby: StandbyServer

beforeEach(async () => {
  const settings = { CALLGATE_GATE_DEADLINE_MS: '5000', CALLGATE_CLUSTER_MAX_STALENESS_MS: '1000' }
  cluster = await openCluster({ count: 2, settings })
  const [one, two] = cluster.nodes
  if (!one || !two) throw new Error('there are not two servers')
  first = one
  second = two
  ;({ decide, pdnc, readyz } = callersOf(cluster))
  replication = await openTcpProxy(portOf(cluster.postgres))
  standby = await startStandby(cluster.postgres, String(replication.port))
})

afterEach(async () => {
  await cluster.close()
  replication.close()
  await standby.end()
})

it('with a synchronous standby, no acknowledged opt-out is lost and no allow is forbidden', async () => {
  await standby.confirmCommits()
  const receiver = await openScanReceiver()
  const checker = new Checker(cluster, receiver, randomFrom(1))
  await checker.runRound(0, () => cluster.failOver(standby)).finally(receiver.close)
  expect(findForbiddenAllows(checker.history)).toEqual([])
  expect(checker.history.filter(({ kind }) => kind !== 'decision').length).toBeGreaterThan(30)
  for (const { name } of cluster.nodes) {
    expect(existsSync(join(cluster.folder, name, 'lost-changes.csv'))).toBe(false)
  }
})

it('with an asynchronous one, what it had not received is lost, nothing else, and each server says what it was and writes its opt-outs again', async () => {
  expect(await pdnc(first, '2125550100')).toBe(200)
  expect(await pdnc(first, '3475550100')).toBe(200)
  await until('the standby has it', async () => {
    const rows = await standby.query(
      `select 1 from internal_dnc where number = '3475550100'`,
      database,
    )
    return rows.length === 1
  })
  replication.pause()
  expect(await pdnc(second, '3475550100', 'remove')).toBe(200)
  expect(await pdnc(first, '7185550100')).toBe(200)
  expect(await pdnc(second, '6465550100')).toBe(200)
  // A service thread stores these.
  const many = Array.from({ length: 300 }, (_, index) => `917555${1_000 + index}`)
  expect(await pdnc(second, ['9175550102', ...many].join(','))).toBe(200)
  await cluster.failOver(standby)
  for (const on of [first, second]) {
    await until('it is ready', async () => (await readyz(on)).startsWith('200'))
    expect(await decide(on, '2125550100')).toBe('block internal-dnc')
    for (const number of ['7185550100', '6465550100', '9175550102']) {
      await until(
        `${number} is on the list again`,
        async () => (await decide(on, number)) === 'block internal-dnc',
      )
    }
    // Its removal is for people.
    expect(await decide(on, '3475550100')).toBe('block internal-dnc')
  }
  // Each has those it acknowledged itself, also in the moment before.
  for (const [on, number] of [
    [first, '7185550100'],
    [second, '6465550100'],
    [second, '9175550102'],
  ] as const) {
    await until('it says so', () => on.serving.output().includes('a failover has lost'))
    const lost = readFileSync(join(cluster.folder, on.name, 'lost-changes.csv'), 'utf8')
    expect(lost).toMatch(/^account,number,stored_at\n/)
    expect(lost).toMatch(new RegExp(`^sandbox,${number},20\\S+Z$`, 'm'))
    expect(lost).not.toContain('2125550100')
    await until('it has a record of it', () => existsSync(join(cluster.folder, on.name, again)))
    const written = readFileSync(join(cluster.folder, on.name, again), 'utf8')
    expect(written).toMatch(/^account,project,number,stored_at,written_at\n/)
    expect(written).toMatch(new RegExp(`^sandbox,sandbox,${number},20\\S+Z,20\\S+Z$`, 'm'))
    expect(written).not.toContain('3475550100')
  }
  const [row] = await cluster.query(
    `select count(*) as rows, min(number) as number from internal_dnc where removed_at is null`,
  )
  expect(row).toEqual({ rows: '305', number: '2125550100' })
  // Numbers of changes are used again, for others.
  expect(await pdnc(second, '9175550100')).toBe(200)
  await until(
    'the first blocks it',
    async () => (await decide(first, '9175550100')) === 'block internal-dnc',
  )
})

it('with two primaries, nothing is acknowledged by the old one whose standby was promoted', async () => {
  await standby.confirmCommits()
  await standby.promote()
  second.line.moveTo(portOf(standby))
  second.line.cut()
  await until('it is ready', async () => (await readyz(second)).startsWith('200'))
  const startedAt = performance.now()
  expect(await pdnc(first, '7185550100')).toBe(503)
  expect(performance.now() - startedAt).toBeLessThan(10_000)
  expect(await pdnc(second, '6465550100')).toBe(200)
})

it('a server follows the name of the primary to the new one while the old one still answers', async () => {
  await standby.promote()
  second.line.moveTo(portOf(standby))
  second.line.cut()
  await until('it is ready', async () => (await readyz(second)).startsWith('200'))
  expect(await pdnc(second, '6465550100')).toBe(200)
  await expect.poll(() => decide(first, '6465550100')).toBe('allow permitted')
  // Only the old one has it.
  expect(await pdnc(first, '7185550100')).toBe(200)
  first.line.moveTo(portOf(standby))
  await until(
    'the first blocks',
    async () => (await decide(first, '6465550100')) === 'block internal-dnc',
  )
  expect(readFileSync(join(cluster.folder, first.name, 'lost-changes.csv'), 'utf8')).toContain(
    'sandbox,7185550100,',
  )
  // Everything it does goes there.
  expect(await pdnc(first, '9175550100')).toBe(200)
  await until(
    'the second blocks it',
    async () => (await decide(second, '9175550100')) === 'block internal-dnc',
  )
})
