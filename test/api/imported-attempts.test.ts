/** Calls and texts of other systems count with those of the gate. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eraseRows } from '../../src/service/erasure/erased-rows.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
beforeAll(async () => {
  running = await openTestCallgate({
    environment: { CALLGATE_GATE_SUBJECTS: '[{ account: sandbox, subjects: [solar] }]' },
  })
})
afterAll(() => running.end())

const at = '2026-11-23T16:00:00Z'
const send = (attempts: unknown) => running.postJson('/v1/attempts', { attempts })
const rows = () => running.callgate.storage.db.selectFrom('attempts').selectAll().execute()
async function decide(number: string, more: object = {}, key?: string) {
  const body = { number, callKind: 'ai', ...more }
  return (await (await running.postJson('/v1/decisions', body, key)).json()) as {
    decision: string
    reason: string
    nextAllowedAt?: string
  }
}

describe('attempts of other systems', () => {
  it('count with those of the gate, calls and texts alike, each reference once', async () => {
    const number = '3055550107'
    const two = [
      { number, at, ref: 'a', channel: 'call', answered: true },
      { number, at: '2026-11-23T16:30:00Z', ref: 'b', channel: 'text' },
    ]
    for (let again = 0; again < 3; again += 1) expect((await send(two)).status).toBe(200)
    expect(await decide(number)).toMatchObject({ decision: 'allow' })
    expect(await decide(number)).toMatchObject({
      reason: 'too-many-attempts',
      nextAllowedAt: '2026-11-24T16:00:00Z',
    })
  })

  it('count for the person', async () => {
    const three = ['x', 'y', 'z'].map((ref, index) => ({
      ...{ number: `212555010${index}`, at, ref, channel: 'text', personId: 'p-1' },
    }))
    expect((await send(three)).status).toBe(200)
    expect(await decide('3055550108', { personId: 'p-1' })).toMatchObject({
      reason: 'too-many-attempts',
    })
    expect(await decide('3055550108', { personId: 'p-2' })).toMatchObject({ decision: 'allow' })
  })

  it('are all stored or none, and every problem is listed', async () => {
    const good = { number: '3055550109', at, ref: 'good', channel: 'call' }
    const before = await rows()
    const refused = await send([
      good,
      { ...good, ref: 'old', at: '2026-10-01T00:00:00Z' },
      { ...good, ref: 'early', at: '2026-11-24T00:00:00Z' },
      { ...good, ref: 'subject', subject: 'other' },
    ])
    expect(refused.status).toBe(400)
    const text = await refused.text()
    for (const part of ['attempts[1].at', 'attempts[2].at', 'attempts[3].subject', 'solar'])
      expect(text).toContain(part)
    const unread = await send([{ ...good, number: '305' }, { ...good, ref: 'a b' }, 'x'])
    expect(unread.status).toBe(400)
    expect(await unread.text()).toMatch(/attempts\[0\].*attempts\[1\].*attempts\[2\]/s)
    expect((await send([])).status).toBe(400)
    expect((await send(Array(1_001).fill(good))).status).toBe(400)
    expect(await rows()).toEqual(before)
  })

  it('are refused when a reference stands for something else, and then none is stored', async () => {
    const one = { number: '3055550110', at, ref: 'taken', channel: 'call', subject: 'solar' }
    expect((await send([one])).status).toBe(200)
    const before = await rows()
    for (const other of [{ number: '3055550111' }, { subject: null }, { answered: false }]) {
      const refused = await send([
        { ...one, ref: 'fresh' },
        { ...one, ...other },
      ])
      expect(refused.status).toBe(409)
      expect(await refused.text()).toContain("attempts[1].ref 'taken'")
    }
    const twice = [
      { ...one, ref: 'twice' },
      { ...one, ref: 'twice', answered: true },
    ]
    expect((await send(twice)).status).toBe(409)
    expect(await rows()).toEqual(before)
  })

  it('are sent by two at once, a thousand each, in another order', async () => {
    const many = Array.from({ length: 1_000 }, (_, index) => ({
      ...{ number: '3055550112', at, ref: `many-${index}`, channel: 'call' },
    }))
    const both = await Promise.all([send(many), send([...many].reverse())])
    expect(both.map(({ status }) => status)).toEqual([200, 200])
    const stored = (await rows()).filter(({ number }) => number === '3055550112')
    expect(stored).toHaveLength(1_000)
  })

  it('do not count for a key', async () => {
    const { keys } = running.callgate
    const calls = { attemptsPerDay: 1, coolDownSeconds: 60 }
    const limited = { accountId: 'sandbox', role: 'Agent', label: '', calls } as const
    const { key } = await keys.create(limited)
    await send([{ number: '2125550113', at, ref: 'key', channel: 'call' }])
    expect(await decide('2125550106', {}, key)).toMatchObject({ decision: 'allow' })
  })

  it('of an erased number are gone, with a reference that has the number', async () => {
    const number = '3055550114'
    await send([{ number, at, ref: `cdr-${number}`, channel: 'call' }])
    const { db } = running.callgate.storage
    const erasure = { number, accountId: 'sandbox', at: running.clock.at, keepYears: 5 }
    const done = await eraseRows(db, { ...erasure })
    expect(done).toEqual([{ what: 'attempts of other systems', count: 1, result: 'deleted' }])
    expect(JSON.stringify(await rows())).not.toContain(number)
  })
})
