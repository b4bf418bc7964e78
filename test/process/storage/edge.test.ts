/** An edge beside servers that share a PostgreSQL database: it decides as they do, or blocks. */
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parse } from 'yaml'
import { until } from '../../e2e/asterisk/lab/until.js'
import { type Cluster, type ClusterNode, openCluster } from '../../support/cluster.js'
import { shortOrLong } from '../../support/long.js'
import { spoken } from '../../support/platform-door.js'
import { callgate, type Serving, serve } from '../../support/program.js'
import { openTcpProxy, type TcpProxy } from '../../support/tcp-proxy.js'

let cluster: Cluster
let first: ClusterNode
let second: ClusterNode
/** To the first and the second server. */
let lines: readonly TcpProxy[]
let edge: Serving
let edgeSettings: Readonly<Record<string, string>>

beforeAll(async () => {
  // How long a slow machine takes is tested elsewhere.
  const settings = { CALLGATE_GATE_DEADLINE_MS: '5000', CALLGATE_CLUSTER_MAX_STALENESS_MS: '1000' }
  cluster = await openCluster({ count: 2, settings })
  const [one, two] = cluster.nodes
  if (!one || !two) throw new Error('there are not two servers')
  first = one
  second = two
  lines = await Promise.all(
    [one, two].map(({ serving }) => openTcpProxy(Number(new URL(serving.url).port))),
  )
  const loginIdFile = join(cluster.folder, 'edge-key')
  writeFileSync(loginIdFile, `${await createKey('edge,records')}\n`)
  edgeSettings = {
    ...settings,
    CALLGATE_DATA_DIR: join(cluster.folder, 'edge'),
    CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
    CALLGATE_EDGE_CENTERS: `[${lines.map(({ port }) => `http://127.0.0.1:${port}`).join(', ')}]`,
    CALLGATE_EDGE_LOGIN_ID_FILE: loginIdFile,
    CALLGATE_CALLING_HOURS_RULES_FILE: writeOwnRules(),
  }
  for (const number of ['2125550100', '7185550100'])
    expect(await pdnc(first.serving, number)).toBe(200)
  edge = await serve(edgeSettings)
  await untilReady()
})

afterAll(async () => {
  await edge.end('SIGTERM')
  for (const line of lines) line.close()
  await cluster.close()
})

/** Of the edge alone: they cite another law of New York. */
function writeOwnRules(): string {
  const { regions, ...rest } = parse(readFileSync('config/calling-rules.yaml', 'utf8'))
  const NY = { ...regions.NY, citation: 'Law of the edge' }
  const file = join(cluster.folder, 'edge-rules.yaml')
  writeFileSync(file, JSON.stringify({ ...rest, regions: { ...regions, NY } }))
  return file
}

async function createKey(
  rights: string,
  account = 'sandbox',
  role = 'Administrator',
): Promise<string> {
  const made = await callgate(
    ['keys', 'create', '--account', account, '--role', role, '--can', rights, '--label', 'edge'],
    cluster.environment,
  )
  expect(made).toMatchObject({ code: 0 })
  return /(?<!\S)\S{44}(?!\S)/.exec(made.out)?.[0] ?? ''
}

