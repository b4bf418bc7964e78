/**
 * Computes the result of a scrub row from facts gathered elsewhere. Pure. It consists of:
 *
 * - what the number's internal list entry and relationship record come to. The newer of permission and
 *   list entry applies; on a tie, the entry (spec, "Internal DNC membership"). The order in which they
 *   were stored is given by the database's sequence numbers, not by a clock;
 * - the result letter;
 * - the three `IsCallAllowed` flags (spec, "Scrub result row"). The AI flag requires the spec's five
 *   checks; the conditions of the other two are chosen so that the AI flag implies both;
 * - the texts that clients parse: `CarrierInfo`, and `Reason`, whose four parts are separated by
 *   semicolons (national list, state list, telephone preference service, wireless mark).
 */

import type { EbrType, ResultLetter, ScrubVerdict } from '../../domain/compliance.js'
import type {
  CandidatePlace,
  Country,
  LineClass,
  NumberFacts,
  OriginalCarrier,
} from '../../domain/place.js'
import type { ScrubVersion } from '../../domain/scrub-row.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { formatDay, formatInstant, msPerDay, toUtcDay } from '../../domain/time/dates.js'
import { toInstant, toLocalTime } from '../../domain/time/time-zones.js'
import {
  computeFederalExpiry,
  computeRegionalExpiry,
  type EbrLaw,
  isExemptOn,
  neverExpires,
  type RegionDay,
} from '../consent/ebr-expiry.js'
import type { EbrRecord } from '../consent/ebr-record.js'
import { decodeDateOnly } from '../internal-dnc/date-only-opt-out.js'
import type { InternalDncEntry } from '../internal-dnc/internal-dnc-entry.js'
import type { ListEvidence, ListFinding, StateFinding } from '../lists/list-facts.js'

export interface RelationshipInput {
  readonly entry: InternalDncEntry | undefined
  readonly record: EbrRecord | undefined
  /** Every place the called party may be in; never empty. The strictest place applies. */
  readonly places: readonly CandidatePlace[]
  /** The instant at which the record's age is evaluated. */
  readonly at: Instant
  readonly law: EbrLaw
}

export interface RelationshipFinding
  extends Pick<ResultLetterInput, 'internalList' | 'relationship'> {
  /** Type of the record on file, even if it has expired. */
  readonly ebrType: EbrType | ''
  /** First local day on which the record is expired; absent if it never expires or there is none. */
  readonly expiresOn: LocalDay | undefined
  /** The region and citation of the rule that sets the end of a sale or an inquiry. */
  readonly endsBy?: string | undefined
  /** Set if an opt-out is the reason that the record has no effect. */
  readonly optOut?: OptOutEffect | undefined
}

export interface OptOutEffect {
  /**
   * `ended`: the opt-out ended the record. `not-lifted`: the record is newer, but was stored with a key
   * that may not lift opt-outs, or only a second person may.
   */
  readonly effect: 'ended' | 'not-lifted'
  readonly optedOutAt: Instant
}

export const recordNames: Readonly<Record<EbrType, string>> = {
  S: 'sale',
  I: 'inquiry',
  P: 'permission',
  T: 'trial',
}

/** Describes the effect of an opt-out on a record, human-readable. */
export function formatOptOutEffect(type: EbrType, { effect, optedOutAt }: OptOutEffect): string {
  const day = decodeDateOnly(optedOutAt)
  const optOut = `the opt-out of ${day === undefined ? formatInstant(optedOutAt) : formatDay(day)}`
  const record = `the ${recordNames[type]} record on file`
  if (effect === 'ended') return `${optOut} ended ${record}`
  return `${record} was stored with a key that may not lift opt-outs, or only a second person may, so it does not lift ${optOut}`
}

