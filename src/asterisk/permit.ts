/**
 * The permit on a channel: a signed text that is valid for one channel, one number and a short time.
 * Sidecars with the same key accept each other's permits without shared state.
 */
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { Instant } from '../domain/time/clock.js'

export interface PermitClaims {
  readonly channelId: string
  readonly number: string
  readonly decisionId: string
  /** The permit is valid before this instant. */
  readonly expiresAt: Instant
}

export interface PermitCheck {
  /** The channel that has the permit. */
  readonly channelId: string
  /** The number it dials, in the form of the decision. */
  readonly number: string
  readonly now: Instant
}

const version = '1'
const decisionIdPattern = /^[\w-]{1,64}$/
/** Version, expiry, decision id, and 32 bytes in base64url: at most 122 characters. */
const permitPattern = /^1\.([0-9a-z]{1,11})\.([\w-]{1,64})\.([\w-]{43})$/

export class PermitSigner {
  readonly #key: KeyObject

  constructor(key: string | Buffer) {
    this.#key = createSecretKey(Buffer.from(key))
  }

  /** Letters, digits, `_`, `-` and points only. Throws for a decision id with anything else. */
  sign({ channelId, number, decisionId, expiresAt }: PermitClaims): string {
    if (!decisionIdPattern.test(decisionId)) {
      throw new TypeError(`decision id '${decisionId}' cannot be part of a permit`)
    }
    const expiry = Math.floor(expiresAt).toString(36)
    return `${version}.${expiry}.${decisionId}.${this.#mac({ channelId, number, decisionId, expiry })}`
  }

  /** The decision it was issued for; `undefined` unless the permit is fully valid. Never throws. */
  verify(
    text: string,
    { channelId, number, now }: PermitCheck,
  ): { readonly decisionId: string } | undefined {
    const [, expiry, decisionId, signature] = permitPattern.exec(text) ?? []
    if (expiry === undefined || decisionId === undefined || signature === undefined)
      return undefined
    const expected = this.#mac({ channelId, number, decisionId, expiry })
    if (!timingSafeEqual(Buffer.from(signature), Buffer.from(expected))) return undefined
    return now < Number.parseInt(expiry, 36) ? { decisionId } : undefined
  }

  /** HMAC over a JSON array, which encodes the parts unambiguously; 43 characters in base64url. */
  #mac(parts: {
    readonly channelId: string
    readonly number: string
    readonly decisionId: string
    readonly expiry: string
  }): string {
    const { channelId, number, decisionId, expiry } = parts
    return createHmac('sha256', this.#key)
      .update(JSON.stringify([version, channelId, number, expiry, decisionId]))
      .digest('base64url')
  }
}
