/** Events of platforms, signed as their SDKs sign or check them: outcomes and spoken opt-outs reach the gate. */
import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { AccessToken, WebhookReceiver } from 'livekit-server-sdk'
import Retell from 'retell-sdk'
import Telnyx from 'telnyx'
import twilio from 'twilio'
import { afterAll, describe, expect, test } from 'vitest'
import { readCallOutcomes } from '../../../src/data/files/call-outcomes.js'
import { loadOptOutReader } from '../../../src/data/files/opt-out-phrases.js'
import { readOptOutSignals } from '../../../src/data/files/opt-out-signals.js'
import type { CallKind } from '../../../src/domain/mandate.js'
import { createLogger } from '../../../src/observability/log.js'
import { createEventReader } from '../../../src/platform-events/read-event.js'
import { EventClient } from '../../../src/proxy/events/event-client.js'
import { openEventServer } from '../../../src/proxy/events/event-server.js'
import type { PlatformName } from '../../../src/proxy/platforms/platform.js'
import type { Listener } from '../../../src/runtime/listen.js'
import { openTestCallgate } from '../../support/test-callgate.js'

const callgate = await openTestCallgate()
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
  readonly sign: (body: string, at: number, path: string) => Promise<Signed> | Signed
  /** Checks with the platform's own SDK; absent where it has nothing for it. */
  readonly check?: (signed: Signed, path: string) => Promise<unknown>
  readonly event: (call: { decision: string; number: string; said: string }) => string
  readonly hasTime: boolean
  readonly outcome: object
}

const json = { 'content-type': 'application/json' }

const cases: Readonly<Record<PlatformName, EventCase>> = {
  vapi: {
    secret: 'vapi-secret',
    sign: (body) => ({ body, headers: { ...json, 'x-vapi-secret': 'vapi-secret' } }),
    hasTime: false,
    event: ({ decision, number, said }) =>
      JSON.stringify({
        message: {
          type: 'end-of-call-report',
          endedReason: 'customer-ended-call',
          customer: { number },
          call: { id: 'c-1', assistantOverrides: { metadata: { callgateDecision: decision } } },
          artifact: {
            messages: [
              { role: 'bot', message: 'You can say: do not call me.' },
              { role: 'user', message: said },
            ],
          },
        },
      }),
    outcome: { state: 'answered', leg: 'c-1', dialStatus: 'customer-ended-call' },
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
    event: ({ decision, number, said }) =>
      JSON.stringify({
        event: 'call_ended',
        call: {
          call_id: 'c-2',
          direction: 'outbound',
          to_number: number,
          metadata: { callgate_decision: decision },
          disconnection_reason: 'user_hangup',
          end_timestamp: Date.UTC(2026, 10, 23, 17, 1),
          transcript_object: [
            { role: 'agent', content: 'Shall I take you off my list?' },
            { role: 'user', content: said },
          ],
        },
      }),
    outcome: {
      ...{ state: 'answered', leg: 'c-2', dialStatus: 'user_hangup' },
      endedAt: '2026-11-23T17:01:00Z',
    },
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
    event: ({ decision, number, said }) =>
      JSON.stringify({
        data: {
          event_type: 'call.transcription',
          payload: {
            call_control_id: 'v3:c-3',
            direction: 'outgoing',
            to: number,
            client_state: Buffer.from(JSON.stringify({ callgateDecision: decision })).toString(
              'base64',
            ),
            transcription_data: {
              transcript: said,
              is_final: true,
              transcription_track: 'inbound',
            },
          },
        },
      }),
    outcome: { state: 'answered', leg: 'v3:c-3' },
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
    event: ({ number, said }) =>
      new URLSearchParams({
        CallSid: 'CA4',
        CallStatus: 'completed',
        Direction: 'outbound-api',
        To: number,
        Track: 'inbound_track',
        TranscriptionData: JSON.stringify({ transcript: said }),
      }).toString(),
    outcome: { state: 'answered', leg: 'CA4', dialStatus: 'completed' },
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
    event: ({ decision, number }) =>
      JSON.stringify({
        event: 'participant_left',
        participant: {
          sid: 'PA_5',
          disconnectReason: 'CLIENT_INITIATED',
          attributes: { 'callgate.decision': decision, 'sip.phoneNumber': number },
        },
      }),
    outcome: {
      ...{ state: 'answered', answeredBy: 'unknown' },
      ...{ leg: 'PA_5', dialStatus: 'CLIENT_INITIATED' },
    },
  },
}

