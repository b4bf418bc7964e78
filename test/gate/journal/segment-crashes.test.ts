/** Erasing and removing segments, ended at each call that changes a file, and then done again. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest'
import { DecisionIndex } from '../../../src/gate/journal/decision-index.js'
import { readOrigin } from '../../../src/gate/journal/journal-origin.js'
import { listSegments } from '../../../src/gate/journal/journal-reader.js'
import { recoverJournal } from '../../../src/gate/journal/recovery/recover-journal.js'
import { eraseFromSegment, NumberEraser } from '../../../src/gate/journal/removal/erase-records.js'
import { Retention } from '../../../src/gate/journal/removal/retention.js'
import { readTree } from '../../../src/gate/journal/tree/tree-head.js'
import { fileFault } from '../../support/failing-files.js'
import { listFiles, recordsIn } from '../../support/journal.js'
import { makeDecision, testJournal } from '../../support/test-journal.js'

// Test files share what they import, so these modules may have the real one already.
vi.hoisted(() => void vi.resetModules())
afterAll(() => void vi.resetModules())

vi.mock('node:fs', async (load) => {
  const { failingFiles } = await import('../../support/failing-files.js')
  return failingFiles(await load())
})

const number = '2125550106'
const msPerDay = 86_400_000
const firstDay = Date.UTC(2021, 9, 25, 12)
/** A week before and after the end of October 2021, and eight days five years later. */
const days = [
  ...Array.from({ length: 12 }, (_, index) => firstDay + index * msPerDay),
  ...Array.from({ length: 8 }, (_, index) => Date.UTC(2026, 10, 1, 12) + index * msPerDay),
]
const idOf = (at: number) => `d${at}`

let dataDir: string
const folder = () => join(dataDir, 'journal')
const copies = ['journal', 'index.sqlite'] as const

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-segments-'))
  let now = firstDay
  const { journal, append } = testJournal(dataDir, () => now, { keepYears: 100 })
  await journal.open()
  for (const at of days) {
    now = at
    await append(await makeDecision({ id: idOf(at), decidedAt: at }, { dialed: number }))
    await journal.drain()
  }
  await journal.close()
  for (const name of copies)
    cpSync(join(dataDir, name), join(dataDir, 'before', name), { recursive: true })
})

afterEach(() => {
  fileFault.failAt = 0
  rmSync(dataDir, { recursive: true, force: true })
})

function restore(): void {
  for (const name of copies) {
    rmSync(join(dataDir, name), { recursive: true, force: true })
    cpSync(join(dataDir, 'before', name), join(dataDir, name), { recursive: true })
  }
}

/** Runs the work without a failure, and then once for each of its steps with one. */
function failAtEachStep(work: () => void, check: () => void): void {
  restore()
  Object.assign(fileFault, { calls: 0, failAt: 0 })
  work()
  const steps = fileFault.calls
  check()
  expect(steps).toBeGreaterThan(5)
  for (let step = 1; step <= steps; step += 1) {
    restore()
    Object.assign(fileFault, { calls: 0, failAt: step })
    expect(work, `step ${step}`).toThrow('EIO')
    fileFault.failAt = 0
    work()
    check()
  }
}

function readFiles(): string {
  const texts = listFiles(folder()).map((name) => {
    const bytes = readFileSync(join(folder(), name))
    return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('latin1')
  })
  return texts.join('\n')
}

it('erases a number wherever it ended before', () => {
  expect(listSegments(folder()).filter(({ path }) => path.endsWith('.gz'))).not.toEqual([])
  const erase = () => {
    const eraser = new NumberEraser({ number, accountId: undefined, includesAllowed: true })
    const all = listSegments(folder())
    // A plain segment and compressed ones.
    for (const { path, firstSeq } of [...all.slice(0, 2), ...all.slice(-2)]) {
      eraseFromSegment(path, firstSeq, eraser)
    }
  }
  failAtEachStep(erase, () => {
    const ids = recordsIn(dataDir).flatMap(({ kind, body }) =>
      kind === 'decision' ? [JSON.parse(body)] : [],
    )
    expect(ids.map(({ id }) => id)).toEqual(days.map(idOf))
    expect(ids.filter((document) => document.number === '').length).toBeGreaterThan(2)
    expect(ids.at(-1)).toMatchObject({ number: '', erased: true })
  })
  expect(readFiles().match(new RegExp(number, 'g'))?.length).toBeLessThan(days.length * 3)
})

it('removes the same segments wherever it ended before, and the journal is whole at each start', () => {
  const remove = () => {
    const index = new DecisionIndex(join(dataDir, 'index.sqlite'), folder())
    try {
      const retention = new Retention({ folder: folder(), keepYears: 5 }, index)
      for (let step = 0; step <= days.length; step += 1) retention.removeNext()
    } finally {
      index.close()
      const failAt = fileFault.failAt
      fileFault.failAt = 0
      const known = { tree: readTree(folder()), fromSeq: 1 }
      const { notTakenOver } = recoverJournal(folder(), readOrigin(folder(), 0), known)
      expect(notTakenOver).toBeUndefined()
      fileFault.failAt = failAt
    }
  }
  failAtEachStep(remove, () => {
    const index = new DecisionIndex(join(dataDir, 'index.sqlite'), folder())
    const found = days.filter((at) => index.find(idOf(at)))
    index.close()
    expect(found).toEqual(days.filter((at) => at >= Date.UTC(2021, 10, 1)))
    const [oldest] = listSegments(folder())
    expect(readdirSync(folder()).filter((name) => name.endsWith('.tmp'))).toEqual([])
    expect(JSON.parse(readFileSync(join(folder(), 'begins.json'), 'utf8'))).toEqual({
      firstSeq: oldest?.firstSeq,
      removedBefore: '2021-11-01T00:00:00Z',
      because: 'journal.keepYears: 5',
    })
  })
})
