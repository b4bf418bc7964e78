/** Permits of keys that are limited or paused: counted once, given back at most once, and not used against a limit. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { CallLimits, PauseSubject } from '../../src/domain/mandate.js'
import type { NewApiKey } from '../../src/service/accounts/api-keys.js'
import { makePersonal } from '../support/person-keys.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

const number = '2125550106'
const callerId = '2125550199'
const environment = {
  CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
  CALLGATE_PERMITS_ISSUER: 'https://gate.example',
  CALLGATE_PERMITS_EDGES:
    '{ asking: { asks: true, accounts: [sandbox] }, apart: { accounts: [sandbox] } }',
}

interface Body {
  readonly id: string
  readonly decision: string
  readonly reason: string
  readonly state: string
  readonly detail: string
  readonly permit?: { readonly id: string; readonly value: string }
  readonly mandate?: {
    readonly approval?: { readonly id: string }
    readonly remaining?: { readonly day?: number }
  }
}

let app: TestCallgate
const paused = new Set<PauseSubject>()

beforeAll(async () => {
  app = await openTestCallgate({ environment })
})
afterAll(() => app.end())
afterEach(async () => {
  for (const subject of paused) await app.callgate.pauses.resume(subject)
  paused.clear()
})

const newKey = (more: Partial<NewApiKey> = {}) =>
  app.callgate.keys.create({ accountId: 'sandbox', role: 'Administrator', label: '', ...more })
const keyWith = (calls: CallLimits) => newKey({ calls })

async function send(path: string, body: object, key = app.keys.sandbox, scheme = 'loginId') {
  const headers = {
    'content-type': 'application/json',
    ...(scheme === 'loginId' ? { loginId: key } : { authorization: `Bearer ${key}` }),
  }
  const response = await fetch(`${app.url}${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as Body }
}

const call = { number, callKind: 'ai', callerId, edge: 'asking' }
const ask = (key: string, more: object = {}, scheme?: string) =>
  send('/v1/permits', { ...call, ...more }, key, scheme)

async function getPermit(key: string, more: object = {}, scheme?: string) {
  const { body } = await ask(key, more, scheme)
  expect(body).toMatchObject({ decision: 'allow', permit: {} })
  return { id: '', value: '', ...body.permit }
}

/** By the edge, which has a key of its own. */
const use = (value: string) => send('/v1/permits/use', { value, number, callerId })
const release = (id: string) => send(`/v1/permits/${id}/release`, {})

async function pause(subject: PauseSubject) {
  paused.add(subject)
  await app.callgate.pauses.pause({ subject, pausedBy: 'ann', because: 'test' })
}

describe('an attempt', () => {
  it('is counted when the permit is given, and not when it is used', async () => {
    const { key } = await keyWith({ attemptsPerDay: 2 })
    const first = await getPermit(key)
    expect((await use(first.value)).status).toBe(200)
    const { body } = await ask(key)
    expect(body.mandate?.remaining).toEqual({ day: 0 })
    const third = await ask(key)
    expect(third).toMatchObject({
      status: 200,
      body: { decision: 'block', reason: 'key-attempts' },
    })
    expect(third.body).not.toHaveProperty('permit')
    // The last one that was counted can be used all the same.
    expect((await use(body.permit?.value ?? '')).status).toBe(200)
  })

  it('is given back by a release, once', async () => {
    const { key } = await keyWith({ attemptsPerDay: 1, concurrent: 1 })
    const { id, value } = await getPermit(key)
    expect((await ask(key)).body.reason).toBe('key-attempts')
    for (const _ of 'twice') expect((await release(id)).body.state).toBe('released')
    expect((await use(value)).status).toBe(409)
    await getPermit(key)
    expect((await release(id)).body.state).toBe('released')
    expect((await ask(key)).body.reason).toBe('key-attempts')
  })

  it('is not given back for an edge that would still take the permit', async () => {
    const { key } = await keyWith({ attemptsPerDay: 1 })
    const { id } = await getPermit(key, { edge: 'apart' })
    expect((await release(id)).body.state).toBe('released')
    expect((await ask(key)).body.reason).toBe('key-attempts')
  })

  it('is not given back once the permit was used', async () => {
    const { key } = await keyWith({ attemptsPerDay: 1 })
    const { id, value } = await getPermit(key)
    expect((await use(value)).status).toBe(200)
    expect((await release(id)).status).toBe(409)
    expect((await ask(key)).body.reason).toBe('key-attempts')
  })

  it('of a use and releases at the same moment is given back only if the use is refused', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { key } = await keyWith({ attemptsPerDay: 1 })
      const { id, value } = await getPermit(key)
      const [used, ...released] = await Promise.all([use(value), release(id), release(id)])
      const isUsed = used?.status === 200
      expect(released.map(({ status }) => status)).toEqual(isUsed ? [409, 409] : [200, 200])
      expect((await ask(key)).body.decision).toBe(isUsed ? 'block' : 'allow')
    }
  })

  it('is given back when the permit would be too short', async () => {
    // Eastern calling hours end at 21:00.
    const late = await openTestCallgate({
      environment: { ...environment, CALLGATE_SANDBOX_AT: '2026-11-24T01:59:54.500Z' },
    })
    const { callgate } = late
    const limited = { accountId: 'sandbox', role: 'Administrator', label: '' } as const
    const { key } = await callgate.keys.create({ ...limited, calls: { attemptsPerDay: 1 } })
    const response = await late.postJson('/v1/permits', call, key)
    expect(await response.json()).toMatchObject({ decision: 'block', reason: 'permit-too-short' })
    const count = async () => {
      const rows = await callgate.storage.db.selectFrom('attempts').select('decision_id').execute()
      return rows.length
    }
    await expect.poll(count).toBe(0)
    await late.end()
  })
})

