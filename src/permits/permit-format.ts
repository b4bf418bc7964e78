/**
 * What a permit looks like: a PASSporT in the form of SHAKEN (RFC 8225, RFC 8588), which SIP servers can check, or a
 * plain JWT for other programs. Both are ES256.
 */
import { type KeyObject, sign, verify } from 'node:crypto'
import type { PermitFormat } from '../api/gate/decisions.js'
import type { CallKind } from '../domain/decision.js'
import type { PhoneNumber } from '../domain/phone-number.js'
import { isUuid } from '../runtime/uuid.js'

export interface PermitClaims {
  readonly id: string
  /** Name of the SIP edge. */
  readonly edge: string
  readonly number: PhoneNumber
  readonly callerId: PhoneNumber
  readonly callKind: CallKind
  readonly decisionId: string
  /** Seconds since the epoch; before it was issued, if the decision ends earlier than the edge's freshness. */
  readonly issuedAtSeconds: number
  readonly expiresAtSeconds: number
}

export interface PermitSigner {
  /** Base URL of callgate without a slash at the end. */
  readonly issuer: string
  /** Thumbprint of the key. */
  readonly kid: string
  readonly privateKey: KeyObject
}

/** Where the public key of an edge is. */
const permitKeyUrl = (issuer: string, edge: string) => `${issuer}/permits/${edge}.pem`

export function formatPermit(
  format: PermitFormat,
  claims: PermitClaims,
  { issuer, kid, privateKey }: PermitSigner,
): string {
  if (format === 'jwt') {
    const header = { alg: 'ES256', kid, typ: jwtType }
    return signCompact(header, toJwtPayload(claims, issuer), privateKey)
  }
  const x5u = permitKeyUrl(issuer, claims.edge)
  // The order of the members is part of the format: OpenSIPS builds the text again before it checks the signature.
  const header = { alg: 'ES256', ppt: 'shaken', typ: 'passport', x5u }
  const token = signCompact(header, toPassportPayload(claims), privateKey)
  return `${token}${formatParameters(x5u)}`
}

const jwtType = 'dial-permit+jwt'

const formatParameters = (x5u: string) => `;info=<${x5u}>;alg=ES256;ppt=shaken`

/** RFC 8225, section 5.2.1: digits with the country code, and without a plus. */
const toTn = (number: PhoneNumber) => `1${number}`

function toPassportPayload({ id, number, callerId, issuedAtSeconds }: PermitClaims): object {
  return {
    attest: 'A',
    dest: { tn: [toTn(number)] },
    iat: issuedAtSeconds,
    orig: { tn: toTn(callerId) },
    origid: id,
  }
}

function toJwtPayload(claims: PermitClaims, issuer: string): object {
  return {
    iss: issuer,
    aud: claims.edge,
    iat: claims.issuedAtSeconds,
    exp: claims.expiresAtSeconds,
    jti: claims.id,
    dest: { tn: [toTn(claims.number)] },
    orig: { tn: toTn(claims.callerId) },
    callKind: claims.callKind,
    decision: claims.decisionId,
  }
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

const dsaEncoding = 'ieee-p1363'

function signCompact(header: object, payload: object, key: KeyObject): string {
  const input = `${encode(header)}.${encode(payload)}`
  return `${input}.${sign('sha256', Buffer.from(input), { key, dsaEncoding }).toString('base64url')}`
}

/** A text that has the form of a permit. Nothing in it counts before {@link isSignedBy}. */
export interface UncheckedPermit {
  readonly id: string
  readonly input: string
  readonly signature: Buffer
}

const maxPermitLength = 2_048
/** Of a PASSporT, or of a JWT without the parameters. An ES256 signature is 64 bytes. */
const permitPattern = /^([\w-]+)\.([\w-]+)\.([\w-]{86})(;[\x21-\x7e]+)?$/

/** `undefined` for anything that {@link formatPermit} does not write; a PASSporT may also lack its parameters. */
export function parsePermit(text: string): UncheckedPermit | undefined {
  if (text.length > maxPermitLength) return undefined
  const [, headerText, payloadText, signatureText = '', parameters] = permitPattern.exec(text) ?? []
  const header = decodeObject(headerText)
  const payload = decodeObject(payloadText)
  const signature = decodeCanonical(signatureText)
  if (!header || !payload || signature === undefined) return undefined
  const isJwt = header.typ === jwtType
  const id = isJwt ? payload.jti : payload.origid
  const expected = isJwt ? undefined : formatParameters(String(header.x5u))
  if (parameters !== undefined && parameters !== expected) return undefined
  if (typeof id !== 'string' || !isUuid(id)) return undefined
  return { id, input: `${headerText}.${payloadText}`, signature }
}

function decodeObject(text = ''): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(decodeCanonical(text)?.toString('utf8') ?? '')
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}

/** `undefined` if unused bits of the last letter are set, or there is no byte. */
function decodeCanonical(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.length > 0 && bytes.toString('base64url') === text ? bytes : undefined
}

export function isSignedBy({ input, signature }: UncheckedPermit, publicKey: KeyObject): boolean {
  return verify('sha256', Buffer.from(input), { key: publicKey, dsaEncoding }, signature)
}
