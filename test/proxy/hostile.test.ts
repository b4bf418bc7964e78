/** Requests that two programs could read differently, and those that name somebody else, are never forwarded. */
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import type { PlatformName } from '../../src/platform-events/call-event.js'
import { openTestCallgate } from '../support/test-callgate.js'
import { openFakeGate } from './fake-gate.js'
import { accountPath, callRequests, isFormPlatform } from './platform-requests.js'
import {
  openFakePlatform,
  openTestProxy,
  type RawRequest,
  sendRaw,
  type TestProxy,
} from './proxy-fixture.js'

const callgate = await openTestCallgate()
const upstream = await openFakePlatform()
const gate = await openFakeGate({ url: callgate.url, key: callgate.keys.sandbox })
const names = Object.keys(callRequests) as PlatformName[]
const proxies = {} as Record<PlatformName, TestProxy>
for (const platform of names) {
  proxies[platform] = await openTestProxy({ platform, upstream: upstream.url, gate })
}

const allowed = '+12125550106'
const blocked = '+12125550100'

beforeEach(() => {
  upstream.received.length = 0
})
afterAll(async () => {
  await Promise.all(Object.values(proxies).map((proxy) => proxy.close()))
  await upstream.close()
  await gate.close()
  await callgate.end()
})

function callOf(name: PlatformName, change: Partial<RawRequest> = {}): RawRequest {
  const { path, contentType, body } = callRequests[name]
  return { path, headers: [['Content-Type', contentType]], body: body(allowed), ...change }
}

async function expectRefused(name: PlatformName, raw: RawRequest, reason?: string) {
  const reply = await sendRaw(proxies[name].url, raw)
  expect(reply.status).toBe(403)
  expect(reply.headers['x-should-retry']).toBe('false')
  if (reason !== undefined) expect(reply.body).toContain(reason)
  expect(upstream.received).toEqual([])
  return reply
}

