/** Several servers over one PostgreSQL database: what one has acknowledged holds for all, or they block. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { until } from '../../e2e/asterisk/lab/until.js'
import { type Cluster, type ClusterNode, openCluster } from '../../support/cluster.js'
import { fetchMetrics } from '../../support/fresh-metrics.js'
import { callgate } from '../../support/program.js'

let cluster: Cluster
let first: ClusterNode
let second: ClusterNode

beforeAll(async () => {
  // How long a slow machine takes is tested elsewhere.
  const settings = { CALLGATE_GATE_DEADLINE_MS: '5000', CALLGATE_CLUSTER_MAX_STALENESS_MS: '1000' }
  cluster = await openCluster({ count: 2, settings })
  const [one, two] = cluster.nodes
  if (!one || !two) throw new Error('there are not two servers')
  first = one
  second = two
})

afterAll(() => cluster.close())

const areaCodes =
  '212 718 646 917 347 516 914 201 973 908 732 609 215 267 610 717 412 724 302 410 301 443 202 703 804 757 540 919 ' +
  '704 336 910 803 843 864 404 770 678 706 912 305 786 954 561 813 727 407 321 850 904 614 216 513 937 313 248'
/** Landlines of the sandbox, on no list. */
const lines = areaCodes.split(' ').map((areaCode) => `${areaCode}5550100`)
const line = (index: number) => lines[index] ?? ''

