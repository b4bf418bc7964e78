/**
 * Answers for calls whether a number is still the line of the person who had it on a day. A `no` is used until the national
 * database has newer data, a `yes` as long as it is cached, and the lack of data for a day.
 */

import type { MaybePromise } from '../../domain/compliance.js'
import type {
  ReassignedAgent,
  ReassignedQuestion,
  ReassignedReport,
  ReassignedReporter,
  ReassignedSource,
  ReassignedStatus,
  Release,
} from '../../domain/lookups.js'
import { areaCodeOf, type PhoneNumber } from '../../domain/phone-number.js'
import type { Clock, Instant, LocalDay, Timers } from '../../domain/time/clock.js'
import { formatDay, msPerDay, toUtcDay } from '../../domain/time/dates.js'
import type { Said } from '../../domain/words/words.js'
import { getErrorMessage } from '../../errors.js'
import { findAreaCodePlace } from '../../law/area-codes.js'
import { TtlCache } from '../../runtime/ttl-cache.js'
import { combineReassigned, limitToDatabasePeriod } from './reassigned-answer.js'
import { CombinedSources, type NamedSource, type SourceFailureListener } from './source-failures.js'

/** Nothing, only whether lines are out of service, or also whether numbers have been reassigned. */
export type ReassignedCoverage = 'none' | 'lines' | 'numbers'

interface NamedReporter extends NamedSource<ReassignedReporter> {
  readonly agent: ReassignedAgent
}

export interface ReassignedStatusesOptions {
  readonly sources: readonly NamedReporter[]
  readonly onFailure: SourceFailureListener
  /** The release of the national database that answers at an instant. */
  readonly findRelease: (at: Instant) => Release
  /** What the sources may have data about; asked for each question, since a file may be imported. */
  readonly findCoverage: () => ReassignedCoverage
  /** Why a source may not be asked for the account; then nothing that is cached is used. May reject. */
  readonly findRefusal?: ((accountId: string) => MaybePromise<string | undefined>) | undefined
  readonly clock: Clock
  readonly timers: Pick<Timers, 'monotonicMs'>
  /** 0 caches none. */
  readonly maxEntries: number
  /** How long a status is cached at most; infinity for no limit. */
  readonly keepMs: number
}

const gateSource = 'reassigned'

