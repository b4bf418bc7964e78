/** Verifies that an event comes from the platform, by the secret that the platform and callgate share. */
import { createHash, createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Instant } from '../domain/time/clock.js'
import { parseInstant } from '../domain/time/dates.js'
import type { PlatformName } from './call-event.js'
import { parseJsonObject } from './fields.js'

export interface SignedEvent {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** The address that the platform called, with its query. */
  readonly url: string
}

/** `late`: signed by the platform, but the time of the signature differs too much from the clock, so the event may be a replay. */
export type SignatureAge = 'timely' | 'late'

/**
 * Whether some body would make it an event of the platform, as far as can be seen without one: a stranger's need not be read.
 */
export function mayBeSigned(
  platform: PlatformName,
  event: Omit<SignedEvent, 'body'>,
  secrets: readonly string[],
): boolean {
  return secrets.some((secret) => secret !== '' && headChecks[platform](event, secret))
}

/** `undefined` if none of the secrets fits. Throws for a secret that is not one of the platform, see {@link checkSecret}. */
export function verifyEvent(
  platform: PlatformName,
  event: SignedEvent,
  secrets: readonly string[],
  now: Instant,
): SignatureAge | undefined {
  // An absent header would equal an empty secret.
  const usable = secrets.filter((secret) => secret !== '')
  const ages = usable.map((secret) => verifiers[platform](event, secret, now))
  return ages.find((age) => age === 'timely') ?? ages.find((age) => age !== undefined)
}

/** What a secret of the platform must look like, if this one does not. */
export function checkSecret(platform: PlatformName, secret: string): string | undefined {
  if (platform === 'livekit' && !/^[^:]+:[^:]+$/.test(secret)) return '<API key>:<API secret>'
  if (platform !== 'telnyx') return undefined
  try {
    readTelnyxKey(secret)
    return undefined
  } catch {
    return 'the public key of your Telnyx account, in base64'
  }
}

type Verify = (event: SignedEvent, secret: string, now: Instant) => SignatureAge | undefined
type CheckHead = (event: Omit<SignedEvent, 'body'>, secret: string) => boolean

/** Largest difference between the time of a signature and the clock of the proxy. */
const maxAgeMs = 300_000

function headerOf({ headers }: Pick<SignedEvent, 'headers'>, name: string): string {
  const value = headers[name.toLowerCase()]
  return typeof value === 'string' ? value : ''
}

/** Compares hashes, so that the time it takes shows neither content nor length. */
function isEqual(one: string | Buffer, other: string | Buffer): boolean {
  const hash = (value: string | Buffer) => createHash('sha256').update(value).digest()
  return timingSafeEqual(hash(one), hash(other))
}

function ageAt(at: Instant, now: Instant): SignatureAge {
  return Math.abs(now - at) <= maxAgeMs ? 'timely' : 'late'
}

const timelyIf = (isValid: boolean): SignatureAge | undefined => (isValid ? 'timely' : undefined)

/** A digest may be in hex or base64, after a prefix such as `sha256=` or `v1,`. */
const digestsIn = (text: string): readonly string[] =>
  text
    .trim()
    .split(/\s+/)
    .map((part) => part.replace(/^[\w-]{1,16}[=,](?=[^=]{16})/, ''))

function isDigest(text: string, digest: Buffer): boolean {
  return digestsIn(text).some(
    (bare) =>
      isEqual(bare.toLowerCase(), digest.toString('hex')) ||
      isEqual(bare, digest.toString('base64')),
  )
}

const digestBytes = { sha256: 32, sha512: 64, sha1: 20 } as const
type Algorithm = keyof typeof digestBytes

/** Whether a text could be a digest of the algorithm. */
function mayBeDigest(text: string, algorithm: Algorithm): boolean {
  const bytes = digestBytes[algorithm]
  const lengths: readonly number[] = [2 * bytes, 4 * Math.ceil(bytes / 3)]
  return digestsIn(text).some((bare) => lengths.includes(bare.length) && /^[\w+/]+=*$/.test(bare))
}

/** A stranger may send hundreds of headers, and each pair of them would be hashed. */
const maxSigned = 20

const algorithms = Object.keys(digestBytes) as Algorithm[]

const textHeaders = ({ headers }: Pick<SignedEvent, 'headers'>) =>
  Object.entries(headers).flatMap(([name, value]) =>
    typeof value === 'string' ? [{ name, value }] : [],
  )

function hasVapiToken(event: Pick<SignedEvent, 'headers'>, secret: string): boolean {
  return textHeaders(event).some(({ value }) => isEqual(value.replace(/^Bearer\s+/i, ''), secret))
}

const isVapiHead: CheckHead = (event, secret) =>
  hasVapiToken(event, secret) ||
  textHeaders(event).some(({ value }) => algorithms.some((one) => mayBeDigest(value, one)))

/**
 * A customer of Vapi chooses a token or an HMAC of the body, its algorithm and the header it is in. All of them need the
 * secret, so each is taken without a setting.
 */
