/** Caches the answers to the questions about a call while they are fresh. */

import type { ChangeObserver } from '../../domain/change-notifier.js'
import {
  type Answer,
  type AnswerSuccess,
  type Compliance,
  findUnanswered,
  isRequestError,
  type MaybePromise,
  markStale,
  type Question,
  type QuestionName,
} from '../../domain/compliance.js'
import type { CallKind } from '../../domain/decision.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { Clock, ClockReading, Timers } from '../../domain/time/clock.js'
import type { Said } from '../../domain/words/words.js'
import { entryPermits, hoursPermit, litigatorPermits, rowPermits } from '../../judge/permits.js'
import { monotonicSeconds, withTimeout } from '../../runtime/runtime.js'
import {
  type AnswerSubject,
  type CachedAnswer,
  type CachedEntries,
  CachedNumbers,
  type CachedValues,
  CacheEntry,
  type CacheRules,
  type CacheSettings,
  formatCacheKey,
  minRefreshIntervalMs,
} from './cache-entry.js'
import { InFlightLookups } from './in-flight-lookups.js'

interface CacheObserver {
  /**
   * Counts the lookups of a question. Each is a `hit`, `miss`, `expired` or `bypass`. In addition,
   * `stale` is an expired answer that was used because the source did not answer, and `refresh` is a
   * question in the background.
   */
  countLookups(
    question: QuestionName,
  ): (result: 'hit' | 'miss' | 'expired' | 'bypass' | 'stale' | 'refresh') => void
  /** Called for each question to the source, including those in the background. */
  onAnswer(question: QuestionName, outcome: 'answered' | 'unanswered', seconds: number): void
}

export interface CachedComplianceOptions {
  readonly settings: CacheSettings
  /** How long after its expiry an answer may still permit calls while the source does not answer. */
  readonly staleForMs: Readonly<Record<QuestionName, number>>
  /** How long to wait for the source if there is a stale answer; infinity means no limit. */
  readonly staleAfterMs: number
  readonly timers: Timers
  /** The clock of the accounts; that of the sandbox may be fixed. */
  readonly clock: Clock
  readonly observer: CacheObserver
}

export type WarmupResult = 'fresh' | 'answered' | 'unanswered'

/**
 * A change to a number invalidates its answers immediately. What-if questions bypass the cache. Questions
 * in the background, such as those of previews, use cached answers but add none; only {@link warmUp} does.
 */
export class CachedCompliance implements Compliance, ChangeObserver {
  readonly #scrub: AnswerCache<'scrub'>
  readonly #internalDnc: AnswerCache<'internal-dnc'>
  readonly #litigator: AnswerCache<'litigator'>
  readonly #legalTime: AnswerCache<'legal-time'>
  readonly #numbers: CachedNumbers<CachedEntries<QuestionName>>
  readonly scrub: Compliance['scrub']
  readonly internalDnc: Compliance['internalDnc']
  readonly litigator: Compliance['litigator']
  readonly legalTime: Compliance['legalTime']

