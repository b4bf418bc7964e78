/**
 * Sends the questions of one kind to their provider, as many together as wait when a request may
 * leave, and sends those of failed requests again where that may help (`failed-questions.ts`). Who
 * waits for the answers, and until when, is left to the asker; when a request may leave, to the pace.
 */
import type { Answered, Question, QuestionName } from '../../domain/compliance.js'
import type { BatchQuestion } from './batch-question.js'
import type { Credentials } from './credentials.js'
import type { ExchangeEnd, ExchangeFailure } from './exchange.js'
import { FailedQuestions, type FailedQuestionsParts } from './failed-questions.js'
import { type Flight, Flights } from './flights.js'
import { type NoAnswer, thrown } from './no-answer.js'
import { Pace, type Traffic } from './pace.js'
import { ProviderNews } from './provider-news.js'
import type { ProviderOptions } from './provider-options.js'
import { QuestionQueue } from './question-queue.js'
import type { Questions, SharedQuestion } from './shared-question.js'
import type { Transport } from './transport.js'

export interface SenderParts<Asks extends Question, Value, Name extends string = QuestionName>
  extends FailedQuestionsParts<Asks, Value, Name> {
  readonly question: BatchQuestion<Asks, Value, Name>
  readonly credentials: Credentials
  readonly transport: Transport
  /** Told once of every question that was added and not forgotten. */
  readonly ended: (
    question: SharedQuestion<Asks, Value>,
    answer: Answered<Value> | NoAnswer,
  ) => void
  /** Nothing is sent until then, on the monotonic clock. */
  readonly paused: (untilMs: number, why: NoAnswer) => void
}

export class Sender<Asks extends Question, Value, Name extends string = QuestionName> {
  readonly #parts: SenderParts<Asks, Value, Name>
  readonly #options: ProviderOptions<Name>
  readonly #news: ProviderNews<Name>
  readonly #pace: Pace
  readonly #queue: QuestionQueue<Asks, Value>
  readonly #again: FailedQuestions<Asks, Value, Name>
  readonly #flights: Flights<Asks, Value, Name>
  #wake: { readonly atMs: number; readonly callOff: () => void } | undefined
  #isObtainingKey = false

  constructor(parts: SenderParts<Asks, Value, Name>) {
    const { question, options } = parts
    this.#parts = parts
    this.#options = options
    this.#news = new ProviderNews(options, question.name)
    this.#pace = new Pace(options, options.questions[question.name], this.#news)
    this.#queue = new QuestionQueue(options.questions[question.name].numbersPerRequest)
    this.#again = new FailedQuestions(parts)
    this.#flights = new Flights({ ...parts, landed: (flight, end) => this.#landed(flight, end) })
  }

  /** Questions in requests under way. */
  get questionsSent(): number {
    return this.#flights.questions
  }

  /** Questions that wait to be sent and that nobody waits for. */
  get inBackground(): number {
    return this.#queue.inBackground
  }

  circuit(): { readonly open: boolean; readonly detail: string } {
    const { isOpen, detail } = this.#pace.circuit
    return { open: isOpen, detail }
  }

  /** Why a new question with that deadline would be asked in vain. */
  whyNot(deadlineMs: number): NoAnswer | undefined {
    const now = this.#now()
    const shut = this.#pace.shut(now) ?? this.#parts.credentials.problem()
    return shut ?? this.#pace.tooSlow(now, deadlineMs)
  }

  add(question: SharedQuestion<Asks, Value>): void {
    const isFull = this.#queue.add(question)
    if (isFull) {
      this.#pace.gathered(this.#now())
      this.attend()
    } else this.#gather(question)
  }

  /** Somebody waits now for what was asked with nobody waiting. */
  hurry(question: SharedQuestion<Asks, Value>): void {
    if (question.place === 'queued') {
      this.#queue.hurry(question)
      this.#gather(question)
    } else question.isUrgent = true
  }

  /** It is not sent any more; a request under way goes on. */
  forget(question: SharedQuestion<Asks, Value>): void {
    if (question.place === 'queued') this.#queue.remove(question)
    question.place = 'ended'
  }

  /** Sends what can be sent, and sees to it that it is called when the next can be. */
  attend(): void {
    this.#stopWaking()
    const rested = this.#again.resting.take(this.#now())
    if (rested.length > 0) this.#putBack(rested)
    let waitMs = this.#waitMs()
    while (waitMs === 0) {
      this.#sendNext()
      waitMs = this.#waitMs()
    }
    const now = this.#now()
    this.#pace.rest(now, this.#traffic())
    this.#wakeAt(Math.min(now + waitMs, this.#again.resting.nextMs()))
  }

  /** Ends every request; its questions have been told by whoever added them. */
  async close(): Promise<void> {
    this.#stopWaking()
    await this.#flights.close()
  }

