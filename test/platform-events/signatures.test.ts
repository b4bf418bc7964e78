/** Signatures as platforms make them, two secrets at a time, and everything that is not one. */
import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { AccessToken } from 'livekit-server-sdk'
import twilio from 'twilio'
import { describe, expect, test } from 'vitest'
import { type PlatformName, platformNames } from '../../src/platform-events/call-event.js'
import { checkSecret, type SignedEvent, verifyEvent } from '../../src/platform-events/signatures.js'

const now = Date.UTC(2026, 10, 28, 16)
const url = 'https://events.customer.example/v1/platforms/x/events?callgateDecision=D-1'
const seconds = (at: number) => String(Math.floor(at / 1_000))

type Headers = Record<string, string>
type Sign = (body: string, secret: string, at: number) => Headers | Promise<Headers>

const makeTelnyxKey = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const der = publicKey.export({ format: 'der', type: 'spki' })
  return [der.subarray(-32).toString('base64'), privateKey] as const
}
const telnyxKeys = new Map([makeTelnyxKey(), makeTelnyxKey()])
const [telnyxOne = '', telnyxTwo = ''] = [...telnyxKeys.keys()]

const hmac = (algorithm: string, secret: string, text: string) =>
  createHmac(algorithm, secret).update(text)

const signers: Readonly<
  Record<PlatformName, { secrets: [string, string]; sign: Sign; hasTime?: true }>
> = {
  vapi: { secrets: ['one', 'two'], sign: (_body, secret) => ({ 'x-vapi-secret': secret }) },
  retell: {
    secrets: ['one', 'two'],
    hasTime: true,
    sign: (body, secret, at) => ({
      'x-retell-signature': `v=${at},d=${hmac('sha256', secret, `${body}${at}`).digest('hex')}`,
    }),
  },
  telnyx: {
    secrets: [telnyxOne, telnyxTwo],
    hasTime: true,
    sign: (body, secret, at) => {
      const key = telnyxKeys.get(secret)
      if (!key) throw new Error('no such key')
      const signed = Buffer.from(`${seconds(at)}|${body}`)
      return {
        'telnyx-timestamp': seconds(at),
        'telnyx-signature-ed25519': sign(null, signed, key).toString('base64'),
      }
    },
  },
  twilio: {
    secrets: ['one', 'two'],
    sign: (body, secret) => ({
      'x-twilio-signature': twilio.getExpectedTwilioSignature(
        secret,
        url,
        Object.fromEntries(new URLSearchParams(body)),
      ),
    }),
  },
  signalwire: {
    secrets: ['one', 'two'],
    sign: (body, secret) => ({
      'x-signalwire-signature': twilio.getExpectedTwilioSignature(
        secret,
        url,
        Object.fromEntries(new URLSearchParams(body)),
      ),
    }),
  },
  elevenlabs: {
    secrets: ['wsec_one', 'wsec_two'],
    hasTime: true,
    sign: (body, secret, at) => ({
      'elevenlabs-signature': `t=${seconds(at)},v0=${hmac('sha256', secret, `${seconds(at)}.${body}`).digest('hex')}`,
    }),
  },
  bland: {
    secrets: ['one', 'two'],
    sign: (body, secret) => ({ 'x-webhook-signature': hmac('sha256', secret, body).digest('hex') }),
  },
  livekit: {
    secrets: ['key-a:one', 'key-b:two'],
    sign: async (body, secret) => {
      const [key = '', value = ''] = secret.split(':')
      const token = new AccessToken(key, value, { ttl: 300 })
      token.sha256 = createHash('sha256').update(body).digest('base64')
      return { authorization: await token.toJwt() }
    },
  },
}

const body = 'CallSid=CA1&CallStatus=completed&To=%2B12125550106&Digits=9&Digits=9'
const eventOf = (headers: Headers, text = body): SignedEvent => ({
  headers,
  body: Buffer.from(text),
  url,
})

/** The SDK of LiveKit takes the time of the machine. */
const timeOf = (platform: PlatformName) => (platform === 'livekit' ? Date.now() : now)

describe.each(platformNames)('events of %s', (platform) => {
  const { secrets, sign: signBody } = signers[platform]
  const at = timeOf(platform)
  const verify = (event: SignedEvent, wanted: readonly string[] = secrets, when = at) =>
    verifyEvent(platform, event, wanted, when)

  test('are taken with either of two secrets, and with one alone', async () => {
    for (const secret of secrets) {
      const event = eventOf(await signBody(body, secret, at))
      expect(verify(event)).toBe('timely')
      expect(verify(event, [secret])).toBe('timely')
      expect(verify(event, [...secrets].reverse())).toBe('timely')
    }
  })

  test('are refused with another secret, none, an empty one, or without a signature', async () => {
    const [first, second] = secrets
    const event = eventOf(await signBody(body, first, at))
    expect(verify(event, [second])).toBeUndefined()
    expect(verify(event, [])).toBeUndefined()
    expect(verify(eventOf({}))).toBeUndefined()
    expect(verify(eventOf({}), ['', ''])).toBeUndefined()
    for (const name of Object.keys(event.headers)) {
      expect(verify(eventOf({ ...(event.headers as Headers), [name]: '' }))).toBeUndefined()
      expect(verify(eventOf({ ...(event.headers as Headers), [name]: 'é x=1,y' }))).toBeUndefined()
    }
  })
})

