/** Limits of requests per minute: the counting itself, and what clients see of it over HTTP. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  defineEndpoint,
  type ErrorShape,
  type RateClass,
  rateClasses,
} from '../../src/api/endpoint.js'
import { fields } from '../../src/api/fields.js'
import { litigatorGet, litigatorPost } from '../../src/api/lookups/litigator.js'
import { createRoute, type Route } from '../../src/api/route.js'
import { scrubGet, scrubPost } from '../../src/api/scrub/scrub.js'
import { loadSettings } from '../../src/config/load.js'
import { AppError } from '../../src/errors.js'
import { createDecisionRoutes } from '../../src/http/decision-routes.js'
import { MinuteWindow } from '../../src/http/limits/minute-window.js'
import {
  bulkCallThreshold,
  type NumberAdmission,
  RateLimits,
} from '../../src/http/limits/rate-limits.js'
import { silentLogger } from '../../src/runtime/runtime.js'
import { fakeCompliance } from '../support/fake-compliance.js'
import { noPermits, noRecentCalls, noRepeats } from '../support/no-permits.js'
import { admin, adminKey, openTestApp } from '../support/test-app.js'
import { openTestCallgate } from '../support/test-callgate.js'
import { testGate } from '../support/test-gate.js'
import { type VirtualTime, virtualTime } from '../support/virtual-time.js'

const none = {
  scrub: 0,
  litigator: 0,
  reassigned: 0,
  reputation: 0,
  pdnc: 0,
  ebr: 0,
  'time-legal': 0,
}

/** Of the limits of one server, which are counted at once. */
const admitNow = (limits: RateLimits, ...numbers: Parameters<RateLimits['admitNumbers']>) =>
  limits.admitNumbers(...numbers) as NumberAdmission

function limited(perMinute: Partial<Record<RateClass, number>>, time = virtualTime()) {
  const limits = new RateLimits({
    perMinute: { ...none, ...perMinute },
    numbersPerMinute: {},
    timers: time,
  })
  /** Seconds to wait; 0 when it was taken. */
  const take = (accountId: string, rate: RateClass = 'scrub') => {
    try {
      void limits.takeRequest(accountId, rate)
      return 0
    } catch (error) {
      if (error instanceof AppError && error.kind === 'rate-limited') return error.retryAfterSeconds
      throw error
    }
  }
  return { limits, take, time }
}

describe('the minute slides', () => {
  test('exactly: a request from 60 seconds ago is no longer counted', async () => {
    const { take, time } = limited({ scrub: 3 })
    expect(take('main')).toBe(0)
    await time.advance(40_000)
    expect([take('main'), take('main'), take('main')]).toEqual([0, 0, 20])
    await time.advance(19_999)
    expect(take('main')).toBe(1)
    await time.advance(1)
    expect([take('main'), take('main')]).toEqual([0, 40])
  })

  test('no period of 60 seconds contains more than the limit', async () => {
    const { take, time } = limited({ scrub: 7 })
    const taken: number[] = []
    for (let step = 0; step < 600; step += 1) {
      if (take('main') === 0) taken.push(time.monotonicMs())
      await time.advance((step * 7919) % 4000)
    }
    for (const at of taken) {
      const within = taken.filter((other) => other >= at && other < at + 60_000)
      expect(within.length).toBeLessThanOrEqual(7)
    }
    expect(taken.length).toBeGreaterThan(100)
  })

  test('refused requests are not counted, and a client that waits as told is served', async () => {
    const { take, time } = limited({ scrub: 2 })
    take('main')
    await time.advance(1_234)
    take('main')
    for (let asked = 0; asked < 1000; asked += 1) expect(take('main')).toBe(59)
    await time.advance(59_000)
    expect([take('main'), take('main')]).toEqual([0, 1])
    await time.advance(1_000)
    expect(take('main')).toBe(0)
  })

  test('by account and by class; 0 is no limit', () => {
    const { take } = limited({ scrub: 1, litigator: 1 })
    expect([take('main'), take('main', 'litigator'), take('other')]).toEqual([0, 0, 0])
    expect([take('main'), take('main', 'litigator'), take('other')]).toEqual([60, 60, 60])
    for (let asked = 0; asked < 5000; asked += 1) expect(take('main', 'reputation')).toBe(0)
  })

  test.each(rateClasses)('the refusal names class %s, the limit and when to come back', (rate) => {
    const { limits } = limited({ [rate]: 2 })
    void limits.takeRequest('main', rate)
    void limits.takeRequest('main', rate)
    expect(() => limits.takeRequest('main', rate)).toThrow(
      `Too many requests: this account may make 2 requests a minute of class ${rate}; try again in 60 seconds`,
    )
  })
})

