/** Permits of several servers over one PostgreSQL database. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { until } from '../../e2e/asterisk/lab/until.js'
import { type Cluster, type ClusterNode, callersOf, openCluster } from '../../support/cluster.js'

const callerId = '2125550199'
let cluster: Cluster
let nodes: readonly ClusterNode[]

beforeAll(async () => {
  cluster = await openCluster({
    count: 2,
    atOnce: true,
    settings: {
      CALLGATE_GATE_DEADLINE_MS: '5000',
      CALLGATE_PERMITS_ISSUER: 'https://gate.example',
      CALLGATE_PERMITS_EDGES: '{ edge-a: { accounts: [sandbox] } }',
    },
  })
  nodes = cluster.nodes
})

afterAll(() => cluster.close())

const at = (index: number): ClusterNode => {
  const node = nodes[index % nodes.length]
  if (!node) throw new Error('there is no server')
  return node
}

const post = (index: number, path: string, body: object) =>
  fetch(`${at(index).serving.url}${path}`, {
    method: 'POST',
    headers: { loginId: cluster.key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

/** The value of a permit that a server gives. */
async function getPermit(from: number, number: string): Promise<string> {
  return await until('a permit is given', async () => {
    const response = await post(from, '/v1/permits', { number, callKind: 'manual', callerId })
    const body = (await response.json()) as { permit: { value: string } }
    expect(body).toMatchObject({ reason: 'permitted', permit: {} })
    return body.permit.value
  })
}

async function use(on: number, value: string, number: string): Promise<number> {
  const response = await post(on, '/v1/permits/use', { value, number, callerId })
  await response.arrayBuffer()
  return response.status
}

const landline = '2125550100'

it('all publish the same keys, also when they start at the same moment', async () => {
  const read = async ({ serving }: ClusterNode) =>
    await (await fetch(`${serving.url}/permits/edge-a.pem`)).text()
  const [one, other] = await Promise.all(nodes.map(read))
  expect(one).toContain('BEGIN PUBLIC KEY')
  expect(other).toBe(one)
})

it('of all uses at the same moment on two servers, one is granted', async () => {
  for (let round = 0; round < 10; round += 1) {
    const value = await getPermit(round, landline)
    const statuses: number[] = []
    const useOn = async (index: number) => {
      const status = await use(index, value, landline)
      statuses.push(status)
      return status
    }
    await Promise.all(Array.from({ length: 10 }, (_, index) => useOn(index)))
    // A slow server may refuse every use with 503; then a later one is granted.
    for (const index of [0, 1]) await expect.poll(() => useOn(index)).toBe(409)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect([200, 409, 503]).toEqual(expect.arrayContaining(statuses))
  }
})

it('an opt-out on one server ends the permits at the other', async () => {
  const number = '2125550101'
  const value = await getPermit(1, number)
  expect(await callersOf(cluster).pdnc(at(0), number)).toBe(200)
  // No server allows a call by knowledge older than cluster.maxStalenessMs.
  await new Promise((resolve) => setTimeout(resolve, 500))
  expect(await use(1, value, number)).toBe(409)
})

it('a server that does not know what others have stored grants nothing', async () => {
  const value = await getPermit(1, landline)
  at(1).line.pause()
  await new Promise((resolve) => setTimeout(resolve, 600))
  const refused = use(1, value, landline)
  expect(await refused).toBe(503)
  at(1).line.resume()
  expect(await use(0, value, landline)).toBe(200)
  await until('the other knows it too', async () => (await use(1, value, landline)) === 409)
})

it('a server whose clock is wrong grants nothing, and the permit can be used elsewhere', async () => {
  const { decide } = callersOf(cluster)
  const untilDecided = (reason: string) =>
    until(reason, async () => (await decide(at(1), landline)).endsWith(reason))
  for (const [aheadMs, reason] of [
    [20_000, 'clock-ahead'],
    [-20_000, 'clock-behind'],
  ] as const) {
    const value = await getPermit(0, landline)
    at(1).setClock(aheadMs)
    await untilDecided(reason)
    expect(await use(1, value, landline)).toBe(503)
    expect(await use(0, value, landline)).toBe(200)
    expect(await use(1, value, landline)).not.toBe(200)
    at(1).setClock(0)
    await untilDecided('permitted')
  }
})