function send({ serving }: ClusterNode, path: string, body: object, key = cluster.key) {
  return fetch(`${serving.url}${path}`, {
    method: 'POST',
    headers: { loginId: key, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify(body),
  })
}

async function decide(on: ClusterNode, number: string): Promise<string> {
  const response = await send(on, '/v1/decisions', { number, callKind: 'manual' })
  if (!response.ok) return `status ${response.status}`
  const { decision, reason } = (await response.json()) as { decision: string; reason: string }
  return `${decision} ${reason}`
}

const pdnc = (on: ClusterNode, phoneList: string, actionType = 'add') =>
  send(on, '/app/main/rpc/pdnc', { phoneList, actionType }).then(({ status }) => status)

const readMetric = async ({ serving: { url } }: ClusterNode, name: string) => {
  const text = await fetchMetrics(url)
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
}

/** Resolves to how long after the acknowledgement it was blocked. */
async function measureUntilBlocked(on: ClusterNode, number: string): Promise<number> {
  const acknowledgedAt = performance.now()
  for (;;) {
    const askedAt = performance.now()
    const decision = await decide(on, number)
    if (decision === 'block internal-dnc') return performance.now() - acknowledgedAt
    if (decision.startsWith('block ')) await pause(20)
    else
      expect(askedAt - acknowledgedAt, `${decision}, asked that many ms after`).toBeLessThan(1_000)
  }
}

it('an opt-out that one server has acknowledged is enforced by the other within a second', async () => {
  const took: number[] = []
  for (let index = 0; index < 30; index += 1) {
    const number = line(index)
    const [here, there] = index % 2 === 0 ? [first, second] : [second, first]
    await expect.poll(() => decide(there, number)).toBe('allow permitted')
    expect(await pdnc(here, number)).toBe(200)
    took.push(await measureUntilBlocked(there, number))
  }
  took.sort((one, other) => one - other)
  process.stdout.write(
    `opt-out to enforced on the other server: p50 ${took[15]?.toFixed(0)}, slowest ${took.at(-1)?.toFixed(0)} ms\n`,
  )
})

it('so is a long list, and what is taken off the list again', async () => {
  const numbers = Array.from({ length: 1_000 }, (_, index) => String(2_122_350_000 + index))
  const number = line(36)
  numbers.push(number)
  await expect.poll(() => decide(second, number)).toBe('allow permitted')
  expect(await pdnc(first, numbers.join(','))).toBe(200)
  await measureUntilBlocked(second, number)
  expect(await pdnc(second, number, 'remove')).toBe(200)
  await expect.poll(() => decide(second, number)).toBe('allow permitted')
  await until('the first allows it, too', async () => (await decide(first, number)).startsWith('a'))
})

it('a key that a command has revoked opens neither', async () => {
  const created = await callgate(['keys', 'create', '--account', 'sandbox'], cluster.environment)
  const key = /(?<![\w-])[\w-]{32,}(?![\w-])/.exec(created.out)?.[0] ?? ''
  const ask = async (on: ClusterNode) =>
    (await send(on, '/v1/decisions', { number: '2125550100', callKind: 'manual' }, key)).status
  for (const on of [first, second])
    await expect.poll(() => ask(on), { message: created.out + created.err }).toBe(200)
  const id = (await cluster.query('select id from api_keys order by created_at desc limit 1'))[0]
    ?.id
  const revoked = await callgate(['keys', 'revoke', String(id)], cluster.environment)
  expect(revoked.code, revoked.err).toBe(0)
  for (const on of [first, second]) {
    await until('it is refused', async () => (await ask(on)) === 401)
  }
})

it('a server that hears nothing blocks, and catches up when the line is back', async () => {
  const numbers = [line(40), line(41)]
  for (const number of numbers)
    await expect.poll(() => decide(second, number)).toBe('allow permitted')
  second.line.pause()
  try {
    expect(await pdnc(first, line(40))).toBe(200)
    await untilNothingIsAllowed(second, numbers)
    expect(await decide(second, '911')).toBe('allow service-code')
    await until('it says why', async () => {
      const ready = await fetch(`${second.serving.url}/readyz`)
      const text = await ready.text()
      return ready.status === 503 && text.includes('what others have stored is known until')
    })
    await expect.poll(() => decide(first, line(43))).toBe('allow permitted')
  } finally {
    second.line.resume()
  }
  // A number of its own: another call to one of those above could exceed the limit on attempts.
  await expect.poll(() => decide(second, line(42))).toBe('allow permitted')
  expect(await decide(second, line(40))).toBe('block internal-dnc')
})

/** A key or an answer that is not cached cannot be read, so some get status 503. */
async function untilNothingIsAllowed(on: ClusterNode, numbers: readonly string[]): Promise<void> {
  const acknowledgedAt = performance.now()
  for (;;) {
    const askedAt = performance.now()
    const decisions = await Promise.all(numbers.map((number) => decide(on, number)))
    if (decisions.every((one) => /^block|^status 503/.test(one))) return
    expect(askedAt - acknowledgedAt, decisions.join()).toBeLessThan(1_000)
  }
}

it('what was stored while a server had no connection holds once it has one again', async () => {
  for (let index = 0; index < 5; index += 1) {
    const number = line(45 + index)
    await expect.poll(() => decide(second, number)).toBe('allow permitted')
    second.line.cut()
    expect(await pdnc(first, number)).toBe(200)
    await measureUntilBlocked(second, number)
  }
})

it('every change has a number, without a gap', async () => {
  const [row] = await cluster.query(
    'select count(*)::int as count, max(seq)::int - min(seq)::int + 1 as span, max(seq)::int as newest, ' +
      '(select seq::int from change_head) as head from changes',
  )
  expect(row?.count).toBeGreaterThan(40)
  expect(row).toMatchObject({ span: row?.count, newest: row?.head })
})

it('servers that are not asked anything, and the dry run of an import, store no change', async () => {
  const file = join(cluster.folder, 'opt-outs.csv')
  const rows = Array.from({ length: 3_000 }, (_, index) => `${2_125_560_000 + index},2026-11-20`)
  writeFileSync(file, ['number,date', ...rows, ''].join('\n'))
  const readHead = async () => (await cluster.query('select seq from change_head'))[0]?.seq
  await callgate(['accounts', 'list'], cluster.environment)
  const before = await readHead()
  const dryRun = ['records', 'import', 'opt-outs', file, '--account', 'sandbox', '--dry-run']
  const { code, err } = await callgate(dryRun, cluster.environment)
  expect(code, err).toBe(0)
  // The leader has looked for work twice.
  await pause(2_500)
  expect(await readHead()).toBe(before)
})

it('one server is the leader, and another takes over when it is killed', async () => {
  const leaders = async () => [
    await readMetric(first, 'callgate_leader'),
    await readMetric(second, 'callgate_leader'),
  ]
  await until('there is one leader', async () => (await leaders()).join('').includes('1'))
  const [isFirst] = await leaders()
  expect(await leaders()).toEqual(isFirst === 1 ? [1, 0] : [0, 1])
  const [leader, other] = isFirst === 1 ? [first, second] : [second, first]
  await leader.serving.end('SIGKILL')
  await until('the other leads', async () => (await readMetric(other, 'callgate_leader')) === 1)
  await leader.restart()
  expect(await decide(leader, line(0))).toBe('block internal-dnc')
  expect(await readMetric(leader, 'callgate_leader')).toBe(0)
})
