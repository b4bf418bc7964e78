/** Which fault strikes a request: those that are set, how often each still does, and chance. */
import { type Fault, isRowFault } from './fault.js'
import { readFault } from './read-fault.js'
import { type FaultTarget, isQuestion, type RequestTarget } from './target.js'

interface SetFault {
  readonly fault: Fault
  /** Infinity without a limit. */
  timesLeft: number
}

export class FaultPlan {
  readonly #random: () => number
  readonly #faults = new Map<FaultTarget, SetFault>()

  /** `random` gives from 0 up to, not including, 1. */
  constructor(random: () => number) {
    this.#random = random
  }

  /** Replaces the fault of a target, or ends it. Throws a refusal for a fault that could not strike. */
  set(target: FaultTarget, fault: Fault | undefined): void {
    const read = readFault(fault, target)
    if (!read) this.#faults.delete(target)
    else
      this.#faults.set(target, { fault: read, timesLeft: read.times ?? Number.POSITIVE_INFINITY })
  }

  /**
   * The fault of one request, which uses up one of its times. While a question has a fault of its
   * own, that of `all` passes it by.
   */
  take(target: RequestTarget): Fault | undefined {
    const name = target !== 'other' && this.#faults.has(target) ? target : 'all'
    const set = this.#faults.get(name)
    if (!set || (isRowFault(set.fault) && !isQuestion(target))) return undefined
    const { chance = 1 } = set.fault
    if (chance < 1 && this.#random() >= chance) return undefined
    set.timesLeft -= 1
    if (set.timesLeft <= 0) this.#faults.delete(name)
    return set.fault
  }

  reset(): void {
    this.#faults.clear()
  }

  /** The faults that are set, with `times` as many as are left. */
  state(): Readonly<Partial<Record<FaultTarget, Fault>>> {
    return Object.fromEntries(
      [...this.#faults].map(([target, { fault, timesLeft }]) => [
        target,
        fault.times === undefined ? fault : { ...fault, times: timesLeft },
      ]),
    )
  }
}