export function evaluateRelationship(question: RelationshipInput): RelationshipFinding {
  const { entry, record, places, at } = question
  const onList = entry?.removedAt === null
  if (!record) {
    const internalList = onList ? 'listed' : 'absent'
    return { internalList, relationship: 'none', ebrType: '', expiresOn: undefined }
  }
  const optOut = findOptOutEffect(record, entry, places)
  const { expiry: lawful, endsBy } = computeExpiry(record, question)
  const expiry = optOut?.effect === 'ended' ? Math.min(lawful, toUtcDay(optOut.optedOutAt)) : lawful
  const current =
    optOut?.effect !== 'ended' &&
    places.every(({ zone }) => isExemptOn(lawful, toLocalTime(zone, at).day))
  const lifts = current && record.type === 'P' && optOut === undefined
  return {
    internalList: onList ? (lifts ? 'overridden' : 'listed') : 'absent',
    relationship: current ? 'current' : 'expired',
    ebrType: record.type,
    expiresOn: Number.isFinite(expiry) ? expiry : undefined,
    endsBy,
    optOut,
  }
}

/**
 * How the entry's opt-out affects the record; `undefined` if it does not. A permission that is newer
 * than the opt-out lifts it, unless it was stored with a key that may not lift opt-outs.
 */
export function findOptOutEffect(
  record: EbrRecord,
  entry: InternalDncEntry | undefined,
  places: readonly Pick<CandidatePlace, 'zone'>[],
): OptOutEffect | undefined {
  if (!entry) return undefined
  const { optedOutAt } = entry
  if (isEndedByOptOut(record, entry, places)) return { effect: 'ended', optedOutAt }
  const mayLift = record.liftsOptOut || record.type !== 'P' || entry.removedAt !== null
  return mayLift ? undefined : { effect: 'not-lifted', optedOutAt }
}

function computeExpiry(
  record: EbrRecord,
  { law, places, at }: RelationshipInput,
): { readonly expiry: LocalDay; readonly endsBy?: string } {
  // A permission ends with its consent, wherever the number is.
  if (record.isFixed || record.type === 'P') return { expiry: computeFederalExpiry(record) }
  let expiry = neverExpires
  let strictest: RegionDay | undefined
  for (const { region, zone } of places) {
    const local = { region, day: toLocalTime(zone, at).day }
    const inRegion = computeRegionalExpiry(record, local, law)
    if (inRegion >= expiry) continue
    expiry = inRegion
    strictest = local
  }
  // No known rule gives a trial an end.
  if (strictest === undefined || record.type === 'T') return { expiry }
  const { region, day } = strictest
  // Of a record that ends later, the row of its end decides.
  const rule = law.findEbrRule(region, Math.max(day, expiry))
  return { expiry, endsBy: `${region}, ${rule?.citation ?? 'no rule is known'}` }
}

/**
 * A record ends when its number is put on the list (spec, "EBR record"), and removing the number from
 * the list does not revive it. A record stored before the opt-out has ended whatever its date, since a
 * clock may have been wrong. One stored after it must also be dated after it; once the number is off
 * the list, the day of the opt-out is late enough. If either is dated by an import, their order within
 * a day is unknown, so the record has ended.
 */
function isEndedByOptOut(
  record: EbrRecord,
  entry: InternalDncEntry,
  places: readonly Pick<CandidatePlace, 'zone'>[],
): boolean {
  if (record.storedSeq < entry.optedOutSeq) return true
  if (isNewer(record, entry.optedOutAt, places)) return false
  if (entry.removedAt === null || record.storedSeq <= entry.optedOutSeq) return true
  if (entry.optedOutSeq === 0 || entry.optedOutByDate || record.imported) return true
  return lastInstantOf(record, places) < entry.optedOutAt
}

/** The latest possible instant of the contact: for a date alone, its end in UTC or in one of the places. */
function lastInstantOf(
  { contactOn, contactAt }: Pick<EbrRecord, 'contactOn' | 'contactAt'>,
  places: readonly Pick<CandidatePlace, 'zone'>[],
): Instant {
  if (contactAt !== undefined) return contactAt
  const ends = places.map(({ zone }) => toInstant(zone, contactOn + 1, 0, 'later'))
  return Math.max((contactOn + 1) * msPerDay, ...ends)
}

