/** Events of platforms, signed as their SDKs sign or check them, reach the gate as they came. */

import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { AccessToken, WebhookReceiver } from 'livekit-server-sdk'
import Retell from 'retell-sdk'
import Telnyx from 'telnyx'
import twilio from 'twilio'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { createLogger } from '../../../src/observability/log.js'
import { type PlatformName, platformNames } from '../../../src/platform-events/call-event.js'
import { DeliveryQueue } from '../../../src/proxy/delivery-queue.js'
import { openEventServer } from '../../../src/proxy/events/event-server.js'
import { GateClient } from '../../../src/proxy/gate-client.js'
import { platforms } from '../../../src/proxy/platforms/platforms.js'
import type { Listener } from '../../../src/runtime/listen.js'
import { systemTimers } from '../../../src/runtime/runtime.js'
import { openTestCallgate } from '../../support/test-callgate.js'
import { openFakeGate } from '../fake-gate.js'
import { noPauses } from '../proxy-fixture.js'

const callgate = await openTestCallgate()
const gate = await openFakeGate({ url: callgate.url, key: callgate.keys.sandbox })
const now = Date.now()
const publicOrigin = 'https://events.customer.example'
const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const telnyxKey = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64')
const logLines: string[] = []

interface Signed {
  readonly body: string
  readonly headers: Record<string, string>
}

interface EventCase {
  readonly secret: string
  /** Another secret in the form of this platform's. */
  readonly otherSecret: string
  readonly sign: (body: string, at: number, path: string) => Promise<Signed> | Signed
  /** Checks with the platform's own SDK; absent where it has nothing for it. */
  readonly check?: (signed: Signed, path: string) => Promise<unknown>
  readonly body: string
  readonly hasTime: boolean
}

const json = { 'content-type': 'application/json' }

const cases: Readonly<Record<PlatformName, EventCase>> = {
  vapi: {
    secret: 'vapi-secret',
    sign: (body) => ({ body, headers: { ...json, 'x-vapi-secret': 'vapi-secret' } }),
    hasTime: false,
    otherSecret: 'vapi-other',
    body: '{"message":{"type":"speech-update","call":{"id":"c-1"}}}',
  },
  retell: {
    secret: 'retell-key',
    sign: (body, at) => {
      const digest = createHmac('sha256', 'retell-key').update(`${body}${at}`).digest('hex')
      return { body, headers: { ...json, 'x-retell-signature': `v=${at},d=${digest}` } }
    },
    check: async ({ body, headers }) =>
      expect(await Retell.verify(body, 'retell-key', headers['x-retell-signature'] ?? '')).toBe(
        true,
      ),
    hasTime: true,
    otherSecret: 'retell-other',
    body: '{ "event":"call_ended", "call":{"call_id":"c-2","to_number":null}}',
  },
  telnyx: {
    secret: telnyxKey,
    sign: (body, at) => {
      const time = String(Math.floor(at / 1_000))
      const signature = sign(null, Buffer.from(`${time}|${body}`), privateKey).toString('base64')
      return {
        body,
        headers: { ...json, 'telnyx-timestamp': time, 'telnyx-signature-ed25519': signature },
      }
    },
    check: async ({ body, headers }) => {
      const client = new Telnyx({ apiKey: 'x', publicKey: telnyxKey })
      await client.webhooks.unwrap(body, { headers })
    },
    hasTime: true,
    otherSecret: Buffer.alloc(32, 7).toString('base64'),
    body: '{"data":{"event_type":"call.transcription","payload":{}}}',
  },
  twilio: {
    secret: 'twilio-token',
    sign: (body, _at, path) => ({
      body,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'x-twilio-signature': twilio.getExpectedTwilioSignature(
          'twilio-token',
          publicOrigin + path,
          Object.fromEntries(new URLSearchParams(body)),
        ),
      },
    }),
    hasTime: false,
    otherSecret: 'twilio-other',
    body: 'CallSid=CA4&TranscriptionData=%7B%22transcript%22%3A%22stop%22%7D&Track=',
  },
  livekit: {
    secret: 'lk-key:lk-secret',
    sign: async (body) => {
      const token = new AccessToken('lk-key', 'lk-secret', { ttl: 300 })
      token.sha256 = createHash('sha256').update(body).digest('base64')
      return {
        body,
        headers: { 'content-type': 'application/webhook+json', authorization: await token.toJwt() },
      }
    },
    check: ({ body, headers }) =>
      new WebhookReceiver('lk-key', 'lk-secret').receive(body, headers.authorization),
    hasTime: false,
    otherSecret: 'lk-key:lk-other',
    body: '{"event":"participant_left","participant":{"sid":"PA_5"}}',
  },
  elevenlabs: {
    secret: 'wsec_eleven',
    sign: (body, at) => {
      const time = Math.floor(at / 1_000)
      const digest = createHmac('sha256', 'wsec_eleven').update(`${time}.${body}`).digest('hex')
      return { body, headers: { ...json, 'elevenlabs-signature': `t=${time},v0=${digest}` } }
    },
    hasTime: true,
    otherSecret: 'wsec_other',
    body: '{"type":"post_call_transcription","data":{"conversation_id":"conv_6"}}',
  },
  bland: {
    secret: 'bland-secret',
    sign: (body) => {
      const digest = createHmac('sha256', 'bland-secret').update(body).digest('hex')
      return { body, headers: { ...json, 'x-webhook-signature': digest } }
    },
    hasTime: false,
    otherSecret: 'bland-other',
    body: '{"call_id":"b-7","transcripts":[{"user":"user","text":"¡No me llame más! 🙂"}]}',
  },
  signalwire: {
    secret: 'signalwire-key',
    sign: (body, _at, path) => ({
      body,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'x-signalwire-signature': twilio.getExpectedTwilioSignature(
          'signalwire-key',
          publicOrigin + path,
          Object.fromEntries(new URLSearchParams(body)),
        ),
      },
    }),
    hasTime: false,
    otherSecret: 'signalwire-other',
    body: 'CallSid=s-8&CallStatus=completed',
  },
}

