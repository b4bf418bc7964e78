/**
 * How a notification proves where it comes from: `callgate-signature: t=<unix seconds>,id=<event
 * id>,v1=<hex>`, where v1 is the HMAC-SHA256 of `<id>.<t>.<body>` under the account's secret. The
 * body is the bytes as sent. The time is that of the attempt, so an attempt that was recorded on the
 * way is of no use to a thief for longer than the receiver tolerates.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Instant } from '../../domain/clock.js'

export const signatureHeader = 'callgate-signature'

export interface SignedNotice {
  readonly id: string
  /** Seconds since 1970. */
  readonly atSeconds: number
  readonly body: string | Uint8Array
}

/** The value of the header. Of several secrets, while one replaces another, each signs. */
export function sign(notice: SignedNotice, secrets: readonly string[]): string {
  const proofs = secrets.map((secret) => `v1=${proofOf(notice, secret).toString('hex')}`)
  return [`t=${notice.atSeconds}`, `id=${notice.id}`, ...proofs].join(',')
}

export type SignatureVerdict =
  | 'valid'
  /** The header cannot be read. */
  | 'malformed'
  /** The attempt was made longer ago than is tolerated, or as far ahead. */
  | 'out-of-time'
  /** None of the proofs is that of the body under the secret. */
  | 'wrong'

export interface Verification {
  readonly header: string
  readonly body: string | Uint8Array
  readonly secret: string
  readonly now: Instant
  readonly toleranceSeconds?: number
}

const usualToleranceSeconds = 300

/** What a receiver does with the header; the id in it is the one to tell duplicates by. */
export function verify(verification: Verification): SignatureVerdict {
  const { header, body, secret, now } = verification
  const { toleranceSeconds = usualToleranceSeconds } = verification
  const read = readHeader(header)
  if (!read) return 'malformed'
  const { id, atSeconds, proofs } = read
  const expected = proofOf({ id, atSeconds, body }, secret)
  const isProven = proofs.map((proof) => timingSafeEqual(proof, expected)).includes(true)
  if (!isProven) return 'wrong'
  return Math.abs(now / 1000 - atSeconds) <= toleranceSeconds ? 'valid' : 'out-of-time'
}

function proofOf({ id, atSeconds, body }: SignedNotice, secret: string): Buffer {
  return createHmac('sha256', secret).update(`${id}.${atSeconds}.`).update(body).digest()
}

interface ReadHeader {
  readonly id: string
  readonly atSeconds: number
  readonly proofs: readonly Buffer[]
}

/** One `t`, one `id`, one or more `v1`; parts of other names are for later versions. */
function readHeader(header: string): ReadHeader | undefined {
  const parts = header.split(',').map((part) => /^\s*(\w+)=([\w-]*)\s*$/.exec(part))
  const valuesOf = (name: string) =>
    parts.flatMap((part) => (part?.[1] === name && part[2] !== undefined ? [part[2]] : []))
  const [time, ...moreTimes] = valuesOf('t')
  const [id, ...moreIds] = valuesOf('id')
  const proofs = valuesOf('v1')
  if (time === undefined || !/^\d{1,15}$/.test(time) || id === undefined || id === '')
    return undefined
  const isOdd = moreTimes.length + moreIds.length > 0 || parts.includes(null)
  const isProof = (text: string) => /^[0-9a-f]{64}$/.test(text)
  if (isOdd || proofs.length === 0 || !proofs.every(isProof)) return undefined
  return { id, atSeconds: Number(time), proofs: proofs.map((text) => Buffer.from(text, 'hex')) }
}