describe('what is kept', () => {
  test('accounts that were silent for a minute are forgotten', async () => {
    const { limits, take, time } = limited({ scrub: 5, litigator: 5 })
    for (let account = 0; account < 1000; account += 1) take(`account-${account}`)
    take('main', 'litigator')
    expect(limits.size).toBe(1001)
    await time.advance(30_000)
    take('main')
    await time.advance(30_000)
    take('main')
    expect(limits.size).toBe(1)
    expect([take('main'), take('main'), take('main'), take('main')]).toEqual([0, 0, 0, 30])
  })

  test('a class without a limit keeps nothing', () => {
    const { limits, take } = limited({})
    take('main')
    expect(limits.size).toBe(0)
  })

  test('a window that is used for hours counts right', () => {
    const window = new MinuteWindow()
    let taken = 0
    for (let at = 0; at < 7_200_000; at += 20) {
      if (window.tryAdd(1000, at) === undefined) taken += 1
    }
    expect(taken).toBe(120 * 1000)
    expect(window.countAt(7_200_000)).toBeLessThanOrEqual(1000)
  })
})

describe('numbers', () => {
  function counted(numbersPerMinute: Partial<Record<RateClass, number>>) {
    const time = virtualTime()
    const limits = new RateLimits({ perMinute: none, numbersPerMinute, timers: time })
    /** Numbers left, or the seconds to wait as a negative number. */
    const send = (count: number, accountId = 'main', rate: RateClass = 'scrub') => {
      try {
        const { headers, release } = admitNow(limits, accountId, rate, count)
        release()
        return Number(/r=(\d+)/.exec(headers.RateLimit ?? '')?.[1])
      } catch (error) {
        if (error instanceof AppError) return -(error.retryAfterSeconds ?? 0)
        throw error
      }
    }
    return { limits, send, time }
  }

  test('are counted within any 60 seconds, and refused until there is room for all of them', async () => {
    const { send, time } = counted({ scrub: 10_000 })
    expect([send(6_000), send(4_000)]).toEqual([4_000, 0])
    await time.advance(20_000)
    expect(send(1)).toBe(-40)
    await time.advance(40_000)
    expect([send(7_000), send(3_000)]).toEqual([3_000, 0])
    await time.advance(60_000)
    send(5_000)
    await time.advance(10_000)
    send(4_000)
    // 1,000 are left at once, 6,000 when the first request is a minute old, all after the second.
    expect([send(6_000), send(6_001), send(1_000)]).toEqual([-50, -60, 0])
  })

  test('of any size that one request may hold fit into an empty window', () => {
    const { send } = counted({ scrub: 20_000 })
    expect(send(20_000)).toBe(0)
    expect(send(10_000, 'other')).toBe(10_000)
  })

  test('refused say how many are left, how many were sent and when to come back', async () => {
    const { limits, time } = counted({ pdnc: 10_000 })
    admitNow(limits, 'main', 'pdnc', 9_000).release()
    await time.advance(15_000)
    expect(() => limits.admitNumbers('main', 'pdnc', 1_500)).toThrow(
      'Too many numbers: this account may send 10000 a minute to class pdnc; 1000 are left and ' +
        'the request has 1500; try again in 45 seconds',
    )
    expect(admitNow(limits, 'main', 'pdnc', 1_000).headers).toEqual({
      'RateLimit-Policy': '"numbers";q=10000;w=60',
      RateLimit: '"numbers";r=0',
    })
  })

  test('that are refused are not counted, and accounts and classes do not share', () => {
    const { send } = counted({ scrub: 10_000, ebr: 10_000 })
    expect(send(10_000)).toBe(0)
    for (let asked = 0; asked < 100; asked += 1) expect(send(1)).toBe(-60)
    expect([send(10_000, 'other'), send(10_000, 'main', 'ebr')]).toEqual([0, 0])
    expect(send(10_000_000, 'main', 'pdnc')).toBeNaN()
  })

  test('are limited so that the largest legal request fits; a lower limit is refused', () => {
    const settings = (variables: Record<string, string>) =>
      loadSettings({ environment: { CALLGATE_CONFIG: 'config/callgate.yaml', ...variables } })
    expect(settings({}).limits).toMatchObject({
      scrubNumbersPerMinute: 1_000_000,
      pdncNumbersPerMinute: 500_000,
      ebrNumbersPerMinute: 500_000,
      timeLegalNumbersPerMinute: 500_000,
    })
    const variable = 'CALLGATE_LIMITS_PDNC_NUMBERS_PER_MINUTE'
    expect(() => settings({ [variable]: '9999' })).toThrow('must be 0, or at least 10000')
    expect(settings({ [variable]: '10000' }).limits.pdncNumbersPerMinute).toBe(10_000)
    expect(settings({ [variable]: '0' }).limits.pdncNumbersPerMinute).toBe(0)
  })
})

