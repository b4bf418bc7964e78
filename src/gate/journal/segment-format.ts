/**
 * The bytes of the journal. A segment is a file that begins with a header and goes on with one frame
 * per record, in the order of their sequence numbers; all integers are big-endian.
 *
 * Header, 64 bytes: magic (8), first sequence number (8), created at, in ms (8), SHA-256 of the
 * journal's origin (32), flags (4), CRC-32 of the 60 bytes before (4).
 *
 * Frame, padded to 8 bytes: length of the payload (4), CRC-32 of the segment's first sequence number,
 * the length and the payload (4), payload: format (1), kind (1), sequence number (8), written at, in
 * ms (8), salt (16), body. The body is JSON in UTF-8, in one part or two (`transparency/log-entry.ts`), and its bytes are never written anew, except
 * without an erased number (`removal/erase-records.ts`), with another salt. The salt, 128 random bits for
 * each record, lets the tree (`tree/`) commit to the body without showing it. The checksum finds
 * accidents, and with the sequence number in it, bytes of another segment.
 *
 * Records that share a flush are a group, and a seal follows them: a frame whose payload is the number of
 * the first record (8), that of the last one (8) and a signature of Ed25519 (64) by the key of the journal
 * over `callgate/seal/v1\n`, the origin (32), both numbers (16) and the SHA-256 of the frames of the group.
 * A record has the format where a seal has the first byte of a number, which is 0. Once a group is under a
 * signed checkpoint its seal is needed no longer, and after an erasure it may not fit anymore.
 */
import { createHash, type KeyObject, randomFillSync, sign, verify } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Instant } from '../../domain/time/clock.js'
import { eraseFrom, recordKinds, saltBytes } from '../../transparency/log-entry.js'

export type RecordKind = keyof typeof recordKinds

/** Whether the body of such a record begins with the id of a decision. */
export function isOfDecision(kind: RecordKind): kind is 'decision' | 'amendment' | 'outcome' {
  return kind === 'decision' || kind === 'amendment' || kind === 'outcome'
}

export interface JournalRecord {
  /** Without gaps, from 1. */
  readonly seq: number
  readonly kind: RecordKind
  readonly at: Instant
  /** JSON in UTF-8. */
  readonly body: Buffer
}

/** A record as it is in a segment. */
export interface StoredRecord extends JournalRecord {
  readonly salt: Buffer
}

export interface SegmentHeader {
  readonly firstSeq: number
  readonly createdAt: Instant
  /** SHA-256 of the journal's origin. */
  readonly origin: Buffer
}

export const headerBytes = 64
export const frameHeadBytes = 8
export const payloadHeadBytes = 34
/** Of the salt in the payload. */
const saltOffset = payloadHeadBytes - saltBytes
export const format = 1
/** What a frame must not exceed to be taken for one. A decision has about 1,800 bytes. */
const maxPayloadBytes = 1_048_576
/** Of a record, whose UTF-8 has at most three bytes for each UTF-16 unit. */
export const maxBodyLength = Math.floor((maxPayloadBytes - payloadHeadBytes) / 3)

const magic = Buffer.from('CGJ1\r\n\x1a\n', 'latin1')

export function encodeHeader({ firstSeq, createdAt, origin }: SegmentHeader): Buffer {
  const bytes = Buffer.alloc(headerBytes)
  magic.copy(bytes)
  writeUint64(bytes, firstSeq, 8)
  writeUint64(bytes, createdAt, 16)
  origin.copy(bytes, 24)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 60)), 60)
  return bytes
}

/** `undefined` if the bytes are no whole header. */
export function decodeHeader(bytes: Buffer): SegmentHeader | undefined {
  if (bytes.length < headerBytes || !bytes.subarray(0, magic.length).equals(magic)) return undefined
  if (crc32(bytes.subarray(0, 60)) !== bytes.readUInt32BE(60)) return undefined
  return {
    firstSeq: readUint64(bytes, 8),
    createdAt: readUint64(bytes, 16),
    origin: Buffer.from(bytes.subarray(24, 56)),
  }
}

/** Where the checksums of a segment's frames begin. */
export function checksumSeedOf(firstSeq: number): number {
  const bytes = Buffer.alloc(8)
  writeUint64(bytes, firstSeq, 0)
  return crc32(bytes)
}

