/**
 * Keeps the answers to one question: an LRU keyed by everything an answer depends on. Says which
 * answer may be given as fresh, which one stands in while the source is silent, and asks anew ahead
 * of an answer's end. What is kept apart, and why, is left to `cached.ts`. The one door to lru-cache.
 */
import { LRUCache } from 'lru-cache'
import { type Clock, type Instant, monotonicSeconds, type Timers } from '../domain/clock.js'
import type { Answered, Asked, Eventually, Question, QuestionName } from '../domain/compliance.js'
import { type CallKind, callKinds } from '../domain/decision.js'
import {
  type CacheSettings,
  isFresh,
  type KeptAnswer,
  keptAnswer,
  type Moment,
  putOffRefresh,
  standInOf,
  staysFresh,
} from './kept-answer.js'
import { UnderWay } from './under-way.js'
import { isForbidden, markedStale, silentOne } from './whole-answer.js'

export interface CacheWatch {
  /**
   * Each look-up is a `hit`, `miss`, `expired` or `bypass`. In addition to that, `stale` is an
   * expired answer that stood in for a silent source, and `refresh` a question in the background.
   */
  asked(
    question: QuestionName,
    result: 'hit' | 'miss' | 'expired' | 'bypass' | 'stale' | 'refresh',
  ): void
  /** One question put to the source, in the background or not. */
  answered(question: QuestionName, outcome: 'answered' | 'unanswered', seconds: number): void
}

export interface ShelfOptions {
  readonly settings: CacheSettings
  /** How long past its end an answer may still permit while the source is silent; 0 is not at all. */
  readonly staleForMs: Readonly<Record<QuestionName, number>>
  /** How long a silent source is waited for where an answer could stand in; infinity is for ever. */
  readonly staleAfterMs: number
  readonly timers: Timers
  /** Ages count by the account's own clock: the sandbox may stand still. */
  readonly clockOf: (accountId: string) => Clock
  readonly watch: CacheWatch
}

/** One question of the port, as the shelf needs to know it. */
export interface ShelvedQuestion<T, Q extends Question> {
  readonly name: QuestionName
  readonly ask: (question: Q) => Eventually<Asked<T>>
  /** Whether the value permits this kind of call; without a kind, whether it permits any. */
  readonly permits: (value: T, callKind: CallKind | undefined) => boolean
}

export type Warmed = 'fresh' | 'answered' | 'unanswered'

/** Answers about one number of one account, by the rest of what the question holds. */
type Variants<T> = Map<string, KeptAnswer<T>>

interface LookUp<Q> extends Moment {
  readonly question: Q
  readonly key: string
  readonly variant: string
}

/** A caller may make up postal codes without end; nobody needs more of them for one number. */
const mostVariants = 16

export class AnswerShelf<T, Q extends Question> {
  readonly #about: ShelvedQuestion<T, Q>
  readonly #options: ShelfOptions
  readonly #kept: LRUCache<string, Variants<T>> | undefined
  readonly #underWay = new UnderWay()
  readonly #inBackground = new Map<string, Promise<Warmed>>()

  constructor(about: ShelvedQuestion<T, Q>, options: ShelfOptions) {
    this.#about = about
    this.#options = options
    const { maxEntries } = options.settings
    this.#kept = maxEntries > 0 ? new LRUCache({ max: maxEntries }) : undefined
  }

  /** `variant` is the rest of what the answer depends on, beside number and account. */
  answer(question: Q, variant: string): Eventually<Asked<T>> {
    const { watch, clockOf, timers } = this.#options
    const { name } = this.#about
    if (question.at !== undefined || !this.#kept) {
      watch.asked(name, 'bypass')
      return this.#ask(question)
    }
    const key = shelfKey(question.accountId, question.number)
    const known = this.#kept.get(key)?.get(variant)
    const now = clockOf(question.accountId).now()
    const lookUp = { question, key, variant, now, monotonicMs: timers.monotonicMs() }
    if (known && isFresh(known, lookUp)) {
      watch.asked(name, 'hit')
      if (now >= known.refreshFrom) this.#refresh(known, lookUp)
      return known.answer
    }
    watch.asked(name, known ? 'expired' : 'miss')
    return this.#askAnew(lookUp)
  }

