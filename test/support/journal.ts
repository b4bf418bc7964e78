import { createHash, createPrivateKey } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { FrameBlocks } from '../../src/gate/journal/frame-blocks.js'
import { readBeginning } from '../../src/gate/journal/journal-beginning.js'
import { JournalReader } from '../../src/gate/journal/journal-reader.js'
import type { KnownRecords } from '../../src/gate/journal/recovery/recover-journal.js'
import {
  checksumSeedOf,
  createSeal,
  encodeHeader,
  type FrameRun,
  finishFrames,
  type JournalRecord,
} from '../../src/gate/journal/segment-format.js'
import { treeFolder } from '../../src/gate/journal/tree/tree-files.js'
import {
  openSigningKey,
  type TreeHead,
  writeCheckpoint,
} from '../../src/gate/journal/tree/tree-head.js'
import type { DecisionDocument } from '../../src/gate/record/decision-document.js'
import { readRecord } from '../../src/gate/record/read-record.js'
import { openCheckpoint, signCheckpoint } from '../../src/transparency/checkpoint.js'
import { computeRoot } from '../../src/transparency/merkle-tree.js'
import { seededKey } from './seeded-key.js'
import type { TestCallgate } from './test-callgate.js'

interface TextRecord extends Omit<JournalRecord, 'body'> {
  readonly body: string
}

/** Every record in the journal of a data folder, in order, whether or not it is in the index. */
export function recordsIn(dataDir: string): readonly TextRecord[] {
  const folder = join(dataDir, 'journal')
  if (!existsSync(folder)) return []
  const reader = new JournalReader(folder, readBeginning(folder).firstSeq)
  const records: TextRecord[] = []
  for (;;) {
    const next = reader.read()
    if (next.length === 0) break
    records.push(...next.map((record) => ({ ...record, body: record.body.toString() })))
  }
  reader.close()
  return records
}

/** The body of a record with this content, in its two parts. */
export function bodyOf(document: DecisionDocument): string {
  const { number, dial, dialed, postalCode, subject, personId, reference, facts, ...kept } =
    document
  const quotes: string[] = []
  const text = JSON.stringify(kept, (name, value) => {
    if (name !== 'quote' || typeof value !== 'string') return value
    quotes.push(value)
    return true
  })
  const quoted = quotes.length > 0 && { quotes }
  const person = {
    number,
    dial,
    dialed,
    postalCode,
    subject,
    personId,
    reference,
    ...quoted,
    facts,
  }
  return `${text}\t${JSON.stringify(person).padEnd(44)}`
}

/** The record of a decision, by the reply to its request. */
export async function readRecorded(
  { callgate, dataDir }: Pick<TestCallgate, 'callgate' | 'dataDir'>,
  { id }: { readonly id: string },
): Promise<DecisionDocument> {
  await callgate.journal.drain()
  const record = recordsIn(dataDir).find(({ body }) => body.startsWith(`{"id":"${id}"`))
  if (record === undefined) throw new Error(`${id} has no record`)
  return readRecord('decision', record)
}

/** The records as the thread that writes them gets them; their numbers must be consecutive. */
export function frameRunOf(records: readonly JournalRecord[]): FrameRun {
  const size = records.reduce((sum, { body }) => sum + 64 + 3 * body.length, 0)
  const blocks = new FrameBlocks({ blockBytes: size, maxBlocks: 1 })
  let run: FrameRun | undefined
  for (const { kind, seq, at, body } of records) {
    const { memory, size: end } = blocks.append(kind, seq, at, body.toString())
    if (run !== undefined && run.memory !== memory) throw new Error('no room')
    run = { memory, start: 0, end }
  }
  if (run === undefined) throw new Error('no records')
  return run
}

/** Seals what tests write without a journal. */
export const sealKey = seededKey('callgate/journal/test', 'signer', 1)

/** Of such a journal: a tree that has signed the first records, and no others. */
export function signedTree(size: number): TreeHead {
  const head = { origin: sealKey.name, size, root: computeRoot(0, () => Buffer.alloc(0)) }
  return { key: sealKey, head: openCheckpoint(signCheckpoint(head, sealKey), sealKey) }
}

/** What a start knows of it whose index ends before record `fromSeq`. */
export const nothingSigned = (fromSeq: number): KnownRecords => ({ tree: signedTree(0), fromSeq })

/** Frames as somebody makes them who knows the format, and not the key. */
export function forgeFrames(
  seq: number,
  segmentSeq: number,
  records: readonly JournalRecord[] = [{ seq, kind: 'decision', at: 0, body: forgedBody }],
): Buffer {
  const { memory, end } = frameRunOf(records)
  const frames = Buffer.from(memory, 0, end)
  finishFrames(frames, checksumSeedOf(segmentSeq))
  return frames
}
const forgedBody = Buffer.from('{"id":"forged","decision":"allow"}')

/** A journal with one record for each body; gives its only segment. */
export function writeJournal(folder: string, bodies: readonly string[]): string {
  const journal = join(folder, 'journal')
  const origin = createHash('sha256')
    .update(readFileSync(join(journal, 'origin')))
    .digest()
  const records = bodies.map((body, index) => ({
    seq: index + 1,
    kind: 'opened' as const,
    at: 0,
    body: Buffer.from(body),
  }))
  const key = createPrivateKey(readFileSync(join(folder, 'journal.key')))
  const segment = join(journal, '00000000000000000001.seg')
  const header = encodeHeader({ firstSeq: 1, createdAt: 0, origin })
  writeFileSync(segment, header)
  for (let first = 0; first < records.length; first += 10) {
    const { memory, end } = frameRunOf(records.slice(first, first + 10))
    const frames = Buffer.from(memory, 0, end)
    const checksumSeed = checksumSeedOf(1)
    const count = finishFrames(frames, checksumSeed)
    const group = { origin, firstSeq: first + 1, lastSeq: first + count }
    appendFileSync(segment, frames)
    appendFileSync(segment, createSeal(frames, group, { checksumSeed, key }))
  }
  return segment
}

/** Changes one bit. */
export function damageByte(path: string, offset: number): void {
  const bytes = readFileSync(path)
  bytes[offset] = (bytes[offset] ?? 0) ^ 1
  writeFileSync(path, bytes)
}

/** As before its first checkpoint: a journal whose end is cut off after that is refused. */
export function forgetHeads(dataDir: string): void {
  const journal = join(dataDir, 'journal')
  const key = openSigningKey(journal, join(dataDir, 'journal.key'))
  rmSync(join(treeFolder(journal), 'tile'), { recursive: true, force: true })
  const root = computeRoot(0, () => Buffer.alloc(0))
  writeCheckpoint(treeFolder(journal), { origin: key.name, size: 0, root }, key)
}

/** The files below a folder, also those of the tree of a journal. */
export function listFiles(folder: string): readonly string[] {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true })
  return found
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
}