const stored = gate.stored['/v1/platform-events']
const reports = gate.stored['/v1/platform-reports']
const servers = {} as Record<PlatformName, Listener>
const log = createLogger('debug', { write: (line) => void logLines.push(line) })
const timers = { monotonicMs: systemTimers.monotonicMs, after: noPauses.after }

const open = (
  platform: PlatformName,
  { url = gate.url, secrets = [cases[platform].secret] as readonly string[] } = {},
) =>
  openEventServer({
    platform: platforms[platform],
    secrets,
    gate: new GateClient({
      ...{ platform, url, key: gate.key, callKind: 'ai', deadlineMs: 10_000, timers },
    }),
    deliveries: new DeliveryQueue({ timers, log }),
    publicOrigin,
    host: '127.0.0.1',
    port: 0,
    clock: { now: () => now },
    timers,
    log,
  })
for (const name of platformNames) servers[name] = await open(name)

beforeEach(() => {
  gate.failing.clear()
  stored.length = 0
  reports.length = 0
})
afterAll(async () => {
  await Promise.all(Object.values(servers).map((server) => server.close()))
  await gate.close()
  await callgate.end()
})

const pathOf = (name: PlatformName, query = '') => `/v1/platforms/${name}/events${query}`

async function send(url: string, path: string, { body, headers }: Signed) {
  const response = await fetch(url + path, { method: 'POST', body, headers })
  return { status: response.status, text: await response.text() }
}

