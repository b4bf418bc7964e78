/**
 * The window of one place on one local day: project override, else region's law, else country's
 * (spec, "Calling hours"), narrowed for a recorded voice, closed on a restricted day.
 * Pure. Emergencies start and end within a day and are cut out later, by `window-judge.ts`.
 */
import type { CallingRules, RegionRules } from '../../data/calling-rules/calling-rules.js'
import { formatDay, type Instant, type LocalDay, weekdayOf } from '../../domain/clock.js'
import type { CandidatePlace } from '../../domain/place.js'
import {
  type DayWindow,
  formatDayWindow,
  intersect,
  intersectWeeks,
  type ProjectHours,
  type WeekWindows,
  windowOn,
} from '../../domain/week-windows.js'
import { instantOf } from '../../domain/zones.js'

/** Under which terms windows are asked for. */
export interface WindowTerms {
  readonly overrides: readonly ProjectHours[]
  /** A recorded, artificial or AI voice: the region's window for those applies as well. */
  readonly recordedVoice: boolean
  /** The law's own window must permit too, so that an override can only narrow it. */
  readonly lawToo: boolean
}

export interface LegalWindow {
  /** First instant of the window; equal to `closesAt` on a day without calls. */
  readonly opensAt: Instant
  /** First instant after the window. */
  readonly closesAt: Instant
  /** What closes the whole day. */
  readonly restrictedDay: string | undefined
  /** Place, day, window, basis and citation, for people. */
  readonly rule: string
}

/** The windows that hold in a region on a local day, and what they rest on. */
export interface HoursInForce {
  readonly week: WeekWindows
  /** Such as `state rule: Fla. Stat. 501.616(6)(a), (b)`. */
  readonly grounds: string
}

export interface RegionDay {
  readonly region: RegionRules
  readonly day: LocalDay
}

/** Weekly windows by priority: project over state over federal. Holidays are not looked at. */
export function hoursInForce(
  rules: CallingRules,
  { region, day }: RegionDay,
  { overrides, lawToo }: Pick<WindowTerms, 'overrides' | 'lawToo'>,
): HoursInForce {
  const law = rules.hoursOn(region.code, day) ?? rules.baseline(region.country).hours
  const lawGrounds = `${region.basis} rule: ${region.hoursCitation}`
  const override = overrides.find((hours) => hours.region === region.code && holdsOn(hours, day))
  if (!override) return { week: law, grounds: lawGrounds }
  if (!lawToo) return { week: override, grounds: 'project hours' }
  return { week: intersectWeeks(override, law), grounds: `project hours within ${lawGrounds}` }
}

function holdsOn({ effectiveFrom, effectiveUntil }: ProjectHours, day: LocalDay): boolean {
  return (
    (effectiveFrom === undefined || effectiveFrom <= day) &&
    (effectiveUntil === undefined || day <= effectiveUntil)
  )
}

export interface WindowQuestion {
  readonly rules: CallingRules
  readonly place: CandidatePlace
  readonly day: LocalDay
  readonly terms: WindowTerms
  /** Name of the proclaimed day that closes the date. */
  readonly proclaimed: string | undefined
}

/** A region without rules has no window: where the law is unknown no call is lawful. */
export function legalWindow({ rules, place, day, terms, proclaimed }: WindowQuestion): LegalWindow {
  const region = rules.region(place.region)
  if (!region) {
    const rule = `no calling rules are known for region '${place.region}'`
    return closed(place, day, { rule })
  }
  const where = `${region.name} (${region.code}), ${place.zone}, ${dayText(day)}`
  if (proclaimed !== undefined) {
    const rule = `${where}: no calls on ${proclaimed}; proclaimed day entered by the operator`
    return closed(place, day, { rule, restrictedDay: proclaimed })
  }
  const restrictedDay = rules.restrictedDay(region.code, day)
  if (restrictedDay !== undefined) {
    const rule = `${where}: no calls on ${restrictedDay}; state rule: ${region.citation}`
    return closed(place, day, { rule, restrictedDay })
  }
  const { week, grounds } = hoursInForce(rules, { region, day }, terms)
  const { window, voice } = narrowedForVoice(windowOn(week, day), { rules, region, day, terms })
  const hours = window ? `calls ${formatDayWindow(window)}` : 'no calls on this day'
  return spanOf(place, day, { window, rule: `${where}: ${hours}; ${grounds}${voice}` })
}

interface VoiceQuestion extends RegionDay {
  readonly rules: CallingRules
  readonly terms: WindowTerms
}

function narrowedForVoice(
  window: DayWindow | undefined,
  { rules, region, day, terms }: VoiceQuestion,
): { window: DayWindow | undefined; voice: string } {
  const recorded = terms.recordedVoice ? rules.recordedHoursOn(region.code, day) : undefined
  if (!recorded) return { window, voice: '' }
  const voice = `; recorded voice: ${region.recordedCitation}`
  return { window: intersect(window, windowOn(recorded, day)), voice }
}

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']

function dayText(day: LocalDay): string {
  return `${weekdays[weekdayOf(day)]} ${formatDay(day)}`
}

function spanOf(
  { zone }: CandidatePlace,
  day: LocalDay,
  { window, rule }: { window: DayWindow | undefined; rule: string },
): LegalWindow {
  const { start, end } = window ?? { start: 0, end: 0 }
  const opensAt = instantOf(zone, day, start, 'later')
  const closesAt = window ? instantOf(zone, day, end, 'earlier') : opensAt
  return { opensAt, closesAt, restrictedDay: undefined, rule }
}

function closed(
  place: CandidatePlace,
  day: LocalDay,
  { rule, restrictedDay }: { rule: string; restrictedDay?: string },
): LegalWindow {
  return { ...spanOf(place, day, { window: undefined, rule }), restrictedDay }
}
