/** The figures of the last 15 minutes, from what the metrics count in any case. */
import type { Clock, Instant, Timers } from '../domain/time/clock.js'
import type { DecisionTotals, Metrics } from './metrics.js'

export interface LiveFiguresOptions {
  readonly metrics: Pick<Metrics, 'readDecisionTotals' | 'readUngatedLegs'>
  readonly clock: Pick<Clock, 'now'>
  readonly timers: Pick<Timers, 'after'>
}

export interface FiguresStep {
  readonly at: Instant
  readonly allowed: number
  readonly blocked: number
  readonly p50Ms: number | null
  readonly p99Ms: number | null
}

const stepMs = 5_000
/** 15 minutes. */
const maxSteps = 180

export class LiveFigures {
  readonly #options: LiveFiguresOptions
  readonly #steps: FiguresStep[] = []
  #last: DecisionTotals
  #cancel: () => void = () => undefined

  constructor(options: LiveFiguresOptions) {
    this.#options = options
    this.#last = options.metrics.readDecisionTotals()
  }

  start(): void {
    this.#cancel = this.#wait()
  }

  async read() {
    const { metrics } = this.#options
    return {
      ungatedLegs: await metrics.readUngatedLegs(),
      steps: this.#steps as readonly FiguresStep[],
    }
  }

  stop(): void {
    this.#cancel()
  }

  /** What was counted since the last step. */
  addStep(): void {
    const { metrics, clock } = this.#options
    const totals = metrics.readDecisionTotals()
    const { bounds, counts } = totals
    const added = counts.map((count, index) => count - (this.#last.counts[index] ?? 0))
    this.#steps.push({
      at: clock.now(),
      allowed: totals.allowed - this.#last.allowed,
      blocked: totals.blocked - this.#last.blocked,
      p50Ms: estimateQuantileMs(0.5, bounds, added),
      p99Ms: estimateQuantileMs(0.99, bounds, added),
    })
    if (this.#steps.length > maxSteps) this.#steps.shift()
    this.#last = totals
  }

  #wait(): () => void {
    return this.#options.timers.after(stepMs, () => {
      this.#cancel = this.#wait()
      this.addStep()
    })
  }
}

/** As Prometheus estimates it: evenly within a bucket. Of the last bucket, which has no upper bound, its lower one. */
export function estimateQuantileMs(
  share: number,
  bounds: readonly number[],
  counts: readonly number[],
): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  const wanted = share * total
  let before = 0
  for (const [index, count] of counts.entries()) {
    const upper = bounds[index]
    const lower = bounds[index - 1] ?? 0
    if (upper === undefined) return lower * 1_000
    if (count > 0 && before + count >= wanted) {
      return (lower + (upper - lower) * ((wanted - before) / count)) * 1_000
    }
    before += count
  }
  return null
}