describe('the whole program', () => {
  test('counts numbers and requests of the calls of one class together, and no decision', async () => {
    const running = await openTestCallgate({
      environment: {
        CALLGATE_LIMITS_TIME_LEGAL_NUMBERS_PER_MINUTE: '1000',
        CALLGATE_LIMITS_PDNC_PER_MINUTE: '2',
        CALLGATE_LIMITS_EBR_PER_MINUTE: '1',
      },
    })
    try {
      const { get, postJson } = running
      const hours = (PhoneList: string[]) =>
        postJson('/v1.5/GeoScrub/GetTimeZoneInfo', { PhoneList })
      const first = await hours(Array.from({ length: 999 }, () => '2125550100'))
      expect(first.headers.get('ratelimit')).toBe('"numbers";r=1')
      const refused = await hours(['2125550100', '2125550101'])
      expect([refused.status, await refused.json()]).toMatchObject([
        429,
        { ReasonPhrase: expect.stringContaining('1 are left and the request has 2') },
      ])
      const status = () => get('/app/main/rpc/pdnc?actionType=count')
      const codes = [await status(), await status(), await status()].map((answer) => answer.status)
      expect(codes).toEqual([200, 200, 429])
      const list = () => get('/app/main/rpc/ebr?phoneList=2125550100')
      expect([(await list()).status, (await list()).status]).toEqual([200, 429])
      const decided = await postJson('/v1/decisions', { number: '2125550100', callKind: 'manual' })
      expect(decided.status).toBe(200)
    } finally {
      await running.end()
    }
  })
})

describe('bulk calls', () => {
  const bulk = bulkCallThreshold + 1

  test('of one account are two at once; a third is refused at once and taken when one has ended', () => {
    const { limits } = limited({})
    const admit = (count: number, account = 'main') => admitNow(limits, account, 'scrub', count)
    const first = admit(bulk)
    admit(bulk)
    expect(() => admit(bulk)).toThrow(
      'Too many bulk calls: this account has 2 calls with more than 200 numbers each in progress',
    )
    admit(bulkCallThreshold)
    const other = admit(bulk, 'other')
    first.release()
    admit(bulk)
    expect(() => admit(bulk)).toThrow(AppError)
    other.release()
  })

  test('that are refused take nothing from the limit of numbers', () => {
    const timers = virtualTime()
    const numbersPerMinute = { scrub: 20_000 }
    const limits = new RateLimits({ perMinute: none, numbersPerMinute, timers })
    const [first] = [admitNow(limits, 'main', 'scrub', 500), admitNow(limits, 'main', 'scrub', 500)]
    expect(() => limits.admitNumbers('main', 'scrub', 500)).toThrow('Too many bulk calls')
    first?.release()
    const { headers } = admitNow(limits, 'main', 'scrub', 500)
    expect(headers.RateLimit).toBe('"numbers";r=18500')
  })

  test('over HTTP: 429 at once with Retry-After, before any work, and none is left after them', async () => {
    const timers = virtualTime()
    const limits = new RateLimits({ perMinute: none, numbersPerMinute: {}, timers })
    const waiting: (() => void)[] = []
    let worked = 0
    const app = await openTestApp({
      authenticate,
      admitNumbers: (accountId, rate, count) => limits.admitNumbers(accountId, rate, count),
      routes: [
        createRoute(scrubPost, async ({ accountId }, { items }) => {
          worked += 1
          if (items.length === 300) await new Promise<void>((resume) => waiting.push(resume))
          if (accountId === 'other') throw new Error('a fault')
          return []
        }),
      ],
    })
    const post = (count: number, key = adminKey) =>
      app.post(
        '/app/main/rpc/scrub',
        { phoneList: Array.from({ length: count }, () => '2125550100').join(',') },
        { key },
      )
    const held = [post(300), post(300)]
    while (waiting.length < 2) await new Promise((resume) => setImmediate(resume))
    const refused = await post(300)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect(refused.text).toContain('Too many bulk calls')
    expect(worked).toBe(2)
    expect((await post(200)).status).toBe(200)
    // A call that fails has ended as well.
    for (let asked = 0; asked < 5; asked += 1) expect((await post(301, otherKey)).status).toBe(500)
    for (const resume of waiting) resume()
    for (const answer of await Promise.all(held)) expect(answer.status).toBe(200)
    expect((await post(301)).status).toBe(200)
  })
})

