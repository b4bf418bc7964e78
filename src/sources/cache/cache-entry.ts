/**
 * What is cached about a number of an account. For each question, an entry: the latest complete answers with
 * the instants that limit their use, and the denials of each source.
 *
 * A denial ends only with a newer answer of its own source or when it expires; not with an answer of
 * another source, not while its source does not answer, and not with another postal code.
 */

import { LRUCache } from 'lru-cache'
import {
  type Answer,
  type AnswerSuccess,
  type CallRow,
  flattenAnswers,
  type InternalDncStatus,
  type LegalTime,
  type LitigatorStatus,
  type Question,
  type QuestionName,
} from '../../domain/compliance.js'
import { type CallKind, callKinds } from '../../domain/decision.js'
import type { ClockReading, Instant } from '../../domain/time/clock.js'

export interface CacheSettings {
  /** Maximum numbers; 0 disables the cache. */
  readonly maxEntries: number
  readonly allowMs: number
  readonly blockMs: number
  /** An answer used within this time before its expiry is refreshed in the background; 0 means never. */
  readonly refreshAheadMs: number
}

/** The rules shared by all entries of a cache. */
export interface CacheRules<T> {
  readonly settings: CacheSettings
  /** Whether any source forbids this kind of call; without a kind, every kind. */
  readonly isForbidden: (answer: Answer<T>, callKind: CallKind | undefined) => boolean
}

/** What an answer depends on besides the account and the number. */
export interface AnswerSubject {
  readonly variant: string
  /** What a denial without an expiry depends on, such as one by a list; excludes the place. */
  readonly scope: string
}

export interface CachedAnswer<T> {
  readonly variant: string
  readonly answer: AnswerSuccess<T>
  /** When the question was asked, so that a slow answer does not seem younger than it is. */
  readonly validFrom: Instant
  /** Fresh before this instant. */
  readonly freshUntil: Instant
  readonly holdsUntil: Instant
  /** On the monotonic clock, so that an answer does not get younger if the account's clock is set back. */
  readonly storedAtMs: number
  /** A use at or after this instant refreshes the answer in the background. */
  refreshFrom: Instant
}

const endOf = ({ holdsUntil = Number.POSITIVE_INFINITY }: AnswerSuccess<unknown>) => holdsUntil

interface Denial<T> {
  /** The answer of one source alone. */
  readonly answer: AnswerSuccess<T>
  readonly scope: string
  /** Set if the denial expires; otherwise it applies to every variant of the scope. */
  readonly variant: string | undefined
}

/** Bounds the memory that invented postal codes can use; no number needs more. */
const maxVariants = 16

/** Minimum interval between refreshes of an answer in constant use. */
export const minRefreshIntervalMs = 10_000

export class CacheEntry<T> {
  readonly #rules: CacheRules<T>
  /**
   * The latest complete answers, whatever their age, one for each variant; the oldest variant first. Almost every entry has
   * one, and the four maps of a number would take a tenth of the time of a decision.
   */
  #answers: readonly CachedAnswer<T>[] = []
  #denials: readonly Denial<T>[] = []

  constructor(rules: CacheRules<T>) {
    this.#rules = rules
  }

  /** The latest complete answer for a variant, whatever its age. */
  find(variant: string): CachedAnswer<T> | undefined {
    for (const known of this.#answers) if (known.variant === variant) return known
    return undefined
  }

  /** Stores the denials of each source, and the complete answer only if every source answered. */
  store(answer: AnswerSuccess<T>, asked: AnswerSubject & ClockReading, storedAt: Instant): void {
    const { isForbidden } = this.#rules
    let isComplete = true
    let holdsUntil = endOf(answer)
    // Almost every answer is of one source.
    for (const part of answer.otherAnswers ? flattenAnswers(answer) : [answer]) {
      if (part.ok) {
        holdsUntil = Math.min(holdsUntil, endOf(part))
        this.#storeDenial(withoutOtherSources(part), asked)
      } else isComplete = false
    }
    if (isComplete) this.#storeWhole(answer, { holdsUntil, storedAt }, asked)
    const whole = this.find(asked.variant)
    if (!whole || this.#denials.length === 0) return
    const isDenied = this.#findDenial(asked, storedAt, (denial) =>
      callKinds.some((kind) => isForbidden(denial, kind) && !isForbidden(whole.answer, kind)),
    )
    if (!isDenied) return
    const freshUntil = Math.min(whole.freshUntil, whole.validFrom)
    this.#put({ ...whole, freshUntil })
  }

  /**
   * The answer to use while a source does not answer: a known denial or, with `mayPermit`, a permitting
   * answer that is not too old.
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
    const known = this.find(about.variant)
    if (!known || isForbidden(known.answer, callKind)) return undefined
    const { answer, validFrom, freshUntil, holdsUntil, storedAtMs } = known
    const maxAgeMs = freshUntil - validFrom + staleForMs
    const isYoung = now < freshUntil + staleForMs && monotonicMs - storedAtMs < maxAgeMs
    return isYoung && now >= validFrom && now < holdsUntil ? answer : undefined
  }

  /** Replaces the earlier denial of the same source, unless this answer is older. */
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
    const hasEnd = answer.holdsUntil !== undefined
    // As for answers, no room for more.
    this.#denials = kept.concat({ answer, scope, variant: hasEnd ? variant : undefined })
  }

