/**
 * `TZCode` of a scrub row: Microsoft time zone index values by UTC offset and daylight saving. They are
 * informational only; calling hours are computed from IANA zones.
 */
import type { Instant } from '../../domain/time/clock.js'
import { msPerDay, toCalendarDate, toLocalDay, toUtcDay } from '../../domain/time/dates.js'
import { getTimeZone } from '../../domain/time/time-zones.js'

/** `winter/summer` offsets in minutes east of UTC, mapped to the index value. */
const codes: Readonly<Record<string, string>> = {
  '-660/-660': '1',
  '-600/-600': '2',
  '-540/-480': '3',
  '-480/-420': '4',
  '-420/-360': '10',
  '-420/-420': '15',
  '-360/-300': '20',
  '-360/-360': '25',
  '-300/-240': '35',
  '-300/-300': '45',
  '-240/-180': '50',
  '-240/-240': '55',
  '-210/-150': '60',
  '600/600': '275',
}

/** The codes of one instant, since the rows of a scrub have one and few zones. */
let known = { at: Number.NaN, codes: new Map<string, string>() }

/** The code that matches the zone's offsets in the coming year; empty if the table has none. */
export function findTimeZoneCode(zoneName: string, at: Instant): string {
  if (known.at !== at) known = { at, codes: new Map() }
  let code = known.codes.get(zoneName)
  if (code === undefined) {
    code = computeTimeZoneCode(zoneName, at)
    known.codes.set(zoneName, code)
  }
  return code
}

function computeTimeZoneCode(zoneName: string, at: Instant): string {
  const rules = getTimeZone(zoneName)
  const winter = rules.offset(nextFirstOfMonth(1, at))
  const summer = rules.offset(nextFirstOfMonth(7, at))
  return codes[`${winter}/${summer}`] ?? ''
}

function nextFirstOfMonth(month: number, at: Instant): Instant {
  const { year } = toCalendarDate(toUtcDay(at))
  const thisYear = (toLocalDay(year, month, 1) ?? 0) * msPerDay
  return thisYear >= at ? thisYear : (toLocalDay(year + 1, month, 1) ?? 0) * msPerDay
}
