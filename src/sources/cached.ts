/**
 * Keeps answers for a while: one LRU per question, keyed by everything an answer depends on.
 * An answer is never served at or past the instant it holds until, an unanswered question is never
 * kept, what-ifs go straight through, and a change to a number drops its answers at once.
 * The one door to lru-cache.
 */
import { LRUCache } from 'lru-cache'
import type { ChangeListener } from '../domain/changes.js'
import { type Clock, type Instant, monotonicSeconds } from '../domain/clock.js'
import type {
  Answered,
  Asked,
  Compliance,
  Eventually,
  InternalDncStatus,
  LegalTime,
  LegalTimeQuestion,
  LitigatorStatus,
  Question,
  ScrubVerdict,
} from '../domain/compliance.js'
import type { PhoneNumber } from '../domain/phone-number.js'

export type CachedQuestion = 'scrub' | 'internal-dnc' | 'litigator' | 'legal-time'

export interface CacheWatch {
  asked(question: CachedQuestion, result: 'hit' | 'miss' | 'expired' | 'bypass'): void
  answered(question: CachedQuestion, outcome: 'answered' | 'unanswered', seconds: number): void
}

export interface CacheSettings {
  /** Numbers kept per question; 0 keeps nothing. */
  readonly maxEntries: number
  readonly allowMs: number
  readonly blockMs: number
}

export interface CachedOptions {
  readonly settings: CacheSettings
  readonly clockOf: (accountId: string) => Clock
  readonly watch: CacheWatch
}

/** Answers about one number of one account, by the rest of what the question holds. */
type Variants<T> = Map<
  string,
  { readonly answer: Answered<T>; readonly from: Instant; readonly until: Instant }
>

/** A caller may make up postal codes without end; nobody needs more of them for one number. */
const mostVariants = 16

/** One question's cache. */
class Shelf<T> {
  readonly #name: CachedQuestion
  readonly #permits: (value: T) => boolean
  readonly #options: CachedOptions
  readonly #kept: LRUCache<string, Variants<T>> | undefined
  #changes = 0

  constructor(name: CachedQuestion, options: CachedOptions, permits: (value: T) => boolean) {
    this.#name = name
    this.#permits = permits
    this.#options = options
    const { maxEntries } = options.settings
    this.#kept = maxEntries > 0 ? new LRUCache({ max: maxEntries }) : undefined
  }

  answer(question: Question, variant: string, ask: () => Eventually<Asked<T>>) {
    const { watch, clockOf } = this.#options
    if (question.at !== undefined || !this.#kept) {
      watch.asked(this.#name, 'bypass')
      return this.#ask(ask)
    }
    const key = keyOf(question.accountId, question.number)
    const variants = this.#kept.get(key)
    const known = variants?.get(variant)
    const now = clockOf(question.accountId).now()
    // A clock that was set back makes an answer one of the future.
    if (known && now >= known.from && now < known.until) {
      watch.asked(this.#name, 'hit')
      return known.answer
    }
    watch.asked(this.#name, known ? 'expired' : 'miss')
    const changes = this.#changes
    const keep = (asked: Asked<T>) => {
      if (asked.answered && changes === this.#changes) {
        this.#keep(key, variant, { answer: asked, now: clockOf(question.accountId).now() })
      }
      return asked
    }
    const asked = this.#ask(ask)
    return asked instanceof Promise ? asked.then(keep) : keep(asked)
  }

  /** An answer still under way was made from what may have changed, so it is not kept either. */
  forget(key?: string): void {
    this.#changes += 1
    if (key === undefined) this.#kept?.clear()
    else this.#kept?.delete(key)
  }

  #ask(ask: () => Eventually<Asked<T>>): Eventually<Asked<T>> {
    const started = monotonicSeconds()
    const measured = (asked: Asked<T>) => {
      const outcome = asked.answered ? 'answered' : 'unanswered'
      this.#options.watch.answered(this.#name, outcome, monotonicSeconds() - started)
      return asked
    }
    const asked = ask()
    return asked instanceof Promise ? asked.then(measured) : measured(asked)
  }

  /** Ages by the account's own clock: the sandbox may stand still. */
  #keep(key: string, variant: string, made: { answer: Answered<T>; now: Instant }): void {
    const { allowMs, blockMs } = this.#options.settings
    const { answer, now } = made
    const lifetimeMs = this.#permits(answer.value) ? allowMs : blockMs
    const variants = this.#kept?.get(key) ?? new Map()
    if (variants.size >= mostVariants) variants.clear()
    const until = Math.min(now + lifetimeMs, answer.holdsUntil)
    variants.set(variant, { answer, from: now, until })
    this.#kept?.set(key, variants)
  }
}

function keyOf(accountId: string, number: string): string {
  return `${number}${accountId}`
}

function variantOf({ projectId, campaignId, postalCode }: Question): string {
  if (projectId === undefined && campaignId === undefined && postalCode === undefined) return ''
  return JSON.stringify([projectId, campaignId, postalCode])
}

export class CachedCompliance implements Compliance, ChangeListener {
  readonly #source: Compliance
  readonly #scrub: Shelf<ScrubVerdict>
  readonly #internalDnc: Shelf<InternalDncStatus>
  readonly #litigator: Shelf<LitigatorStatus>
  readonly #legalTime: Shelf<LegalTime>

  constructor(source: Compliance, options: CachedOptions) {
    this.#source = source
    const anyKind = ({ allowed }: ScrubVerdict) =>
      allowed.manual || allowed.autodialed || allowed.ai
    this.#scrub = new Shelf('scrub', options, anyKind)
    this.#internalDnc = new Shelf('internal-dnc', options, ({ onList }) => !onList)
    this.#litigator = new Shelf('litigator', options, ({ isLitigator }) => !isLitigator)
    this.#legalTime = new Shelf('legal-time', options, ({ permitted }) => permitted)
  }

  scrub(question: Question): Eventually<Asked<ScrubVerdict>> {
    return this.#scrub.answer(question, variantOf(question), () => this.#source.scrub(question))
  }

  internalDnc(question: Question): Eventually<Asked<InternalDncStatus>> {
    return this.#internalDnc.answer(question, variantOf(question), () =>
      this.#source.internalDnc(question),
    )
  }

  litigator(question: Question): Eventually<Asked<LitigatorStatus>> {
    return this.#litigator.answer(question, variantOf(question), () =>
      this.#source.litigator(question),
    )
  }

  legalTime(question: LegalTimeQuestion): Eventually<Asked<LegalTime>> {
    const { recordedVoice, lawToo, strictestPlace } = question
    const standards = `${Number(recordedVoice)}${Number(lawToo)}${Number(strictestPlace)}`
    return this.#legalTime.answer(question, standards + variantOf(question), () =>
      this.#source.legalTime(question),
    )
  }

  numbersChanged(accountId: string, numbers: readonly PhoneNumber[]): void {
    for (const number of numbers) this.#forget(keyOf(accountId, number))
  }

  everythingChanged(): void {
    this.#forget()
  }

  #forget(key?: string): void {
    for (const shelf of [this.#scrub, this.#internalDnc, this.#litigator, this.#legalTime]) {
      shelf.forget(key)
    }
  }
}
