/** One question to a provider, and the callers that wait for its answer. */
import {
  type Answer,
  type MaybePromise,
  mapMaybePromise,
  type Question,
} from '../../../domain/compliance.js'
import type { TraceContext } from '../../../domain/trace/trace-context.js'
import type { QuestionFailure } from '../client/question-failure.js'
import type { BudgetCharge, QuestionBudget } from '../provider-options.js'

/** One waiting caller, or several that asked within a millisecond of each other. */
export interface Listener<Asks extends Question, Value> {
  readonly coalesced: CoalescedQuestion<Asks, Value>
  readonly inBackground: boolean
  /** When it gets a failure instead of an answer, on the monotonic clock. */
  readonly deadlineMs: number
  readonly promise: Promise<Answer<Value>>
  readonly resolve: (answer: Answer<Value>) => void
}

/** Callers within this interval share a promise, so the later one may time out this much too early. */
const maxSharedPromiseGapMs = 1

export class CoalescedQuestion<Asks extends Question, Value> {
  readonly question: Asks
  readonly identity: string
  /** Changes when its request was rejected and is retried in halves. */
  group: string
  /** Lower is earlier; decides which group is sent first. */
  order = 0
  isUrgent: boolean
  /** `unpaid`: it is not known yet whether the budget of its account has room for it. */
  state: 'unpaid' | 'queued' | 'delayed' | 'sent' | 'ended' = 'unpaid'
  /** For its next request; absent if none was charged. */
  charge: BudgetCharge | undefined
  /** Count of failed requests that contained it. */
  attempts = 0
  /** Whether it is being retried with a new key after its first key was not accepted. */
  hasNewKey = false
  /** Count of listeners without an answer. */
  waitingCount = 0
  /** The latest deadline of all listeners. */
  lastDeadlineMs = Number.NEGATIVE_INFINITY
  readonly listeners: Listener<Asks, Value>[] = []
  /** The traces of all callers that have one. */
  readonly traces: TraceContext[] = []

  constructor(asks: Asks, about: { readonly identity: string; readonly group: string }) {
    this.question = asks
    this.identity = about.identity
    this.group = about.group
    this.isUrgent = asks.inBackground !== true
  }

  /** Charges the budget for its next request; gives why there may be none. Charges nothing if it ends meanwhile. */
  pay(budget: QuestionBudget | undefined, name: string): MaybePromise<QuestionFailure | undefined> {
    this.state = 'unpaid'
    if (!budget) return undefined
    const wasUrgent = this.isUrgent
    return mapMaybePromise(
      budget.take(this.question.accountId, name, !wasUrgent),
      (taken): MaybePromise<QuestionFailure | undefined> => {
        if (!('giveBack' in taken)) {
          // A call that joined meanwhile may use what work in the background may not.
          const mayUseMore = this.state === 'unpaid' && this.isUrgent && !wasUrgent
          return mayUseMore ? this.pay(budget, name) : taken
        }
        if (this.state === 'unpaid') this.charge = taken
        else taken.giveBack()
        return undefined
      },
    )
  }

  /** For a request that is not sent. */
  giveBackCharge(): void {
    this.charge?.giveBack()
    this.charge = undefined
  }

  /** The listener whose promise the next caller may share. */
  findListener(inBackground: boolean, deadlineMs: number): Listener<Asks, Value> | undefined {
    const last = this.listeners.at(-1)
    const isLike =
      last?.inBackground === inBackground && deadlineMs - last.deadlineMs <= maxSharedPromiseGapMs
    return isLike ? last : undefined
  }

  addListener(inBackground: boolean, deadlineMs: number): Listener<Asks, Value> {
    let resolveListener: Listener<Asks, Value>['resolve'] = () => undefined
    const promise = new Promise<Answer<Value>>((resolve) => {
      resolveListener = resolve
    })
    const listener = {
      coalesced: this,
      inBackground,
      deadlineMs,
      promise,
      resolve: resolveListener,
    }
    this.listeners.push(listener)
    this.waitingCount += 1
    this.lastDeadlineMs = Math.max(this.lastDeadlineMs, deadlineMs)
    return listener
  }
}

export type CoalescedQuestions<Asks extends Question, Value> = readonly CoalescedQuestion<
  Asks,
  Value
>[]