  #now(): number {
    return this.#options.timers.monotonicMs()
  }

  #traffic(): Traffic {
    const { isEmpty, isUrgent } = this.#queue
    return { isEmpty, isUrgent, requests: this.#flights.size }
  }

  #gather({ isUrgent }: SharedQuestion<Asks, Value>): void {
    const atMs = this.#pace.gather(this.#now(), isUrgent)
    if (atMs !== undefined) this.#wakeAt(atMs)
  }

  #wakeAt(atMs: number): void {
    if (atMs === Number.POSITIVE_INFINITY || (this.#wake && this.#wake.atMs <= atMs)) return
    this.#stopWaking()
    const callOff = this.#options.timers.after(Math.max(0, Math.ceil(atMs - this.#now())), () =>
      this.attend(),
    )
    this.#wake = { atMs, callOff }
  }

  #stopWaking(): void {
    this.#wake?.callOff()
    this.#wake = undefined
  }

  /** These have waited for others already. */
  #putBack(questions: Questions<Asks, Value>): void {
    if (questions.length === 0) return
    this.#queue.putBack(questions)
    this.#pace.gathered(this.#now())
  }

  #endWaiting(why: NoAnswer): void {
    for (const one of [...this.#queue.clear(), ...this.#again.resting.clear()]) {
      this.#parts.ended(one, why)
    }
  }

  #waitMs(): number {
    const now = this.#now()
    const shut = this.#pace.shut(now)
    if (shut) this.#endWaiting(shut)
    const waitMs = this.#pace.waitMs(now, this.#traffic())
    return waitMs > 0 || this.#hasKey() ? waitMs : Number.POSITIVE_INFINITY
  }

  /** The key comes before the token of the bucket: a request that has one leaves at once. */
  #hasKey(): boolean {
    const { credentials } = this.#parts
    if (credentials.current()) return true
    const problem = credentials.problem()
    if (problem) this.#endWaiting(problem)
    else if (!this.#isObtainingKey) {
      this.#isObtainingKey = true
      void credentials.obtain().then(() => {
        this.#isObtainingKey = false
        this.attend()
      })
    }
    return false
  }

  #sendNext(): void {
    const { question, credentials, ended } = this.#parts
    const questions = this.#queue.take()
    try {
      const keyHeaders = credentials.current()
      if (!keyHeaders) throw new Error('there is no key to ask with')
      const outgoing = question.compose(questions.map(({ asks }) => asks))
      const isProbe = this.#pace.leaves(this.#now())
      this.#flights.start({ questions, outgoing, keyHeaders, isProbe })
    } catch (cause) {
      for (const one of questions) ended(one, thrown(cause))
    }
  }

  #landed(flight: Flight<Asks, Value>, end: ExchangeEnd<Value>): void {
    if (end.answered) this.#answered(flight, end)
    else this.#failed(flight, end)
    this.attend()
  }

  #answered(
    { questions, isProbe }: Flight<Asks, Value>,
    { rows, askedAt }: Extract<ExchangeEnd<Value>, { answered: true }>,
  ): void {
    this.#pace.circuit.succeeded(isProbe)
    this.#news.keyAccepted()
    const made = { answered: true, source: this.#options.name, asOf: askedAt } as const
    for (const [at, question] of questions.entries()) {
      const row = rows[at] ?? { notUnderstood: 'there is no row for it' }
      if ('notUnderstood' in row) {
        this.#parts.ended(question, { why: 'not-understood', detail: row.notUnderstood })
      } else this.#parts.ended(question, { ...made, ...row })
    }
  }

  #failed(flight: Flight<Asks, Value>, failure: ExchangeFailure): void {
    const { isProbe, questions, keyHeaders } = flight
    const mayHaveNewKey = failure.isNewKeyWorth && this.#parts.credentials.drop(keyHeaders)
    const isNewKeyTried = mayHaveNewKey && questions.every(({ isWithNewKey }) => !isWithNewKey)
    const now = this.#now()
    const { circuit } = this.#pace
    if (failure.isFault && !isNewKeyTried) circuit.failed(isProbe, failure.detail, now)
    // Who refuses a question is there; or one caller's wrong project would keep all others waiting.
    else if (failure.why === 'bad-question') circuit.succeeded(isProbe)
    else circuit.undecided(isProbe, now)
    if (failure.isKeyRefused && !isNewKeyTried) this.#news.keyRefused(failure.detail)
    const again = this.#again
    if (isNewKeyTried) this.#putBack(again.withNewKey(questions, failure))
    else if (failure.why === 'rate-limited') this.#pause(questions, failure)
    else if (again.canHalve(questions, failure)) this.#putBack(again.inHalves(questions, failure))
    else again.rest(questions, failure, { isProbe, isCircuitOpen: circuit.isOpen })
  }

  #pause(questions: Questions<Asks, Value>, failure: ExchangeFailure): void {
    const now = this.#now()
    const { waitMs, why } = this.#pace.pause(now, failure.waitMs)
    this.#news.askedTooOften(waitMs)
    this.#putBack(this.#again.wanted(questions, why, { fromMs: now + waitMs }))
    this.#parts.paused(now + waitMs, why)
  }
}