/** Frames one after another in memory that threads share. */
export interface FrameRun {
  readonly memory: SharedArrayBuffer
  readonly start: number
  readonly end: number
}

/** Gives each frame a new salt, and its checksum in the segment. Returns how many frames there are. */
export function finishFrames(frames: Buffer, checksumSeed: number): number {
  let count = 0
  for (let offset = 0; offset < frames.length; count += 1) {
    const place = frameAt(frames, offset)
    writeSalt(frames, place.payload + saltOffset)
    writeChecksum(frames, place, checksumSeed)
    offset = place.next
  }
  return count
}

/** The frame with its erased body; see {@link eraseFrom}. */
export function withErased(frame: Buffer, left: Buffer, checksumSeed: number): Buffer {
  const copy = Buffer.from(frame)
  const place = frameAt(copy, 0)
  const { salt, body } = eraseFrom(readPayload(frame, place.payload, place.end), left)
  salt.copy(copy, place.payload + saltOffset)
  body.copy(copy, place.payload + payloadHeadBytes)
  writeChecksum(copy, place, checksumSeed)
  return copy
}

function writeChecksum(frames: Buffer, place: FramePlace, checksumSeed: number): void {
  frames.writeUInt32BE(computeChecksum(frames, place, checksumSeed), place.offset + 4)
}

export function readFirstRecord(frames: Buffer): StoredRecord {
  const { payload, end } = frameAt(frames, 0)
  return readPayload(frames, payload, end)
}

/** The record whose body begins at an offset, of frames that are known to be whole. */
export function readRecordWithBodyAt(frames: Buffer, bodyOffset: number): JournalRecord {
  const { payload, end } = frameAt(frames, bodyOffset - payloadHeadBytes - frameHeadBytes)
  return readPayload(frames, payload, end)
}

interface FramePlace {
  readonly offset: number
  readonly payload: number
  readonly end: number
}

function frameAt(bytes: Buffer, offset: number): FramePlace & { readonly next: number } {
  const length = bytes.readUInt32BE(offset)
  const payload = offset + frameHeadBytes
  return { offset, payload, end: payload + length, next: offset + padded(frameHeadBytes + length) }
}

function computeChecksum(
  bytes: Buffer,
  { offset, payload, end }: FramePlace,
  checksumSeed: number,
): number {
  bytes.copy(lengthBytes, 0, offset, offset + 4)
  return crc32(bytes.subarray(payload, end), crc32(lengthBytes, checksumSeed))
}

const lengthBytes = Buffer.alloc(4)

const padded = (size: number): number => Math.ceil(size / 8) * 8

/** A BigInt for each number would cost more than the rest of a frame. */
function writeUint64(bytes: Buffer, value: number, offset: number): void {
  bytes.writeUInt32BE(Math.floor(value / 2 ** 32), offset)
  bytes.writeUInt32BE(value % 2 ** 32, offset + 4)
}

function readUint64(bytes: Buffer, offset: number): number {
  return bytes.readUInt32BE(offset) * 2 ** 32 + bytes.readUInt32BE(offset + 4)
}

const salts = Buffer.alloc(256 * saltBytes)
let nextSalt = salts.length

function writeSalt(bytes: Buffer, offset: number): void {
  if (nextSalt === salts.length) {
    randomFillSync(salts)
    nextSalt = 0
  }
  salts.copy(bytes, offset, nextSalt, nextSalt + saltBytes)
  // No salt is used twice, and none stays in memory.
  salts.fill(0, nextSalt, nextSalt + saltBytes)
  nextSalt += saltBytes
}

const kindsByCode = new Map<number | undefined, RecordKind>(
  Object.entries(recordKinds).map(([kind, code]) => [code, kind as RecordKind]),
)

export interface ReadFrame {
  readonly record: StoredRecord
  /** Where the next frame begins. */
  readonly end: number
}

