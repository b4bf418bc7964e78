/**
 * Runs one-time scans in the background. Each run processes one batch of numbers per account with due
 * jobs, so that a long list does not delay another account's short one. Progress is stored after each
 * batch; an interrupted job continues after its last result.
 */

import { setMaxListeners } from 'node:events'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { ComplaintSource, LabelSource } from '../../domain/spam-labels.js'
import type { Clock, Instant, Timers } from '../../domain/time/clock.js'
import { msPerDay, msPerHour } from '../../domain/time/dates.js'
import { withTimeout } from '../../runtime/runtime.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import { type FindToday, HourlyCleanup } from '../background/hourly-cleanup.js'
import type { WebhookQueue } from '../webhooks/webhook-queue.js'
import { completeJob, deleteOldJobs, type ScanCompletion } from './scan-completion.js'
import { computePause, type FoundResults, ScanPasses, type ScanRetryPolicy } from './scan-passes.js'
import { hasAllAnswers, listScanSources, toScanResult } from './scan-result.js'
import {
  findAccountsWithOpenJobs,
  findDueJobs,
  findOpenNumbers,
  type NumberResult,
  type OpenJob,
  type OpenNumber,
  postponeJob,
  readResults,
  startJob,
  storeResults,
} from './scan-rows.js'

/** For logs and metrics. */
interface ScanObserver {
  /** A pass left numbers without a result; `cause` is the error, if there was one. */
  onWait(scan: ScanSummary, pauseMs: number, cause: unknown): void
  onEnd(scan: ScanSummary, status: 'Complete' | 'Failed'): void
}

export interface ScanSummary {
  readonly jobId: string
  readonly accountId: string
  readonly phoneCount: number
}

export interface ScanWorkerOptions extends Partial<ScanRetryPolicy> {
  readonly storage: Pick<OpenDatabase, 'db' | 'traits' | 'retryWhileLocked'>
  readonly clock: Clock
  readonly findToday: FindToday
  readonly timers: Timers
  readonly labelSourceFor: (accountId: string) => LabelSource
  readonly complaintSourceFor: (accountId: string) => ComplaintSource
  readonly webhooks: Pick<WebhookQueue, 'add' | 'wake'>
  readonly observer?: ScanObserver
  /** Maximum numbers per question to the sources. */
  readonly batchSize?: number
  /** Maximum time for a source to answer. */
  readonly sourceTimeoutMs?: number
  /** Maximum time that other accounts wait for a slow one. */
  readonly turnMs?: number
  /** Called when a batch has ended and its account may start another. */
  readonly onBatchEnded?: () => void
}

const defaultOptions = {
  firstPauseMs: 30_000,
  maxPauseMs: msPerHour,
  giveUpAfterMs: msPerDay,
  batchSize: 200,
  sourceTimeoutMs: 120_000,
  turnMs: 1_000,
}

/** How long the results of an ended job are kept. */
export const keepResultsDays = 90

const maxFailureLength = 500

/** Jobs of one account that take turns; further ones wait until one of these ends or pauses. */
const maxJobsInRotation = 8

export class ScanWorker {
  readonly #options: ScanWorkerOptions & typeof defaultOptions
  readonly #passes = new ScanPasses()
  readonly #cleanup: HourlyCleanup
  readonly #stopping = new AbortController()
  readonly #serving = new Map<string, Promise<void>>()
  readonly #failures: unknown[] = []

  constructor(options: ScanWorkerOptions) {
    this.#options = { ...defaultOptions, ...options }
    this.#cleanup = new HourlyCleanup(options.findToday, (now) =>
      deleteOldJobs(options.storage, now - keepResultsDays * msPerDay),
    )
    // Every batch in progress adds a listener.
    setMaxListeners(0, this.#stopping.signal)
  }