  /** Asks in the background what is not kept or will not stay fresh; `fresh` when nothing is to do. */
  warm(question: Q, variant: string, freshForMs: number): Eventually<Warmed> {
    if (!this.#kept) return 'unanswered'
    const key = shelfKey(question.accountId, question.number)
    const known = this.#kept.get(key)?.get(variant)
    const moment = this.#moment(question)
    if (known && staysFresh(known, moment, freshForMs)) return 'fresh'
    return this.#askInBackground({ question, key, variant, ...moment })
  }

  /** An answer still under way was made from what may have changed, so it is not kept either. */
  forget(key?: string): void {
    this.#underWay.change(key)
    if (key === undefined) this.#kept?.clear()
    else this.#kept?.delete(key)
  }

  #askAnew(lookUp: LookUp<Q>): Eventually<Asked<T>> {
    const asked = this.#askAndKeep(lookUp)
    if (!(asked instanceof Promise)) return this.#orStandIn(asked, lookUp)
    const mayLast = this.#options.staleAfterMs < Number.POSITIVE_INFINITY
    if (mayLast && this.#standsIn(lookUp)) return this.#orStandInWhenLate(asked, lookUp)
    return asked.then((one) => this.#orStandIn(one, lookUp))
  }

  #moment({ accountId }: Pick<Question, 'accountId'>): Moment {
    const { clockOf, timers } = this.#options
    return { now: clockOf(accountId).now(), monotonicMs: timers.monotonicMs() }
  }

  /**
   * A no of anybody is an answer, whoever else is silent. A source that answers instead of another
   * lifts no known no of that one.
   */
  #orStandIn(asked: Asked<T>, lookUp: LookUp<Q>): Asked<T> {
    const silent = silentOne(asked)
    const insteadOf = asked.answered ? asked.insteadOf : undefined
    const why = silent?.detail ?? insteadOf?.because
    if (why === undefined || this.#isForbidden(asked, lookUp.question)) return asked
    const given = this.#standInFor(lookUp, why)
    if (!given || (!silent && !this.#isForbidden(given, lookUp.question))) return asked
    return given
  }

  async #orStandInWhenLate(asked: Promise<Asked<T>>, lookUp: LookUp<Q>): Promise<Asked<T>> {
    const { timers, staleAfterMs } = this.#options
    let stop: (() => void) | undefined
    const late = new Promise<undefined>((resolve) => {
      stop = timers.after(staleAfterMs, () => resolve(undefined))
    })
    try {
      const inTime = await Promise.race([asked, late])
      if (inTime) return this.#orStandIn(inTime, lookUp)
      const why = `no answer within ${staleAfterMs} ms`
      return this.#standInFor(lookUp, why) ?? this.#orStandIn(await asked, lookUp)
    } finally {
      stop?.()
    }
  }

  #standsIn({ question, key, variant }: LookUp<Q>): Answered<T> | undefined {
    const known = this.#kept?.peek(key)?.get(variant)
    const staleForMs = this.#options.staleForMs[this.#about.name]
    const forbids = (answer: Answered<T>) => this.#isForbidden(answer, question)
    return known && standInOf(known, this.#moment(question), { forbids, staleForMs })
  }

  /** One that another asker has had meanwhile is as good as new. */
  #standInFor(lookUp: LookUp<Q>, why: string): Answered<T> | undefined {
    const { question, key, variant } = lookUp
    const known = this.#kept?.peek(key)?.get(variant)
    if (known && isFresh(known, this.#moment(question))) return known.answer
    const given = this.#standsIn(lookUp)
    if (!given) return undefined
    this.#options.watch.asked(this.#about.name, 'stale')
    return markedStale(given, why)
  }

  #isForbidden(asked: Asked<T>, { callKind }: Pick<Question, 'callKind'>): boolean {
    return isForbidden(asked, (value) => this.#about.permits(value, callKind))
  }

  #refresh(known: KeptAnswer<T>, lookUp: LookUp<Q>): void {
    putOffRefresh(known, lookUp.now)
    void this.#askInBackground(lookUp)
  }

  /** Once at a time for each key and variant; never rejects. */
  #askInBackground(lookUp: LookUp<Q>): Promise<Warmed> {
    const which = `${lookUp.variant}\n${lookUp.key}`
    const running = this.#inBackground.get(which)
    if (running) return running
    this.#options.watch.asked(this.#about.name, 'refresh')
    const asked = this.#askQuietly(lookUp)
    const ended = () => this.#inBackground.delete(which)
    this.#inBackground.set(which, asked)
    void asked.then(ended)
    return asked
  }

  /** Nobody waits for the answer, so nobody is there to be told of a source that throws. */
  async #askQuietly(lookUp: LookUp<Q>): Promise<Warmed> {
    try {
      const question = { ...lookUp.question, inBackground: true }
      const asked = await this.#askAndKeep({ ...lookUp, question })
      return silentOne(asked) ? 'unanswered' : 'answered'
    } catch {
      return 'unanswered'
    }
  }

