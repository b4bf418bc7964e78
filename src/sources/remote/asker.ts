/**
 * One question to one provider, as those who ask see it: what is the same is asked once, everybody
 * is told by the own deadline, and no more wait than may. When requests leave, and what becomes of
 * failed ones, is left to the sender; keeping answers to the cache.
 */
import type {
  Answered,
  Asked,
  Eventually,
  Question,
  QuestionName,
} from '../../domain/compliance.js'
import { Deadlines } from './deadlines.js'
import { closing, late, type NoAnswer, overloaded, thrown } from './no-answer.js'
import type { ProviderOptions, QuestionLimits } from './provider-options.js'
import { Sender, type SenderParts } from './sender.js'
import { type Listener, SharedQuestion } from './shared-question.js'

export type AskerParts<Asks extends Question, Value, Name extends string = QuestionName> = Omit<
  SenderParts<Asks, Value, Name>,
  'ended' | 'paused'
>

/** Who asks with nobody waiting is given so many times the deadline. */
const backgroundPatience = 10

export class Asker<Asks extends Question, Value, Name extends string = QuestionName> {
  readonly #parts: AskerParts<Asks, Value, Name>
  readonly #options: ProviderOptions<Name>
  readonly #limits: QuestionLimits
  readonly #sender: Sender<Asks, Value, Name>
  /** Every question that has not ended, by its identity. */
  readonly #known = new Map<string, SharedQuestion<Asks, Value>>()
  readonly #urgent: Deadlines<Listener<Asks, Value>>
  readonly #background: Deadlines<Listener<Asks, Value>>
  #isClosed = false

  constructor(parts: AskerParts<Asks, Value, Name>) {
    this.#parts = parts
    this.#options = parts.options
    this.#limits = parts.options.questions[parts.question.name]
    this.#sender = new Sender({
      ...parts,
      ended: (question, answer) => this.#end(question, answer),
      paused: (untilMs, why) => this.#giveUp(untilMs, why),
    })
    const due = (listeners: readonly Listener<Asks, Value>[]) => this.#tellLate(listeners)
    this.#urgent = new Deadlines(parts.options.timers, due)
    this.#background = new Deadlines(parts.options.timers, due)
  }

  /** Never throws or rejects; the answer comes at the latest at the question's deadline. */
  ask(asks: Asks): Eventually<Asked<Value>> {
    try {
      return this.#ask(asks)
    } catch (cause) {
      return this.#asked(thrown(cause))
    }
  }

  /** Promises that have not been kept. */
  underWay(): number {
    return this.#urgent.size + this.#background.size
  }

  /** Whether the provider is left alone, and for which failure. */
  circuit(): { readonly open: boolean; readonly detail: string } {
    return this.#sender.circuit()
  }

  /** Everybody is told and every request ended; nothing is asked any more. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const question of [...this.#known.values()]) this.#end(question, closing)
    await this.#sender.close()
  }

  #ask(asks: Asks): Eventually<Asked<Value>> {
    const { question } = this.#parts
    if (this.#isClosed) return this.#asked(closing)
    const refusal = question.refusal(asks)
    if (refusal !== undefined) return this.#asked({ why: 'not-askable', detail: refusal })
    const inBackground = asks.inBackground === true
    const deadlineMs = this.#options.timers.monotonicMs() + this.#patienceMs(inBackground)
    const identity = question.identity(asks)
    const known = this.#known.get(identity)
    if (known) return this.#join(known, inBackground, deadlineMs)
    const whyNot = this.#crowded(inBackground) ?? this.#sender.whyNot(deadlineMs)
    if (whyNot) return this.#asked(whyNot)
    const group = question.group(asks)
    const added = new SharedQuestion<Asks, Value>(asks, { identity, group })
    this.#known.set(identity, added)
    const answer = this.#join(added, inBackground, deadlineMs)
    this.#sender.add(added)
    return answer
  }

  #join(
    question: SharedQuestion<Asks, Value>,
    inBackground: boolean,
    deadlineMs: number,
  ): Promise<Asked<Value>> {
    const like = question.listenerLike(inBackground, deadlineMs)
    if (like) return like.promise
    const listener = question.listen(inBackground, deadlineMs)
    this.#lineOf(listener).add(listener)
    if (!inBackground && !question.isUrgent) this.#sender.hurry(question)
    return listener.promise
  }

  /** What nobody waits for takes at most half of the places, so that others find some. */
  #crowded(inBackground: boolean): NoAnswer | undefined {
    const { maxQueued } = this.#options.limits
    const queued = this.#known.size - this.#sender.questionsSent
    const isFull = queued >= maxQueued
    const isHalfFull = inBackground && this.#sender.inBackground >= Math.ceil(maxQueued / 2)
    return isFull || isHalfFull ? overloaded(queued) : undefined
  }

  #tellLate(listeners: readonly Listener<Asks, Value>[]): void {
    for (const listener of listeners) {
      const isSent = listener.question.place === 'sent'
      this.#leave(listener, late(isSent, this.#patienceMs(listener.inBackground)))
    }
    this.#sender.attend()
  }

  /** Nothing is sent until then: who cannot wait so long is told now. */
  #giveUp(untilMs: number, why: NoAnswer): void {
    for (const line of [this.#urgent, this.#background]) {
      for (const listener of line) {
        if (listener.deadlineMs > untilMs) break
        if (listener.question.place === 'sent') continue
        line.delete(listener)
        this.#leave(listener, why)
      }
    }
  }

  /** A request under way goes on without listeners: an answer may find the next who asks. */
  #leave(listener: Listener<Asks, Value>, why: NoAnswer): void {
    const { question } = listener
    question.waiting -= 1
    if (question.waiting === 0 && question.place !== 'sent') {
      this.#known.delete(question.identity)
      this.#sender.forget(question)
    }
    listener.tell(this.#asked(why))
  }

  #end(question: SharedQuestion<Asks, Value>, answer: Answered<Value> | NoAnswer): void {
    this.#known.delete(question.identity)
    this.#sender.forget(question)
    const asked = this.#asked(answer)
    for (const listener of question.listeners) {
      if (this.#lineOf(listener).delete(listener)) listener.tell(asked)
    }
    question.waiting = 0
  }

  #patienceMs(inBackground: boolean): number {
    return this.#limits.deadlineMs * (inBackground ? backgroundPatience : 1)
  }

  #lineOf({ inBackground }: Listener<Asks, Value>): Deadlines<Listener<Asks, Value>> {
    return inBackground ? this.#background : this.#urgent
  }

  #asked(answer: Answered<Value> | NoAnswer): Asked<Value> {
    if ('value' in answer) return answer
    return { answered: false, why: answer.why, detail: answer.detail, source: this.#options.name }
  }
}
