/** Requests sent ahead on a connection that is cut before their answers could leave. */
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineEndpoint } from '../../src/api/endpoint.js'
import { fields } from '../../src/api/fields.js'
import { litigatorPost } from '../../src/api/lookups/litigator.js'
import { createRoute } from '../../src/api/route.js'
import { RateLimits } from '../../src/http/limits/rate-limits.js'
import { until } from '../e2e/asterisk/lab/until.js'
import { admin, adminKey, openTestApp, type TestApp } from '../support/test-app.js'
import { virtualTime } from '../support/virtual-time.js'

const none = {
  scrub: 0,
  litigator: 0,
  reassigned: 0,
  reputation: 0,
  pdnc: 0,
  ebr: 0,
  'time-legal': 0,
}

/** Sends text on a connection of its own. */
function send({ url }: TestApp, text: string) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(text)
  return socket
}

const posted = (path: string, body: string, key?: string) =>
  [
    `POST ${path} HTTP/1.1`,
    'Host: x',
    ...(key === undefined ? [] : [`loginId: ${key}`]),
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n')

test('bodies of strangers take no room once their connection is cut', async () => {
  const waiting: (() => void)[] = []
  let closed = 0
  const app = await openTestApp({
    limits: { maxBodiesBytes: 1_048_576 },
    authenticate: async (key) => {
      if (key === adminKey) return admin
      await new Promise<void>((resume) => waiting.push(resume))
      return undefined
    },
    metrics: {
      recordApiRequest: () => {
        closed += 1
      },
    },
    routes: [createRoute(litigatorPost, () => [])],
  })
  const [path = ''] = litigatorPost.paths
  const list = '2'.repeat(60_000)
  const body = JSON.stringify({ LoginId: 'x'.repeat(44), PhoneList: list })
  for (let cut = 1; cut <= 3; cut += 1) {
    const socket = send(app, posted(path, body).repeat(2))
    await until('both wait for their key to be checked', () => waiting.length === 2)
    const before = closed
    socket.resetAndDestroy()
    await until('the connection is gone', () => closed > before)
    for (const resume of waiting.splice(0)) resume()
  }
  const sent = await app.post(path, { LoginId: adminKey, PhoneList: list }, { key: null })
  expect([sent.status, sent.text]).toEqual([200, '[]'])
  expect(closed).toBe(7)
})

test('bulk calls end with their connection', async () => {
  const limits = new RateLimits({
    perMinute: none,
    numbersPerMinute: {},
    timers: virtualTime(),
  })
  const working: (() => void)[] = []
  let closed = 0
  const slow = defineEndpoint({
    name: 'slow',
    summary: 'Answers.',
    spec: 'none',
    method: 'POST',
    keyAlsoIn: [],
    paths: ['/v1/slow'],
    accepts: ['json'],
    errors: 'text',
    request: fields({}),
    response: z.unknown(),
    countNumbers: () => 300,
    rights: [],
    scopes: 'none',
  })
  const app = await openTestApp({
    admitNumbers: (accountId, rate, count) => limits.admitNumbers(accountId, rate, count),
    metrics: {
      recordApiRequest: () => {
        closed += 1
      },
    },
    routes: [
      createRoute(slow, () => new Promise<string>((resume) => working.push(() => resume('')))),
    ],
  })
  for (let cut = 1; cut <= 3; cut += 1) {
    const socket = send(app, posted('/v1/slow', '{}', adminKey).repeat(2))
    await until('both are worked on', () => working.length === 2)
    const before = closed
    socket.resetAndDestroy()
    await until('the connection is gone', () => closed > before)
    for (const resume of working.splice(0)) resume()
  }
  const next = app.post('/v1/slow', {})
  await until('the next one is worked on', () => working.length === 1)
  for (const resume of working) resume()
  expect((await next).status).toBe(200)
})
