/**
 * Brings together what is known of one number and gives its scrub verdict: places, lists, records
 * and hours in; letter, reason and flags out. What the account has on file is handed in, so that a
 * batch is read in one go; how a row is written out is the business of `scrub-row.ts`.
 */
import type { Instant } from '../../domain/clock.js'
import type { ResultLetter, ScrubVerdict } from '../../domain/compliance.js'
import { asPhoneNumber, type PhoneNumber } from '../../domain/phone-number.js'
import type {
  CandidatePlace,
  NumberFacts,
  NumberingPlan,
  Place,
  PostalCodes,
} from '../../domain/place.js'
import { instantOf, localTime } from '../../domain/zones.js'
import type { CallingHours, HoursQuestion } from '../calling-hours/calling-hours.js'
import type { EbrLaw } from '../consent/ebr-expiry.js'
import type { ListFacts, ListFinding, StateFinding } from '../list-facts.js'
import type { ProjectScope } from '../projects/project-scope.js'
import type { Sandbox } from '../sandbox/sandbox.js'
import { callFlags } from './flags.js'
import { type LetterFacts, letterOf } from './letter.js'
import { reasonText } from './reason.js'
import { judgeRecords, type RecordsFinding, type RecordsQuestion } from './relationship.js'

/** The law as the scrub needs it; the states concerned are told by the rules data alone. */
export interface ScrubLaw extends EbrLaw {
  isWirelessProhibited(region: string): boolean
}

export interface ScrubJudgeParts {
  readonly numberingPlan: NumberingPlan
  readonly postalCodes: PostalCodes
  readonly lists: ListFacts
  readonly law: ScrubLaw
  readonly callingHours: Pick<CallingHours, 'judge' | 'doNotCallToday' | 'callableFrom'>
  readonly sandbox: Sandbox
}

export interface NumberQuery {
  readonly scope: ProjectScope
  /** As received. */
  readonly phone: string
  readonly postalCode: string | undefined
  readonly at: Instant
  /** What the account has on file for the number. */
  readonly records: Pick<RecordsQuestion, 'entry' | 'record' | 'at' | 'isFixed'>
}

/** A number that is in service, and the places that count for its calling hours. */
export interface Located {
  readonly facts: NumberFacts & { readonly status: 'ok' }
  /** Of the postal code where one located, else of the number (spec, "Scrub"). */
  readonly place: Place
  readonly hours: HoursQuestion
  readonly expiresOn: RecordsFinding['expiresOn']
}

export interface ScrubJudgement {
  /** With the letter of version 8. */
  readonly verdict: ScrubVerdict
  /** When the verdict may change by time alone; infinity for numbers that are not in service. */
  readonly holdsUntil: Instant
  /** Absent for letters `M` and `I`. */
  readonly located: Located | undefined
}

/** What lists, records and law say of one number. */
interface Findings {
  readonly records: RecordsFinding
  readonly national: ListFinding
  readonly state: StateFinding
  readonly isLitigator: boolean
  readonly wirelessProhibited: boolean
}

export class ScrubJudge {
  readonly #parts: ScrubJudgeParts

  constructor(parts: ScrubJudgeParts) {
    this.#parts = parts
  }

  judge(query: NumberQuery): ScrubJudgement {
    const { numberingPlan, sandbox } = this.#parts
    const number = asPhoneNumber(query.phone)
    if (!number) return refused('malformed', 'the number is not exactly 10 digits')
    const { accountId } = query.scope
    const facts = sandbox.numberFacts(accountId, number) ?? numberingPlan.lookup(number)
    if (facts.status === 'ok') return this.#judgeInService(number, facts, query)
    const isTollFree = facts.status === 'toll-free'
    return refused('not-in-service', isTollFree ? 'toll-free number' : facts.detail)
  }

