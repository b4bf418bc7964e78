/**
 * Does the one-time scans in the background. Each run gives every account that has due jobs one
 * batch of numbers, so that nobody's long list holds up another's short one. What is done is in the
 * database after each batch; a job that was interrupted goes on behind its last result.
 */
import type { Clock, Instant, Timers } from '../../domain/clock.js'
import type { ComplaintBook, LabelBook } from '../../domain/labels.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { OpenDatabase } from '../../storage/engine.js'
import type { WebhookQueue } from '../webhooks/webhook-queue.js'
import { BoundedWait, CutShort } from './bounded-wait.js'
import { endJob, forgetJobs } from './scan-end.js'
import { ScanPasses } from './scan-passes.js'
import { type Patience, pauseAfter } from './scan-pauses.js'
import { allHaveAnswered, scanResult, scanSources } from './scan-result.js'
import {
  accountsWithOpenJobs,
  dueJobs,
  type FoundResult,
  keepResults,
  type OpenJob,
  type OpenNumber,
  openNumbers,
  postponeJob,
  readResults,
  startJob,
} from './scan-rows.js'

/** What is worth a line in the log or a count. */
export interface ScanNews {
  /** A pass left numbers open; `cause` is what went wrong, if anything did. */
  waits(scan: ScanNote, pauseMs: number, cause: unknown): void
  ended(scan: ScanNote, status: 'Complete' | 'Failed'): void
}

export interface ScanNote {
  readonly jobId: string
  readonly accountId: string
  readonly phoneCount: number
}

export interface ScanWorkerOptions extends Partial<Patience> {
  readonly storage: Pick<OpenDatabase, 'db' | 'patiently'>
  readonly clock: Clock
  readonly timers: Timers
  readonly labelsOf: (accountId: string) => LabelBook
  readonly complaintsOf: (accountId: string) => ComplaintBook
  readonly webhooks: Pick<WebhookQueue, 'add' | 'wake'>
  readonly news?: ScanNews
  /** Numbers that are asked about at once. */
  readonly batchSize?: number
  /** How long a book may take to answer. */
  readonly askMs?: number
  /** How long the others wait for one that is slow. */
  readonly turnMs?: number
  /** A batch has ended: its account may have another. */
  readonly onEnded?: () => void
}

const hourMs = 3_600_000

const usual = {
  ...{ firstPauseMs: 30_000, longestPauseMs: hourMs, giveUpAfterMs: 24 * hourMs },
  ...{ batchSize: 200, askMs: 120_000, turnMs: 1_000 },
}

/** How long the results of a job that ended are kept. */
export const keepResultsDays = 90

const longestFailure = 500

/** Jobs of one account that take turns; further ones wait until one of these ends or rests. */
const mostTakingTurns = 8

export class ScanWorker {
  readonly #options: ScanWorkerOptions & typeof usual
  readonly #passes = new ScanPasses()
  readonly #wait: BoundedWait
  #forgetAt: Instant = 0
  #stopped = false
  readonly #serving = new Map<string, Promise<void>>()
  readonly #failures: unknown[] = []

  constructor(options: ScanWorkerOptions) {
    this.#options = { ...usual, ...options }
    this.#wait = new BoundedWait(options.timers, this.#options.askMs)
  }