/**
 * Whether a contact is newer than an opt-out. A contact with only a date is taken to be at the earliest
 * possible instant: the start of that day in UTC or in one of the places. An opt-out with only a date
 * is taken to be at the latest. So on the same day the opt-out always wins.
 */
function isNewer(
  contact: Pick<EbrRecord, 'contactOn' | 'contactAt'>,
  optedOutAt: Instant,
  places: readonly Pick<CandidatePlace, 'zone'>[],
): boolean {
  const { contactOn, contactAt } = contact
  const optedOutOn = decodeDateOnly(optedOutAt)
  if (contactAt === undefined) {
    const starts = places.map(({ zone }) => toInstant(zone, contactOn, 0, 'earlier'))
    return optedOutAt < Math.min(contactOn * msPerDay, ...starts)
  }
  const ends =
    optedOutOn === undefined ? [] : places.map(({ zone }) => endOfLocalDay(zone, optedOutOn))
  return Math.floor(contactAt / 1000) > Math.floor(Math.max(optedOutAt, ...ends) / 1000)
}

function endOfLocalDay(zone: CandidatePlace['zone'], day: LocalDay): Instant {
  return toInstant(zone, day + 1, 0, 'later') - 1
}

export interface ResultLetterInput {
  /** Not ten digits; area code or exchange not in use, toll-free included; or a number to judge. */
  readonly numberStatus: 'malformed' | 'not-in-service' | 'in-service'
  /** A national list covers the area code, and so does every loaded state list. */
  readonly listsCover: boolean
  readonly onNationalList: boolean
  readonly onStateList: boolean
  readonly isLitigator: boolean
  /** `overridden`: on the internal list, but a newer, current permission record lifts the opt-out. */
  readonly internalList: 'absent' | 'listed' | 'overridden'
  /** Whether there is a sale, inquiry, permission or trial record, and whether it is still valid. */
  readonly relationship: 'none' | 'expired' | 'current'
  readonly lineClass: LineClass
  /** A state that the number may be in prohibits sales calls to wireless numbers. */
  readonly wirelessProhibited: boolean
  /** The project treats VoIP like wireless in those states. */
  readonly voipRestricted: boolean
  /** The project's industry exemption lifts matches of national and state lists. */
  readonly industryExemption: boolean
}

type LineKind = 'landline' | 'wireless' | 'restricted' | 'voip'
type Situation = 'clean' | 'expired' | 'matched' | 'exempt' | 'related' | 'related-and-matched'

/** Letters by situation and kind of line, for numbers that the earlier rules do not decide. */
const grid: Readonly<Record<Situation, Readonly<Record<LineKind, ResultLetter>>>> = {
  clean: { landline: 'C', wireless: 'W', restricted: 'L', voip: 'Y' },
  expired: { landline: 'R', wireless: 'W', restricted: 'L', voip: 'Y' },
  matched: { landline: 'D', wireless: 'D', restricted: 'D', voip: 'D' },
  exempt: { landline: 'X', wireless: 'W', restricted: 'L', voip: 'Y' },
  related: { landline: 'E', wireless: 'G', restricted: 'F', voip: 'G' },
  'related-and-matched': { landline: 'O', wireless: 'H', restricted: 'V', voip: 'H' },
}

/** The letter of version 8, from which those of older versions are derived. */
export function computeLetter(facts: ResultLetterInput): ResultLetter {
  if (facts.numberStatus === 'malformed') return 'M'
  if (facts.numberStatus === 'not-in-service') return 'I'
  if (!facts.listsCover) return 'B'
  if (facts.internalList === 'listed') return 'P'
  if (facts.isLitigator) return 'D'
  return grid[findSituation(facts)][findLineKind(facts)]
}

