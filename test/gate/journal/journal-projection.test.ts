import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { JournalProjection } from '../../../src/gate/journal/projection/journal-projection.js'

it('says that the server is there when there is nothing to copy', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'callgate-projection-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const claimed: number[] = []
  const projection = new JournalProjection({ folder, keyPath: join(folder, 'key') }, async () => ({
    claim: async (_origin, firstSeq) => {
      claimed.push(firstSeq)
      return { nextSeq: firstSeq, last: undefined }
    },
    retire: async (_origin, firstSeq) => ({ nextSeq: firstSeq, last: undefined }),
    store: () => Promise.reject(new Error('there are no records')),
    removeBefore: async () => true,
  }))
  onTestFinished(() => projection.close())
  expect(await projection.handle({ lastSeq: 0, notStoredSeq: undefined })).toEqual({ nextSeq: 1 })
  const before = claimed.length
  await projection.handle({ lastSeq: 0, notStoredSeq: undefined })
  expect(claimed.length).toBe(before + 1)
})
