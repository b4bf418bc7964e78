/** The reassigned-number check at a provider, with its cache (spec, "Reassigned-number check"). */
import {
  enhancedRndPost,
  rndBasicPost,
  wireNationalRow,
  wireReassignedRow,
} from '../../../api/lookups/reassigned.js'
import type { Answer, AnswerFailure, Question } from '../../../domain/compliance.js'
import type {
  LookupSource,
  NationalReassignedRow,
  ReassignedAnswer,
  ReassignedFlag,
  ReassignedReport,
  ReassignedRow,
  Release,
} from '../../../domain/lookups.js'
import type { PhoneNumber } from '../../../domain/phone-number.js'
import type { Clock, Instant, LocalDay } from '../../../domain/time/clock.js'
import { toEarliestDay } from '../../../domain/time/dates.js'
import type { TtlCache } from '../../../runtime/ttl-cache.js'
import { type InvalidRow, type ParsedRow, withoutExpiry } from '../batch-question.js'
import type { BatchClient } from '../batching/batch-client.js'
import { toAnswerFailure } from '../client/question-failure.js'
import { createEndpointRequest, defineQuestion } from '../questions/define-question.js'
import { parseRows } from '../questions/parse-rows.js'
import type { LookupName } from './lookup-options.js'
import {
  type CachedLookup,
  collectValues,
  type LookupResult,
  maxTransientMs,
  requireValue,
} from './single-lookup.js'

interface ReassignedQuestion extends Question {
  readonly consentOn: LocalDay
  /** The national database and the provider's own data, or the national database alone. */
  readonly scope: 'both' | 'national'
}

interface ReassignedResult {
  readonly isReassigned: ReassignedFlag
  readonly hasSafeHarbor: boolean
  /** The provider's own answer; only with the scope `both`. */
  readonly own: ReassignedFlag
  /** The row is not a fact, but test data. */
  readonly isTestData: boolean
}

export const reassignedQuestion = defineQuestion<ReassignedQuestion, ReassignedResult, LookupName>({
  name: 'reassigned',
  group: ({ scope }) => [scope],
  item: ({ number, consentOn }) => [number, consentOn],
  buildRequest({ scope }, questions) {
    const items = questions.map(({ number, consentOn }) => ({ number, consentOn }))
    const request = { items, useSandbox: false, projectId: undefined }
    return scope === 'both'
      ? createEndpointRequest(enhancedRndPost, request)
      : createEndpointRequest(rndBasicPost, request)
  },
  parseReply(reply, questions) {
    const getNumber = ({ phoneNumber }: NationalReassignedRow) => phoneNumber
    if (questions[0]?.scope === 'national') {
      return parseRows(reply, questions, {
        schema: wireNationalRow.schema,
        getNumber,
        interpret: (row) => toParsedRow(row, null),
      })
    }
    return parseRows(reply, questions, {
      schema: wireReassignedRow.schema,
      getNumber,
      interpret: (row: ReassignedRow) =>
        isContradiction(row.isReassigned, row.ownIsReassigned)
          ? { problem: 'IsReassigned and OwnIsReassigned contradict each other' }
          : toParsedRow(row, row.ownIsReassigned),
    })
  },
})

function toParsedRow(
  row: NationalReassignedRow,
  own: ReassignedFlag,
): ParsedRow<ReassignedResult> | InvalidRow {
  if (row.hasSafeHarbor && row.isReassigned === true) {
    return { problem: 'a reassigned number has no safe harbor' }
  }
  const { isReassigned, hasSafeHarbor, isSandbox: isTestData } = row
  return withoutExpiry({ isReassigned, hasSafeHarbor, own, isTestData })
}

/** `isReassigned` combines `own` with the national answer and must be true if either is. */
function isContradiction(isReassigned: ReassignedFlag, own: ReassignedFlag): boolean {
  return own === true ? isReassigned !== true : own === false && isReassigned === null
}

/**
 * Derives the national answer from a combined one; `unclear` if the provider's own data alone may
 * explain it, in which case the national database must be asked separately.
 */
function deriveNationalAnswer({
  isReassigned,
  own,
  hasSafeHarbor,
}: ReassignedResult): ReassignedFlag | 'unclear' {
  if (isReassigned === null) return null
  if (isReassigned) return own === true ? 'unclear' : true
  return own === null || hasSafeHarbor ? false : 'unclear'
}

/** Converts a result; `undefined` if it has no information. */
function toReassignedAnswer(
  { own, hasSafeHarbor }: ReassignedResult,
  national: ReassignedFlag,
): ReassignedAnswer | undefined {
  if (national === null && own === null && !hasSafeHarbor) return undefined
  return { national, own, hasSafeHarbor }
}

type Consent = Parameters<LookupSource['reassigned']>[0][number]
type AskedConsent = Consent & Pick<Question, 'accountId'>
type Fact = ReassignedAnswer | undefined

