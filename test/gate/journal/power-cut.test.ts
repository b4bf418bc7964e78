/**
 * What a power cut leaves of the last write, whichever of its sectors it keeps: the start takes over what was flushed before, keeps
 * the rest aside, and goes on.
 */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { DecisionIndex } from '../../../src/gate/journal/decision-index.js'
import { listSegments } from '../../../src/gate/journal/journal-reader.js'
import { checkFolder } from '../../../src/gate/journal/recovery/check-folder.js'
import {
  checksumSeedOf,
  decodeFrame,
  decodeSeal,
  headerBytes,
} from '../../../src/gate/journal/segment-format.js'
import { useTempFolder } from '../../data/temp-folder.js'
import { forgetHeads } from '../../support/journal.js'
import { makeDecision, testJournal } from '../../support/test-journal.js'

const folder = useTempFolder()
const now = Date.parse('2026-11-28T12:00:00Z')
const sectorBytes = 512

/** Records each decision in a group of its own, and forgets that they were signed and indexed. */
async function record(maxSegmentBytes: number): Promise<void> {
  const { journal, append } = testJournal(folder.path, () => now, { maxSegmentBytes })
  await journal.open()
  for (const id of ['d1', 'd2', 'd3']) await append(await makeDecision({ id, decidedAt: now }))
  await journal.drain()
  await journal.close()
  forgetHeads(folder.path)
}

function open() {
  rmSync(folder.file('index.sqlite'), { force: true })
  const index = new DecisionIndex(folder.file('index.sqlite'), folder.file('journal'))
  try {
    const keyPath = folder.file('journal.key')
    return checkFolder({ folder: folder.file('journal'), keyPath, index, now })
  } finally {
    index.close()
  }
}

/** Where the groups of the newest segment begin, with the number of the first record of each, and where the last one ends. */
function readGroups(bytes: Buffer, firstSeq: number) {
  const seed = checksumSeedOf(firstSeq)
  const groups = [{ offset: headerBytes, seq: firstSeq }]
  let seq = firstSeq
  for (let offset = headerBytes; offset < bytes.length; ) {
    const seal = decodeSeal(bytes, offset, seed)
    offset = seal?.end ?? decodeFrame(bytes, offset, seed)?.end ?? expect.fail()
    if (seal) groups.push({ offset, seq })
    else seq += 1
  }
  return groups
}

it.each([
  ['of a segment with others', 1_000_000],
  ['of a segment that it begins', 1],
])('the last group %s', async (_, maxSegmentBytes) => {
  await record(maxSegmentBytes)
  const [{ path, firstSeq } = expect.fail()] = listSegments(folder.file('journal')).slice(-1)
  const written = readFileSync(path)
  const groups = readGroups(written, firstSeq)
  expect(groups.length === 2).toBe(maxSegmentBytes === 1)
  const last = groups.at(-2) ?? expect.fail()
  const flushed = groups.length === 2 ? 0 : last.offset
  cpSync(folder.file('journal'), folder.file('before'), { recursive: true })
  const firstSector = Math.floor(flushed / sectorBytes)
  const sectors = Math.ceil(written.length / sectorBytes) - firstSector
  expect(sectors).toBeGreaterThan(1)
  const all = 2 ** sectors - 1
  for (let kept = 0; kept <= all; kept += 1) {
    for (const isCut of [false, true]) {
      rmSync(folder.file('journal'), { recursive: true })
      cpSync(folder.file('before'), folder.file('journal'), { recursive: true })
      const bytes = Buffer.from(written)
      let end = flushed
      for (let sector = 0; sector < sectors; sector += 1) {
        const from = Math.max(flushed, (firstSector + sector) * sectorBytes)
        const to = Math.min(bytes.length, (firstSector + sector + 1) * sectorBytes)
        if (((kept >> sector) & 1) === 0) bytes.fill(0, from, to)
        else end = to
      }
      writeFileSync(path, isCut ? bytes.subarray(0, end) : bytes)
      const { nextSeq, notTakenOver } = open()
      const isWhole = kept === all
      expect(nextSeq, `sectors ${kept.toString(2)}`).toBe(isWhole ? groups.at(-1)?.seq : last.seq)
      const isEmpty = isWhole || (isCut && end === flushed)
      expect(notTakenOver === undefined, `sectors ${kept.toString(2)}`).toBe(isEmpty)
    }
  }
})
