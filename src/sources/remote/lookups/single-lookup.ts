/** Lookups of one kind about one number each, with their cache; and failed lookups as errors. */
import type { AnswerFailure, Question } from '../../../domain/compliance.js'
import type { PhoneNumber } from '../../../domain/phone-number.js'
import type { TtlCache } from '../../../runtime/ttl-cache.js'
import type { BatchClient } from '../batching/batch-client.js'

/** Lookups belong to no account: the provider answers this program's own key. */
export const noAccount = ''

/** Wrapped, so that a missing fact can be cached too. */
export interface CachedLookup<Value> {
  readonly value: Value
}

/** How long a missing fact is cached, and one that will soon change. */
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

  /** Rejects with a {@link LookupError} when the provider cannot be asked. */
  async find(number: PhoneNumber): Promise<Fact | undefined> {
    const { client, cache, isTransient = () => false } = this.#deps
    const cached = cache.get(number)
    if (cached) return cached.value
    const fact = requireValue(await client.ask({ accountId: noAccount, number }))
    const isBrief = fact === undefined || isTransient(fact)
    cache.set(number, { value: fact }, isBrief ? maxTransientMs : undefined)
    return fact
  }
}

/** The message contains neither key nor number. */
class LookupError extends Error {
  readonly why: AnswerFailure['reason']

  /** A timeout has the name that aborted requests have, so that callers recognize it. */
  constructor({ source, reason, detail }: AnswerFailure) {
    super(`${source}: ${detail}`)
    this.name = reason === 'deadline' ? 'TimeoutError' : 'LookupError'
    this.why = reason
  }
}

/** The part of an answer that lookups use. */
export type LookupResult<Value> = { readonly ok: true; readonly value: Value } | AnswerFailure

/** Throws a {@link LookupError} for a failure. */
function requireValue<Value>(result: LookupResult<Value>): Value {
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
