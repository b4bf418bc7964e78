/**
 * The calling rules, prepared for fast lookup: windows by day, recorded
 * voices, holidays, relationship limits, bans on calls to mobile numbers. Data only: calling hours and
 * scrub decide which rule takes precedence. No region is named in code.
 */
import {
  type CallKind,
  type CallPurpose,
  callPurposes,
  type Disclosure,
  disclosureKeys,
} from '../domain/decision.js'
import type { Country } from '../domain/place.js'
import type { Instant, LocalDay } from '../domain/time/clock.js'
import { type DayRange, isWithinDays, msPerHour, toUtcDay } from '../domain/time/dates.js'
import { type DayWindow, intersectWindows, type WeekWindows } from '../domain/time/week-windows.js'
import { AbandonmentRules } from './abandonment-rules.js'
import { findAreaCodePlace } from './area-codes.js'
import { CallerIdRules } from './caller-id-rules.js'
import type {
  AutomatedEntry,
  BaselineEntry,
  CallingRulesDocument,
  DisclosureEntry,
  EmergencyEntry,
  HolidayEntry,
  RegionEntry,
  WirelessBan,
} from './calling-rules-document.js'
import { ConsentRules } from './consent-rules.js'
import { Exceptions } from './exceptions.js'
import { FrequencyRules } from './frequency-rules.js'
import { HolidayCalendar, type RegionHoliday } from './hours/holidays.js'
import { Purposes } from './purposes.js'
import { RevocationRules } from './revocation-rules.js'

const noDisclosures: readonly Disclosure[] = []

export interface RegionRules {
  /** Two-letter postal code. */
  readonly code: string
  readonly name: string
  readonly country: Country
  /** Citation of the region's own law: holidays, emergencies, mobile numbers. */
  readonly citation: string
  readonly confidence: string
}

/** For how long a sale or an inquiry exempts a number of a region, on the days of a range. */
export interface EbrRule extends DayRange {
  /** Months; 0 gives no exemption. */
  readonly S: number
  readonly I: number
  /** A sale with a written obligation exempts until that ends, regardless of months (New Jersey's rule). */
  readonly obligationExempts: boolean
  /** Whether it is the region's own, its country's, or there is none. */
  readonly basis: 'state' | 'federal' | 'none'
  readonly citation: string
}

/** A region where the called person may be, and the local day there. */
interface RegionDay {
  readonly region: string
  readonly day: LocalDay
}

/** The weekly windows of a region that hold on the days of a range. */
export interface HoursRule extends DayRange {
  readonly week: WeekWindows
  /** Whether they are the region's own or its country's, or those of calls for another purpose than telemarketing. */
  readonly basis: 'state' | 'federal' | CallPurpose
  readonly citation: string
}

interface RecordedVoice extends DayRange {
  readonly citation: string
  readonly hours: WeekWindows
  readonly holidays: HolidayCalendar
  readonly holidayHours: WeekWindows
}

interface PreparedRegion {
  readonly rules: RegionRules
  /** Oldest first; the last one has no end. */
  readonly hours: readonly HoursRule[]
  readonly holidays: HolidayCalendar
  /** Every day has one; oldest first. */
  readonly ebr: readonly EbrRule[]
  readonly recorded: readonly RecordedVoice[]
  readonly wirelessBans: readonly WirelessBan[]
  readonly emergencies: readonly EmergencyEntry[]
}

export class CallingRules {
  /** As loaded; another thread makes the same rules from it. */
  readonly document: CallingRulesDocument
  /** The day as of which the rules were collected. */
  readonly asOf: LocalDay
  readonly regions: readonly RegionRules[]
  readonly frequency: FrequencyRules
  readonly purposes: Purposes
  readonly abandonment: AbandonmentRules
  readonly revocation: RevocationRules
  readonly callerIds: CallerIdRules
  readonly exceptions: Exceptions
  readonly requiredConsents: ConsentRules
  readonly #federalHours: Readonly<Record<Country, readonly HoursRule[]>>
  readonly #regions: ReadonlyMap<string, PreparedRegion>
  /** Only the kinds and purposes that have any, since each decision asks. */
  readonly #disclosures: ReadonlyMap<CallKind, ReadonlyMap<CallPurpose, readonly DisclosureEntry[]>>

  constructor(document: CallingRulesDocument) {
    this.document = document
    this.asOf = document.about.asOf
    const countries = new Map(
      Object.entries(document.regions).map(([code, { country }]) => [code, country]),
    )
    this.frequency = new FrequencyRules(document.frequencyRules, countries)
    this.purposes = new Purposes(document.purposes)
    this.abandonment = new AbandonmentRules(document.abandonmentRules, countries)
    this.revocation = prepareRevocation(document)
    this.callerIds = new CallerIdRules(document.callerIdRules)
    this.exceptions = new Exceptions(document.exceptions, document.frequencyRules)
    this.requiredConsents = new ConsentRules(document.consentRequired)
    const { US, CA } = document.baselines
    this.#federalHours = { US: listHours(US, 'federal'), CA: listHours(CA, 'federal') }
    this.#regions = new Map(
      Object.entries(document.regions).map(([code, entry]) => [
        code,
        prepareRegion(document, { code, entry }),
      ]),
    )
    this.#disclosures = groupDisclosures(document.disclosures)
    this.regions = [...this.#regions.values()].map(({ rules }) => rules)
  }

