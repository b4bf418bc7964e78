/**
 * What is done with each row about a number when it is erased, and why some are kept. A table that is not
 * here has no number of a called person; `test/service/erasure.test.ts` compares this with the schema.
 */
import { sql } from 'kysely'
import type { ConsentTerms } from '../../domain/compliance.js'
import type { Instant } from '../../domain/time/clock.js'
import { addMonths, msPerDay, parseDay, toUtcDay } from '../../domain/time/dates.js'
import { changeAudit, hashNumber } from '../../storage/audit/audit-log.js'
import type { Db } from '../../storage/tables.js'
import { erasePlatformEvents } from '../platform-events/erase-platform-events.js'
import type { ErasedRows, RowErasure } from './row-erasure.js'

type EraseKind = (db: Db, erasure: RowErasure) => Promise<readonly ErasedRows[]>

/** Must run in a transaction. Leaves out what there was none of. */
export async function eraseRows(db: Db, erasure: RowErasure): Promise<readonly ErasedRows[]> {
  const done: ErasedRows[] = []
  for (const erase of kinds) done.push(...(await erase(db, erasure)))
  return done.filter(({ count }) => count > 0)
}

const keepOptOuts: EraseKind = async (db, { number, accountId }) => {
  const rows = await db
    .selectFrom('internal_dnc')
    .select('list')
    .where('number', '=', number)
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .execute()
  const why =
    'as long as the list exists: without it the person would be called again (47 CFR 64.1200(d)(6) asks ' +
    'for 5 years, Virginia 59.1-514 for 10)'
  return [{ what: 'opt-outs (internal do-not-call list)', count: rows.length, result: 'kept', why }]
}

const eraseStatements: EraseKind = async (db, { number, accountId }) => {
  const { numUpdatedRows } = await db
    .updateTable('opt_out_statements')
    .set({ said: null, goods: null })
    .where('number', '=', number)
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .executeTakeFirstOrThrow()
  const why =
    'without the words and what the call was about; the rest shows how the opt-out was made, and is kept as long as it'
  const what = 'statements of opt-outs'
  return [{ what, count: Number(numUpdatedRows), result: 'reduced', why }]
}

/** Ended, so that no call rests on them anymore. */
const eraseEbrRecords: EraseKind = async (db, erasure) => {
  const { number, accountId, at, keepYears } = erasure
  const rows = await db
    .selectFrom('ebr_records')
    .select(['id', 'superseded_at', 'erase_at'])
    .where('number', '=', number)
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .execute()
  let deleted = 0
  for (const { id, superseded_at } of rows) {
    const endedAt = superseded_at ?? at
    const eraseAt = addKeptYears(endedAt, keepYears)
    if (eraseAt <= at) {
      await db.deleteFrom('ebr_records').where('id', '=', id).execute()
      deleted += 1
    } else {
      await db
        .updateTable('ebr_records')
        .set({ superseded_at: endedAt, email: null, erase_at: eraseAt })
        .where('id', '=', id)
        .execute()
    }
  }
  const what = 'relationship and permission records'
  const why =
    `ended, and without the email address; deleted ${keepYears} years after each one ended: they show that ` +
    'earlier calls were permitted (16 CFR 310.5(a)(8): 5 years)'
  return [
    { what, count: deleted, result: 'deleted' },
    { what, count: rows.length - deleted, result: 'reduced', why },
  ]
}

/**
 * They show that earlier calls were permitted. The last call that can have rested on one was placed before its records were
 * replaced or it ended; where that is not known, before the erasure.
 */
const eraseConsents: EraseKind = async (db, erasure) => {
  const { number, accountId, at, keepYears } = erasure
  const lastCalls = await findLastCalls(db, erasure)
  const rows = await db
    .selectFrom('consents')
    .select(['id', 'ends_on', 'recorded_at', 'erase_at'])
    .where('number', '=', number)
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .execute()
  let deleted = 0
  for (const row of rows) {
    const { id, ends_on, recorded_at } = row
    const replacedAt = lastCalls.get(id) ?? at
    const endsOn = parseDay(ends_on ?? '') ?? Number.POSITIVE_INFINITY
    // Its day begins last in Hawaii.
    const endedAt = Math.max(Math.min(replacedAt, (endsOn + 1) * msPerDay), recorded_at)
    const eraseAt = row.erase_at ?? addKeptYears(endedAt, keepYears)
    if (eraseAt <= at) {
      await db.deleteFrom('consents').where('id', '=', id).execute()
      deleted += 1
    } else {
      await db
        .updateTable('consents')
        .set({ person: null, erase_at: eraseAt })
        .where('id', '=', id)
        .execute()
    }
  }
  const what = 'consents'
  const why = `without the name for the person; deleted ${keepYears} years after the last call that can have rested on each (16 CFR 310.5(a)(8): 5 years)`
  return [
    { what, count: deleted, result: 'deleted' },
    { what, count: rows.length - deleted, result: 'reduced', why },
  ]
}

