/** What somebody can do to the files of a journal who knows their formats; with its key, also sign what comes of it. */
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { crc32 } from 'node:zlib'
import { hashOriginName } from '../../src/gate/journal/journal-origin.js'
import { SegmentFile } from '../../src/gate/journal/segment-file.js'
import {
  checksumSeedOf,
  createSeal,
  decodeFrame,
  decodeSeal,
  headerBytes,
  type StoredRecord,
} from '../../src/gate/journal/segment-format.js'
import { TreeReader, treeFolder } from '../../src/gate/journal/tree/tree-files.js'
import { writeCheckpoint } from '../../src/gate/journal/tree/tree-head.js'
import { TreeWriter } from '../../src/gate/journal/tree/tree-writer.js'
import { recordKinds } from '../../src/transparency/log-entry.js'
import { computeRoot } from '../../src/transparency/merkle-tree.js'
import type { SigningKey } from '../../src/transparency/signed-note.js'
import { listFiles } from './journal.js'
import { seededKey } from './seeded-key.js'

export interface SegmentContent {
  readonly path: string
  readonly header: Buffer
  readonly records: readonly StoredRecord[]
}

/** Names of the segments in the folder of a journal, in order. */
export const segmentNames = (folder: string): readonly string[] =>
  listFiles(folder)
    .filter((name) => /\.seg(?:\.gz)?$/.test(name))
    .sort()

export const firstSeqOf = (path: string): number => Number(basename(path).slice(0, 20))

/** As they were before they were compressed. */
export function segmentBytes(path: string): Buffer {
  if (!path.endsWith('.gz')) return readFileSync(path)
  const file = new SegmentFile(path)
  try {
    return file.read(0, 1_000_000)
  } finally {
    file.close()
  }
}

export function readSegment(path: string): SegmentContent {
  const bytes = segmentBytes(path)
  const records: StoredRecord[] = []
  const checksumSeed = checksumSeedOf(firstSeqOf(path))
  for (let offset = headerBytes; ; ) {
    const seal = decodeSeal(bytes, offset, checksumSeed)
    const frame = seal ? undefined : decodeFrame(bytes, offset, checksumSeed)
    if (frame) records.push(frame.record)
    const end = seal?.end ?? frame?.end
    if (end === undefined) break
    offset = end
  }
  return { path, header: bytes.subarray(0, headerBytes), records }
}

/** In the plain form, with right checksums, and without seals: only the journal has the key for them. */
export function writeSegment(
  { path, header }: SegmentContent,
  records: readonly StoredRecord[],
): string {
  rmSync(path)
  const plain = path.replace(/\.gz$/, '')
  const frames = records.map((record) => encodeFrame(record, firstSeqOf(path)))
  writeFileSync(plain, Buffer.concat([header, ...frames]))
  return plain
}

/** Behind what the segment has, which stays as it is. */
export function appendRecords(path: string, records: readonly StoredRecord[]): void {
  appendFileSync(path, Buffer.concat(records.map((one) => encodeFrame(one, firstSeqOf(path)))))
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

/** The header with other numbers and times, and its checksum. */
export function forgeHeader(header: Buffer, change: (header: Buffer) => void): Buffer {
  const copy = Buffer.from(header)
  change(copy)
  copy.writeUInt32BE(crc32(copy.subarray(0, 60)), 60)
  return copy
}

/** An answer that is as long, and says the opposite. */
export const forgeRecord = (record: StoredRecord): StoredRecord => ({
  ...record,
  body: Buffer.from(record.body.toString().replace('"decision":"block"', '"decision":"allow"')),
})

/** The tree of the records as they are now; with the checkpoint from before if nobody has the key. */
export function forgeTree(
  folder: string,
  origin: string,
  signer?: SigningKey,
  size = Number.MAX_SAFE_INTEGER,
): void {
  const target = mkdtempSync(join(tmpdir(), 'callgate-tree-'))
  try {
    signTree(folder, target, signer ?? seededKey(origin, 'signer', 7), size)
    for (const name of ['tile', ...(signer ? ['checkpoint'] : [])]) {
      const path = join(treeFolder(folder), name)
      rmSync(path, { recursive: true, force: true })
      cpSync(join(treeFolder(target), name), path, { recursive: true })
    }
  } finally {
    rmSync(target, { recursive: true, force: true })
  }
}

/** Of the records up to a number, in another folder; the leaves of those that were removed are the ones of the tree before. */
export function signTree(folder: string, target: string, key: SigningKey, size: number): void {
  const tree = treeFolder(target)
  const names = segmentNames(folder)
  const removed = firstSeqOf(names[0] ?? '') - 1
  mkdirSync(join(tree, 'tile'), { recursive: true })
  if (removed > 0) cpSync(join(treeFolder(folder), 'tile'), join(tree, 'tile'), { recursive: true })
  const root = computeRoot(removed, new TreeReader(tree, removed).node)
  writeCheckpoint(tree, { origin: key.name, size: removed, root }, key)
  const writer = new TreeWriter(target, key)
  for (const name of names) {
    writer.add(readSegment(join(folder, name)).records.filter(({ seq }) => seq <= size))
  }
  writer.sign()
}

/** Each segment as one group, in the plain form. */
export function sealSegments(folder: string, key: SigningKey): void {
  const origin = hashOriginName(key.name)
  for (const name of segmentNames(folder)) {
    const content = readSegment(join(folder, name))
    const lastSeq = content.records.at(-1)?.seq
    if (lastSeq === undefined) continue
    const plain = writeSegment(content, content.records)
    const firstSeq = firstSeqOf(name)
    const frames = readFileSync(plain).subarray(headerBytes)
    const checksumSeed = checksumSeedOf(firstSeq)
    const group = { origin, firstSeq, lastSeq }
    appendFileSync(plain, createSeal(frames, group, { checksumSeed, key: key.privateKey }))
  }
}

/** Numbers below a limit, the same for the same seed. */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