/** A fact, and when the provider was asked. */
interface DatedFact {
  readonly fact: Fact
  readonly askedAt: Instant
  /** Why the fact is without the national answer, if that failed. */
  readonly failure?: AnswerFailure | undefined
}

const isYes = (fact: Fact) => fact?.national === true || fact?.own === true

interface ReassignedLookupDeps {
  readonly client: BatchClient<ReassignedQuestion, ReassignedResult>
  readonly cache: TtlCache<CachedLookup<DatedFact>>
  readonly clock: Clock
  /** The release of the national database that answers at an instant. */
  readonly findRelease: (at: Instant) => Release
  /** Called once if the provider answers with test data. */
  readonly onTestData: () => void
}

export class ReassignedLookup {
  readonly #deps: ReassignedLookupDeps
  #isTestDataReported = false

  constructor(deps: ReassignedLookupDeps) {
    this.#deps = deps
  }

  /** Facts in the order of `consents`, `undefined` also for failures; rejects if all failed. */
  async find(consents: readonly Consent[], accountId: string): Promise<readonly Fact[]> {
    const results = consents.map((consent) =>
      this.#findOne({ accountId, ...this.#toAcceptedConsent(consent) }),
    )
    return collectValues(await Promise.all(results)).map((dated) => dated?.fact)
  }

  /**
   * The fact about one number with its date. Rejects if the lookup fails; also if its national half does, unless the
   * other half is a yes. Calls need a `no` of the newest release, which may be younger than the cached one.
   */
  async report(
    number: PhoneNumber,
    since: LocalDay,
    accountId: string,
  ): Promise<ReassignedReport | undefined> {
    const consent = this.#toAcceptedConsent({ number, consentOn: since })
    const { clock, findRelease } = this.#deps
    const now = clock.now()
    const isCurrent = ({ fact, askedAt }: DatedFact) =>
      isYes(fact) || now < findRelease(askedAt).replacedAt
    const found = await this.#findOne({ accountId, ...consent }, isCurrent)
    const { fact, askedAt, failure } = requireValue(found)
    if (failure && !isYes(fact)) requireValue(failure)
    return fact && { ...fact, isDisconnected: false, since: consent.consentOn, askedAt }
  }

  #toAcceptedConsent({ number, consentOn }: Consent): Consent {
    // A provider may reject a later day as being in the future. An earlier day can only include more disconnects.
    return { number, consentOn: Math.min(consentOn, toEarliestDay(this.#deps.clock.now())) }
  }

  /** Asks again if `isCurrent` refuses what is cached. */
  async #findOne(
    consent: AskedConsent,
    isCurrent: (dated: DatedFact) => boolean = () => true,
  ): Promise<LookupResult<DatedFact>> {
    const cached = this.#deps.cache.get(buildConsentKey(consent))
    if (cached && isCurrent(cached.value)) return { ok: true, value: cached.value }
    const askedAt = this.#deps.clock.now()
    const combined = await this.#ask(consent, 'both')
    if (!combined.ok) return combined
    const national = deriveNationalAnswer(combined.value)
    if (national === 'unclear') return await this.#askNationalOnly(consent, combined.value, askedAt)
    const fact = toReassignedAnswer(combined.value, national)
    return this.#store(consent, { fact, askedAt }, fact === undefined)
  }

  /** If the national database fails, the combined answer is used alone. */
  async #askNationalOnly(
    consent: AskedConsent,
    combined: ReassignedResult,
    askedAt: Instant,
  ): Promise<LookupResult<DatedFact>> {
    const answer = await this.#ask(consent, 'national')
    const national = answer.ok ? answer.value.isReassigned : null
    if (national === true && combined.isReassigned !== true) {
      const detail = 'the combined and the national answer contradict each other'
      return toAnswerFailure({ reason: 'not-understood', detail }, answer.source)
    }
    const fact = toReassignedAnswer(combined, national)
    const failure = answer.ok ? undefined : answer
    return this.#store(consent, { fact, askedAt, failure }, !answer.ok)
  }

  #store(consent: AskedConsent, value: DatedFact, isBrief: boolean): LookupResult<DatedFact> {
    this.#deps.cache.set(buildConsentKey(consent), { value }, isBrief ? maxTransientMs : undefined)
    return { ok: true, value }
  }

  async #ask(
    { accountId, number, consentOn }: AskedConsent,
    scope: ReassignedQuestion['scope'],
  ): Promise<Answer<ReassignedResult>> {
    const { client, onTestData } = this.#deps
    const answer = await client.ask({ accountId, number, consentOn, scope })
    if (!answer.ok || !answer.value.isTestData) return answer
    if (!this.#isTestDataReported) onTestData()
    this.#isTestDataReported = true
    const detail = 'the row is test data'
    return toAnswerFailure({ reason: 'not-understood', detail }, answer.source)
  }
}

function buildConsentKey({ number, consentOn, accountId }: AskedConsent): string {
  return `${number} ${consentOn} ${accountId}`
}