function findSituation(facts: ResultLetterInput): Situation {
  const matched = facts.onNationalList || facts.onStateList
  if (facts.relationship === 'current') {
    return matched || facts.internalList === 'overridden' ? 'related-and-matched' : 'related'
  }
  if (matched) return facts.industryExemption ? 'exempt' : 'matched'
  return facts.relationship === 'expired' ? 'expired' : 'clean'
}

/** An unknown class is treated as wireless, which is stricter. */
function findLineKind({
  lineClass,
  wirelessProhibited,
  voipRestricted,
}: ResultLetterInput): LineKind {
  if (lineClass === 'wireline') return 'landline'
  if (lineClass === 'voip') return wirelessProhibited && voipRestricted ? 'restricted' : 'voip'
  return wirelessProhibited ? 'restricted' : 'wireless'
}

/** Version 1 has no letters for restricted states, and none for a record combined with wireless. */
const lettersOfVersion1: Partial<Record<ResultLetter, ResultLetter>> = {
  L: 'D',
  F: 'D',
  V: 'D',
  G: 'E',
  H: 'O',
  Y: 'W',
}

/** The letter in the given version; version 2 has none for VoIP. */
export function toVersionLetter(letter: ResultLetter, version: ScrubVersion): ResultLetter {
  if (version === 1) return lettersOfVersion1[letter] ?? letter
  return version === 2 && letter === 'Y' ? 'W' : letter
}

export interface CallFlagInput {
  /** The letter of version 8. */
  readonly letter: ResultLetter
  /** Type of the record on file; the letter shows whether it is still valid. */
  readonly ebrType: EbrType | ''
  /** A restricted day or declared emergency in one of the candidate places. */
  readonly doNotCallToday: boolean
  /** The instant is inside the calling window of every candidate place. */
  readonly insideWindow: boolean
  /** The instant is also inside the windows for recorded voices; true if those are not required. */
  readonly insideVoiceWindow: boolean
}

/** The letters that permit a manually dialed call. Any other letter, even an unknown one, permits no call. */
const manualLetters: ReadonlySet<ResultLetter> = new Set([
  'C',
  'X',
  'E',
  'O',
  'R',
  'W',
  'Y',
  'G',
  'H',
])

/** Letters of landlines, which may be autodialed without a permission record. */
const landlineLetters: ReadonlySet<ResultLetter> = new Set(['C', 'X', 'E', 'O', 'R'])

/** Letters of numbers with a record that is current and not ended by a later opt-out. */
const relatedLetters: ReadonlySet<ResultLetter> = new Set(['E', 'O', 'G', 'H'])

export function computeCallFlags(facts: CallFlagInput): ScrubVerdict['allowed'] {
  const { letter } = facts
  const timeAllows = facts.insideWindow && !facts.doNotCallToday
  const permission = facts.ebrType === 'P' && relatedLetters.has(letter)
  const manual = timeAllows && manualLetters.has(letter)
  const autodialed = manual && (landlineLetters.has(letter) || permission)
  return { manual, autodialed, ai: manual && permission && facts.insideVoiceWindow }
}

/** `Reason` values without parts; clients look for these exact words. */
const litigatorReason = 'Litigator'

export const malformedReason = 'not a valid number'

export interface ReasonInput {
  readonly letter: ResultLetter
  readonly isLitigator: boolean
  readonly country: Country
  /**
   * The day on which the number was listed, or the as-of day of a list that keeps none; absent if the
   * number is not listed.
   */
  readonly nationalOn: LocalDay | undefined
  readonly state: { readonly region: string; readonly on: LocalDay } | undefined
  readonly isWireless: boolean
}

/** Letters for which no list was looked up, or only the internal list. */
const withoutReason: ReadonlySet<ResultLetter> = new Set(['M', 'I', 'B', 'P'])

