/** Load on a server, from a process of its own. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

export interface LoadRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** JSON. */
  readonly body?: string
}

export interface LoadOrder {
  readonly url: string
  /** Sent in turns, the first again after the last. */
  readonly requests: readonly LoadRequest[]
  readonly headers: Readonly<Record<string, string>>
  /** At a rate, more are opened when all of them wait for an answer. */
  readonly connections: number
  readonly seconds: number
  /**
   * The answers that are expected, each by a name and a text that its head or body has: the first that
   * fits. The status is 200 unless given.
   */
  readonly expected: Readonly<Record<string, { readonly text: string; readonly status?: number }>>
  /**
   * Requests are sent at this rate, whether or not earlier ones have been answered; when absent, each
   * connection sends its next one as soon as it has an answer.
   */
  readonly perSecond?: number
}

export interface LoadResult {
  /** Milliseconds from sending to the whole answer, in the order of the answers, by expected answer. */
  readonly answers: Readonly<Record<string, Float64Array>>
  /** Expected answers a second. */
  readonly perSecond: number
  /** Answers other than the expected ones. */
  readonly wrong: number
  readonly firstWrong: string
  /** Requests without an answer. */
  readonly cut: number
  /** At a rate: the longest that a request was sent behind the schedule. */
  readonly latestMs: number
  /** Of one processor; near 1, the load and not the server is measured. */
  readonly cpuShare: number
}

export interface Load {
  /** One order at a time. */
  run(order: LoadOrder): Promise<LoadResult>
  end(): void
}

export function startLoad(): Load {
  const child = fork(join(import.meta.dirname, 'http-load.js'), { serialization: 'advanced' })
  return {
    async run(order) {
      child.send(order)
      const [result] = (await once(child, 'message')) as [LoadResult]
      return result
    },
    end: () => child.disconnect(),
  }
}

/** All latencies of some results in ascending order; only those of the named answers, if any are named. */
export function latenciesOf(
  results: readonly LoadResult[],
  ...names: readonly string[]
): Float64Array {
  const parts = results.flatMap(({ answers }) =>
    Object.entries(answers).flatMap(([name, ms]) =>
      names.length === 0 || names.includes(name) ? [ms] : [],
    ),
  )
  const all = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0))
  let offset = 0
  for (const part of parts) {
    all.set(part, offset)
    offset += part.length
  }
  return all.sort()
}

/** The value that this share of the values is at or below; the values are in ascending order. */
export function quantileOf(sorted: ArrayLike<number>, share: number): number {
  const index = Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)
  return sorted[Math.max(0, index)] ?? Number.NaN
}
