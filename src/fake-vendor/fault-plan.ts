/** Decides which fault applies to a request, by target, remaining times and chance. */
import { type Fault, isRowFault } from './fault.js'
import { parseFault } from './parse-fault.js'
import { type FaultTarget, isQuestionName, type RequestTarget } from './request-target.js'

interface ActiveFault {
  readonly fault: Fault
  /** Infinity without a limit. */
  timesLeft: number
}

export class FaultPlan {
  readonly #random: () => number
  readonly #faults = new Map<FaultTarget, ActiveFault>()

  /** `random` returns 0 (inclusive) to 1 (exclusive). */
  constructor(random: () => number) {
    this.#random = random
  }

  /** Replaces or removes the fault of a target. Throws an `AppError` for a fault that cannot apply. */
  set(target: FaultTarget, fault: Fault | undefined): void {
    const read = parseFault(fault, target)
    if (!read) this.#faults.delete(target)
    else
      this.#faults.set(target, { fault: read, timesLeft: read.times ?? Number.POSITIVE_INFINITY })
  }

  /**
   * The fault for one request, which uses up one of its times. A fault of the question itself takes
   * precedence over one of `all`.
   */
  take(target: RequestTarget): Fault | undefined {
    const name = target !== 'other' && this.#faults.has(target) ? target : 'all'
    const set = this.#faults.get(name)
    if (!set || (isRowFault(set.fault) && !isQuestionName(target))) return undefined
    const { chance = 1 } = set.fault
    if (chance < 1 && this.#random() >= chance) return undefined
    set.timesLeft -= 1
    if (set.timesLeft <= 0) this.#faults.delete(name)
    return set.fault
  }

  reset(): void {
    this.#faults.clear()
  }

  /** The faults that are set; `times` is the remaining count. */
  state(): Readonly<Partial<Record<FaultTarget, Fault>>> {
    return Object.fromEntries(
      [...this.#faults].map(([target, { fault, timesLeft }]) => [
        target,
        fault.times === undefined ? fault : { ...fault, times: timesLeft },
      ]),
    )
  }
}