describe.each(names)('%s', (name) => {
  const { path, contentType, harmless } = callRequests[name]
  const { url } = proxies[name]

  test('forwards an allowed call and a harmless request', async () => {
    expect((await sendRaw(url, callOf(name))).status).toBe(200)
    const headers = harmless.body === undefined ? [] : [['Content-Type', contentType] as const]
    expect((await sendRaw(url, { ...harmless, headers })).status).toBe(200)
    expect(upstream.received.map(({ url: target }) => target)).toEqual([path, harmless.path])
  })

  test.each([
    ['an empty first segment', `/${path}`],
    ['an empty segment', `${path}//`],
    ['an escaped letter', path.replace(/l/, '%6c')],
    ['a dot segment', `/x/..${path}`],
    ['an escaped dot segment', `/x/%2e%2e${path}`],
    ['an escape in an escape', `/x/%252e%252e${path}`],
    ['a parameter', `${path};x=1`],
    ['a slash at the end', `${path}/`],
    ['a backslash', `${path}\\x`],
    ['another case', path.toUpperCase()],
    ['an absolute address', `http://elsewhere.example${path}`],
    ['a fragment', `${path}#x`],
    ['a query', `${path}?to=%2B12125550100`],
    ['another method in the query', `${harmless.path.split('?')[0]}?_method=POST`],
  ])('refuses a path with %s', async (_what, target) => {
    await expectRefused(name, callOf(name, { path: target }))
  })

  test.each(['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'GET'])('refuses %s', async (method) => {
    await expectRefusedBody(callOf(name, { method }))
    async function expectRefusedBody(raw: RawRequest) {
      expect((await sendRaw(url, raw)).status).toBe(403)
      expect(upstream.received).toEqual([])
    }
  })

  test.each([
    ['compressed', [['Content-Encoding', 'gzip']], gzipSync(callRequests[name].body(allowed))],
    ['said to be compressed', [['Content-Encoding', 'br']], callRequests[name].body(allowed)],
    ['not UTF-8', [], Buffer.from([0x7b, 0xff, 0x7d])],
    ['empty', [], ''],
    ['too long', [], callRequests[name].body(allowed) + ' '.repeat(2 ** 20)],
  ] as const)('refuses a body that is %s', async (_what, more, body) => {
    await expectRefused(
      name,
      callOf(name, { headers: [['Content-Type', contentType], ...more], body }),
    )
  })

  test.each([
    'application/protobuf',
    'application/x-protobuf',
    'text/plain',
    `${contentType}; charset=utf-16`,
    'multipart/form-data; boundary=x',
    isFormPlatform(name) ? 'application/json' : 'application/x-www-form-urlencoded',
  ])('refuses the content type %s', async (type) => {
    await expectRefused(name, callOf(name, { headers: [['Content-Type', type]] }), 'Content-Type')
  })

  test('refuses headers that are given twice, and drops those that change the request', async () => {
    const type = ['Content-Type', contentType] as const
    await expectRefused(name, callOf(name, { headers: [type, type] }))
    const twoKeys = [type, ['Authorization', 'a'], ['Authorization', 'b']] as const
    await expectRefused(name, callOf(name, { headers: twoKeys }))
    const dropped = [
      ['X-HTTP-Method-Override', 'DELETE'],
      ['X-Method-Override', 'DELETE'],
      ['X_HTTP_METHOD', 'DELETE'],
      ['X-Original-URL', '/elsewhere'],
      ['X-Forwarded-Host', 'elsewhere.example'],
      ['Connection', 'close, X-Secret'],
      ['X-Secret', '1'],
      ['TE', 'trailers'],
      ['Host', 'elsewhere.example'],
      ['X-Callgate-Key', '1'],
      ['loginId', '1'],
    ] as const
    const kept = ['X-Request-Id', 'r-1'] as const
    expect((await sendRaw(url, callOf(name, { headers: [type, kept, ...dropped] }))).status).toBe(
      200,
    )
    const { headers = {} } = upstream.received[0] ?? {}
    expect(headers['x-request-id']).toBe('r-1')
    expect(headers.host).toBe(new URL(upstream.url).host)
    const names = dropped.map(([one]) => one.toLowerCase())
    expect(Object.keys(headers).filter((one) => names.includes(one))).toEqual([
      'host',
      'connection',
    ])
  })

  test('refuses an upgrade and a tunnel', async () => {
    const heads = [
      `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
      `CONNECT ${new URL(upstream.url).host} HTTP/1.1\r\nHost: x\r\n\r\n`,
      `POST http://elsewhere.example${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`,
    ]
    for (const head of heads) expect(await firstLine(url, head)).toMatch(/^HTTP\/1\.1 403 /)
    expect(upstream.received).toEqual([])
  })

  test.each([
    ['without its plus', '12125550106'],
    ['of ten digits', '2125550106'],
    ['with spaces', '+1 212 555 0106'],
    ['with a line break', '+12125550106\n'],
    ['of another country', '+442071838750'],
    ['as a SIP address', 'sip:+12125550106@carrier.example'],
    ['with an extension', '+12125550106,100'],
    ['of an emergency service', '911'],
    ['with other digits', '+1２１２5550106'],
    ['that is empty', ''],
  ])('refuses a number %s', async (_what, number) => {
    const body = callRequests[name].body(JSON.stringify(number).slice(1, -1))
    const text = isFormPlatform(name) ? callRequests[name].body(number) : body
    await expectRefused(name, callOf(name, { body: text }), 'no-phone-number')
  })

  test('passes a redirect back and does not follow it', async () => {
    const { answer } = upstream
    upstream.answer = { status: 307, headers: { location: `${upstream.url}/elsewhere` }, body: '' }
    const reply = await sendRaw(url, callOf(name))
    upstream.answer = answer
    expect(reply.status).toBe(307)
    expect(upstream.received).toHaveLength(1)
  })
})

describe('bodies that two programs read differently', () => {
  const at = (name: PlatformName, body: string) => [name, body] as const

  test.each([
    at('livekit', `{"sipCallTo":"${blocked}","sipCallTo":"${allowed}"}`),
    at('livekit', `{"sipCallTo":"${allowed}","sip_call_to":"${blocked}"}`),
    at('livekit', `{"sip_call_to":"${allowed}","\\u0073ip_call_to":"${blocked}"}`),
    at('livekit', `{"SipCallTo":"${blocked}","sipCallTo":"${allowed}"}`),
    at('vapi', `{"customer":{"number":"${blocked}","number":"${allowed}"}}`),
    at('vapi', `{"customer":{"number":"${allowed}"},"customers":[{"number":"${blocked}"}]}`),
    at('vapi', `{"customer":{"number":"${allowed}","__proto__":{"number":"${blocked}"}}}`),
    at('retell', `{"to_number":"${allowed}","toNumber":"${blocked}"}`),
    at('retell', `[{"to_number":"${allowed}"}]`),
    at('telnyx', `{"to":"${allowed}","To":"${blocked}"}`),
    at('telnyx', `{"to":["${allowed}",["${blocked}"]]}`),
    at('telnyx', `{"to":{"0":"${allowed}"}}`),
    at('twilio', 'To=%2B12125550106&To=%2B12125550100'),
    at('twilio', 'To=%2B12125550106&to=%2B12125550100'),
    at('twilio', 'To=%2B12125550106&To%5B%5D=%2B12125550100'),
    at('twilio', 'To=%2B12125550106&Url=a=b'),
    at('twilio', 'To=%2B12125550106&Url=%zz'),
  ])('%s: %s', async (name, body) => {
    await expectRefused(name, callOf(name, { body }))
  })

  test('the platform gets what was read, not what was sent', async () => {
    const body = `\ufeff{ "sip_call_to" : "\\u002b12125550106","sipTrunkId":"t" }`
    expect((await sendRaw(proxies.livekit.url, callOf('livekit', { body }))).status).toBe(200)
    expect(upstream.received[0]?.body).toMatch(
      /^\{"sipTrunkId":"t","sipCallTo":"\+12125550106","participantAttributes":\{"callgate.decision":"\w+"\}\}$/,
    )
  })
})

