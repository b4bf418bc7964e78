/** One-time reputation scans for their customers: submitting one, and how it stands (spec, OneTimeScan). */
import type { Caller } from '../../domain/caller.js'
import type { Clock } from '../../domain/clock.js'
import { uuidOf } from '../../domain/ids.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import { AppError, invalidRequest } from '../../errors.js'
import type { OpenDatabase } from '../../storage/engine.js'
import type { ScanJobRow } from '../../storage/tables.js'
import { writeForAccount } from '../sql/account-write.js'
import type { Probe, WebhookQueue } from '../webhooks/webhook-queue.js'
import { insertScan, scanCredits } from './scan-intake.js'
import type { ScanResult, ScanType } from './scan-result.js'
import { readResults } from './scan-rows.js'
import { keepResultsDays } from './scan-worker.js'

export interface ScanRequest {
  /** Duplicates are kept, and each counts. */
  readonly numbers: readonly PhoneNumber[]
  readonly notificationUrl: string
  /** A secret of the customer's: in no answer, log or error. */
  readonly notificationKey: string | undefined
  readonly scanType: ScanType
  /** Only sends a test payload to the address. */
  readonly testOnly: boolean
}

export interface SubmittedScan {
  readonly jobId: string
  readonly status: 'Submitted'
  readonly phoneCount: number
}

export interface ScanState {
  readonly jobId: string
  readonly status: ScanJobRow['status']
  readonly phoneCount: number
  readonly processedCount: number
  /** In the order of the request; of complete jobs alone. */
  readonly results?: readonly ScanResult[]
}

export interface ScansOptions {
  readonly storage: OpenDatabase
  readonly clock: Clock
  readonly randomBytes: (size: number) => Uint8Array
  readonly webhooks: Pick<WebhookQueue, 'probe' | 'refuseBadUrl'>
  /** There is a new job to work on. */
  readonly wake: () => void
}

const testJobId = '00000000-0000-0000-0000-000000000000'

export class Scans {
  readonly #options: ScansOptions

  constructor(options: ScansOptions) {
    this.#options = options
  }

  /**
   * Acknowledges a job when it is on disk, with its credits taken. A test of the address costs and
   * keeps nothing; it is refused when the address did not take the payload.
   */
  async submit({ accountId }: Caller, request: ScanRequest): Promise<SubmittedScan> {
    const { storage, webhooks, clock, randomBytes, wake } = this.#options
    const { numbers, notificationUrl, notificationKey, scanType } = request
    webhooks.refuseBadUrl('NotificationURL', notificationUrl)
    if (request.testOnly) return await this.#test(accountId, request)
    const scan = {
      ...{ id: uuidOf(randomBytes(16)), accountId, numbers },
      ...{ scanType, notificationUrl, notificationKey, createdAt: clock.now() },
    }
    await writeForAccount(storage, accountId, (transaction) =>
      insertScan(transaction, scan, storage.traits),
    )
    wake()
    return { jobId: scan.id, status: 'Submitted', phoneCount: numbers.length }
  }

  /** Refuses an id that is no job's, and one of another account's job. */
  async status({ accountId }: Caller, { jobId }: { readonly jobId: string }): Promise<ScanState> {
    const { db } = this.#options.storage
    // The one query without the account: that a job is another's is an answer of its own.
    const job = await db
      .selectFrom('scan_jobs')
      .select(['account_id', 'status', 'phone_count', 'processed_count'])
      .where('id', '=', jobId)
      .executeTakeFirst()
    if (!job) throw unknownJob(jobId)
    if (job.account_id !== accountId) {
      throw new AppError('forbidden', 'the job belongs to another account')
    }
    const { status, phone_count: phoneCount, processed_count: processedCount } = job
    const state = { jobId, status, phoneCount, processedCount }
    if (status !== 'Complete') return state
    const results = await readResults(db, jobId)
    // It was forgotten while it was read.
    if (results.length !== phoneCount) throw unknownJob(jobId)
    return { ...state, results }
  }

  async #test(accountId: string, request: ScanRequest): Promise<SubmittedScan> {
    const { storage, webhooks } = this.#options
    await scanCredits(storage.db, accountId)
    const probe = await webhooks.probe({
      ...{ accountId, kind: 'scan', subject: testJobId, event: 'scan.test' },
      ...{ url: request.notificationUrl, apiKey: request.notificationKey },
      body: { JobId: testJobId, Status: 'Complete', Results: [] },
    })
    if (probe.problem !== undefined) throw undelivered(request.notificationUrl, probe)
    return { jobId: testJobId, status: 'Submitted', phoneCount: 0 }
  }
}

function unknownJob(value: string): AppError {
  const rule = `is no scan job; ended ones are kept for ${keepResultsDays} days`
  return invalidRequest([{ field: 'jobId', value, rule }])
}

function undelivered(value: string, { httpStatus }: Probe): AppError {
  // More would make the test a way to look around in our own network.
  const what =
    httpStatus === undefined ? 'no HTTP answer came' : `it answered with status ${httpStatus}`
  const rule = `the test notification was not delivered: ${what}`
  return invalidRequest([{ field: 'NotificationURL', value, rule }])
}