/** When the last record that points to a consent ended, by id of the consent. */
async function findLastCalls(
  db: Db,
  { number, accountId, at }: RowErasure,
): Promise<ReadonlyMap<string, Instant>> {
  const records = await db
    .selectFrom('ebr_records')
    .select(['consent', 'superseded_at'])
    .where('number', '=', number)
    .where('consent', 'is not', null)
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .execute()
  const lastCalls = new Map<string, Instant>()
  for (const { consent, superseded_at } of records) {
    const { id = '' }: Partial<ConsentTerms> = JSON.parse(consent ?? '{}')
    lastCalls.set(id, Math.max(lastCalls.get(id) ?? 0, superseded_at ?? at))
  }
  return lastCalls
}

function addKeptYears(at: Instant, years: number): Instant {
  return addMonths(toUtcDay(at), 12 * years) * msPerDay + msPerDay
}

const deleteReputation: EraseKind = async (db, { number, accountId }) => {
  const done: ErasedRows[] = []
  for (const [table, what] of [
    ['monitored_numbers', 'monitored numbers'],
    ['label_observations', 'observations of spam labels'],
    ['flag_removals', 'removed spam labels'],
  ] as const) {
    const { numDeletedRows } = await db
      .deleteFrom(table)
      .where('number', '=', number)
      .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
      .executeTakeFirstOrThrow()
    done.push({ what, count: Number(numDeletedRows), result: 'deleted' })
  }
  return done
}

/** One that could still be used is not: its decision is evidence enough of those that were. */
const deletePermits: EraseKind = async (db, { number, accountId }) => {
  const { numDeletedRows } = await db
    .deleteFrom('permits')
    .where(({ eb, or }) =>
      or([
        ...[eb('number', '=', number), eb('caller_id', '=', number)],
        ...[eb('subject', 'like', `%${number}%`), eb('person', 'like', `%${number}%`)],
      ]),
    )
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .executeTakeFirstOrThrow()
  return [{ what: 'permits', count: Number(numDeletedRows), result: 'deleted' }]
}

const deleteScans: EraseKind = async (db, { number, accountId }) => {
  const jobs = db
    .selectFrom('scan_jobs')
    .select('id')
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
  const ended = await db
    .deleteFrom('scan_numbers')
    .where('number', '=', number)
    .where('job_id', 'in', jobs.where('finished_at', 'is not', null))
    .executeTakeFirstOrThrow()
  const open = await db
    .selectFrom('scan_numbers')
    .select('position')
    .where('number', '=', number)
    .where('job_id', 'in', jobs.where('finished_at', 'is', null))
    .execute()
  return [
    { what: 'numbers of ended scans', count: Number(ended.numDeletedRows), result: 'deleted' },
    {
      what: 'numbers of scans in progress',
      count: open.length,
      result: 'kept',
      why: 'until the scan has ended: erase the number again then',
    },
  ]
}

const eraseWebhooks: EraseKind = async (db, { number, accountId }) => {
  const { numUpdatedRows } = await db
    .updateTable('webhook_events')
    .set({ body: sql`replace(body, ${number}, ${'x'.repeat(number.length)})` })
    .where('body', 'like', `%${number}%`)
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .executeTakeFirstOrThrow()
  return [
    {
      what: 'webhook events',
      count: Number(numUpdatedRows),
      result: 'reduced',
      why: 'without the number; deleted as usual',
    },
  ]
}

