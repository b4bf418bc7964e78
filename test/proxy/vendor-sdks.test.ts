/** The platforms' own SDKs, pointed at the proxy: what they get for an allow, a block and no decision. */
import { VapiClient } from '@vapi-ai/server-sdk'
import { SipClient } from 'livekit-server-sdk'
import Retell from 'retell-sdk'
import Telnyx from 'telnyx'
import twilio from 'twilio'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import type { PlatformName } from '../../src/platform-events/call-event.js'
import { openTestCallgate } from '../support/test-callgate.js'
import { openFakeGate } from './fake-gate.js'
import { openFakePlatform, openTestProxy, type TestProxy } from './proxy-fixture.js'

const callgate = await openTestCallgate()
const upstream = await openFakePlatform()
const gate = await openFakeGate({ url: callgate.url, key: callgate.keys.sandbox })

const allowed = '+12125550106'
const alsoAllowed = '+13155550106'
const noConsent = '+12125550100'
const optedOut = '+13035550106'
const from = '+12125550199'
expect((await callgate.get('/app/main/rpc/pdnc?phoneList=3035550106&actionType=add')).status).toBe(
  200,
)

const accountSid = `AC${'0'.repeat(32)}`
const secret = 'platform-secret-0123456789abcdef'

/** Places a call for each number with the SDK of a platform, in one request. */
type Dial = (url: string, ...numbers: [string, ...string[]]) => Promise<unknown>

interface VendorCase {
  readonly dial: Dial
  /** The answer that a success needs, and the ids of each call in it. */
  readonly success: (...numbers: readonly string[]) => {
    readonly status: number
    readonly body: object
    readonly callIds: readonly (readonly string[])[]
  }
  /** The callees of a request that the platform received. */
  readonly callees: (body: string) => readonly string[]
  /** Where the platform's request has the id of its decision. */
  readonly decisionIn: (body: string) => unknown
}

class ThroughProxy extends twilio.RequestClient {
  readonly #url: string

  constructor(url: string) {
    super()
    this.#url = url
  }

