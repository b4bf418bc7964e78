/** The laws on how often a person may be called: rows of `calling-rules.yaml`, each for a region. */
import { z } from 'zod'
import { type CallKind, callKinds } from '../../domain/decision.js'
import { type FrequencyLimit, maxFrequencyHours } from '../../domain/mandate.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { msPerDay, msPerHour } from '../../domain/time/dates.js'
import { findAreaCodePlace, listAreaCodes } from '../numbering/area-codes.js'

export interface FrequencyRuleFields {
  readonly region: z.ZodType<string, string>
  readonly day: z.ZodType<LocalDay, string>
  readonly text: z.ZodType<string, string>
  readonly confidence: z.ZodType<string, string>
}

export const frequencyRuleSchema = ({ region, day, text, confidence }: FrequencyRuleFields) =>
  z.strictObject({
    id: z.string().regex(/^[a-z0-9-]{1,40}$/, 'must be lower-case letters, digits and -'),
    region,
    callKinds: z.array(z.enum(callKinds)).min(1, 'must not be empty').optional(),
    calls: z.int().min(1, 'must be 1 or more').max(1_000, 'must be 1000 or less'),
    hours: z
      .int()
      .min(1, 'must be 1 or more')
      .max(maxFrequencyHours, `must be ${maxFrequencyHours} or less`),
    per: z.enum(['person', 'number'], 'must be person or number'),
    perSubject: z.boolean().default(false),
    counts: z.enum(['all', 'connected'], 'must be all or connected').default('all'),
    from: day.optional(),
    until: day.optional(),
    citation: text,
    confidence,
    notes: text.optional(),
  })

export type FrequencyRule = z.output<ReturnType<typeof frequencyRuleSchema>>

interface PreparedRule {
  readonly rule: FrequencyRule
  readonly limit: FrequencyLimit
  readonly from: Instant
  readonly until: Instant
}

const noRules: readonly PreparedRule[] = []
const noLimits: readonly FrequencyLimit[] = []

export class FrequencyRules {
  readonly #rules: readonly PreparedRule[]
  /** Florida and Oklahoma presume that whoever has a number of theirs is there. */
  readonly #byAreaCode: ReadonlyMap<string, readonly PreparedRule[]>

  constructor(rows: readonly FrequencyRule[]) {
    this.#rules = rows.map(prepareRule)
    this.#byAreaCode = new Map(
      listAreaCodes().map((code) => {
        const places = findAreaCodePlace(code)?.candidates ?? []
        const own = this.#rules.filter(({ rule }) =>
          places.some(({ region }) => region === rule.region),
        )
        return [code, own.length === 0 ? noRules : own]
      }),
    )
  }

  /**
   * Those that count a call of this kind at an instant, to a person who may be in any of the places, or in one of the area
   * code. All, if neither is known.
   */
  find(
    callKind: CallKind,
    {
      number,
      places,
    }: { readonly number: string; readonly places: readonly { readonly region: string }[] },
    at: Instant,
  ): readonly FrequencyLimit[] {
    const ofAreaCode = this.#byAreaCode.get(number.slice(0, 3))
    const isUnknown = places.length === 0 && ofAreaCode === undefined
    let found: FrequencyLimit[] | undefined
    for (const one of this.#rules) {
      const { rule, limit, from, until } = one
      const isOfPlace =
        isUnknown ||
        ofAreaCode?.includes(one) === true ||
        places.some(({ region }) => region === rule.region)
      if (!isOfPlace || rule.callKinds?.includes(callKind) === false) continue
      if (at < from || at >= until) continue
      found ??= []
      found.push(limit)
    }
    return found ?? noLimits
  }
}

function prepareRule(rule: FrequencyRule): PreparedRule {
  const { id, calls, hours, per, perSubject: isPerSubject, counts, citation, from, until } = rule
  return {
    rule,
    limit: { id, calls, periodMs: hours * msPerHour, per, isPerSubject, counts, citation },
    // Whatever the local time is: the first day begins everywhere, and the last one has ended everywhere.
    from: from === undefined ? Number.NEGATIVE_INFINITY : from * msPerDay,
    until: until === undefined ? Number.POSITIVE_INFINITY : (until + 2) * msPerDay,
  }
}
