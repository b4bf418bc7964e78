/**
 * Random requests to the proxy of each platform, most of them nearly usual. Whatever is sent, the
 * platform never receives a number that was not allowed.
 */
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import type { PlatformName } from '../../src/platform-events/call-event.js'
import type { Platform } from '../../src/proxy/platforms/platform.js'
import { platforms } from '../../src/proxy/platforms/platforms.js'
import { shortOrLong } from '../support/long.js'
import { openTestCallgate } from '../support/test-callgate.js'
import { openFakeGate } from './fake-gate.js'
import { accountPath, callRequests, isFormPlatform } from './platform-requests.js'
import { openFakePlatform, openTestProxy, type RawRequest, sendRaw } from './proxy-fixture.js'

const callgate = await openTestCallgate()
const gate = await openFakeGate({ url: callgate.url, key: callgate.keys.sandbox })
afterAll(async () => {
  await gate.close()
  await callgate.end()
})

const allowed = ['+12125550106', '+13055550106', '+12165550106']
const optedOut = ['+13035550106', '+17185550106']
/** No text of a test has these digits but where a callee may be. */
const refused = ['+12125550100', '+14155550103', ...optedOut]
const list = optedOut.map((number) => number.slice(2)).join(',')
expect((await callgate.get(`/app/main/rpc/pdnc?phoneList=${list}&actionType=add`)).status).toBe(200)

for (const one of allowed) {
  const decided = await callgate.postJson('/v1/decisions', { number: one, callKind: 'ai' })
  expect(await decided.json()).toMatchObject({ decision: 'allow' })
}

const names = Object.keys(platforms) as PlatformName[]

const number = fc.oneof(fc.constantFrom(...allowed), fc.constantFrom(...refused))
/** A number in one of the forms in which platforms accept one. */
const callee = fc
  .tuple(
    number,
    fc.constantFrom(
      (one: string) => one,
      (one: string) => `sip:${one}@a.example`,
      (one: string) => `tel:${one}`,
      (one: string) => one.slice(1),
      (one: string) => one.slice(2),
      (one: string) => ` ${one}`,
    ),
  )
  .map(([one, write]) => write(one))

/** Fields that name a callee on some platform, and harmless ones. */
const fieldName = fc.oneof(
  fc.constantFrom('to', 'To', 'TO', 'to_number', 'toNumber', 'sipCallTo', 'sip_call_to', 'number'),
  fc.constantFrom(
    'customer',
    'customers',
    'tasks',
    'sipRequestUri',
    'sip_request_uri',
    'sipUri',
    'destination',
  ),
  fc.constantFrom(
    'toUserOverride',
    'sipToHeader',
    'link_to',
    'customerId',
    'Twiml',
    'CallToken',
    '__proto__',
  ),
  fc.constantFrom('assistant', 'agent_override', 'headers', 'custom_headers', 'squad'),
)

const fieldValue: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    callee,
    fc.constantFrom(true, 7, null, 'text'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fieldName, tie('value'), { maxKeys: 2 }),
  ),
})).value

const pair = fc.oneof(
  { weight: 9, arbitrary: fc.tuple(fieldName, fieldValue) },
  {
    weight: 1,
    arbitrary: fc.constant<[string, unknown]>([
      'Twiml',
      '<Response><Dial>+12125550100</Dial></Response>',
    ]),
  },
)

/** A name as JSON, at times with an escape. */
const jsonName = (name: string, escaped: boolean) =>
  escaped
    ? `"\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}"`
    : JSON.stringify(name)

/** The usual body of a platform for a number, with fields added before and after, given twice or in other spellings. */
function bodies(platform: PlatformName): fc.Arbitrary<string> {
  const usual = fc
    .oneof({ weight: 4, arbitrary: number }, { weight: 1, arbitrary: callee })
    .map((one) => {
      const text = isFormPlatform(platform) ? one : JSON.stringify(one).slice(1, -1)
      return callRequests[platform].body(text)
    })
  const extra = fc.oneof(
    { weight: 2, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(fc.tuple(pair, fc.boolean()), { maxLength: 2 }) },
  )
  return fc.tuple(usual, extra, extra, lists(platform)).map(([one, before, after, batch]) => {
    if (isFormPlatform(platform)) {
      const write = ([[name, value], escaped]: [[string, unknown], boolean]) => {
        const text = typeof value === 'string' ? value : JSON.stringify(value)
        return `${escaped ? `%${name.charCodeAt(0).toString(16)}${name.slice(1)}` : name}=${encodeURIComponent(text)}`
      }
      return [...before.map(write), one, ...after.map(write)].join('&')
    }
    const write = ([[name, value], escaped]: [[string, unknown], boolean]) =>
      `${jsonName(name, escaped)}:${JSON.stringify(value)}`
    const inner = (batch ?? one).slice(1, -1)
    return `{${[...before.map(write), inner, ...after.map(write)].join(',')}}`
  })
}