/** `National (USA) 2026-01-31;State (TX) 2026-01-31;;W`; empty parts stay empty. */
export function formatReason(facts: ReasonInput): string {
  // With an unusable national list (letter B), a litigator is still reported.
  const saysNothing = withoutReason.has(facts.letter) && facts.letter !== 'B'
  if (facts.isLitigator && !saysNothing) return litigatorReason
  if (withoutReason.has(facts.letter)) return ''
  const { country, nationalOn, state } = facts
  const countryName = country === 'US' ? 'USA' : 'CAN'
  const national =
    nationalOn === undefined ? '' : `National (${countryName}) ${formatDay(nationalOn)}`
  const ofState = state ? `State (${state.region}) ${formatDay(state.on)}` : ''
  return [national, ofState, '', facts.isWireless ? 'W' : ''].join(';')
}

const carrierTypes: Readonly<Record<LineClass, string>> = {
  wireless: 'WIRELESS',
  wireline: 'WIRELINE',
  voip: 'VOIP',
  unknown: '',
}

/** `OCN;TYPE;"name:name"` of the original company; empty when it is unknown. */
export function formatCarrier(carrier: OriginalCarrier | undefined, lineClass: LineClass): string {
  if (!carrier) return ''
  const name = carrier.company.replaceAll(/[";]/g, ' ').trim()
  return `${carrier.ocn};${carrierTypes[lineClass]};"${name}:${name}"`
}

export type InServiceFacts = NumberFacts & { readonly status: 'ok' }

/** The findings of lists, records and law for one number. */
export interface Findings {
  readonly records: RelationshipFinding
  readonly national: ListFinding
  readonly state: StateFinding
  readonly litigator: ListFinding
  /** The ported-number lists that determine the line class, in addition to the numbering plan. */
  readonly ported: ListEvidence
  /** The region and citation of a ban on sales calls to mobile numbers. */
  readonly wirelessBan: string | undefined
}

const bannedLetters: ReadonlySet<ResultLetter> = new Set(['L', 'F', 'V'])

/**
 * An unusable do-not-call list that the letter depends on comes first. The litigator list is left out,
 * since the gate checks it separately (spec, "Litigator check"). A `letter` adds the rules that it rests on.
 */
export function buildDetail(
  { national, state, records, wirelessBan }: Findings,
  { lineClass, originalClass }: InServiceFacts,
  letter: ResultLetter | undefined,
): Pick<ScrubVerdict, 'detail' | 'listProblem'> {
  for (const list of [national, state]) {
    if (list.status !== 'not-covered') continue
    const { detail, isStale, isUnusable } = list
    return { detail, listProblem: isStale ? 'stale' : isUnusable ? 'unreadable' : undefined }
  }
  const details: string[] = []
  const { ebrType, optOut } = records
  if (letter !== undefined && bannedLetters.has(letter)) details.push(`ban: ${wirelessBan}`)
  if (optOut && ebrType !== '') details.push(formatOptOutEffect(ebrType, optOut))
  const end = letter === undefined ? undefined : formatRelationshipEnd(records)
  if (end !== undefined) details.push(end)
  if (lineClass === 'unknown') {
    const isInDoubt = originalClass !== 'unknown'
    const why = isInDoubt ? ': a list of ported numbers is too old or cannot be read' : ''
    details.push(`line class unknown, treated as wireless${why}`)
  }
  return { detail: details.length === 0 ? undefined : details.join('; ') }
}

/** Until when a sale or an inquiry exempts and by which rule; `undefined` if no such rule decides. */
function formatRelationshipEnd({
  ebrType,
  relationship,
  expiresOn,
  endsBy,
  optOut,
}: RelationshipFinding): string | undefined {
  if (ebrType === '' || endsBy === undefined || optOut?.effect === 'ended') return undefined
  const name = `the ${recordNames[ebrType]} record on file`
  if (expiresOn === undefined) return `${name} never exempts: ${endsBy}`
  const verb = relationship === 'current' ? 'exempts until' : 'no longer exempts since'
  return `${name} ${verb} ${formatDay(expiresOn)}: ${endsBy}`
}
