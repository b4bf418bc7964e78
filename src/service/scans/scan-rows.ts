/** Reads and updates the rows of scan jobs. */
import { type PhoneNumber, toPhoneNumber } from '../../domain/phone-number.js'
import type { Country } from '../../domain/place.js'
import type { ScanResult, ScanType } from '../../domain/reputation.js'
import type { Instant } from '../../domain/time/clock.js'
import { yieldToEventLoop } from '../../runtime/yield-to-event-loop.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { Db, ScanJobRow } from '../../storage/tables.js'
import { runAccountTransaction } from '../sql/account-transaction.js'

export type ScanStorage = Pick<OpenDatabase, 'db' | 'traits' | 'retryWhileLocked'>

export interface JobKey {
  readonly id: string
  readonly accountId: string
}

/** A job that has not finished. */
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

/** The accounts with open jobs, and when the first job of each is due. */
export async function findAccountsWithOpenJobs(
  db: Db,
): Promise<readonly { readonly accountId: string; readonly dueAt: Instant }[]> {
  return await db
    .selectFrom('scan_jobs')
    .select((row) => ['account_id as accountId', row.fn.min('due_at').as('dueAt')])
    .where('finished_at', 'is', null)
    .groupBy('account_id')
    .execute()
}

/** The jobs of an account that are due at an instant, those waiting longest first. */
export async function findDueJobs(
  db: Db,
  accountId: string,
  { at, limit }: { readonly at: Instant; readonly limit: number },
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
    .limit(limit)
    .execute()
  return rows.map((row) => ({
    id: row.id,
    accountId,
    status: row.status,
    scanType: row.scan_type,
    country: row.country,
    url: row.notification_url,
    apiKey: row.notification_key ?? undefined,
    phoneCount: row.phone_count,
    processedCount: row.processed_count,
    creditsTaken: row.credits_taken,
    idlePasses: row.idle_passes,
  }))
}

export interface OpenNumber {
  readonly position: number
  readonly number: PhoneNumber
}

/** Numbers of a job without a result, in order, after a position. */
export async function findOpenNumbers(
  db: Db,
  jobId: string,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<readonly OpenNumber[]> {
  const rows = await db
    .selectFrom('scan_numbers')
    .select(['position', 'number'])
    .where('job_id', '=', jobId)
    .where('position', '>', after)
    .where('result', 'is', null)
    .orderBy('position')
    .limit(limit)
    .execute()
  return rows.map(({ position, number }) => ({ position, number: toPhoneNumber(number) }))
}

export async function startJob(storage: ScanStorage, { id, accountId }: JobKey): Promise<void> {
  await runAccountTransaction(storage, accountId, (transaction) =>
    transaction
      .updateTable('scan_jobs')
      .set({ status: 'Processing' })
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .where('status', '=', 'Submitted')
      .execute(),
  )
}

/** Sets when the job is worked on next, and its count of consecutive passes without any result. */
export async function postponeJob(
  storage: ScanStorage,
  { id, accountId }: JobKey,
  { dueAt, idlePasses }: { readonly dueAt: Instant; readonly idlePasses: number },
): Promise<void> {
  await runAccountTransaction(storage, accountId, (transaction) =>
    transaction
      .updateTable('scan_jobs')
      .set({ due_at: dueAt, idle_passes: idlePasses })
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .where('finished_at', 'is', null)
      .execute(),
  )
}

export interface NumberResult {
  readonly position: number
  readonly result: ScanResult
}

/** Does not count a number that already has a result. Returns how many numbers are done. */
export async function storeResults(
  storage: ScanStorage,
  { id, accountId }: JobKey,
  found: readonly NumberResult[],
): Promise<number> {
  return await runAccountTransaction(storage, accountId, async (transaction) => {
    const { query, queryId, sql } = resultStatement(transaction)
    let stored = 0
    for (const { position, result } of found) {
      const parameters = [JSON.stringify(result), id, position]
      const { numAffectedRows } = await transaction.executeQuery({
        query,
        queryId,
        sql,
        parameters,
      })
      stored += Number(numAffectedRows ?? 0)
    }
    const { processed_count } = await transaction
      .updateTable('scan_jobs')
      .set((row) => ({ processed_count: row('processed_count', '+', stored) }))
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .returning('processed_count')
      .executeTakeFirstOrThrow()
    return processed_count
  })
}

/** Parameters: result, job and position. Compiled once, since compiling takes longer than running it. */
function resultStatement(db: Db) {
  return db
    .updateTable('scan_numbers')
    .set({ result: '' })
    .where('job_id', '=', '')
    .where('position', '=', 0)
    .where('result', 'is', null)
    .compile()
}

const rowsPerPage = 500

/** The results of a job in the order of its request, without those still missing. */
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
