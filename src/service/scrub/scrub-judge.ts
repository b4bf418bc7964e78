/**
 * Brings together what is known of one number and gives its scrub verdict: places, lists, records
 * and hours in; letter, reason and flags out. What the account has on file is handed in, so that a
 * batch is read in one go; how a row is written out is the business of `scrub-row.ts`.
 */
import type { Instant, LocalDay } from '../../domain/clock.js'
import type { ResultLetter, ScrubVerdict } from '../../domain/compliance.js'
import { asPhoneNumber, type PhoneNumber } from '../../domain/phone-number.js'
import type {
  CandidatePlace,
  NumberFacts,
  NumberingPlan,
  Place,
  PostalCodes,
} from '../../domain/place.js'
import type { CallingHours, HoursQuestion } from '../calling-hours/calling-hours.js'
import type { EbrLaw } from '../consent/ebr-expiry.js'
import type { ListFacts, ListFinding } from '../list-facts.js'
import type { ProjectScope } from '../projects/project-scope.js'
import type { Sandbox } from '../sandbox/sandbox.js'
import { callFlags } from './flags.js'
import { type LetterFacts, letterOf } from './letter.js'
import { type ListFindings, ListsLookedAt, lackOf, listsHoldUntil } from './list-evidence.js'
import { bothPlaces, nextMidnight } from './places.js'
import { malformedReason, reasonText } from './reason.js'
import {
  judgeRecords,
  optOutText,
  type RecordsFinding,
  type RecordsQuestion,
} from './relationship.js'

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
  /** The AI flag keeps the windows of recorded voices too. */
  readonly aiKeepsVoiceWindows?: boolean | undefined
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

/** A number that is in service, what the class of its line rests on, and what is asked. */
interface Known {
  readonly facts: Located['facts']
  readonly ported: ListFindings['ported']
  readonly query: NumberQuery
}

/** What lists, records and law say of one number. */
interface Findings extends ListFindings {
  readonly records: RecordsFinding
  readonly wirelessProhibited: boolean
}

export class ScrubJudge {
  readonly #parts: ScrubJudgeParts
  readonly #listsLookedAt = new ListsLookedAt()

  constructor(parts: ScrubJudgeParts) {
    this.#parts = parts
  }

  judge(query: NumberQuery): ScrubJudgement {
    const { lists, numberingPlan, sandbox } = this.#parts
    const number = asPhoneNumber(query.phone)
    if (!number) return refused('malformed', 'the number is not exactly 10 digits')
    const { accountId } = query.scope
    // Before the class of the line is: of a list that becomes too old in between, the verdict ends.
    const ported = lists.ported(accountId)
    const facts = sandbox.numberFacts(accountId, number) ?? numberingPlan.lookup(number)
    if (facts.status === 'ok') return this.#judgeInService(number, { facts, ported, query })
    const isTollFree = facts.status === 'toll-free'
    return refused('not-in-service', isTollFree ? 'toll-free number' : facts.detail)
  }

  #judgeInService(number: PhoneNumber, known: Known): ScrubJudgement {
    const { facts, query } = known
    const place = this.#placeOf(facts, query)
    const everywhere = bothPlaces(place, facts.place)
    const found = this.#findingsOf(number, everywhere, known)
    const letter = letterOf(letterFacts(found, facts, query.scope))
    const hours = hoursQuestion(place, query)
    const { callingHours } = this.#parts
    const window = callingHours.judge({ recordedVoice: false, lawToo: false, ...hours })
    const doNotCallToday = callingHours.doNotCallToday(hours)
    const { ebrType, expiresOn } = found.records
    const insideVoiceWindow =
      query.aiKeepsVoiceWindows !== true ||
      callingHours.judge({ recordedVoice: true, lawToo: false, ...hours }).permitted
    const insideWindow = window.permitted
    return {
      verdict: {
        letter,
        reason: reasonOf(letter, found, facts),
        ebrType,
        doNotCallToday,
        allowed: callFlags({ letter, ebrType, doNotCallToday, insideWindow, insideVoiceWindow }),
        ...detailOf(found, facts),
        ...(found.records.optOut && { optOut: found.records.optOut.effect }),
        lists: this.#listsLookedAt.of(found),
        opensAt:
          window.permitted && !doNotCallToday
            ? undefined
            : this.#opensAt(hours, { ...query.records, places: everywhere, found }),
      },
      holdsUntil: Math.min(
        window.holdsUntil,
        nextMidnight(everywhere, query.at),
        listsHoldUntil(found),
      ),
      located: { facts, place, hours, expiresOn },
    }
  }

  #findingsOf(
    number: PhoneNumber,
    everywhere: readonly CandidatePlace[],
    { facts, ported, query }: Known,
  ): Findings {
    const { law, lists } = this.#parts
    const { accountId } = query.scope
    const regions = [...new Set(everywhere.map(({ region }) => region))]
    return {
      records: judgeRecords({ places: everywhere, law, ...query.records }),
      national: lists.nationalIn(query.scope, number, facts.place.country),
      state: lists.state(accountId, number, regions),
      litigator: lists.litigator(accountId, number),
      ported,
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

function hoursQuestion(place: Place, { scope, at, postalCode }: NumberQuery): HoursQuestion {
  return {
    candidates: place.candidates,
    at,
    overrides: scope.hours,
    postalCode: place.source === 'postal-code' ? postalCode : undefined,
  }
}

function letterFacts(
  { records, national, state, litigator, wirelessProhibited }: Findings,
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
    isLitigator: litigator.status === 'listed',
    lineClass,
    wirelessProhibited,
    voipRestricted,
    industryExemption,
  }
}

function reasonOf(
  letter: ResultLetter,
  { national, state, litigator }: Findings,
  { place, lineClass }: Located['facts'],
): string {
  const { region } = state
  const stateOn = listedOn(state)
  return reasonText({
    letter,
    isLitigator: litigator.status === 'listed',
    country: place.country,
    nationalOn: listedOn(national),
    state: stateOn === undefined || region === undefined ? undefined : { region, on: stateOn },
    isWireless: lineClass === 'wireless' || lineClass === 'unknown',
  })
}

/** The list's own day stands in where it has none for the number. */
function listedOn(found: ListFinding): LocalDay | undefined {
  if (found.status !== 'listed') return undefined
  return found.listedOn ?? Math.floor(found.asOf / 86_400_000)
}

function detailOf(
  found: Findings,
  { lineClass, originalClass }: Located['facts'],
): Pick<ScrubVerdict, 'detail' | 'isListStale'> {
  const lack = lackOf(found)
  if (lack) return lack
  const { ebrType, optOut } = found.records
  const record = optOut && ebrType !== '' ? [optOutText(ebrType, optOut)] : []
  const isInDoubt = originalClass !== 'unknown'
  const why = isInDoubt ? ': a list of ported numbers is too old or cannot be read' : ''
  const line = lineClass === 'unknown' ? [`line class unknown, counted as wireless${why}`] : []
  const details = [...record, ...line]
  return { detail: details.length === 0 ? undefined : details.join('; ') }
}

function refused(standing: 'malformed' | 'not-in-service', detail: string): ScrubJudgement {
  return {
    verdict: {
      letter: standing === 'malformed' ? 'M' : 'I',
      reason: standing === 'malformed' ? malformedReason : '',
      ebrType: '',
      doNotCallToday: false,
      allowed: { manual: false, autodialed: false, ai: false },
      detail,
    },
    holdsUntil: Number.POSITIVE_INFINITY,
    located: undefined,
  }
}