  /** Does a part of the work. Resolves to the milliseconds until there is more; infinity for none. */
  async run(): Promise<number> {
    const { storage, clock } = this.#options
    const accounts = await findAccountsWithOpenJobs(storage.db)
    const now = clock.now()
    const free = accounts.filter(({ accountId }) => !this.#serving.has(accountId))
    const due = free.filter(({ dueAt }) => dueAt <= now)
    await this.#waitForTurn(due.map(({ accountId }) => this.#startBatch(accountId, now)))
    this.#throwFailure()
    const moreIsOld = !this.#isStopped && (await this.#cleanup.run(now))
    if (this.#isStopped) return Number.POSITIVE_INFINITY
    if (due.some(({ accountId }) => !this.#serving.has(accountId)) || moreIsOld) return 0
    return Math.min(...free.map(({ dueAt }) => dueAt - now).filter((ms) => ms > 0))
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted
  }

  /** Resolves when no batch is in progress. */
  async waitUntilIdle(): Promise<void> {
    await Promise.all(this.#serving.values())
  }

  /** An account has at most one batch in progress. */
  #startBatch(accountId: string, at: Instant): Promise<void> {
    const end = this.#serve(accountId, at)
      .catch((cause: unknown) => this.#failures.push(cause))
      .then(() => {
        this.#serving.delete(accountId)
        this.#options.onBatchEnded?.()
      })
    this.#serving.set(accountId, end)
    return end
  }

  /** A batch that takes longer continues during the next turns, so that a slow source delays no other. */
  async #waitForTurn(begun: readonly Promise<void>[]): Promise<void> {
    const { timers, turnMs } = this.#options
    if (begun.length === 0) return
    await withTimeout(Promise.all(begun), turnMs, () => undefined, { timers })
  }

  #throwFailure(): void {
    const [first] = this.#failures.splice(0)
    if (first !== undefined) throw first
  }

  /** Ends the run in progress without waiting for the sources; later runs do nothing. */
  stop(): void {
    this.#stopping.abort()
  }

  async #serve(accountId: string, at: Instant): Promise<void> {
    if (this.#isStopped) return
    const { storage } = this.#options
    const jobs = await findDueJobs(storage.db, accountId, { at, limit: maxJobsInRotation })
    const job = this.#passes.next(jobs)
    if (job) await this.#work(job)
  }

  async #work(job: OpenJob): Promise<void> {
    const { storage, batchSize } = this.#options
    const pass = this.#passes.passFor(job.id)
    if (job.status === 'Submitted') await startJob(storage, job)
    pass.found ??= await this.#askSources(job, pass.after)
    if (pass.found === undefined) return
    const { numbers, results: found } = pass.found
    const processed =
      found.length === 0 ? job.processedCount : await storeResults(storage, job, found)
    pass.found = undefined
    pass.progressed ||= found.length > 0
    pass.after = numbers.at(-1)?.position ?? pass.after
    if (processed === job.phoneCount) {
      const results = await readResults(storage.db, job.id)
      await this.#end(job, { status: 'Complete', results })
      this.#passes.end(job.id)
    } else if (numbers.length < batchSize) await this.#endPass(job, undefined)
  }

  /** `undefined` if a source failed, which ends the pass. */
  async #askSources(job: OpenJob, after: number): Promise<FoundResults | undefined> {
    const { storage, batchSize } = this.#options
    const numbers = await findOpenNumbers(storage.db, job.id, { after, limit: batchSize })
    try {
      return { numbers, results: await this.#findResults(job, numbers) }
    } catch (cause) {
      if (cause !== this.#stopping.signal.reason) await this.#endPass(job, cause)
      return undefined
    }
  }

  /** The results of the numbers for which every source has answered. */
  async #findResults(
    job: OpenJob,
    numbers: readonly OpenNumber[],
  ): Promise<readonly NumberResult[]> {
    const { labelSourceFor, complaintSourceFor } = this.#options
    const sources = listScanSources(job.country, job.scanType)
    const asked = distinctNumbers(numbers)
    if (asked.length === 0) return []
    const labels = await this.#limit(labelSourceFor(job.accountId).labels(asked, sources))
    const answered = numbers.flatMap(({ position, number }) => {
      const found = labels.get(number)
      return found && hasAllAnswers(found, sources) ? [{ position, number, labels: found }] : []
    })
    const withComplaints = job.scanType === 'carrierandapps' ? distinctNumbers(answered) : []
    const complaints =
      withComplaints.length === 0
        ? undefined
        : await this.#limit(complaintSourceFor(job.accountId).complaints(withComplaints))
    return answered.flatMap(({ position, number, labels }) => {
      const observation = { number, labels, complaints: complaints?.get(number) ?? [] }
      const result = toScanResult(observation, sources)
      return result ? [{ position, result }] : []
    })
  }

  /** Rejects when the answer takes too long, and with the signal's reason when the worker stops. */
  #limit<Answer>(answer: Promise<Answer>): Promise<Answer> {
    const { timers, sourceTimeoutMs } = this.#options
    const fail = (): never => {
      throw new Error(`no answer within ${sourceTimeoutMs} ms`)
    }
    return withTimeout(answer, sourceTimeoutMs, fail, { timers, signal: this.#stopping.signal })
  }

  /** Returns false if the job had already ended or its open numbers do not allow this completion. */
  async #end(job: OpenJob, completion: ScanCompletion): Promise<boolean> {
    const { clock, observer } = this.#options
    const ended = await completeJob(this.#options, job, { at: clock.now(), completion })
    if (ended) observer?.onEnd(toScanSummary(job), completion.status)
    return ended
  }

  /** Ends the pass: numbers without results are retried later, or the job fails. */
  async #endPass(job: OpenJob, cause: unknown): Promise<void> {
    const { storage, clock, observer, maxPauseMs } = this.#options
    const { progressed } = this.#passes.passFor(job.id)
    const idlePasses = progressed ? 0 : job.idlePasses + 1
    this.#passes.end(job.id)
    const pauseMs = computePause(idlePasses, this.#options)
    const failure =
      cause === undefined
        ? 'not every source has answered for every number'
        : String(cause).slice(0, maxFailureLength)
    // All numbers may have their results, with only the end of the job left to write.
    if (pauseMs === undefined && (await this.#end(job, { status: 'Failed', failure }))) return
    const waitMs = pauseMs ?? maxPauseMs
    await postponeJob(storage, job, { dueAt: clock.now() + waitMs, idlePasses })
    observer?.onWait(toScanSummary(job), waitMs, cause)
  }
}

function distinctNumbers(
  rows: readonly { readonly number: PhoneNumber }[],
): readonly PhoneNumber[] {
  return [...new Set(rows.map(({ number }) => number))]
}

function toScanSummary({ id, accountId, phoneCount }: OpenJob): ScanSummary {
  return { jobId: id, accountId, phoneCount }
}
