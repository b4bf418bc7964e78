/**
 * The window of one place on one local day: the project's override, else the region's law, else the
 * country's (spec, "Calling hours"), narrowed for a recorded voice, closed on a restricted day and
 * interrupted by emergencies. Pure.
 */
import type { CallingPeriod } from '../../domain/calling-hours.js'
import type { HoursException } from '../../domain/compliance.js'
import type { CallPurpose } from '../../domain/decision.js'
import type { CandidatePlace } from '../../domain/place.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { formatDay } from '../../domain/time/dates.js'
import { toInstant, toLocalTime } from '../../domain/time/time-zones.js'
import {
  closedWeek,
  type DayWindow,
  findWindowForDay,
  formatDayWindow,
  intersectWeeks,
  intersectWindows,
  type ProjectHours,
  type WeekWindows,
} from '../../domain/time/week-windows.js'
import type { Said } from '../../domain/words/words.js'
import type { CallingRules, HoursRule } from '../calling-rules.js'
import type { CalledPlace, Emergency, OperatorClosures } from './operator-closures.js'

export interface WindowOptions {
  readonly overrides: readonly ProjectHours[]
  /** The call uses a recorded, artificial or AI voice, so the region's window for those applies too. */
  readonly recordedVoice: boolean
  /** The statutory window must permit the call too, so an override can only narrow it. */
  readonly requireStatutoryWindow: boolean
  /** Telemarketing when absent. */
  readonly purpose?: CallPurpose | undefined
  /** In whose regions the hours of the country hold in place of the region's own, and its holidays do not. */
  readonly exceptions?: readonly HoursException[] | undefined
}

export interface LegalWindow {
  /** Periods in which calls are lawful, in order, excluding emergencies; empty on a closed day. */
  readonly periods: readonly CallingPeriod[]
  /** The emergencies of the day. */
  readonly emergencies: readonly Emergency[]
  /** The proclaimed day or holiday that closes the whole day. */
  readonly restrictedDay: string | undefined
  /** Place, day, window, legal basis and citation. */
  readonly says: readonly Said[]
}

/** The windows in force in a region on a local day, and their legal basis. */
interface EffectiveHours {
  readonly week: WeekWindows
  readonly basis: readonly Said[]
}

interface RegionDay {
  readonly region: string
  readonly day: LocalDay
}

/** Weekly windows by priority: project, state, federal; `undefined` for an unknown region. Holidays are not considered. */
function findEffectiveHours(
  rules: CallingRules,
  { region, day }: RegionDay,
  {
    overrides,
    requireStatutoryWindow,
    purpose,
    exceptions,
  }: Pick<WindowOptions, 'overrides' | 'requireStatutoryWindow' | 'purpose' | 'exceptions'>,
): EffectiveHours | undefined {
  const ofSales = isLifted(region, exceptions)
    ? rules.findFederalHours(region, day)
    : rules.findHours(region, day)
  if (!ofSales) return undefined
  const law: HoursRule = findOwnHours(rules, { region, day }, purpose) ?? ofSales
  const override = findOverride(overrides, { region, day })
  if (!override) return { week: law.week, basis: [sayLaw(law)] }
  if (!requireStatutoryWindow) return { week: override, basis: [{ code: 'project-hours' }] }
  const basis = [{ code: 'within-law' } as const, sayLaw(law)]
  return { week: intersectWeeks(override, law.week), basis }
}

function sayLaw({
  basis,
  citation,
  until,
}: Pick<HoursRule, 'citation' | 'until'> & { readonly basis: string }): Said {
  const params = { basis, citation }
  return until === undefined
    ? { code: 'law-of-hours', params }
    : { code: 'law-of-hours-until', params: { ...params, until: formatDay(until) } }
}

/** What is open in every place by its own clock, by the weekly hours in force on its local day. */
export function findCommonWeek(
  rules: CallingRules,
  places: readonly CandidatePlace[],
  at: Instant,
  overrides: readonly ProjectHours[],
): WeekWindows {
  const options = { overrides, requireStatutoryWindow: false }
  const weeks = places.map(({ region, zone }) => {
    const { day } = toLocalTime(zone, at)
    return findEffectiveHours(rules, { region, day }, options)?.week ?? closedWeek
  })
  const [first = closedWeek, ...others] = weeks
  return others.reduce(intersectWeeks, first)
}

/** Those of a purpose for which the hours, restricted days and bans of sales calls do not apply. */
function findOwnHours(
  { purposes }: CallingRules,
  where: RegionDay,
  purpose: CallPurpose | undefined,
): HoursRule | undefined {
  return purpose && purposes.findHours(purpose, where)
}

export function findOverride(
  overrides: readonly ProjectHours[],
  { region, day }: RegionDay,
): ProjectHours | undefined {
  return overrides.find((hours) => hours.region === region && isEffectiveOn(hours, day))
}

export function isLifted(region: string, exceptions: WindowOptions['exceptions']): boolean {
  return exceptions?.some((one) => one.region === region) === true
}