  override request: twilio.RequestClient['request'] = (options) =>
    super.request({
      ...options,
      uri: options.uri.replace('https://api.twilio.com', this.#url),
    })
}

/** Those with an SDK of their own on npm. */
type VendorName = Exclude<PlatformName, 'elevenlabs' | 'bland' | 'signalwire'>

const vendors: Readonly<Record<VendorName, VendorCase>> = {
  livekit: {
    dial: (url, number) =>
      new SipClient(url, 'key', secret).createSipParticipant('ST_1', number, 'room', {
        fromNumber: from,
        participantIdentity: 'callee',
        participantAttributes: { lead: '7' },
        headers: { 'X-Lead': '7' },
      }),
    success: () => ({
      status: 200,
      // The server writes the names of protobuf, and the SDK reads both.
      body: { participant_id: 'PA_1', participant_identity: 'callee', sip_call_id: 'SCL_1' },
      callIds: [['PA_1', 'SCL_1']],
    }),
    callees: (body) => [JSON.parse(body).sipCallTo],
    decisionIn: (body) => JSON.parse(body).participantAttributes['callgate.decision'],
  },
  vapi: {
    dial: (baseUrl, ...numbers) =>
      new VapiClient({ token: secret, baseUrl }).calls.create({
        assistantId: 'a-1',
        phoneNumberId: 'p-1',
        assistantOverrides: { variableValues: { name: 'Ann' }, metadata: { lead: 7 } },
        ...(numbers.length === 1
          ? { customer: { number: numbers[0] } }
          : { customers: numbers.map((number) => ({ number })) }),
      }),
    success: (...numbers) => ({
      status: 201,
      body:
        numbers.length === 1
          ? { id: 'c-1', orgId: 'o-1' }
          : {
              results: numbers
                .map((number, index) => ({ id: `c-${index}`, customer: { number } }))
                .reverse(),
              errors: [],
            },
      callIds: numbers.length === 1 ? [['c-1']] : numbers.map((_number, index) => [`c-${index}`]),
    }),
    callees: (body) => {
      const { customer, customers = [customer] } = JSON.parse(body)
      return customers.map(({ number }: { number: string }) => number)
    },
    decisionIn: (body) => JSON.parse(body).assistantOverrides.metadata.callgateDecision,
  },
  retell: {
    dial: (baseURL, ...numbers) => {
      const client = new Retell({ apiKey: secret, baseURL })
      if (numbers.length === 1) {
        return client.call.createPhoneCall({ from_number: from, to_number: numbers[0] })
      }
      const tasks = numbers.map((number) => ({ to_number: number }))
      return client.batchCall.createBatchCall({ from_number: from, tasks })
    },
    success: (...numbers) =>
      numbers.length === 1
        ? { status: 201, body: { call_id: 'c-1', call_status: 'registered' }, callIds: [['c-1']] }
        : {
            status: 201,
            body: { batch_call_id: 'b-1', name: '', total_task_count: 2 },
            callIds: [],
          },
    callees: (body) => {
      const { to_number, tasks = [{ to_number }] } = JSON.parse(body)
      return tasks.map((task: { to_number: string }) => task.to_number)
    },
    decisionIn: (body) => {
      const { metadata, tasks = [{ metadata }] } = JSON.parse(body)
      return tasks[0].metadata.callgate_decision
    },
  },
  telnyx: {
    dial: (url, ...numbers) =>
      new Telnyx({ apiKey: secret, baseURL: `${url}/v2` }).calls.dial({
        connection_id: '7',
        from,
        to: numbers.length === 1 ? numbers[0] : numbers,
      }),
    success: (...numbers) => ({
      status: 200,
      body: {
        data: { call_control_id: 'v3:c-1', call_leg_id: 'l-1', call_session_id: 's-1' },
      },
      // Which of several numbers it is to, it does not say.
      callIds: numbers.length === 1 ? [['v3:c-1', 'l-1', 's-1']] : [],
    }),
    callees: (body) => [JSON.parse(body).to].flat(),
    decisionIn: (body) =>
      JSON.parse(Buffer.from(JSON.parse(body).client_state, 'base64').toString()).callgateDecision,
  },
  twilio: {
    dial: (url, number) =>
      twilio(accountSid, secret, { httpClient: new ThroughProxy(url) }).calls.create({
        to: number,
        from,
        twiml: new twilio.twiml.VoiceResponse().say('hello').toString(),
        statusCallback: 'https://customer.example/status?lead=7',
        statusCallbackEvent: ['answered', 'completed'],
      }),
    success: () => ({
      status: 201,
      body: { sid: `CA${'0'.repeat(32)}` },
      callIds: [[`CA${'0'.repeat(32)}`]],
    }),
    callees: (body) => new URLSearchParams(body).getAll('To'),
    decisionIn: (body) =>
      new URL(new URLSearchParams(body).get('StatusCallback') ?? '').searchParams.get(
        'callgateDecision',
      ),
  },
}

const names = Object.keys(vendors) as VendorName[]
const batching = names.filter((name) => !['livekit', 'twilio'].includes(name))
const proxies = {} as Record<VendorName, TestProxy>
for (const platform of names) {
  proxies[platform] = await openTestProxy({ platform, upstream: upstream.url, gate })
}

beforeEach(() => {
  gate.stored['/v1/platform-calls'].length = 0
  upstream.received.length = 0
  upstream.isBroken = false
})
afterAll(async () => {
  await Promise.all(Object.values(proxies).map((proxy) => proxy.close()))
  await upstream.close()
  await gate.close()
  await callgate.end()
})

function succeed(name: VendorName, ...numbers: readonly string[]) {
  const { status, body, callIds } = vendors[name].success(...numbers)
  upstream.answer = { status, body: JSON.stringify(body) }
  return callIds
}

const recordedCalls = () => gate.stored['/v1/platform-calls'].map(({ calls }) => calls)

/** Everything an error of an SDK shows. */
async function errorOf(call: Promise<unknown>) {
  const error = await call.then(
    () => undefined,
    (cause: unknown) => cause as Error & { status?: number; statusCode?: number },
  )
  if (!error) throw new Error('the SDK reported a success')
  return {
    status: error.status ?? error.statusCode,
    text: `${error.message} ${JSON.stringify(error)}`,
  }
}

describe.each(names)('the SDK of %s', (name) => {
  const { dial, callees, decisionIn } = vendors[name]
  const { url, logLines } = proxies[name]

  test('places an allowed call, with the id of its decision and its own credentials', async () => {
    succeed(name, allowed)
    await dial(url, allowed)
    expect(upstream.received).toHaveLength(1)
    const [{ body, headers } = { body: '', headers: {} }] = upstream.received
    expect(callees(body)).toEqual([allowed])
    const record = await callgate.get(`/v1/decisions/${decisionIn(body)}`)
    expect(await record.json()).toMatchObject({
      decision: 'allow',
      number: allowed.slice(2),
      callKind: 'ai',
      whatIf: false,
    })
    expect(headers.authorization).toBeDefined()
    expect(JSON.stringify(headers)).not.toContain(gate.key)
    await gate.until(() => recordedCalls().length === 2)
  })

  test('has its call recorded at the gate before, and the ids of the platform after it', async () => {
    const callIds = succeed(name, allowed)
    let recordedBefore: unknown
    upstream.answers = ({ body }) => {
      recordedBefore = { calls: recordedCalls(), decision: decisionIn(body) }
      return vendors[name].success(allowed).body
    }
    await dial(url, allowed)
    upstream.answers = undefined
    const [{ body } = { body: '' }] = upstream.received
    const call = { decisionId: decisionIn(body), number: allowed.slice(2) }
    expect(recordedBefore).toEqual({ calls: [[call]], decision: call.decisionId })
    await gate.until(() => recordedCalls().length === 2)
    expect(recordedCalls()[1]).toEqual([{ ...call, callIds: callIds[0] }])
  })

  test('is refused when the gate does not record the call', async () => {
    succeed(name, allowed)
    gate.failing.set('/v1/platform-calls', { status: 503 })
    const { status, text } = await errorOf(dial(url, allowed))
    gate.failing.clear()
    expect(status).toBe(403)
    expect(text).toContain('undecided')
    expect(text).toContain('did not record the call: the gate answered with 503')
    expect(upstream.received).toEqual([])
  })

  test('gets its answer while the gate cannot store the ids, which come later', async () => {
    const callIds = succeed(name, allowed)
    const { asked } = gate
    upstream.answers = () => {
      gate.failing.set('/v1/platform-calls', { status: 500, times: 2 })
      return vendors[name].success(allowed).body
    }
    const before = asked['/v1/platform-calls'] ?? 0
    await dial(url, allowed)
    upstream.answers = undefined
    await gate.until(() => recordedCalls().length === 2)
    expect(asked['/v1/platform-calls']).toBe(before + 4)
    expect(recordedCalls()[1]?.[0]?.callIds).toEqual(callIds[0])
  })

  test.each([
    ['a number without consent', noConsent, 'no-consent'],
    ['a number that opted out', optedOut, 'consent-revoked'],
  ])('is told once about %s', async (_what, number, reason) => {
    const before = logLines.length
    const { status, text } = await errorOf(dial(url, number))
    expect(status).toBe(403)
    expect(text).toContain(reason)
    expect(upstream.received).toEqual([])
    expect(logLines.slice(before)).toHaveLength(1)
    const [id] = /0[0-9a-z]{28}/.exec(text) ?? []
    expect(await (await callgate.get(`/v1/decisions/${id}`)).json()).toMatchObject({ reason })
  })

  test('is told once that there is no decision', async () => {
    const proxy = await openTestProxy({
      platform: name,
      upstream: upstream.url,
      gate: { url: 'http://127.0.0.1:1', key: gate.key },
    })
    const { status, text } = await errorOf(dial(proxy.url, allowed))
    await proxy.close()
    expect(status).toBe(403)
    expect(text).toContain('undecided')
    expect(proxy.logLines).toHaveLength(1)
    expect(upstream.received).toEqual([])
  })

  test('does not repeat a call that the platform may have placed', async () => {
    upstream.isBroken = true
    const { status } = await errorOf(dial(url, allowed))
    expect(status).toBe(424)
    expect(upstream.received).toHaveLength(1)
  })

  test('gets the errors of the platform unchanged', async () => {
    upstream.answer = {
      status: 422,
      headers: { 'x-request-id': 'r-7' },
      body: '{"message":"no such agent"}',
    }
    const { status } = await errorOf(dial(url, allowed))
    expect(status).toBe(422)
  })

  test('leaves no secret and no whole number in the log', () => {
    const log = logLines.join('')
    expect(log).not.toContain(secret)
    expect(log).not.toContain(gate.key)
    expect(log).not.toMatch(/555-?0\d\d\d/)
    expect(log).toContain('call forwarded')
  })
})

describe.each(batching)('a batch through the SDK of %s', (name) => {
  const { dial, callees } = vendors[name]
  const { url } = proxies[name]

  test('is forwarded if every number is allowed', async () => {
    const [first, second] = succeed(name, allowed, alsoAllowed)
    await dial(url, allowed, alsoAllowed)
    const isNamed = first !== undefined
    await gate.until(() => recordedCalls().length === (isNamed ? 2 : 1))
    expect(recordedCalls().at(-1)).toEqual([
      {
        decisionId: expect.any(String),
        number: allowed.slice(2),
        ...(isNamed && { callIds: first }),
      },
      {
        ...{ decisionId: expect.any(String), number: alsoAllowed.slice(2) },
        ...(isNamed && { callIds: second }),
      },
    ])
    expect(callees(upstream.received[0]?.body ?? '')).toEqual([allowed, alsoAllowed])
  })

  test('is refused as a whole, naming the refused numbers by their place', async () => {
    const { status, text } = await errorOf(dial(url, allowed, noConsent, alsoAllowed, optedOut))
    expect(status).toBe(403)
    expect(text).toContain('2 of 4')
    expect(text).toContain('1 (no-consent)')
    expect(text).toContain('3 (consent-revoked)')
    expect(upstream.received).toEqual([])
  })
})

const otherVendors = [
  {
    platform: 'elevenlabs',
    path: '/v1/convai/twilio/outbound-call',
    body: { agent_id: 'a-1', agent_phone_number_id: 'p-1', to_number: allowed },
    answer: { success: true, conversation_id: 'conv_1', callSid: 'CA1' },
    callIds: ['conv_1', 'CA1'],
    decisionIn: (body: string) =>
      JSON.parse(body).conversation_initiation_client_data.dynamic_variables.callgate_decision,
  },
  {
    platform: 'elevenlabs',
    path: '/v1/convai/sip-trunk/outbound-call',
    body: {
      ...{ agent_id: 'a-1', agent_phone_number_id: 'p-1', to_number: allowed },
      conversation_initiation_client_data: { dynamic_variables: { lead: '7' } },
    },
    answer: { success: true, conversation_id: 'conv_2', sip_call_id: 'sip-2' },
    callIds: ['conv_2', 'sip-2'],
    decisionIn: (body: string) =>
      JSON.parse(body).conversation_initiation_client_data.dynamic_variables.callgate_decision,
  },
  {
    platform: 'bland',
    path: '/v1/calls',
    body: { phone_number: allowed, task: 'Say hello.', metadata: { lead: 7 } },
    answer: { status: 'success', call_id: 'b-1' },
    callIds: ['b-1'],
    decisionIn: (body: string) => JSON.parse(body).metadata.callgate_decision,
  },
] as const

describe.each(otherVendors)('a request of $platform to $path', (vendor) => {
  test('places an allowed call, and is refused for others', async () => {
    const { platform, path, body, answer, callIds, decisionIn } = vendor
    const proxy = await openTestProxy({ platform, upstream: upstream.url, gate })
    const send = (number: string) =>
      fetch(proxy.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body).replace(allowed, number),
      })
    upstream.answer = { status: 200, body: JSON.stringify(answer) }
    expect(await (await send(allowed)).json()).toEqual(answer)
    const decisionId = decisionIn(upstream.received[0]?.body ?? '')
    const call = { decisionId, number: allowed.slice(2) }
    await gate.until(() => recordedCalls().length === 2)
    expect(recordedCalls()).toEqual([[call], [{ ...call, callIds }]])
    const refused = await send(optedOut)
    expect([refused.status, await refused.text()]).toEqual([
      403,
      expect.stringContaining('consent-revoked'),
    ])
    expect(upstream.received).toHaveLength(1)
    await proxy.close()
  })
})

