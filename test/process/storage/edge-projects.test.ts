/** What an edge is given for a project holds for what that project reads at the center by then. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { until } from '../../e2e/asterisk/lab/until.js'
import { type Cluster, type ClusterNode, openCluster } from '../../support/cluster.js'

let cluster: Cluster
let center: ClusterNode
let edge: ClusterNode

beforeAll(async () => {
  const settings = { CALLGATE_GATE_DEADLINE_MS: '5000', CALLGATE_CLUSTER_MAX_STALENESS_MS: '1000' }
  cluster = await openCluster({ count: 1, hasEdge: true, settings })
  const [one, other] = cluster.nodes
  if (!one || !other) throw new Error('there is no edge')
  center = one
  edge = other
})

afterAll(() => cluster.close())

async function send(on: ClusterNode, path: string, body: object, method = 'POST') {
  const response = await fetch(`${on.serving.url}${path}`, {
    method,
    headers: { loginId: cluster.key, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify(body),
  })
  return { status: response.status, text: await response.text() }
}

async function saveProject(code: string, inherits: boolean, method: 'POST' | 'PUT') {
  const path = method === 'POST' ? '/v1.5/projects' : `/v1.5/projects/${code}`
  const fields = { ProjectCode: code, ProjectName: code, InheritInternalDnc: inherits }
  const { status, text } = await send(center, path, fields, method)
  expect(status, text).toBeLessThan(300)
}

async function setStatus(code: string, status: string) {
  await cluster.query(`with head as (update change_head set seq = seq + 1 returning seq),
    project as (update projects set status = '${status}' where code = '${code}')
    insert into changes (seq, at, all_numbers) select seq, 1, 0 from head`)
}

async function decide(on: ClusterNode, number: string, projectId?: string): Promise<string> {
  const { text } = await send(on, '/v1/decisions', { number, callKind: 'manual', projectId })
  const { decision, reason } = JSON.parse(text) as { decision: string; reason: string }
  return `${decision} ${reason}`
}

const untilDecided = (on: ClusterNode, number: string, wanted: string, projectId?: string) =>
  until(
    `${on.name} decides ${number}: ${wanted}`,
    async () => (await decide(on, number, projectId)) === wanted,
  )

const countRefusals = () => edge.serving.output().split('opt-outs could not be passed on').length

const untilPassedOn = () =>
  until('the edge has nothing left to pass on', async () =>
    /^callgate_edge_opt_outs_pending 0$/m.test(
      await (await fetch(`${edge.serving.url}/metrics`)).text(),
    ),
  )

it.each([
  ['BEGINS', false],
  ['ENDS', true],
] as const)(
  'an opt-out of a project that %s to inherit a list meanwhile is on the list that it reads then',
  async (code, inheritsBefore) => {
    const number = inheritsBefore ? '7185550100' : '2125550100'
    await saveProject(code, inheritsBefore, 'POST')
    await untilDecided(edge, number, 'allow permitted', code)
    edge.line.pause()
    const optOut = { phoneList: number, actionType: 'add', projId: code }
    expect((await send(edge, '/app/main/rpc/pdnc', optOut)).status).toBe(200)
    await saveProject(code, !inheritsBefore, 'PUT')
    // The edge copies the account before the center takes the opt-out.
    await setStatus(code, 'inactive')
    await untilDecided(center, number, 'block unknown-project', code)
    const refusals = countRefusals()
    edge.line.resume()
    await until('the center refuses it', () => countRefusals() > refusals)
    await setStatus(code, 'active')
    for (const on of [center, edge]) {
      await untilDecided(on, number, 'block internal-dnc', code)
    }
    await untilPassedOn()
    const isOfMaster = inheritsBefore ? 'allow permitted' : 'block internal-dnc'
    for (const on of [center, edge]) {
      await untilDecided(on, number, isOfMaster)
      await untilDecided(on, number, 'block internal-dnc', code)
    }
  },
)
