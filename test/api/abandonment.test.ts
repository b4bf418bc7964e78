/** The outcomes that callers report say how many of the answered calls of a campaign are abandoned. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
beforeAll(async () => {
  running = await openTestCallgate()
})
afterAll(() => running.end())

interface Decided {
  readonly id: string
  readonly decision: string
  readonly reason: string
  readonly nextAllowedAt?: string
}

async function decide(more: object = {}): Promise<Decided> {
  const call = { number: '2125550106', callKind: 'autodialed', ...more }
  return (await (await running.postJson('/v1/decisions', call)).json()) as Decided
}
const note = (id: string, body: object) =>
  running.postJson(`/v1/decisions/${id}/outcome`, { state: 'answered', ...body })
const list = () => running.callgate.abandonment.list({ after: 0 })

const greetingEndedAt = '2026-11-23T17:00:05Z'
const inTime = { answeredBy: 'person', greetingEndedAt, connectedAt: '2026-11-23T17:00:06Z' }

describe('an outcome', () => {
  it('says when somebody spoke, in the record and in the counts', async () => {
    const { id } = await decide()
    const late = { ...inTime, connectedAt: '2026-11-23T17:00:09Z', messagePlayed: true }
    for (let again = 0; again < 3; again += 1) expect((await note(id, late)).status).toBe(200)
    const record = (await (await running.get(`/v1/decisions/${id}`)).json()) as object
    expect(record).toMatchObject({ outcome: { state: 'answered', ...late } })
    const counted = { accountId: 'sandbox', campaign: 'project:sandbox', answered: 1, abandoned: 1 }
    expect(await list()).toMatchObject([
      { rule: 'us-fcc', ...counted },
      { rule: 'us-ftc', ...counted },
    ])
  })

  it('of a call that a person dialed, or an AI without such times, counts nothing', async () => {
    const before = await list()
    for (const callKind of ['manual', 'ai']) {
      const { id } = await decide({ callKind })
      await note(id, { answeredBy: 'person' })
    }
    const { id } = await decide()
    await note(id, { state: 'failed', dialStatus: 'busy' })
    expect(await list()).toEqual(before)
  })

  it('of a voice platform counts nothing, until somebody reports the times', async () => {
    const before = await list()
    const { id } = await decide()
    expect((await note(id, { fromPlatform: true })).status).toBe(200)
    expect(await list()).toEqual(before)
    const record = (await (await running.get(`/v1/decisions/${id}`)).json()) as object
    expect(record).toMatchObject({ outcome: { state: 'answered' } })
    expect(record).not.toHaveProperty('outcome.fromPlatform')
    await note(id, inTime)
    await note(id, { fromPlatform: true })
    expect(await list()).toMatchObject([
      { rule: 'us-fcc', answered: 2, abandoned: 1 },
      { rule: 'us-ftc', answered: 2, abandoned: 1 },
    ])
    const silent = await decide()
    await note(silent.id, {})
    expect(await list()).toMatchObject([{ abandoned: 2 }, { abandoned: 2 }])
  })

  it.each([
    { state: 'failed', fromPlatform: true },
    { fromPlatform: 'yes' },
    { state: 'failed', connectedAt: greetingEndedAt },
    { state: 'dialed', greetingEndedAt },
    { state: 'not-placed', messagePlayed: true },
    { connectedAt: 'soon' },
    { connectedAt: '2027-01-01T00:00:00Z' },
    { greetingEndedAt: '2026-01-01T00:00:00Z' },
    { messagePlayed: 'yes' },
  ])('is refused as %j, and counts nothing', async (body) => {
    const before = await list()
    const { id } = await decide()
    expect((await note(id, body)).status).toBe(400)
    expect(await list()).toEqual(before)
  })
})

it('a campaign with too many abandoned calls is blocked, and its gauge says so', async () => {
  for (let call = 0; call < 99; call += 1) {
    const { id } = await decide()
    expect((await note(id, call < 4 ? { answeredBy: 'unknown' } : inTime)).status).toBe(200)
  }
  // What is stored is known within a second.
  await vi.waitFor(async () => expect((await decide()).reason).toBe('abandonment-rate'), 5_000)
  expect(await decide()).toMatchObject({
    decision: 'block',
    nextAllowedAt: expect.stringMatching(/^2026-12-23T/),
  })
  expect((await decide({ callKind: 'manual' })).decision).toBe('allow')
  expect((await decide({ number: '4165550106' })).decision).toBe('allow')
  const metrics = await (await running.get('/metrics')).text()
  expect(metrics).toContain('callgate_abandonment_campaigns{account="sandbox",state="over"} 1')
})