/** They still count for a key, which is given no more calls than before. */
const eraseAttempts: EraseKind = async (db, { number, accountId }) => {
  // No key is counted for those of other systems, whose references may have the number.
  const { numDeletedRows } = await db
    .deleteFrom('attempts')
    .where('number', '=', number)
    .where('decision_id', 'like', '%/%')
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .executeTakeFirstOrThrow()
  const { numUpdatedRows } = await db
    .updateTable('attempts')
    .set({
      number: '',
      person: null,
      // Of a call about a debt it is the id of the debt.
      subject: sql`case when purpose = 'debt-collection' then null else subject end`,
    })
    .where('number', '=', number)
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .executeTakeFirstOrThrow()
  await db
    .updateTable('attempts')
    .set({ person: null })
    .where('person', 'like', `%${number}%`)
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .execute()
  // A request with such a key is decided anew when it is sent again.
  await db.deleteFrom('repeated_requests').where('key', 'like', `%${number}%`).execute()
  const why = 'without the number; deleted when no limit counts them any more'
  return [
    { what: 'attempts of other systems', count: Number(numDeletedRows), result: 'deleted' },
    { what: 'attempts', count: Number(numUpdatedRows), result: 'reduced', why },
  ]
}

const deleteApprovals: EraseKind = async (db, { number, accountId }) => {
  const { numDeletedRows } = await db
    .deleteFrom('approvals')
    .where((row) =>
      row.or([row('subject', 'like', `%${number}%`), row('note', 'like', `%${number}%`)]),
    )
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .executeTakeFirstOrThrow()
  return [{ what: 'approvals of calls', count: Number(numDeletedRows), result: 'deleted' }]
}

/** One that waits must be asked for again. */
const deleteChangeRequests: EraseKind = async (db, { number, accountId }) => {
  const { numDeletedRows } = await db
    .deleteFrom('change_requests')
    .where((row) =>
      row.or(
        (['what', 'request', 'reason', 'note', 'problem'] as const).map((column) =>
          row(column, 'like', `%${number}%`),
        ),
      ),
    )
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .executeTakeFirstOrThrow()
  const what = 'changes that two people make'
  return [{ what, count: Number(numDeletedRows), result: 'deleted' }]
}

/** Servers that have not read such a change yet drop all that they have cached. It is deleted after seven days anyway. */
const eraseChanges: EraseKind = async (db, { number }) => {
  await db
    .updateTable('changes')
    .set({ numbers: null })
    .where('numbers', 'like', `%${number}%`)
    .execute()
  return []
}

/** Who did what and when stays. Last, since others wait for what it locks. */
const eraseAudit: EraseKind = async (db, { number, accountId }) => {
  const hashed = await hashNumber(db, number)
  const rows = await db
    .selectFrom('audit')
    .select(['seq', 'subject', 'before', 'after', 'reason'])
    .where(({ or, eb }) =>
      or([
        eb('subject', 'in', [number, hashed]),
        eb('before', 'like', `%${number}%`),
        eb('after', 'like', `%${number}%`),
        eb('reason', 'like', `%${number}%`),
      ]),
    )
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .execute()
  const withoutNumber = (text: string | null) =>
    text?.replaceAll(number, 'x'.repeat(number.length)) ?? null
  await changeAudit(db, async () => {
    for (const { seq, subject, before, after, reason } of rows) {
      const reduced = {
        subject: subject === hashed ? 'erased' : (withoutNumber(subject) ?? ''),
        before: withoutNumber(before),
        after: withoutNumber(after),
        reason: withoutNumber(reason),
      }
      await db.updateTable('audit').set(reduced).where('seq', '=', seq).execute()
    }
  })
  const why = 'without the number: who did what and when stays as long as retention.auditDays says'
  return [{ what: 'audit rows', count: rows.length, result: 'reduced', why }]
}

/** An account's own numbers are not those of a person who is called. */
const reportLegalEntities: EraseKind = async (db, { number, accountId }) => {
  const rows = await db
    .selectFrom('legal_entities')
    .select(['primary_phone_number', 'more'])
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .execute()
  const digits = (text: string) => text.replace(/\D/g, '')
  const found = rows.filter(({ primary_phone_number, more }) =>
    digits(primary_phone_number + more).includes(number),
  )
  const why = 'they name the account’s own companies: change or delete them over the API'
  return [{ what: 'legal entities', count: found.length, result: 'kept', why }]
}

const kinds: readonly EraseKind[] = [
  keepOptOuts,
  eraseStatements,
  // Before their records, which say until when calls can have rested on them.
  eraseConsents,
  eraseEbrRecords,
  deleteReputation,
  deletePermits,
  deleteScans,
  eraseAttempts,
  deleteApprovals,
  deleteChangeRequests,
  erasePlatformEvents,
  eraseWebhooks,
  eraseChanges,
  reportLegalEntities,
  eraseAudit,
]
