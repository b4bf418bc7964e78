/**
 * Computes the scrub verdict of one number (letter, reason and flags) from its places, lists, records
 * and hours. For a batch, the caller reads the account's records in advance. `scrub.ts` and
 * `scrub-row.ts` build the rows.
 */

import type { ScopeChoice } from '../../domain/caller.js'
import type { MaybePromise, ResultLetter, ScrubVerdict } from '../../domain/compliance.js'
import type { ListVersion } from '../../domain/number-set.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { CandidatePlace, Place, PostalCodes } from '../../domain/place.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { toUtcDay } from '../../domain/time/dates.js'
import { toInstant, toLocalTime } from '../../domain/time/time-zones.js'
import type { Said } from '../../domain/words/words.js'
import type { EbrLaw } from '../../law/records/ebr-expiry.js'
import type { EbrRecord } from '../../law/records/ebr-record.js'
import type { InternalDncEntry } from '../../law/records/opt-out.js'
import { evaluateRelationship, type RelationshipFinding } from '../../law/records/relationship.js'
import { computeCallFlags, computeLetter } from '../../law/records/result-letter.js'
import type { AccountView } from '../account-view.js'
import {
  type CallingHours,
  formatFacts,
  type HoursQuestion,
} from '../calling-hours/calling-hours.js'
import type { EbrRecordSource } from '../consent/ebr-record.js'
import type { InternalDncEntrySource } from '../internal-dnc/internal-dnc-entry.js'
import { findSubscriptionGap, type ListEvidence, type ListFinding } from '../lists/list-facts.js'
import { type ProjectScope, requireScope, type ScopeResolver } from '../projects/project-scope.js'
import {
  selectHours,
  toRecordedListing,
  toRecordedPlace,
  type UnusualFacts,
} from '../recorded-facts.js'
import {
  explainLetter,
  type Findings,
  formatReason,
  type InServiceFacts,
  malformedReason,
} from './scrub-texts.js'

export interface ScrubEvaluatorDeps {
  readonly projects: ScopeResolver
  readonly internalDnc: Pick<InternalDncEntrySource, 'findEntry'>
  readonly ebrRecords: Pick<EbrRecordSource, 'findRecord'>
  readonly postalCodes: PostalCodes
}

export interface ScrubQuestion extends ScopeChoice {
  readonly number: PhoneNumber
  readonly postalCode?: string | undefined
  /** The instant to evaluate; absent means now. */
  readonly at?: Instant | undefined
}

/** What an account's view must have for an evaluation. */
export interface EvaluatedAccount
  extends Pick<AccountView, 'clock' | 'lists' | 'numberingPlan' | 'fixedFacts'> {
  readonly hours: Pick<CallingHours, 'evaluate' | 'findNextOpening' | 'formatCallingWindow'>
  readonly law: ScrubLaw
}

interface ScrubLaw extends EbrLaw {
  /** The citation of the ban on sales calls to mobile numbers on a local day, if there is one. */
  findWirelessBan(region: string, findDay: () => LocalDay): string | undefined
}

/** A number with the account's list entry and record for it. */
export interface ScrubCase {
  readonly account: Pick<EvaluatedAccount, 'lists' | 'numberingPlan' | 'hours' | 'law'>
  readonly scope: ProjectScope
  readonly number: PhoneNumber
  readonly postalCode: string | undefined
  readonly now: Instant
  /** The instant to evaluate. */
  readonly at: Instant
  readonly entry: InternalDncEntry | undefined
  readonly record: EbrRecord | undefined
  /** The AI flag also respects the windows for recorded voices. */
  readonly aiKeepsVoiceWindows?: boolean | undefined
  /** The verdict also needs `opensAt` and `facts`, which a scrub row does not show. */
  readonly isForDecision?: boolean
}

/** A number in service, with the places that determine its calling hours. */
export interface LocatedNumber {
  readonly facts: InServiceFacts
  /** The place of the postal code if it is known, else that of the number (spec, "Scrub"). */
  readonly place: Place
  readonly hours: HoursQuestion
  readonly expiresOn: RelationshipFinding['expiresOn']
}