const verifyVapi: Verify = (event, secret, now) => {
  if (hasVapiToken(event, secret)) return 'timely'
  const headers = textHeaders(event)
  const valuesOf = (ending: RegExp) =>
    headers.flatMap(({ name, value }) => (ending.test(name) ? [value] : []))
  const times = valuesOf(/timestamp$/)
  const ids = valuesOf(/-id$/)
  // Vapi signs the body, or `{timestamp}.{body}`; Svix puts the id of the message before it.
  const signed = [
    { time: undefined, prefix: '' },
    ...times.flatMap((time) =>
      [`${time}.`, ...ids.map((id) => `${id}.${time}.`)].map((prefix) => ({ time, prefix })),
    ),
  ].slice(0, maxSigned)
  for (const algorithm of algorithms) {
    const digests = headers.filter(({ value }) => mayBeDigest(value, algorithm))
    if (digests.length === 0) continue
    for (const { time, prefix } of signed) {
      const digest = createHmac(algorithm, secret).update(prefix).update(event.body).digest()
      if (!digests.some(({ value }) => isDigest(value, digest))) continue
      return time === undefined ? 'timely' : ageOf(time, now)
    }
  }
  return undefined
}

/** A signed time in seconds, milliseconds or ISO 8601; any other text is not recent. */
function ageOf(time: string, now: Instant): SignatureAge {
  if (!/^\d{1,15}$/.test(time)) return ageAt(parseInstant(time) ?? Number.NaN, now)
  return ageAt(time.length > 11 ? Number(time) : Number(time) * 1_000, now)
}

/** `v=<ms>,d=<hex>`: HMAC-SHA256 of the body and the time. */
const retellSignature = /^v=(\d{1,15}),d=([0-9a-f]{64})$/i
const isRetellHead: CheckHead = (event) =>
  retellSignature.test(headerOf(event, 'x-retell-signature'))

const verifyRetell: Verify = (event, secret, now) => {
  const signature = headerOf(event, 'x-retell-signature')
  const [, time = '', digest = ''] = retellSignature.exec(signature) ?? []
  const expected = createHmac('sha256', secret).update(event.body).update(time).digest('hex')
  if (time === '' || !isEqual(digest.toLowerCase(), expected)) return undefined
  return ageAt(Number(time), now)
}

const ed25519Prefix = Buffer.from('302a300506032b6570032100', 'hex')

/** Ed25519 over `<seconds>|<body>`; the secret is the public key in base64. */
const isTelnyxHead: CheckHead = (event) =>
  /^\d{1,12}$/.test(headerOf(event, 'telnyx-timestamp')) &&
  Buffer.from(headerOf(event, 'telnyx-signature-ed25519'), 'base64').length === 64

const verifyTelnyx: Verify = (event, secret, now) => {
  if (!isTelnyxHead(event, secret)) return undefined
  const time = headerOf(event, 'telnyx-timestamp')
  const signature = Buffer.from(headerOf(event, 'telnyx-signature-ed25519'), 'base64')
  const signed = Buffer.concat([Buffer.from(`${time}|`), event.body])
  if (!verify(null, signed, readTelnyxKey(secret), signature)) return undefined
  return ageAt(Number(time) * 1_000, now)
}

/** Throws for text that is not a public key. */
function readTelnyxKey(secret: string) {
  const der = Buffer.concat([ed25519Prefix, Buffer.from(secret, 'base64')])
  return createPublicKey({ key: der, format: 'der', type: 'spki' })
}

/** HMAC-SHA1 over the address and the sorted fields; there is no time. Of a JSON body, the address has the hash. */
const verifyTwilio: Verify = (event, secret) =>
  timelyIf(isSignedByTwilio(event, secret, headerOf(event, 'x-twilio-signature')))

const isTwilioHead: CheckHead = (event, secret) =>
  mayBeSignedByTwilio(event, secret, headerOf(event, 'x-twilio-signature'))

/** An address with the hash of the body is signed without it. */
function mayBeSignedByTwilio(
  { url }: Pick<SignedEvent, 'url'>,
  secret: string,
  signature: string,
): boolean {
  if (findBodyHash(url) === undefined) return mayBeDigest(signature, 'sha1')
  return isEqual(signature, createHmac('sha1', secret).update(url).digest('base64'))
}

const findBodyHash = (url: string) => /[?&]bodySHA256=([0-9a-f]{64})\b/i.exec(url)?.[1]

function isSignedByTwilio(event: SignedEvent, secret: string, signature: string): boolean {
  const bodyHash = findBodyHash(event.url)
  const text = bodyHash === undefined ? sortedFields(event.body) : ''
  const expected = createHmac('sha1', secret).update(event.url + text)
  if (!isEqual(signature, expected.digest('base64'))) return false
  const actualHash = createHash('sha256').update(event.body).digest('hex')
  return bodyHash === undefined || isEqual(bodyHash.toLowerCase(), actualHash)
}