test('a bulk call is under way until its answer has left, and until its work has ended', async () => {
  const limits = new RateLimits({
    perMinute: none,
    numbersPerMinute: {},
    timers: virtualTime(),
  })
  const large = 'x'.repeat(30_000_000)
  const working: (() => void)[] = []
  const bulk = (kind: string, answer: () => unknown) =>
    createRoute(
      defineEndpoint({
        name: kind,
        summary: 'Answers.',
        spec: 'none',
        method: 'POST',
        keyAlsoIn: [],
        paths: [`/v1/${kind}`],
        accepts: ['json'],
        errors: 'text',
        request: fields({}),
        response: z.unknown(),
        countNumbers: () => 300,
        rights: [],
        scopes: 'none',
        encode: (text) => ({ text: String(text) }),
      }),
      answer,
    )
  const app = await openTestApp({
    admitNumbers: (accountId, rate, count) => limits.admitNumbers(accountId, rate, count),
    routes: [
      bulk('large', () => large),
      bulk('small', () => ''),
      bulk('slow', () => new Promise<void>((resume) => working.push(resume))),
    ],
  })
  const open = (path: string) => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1')
    socket.on('error', () => undefined)
    const head = [`POST ${path} HTTP/1.1`, 'host: x', `loginId: ${adminKey}`]
    const lines = [...head, 'content-type: application/json', 'content-length: 2', '', '{}']
    socket.write(lines.join('\r\n'))
    return socket
  }
  const status = async () => (await app.post('/v1/small', {})).status
  const until = async (wanted: number) => {
    while ((await status()) !== wanted) await new Promise((resume) => setImmediate(resume))
  }
  const openUnread = async () => {
    const socket = open('/v1/large').pause()
    await once(socket, 'readable')
    return socket
  }
  const unread = await openUnread()
  const left = open('/v1/slow')
  await until(429)
  while (working.length === 0) await new Promise((resume) => setImmediate(resume))
  left.destroy()
  for (let asked = 0; asked < 5; asked += 1) expect(await status()).toBe(429)
  working[0]?.()
  await until(200)
  const third = await openUnread()
  expect(await status()).toBe(429)
  unread.destroy()
  third.destroy()
  await until(200)
})

const otherKey = 'o'.repeat(44)
const authenticate = (key: string) =>
  key === adminKey ? admin : key === otherKey ? { ...admin, accountId: 'other' } : undefined

const shapes = [
  ...(['reason-phrase', 'text', 'text-or-error', 'problem', 'oauth', 'reason-line'] as const),
] satisfies readonly ErrorShape[]
const shapeRoutes: readonly Route[] = shapes.map((shape) =>
  createRoute(
    defineEndpoint({
      name: shape,
      summary: 'Answers.',
      spec: 'none',
      method: 'POST',
      keyAlsoIn: [],
      paths: [`/v1/shapes/${shape}`],
      accepts: ['json'],
      errors: shape,
      rateClass: 'reputation',
      rights: [],
      scopes: 'none',
      request: fields({}),
      response: z.object({}),
    }),
    () => ({}),
  ),
)
const realRoutes: readonly Route[] = [
  createRoute(scrubGet, () => []),
  createRoute(scrubPost, () => []),
  createRoute(litigatorGet, () => []),
  createRoute(litigatorPost, () => []),
]

async function open(perMinute: Partial<Record<RateClass, number>>, time: VirtualTime) {
  const { limits } = limited(perMinute, time)
  const limitRate = (accountId: string, rate: RateClass) => limits.takeRequest(accountId, rate)
  const tools = { authenticate, limitRate, logger: silentLogger, maxBodyBytes: 10_000 }
  const decisionRoutes = createDecisionRoutes({
    permits: noPermits,
    journal: { durableSeq: 0 },
    repeats: noRepeats,
    recentCalls: noRecentCalls,
    shut: { problem: undefined },
    ...tools,
    serviceCodes: new Set<string>(),
    clock: time,
    gate: {
      judge: () => Promise.reject(new Error('judged')),
      allowUnrecorded: (call) => testGate(fakeCompliance()).gate.allowUnrecorded(call),
    },
    encode: () => {
      throw new Error('is not to be written')
    },
  })
  const routes = [...shapeRoutes, ...realRoutes]
  return await openTestApp({ routes, authenticate, limitRate, decisionRoutes })
}

