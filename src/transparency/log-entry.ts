/**
 * What the tree commits to for each record of a journal: 50 bytes that say nothing about its body.
 *
 * Version, 1 (1), kind (1), sequence number (8), written at, in ms (8), commitment (32): SHA-256 of
 * `callgate/record/v1`, a line feed, the salt of the record and its body. All integers are big-endian. Without
 * the salt, nobody can tell the body from any other, so it can be erased with its salt, and the tree stays as it is.
 */
import { sha256 } from './sha256.js'

export interface LogEntry {
  readonly kind: number
  readonly seq: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly commitment: Buffer
}

export const entryBytes = 50
export const saltBytes = 16
/** Of a record that was removed before the tree was made. Its commitment is 32 zeros. */
export const unknownKind = 0

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