export interface ScrubEvaluation {
  /** With the letter of version 8. */
  readonly verdict: ScrubVerdict
  /** When the verdict may change through the passage of time; infinity for numbers not in service. */
  readonly holdsUntil: Instant
  /** The account's time at which it was made; absent for letters `M` and `I`. */
  readonly evaluatedAt?: Instant
  /** Absent for letters `M` and `I`. */
  readonly located: LocatedNumber | undefined
}

export class ScrubEvaluator {
  readonly #deps: ScrubEvaluatorDeps
  /** The lists of the previous verdict, so that consecutive verdicts with the same lists share one array. */
  #lists: {
    readonly parts: readonly (readonly ListVersion[])[]
    readonly all: readonly ListVersion[]
  } = { parts: [], all: [] }

  constructor(deps: ScrubEvaluatorDeps) {
    this.#deps = deps
  }

  /** Throws an `invalid-request` for an unknown project or campaign. */
  evaluate(
    account: EvaluatedAccount,
    accountId: string,
    question: ScrubQuestion,
  ): MaybePromise<ScrubEvaluation> {
    const scope = requireScope(this.#deps.projects, accountId, question)
    return scope instanceof Promise
      ? scope.then((found) => this.#evaluateIn(found, account, question))
      : this.#evaluateIn(scope, account, question)
  }

  #evaluateIn(
    scope: ProjectScope,
    account: EvaluatedAccount,
    question: ScrubQuestion,
  ): MaybePromise<ScrubEvaluation> {
    const { accountId, internalDncList, ebrProject } = scope
    const { number, postalCode } = question
    const { fixedFacts } = account
    const { internalDnc, ebrRecords } = this.#deps
    const now = account.clock.now()
    const at = question.at ?? now
    const known = { account, scope, number, postalCode, now, at, isForDecision: true }
    const entry = internalDnc.findEntry(accountId, internalDncList, number, fixedFacts)
    const record = ebrRecords.findRecord(accountId, ebrProject, number, fixedFacts)
    return entry instanceof Promise || record instanceof Promise
      ? this.#judgeLater(known, entry, record)
      : this.judge({ ...known, entry, record })
  }

  async #judgeLater(
    known: Omit<ScrubCase, 'entry' | 'record'>,
    entry: MaybePromise<InternalDncEntry | undefined>,
    record: MaybePromise<EbrRecord | undefined>,
  ): Promise<ScrubEvaluation> {
    const [foundEntry, foundRecord] = await Promise.all([entry, record])
    return this.judge({ ...known, entry: foundEntry, record: foundRecord })
  }

  judge(query: ScrubCase): ScrubEvaluation {
    const { lists, numberingPlan } = query.account
    // Read before the line class, so that a list that expires in between also expires the verdict.
    const ported = lists.findPortedEvidence()
    const facts = numberingPlan.lookup(query.number)
    if (facts.status !== 'ok') {
      return createRefusal('I', '', facts.status === 'toll-free' ? tollFree : facts.says)
    }
    const { postalCode } = query
    const postal = postalCode ? this.#deps.postalCodes.locate(postalCode) : undefined
    // A postal code only changes the calling hours; lists, records and bans of both places apply.
    const everywhere = postal
      ? [...postal.candidates, ...facts.place.candidates]
      : facts.place.candidates
    return this.#judgeInService(query, { facts, postal, everywhere, ported })
  }

  #judgeInService(
    query: ScrubCase,
    {
      facts,
      postal,
      everywhere,
      ported,
    }: {
      readonly facts: InServiceFacts
      readonly postal: Place | undefined
      readonly everywhere: readonly CandidatePlace[]
      readonly ported: ListEvidence
    },
  ): ScrubEvaluation {
    const { scope, at, postalCode } = query
    const place = postal ?? facts.place
    const { hours: callingHours } = query.account
    const found = this.#collectFindings(query, facts, everywhere, ported)
    const { records, national, state, litigator } = found
    const letter = computeLetter({
      numberStatus: 'in-service',
      listsCover: national.status !== 'not-covered' && state.status !== 'not-covered',
      onNationalList: national.status === 'listed',
      onStateList: state.status === 'listed',
      isLitigator: litigator.status === 'listed',
      internalList: records.internalList,
      relationship: records.relationship,
      lineClass: facts.lineClass,
      wirelessProhibited: found.wirelessBan !== undefined,
      voipRestricted: scope.voipRestricted,
      industryExemption: scope.industryExemption,
    })
    const hours = {
      candidates: place.candidates,
      at,
      overrides: scope.hours,
      postalCode: place.source === 'postal-code' ? postalCode : undefined,
    }
    const window = callingHours.evaluate(hours)
    const doNotCallToday = window.isDayClosed
    const insideWindow = window.permitted
    const insideVoiceWindow =
      query.aiKeepsVoiceWindows !== true ||
      callingHours.evaluate({ ...hours, recordedVoice: true }).permitted
    const { ebrType, expiresOn, optOut } = records
    const midnight = findNextMidnight(everywhere, at)
    const timeAllows = insideWindow && !doNotCallToday
    const { says, listProblem } = explainLetter(
      found,
      facts,
      query.isForDecision ? letter : undefined,
    )
    // One literal: built from parts, an object takes many times as long.
    return {
      verdict: {
        letter,
        reason: buildReason(letter, found, facts),
        listedOn: findListedOn(found),
        lineClass: query.isForDecision ? facts.lineClass : undefined,
        ebrType,
        contactOn: query.isForDecision ? query.record?.contactOn : undefined,
        confirmedOn: query.isForDecision ? query.record?.confirmedOn : undefined,
        consent: query.isForDecision ? query.record?.consent : undefined,
        doNotCallToday,
        allowed: computeCallFlags({
          letter,
          ebrType,
          doNotCallToday,
          insideWindow,
          insideVoiceWindow,
        }),
        says,
        listProblem,
        optOut: optOut?.effect,
        lists: this.#mergeLists([national.lists, state.lists, litigator.lists, ported.lists]),
        opensAt:
          timeAllows || !query.isForDecision
            ? undefined
            : this.#findOpening(hours, query, everywhere, records),
        facts: query.isForDecision
          ? formatFacts(facts, listUnusualFacts(query, found, { postal, everywhere, midnight }))
          : undefined,
      },
      holdsUntil: Math.min(
        window.holdsUntil,
        midnight,
        national.holdsUntil,
        state.holdsUntil,
        litigator.holdsUntil,
        ported.holdsUntil,
      ),
      evaluatedAt: query.now,
      located: { facts, place, hours, expiresOn },
    }
  }

  #collectFindings(
    query: ScrubCase,
    { place: { country } }: InServiceFacts,
    everywhere: readonly CandidatePlace[],
    ported: ListEvidence,
  ): Findings {
    const { number, scope } = query
    const { lists, law } = query.account
    const regions = [...new Set(everywhere.map(({ region }) => region))]
    let wirelessBan: Findings['wirelessBan']
    for (const { region, zone } of everywhere) {
      const citation = law.findWirelessBan(region, () => toLocalTime(zone, query.at).day)
      if (citation !== undefined) wirelessBan ??= { region, citation }
    }
    return {
      records: this.#evaluateRecords(query, everywhere, query.at),
      national:
        findSubscriptionGap(scope, number, country) ?? lists.checkNational(number, country, scope),
      state: lists.checkState(number, regions, scope),
      litigator: lists.checkLitigator(number, scope),
      ported,
      wirelessBan,
    }
  }

  #evaluateRecords(
    { account: { law }, entry, record, now }: ScrubCase,
    places: readonly CandidatePlace[],
    at: Instant,
  ): RelationshipFinding {
    return evaluateRelationship({ entry, record, places, law, at: record?.isFixed ? now : at })
  }

  /** The next opening, if the record on file still has the same effect then and the letter is unchanged. */
  #findOpening(
    hours: HoursQuestion,
    query: ScrubCase,
    places: readonly CandidatePlace[],
    { relationship }: RelationshipFinding,
  ): Instant {
    const opensAt = query.account.hours.findNextOpening(hours)
    if (opensAt === undefined) return Number.POSITIVE_INFINITY
    const then = this.#evaluateRecords(query, places, opensAt)
    return then.relationship === relationship ? opensAt : Number.POSITIVE_INFINITY
  }

  #mergeLists(parts: readonly (readonly ListVersion[])[]): readonly ListVersion[] {
    if (parts.some((lists, index) => lists !== this.#lists.parts[index])) {
      this.#lists = { parts, all: Object.freeze(parts.flat()) }
    }
    return this.#lists.all
  }
}

