/**
 * What is kept about one number of one account for one question: the latest whole answers, and what
 * each source forbids. Whom to ask, and when, is left to `answer-shelf.ts`.
 */
import type { Instant } from '../domain/clock.js'
import type { Answered, Asked } from '../domain/compliance.js'
import { type CallKind, callKinds } from '../domain/decision.js'
import {
  type CacheSettings,
  type KeptAnswer,
  keptAnswer,
  type Moment,
  mayStandIn,
} from './kept-answer.js'
import { type About, KnownNoes } from './known-noes.js'
import { answeredParts, silentOne } from './whole-answer.js'

/** The same for every number of a question. */
export interface KeepRules<T> {
  readonly settings: CacheSettings
  /** Whether somebody who answered forbids this kind of call; without one, every kind. */
  readonly forbids: (asked: Asked<T>, callKind: CallKind | undefined) => boolean
}

/** When an answer was asked for, and when it is kept. */
export interface KeptWhen {
  readonly asked: Moment
  /** By the account's clock. */
  readonly now: Instant
}

/** A caller may make up postal codes without end; nobody needs more of them for one number. */
const mostVariants = 16

export class KeptNumber<T> {
  readonly #rules: KeepRules<T>
  /** By the rest of what the question holds. */
  readonly #answers = new Map<string, KeptAnswer<T>>()
  readonly #noes = new KnownNoes<T>()

  constructor(rules: KeepRules<T>) {
    this.#rules = rules
  }

  /** The latest whole answer, whatever its age. */
  answer(variant: string): KeptAnswer<T> | undefined {
    return this.#answers.get(variant)
  }

  /** Every part for what it forbids, and a whole answer to be given again. */
  keep(answer: Answered<T>, about: About, when: KeptWhen): void {
    const { variant } = about
    for (const part of answeredParts(answer)) {
      this.#noes.note(part, about, this.#barsSomeKind(part))
    }
    if (!silentOne(answer)) this.#keepWhole(answer, variant, when)
    const whole = this.#answers.get(variant)
    if (whole && this.#isBarred(whole, about, when.now)) {
      this.#answers.set(variant, { ...whole, until: Math.min(whole.until, whole.from) })
    }
  }

  /** While a source is silent: a known no, or where `mayPermit` a yes that is not too old. */
  standIn(
    about: About,
    moment: Moment,
    asked: {
      readonly callKind: CallKind | undefined
      readonly mayPermit: boolean
      readonly staleForMs: number
    },
  ): Answered<T> | undefined {
    const { callKind, mayPermit, staleForMs } = asked
    const { forbids } = this.#rules
    const no = this.#noes.find(about, moment.now, (one) => forbids(one, callKind))
    if (no || !mayPermit) return no
    const known = this.#answers.get(about.variant)
    if (!known || forbids(known.answer, callKind)) return undefined
    return mayStandIn(known, moment, staleForMs) ? known.answer : undefined
  }

  #keepWhole(answer: Answered<T>, variant: string, { asked, now }: KeptWhen): void {
    const known = this.#answers.get(variant)
    const from = Math.min(asked.now, answer.asOf)
    if (known && isOutrun(known, { answer, from, now })) return
    const { settings, forbids } = this.#rules
    if (this.#answers.size >= mostVariants && !known) this.#forgetOldest()
    const made = { from, keptMs: asked.monotonicMs, forbids: forbids(answer, undefined), settings }
    this.#answers.set(variant, keptAnswer(withoutLate(answer), made))
  }

  #forgetOldest(): void {
    const [oldest = ''] = this.#answers.keys()
    this.#answers.delete(oldest)
    this.#noes.forgetVariant(oldest)
  }

  /** Whether somebody is known to forbid a kind of call that the whole answer permits. */
  #isBarred({ answer }: KeptAnswer<T>, about: About, now: Instant): boolean {
    const { forbids } = this.#rules
    const bars = (no: Answered<T>) =>
      callKinds.some((callKind) => forbids(no, callKind) && !forbids(answer, callKind))
    return this.#noes.find(about, now, bars) !== undefined
  }

  #barsSomeKind(answer: Answered<T>): boolean {
    return callKinds.some((callKind) => this.#rules.forbids(answer, callKind))
  }
}

/**
 * Whether what is kept was asked later, by a clock that has not been set back since. An answer that
 * stood in for another gives way to that one's own, however late.
 */
function isOutrun<T>(
  known: KeptAnswer<T>,
  by: { readonly answer: Answered<T>; readonly from: Instant; readonly now: Instant },
): boolean {
  if (known.answer.insteadOf !== undefined && by.answer.insteadOf === undefined) return false
  return known.from > by.from && known.from <= by.now
}

/** A promise would be kept as long as the answer. */
function withoutLate<T>(answer: Answered<T>): Answered<T> {
  const { insteadOf } = answer
  return insteadOf?.late ? { ...answer, insteadOf: { because: insteadOf.because } } : answer
}
