/**
 * `TZCode` of a scrub row: the Microsoft time zone index values, a table of UTC offset and daylight
 * saving. For the caller's eyes only: calling hours are decided by IANA zones.
 */
import type { Instant } from '../../domain/time/clock.js'
import { msPerDay, toCalendarDate, toLocalDay, toUtcDay } from '../../domain/time/dates.js'
import { getTimeZone } from '../../domain/time/time-zones.js'

/** `winter/summer` minutes east of UTC to the index value; zones that fit none have no code. */
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

/** The code that describes a zone over the year to come; empty where the table has none. */
export function findTimeZoneCode(zoneName: string, at: Instant): string {
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
