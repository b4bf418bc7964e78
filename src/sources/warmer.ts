/**
 * Keeps the answers about listed numbers in the cache before anybody calls them: jobs that ask in
 * the background at once, and again whenever answers are about to end. What a job does is in
 * `warm-job.ts`, the pace in `warm-lane.ts`.
 */
import type { Clock, Timers } from '../domain/clock.js'
import type { LegalTimeQuestion } from '../domain/compliance.js'
import type { PhoneNumber } from '../domain/phone-number.js'
import { AppError, invalidRequest } from '../errors.js'
import type { Warmed } from './answer-shelf.js'
import { EndedWarmJobs } from './ended-warm-jobs.js'
import type { CacheSettings } from './kept-answer.js'
import { WarmJob, type WarmProgress } from './warm-job.js'
import { PacedLane } from './warm-lane.js'

export type { Warmed } from './answer-shelf.js'
export type { WarmProgress } from './warm-job.js'

export interface WarmNumber {
  readonly number: PhoneNumber
  readonly postalCode?: string | undefined
}

export interface WarmRequest {
  readonly accountId: string
  /** Kept by the job: not to be changed afterwards. */
  readonly numbers: readonly WarmNumber[]
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
  /** From the start of the job; with 0 each number is asked about once. */
  readonly keepForMs: number
}

/** What calls will ask of legal time beyond the number. */
export type WarmStandards = Pick<LegalTimeQuestion, 'recordedVoice' | 'lawToo' | 'strictestPlace'>

export interface WarmerOptions {
  /** As {@link CachedCompliance.warm}. */
  readonly warm: (question: LegalTimeQuestion, freshForMs: number) => Promise<Warmed>
  /** Every combination that calls will ask with; at least one. */
  readonly standards: readonly WarmStandards[]
  readonly cache: Pick<CacheSettings, 'allowMs' | 'blockMs'>
  /** In all jobs together; no more than the cache keeps. */
  readonly mostNumbers: number
  /** Numbers under way at once, of all jobs; no more than a source lets wait. */
  readonly mostUnderWay: number
  readonly clock: Clock
  readonly timers: Timers
  readonly newId: (at: number) => string
}

/** A large file comes as several jobs. */
const mostJobs = 16

/** An answer is looked at four times in its life, and asked anew before its last quarter is over. */
const passesPerLife = 4
const shortestPassMs = 5_000
const longestPassMs = 900_000

/** Jobs of accounts; none is found or stopped by another account than its own. */
export interface Warming {
  /** Throws {@link AppError} when there are too many jobs or numbers, or when nothing is kept. */
  start(request: WarmRequest): WarmProgress
  /** A job that is over is known for an hour. */
  find(accountId: string, id: string): WarmProgress | undefined
  /** What is under way is still answered; nothing more is asked. */
  stop(accountId: string, id: string): WarmProgress | undefined
  /** Stops all jobs and leaves no timer. */
  close(): void
}

/** Warms one cache, for accounts whose numbers may share its places. */
export class Warmer implements Warming {
  readonly #options: WarmerOptions
  readonly #lane: PacedLane
  readonly #running = new Map<string, WarmJob>()
  readonly #ended: EndedWarmJobs

  constructor(options: WarmerOptions) {
    this.#options = options
    this.#lane = new PacedLane(options)
    this.#ended = new EndedWarmJobs(options.timers)
  }

  start(request: WarmRequest): WarmProgress {
    this.#refuseExcess(request)
    const { clock, timers, newId, cache } = this.#options
    const lifeMs = Math.min(cache.allowMs, cache.blockMs)
    const job = new WarmJob({
      id: newId(clock.now()),
      accountId: request.accountId,
      scope: { projectId: request.projectId, campaignId: request.campaignId },
      numbers: request.numbers.length,
      keepForMs: request.keepForMs,
      passEveryMs: Math.min(longestPassMs, Math.max(shortestPassMs, lifeMs / passesPerLife)),
      ask: (place, freshForMs) => this.#warm(request, place, freshForMs),
      lane: this.#lane,
      clock,
      timers,
    })
    this.#running.set(job.id, job)
    void job.run().then(() => this.#file(job))
    return job.progress()
  }

  find(accountId: string, id: string): WarmProgress | undefined {
    const job = this.#running.get(id)
    if (job) return job.accountId === accountId ? job.progress() : undefined
    return this.#ended.find(accountId, id)
  }

  stop(accountId: string, id: string): WarmProgress | undefined {
    const job = this.#running.get(id)
    if (job?.accountId === accountId) job.stop()
    return this.find(accountId, id)
  }

  close(): void {
    for (const job of this.#running.values()) job.stop()
    this.#lane.close()
  }

  #refuseExcess({ accountId, numbers }: WarmRequest): void {
    const { mostNumbers, cache } = this.#options
    if (Math.min(mostNumbers, cache.allowMs, cache.blockMs) === 0) {
      const why = 'gate.cache keeps no answers to warm: maxEntries, allowMs or blockMs is too small'
      throw new AppError('not-available', why)
    }
    const jobs = [...this.#running.values()].filter((job) => !job.isOver)
    const ofAccount = jobs.filter((job) => job.accountId === accountId)
    if (ofAccount.length >= mostJobs) {
      const rule = `is one job too many: ${mostJobs} of the account are running; stop one, or wait`
      throw invalidRequest([{ field: 'numbers', value: `${numbers.length} numbers`, rule }])
    }
    const own = numbersIn(ofAccount)
    if (own + numbers.length > mostNumbers) throw tooMany(numbers.length, mostNumbers, own)
    if (numbersIn(jobs) + numbers.length > mostNumbers) throw noRoom(numbers.length)
  }

  async #warm(request: WarmRequest, place: number, freshForMs: number): Promise<Warmed> {
    const { accountId, projectId, campaignId, numbers } = request
    const about = numbers[place]
    if (!about) return 'fresh'
    const { number, postalCode } = about
    const question = { accountId, number, postalCode, projectId, campaignId }
    const { warm, standards } = this.#options
    try {
      const each = await Promise.all(
        standards.map((standard) => warm({ ...question, ...standard }, freshForMs)),
      )
      if (each.includes('unanswered')) return 'unanswered'
      return each.includes('answered') ? 'answered' : 'fresh'
    } catch {
      return 'unanswered'
    }
  }

  /** The numbers of a job that is over are let go. */
  #file(job: WarmJob): void {
    this.#running.delete(job.id)
    this.#ended.keep(job.accountId, job.progress())
  }
}

function numbersIn(jobs: readonly WarmJob[]): number {
  return jobs.reduce((sum, job) => sum + job.numbers, 0)
}

function tooMany(asked: number, most: number, own: number): AppError {
  const others = own === 0 ? '' : `, and other jobs of the account have ${own}`
  const rule =
    `must be at most ${most - own}: ${most} can be kept warm at once ` +
    `(gate.cache.maxEntries)${others}`
  return invalidRequest([{ field: 'numbers', value: `${asked} numbers`, rule }])
}

/** What other accounts have warmed is nobody else's business, so it is not told how much room is left. */
function noRoom(asked: number): AppError {
  const why = 'more than there is room for at present (gate.cache.maxEntries)'
  const detail = `numbers '${asked} numbers': ${why}; send fewer, or try again later`
  return new AppError('not-available', detail)
}
