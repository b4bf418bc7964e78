/**
 * The law of `calling-rules.yaml`, checked and prepared for fast look-up: windows by day, recorded
 * voices, holidays, relationship limits, restricted mobile numbers. Data only: what decides when
 * several rules meet is in the calling-hours and scrub rules. No region is known to this code.
 */
import type { LocalDay } from '../../domain/clock.js'
import type { Country } from '../../domain/place.js'
import { type DayWindow, intersect, type WeekWindows } from '../../domain/week-windows.js'
import { DataFileError, describeProblem } from '../../errors.js'
import { readYamlFile } from '../yaml-file.js'
import {
  type AutomatedEntry,
  type CallingRulesDocument,
  checkCallingRules,
  type RegionEntry,
} from './calling-rules-schema.js'
import { HolidayCalendar, type KeptHoliday } from './holidays.js'

/** Sale and inquiry: the relationship records whose life is counted in months. */
export type TimedEbrType = 'S' | 'I'

/** What every region of a country has unless it has rules of its own. */
export interface CountryBaseline {
  readonly hours: WeekWindows
  /** Months for which a sale or an inquiry exempts. */
  readonly ebr: Readonly<Record<TimedEbrType, number>>
  readonly citation: string
}

export interface RegionRules {
  /** Two-letter postal code. */
  readonly code: string
  readonly name: string
  readonly country: Country
  /** Whose window holds: the region's own, or its country's. */
  readonly basis: 'state' | 'federal'
  /** Of the rule that gives the window. */
  readonly hoursCitation: string
  /** Of the region's own law as a whole: holidays, emergencies, mobile numbers. */
  readonly citation: string
  readonly confidence: string
  readonly ebr: Readonly<Record<TimedEbrType, number>>
  /** A record with the end date of an obligation exempts until that day, whatever its months. */
  readonly obligationExempts: boolean
  /** Citation of the ban on sales calls to mobile numbers; `undefined` where there is none. */
  readonly wirelessProhibited: string | undefined
  /** Citation of the rule that bars calls in a declared emergency. */
  readonly emergencyCitation: string | undefined
  /** Citation of the window for recorded, artificial or AI voices. */
  readonly recordedCitation: string | undefined
}

export interface CallingRules {
  /** The day on which the facts were gathered. */
  readonly asOf: LocalDay
  readonly regions: readonly RegionRules[]
  region(code: string): RegionRules | undefined
  baseline(country: Country): CountryBaseline
  /** The law's windows in force on a local day; `undefined` for an unknown region. */
  hoursOn(code: string, day: LocalDay): WeekWindows | undefined
  /** The narrower windows for a recorded voice on a local day; `undefined` where there are none. */
  recordedHoursOn(code: string, day: LocalDay): WeekWindows | undefined
  /** Name of the holiday on which the region allows no calls. */
  restrictedDay(code: string, day: LocalDay): string | undefined
  /** Every restricted day of a calendar year with its name. */
  restrictedDays(code: string, year: number): ReadonlyMap<LocalDay, string>
  /** Months for which a sale or inquiry exempts; 0 never, `undefined` for an unknown region. */
  ebrMonths(code: string, type: TimedEbrType): number | undefined
  /** See {@link RegionRules.obligationExempts}; no for an unknown region. */
  obligationExempts(code: string): boolean
  /** Sales calls to mobile numbers are barred; a ban under a condition and an unknown region count. */
  isWirelessProhibited(code: string): boolean
}

/** Reads and checks the file. Throws {@link DataFileError} that lists every mistake in it. */
export function loadCallingRules(path: string): CallingRules {
  const checked = checkCallingRules(readYamlFile(path))
  if (checked.ok) return new PreparedRules(checked.document)
  const list = checked.problems.map((problem) => `\n  - ${describeProblem(problem)}`).join('')
  throw new DataFileError(path, `${checked.problems.length} mistake(s):${list}`)
}

interface RecordedVoice {
  readonly hours: WeekWindows
  readonly holidays: HolidayCalendar
  readonly holidayHours: WeekWindows
}

interface PreparedRegion {
  readonly rules: RegionRules
  readonly hours: WeekWindows
  /** Oldest first; `until` is the last day of a row. */
  readonly history: readonly { readonly until: LocalDay; readonly hours: WeekWindows }[]
  readonly holidays: HolidayCalendar
  readonly recorded: RecordedVoice | undefined
}

class PreparedRules implements CallingRules {
  readonly asOf: LocalDay
  readonly regions: readonly RegionRules[]
  readonly #baselines: Readonly<Record<Country, CountryBaseline>>
  readonly #regions: ReadonlyMap<string, PreparedRegion>

