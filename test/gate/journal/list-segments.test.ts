/** The index lists the segments for each of its updates, and a journal may have thousands. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest'
import { listSegments, segmentPath } from '../../../src/gate/journal/journal-reader.js'

let namesRead = 0

// Test files share what they import, so these modules may have the real one already.
vi.hoisted(() => void vi.resetModules())
afterAll(() => void vi.resetModules())

vi.mock('node:fs', async (load) => {
  const real = await load<typeof import('node:fs')>()
  return {
    ...real,
    readdirSync: (path: string) => {
      namesRead += 1
      return real.readdirSync(path)
    },
  }
})

let folder: string

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
  folder = mkdtempSync(join(tmpdir(), 'callgate-list-'))
})

afterEach(() => {
  vi.useRealTimers()
  rmSync(folder, { recursive: true, force: true })
})

const firstSeqs = () => listSegments(folder).map(({ firstSeq }) => firstSeq)
const addSegment = (firstSeq: number) => writeFileSync(segmentPath(folder, firstSeq), '')

it('reads the names again only after the folder has changed', () => {
  addSegment(1)
  expect(firstSeqs()).toEqual([1])
  vi.advanceTimersByTime(1_001)
  expect(firstSeqs()).toEqual([1])
  namesRead = 0
  for (let time = 0; time < 1_000; time += 1) listSegments(folder)
  expect(namesRead).toBe(0)

  addSegment(700)
  expect(firstSeqs()).toEqual([1, 700])
  vi.advanceTimersByTime(1_001)
  expect(firstSeqs()).toEqual([1, 700])
  renameSync(segmentPath(folder, 1), `${segmentPath(folder, 1)}.gz`)
  expect(listSegments(folder)[0]?.path).toBe(`${segmentPath(folder, 1)}.gz`)
  rmSync(`${segmentPath(folder, 1)}.gz`)
  expect(firstSeqs()).toEqual([700])
})

it('reads the names again after ten seconds, if the file system does not say that the folder has changed', () => {
  listSegments(folder)
  vi.advanceTimersByTime(1_001)
  listSegments(folder)
  namesRead = 0
  vi.advanceTimersByTime(9_000)
  listSegments(folder)
  expect(namesRead).toBe(0)
  vi.advanceTimersByTime(1_001)
  listSegments(folder)
  expect(namesRead).toBe(1)
})

it('finds a segment that was begun within the same tick of the clock of the file system', () => {
  // Faster than the clock of most file systems.
  for (let firstSeq = 1; firstSeq <= 200; firstSeq += 1) {
    addSegment(firstSeq)
    expect(firstSeqs()).toHaveLength(firstSeq)
  }
})

it('reads the names of another folder in the place of one it has listed', () => {
  addSegment(1)
  listSegments(folder)
  vi.advanceTimersByTime(1_001)
  listSegments(folder)
  const before = `${folder}-before`
  renameSync(folder, before)
  try {
    mkdirSync(folder)
    addSegment(2)
    expect(firstSeqs()).toEqual([2])
  } finally {
    rmSync(before, { recursive: true, force: true })
  }
})