test('the SDK of Twilio places calls through SignalWire', async () => {
  const platform = 'signalwire'
  const proxy = await openTestProxy({ platform, upstream: upstream.url, gate })
  const project = '0b2c3d4e-0000-4000-8000-000000000000'
  class ToSignalWire extends twilio.RequestClient {
    override request: twilio.RequestClient['request'] = (options) =>
      super.request({
        ...options,
        uri: options.uri
          .replace('https://api.twilio.com', `${proxy.url}/api/laml`)
          .replace(accountSid, project),
      })
  }
  const callSid = '1b2c3d4e-0000-4000-8000-000000000000'
  upstream.answer = { status: 201, body: JSON.stringify({ sid: callSid }) }
  const client = twilio(accountSid, secret, { httpClient: new ToSignalWire() })
  await client.calls.create({ to: allowed, from, url: 'https://customer.example/answer' })
  await gate.until(() => recordedCalls().length === 2)
  expect(recordedCalls()[1]?.[0]?.callIds).toEqual([callSid])
  await proxy.close()
})

describe('the answer of the platform', () => {
  const path = '/v2/create-phone-call'
  const body = `{"from_number":"${from}","to_number":"${allowed}"}`
  const send = () =>
    fetch(proxies.retell.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip' },
      body,
    })

  test('is asked for without compression, since the ids are read from it', async () => {
    succeed('retell', allowed)
    expect((await send()).status).toBe(201)
    expect(upstream.received[0]?.headers['accept-encoding']).toBe('identity')
    await gate.until(() => recordedCalls().length === 2)
  })

  test.each([
    ['has no id', '{"call_id":null}'],
    ['is not JSON', '<html>'],
    ['is empty', ''],
  ])('comes unchanged when it %s, and the log says so', async (_what, text) => {
    upstream.answer = { status: 201, body: text }
    const { logLines } = proxies.retell
    const before = logLines.length
    const reply = await send()
    expect([reply.status, await reply.text()]).toEqual([201, text])
    expect(logLines.slice(before).join('')).toContain('has no call id')
    expect(recordedCalls()).toHaveLength(1)
  })

  test('is read to its end when the client has gone', async () => {
    succeed('retell', allowed)
    const gone = new AbortController()
    upstream.answers = () => {
      gone.abort()
      return vendors.retell.success(allowed).body
    }
    const sent = fetch(proxies.retell.url + path, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body },
      signal: gone.signal,
    })
    await expect(sent).rejects.toThrow()
    upstream.answers = undefined
    await gate.until(() => recordedCalls().length === 2)
    expect(recordedCalls()[1]?.[0]?.callIds).toEqual(['c-1'])
  })

  test('longer than any with an id comes whole', async () => {
    const text = JSON.stringify({ call_id: 'c-1', padding: 'x'.repeat(5_000_000) })
    upstream.answer = { status: 201, body: text }
    const reply = await send()
    expect((await reply.text()).length).toBe(text.length)
    expect(recordedCalls()).toHaveLength(1)
  })
})
