/**
 * Asks one provider one kind of question about many numbers. Equal questions are sent once, every caller
 * gets an answer by its deadline, and the queue is bounded. The sender decides when requests leave and
 * how failed ones are handled; the cache stores answers.
 */
import type { Answer, AnswerSuccess, MaybePromise, Question } from '../../../domain/compliance.js'
import {
  closingFailure,
  createDeadlineFailure,
  createOverloadedFailure,
  createThrownFailure,
  type QuestionFailure,
  toAnswerFailure,
} from '../client/question-failure.js'
import type { ProviderOptions, QuestionLimits } from '../provider-options.js'
import { BatchSender, type BatchSenderDeps } from './batch-sender.js'
import { CoalescedQuestion, type Listener } from './coalesced-question.js'
import { DeadlineQueue } from './deadline-queue.js'

export type BatchClientDeps<Asks extends Question, Value> = Omit<
  BatchSenderDeps<Asks, Value>,
  'limits' | 'onSettled' | 'onPause'
>

/** The deadline of background questions is this many times longer. */
const backgroundDeadlineFactor = 10

export class BatchClient<Asks extends Question, Value> {
  readonly #deps: BatchClientDeps<Asks, Value>
  readonly #options: ProviderOptions<string>
  readonly #limits: QuestionLimits
  readonly #sender: BatchSender<Asks, Value>
  /** All unsettled questions by identity. */
  readonly #pending = new Map<string, CoalescedQuestion<Asks, Value>>()
  readonly #urgent: DeadlineQueue<Listener<Asks, Value>>
  readonly #background: DeadlineQueue<Listener<Asks, Value>>
  #isClosed = false

