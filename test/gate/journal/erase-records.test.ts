/** A number is taken out of the records of a journal, which is otherwise the same afterwards. */
import {
  appendFileSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { CallRequest, Decision, Finding } from '../../../src/domain/decision.js'
import { listSegments } from '../../../src/gate/journal/journal-reader.js'
import {
  NumberEraser,
  type NumberErasure,
} from '../../../src/gate/journal/removal/erase-records.js'
import { eraseFromSegment } from '../../../src/gate/journal/removal/erase-segment.js'
import { readRecord } from '../../../src/gate/record/read-record.js'
import { fakeCompliance, noon } from '../../support/fake-compliance.js'
import { listFiles, recordsIn } from '../../support/journal.js'
import { quoted } from '../../support/said.js'
import { aCall, nothingOwn, testGate } from '../../support/test-gate.js'
import { makeDecision, testJournal } from '../../support/test-journal.js'

const number = '2125550106'
const endSeq = Number.MAX_SAFE_INTEGER

let dataDir: string
const folder = () => join(dataDir, 'journal')

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-erase-'))
})

afterEach(() => {
  rmSync(dataDir, { recursive: true, force: true })
})

const requested = (more: Partial<NumberErasure> = {}) => ({
  id: 'e1',
  number,
  accountId: undefined,
  includesAllowed: false,
  ...more,
})

const entry = { addedAt: noon, removedAt: null, optedOutAt: noon, optedOutSeq: 0 }
/** By an entry of our own list. */
const blocked = async (id: string, call: Partial<CallRequest> = {}): Promise<Decision> => {
  const { gate } = testGate(fakeCompliance(), { own: { ...nothingOwn, entry: { value: entry } } })
  return { ...(await gate.decide(aCall({ dialed: number, ...call }))), id }
}
const allowed = (id: string, call: Partial<CallRequest> = {}) =>
  makeDecision({ id }, { dialed: number, ...call })

/** Everything in the files of the journal, decompressed. */
function readFiles(): string {
  const texts = listFiles(folder()).map((name) => {
    const bytes = readFileSync(join(folder(), name))
    return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('latin1')
  })
  return texts.join('\n')
}

it('keeps each record in its place, and what does not concern the number', async () => {
  const { journal, events, append } = testJournal(dataDir, () => noon)
  await journal.open()
  await append(await blocked('d1', { reference: 'lead of Jane Doe', postalCode: '10001' }))
  await append(await blocked('d2', { dialed: '2125550199' }))
  await append(await allowed('d3'))
  await append(await blocked('d4', { dialed: '+1 (212) 555-0106' }))
  await append(await blocked('d5', { dialed: '2125550199', callerId: '1-212-555-0106' }))
  const before = recordsIn(dataDir)
  journal.erase(requested())
  await journal.drain()
  const commitment = expect.stringMatching(/^[\w+/]{43}=$/)
  const changed = [2, 5, 6].map((seq) => [seq, commitment])
  expect(events).toEqual([
    { kind: 'announced', work: 'erase', notices: [{ erasure: 'e1', changed }] },
    { kind: 'erased', id: 'e1', erased: 3, kept: 1 },
  ])
  const noted = recordsIn(dataDir).filter(({ kind }) => kind === 'notice')
  expect(noted.map(({ body }) => JSON.parse(body))).toEqual([
    { erasure: 'e1', changed },
    { erasure: 'e1', finished: true },
  ])

  const d1 = journal.find('main', 'd1')
  expect(d1).toMatchObject({ decision: 'block', reason: 'internal-dnc', number: '', dialed: '' })
  expect([d1?.erased, d1?.reference, d1?.postalCode]).toEqual([true, undefined, undefined])
  const factsOf = (id: string) => journal.find('main', id)?.facts
  expect(factsOf('d1')).toBeUndefined()
  expect(factsOf('d2')?.own).toMatchObject({ entry: { value: entry } })
  expect(journal.find('main', 'd2')).toEqual(
    readRecord('decision', { body: before[2]?.body ?? '' }),
  )
  expect(journal.find('main', 'd3')?.number).toBe(number)
  expect(journal.find('main', 'd4')).toMatchObject({ number: '', dialed: '', erased: true })
  expect(journal.find('main', 'd5')).toMatchObject({
    number: '2125550199',
    callerId: 'x-xxx-xxx-xxxx',
  })
  const after = recordsIn(dataDir)
  expect(after.map(({ seq, kind, at }) => [seq, kind, at]).slice(0, before.length)).toEqual(
    before.map(({ seq, kind, at }) => [seq, kind, at]),
  )
  expect(after.map(({ body }) => body.length).slice(0, before.length)).toEqual(
    before.map(({ body }) => body.length),
  )
  expect([after[0], after[2], after[3]]).toEqual([before[0], before[2], before[3]])
  expect(readFiles().match(/2125550106/g)).toHaveLength(3)
  expect(readFiles()).not.toContain('Jane')
  await journal.close()
})

