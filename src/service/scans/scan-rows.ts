/** Reads and moves on the rows of scan jobs. */
import type { Instant } from '../../domain/clock.js'
import { type PhoneNumber, phoneNumber } from '../../domain/phone-number.js'
import { yieldToEventLoop } from '../../domain/slices.js'
import type { OpenDatabase } from '../../storage/engine.js'
import type { Db, ScanJobRow } from '../../storage/tables.js'
import type { Country } from '../reputation/scores.js'
import { writeForAccount } from '../sql/account-write.js'
import type { ScanResult, ScanType } from './scan-result.js'

export type Storage = Pick<OpenDatabase, 'db' | 'patiently'>

/** Whose job. */
export interface JobKey {
  readonly id: string
  readonly accountId: string
}

/** A job that has not ended. */
export interface OpenJob extends JobKey {
  readonly status: ScanJobRow['status']
  readonly scanType: ScanType
  readonly country: Country
  readonly url: string
  readonly apiKey: string | undefined
  readonly phoneCount: number
  readonly processedCount: number
  readonly creditsTaken: number
  readonly idlePasses: number
}

/** The accounts that have open jobs, and when the first of each one's is due. */
export async function accountsWithOpenJobs(
  db: Db,
): Promise<readonly { readonly accountId: string; readonly dueAt: Instant }[]> {
  return await db
    .selectFrom('scan_jobs')
    .select((row) => ['account_id as accountId', row.fn.min('due_at').as('dueAt')])
    .where('finished_at', 'is', null)
    .groupBy('account_id')
    .execute()
}

/** The jobs of an account that are due at an instant, those that wait longest first. */
export async function dueJobs(
  db: Db,
  accountId: string,
  { at, most }: { readonly at: Instant; readonly most: number },
): Promise<readonly OpenJob[]> {
  const rows = await db
    .selectFrom('scan_jobs')
    .innerJoin('accounts', 'accounts.id', 'scan_jobs.account_id')
    .selectAll('scan_jobs')
    .select('accounts.country')
    .where('scan_jobs.account_id', '=', accountId)
    .where('scan_jobs.finished_at', 'is', null)
    .where('scan_jobs.due_at', '<=', at)
    .orderBy('scan_jobs.due_at')
    .orderBy('scan_jobs.created_at')
    .orderBy('scan_jobs.id')
    .limit(most)
    .execute()
  return rows.map((row) => ({
    ...{ id: row.id, accountId, status: row.status, scanType: row.scan_type },
    ...{ country: row.country, url: row.notification_url },
    apiKey: row.notification_key ?? undefined,
    ...{ phoneCount: row.phone_count, processedCount: row.processed_count },
    ...{ creditsTaken: row.credits_taken, idlePasses: row.idle_passes },
  }))
}

export interface OpenNumber {
  readonly position: number
  readonly number: PhoneNumber
}

/** Numbers of a job without a result, behind a position and in their order. */
export async function openNumbers(
  db: Db,
  jobId: string,
  { after, most }: { readonly after: number; readonly most: number },
): Promise<readonly OpenNumber[]> {
  const rows = await db
    .selectFrom('scan_numbers')
    .select(['position', 'number'])
    .where('job_id', '=', jobId)
    .where('position', '>', after)
    .where('result', 'is', null)
    .orderBy('position')
    .limit(most)
    .execute()
  return rows.map(({ position, number }) => ({ position, number: phoneNumber(number) }))
}

export async function startJob(storage: Storage, { id, accountId }: JobKey): Promise<void> {
  await writeForAccount(storage, accountId, (transaction) =>
    transaction
      .updateTable('scan_jobs')
      .set({ status: 'Processing' })
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .where('status', '=', 'Submitted')
      .execute(),
  )
}

/** When the job is worked on next, and how many passes in a row gave nothing. */
export async function postponeJob(
  storage: Storage,
  { id, accountId }: JobKey,
  { dueAt, idlePasses }: { readonly dueAt: Instant; readonly idlePasses: number },
): Promise<void> {
  await writeForAccount(storage, accountId, (transaction) =>
    transaction
      .updateTable('scan_jobs')
      .set({ due_at: dueAt, idle_passes: idlePasses })
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .where('finished_at', 'is', null)
      .execute(),
  )
}

export interface FoundResult {
  readonly position: number
  readonly result: ScanResult
}

/** Keeps what was found; a number that has a result is not counted again. Gives the job's count. */
export async function keepResults(
  storage: Storage,
  { id, accountId }: JobKey,
  found: readonly FoundResult[],
): Promise<number> {
  return await writeForAccount(storage, accountId, async (transaction) => {
    const { query, queryId, sql } = setResult(transaction)
    let kept = 0
    for (const { position, result } of found) {
      const parameters = [JSON.stringify(result), id, position]
      const { numAffectedRows } = await transaction.executeQuery({
        ...{ query, queryId, sql, parameters },
      })
      kept += Number(numAffectedRows ?? 0)
    }
    const { processed_count } = await transaction
      .updateTable('scan_jobs')
      .set((row) => ({ processed_count: row('processed_count', '+', kept) }))
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .returning('processed_count')
      .executeTakeFirstOrThrow()
    return processed_count
  })
}

/** Its parameters are the result, the job and the position. Building the SQL costs more than running it. */
function setResult(db: Db) {
  return db
    .updateTable('scan_numbers')
    .set({ result: '' })
    .where('job_id', '=', '')
    .where('position', '=', 0)
    .where('result', 'is', null)
    .compile()
}

const rowsPerPage = 500

/** The results of a job in the order of its request; those not there yet are left out. */
export async function readResults(db: Db, jobId: string): Promise<readonly ScanResult[]> {
  const results: ScanResult[] = []
  for (let after = -1; ; ) {
    const page = await db
      .selectFrom('scan_numbers')
      .select(['position', 'result'])
      .where('job_id', '=', jobId)
      .where('position', '>', after)
      .orderBy('position')
      .limit(rowsPerPage)
      .execute()
    for (const { result } of page) {
      if (result !== null) results.push(JSON.parse(result) as ScanResult)
    }
    if (page.length < rowsPerPage) return results
    after = page.at(-1)?.position ?? after
    await yieldToEventLoop()
  }
}
