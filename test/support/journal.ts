import { createHash } from 'node:crypto'
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
import {
  checksumSeedOf,
  encodeHeader,
  type FrameRun,
  type JournalRecord,
  sealFrames,
} from '../../src/gate/journal/segment-format.js'

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
  const segment = join(journal, '00000000000000000001.seg')
  const header = encodeHeader({ firstSeq: 1, createdAt: 0, origin })
  writeFileSync(segment, header)
  for (let first = 0; first < records.length; first += 10) {
    const { memory, end } = frameRunOf(records.slice(first, first + 10))
    const frames = Buffer.from(memory, 0, end)
    sealFrames(frames, checksumSeedOf(1))
    appendFileSync(segment, frames)
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
export function forgetTree(dataDir: string): void {
  rmSync(join(dataDir, 'journal', 'tree'), { recursive: true, force: true })
  rmSync(join(dataDir, 'journal.key'), { force: true })
}

/** The files below a folder, also those of the tree of a journal. */
export function listFiles(folder: string): readonly string[] {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true })
  return found
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
}
