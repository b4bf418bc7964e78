/** The platforms' own SDKs, pointed at the proxy: what they get for an allow, a block and no decision. */
import { VapiClient } from '@vapi-ai/server-sdk'
import { SipClient } from 'livekit-server-sdk'
import Retell from 'retell-sdk'
import Telnyx from 'telnyx'
import twilio from 'twilio'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import type { PlatformName } from '../../src/proxy/platforms/platform.js'
import { openTestCallgate } from '../support/test-callgate.js'
import { openFakePlatform, openTestProxy, type TestProxy } from './proxy-fixture.js'

const callgate = await openTestCallgate()
const upstream = await openFakePlatform()
const gate = { url: callgate.url, key: callgate.keys.sandbox }

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
  /** The body that a success needs. */
  readonly success: { readonly status: number; readonly body: object }
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

const vendors: Readonly<Record<PlatformName, VendorCase>> = {
  livekit: {
    dial: (url, number) =>
      new SipClient(url, 'key', secret).createSipParticipant('ST_1', number, 'room', {
        fromNumber: from,
        participantIdentity: 'callee',
        participantAttributes: { lead: '7' },
        headers: { 'X-Lead': '7' },
      }),
    success: { status: 200, body: { participantId: 'PA_1' } },
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
    success: { status: 201, body: { id: 'c-1', orgId: 'o-1' } },
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
    success: { status: 201, body: { call_id: 'c-1' } },
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
    success: { status: 200, body: { data: { call_control_id: 'v3:c-1' } } },
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
    success: { status: 201, body: { sid: `CA${'0'.repeat(32)}` } },
    callees: (body) => new URLSearchParams(body).getAll('To'),
    decisionIn: (body) =>
      new URL(new URLSearchParams(body).get('StatusCallback') ?? '').searchParams.get(
        'callgateDecision',
      ),
  },
}

const names = Object.keys(vendors) as PlatformName[]
const batching = names.filter((name) => !['livekit', 'twilio'].includes(name))
const proxies = {} as Record<PlatformName, TestProxy>
for (const platform of names) {
  proxies[platform] = await openTestProxy({ platform, upstream: upstream.url, gate })
}

beforeEach(() => {
  upstream.received.length = 0
  upstream.isBroken = false
})
afterAll(async () => {
  await Promise.all(Object.values(proxies).map((proxy) => proxy.close()))
  await upstream.close()
  await callgate.end()
})

function succeed(name: PlatformName): void {
  const { status, body } = vendors[name].success
  upstream.answer = { status, body: JSON.stringify(body) }
}

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
    succeed(name)
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
    succeed(name)
    await dial(url, allowed, alsoAllowed)
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
