/** Cached lookups of one kind, one number each; failures are thrown as errors. */
import type { AnswerFailure, Question } from '../../../domain/compliance.js'
import type { PhoneNumber } from '../../../domain/phone-number.js'
import { describeSaid } from '../../../domain/words/words.js'
import type { TtlCache } from '../../../runtime/ttl-cache.js'
import type { BatchClient } from '../batching/batch-client.js'

/** Wrapped, so that a missing fact can be cached too. */
export interface CachedLookup<Value> {
  readonly value: Value
}

/** How long a missing fact, or one that will soon change, is cached. */
export const maxTransientMs = 60_000

interface SingleLookupDeps<Fact> {
  readonly client: BatchClient<Question, Fact | undefined>
  readonly cache: TtlCache<CachedLookup<Fact | undefined>>
  /** Whether the fact will soon change. */
  readonly isTransient?: (fact: Fact) => boolean
}

export class SingleLookup<Fact> {
  readonly #deps: SingleLookupDeps<Fact>

  constructor(deps: SingleLookupDeps<Fact>) {
    this.#deps = deps
  }

  /** The fact, if any. Rejects with a {@link LookupError} if the lookup fails. */
  async find(number: PhoneNumber, accountId: string): Promise<Fact | undefined> {
    const { client, cache, isTransient = () => false } = this.#deps
    const key = `${number} ${accountId}`
    const cached = cache.get(key)
    if (cached) return cached.value
    const fact = requireValue(await client.ask({ accountId, number }))
    const isBrief = fact === undefined || isTransient(fact)
    cache.set(key, { value: fact }, isBrief ? maxTransientMs : undefined)
    return fact
  }
}

/** A failed lookup. The message contains neither key nor number. */
class LookupError extends Error {
  readonly why: AnswerFailure['reason']

  /** Timeouts have the same error name as aborted requests, so that callers recognize them. */
  constructor({ source, reason, says }: AnswerFailure) {
    super(`${source}: ${describeSaid(says)}`)
    this.name = reason === 'deadline' ? 'TimeoutError' : 'LookupError'
    this.why = reason
  }
}

/** The part of an answer that lookups use. */
export type LookupResult<Value> = { readonly ok: true; readonly value: Value } | AnswerFailure

/** Throws a {@link LookupError} for a failure. */
export function requireValue<Value>(result: LookupResult<Value>): Value {
  if (result.ok) return result.value
  throw new LookupError(result)
}

/** The values, `undefined` for failures; throws when all failed. */
export function collectValues<Value>(
  results: readonly LookupResult<Value>[],
): readonly (Value | undefined)[] {
  const [first] = results
  if (first && !results.some(({ ok }) => ok)) requireValue(first)
  return results.map((result) => (result.ok ? result.value : undefined))
}