const readEvent = createEventReader({
  outcomes: readCallOutcomes('config/call-outcomes.yaml'),
  signals: readOptOutSignals('config/opt-out-signals.yaml'),
})
const names = Object.keys(cases) as PlatformName[]
const speaking = names.filter((name) => name !== 'livekit')
const servers = {} as Record<PlatformName, Listener>
const readWords = loadOptOutReader('config/opt-out-phrases.yaml')

const open = (platform: PlatformName, gateUrl = callgate.url, callKind: CallKind = 'ai') =>
  openEventServer({
    platform,
    signature: { secrets: [cases[platform].secret] },
    readEvent,
    client: new EventClient({
      ...{ url: gateUrl, key: callgate.keys.sandbox, callKind, timeoutMs: 10_000 },
    }),
    readWords,
    publicOrigin,
    host: '127.0.0.1',
    port: 0,
    clock: { now: () => now },
    log: createLogger('debug', { write: (line) => void logLines.push(line) }),
  })
for (const name of names) servers[name] = await open(name)

afterAll(async () => {
  await Promise.all(Object.values(servers).map((server) => server.close()))
  await callgate.end()
})

let areaCode = 0
const areaCodes = [
  '212',
  '305',
  '216',
  '718',
  '303',
  '415',
  '404',
  '312',
  '716',
  '213',
  '702',
  '646',
  '917',
  '347',
  '929',
  '614',
  '513',
  '419',
  '330',
  '440',
  '937',
  '740',
  '516',
  '914',
]

/** An allowed call to a number that no other test uses. */
async function placeCall(callKind: CallKind = 'ai') {
  const area = areaCodes[areaCode++ % areaCodes.length]
  const number = `+1${area}5550106`
  const response = await callgate.postJson('/v1/decisions', { number, callKind })
  const { id, decision, reason } = (await response.json()) as Record<
    'id' | 'decision' | 'reason',
    string
  >
  expect([number, decision, reason]).toEqual([number, 'allow', 'permitted'])
  return { decision: id, number }
}

const pathOf = (name: PlatformName, decision: string) =>
  `/v1/platforms/${name}/events${name === 'twilio' ? `?callgateDecision=${decision}` : ''}`

async function send(url: string, path: string, { body, headers }: Signed): Promise<number> {
  return (await fetch(url + path, { method: 'POST', body, headers })).status
}

async function statementsOf(decision: string) {
  const { db } = callgate.callgate.storage
  return await db
    .selectFrom('opt_out_statements')
    .select(['number', 'said', 'source'])
    .where('decision_id', '=', decision)
    .execute()
}

async function recordOf(decision: string) {
  const response = await callgate.get(`/v1/decisions/${decision}`)
  return (await response.json()) as { outcome?: object }
}

describe.each(names)('an event of %s', (name) => {
  const { sign: signed, check, event, hasTime, outcome } = cases[name]
  const { url } = servers[name]

  test('is noted, and what was not an opt-out is none', async () => {
    const call = await placeCall()
    const path = pathOf(name, call.decision)
    const sent = await signed(event({ ...call, said: 'Yes, tomorrow is fine' }), now, path)
    await check?.(sent, path)
    expect(await send(url, path, sent)).toBe(200)
    expect((await recordOf(call.decision)).outcome ?? {}).toEqual(outcome)
    expect(await statementsOf(call.decision)).toEqual([])
  })

  test('is refused when it is forged, changed or old, and tells nobody', async () => {
    const call = await placeCall()
    const path = pathOf(name, call.decision)
    const sent = await signed(event({ ...call, said: 'take me off your list' }), now, path)
    const { 'content-type': type = '' } = sent.headers
    expect(await send(url, path, { ...sent, headers: { 'content-type': type } })).toBe(401)
    if (name !== 'vapi') expect(await send(url, path, { ...sent, body: `${sent.body} ` })).toBe(401)
    const headers = Object.fromEntries(
      Object.entries(sent.headers).map(([key, value]) => [
        key,
        key === 'content-type' ? value : `${value.slice(0, -2)}AA`,
      ]),
    )
    expect(await send(url, path, { ...sent, headers })).toBe(401)
    if (hasTime) {
      for (const at of [now - 301_000, now + 302_000]) {
        expect(await send(url, path, await signed(sent.body, at, path))).toBe(401)
      }
    }
    expect(await statementsOf(call.decision)).toEqual([])
    expect((await recordOf(call.decision)).outcome).toBeUndefined()
  })

  test('that is unknown is taken, and counted', async () => {
    const path = pathOf(name, 'x')
    const body = name === 'twilio' ? 'Hello=1' : '{"event":"new","data":[],"message":7}'
    const before = logLines.length
    for (const count of [1, 2]) {
      expect(await send(url, path, await signed(body, now, path))).toBe(200)
      expect(logLines.slice(before).at(-1)).toContain(`"count":${count}`)
    }
  })

  test('is not acknowledged while the gate cannot store it', async () => {
    const server = await open(name, 'http://127.0.0.1:1')
    const call = await placeCall()
    const path = pathOf(name, call.decision)
    const sent = await signed(event({ ...call, said: 'stop calling me' }), now, path)
    expect(await send(server.url, path, sent)).toBe(503)
    await server.close()
  })

  test('comes in at one address, by POST', async () => {
    const sent = await signed('{}', now, '/')
    expect(await send(url, '/v1/platforms/other/events', sent)).toBe(404)
    expect((await fetch(url + pathOf(name, 'x'))).status).toBe(405)
  })
})