function send({ url }: Pick<Serving, 'url'>, path: string, body: object | null, key = cluster.key) {
  return fetch(`${url}${path}`, {
    method: 'POST',
    headers: { loginId: key, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify(body),
  })
}

async function decide(on: Serving, number: string, callKind = 'manual'): Promise<string> {
  const response = await send(on, '/v1/decisions', { number, callKind })
  if (!response.ok) return `status ${response.status}`
  const { decision, reason } = (await response.json()) as { decision: string; reason: string }
  return `${decision} ${reason}`
}

const pdnc = (on: Serving, phoneList: string, actionType = 'add') =>
  send(on, '/app/main/rpc/pdnc', { phoneList, actionType }).then(({ status }) => status)

const consent = (phoneNumber: string) => ({
  keepBetterEbr: false,
  ebrList: [{ phoneNumber, type: 'P', dateOfLastContact: '2026-11-20' }],
})

const isReady = async () => (await fetch(`${edge.url}/readyz`)).status === 200

const untilReady = () => until('the edge is current', isReady)

const untilDecided = (on: Serving, number: string, wanted: string) =>
  until(`${number} is decided: ${wanted}`, async () => (await decide(on, number)) === wanted)

/** No call is allowed later than a second after the acknowledgement, which was just now. */
async function untilEnforced(number: string): Promise<void> {
  const acknowledgedAt = performance.now()
  for (;;) {
    const askedAt = performance.now()
    const decision = await decide(edge, number)
    if (decision === 'block internal-dnc') return
    if (decision.startsWith('block ')) await pause(20)
    else expect(askedAt - acknowledgedAt, decision).toBeLessThan(1_000)
  }
}

it('has the opt-outs, keys and projects from before it started', async () => {
  expect(await decide(edge, '2125550100')).toBe('block internal-dnc')
  expect(await decide(edge, '7185550100')).toBe('block internal-dnc')
  await expect.poll(() => decide(edge, '6465550100')).toBe('allow permitted')
})

it('gives a key nothing of another account, and an Administrator alone', async () => {
  const ask = async (path: string, key: string) => {
    const { url } = first.serving
    const response = await fetch(`${url}/v1/edge/${path}`, { headers: { loginId: key } })
    return { status: response.status, body: (await response.json()) as unknown }
  }
  const stranger = await createKey('edge', 'main')
  const account = await ask('account', stranger)
  expect(account).toMatchObject({ status: 200, body: { accountId: 'main' } })
  expect(JSON.stringify(account.body)).not.toContain('sandbox')
  const none = { status: 200, body: { accountId: 'main', rows: [], next: null } }
  expect(await ask('records?table=internal_dnc', stranger)).toEqual(none)
  expect(await ask('records?table=ebr_records', stranger)).toEqual(none)
  const changes = await ask('changes?waitMs=0', stranger)
  const { cursor } = changes.body as { cursor: string }
  expect(await pdnc(first.serving, '2155550100')).toBe(200)
  expect(await ask(`changes?waitMs=1000&after=${cursor}`, stranger)).toMatchObject({
    status: 200,
    body: { isUnknown: false, numbers: [], rows: { internal_dnc: [] } },
  })
  const supervisor = await createKey('edge', 'sandbox', 'Supervisor')
  expect(await ask('account', supervisor)).toMatchObject({ status: 403 })
  expect(await ask('records?table=accounts', stranger)).toMatchObject({ status: 400 })
})

it('enforces an opt-out of the center within a second, and its end', async () => {
  for (const number of ['9175550100', '3475550100', '5165550100']) {
    await expect.poll(() => decide(edge, number)).toBe('allow permitted')
    expect(await pdnc(second.serving, number)).toBe(200)
    await untilEnforced(number)
  }
  expect(await pdnc(first.serving, '9175550100', 'remove')).toBe(200)
  await untilDecided(edge, '9175550100', 'allow permitted')
})

it('takes consents from the center', async () => {
  expect(await decide(edge, '7185550103')).toBe('block national-dnc')
  expect((await send(first.serving, '/app/main/rpc/ebr', consent('7185550103'))).status).toBe(200)
  await untilDecided(edge, '7185550103', 'allow permitted')
})

it('takes keys from the center, also that they were revoked', async () => {
  const made = await createKey('decide')
  await until('the key is known', async () => {
    const response = await send(
      edge,
      '/v1/decisions',
      { number: '6465550100', callKind: 'manual' },
      made,
    )
    return response.status === 200
  })
  const listed = await callgate(['keys', 'list', '--account', 'sandbox'], cluster.environment)
  const id = /^(\S+).*\bdecide\b/m.exec(listed.out)?.[1] ?? ''
  expect(await callgate(['keys', 'revoke', id], cluster.environment)).toMatchObject({ code: 0 })
  await until('the key is revoked', async () => {
    const response = await send(
      edge,
      '/v1/decisions',
      { number: '6465550100', callKind: 'manual' },
      made,
    )
    return response.status === 401
  })
})

it('blocks calls to a country that the account does not call', async () => {
  const setCountries = async (countries: string) => {
    const { code } = await callgate(
      ['accounts', 'countries', 'sandbox', countries],
      cluster.environment,
    )
    expect(code).toBe(0)
  }
  await untilDecided(edge, '6465550100', 'allow permitted')
  await setCountries('CA')
  await untilDecided(edge, '6465550100', 'block foreign-number')
  await setCountries('US,CA')
  await untilDecided(edge, '6465550100', 'allow permitted')
})

it('enforces its own opt-outs at once, and passes them on', async () => {
  expect(await pdnc(edge, '9145550100')).toBe(200)
  expect(await decide(edge, '9145550100')).toBe('block internal-dnc')
  await untilDecided(first.serving, '9145550100', 'block internal-dnc')
  // It is an opt-out like any other from then on.
  await until('the edge has nothing left to pass on', async () => {
    const metrics = await (await fetch(`${edge.url}/metrics`)).text()
    return /^callgate_edge_unconfirmed_opt_outs 0$/m.test(metrics)
  })
  expect(await pdnc(first.serving, '9145550100', 'remove')).toBe(200)
  await untilDecided(edge, '9145550100', 'allow permitted')
})

it('refuses all other writes, and says where they belong', async () => {
  for (const [path, body] of [
    ['/app/main/rpc/ebr', consent('7185550103')],
    ['/app/main/rpc/pdnc', { phoneList: '2015550100', actionType: 'remove' }],
    ['/v1/keys', { label: 'of an edge', role: 'Agent' }],
    ['/v1/keys/key-0000000000', { kinds: ['ai'] }],
    ['/v1/keys/key-0000000000/revoke', {}],
    ['/v1/pauses', { subject: 'ai:main', reason: 'test' }],
    ['/v1/pauses/end', { subject: 'ai:main' }],
  ] as const) {
    const response = await send(edge, path, body)
    expect(response.status, path).toBe(503)
    expect(await response.text()).toContain('edge.centers')
  }
})

it('blocks while it is cut off, keeps the opt-outs that it is given, and recovers by itself', async () => {
  for (const line of lines) line.pause()
  await untilDecided(edge, '6465550100', 'block not-current')
  expect(await isReady()).toBe(false)
  expect(await decide(edge, '2125550100')).toBe('block internal-dnc')
  expect(await pdnc(edge, '2015550100')).toBe(200)
  expect(await pdnc(first.serving, '9735550100')).toBe(200)
  await edge.end('SIGKILL')
  edge = await serve(edgeSettings)
  expect(await decide(edge, '2015550100')).toBe('block internal-dnc')
  expect(await decide(edge, '6465550100')).toBe('block not-current')
  for (const line of lines) line.resume()
  await untilReady()
  await expect.poll(() => decide(edge, '6465550100')).toBe('allow permitted')
  expect(await decide(edge, '9735550100')).toBe('block internal-dnc')
  await untilDecided(second.serving, '2015550100', 'block internal-dnc')
})

it('catches up with many changes, and copies everything again if they are no longer known', async () => {
  const numbers = Array.from({ length: 250 }, (_, index) => `212555${1_000 + index}`)
  for (const line of lines) line.pause()
  for (const number of numbers) expect(await pdnc(first.serving, number)).toBe(200)
  for (const line of lines) line.resume()
  await untilEnforced(numbers.at(-1) ?? '')
  for (const line of lines) line.pause()
  expect(await pdnc(first.serving, '7035550100')).toBe(200)
  // As after a failover to a server that had not received it, which then gave its number to another.
  await cluster.query('update changes set at = at + 1')
  const lost = `number in ('2125550100', '2015550100')`
  await cluster.query(`delete from internal_dnc where ${lost}`)
  await edge.end('SIGKILL')
  edge = await serve(edgeSettings)
  await untilDecided(edge, '6465550100', 'block not-current')
  for (const line of lines) line.resume()
  await untilEnforced('7035550100')
  // The center has lost one that was given to it, and one that was given to the edge: both are offered again.
  await until('the center has the opt-outs again', async () => {
    const rows = await cluster.query(
      `select number from internal_dnc where ${lost} and removed_at is null`,
    )
    return rows.length === 2
  })
  expect(edge.output()).toContain('the center has lost opt-outs')
  const path = join(`${edgeSettings.CALLGATE_DATA_DIR}`, 'lost-changes.csv')
  expect(readFileSync(path, 'utf8')).toMatch(/sandbox,2015550100,/)
  await untilReady()
  for (const number of ['2125550100', '2015550100']) {
    expect(await decide(edge, number)).toBe('block internal-dnc')
    await untilDecided(second.serving, number, 'block internal-dnc')
  }
})

it('goes on copying where it was killed', async () => {
  const other = { ...edgeSettings, CALLGATE_DATA_DIR: join(cluster.folder, 'killed') }
  for (let kills = 0; kills < shortOrLong(1, 5); kills += 1) {
    const killed = await serve(other)
    await killed.end('SIGKILL')
  }
  const serving = await serve(other)
  await untilDecided(serving, '6465550100', 'allow permitted')
  expect(await decide(serving, '7185550100')).toBe('block internal-dnc')
  expect(await decide(serving, '7035550100')).toBe('block internal-dnc')
  await serving.end('SIGTERM')
})

it('ends when it is stopped just after its start', async () => {
  const other = { ...edgeSettings, CALLGATE_DATA_DIR: join(cluster.folder, 'stopped') }
  for (let stops = 0; stops < 3; stops += 1) {
    expect(await (await serve(other)).end('SIGTERM')).toBe(0)
  }
})

it('does not take an opt-out back that the center has taken off its list meanwhile', async () => {
  for (let turn = 0; turn < 3; turn += 1) {
    expect(await pdnc(edge, '8455550100')).toBe(200)
    await untilDecided(first.serving, '8455550100', 'block internal-dnc')
    expect(await pdnc(first.serving, '8455550100', 'remove')).toBe(200)
    await untilDecided(edge, '8455550100', 'allow permitted')
  }
})

it('holds the numbers that an opt-out on an unknown call may be of, at every server and the edge', async () => {
  const [hers, another] = ['8565550100', '2675550100']
  const platform = 'twilio'
  const register = async (on: ClusterNode, call: object) =>
    expect((await send(on.serving, '/v1/platform-calls', { platform, calls: [call] })).status).toBe(
      200,
    )
  const decided: Record<string, string> = {}
  for (const number of [hers, another]) {
    const answer = await send(first.serving, '/v1/decisions', { number, callKind: 'manual' })
    const { id, decision } = (await answer.json()) as { id: string; decision: string }
    expect(decision).toBe('allow')
    decided[number] = id
    await register(first, { decisionId: id, number })
  }
  const say = async (on: ClusterNode, transcript: string) => {
    const body = spoken('CA1', transcript)
    const receivedAt = new Date().toISOString()
    const event = { platform, receivedAt, body, query: '' }
    expect((await send(on.serving, '/v1/platform-events', event)).status).toBe(200)
  }
  await say(first, 'please do not')
  await say(second, 'call me again')
  for (const on of [first.serving, second.serving, edge])
    for (const number of [hers, another]) await untilDecided(on, number, 'block internal-dnc')
  await register(second, { decisionId: decided[hers], number: hers, callIds: ['CA1'] })
  for (const on of [first.serving, second.serving, edge]) {
    await untilDecided(on, another, 'allow permitted')
    expect(await decide(on, hers)).toBe('block internal-dnc')
  }
})

it('goes on with another server of the center when one is gone', async () => {
  const [line] = lines
  line?.cut()
  line?.pause()
  await untilReady()
  expect(await pdnc(second.serving, '9085550100')).toBe(200)
  await untilDecided(edge, '9085550100', 'block internal-dnc')
  line?.resume()
})

interface Made {
  readonly id: string
  readonly reason: string
  readonly rules: string
}

async function make(on: Serving = edge): Promise<Made> {
  const response = await send(on, '/v1/decisions', { number: '6465550100', callKind: 'manual' })
  return (await response.json()) as Made
}

const read = ({ serving }: Pick<ClusterNode, 'serving'>, path: string) =>
  fetch(`${serving.url}${path}`, { headers: { loginId: cluster.key, connection: 'close' } })

const untilFound = async ({ id, reason }: Made, on: ClusterNode) =>
  until(`${id} is at the center`, async () => {
    const response = await read(on, `/v1/decisions/${id}`)
    return response.ok && ((await response.json()) as { reason: string }).reason === reason
  })

it('sends its decisions to the center, also those it made while it was cut off', async () => {
  await untilFound(await make(), first)
  for (const line of lines) line.pause()
  await until('the edge is cut off', async () => !(await isReady()))
  const withheld = await make()
  expect(withheld.reason).toBe('not-current')
  for (const line of lines) line.resume()
  await untilFound(withheld, second)
  await untilReady()
})

it('sends the calling rules that they were judged by, and the center judges them again by these', async () => {
  const made = await make()
  await untilFound(made, first)
  const pathIn = (name: string) =>
    join(cluster.folder, name, 'journal', 'rules', `${made.rules}.json`)
  const keeper = [first, second].find(({ name }) => existsSync(pathIn(name)))
  if (!keeper) throw new Error(`no server has rules ${made.rules}`)
  expect(readFileSync(pathIn(keeper.name))).toEqual(readFileSync(pathIn('edge')))
  expect((await make(keeper.serving)).rules).not.toBe(made.rules)
  const replayed = await callgate(['evidence', 'replay', made.id], {
    ...cluster.environment,
    CALLGATE_DATA_DIR: join(cluster.folder, keeper.name),
  })
  expect(replayed).toMatchObject({ code: 0, out: expect.stringContaining(`rules ${made.rules}`) })
})

it('goes on sending them when its journal goes on under another name, and proves them itself', async () => {
  const before = await make()
  await untilFound(before, first)
  for (const line of lines) line.pause()
  await until('the edge is cut off', async () => !(await isReady()))
  const waiting = await make()
  await edge.end('SIGTERM')
  for (const line of lines) line.resume()
  const newOrigin = ['evidence', 'new-origin', '--because', 'it was rolled back']
  expect(await callgate(newOrigin, edgeSettings)).toMatchObject({ code: 0 })
  edge = await serve(edgeSettings)
  await untilReady()
  const after = await make()
  await untilFound(waiting, first)
  await untilFound(after, second)
  const ids = [before, waiting, after].map(({ id }) => id)
  const { decisions } = (await (await read(first, '/v1/decisions?limit=50')).json()) as {
    decisions: readonly Made[]
  }
  for (const id of ids)
    expect([id, decisions.filter((one) => one.id === id).length]).toEqual([id, 1])
  // The center has copies, and no proof.
  const { originHash } = (await (await read({ serving: edge }, '/v1/journal')).json()) as {
    originHash: string
  }
  const refused = await read(first, `/v1/decisions/${after.id}/proof`)
  expect([refused.status, await refused.text()]).toEqual([409, expect.stringContaining(originHash)])
  for (const id of ids) {
    const prove = async () => (await read({ serving: edge }, `/v1/decisions/${id}/proof`)).text()
    // A checkpoint is signed each ten seconds.
    await expect.poll(prove).toMatch(/^c2sp.org\/tlog-proof@v1/)
  }
})

it('names both edges that have copies of one folder, and loses no decision of either', async () => {
  const shared = await make()
  await untilFound(shared, first)
  await edge.end('SIGTERM')
  const copied = `${edgeSettings.CALLGATE_DATA_DIR}-copy`
  cpSync(`${edgeSettings.CALLGATE_DATA_DIR}`, copied, { recursive: true })
  edge = await serve(edgeSettings)
  await untilReady()
  const own = [await make(), await make()]
  for (const one of own) await untilFound(one, first)
  const settings = { ...edgeSettings, CALLGATE_DATA_DIR: copied }
  let other = await serve(settings)
  const others: Made[] = []
  try {
    const makeThere = async () => {
      const call = { number: '6465550100', callKind: 'manual' }
      const made = await send(other, '/v1/decisions', call)
      others.push((await made.json()) as Made)
    }
    for (let count = 0; count < 5; count += 1) await makeThere()
    const readyz = async () => await (await fetch(`${other.url}/readyz`)).text()
    await until('both are named', async () => {
      const said = await readyz()
      return said.includes('copies of one folder') && said.includes(copied)
    })
    expect(await readyz()).toContain(`${hostname()}:${edgeSettings.CALLGATE_DATA_DIR}, and is`)
    const doctor = await callgate(['doctor', '--json', '--url', other.url], settings)
    expect(doctor.out).toContain('copies of one folder')
    // The first one goes on.
    own.push(await make())
    for (const one of own) await untilFound(one, second)
  } finally {
    await other.end('SIGTERM')
  }
  const newOrigin = ['evidence', 'new-origin', '--because', 'a copy of the folder']
  expect(await callgate(newOrigin, settings)).toMatchObject({ code: 0 })
  other = await serve(settings)
  try {
    for (const one of others) await untilFound(one, first)
  } finally {
    await other.end('SIGTERM')
  }
  own.push(await make())
  for (const one of [shared, ...own]) await untilFound(one, first)
  const { decisions } = (await (await read(first, '/v1/decisions?limit=100')).json()) as {
    decisions: readonly Made[]
  }
  for (const { id } of [shared, ...own, ...others])
    expect([id, decisions.filter((one) => one.id === id).length]).toEqual([id, 1])
})

it('stores no decision of another account, and nothing in the journal of a server', async () => {
  const [journal] = await cluster.query('select origin, next_seq from journals order by origin')
  const origin = String(journal?.origin)
  const stranger = await createKey('edge', 'main')
  const post = async (records: readonly object[]) => {
    const body = { origin, firstSeq: 1, records }
    const response = await send(first.serving, '/v1/edge/decisions', body, stranger)
    return { status: response.status, text: await response.text() }
  }
  expect(await post([])).toMatchObject({
    status: 200,
    text: expect.stringContaining('"nextSeq":1'),
  })
  const twoParts = (kept: unknown) => `${JSON.stringify(kept)}\t{}`
  const decision = { id: 'd', accountId: 'sandbox', number: '', dialed: '', findings: [] }
  const record = { seq: 1, kind: 'decision', at: 1, body: twoParts(decision) }
  expect(await post([record])).toMatchObject({ status: 403 })
  expect(await post([{ ...record, body: '{' }])).toMatchObject({ status: 400 })
  const id = '0mwx1pqpn212a8fbc7589c139bbbc'
  const accountId = 'main'
  for (const [kind, body] of [
    ['decision', null],
    ['opened', null],
    ['outcome', null],
    ['decision', []],
    ['decision', 'text'],
    ['decision', { id: 5, accountId }],
    // It could not be erased.
    ['decision', { id, accountId, number: '2125550100', findings: [] }],
    ['amendment', { id, accountId, number: '2125550100', dialed: '2125550100', findings: [null] }],
    ['outcome', { outcome: {} }],
    ['outcome', { id }],
    ['outcome', { id, outcome: 5 }],
  ] as const) {
    expect(await post([{ ...record, kind, body: twoParts(body) }])).toMatchObject({
      status: 400,
      text: expect.stringContaining('records[0].body'),
    })
  }
  // Of a journal that nobody has asked about, or not the next one.
  const whole = { id, accountId, number: '2125550100', dialed: '2125550100', findings: [] }
  const next = { ...record, body: twoParts(whole) }
  const unclaimed = { origin: '0'.repeat(64), firstSeq: 1, records: [next] }
  const refused = await send(first.serving, '/v1/edge/decisions', unclaimed, stranger)
  expect([refused.status, await refused.text()]).toEqual([
    409,
    expect.stringContaining('is not claimed'),
  ])
  expect(await post([{ ...next, seq: 7 }])).toMatchObject({
    status: 409,
    text: expect.stringContaining('is the next one, not 7'),
  })
  const empty = await send(first.serving, '/v1/edge/decisions', null, stranger)
  expect(empty.status).toBe(400)
  // It may have gone on, but not back to the records that were sent.
  const after = await cluster.query(`select next_seq from journals where origin = '${origin}'`)
  expect(Number(journal?.next_seq)).toBeGreaterThan(2)
  expect(Number(after[0]?.next_seq)).toBeGreaterThanOrEqual(Number(journal?.next_seq))
})

it('does not trust what it finds in a folder', async () => {
  // It was current when it was stopped.
  const folder = join(cluster.folder, 'killed')
  const odd = { ...edgeSettings, CALLGATE_DATA_DIR: folder }
  // The clock was ahead when it was written, and the line is away now.
  const { default: Sqlite } = await import('better-sqlite3')
  const database = new Sqlite(join(folder, 'callgate.sqlite'))
  database.prepare('update edge_copy set current_at = current_at + 3600000').run()
  database.close()
  for (const line of lines) line.pause()
  const ahead = await serve(odd)
  expect(await decide(ahead, '6465550100')).toBe('block not-current')
  expect((await fetch(`${ahead.url}/readyz`)).status).toBe(503)
  await ahead.end('SIGTERM')
  for (const line of lines) line.resume()
  // The key of another account.
  const key = join(cluster.folder, 'main-key')
  writeFileSync(key, `${await createKey('edge,records', 'main')}\n`)
  const swapped = await serve({ ...odd, CALLGATE_EDGE_LOGIN_ID_FILE: key })
  await until('it says why it is not ready', async () =>
    (await (await fetch(`${swapped.url}/readyz`)).text()).includes(`copy of account 'sandbox'`),
  )
  expect(await decide(swapped, '6465550100')).toBe('block not-current')
  await swapped.end('SIGTERM')
  // Without the settings of an edge, and a folder that was none.
  const alone = Object.fromEntries(
    Object.entries(odd).filter(([name]) => !name.startsWith('CALLGATE_EDGE')),
  )
  await expect(serve(alone)).rejects.toThrow('it is the copy of an edge')
  const own = join(cluster.folder, 'own')
  const made = await callgate(['keys', 'create'], { ...alone, CALLGATE_DATA_DIR: own })
  expect(made).toMatchObject({ code: 0 })
  await expect(serve({ ...odd, CALLGATE_DATA_DIR: own })).rejects.toThrow('it has keys')
})

it('follows imports, which change any number', async () => {
  const file = join(cluster.folder, 'opt-outs.csv')
  const numbers = Array.from(
    { length: 2_500 },
    (_, index) => `303555${String(index).padStart(4, '0')}`,
  )
  writeFileSync(file, `number\n${numbers.join('\n')}\n`)
  const imported = await callgate(
    [
      'records',
      'import',
      'opt-outs',
      file,
      '--account',
      'sandbox',
      '--source',
      'test',
      '--undated',
    ],
    cluster.environment,
  )
  expect(imported).toMatchObject({ err: '', code: 0 })
  expect(await decide(first.serving, '3035551234')).toBe('block internal-dnc')
  await untilDecided(edge, '3035551234', 'block internal-dnc')
})

it('blocks while the opt-outs that a project begins to inherit are copied', async () => {
  const project = (inherits: boolean) =>
    fetch(`${first.serving.url}/v1.5/projects/Q`, {
      method: inherits ? 'PUT' : 'POST',
      headers: { loginId: cluster.key, 'content-type': 'application/json' },
      body: JSON.stringify({ ProjectCode: 'Q', ProjectName: 'Q', InheritInternalDnc: inherits }),
    })
  const made = await fetch(`${first.serving.url}/v1.5/projects`, {
    method: 'POST',
    headers: { loginId: cluster.key, 'content-type': 'application/json' },
    body: JSON.stringify({ ProjectCode: 'Q', ProjectName: 'Q', InheritInternalDnc: false }),
  })
  expect(made.status, await made.text()).toBeLessThan(300)
  const add = { phoneList: '6095550100', actionType: 'add', projId: 'Q' }
  expect((await send(first.serving, '/app/main/rpc/pdnc', add)).status).toBe(200)
  const ask = async () => {
    const asked = { number: '6095550100', callKind: 'manual', projectId: 'Q' }
    return ((await (await send(edge, '/v1/decisions', asked)).json()) as { decision: string })
      .decision
  }
  await until('the edge knows the opt-out of the project', async () => (await ask()) === 'block')
  expect((await project(true)).status).toBeLessThan(300)
  const endAt = performance.now() + 2_000
  while (performance.now() < endAt) expect(await ask()).toBe('block')
})

it('passes on other opt-outs while the center refuses those of one list', async () => {
  for (const line of lines) line.pause()
  const add = { phoneList: '2165550100', actionType: 'add', projId: 'Q' }
  await cluster.query(`update projects set inherits_internal_dnc = 0 where code = 'Q'`)
  for (const line of lines) line.resume()
  await untilReady()
  await pause(500)
  for (const line of lines) line.pause()
  expect((await send(edge, '/app/main/rpc/pdnc', add)).status).toBe(200)
  await cluster.query(`update projects set status = 'inactive' where code = 'Q'`)
  expect(await pdnc(edge, '5135550100')).toBe(200)
  for (const line of lines) line.resume()
  await untilDecided(second.serving, '5135550100', 'block internal-dnc')
  await cluster.query(`update projects set status = 'active' where code = 'Q'`)
})

it('goes on for what an operator has signed for while it is cut off, and says so in the record', async () => {
  const excepted = await serve({
    ...edgeSettings,
    CALLGATE_DATA_DIR: join(cluster.folder, 'excepted'),
    CALLGATE_EDGE_WHILE_CUT_OFF_MAX_AGE_MS: '60000',
    CALLGATE_EDGE_WHILE_CUT_OFF_REASON: 'the line of the site is being moved; signed A. Person',
    CALLGATE_EDGE_WHILE_CUT_OFF_UNTIL: '2100-01-01T00:00:00Z',
  })
  await untilDecided(excepted, '6465550100', 'allow permitted')
  const asked = { number: '6465550100', callKind: 'manual' }
  const ask = async () => (await send(excepted, '/v1/decisions', asked)).json()
  for (const line of lines) line.pause()
  try {
    await until('it is cut off', async () => (await fetch(`${excepted.url}/readyz`)).status === 503)
    await expect.poll(ask).toMatchObject({
      decision: 'allow',
      message: expect.stringContaining('the line of the site is being moved; signed A. Person'),
    })
  } finally {
    for (const line of lines) line.resume()
    await excepted.end('SIGTERM')
  }
})

it('asks about the day of a conversation that its center knows of, and takes no report of one', async () => {
  const number = '9175550113'
  const ebr = { ebrList: [{ phoneNumber: number, type: 'P', dateOfLastContact: '07/01/2026' }] }
  expect((await send(first.serving, '/app/main/rpc/ebr', ebr)).status).toBe(200)
  for (const server of [first.serving, edge]) {
    await until('it is reassigned', async () =>
      (await decide(server, number, 'ai')).includes('reassigned'),
    )
  }
  const confirm = async (on: Pick<Serving, 'url'>) => {
    const asked = await send(on, '/v1/decisions', { number, callKind: 'manual' })
    const { id } = (await asked.json()) as { readonly id: string }
    const body = { state: 'answered', answeredBy: 'person', identityConfirmed: true }
    return (await send(on, `/v1/decisions/${id}/outcome`, body)).status
  }
  expect(await confirm(edge)).toBe(503)
  expect(await confirm(first.serving)).toBe(200)
  for (const server of [first.serving, second.serving, edge]) {
    await until('it is callable', async () =>
      (await decide(server, number, 'ai')).startsWith('allow'),
    )
  }
})

it('blocks the calls of a campaign with too many abandoned calls, as its center does', async () => {
  const call = { number: '9175550106', callKind: 'autodialed', campaignId: '' }
  const ask = async ({ url }: Pick<Serving, 'url'>) => {
    const response = await send({ url }, '/v1/decisions', call)
    return (await response.json()) as { readonly id: string; readonly reason: string }
  }
  for (let abandoned = 0; abandoned < 100; abandoned += 1) {
    await expect.poll(async () => (await ask(edge)).reason).toBe('permitted')
    const { id } = await ask(first.serving)
    const outcome = { state: 'answered', answeredBy: 'person' }
    expect((await send(first.serving, `/v1/decisions/${id}/outcome`, outcome)).status).toBe(200)
  }
  for (const server of [first.serving, second.serving, edge]) {
    await until('it is blocked', async () => (await ask(server)).reason === 'abandonment-rate')
  }
})

it('takes the own numbers that calls may show from the center', async () => {
  const change = (...args: readonly string[]) =>
    callgate(['caller-ids', ...args, '--account', 'sandbox'], cluster.environment)
  const ask = async () => {
    const asked = { number: '6465550100', callKind: 'manual', callerId: '6465550151' }
    return ((await (await send(edge, '/v1/decisions', asked)).json()) as { reason: string }).reason
  }
  const untilReason = (reason: string) =>
    until(`the edge says ${reason}`, async () => (await ask()) === reason)
  await untilReason('permitted')
  const proof = ['--owner', 'Acme Inc.', '--proof', 'invoice 7']
  expect((await change('add', '6465550150', ...proof)).code).toBe(0)
  await untilReason('caller-id-not-owned')
  expect((await change('add', '6465550151', ...proof)).code).toBe(0)
  await untilReason('permitted')
  expect((await change('end', '6465550151')).code).toBe(0)
  await untilReason('caller-id-expired')
})
