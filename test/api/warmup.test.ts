/** The calls of warming over HTTP: what is taken, what is refused, whose job it is. */
import { beforeAll, describe, expect, it } from 'vitest'
import type { WarmupProgressBody, WarmupStartedBody } from '../../src/api/gate/warmup.js'
import type { Question } from '../../src/domain/compliance.js'
import { systemClock, systemTimers } from '../../src/runtime/runtime.js'
import { Warmer } from '../../src/sources/warming/warmer.js'
import { warmupRoutes } from '../../src/sources/warming/warmup-routes.js'
import { admin, adminKey, openTestApp, type TestApp } from '../support/test-app.js'

const otherKey = 'o'.repeat(44)

let app: TestApp
let asked: Question[] = []

beforeAll(async () => {
  let ids = 0
  const warmer = new Warmer({
    warmUp: async (question) => {
      asked.push(question)
      return 'answered'
    },
    cache: { allowMs: 300_000, blockMs: 300_000 },
    maxNumbers: 20_000,
    maxInFlight: 10_000,
    clock: systemClock,
    timers: systemTimers,
    newId: () => `job${++ids}`,
  })
  app = await openTestApp({
    routes: warmupRoutes(warmer, { serviceCodes: new Set(['7005550000']) }),
    authenticate: (key) => {
      if (key === adminKey) return admin
      return key === otherKey ? { ...admin, accountId: 'other' } : undefined
    },
  })
  return () => warmer.close()
})

/** A job whose numbers are asked about once. */
async function warm(body: object): Promise<WarmupStartedBody> {
  asked = []
  const answer = await app.post('/v1/warm', { keepForMs: 0, ...body })
  expect(answer.status, answer.text).toBe(202)
  return answer.json() as WarmupStartedBody
}

async function ended(id: string): Promise<WarmupProgressBody> {
  for (;;) {
    const body = (await app.send(`/v1/warm/${id}`)).json() as WarmupProgressBody
    if (body.state === 'ended') return body
  }
}