/** The body of a request with several numbers. */
function lists(platform: PlatformName): fc.Arbitrary<string | undefined> {
  const numbers = fc.array(
    fc.oneof({ weight: 9, arbitrary: number }, { weight: 1, arbitrary: callee }),
    {
      minLength: 1,
      maxLength: 3,
    },
  )
  const written: Partial<Record<PlatformName, (all: string[]) => object>> = {
    vapi: (all) => ({ assistantId: 'a', customers: all.map((one) => ({ number: one })) }),
    retell: (all) => ({ from_number: 'x', tasks: all.map((one) => ({ to_number: one })) }),
    telnyx: (all) => ({ from: '+12125550199', to: all }),
  }
  const write = written[platform]
  return write
    ? fc.option(
        numbers.map((all) => JSON.stringify(write(all))),
        { nil: undefined },
      )
    : fc.constant(undefined)
}

const otherPaths: Readonly<Record<PlatformName, readonly string[]>> = {
  livekit: ['/twirp/livekit.SIP/TransferSIPParticipant', '/twirp/livekit.SIP/createSIPParticipant'],
  vapi: ['/call/phone', '/campaign', '/calls', '/Call', '/call/0/x'],
  retell: ['/create-batch-call', '/v2/register-phone-call', '/V2/create-phone-call'],
  telnyx: ['/v2/calls/v3:a/actions/transfer', '/v2/calls/v3:a/actions/speak', '/v2/texml/calls/1'],
  twilio: [
    `${accountPath}/Calls`,
    `${accountPath}/Calls/CA${'0'.repeat(32)}.json`,
    '/2010-04-01/calls.json',
  ],
  elevenlabs: ['/v1/convai/batch-calling/submit', '/v1/convai/whatsapp/outbound-call'],
  bland: ['/v1/batches', '/v2/batches/create', '/v1/calls/send', '/v1/sms/send'],
  signalwire: ['/api/calling/calls', '/api/laml/2010-04-01/Accounts/x/Calls'],
}

function paths(platform: PlatformName): fc.Arbitrary<string> {
  const { path, harmless } = callRequests[platform]
  const harmlessPath = harmless.path.split('?')[0] ?? ''
  const base = fc.oneof(
    { weight: 8, arbitrary: fc.constant(path) },
    { weight: 2, arbitrary: fc.constantFrom(harmlessPath, ...otherPaths[platform]) },
  )
  const change = fc.constantFrom(
    ...Array.from({ length: 40 }, () => (text: string) => text),
    (text: string) => `/${text}`,
    (text: string) => `/x/..${text}`,
    (text: string) => `/x/%2e%2e${text}`,
    (text: string) => text.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
    (text: string) => `${text}/`,
    (text: string) => `${text};a=b`,
    (text: string) => `http://a.example${text}`,
    (text: string) => `${text}?To=%2B12125550100&to=%2B12125550100`,
  )
  return fc.tuple(base, change).map(([text, apply]) => apply(text))
}

function requests(platform: PlatformName): fc.Arbitrary<RawRequest> {
  const { contentType } = callRequests[platform]
  const type = fc.oneof(
    { weight: 30, arbitrary: fc.constant(contentType) },
    {
      weight: 2,
      arbitrary: fc.constantFrom(
        `${contentType}; charset=utf-8`,
        `${contentType};charset=utf-16le`,
      ),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        'application/protobuf',
        'text/json',
        'multipart/form-data; boundary=a',
      ),
    },
  )
  const header = fc.constantFrom<[string, string]>(
    ['X-HTTP-Method-Override', 'GET'],
    ['X-Original-URL', '/elsewhere'],
    ['Transfer-Encoding', 'chunked'],
    ['Content-Encoding', 'identity'],
    ['Content-Encoding', 'gzip'],
    ['Content-Type', 'text/plain'],
    ['Connection', 'close, Content-Type'],
    ['Authorization', 'Bearer a'],
  )
  const method = fc.oneof(
    { weight: 30, arbitrary: fc.constant('POST') },
    { weight: 2, arbitrary: fc.constantFrom('GET', 'PUT', 'PATCH', 'DELETE') },
  )
  const coding = fc.oneof(
    { weight: 30, arbitrary: fc.constant('utf8' as const) },
    { weight: 1, arbitrary: fc.constantFrom('utf16le' as const, 'latin1' as const) },
  )
  return fc
    .record({
      method,
      path: paths(platform),
      type,
      more: fc.array(header, { maxLength: 1 }),
      text: bodies(platform),
      coding,
    })
    .map(({ method: verb, path, type: media, more, text, coding: form }) => ({
      method: verb,
      path,
      headers: [['Content-Type', media], ...more],
      body: Buffer.from(text, form),
    }))
}

