import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { FrameBlock } from '../../src/gate/journal/frame-block.js'
import { JournalReader } from '../../src/gate/journal/journal-reader.js'
import type { FrameRun, JournalRecord } from '../../src/gate/journal/segment-format.js'

interface TextRecord extends Omit<JournalRecord, 'body'> {
  readonly body: string
}

/** Every record in the journal of a data folder, in order, whether or not it is in the index. */
export function recordsIn(dataDir: string): readonly TextRecord[] {
  const folder = join(dataDir, 'journal')
  if (!existsSync(folder)) return []
  const reader = new JournalReader(folder, 1)
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
  const block = new FrameBlock(records[0]?.seq ?? 1, new SharedArrayBuffer(size))
  for (const { kind, at, body } of records) block.append({ kind, at, body: body.toString() })
  return block.run(block.size)
}