describe.each(platformNames)('an event of %s', (name) => {
  const { sign: signed, check, body, hasTime, secret, otherSecret } = cases[name]
  const { url } = servers[name]

  test('is handed on as it came, with its query and time', async () => {
    const path = pathOf(name, '?callgateDecision=0a&lead=a%20b')
    const sent = await signed(body, now, path)
    await check?.(sent, path)
    expect(await send(url, path, sent)).toEqual({ status: 200, text: '' })
    expect(stored).toEqual([
      {
        platform: name,
        receivedAt: new Date(now).toISOString(),
        body,
        query: 'callgateDecision=0a&lead=a%20b',
      },
    ])
  })

  test('is refused when it is forged or changed, and the gate hears of it', async () => {
    const path = pathOf(name)
    const sent = await signed(body, now, path)
    const { 'content-type': type = '' } = sent.headers
    const tries: Signed[] = [{ ...sent, headers: { 'content-type': type } }]
    if (name !== 'vapi') tries.push({ ...sent, body: `${body}&a=b` })
    const headers = Object.fromEntries(
      Object.entries(sent.headers).map(([key, value]) => [
        key,
        // Hex is read in either case.
        key === 'content-type' ? value : value.slice(0, -2) + (/aa$/i.test(value) ? 'BB' : 'AA'),
      ]),
    )
    tries.push({ ...sent, headers })
    for (const one of tries) expect((await send(url, path, one)).status).toBe(401)
    const countRefused = () =>
      reports.reduce((sum, { refusedSignatures = 0 }) => sum + refusedSignatures, 0)
    await gate.until(() => countRefused() === tries.length)
    expect(stored).toEqual([])
  })

  test.each([
    ['no headers of a signature', ''],
    ['a signature of another form', 'x'],
  ])('with %s is refused before its body is read', async (_what, value) => {
    const sent = await signed(body, now, pathOf(name))
    const names =
      value === '' ? [] : Object.keys(sent.headers).filter((one) => one !== 'content-type')
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    const lines = [
      `POST ${pathOf(name)} HTTP/1.1`,
      ...['Host: x', 'Content-Length: 4000000', ...names.map((one) => `${one}: ${value}`), '', ''],
    ]
    socket.write(lines.join('\r\n'))
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(String(answer)).toMatch(/^HTTP\/1.1 401 .*\r\n(?:.+\r\n)*connection: close/i)
    socket.destroy()
  })

  test.runIf(hasTime)('that is signed at another time is handed on as late', async () => {
    const path = pathOf(name)
    for (const at of [now - 301_000, now + 302_000]) {
      expect((await send(url, path, await signed(body, at, path))).status).toBe(200)
    }
    expect(stored).toMatchObject([{ delivery: 'late' }, { delivery: 'late' }])
  })

  test('is taken with either of two secrets, and with no third', async () => {
    const path = pathOf(name)
    const sent = await signed(body, now, path)
    for (const [secrets, status] of [
      [[otherSecret, secret], 200],
      [[secret, otherSecret], 200],
      [[otherSecret], 401],
    ] as const) {
      const server = await open(name, { secrets })
      expect((await send(server.url, path, sent)).status).toBe(status)
      await server.close()
    }
  })

  test.each([
    ['unknown', name.length % 2 ? 'Hello=1' : '{"event":"new","data":[],"message":7}'],
    ['empty', ''],
    ['not of the form of its type', '{"event":"call_end'],
    ['a list', '[]'],
  ])('that is %s is taken and handed on', async (_what, text) => {
    const path = pathOf(name)
    expect((await send(url, path, await signed(text, now, path))).status).toBe(200)
    expect(stored).toMatchObject([{ body: text }])
  })

  test('is not acknowledged while the gate cannot store it, and stored later all the same', async () => {
    const path = pathOf(name)
    const sent = await signed(body, now, path)
    gate.failing.set('/v1/platform-events', { status: 500, times: 3 })
    expect((await send(url, path, sent)).status).toBe(503)
    await gate.until(() => stored.length > 0)
    expect(stored).toMatchObject([{ body, receivedAt: new Date(now).toISOString() }])
  })

  test('comes in at one address, by POST', async () => {
    const sent = await signed(body, now, '/')
    expect((await send(url, '/v1/platforms/other/events', sent)).status).toBe(404)
    expect((await fetch(url + pathOf(name))).status).toBe(405)
  })
})

