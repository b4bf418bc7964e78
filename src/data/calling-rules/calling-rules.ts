/**
 * The law in `calling-rules.yaml`, checked and prepared for fast lookup: windows by day, recorded
 * voices, holidays, relationship limits, bans on calls to mobile numbers. Data only: calling hours and
 * scrub decide which rule takes precedence. No region is named in code.
 */

import { type CallKind, callKinds, type Disclosure, disclosureKeys } from '../../domain/decision.js'
import type { Country } from '../../domain/place.js'
import type { LocalDay } from '../../domain/time/clock.js'
import {
  type DayWindow,
  intersectWindows,
  type WeekWindows,
} from '../../domain/time/week-windows.js'
import { DataFileError, describeProblem } from '../../errors.js'
import { readYamlFile } from '../files/yaml-file.js'
import {
  type AutomatedEntry,
  type CallingRulesDocument,
  checkCallingRules,
  type RegionEntry,
} from './calling-rules-schema.js'
import { FrequencyRules } from './frequency-rules.js'
import { HolidayCalendar, type RegionHoliday } from './holidays.js'

/** Sale and inquiry: the relationship records that expire after a number of months. */
type TimedEbrType = 'S' | 'I'

const noDisclosures: readonly Disclosure[] = []

/** The rules of a country, for regions without their own. */
interface CountryBaseline {
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
  /** Whether the window is the region's own or its country's. */
  readonly basis: 'state' | 'federal'
  /** Citation of the rule that sets the window. */
  readonly hoursCitation: string
  /** Citation of the region's own law: holidays, emergencies, mobile numbers. */
  readonly citation: string
  readonly confidence: string
  readonly ebr: Readonly<Record<TimedEbrType, number>>
  /** A record with the end date of an obligation exempts until that day, regardless of months. */
  readonly obligationExempts: boolean
  /** Citation of the ban on sales calls to mobile numbers, if there is one. */
  readonly wirelessProhibited: string | undefined
  /** Citation of the rule that bans calls during a declared emergency. */
  readonly emergencyCitation: string | undefined
  /** Citation of the window for recorded, artificial or AI voices. */
  readonly recordedCitation: string | undefined
}

