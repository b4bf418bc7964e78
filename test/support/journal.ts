import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { JournalReader } from '../../src/gate/journal/journal-reader.js'
import type { JournalRecord } from '../../src/gate/journal/segment-format.js'

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