  constructor(source: Compliance, options: CachedComplianceOptions) {
    const numbers = new CachedNumbers<CachedEntries<QuestionName>>(
      options.settings.maxEntries,
      () => ({}),
    )
    this.#numbers = numbers
    this.#scrub = new AnswerCache(options, {
      name: 'scrub',
      numbers,
      ask: (question) => source.scrub(question),
      isPermitted: rowPermits,
      dependsOn: 'place',
      sharesDenials: true,
    })
    this.#internalDnc = new AnswerCache(options, {
      name: 'internal-dnc',
      numbers,
      ask: (question) => source.internalDnc(question),
      isPermitted: entryPermits,
      dependsOn: 'scope',
    })
    this.#litigator = new AnswerCache(options, {
      name: 'litigator',
      numbers,
      ask: (question) => source.litigator(question),
      isPermitted: litigatorPermits,
      dependsOn: 'scope',
    })
    this.#legalTime = new AnswerCache(options, {
      name: 'legal-time',
      numbers,
      ask: (question) => source.legalTime(question),
      isPermitted: hoursPermit,
      dependsOn: 'scope',
    })
    this.scrub = this.#scrub.answer
    this.internalDnc = this.#internalDnc.answer
    this.litigator = this.#litigator.answer
    this.legalTime = this.#legalTime.answer
  }

  /**
   * Asks, in the background, those of the four questions whose cached answer does not stay fresh for
   * `freshForMs` (or the maximum age, if shorter). Resolves to `fresh` if none had to be asked, and to
   * `unanswered` if an answer is still missing. Never rejects.
   */
  async warmUp(question: Question, freshForMs: number): Promise<WarmupResult> {
    const results = await Promise.all([
      this.#scrub.warmUp(question, freshForMs),
      this.#internalDnc.warmUp(question, freshForMs),
      this.#litigator.warmUp(question, freshForMs),
      this.#legalTime.warmUp(question, freshForMs),
    ])
    if (results.includes('unanswered')) return 'unanswered'
    return results.includes('answered') ? 'answered' : 'fresh'
  }

  numbersChanged(accountId: string, numbers: readonly PhoneNumber[]): void {
    for (const number of numbers) this.#invalidate(formatCacheKey({ accountId, number }))
  }

  everythingChanged(): void {
    this.#numbers.deleteAll()
    this.#discardAnswersInFlight()
  }

  /** The account may no longer use what is cached for it. */
  accountChanged(accountId: string): void {
    this.#numbers.deleteAccount(accountId)
    this.#discardAnswersInFlight()
  }

  #invalidate(key: string): void {
    this.#numbers.delete(key)
    this.#discardAnswersInFlight(key)
  }

  #discardAnswersInFlight(key?: string): void {
    for (const cache of [this.#scrub, this.#internalDnc, this.#litigator, this.#legalTime]) {
      cache.discardAnswersInFlight(key)
    }
  }
}

/** Describes the caching of one question of the port. */
interface CachedQuestion<Name extends QuestionName> {
  readonly name: Name
  /** Shared by the four caches. */
  readonly numbers: CachedNumbers<CachedEntries<QuestionName>>
  readonly ask: (question: Question) => MaybePromise<Answer<CachedValues[Name]>>
  /** Whether the value permits this kind of call; without a kind, whether it permits any. */
  readonly isPermitted: (value: CachedValues[Name], callKind: CallKind | undefined) => boolean
  /** `scope`: project and campaign. `place`: also the postal code. */
  readonly dependsOn: 'scope' | 'place'
  /** Whether a denial without an expiry, such as one by a list, applies to every place. */
  readonly sharesDenials?: boolean
}

/** A question with its place in the cache and the time at which it was asked. */
interface CacheLookup<Name extends QuestionName> extends AnswerSubject, ClockReading {
  readonly question: Question
  readonly key: string
  readonly entry: CacheEntry<CachedValues[Name]> | undefined
}

class AnswerCache<Name extends QuestionName> {
  readonly #options: CachedComplianceOptions
  readonly #about: CachedQuestion<Name>
  readonly #isOff: boolean
  readonly #countLookup: ReturnType<CacheObserver['countLookups']>
  readonly #rules: CacheRules<CachedValues[Name]>
  readonly #inFlight = new InFlightLookups()
  readonly #backgroundRefreshes = new Map<string, Promise<WarmupResult>>()

  constructor(options: CachedComplianceOptions, about: CachedQuestion<Name>) {
    this.#options = options
    this.#about = about
    this.#isOff = options.settings.maxEntries === 0
    this.#countLookup = options.observer.countLookups(about.name)
    const { settings } = options
    this.#rules = {
      settings,
      isForbidden: (answer, callKind) => {
        if (!answer.ok) return false
        if (!about.isPermitted(answer.value, callKind)) return true
        return answer.otherAnswers?.some((one) => this.#rules.isForbidden(one, callKind)) ?? false
      },
    }
  }

  readonly answer = (question: Question): MaybePromise<Answer<CachedValues[Name]>> => {
    if (question.at !== undefined || this.#isOff) {
      this.#countLookup('bypass')
      return this.#ask(question)
    }
    const lookup = this.#createLookup(question)
    const known = lookup.entry?.find(lookup.variant)
    if (known && isFresh(known, lookup)) {
      this.#countLookup('hit')
      if (lookup.now >= known.refreshFrom && !question.inBackground) {
        known.refreshFrom = lookup.now + minRefreshIntervalMs
        void this.#askInBackground(lookup)
      }
      return known.answer
    }
    this.#countLookup(known ? 'expired' : 'miss')
    const answer = this.#ask(question, question.inBackground ? undefined : lookup)
    return answer instanceof Promise
      ? this.#serveStaleIfLate(answer, lookup)
      : this.#serveStaleIfUnanswered(answer, lookup)
  }