describe('over HTTP', () => {
  const message =
    'Too many requests: this account may make 1 request a minute of class reputation; try again in 60 seconds'
  const bodies: Readonly<Record<(typeof shapes)[number], unknown>> = {
    'reason-phrase': { ReasonPhrase: message },
    text: message,
    'text-or-error': { error: message },
    problem: {
      type: 'about:blank',
      title: 'Too Many Requests',
      status: 429,
      detail: message,
      instance: '/v1/shapes/problem',
    },
    oauth: { error: 'invalid_request', error_description: message },
    'reason-line': message,
  }
  test.each(shapes)('too many are 429 with Retry-After, in shape %s', async (shape) => {
    const time = virtualTime()
    const app = await open({ reputation: 1 }, time)
    const ask = () =>
      fetch(`${app.url}/v1/shapes/${shape}`, {
        method: 'POST',
        body: '{}',
        headers: { loginId: adminKey, 'content-type': 'application/json' },
      })
    expect((await ask()).status).toBe(200)
    const refused = await ask()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60'])
    if (shape === 'reason-line') expect(refused.statusText).toBe(message)
    const text = await refused.text()
    expect(typeof bodies[shape] === 'string' ? text : JSON.parse(text)).toEqual(bodies[shape])
    await time.advance(59_001)
    expect((await ask()).headers.get('retry-after')).toBe('1')
    await time.advance(999)
    expect((await ask()).status).toBe(200)
  })

  const number = '2125550100'
  test.each([
    ['scrub', `/app/main/rpc/scrub?phoneList=${number}`, { phoneList: number }],
    ['litigator', `/v1.5/Scrub/litigator?phoneList=${number}`, { PhoneList: number }],
  ] as const)(
    'GET and POST of the %s share one limit; accounts do not',
    async (rate, path, body) => {
      const app = await open({ [rate]: 2 }, virtualTime())
      const get = async (key = adminKey) => (await app.send(path, { key })).status
      const post = async (key = adminKey) =>
        (await app.post(path.split('?')[0] ?? '', body, { key })).status
      expect([await get(), await post(), await get(), await post()]).toEqual([200, 200, 429, 429])
      expect([await post(otherKey), await get(otherKey), await post(otherKey)]).toEqual([
        200, 200, 429,
      ])
    },
  )

  test('a key in the body counts, and a request without a valid key does not', async () => {
    const app = await open({ scrub: 2 }, virtualTime())
    const path = '/app/main/rpc/scrub'
    const form = (loginId: string) => new URLSearchParams({ loginId, phoneList: number })
    const post = async (loginId: string) =>
      (await app.send(path, { method: 'POST', body: form(loginId), key: null })).status
    expect([await post('wrong'), await post('wrong'), await post('wrong')]).toEqual([401, 401, 401])
    expect([await post(adminKey), await post(adminKey), await post(adminKey)]).toEqual([
      200, 200, 429,
    ])
  })

  test('a refused request counts too: it was asked', async () => {
    const app = await open({ scrub: 1 }, virtualTime())
    expect((await app.send('/app/main/rpc/scrub?nonsense=1')).status).toBe(400)
    expect((await app.send(`/app/main/rpc/scrub?phoneList=${number}`)).status).toBe(429)
  })

  test('calls without a class are untouched, emergency numbers before all', async () => {
    const app = await open({ scrub: 1, litigator: 1, reassigned: 1, reputation: 1 }, virtualTime())
    const scrub = async () => (await app.send(`/app/main/rpc/scrub?phoneList=${number}`)).status
    expect([await scrub(), await scrub()]).toEqual([200, 429])
    for (let asked = 0; asked < 20; asked += 1) {
      const emergency = await app.send('/v1/predial?number=911', { key: null })
      expect(emergency.text).toBe('allow:911:-:end\n')
      const judged = await app.send(`/v1/predial?number=${number}&kind=manual`)
      // The gate was asked, which fails here; a limit would have been 429.
      expect([judged.status, judged.text]).toEqual([500, 'block:internal-error:-:end\n'])
      const decided = await app.post('/v1/decisions', { number, callKind: 'manual' })
      expect(decided.status).toBe(500)
    }
  })
})