  findRegion(code: string): RegionRules | undefined {
    return this.#regions.get(code)?.rules
  }

  /** The statutory windows in force on a local day; `undefined` for an unknown region. */
  findHours(code: string, day: LocalDay): HoursRule | undefined {
    return this.listHours(code).find(({ until }) => until === undefined || day <= until)
  }

  /** Those of the country alone. */
  findFederalHours(code: string, day: LocalDay): HoursRule | undefined {
    const country = this.findRegion(code)?.country
    return country && this.#federalHours[country].find((rule) => isWithinDays(rule, day))
  }

  /** The statutory windows of all times, oldest first; none for an unknown region. */
  listHours(code: string): readonly HoursRule[] {
    return this.#regions.get(code)?.hours ?? []
  }

  /** The narrower windows for a recorded voice on a local day; `undefined` if there are none. */
  findRecordedHours(
    code: string,
    day: LocalDay,
  ): { readonly week: WeekWindows; readonly citation: string } | undefined {
    const recorded = findRow(this.#regions.get(code)?.recorded, day)
    if (!recorded) return undefined
    const { hours, holidays, holidayHours, citation } = recorded
    return { week: holidays.findName(day) === undefined ? hours : holidayHours, citation }
  }

  /** The name of the holiday, if the region allows no calls on that day. */
  findRestrictedDay(code: string, day: LocalDay): string | undefined {
    return this.#regions.get(code)?.holidays.findName(day)
  }

  /** All restricted days of a calendar year, with their names. */
  listRestrictedDays(code: string, year: number): ReadonlyMap<LocalDay, string> {
    return this.#regions.get(code)?.holidays.listClosedDays(year) ?? noDays
  }

  /** For how long records exempt a number by the row of a local day; `undefined` for an unknown region. */
  findEbrRule(code: string, day: LocalDay): EbrRule | undefined {
    return findRow(this.listEbrRules(code), day)
  }

  /**
   * From how long on a call is taken for a conversation, if it is not known who answered. Of the rows in force, the shortest;
   * without one, any answered call is.
   */
  findMinTalkMs(at: Instant): number {
    const day = toUtcDay(at)
    const rows = this.document.conversations.filter((row) => isWithinDays(row, day))
    return rows.length === 0 ? 0 : Math.min(...rows.map((row) => row.minSeconds)) * 1_000
  }

  /** Those of all times, oldest first: each day has one. None for an unknown region. */
  listEbrRules(code: string): readonly EbrRule[] {
    return this.#regions.get(code)?.ebr ?? []
  }

  /** The citation of the ban on calls during a declared emergency; `undefined` if there is none on that day. */
  findEmergencyCitation(code: string, day: LocalDay): string | undefined {
    return findRow(this.#regions.get(code)?.emergencies, day)?.citation
  }

  /** By the area code; `undefined` for one of neither country. */
  findCountry(number: string): Country | undefined {
    return findAreaCodePlace(number.slice(0, 3))?.country
  }

  /**
   * What must be said in a call of this kind and purpose at an instant, in the order in which it is said. `findPlaces` gives all
   * where the called person may be; if none is known, every rule applies.
   */
  listDisclosures(
    {
      callKind,
      purpose = 'telemarketing',
    }: { readonly callKind: CallKind; readonly purpose?: CallPurpose | undefined },
    at: Instant,
    findPlaces: () => readonly RegionDay[],
  ): readonly Disclosure[] {
    const rows = this.#disclosures.get(callKind)?.get(purpose)
    if (rows === undefined) return noDisclosures
    const places = findPlaces()
    const fitting = rows.filter((row) =>
      places.length === 0
        ? holdsSomewhere(row, at)
        : places.some(
            ({ region, day }) => this.#isForRegion(row, region) && isWithinDays(row, day),
          ),
    )
    return disclosureKeys.flatMap((key) => {
      const rules = fitting.filter((row) => row.key === key).map(({ citation }) => citation)
      return rules.length === 0 ? [] : [{ key, rules }]
    })
  }

  /** The rows of all times of what must be said in a region, as they are in the file. */
  listDisclosureRows(code: string): readonly DisclosureEntry[] {
    return this.document.disclosures.filter((row) => this.#isForRegion(row, code))
  }

  #isForRegion({ countries, regions }: DisclosureEntry, code: string): boolean {
    const region = this.findRegion(code)
    if (region === undefined) return true
    return (countries?.includes(region.country) ?? true) && (regions?.includes(code) ?? true)
  }

  /**
   * The citation, if sales calls to mobile numbers are banned on a local day, even under a condition. In an
   * unknown region they are banned too.
   */
  findWirelessBan(code: string, findDay: () => LocalDay): string | undefined {
    const region = this.#regions.get(code)
    if (region === undefined) return `no calling rules are known for region '${code}'`
    const { wirelessBans } = region
    return wirelessBans.length === 0 ? undefined : findRow(wirelessBans, findDay())?.citation
  }
}

function groupDisclosures(
  rows: readonly DisclosureEntry[],
): ReadonlyMap<CallKind, ReadonlyMap<CallPurpose, readonly DisclosureEntry[]>> {
  const byKind = new Map<CallKind, Map<CallPurpose, DisclosureEntry[]>>()
  for (const row of rows) {
    for (const kind of row.callKinds) {
      const byPurpose = byKind.get(kind) ?? new Map<CallPurpose, DisclosureEntry[]>()
      byKind.set(kind, byPurpose)
      for (const purpose of row.purposes ?? callPurposes) {
        byPurpose.set(purpose, [...(byPurpose.get(purpose) ?? []), row])
      }
    }
  }
  return byKind
}

/** Whether a row holds at an instant on the local day of any place: clocks differ by less than 12 hours from UTC. */
function holdsSomewhere(
  { from = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY }: DayRange,
  at: Instant,
): boolean {
  return from <= toUtcDay(at + 12 * msPerHour) && until >= toUtcDay(at - 12 * msPerHour)
}

const noDays: ReadonlyMap<LocalDay, string> = new Map()

function prepareRevocation(document: CallingRulesDocument): RevocationRules {
  const { revocation } = document
  const holidays = revocation.holidays.map((key) => ({ key }))
  const policy = revocation.observedPolicy
  return new RevocationRules(revocation, createHolidayCalendar(document, { holidays, policy }))
}

interface CodedEntry {
  readonly code: string
  readonly entry: RegionEntry
}

function prepareRegion(
  document: CallingRulesDocument,
  { code, entry }: CodedEntry,
): PreparedRegion {
  const { name, country, citation, confidence } = entry
  const { disputedHolidays, limitedHolidays } = document.defaults
  const holidays = [
    ...entry.holidays,
    ...(disputedHolidays === 'ban' ? entry.holidaysDisputed : []),
    ...(limitedHolidays === 'ban' ? entry.holidaysLimited : []),
  ]
  return {
    rules: { code, name, country, citation, confidence },
    hours: entry.hours
      ? listHours({ ...entry, hours: entry.hours }, 'state')
      : listHours(document.baselines[entry.country], 'federal'),
    holidays: createHolidayCalendar(document, { holidays, policy: entry.observedPolicy }),
    ebr: listEbrRules(document, entry),
    recorded: (entry.automated ?? []).map((row) => prepareRecordedVoice(document, row)),
    wirelessBans: entry.wirelessProhibited ?? [],
    emergencies: entry.emergency ?? [],
  }
}

function findRow<Row extends DayRange>(
  rows: readonly Row[] | undefined,
  day: LocalDay,
): Row | undefined {
  return rows?.find((row) => isWithinDays(row, day))
}

function listHours(
  { hours, history = [], effectiveFrom, citation }: Omit<BaselineEntry, 'ebr'>,
  basis: HoursRule['basis'],
): readonly HoursRule[] {
  const former = history.map((row, index): HoursRule => {
    const before = history[index - 1]
    return {
      week: row.hours,
      basis,
      citation: row.citation ?? citation,
      from: before && before.until + 1,
      until: row.until,
    }
  })
  return [...former, { week: hours, basis, citation, from: effectiveFrom }]
}

/** The region's own rows, and those of its country on all other days. */
function listEbrRules(
  { baselines }: CallingRulesDocument,
  { ebr = [], country, citation }: RegionEntry,
): readonly EbrRule[] {
  const baseline = baselines[country]
  const own = ebr.map((row) => {
    return { ...row, basis: 'state' as const, citation: row.citation ?? citation }
  })
  const federal = baseline.ebr.map((row) => {
    return { ...row, basis: 'federal' as const, citation: row.citation ?? baseline.citation }
  })
  const none = { S: 0, I: 0, obligationExempts: false, basis: 'none', citation } as const
  const turns = [...own, ...federal].flatMap(({ from, until }) => [
    ...(from === undefined ? [] : [from]),
    ...(until === undefined ? [] : [until + 1]),
  ])
  const starts = [undefined, ...[...new Set(turns)].sort((a, b) => a - b)]
  return starts.map((from, index) => {
    const day = from ?? Number.NEGATIVE_INFINITY
    const next = starts[index + 1]
    const row = findRow(own, day) ?? findRow(federal, day) ?? none
    return { ...row, from, until: next === undefined ? undefined : next - 1 }
  })
}

interface HolidayEntries {
  readonly holidays: readonly HolidayEntry[]
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
  const { hours, holidayHours, holidays = [], observedPolicy, from, until, citation } = entry
  return {
    citation,
    hours,
    from,
    until,
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
