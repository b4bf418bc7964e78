/**
 * Converts a verdict to a scrub row with the fields of version 8, under our own names and with typed
 * values; `api/` formats the row for each version. Details that the spec leaves open follow the
 * observed behavior of compatible services.
 */
import { formatLocaleName } from '../../data/numbering/locale-name.js'
import type { ResultLetter, ScrubVerdict } from '../../domain/compliance.js'
import type { CandidatePlace, LineClass, PortingRecord } from '../../domain/place.js'
import type { ScrubItem, ScrubRow, ScrubVersion } from '../../domain/scrub-row.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatDay } from '../../domain/time/dates.js'
import { getTimeZone } from '../../domain/time/time-zones.js'
import type { CallingHours } from '../calling-hours/calling-hours.js'
import { formatCarrier, toVersionLetter } from './result-letter.js'
import type { LocatedNumber, ScrubEvaluation } from './scrub-evaluator.js'
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
  readonly callingHours: Pick<CallingHours, 'formatCallingWindow'>
}

/** Letters of rows without a calling window, since the number must not be called at any hour. */
const withoutWindow: ReadonlySet<ResultLetter> = new Set(['D', 'P', 'B', 'I', 'M', 'L'])

export function toScrubRow(evaluation: ScrubEvaluation, terms: ScrubRowOptions): EvaluatedRow {
  const { verdict, holdsUntil, located } = evaluation
  const { item, version } = terms
  const letter = toVersionLetter(verdict.letter, version)
  const { reason, ebrType, allowed, detail, lists, optOut } = verdict
  const warning = optOut && detail !== undefined ? `${item.phone}: ${detail}` : undefined
  const common = {
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
  }
  if (!located) return { ...common, ...unlocatedFields, doNotCallToday: undefined }
  const { facts, expiresOn } = located
  const hasWindow = !withoutWindow.has(letter)
  return {
    ...common,
    ...timeFields(located),
    region: onlyOne(facts.place.candidates.map(({ region }) => region)) ?? '',
    country: facts.place.country,
    locale: formatLocaleName(facts.place, facts.locality),
    carrierInfo: formatCarrier(facts.carrier, facts.originalClass),
    callingWindow: hasWindow ? terms.callingHours.formatCallingWindow(located.hours) : '',
    // As observed: left out where no call is allowed at any hour, like the window.
    doNotCallToday: letter === 'D' ? undefined : verdict.doNotCallToday,
    isWirelessOrVoip: facts.lineClass !== 'wireline',
    lineType: lineTypes[facts.lineClass],
    ebrExpiresOn: expiresOn === undefined ? '' : formatDay(expiresOn),
    wirelessPortDate: formatPortDate(facts.ported),
    postalCode: located.hours.postalCode ?? '',
  }
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
  if (ported?.to !== 'wireless' || ported.on === undefined) return ''
  return formatDay(ported.on)
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

/** The fields that a row has even without a place. */
type RowFacts = 'phone' | 'reserved' | keyof ScrubVerdict | 'holdsUntil' | 'warning'

const unlocatedFields: Omit<EvaluatedRow, RowFacts> = {
  ...noTimeFields,
  region: '',
  country: '',
  locale: '',
  carrierInfo: '',
  callingWindow: '',
  lineType: '',
  isWirelessOrVoip: undefined,
  ebrExpiresOn: '',
  postalCode: '',
  wirelessPortDate: '',
}

/** If the candidate places have different UTC offsets, the zone fields are empty instead of a guess. */
function timeFields({ place, hours: { at } }: LocatedNumber): TimeFields {
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