  #findDenial(
    about: AnswerSubject,
    now: Instant,
    isMeant: (answer: AnswerSuccess<T>) => boolean,
  ): AnswerSuccess<T> | undefined {
    const denial = this.#denials.find(
      (one) => now < endOf(one.answer) && appliesTo(one, about) && isMeant(one.answer),
    )
    return denial?.answer
  }

  /**
   * Stores a complete answer, unless the stored one was asked later (and the clock was not set back
   * since). An answer given in place of the primary source's is replaced by the primary's own, however
   * late that is.
   */
  #storeWhole(
    answer: AnswerSuccess<T>,
    { holdsUntil, storedAt }: { readonly holdsUntil: Instant; readonly storedAt: Instant },
    { variant, now: askedAt, monotonicMs: storedAtMs }: AnswerSubject & ClockReading,
  ): void {
    const { unavailablePrimary } = answer
    const known = this.find(variant)
    const validFrom = Math.min(askedAt, answer.asOf)
    const isPrimary = known?.answer.unavailablePrimary !== undefined && !unavailablePrimary
    const isOlder = known && known.validFrom > validFrom && known.validFrom <= storedAt
    if (isOlder && !isPrimary) return
    if (!known && this.#answers.length >= maxVariants) this.#evictOldestVariant()
    const { settings, isForbidden } = this.#rules
    const maxAgeMs = isForbidden(answer, undefined) ? settings.blockMs : settings.allowMs
    const freshUntil = Math.min(validFrom + maxAgeMs, holdsUntil)
    this.#put({
      variant,
      // Drops the promise of the primary's answer, which would otherwise be retained as long.
      answer: unavailablePrimary?.lateAnswer
        ? { ...answer, unavailablePrimary: { says: unavailablePrimary.says } }
        : answer,
      validFrom,
      freshUntil,
      holdsUntil,
      storedAtMs,
      refreshFrom: computeRefreshStart({ validFrom, freshUntil, holdsUntil }, settings),
    })
  }

  /** In the place of the answer for the same variant. */
  #put(answer: CachedAnswer<T>): void {
    const index = this.#answers.findIndex(({ variant }) => variant === answer.variant)
    // Unlike `push` and a spread, `concat` leaves no room for 16 more.
    this.#answers = index === -1 ? this.#answers.concat(answer) : this.#answers.with(index, answer)
  }

  #evictOldestVariant(): void {
    const [oldest, ...others] = this.#answers
    this.#answers = others
    this.#denials = this.#denials.filter(({ variant }) => variant !== oldest?.variant)
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

/** Infinity for an answer that the source itself limits, since a refresh would give the same limit again. */
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

/** What the answers about a number may depend on. */
type Subject = Pick<Question, 'accountId' | 'number' | 'projectId' | 'campaignId' | 'postalCode'>

export const formatCacheKey = ({ accountId, number }: Pick<Question, 'accountId' | 'number'>) =>
  `${number}${accountId}`

const numberLength = 10

const isOfAccount = (key: string, accountId: string) => key.slice(numberLength) === accountId

/** What is cached about one number of one account. */
interface CachedNumber<Entries> {
  readonly generation: number
  readonly entries: Entries
}

export type CachedEntries<Names extends QuestionName> = {
  [Name in Names]?: CacheEntry<CachedValues[Name]>
}

export interface CachedValues {
  readonly scrub: CallRow
  readonly 'internal-dnc': InternalDncStatus
  readonly litigator: LitigatorStatus
  readonly 'legal-time': LegalTime
}

interface FoundNumber<Entries> {
  readonly key: string
  readonly number: CachedNumber<Entries> | undefined
  /** The project and campaign; empty if there are none. */
  readonly scope: string
  /** With the postal code; the scope if there is none. */
  readonly place: string
}

/** Cached numbers, of which those used last are kept. */
export class CachedNumbers<Entries extends object> {
  readonly #numbers: LRUCache<string, CachedNumber<Entries>>
  readonly #createEntries: () => Entries
  /** Numbers of an earlier one are deleted. Taking out 100,000 would hold up calls for 50 ms. */
  #generation = 0

  constructor(maxNumbers: number, createEntries: () => Entries) {
    this.#createEntries = createEntries
    this.#numbers = new LRUCache({ max: Math.max(1, maxNumbers) })
  }

  find(subject: Subject): FoundNumber<Entries> {
    const key = formatCacheKey(subject)
    const { projectId, campaignId, postalCode } = subject
    const hasScope = projectId !== undefined || campaignId !== undefined
    const scope = hasScope ? JSON.stringify([projectId, campaignId]) : ''
    const hasPlace = postalCode !== undefined
    const place = hasPlace ? JSON.stringify([projectId, campaignId, postalCode]) : scope
    return { key, number: this.get(key), scope, place }
  }

  get(key: string): CachedNumber<Entries> | undefined {
    const number = this.#numbers.get(key)
    return number?.generation === this.#generation ? number : undefined
  }

  getOrAdd(key: string): CachedNumber<Entries> {
    const known = this.get(key)
    if (known) return known
    const added = { generation: this.#generation, entries: this.#createEntries() }
    this.#numbers.set(key, added)
    return added
  }

  delete(key: string): void {
    this.#numbers.delete(key)
  }

  /** Takes some milliseconds with many numbers. */
  deleteAccount(accountId: string): void {
    for (const key of [...this.#numbers.keys()]) {
      if (isOfAccount(key, accountId)) this.#numbers.delete(key)
    }
  }

  deleteAll(): void {
    this.#generation += 1
  }
}
