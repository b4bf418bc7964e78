/** What became of jobs of warming that are over: for a while, and for each account by itself. */
import type { Timers } from '../domain/clock.js'
import type { WarmProgress } from './warm-job.js'

interface Ended {
  readonly progress: WarmProgress
  readonly endedMs: number
}

const rememberedMs = 3_600_000
const mostRemembered = 100

/** Keeps a job for an hour, and of each account the last hundred. */
export class EndedWarmJobs {
  readonly #timers: Timers
  /** Account -> id -> job, those that ended first first. */
  readonly #byAccount = new Map<string, Map<string, Ended>>()

  constructor(timers: Timers) {
    this.#timers = timers
  }

  keep(accountId: string, progress: WarmProgress): void {
    const jobs = this.#byAccount.get(accountId) ?? new Map<string, Ended>()
    this.#byAccount.set(accountId, jobs)
    jobs.set(progress.id, { progress, endedMs: this.#timers.monotonicMs() })
    this.#forgetOld()
  }

  find(accountId: string, id: string): WarmProgress | undefined {
    this.#forgetOld()
    return this.#byAccount.get(accountId)?.get(id)?.progress
  }

  #forgetOld(): void {
    const before = this.#timers.monotonicMs() - rememberedMs
    for (const [accountId, jobs] of this.#byAccount) {
      for (const [id, { endedMs }] of jobs) {
        if (jobs.size <= mostRemembered && endedMs > before) break
        jobs.delete(id)
      }
      if (jobs.size === 0) this.#byAccount.delete(accountId)
    }
  }
}
