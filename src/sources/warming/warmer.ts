/**
 * Fills the cache with answers about listed numbers before they are dialed. Jobs ask in the background
 * immediately, and again before the answers expire. Finished jobs can be read for a while.
 */

import type { Question } from '../../domain/compliance.js'
import type { Clock, Timers } from '../../domain/time/clock.js'
import { msPerHour } from '../../domain/time/dates.js'
import { AppError, invalidRequest } from '../../errors.js'
import { TtlCache } from '../../runtime/ttl-cache.js'
import type { CacheSettings } from '../cache/cache-entry.js'
import type { WarmupResult } from '../cache/cached-compliance.js'
import type { WarmupNumber } from './read-warmup-numbers.js'
import { WarmupJob, type WarmupProgress } from './warmup-job.js'
import { WarmupQueue } from './warmup-queue.js'

export interface WarmupRequest {
  readonly accountId: string
  /** Used by the job, so it must not be changed afterwards. */
  readonly numbers: readonly WarmupNumber[]
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
  /** Counted from the start of the job; 0 means that each number is looked up only once. */
  readonly keepForMs: number
}

export interface WarmerOptions {
  /** See {@link CachedCompliance.warmUp}. */
  readonly warmUp: (question: Question, freshForMs: number) => Promise<WarmupResult>
  readonly cache: Pick<CacheSettings, 'allowMs' | 'blockMs'>
  /** Maximum numbers of all jobs together; at most the capacity of the cache. */
  readonly maxNumbers: number
  /** Maximum numbers in flight of all jobs together; at most the queue length of a source. */
  readonly maxInFlight: number
  readonly clock: Clock
  readonly timers: Timers
  readonly newId: (at: number) => string
}

/** Maximum per account; a large file is sent as several jobs. */
const maxRunningJobs = 16

/** Each answer is checked four times in its lifetime, and renewed before the last quarter has passed. */
const passesPerLifetime = 4
const minPassIntervalMs = 5_000
const maxPassIntervalMs = 900_000

/** Finished jobs are kept for an hour, at most the last hundred of each account. */
const maxFinishedJobs = 100
const maxAccounts = 10_000

/** A job can be found and stopped only by its own account. */
export interface WarmupService {
  /** Throws {@link AppError} for too many jobs or numbers, and when the cache keeps nothing. */
  start(request: WarmupRequest): WarmupProgress
  /** Finds running jobs, and those that finished within an hour. */
  find(accountId: string, id: string): WarmupProgress | undefined
  /** Stops asking; questions in flight are still answered. */
  stop(accountId: string, id: string): WarmupProgress | undefined
  /** Stops all jobs and leaves no timer. */
  close(): void
}

/** Warms one cache, whose capacity is shared by its accounts. */
export class Warmer implements WarmupService {
  readonly #options: WarmerOptions
  readonly #queue: WarmupQueue
  readonly #running = new Map<string, WarmupJob>()
  /** Account to id to job. Each job renews its account's entry, so the entry outlives all of its jobs. */
  readonly #finished: TtlCache<TtlCache<WarmupProgress>>

