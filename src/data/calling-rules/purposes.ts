/** What is asked of calls that are not for telemarketing: the table `purposes` of `calling-rules.yaml`. */
import { z } from 'zod'
import { type CallPurpose, type PurposeRules, telemarketing } from '../../domain/decision.js'
import type { LocalDay } from '../../domain/time/clock.js'
import { type DayRange, isWithinDays } from '../../domain/time/dates.js'
import type { WeekWindows } from '../../domain/time/week-windows.js'

export interface PurposeFields {
  readonly region: z.ZodType<string, string>
  readonly week: z.ZodType<WeekWindows, unknown>
  readonly day: z.ZodType<LocalDay, string>
  readonly text: z.ZodType<string, string>
  readonly confidence: z.ZodType<string, string>
}

export function purposesSchema({ region, week, day, text, confidence }: PurposeFields) {
  const dates = { from: day.optional(), until: day.optional() }
  const hours = z.strictObject({ hours: week, ...dates, citation: text, confidence })
  const rules = z.strictObject({
    hours: week.optional(),
    ...dates,
    regions: z.record(region, hours).default({}),
    machines: z.enum(
      ['permission', 'permission-or-landline', 'unlimited'],
      'must be permission, permission-or-landline or unlimited',
    ),
    citation: text,
    confidence,
    notes: text.optional(),
  })
  return z
    .strictObject({
      informational: rules,
      'debt-collection': rules,
      political: rules,
      charity: rules,
      healthcare: rules,
      emergency: rules,
    })
    .optional()
}

type PurposesDocument = NonNullable<z.output<ReturnType<typeof purposesSchema>>>

interface PreparedPurpose {
  readonly rules: PurposeRules
  /** Absent if the hours, restricted days and bans of sales calls apply. */
  readonly hours?: PurposeHours | undefined
  readonly hoursByRegion: ReadonlyMap<string, PurposeHours>
}

interface PurposeHours extends DayRange {
  readonly week: WeekWindows
  readonly basis: CallPurpose
  readonly citation: string
}

/** Without the table, every call is judged as telemarketing. */
export class Purposes {
  readonly #purposes: ReadonlyMap<CallPurpose, PreparedPurpose>

  constructor(document: PurposesDocument | undefined) {
    const entries = Object.entries(document ?? {}) as [
      keyof PurposesDocument,
      PurposesDocument[keyof PurposesDocument],
    ][]
    this.#purposes = new Map(
      entries.map(([purpose, row]) => [purpose, preparePurpose(purpose, row)]),
    )
  }

  /** The same object each time. */
  find(purpose: CallPurpose): PurposeRules {
    return this.#purposes.get(purpose)?.rules ?? telemarketing
  }

  /**
   * The hours of a purpose in a region on a local day; `undefined` if those of sales calls apply, with their restricted days
   * and bans.
   */
  findHours(
    purpose: CallPurpose,
    { region, day }: { readonly region: string; readonly day: LocalDay },
  ): PurposeHours | undefined {
    const own = this.#purposes.get(purpose)
    if (!own?.hours || !isWithinDays(own.hours, day)) return undefined
    const ofRegion = own.hoursByRegion.get(region)
    return ofRegion && isWithinDays(ofRegion, day) ? ofRegion : own.hours
  }
}

function preparePurpose(
  purpose: CallPurpose,
  { hours, regions, machines, ...row }: PurposesDocument[keyof PurposesDocument],
): PreparedPurpose {
  const toHours = (one: DayRange & { readonly hours: WeekWindows; readonly citation: string }) => ({
    week: one.hours,
    basis: purpose,
    citation: one.citation,
    from: one.from,
    until: one.until,
  })
  return {
    rules: { purpose, machines },
    hours: hours && toHours({ ...row, hours }),
    hoursByRegion: new Map(Object.entries(regions).map(([code, one]) => [code, toHours(one)])),
  }
}
