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
    for (const answeredBy of ['unknown', 'person', 'machine']) {
      await note(id, { fromPlatform: true, answeredBy })
    }
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

  it('of a voice platform is refused from a key that is not the key of a proxy, and counts nothing', async () => {
    const before = await list()
    const grant = { accountId: 'sandbox', role: 'Agent', label: 'dialer' } as const
    const dialer = await running.callgate.keys.create({ ...grant, rights: ['decide'] })
    const proxy = await running.callgate.keys.create({ ...grant, rights: ['decide', 'platform'] })
    const { id } = await decide()
    const body = { state: 'answered', fromPlatform: true }
    const send = (key: string) => running.postJson(`/v1/decisions/${id}/outcome`, body, key)
    const refused = await send(dialer.key)
    expect([refused.status, await refused.text()]).toEqual([
      403,
      expect.stringContaining("lacks the right 'platform'"),
    ])
    expect((await send(proxy.key)).status).toBe(200)
    expect(await list()).toEqual(before)
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

describe('an outcome of a call that nobody answered', () => {
  const dialledAt = '2026-11-23T17:00:05Z'
  const rang = (seconds: number, more: object = {}) => {
    const failedAt = new Date(Date.parse(dialledAt) + seconds * 1_000).toISOString()
    return { state: 'failed', dialledAt, failedAt, ...more }
  }
  const readRings = async () => {
    const [row] = await list()
    return [row?.unanswered ?? 0, row?.disconnectedEarly ?? 0]
  }

  it.each<readonly [object, number, number]>([
    [rang(14.999), 1, 1],
    [rang(15), 1, 0],
    [rang(5, { dialStatus: 'CANCEL' }), 1, 1],
    [rang(5, { dialStatus: 'canceled', cause: 0 }), 1, 1],
    [rang(5, { dialStatus: 'no-answer' }), 1, 1],
    [{ ...rang(5), failedAt: undefined, endedAt: '2026-11-23T17:00:10Z' }, 1, 1],
    // The network said that nobody answers, or could not place the call.
    [rang(5, { dialStatus: 'NOANSWER', cause: 19 }), 1, 0],
    [rang(5, { dialStatus: 'CONGESTION' }), 1, 0],
    [rang(5, { cause: 21 }), 1, 0],
    [rang(1, { dialStatus: 'BUSY' }), 0, 0],
    [rang(1, { cause: 1 }), 0, 0],
    [{ state: 'failed', dialStatus: 'CANCEL' }, 0, 0],
    [{ state: 'dialed', dialledAt, endedAt: '2026-11-23T17:00:10Z' }, 0, 0],
  ])(
    '%j adds %i to those with times, and %i to those that ended early',
    async (body, more, early) => {
      const before = await readRings()
      const { id } = await decide()
      for (let again = 0; again < 2; again += 1) expect((await note(id, body)).status).toBe(200)
      expect(await readRings()).toEqual([Number(before[0]) + more, Number(before[1]) + early])
    },
  )

  it('counts by the times of several reports, and not for calls that a person dials or to Canada', async () => {
    const [unanswered, early] = await readRings()
    const { id } = await decide({ callKind: 'ai' })
    await note(id, { state: 'dialed', at: dialledAt })
    await note(id, { state: 'failed', at: '2026-11-23T17:00:09Z' })
    expect(await readRings()).toEqual([Number(unanswered) + 1, Number(early) + 1])
    for (const call of [{ callKind: 'manual' }, { number: '4165550106' }]) {
      await note((await decide(call)).id, rang(2))
    }
    expect(await readRings()).toEqual([Number(unanswered) + 1, Number(early) + 1])
    const metrics = await (await running.get('/metrics')).text()
    expect(metrics).toContain(
      `callgate_disconnected_early_calls{account="sandbox"} ${Number(early) + 1}`,
    )
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
    nextAllowedAtLatest: true,
  })
  const preview = { numbers: ['2125550106', '4165550106'], callKind: 'autodialed' }
  const { rows } = (await (await running.postJson('/v1/decisions/preview', preview)).json()) as {
    readonly rows: readonly object[]
  }
  expect(rows[0]).toMatchObject({ decision: 'block', nextAllowedAtLatest: true })
  expect(rows[1]).not.toHaveProperty('nextAllowedAtLatest')
  expect((await decide({ callKind: 'manual' })).decision).toBe('allow')
  expect((await decide({ number: '4165550106' })).decision).toBe('allow')
  const metrics = await (await running.get('/metrics')).text()
  expect(metrics).toContain('callgate_abandonment_campaigns{account="sandbox",state="over"} 1')
})
