import * as crypto from 'node:crypto'

/** What is hashed, which is seldom longer. */
let joined = Buffer.alloc(8_192)

/** SHA-256 of some bytes one after another. */
export function sha256(...parts: readonly Uint8Array[]): Buffer {
  let length = 0
  for (const part of parts) length += part.length
  if (length > joined.length) joined = Buffer.alloc(length)
  let end = 0
  for (const part of parts) {
    joined.set(part, end)
    end += part.length
  }
  return digest(joined.subarray(0, length))
}

/**
 * A hash object takes longer than to hash the bytes of a node, and so does a digest as a buffer. Node 18 has no `hash`, and
 * the verifier of evidence bundles runs there.
 */
const digest =
  crypto.hash === undefined
    ? (bytes: Buffer) => crypto.createHash('sha256').update(bytes).digest()
    : (bytes: Buffer) => Buffer.from(crypto.hash('sha256', bytes, 'binary'), 'latin1')
