/** What is stored and imported here about the number of a call: found once for all rules, and cached while nothing changes. */
import type { ChangeObserver } from '../../domain/change-notifier.js'
import type { Question } from '../../domain/compliance.js'
import { findListsEnd } from '../../domain/number-set.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { Instant, Timers } from '../../domain/time/clock.js'
import type { Fact, OwnFacts } from '../../judge/facts.js'
import type { NumberMemo } from '../../judge/judge-number.js'
import { monotonicSeconds, withTimeout } from '../../runtime/runtime.js'
import { CachedNumbers, type CacheSettings, formatCacheKey } from '../cache/cache-entry.js'
import type { WarmupResult } from '../cache/cached-compliance.js'
import { InFlightLookups } from '../cache/in-flight-lookups.js'
import { type OwnFactsReader, type ReadFacts, withoutLate } from './read-own-facts.js'

export interface OwnFactsDeps {
  readonly reader: OwnFactsReader
  readonly settings: Pick<CacheSettings, 'maxEntries' | 'allowMs' | 'blockMs'>
  readonly timers: Timers
  readonly observer: {
    readonly countLookup: (result: 'hit' | 'miss' | 'expired' | 'bypass' | 'refresh') => void
    readonly onRead: (outcome: 'answered' | 'unanswered', seconds: number) => void
  }
}

/** With what was judged of them. */
export interface FoundFacts {
  /** What is known at once; what has to be waited for is unknown in it. */
  readonly facts: OwnFacts
  /** Of these facts alone; absent if they are not kept. */
  readonly memo?: NumberMemo | undefined
  /** All of it, if something has to be waited for. Never rejects; what does not come by the deadline is unknown. */
  readonly later?: Promise<FoundFacts> | undefined
}

interface KnownFacts extends Omit<FoundFacts, 'later'>, ReadFacts {
  readonly scope: string
  /** The project, campaign and postal code. */
  readonly variant: string
  /** Fresh before this instant. */
  readonly freshUntil: Instant
  /** On the monotonic clock, so that facts do not get younger if the account's clock is set back. */
  readonly readAtMs: number
}

interface CachedFacts {
  /** One for each variant, the oldest first. */
  known: readonly KnownFacts[]
}

/** Bounds the memory that invented postal codes can use; no number needs more. */
const maxVariants = 16

/** Where the facts of a question are kept, and those that are. */
interface Lookup {
  readonly key: string
  readonly scope: string
  readonly variant: string
  readonly known: KnownFacts | undefined
  /** Of all variants, those stored last at the end. */
  readonly all: readonly KnownFacts[]
}

/** What-if questions bypass the cache. Questions in the background, such as those of previews, use it but add nothing. */
export class OwnFactsSource implements ChangeObserver {
  readonly #deps: OwnFactsDeps
  readonly #numbers: CachedNumbers<CachedFacts>
  readonly #inFlight = new InFlightLookups()

  constructor(deps: OwnFactsDeps) {
    this.#deps = deps
    this.#numbers = new CachedNumbers<CachedFacts>(deps.settings.maxEntries, () => ({ known: [] }))
  }