export class ReassignedStatuses
  extends CombinedSources<ReassignedReporter>
  implements ReassignedSource
{
  readonly #options: ReassignedStatusesOptions
  #cache: TtlCache<ReassignedStatus>

  constructor(options: ReassignedStatusesOptions) {
    super(options.sources, options.onFailure)
    this.#options = options
    this.#cache = this.#createCache()
  }

  find({ accountId, number, since }: ReassignedQuestion): MaybePromise<ReassignedStatus> {
    const { findCoverage, findRefusal } = this.#options
    const coverage = findCoverage()
    if (coverage === 'none') return notConfigured
    if (since === undefined) return coverage === 'numbers' ? notAsked : notConfigured
    const about = { accountId, number, since }
    if (findRefusal === undefined) return this.#findCached(about)
    const refusal = findRefusal(accountId)
    if (refusal === undefined) return this.#findCached(about)
    return this.#findUnlessRefused(about, refusal)
  }

  async #findUnlessRefused(
    about: DatedQuestion,
    refusal: MaybePromise<string | undefined>,
  ): Promise<ReassignedStatus> {
    const isAllowed = await Promise.resolve(refusal).then(
      (reason) => reason === undefined,
      () => false,
    )
    return isAllowed ? await this.#findCached(about) : (await this.#ask(about)).status
  }

  #findCached(about: DatedQuestion): MaybePromise<ReassignedStatus> {
    const { clock, maxEntries } = this.#options
    const key = `${about.number} ${about.since} ${about.accountId}`
    const known = this.#cache.get(key)
    const now = clock.now()
    if (known && now < endOf(known)) return known
    const cache = this.#cache
    return this.#ask(about).then(({ status, hasFailure }) => {
      // The source that failed may say yes to the next call.
      const keepMs = hasFailure && status.result === 'no' ? 0 : endOf(status) - now
      // A changed file has a cache of its own, so that what was read before it is not kept.
      if (cache === this.#cache && keepMs > 0 && maxEntries > 0) cache.set(key, status, keepMs)
      return status
    })
  }

  /** Drops what is cached: the files or the sandbox have changed. */
  clear(): void {
    this.#cache = this.#createCache()
  }

  #createCache(): TtlCache<ReassignedStatus> {
    const { timers, maxEntries, keepMs: ttlMs } = this.#options
    return new TtlCache({ timers, ttlMs, maxEntries: Math.max(1, maxEntries) })
  }

  async #ask({
    accountId,
    number,
    since,
  }: DatedQuestion): Promise<{ readonly status: ReassignedStatus; readonly hasFailure: boolean }> {
    const results = await this.askAll('reassigned numbers for calls', async (source) =>
      source.report(number, since, accountId),
    )
    const answers = results.flatMap((result, index) => {
      const source = this.#options.sources[index]
      if (result.failed || !result.value || !source) return []
      return [{ source, report: limitToDatabasePeriod(result.value, result.value.since) }]
    })
    const failed = results.find((result) => result.failed)
    const failure = failed?.failed ? getErrorMessage(failed.cause) : undefined
    const status = this.#combine(answers, { number, since, failure })
    return { status, hasFailure: failure !== undefined }
  }

  #combine(
    answers: readonly NamedReport[],
    {
      number,
      since,
      failure,
    }: {
      readonly number: PhoneNumber
      readonly since: LocalDay
      readonly failure: string | undefined
    },
  ): ReassignedStatus {
    const { clock, findRelease } = this.#options
    const now = clock.now()
    const tomorrow = now + msPerDay
    const yes = answers.find(({ report }) => isReassigned(report) === true)
    if (yes) return this.#toStatus('yes', yes)
    const out = answers.find(({ report }) => report.isDisconnected)
    if (out) return this.#toStatus('disconnected', out, tomorrow)
    const denied = answers.filter(({ report }) => isReassigned(report) === false)
    const recent = denied.filter(({ report }) => now < findRelease(report.askedAt).replacedAt)
    const safe = recent.find(({ report }) => report.hasSafeHarbor)
    if (failure !== undefined && !safe) {
      const says = { code: 'reassigned-unreachable', quote: failure } as const
      return { ...unreachable, says, askedAt: now }
    }
    const no = safe ?? recent[0]
    if (no) return this.#toStatus('no', no, findRelease(no.report.askedAt).replacedAt)
    if (this.#options.findCoverage() !== 'numbers') return notConfigured
    if (findAreaCodePlace(areaCodeOf(number))?.country === 'CA')
      return { ...notCovered, askedAt: now, holdsUntil: tomorrow }
    const [old] = denied
    if (old) {
      const says = explainOld(old.report, findRelease(now))
      return { ...this.#toStatus('no-data', old, tomorrow), says }
    }
    const says = { code: 'no-data-since', params: { since: formatDay(since) } } as const
    return { ...unreachable, result: 'no-data', says, askedAt: now, holdsUntil: tomorrow }
  }

  #toStatus(
    result: ReassignedStatus['result'],
    { source: { name, agent }, report }: NamedReport,
    holdsUntil?: Instant,
  ): ReassignedStatus {
    const { askedAt } = report
    const { on: releasedOn } = this.#options.findRelease(askedAt)
    return { result, report, source: name, agent, askedAt, releasedOn, holdsUntil }
  }
}

const endOf = ({ holdsUntil = Number.POSITIVE_INFINITY }: ReassignedStatus) => holdsUntil

interface DatedQuestion extends ReassignedQuestion {
  readonly since: LocalDay
}

interface NamedReport {
  readonly source: NamedReporter
  readonly report: ReassignedReport
}

const isReassigned = ({ national, own }: ReassignedReport) => combineReassigned(national, own)

function explainOld({ askedAt }: ReassignedReport, { on }: Release): Said {
  if (on === undefined) return { code: 'no-release' }
  const params = { asOf: formatDay(toUtcDay(askedAt)), release: formatDay(on) }
  return { code: 'data-before-release', params }
}

export const notConfigured: ReassignedStatus = {
  result: 'not-configured',
  says: { code: 'no-source-of-reassigned' },
  source: gateSource,
}

/** It has numbers of the United States alone (ATIS-0300120). */
const notCovered: ReassignedStatus = {
  result: 'not-covered',
  says: { code: 'no-data-of-canada' },
  source: gateSource,
}

const notAsked: ReassignedStatus = {
  result: 'not-asked',
  says: { code: 'person-day-unknown' },
  source: gateSource,
}

const unreachable: ReassignedStatus = {
  result: 'unreachable',
  source: gateSource,
  // Each call asks again.
  holdsUntil: 0,
}
