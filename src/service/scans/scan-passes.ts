/**
 * Where the worker is in each job, and whose turn it is among the jobs of one account. A restart
 * forgets it, and costs no more than looking again at numbers that had no answer.
 */

/** One way through a job's open numbers. */
export interface Pass {
  /** Position of the last number that was looked at; -1 at the start. */
  after: number
  /** Some number got its result. */
  progressed: boolean
  /** When it was served last, or first seen; orders the passes. */
  turn: number
}

export class ScanPasses {
  readonly #passes = new Map<string, Pass>()
  #turns = 0

  /** The job that has waited longest for its turn; `undefined` of none. It has its turn now. */
  next<Job extends { readonly id: string }>(jobs: readonly Job[]): Job | undefined {
    let next: { readonly job: Job; readonly pass: Pass } | undefined
    for (const job of jobs) {
      const pass = this.of(job.id)
      if (!next || pass.turn < next.pass.turn) next = { job, pass }
    }
    if (next) next.pass.turn = this.#turn()
    return next?.job
  }

  of(jobId: string): Pass {
    const known = this.#passes.get(jobId)
    if (known) return known
    const pass = { after: -1, progressed: false, turn: this.#turn() }
    this.#passes.set(jobId, pass)
    return pass
  }

  end(jobId: string): void {
    this.#passes.delete(jobId)
  }

  #turn(): number {
    this.#turns += 1
    return this.#turns
  }
}
