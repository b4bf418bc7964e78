/** Whether an event comes from the platform: each signs the bytes of the body with a secret that it shares with us. */
import {
  createHash,
  createHmac,
  createPublicKey,
  timingSafeEqual,
  verify as verifyBytes,
} from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Instant } from '../../domain/time/clock.js'
import type { PlatformName } from '../../platform-events/call-event.js'
import { isObject } from '../platforms/platform.js'

interface SignedEvent {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** As the platform knows it, with its query. */
  readonly url: string
  /** Of a form, in the order they came. */
  readonly formPairs: readonly (readonly [string, string])[]
}

type VerifyEvent = (event: SignedEvent, secret: string, now: Instant) => boolean

/** Whether one of the secrets signed the event. A secret in a wrong form signs nothing. */
export function verify(
  platform: PlatformName,
  event: SignedEvent,
  secrets: readonly string[],
  now: Instant,
): boolean {
  return secrets.some((secret) => verifiers[platform](event, secret, now))
}

/** How far the time of a signature may be from ours. */
const maxAgeMs = 300_000

function headerOf({ headers }: SignedEvent, name: string): string {
  const value = headers[name]
  return typeof value === 'string' ? value : ''
}

/** Compares hashes, so that neither content nor length shows in the time it takes. */
function isEqual(one: string | Buffer, other: string | Buffer): boolean {
  const hash = (value: string | Buffer) => createHash('sha256').update(value).digest()
  return timingSafeEqual(hash(one), hash(other))
}

function isFresh(at: Instant, now: Instant): boolean {
  return Number.isSafeInteger(at) && Math.abs(now - at) <= maxAgeMs
}

/**
 * A customer of Vapi chooses among the secret itself, as a bearer token or not, and an HMAC of the body, and
 * the header it is in. Only who has the secret can send any of these, so that each of them is taken.
 */
const verifyVapi: VerifyEvent = (event, secret) => {
  const values = Object.values(event.headers).filter((value) => typeof value === 'string')
  const times = values.filter((value) => /^\d{9,14}$/.test(value))
  const payloads = [
    event.body,
    ...times.map((time) => Buffer.concat([Buffer.from(`${time}.`), event.body])),
  ]
  const digests = ['sha256', 'sha512', 'sha1'].flatMap((algorithm) =>
    payloads.flatMap((payload) => {
      const digest = createHmac(algorithm, secret).update(payload).digest()
      return [digest.toString('hex'), digest.toString('base64')]
    }),
  )
  const expected = [secret, ...digests]
  return values.some((value) => {
    const given = value.replace(/^(?:Bearer |sha\d+=)/i, '')
    return expected.some((one) => isEqual(given, one))
  })
}

/** `t=<seconds>,v0=<hex>`: HMAC-SHA256 of the time and the body. */
const verifyElevenlabs: VerifyEvent = (event, secret, now) => {
  const signature = headerOf(event, 'elevenlabs-signature')
  const [, time = '', digest = ''] = /^t=(\d{1,12}),v0=([0-9a-f]{64})$/i.exec(signature) ?? []
  if (time === '' || !isFresh(Number(time) * 1_000, now)) return false
  const expected = createHmac('sha256', secret).update(`${time}.`).update(event.body)
  return isEqual(digest.toLowerCase(), expected.digest('hex'))
}

/** HMAC-SHA256 of the body; there is no time. */
const verifyBland: VerifyEvent = (event, secret) => {
  const expected = createHmac('sha256', secret).update(event.body).digest('hex')
  return isEqual(headerOf(event, 'x-webhook-signature').toLowerCase(), expected)
}

/** `v=<ms>,d=<hex>`: HMAC-SHA256 of the body and the time. */
const verifyRetell: VerifyEvent = (event, secret, now) => {
  const signature = headerOf(event, 'x-retell-signature')
  const [, time = '', digest = ''] = /^v=(\d{1,15}),d=([0-9a-f]{64})$/i.exec(signature) ?? []
  if (time === '' || !isFresh(Number(time), now)) return false
  const expected = createHmac('sha256', secret).update(event.body).update(time).digest('hex')
  return isEqual(digest.toLowerCase(), expected)
}

const ed25519Prefix = Buffer.from('302a300506032b6570032100', 'hex')

/** Ed25519 over `<seconds>|<body>`; the secret is the public key in base64. */
const verifyTelnyx: VerifyEvent = (event, secret, now) => {
  const time = headerOf(event, 'telnyx-timestamp')
  if (!/^\d{1,12}$/.test(time) || !isFresh(Number(time) * 1_000, now)) return false
  const signature = Buffer.from(headerOf(event, 'telnyx-signature-ed25519'), 'base64')
  const signed = Buffer.concat([Buffer.from(`${time}|`), event.body])
  return verifyBytes(null, signed, readTelnyxKey(secret), signature)
}

/** Throws for text that is not a public key. */
export function readTelnyxKey(secret: string) {
  const der = Buffer.concat([ed25519Prefix, Buffer.from(secret, 'base64')])
  return createPublicKey({ key: der, format: 'der', type: 'spki' })
}

/** HMAC-SHA1 over the address and the sorted fields; there is no time. */
const verifyTwilio: VerifyEvent = (event, secret) => {
  const names = [...new Set(event.formPairs.map(([name]) => name))].sort()
  const valuesOf = (wanted: string) => [
    ...new Set(event.formPairs.flatMap(([name, value]) => (name === wanted ? [value] : []))),
  ]
  const fields = names.map((name) =>
    valuesOf(name)
      .sort()
      .map((value) => name + value)
      .join(''),
  )
  const expected = createHmac('sha1', secret)
    .update(event.url + fields.join(''))
    .digest('base64')
  const name = event.headers['x-signalwire-signature']
    ? 'x-signalwire-signature'
    : 'x-twilio-signature'
  return isEqual(headerOf(event, name), expected)
}

/** A JWT (HS256) with the SHA-256 of the body; the secret is `<API key>:<API secret>`. */
const verifyLivekit: VerifyEvent = (event, secret, now) => {
  const [apiKey = '', ...rest] = secret.split(':')
  const token = headerOf(event, 'authorization').replace(/^Bearer /, '')
  const [header = '', payload = '', signature = '', ...more] = token.split('.')
  const expected = createHmac('sha256', rest.join(':')).update(`${header}.${payload}`)
  if (more.length > 0 || !isEqual(signature, expected.digest('base64url'))) return false
  const claims = readJson(payload)
  if (readJson(header)?.alg !== 'HS256' || claims?.iss !== apiKey) return false
  const isCurrent = (claim: unknown, isAllowed: (at: Instant) => boolean) =>
    claim === undefined || (typeof claim === 'number' && isAllowed(claim * 1_000))
  // Without an end it would be valid forever.
  if (typeof claims.exp !== 'number' || !isCurrent(claims.exp, (at) => now < at)) return false
  if (!isCurrent(claims.nbf, (at) => now + maxAgeMs >= at)) return false
  const sha256 = createHash('sha256').update(event.body).digest('base64')
  return typeof claims.sha256 === 'string' && isEqual(claims.sha256, sha256)
}

const verifiers: Readonly<Record<PlatformName, VerifyEvent>> = {
  livekit: verifyLivekit,
  vapi: verifyVapi,
  retell: verifyRetell,
  telnyx: verifyTelnyx,
  twilio: verifyTwilio,
  elevenlabs: verifyElevenlabs,
  bland: verifyBland,
  signalwire: verifyTwilio,
}

function readJson(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString())
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