function sortedFields(body: Buffer): string {
  const values = new Map<string, Set<string>>()
  for (const [name, value] of new URLSearchParams(body.toString())) {
    const known = values.get(name)
    if (known) known.add(value)
    else values.set(name, new Set([value]))
  }
  const names = [...values.keys()].sort()
  return names
    .flatMap((name) => [...(values.get(name) ?? [])].sort().map((value) => name + value))
    .join('')
}

function signalwireSignature(event: Pick<SignedEvent, 'headers'>): string {
  const own = headerOf(event, 'x-signalwire-signature')
  return own === '' ? headerOf(event, 'x-twilio-signature') : own
}

const isSignalwireHead: CheckHead = (event) => mayBeDigest(signalwireSignature(event), 'sha1')

/** Forms as Twilio does; JSON with HMAC-SHA1 over the address and the body, in hex. */
const verifySignalwire: Verify = (event, secret) => {
  const signature = signalwireSignature(event)
  const digest = createHmac('sha1', secret).update(event.url).update(event.body).digest('hex')
  return timelyIf(
    isEqual(signature.toLowerCase(), digest) || isSignedByTwilio(event, secret, signature),
  )
}

/** `t=<seconds>,v0=<hex>`: HMAC-SHA256 over `<seconds>.<body>`. */
const elevenlabsParts = (event: Pick<SignedEvent, 'headers'>) =>
  headerOf(event, 'elevenlabs-signature')
    .split(',')
    .map((part) => part.trim())

const isElevenlabsHead: CheckHead = (event) => {
  const parts = elevenlabsParts(event)
  return [/^t=\d{1,12}$/, /^v0=[0-9a-f]{64}$/i].every((one) => parts.some((part) => one.test(part)))
}

const verifyElevenlabs: Verify = (event, secret, now) => {
  const parts = elevenlabsParts(event)
  const time = parts.find((part) => /^t=\d{1,12}$/.test(part))?.slice(2)
  if (time === undefined) return undefined
  const expected = createHmac('sha256', secret).update(`${time}.`).update(event.body).digest('hex')
  const isSigned = parts.some((part) => isEqual(part.toLowerCase(), `v0=${expected}`))
  return isSigned ? ageAt(Number(time) * 1_000, now) : undefined
}

/** HMAC-SHA256 over the body; there is no time. */
const isBlandHead: CheckHead = (event) =>
  mayBeDigest(headerOf(event, 'x-webhook-signature'), 'sha256')

const verifyBland: Verify = (event, secret) => {
  const digest = createHmac('sha256', secret).update(event.body).digest()
  return timelyIf(isDigest(headerOf(event, 'x-webhook-signature'), digest))
}

/** A JWT (HS256) with the SHA-256 of the body; the secret is `<API key>:<API secret>`. */
const verifyLivekit: Verify = (event, secret, now) => {
  const claims = readLivekitClaims(event, secret)
  const sha256 = createHash('sha256').update(event.body).digest('base64')
  if (typeof claims?.sha256 !== 'string' || !isEqual(claims.sha256, sha256)) return undefined
  // Without an end it would be valid forever.
  if (typeof claims.exp !== 'number') return undefined
  const isStarted =
    claims.nbf === undefined ||
    (typeof claims.nbf === 'number' && now + maxAgeMs >= claims.nbf * 1_000)
  return isStarted && now < claims.exp * 1_000 ? 'timely' : 'late'
}

/** Of a token that is signed with the secret. */
function readLivekitClaims(event: Pick<SignedEvent, 'headers'>, secret: string) {
  const [apiKey = '', ...rest] = secret.split(':')
  const token = headerOf(event, 'authorization').replace(/^Bearer /, '')
  const [header = '', payload = '', signature = '', ...more] = token.split('.')
  const expected = createHmac('sha256', rest.join(':')).update(`${header}.${payload}`)
  if (more.length > 0 || !isEqual(signature, expected.digest('base64url'))) return undefined
  const claims = readPart(payload)
  return readPart(header)?.alg === 'HS256' && claims?.iss === apiKey ? claims : undefined
}

const isLivekitHead: CheckHead = (event, secret) => readLivekitClaims(event, secret) !== undefined

function readPart(part: string): Record<string, unknown> | undefined {
  return parseJsonObject(Buffer.from(part, 'base64url').toString())
}

const verifiers: Readonly<Record<PlatformName, Verify>> = {
  livekit: verifyLivekit,
  vapi: verifyVapi,
  retell: verifyRetell,
  telnyx: verifyTelnyx,
  twilio: verifyTwilio,
  elevenlabs: verifyElevenlabs,
  bland: verifyBland,
  signalwire: verifySignalwire,
}

const headChecks: Readonly<Record<PlatformName, CheckHead>> = {
  livekit: isLivekitHead,
  vapi: isVapiHead,
  retell: isRetellHead,
  telnyx: isTelnyxHead,
  twilio: isTwilioHead,
  elevenlabs: isElevenlabsHead,
  bland: isBlandHead,
  signalwire: isSignalwireHead,
}
