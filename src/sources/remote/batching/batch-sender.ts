/**
 * Sends the questions of one kind to their provider, in batches of those queued when a request may
 * leave. The scheduler decides when that is, and the retry policy which questions of a failed request
 * are sent again.
 */
import type { AnswerSuccess, Question } from '../../../domain/compliance.js'
import type { TraceContext } from '../../../domain/trace/trace-context.js'
import type { BatchQuestion, EndpointRequest } from '../batch-question.js'
import type { AuthHeaders, Credentials } from '../client/credentials.js'
import { createThrownFailure, type QuestionFailure } from '../client/question-failure.js'
import { type RequestFailure, type RequestResult, sendBatch } from '../client/send-batch.js'
import type { Transport } from '../client/transport.js'
import type { ProviderOptions, QuestionLimits, RequestSpan } from '../provider-options.js'
import type { CoalescedQuestion, CoalescedQuestions } from './coalesced-question.js'
import { ProviderEvents } from './provider-events.js'
import { QuestionQueue } from './question-queue.js'
import { type QueueState, RequestScheduler } from './request-scheduler.js'
import { RetryPolicy, type RetryPolicyDeps } from './retry-policy.js'

export interface BatchSenderDeps<Asks extends Question, Value>
  extends RetryPolicyDeps<Asks, Value> {
  readonly question: BatchQuestion<Asks, Value, string>
  readonly limits: QuestionLimits
  readonly credentials: Credentials
  readonly transport: Transport
  /** Called once for every question that was added and not canceled. */
  readonly onSettled: (
    question: CoalescedQuestion<Asks, Value>,
    answer: AnswerSuccess<Value> | QuestionFailure,
  ) => void
  /** Called when sending pauses until `untilMs`, on the monotonic clock. */
  readonly onPause: (untilMs: number, why: QuestionFailure) => void
}

interface InFlightRequest<Asks extends Question, Value> {
  readonly questions: CoalescedQuestions<Asks, Value>
  readonly request: EndpointRequest
  readonly authHeaders: AuthHeaders
  /** Whether the circuit is open and this request probes whether the provider works again. */
  readonly isProbe: boolean
}

export class BatchSender<Asks extends Question, Value> {
  readonly #deps: BatchSenderDeps<Asks, Value>
  readonly #options: ProviderOptions<string>
  readonly #events: ProviderEvents
  readonly #scheduler: RequestScheduler
  readonly #queue: QuestionQueue<Asks, Value>
  readonly #retries: RetryPolicy<Asks, Value>
  readonly #requests = new Map<AbortController, Promise<void>>()
  #inFlightCount = 0
  #wakeup: { readonly atMs: number; readonly cancel: () => void } | undefined
  #isObtainingKey = false
  #isClosed = false

  constructor(deps: BatchSenderDeps<Asks, Value>) {
    const { question, options, limits } = deps
    this.#deps = deps
    this.#options = options
    this.#events = new ProviderEvents(options, question.name)
    this.#scheduler = new RequestScheduler(options, limits, this.#events)
    this.#queue = new QuestionQueue(limits.numbersPerRequest)
    this.#retries = new RetryPolicy(deps)
  }

  /** The count of questions in requests in flight. */
  get inFlightCount(): number {
    return this.#inFlightCount
  }

  /** The count of queued background questions. */
  get backgroundCount(): number {
    return this.#queue.backgroundCount
  }

  getCircuit(): { readonly open: boolean; readonly detail: string } {
    const { isOpen, detail } = this.#scheduler.circuit
    return { open: isOpen, detail }
  }

  getRateBudget(): number {
    return this.#scheduler.getRateBudget(this.#now())
  }

  /** Why a new question with that deadline could not be answered in time. */
  findRejection(deadlineMs: number): QuestionFailure | undefined {
    const now = this.#now()
    return (
      this.#scheduler.findCircuitRejection(now) ??
      this.#deps.credentials.findProblem() ??
      this.#scheduler.findRateRejection(now, deadlineMs)
    )
  }

  add(question: CoalescedQuestion<Asks, Value>): void {
    const isFull = this.#queue.add(question)
    if (isFull) {
      this.#scheduler.endCoalescing(this.#now())
      this.sendDue()
    } else this.#startCoalescing(question)
  }

  /** Makes a background question urgent. */
  promote(question: CoalescedQuestion<Asks, Value>): void {
    if (question.state === 'queued') {
      this.#queue.promote(question)
      this.#startCoalescing(question)
    } else question.isUrgent = true
  }

  /** Removes the question from the queue; a request in flight continues. */
  cancel(question: CoalescedQuestion<Asks, Value>): void {
    if (question.state === 'queued') this.#queue.remove(question)
    question.state = 'ended'
    question.giveBackCharge()
  }

