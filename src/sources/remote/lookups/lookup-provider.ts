/**
 * Lookups and labels from a provider with this API. Requests have a rate limit, a timeout, retries and a
 * circuit breaker. Facts are cached for the time in the settings, missing facts only briefly.
 */

import type {
  LineIdentity,
  LineStatus,
  LineStatusAnswer,
  LookupSource,
  ReassignedReport,
  ReassignedReporter,
  ResOrBusiness,
} from '../../../domain/lookups.js'
import type { PhoneNumber } from '../../../domain/phone-number.js'
import type { LabelSource } from '../../../domain/spam-labels.js'
import type { LocalDay } from '../../../domain/time/clock.js'
import { TtlCache } from '../../../runtime/ttl-cache.js'
import { ProviderConnection } from '../provider-connection.js'
import { LabelLookup, labelQuestion } from './label-lookup.js'
import { identityQuestion, lineStatusQuestion, resOrBusinessQuestion } from './line-questions.js'
import {
  buildLookupProviderOptions,
  type LookupName,
  type LookupProviderOptions,
} from './lookup-options.js'
import { ReassignedLookup, reassignedQuestion } from './reassigned-lookup.js'
import { type CachedLookup, SingleLookup } from './single-lookup.js'

/** Maximum entries per kind of lookup; some tens of megabytes if all caches are full. */
const maxCacheEntries = 100_000

/** Statuses that will soon change: the line may become free, or the provider may know more. */
const transientStatuses: ReadonlySet<LineStatus> = new Set([
  'pending',
  'serverunavailable',
  'ERROR',
  'busy',
  'unreachable',
])

export class LookupProvider extends ProviderConnection<LookupName> implements ReassignedReporter {
  readonly #identity: SingleLookup<LineIdentity>
  readonly #lineStatus: SingleLookup<LineStatusAnswer>
  readonly #resOrBusiness: SingleLookup<ResOrBusiness>
  readonly #reassigned: ReassignedLookup
  readonly #labels: LabelLookup

  constructor(options: LookupProviderOptions) {
    super(buildLookupProviderOptions(options))
    const { name, timers, keepMs: ttlMs, clock, findRelease, log } = options
    const createCache = <Value>() =>
      new TtlCache<CachedLookup<Value>>({ timers, ttlMs, maxEntries: maxCacheEntries })
    this.#identity = new SingleLookup({
      client: this.openClient(identityQuestion),
      cache: createCache(),
    })
    this.#lineStatus = new SingleLookup({
      client: this.openClient(lineStatusQuestion),
      cache: createCache(),
      isTransient: ({ status }) => transientStatuses.has(status),
    })
    this.#resOrBusiness = new SingleLookup({
      client: this.openClient(resOrBusinessQuestion),
      cache: createCache(),
    })
    this.#reassigned = new ReassignedLookup({
      client: this.openClient(reassignedQuestion, { splitsRefusedBatches: true }),
      cache: createCache(),
      clock,
      findRelease,
      onTestData: () =>
        log.error('a provider answers with test data: its key belongs to a sandbox account', {
          provider: name,
        }),
    })
    this.#labels = new LabelLookup(this.openClient(labelQuestion, { splitsRefusedBatches: true }))
  }

  /** Accounts share nothing that is cached: who asked for it is part of what an answer proves. */
  forAccount(accountId: string): LookupSource & LabelSource {
    return {
      identity: (number) => this.#identity.find(number, accountId),
      lineStatus: (number) => this.#lineStatus.find(number, accountId),
      resOrBusiness: (number) => this.#resOrBusiness.find(number, accountId),
      reassigned: (items) => this.#reassigned.find(items, accountId),
      labels: (numbers, issuers) => this.#labels.find(numbers, issuers, accountId),
    }
  }

  report(
    number: PhoneNumber,
    since: LocalDay,
    accountId: string,
  ): Promise<ReassignedReport | undefined> {
    return this.#reassigned.report(number, since, accountId)
  }
}