function isEffectiveOn({ effectiveFrom, effectiveUntil }: ProjectHours, day: LocalDay): boolean {
  return (
    (effectiveFrom === undefined || effectiveFrom <= day) &&
    (effectiveUntil === undefined || day <= effectiveUntil)
  )
}

export interface LegalWindowRequest {
  readonly rules: CallingRules
  readonly closures: OperatorClosures
  readonly place: CalledPlace
  readonly day: LocalDay
  readonly options: WindowOptions
}

export function computeLegalWindow(request: LegalWindowRequest): LegalWindow {
  const { closures, place, day, options } = request
  const { rules } = request
  const { window, restrictedDay, says: holding } = findDayRule(request)
  const says = [...describePlace(request), ...holding]
  const { start, end } = window ?? { start: 0, end: 0 }
  const opensAt = toInstant(place.zone, day, start, 'later')
  const closesAt = window ? toInstant(place.zone, day, end, 'earlier') : opensAt
  const dayStart = toInstant(place.zone, day, 0, 'earlier')
  const dayEnd = toInstant(place.zone, day + 1, 0, 'later')
  const ownHours = findOwnHours(rules, { region: place.region, day }, options.purpose)
  const bans = ownHours ? [] : closures.listEmergencies(place)
  const emergencies = bans.filter(
    ({ from, until = Number.POSITIVE_INFINITY }) => from < dayEnd && until > dayStart,
  )
  const periods = emergencies.reduce(cutOut, [{ from: opensAt, until: closesAt }])
  return { periods: periods.filter(isNotEmpty), emergencies, restrictedDay, says }
}

function describePlace({ rules, place, day }: LegalWindowRequest): readonly Said[] {
  const region = rules.findRegion(place.region)
  if (!region) return []
  const { code, name } = region
  const params = { region: code, name, zone: place.zone, day: formatDay(day) }
  return [{ code: 'local-day', params }]
}

function cutOut(
  periods: readonly CallingPeriod[],
  { from, until = Number.POSITIVE_INFINITY }: Emergency,
): CallingPeriod[] {
  return periods.flatMap((period) =>
    [
      { from: period.from, until: Math.min(period.until, from) },
      { from: Math.max(period.from, until), until: period.until },
    ].filter(isNotEmpty),
  )
}

function isNotEmpty({ from, until }: CallingPeriod): boolean {
  return from < until
}

/** The rule of a day, without the place. */
interface DayRule extends Pick<LegalWindow, 'restrictedDay' | 'says'> {
  /** Absent on a day without calls. */
  readonly window: DayWindow | undefined
  /** The law or the decision behind it, which `says` has too; absent for a region without rules. */
  readonly basis?: readonly Said[]
}

const closeDay = (restrictedDay: string, said: Said): DayRule => ({
  ...{ window: undefined, restrictedDay, basis: [said] },
  says: [{ code: 'closed-day', params: { name: restrictedDay } }, said],
})

export interface DayRequest extends Pick<LegalWindowRequest, 'rules' | 'day' | 'options'> {
  readonly closures: Pick<OperatorClosures, 'findProclaimedDay'>
  readonly place: Pick<CalledPlace, 'region'>
}

/** A region without rules has no window: where the law is unknown, no call is allowed. */
export function findDayRule({ rules, closures, place, day, options }: DayRequest): DayRule {
  const region = rules.findRegion(place.region)
  const hoursInForce = findEffectiveHours(rules, { region: place.region, day }, options)
  if (!region || !hoursInForce) {
    const params = { region: place.region }
    const says = [{ code: 'no-calling-rules', params }] as const
    return { window: undefined, restrictedDay: undefined, says }
  }
  if (findOwnHours(rules, { region: region.code, day }, options.purpose) === undefined) {
    const proclaimedDay = closures.findProclaimedDay(place.region, day)
    if (proclaimedDay !== undefined) {
      return closeDay(proclaimedDay, { code: 'closed-by-operator' })
    }
    const restrictedDay = isLifted(region.code, options.exceptions)
      ? undefined
      : rules.findRestrictedDay(region.code, day)
    if (restrictedDay !== undefined) {
      return closeDay(restrictedDay, sayLaw({ basis: 'state', citation: region.citation }))
    }
  }
  const { week, basis } = hoursInForce
  const recorded = options.recordedVoice ? rules.findRecordedHours(region.code, day) : undefined
  const forEveryVoice = findWindowForDay(week, day)
  const window = recorded
    ? intersectWindows(forEveryVoice, findWindowForDay(recorded.week, day))
    : forEveryVoice
  const says: readonly Said[] = [
    window ? { code: 'hours-open', params: formatWindow(window) } : { code: 'no-hours' },
    ...basis,
    ...(recorded ? [sayRecordedVoice(recorded.citation)] : []),
  ]
  return { window, restrictedDay: undefined, basis, says }
}

function formatWindow(window: DayWindow) {
  const [from = '', to = ''] = formatDayWindow(window).split('-')
  return { from, to }
}

function sayRecordedVoice(citation: string): Said {
  return { code: 'hours-of-recorded-voice', params: { citation } }
}
