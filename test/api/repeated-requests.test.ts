/** A request for a decision that is sent again with its `Idempotency-Key` has one decision, and counts as one call. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let app: TestCallgate

beforeEach(async () => {
  app = await openTestCallgate({
    environment: { CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z' },
  })
})

afterEach(() => app.end())

const florida = '3055550106'
const call = { number: florida, callKind: 'ai' }

interface Sent {
  readonly body?: object
  readonly key?: string
  readonly path?: string
}

async function send(
  idempotencyKey: string,
  { body = call, key, path = '/v1/decisions' }: Sent = {},
) {
  const response = await fetch(`${app.url}${path}`, {
    method: 'POST',
    headers: {
      loginId: key ?? app.keys.sandbox,
      'content-type': 'application/json',
      'idempotency-key': idempotencyKey,
    },
    body: JSON.stringify(body),
  })
  return { status: response.status, text: await response.text(), headers: response.headers }
}

async function countAttempts(): Promise<number> {
  const { storage } = app.callgate
  return (await storage.db.selectFrom('attempts').select('decision_id').execute()).length
}

const laterBy = async (ms: number) => {
  app.clock.at += ms
}

it('has the same decision, byte for byte, and takes one attempt', async () => {
  const first = await send('order-7')
  expect(first.status).toBe(200)
  expect(JSON.parse(first.text)).toMatchObject({ decision: 'allow', dial: florida })
  for (let again = 0; again < 5; again += 1) {
    expect((await send('order-7')).text).toBe(first.text)
  }
  expect(await countAttempts()).toBe(1)
  const other = JSON.parse((await send('order-8')).text)
  expect(other).toMatchObject({ decision: 'allow' })
  expect(other.id).not.toBe(JSON.parse(first.text).id)
  expect(await countAttempts()).toBe(2)
})

it('is a conflict once the number was erased', async () => {
  const { id } = JSON.parse((await send('order-7')).text)
  const { journal } = app.callgate
  const erasure = { number: florida, accountId: undefined, includesAllowed: true }
  journal.erase({ id: 'e1', ...erasure })
  await expect
    .poll(async () => (await app.get(`/v1/decisions/${id}`)).text())
    .toContain('"erased":true')
  const again = await send('order-7')
  expect([again.status, again.text]).toEqual([
    409,
    expect.stringContaining('was erased; use a new key'),
  ])
})

it('is decided once when it is sent ten times at the same moment', async () => {
  const answers = await Promise.all(Array.from({ length: 10 }, () => send('order-7')))
  const decided = answers.filter(({ status }) => status === 200)
  expect(new Set(decided.map(({ text }) => JSON.parse(text).id)).size).toBe(1)
  for (const { status, text, headers } of answers.filter((one) => one.status !== 200)) {
    expect(status).toBe(409)
    expect(text).toContain('is being decided')
    expect(headers.get('retry-after')).toBe('1')
  }
  expect(await countAttempts()).toBe(1)
})

it('has the same block, over the one-line call too', async () => {
  const blocked = { number: '2125550100', callKind: 'ai' }
  const first = await send('b', { body: blocked })
  expect(JSON.parse(first.text)).toMatchObject({ decision: 'block', reason: 'no-consent' })
  await expect.poll(async () => (await send('b', { body: blocked })).text).toBe(first.text)
  const path = '/v1/predial'
  const line = await send('line', { path, body: { number: florida, kind: 'ai', format: 'sent' } })
  expect(line.text).toMatch(/^allow:3055550106:\w+:end\n$/)
  const again = await send('line', { path, body: { number: florida, kind: 'ai', format: 'sent' } })
  expect(again.text).toBe(line.text)
})

it('has an allow only as long as that may be acted on, and while no outcome of the call is reported', async () => {
  const refused = async (key: string) => {
    const { status, text } = await send(key)
    expect(status).toBe(409)
    expect(text).toContain('no longer allows the call; use a new key')
  }
  await send('late')
  await laterBy(59_999)
  expect((await send('late')).status).toBe(200)
  await laterBy(1)
  await refused('late')
  const { id } = JSON.parse((await send('placed')).text)
  const path = `/v1/decisions/${id}/outcome`
  expect((await app.postJson(path, { state: 'not-placed' }, app.keys.sandbox)).status).toBe(200)
  await expect.poll(async () => (await send('placed')).status).toBe(409)
  await refused('placed')
})

it('is a conflict on the one-line call too, which says so', async () => {
  const path = '/v1/predial'
  const conflict = { status: 409, text: 'block:conflict:-:end\n' }
  const body = { number: florida, kind: 'ai' }
  expect((await send('line', { path, body })).text).toMatch(/^allow:/)
  await laterBy(60_000)
  expect(await send('line', { path, body })).toMatchObject(conflict)
  const other = { number: '2125550106', kind: 'ai' }
  expect(await send('line', { path, body: other })).toMatchObject(conflict)
})

it('is decided anew after a block that only says that nothing could be decided', async () => {
  const pausing = app.callgate.storage.db
  await pausing.schema.alterTable('internal_dnc').renameTo('hidden').execute()
  const blocked = JSON.parse((await send('order-7')).text)
  expect(blocked).toMatchObject({ decision: 'block', reason: 'check-unanswered' })
  await pausing.schema.alterTable('hidden').renameTo('internal_dnc').execute()
  await expect.poll(async () => JSON.parse((await send('order-7')).text).decision).toBe('allow')
})

it('is refused with another request, and has nothing to do with another account or key', async () => {
  const first = JSON.parse((await send('order-7')).text)
  for (const body of [
    { ...call, number: '2125550106' },
    { ...call, reference: 'x' },
  ]) {
    const { status, text } = await send('order-7', { body })
    expect(status).toBe(409)
    expect(text).toContain("Idempotency-Key 'order-7': was used for another request; use a new one")
  }
  const ofMain = await send('order-7', { key: app.keys.main })
  expect(ofMain.status).toBe(200)
  expect(JSON.parse(ofMain.text)).toMatchObject({ accountId: 'main' })
  const second = await app.callgate.keys.create({
    accountId: 'sandbox',
    label: 'second',
    role: 'Agent',
  })
  const ofSecond = await send('order-7', { key: second.key })
  expect(ofSecond.status).toBe(200)
  expect(JSON.parse(ofSecond.text).id).not.toBe(first.id)
  expect(JSON.parse((await send('order-7')).text).id).toBe(first.id)
})

it('is decided anew a minute after a server that ended while it decided', async () => {
  const { db } = app.callgate.storage
  await send('order-7')
  await db.updateTable('repeated_requests').set({ decision_id: null }).execute()
  expect((await send('order-7')).status).toBe(409)
  await laterBy(60_001)
  const other = await send('order-7', { body: { ...call, reference: 'x' } })
  expect([other.status, other.text]).toEqual([409, expect.stringContaining('another request')])
  const { status, text } = await send('order-7')
  expect(status).toBe(200)
  expect((await send('order-7')).text).toBe(text)
})

it('is blocked by a shut server, which remembers nothing of it, and has its first decision afterwards', async () => {
  const { storage, shut, journal } = app.callgate
  const readRows = () => storage.db.selectFrom('repeated_requests').selectAll().execute()
  const first = await send('order-7')
  await journal.drain()
  const [rows, records] = [await readRows(), journal.durableSeq]
  shut.problem = 'the database is of another installation'
  for (const key of ['order-7', 'order-8']) {
    const { status, text } = await send(key)
    expect(status).toBe(200)
    expect(JSON.parse(text)).toMatchObject({ decision: 'block', reason: 'not-recorded' })
  }
  const path = '/v1/predial'
  const line = await send('line', { path, body: { number: florida, kind: 'ai' } })
  expect(line).toMatchObject({ status: 503 })
  expect(line.text).toMatch(/^block:not-recorded:/)
  await journal.drain()
  expect(await readRows()).toEqual(rows)
  expect(journal).toMatchObject({ durableSeq: records, lostCount: 0 })
  shut.problem = undefined
  expect((await send('order-7')).text).toBe(first.text)
  expect(await countAttempts()).toBe(1)
})

it('never keeps an emergency call from being placed', async () => {
  for (let again = 0; again < 2; again += 1) {
    const { status, text } = await send('e', { body: { number: '911', callKind: 'ai' } })
    expect(status).toBe(200)
    expect(JSON.parse(text)).toMatchObject({ decision: 'allow', reason: 'service-code' })
  }
})

it.each(['', 'with space', 'x'.repeat(129), 'é'])('is refused with the key %j', async (key) => {
  const answer = await send(key).catch(() => undefined)
  // What no header may hold does not leave the client.
  if (answer === undefined) return expect(key).toBe('é')
  expect(answer.status).toBe(400)
  expect(answer.text).toContain('Idempotency-Key')
})

it('is refused for permits, of which each is made once', async () => {
  const body = { number: florida, callKind: 'ai', callerId: '2125550199' }
  const { status, text } = await send('p', { path: '/v1/permits', body })
  expect(status).toBe(400)
  expect(text).toContain('is not for permits; leave it out')
})

it.each([
  [
    'an acknowledged opt-out',
    async () => {
      const optOut = { number: florida, channel: 'call-voice', source: 'agent', said: 'stop' }
      expect((await app.postJson('/v1/opt-outs', optOut, app.keys.sandbox)).status).toBe(200)
    },
    'consent-revoked',
  ],
  [
    'a pause of the key',
    async (id: string) => {
      await app.callgate.pauses.pause({ subject: `key:${id}`, because: 'lost', pausedBy: 'Ann' })
    },
    'key-paused',
  ],
  [
    'narrower limits of the key',
    async (id: string) => {
      await app.callgate.keys.change(id, { callKinds: ['manual'], by: 'Ann' })
    },
    'key-kind',
  ],
])(
  'is judged again after %s: the earlier allow is withdrawn, for good and on record',
  async (_, change, reason) => {
    const { id, key } = await app.callgate.keys.create({
      ...{ accountId: 'sandbox', label: 'dialer', role: 'Administrator' },
    })
    const first = JSON.parse((await send('order-7', { key })).text)
    expect(first.decision).toBe('allow')
    await change(id)
    await laterBy(1_001)
    const second = await send('order-7', { key })
    const answer = JSON.parse(second.text)
    expect(answer, second.text).toMatchObject({ decision: 'block', withdraws: first.id })
    expect(answer.reason).toBe(reason)
    expect(answer.id).not.toBe(first.id)
    expect(answer).not.toHaveProperty('dial')
    const read = async () => await app.get(`/v1/decisions/${answer.id}`, app.keys.sandbox)
    await expect.poll(async () => (await read()).status).toBe(200)
    expect(await (await read()).json()).toMatchObject({ withdraws: first.id, reason })
    expect((await send('order-7', { key })).text).toBe(second.text)
    expect(await countAttempts()).toBe(1)
  },
)
