/** What a relationship on file lifts where an operator has decided to use it: rows of `calling-rules.yaml`, each for a region. */
import { z } from 'zod'
import { type LiftedRule, liftedRules, type Relationship } from '../../domain/mandate.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { addMonths, msPerDay, msPerHour, toUtcDay } from '../../domain/time/dates.js'
import type { FrequencyRule } from './frequency-rules.js'

interface ExceptionFields {
  readonly region: z.ZodType<string, string>
  readonly day: z.ZodType<LocalDay, string>
  readonly text: z.ZodType<string, string>
  readonly confidence: z.ZodType<string, string>
}

export const exceptionSchema = ({ region, day, text, confidence }: ExceptionFields) =>
  z
    .strictObject({
      id: z.string().regex(/^[a-z0-9-]{1,40}$/, 'must be lower-case letters, digits and -'),
      region,
      lifts: z
        .array(z.enum(liftedRules, `must be one of ${liftedRules.join(', ')}`))
        .min(1, 'must not be empty'),
      by: z.array(z.enum(['S', 'I', 'P'], 'must be S, I or P')).min(1, 'must not be empty'),
      months: z.int().min(1, 'must be 1 to 120').max(120, 'must be 1 to 120').optional(),
      from: day.optional(),
      until: day.optional(),
      citation: text,
      confidence,
      notes: text.optional(),
    })
    .refine(({ by, months }) => months !== undefined || by.every((type) => type === 'P'), {
      path: ['months'],
      error: 'must be given for a sale or an inquiry',
    })
    .refine(({ from, until }) => from === undefined || until === undefined || from <= until, {
      path: ['until'],
      error: 'must not be before from',
    })

export type ExceptionRow = z.output<ReturnType<typeof exceptionSchema>>

/** The day where it is latest: no time zone is more than 14 hours ahead of UTC. */
const latestDay = (at: Instant) => toUtcDay(at + 14 * msPerHour)

export class Exceptions {
  readonly rows: readonly ExceptionRow[]
  /** The frequency rules of sales calls alone, by region. */
  readonly #caps: ReadonlyMap<string, ReadonlySet<string>>

  constructor(rows: readonly ExceptionRow[], frequencyRules: readonly FrequencyRule[]) {
    this.rows = rows
    const ofSales = frequencyRules.filter(({ purposes }) =>
      purposes.every((purpose) => purpose === 'telemarketing'),
    )
    this.#caps = new Map(
      rows.map(({ region }) => [
        region,
        new Set(ofSales.flatMap((rule) => (rule.region === region ? [rule.id] : []))),
      ]),
    )
  }

  /** Those in force at an instant whose conditions a relationship meets, whatever the local time is. */
  find(
    lifted: LiftedRule,
    { type, contactOn }: Relationship,
    at: Instant,
  ): readonly ExceptionRow[] {
    return this.rows.filter(({ lifts, by, months, from, until }) => {
      if (!lifts.includes(lifted) || !by.includes(type) || contactOn > toUtcDay(at)) return false
      const isInForce =
        at >= (from === undefined ? Number.NEGATIVE_INFINITY : from * msPerDay + 12 * msPerHour) &&
        latestDay(at) <= (until ?? Number.POSITIVE_INFINITY)
      const isRecent = months === undefined || latestDay(at) < addMonths(contactOn, months)
      return isInForce && isRecent
    })
  }

  /** Whether an exception that lifts caps lifts this frequency rule: those of its region, of sales calls. */
  liftsCap({ region }: Pick<ExceptionRow, 'region'>, ruleId: string): boolean {
    return this.#caps.get(region)?.has(ruleId) === true
  }
}