describe('POST /v1/warm', () => {
  it('begins to ask, in any form a number is written, and tells of the job', async () => {
    const numbers = ['2125550100', '+1 (212) 555-0101', { number: '212-555-0102' }]
    const started = await warm({ numbers, projectId: 7, campaignId: 'C' })
    expect(started).toMatchObject({ state: 'asking', numbers: 3, refused: [], refusedCount: 0 })
    const { id, startedAt, keptUntil, ...counts } = await ended(started.id)
    expect(startedAt).toBe(keptUntil)
    expect(counts).toEqual({
      state: 'ended',
      numbers: 3,
      done: 3,
      fresh: 0,
      answered: 3,
      unanswered: 0,
      passes: 1,
    })
    expect(asked.map(({ number }) => number)).toEqual(['2125550100', '2125550101', '2125550102'])
    expect(asked[0]).toMatchObject({ accountId: 'main', projectId: '7', campaignId: 'C' })
  })

  it('asks with the postal code of a number', async () => {
    const numbers = [
      { number: '2125550100', postalCode: ' 10001 ' },
      { Number: '2125550101', POSTALCODE: 'K1A 0B1' },
      { number: '2125550102', postalCode: '' },
      { number: '2125550103', postalCode: null },
    ]
    const { id } = await warm({ numbers })
    await ended(id)
    expect(asked.map(({ postalCode }) => postalCode)).toEqual([
      '10001',
      'K1A 0B1',
      undefined,
      undefined,
    ])
  })

  const code = 'is an emergency or service code, which is never looked up'
  const refusals: readonly (readonly [unknown, string, string])[] = [
    ['911', '911', code],
    ['tel:911', 'tel:911', code],
    ['7005550000', '7005550000', code],
    ['1001', '1001', 'is an internal extension, which is never looked up'],
    ['+442071838750', '+442071838750', "is another country's number, which is never looked up"],
    ['212555010', '212555010', '9 digits are not a North American number, which has 10'],
    ['', '', 'has no digits'],
    ['x'.repeat(100), `${'x'.repeat(60)}...`, 'is not one telephone number'],
    [2125550100, '2125550100', 'must be text, or an object with number and postalCode'],
    [null, 'null', 'must be text, or an object with number and postalCode'],
    [{ postalCode: '10001' }, '{"postalCode":"10001"}', 'number: is required and must be text'],
    [{ number: '911' }, '{"number":"911"}', code],
    [
      { number: '2125550100', postalCode: '1' },
      '{"number":"2125550100","postalCode":"1"}',
      'postalCode: must be a US ZIP code or a Canadian postal code',
    ],
    [
      { number: '2125550100', NUMBER: '2125550101' },
      '{"number":"2125550100","NUMBER":"2125550101"}',
      'NUMBER: is given twice',
    ],
    [
      { PostalCode: '10001', number: '2125550100', postalcode: '90001' },
      `{"PostalCode":"10001","number":"2125550100","postalcode":"90...`,
      'postalcode: is given twice',
    ],
    [
      { number: '2125550100', zip: '10001' },
      '{"number":"2125550100","zip":"10001"}',
      'zip: is an unknown field; known fields are number, postalCode',
    ],
  ]
  it('lists what nobody can be asked about, and asks about the rest', async () => {
    const numbers = refusals.flatMap(([value], index) => [value, String(2_125_550_100 + index)])
    const { id, refused, refusedCount } = await warm({ numbers })
    expect(refused).toEqual(
      refusals.map(([, value, rule], index) => ({
        index: index * 2,
        value,
        rule: expect.stringContaining(rule),
      })),
    )
    expect(refusedCount).toBe(refusals.length)
    expect(await ended(id)).toMatchObject({ numbers: refusals.length, answered: refusals.length })
    expect(asked.map(({ number }) => number)).not.toContain('7005550000')
  })

  it('lists the first thousand refused numbers and counts all', async () => {
    const { refused, refusedCount } = await warm({
      numbers: Array.from({ length: 6_000 }, () => '1'),
    })
    expect(refused).toHaveLength(1_000)
    expect(refusedCount).toBe(6_000)
  })

  const wrong: readonly (readonly [unknown, number, string])[] = [
    [{}, 400, 'numbers: is required and must be a list of numbers'],
    [{ numbers: '2125550100' }, 400, "numbers '2125550100': is required and must be a list"],
    [{ numbers: [], keepForMs: -1 }, 400, "keepForMs '-1': must be a whole number of milliseconds"],
    [{ numbers: [], keepForMs: 86_400_001 }, 400, 'from 0 to 86400000'],
    [{ numbers: [], keepForMs: '1h' }, 400, "keepForMs '1h': must be a whole number"],
    [{ numbers: [], until: 1 }, 400, "until '1': is an unknown field"],
    [
      { numbers: Array.from({ length: 20_001 }, () => '2125550100') },
      400,
      "numbers '20001 numbers': must be at most 20000: 20000 can be kept warm at once",
    ],
  ]
  it.each(wrong)('refuses %j with %i', async (body, status, detail) => {
    const answer = await app.post('/v1/warm', body)
    expect(answer.status).toBe(status)
    expect(answer.json()).toMatchObject({ detail: expect.stringContaining(detail), status })
  })

  it('keeps numbers fresh for an hour unless told otherwise', async () => {
    const answer = await app.post('/v1/warm', { numbers: ['2125550100'] })
    const { id, startedAt, keptUntil } = answer.json() as WarmupStartedBody
    expect(Date.parse(keptUntil) - Date.parse(startedAt)).toBe(3_600_000)
    await app.send(`/v1/warm/${id}/stop`, { method: 'POST' })
  })

  it('needs a key', async () => {
    expect((await app.post('/v1/warm', { numbers: [] }, { key: null })).status).toBe(401)
  })
})

describe('a job of warming', () => {
  it('is stopped by its account', async () => {
    const { id } = (
      await app.post('/v1/warm', { numbers: ['2125550100'] })
    ).json() as WarmupStartedBody
    const stopped = await app.send(`/v1/warm/${id}/stop`, { method: 'POST' })
    expect(stopped.status).toBe(200)
    expect(stopped.json()).toMatchObject({ id, state: 'stopped' })
    expect((await app.send(`/v1/warm/${id}`)).json()).toMatchObject({ state: 'stopped' })
  })

  const strangers: readonly (readonly [string, string])[] = [
    ['GET', ''],
    ['POST', '/stop'],
  ]
  it.each(strangers)('is not found by another account: %s %s', async (method, path) => {
    const { id } = await warm({ numbers: [] })
    for (const [job, key] of [
      [id, otherKey],
      ['none', adminKey],
    ] as const) {
      const answer = await app.send(`/v1/warm/${job}${path}`, { method, key })
      expect(answer.status).toBe(404)
      const detail = `id '${job}': this account has no such warmup job`
      expect(answer.json()).toMatchObject({ detail })
    }
  })
})
