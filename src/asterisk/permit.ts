/**
 * The permit on a channel: a text that only who holds the key can make, and that is good for one
 * channel, one number and a short time. Sidecars that share the key need no memory in common.
 */
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { Instant } from '../domain/clock.js'

export interface Permitted {
  readonly channelId: string
  readonly number: string
  readonly decisionId: string
  /** The permit is good before this instant. */
  readonly expiresAt: Instant
}

export interface PermitQuestion {
  /** The channel that carries the permit. */
  readonly channelId: string
  /** The number it dials, in the form the decision gives it. */
  readonly number: string
  readonly now: Instant
}

const version = '1'
const decisionIdForm = /^[\w-]{1,64}$/
/** Version, expiry, decision id, and 32 bytes in base64url: at most 122 characters. */
const permitForm = /^1\.([0-9a-z]{1,11})\.([\w-]{1,64})\.([\w-]{43})$/

export class Permits {
  readonly #key: KeyObject

  constructor(key: string | Buffer) {
    this.#key = createSecretKey(Buffer.from(key))
  }

  /** Letters, digits, `_`, `-` and points only. Throws for a decision id with anything else. */
  issue({ channelId, number, decisionId, expiresAt }: Permitted): string {
    if (!decisionIdForm.test(decisionId)) {
      throw new TypeError(`a permit cannot name the decision '${decisionId}'`)
    }
    const expiry = Math.floor(expiresAt).toString(36)
    return `${version}.${expiry}.${decisionId}.${this.#mac({ channelId, number, decisionId, expiry })}`
  }

  /** The decision it was issued for; `undefined` unless every part of it holds. Never throws. */
  read(
    text: string,
    { channelId, number, now }: PermitQuestion,
  ): { readonly decisionId: string } | undefined {
    const [, expiry, decisionId, given] = permitForm.exec(text) ?? []
    if (expiry === undefined || decisionId === undefined || given === undefined) return undefined
    const wanted = this.#mac({ channelId, number, decisionId, expiry })
    if (!timingSafeEqual(Buffer.from(given), Buffer.from(wanted))) return undefined
    return now < Number.parseInt(expiry, 36) ? { decisionId } : undefined
  }

  /** Over a JSON array, which no two lists of texts have in common; in base64url, 43 characters. */
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
