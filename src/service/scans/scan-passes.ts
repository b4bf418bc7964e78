/**
 * The worker's position in each job, and which job of an account is next. Kept only in memory: after a
 * restart, numbers without an answer are asked about again.
 */
import { computeBackoffMs } from '../../runtime/backoff.js'
import { RoundRobin } from '../background/round-robin.js'
import type { NumberResult, OpenNumber } from './scan-rows.js'

/** One pass through the numbers of a job without results. */
export interface ScanPass {
  /** Position of the last number that was asked about; -1 at the start. */
  after: number
  /** Whether at least one number got its result. */
  progressed: boolean
  /** What was found but not stored, since the database failed: a source may charge for each answer. */
  found?: FoundResults | undefined
}

export interface FoundResults {
  /** That were asked about. */
  readonly numbers: readonly OpenNumber[]
  readonly results: readonly NumberResult[]
}

export class ScanPasses {
  readonly #passes = new Map<string, ScanPass>()
  readonly #turns = new RoundRobin()

  /** Gives the next turn to the job that has waited longest; `undefined` when there is none. */
  next<Job extends { readonly id: string }>(jobs: readonly Job[]): Job | undefined {
    for (const { id } of jobs) this.#turns.join(id)
    const [next] = [...jobs].sort(
      (one, other) => this.#turns.latest(one.id) - this.#turns.latest(other.id),
    )
    if (next) this.#turns.take(next.id)
    return next
  }

  passFor(jobId: string): ScanPass {
    const known = this.#passes.get(jobId)
    if (known) return known
    const pass = { after: -1, progressed: false }
    this.#passes.set(jobId, pass)
    return pass
  }

  end(jobId: string): void {
    this.#passes.delete(jobId)
    this.#turns.forget(jobId)
  }
}

/** How long a scan waits for sources that do not answer, and when it fails. All in milliseconds. */
export interface ScanRetryPolicy {
  /** After the first pass without any result; each further pause is twice as long. */
  readonly firstPauseMs: number
  readonly maxPauseMs: number
  /** From the first pass without any result to the last one; then the job fails. */
  readonly giveUpAfterMs: number
}

/**
 * The pause in milliseconds before the next pass over a job's open numbers, given the number of
 * consecutive passes without any result; `undefined` after the last pass. Counts passes instead of
 * hours, so that downtime of the process is not included.
 */
export function computePause(idlePasses: number, policy: ScanRetryPolicy): number | undefined {
  if (idlePasses === 0) return policy.firstPauseMs
  const backoff = { firstMs: policy.firstPauseMs, maxMs: policy.maxPauseMs }
  let left = policy.giveUpAfterMs
  for (let pass = 1; pass < idlePasses && left > 0; pass += 1) {
    left -= computeBackoffMs(pass, backoff)
  }
  return left > 0 ? Math.min(left, computeBackoffMs(idlePasses, backoff)) : undefined
}
