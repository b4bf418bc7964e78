/**
 * What is kept about one number of one account for one question: the latest complete answers with the
 * instants that limit their use, and what each source forbids.
 *
 * A known denial ends with a newer answer of its own source or at its own end, and with nothing else:
 * not with an answer of another source, not while its source does not answer, and not with another
 * postal code.
 */

import {
  type Answer,
  type AnswerSuccess,
  findUnanswered,
  flattenAnswers,
} from '../../domain/compliance.js'
import { type CallKind, callKinds } from '../../domain/decision.js'
import type { Instant } from '../../domain/time/clock.js'

export interface CacheSettings {
  /** Numbers kept per question; 0 keeps nothing. */
  readonly maxEntries: number
  readonly allowMs: number
  readonly blockMs: number
  /** An answer used this shortly before its end is refreshed in the background; 0 means never. */
  readonly refreshAheadMs: number
}

/** The same for every entry of a cache. */
export interface CacheRules<T> {
  readonly settings: CacheSettings
  /** Whether any source forbids this kind of call; without a kind, every kind. */
  readonly isForbidden: (answer: Answer<T>, callKind: CallKind | undefined) => boolean
}

/** What an answer depends on besides the account and the number. */
export interface AnswerSubject {
  readonly variant: string
  /** What a denial without an end depends on, such as one by a list: not the place. */
  readonly scope: string
}

/** Now on both clocks. */
export interface ClockReading {
  /** By the account's clock. */
  readonly now: Instant
  readonly monotonicMs: number
}

export interface CachedAnswer<T> {
  readonly answer: AnswerSuccess<T>
  /** When the question was asked, so that a slow answer is no younger for it. */
  readonly validFrom: Instant
  /** Fresh before this instant. */
  readonly freshUntil: Instant
  readonly holdsUntil: Instant
  /** On the monotonic clock: an answer gets no younger when the other clock is set back. */
  readonly storedAtMs: number
  /** A use at or after this instant refreshes the answer in the background. */
  refreshFrom: Instant
}

interface Denial<T> {
  /** The answer of one source alone. */
  readonly answer: AnswerSuccess<T>
  readonly scope: string
  /** Set if time ends the denial; otherwise it applies to every variant of the scope. */
  readonly variant: string | undefined
}

/** Limits made-up postal codes; nobody needs more of them for one number. */
const maxVariants = 16

/** An answer in constant use is refreshed no more often than this. */
export const minRefreshIntervalMs = 10_000

export class CacheEntry<T> {
  readonly #rules: CacheRules<T>
  /** The latest complete answers, whatever their age, by variant. */
  readonly answers = new Map<string, CachedAnswer<T>>()
  #denials: readonly Denial<T>[] = []

  constructor(rules: CacheRules<T>) {
    this.#rules = rules
  }

