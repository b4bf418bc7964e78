/**
 * What the tree commits to for each record of a journal: 50 bytes that say nothing about its body.
 *
 * Version, 1 (1), kind (1), sequence number (8), written at, in ms (8), commitment (32): SHA-256 of
 * `callgate/record/v1`, a line feed, the salt of the record and its body. All integers are big-endian. Without
 * the salt, nobody can tell the body from any other, so it can be erased with its salt, and the tree stays as it is.
 */
import * as crypto from 'node:crypto'

export interface LogEntry {
  readonly kind: number
  readonly seq: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly commitment: Buffer
}

/**
 * An amendment replaces a decision of the same id that changed before its answer left. An erasure says that
 * a number is to be taken out of the segments before it, and a notice which records were changed by that, or removed
 * since they had expired. A receipt is what a person got who opted out.
 */
export const recordKinds = {
  decision: 1,
  amendment: 2,
  outcome: 3,
  erasure: 6,
  opened: 7,
  audit: 9,
  notice: 10,
  receipt: 11,
} as const

export const entryBytes = 50
export const saltBytes = 16

/** Where the parts are put together; it grows for a longer record. */
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
 * To make a hash object takes longer than to hash a node, and `hash` gives a text faster than a buffer. Node 18, where the
 * verifier of evidence bundles runs, has no `hash`.
 */
const digest =
  crypto.hash === undefined
    ? (bytes: Buffer) => crypto.createHash('sha256').update(bytes).digest()
    : (bytes: Buffer) => Buffer.from(crypto.hash('sha256', bytes, 'binary'), 'latin1')

const version = 1
const label = Buffer.from('callgate/record/v1\n')

export function commitTo(salt: Uint8Array, body: Uint8Array): Buffer {
  return sha256(label, salt, body)
}

export function encodeEntry({ kind, seq, at, commitment }: LogEntry): Buffer {
  const bytes = Buffer.alloc(entryBytes)
  bytes[0] = version
  bytes[1] = kind
  bytes.writeUIntBE(seq, 4, 6)
  bytes.writeUIntBE(at, 12, 6)
  bytes.set(commitment, 18)
  return bytes
}

/** `undefined` if the bytes are no entry of this version. */
export function decodeEntry(bytes: Buffer): LogEntry | undefined {
  if (bytes.length !== entryBytes || bytes[0] !== version) return undefined
  if (bytes.readUInt16BE(2) !== 0 || bytes.readUInt16BE(10) !== 0) return undefined
  return {
    kind: bytes[1] ?? 0,
    seq: bytes.readUIntBE(4, 6),
    at: bytes.readUIntBE(12, 6),
    commitment: bytes.subarray(18),
  }
}
