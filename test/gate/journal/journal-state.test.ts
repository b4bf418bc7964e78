/** What a journal says about itself before it is opened, and what a start reads of it. */
import { rmSync } from 'node:fs'
import { beforeEach, expect, it, vi } from 'vitest'
import { chunkBytes, listSegments } from '../../../src/gate/journal/journal-reader.js'
import { readJournalState } from '../../../src/gate/journal/recovery/journal-state.js'
import { SegmentFile } from '../../../src/gate/journal/segment-file.js'
import { useTempFolder } from '../../data/temp-folder.js'
import { makeDecision, testJournal } from '../../support/test-journal.js'

const folder = useTempFolder()
const now = Date.parse('2026-11-28T12:00:00Z')
const installation = 'i1'

async function serve(work: (journal: ReturnType<typeof testJournal>) => Promise<void>) {
  const opened = testJournal(folder.path, () => now, { installation })
  await opened.journal.open()
  await work(opened)
  await opened.journal.drain()
  await opened.journal.close()
}

const decide = (id: string) =>
  serve(async ({ append }) => append(await makeDecision({ id, decidedAt: now })))
const audit = (seq: number) =>
  serve(async ({ journal }) => void journal.note('audit', { seq, mark: `m${seq}` }))

beforeEach(async () => {
  for (const id of ['d1', 'd2', 'd3']) await decide(id)
  await audit(1)
  await audit(2)
  await decide('d4')
})

const removeIndex = () => {
  for (const suffix of ['', '-wal', '-shm']) {
    rmSync(folder.file(`index.sqlite${suffix}`), { force: true })
  }
}

it('is the same without an index', () => {
  const state = readJournalState(folder.path)
  expect(state).toMatchObject({ lastSeq: 12, installation, audited: { seq: 2, mark: 'm2' } })
  removeIndex()
  expect(readJournalState(folder.path)).toEqual(state)
})

it('is found near the end of a journal without an index', () => {
  removeIndex()
  const segments = listSegments(folder.file('journal')).length
  expect(segments).toBe(6)
  const read = vi.spyOn(SegmentFile.prototype, 'read')
  readJournalState(folder.path)
  // Of the last one, and of the one before with the last row of the audit table.
  const reads = read.mock.calls.filter(([, atMost]) => atMost === chunkBytes).length
  expect(reads).toBeLessThan(segments)
  read.mockRestore()
})

it('is in the index again after a start without one', async () => {
  removeIndex()
  await serve(async ({ journal }) => {
    await journal.drain()
    for (const id of ['d1', 'd2', 'd3', 'd4']) expect(journal.index?.find(id)).toBeDefined()
  })
})
