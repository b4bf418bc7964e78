/**
 * The calling rules as plain data: the fields of `calling-rules.yaml`, checked. `data/calling-rules/` reads the file.
 */
import type { CallKind, CallPurpose, DisclosureKey } from '../domain/decision.js'
import type { Country } from '../domain/place.js'
import type { LocalDay } from '../domain/time/clock.js'
import type { DayRange } from '../domain/time/dates.js'
import type { DayWindow, WeekWindows } from '../domain/time/week-windows.js'
import type { AbandonmentRule } from './abandonment-rules.js'
import type { CallerIdRule } from './caller-id-rules.js'
import type { ConsentRule } from './consent-rules.js'
import type { ExceptionRow } from './exceptions.js'
import type { FrequencyRule } from './frequency-rules.js'
import type { HolidayRule, ObservedPolicy } from './hours/holidays.js'
import type { LawRow } from './law-row.js'
import type { PurposesDocument } from './purposes.js'
import type { ReleaseRule } from './reassigned-releases.js'
import type { RevocationEntry } from './revocation-rules.js'

export interface CallingRulesDocument {
  readonly about: { readonly title: string; readonly asOf: LocalDay; readonly scope: string }
  readonly baselines: Readonly<Record<Country, BaselineEntry>>
  readonly defaults: Readonly<Record<'disputedHolidays' | 'limitedHolidays', 'ban' | 'allow'>>
  readonly observedPolicies: Readonly<Record<string, ObservedPolicy>>
  readonly holidays: Readonly<Record<string, { readonly name: string; readonly rule: HolidayRule }>>
  readonly disclosures: readonly DisclosureEntry[]
  readonly purposes: PurposesDocument
  readonly frequencyRules: readonly FrequencyRule[]
  readonly abandonmentRules: readonly AbandonmentRule[]
  readonly revocation: RevocationEntry
  readonly exceptions: readonly ExceptionRow[]
  readonly consentRequired: readonly ConsentRule[]
  readonly reassignedReleases: readonly (LawRow & ReleaseRule)[]
  readonly conversations: readonly (LawRow & { readonly minSeconds: number })[]
  readonly callerIdRules: readonly CallerIdRule[]
  readonly regions: Readonly<Record<string, RegionEntry>>
  readonly sources: Readonly<
    Record<
      string,
      { readonly kind: string; readonly title: string; readonly url?: string | undefined }
    >
  >
}

export interface DisclosureEntry extends LawRow {
  readonly key: DisclosureKey
  readonly callKinds: readonly CallKind[]
  /** All if absent; so are countries and regions. */
  readonly purposes?: readonly CallPurpose[] | undefined
  readonly countries?: readonly Country[] | undefined
  readonly regions?: readonly string[] | undefined
}

/** Hours, and those that held before `effectiveFrom`, oldest first. */
interface HoursHistory {
  readonly effectiveFrom?: LocalDay | undefined
  readonly history?:
    | readonly {
        readonly until: LocalDay
        readonly hours: WeekWindows
        readonly citation?: string | undefined
        readonly note?: string | undefined
      }[]
    | undefined
}

export interface BaselineEntry extends HoursHistory {
  readonly hours: WeekWindows
  readonly ebr: readonly EbrEntry[]
  readonly citation: string
  readonly sources: readonly string[]
}

/** Rows of one field do not overlap, and the oldest comes first. */
export interface RegionEntry extends HoursHistory {
  readonly name: string
  readonly country: Country
  readonly hours?: WeekWindows | undefined
  readonly lenientHours?: WeekWindows | undefined
  readonly holidays: readonly HolidayEntry[]
  readonly holidaysDisputed: readonly HolidayEntry[]
  readonly holidaysLimited: readonly HolidayEntry[]
  readonly observedPolicy?: string | undefined
  readonly proclaimedDays: boolean
  readonly emergency?: readonly EmergencyEntry[] | undefined
  readonly ebr?: readonly EbrEntry[] | undefined
  readonly wirelessProhibited?: readonly WirelessBan[] | undefined
  readonly automated?: readonly AutomatedEntry[] | undefined
  readonly citation: string
  readonly confidence: string
  readonly sources: readonly string[]
  readonly conflicts?: readonly string[] | undefined
  readonly notes?: string | undefined
}

export interface HolidayEntry extends DayRange {
  readonly key: string
  readonly why?: string | undefined
  readonly area?: string | undefined
}

interface EbrEntry extends DayRange {
  /** Months for a sale and an inquiry; 0 gives no exemption. */
  readonly S: number
  readonly I: number
  readonly obligationExempts: boolean
  readonly citation?: string | undefined
  readonly note?: string | undefined
}

export interface EmergencyEntry extends DayRange {
  readonly citation: string
  readonly trigger: string
  readonly scope: string
  readonly exceptions: string
  readonly ends: string
  readonly area: string
  readonly operate: string
  readonly pending?: string | undefined
}

export interface WirelessBan extends DayRange {
  readonly when: 'always' | 'conditional'
  readonly citation: string
  readonly scope: string
  readonly liftedBy: string
  readonly confidence: string
}

/** The region's law on recorded voices. */
export interface AutomatedEntry extends DayRange {
  readonly hours: WeekWindows
  /** These go together. */
  readonly holidayHours?: DayWindow | undefined
  readonly holidays?: readonly HolidayEntry[] | undefined
  readonly observedPolicy?: string | undefined
  readonly cap?:
    | { readonly calls: number; readonly periodHours: number; readonly per: string }
    | undefined
  readonly citation: string
  readonly confidence: string
  readonly note?: string | undefined
}
