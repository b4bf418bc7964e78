/** Ends scan jobs exactly once, in one transaction with the notification, and deletes old jobs. */
import type { ScanResult } from '../../domain/reputation.js'
import type { Instant } from '../../domain/time/clock.js'
import type { Db } from '../../storage/tables.js'
import { runAccountTransaction } from '../sql/account-transaction.js'
import type { NewWebhookEvent, WebhookQueue } from '../webhooks/webhook-queue.js'
import type { OpenJob, ScanStorage } from './scan-rows.js'

export type ScanCompletion =
  | { readonly status: 'Complete'; readonly results: readonly ScanResult[] }
  /** The failure is for operators; the customer only learns that the job failed. */
  | { readonly status: 'Failed'; readonly failure: string }

export interface CompletionDeps {
  readonly storage: ScanStorage
  readonly webhooks: Pick<WebhookQueue, 'add' | 'wake'>
}

/**
 * Ends the job, stores its notification, deletes the customer's key and refunds a failed job, all in
 * one transaction. Returns false and does nothing if the job has already ended, or if `Complete` is
 * requested with numbers still open or `Failed` with none open.
 */
export async function completeJob(
  { storage, webhooks }: CompletionDeps,
  job: OpenJob,
  { at, completion }: { readonly at: Instant; readonly completion: ScanCompletion },
): Promise<boolean> {
  const ended = await runAccountTransaction(storage, job.accountId, async (transaction) => {
    if (!(await closeJob(transaction, job, { at, completion }))) return false
    if (completion.status === 'Failed') await refundCredits(transaction, job)
    await webhooks.add(transaction, toWebhookEvent(job, completion))
    return true
  })
  if (ended) webhooks.wake()
  return ended
}

async function closeJob(
  transaction: Db,
  { id, accountId }: OpenJob,
  { at, completion }: { readonly at: Instant; readonly completion: ScanCompletion },
): Promise<boolean> {
  const failure = completion.status === 'Failed' ? completion.failure : null
  const closed = await transaction
    .updateTable('scan_jobs')
    .set({ status: completion.status, finished_at: at, notification_key: null, failure })
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .where('finished_at', 'is', null)
    .whereRef('processed_count', completion.status === 'Complete' ? '=' : '<', 'phone_count')
    .executeTakeFirst()
  return closed.numUpdatedRows > 0n
}

/** An account without a limit stays without one, since null plus a number is null. */
async function refundCredits(transaction: Db, job: OpenJob): Promise<void> {
  if (job.creditsTaken === 0) return
  await transaction
    .updateTable('accounts')
    .set((row) => ({ scan_credits: row('scan_credits', '+', job.creditsTaken) }))
    .where('id', '=', job.accountId)
    .execute()
}

/** Spec, "One-time scan completion webhook"; a failed job has no `Results`. */
function toWebhookEvent(job: OpenJob, completion: ScanCompletion): NewWebhookEvent {
  const { status } = completion
  return {
    accountId: job.accountId,
    kind: 'scan',
    subject: job.id,
    event: status === 'Complete' ? 'scan.complete' : 'scan.failed',
    url: job.url,
    apiKey: job.apiKey,
    body: {
      JobId: job.id,
      Status: status,
      ...(status === 'Complete' && { Results: completion.results }),
    },
  }
}

const maxDeletedAtOnce = 10

/** Deletes some of the jobs that ended before an instant. Returns whether there may be more. */
export async function deleteOldJobs(storage: ScanStorage, endedBefore: Instant): Promise<boolean> {
  const old = await storage.db
    .selectFrom('scan_jobs')
    .select(['id', 'account_id'])
    .where('finished_at', '<', endedBefore)
    .orderBy('finished_at')
    .limit(maxDeletedAtOnce)
    .execute()
  for (const { id, account_id } of old) {
    await runAccountTransaction(storage, account_id, async (transaction) => {
      await transaction.deleteFrom('scan_numbers').where('job_id', '=', id).execute()
      await transaction
        .deleteFrom('scan_jobs')
        .where('id', '=', id)
        .where('account_id', '=', account_id)
        .execute()
    })
  }
  return old.length === maxDeletedAtOnce
}
