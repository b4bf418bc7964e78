/** What a scrub says of a number: its letter and flags (spec, "Scrub"), from the facts about it. */
import type { CallRow, ResultLetter } from '../domain/compliance.js'
import { findListedDay, findListsEnd } from '../domain/number-set.js'
import type { CandidatePlace, NumberInService, Place } from '../domain/place.js'
import type { Instant } from '../domain/time/clock.js'
import { toInstant, toLocalTime } from '../domain/time/time-zones.js'
import type { ProjectHours } from '../domain/time/week-windows.js'
import type { Said } from '../domain/words/words.js'
import type { CalledPlace } from '../law/hours/operator-closures.js'
import type { WindowEvaluator } from '../law/hours/window-evaluator.js'
import type { EbrLaw } from '../law/records/ebr-expiry.js'
import { evaluateRelationship, type RelationshipFinding } from '../law/records/relationship.js'
import { computeCallFlags, computeLetter } from '../law/records/result-letter.js'
import type { ListFindings, OwnFacts, PermissionFacts } from './facts.js'
import type { Law } from './law.js'
import { explainLetter, formatReason, type RowFindings } from './row-words.js'

export interface RowRules {
  readonly law: Pick<Law, 'findEbrRule' | 'findWirelessBan'>
  readonly windows: Pick<WindowEvaluator, 'evaluate' | 'findNextOpening'>
}

/** A number with what is known about it. */
export interface RowCase extends Pick<OwnFacts, 'number' | 'ported' | 'postalCode' | 'postal'> {
  readonly facts: PermissionFacts
  /** By the account's clock. */
  readonly now: Instant
  /** The instant to evaluate. */
  readonly at: Instant
  /** The AI flag also respects the windows for recorded voices. */
  readonly aiKeepsVoiceWindows?: boolean | undefined
}

/** A number in service, with the places that determine its calling hours. */
export interface LocatedNumber {
  readonly facts: NumberInService
  /** The place of the postal code if it is known, else that of the number (spec, "Scrub"). */
  readonly place: Place
  /** All places that it may be in: a postal code only changes the calling hours. */
  readonly everywhere: readonly CandidatePlace[]
  readonly found: RowFindings
  /** Whether the hours and the day permit calls. */
  readonly isTimely: boolean
  /** When the next day begins in one of the places. */
  readonly midnight: Instant
  /** The letter or the reason may change then; the calling hours aside. */
  readonly listsHoldUntil: Instant
}

export interface RowEvaluation {
  /** With the letter of version 8. */
  readonly row: CallRow
  /** When the row may change through the passage of time; infinity for numbers not in service. */
  readonly holdsUntil: Instant
  /** Absent for letters `M` and `I`. */
  readonly located: LocatedNumber | undefined
}

export function evaluateRow(query: RowCase, rules: RowRules): RowEvaluation {
  const { number, postal, facts } = query
  if (number.status !== 'ok' || facts.lists === undefined) {
    const says = 'says' in number ? number.says : tollFree
    return createRefusal('I', '', says)
  }
  const everywhere = postal
    ? [...postal.candidates, ...number.place.candidates]
    : number.place.candidates
  return evaluateInService(query, { number, lists: facts.lists, everywhere }, rules)
}

interface InService {
  readonly number: NumberInService
  readonly lists: ListFindings
  readonly everywhere: readonly CandidatePlace[]
}