/** Throws a {@link DataFileError} that lists every mistake in the file. */
export function loadCallingRules(path: string): CallingRules {
  const checked = checkCallingRules(readYamlFile(path))
  if (checked.ok) return new CallingRules(checked.document)
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

export class CallingRules {
  /** As loaded; another thread makes the same rules from it. */
  readonly document: CallingRulesDocument
  /** The day as of which the rules were collected. */
  readonly asOf: LocalDay
  readonly regions: readonly RegionRules[]
  readonly frequency: FrequencyRules
  readonly #baselines: Readonly<Record<Country, CountryBaseline>>
  readonly #regions: ReadonlyMap<string, PreparedRegion>
  /** Only the kinds that have any, since each decision asks. */
  readonly #disclosures: ReadonlyMap<CallKind, CallingRulesDocument['disclosures']>

  constructor(document: CallingRulesDocument) {
    this.document = document
    this.asOf = document.about.asOf
    this.frequency = new FrequencyRules(document.frequencyRules)
    this.#baselines = document.baselines
    this.#regions = new Map(
      Object.entries(document.regions).map(([code, entry]) => [
        code,
        prepareRegion(document, { code, entry }),
      ]),
    )
    this.#disclosures = new Map(
      callKinds.flatMap((kind) => {
        const rows = document.disclosures.filter((row) => row.callKinds.includes(kind))
        return rows.length === 0 ? [] : [[kind, rows] as const]
      }),
    )
    this.regions = [...this.#regions.values()].map(({ rules }) => rules)
  }

  findRegion(code: string): RegionRules | undefined {
    return this.#regions.get(code)?.rules
  }

  findBaseline(country: Country): CountryBaseline {
    return this.#baselines[country]
  }

  /** The statutory windows in force on a local day; `undefined` for an unknown region. */
  findHours(code: string, day: LocalDay): WeekWindows | undefined {
    const region = this.#regions.get(code)
    return region?.history.find(({ until }) => day <= until)?.hours ?? region?.hours
  }

  /** The narrower windows for a recorded voice on a local day; `undefined` if there are none. */
  findRecordedHours(code: string, day: LocalDay): WeekWindows | undefined {
    const recorded = this.#regions.get(code)?.recorded
    return recorded?.holidays.findName(day) === undefined ? recorded?.hours : recorded.holidayHours
  }

  /** The name of the holiday, if the region allows no calls on that day. */
  findRestrictedDay(code: string, day: LocalDay): string | undefined {
    return this.#regions.get(code)?.holidays.findName(day)
  }

  /** All restricted days of a calendar year, with their names. */
  listRestrictedDays(code: string, year: number): ReadonlyMap<LocalDay, string> {
    return this.#regions.get(code)?.holidays.listClosedDays(year) ?? noDays
  }

  /** Months for which a sale or inquiry exempts; 0 means never, `undefined` an unknown region. */
  ebrMonths(code: string, type: TimedEbrType): number | undefined {
    return this.#regions.get(code)?.rules.ebr[type]
  }

  /**
   * What must be said in a call of this kind, in the order in which it is said. `findRegions` gives all where the called
   * person may be; if none is known, every rule applies.
   */
  listDisclosures(callKind: CallKind, findRegions: () => readonly string[]): readonly Disclosure[] {
    const rows = this.#disclosures.get(callKind)
    if (rows === undefined) return noDisclosures
    const regions = findRegions().map((code) => this.findRegion(code))
    const fitting = rows.filter(
      (row) =>
        regions.length === 0 ||
        regions.some(
          (region) =>
            region === undefined ||
            ((row.countries?.includes(region.country) ?? true) &&
              (row.regions?.includes(region.code) ?? true)),
        ),
    )
    return disclosureKeys.flatMap((key) => {
      const rules = fitting.filter((row) => row.key === key).map(({ citation }) => citation)
      return rules.length === 0 ? [] : [{ key, rules }]
    })
  }

  /** See {@link RegionRules.obligationExempts}; false for an unknown region. */
  obligationExempts(code: string): boolean {
    return this.#regions.get(code)?.rules.obligationExempts ?? false
  }

  /** Whether sales calls to mobile numbers are banned; also true for conditional bans and unknown regions. */
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
  const holidays = [
    ...entry.holidays,
    ...(disputedHolidays === 'ban' ? entry.holidaysDisputed : []),
    ...(limitedHolidays === 'ban' ? entry.holidaysLimited : []),
  ]
  return {
    rules: toRegionRules(document, coded),
    hours: entry.hours ?? document.baselines[entry.country].hours,
    history: entry.history ?? [],
    holidays: createHolidayCalendar(document, { holidays, policy: entry.observedPolicy }),
    recorded: entry.automated && prepareRecordedVoice(document, entry.automated),
  }
}

function toRegionRules(document: CallingRulesDocument, { code, entry }: CodedEntry): RegionRules {
  const baseline = document.baselines[entry.country]
  const { name, country, citation, confidence } = entry
  return {
    code,
    name,
    country,
    citation,
    confidence,
    basis: entry.hours ? 'state' : 'federal',
    hoursCitation: entry.hours ? citation : baseline.citation,
    ebr: entry.ebr ?? baseline.ebr,
    obligationExempts: entry.ebr?.obligationExempts ?? false,
    wirelessProhibited: entry.wirelessProhibited?.citation,
    emergencyCitation: entry.emergency?.citation,
    recordedCitation: entry.automated?.citation,
  }
}

interface HolidayEntries {
  readonly holidays: RegionEntry['holidays']
  readonly policy: string | undefined
}

function createHolidayCalendar(
  document: CallingRulesDocument,
  { holidays: kept, policy }: HolidayEntries,
): HolidayCalendar {
  const holidays = kept.flatMap(({ key, from, until }): RegionHoliday[] => {
    const holiday = document.holidays[key]
    return holiday ? [{ ...holiday, from, until }] : []
  })
  const observed = policy === undefined ? undefined : document.observedPolicies[policy]
  return new HolidayCalendar(holidays, observed ?? { saturday: [], sunday: [] })
}

function prepareRecordedVoice(
  document: CallingRulesDocument,
  entry: AutomatedEntry,
): RecordedVoice {
  const { hours, holidayHours, holidays = [], observedPolicy } = entry
  return {
    hours,
    holidays: createHolidayCalendar(document, { holidays, policy: observedPolicy }),
    holidayHours: intersectWeek(hours, holidayHours),
  }
}

function intersectWeek(week: WeekWindows, window: DayWindow | undefined): WeekWindows {
  return {
    monFri: intersectWindows(week.monFri, window),
    sat: intersectWindows(week.sat, window),
    sun: intersectWindows(week.sun, window),
  }
}