describe.each(speaking)('an opt-out in a transcript of %s', (name) => {
  const { sign: signed, event } = cases[name]
  const { url } = servers[name]

  test.each([
    'Please TAKE ME OFF your list!',
    'Don’t call this number',
    'Por favor, no me llamen más',
  ])('is in force at once, and stored once: %s', async (said) => {
    const call = await placeCall()
    const path = pathOf(name, call.decision)
    // The number in the event is another one: that of the decision counts.
    const body = event({ decision: call.decision, number: '+19085550106', said })
    const sent = await signed(body, now, path)
    expect(await send(url, path, sent)).toBe(200)
    const status = await callgate.get(
      `/app/main/rpc/pdnc?phoneList=${call.number.slice(2)},9085550106&actionType=status`,
    )
    expect(await status.text()).toMatch(/^\d{10},2026-11-23,2026-11-23\n9085550106,,$/)
    expect(await send(url, path, sent)).toBe(200)
    expect(await statementsOf(call.decision)).toEqual([
      { number: call.number.slice(2), said: readWords(said).words, source: 'transcript' },
    ])
  })

  test('of a call without a decision is about its number', async () => {
    const path = `/v1/platforms/${name}/events`
    const number = `+1${{ vapi: '503', retell: '504', telnyx: '505', twilio: '507' }[name as 'vapi']}5550106`
    const body = event({ decision: '', number, said: 'remove me' })
    expect(await send(url, path, await signed(body, now, path))).toBe(200)
    const decided = await callgate.postJson('/v1/decisions', { number, callKind: 'ai' })
    expect(await decided.json()).toMatchObject({ decision: 'block' })
    const status = await callgate.get(
      `/app/main/rpc/pdnc?phoneList=${number.slice(2)}&actionType=status`,
    )
    expect(await status.text()).toContain('2026-11-23')
    const stored = () =>
      callgate.callgate.storage.db
        .selectFrom('opt_out_statements')
        .select('said')
        .where('number', '=', number.slice(2))
        .execute()
    expect(await stored()).toEqual([{ said: 'remove me' }])
    expect(await send(url, path, await signed(body, now, path))).toBe(200)
    expect(await stored()).toHaveLength(1)
  })
})

test('an answered autodialed call counts as neither connected nor abandoned', async () => {
  const { decision, number } = await placeCall('autodialed')
  const { sign: signed } = cases.telnyx
  const payload = {
    to: number,
    call_control_id: 'leg-1',
    client_state: Buffer.from(JSON.stringify({ callgateDecision: decision })).toString('base64'),
  }
  const body = JSON.stringify({ data: { event_type: 'call.answered', payload } })
  const path = pathOf('telnyx', decision)
  const server = await open('telnyx', callgate.url, 'autodialed')
  expect(await send(server.url, path, await signed(body, now, path))).toBe(200)
  await server.close()
  expect((await recordOf(decision)).outcome).toMatchObject({ state: 'answered' })
  expect(await callgate.callgate.abandonment.list({ after: 0 })).toEqual([])
})

test('an event for the decision of another account changes nothing', async () => {
  const made = await callgate.postJson(
    '/v1/decisions',
    { number: '2125550107', callKind: 'manual' },
    callgate.keys.main,
  )
  const { id } = (await made.json()) as { id: string }
  const { sign: signed, event } = cases.vapi
  const path = pathOf('vapi', id)
  const body = event({ decision: id, number: 'anonymous', said: 'do not call me' })
  expect(await send(servers.vapi.url, path, await signed(body, now, path))).toBe(200)
  expect(await statementsOf(id)).toEqual([])
  expect(logLines.at(-1)).not.toContain('an opt-out was heard')
})
