/**
 * Converts a verdict to a scrub row with the fields of version 8, under our own names and with typed
 * values; `api/` formats the row for each version. Details that the spec leaves open follow the
 * observed behavior of compatible services.
 */
import { formatLocaleName } from '../../data/numbering/locale-name.js'
import type { ResultLetter } from '../../domain/compliance.js'
import type {
  CandidatePlace,
  LineClass,
  NumberFacts,
  OriginalCarrier,
  PortingRecord,
} from '../../domain/place.js'
import type { ScrubItem, ScrubRow, ScrubVersion } from '../../domain/scrub-row.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { formatDay } from '../../domain/time/dates.js'
import { getTimeZone } from '../../domain/time/time-zones.js'
import { describeSaid } from '../../domain/words/words.js'
import { truncate } from '../../errors.js'
import type { LocatedNumber, RowEvaluation } from '../../judge/row.js'
import { explainLetter } from '../../judge/row-words.js'
import { toVersionLetter } from '../../law/records/result-letter.js'
import type { CallingHours } from '../calling-hours/calling-hours.js'

import type { ProjectScope } from '../projects/project-scope.js'
import { findTimeZoneCode } from './time-zone-codes.js'

/** A row with internal details that are not sent to clients. */
export interface EvaluatedRow extends ScrubRow {
  /** When the row may change through the passage of time. */
  readonly holdsUntil: Instant
  /** Explains the letter if it alone is ambiguous, for example which list is missing. */
  readonly detail: string | undefined
}

export interface ScrubRowOptions {
  readonly item: ScrubItem
  readonly version: ScrubVersion
  /** The instant that was evaluated. */
  readonly at: Instant
  /** Of the project, whose own hours are in the window. */
  readonly scope: Pick<ProjectScope, 'hours'>
  readonly callingHours: Pick<CallingHours, 'formatCallingWindow'>
  /** From the numbering plan; absent for invalid numbers. */
  readonly planned?: NumberFacts | undefined
}

/** Letters of rows without a calling window, since the number must not be called at any hour. */
const withoutWindow: ReadonlySet<ResultLetter> = new Set(['D', 'P', 'B', 'I', 'M', 'L'])

export function toScrubRow(evaluation: RowEvaluation, terms: ScrubRowOptions): EvaluatedRow {
  const { row, holdsUntil, located } = evaluation
  const { item, version, at, planned } = terms
  const letter = toVersionLetter(row.letter, version)
  const { reason, ebrType, allowed, lists, optOut, doNotCallToday } = row
  const { says } = located ? explainLetter(located.found, located.facts) : row
  const detail = says.length === 0 ? undefined : describeSaid(says)
  const facts = located && planned?.status === 'ok' ? planned : undefined
  const warning = describeWarning(item, optOut && detail, located)
  const times = located ? timeFields(located, at) : noTimeFields
  const hasWindow = !withoutWindow.has(letter)
  // One literal: built from parts, an object of this size takes 20 times as long.
  return {
    phone: item.phone,
    reserved: item.reserved ?? '',
    letter,
    reason,
    ebrType,
    allowed,
    holdsUntil,
    detail,
    lists,
    warning,
    timeZoneCode: times.timeZoneCode,
    utcOffsetMinutes: times.utcOffsetMinutes,
    callingTimeRestrictions: times.callingTimeRestrictions,
    timeZoneSource: times.timeZoneSource,
    region: facts ? (onlyOne(facts.place.candidates.map(({ region }) => region)) ?? '') : '',
    country: facts?.place.country ?? '',
    locale: facts ? formatLocaleName(facts.place, facts.locality) : '',
    carrierInfo: facts ? formatCarrier(facts.carrier, facts.originalClass) : '',
    callingWindow: located && hasWindow ? formatWindow(located, terms) : '',
    // As observed: left out where no call is allowed at any hour, like the window.
    doNotCallToday: facts && letter !== 'D' ? doNotCallToday : undefined,
    isWirelessOrVoip: facts && facts.lineClass !== 'wireline',
    lineType: facts ? lineTypes[facts.lineClass] : '',
    ebrExpiresOn: formatOptionalDay(located?.found.records.expiresOn),
    wirelessPortDate: formatPortDate(facts?.ported),
    postalCode: located?.place.source === 'postal-code' ? (item.postalCode ?? '') : '',
  }
}

function formatWindow(
  { place: { candidates } }: LocatedNumber,
  { callingHours, at, scope: { hours } }: ScrubRowOptions,
): string {
  return callingHours.formatCallingWindow({ candidates, at, overrides: hours })
}

/** What has no effect: a record that an opt-out has ended, a postal code without a known place. */
function describeWarning(
  { phone, postalCode }: ScrubItem,
  ended: string | undefined,
  located: LocatedNumber | undefined,
): string | undefined {
  const isIgnored = located && postalCode !== undefined && located.place.source !== 'postal-code'
  const ignored = isIgnored
    ? `postal code '${truncate(postalCode.replace(/[^\x20-\x7e]/g, '?'))}' has no known place and is ignored`
    : undefined
  const texts = [ended, ignored].filter((text) => text !== undefined)
  return texts.length === 0 ? undefined : `${phone}: ${texts.join('; ')}`
}

function formatOptionalDay(day: LocalDay | undefined): string {
  return day === undefined ? '' : formatDay(day)
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

/** An unknown class is treated as wireless, as in the letter. */
const lineTypes: Readonly<Record<LineClass, ScrubRow['lineType']>> = {
  wireless: 'Wireless',
  wireline: 'AllOther',
  voip: 'VoIP',
  unknown: 'Wireless',
}

/** The day of a port to wireless; the row has no field for other ports. */
function formatPortDate(ported: PortingRecord | undefined): string {
  return formatOptionalDay(ported?.to === 'wireless' ? ported.on : undefined)
}

type TimeFields = Pick<
  ScrubRow,
  'timeZoneCode' | 'utcOffsetMinutes' | 'callingTimeRestrictions' | 'timeZoneSource'
>

const noTimeFields: TimeFields = {
  timeZoneCode: '',
  utcOffsetMinutes: undefined,
  callingTimeRestrictions: '',
  timeZoneSource: '',
}

/** If the candidate places have different UTC offsets, the zone fields are empty instead of a guess. */
function timeFields({ place }: LocatedNumber, at: Instant): TimeFields {
  const offset = onlyOne(listOffsets(place.candidates, at))
  if (offset === undefined) {
    return { ...noTimeFields, callingTimeRestrictions: '0' }
  }
  return {
    timeZoneCode: onlyOne(place.candidates.map((one) => findTimeZoneCode(one.zone, at))) ?? '',
    utcOffsetMinutes: offset,
    callingTimeRestrictions: '4',
    timeZoneSource: place.source === 'postal-code' ? 'PostalCode' : 'NPANXX',
  }
}

function listOffsets(places: readonly CandidatePlace[], at: Instant): readonly number[] {
  return places.map((place) => getTimeZone(place.zone).offset(at))
}

/** The common value if all entries are equal, else `undefined`. */
function onlyOne<Value>(values: readonly Value[]): Value | undefined {
  const [first] = values
  return values.every((value) => value === first) ? first : undefined
}
