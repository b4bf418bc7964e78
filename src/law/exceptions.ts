/** What a relationship on file lifts where an operator has decided to use it: rows of `calling-rules.yaml`, each for a region. */
import type { LiftedRule, Relationship } from '../domain/mandate.js'
import type { Instant } from '../domain/time/clock.js'
import { addMonths, msPerDay, msPerHour, toUtcDay } from '../domain/time/dates.js'
import type { FrequencyRule } from './frequency-rules.js'
import type { NamedRow } from './law-row.js'

export interface ExceptionRow extends NamedRow {
  readonly region: string
  readonly lifts: readonly LiftedRule[]
  readonly by: readonly Relationship['type'][]
  /** For how long after a sale or an inquiry. */
  readonly months?: number | undefined
}

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
