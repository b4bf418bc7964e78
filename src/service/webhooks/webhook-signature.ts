/**
 * The signature of a notification: `callgate-signature: t=<unix seconds>,id=<event id>,v1=<hex>`, where
 * v1 is the HMAC-SHA256 of `<id>.<t>.<body>`, keyed with the account's secret. The body is the exact
 * bytes sent. The time is that of the attempt, so a captured request cannot be replayed once the
 * receiver's tolerance has passed.
 */
import { createHmac } from 'node:crypto'

export const signatureHeader = 'callgate-signature'

export interface SignaturePayload {
  readonly id: string
  /** Seconds since 1970. */
  readonly atSeconds: number
  readonly body: string | Uint8Array
}

/** The value of the header, with one signature per secret, since two are valid during a rotation. */
export function signWebhook(payload: SignaturePayload, secrets: readonly string[]): string {
  const proofs = secrets.map((secret) => `v1=${computeHmac(payload, secret)}`)
  return [`t=${payload.atSeconds}`, `id=${payload.id}`, ...proofs].join(',')
}

function computeHmac({ id, atSeconds, body }: SignaturePayload, secret: string): string {
  return createHmac('sha256', secret).update(`${id}.${atSeconds}.`).update(body).digest('hex')
}