  /** Does a piece of the work. Gives the milliseconds until there is more, infinite when none is known. */
  async run(): Promise<number> {
    const { storage, clock } = this.#options
    const accounts = await accountsWithOpenJobs(storage.db)
    const now = clock.now()
    const free = accounts.filter(({ accountId }) => !this.#serving.has(accountId))
    const due = free.filter(({ dueAt }) => dueAt <= now)
    await this.#forATurn(due.map(({ accountId }) => this.#begin(accountId, now)))
    this.#throwFailure()
    const moreIsOld = await this.#forget(now)
    if (this.#stopped) return Number.POSITIVE_INFINITY
    if (due.some(({ accountId }) => !this.#serving.has(accountId)) || moreIsOld) return 0
    return Math.min(...free.map(({ dueAt }) => dueAt - now).filter((ms) => ms > 0))
  }

  /** Resolves when nothing is under way any more. */
  async ended(): Promise<void> {
    await Promise.all(this.#serving.values())
  }

  /** An account has one batch under way at most; its end is told, whenever it comes. */
  #begin(accountId: string, at: Instant): Promise<void> {
    const end = this.#serve(accountId, at)
      .catch((cause: unknown) => this.#failures.push(cause))
      .then(() => {
        this.#serving.delete(accountId)
        this.#options.onEnded?.()
      })
    this.#serving.set(accountId, end)
    return end
  }

  /** Whoever takes longer goes on beside the next turns, so that no slow source holds up others. */
  async #forATurn(begun: readonly Promise<void>[]): Promise<void> {
    const { timers, turnMs } = this.#options
    if (begun.length === 0) return
    let callOff = () => {}
    const over = new Promise<void>((resolve) => {
      callOff = timers.after(turnMs, resolve)
    })
    await Promise.race([Promise.all(begun), over])
    callOff()
  }

  #throwFailure(): void {
    const [first] = this.#failures.splice(0)
    if (first !== undefined) throw first
  }

  /** The run under way ends without waiting for the books; later ones do nothing. */
  stop(): void {
    this.#stopped = true
    this.#wait.endAll()
  }

  async #serve(accountId: string, at: Instant): Promise<void> {
    if (this.#stopped) return
    const { storage } = this.#options
    const jobs = await dueJobs(storage.db, accountId, { at, most: mostTakingTurns })
    const job = this.#passes.next(jobs)
    if (!job) return
    try {
      await this.#work(job)
    } catch (cause) {
      if (!(cause instanceof CutShort)) await this.#rest(job, cause)
    }
  }

  async #work(job: OpenJob): Promise<void> {
    const { storage, batchSize } = this.#options
    const pass = this.#passes.of(job.id)
    if (job.status === 'Submitted') await startJob(storage, job)
    const after = pass.after
    const numbers = await openNumbers(storage.db, job.id, { after, most: batchSize })
    const found = await this.#look(job, numbers)
    const processed =
      found.length === 0 ? job.processedCount : await keepResults(storage, job, found)
    pass.progressed ||= found.length > 0
    pass.after = numbers.at(-1)?.position ?? after
    if (processed === job.phoneCount) await this.#complete(job)
    else if (numbers.length < batchSize) await this.#rest(job, undefined)
  }

  /** The results of those numbers for which every source has answered. */
  async #look(job: OpenJob, numbers: readonly OpenNumber[]): Promise<readonly FoundResult[]> {
    const { labelsOf, complaintsOf } = this.#options
    const sources = scanSources(job.country, job.scanType)
    const asked = distinct(numbers)
    if (asked.length === 0) return []
    const labels = await this.#wait.of(labelsOf(job.accountId).labels(asked, sources))
    const answered = numbers.flatMap(({ position, number }) => {
      const said = labels.get(number)
      return said && allHaveAnswered(said, sources) ? [{ position, number, labels: said }] : []
    })
    const withComplaints = job.scanType === 'carrierandapps' ? distinct(answered) : []
    const complaints =
      withComplaints.length === 0
        ? undefined
        : await this.#wait.of(complaintsOf(job.accountId).complaints(withComplaints))
    return answered.flatMap(({ position, number, labels }) => {
      const look = { number, labels, complaints: complaints?.get(number) ?? [] }
      const result = scanResult(look, sources)
      return result ? [{ position, result }] : []
    })
  }

  async #complete(job: OpenJob): Promise<void> {
    const { storage, clock, news } = this.#options
    const results = await readResults(storage.db, job.id)
    const at = clock.now()
    const ended = await endJob(this.#options, job, { at, ending: { status: 'Complete', results } })
    this.#passes.end(job.id)
    if (ended) news?.ended(noteOf(job), 'Complete')
  }

  /** Ends the pass: the open numbers are tried again later, or not at all. */
  async #rest(job: OpenJob, cause: unknown): Promise<void> {
    const { storage, clock, news, longestPauseMs } = this.#options
    const { progressed } = this.#passes.of(job.id)
    const idlePasses = progressed ? 0 : job.idlePasses + 1
    this.#passes.end(job.id)
    const pauseMs = pauseAfter(idlePasses, this.#options)
    if (pauseMs === undefined && (await this.#giveUp(job, cause))) return
    const waitMs = pauseMs ?? longestPauseMs
    await postponeJob(storage, job, { dueAt: clock.now() + waitMs, idlePasses })
    news?.waits(noteOf(job), waitMs, cause)
  }

  /** Gives false when all numbers have their results and only the end of the job is left to write. */
  async #giveUp(job: OpenJob, cause: unknown): Promise<boolean> {
    const { clock, news } = this.#options
    const why =
      cause === undefined
        ? 'not every source has answered for every number'
        : String(cause).slice(0, longestFailure)
    const ending = { status: 'Failed', failure: why } as const
    const ended = await endJob(this.#options, job, { at: clock.now(), ending })
    if (ended) news?.ended(noteOf(job), 'Failed')
    return ended
  }

  /** Gives whether there is more to forget. */
  async #forget(now: Instant): Promise<boolean> {
    if (this.#stopped || now < this.#forgetAt) return false
    this.#forgetAt = now + hourMs
    const more = await forgetJobs(this.#options.storage, now - keepResultsDays * 24 * hourMs)
    if (more) this.#forgetAt = now
    return more
  }
}

function distinct(rows: readonly { readonly number: PhoneNumber }[]): readonly PhoneNumber[] {
  return [...new Set(rows.map(({ number }) => number))]
}

function noteOf({ id, accountId, phoneCount }: OpenJob): ScanNote {
  return { jobId: id, accountId, phoneCount }
}