describe('an approval', () => {
  const approve = async (id: string) => {
    await makePersonal(app, app.keys.sandbox, 'ann')
    const person = await app.callgate.authenticate(app.keys.sandbox, 'login-id')
    if (!person) throw new Error('the key is unknown')
    const waiting = await app.callgate.approvals.list(person, 'waiting')
    const subjectHash = waiting.find((one) => one.id === id)?.subjectHash ?? ''
    await app.callgate.approvals.decide(person, { id, verdict: 'approve', subjectHash }, 'ann')
  }

  it('is asked for, and used once, as by a decision', async () => {
    const { key } = await keyWith({ approval: 'always' })
    const { body } = await ask(key)
    expect(body).toMatchObject({ decision: 'block', reason: 'approval-needed' })
    expect(body).not.toHaveProperty('permit')
    const approvalId = body.mandate?.approval?.id ?? ''
    const reasonOf = async (more: object) => (await ask(key, more)).body.reason
    expect(await reasonOf({ approvalId })).toBe('approval-needed')
    await approve(approvalId)
    expect(await reasonOf({ approvalId, callerId: '2125550198' })).toBe('approval-needed')
    expect(await reasonOf({ approvalId, callKind: 'manual' })).toBe('approval-needed')
    const { id } = await getPermit(key, { approvalId })
    expect(await reasonOf({ approvalId })).toBe('approval-needed')
    // It was for a call that has not been placed.
    await release(id)
    const again = await getPermit(key, { approvalId })
    expect((await use(again.value)).status).toBe(200)
    await release(id)
    expect(await reasonOf({ approvalId })).toBe('approval-needed')
  })

  it.each([['x'.repeat(65)], [7], [{}]])('of the wrong form is refused: %s', async (approvalId) => {
    const { key } = await keyWith({ approval: 'always' })
    const { status, body } = await ask(key, { approvalId })
    expect([status, body.detail]).toEqual([400, expect.stringContaining('approvalId')])
  })
})

describe('a pause holds for permits that were given before:', () => {
  const expectPaused = async (value: string, reason: string) => {
    const refused = await use(value)
    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining(reason)])
    for (const subject of paused) await app.callgate.pauses.resume(subject)
    expect((await use(value)).status).toBe(409)
  }

  it('of the key', async () => {
    const { id, key } = await newKey()
    const { value } = await getPermit(key)
    const other = await getPermit((await newKey()).key)
    await pause(`key:${id}`)
    expect((await ask(key)).body).toMatchObject({ decision: 'block', reason: 'key-paused' })
    expect((await use(other.value)).status).toBe(200)
    await expectPaused(value, 'key-paused')
  })

  it('of AI calls', async () => {
    const { key } = await newKey()
    const { value } = await getPermit(key)
    const manual = await getPermit(key, { callKind: 'manual' })
    await pause('ai')
    expect((await use(manual.value)).status).toBe(200)
    await expectPaused(value, 'ai-paused')
  })

  it('of agents', async () => {
    const agent = await newKey({ callKinds: ['ai'] })
    const { value } = await getPermit(agent.key)
    const other = await getPermit((await newKey()).key)
    await pause('agents:sandbox')
    expect((await use(other.value)).status).toBe(200)
    await expectPaused(value, 'key-paused')
  })

  it('of agents, for one that has a token of a key that may do more', async () => {
    const { key } = await newKey()
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: 'sandbox',
      client_secret: key,
      authorization_details: JSON.stringify([{ type: 'callgate_dial', kinds: ['ai'] }]),
    })
    const response = await fetch(`${app.url}/oauth/token`, { method: 'POST', body: form })
    const { access_token: token } = (await response.json()) as { access_token: string }
    const { value } = await getPermit(token, {}, 'bearer')
    await pause('agents:sandbox')
    await expectPaused(value, 'key-paused')
  })
})

describe('the limits of the key', () => {
  it('block the call, of which there is a record', async () => {
    const { key } = await newKey({ callKinds: ['manual'], calls: { callerIds: [callerId] } })
    expect((await ask(key)).body.reason).toBe('key-kind')
    const { body } = await ask(key, { callKind: 'manual', callerId: '2125550198' })
    expect(body.reason).toBe('key-caller-id')
    const record = await (await app.get(`/v1/decisions/${body.id}`)).json()
    expect(record).toMatchObject({ decision: 'block', reason: 'key-caller-id' })
  })

  it.each([
    ['kinds', { callKinds: ['manual'] }, 'key-kind'],
    ['caller IDs', { calls: { callerIds: ['2125550198'] } }, 'key-caller-id'],
    ['regions', { calls: { regions: ['CA'] } }, 'key-region'],
  ] as const)('are those of the moment of the use: %s', async (_, limits, reason) => {
    const { id, key } = await newKey()
    const { value } = await getPermit(key)
    await app.callgate.keys.change(id, { by: 'ann', ...limits })
    const { status, body } = await use(value)
    expect([status, body.detail]).toEqual([409, expect.stringContaining(reason)])
  })

  it('end a permit with the key', async () => {
    const { id, key } = await keyWith({ attemptsPerDay: 1 })
    const { value } = await getPermit(key)
    await app.callgate.keys.revoke(id)
    const { status, body } = await use(value)
    expect([status, body.detail]).toEqual([409, expect.stringContaining(id)])
  })
})