  /** Asks in the background unless a cached answer stays fresh for that long. */
  warmUp(question: Question, freshForMs: number): MaybePromise<WarmupResult> {
    if (this.#isOff) return 'unanswered'
    const lookup = this.#createLookup(question)
    const known = lookup.entry?.find(lookup.variant)
    if (known && isFreshFor(known, lookup, freshForMs)) return 'fresh'
    return this.#askInBackground(lookup)
  }

  /** They may be based on facts from before the change. */
  discardAnswersInFlight(key?: string): void {
    this.#inFlight.invalidate(key)
  }

  #createLookup(question: Question): CacheLookup<Name> {
    const { dependsOn, sharesDenials, numbers } = this.#about
    const { key, number, scope, place } = numbers.find(question)
    const variant = dependsOn === 'place' ? place : scope
    const { now, monotonicMs } = question.asked ?? this.#readClocks()
    return {
      question,
      key,
      entry: number?.entries[this.#about.name],
      variant,
      scope: sharesDenials ? scope : variant,
      now,
      monotonicMs,
    }
  }

  /** Asks the source; with a lookup, stores the answer unless the facts changed in the meantime. */
  #ask(question: Question, lookup?: CacheLookup<Name>): MaybePromise<Answer<CachedValues[Name]>> {
    const startedSeconds = monotonicSeconds()
    const answer = this.#about.ask(question)
    if (answer instanceof Promise) return this.#awaitAnswer(answer, startedSeconds, lookup)
    this.#observe(answer, startedSeconds)
    if (lookup) this.#store(answer, lookup)
    return answer
  }

