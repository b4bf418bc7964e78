/** Twilio sends no events unless it is asked to, and most of them without our reference or the number called. */
import twilio from 'twilio'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { openTestCallgate } from '../support/test-callgate.js'
import { openFakeGate } from './fake-gate.js'
import { callRequests } from './platform-requests.js'
import { openFakePlatform, openTestProxy, sendRaw } from './proxy-fixture.js'

const callgate = await openTestCallgate()
const gate = await openFakeGate({ url: callgate.url, key: callgate.keys.sandbox })
const upstream = await openFakePlatform()
upstream.answer = { status: 201, body: `{"sid":"CA${'0'.repeat(32)}"}` }
const eventsUrl = 'https://events.customer.example/v1/platforms/twilio/events'
const withEvents = await openTestProxy({
  ...{ platform: 'twilio', upstream: upstream.url, gate, eventsUrl },
})
const withoutEvents = await openTestProxy({ platform: 'twilio', upstream: upstream.url, gate })
const { path, contentType } = callRequests.twilio

beforeEach(() => {
  upstream.received.length = 0
})
afterAll(async () => {
  await Promise.all([withEvents.close(), withoutEvents.close()])
  await upstream.close()
  await gate.close()
  await callgate.end()
})

async function place(fields: Record<string, string>, proxy = withEvents) {
  const body = new URLSearchParams({ To: '+12125550106', From: '+12125550199', ...fields })
  const headers = [['Content-Type', contentType]] as const
  const { status } = await sendRaw(proxy.url, { path, headers, body: body.toString() })
  expect(status).toBe(201)
  const sent = new URLSearchParams(upstream.received[0]?.body)
  const reference = /callgateDecision=(\w+)/.exec(decodeURIComponent(sent.toString()))?.[1] ?? ''
  expect((await callgate.get(`/v1/decisions/${reference}`)).status).toBe(200)
  return { sent, reference: `callgateDecision=${reference}` }
}

describe('the status callback', () => {
  test.each([{}, { StatusCallback: '' }, { StatusCallbackEvent: 'completed' }])(
    'is added with all events and retries if there is none: %j',
    async (fields) => {
      const { sent, reference } = await place({ Url: 'https://a.example/', ...fields })
      expect(sent.getAll('StatusCallback')).toEqual([`${eventsUrl}?${reference}#rc=5&rp=ct,rt,5xx`])
      expect(sent.getAll('StatusCallbackEvent')).toEqual([
        ...['initiated', 'ringing', 'answered', 'completed'],
      ])
      expect(sent.get('StatusCallbackMethod')).toBe('POST')
    },
  )

  test('of the customer stays, with the reference', async () => {
    const StatusCallback = 'https://customer.example/status?lead=7#rc=2'
    const { sent, reference } = await place({
      ...{ Url: 'https://a.example/', StatusCallback, StatusCallbackEvent: 'completed' },
    })
    expect(sent.getAll('StatusCallback')).toEqual([
      `https://customer.example/status?lead=7&${reference}#rc=2`,
    ])
    expect(sent.getAll('StatusCallbackEvent')).toEqual(['completed'])
  })

  test('is not added without an address for events', async () => {
    const { sent } = await place({ Url: 'https://a.example/' }, withoutEvents)
    expect(sent.has('StatusCallback')).toBe(false)
    expect(sent.has('StatusCallbackEvent')).toBe(false)
  })
})

test.each([
  [
    'Url',
    'https://a.example/answer',
    (reference: string) => `https://a.example/answer?${reference}`,
  ],
  [
    'FallbackUrl',
    'https://a.example/?a=b',
    (reference: string) => `https://a.example/?a=b&${reference}`,
  ],
  [
    'AsyncAmdStatusCallback',
    'https://a.example/amd',
    (reference: string) => `https://a.example/amd?${reference}`,
  ],
  [
    'RecordingStatusCallback',
    'https://a.example/r#rc=1',
    (reference: string) => `https://a.example/r?${reference}#rc=1`,
  ],
])('%s has the reference', async (name, address, expected) => {
  const { sent, reference } = await place(
    { Url: 'https://b.example/', [name]: address },
    withoutEvents,
  )
  expect(sent.getAll(name)).toEqual([expected(reference)])
})

