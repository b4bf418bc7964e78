/**
 * What the tree commits to for each record of a journal: 50 bytes that say nothing about its body.
 *
 * Version, 1 (1), kind (1), sequence number (8), written at, in ms (8), commitment (32). All integers are big-endian.
 *
 * A body has one part or two, separated by a tab, which JSON never contains. The first is kept. The second has everything about the person called,
 * and an erasure removes it. With the salt s of the record and s' = the first 16 bytes of SHA-256("callgate/kept/v2\n" s):
 * K = SHA-256("callgate/kept/v2\n" s' kept), P = SHA-256("callgate/person/v2\n" s person), and the commitment is
 * SHA-256("callgate/record/v2\n" K P). An erasure replaces the second part by `#` and P in base64, and s by s'.
 * The entry still proves the kept part. Nobody can find the person by trying numbers, since s cannot be computed from s'.
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
const keptLabel = Buffer.from('callgate/kept/v2\n')
const personLabel = Buffer.from('callgate/person/v2\n')
const recordLabel = Buffer.from('callgate/record/v2\n')

/** The part that an erasure removes, and the part that is kept. */
export interface BodyParts {
  readonly kept: Buffer
  readonly person: Buffer
}

const tab = 9

/** Length of an erased second part. The writer pads shorter ones with spaces, since an erasure keeps the length. */
export const minPersonBytes = 44

export function splitBody(body: Buffer): BodyParts {
  const at = body.indexOf(tab)
  if (at === -1) return { kept: body, person: Buffer.alloc(0) }
  return { kept: body.subarray(0, at), person: body.subarray(at + 1) }
}

/** Whether an erasure has removed the part about the person. */
export const isPersonErased = (body: Buffer): boolean => readErased(splitBody(body)) !== undefined

/** The hash of the part that was erased. */
function readErased({ person }: BodyParts): Buffer | undefined {
  if (person[0] !== 0x23) return undefined
  const [, hash] = /^#([A-Za-z0-9+/]{43}) *$/.exec(person.toString('latin1')) ?? []
  return hash === undefined ? undefined : Buffer.from(hash, 'base64')
}

export function commitTo(salt: Uint8Array, body: Buffer): Buffer {
  const parts = splitBody(body)
  const erased = readErased(parts)
  const keptSalt = erased ? salt : toKeptSalt(salt)
  const person = erased ?? sha256(personLabel, salt, parts.person)
  return sha256(recordLabel, sha256(keptLabel, keptSalt, parts.kept), person)
}

const toKeptSalt = (salt: Uint8Array): Buffer => sha256(keptLabel, salt).subarray(0, saltBytes)

const erasedSaltLabel = Buffer.from('callgate/erased-salt/v1\n')

/**
 * Erases a record without changing its length. `left` is the body with its second part removed or its text changed. The new salt is computed
 * from the old one, so a repeat after a crash gives the same commitment. The old salt cannot be computed from the new one.
 */
export function eraseFrom(
  { salt, body }: { readonly salt: Uint8Array; readonly body: Buffer },
  left: Buffer,
): { readonly salt: Buffer; readonly body: Buffer } {
  const before = splitBody(body)
  const after = splitBody(left)
  const isErased = after.person[0] === 0x23
  const wasErased = readErased(before)
  const next = Buffer.from(left)
  if (isErased) {
    const hash = wasErased ?? sha256(personLabel, salt, before.person)
    const text = `#${hash.toString('base64').slice(0, 43)}`
    const at = after.kept.length + 1
    next.fill(' ', at)
    next.write(text, at, 'latin1')
  }
  const keptSalt = isErased && !wasErased ? toKeptSalt(salt) : salt
  const isAsKept = isErased && after.kept.equals(before.kept)
  const newSalt = isAsKept ? keptSalt : sha256(erasedSaltLabel, keptSalt).subarray(0, saltBytes)
  return { salt: Buffer.from(newSalt), body: next }
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