describe('another callee', () => {
  const livekit = (more: object) => ['livekit', { sipCallTo: allowed, ...more }] as const
  const vapi = (more: object) => ['vapi', { customer: { number: allowed }, ...more }] as const
  const retell = (more: object) => ['retell', { to_number: allowed, ...more }] as const
  const telnyx = (more: object) => ['telnyx', { to: allowed, ...more }] as const
  const transfer = { type: 'transferCall', destinations: [{ type: 'number', number: blocked }] }

  test.each([
    livekit({ sipRequestUri: `sip:${blocked}@carrier.example` }),
    livekit({ sip_to_header: `sip:${blocked}@carrier.example` }),
    livekit({ toUserOverride: blocked }),
    livekit({ destination: { host: 'elsewhere.example' } }),
    livekit({ trunk: { hostname: 'elsewhere.example' } }),
    livekit({ headers: { To: blocked } }),
    livekit({ headers: { 'X-A': `1\r\nRoute: <sip:${blocked}@elsewhere.example>` } }),
    vapi({ customerId: 'c-1' }),
    vapi({ customer: { number: allowed, sipUri: `sip:${blocked}@carrier.example` } }),
    vapi({ customer: { number: allowed, numberE164CheckEnabled: false } }),
    vapi({ assistant: { model: { tools: [transfer] } } }),
    vapi({ assistant: { forwardingPhoneNumber: blocked } }),
    vapi({ assistantOverrides: { 'tools:append': [transfer] } }),
    vapi({ customer: { number: allowed, assistantOverrides: { hooks: [transfer] } } }),
    retell({ ignore_e164_validation: true }),
    retell({ custom_sip_headers: { Route: '<sip:elsewhere.example>' } }),
    retell({
      agent_override: {
        retell_llm: { general_tools: [{ transfer_destination: { type: 'inferred' } }] },
      },
    }),
    telnyx({ link_to: 'v3:other' }),
    telnyx({ custom_headers: [{ name: 'Diversion', value: blocked }] }),
    telnyx({ assistant: { tools: [{ transfer: { targets: [{ to: blocked }] } }] } }),
  ])('%s: %j', async (name, body) => {
    await expectRefused(name, callOf(name, { body: JSON.stringify(body) }), 'other-callee')
  })

  test.each([
    '<Response><Dial>+12125550100</Dial></Response>',
    '<Response><Say>hi</Say><Redirect>https://a.example</Redirect></Response>',
    '<Response>< Dial>+12125550100</ Dial></Response>',
    '<!DOCTYPE x [<!ENTITY d "Dial">]><Response/>',
    '<?xml version="1.0" encoding="UTF-7"?>+ADw-Dial+AD4-',
    '<Response><![CDATA[<Dial>]]></Response>',
    '+12125550100',
  ])('twilio: %s', async (twiml) => {
    const body = new URLSearchParams({ To: allowed, From: allowed, Twiml: twiml }).toString()
    await expectRefused('twilio', callOf('twilio', { body }), 'other-callee')
  })

  test('an agent of the request may hand over to another agent and have tools', async () => {
    const tool = {
      type: 'function',
      function: { parameters: { properties: { number: { type: 'string' } } } },
    }
    const squad = {
      members: [{ assistantDestinations: [{ type: 'assistant', assistantName: 'b' }] }],
    }
    const more = {
      squad,
      assistantOverrides: { model: { tools: [tool] }, variableValues: { number: 'x' } },
    }
    const [, body] = vapi(more)
    const raw = callOf('vapi', { body: JSON.stringify(body) })
    expect((await sendRaw(proxies.vapi.url, raw)).status).toBe(200)
  })
})