  /** Sends what can be sent now, and sets a timer for the rest. */
  sendDue(): void {
    this.#cancelWakeup()
    this.#requeue(this.#retries.queue.take(this.#now()))
    let waitMs = this.#getWaitMs()
    while (waitMs === 0) {
      this.#sendNext()
      waitMs = this.#getWaitMs()
    }
    const now = this.#now()
    this.#scheduler.finishSending(now, this.#readQueueState())
    this.#wakeAt(Math.min(now + waitMs, this.#retries.queue.getNextRetryMs()))
  }

  /** Ends every request; the caller settles the questions. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelWakeup()
    for (const controller of this.#requests.keys()) controller.abort()
    await Promise.all(this.#requests.values())
  }

  #now(): number {
    return this.#options.timers.monotonicMs()
  }

  #readQueueState(): QueueState {
    const { isEmpty, hasUrgent } = this.#queue
    return { isEmpty, hasUrgent, requestsInFlight: this.#requests.size }
  }

  #startCoalescing({ isUrgent }: CoalescedQuestion<Asks, Value>): void {
    const atMs = this.#scheduler.startCoalescing(this.#now(), isUrgent)
    if (atMs !== undefined) this.#wakeAt(atMs)
  }

  #wakeAt(atMs: number): void {
    if (atMs === Number.POSITIVE_INFINITY || (this.#wakeup && this.#wakeup.atMs <= atMs)) return
    this.#cancelWakeup()
    const cancel = this.#options.timers.after(Math.max(0, Math.ceil(atMs - this.#now())), () =>
      this.sendDue(),
    )
    this.#wakeup = { atMs, cancel }
  }

  #cancelWakeup(): void {
    this.#wakeup?.cancel()
    this.#wakeup = undefined
  }

  /**
   * Requeues questions, which do not wait for others to join them. Each is charged again, and all wait until the last
   * one is, so that they do not leave in more requests than before.
   */
  #requeue(questions: CoalescedQuestions<Asks, Value>): void {
    const paying: Promise<void>[] = []
    for (const one of questions) {
      const refusal = one.pay(this.#options.budget, this.#deps.question.name)
      if (refusal instanceof Promise)
        paying.push(refusal.then((known) => this.#settleRefused(one, known)))
      else this.#settleRefused(one, refusal)
    }
    if (paying.length > 0) void Promise.all(paying).then(() => this.#sendPaid(questions))
    else this.#requeuePaid(questions)
  }

  #settleRefused(one: CoalescedQuestion<Asks, Value>, refusal: QuestionFailure | undefined): void {
    if (refusal && one.state === 'unpaid') this.#deps.onSettled(one, refusal)
  }

  #sendPaid(questions: CoalescedQuestions<Asks, Value>): void {
    if (this.#isClosed) return
    this.#requeuePaid(questions)
    this.sendDue()
  }

  #requeuePaid(questions: CoalescedQuestions<Asks, Value>): void {
    const paid = questions.filter(({ state }) => state === 'unpaid')
    if (paid.length === 0) return
    this.#queue.requeue(paid)
    this.#scheduler.endCoalescing(this.#now())
  }

  #failWaiting(why: QuestionFailure): void {
    for (const one of [...this.#queue.clear(), ...this.#retries.queue.clear()]) {
      this.#deps.onSettled(one, why)
    }
  }

  #getWaitMs(): number {
    const now = this.#now()
    const rejection = this.#scheduler.findCircuitRejection(now)
    if (rejection) this.#failWaiting(rejection)
    const waitMs = this.#scheduler.getWaitMs(now, this.#readQueueState())
    return waitMs > 0 || this.#ensureKey() ? waitMs : Number.POSITIVE_INFINITY
  }

