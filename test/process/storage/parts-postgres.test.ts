/** A PostgreSQL database that lacks what the journals of two servers name. */
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { until } from '../../e2e/asterisk/lab/until.js'
import {
  type Callers,
  type Cluster,
  type ClusterNode,
  callersOf,
  openCluster,
} from '../../support/cluster.js'
import { recordsIn } from '../../support/journal.js'
import { callgate } from '../../support/program.js'

const number = '2125550100'
let cluster: Cluster
let first: ClusterNode
let second: ClusterNode
let decide: Callers['decide']
let pdnc: Callers['pdnc']
let readyz: Callers['readyz']

beforeEach(async () => {
  cluster = await openCluster({ count: 2, settings: { CALLGATE_GATE_DEADLINE_MS: '5000' } })
  const [one, two] = cluster.nodes
  if (!one || !two) throw new Error('there are not two servers')
  first = one
  second = two
  ;({ decide, pdnc, readyz } = callersOf(cluster))
})

afterEach(() => cluster.close())

const auditIn = ({ name }: ClusterNode): readonly Record<string, unknown>[] =>
  recordsIn(join(cluster.folder, name))
    .filter(({ kind }) => kind === 'audit')
    .map(({ body }) => JSON.parse(body))

const hasOptOut = (node: ClusterNode) =>
  auditIn(node).some(({ action, subject }) => {
    return action === 'opt-out.added' && (subject as { id: string }).id === number
  })

/** Adds an opt-out, ends both servers, and takes from the database what was stored since, as a failover or an old backup does. */
async function loseOptOut(olderRow: string): Promise<void> {
  const [head] = await cluster.query('select audit_seq from change_head')
  await cluster.query(olderRow)
  expect(await pdnc(first, number)).toBe(200)
  expect(hasOptOut(first)).toBe(true)
  await until('the other journal has it', () => hasOptOut(second))
  for (const { serving } of cluster.nodes) await serving.end('SIGKILL')
  await cluster.query(`begin; update change_head set audit_open = 1;
    delete from audit where seq > ${head?.audit_seq}; delete from internal_dnc where number = '${number}';
    update change_head set audit_open = 0, audit_seq = ${head?.audit_seq}; commit`)
}

it('goes on without a question after a failover that lost the last moments, with the opt-out in force', async () => {
  await loseOptOut('select 1')
  for (const node of [first, second]) {
    await node.restart()
    expect(await readyz(node)).toContain('"name":"parts","ready":true')
    expect(await decide(node, number)).toBe('block internal-dnc')
  }
  expect(auditIn(second).map(({ action }) => action)).toContain('storage.joined')
  // Without anything lost, no server says anything.
  const joined = await cluster.query("select * from audit where action = 'storage.joined'")
  await first.serving.end('SIGTERM')
  await first.restart()
  expect(await cluster.query("select * from audit where action = 'storage.joined'")).toEqual(joined)
}, 90_000)

it('is shut with an older database until it is accepted once, for all servers', async () => {
  await loseOptOut(`with head as (update change_head set audit_seq = audit_seq + 1 returning audit_seq)
    insert into audit (seq, at, account_id, who, door, action, subject_kind, subject)
    select audit_seq, (extract(epoch from now()) * 1000)::bigint - 120000, 'main', 'test', 'test', 'test', 'test', 'test' from head`)
  await first.restart()
  expect(await readyz(first)).toMatch(
    /^503 .*the journal has row \d+ of the audit table, but the database ends with row \d+: 2 changes are lost/,
  )
  expect(await decide(first, '2125550101')).toBe('block not-recorded')
  const accepted = await callgate(
    ['storage', 'accept', '--because', 'restored'],
    cluster.environment,
  )
  expect(accepted).toMatchObject({ code: 0 })
  await until('it is open', async () =>
    (await readyz(first)).includes('"name":"parts","ready":true'),
  )
  expect(await decide(first, number)).toBe('block internal-dnc')
  await second.restart()
  expect(await readyz(second)).toContain('"name":"parts","ready":true')
  expect(await decide(second, number)).toBe('block internal-dnc')
}, 90_000)