describe('null is as if absent', () => {
  const forwarded = async (name: PlatformName, fields: object) => {
    const { path, body } = callRequests[name]
    const sent = { ...JSON.parse(body(allowed)), ...fields }
    const raw = callOf(name, { path, body: JSON.stringify(sent) })
    expect((await sendRaw(proxies[name].url, raw)).status).toBe(200)
    return JSON.parse(upstream.received[0]?.body ?? '')
  }

  test.each([
    ['livekit', { sipNumber: null, headers: null, participantAttributes: null, trunk: null }],
    ['livekit', { sip_number: null, sipToHeader: null, sip_request_uri: null }],
    ['livekit', { sip_call_to: null }],
    ['vapi', { customers: null, customerId: null, schedulePlan: null, assistant: null }],
    ['vapi', { customer: { number: allowed, sipUri: null, extension: null, email: null } }],
    ['vapi', { customer: null, customers: [{ number: allowed, numberE164CheckEnabled: null }] }],
    ['vapi', { assistantOverrides: { metadata: null, forwardingPhoneNumber: null } }],
    ['vapi', { assistant: { model: { tools: null }, transferTo: null, number: null } }],
    ['retell', { agent_override: null, custom_sip_headers: null, metadata: null }],
    ['retell', { ignore_e164_validation: null, override_agent_version: null }],
    ['retell', { custom_sip_headers: { 'X-Lead': null } }],
    ['telnyx', { link_to: null, sip_headers: null, custom_headers: null, assistant: null }],
    ['telnyx', { client_state: null, custom_headers: [{ name: 'X-A', value: 'b', more: null }] }],
    ['elevenlabs', { conversation_initiation_client_data: null, telephony_call_config: null }],
    ['elevenlabs', { conversation_initiation_client_data: { dynamic_variables: null } }],
    ['bland', { transfer_phone_number: null, metadata: null, start_time: null, tools: null }],
  ] as const)('%s: %j', async (name, fields) => {
    const body = await forwarded(name, fields)
    const named = Object.entries(fields).filter(([, value]) => value === null)
    for (const [field] of named) expect(body[field] ?? undefined).not.toBe(null)
    expect(JSON.stringify(body)).toContain(allowed)
  })

  test('a batch of Retell may have nulls, and keeps them in what is the customer’s own', async () => {
    const body = JSON.stringify({
      from_number: '+12125550199',
      name: null,
      trigger_timestamp: null,
      call_time_window: null,
      tasks: [
        { to_number: allowed, agent_override: null, metadata: null, ignore_e164_validation: null },
        { to_number: allowed, metadata: { lead: null } },
      ],
    })
    const raw = callOf('retell', { path: '/create-batch-call', body })
    expect((await sendRaw(proxies.retell.url, raw)).status).toBe(200)
    const callgate_decision = expect.any(String)
    expect(JSON.parse(upstream.received[0]?.body ?? '')).toEqual({
      from_number: '+12125550199',
      tasks: [
        { to_number: allowed, metadata: { callgate_decision } },
        { to_number: allowed, metadata: { lead: null, callgate_decision } },
      ],
    })
  })

  test('a number that is null is none', async () => {
    await expectRefused(
      'retell',
      callOf('retell', { body: '{"to_number":null}' }),
      'no-phone-number',
    )
  })

  test('the client state of Telnyx is ours if it is null or empty, and else the customer’s', async () => {
    const stateOf = async (client_state: unknown) => {
      upstream.received.length = 0
      const { client_state: sent } = await forwarded('telnyx', { client_state })
      return Buffer.from(sent, 'base64').toString()
    }
    for (const empty of [null, '']) expect(await stateOf(empty)).toContain('callgateDecision')
    const own = Buffer.from('lead 7').toString('base64')
    expect(await stateOf(own)).toBe('lead 7')
  })
})