  find(question: Question, deadlineMs: number): FoundFacts {
    const { observer, settings, timers } = this.#deps
    const isCached = question.at === undefined && settings.maxEntries > 0
    const known = isCached ? this.#findKnown(question) : undefined
    if (known && this.#isFresh(known, question)) {
      observer.countLookup('hit')
      return known
    }
    observer.countLookup(isCached ? (known ? 'expired' : 'miss') : 'bypass')
    const found = this.#read(question, isCached)
    if (found.later === undefined) return found
    const late = () => {
      const facts = withoutLate(found.facts, deadlineMs)
      return { facts: this.#addLast(facts, question, isCached) }
    }
    return { ...found, later: withTimeout(found.later, deadlineMs, late, { timers }) }
  }

  /** Reads them unless those that are cached stay fresh for so long, or for half of their lifetime. Never rejects. */
  async warmUp(question: Question, freshForMs: number): Promise<WarmupResult> {
    const { settings, observer } = this.#deps
    if (settings.maxEntries === 0) return 'unanswered'
    const { known } = this.#lookUp(question)
    if (known && this.#isFresh(known, question, freshForMs)) return 'fresh'
    observer.countLookup('refresh')
    const found = this.#read(question, true)
    const { facts } = await (found.later ?? found)
    return isComplete(facts) ? 'answered' : 'unanswered'
  }

  numbersChanged(accountId: string, numbers: readonly PhoneNumber[]): void {
    for (const number of numbers) {
      const key = formatCacheKey({ accountId, number })
      this.#numbers.delete(key)
      this.#inFlight.invalidate(key)
    }
  }

  everythingChanged(): void {
    this.#numbers.deleteAll()
    this.#inFlight.invalidate()
  }

  /** Of another postal code, what is stored is the same. */
  #findKnown(question: Question): KnownFacts | undefined {
    const { known, all, scope } = this.#lookUp(question)
    if (known) return known
    const other = all.findLast((one) => one.scope === scope && this.#isFresh(one, question))
    if (other === undefined) return undefined
    const { stored, facts, readAtMs } = other
    const own = { stored, facts: this.#deps.reader.assemble(question, stored, facts.asOf) }
    return isComplete(own.facts) ? this.#store(question, own, readAtMs) : undefined
  }

  #lookUp(question: Question): Lookup {
    const { key, number, scope, place: variant } = this.#numbers.find(question)
    const all = number?.entries.known ?? []
    return { key, scope, variant, all, known: all.find((one) => one.variant === variant) }
  }

  /** False for facts from the future, which means that the clock was set back. */
  #isFresh(
    { facts: { asOf }, freshUntil, readAtMs }: KnownFacts,
    { asked }: Question,
    freshForMs = 0,
  ): boolean {
    const { reader, timers } = this.#deps
    const now = asked?.now ?? reader.view.clock.now()
    const monotonicMs = asked?.monotonicMs ?? timers.monotonicMs()
    const lifeMs = freshUntil - asOf
    const neededMs = Math.min(freshForMs, lifeMs / 2)
    return now >= asOf && now + neededMs < freshUntil && monotonicMs - readAtMs < lifeMs
  }

  #read(question: Question, isCached: boolean): FoundFacts {
    const { reader, observer, timers } = this.#deps
    const readAtMs = timers.monotonicMs()
    const startedSeconds = monotonicSeconds()
    const finish = (read: ReadFacts, isOutdated = false) => {
      const { facts } = read
      const outcome = isComplete(facts) ? 'answered' : 'unanswered'
      observer.onRead(outcome, monotonicSeconds() - startedSeconds)
      // Of those that are not complete, what forbids is known later, and nothing else.
      const isKept = isCached && !isOutdated && (outcome === 'answered' || isForbidding(facts))
      const memo = isKept ? this.#store(question, read, readAtMs)?.memo : undefined
      return { facts: this.#addLast(facts, question, isCached), memo }
    }
    const { later, ...read } = reader.read(question)
    if (later === undefined) return finish(read)
    const key = formatCacheKey(question)
    const inFlight = this.#inFlight.begin(key)
    const finished = later
      .then((all) => finish(all, inFlight.isInvalidated))
      .finally(() => this.#inFlight.end(key, inFlight))
    return { facts: read.facts, later: finished }
  }

  /** `undefined` if newer ones are kept. Those of a question in the background are not kept. */
  #store(question: Question, read: ReadFacts, readAtMs: number): KnownFacts | undefined {
    const { facts } = read
    const { key, scope, variant, known, all } = this.#lookUp(question)
    // A read that was begun earlier knows less.
    if (known && known.readAtMs > readAtMs) return undefined
    const { allowMs, blockMs } = this.#deps.settings
    const maxAgeMs = isForbidding(facts) ? blockMs : allowMs
    const end = Math.min(facts.asOf + maxAgeMs, findEnd(facts))
    const freshUntil = isComplete(facts) ? end : facts.asOf
    const added = { variant, scope, ...read, memo: { judged: new Map() }, freshUntil, readAtMs }
    if (question.inBackground) return added
    const others = all.filter((one) => one !== known)
    const kept = others.length < maxVariants ? others : others.slice(1)
    // Unlike `push` and a spread, `concat` leaves no room for 16 more.
    this.#numbers.getOrAdd(key).entries.known = kept.concat(added)
    return added
  }

  /** Adds what was known before, also of another postal code, to facts that could not be read. */
  #addLast(facts: OwnFacts, question: Question, isCached: boolean): OwnFacts {
    if (!isCached || isComplete(facts)) return facts
    const { all, scope } = this.#lookUp(question)
    const last = all.findLast((one) => one.scope === scope)
    return last === undefined ? facts : withLast(facts, last.facts)
  }
}

type AnyFact = Fact<unknown> | 'not-asked'

const isKnown = (fact: AnyFact) => fact === 'not-asked' || fact.why === undefined

function isComplete({ litigator, entry, hours, permission }: OwnFacts): boolean {
  return isKnown(litigator) && isKnown(entry) && isKnown(hours) && isKnown(permission)
}

/** Whether a list of ours has the number, and no permission on file may lift that. */
function isForbidding({ litigator, entry, permission }: OwnFacts): boolean {
  const record = permission === 'not-asked' ? undefined : permission.value?.record
  const isListed = entry !== 'not-asked' && entry.value?.removedAt === null
  const isOptedOut = isListed && record?.type !== 'P'
  return isOptedOut || (litigator !== 'not-asked' && litigator.value?.status === 'listed')
}

/** When the first of the lists becomes too old. */
function findEnd({ litigator, ported, permission }: OwnFacts): Instant {
  const lists = permission === 'not-asked' ? undefined : permission.value?.lists
  const ofLitigators = litigator === 'not-asked' ? undefined : litigator.value
  return findListsEnd([ported, ofLitigators, lists?.national, lists?.state, lists?.litigator])
}

function withLast(facts: OwnFacts, last: OwnFacts): OwnFacts {
  const { asOf } = last
  return {
    ...facts,
    litigator: addLast(facts.litigator, last.litigator, asOf),
    entry: addLast(facts.entry, last.entry, asOf),
    hours: addLast(facts.hours, last.hours, asOf),
    permission: addLast(facts.permission, last.permission, asOf),
  }
}

function addLast<Value>(
  fact: Fact<Value> | 'not-asked',
  last: Fact<Value> | 'not-asked',
  asOf: Instant,
): Fact<Value> | 'not-asked' {
  if (fact === 'not-asked' || fact.why === undefined) return fact
  if (last === 'not-asked' || last.why !== undefined) return fact
  return { why: fact.why, last: { value: last.value, asOf } }
}
