/** Reads and writes the records of a segment, with right checksums, as somebody does who knows the format. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { crc32 } from 'node:zlib'
import { SegmentFile } from '../../src/gate/journal/segment-file.js'
import {
  checksumSeedOf,
  decodeFrame,
  headerBytes,
  type StoredRecord,
} from '../../src/gate/journal/segment-format.js'
import { recordKinds } from '../../src/transparency/log-entry.js'

interface SegmentContent {
  readonly path: string
  readonly header: Buffer
  readonly records: readonly StoredRecord[]
}

export function bytesOf(path: string): Buffer {
  if (!path.endsWith('.gz')) return readFileSync(path)
  const file = new SegmentFile(path)
  try {
    return file.read(0, 1_000_000)
  } finally {
    file.close()
  }
}

export const firstSeqOf = (path: string) => Number(basename(path).slice(0, 20))

export function readSegment(path: string): SegmentContent {
  const bytes = bytesOf(path)
  const records: StoredRecord[] = []
  for (let offset = headerBytes; ; ) {
    const frame = decodeFrame(bytes, offset, checksumSeedOf(firstSeqOf(path)))
    if (frame === undefined) break
    records.push(frame.record)
    offset = frame.end
  }
  return { path, header: bytes.subarray(0, headerBytes), records }
}

/** With right checksums. */
export function writeSegmentOf(
  { path, header }: SegmentContent,
  records: readonly StoredRecord[],
): void {
  rmSync(path)
  const frames = records.map((record) => encodeFrame(record, firstSeqOf(path)))
  writeFileSync(path.replace(/\.gz$/, ''), Buffer.concat([header, ...frames]))
}

function encodeFrame({ kind, seq, at, salt, body }: StoredRecord, firstSeq: number): Buffer {
  const head = Buffer.alloc(18)
  head[0] = 1
  head[1] = recordKinds[kind]
  head.writeBigUInt64BE(BigInt(seq), 2)
  head.writeBigUInt64BE(BigInt(at), 10)
  const payload = Buffer.concat([head, salt, body])
  const frame = Buffer.alloc(Math.ceil((8 + payload.length) / 8) * 8)
  frame.writeUInt32BE(payload.length, 0)
  payload.copy(frame, 8)
  const first = Buffer.alloc(8)
  first.writeBigUInt64BE(BigInt(firstSeq))
  frame.writeUInt32BE(crc32(payload, crc32(frame.subarray(0, 4), crc32(first))), 4)
  return frame
}