function evaluateInService(
  query: RowCase,
  { number, lists, everywhere }: InService,
  rules: RowRules,
): RowEvaluation {
  const { at, facts, ported, postal, aiKeepsVoiceWindows } = query
  const { national, state, litigator } = lists
  const found: RowFindings = {
    national,
    state,
    litigator,
    records: evaluateRecords(query, everywhere, { at, law: rules.law }),
    wirelessBan: findWirelessBan(rules.law, everywhere, at),
  }
  const { records } = found
  const letter = computeLetter({
    numberStatus: 'in-service',
    listsCover: national.status !== 'not-covered' && state.status !== 'not-covered',
    onNationalList: national.status === 'listed',
    onStateList: state.status === 'listed',
    isLitigator: litigator.status === 'listed',
    internalList: records.internalList,
    relationship: records.relationship,
    lineClass: number.lineClass,
    wirelessProhibited: found.wirelessBan !== undefined,
    voipRestricted: facts.voipRestricted,
    industryExemption: facts.industryExemption,
  })
  const { ebrType, optOut } = records
  const places = listHoursPlaces(query, number)
  const window = rules.windows.evaluate(places, at, toHoursOptions(facts.hours))
  const insideVoiceWindow =
    aiKeepsVoiceWindows !== true ||
    rules.windows.evaluate(places, at, toHoursOptions(facts.hours, true)).permitted
  const midnight = findNextMidnight(everywhere, at)
  const listsHoldUntil = findListsEnd([national, state, litigator, ported])
  const { says, listProblem } = explainLetter(found, number, letter)
  const { record } = facts
  // One literal: built from parts, an object takes many times as long.
  return {
    row: {
      letter,
      reason: buildReason(letter, found, number),
      listedOn: findListedOn(found),
      lineClass: number.lineClass,
      ebrType,
      contactOn: record?.contactOn,
      confirmedOn: record?.confirmedOn,
      consent: record?.consent,
      doNotCallToday: window.isDayClosed,
      allowed: computeCallFlags({
        letter,
        ebrType,
        doNotCallToday: window.isDayClosed,
        insideWindow: window.permitted,
        insideVoiceWindow,
      }),
      says,
      listProblem,
      optOut: optOut?.effect,
      lists: [...national.lists, ...state.lists, ...litigator.lists, ...ported.lists],
    },
    holdsUntil: Math.min(window.holdsUntil, midnight, listsHoldUntil),
    located: {
      facts: number,
      place: postal ?? number.place,
      everywhere,
      found,
      isTimely: window.permitted && !window.isDayClosed,
      midnight,
      listsHoldUntil,
    },
  }
}

/** When calls are next permitted, if the record on file still has the same effect then; infinity if that is not soon. */
export function findRowOpening(
  query: RowCase,
  { everywhere, facts: number, found }: LocatedNumber,
  rules: RowRules,
): Instant {
  const { at, facts } = query
  const places = listHoursPlaces(query, number)
  const opensAt = rules.windows.findNextOpening(places, at, toHoursOptions(facts.hours))
  if (opensAt === undefined) return Number.POSITIVE_INFINITY
  const then = evaluateRecords(query, everywhere, { at: opensAt, law: rules.law })
  return then.relationship === found.records.relationship ? opensAt : Number.POSITIVE_INFINITY
}

/** A postal code with a known place replaces the places of the number. */
function listHoursPlaces(
  { postal, postalCode }: Pick<RowCase, 'postal' | 'postalCode'>,
  number: NumberInService,
): readonly CalledPlace[] {
  return postal
    ? postal.candidates.map(({ region, zone }) => ({ region, zone, postalCode }))
    : number.place.candidates
}

function toHoursOptions(overrides: readonly ProjectHours[], recordedVoice = false) {
  return { overrides, recordedVoice, requireStatutoryWindow: false }
}

function evaluateRecords(
  { facts: { entry, record }, now }: RowCase,
  places: readonly CandidatePlace[],
  { at, law }: { readonly at: Instant; readonly law: EbrLaw },
): RelationshipFinding {
  return evaluateRelationship({ entry, record, places, law, at: record?.isFixed ? now : at })
}

function findWirelessBan(
  law: RowRules['law'],
  places: readonly CandidatePlace[],
  at: Instant,
): RowFindings['wirelessBan'] {
  for (const { region, zone } of places) {
    const citation = law.findWirelessBan(region, () => toLocalTime(zone, at).day)
    if (citation !== undefined) return { region, citation }
  }
  return undefined
}

function buildReason(
  letter: ResultLetter,
  { national, state, litigator }: ListFindings,
  { place, lineClass }: NumberInService,
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

function findListedOn({ national, state, litigator }: ListFindings): CallRow['listedOn'] {
  if (litigator.status === 'listed') return 'litigator'
  if (national.status === 'listed') return 'national'
  return state.status === 'listed' ? 'state' : undefined
}

const tollFree: readonly Said[] = [{ code: 'toll-free' }]

export function createRefusal(
  letter: 'M' | 'I',
  reason: string,
  says: readonly Said[],
): RowEvaluation {
  return {
    row: {
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
