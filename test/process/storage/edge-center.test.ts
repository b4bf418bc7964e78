/** What an edge and its center tell each other: opt-outs of projects, and changes of many numbers. */
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
    /^callgate_edge_unconfirmed_opt_outs 0$/m.test(
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

it('an edge and its center together allow three calls to a person in Florida', async () => {
  const number = '3055550100'
  const asked = [center, edge, edge, center, edge].map((on) => decide(on, number))
  const decided = (await Promise.all(asked)).sort()
  const refused = 'block too-many-attempts'
  expect(decided).toEqual([...Array(3).fill('allow permitted'), ...Array(2).fill(refused)])
  const count = `select count(*) as n from attempts where number = '${number}'`
  expect(Number((await cluster.query(count))[0]?.n)).toBe(3)
})

it('an attempt of another account is not counted for an edge', async () => {
  const attempt = {
    decisionId: 'd1',
    keyId: '',
    accountId: 'main',
    call: { number: '3055550101', callKind: 'manual' },
    at: Date.now(),
  }
  const limits = { frequency: [], isShadowed: false }
  const take = (more: object) =>
    send(center, '/v1/edge/attempts', {
      of: { action: 'take', attempt: { ...attempt, ...more }, limits },
    })
  expect((await take({})).status).toBe(403)
  expect((await take({ accountId: 'sandbox', keyId: 'key-of-another' })).status).toBe(403)
  expect((await take({ accountId: 'sandbox', call: { number: '911' } })).status).toBe(400)
  expect((await take({ accountId: 'sandbox' })).status).toBe(200)
})

interface Changes {
  readonly cursor: string
  readonly isUnknown: boolean
  readonly hasMore: boolean
  readonly numbers: readonly string[]
  readonly rows: { readonly internal_dnc: readonly { readonly number: string }[] }
}

async function askChanges(after = ''): Promise<Changes> {
  const url = `${center.serving.url}/v1/edge/changes?waitMs=500&after=${after}`
  return (await (await fetch(url, { headers: { loginId: cluster.key } })).json()) as Changes
}

const maxRows = 1_000

it('divides what changes many numbers, or a number on many lists, among answers', async () => {
  const { cursor } = await askChanges()
  const numbers = Array.from({ length: 3_500 }, (_, index) => `646555${1_000 + index}`)
  const optOuts = { phoneList: numbers.join(','), actionType: 'add' }
  expect((await send(center, '/app/main/rpc/pdnc', optOuts)).status).toBe(200)
  // The edge asks from the same cursor: one answer for both would have been counted before the lists are more.
  await untilDecided(edge, '6465554499', 'block internal-dnc')
  // Each of the first hundred is on thirty lists.
  const others =
    'account_id, number, added_at, modified_at, removed_at, opted_out_at, stored_at, opted_out_seq, opted_out_by_date'
  await cluster.query(`insert into internal_dnc (list, ${others})
    select 'L' || list_number, ${others} from internal_dnc, generate_series(1, 30) as list_number
    where number between '6465551000' and '6465551099'`)
  const read = async (from: string) => {
    const found = new Set<string>()
    let answers = 0
    for (let after = from; ; ) {
      const changes = await askChanges(after)
      answers += 1
      expect(changes.isUnknown).toBe(false)
      expect(changes.rows.internal_dnc.length).toBeLessThanOrEqual(maxRows)
      expect(new Set(changes.rows.internal_dnc.map(({ number }) => number))).toEqual(
        new Set(changes.numbers),
      )
      for (const number of changes.numbers) found.add(number)
      if (!changes.hasMore) return { found, answers }
      after = changes.cursor
    }
  }
  const { found, answers } = await read(cursor)
  expect(found).toEqual(new Set(numbers))
  expect(answers).toBeGreaterThan(6)
  // A failover that loses the change gives its number to another one, of which nothing was sent.
  const part = await askChanges(cursor)
  expect(part.hasMore).toBe(true)
  await cluster.query(`update changes set at = at + 1 where seq = ${part.cursor.split('-', 1)[0]}`)
  expect(await askChanges(part.cursor)).toMatchObject({ isUnknown: true })
  await untilDecided(edge, '6465554499', 'block internal-dnc')
})

it.each([
  ['center', 'callgate changes'],
  ['edge', undefined],
] as const)(
  'the %s refuses to say that numbers are clear while it may not know of an opt-out',
  async (name, mark) => {
    const on = name === 'center' ? center : edge
    const ask = async (path: string, fields: object) => {
      const { status, text } = await send(on, path, fields)
      return status === 503 ? text : `status ${status}`
    }
    const scrub = () => ask('/app/main/rpc/scrub', { phoneList: '6465550100' })
    const many = Array.from({ length: 300 }, (_, index) => `646555${1_000 + index}`).join(',')
    const scrubMany = () => ask('/app/main/rpc/scrub', { phoneList: many })
    const litigator = () => ask('/v1.5/Scrub/litigator', { PhoneList: '6465550100' })
    const asks = { scrub, scrubMany, litigator }
    for (const [what, request] of Object.entries(asks)) {
      await until(`it answers: ${what}`, async () => (await request()) === 'status 200')
    }
    on.line.pause(mark)
    await untilDecided(on, '6465550100', 'block not-current')
    for (const [what, request] of Object.entries(asks)) {
      expect(await request(), what).toContain('does not know what others have stored')
    }
    on.line.resume()
    for (const [what, request] of Object.entries(asks)) {
      await until(`it answers: ${what}`, async () => (await request()) === 'status 200')
    }
  },
)

it('an opt-out of everything that an edge is given holds for every project, also of one that the edge does not know', async () => {
  const number = '6465550100'
  await saveProject('OWN', false, 'POST')
  await saveProject('ASLEEP', false, 'POST')
  await setStatus('ASLEEP', 'inactive')
  for (const code of [undefined, 'OWN']) await untilDecided(edge, number, 'allow permitted', code)
  await untilDecided(edge, number, 'block unknown-project', 'ASLEEP')
  edge.line.pause()
  const said = {
    said: 'I will sue you',
    goods: 'solar panels',
    channel: 'call-voice',
    source: 'agent',
  }
  const { status, text } = await send(edge, '/v1/opt-outs', { number, ...said })
  expect(status, text).toBe(200)
  await saveProject('MEANWHILE', false, 'POST')
  await expect.poll(() => decide(center, number, 'MEANWHILE')).toBe('allow permitted')
  edge.line.resume()
  await untilPassedOn()
  const stored = await cluster.query(
    `select said, goods, channel, source, understood, scope from opt_out_statements where number = '${number}'`,
  )
  expect(stored).toEqual([{ ...said, understood: expect.anything(), scope: 'everything' }])
  expect(Number(stored[0]?.understood)).toBe(0)
  await saveProject('AFTERWARDS', false, 'POST')
  await setStatus('ASLEEP', 'active')
  for (const on of [center, edge]) {
    for (const code of [undefined, 'OWN', 'ASLEEP', 'MEANWHILE', 'AFTERWARDS']) {
      await untilDecided(on, number, 'block internal-dnc', code)
    }
  }
})