/** The frame at an offset; `undefined` if no whole one of the segment begins there. */
export function decodeFrame(
  bytes: Buffer,
  offset: number,
  checksumSeed: number,
): ReadFrame | undefined {
  if (offset + frameHeadBytes > bytes.length) return undefined
  const { payload, end, next } = frameAt(bytes, offset)
  const length = end - payload
  if (length < payloadHeadBytes || length > maxPayloadBytes || end > bytes.length) return undefined
  if (bytes[payload] !== format || !kindsByCode.has(bytes[payload + 1])) return undefined
  const checksum = computeChecksum(bytes, { offset, payload, end }, checksumSeed)
  if (checksum !== bytes.readUInt32BE(offset + 4)) return undefined
  return { record: readPayload(bytes, payload, end), end: next }
}

/** Whose records a seal is about. */
export interface SealedGroup {
  /** SHA-256 of the journal's origin. */
  readonly origin: Uint8Array
  readonly firstSeq: number
  readonly lastSeq: number
  /** SHA-256 of their frames. */
  readonly hash: Uint8Array
}

export interface ReadSeal {
  readonly firstSeq: number
  readonly lastSeq: number
  readonly signature: Buffer
  /** Where the next frame begins. */
  readonly end: number
}

const sealHeadBytes = 16
const sealPayloadBytes = sealHeadBytes + 64
export const sealBytes = frameHeadBytes + sealPayloadBytes

/** The seal of finished frames that are to be written together. */
export function createSeal(
  frames: Buffer,
  group: Omit<SealedGroup, 'hash'>,
  { checksumSeed, key }: { readonly checksumSeed: number; readonly key: KeyObject },
): Buffer {
  const bytes = Buffer.alloc(sealBytes)
  const hash = createHash('sha256').update(frames).digest()
  bytes.writeUInt32BE(sealPayloadBytes, 0)
  encodeNumbers(group).copy(bytes, frameHeadBytes)
  const signature = sign(null, toSealMessage({ ...group, hash }), key)
  signature.copy(bytes, frameHeadBytes + sealHeadBytes)
  const place = { offset: 0, payload: frameHeadBytes, end: sealBytes }
  bytes.writeUInt32BE(computeChecksum(bytes, place, checksumSeed), 4)
  return bytes
}

/** The seal at an offset; `undefined` if no whole one of the segment begins there. */
export function decodeSeal(
  bytes: Buffer,
  offset: number,
  checksumSeed: number,
): ReadSeal | undefined {
  const payload = offset + frameHeadBytes
  const end = payload + sealPayloadBytes
  if (end > bytes.length || bytes.readUInt32BE(offset) !== sealPayloadBytes) return undefined
  if (bytes[payload] !== 0) return undefined
  const checksum = computeChecksum(bytes, { offset, payload, end }, checksumSeed)
  if (checksum !== bytes.readUInt32BE(offset + 4)) return undefined
  return {
    firstSeq: readUint64(bytes, payload),
    lastSeq: readUint64(bytes, payload + 8),
    signature: bytes.subarray(payload + sealHeadBytes, end),
    end,
  }
}

/** Whether a seal is that of the group, by this key. */
export function isSealOf(seal: ReadSeal, group: SealedGroup, key: KeyObject): boolean {
  if (seal.firstSeq !== group.firstSeq || seal.lastSeq !== group.lastSeq) return false
  return verify(null, toSealMessage(group), key, seal.signature)
}

function toSealMessage(group: SealedGroup): Buffer {
  return Buffer.concat([sealLabel, group.origin, encodeNumbers(group), group.hash])
}

const sealLabel = Buffer.from('callgate/seal/v1\n')

function encodeNumbers({ firstSeq, lastSeq }: Pick<SealedGroup, 'firstSeq' | 'lastSeq'>): Buffer {
  const bytes = Buffer.alloc(sealHeadBytes)
  writeUint64(bytes, firstSeq, 0)
  writeUint64(bytes, lastSeq, 8)
  return bytes
}

function readPayload(bytes: Buffer, payload: number, end: number): StoredRecord {
  const kind = kindsByCode.get(bytes[payload + 1])
  if (kind === undefined) throw new TypeError(`no record kind ${bytes[payload + 1]}`)
  return {
    kind,
    seq: readUint64(bytes, payload + 2),
    at: readUint64(bytes, payload + 10),
    salt: bytes.subarray(payload + saltOffset, payload + payloadHeadBytes),
    body: bytes.subarray(payload + payloadHeadBytes, end),
  }
}