  constructor(document: CallingRulesDocument) {
    this.asOf = document.about.asOf
    this.#baselines = document.baselines
    this.#regions = new Map(
      Object.entries(document.regions).map(([code, entry]) => [
        code,
        prepareRegion(document, { code, entry }),
      ]),
    )
    this.regions = [...this.#regions.values()].map(({ rules }) => rules)
  }

  region(code: string): RegionRules | undefined {
    return this.#regions.get(code)?.rules
  }

  baseline(country: Country): CountryBaseline {
    return this.#baselines[country]
  }

  hoursOn(code: string, day: LocalDay): WeekWindows | undefined {
    const region = this.#regions.get(code)
    return region?.history.find(({ until }) => day <= until)?.hours ?? region?.hours
  }

  recordedHoursOn(code: string, day: LocalDay): WeekWindows | undefined {
    const recorded = this.#regions.get(code)?.recorded
    return recorded?.holidays.nameOn(day) === undefined ? recorded?.hours : recorded.holidayHours
  }

  restrictedDay(code: string, day: LocalDay): string | undefined {
    return this.#regions.get(code)?.holidays.nameOn(day)
  }

  restrictedDays(code: string, year: number): ReadonlyMap<LocalDay, string> {
    return this.#regions.get(code)?.holidays.closedDays(year) ?? noDays
  }

  ebrMonths(code: string, type: TimedEbrType): number | undefined {
    return this.#regions.get(code)?.rules.ebr[type]
  }

  obligationExempts(code: string): boolean {
    return this.#regions.get(code)?.rules.obligationExempts ?? false
  }

  isWirelessProhibited(code: string): boolean {
    const region = this.#regions.get(code)
    return region === undefined || region.rules.wirelessProhibited !== undefined
  }
}

const noDays: ReadonlyMap<LocalDay, string> = new Map()

interface CodedEntry {
  readonly code: string
  readonly entry: RegionEntry
}

function prepareRegion(document: CallingRulesDocument, coded: CodedEntry): PreparedRegion {
  const { entry } = coded
  const { disputedHolidays, limitedHolidays } = document.defaults
  const kept = [
    ...entry.holidays,
    ...(disputedHolidays === 'ban' ? entry.holidaysDisputed : []),
    ...(limitedHolidays === 'ban' ? entry.holidaysLimited : []),
  ]
  return {
    rules: regionRules(document, coded),
    hours: entry.hours ?? document.baselines[entry.country].hours,
    history: entry.history ?? [],
    holidays: calendar(document, { kept, policy: entry.observedPolicy }),
    recorded: entry.automated && recordedVoice(document, entry.automated),
  }
}

function regionRules(document: CallingRulesDocument, { code, entry }: CodedEntry): RegionRules {
  const baseline = document.baselines[entry.country]
  const { name, country, citation, confidence } = entry
  return {
    ...{ code, name, country, citation, confidence },
    basis: entry.hours ? 'state' : 'federal',
    hoursCitation: entry.hours ? citation : baseline.citation,
    ebr: entry.ebr ?? baseline.ebr,
    obligationExempts: entry.ebr?.obligationExempts ?? false,
    wirelessProhibited: entry.wirelessProhibited?.citation,
    emergencyCitation: entry.emergency?.citation,
    recordedCitation: entry.automated?.citation,
  }
}

interface KeptEntries {
  readonly kept: RegionEntry['holidays']
  readonly policy: string | undefined
}

function calendar(document: CallingRulesDocument, { kept, policy }: KeptEntries): HolidayCalendar {
  const holidays = kept.flatMap(({ key, from, until }): KeptHoliday[] => {
    const holiday = document.holidays[key]
    return holiday ? [{ ...holiday, from, until }] : []
  })
  const observed = policy === undefined ? undefined : document.observedPolicies[policy]
  return new HolidayCalendar(holidays, observed ?? { saturday: [], sunday: [] })
}

function recordedVoice(document: CallingRulesDocument, entry: AutomatedEntry): RecordedVoice {
  const { hours, holidayHours, holidays = [], observedPolicy } = entry
  return {
    hours,
    holidays: calendar(document, { kept: holidays, policy: observedPolicy }),
    holidayHours: narrowed(hours, holidayHours),
  }
}

function narrowed(week: WeekWindows, window: DayWindow | undefined): WeekWindows {
  return {
    monFri: intersect(week.monFri, window),
    sat: intersect(week.sat, window),
    sun: intersect(week.sun, window),
  }
}
