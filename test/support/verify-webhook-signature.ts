/** Verifies webhook signatures as a receiver does, from their description in docs/webhooks.md alone. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Instant } from '../../src/domain/time/clock.js'

export type SignatureVerdict =
  | 'valid'
  /** The header is malformed. */
  | 'malformed'
  /** The time of the attempt is outside the tolerance. */
  | 'out-of-time'
  /** No signature matches the body and the secret. */
  | 'wrong'

export interface SignatureCheck {
  readonly header: string
  readonly body: string | Uint8Array
  readonly secret: string
  readonly now: Instant
  readonly toleranceSeconds?: number
}

const defaultToleranceSeconds = 300

/** Verifies the header as a receiver does; the id in it identifies duplicates. */
export function verifyWebhookSignature(verification: SignatureCheck): SignatureVerdict {
  const { header, now } = verification
  const { toleranceSeconds = defaultToleranceSeconds } = verification
  const read = parseSignatureHeader(header)
  if (!read) return 'malformed'
  const { id, atSeconds, hmacs } = read
  const expected = computeHmac(id, atSeconds, verification)
  const isProven = hmacs.map((proof) => timingSafeEqual(proof, expected)).includes(true)
  if (!isProven) return 'wrong'
  return Math.abs(now / 1000 - atSeconds) <= toleranceSeconds ? 'valid' : 'out-of-time'
}

function computeHmac(id: string, atSeconds: number, { body, secret }: SignatureCheck): Buffer {
  return createHmac('sha256', secret).update(`${id}.${atSeconds}.`).update(body).digest()
}

interface SignatureHeader {
  readonly id: string
  readonly atSeconds: number
  readonly hmacs: readonly Buffer[]
}

/** Requires one `t`, one `id` and at least one `v1`; ignores other parts, which later versions may add. */
function parseSignatureHeader(header: string): SignatureHeader | undefined {
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
  return { id, atSeconds: Number(time), hmacs: proofs.map((text) => Buffer.from(text, 'hex')) }
}