  /** Must be called before a token is taken from the bucket, so that the request can leave immediately. */
  #ensureKey(): boolean {
    const { credentials } = this.#deps
    if (credentials.getHeaders()) return true
    const problem = credentials.findProblem()
    if (problem) this.#failWaiting(problem)
    else if (!this.#isObtainingKey) {
      this.#isObtainingKey = true
      void credentials.obtain().then(() => {
        this.#isObtainingKey = false
        this.sendDue()
      })
    }
    return false
  }

  #sendNext(): void {
    const { question, credentials, onSettled } = this.#deps
    const questions = this.#queue.take()
    try {
      const authHeaders = credentials.getHeaders()
      if (!authHeaders) throw new Error('there is no key to send')
      const request = question.buildRequest(questions.map(({ question }) => question))
      const isProbe = this.#scheduler.recordSend(this.#now())
      const controller = new AbortController()
      for (const one of questions) {
        one.state = 'sent'
        one.charge = undefined
      }
      this.#inFlightCount += questions.length
      const sent = { questions, request, authHeaders, isProbe }
      this.#requests.set(controller, this.#send(sent, controller))
    } catch (cause) {
      for (const one of questions) onSettled(one, createThrownFailure(cause))
    }
  }

  async #send(sent: InFlightRequest<Asks, Value>, controller: AbortController): Promise<void> {
    const { question, transport, limits } = this.#deps
    const { addresses, clock, timers, observer } = this.#options
    const { questions, request, authHeaders } = sent
    const sentAtMs = this.#now()
    const span = this.#startSpan(questions)
    const result = await sendBatch({
      question,
      request,
      authHeaders,
      transport,
      addresses,
      clock,
      timers,
      trace: span?.context ?? findTrace(questions),
      timeoutMs: limits.deadlineMs,
      controller,
      questions: questions.map(({ question }) => question),
    })
    const outcome = result.answered ? 'answered' : result.reason
    // Callers may have joined while the request was in flight.
    span?.end(
      outcome,
      questions.flatMap(({ traces }) => traces),
    )
    this.#requests.delete(controller)
    this.#inFlightCount -= questions.length
    if (this.#isClosed) return
    const seconds = (this.#now() - sentAtMs) / 1000
    observer.onRequest(question.name, outcome, seconds)
    if (result.answered) this.#handleAnswer(sent, result)
    else this.#handleFailure(sent, result)
    this.sendDue()
  }

  #startSpan(questions: CoalescedQuestions<Asks, Value>): RequestSpan | undefined {
    const { name, tracer } = this.#options
    const parent = tracer && findTrace(questions)
    if (!parent) return undefined
    const question = this.#deps.question.name
    return tracer.startRequest({ source: name, question, numbers: questions.length, parent })
  }

  #handleAnswer(
    { questions, isProbe }: InFlightRequest<Asks, Value>,
    { rows, askedAt }: Extract<RequestResult<Value>, { answered: true }>,
  ): void {
    this.#scheduler.circuit.recordSuccess(isProbe)
    this.#events.onKeyAccepted()
    const answer = { ok: true, source: this.#options.name, asOf: askedAt } as const
    for (const [at, question] of questions.entries()) {
      const row = rows[at] ?? { problem: 'the reply has no row for it' }
      if ('problem' in row) {
        this.#deps.onSettled(question, { reason: 'not-understood', detail: row.problem })
      } else this.#deps.onSettled(question, { ...answer, ...row })
    }
  }

  #handleFailure(
    { isProbe, questions, authHeaders }: InFlightRequest<Asks, Value>,
    failure: RequestFailure,
  ): void {
    const mayHaveNewKey =
      failure.canRetryWithNewKey && this.#deps.credentials.invalidate(authHeaders)
    const isNewKeyTried = mayHaveNewKey && questions.every(({ hasNewKey }) => !hasNewKey)
    const now = this.#now()
    const { circuit } = this.#scheduler
    if (failure.isProviderFault && !isNewKeyTried)
      circuit.recordFailure(isProbe, failure.detail, now)
    // A rejected question proves that the provider works, and one caller's bad project must not stop others.
    else if (failure.reason === 'bad-question') circuit.recordSuccess(isProbe)
    else circuit.recordInconclusive(isProbe, now)
    if (failure.isKeyRefused && !isNewKeyTried) this.#events.onKeyRefused(failure.detail)
    const retries = this.#retries
    if (isNewKeyTried) this.#requeue(retries.retryWithNewKey(questions, failure))
    else if (failure.reason === 'rate-limited') this.#pause(questions, failure)
    else if (retries.canSplit(questions, failure))
      this.#requeue(retries.splitInHalves(questions, failure))
    else retries.scheduleRetry(questions, failure, { isProbe, isCircuitOpen: circuit.isOpen })
  }

  #pause(questions: CoalescedQuestions<Asks, Value>, failure: RequestFailure): void {
    const now = this.#now()
    const { waitMs, why } = this.#scheduler.pause(now, failure.retryAfterMs)
    this.#events.onRateLimited(waitMs)
    this.#requeue(this.#retries.keepRetryable(questions, why, { retryAtMs: now + waitMs }))
    this.#deps.onPause(now + waitMs, why)
  }
}

/** The first trace of the questions, which their request belongs to. */
function findTrace<Asks extends Question, Value>(
  questions: CoalescedQuestions<Asks, Value>,
): TraceContext | undefined {
  return questions.find(({ traces }) => traces.length > 0)?.traces[0]
}