test('an event of Vapi is refused without a hash for each pair of hundreds of headers', async () => {
  const many = Array.from({ length: 100 }, (_, index) => [
    [`a${index}-timestamp`, '1'],
    [`b${index}-id`, '1'],
  ])
  const headers = { ...json, ...Object.fromEntries(many.flat()) }
  const startMs = performance.now()
  const { status } = await send(servers.vapi.url, pathOf('vapi'), { body: '{}', headers })
  expect(status).toBe(401)
  expect(performance.now() - startMs).toBeLessThan(10_000)
})

test('events of which nobody knows the senders are read up to 64 MiB together', async () => {
  const { url } = servers.bland
  const { hostname, port } = new URL(url)
  const half = `POST ${pathOf('bland')} HTTP/1.1\r\nHost: x\r\nContent-Length: 16000000\r\nx-webhook-signature: ${'a'.repeat(64)}\r\n\r\n${'b'.repeat(15_000_000)}`
  const sockets = Array.from({ length: 5 }, () => connect(Number(port), hostname))
  const answers = sockets.map(async (socket) =>
    String(((await once(socket, 'data')) as [Buffer])[0]),
  )
  for (const socket of sockets) socket.on('error', () => undefined).write(half)
  expect(await Promise.race(answers)).toMatch(/^HTTP\/1.1 503/)
  for (const socket of sockets) socket.destroy()
})

describe('a long event', () => {
  const { sign: signed } = cases.bland
  const { url } = servers.bland
  const path = pathOf('bland')

  test('is taken; its beginning is handed on, and the log says so', async () => {
    const body = `{"call_id":"b-9","audio":"${'é'.repeat(3_000_000)}"}`
    expect((await send(url, path, await signed(body, now, path))).status).toBe(200)
    const [{ body: head } = { body: '' }] = stored
    expect(body.startsWith(head)).toBe(true)
    expect(Buffer.byteLength(head)).toBeGreaterThan(3_999_990)
    expect(Buffer.byteLength(head)).toBeLessThanOrEqual(4_000_000)
    expect(logLines.at(-1)).toContain('only its beginning is stored')
  })

  test('whose signature cannot be verified is reported as one with a wrong signature', async () => {
    const body = `{"call_id":"b-9","audio":"${'a'.repeat(17_000_000)}"}`
    expect((await send(url, path, await signed(body, now, path))).status).toBe(200)
    await gate.until(() => reports.length === 1)
    expect(reports).toEqual([{ platform: 'bland', refusedSignatures: 1 }])
    expect(stored).toEqual([])
    expect(logLines.join('')).toContain('too long to verify its signature')
  })
})

describe('a credential of Vapi', () => {
  const body = '{"message":{"type":"end-of-call-report"}}'
  const { secret } = cases.vapi
  const time = String(Math.floor(now / 1_000))
  const hmac = (algorithm: string, encoding: 'hex' | 'base64', payload: string) =>
    createHmac(algorithm, secret).update(payload).digest(encoding)

  test.each([
    ['a bearer token', { authorization: `Bearer ${secret}` }],
    ['a bearer token in a header of choice', { 'x-my-token': `Bearer ${secret}` }],
    ['a secret in a header of choice', { 'x-my-secret': secret }],
    [
      'an HMAC with its time',
      { 'x-signature': hmac('sha256', 'hex', `${time}.${body}`), 'x-timestamp': time },
    ],
    ['an HMAC with a prefix', { 'x-hub-signature': `sha256=${hmac('sha256', 'hex', body)}` }],
    ['an HMAC of another algorithm', { 'x-sign': hmac('sha512', 'base64', body) }],
  ])('may be %s', async (_what, headers) => {
    const sent = { body, headers: { ...json, ...headers } as Record<string, string> }
    expect((await send(servers.vapi.url, pathOf('vapi'), sent)).status).toBe(200)
    const changed = Object.fromEntries(
      Object.entries(sent.headers).map(([name, value]) => [name, value.replace(/.$/, '!')]),
    )
    const forged = { body, headers: { ...changed, ...json } }
    expect((await send(servers.vapi.url, pathOf('vapi'), forged)).status).toBe(401)
    expect(stored).toMatchObject([{ body }])
  })
})