it('leaves nothing by which a kept opt-out or consent of the person is found', async () => {
  const { journal, append } = testJournal(dataDir, () => noon)
  await journal.open()
  const optOut = new Date(noon - 90_061_001).toISOString()
  const decision = await blocked('d1')
  const facts = JSON.stringify({ entry: { addedAt: optOut }, record: { id: 'c12' } })
  const reassigned = { ...decision.findings[0], facts } as Finding
  const findings = decision.findings.map((finding) => ({
    ...{ ...finding, facts, reassigned },
    ...{ notRenewed: quoted('of Jane Doe'), says: [...finding.says, ...quoted('of Jane Doe')] },
  }))
  await append({ ...decision, findings, says: quoted('of Jane Doe') })
  await append(await blocked('d2', { dialed: '2125550199' }))
  journal.erase(requested())
  await journal.drain()
  expect(readFiles()).not.toMatch(new RegExp(`${optOut}|"c12"`))
  expect(readFiles()).not.toContain('Jane')
  const left = journal.find('main', 'd1')
  const said = [{ code: 'source-failed' }]
  expect(left?.findings.map(({ says }) => says)).toEqual(
    decision.findings.map(({ says }) => [...says, ...said]),
  )
  expect(left?.findings.map(({ notRenewed }) => notRenewed)).toEqual(findings.map(() => said))
  expect(left?.says).toEqual(said)
  await journal.close()
})

it('takes out the subject, which may be the id of a debt', async () => {
  const { journal, append } = testJournal(dataDir, () => noon)
  await journal.open()
  const purpose = { purpose: 'debt-collection', setBy: 'request' } as const
  const decision = await blocked('d1')
  await append({ ...decision, request: { ...decision.request, subject: 'debt-77' }, purpose })
  await append(await blocked('d2', { subject: 'solar' }))
  journal.erase(requested())
  await journal.drain()
  const subjects = ['d1', 'd2'].map((id) => journal.find('main', id)?.subject)
  expect(subjects).toEqual([undefined, undefined])
  expect(readFiles()).not.toContain('debt-77')
  await journal.close()
})

it('goes on after a restart, and through compressed segments', async () => {
  const { journal, append } = testJournal(dataDir, () => noon, { maxSegmentBytes: 3_000 })
  await journal.open()
  for (let index = 0; index < 40; index += 1) await append(await blocked(`d${index}`))
  for (let index = 0; index < 30; index += 1) await journal.drain()
  // Ends before it has done any segment.
  journal.erase(requested())
  await journal.close()
  expect(listSegments(folder()).filter(({ path }) => path.endsWith('.gz')).length).toBeGreaterThan(
    5,
  )
  expect(readFiles()).toContain(number)

  const { journal: again, events } = testJournal(dataDir, () => noon, { maxSegmentBytes: 3_000 })
  await again.open()
  again.erase(requested())
  await again.drain()
  expect(events.filter(({ kind }) => kind === 'failed')).toEqual([])
  expect(events.filter(({ kind }) => kind === 'erased')).toHaveLength(1)
  expect(readFiles()).not.toContain(number)
  for (let index = 0; index < 40; index += 1) {
    expect(again.find('main', `d${index}`)).toMatchObject({ reason: 'internal-dnc', number: '' })
  }
  await again.close()
  rmSync(join(dataDir, 'index.sqlite'))
  const { journal: last } = testJournal(dataDir, () => noon)
  await last.open()
  await last.drain()
  expect(last.find('main', 'd7')).toMatchObject({ erased: true })
  await last.close()
})