  /** Keeps what each source forbids; the whole answer only if every source answered. */
  store(answer: AnswerSuccess<T>, asked: AnswerSubject & ClockReading, storedAt: Instant): void {
    const { isForbidden } = this.#rules
    for (const part of flattenAnswers(answer)) {
      if (part.ok) this.#storeDenial(withoutOtherSources(part), asked)
    }
    if (!findUnanswered(answer)) this.#storeWhole(answer, asked, storedAt)
    const whole = this.answers.get(asked.variant)
    if (!whole) return
    const isDenied = this.#findDenial(asked, storedAt, (denial) =>
      callKinds.some((kind) => isForbidden(denial, kind) && !isForbidden(whole.answer, kind)),
    )
    if (!isDenied) return
    const freshUntil = Math.min(whole.freshUntil, whole.validFrom)
    this.answers.set(asked.variant, { ...whole, freshUntil })
  }

  /**
   * For use while a source does not answer: a known denial, or with `mayPermit` an answer that permits
   * and is not too old.
   */
  findStale(
    about: AnswerSubject,
    { now, monotonicMs }: ClockReading,
    asked: {
      readonly callKind: CallKind | undefined
      readonly mayPermit: boolean
      readonly staleForMs: number
    },
  ): AnswerSuccess<T> | undefined {
    const { callKind, mayPermit, staleForMs } = asked
    const { isForbidden } = this.#rules
    const denial = this.#findDenial(about, now, (one) => isForbidden(one, callKind))
    if (denial || !mayPermit) return denial
    const known = this.answers.get(about.variant)
    if (!known || isForbidden(known.answer, callKind)) return undefined
    const { answer, validFrom, freshUntil, holdsUntil, storedAtMs } = known
    const maxAgeMs = freshUntil - validFrom + staleForMs
    const isYoung = now < freshUntil + staleForMs && monotonicMs - storedAtMs < maxAgeMs
    return isYoung && now >= validFrom && now < holdsUntil ? answer : undefined
  }

  /** Replaces what the same source forbade before, unless this answer is older. */
  #storeDenial(answer: AnswerSuccess<T>, { variant, scope }: AnswerSubject): void {
    const isForbidding = callKinds.some((kind) => this.#rules.isForbidden(answer, kind))
    if (!isForbidding && this.#denials.length === 0) return
    const replaced = this.#denials.filter(
      (denial) => denial.answer.source === answer.source && appliesTo(denial, { variant, scope }),
    )
    if (replaced.some((denial) => denial.answer.asOf > answer.asOf)) return
    const kept = this.#denials.filter((denial) => !replaced.includes(denial))
    if (!isForbidding) {
      this.#denials = kept
      return
    }
    const hasEnd = answer.holdsUntil < Number.POSITIVE_INFINITY
    this.#denials = [...kept, { answer, scope, variant: hasEnd ? variant : undefined }]
  }

  #findDenial(
    about: AnswerSubject,
    now: Instant,
    isMeant: (answer: AnswerSuccess<T>) => boolean,
  ): AnswerSuccess<T> | undefined {
    const denial = this.#denials.find(
      (one) => now < one.answer.holdsUntil && appliesTo(one, about) && isMeant(one.answer),
    )
    return denial?.answer
  }

  /**
   * Unless the kept answer was asked later, by a clock that has not been set back since. An answer that
   * replaced the primary source's gives way to the primary's own, however late that is.
   */
  #storeWhole(
    answer: AnswerSuccess<T>,
    { variant, now: askedAt, monotonicMs: storedAtMs }: AnswerSubject & ClockReading,
    storedAt: Instant,
  ): void {
    const { unavailablePrimary } = answer
    const known = this.answers.get(variant)
    const validFrom = Math.min(askedAt, answer.asOf)
    const isPrimary = known?.answer.unavailablePrimary !== undefined && !unavailablePrimary
    const isOlder = known && known.validFrom > validFrom && known.validFrom <= storedAt
    if (isOlder && !isPrimary) return
    if (!known && this.answers.size >= maxVariants) this.#evictOldestVariant()
    const { settings, isForbidden } = this.#rules
    const ends = flattenAnswers(answer).map((part) =>
      part.ok ? part.holdsUntil : answer.holdsUntil,
    )
    const holdsUntil = Math.min(...ends)
    const maxAgeMs = isForbidden(answer, undefined) ? settings.blockMs : settings.allowMs
    const freshUntil = Math.min(validFrom + maxAgeMs, holdsUntil)
    this.answers.set(variant, {
      // Without the promise of the primary's answer, which would be kept as long.
      answer: unavailablePrimary?.lateAnswer
        ? { ...answer, unavailablePrimary: { reason: unavailablePrimary.reason } }
        : answer,
      validFrom,
      freshUntil,
      holdsUntil,
      storedAtMs,
      refreshFrom: computeRefreshStart({ validFrom, freshUntil, holdsUntil }, settings),
    })
  }

  #evictOldestVariant(): void {
    const [oldest = ''] = this.answers.keys()
    this.answers.delete(oldest)
    this.#denials = this.#denials.filter(({ variant }) => variant !== oldest)
  }
}

function withoutOtherSources<T>(answer: AnswerSuccess<T>): AnswerSuccess<T> {
  if (answer.otherAnswers === undefined && answer.unavailablePrimary === undefined) return answer
  const { otherAnswers, unavailablePrimary, ...alone } = answer
  return alone
}

function appliesTo<T>(denial: Denial<T>, { variant, scope }: AnswerSubject): boolean {
  return denial.variant === undefined ? denial.scope === scope : denial.variant === variant
}

/** Never for an answer whose own end comes first: the source would name the same end again. */
function computeRefreshStart(
  {
    validFrom,
    freshUntil,
    holdsUntil,
  }: Pick<CachedAnswer<unknown>, 'validFrom' | 'freshUntil' | 'holdsUntil'>,
  { refreshAheadMs }: CacheSettings,
): Instant {
  if (refreshAheadMs === 0 || freshUntil === holdsUntil) return Number.POSITIVE_INFINITY
  const lifeMs = freshUntil - validFrom
  const aheadMs = lifeMs < 2 * refreshAheadMs ? lifeMs / 4 : refreshAheadMs
  return Math.max(freshUntil - aheadMs, validFrom + minRefreshIntervalMs)
}