function buildReason(
  letter: ResultLetter,
  { national, state, litigator }: Findings,
  { place, lineClass }: InServiceFacts,
): string {
  const { region } = state
  const stateOn = findListedDay(state)
  return formatReason({
    letter,
    isLitigator: litigator.status === 'listed',
    country: place.country,
    nationalOn: findListedDay(national),
    state: stateOn === undefined || region === undefined ? undefined : { region, on: stateOn },
    isWireless: lineClass === 'wireless' || lineClass === 'unknown',
  })
}

function findListedOn({ national, state, litigator }: Findings): ScrubVerdict['listedOn'] {
  if (litigator.status === 'listed') return 'litigator'
  if (national.status === 'listed') return 'national'
  return state.status === 'listed' ? 'state' : undefined
}

/** What the record needs besides the facts about the number; `undefined` if there is nothing, as usual. */
function listUnusualFacts(
  { scope, entry, record, now }: ScrubCase,
  { national, state, litigator, ported }: Findings,
  {
    postal,
    everywhere,
    midnight,
  }: {
    readonly postal: Place | undefined
    readonly everywhere: readonly CandidatePlace[]
    readonly midnight: Instant
  },
): UnusualFacts | undefined {
  const listsHoldUntil = Math.min(
    national.holdsUntil,
    state.holdsUntil,
    litigator.holdsUntil,
    ported.holdsUntil,
  )
  const hours = scope.hours.length > 0 ? selectHours(scope.hours, everywhere) : undefined
  const isUsual =
    national.status === 'clear' &&
    state.status === 'clear' &&
    litigator.status !== 'listed' &&
    listsHoldUntil >= midnight &&
    (entry ?? record ?? postal ?? hours) === undefined &&
    !scope.industryExemption &&
    !scope.voipRestricted
  if (isUsual) return undefined
  return {
    postal: postal && toRecordedPlace(postal),
    hours,
    industryExemption: scope.industryExemption || undefined,
    voipRestricted: scope.voipRestricted || undefined,
    national: toRecordedListing(national, findListedDay(national)),
    state: toRecordedListing(state, findListedDay(state)),
    isLitigator: litigator.status === 'listed' || undefined,
    listsHoldUntil: listsHoldUntil < midnight ? listsHoldUntil : undefined,
    entry,
    record,
    now: record?.isFixed ? now : undefined,
  }
}

/** The day on which the number was listed; the as-of day of the list if it keeps none. */
function findListedDay(found: ListFinding): LocalDay | undefined {
  if (found.status !== 'listed') return undefined
  return found.listedOn ?? toUtcDay(found.asOf)
}

export const malformedEvaluation = createRefusal('M', malformedReason, [])

const tollFree: readonly Said[] = [{ code: 'toll-free' }]

function createRefusal(letter: 'M' | 'I', reason: string, says: readonly Said[]): ScrubEvaluation {
  return {
    verdict: {
      letter,
      reason,
      ebrType: '',
      doNotCallToday: false,
      allowed: { manual: false, autodialed: false, ai: false },
      says,
    },
    holdsUntil: Number.POSITIVE_INFINITY,
    located: undefined,
  }
}

/** The first instant at which the next day has begun in one of the places. */
function findNextMidnight(places: readonly CandidatePlace[], at: Instant): Instant {
  let earliest = Number.POSITIVE_INFINITY
  for (const { zone } of places) {
    const midnight = toInstant(zone, toLocalTime(zone, at).day + 1, 0, 'earlier')
    if (midnight < earliest) earliest = midnight
  }
  return earliest
}