  #judgeInService(
    number: PhoneNumber,
    facts: Located['facts'],
    query: NumberQuery,
  ): ScrubJudgement {
    const place = this.#placeOf(facts, query)
    const everywhere = bothPlaces(place, facts.place)
    const found = this.#findingsOf(number, { facts, everywhere, query })
    const letter = letterOf(letterFacts(found, facts, query.scope))
    const hours = hoursQuestion(place, query)
    const { callingHours } = this.#parts
    const window = callingHours.judge({ recordedVoice: false, lawToo: false, ...hours })
    const doNotCallToday = callingHours.doNotCallToday(hours)
    const { ebrType, expiresOn } = found.records
    return {
      verdict: {
        letter,
        reason: reasonOf(letter, found, facts),
        ebrType,
        doNotCallToday,
        allowed: callFlags({ letter, ebrType, doNotCallToday, insideWindow: window.permitted }),
        detail: detailOf(found, facts),
        opensAt:
          window.permitted && !doNotCallToday
            ? undefined
            : this.#opensAt(hours, { ...query.records, places: everywhere, found }),
      },
      holdsUntil: Math.min(window.holdsUntil, nextMidnight(everywhere, query.at)),
      located: { facts, place, hours, expiresOn },
    }
  }

  #findingsOf(
    number: PhoneNumber,
    about: {
      readonly facts: Located['facts']
      readonly everywhere: readonly CandidatePlace[]
      readonly query: NumberQuery
    },
  ): Findings {
    const { law, lists } = this.#parts
    const { facts, everywhere, query } = about
    const { accountId } = query.scope
    const regions = [...new Set(everywhere.map(({ region }) => region))]
    return {
      records: judgeRecords({ places: everywhere, law, ...query.records }),
      national: lists.nationalIn(query.scope, number, facts.place.country),
      state: lists.state(accountId, number, regions),
      isLitigator: lists.litigator(accountId, number).status === 'listed',
      wirelessProhibited: regions.some((region) => law.isWirelessProhibited(region)),
    }
  }

  /** Only where the record on file says the same then as now, and with it the letter. */
  #opensAt(
    hours: HoursQuestion,
    about: NumberQuery['records'] & {
      readonly places: readonly CandidatePlace[]
      readonly found: Findings
    },
  ): Instant {
    const { callingHours, law } = this.#parts
    const { found, ...records } = about
    const opensAt = callingHours.callableFrom(hours)
    if (opensAt === undefined) return Number.POSITIVE_INFINITY
    const then = judgeRecords({ ...records, at: records.isFixed ? records.at : opensAt, law })
    return then.relationship === found.records.relationship ? opensAt : Number.POSITIVE_INFINITY
  }

  #placeOf(facts: Located['facts'], { postalCode }: NumberQuery): Place {
    const postal = postalCode ? this.#parts.postalCodes.locate(postalCode) : undefined
    return postal ?? facts.place
  }
}

/**
 * Lists, records and bans on calls to wireless numbers count for the place of the number and for
 * that of the postal code alike: a postal code moves the calling hours and lifts nothing.
 */
function bothPlaces(place: Place, ofNumber: Place): readonly CandidatePlace[] {
  if (place === ofNumber) return place.candidates
  return [...place.candidates, ...ofNumber.candidates]
}

function hoursQuestion(place: Place, { scope, at, postalCode }: NumberQuery): HoursQuestion {
  return {
    candidates: place.candidates,
    at,
    overrides: scope.hours,
    postalCode: place.source === 'postal-code' ? postalCode : undefined,
  }
}

function nextMidnight(places: readonly CandidatePlace[], at: Instant): Instant {
  let earliest = Number.POSITIVE_INFINITY
  for (const { zone } of places) {
    const midnight = instantOf(zone, localTime(zone, at).day + 1, 0, 'earlier')
    if (midnight < earliest) earliest = midnight
  }
  return earliest
}

function letterFacts(
  { records, national, state, isLitigator, wirelessProhibited }: Findings,
  { lineClass }: Located['facts'],
  { voipRestricted, industryExemption }: ProjectScope,
): LetterFacts {
  return {
    standing: 'in-service',
    listsCover: national.status !== 'not-covered' && state.status !== 'not-covered',
    onNationalList: national.status === 'listed',
    onStateList: state.status === 'listed',
    internalList: records.internalList,
    relationship: records.relationship,
    isLitigator,
    lineClass,
    wirelessProhibited,
    voipRestricted,
    industryExemption,
  }
}

function reasonOf(
  letter: ResultLetter,
  { national, state, isLitigator }: Findings,
  { place, lineClass }: Located['facts'],
): string {
  return reasonText({
    letter,
    isLitigator,
    country: place.country,
    nationalAsOf: national.status === 'listed' ? national.asOf : undefined,
    state:
      state.status === 'listed' && state.region !== undefined
        ? { region: state.region, asOf: state.asOf }
        : undefined,
    isWireless: lineClass === 'wireless' || lineClass === 'unknown',
  })
}

function detailOf(
  { national, state }: Findings,
  { lineClass }: Located['facts'],
): string | undefined {
  if (national.status === 'not-covered') return national.detail
  if (state.status === 'not-covered') return state.detail
  return lineClass === 'unknown' ? 'line class unknown, counted as wireless' : undefined
}

function refused(standing: 'malformed' | 'not-in-service', detail: string): ScrubJudgement {
  return {
    verdict: {
      letter: standing === 'malformed' ? 'M' : 'I',
      reason: '',
      ebrType: '',
      doNotCallToday: false,
      allowed: { manual: false, autodialed: false, ai: false },
      detail,
    },
    holdsUntil: Number.POSITIVE_INFINITY,
    located: undefined,
  }
}
