/**
 * Puts what must not be read in an address, such as a number, into one: proxies and browsers keep addresses. The same text has the
 * same address, so that it can be shared among those who may sign in.
 */
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'

const nonceBytes = 12
const tagBytes = 16

export class SealedAddresses {
  readonly #key: Buffer

  /** `key` is 32 bytes. */
  constructor(key: Buffer) {
    this.#key = key
  }

  /** In letters that an address may have. */
  seal(text: string): string {
    const nonce = createHmac('sha256', this.#key).update(text).digest().subarray(0, nonceBytes)
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce)
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64url')
  }

  /** `undefined` for what {@link SealedAddresses.seal} has not made. */
  open(sealed: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url')
    if (bytes.length < nonceBytes + tagBytes) return undefined
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, nonceBytes))
    decipher.setAuthTag(bytes.subarray(-tagBytes))
    try {
      const body = decipher.update(bytes.subarray(nonceBytes, -tagBytes))
      return Buffer.concat([body, decipher.final()]).toString('utf8')
    } catch {
      return undefined
    }
  }
}