describe('inline TwiML', () => {
  const attribute = (twiml: string | null, name: string) =>
    [...(twiml ?? '').matchAll(new RegExp(`\\s${name}=["']([^"']*)["']`, 'g'))].map(
      ([, value = '']) => value.replaceAll('&amp;', '&'),
    )

  test('has the reference in every callback that the SDK writes', async () => {
    const response = new twilio.twiml.VoiceResponse()
    response.start().transcription({ statusCallbackUrl: 'https://a.example/words?a=b' })
    response.gather({ action: '/gather', partialResultCallback: 'https://a.example/part' })
    response.record({
      action: 'https://a.example/done?x=1&y=2',
      recordingStatusCallback: 'https://a.example/rec',
      transcribeCallback: 'https://a.example/text',
    })
    response
      .connect({ action: 'https://a.example/end' })
      .conversationRelay({ url: 'wss://a.example/socket' })
    response.start().stream({ url: 'wss://a.example/s', statusCallback: 'https://a.example/st' })
    response.say('my ownCallback="y" & more')
    const { sent, reference } = await place({ Twiml: response.toString() })
    const twiml = sent.get('Twiml')
    expect(attribute(twiml, 'statusCallbackUrl')).toEqual([
      `https://a.example/words?a=b&${reference}`,
    ])
    expect(attribute(twiml, 'action')).toEqual([
      `/gather?${reference}`,
      `https://a.example/done?x=1&y=2&${reference}`,
      `https://a.example/end?${reference}`,
    ])
    expect(attribute(twiml, 'partialResultCallback')).toEqual([
      `https://a.example/part?${reference}`,
    ])
    expect(attribute(twiml, 'recordingStatusCallback')).toEqual([
      `https://a.example/rec?${reference}`,
    ])
    expect(attribute(twiml, 'transcribeCallback')).toEqual([`https://a.example/text?${reference}`])
    expect(attribute(twiml, 'statusCallback')).toEqual([`https://a.example/st?${reference}`])
    expect(attribute(twiml, 'url')).toEqual(['wss://a.example/socket', 'wss://a.example/s'])
    expect(twiml).toContain('<Say>my ownCallback="y" &amp; more</Say>')
  })

  test('sends its transcription to us if to nobody', async () => {
    const twiml = '<Response><Start><Transcription track="both_tracks"/></Start></Response>'
    const { sent, reference } = await place({ Twiml: twiml })
    expect(attribute(sent.get('Twiml'), 'statusCallbackUrl')).toEqual([
      `${eventsUrl}?${reference}#rc=5&rp=ct,rt,5xx`,
    ])
    expect(sent.get('Twiml')).toContain(' track="both_tracks"/></Start>')
  })

  test.each([
    ['in single quotes', `<Gather action='/g'/>`, `action='/g?REF'`],
    ['with blanks', '<Gather action = "/g" />', 'action = "/g?REF"'],
    ['with a fragment', '<Gather action="/g#rc=1"/>', 'action="/g?REF#rc=1"'],
    ['with > in another attribute', '<Gather hints="a>b" action="/g"/>', 'action="/g?REF"'],
    ['that is empty', '<Gather action=""/>', '<Gather action=""/>'],
    ['with only a method', '<Gather actionMethod="GET"/>', '<Gather actionMethod="GET"/>'],
  ])('a callback %s', async (_what, element, expected) => {
    const { sent, reference } = await place({ Twiml: `<Response>${element}</Response>` })
    expect(sent.get('Twiml')).toContain(expected.replace('REF', reference))
  })
})
