/** How often a number may be called, how often it was, and when the limits have room again. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { AttemptLimitsBody } from '../../src/api/gate/attempts.js'
import { readAttemptLimits } from '../../src/app/numbers/attempt-limits.js'
import { createOperatorCaller } from '../../src/domain/caller.js'
import { parsePhoneNumber } from '../../src/domain/phone-number.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

/** In Florida, where three calls in a day are the limit; an own limit makes it two in an hour. */
const number = '3055550107'
let running: TestCallgate

beforeAll(async () => {
  running = await openTestCallgate({
    environment: {
      CALLGATE_GATE_HOUSE_LIMITS: '[{ account: sandbox, calls: 2, seconds: 3600 }]',
    },
  })
})
afterAll(() => running.end())
beforeEach(async () => {
  await running.callgate.storage.db.deleteFrom('attempts').execute()
})

const add = async (more: object = {}) => {
  const attempt = { number, at: '2026-11-23T16:30:00Z', ref: 'cdr-1', channel: 'call', ...more }
  const reply = await running.postJson('/v1/attempts', { attempts: [attempt] })
  expect(reply.status, await reply.text()).toBe(200)
}
const read = async (query: object, key?: string) => {
  const reply = await running.get(`/v1/attempts?${new URLSearchParams({ ...query })}`, key)
  expect(reply.status, await reply.clone().text()).toBe(200)
  return (await reply.json()) as AttemptLimitsBody
}

it('counts within each limit, and says when all have room', async () => {
  const before = await read({ number })
  expect(before).toMatchObject({ number, freeAt: null, enforced: true })
  expect(before.limits.length).toBeGreaterThan(1)
  expect(before.limits.map(({ counted }) => counted)).toEqual(before.limits.map(() => 0))
  await add()
  await add({ ref: 'cdr-2', at: '2026-11-23T16:40:00Z' })
  const after = await read({ number })
  expect(after.freeAt).toBe('2026-11-23T17:30:00Z')
  const house = after.limits.find(({ id }) => id === 'house')
  expect(house).toMatchObject({ calls: 2, seconds: 3_600, counted: 2, freeAt: after.freeAt })
  expect(after.limits.find(({ id }) => id !== 'house')).toMatchObject({
    ...{ calls: 3, seconds: 86_400, counted: 2, freeAt: null },
  })
  expect(after.attempts?.latest.map(({ ref }) => ref)).toEqual(['cdr-2', 'cdr-1'])
})

it('agrees with the gate', async () => {
  await add()
  await add({ ref: 'cdr-2', at: '2026-11-23T16:40:00Z' })
  const reply = await running.postJson('/v1/decisions', { number, callKind: 'ai' })
  const decision = (await reply.json()) as { reason: string; nextAllowedAt: string }
  expect(decision.reason).toBe('too-many-attempts')
  const { freeAt } = await read({ number, kind: 'ai' })
  expect(Date.parse(freeAt ?? '')).toBe(Date.parse(decision.nextAllowedAt))
})

it('counts the calls to the other numbers of a person', async () => {
  await add({ number: '2125550101', personId: 'p-1' })
  const counted = async (query: object) =>
    (await read(query)).limits.find(({ id }) => id === 'house')?.counted
  expect(await counted({ number })).toBe(0)
  expect(await counted({ number, personId: 'p-1' })).toBe(1)
})

it('gives the limits alone without a number, and marks those that a permission lifts', async () => {
  const { attempts, limits, freeAt } = await read({})
  expect([attempts, freeAt]).toEqual([null, null])
  const marked = new Map(limits.map((limit) => [limit.id, limit.liftedByPermission]))
  expect(marked.get('bc-30d')).toBe(true)
  expect(marked.get('house')).toBe(false)
  expect(limits.every(({ counted }) => counted === null)).toBe(true)
})

it('says whole days with their time zone', async () => {
  const { limits } = await read({ number, purpose: 'debt-collection' })
  expect(limits.find(({ id }) => id === 'regf-7-days')).toMatchObject({
    seconds: null,
    days: { count: 7, zone: 'America/New_York' },
  })
})

it('says when the limits are in shadow mode', async () => {
  const { pauses } = running.callgate
  const subject = 'check:attempts:sandbox'
  await pauses.pause({ subject, because: 'a trial', pausedBy: 'test' })
  expect((await read({})).enforced).toBe(false)
  await pauses.resume(subject)
  expect((await read({})).enforced).toBe(true)
})

it.each([
  ['number', { number: '305' }],
  ['kind', { kind: 'robot' }],
  ['purpose', { purpose: 'fun' }],
  ['projectId', { projectId: 'NONE' }],
])('refuses a wrong %s', async (field, query) => {
  const reply = await running.get(`/v1/attempts?${new URLSearchParams(query)}`)
  expect([reply.status, (await reply.text()).includes(field)]).toEqual([400, true])
})

it('gives a key that is limited to kinds of call the counts of the account, and its own attempts', async () => {
  await add()
  const { key } = await running.callgate.keys.create({
    ...{ accountId: 'sandbox', role: 'Administrator', label: '', callKinds: ['ai'] },
  })
  const { limits, attempts } = await read({ number }, key)
  expect(limits.map(({ counted }) => counted)).toEqual([1, 1])
  expect(attempts).toMatchObject({ of: 'key', last24Hours: 1, latest: [] })
})

it('refuses to count at an edge, and gives the limits', async () => {
  const { callgate } = running
  const { storage } = callgate
  const edge = {
    ...callgate,
    storage: { ...storage, traits: { ...storage.traits, isCopy: true } },
  }
  const caller = createOperatorCaller('sandbox')
  const call = { kind: 'manual', purpose: 'telemarketing' } as const
  const about = { ...call, number: parsePhoneNumber(number) }
  await expect(readAttemptLimits(edge, caller, about)).rejects.toThrow('its center counts')
  expect((await readAttemptLimits(edge, caller, call)).limits).not.toEqual([])
})