/** Requests that may contain any number, since they place no call. */
function isHarmless(platform: PlatformName, url: string): boolean {
  return url === callRequests[platform].harmless.path || url === '/v2/calls/v3:a/actions/speak'
}

/** Everything that a platform could read from a request, without escapes. */
function readable({ url, body }: { url: string; body: string }): string {
  const unescaped = body.replaceAll(/\\u([0-9a-f]{4})/gi, (_all, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
  return [url, body, unescaped].map((text) => `${text} ${text.replaceAll('%2B', '+')}`).join(' ')
}

/** Sends random requests through a proxy; rejects with the first one that reaches a refused number. */
async function search(
  platform: Platform,
  runs: number,
  options: { seed?: number; endOnFailure?: boolean } = {},
) {
  const upstream = await openFakePlatform()
  const proxy = await openTestProxy({ platform, upstream: upstream.url, gate })
  let forwardedCalls = 0
  try {
    await fc.assert(
      fc.asyncProperty(requests(platform.name), async (raw) => {
        upstream.received.length = 0
        // What the HTTP parser refuses has no answer of the proxy.
        await sendRaw(proxy.url, raw).catch(() => undefined)
        for (const received of upstream.received) {
          if (isHarmless(platform.name, received.url)) continue
          const text = readable(received)
          if (allowed.some((one) => text.includes(one))) forwardedCalls += 1
          const hit = refused.find((one) => text.includes(one.slice(2)))
          if (hit) throw new Error(`the platform received ${hit}: ${received.url} ${received.body}`)
        }
      }),
      { numRuns: runs, ...options },
    )
  } finally {
    await proxy.close()
    await upstream.close()
  }
  return forwardedCalls
}

const runs = shortOrLong(300, 5_000)

describe.each(names)('%s', (name) => {
  test('never receives a number that was not allowed', async () => {
    let forwardedCalls = 0
    // Few of them are calls that may be forwarded, so a short search may have none.
    for (let rounds = 0; rounds < 10 && forwardedCalls === 0; rounds += 1) {
      forwardedCalls = await search(platforms[name], runs)
    }
    expect(forwardedCalls).toBeGreaterThan(0)
  }, 900_000)
})

describe('the search finds a hole', () => {
  const withHole = (
    name: PlatformName,
    hole: (route: Platform['routes'][number]) => object,
  ): Platform => ({
    ...platforms[name],
    routes: platforms[name].routes.map((route) => ({ ...route, ...hole(route) })),
  })

  test.each([
    [
      'only the first number of a list is judged',
      withHole('telnyx', ({ readCalls }) => ({
        readCalls:
          readCalls &&
          ((fields: Record<string, unknown>) => {
            const plan = readCalls(fields)
            return { ...plan, calls: plan.calls.slice(0, 1) }
          }),
      })),
    ],
    [
      'an unknown field is passed on',
      withHole('livekit', ({ readCalls }) => ({
        readCalls:
          readCalls &&
          ((fields: Record<string, unknown>) => {
            const { sipCallTo } = fields
            const plan = readCalls({ sipCallTo })
            return plan
          }),
      })),
    ],
    [
      'paths are compared without regard to case, and others pass',
      withHole('vapi', ({ method }) =>
        method === 'POST' ? { path: /^\/call/i, readCalls: undefined } : {},
      ),
    ],
  ])('%s', async (_what, platform) => {
    const found = search(platform, 3_000, { seed: 7, endOnFailure: true })
    const message = expect.stringMatching(/^the platform received \+1/)
    await expect(found).rejects.toMatchObject({ cause: { message } })
  })
})