  constructor(options: WarmerOptions) {
    this.#options = options
    this.#queue = new WarmupQueue(options)
    this.#finished = new TtlCache({
      timers: options.timers,
      ttlMs: msPerHour,
      maxEntries: maxAccounts,
    })
  }

  start(request: WarmupRequest): WarmupProgress {
    this.#requireCapacity(request)
    const { clock, timers, newId, cache } = this.#options
    const lifeMs = Math.min(cache.allowMs, cache.blockMs)
    const job = new WarmupJob({
      id: newId(clock.now()),
      accountId: request.accountId,
      scope: { projectId: request.projectId, campaignId: request.campaignId },
      numbers: request.numbers.length,
      keepForMs: request.keepForMs,
      passIntervalMs: Math.min(
        maxPassIntervalMs,
        Math.max(minPassIntervalMs, lifeMs / passesPerLifetime),
      ),
      warmUp: (index, freshForMs) => this.#warmUp(request, index, freshForMs),
      queue: this.#queue,
      clock,
      timers,
    })
    this.#running.set(job.id, job)
    void job.run().then(() => this.#archive(job))
    return job.progress()
  }

  find(accountId: string, id: string): WarmupProgress | undefined {
    const job = this.#running.get(id)
    if (job) return job.accountId === accountId ? job.progress() : undefined
    return this.#finished.get(accountId)?.get(id)
  }

  stop(accountId: string, id: string): WarmupProgress | undefined {
    const job = this.#running.get(id)
    if (job?.accountId === accountId) job.stop()
    return this.find(accountId, id)
  }

  close(): void {
    for (const job of this.#running.values()) job.stop()
    this.#queue.close()
  }

  #requireCapacity({ accountId, numbers }: WarmupRequest): void {
    const { maxNumbers, cache } = this.#options
    if (Math.min(maxNumbers, cache.allowMs, cache.blockMs) === 0) {
      const why = 'gate.cache stores no answers: maxEntries, allowMs and blockMs must be above 0'
      throw new AppError('not-available', why)
    }
    const jobs = [...this.#running.values()].filter((job) => !job.isFinished)
    const ofAccount = jobs.filter((job) => job.accountId === accountId)
    if (ofAccount.length >= maxRunningJobs) {
      const rule = `cannot be started: ${maxRunningJobs} jobs of the account are running, the maximum; stop one, or wait`
      throw invalidRequest([{ field: 'numbers', value: `${numbers.length} numbers`, rule }])
    }
    const own = countNumbers(ofAccount)
    if (own + numbers.length > maxNumbers)
      throw createTooManyNumbersError(numbers.length, maxNumbers, own)
    if (countNumbers(jobs) + numbers.length > maxNumbers) throw createNoRoomError(numbers.length)
  }

  async #warmUp(request: WarmupRequest, index: number, freshForMs: number): Promise<WarmupResult> {
    const { accountId, projectId, campaignId, numbers } = request
    const item = numbers[index]
    if (!item) return 'fresh'
    const { number, postalCode } = item
    const question = { accountId, number, postalCode, projectId, campaignId }
    try {
      return await this.#options.warmUp(question, freshForMs)
    } catch {
      return 'unanswered'
    }
  }

  /** Keeps only the progress of the job, not its numbers. */
  #archive(job: WarmupJob): void {
    this.#running.delete(job.id)
    const { timers } = this.#options
    const jobs =
      this.#finished.get(job.accountId) ??
      new TtlCache<WarmupProgress>({ timers, ttlMs: msPerHour, maxEntries: maxFinishedJobs })
    jobs.set(job.id, job.progress())
    this.#finished.set(job.accountId, jobs)
  }
}

function countNumbers(jobs: readonly WarmupJob[]): number {
  return jobs.reduce((sum, job) => sum + job.numbers, 0)
}

function createTooManyNumbersError(asked: number, most: number, own: number): AppError {
  const others = own === 0 ? '' : `, and other jobs of the account have ${own}`
  const rule =
    `must be at most ${most - own}: ${most} can be kept warm at once ` +
    `(gate.cache.maxEntries)${others}`
  return invalidRequest([{ field: 'numbers', value: `${asked} numbers`, rule }])
}

/** Does not reveal how much capacity is left, since that depends on other accounts. */
function createNoRoomError(asked: number): AppError {
  const why = 'exceed the free capacity (gate.cache.maxEntries)'
  const detail = `numbers '${asked} numbers': ${why}; send fewer, or try again later`
  return new AppError('not-available', detail)
}

/**
 * Routes each account to its warmer, so that the sandbox cannot use the capacity of real accounts.
 * `choose` must return one of `warmers`, always the same one for an account.
 */
export function routeWarmupByAccount(
  warmers: readonly Warmer[],
  choose: (accountId: string) => Warmer,
): WarmupService {
  return {
    start: (request) => choose(request.accountId).start(request),
    find: (accountId, id) => choose(accountId).find(accountId, id),
    stop: (accountId, id) => choose(accountId).stop(accountId, id),
    close() {
      for (const warmer of warmers) warmer.close()
    },
  }
}
