/** The times in records, which the clock of the server gives, against the heads that others have seen and their order. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { bufferSource } from '../../src/evidence/byte-source.js'
import { verifyJournal } from '../../src/evidence/verify/verify-journal.js'
import { parseVerifierKey } from '../../src/transparency/signed-note.js'
import { useTempFolder } from '../data/temp-folder.js'
import { makeDecision, testJournal } from '../support/test-journal.js'
import { cosignHead, witnessKey } from '../support/test-witness.js'
import { stampHead } from '../support/time-stamp-authority.js'

const folder = useTempFolder()
const noon = Date.parse('2026-11-28T12:00:00Z')
const minute = 60_000
let now: number
let journal: string

beforeEach(() => {
  now = noon
  journal = folder.file('journal')
})

type Step = number | 'clock.accepted'

/** A server that records a decision at each of these times, or that its clock was accepted. */
async function serve(...steps: readonly Step[]): Promise<void> {
  const { journal: opened, append } = testJournal(folder.path, () => now)
  await opened.open()
  for (const [index, step] of steps.entries()) {
    if (step === 'clock.accepted')
      opened.note('audit', { seq: 1, mark: 'a', at: now, action: step })
    else {
      now = step
      await append(await makeDecision({ id: `d${now}-${index}`, decidedAt: now }))
    }
  }
  await opened.drain()
  await opened.close()
}

const readCheckpoint = () => readFileSync(join(journal, 'tree/checkpoint'), 'utf8')

const cosignAt = (at: number) => cosignHead(journal, at)

const verify = (...heads: readonly string[]) =>
  verifyJournal({
    folder: journal,
    key: parseVerifierKey(readFileSync(join(journal, 'tree/key'), 'utf8').trim()),
    heads: [{ name: 'kept', source: bufferSource(Buffer.from(heads.join('\n'))) }],
    witnesses: [witnessKey],
    now,
  })

describe('the time of a record', () => {
  it('is between the heads that others have seen before and after it', async () => {
    await serve(noon, noon + minute)
    const first = cosignAt(noon + minute)
    now = noon + 10 * minute
    await serve(now)
    const second = cosignAt(now)
    expect(verify(first, second)).toMatchObject({ result: 'PROVEN', findings: [] })
    // Nor are two minutes too much, for the clocks of both.
    expect(verify(cosignAt(now - 2 * minute))).toMatchObject({ result: 'PROVEN', findings: [] })
  })

  it('is not that of four weeks before a head that does not have it', async () => {
    await serve(noon)
    const before = cosignAt(noon)
    now = Date.parse('2026-10-31T12:00:00Z')
    await serve(now, now + minute)
    now = noon + minute
    await serve(now)
    const { result, findings } = verify(before, cosignAt(now))
    expect(result).toBe('FALSE')
    expect(findings).toMatchObject([
      { level: 'false', seqs: [3, 5] },
      { level: 'unchecked', seqs: [3, 5] },
    ])
    expect(findings[0]?.message).toBe(
      'the times of records cannot be right: they are older than a head of 2026-11-28T12:00:00Z that does not have them',
    )
    // Without a head of before, nothing shows that they were not the first ones.
    expect(verify(readCheckpoint()).result).toBe('NOT PROVEN')
  })

  it('is not after a head that has it', async () => {
    await serve(noon)
    now = noon + 60 * minute
    await serve(now)
    const { result, findings } = verify(cosignAt(noon + minute))
    expect(result).toBe('FALSE')
    expect(findings).toMatchObject([{ level: 'false', seqs: [3, 4] }])
    expect(findings[0]?.message).toContain(
      'newer than a head of 2026-11-28T12:01:00Z that has them',
    )
  })

  it('is not after a time stamp of a head that has it', async () => {
    now = Date.now() + 60 * minute
    await serve(now)
    stampHead(journal, folder.file('authority'))
    expect(verify(readCheckpoint()).findings).toMatchObject([{ level: 'false', seqs: [1, 2] }])
  })
})

describe('times that go back', () => {
  it('by more than two seconds are named, up to where they are caught up with', async () => {
    const back = noon - 60 * minute
    await serve(noon, back, back + minute, noon + minute)
    const { result, findings } = verify(readCheckpoint())
    expect(result).toBe('NOT PROVEN')
    expect(findings).toMatchObject([{ level: 'unchecked', seqs: [3, 4] }])
    expect(findings[0]?.message).toContain(
      'older than record 1 before them, of 2026-11-28T12:00:00Z',
    )
  })

  it('by two seconds are those of a clock that is set', async () => {
    await serve(noon, noon - 2_000, noon - 1_000)
    expect(verify(readCheckpoint())).toMatchObject({ result: 'PROVEN', findings: [] })
  })

  it('are explained by the record that the clock was accepted after it was ahead', async () => {
    await serve(noon + 60 * minute, noon, 'clock.accepted', noon + minute)
    expect(verify(readCheckpoint())).toMatchObject({ result: 'PROVEN', findings: [] })
    await serve(noon - 10 * minute)
    expect(verify(readCheckpoint()).result).toBe('NOT PROVEN')
  })
})
