/**
 * Keeps the answers to one question: an LRU keyed by everything an answer depends on. Says which
 * answer may be given as fresh, which one stands in while the source is silent, and asks anew ahead
 * of an answer's end. What is kept apart, and why, is left to `cached.ts`. The one door to lru-cache.
 */
import { LRUCache } from 'lru-cache'
import { type Clock, monotonicSeconds, type Timers } from '../domain/clock.js'
import {
  type Answered,
  type Asked,
  type Eventually,
  isOfTheQuestion,
  type Question,
  type QuestionName,
} from '../domain/compliance.js'
import type { CallKind } from '../domain/decision.js'
import {
  type CacheSettings,
  isFresh,
  type KeptAnswer,
  type Moment,
  putOffRefresh,
  staysFresh,
} from './kept-answer.js'
import { type KeepRules, KeptNumber } from './kept-number.js'
import type { About } from './known-noes.js'
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

interface LookUp<Q> extends Moment, About {
  readonly question: Q
  readonly key: string
}

export class AnswerShelf<T, Q extends Question> {
  readonly #about: ShelvedQuestion<T, Q>
  readonly #options: ShelfOptions
  readonly #kept: LRUCache<string, KeptNumber<T>> | undefined
  readonly #rules: KeepRules<T>
  readonly #underWay = new UnderWay()
  readonly #inBackground = new Map<string, Promise<Warmed>>()

  constructor(about: ShelvedQuestion<T, Q>, options: ShelfOptions) {
    this.#about = about
    this.#options = options
    const { maxEntries } = options.settings
    this.#rules = {
      settings: options.settings,
      forbids: (asked, callKind) => isForbidden(asked, (value) => about.permits(value, callKind)),
    }
    this.#kept = maxEntries > 0 ? new LRUCache({ max: maxEntries }) : undefined
  }

  answer(question: Q, about: About): Eventually<Asked<T>> {
    const { watch, clockOf, timers } = this.#options
    const { name } = this.#about
    if (question.at !== undefined || !this.#kept) {
      watch.asked(name, 'bypass')
      return this.#ask(question)
    }
    const key = shelfKey(question.accountId, question.number)
    const { variant, scope } = about
    const known = this.#kept.get(key)?.answer(variant)
    const now = clockOf(question.accountId).now()
    const lookUp = { question, key, variant, scope, now, monotonicMs: timers.monotonicMs() }
    if (known && isFresh(known, lookUp)) {
      watch.asked(name, 'hit')
      if (now >= known.refreshFrom) this.#refresh(known, lookUp)
      return known.answer
    }
    watch.asked(name, known ? 'expired' : 'miss')
    return this.#askAnew(lookUp)
  }

  /** Asks in the background what is not kept or will not stay fresh; `fresh` when nothing is to do. */
  warm(question: Q, { variant, scope }: About, freshForMs: number): Eventually<Warmed> {
    if (!this.#kept) return 'unanswered'
    const key = shelfKey(question.accountId, question.number)
    const known = this.#kept.get(key)?.answer(variant)
    const moment = this.#moment(question)
    if (known && staysFresh(known, moment, freshForMs)) return 'fresh'
    return this.#askInBackground({ question, key, variant, scope, ...moment })
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
    if (mayLast && this.#standsIn(lookUp, true)) return this.#orStandInWhenLate(asked, lookUp)
    return asked.then((one) => this.#orStandIn(one, lookUp))
  }

  #moment({ accountId }: Pick<Question, 'accountId'>): Moment {
    const { clockOf, timers } = this.#options
    return { now: clockOf(accountId).now(), monotonicMs: timers.monotonicMs() }
  }

  /**
   * A no of anybody is an answer, whoever else is silent. While not everybody who should has
   * answered, a known no counts, and where policy has it an old yes; not the latter where the question
   * itself is at fault.
   */
  #orStandIn(asked: Asked<T>, lookUp: LookUp<Q>): Asked<T> {
    const silent = silentOne(asked)
    const insteadOf = asked.answered ? asked.insteadOf : undefined
    const why = silent?.detail ?? insteadOf?.because
    if (why === undefined || this.#rules.forbids(asked, lookUp.question.callKind)) return asked
    const mayPermit = silent !== undefined && !isOfTheQuestion(silent.why)
    return this.#standInFor(lookUp, why, mayPermit) ?? asked
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
      return this.#standInFor(lookUp, why, true) ?? this.#orStandIn(await asked, lookUp)
    } finally {
      stop?.()
    }
  }

  #standsIn(lookUp: LookUp<Q>, mayPermit: boolean): Answered<T> | undefined {
    const { question, key } = lookUp
    const staleForMs = this.#options.staleForMs[this.#about.name]
    const asked = { callKind: question.callKind, mayPermit, staleForMs }
    return this.#kept?.peek(key)?.standIn(lookUp, this.#moment(question), asked)
  }

  /** One that another asker has had meanwhile is as good as new. */
  #standInFor(lookUp: LookUp<Q>, why: string, mayPermit: boolean): Answered<T> | undefined {
    const { question, key, variant } = lookUp
    const known = this.#kept?.peek(key)?.answer(variant)
    if (mayPermit && known && isFresh(known, this.#moment(question))) return known.answer
    const given = this.#standsIn(lookUp, mayPermit)
    if (!given) return undefined
    this.#options.watch.asked(this.#about.name, 'stale')
    return markedStale(given, why)
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

  #keep(answer: Asked<T>, lookUp: LookUp<Q>): void {
    if (!answer.answered) return
    const kept = this.#kept?.get(lookUp.key) ?? new KeptNumber(this.#rules)
    kept.keep(answer, lookUp, { asked: lookUp, now: this.#moment(lookUp.question).now })
    this.#kept?.set(lookUp.key, kept)
    // The answer of the source that was to answer counts, also when it comes after another's.
    answer.insteadOf?.late?.then(
      (first) => this.#keep(first, lookUp),
      () => undefined,
    )
  }
}

/** The key of everything that is kept about one number of one account. */
export function shelfKey(accountId: string, number: string): string {
  return `${number}${accountId}`
}
