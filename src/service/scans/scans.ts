/** Submits one-time reputation scans and reads their status (spec, OneTimeScan). */
import type { Caller } from '../../domain/caller.js'
import type { ScanProgress, ScanReceipt, ScanRequest } from '../../domain/reputation.js'
import type { Clock, Instant } from '../../domain/time/clock.js'
import { AppError, invalidRequest } from '../../errors.js'
import { createUuid } from '../../runtime/uuid.js'
import { findAuthor, recordAudit } from '../../storage/audit/audit-log.js'
import type { EngineTraits, OpenDatabase } from '../../storage/open-database.js'
import type { Db, ScanNumberRow } from '../../storage/tables.js'
import { runAccountTransaction } from '../sql/account-transaction.js'
import { insertInChunks } from '../sql/insert-in-chunks.js'
import type { ProbeResult, WebhookQueue } from '../webhooks/webhook-queue.js'
import { readResults } from './scan-rows.js'
import { keepResultsDays } from './scan-worker.js'

export interface ScansOptions {
  readonly storage: OpenDatabase
  readonly clock: Clock
  readonly randomBytes: (size: number) => Uint8Array
  readonly webhooks: Pick<WebhookQueue, 'probe' | 'refuseBadUrl'>
  /** Called when there is a new job. */
  readonly wake: () => void
}

const testJobId = '00000000-0000-0000-0000-000000000000'

export class Scans {
  readonly #options: ScansOptions

  constructor(options: ScansOptions) {
    this.#options = options
  }

  /**
   * Resolves when the job is on disk and its credits are deducted. A test of the notification URL costs
   * nothing and stores nothing; it throws `invalid-request` if the payload could not be delivered.
   */
  async submit(caller: Caller, request: ScanRequest): Promise<ScanReceipt> {
    const { accountId } = caller
    const { storage, webhooks, clock, randomBytes, wake } = this.#options
    webhooks.refuseBadUrl('NotificationURL', request.notificationUrl)
    if (request.testOnly) return await this.#test(accountId, request)
    const id = createUuid(randomBytes(16))
    const scan = { ...request, id, accountId, createdAt: clock.now() }
    await runAccountTransaction(storage, accountId, async (transaction) => {
      const creditsTaken = await insertScan(transaction, scan, storage.traits)
      await recordAudit(transaction, {
        by: findAuthor(storage, caller),
        accountId,
        action: 'scan.submitted',
        subject: { kind: 'scan', id },
        after: { numbers: scan.numbers.length, scanType: scan.scanType, creditsTaken },
        at: scan.createdAt,
      })
    })
    wake()
    return { jobId: id, status: 'Submitted', phoneCount: request.numbers.length }
  }

  /** See {@link readScanProgress}. */
  status(caller: Caller, request: { readonly jobId: string }): Promise<ScanProgress> {
    return readScanProgress(this.#options.storage.db, caller, request)
  }

  async #test(accountId: string, request: ScanRequest): Promise<ScanReceipt> {
    const { storage, webhooks } = this.#options
    await readScanCredits(storage.db, accountId)
    const probe = await webhooks.probe({
      accountId,
      kind: 'scan',
      subject: testJobId,
      event: 'scan.test',
      url: request.notificationUrl,
      apiKey: request.notificationKey,
      body: { JobId: testJobId, Status: 'Complete', Results: [] },
    })
    if (probe.problem !== undefined) throw probeFailed(request.notificationUrl, probe)
    return { jobId: testJobId, status: 'Submitted', phoneCount: 0 }
  }
}

/** Throws `invalid-request` for an unknown job, `forbidden` for a job of another account. */
export async function readScanProgress(
  db: Db,
  { accountId }: Caller,
  { jobId }: { readonly jobId: string },
): Promise<ScanProgress> {
  // Not limited to the account, since another account's job gives a different error.
  const job = await db
    .selectFrom('scan_jobs')
    .select(['account_id', 'status', 'phone_count', 'processed_count'])
    .where('id', '=', jobId)
    .executeTakeFirst()
  if (!job) throw jobNotFound(jobId)
  if (job.account_id !== accountId) {
    throw new AppError('forbidden', 'the job belongs to another account')
  }
  const { status, phone_count: phoneCount, processed_count: processedCount } = job
  const state = { jobId, status, phoneCount, processedCount }
  if (status !== 'Complete') return state
  const results = await readResults(db, jobId)
  // The job was deleted while it was being read.
  if (results.length !== phoneCount) throw jobNotFound(jobId)
  return { ...state, results }
}

function jobNotFound(value: string): AppError {
  const rule = `scan job not found; finished jobs are kept for ${keepResultsDays} days`
  return invalidRequest([{ field: 'jobId', value, rule }])
}

function probeFailed(value: string, { httpStatus }: ProbeResult): AppError {
  // More detail would let the test explore our own network.
  const what =
    httpStatus === undefined ? 'there was no HTTP answer' : `it answered with status ${httpStatus}`
  const rule = `the test notification was not delivered: ${what}`
  return invalidRequest([{ field: 'NotificationURL', value, rule }])
}

interface NewScan extends Omit<ScanRequest, 'testOnly'> {
  readonly id: string
  readonly accountId: string
  readonly createdAt: Instant
}

/** The account's credits, `null` for no limit. Throws `forbidden` if it may not scan (spec, OneTimeScan). */
async function readScanCredits(db: Db, accountId: string): Promise<number | null> {
  const account = await db
    .selectFrom('accounts')
    .select(['may_scan', 'scan_credits'])
    .where('id', '=', accountId)
    .executeTakeFirst()
  if (account?.may_scan === 1) return account.scan_credits
  throw new AppError('forbidden', 'the account is not authorized for one-time scans')
}

/** Deducts the credits, which it returns, and stores the job; both are committed by `transaction`. */
async function insertScan(
  transaction: Db,
  scan: NewScan,
  traits: Pick<EngineTraits, 'name' | 'maxParameters'>,
): Promise<number> {
  const { id, accountId, numbers, createdAt } = scan
  const creditsTaken = await takeCredits(transaction, accountId, numbers.length)
  await transaction
    .insertInto('scan_jobs')
    .values({
      id,
      account_id: accountId,
      status: 'Submitted',
      scan_type: scan.scanType,
      notification_url: scan.notificationUrl,
      notification_key: scan.notificationKey ?? null,
      phone_count: numbers.length,
      processed_count: 0,
      credits_taken: creditsTaken,
      idle_passes: 0,
      due_at: createdAt,
      created_at: createdAt,
    })
    .execute()
  const toRow = (number: string, position: number) => ({ job_id: id, position, number })
  await insertNumbers(transaction, numbers, { traits, toRow })
  return creditsTaken
}

const insertNumbers = insertInChunks(
  (db, rows: readonly Pick<ScanNumberRow, 'job_id' | 'position' | 'number'>[]) =>
    db.insertInto('scan_numbers').values(rows),
)

async function takeCredits(transaction: Db, accountId: string, wanted: number): Promise<number> {
  const credits = await readScanCredits(transaction, accountId)
  if (credits === null) return 0
  if (credits < wanted) {
    const had = `the scan needs ${wanted}, the account has ${Math.max(0, credits)}`
    throw new AppError('forbidden', `insufficient credits: ${had}`)
  }
  await transaction
    .updateTable('accounts')
    .set({ scan_credits: credits - wanted })
    .where('id', '=', accountId)
    .execute()
  return wanted
}