  async #awaitAnswer(
    answering: Promise<Answer<CachedValues[Name]>>,
    startedSeconds: number,
    lookup: CacheLookup<Name> | undefined,
  ): Promise<Answer<CachedValues[Name]>> {
    const answer = await (lookup ? this.#storeUnlessChanged(answering, lookup) : answering)
    this.#observe(answer, startedSeconds)
    return answer
  }

  /** Stores the answer when it arrives, unless the facts changed meanwhile. */
  async #storeUnlessChanged(
    answering: Promise<Answer<CachedValues[Name]>>,
    lookup: CacheLookup<Name>,
  ): Promise<Answer<CachedValues[Name]>> {
    const inFlight = this.#inFlight.begin(lookup.key)
    try {
      const answer = await answering
      if (!inFlight.isInvalidated) this.#store(answer, lookup)
      return answer
    } finally {
      this.#inFlight.end(lookup.key, inFlight)
    }
  }

  #observe({ ok }: Answer<CachedValues[Name]>, startedSeconds: number): void {
    const seconds = monotonicSeconds() - startedSeconds
    this.#options.observer.onAnswer(this.#about.name, ok ? 'answered' : 'unanswered', seconds)
  }

  #store(answer: Answer<CachedValues[Name]>, lookup: CacheLookup<Name>): void {
    if (!answer.ok) return
    const { name, numbers } = this.#about
    const entries: CachedEntries<Name> = numbers.getOrAdd(lookup.key).entries
    entries[name] ??= new CacheEntry(this.#rules)
    entries[name].store(answer, lookup, this.#options.clock.now())
    // The primary source's answer is stored too, even if it arrives after another source's.
    const late = answer.unavailablePrimary?.lateAnswer
    if (late) this.#storeUnlessChanged(late, lookup).catch(() => undefined)
  }

  /** Waits a limited time for the source if there is a stale answer. */
  async #serveStaleIfLate(
    answering: Promise<Answer<CachedValues[Name]>>,
    lookup: CacheLookup<Name>,
  ): Promise<Answer<CachedValues[Name]>> {
    const { timers, staleAfterMs } = this.#options
    if (staleAfterMs < Number.POSITIVE_INFINITY && this.#findStale(lookup, true)) {
      const inTime = await withTimeout(answering, staleAfterMs, () => undefined, { timers })
      const why = [{ code: 'not-answered-within', params: { ms: staleAfterMs } }] as const
      const stale = inTime ? undefined : this.#findFallback(lookup, why, true)
      if (stale) return stale
    }
    return this.#serveStaleIfUnanswered(await answering, lookup)
  }

  /**
   * A denial by any source is final. Otherwise, if not every source answered, a known denial applies,
   * or a stale permission if policy allows it. A stale permission does not apply if the question itself
   * is invalid.
   */
  #serveStaleIfUnanswered(
    answer: Answer<CachedValues[Name]>,
    lookup: CacheLookup<Name>,
  ): Answer<CachedValues[Name]> {
    // Of one source that answered, as almost every answer.
    if (answer.ok && !answer.otherAnswers && !answer.unavailablePrimary) return answer
    const failure = findUnanswered(answer)
    const primary = answer.ok ? answer.unavailablePrimary : undefined
    const why = failure?.says ?? primary?.says
    if (why === undefined || this.#rules.isForbidden(answer, lookup.question.callKind))
      return answer
    const mayPermit = failure !== undefined && !isRequestError(failure.reason)
    return this.#findFallback(lookup, why, mayPermit) ?? answer
  }

  /** A fresh answer that another caller received in the meantime, or a stale one. */
  #findFallback(
    lookup: CacheLookup<Name>,
    why: readonly Said[],
    mayPermit: boolean,
  ): AnswerSuccess<CachedValues[Name]> | undefined {
    const known = this.#findEntry(lookup.key)?.find(lookup.variant)
    if (mayPermit && known && isFresh(known, this.#readClocks())) return known.answer
    const stale = this.#findStale(lookup, mayPermit)
    if (!stale) return undefined
    this.#countLookup('stale')
    return markStale(stale, why)
  }

  #findStale(
    lookup: CacheLookup<Name>,
    mayPermit: boolean,
  ): AnswerSuccess<CachedValues[Name]> | undefined {
    const { callKind } = lookup.question
    const staleForMs = this.#options.staleForMs[this.#about.name]
    const entry = this.#findEntry(lookup.key)
    return entry?.findStale(lookup, this.#readClocks(), { callKind, mayPermit, staleForMs })
  }

  #findEntry(key: string): CacheEntry<CachedValues[Name]> | undefined {
    return this.#about.numbers.get(key)?.entries[this.#about.name]
  }

  #readClocks(): ClockReading {
    const { clock, timers } = this.#options
    return { now: clock.now(), monotonicMs: timers.monotonicMs() }
  }

  /** Runs at most once at a time per key and variant; never rejects. */
  #askInBackground(lookup: CacheLookup<Name>): Promise<WarmupResult> {
    const id = `${lookup.variant}\n${lookup.key}`
    const running = this.#backgroundRefreshes.get(id)
    if (running) return running
    this.#countLookup('refresh')
    const asking = this.#askIgnoringErrors(lookup).finally(() => {
      this.#backgroundRefreshes.delete(id)
    })
    this.#backgroundRefreshes.set(id, asking)
    return asking
  }

  /** No caller waits for the answer, so errors are ignored. */
  async #askIgnoringErrors(lookup: CacheLookup<Name>): Promise<WarmupResult> {
    try {
      const question = { ...lookup.question, inBackground: true }
      const answer = await this.#ask(question, { ...lookup, question })
      return findUnanswered(answer) ? 'unanswered' : 'answered'
    } catch {
      return 'unanswered'
    }
  }
}

/** False for an answer from the future, which means that the clock was set back. */
function isFresh(
  { validFrom, freshUntil, storedAtMs }: CachedAnswer<unknown>,
  { now, monotonicMs }: ClockReading,
): boolean {
  return now >= validFrom && now < freshUntil && monotonicMs - storedAtMs < freshUntil - validFrom
}

/**
 * Whether an answer stays fresh for that long without being asked again. An answer that its source
 * limits more than its maximum age counts as fresh, since it would get the same limit again. No answer
 * is required to be fresh for more than half of its lifetime.
 */
function isFreshFor(
  known: CachedAnswer<unknown>,
  clocks: ClockReading,
  freshForMs: number,
): boolean {
  const { validFrom, freshUntil, holdsUntil } = known
  if (!isFresh(known, clocks)) return false
  const neededMs = Math.min(freshForMs, (freshUntil - validFrom) / 2)
  return freshUntil === holdsUntil || freshUntil - clocks.now >= neededMs
}