  #askAndKeep(lookUp: LookUp<Q>): Eventually<Asked<T>> {
    const asked = this.#ask(lookUp.question)
    if (asked instanceof Promise) return this.#keepWhenThere(asked, lookUp)
    this.#keep(asked, lookUp)
    return asked
  }

  async #keepWhenThere(asked: Promise<Asked<T>>, lookUp: LookUp<Q>): Promise<Asked<T>> {
    const asking = this.#underWay.begin(lookUp.key)
    try {
      const answer = await asked
      if (!asking.changed) this.#keep(answer, lookUp)
      return answer
    } finally {
      this.#underWay.end(lookUp.key, asking)
    }
  }

  #ask(question: Q): Eventually<Asked<T>> {
    const started = monotonicSeconds()
    const asked = this.#about.ask(question)
    if (!(asked instanceof Promise)) return this.#measured(asked, started)
    return asked.then((answer) => this.#measured(answer, started))
  }

  #measured(asked: Asked<T>, started: number): Asked<T> {
    const outcome = asked.answered ? 'answered' : 'unanswered'
    this.#options.watch.answered(this.#about.name, outcome, monotonicSeconds() - started)
    return asked
  }

  #keep(asked: Asked<T>, lookUp: LookUp<Q>): void {
    if (!asked.answered) return
    const { question, key, variant, now, monotonicMs } = lookUp
    const variants: Variants<T> = this.#kept?.get(key) ?? new Map()
    const known = variants.get(variant)
    const from = Math.min(now, asked.asOf)
    if (this.#isOutrun(known, question, from)) return
    this.#keepLate(asked, lookUp)
    const forbids = this.#isForbidden(asked, {})
    const { settings } = this.#options
    const made = keptAnswer(withoutLate(asked), { from, keptMs: monotonicMs, forbids, settings })
    const kept = silentOne(asked) ? this.#withNo(known, made) : this.#unlessLifted(known, made)
    if (!kept) return
    if (variants.size >= mostVariants && !known) variants.delete(oldestOf(variants))
    variants.set(variant, kept)
    this.#kept?.set(key, variants)
  }

  /** A no beside a silence: what is kept stays for its own no, and permits no more what this bars. */
  #withNo(known: KeptAnswer<T> | undefined, made: KeptAnswer<T>): KeptAnswer<T> | undefined {
    if (!callKinds.some((callKind) => this.#isForbidden(made.answer, { callKind })))
      return undefined
    if (!known) return { ...made, until: made.from, laterNo: made.answer }
    return { ...known, until: Math.min(known.until, made.from), laterNo: made.answer }
  }

  /** The answer of a source that stands in for another is not kept where it lifts that one's no. */
  #unlessLifted(known: KeptAnswer<T> | undefined, made: KeptAnswer<T>): KeptAnswer<T> | undefined {
    const { insteadOf } = made.answer
    if (
      !known ||
      insteadOf === undefined ||
      known.answer.insteadOf ||
      known.holdsUntil <= made.from
    )
      return made
    const isLifted = callKinds.some(
      (callKind) =>
        this.#isForbidden(known.answer, { callKind }) &&
        !this.#isForbidden(made.answer, { callKind }),
    )
    return isLifted ? undefined : made
  }

  /** The answer of the source that was to answer counts, also when it comes after another's. */
  #keepLate({ insteadOf }: Answered<T>, lookUp: LookUp<Q>): void {
    insteadOf?.late?.then(
      (first) => this.#keep(first, lookUp),
      () => undefined,
    )
  }

  /** Whether what is kept was asked later, by a clock that has not been set back since. */
  #isOutrun(known: KeptAnswer<T> | undefined, { accountId }: Question, askedAt: Instant): boolean {
    if (!known || known.from <= askedAt) return false
    return known.from <= this.#options.clockOf(accountId).now()
  }
}

/** A promise would be kept as long as the answer. */
function withoutLate<T>(answer: Answered<T>): Answered<T> {
  const { insteadOf } = answer
  return insteadOf?.late ? { ...answer, insteadOf: { because: insteadOf.because } } : answer
}

function oldestOf(variants: ReadonlyMap<string, unknown>): string {
  const [oldest = ''] = variants.keys()
  return oldest
}

/** The key of everything that is kept about one number of one account. */
export function shelfKey(accountId: string, number: string): string {
  return `${number}${accountId}`
}