describe('an event whose sender waits for an answer', () => {
  const answerTo = async (name: PlatformName, event: object) => {
    const path = pathOf(name)
    const sent = await cases[name].sign(JSON.stringify(event), now, path)
    const { status, text } = await send(servers[name].url, path, sent)
    return { status, body: text === '' ? undefined : JSON.parse(text) }
  }

  test('gets a result for each tool call of Vapi, once the gate has stored it', async () => {
    const call = (id: string, name: string) => ({ id, type: 'function', function: { name } })
    const toolCallList = [call('t-1', 'opt_out'), call('t-2', 'note')]
    const event = { message: { type: 'tool-calls', toolCallList, call: { id: 'c-1' } } }
    const result = 'Received and recorded.'
    expect(await answerTo('vapi', event)).toEqual({
      status: 200,
      body: {
        results: [
          { name: 'opt_out', toolCallId: 't-1', result },
          { name: 'note', toolCallId: 't-2', result },
        ],
      },
    })
    expect(stored).toMatchObject([{ body: JSON.stringify(event) }])
    gate.failing.set('/v1/platform-events', { status: 500, times: 1 })
    expect(await answerTo('vapi', event)).toEqual({ status: 503, body: undefined })
    await gate.until(() => stored.length === 2)
  })

  test('gets a result for a custom function of Retell', async () => {
    const event = { name: 'opt_out', args: { said: 'stop' }, call: { call_id: 'c-1' } }
    expect(await answerTo('retell', event)).toEqual({
      status: 200,
      body: { result: 'Received and recorded.' },
    })
    expect(stored).toHaveLength(1)
  })

  const allowed = '+12125550106'
  const predial = (contact: unknown, more: object = {}) => ({
    message: { type: 'campaign.predial', campaignId: 'k-1', contact, ...more },
  })

  test('before a call of a campaign: an allowed contact is eligible, and its call recorded', async () => {
    gate.stored['/v1/platform-calls'].length = 0
    expect(await answerTo('vapi', predial({ id: 'x', number: allowed }))).toEqual({
      status: 200,
      body: { eligible: true },
    })
    const decisionId = expect.stringMatching(/^\w+$/)
    expect(gate.stored['/v1/platform-calls']).toEqual([
      { platform: 'vapi', calls: [{ decisionId, number: allowed.slice(2) }] },
    ])
    const id = gate.stored['/v1/platform-calls'][0]?.calls[0]?.decisionId
    const record = await callgate.get(`/v1/decisions/${id}`)
    expect(await record.json()).toMatchObject({ decision: 'allow', callKind: 'ai' })
  })

  test.each([
    ['without consent', { number: '+12125550100' }],
    ['in another form', { number: '(212) 555-0106' }],
    ['of another country', { number: '+442071838750' }],
    ['that is empty', { number: '' }],
    ['that is absent', {}],
    ['that is null', { number: null }],
    ['in a list', [{ number: allowed }]],
    ['nowhere', undefined],
  ])('before a call of a campaign: a number %s is not eligible', async (_what, contact) => {
    const answer = await answerTo('vapi', predial(contact, { customer: { number: allowed } }))
    expect(answer).toEqual({ status: 200, body: { eligible: false } })
  })

  test('before a call of a campaign: nobody is eligible when the gate fails in any part', async () => {
    for (const path of ['/v1/platform-calls', '/v1/decisions']) {
      gate.failing.set(path, { status: 500 })
      expect(await answerTo('vapi', predial({ number: allowed }))).toEqual({
        status: 200,
        body: { eligible: false },
      })
      gate.failing.clear()
    }
    const server = await open('vapi', { url: 'http://127.0.0.1:1' })
    const body = JSON.stringify(predial({ number: allowed }))
    const { text } = await send(server.url, pathOf('vapi'), await cases.vapi.sign(body, now, ''))
    expect(text).toBe('{"eligible":false}')
    await server.close()
  })

  test('before a call of a campaign: a request without a valid signature is not answered', async () => {
    const body = JSON.stringify(predial({ number: allowed }))
    expect(await send(servers.vapi.url, pathOf('vapi'), { body, headers: json })).toEqual({
      status: 401,
      text: '',
    })
  })
})