// A token does not depend on the body.
test.each(platformNames.filter((platform) => platform !== 'vapi'))(
  'events of %s are refused when the body was changed',
  async (platform) => {
    const { secrets, sign: signBody } = signers[platform]
    const headers = await signBody(body, secrets[0], timeOf(platform))
    for (const changed of [`${body}0`, '', body.slice(0, -1)]) {
      const event = eventOf(headers, changed)
      expect(verifyEvent(platform, event, secrets, timeOf(platform))).toBeUndefined()
    }
  },
)

test.each(platformNames.filter((platform) => signers[platform].hasTime))(
  'events of %s are late when their time is more than five minutes from ours',
  async (platform) => {
    const { secrets, sign: signBody } = signers[platform]
    const verify = async (secret: string, distanceMs: number) =>
      verifyEvent(
        platform,
        eventOf(await signBody(body, secrets[1], now + distanceMs)),
        [secret],
        now,
      )
    for (const distanceMs of [-302_000, 302_000]) {
      expect(await verify(secrets[1], distanceMs)).toBe('late')
      expect(await verify(secrets[0], distanceMs)).toBeUndefined()
    }
    expect(await verify(secrets[1], -298_000)).toBe('timely')
  },
)

test('events of LiveKit are late when their token has expired', async () => {
  const event = eventOf(await signers.livekit.sign(body, 'key-a:one', now))
  const later = Date.now() + 301_000
  expect(verifyEvent('livekit', event, ['key-a:one'], later)).toBe('late')
  expect(verifyEvent('livekit', event, ['key-a:two'], later)).toBeUndefined()
})

describe('a credential of Vapi', () => {
  const verify = (headers: Headers, secrets = ['other', 'token'], text = body) =>
    verifyEvent('vapi', eventOf(headers, text), secrets, now)

  test.each<[string, Headers]>([
    ['the older header', { 'x-vapi-secret': 'token' }],
    ['a bearer token', { authorization: 'Bearer token' }],
    ['a bearer token in lower case', { authorization: 'bearer token' }],
    ['a token without a prefix', { authorization: 'token' }],
    ['a token in a header of choice', { 'x-api-key': 'token' }],
    ['a bearer token in a header of choice', { 'x-auth': 'Bearer token' }],
  ])('is %s', (_name, headers) => {
    expect(verify(headers)).toBe('timely')
    const wrong = Object.fromEntries(Object.keys(headers).map((name) => [name, 'Bearer tokem']))
    expect(verify(wrong)).toBeUndefined()
    expect(verify({})).toBeUndefined()
  })

  test.each(['sha1', 'sha256', 'sha512'])('is an HMAC with %s', (algorithm) => {
    const time = seconds(now)
    const digest = (text: string) => hmac(algorithm, 'token', text)
    const signed = digest(`${time}.${body}`)
    const hex = signed.digest('hex')
    const cases: readonly Headers[] = [
      { 'x-signature': hex, 'x-timestamp': time },
      { 'x-signature': `${algorithm}=${hex}`, 'x-timestamp': time },
      { 'x-sig': Buffer.from(hex, 'hex').toString('base64'), 'x-timestamp': time },
      { 'x-sig': digest(body).digest('hex') },
      { 'x-sig': digest(body).digest('base64') },
      {
        'svix-signature': `v1,${digest(`m-1.${time}.${body}`).digest('base64')}`,
        'svix-id': 'm-1',
        'svix-timestamp': time,
      },
    ]
    for (const headers of cases) {
      expect(verify(headers)).toBe('timely')
      expect(verify(headers, ['tokem'])).toBeUndefined()
      expect(verify(headers, ['token'], `${body} `)).toBeUndefined()
    }
  })

  test('is late with a signed time of long ago', () => {
    for (const time of [
      seconds(now - 400_000),
      String(now - 400_000),
      '2026-11-28T15:50:00Z',
      'x',
    ]) {
      const signature = hmac('sha256', 'token', `${time}.${body}`).digest('hex')
      const headers = { 'x-signature': signature, 'x-timestamp': time }
      expect(verify(headers)).toBe('late')
    }
  })
})

test('Twilio signs the address of a JSON body, which has the hash of the body', () => {
  const json = '{"type":"prompt"}'
  const hash = createHash('sha256').update(json).digest('hex')
  const address = `${url}&bodySHA256=${hash}`
  const signature = twilio.getExpectedTwilioSignature('token', address, {})
  const verify = (text: string) =>
    verifyEvent(
      'twilio',
      { headers: { 'x-twilio-signature': signature }, body: Buffer.from(text), url: address },
      ['token'],
      now,
    )
  expect(verify(json)).toBe('timely')
  expect(verify('{"type":"other"}')).toBeUndefined()
})

test('SignalWire signs JSON with the whole body', () => {
  const json = '{"call_id":"s1"}'
  const signature = hmac('sha1', 'token', url + json).digest('hex')
  const verify = (text: string) =>
    verifyEvent(
      'signalwire',
      eventOf({ 'x-signalwire-signature': signature }, text),
      ['token'],
      now,
    )
  expect(verify(json)).toBe('timely')
  expect(verify('{"call_id":"s2"}')).toBeUndefined()
})

test('a secret of another form is named', () => {
  expect(checkSecret('livekit', 'key-without-secret')).toBe('<API key>:<API secret>')
  expect(checkSecret('livekit', 'key:secret')).toBeUndefined()
  expect(checkSecret('telnyx', 'no key')).toContain('public key')
  expect(checkSecret('telnyx', telnyxOne)).toBeUndefined()
  expect(checkSecret('vapi', 'anything')).toBeUndefined()
})
