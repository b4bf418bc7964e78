/** How a scan job ends: once, together with the notification of it. And how it is forgotten. */
import type { Instant } from '../../domain/clock.js'
import type { Db } from '../../storage/tables.js'
import { writeForAccount } from '../sql/account-write.js'
import type { NewWebhookEvent, WebhookQueue } from '../webhooks/webhook-queue.js'
import type { ScanResult } from './scan-result.js'
import type { OpenJob, Storage } from './scan-rows.js'

export type ScanEnding =
  | { readonly status: 'Complete'; readonly results: readonly ScanResult[] }
  /** Why is for operators; the customer learns only that it failed. */
  | { readonly status: 'Failed'; readonly failure: string }

export interface EndTools {
  readonly storage: Storage
  readonly webhooks: Pick<WebhookQueue, 'add' | 'wake'>
}

/**
 * Ends the job, writes its notification, forgets the customer's key and gives back what a failed
 * job cost, all in one transaction. Gives false, and does nothing, when the job has ended already or
 * how many of its numbers are processed does not fit that ending.
 */
export async function endJob(
  { storage, webhooks }: EndTools,
  job: OpenJob,
  { at, ending }: { readonly at: Instant; readonly ending: ScanEnding },
): Promise<boolean> {
  const ended = await writeForAccount(storage, job.accountId, async (transaction) => {
    if (!(await closeJob(transaction, job, { at, ending }))) return false
    if (ending.status === 'Failed') await giveCreditsBack(transaction, job)
    await webhooks.add(transaction, notificationOf(job, ending))
    return true
  })
  if (ended) webhooks.wake()
  return ended
}

async function closeJob(
  transaction: Db,
  { id, accountId }: OpenJob,
  { at, ending }: { readonly at: Instant; readonly ending: ScanEnding },
): Promise<boolean> {
  const failure = ending.status === 'Failed' ? ending.failure : null
  const closed = await transaction
    .updateTable('scan_jobs')
    .set({ status: ending.status, finished_at: at, notification_key: null, failure })
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .where('finished_at', 'is', null)
    .whereRef('processed_count', ending.status === 'Complete' ? '=' : '<', 'phone_count')
    .executeTakeFirst()
  return closed.numUpdatedRows > 0n
}

/** An account that has no limit by now keeps none: null and more is null. */
async function giveCreditsBack(transaction: Db, job: OpenJob): Promise<void> {
  if (job.creditsTaken === 0) return
  await transaction
    .updateTable('accounts')
    .set((row) => ({ scan_credits: row('scan_credits', '+', job.creditsTaken) }))
    .where('id', '=', job.accountId)
    .execute()
}

/** Spec, "One-time scan completion webhook"; a failed job has no `Results`. */
function notificationOf(job: OpenJob, ending: ScanEnding): NewWebhookEvent {
  const { status } = ending
  return {
    ...{ accountId: job.accountId, kind: 'scan', subject: job.id },
    event: status === 'Complete' ? 'scan.complete' : 'scan.failed',
    ...{ url: job.url, apiKey: job.apiKey },
    body: {
      ...{ JobId: job.id, Status: status },
      ...(status === 'Complete' && { Results: ending.results }),
    },
  }
}

const mostForgottenAtOnce = 10

/** Deletes some of the jobs that ended before an instant. Gives whether there may be more. */
export async function forgetJobs(storage: Storage, endedBefore: Instant): Promise<boolean> {
  const old = await storage.db
    .selectFrom('scan_jobs')
    .select(['id', 'account_id'])
    .where('finished_at', '<', endedBefore)
    .orderBy('finished_at')
    .limit(mostForgottenAtOnce)
    .execute()
  for (const { id, account_id } of old) {
    await writeForAccount(storage, account_id, async (transaction) => {
      await transaction.deleteFrom('scan_numbers').where('job_id', '=', id).execute()
      await transaction
        .deleteFrom('scan_jobs')
        .where('id', '=', id)
        .where('account_id', '=', account_id)
        .execute()
    })
  }
  return old.length === mostForgottenAtOnce
}