  constructor(deps: BatchClientDeps<Asks, Value>) {
    const { question, options } = deps
    const limits = options.questions[question.name]
    if (!limits) throw new TypeError(`the provider has no limits for '${question.name}'`)
    this.#deps = deps
    this.#options = options
    this.#limits = limits
    this.#sender = new BatchSender({
      ...deps,
      limits,
      onSettled: (question, answer) => this.#settle(question, answer),
      onPause: (untilMs, why) => this.#failBefore(untilMs, why),
    })
    const due = (listeners: readonly Listener<Asks, Value>[]) => this.#failLate(listeners)
    this.#urgent = new DeadlineQueue(options.timers, due)
    this.#background = new DeadlineQueue(options.timers, due)
  }

  /** Never throws or rejects; resolves by the question's deadline at the latest. */
  ask(asks: Asks): MaybePromise<Answer<Value>> {
    try {
      return this.#ask(asks)
    } catch (cause) {
      return this.#toAnswer(createThrownFailure(cause))
    }
  }

  /** The count of unsettled promises. */
  countPending(): number {
    return this.#urgent.size + this.#background.size
  }

  /** Whether requests are suspended, and after which failure. */
  getCircuit(): { readonly open: boolean; readonly detail: string } {
    return this.#sender.getCircuit()
  }

  /** The share of the rate limit's burst that is left, from 0 to 1. */
  getRateBudget(): number {
    return this.#sender.getRateBudget()
  }

  /** Settles every pending question with a failure, and ends every request. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const question of [...this.#pending.values()]) this.#settle(question, closingFailure)
    await this.#sender.close()
  }

  #ask(asks: Asks): MaybePromise<Answer<Value>> {
    const { question } = this.#deps
    if (this.#isClosed) return this.#toAnswer(closingFailure)
    const refusal = question.findRefusal(asks)
    if (refusal !== undefined) return this.#toAnswer({ reason: 'not-askable', detail: refusal })
    const inBackground = asks.inBackground === true
    const deadlineMs = this.#options.timers.monotonicMs() + this.#getDeadlineMs(inBackground)
    const identity = this.#getIdentity(asks)
    const known = this.#pending.get(identity)
    if (known) {
      if (asks.trace) known.traces.push(asks.trace)
      return this.#join(known, inBackground, deadlineMs)
    }
    const rejection = this.#findOverload(inBackground) ?? this.#sender.findRejection(deadlineMs)
    if (rejection) return this.#toAnswer(rejection)
    const group = question.getGroup(asks)
    const added = new CoalescedQuestion<Asks, Value>(asks, { identity, group })
    const paying = added.pay(this.#options.budget, question.name)
    if (paying && !(paying instanceof Promise)) return this.#toAnswer(paying)
    if (asks.trace) added.traces.push(asks.trace)
    this.#pending.set(identity, added)
    const answer = this.#join(added, inBackground, deadlineMs)
    if (paying) void this.#addWhenPaid(added, paying)
    else this.#sender.add(added)
    return answer
  }

  /** Each account with a budget asks for itself, so that its provider is asked what was counted for it. */
  #getIdentity(asks: Asks): string {
    const identity = this.#deps.question.getIdentity(asks)
    const { accountId } = asks
    return this.#options.budget?.isLimited(accountId) ? `${accountId} ${identity}` : identity
  }

  async #addWhenPaid(
    added: CoalescedQuestion<Asks, Value>,
    paying: Promise<QuestionFailure | undefined>,
  ): Promise<void> {
    const refusal = await paying
    if (added.state === 'ended') return
    if (refusal) this.#settle(added, refusal)
    else this.#sender.add(added)
  }

  #join(
    question: CoalescedQuestion<Asks, Value>,
    inBackground: boolean,
    deadlineMs: number,
  ): Promise<Answer<Value>> {
    const similar = question.findListener(inBackground, deadlineMs)
    if (similar) return similar.promise
    const listener = question.addListener(inBackground, deadlineMs)
    this.#selectDeadlineQueue(listener).add(listener)
    if (!inBackground && !question.isUrgent) this.#sender.promote(question)
    return listener.promise
  }

  /** Background questions may fill only half of the queue, so that urgent ones have room. */
  #findOverload(inBackground: boolean): QuestionFailure | undefined {
    const { maxQueued } = this.#options.limits
    const queued = this.#pending.size - this.#sender.inFlightCount
    const isFull = queued >= maxQueued
    const isHalfFull = inBackground && this.#sender.backgroundCount >= Math.ceil(maxQueued / 2)
    return isFull || isHalfFull ? createOverloadedFailure(queued) : undefined
  }

  #failLate(listeners: readonly Listener<Asks, Value>[]): void {
    for (const listener of listeners) {
      const isSent = listener.coalesced.state === 'sent'
      this.#removeListener(
        listener,
        createDeadlineFailure(isSent, this.#getDeadlineMs(listener.inBackground)),
      )
    }
    this.#sender.sendDue()
  }

  /** Fails questions whose deadline is before the end of a pause in which nothing is sent. */
  #failBefore(untilMs: number, why: QuestionFailure): void {
    for (const queue of [this.#urgent, this.#background]) {
      for (const listener of queue) {
        if (listener.deadlineMs > untilMs) break
        if (listener.coalesced.state === 'sent') continue
        queue.delete(listener)
        this.#removeListener(listener, why)
      }
    }
  }

  /** A request in flight continues without listeners, since another caller may ask the same question. */
  #removeListener(listener: Listener<Asks, Value>, why: QuestionFailure): void {
    const { coalesced } = listener
    coalesced.waitingCount -= 1
    if (coalesced.waitingCount === 0 && coalesced.state !== 'sent') {
      this.#pending.delete(coalesced.identity)
      this.#sender.cancel(coalesced)
    }
    listener.resolve(this.#toAnswer(why))
  }

  #settle(
    question: CoalescedQuestion<Asks, Value>,
    answer: AnswerSuccess<Value> | QuestionFailure,
  ): void {
    this.#pending.delete(question.identity)
    this.#sender.cancel(question)
    const result = this.#toAnswer(answer)
    for (const listener of question.listeners) {
      if (this.#selectDeadlineQueue(listener).delete(listener)) listener.resolve(result)
    }
    question.waitingCount = 0
  }

  #getDeadlineMs(inBackground: boolean): number {
    return this.#limits.deadlineMs * (inBackground ? backgroundDeadlineFactor : 1)
  }

  #selectDeadlineQueue({
    inBackground,
  }: Listener<Asks, Value>): DeadlineQueue<Listener<Asks, Value>> {
    return inBackground ? this.#background : this.#urgent
  }

  #toAnswer(answer: AnswerSuccess<Value> | QuestionFailure): Answer<Value> {
    if ('value' in answer) return answer
    return toAnswerFailure(answer, this.#options.name)
  }
}
