/**
 * Puts what must not be read in an address, such as a number, into one: proxies and browsers keep addresses. The same text has the
 * same address, so that it can be shared among those who may sign in to the account.
 */
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'

const nonceBytes = 12
const tagBytes = 16

export class SealedAddresses {
  readonly #key: Buffer
  readonly #accountId: string

  /** `key` is 32 bytes. An account cannot open what another one has sealed. */
  constructor(key: Buffer, accountId = '') {
    this.#key = key
    this.#accountId = accountId
  }

  of(accountId: string): SealedAddresses {
    return new SealedAddresses(this.#key, accountId)
  }

  /** In letters that an address may have. */
  seal(text: string): string {
    const nonce = createHmac('sha256', this.#key)
      .update(`${this.#accountId}\0${text}`)
      .digest()
      .subarray(0, nonceBytes)
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce)
    cipher.setAAD(Buffer.from(this.#accountId))
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64url')
  }

  /** `undefined` for what {@link SealedAddresses.seal} has not made. */
  open(sealed: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url')
    if (bytes.length < nonceBytes + tagBytes) return undefined
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, nonceBytes))
    decipher.setAAD(Buffer.from(this.#accountId))
    decipher.setAuthTag(bytes.subarray(-tagBytes))
    try {
      const body = decipher.update(bytes.subarray(nonceBytes, -tagBytes))
      return Buffer.concat([body, decipher.final()]).toString('utf8')
    } catch {
      return undefined
    }
  }
}
