/** Rows of the audit table become records of the journal, each once. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { AuditEntries } from '../../src/app/journal/audit-entries.js'
import { putInForceAgain } from '../../src/app/journal/put-in-force-again.js'
import { readJournalState } from '../../src/gate/journal/recovery/journal-state.js'
import { listAfter } from '../../src/service/audit/audit-trail.js'
import { runTransaction } from '../../src/service/sql/account-transaction.js'
import { changeAudit, recordAudit } from '../../src/storage/audit/audit-log.js'
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

it('does not acknowledge a change that is not in the journal, which is in force all the same', async () => {
  const { callgate, keys } = running
  const ask = async () =>
    await (
      await running.postJson('/v1/decisions', { number: '2125550100', callKind: 'manual' })
    ).json()
  expect(await ask()).toMatchObject({ decision: 'allow' })
  const fullDisk = {
    durableSeq: 0,
    note: (_kind: string, _row: object, onWritten?: (cause?: unknown) => void) => {
      onWritten?.(new Error('the disk is full'))
      return 1
    },
  }
  const refusing = new AuditEntries(callgate, fullDisk, { seq: 0, mark: '' })
  callgate.storage.onAudited(refusing.confirm)
  const response = await running.postJson('/v1/opt-outs', { number: '2125550100' }, keys.sandbox)
  expect(response.status).toBe(503)
  expect(await response.text()).toContain('its record in the journal is not on disk')
  expect(await ask()).toMatchObject({ decision: 'block', reason: 'internal-dnc' })
})

it('leaves lost changes that it cannot put in force again, such as the opt-out of an account that is lost too', async () => {
  const { callgate } = running
  const optOut = {
    ...{ at: 0, accountId: 'main', who: 'key:k', door: 'api', action: 'opt-out.added' },
    ...{ subject: { kind: 'number', id: '2125550106' }, before: null, after: null, reason: null },
  }
  const lost = [
    optOut,
    { ...optOut, accountId: 'lost-account' },
    { ...optOut, subject: { kind: 'number', id: 'xxxxxxxxxx' } },
    { ...optOut, action: 'number.read' },
    { ...optOut, action: 'pause.ordered', subject: { kind: 'pause', id: 'key:lost' } },
    { ...optOut, action: 'consent.stored' },
  ].map((row, index) => ({ ...row, seq: index + 1, mark: 'm' }))
  const left = await putInForceAgain(callgate, lost)
  expect(left.map(({ seq }) => seq)).toEqual([2, 3, 5, 6])
  const { db } = callgate.storage
  const rows = await db.selectFrom('internal_dnc').select(['account_id', 'number']).execute()
  expect(rows).toEqual([{ account_id: 'main', number: '2125550106' }])
})

it('adds the rows that got the numbers of others, which a failover has lost', async () => {
  const { callgate, keys } = running
  await callgate.journal.drain()
  const adding = new AuditEntries(callgate, callgate.journal, { seq: 0, mark: '' })
  const { db } = callgate.storage
  for (const number of ['2125550106', '2125550107', '2125550108'])
    await running.postJson('/v1/opt-outs', { number }, keys.main)
  await adding.flush()
  const lost = (await listAfter(db, 0, 1_000)).slice(-2)
  const seq = Number(lost[0]?.seq) - 1
  await db.transaction().execute((transaction) =>
    changeAudit(transaction, async () => {
      await transaction.deleteFrom('audit').where('seq', '>', seq).execute()
      await transaction.updateTable('change_head').set({ audit_seq: seq }).execute()
    }),
  )
  await adding.flush()
  await running.postJson('/v1/opt-outs', { number: '2125550109' }, keys.main)
  await adding.flush()
  const rows = await listAfter(db, 0, 1_000)
  const all = [...rows.slice(0, -1), ...lost, rows.at(-1)]
  expect(entries()).toEqual(all)
})

it('takes the longest row that is stored, and a longer one is refused with its change', async () => {
  const { storage } = running.callgate
  const record = (text: string) =>
    runTransaction(storage, async (transaction) => {
      await transaction
        .updateTable('accounts')
        .set({ name: text.slice(0, 9) })
        .execute()
      await recordAudit(transaction, {
        ...{ by: storage.author, accountId: 'main', action: 'test.changed', at: 0 },
        subject: { kind: 'test', id: '' },
        after: { text },
        reason: text.slice(0, 1_000),
      })
    })
  // Each has six characters in JSON.
  const longest = '\u0001'.repeat(48_900)
  await record(longest)
  await addEntries()
  expect(entries().at(-1)).toMatchObject({ action: 'test.changed', after: { text: longest } })
  const readNames = () => storage.db.selectFrom('accounts').select('name').execute()
  const names = await readNames()
  const rule = 'The audit row test.changed has 350'
  await expect(record('x'.repeat(349_000))).rejects.toMatchObject({
    kind: 'too-large',
    message: expect.stringContaining(rule),
  })
  expect(await readNames()).toEqual(names)
  await running.postJson('/v1/opt-outs', { number: '2125550106' }, running.keys.main)
  await addEntries()
  expect(entries()).toEqual(await listAfter(storage.db, 0, 1_000))
})
