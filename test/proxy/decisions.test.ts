/** What the proxy takes for an allow: only a complete, recorded, current one for the very number; and scheduled calls. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { openTestCallgate } from '../support/test-callgate.js'
import { openFakeGate } from './fake-gate.js'
import { callRequests } from './platform-requests.js'
import { openFakePlatform, openTestProxy, sendRaw } from './proxy-fixture.js'

const allowed = '+12125550106'
const json =
  (body: unknown, status = 200) =>
  (response: ServerResponse) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  }
const upstream = await openFakePlatform()
const callgate = await openTestCallgate()
const real = await callgate.postJson('/v1/decisions', { number: allowed, callKind: 'ai' })
const allow = (await real.json()) as Record<string, unknown>

let reply: (response: ServerResponse) => void = (response) => response.end()
const gateServer = createServer((request, response) => {
  request.resume()
  request.on('end', () =>
    request.url === '/v1/decisions' ? reply(response) : json({ recorded: true })(response),
  )
})
await new Promise<void>((resolve) => gateServer.listen(0, '127.0.0.1', resolve))
const gate = { url: `http://127.0.0.1:${(gateServer.address() as AddressInfo).port}`, key: 'key' }

beforeEach(() => {
  upstream.received.length = 0
})
afterAll(async () => {
  gateServer.closeAllConnections()
  gateServer.close()
  await upstream.close()
  await callgate.end()
})

async function call(options: { deadlineMs?: number; monotonicMs?: () => number } = {}) {
  const { path, contentType, body } = callRequests.vapi
  const { monotonicMs, ...more } = options
  const proxy = await openTestProxy({
    platform: 'vapi',
    upstream: upstream.url,
    gate,
    ...more,
    ...(monotonicMs && {
      timers: { monotonicMs, setTimeout: () => () => undefined } as never,
    }),
  })
  const headers = [['Content-Type', contentType]] as const
  const answer = await sendRaw(proxy.url, { path, headers, body: body(allowed) })
  await proxy.close()
  return { status: answer.status, reason: JSON.parse(answer.body).reason as string | undefined }
}

test('a complete allow is one', async () => {
  reply = json(allow)
  expect(await call()).toEqual({ status: 200, reason: undefined })
  expect(upstream.received).toHaveLength(1)
})

describe('is refused:', () => {
  test.each([
    ['an allow for another number', json({ ...allow, number: '2125550107', dial: '2125550107' })],
    ['an allow to dial another number', json({ ...allow, dial: '2125550107' })],
    ['an allow without a number to dial', json({ ...allow, dial: undefined })],
    ['a what-if', json({ ...allow, whatIf: true })],
    ['an allow without a record', json({ ...allow, id: '-' })],
    ['an allow that is over', json({ ...allow, validUntil: allow.judgedAt })],
    ['an allow without an end', json({ ...allow, validUntil: 'never' })],
    ['an allow with another status', json(allow, 503)],
    [
      'an answer that is not whole',
      (response: ServerResponse) => response.end('{"decision":"allow"'),
    ],
    ['a page', (response: ServerResponse) => response.end('<html>allow</html>')],
    ['a redirect', (response: ServerResponse) => response.writeHead(307, { location: '/' }).end()],
    ['a connection that ends', (response: ServerResponse) => response.destroy()],
  ])('%s', async (_what, answer) => {
    reply = answer
    expect(await call()).toEqual({ status: 403, reason: 'undecided' })
    expect(upstream.received).toEqual([])
  })

  test('no answer within the deadline', async () => {
    reply = () => undefined
    expect(await call({ deadlineMs: 50 })).toEqual({ status: 403, reason: 'undecided' })
    expect(upstream.received).toEqual([])
  })

  test('an allow that has expired when the request would be forwarded', async () => {
    reply = json(allow)
    let readings = 0
    // The second reading is made before the request is forwarded.
    const monotonicMs = () => 3_600_000 * readings++
    expect(await call({ monotonicMs })).toEqual({ status: 403, reason: 'expired' })
    expect(upstream.received).toEqual([])
  })
})

describe('scheduled calls', () => {
  const opened = openFakeGate({ url: callgate.url, key: callgate.keys.sandbox })
  afterAll(async () => await (await opened).close())
  const noon = '2026-11-24T17:00:00Z'
  const night = '2026-11-24T05:00:00Z'
  const vapi = (earliestAt: string, latestAt?: string) =>
    [
      'vapi',
      '/call',
      { customer: { number: allowed }, schedulePlan: { earliestAt, latestAt } },
    ] as const
  const retell = (at: string | number) =>
    [
      'retell',
      '/create-batch-call',
      {
        from_number: '+12125550199',
        tasks: [{ to_number: allowed }],
        trigger_timestamp: typeof at === 'string' ? Date.parse(at) : at,
      },
    ] as const

  async function send(
    [platform, path, body]: readonly ['vapi' | 'retell', string, object],
    allowScheduled: boolean,
  ) {
    const scheduledGate = await opened
    const proxy = await openTestProxy({
      platform,
      upstream: upstream.url,
      gate: scheduledGate,
      allowScheduled,
    })
    const headers = [['Content-Type', 'application/json']] as const
    const answer = await sendRaw(proxy.url, { path, headers, body: JSON.stringify(body) })
    await proxy.close()
    return answer.status === 403 ? JSON.parse(answer.body).reason : answer.status
  }

  test.each([vapi(noon, '2026-11-24T17:30:00Z'), retell(noon)])(
    'are refused unless they are permitted: %s',
    async (...request) => {
      expect(await send(request, false)).toBe('scheduled-call')
      expect(upstream.received).toEqual([])
      expect(await send(request, true)).toBe(200)
      expect(upstream.received).toHaveLength(1)
    },
  )

  test.each([
    ['at night', vapi(night, '2026-11-24T05:30:00Z'), 'outside-calling-hours'],
    [
      'until the night',
      vapi('2026-11-25T01:30:00Z', '2026-11-25T02:30:00Z'),
      'outside-calling-hours',
    ],
    ['at night in a batch', retell(night), 'outside-calling-hours'],
    ['without an end', vapi(noon), 'scheduled-call'],
    ['with an end before the start', vapi(noon, night), 'scheduled-call'],
    ['within two hours', vapi(noon, '2026-11-24T19:00:00Z'), 'scheduled-call'],
    ['at no time', vapi('tomorrow', 'tomorrow'), 'scheduled-call'],
    ['at half a millisecond', retell(0.5), 'scheduled-call'],
  ])('%s are refused', async (_when, request, reason) => {
    expect(await send(request, true)).toBe(reason)
    expect(upstream.received).toEqual([])
  })
})