describe('digits in an agent of the request', () => {
  const agents = (agent: object) =>
    [
      ['vapi', { customer: { number: allowed }, assistant: agent }],
      ['vapi', { customer: { number: allowed, assistantOverrides: agent } }],
      ['retell', { to_number: allowed, agent_override: agent }],
      ['telnyx', { to: allowed, assistant: agent }],
      ['bland', { phone_number: allowed, tools: [agent] }],
    ] as const

  test.each([
    { date: '2026-11-28' },
    { start: '2026-11-28 10' },
    { range: { from: '2026-11-01', to: '2026-11-28' } },
    { createdAt: '20261128103000' },
    { order: '20261128103000' },
    { order: '1055501061' },
    { orderId: '2125550106' },
    { 'order-id': '2125550106' },
    { order_ids: ['2125550106', '3035550106'] },
    { firstMessage: '2125550106' },
    { first_message: ' (212) 555-0106 ' },
    { model: { messages: [{ role: 'system', content: '2125550106' }] } },
    { prompt: { prompt: '3035550106' } },
    { first_sentence: 'tel: and fax are below' },
    { zip: '90001-1234' },
    { postal: '0123456789' },
    { postalCode: '9000112345' },
    { version: '2125550106' },
    { name: '2125550106' },
    { amount: '1234567890.00' },
    { seed: 2_125_550_106 },
  ])('that are no callee do not refuse the call: %j', async (agent) => {
    for (const [name, body] of agents(agent)) {
      const raw = callOf(name, { body: JSON.stringify(body) })
      expect([name, (await sendRaw(proxies[name].url, raw)).status]).toEqual([name, 200])
    }
  })

  test.each([
    { order: '2125550106' },
    { target: '+1 (303) 555-0106' },
    { target: ['1-303-555-0106'] },
    { target: '303/555/0106' },
    { target: '011 1 303 555 0106' },
    { target: '+442071838750' },
    { target: ' sip:agent@elsewhere.example' },
    { target: 'TEL:911' },
    { number: '911' },
    { number: '{{transfer}}' },
    { number: 911 },
    { to: 'agent' },
    { destination: { value: '3035550106' } },
    { destinations: [{ number: '3035550106', message: 'one moment' }] },
    { content: { to: '3035550106' } },
    { message: { number: '3035550106' } },
    { forwardingPhoneNumber: 'office' },
    { transferTo: { name: 'office' } },
    { default: '3035550106' },
    { enum: ['3035550106'] },
  ])('that may be one do: %j', async (agent) => {
    for (const [name, body] of agents(agent)) {
      await expectRefused(name, callOf(name, { body: JSON.stringify(body) }), 'other-callee')
    }
  })
})

describe('other requests that place calls', () => {
  test.each([
    ['livekit', '/twirp/livekit.SIP/TransferSIPParticipant'],
    ['livekit', '/twirp/livekit.Connector/DialWhatsAppCall'],
    ['livekit', '/twirp/livekit.SIP/CreateSIPParticipant2'],
    ['vapi', '/call/phone'],
    ['vapi', '/campaign'],
    ['vapi', '/v2/call'],
    ['retell', '/v2/create-phone-call-2'],
    ['retell', '/create-sms-chat'],
    ['retell', '/v2/register-phone-call'],
    ['telnyx', '/v2/calls/v3:abc/actions/transfer'],
    ['telnyx', '/v2/calls/v3:abc/actions/bridge'],
    ['telnyx', '/v2/texml/calls/7'],
    ['telnyx', '/v2/conferences/7/actions/join'],
    ['twilio', `${accountPath}/Calls`],
    ['twilio', `${accountPath}/Conferences/CF1/Participants.json`],
    ['twilio', '/2010-04-01/Accounts.json'],
    ['elevenlabs', '/v1/convai/batch-calling/submit'],
    ['elevenlabs', '/v1/convai/twilio/register-call'],
    ['bland', '/v1/batches'],
    ['bland', '/v1/sms/send'],
    ['signalwire', '/api/calling/calls'],
  ] as const)('%s: %s', async (name, path) => {
    await expectRefused(name, callOf(name, { path }), 'unknown-request')
  })

  test('a running call of Twilio can be ended and not changed', async () => {
    const path = `${accountPath}/Calls/CA${'0'.repeat(32)}.json`
    const update = (body: string) => callOf('twilio', { path, body })
    expect((await sendRaw(proxies.twilio.url, update('Status=completed'))).status).toBe(200)
    upstream.received.length = 0
    await expectRefused('twilio', update('Twiml=%3CResponse%3E%3CDial%3E'))
    await expectRefused('twilio', update('Status=completed&Url=https%3A%2F%2Fa.example'))
  })

  test('a harmless request may be without a body', async () => {
    const path = '/v2/calls/v3:abc/actions/hangup'
    expect((await sendRaw(proxies.telnyx.url, { path })).status).toBe(200)
    expect(upstream.received).toMatchObject([{ url: path, body: '' }])
  })

  test('a running call of Telnyx is not given an agent that transfers it', async () => {
    const path = '/v2/calls/v3:abc/actions/ai_assistant_start'
    const body = JSON.stringify({
      assistant: { tools: [{ refer: { targets: [{ sip_address: 'x' }] } }] },
    })
    await expectRefused('telnyx', callOf('telnyx', { path, body }), 'other-callee')
  })
})

/** The first line of the answer to a raw request. */
function firstLine(url: string, head: string): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(head))
    socket.on('error', reject)
    socket.on('data', (data) => {
      socket.destroy()
      resolve(data.toString().split('\r\n')[0] ?? '')
    })
  })
}