it('erases allowed calls only when told so, what-ifs always, and only the account', async () => {
  const { journal, events, append } = testJournal(dataDir, () => noon)
  await journal.open()
  await append(await allowed('d1'))
  await append(await allowed('d2', { at: noon }))
  await append(await blocked('d3', { accountId: 'other' }))
  journal.erase(requested({ accountId: 'main' }))
  await journal.drain()
  expect(events.at(-1)).toMatchObject({ kind: 'erased', id: 'e1', erased: 1, kept: 1 })
  expect(journal.find('main', 'd2')?.number).toBe('')
  expect(journal.find('other', 'd3')?.number).toBe(number)
  await journal.close()

  const eraser = new NumberEraser({ number, accountId: undefined, includesAllowed: true })
  for (const segment of listSegments(folder())) eraseFromSegment({ ...segment, endSeq }, eraser)
  expect(eraser.counts).toEqual({ erased: 2, kept: 0 })
  expect(readFiles()).not.toContain(number)
})

it('is as before or without the number wherever it ends, also beside a copy that a crash left', async () => {
  const { journal, append } = testJournal(dataDir, () => noon)
  await journal.open()
  await append(await blocked('d1'))
  await journal.close()
  const [segment] = listSegments(folder())
  const path = segment?.path ?? ''
  const eraser = () => new NumberEraser({ number, accountId: undefined, includesAllowed: false })
  const records = recordsIn(dataDir)

  // What an unfinished write left has the number as well, and stays an unfinished write.
  const whole = readFileSync(path)
  appendFileSync(path, whole.subarray(64 + 8, whole.length - 8))
  copyFileSync(path, `${path}.erased`)
  cpSync(path, `${path}.gz`)
  expect(recordsIn(dataDir)).toEqual(records)
  eraseFromSegment({ path, firstSeq: 1, endSeq }, eraser())
  const names = listFiles(folder()).filter((name) => !name.startsWith('tree/'))
  expect(names.toSorted()).toEqual(['00000000000000000001.seg', 'origin'])
  expect(readFiles()).not.toContain(number)
  expect(recordsIn(dataDir).map(({ seq }) => seq)).toEqual(records.map(({ seq }) => seq))
  const { journal: again } = testJournal(dataDir, () => noon)
  await again.open()
  expect(again.find('main', 'd1')).toMatchObject({ number: '', erased: true })
  await again.close()
})

it('does not hold up the index when a segment cannot be replaced, and goes on after the next start', async () => {
  const { journal, events, append } = testJournal(dataDir, () => noon)
  await journal.open()
  await append(await blocked('d1'))
  await journal.drain()
  const [segment] = listSegments(folder())
  // The copy cannot be written where a folder is.
  mkdirSync(`${segment?.path}.erased`)
  journal.erase(requested())
  await append(await blocked('d2'))
  await journal.drain()
  const reason = expect.stringMatching(/\.erased/)
  expect(events).toEqual([{ kind: 'failed', work: 'erase', reason, isForgery: false }])
  expect(journal.findProblem()).toBeUndefined()
  expect(journal.find('main', 'd1')?.number).toBe(number)
  expect(journal.find('main', 'd2')?.number).toBe(number)
  await journal.close()

  rmSync(`${segment?.path}.erased`, { recursive: true })
  const { journal: again, events: done } = testJournal(dataDir, () => noon)
  await again.open()
  again.erase(requested())
  await again.drain()
  expect(done.at(-1)).toEqual({ kind: 'erased', id: 'e1', erased: 2, kept: 0 })
  expect(readFiles()).not.toContain(number)
  await again.close()
})
