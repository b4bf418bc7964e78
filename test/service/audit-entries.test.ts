/** Rows of the audit table become records of the journal, each once. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { AuditEntries } from '../../src/app/journal/audit-entries.js'
import { readJournalState } from '../../src/gate/journal/recovery/journal-state.js'
import { listAfter } from '../../src/service/audit/audit-trail.js'
import { recordsIn } from '../support/journal.js'
import { openTestCallgate, type TestCallgate } from '../support/test-callgate.js'

let running: TestCallgate
beforeEach(async () => {
  running = await openTestCallgate()
})
afterEach(() => running.end())

const entries = () =>
  recordsIn(running.dataDir)
    .filter(({ kind }) => kind === 'audit')
    .map(({ body }) => JSON.parse(body) as { seq: number; action: string })

async function addEntries(): Promise<void> {
  const { journal } = running.callgate
  await journal.drain()
  const { audited = { seq: 0, mark: '' } } = readJournalState(running.dataDir)
  await new AuditEntries(running.callgate, journal, audited).flush()
}

it('has every row of the audit table in the journal, in their order', async () => {
  await running.postJson('/v1/opt-outs', { number: '2125550106' }, running.keys.main)
  await addEntries()
  const rows = await listAfter(running.callgate.storage.db, 0, 1_000)
  expect(rows.map(({ action }) => action)).toContain('opt-out.added')
  expect(entries()).toEqual(rows)
})

it('adds none twice, also after a restart', async () => {
  await addEntries()
  const before = entries().length
  expect(before).toBeGreaterThan(0)
  await addEntries()
  expect(entries()).toHaveLength(before)
  await running.stop()
  running = await openTestCallgate({ dataDir: running.dataDir })
  await running.postJson('/v1/opt-outs', { number: '2125550107' }, running.keys.main)
  await addEntries()
  const seqs = entries().map(({ seq }) => seq)
  expect(seqs).toEqual(seqs.map((_, index) => index + 1))
  expect(seqs.length).toBeGreaterThan(before)
})
