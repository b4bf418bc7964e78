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
import { callgate, serve } from '../../support/program.js'

const number = '2125550100'
const other = '2125550106'
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
    return action === 'opt-out.added' && (subject as { id: string }).id === other
  })

/** Adds opt-outs, ends both servers, and takes from the database what it has stored after a row of the audit table. */
async function loseOptOuts(afterSeq: number): Promise<void> {
  expect(await pdnc(first, `${number},${other}`)).toBe(200)
  expect(hasOptOut(first)).toBe(true)
  await until('the other journal has them', () => hasOptOut(second))
  for (const { serving } of cluster.nodes) await serving.end('SIGKILL')
  await cluster.query(`begin; update change_head set audit_open = 1;
    delete from audit where seq > ${afterSeq}; delete from internal_dnc where number in ('${number}', '${other}');
    update change_head set audit_open = 0, audit_seq = ${afterSeq}; commit`)
}

const readAuditSeq = async () =>
  Number((await cluster.query('select audit_seq from change_head'))[0]?.audit_seq)

const isReady = async (node: ClusterNode) =>
  (await readyz(node)).includes('"name":"parts","ready":true')

async function accept(): Promise<void> {
  const args = ['storage', 'accept', '--because', 'restored']
  expect(await callgate(args, cluster.environment)).toMatchObject({ code: 0 })
  await until('it is open', () => isReady(first))
}

async function expectOptOuts(node: ClusterNode): Promise<void> {
  expect(await decide(node, number)).toBe('block internal-dnc')
  // The sandbox has a consent for this one.
  expect(await decide(node, other)).toBe('block consent-revoked')
}

it('goes on without a question after a failover that lost the last moments, with the opt-outs in force', async () => {
  await loseOptOuts(await readAuditSeq())
  for (const node of [first, second]) {
    await node.restart()
    expect(await isReady(node)).toBe(true)
    await expectOptOuts(node)
  }
  expect(auditIn(second).map(({ action }) => action)).toContain('storage.joined')
  // Without anything lost, no server says anything.
  const joined = await cluster.query("select * from audit where action = 'storage.joined'")
  await first.serving.end('SIGTERM')
  await first.restart()
  expect(await cluster.query("select * from audit where action = 'storage.joined'")).toEqual(joined)
})

it('is shut after a failover that lost what cannot be put in force again, and names it', async () => {
  const seq = await readAuditSeq()
  const created = await callgate(['keys', 'create', '--label', 'lost'], cluster.environment)
  expect(created).toMatchObject({ code: 0 })
  await loseOptOuts(seq)
  await first.restart()
  expect(await readyz(first)).toMatch(
    /^503 .*not put in force again: row \d+ \(key\.created\)\. Put the right part back/,
  )
  expect(await decide(first, '2125550107')).toBe('block not-recorded')
  await accept()
  await expectOptOuts(first)
})

it('is shut with an older database until it is accepted once, for all servers', async () => {
  await loseOptOuts(0)
  await cluster.query('delete from journal_positions')
  const why =
    /^503 .*the journal has row \d+ of the audit table, but the database ends with row 0: \d+ changes are lost/
  const folder = { CALLGATE_DATA_DIR: join(cluster.folder, first.name) }
  const serving = await serve({ ...cluster.environment, ...folder }, ['--init'])
  expect(await readyz({ ...first, serving })).toMatch(why)
  await serving.end('SIGTERM')
  await first.restart()
  expect(await readyz(first)).toMatch(why)
  expect(await decide(first, '2125550107')).toBe('block not-recorded')
  await accept()
  await expectOptOuts(first)
  await second.restart()
  expect(await isReady(second)).toBe(true)
  await expectOptOuts(second)
})
