/** SQL about opt-outs with a date but no time of day; how these are stored is in `law/records/opt-out.ts`. */
import { type RawBuilder, sql } from 'kysely'
import { msPerDay, msPerHour } from '../../domain/time/dates.js'

type Value = RawBuilder<unknown>

/** How long after its end in UTC a day lasts in American Samoa. */
const maxLagMs = 11 * msPerHour

const isDateOnly = (at: Value) => sql`${at} % ${msPerDay} = ${msPerDay} - 1`

/** SQL for the latest instant that the opt-out can have happened, wherever the number is. */
export function lastMomentOf(at: Value): Value {
  return sql`(${at} + case when ${isDateOnly(at)} then ${maxLagMs} else 0 end)`
}

export const greaterOf = (one: Value, other: Value): Value =>
  sql`(case when ${one} > ${other} then ${one} else ${other} end)`

/**
 * SQL for the latest of several opt-outs, given their greatest stored value and the greatest of their
 * {@link lastMomentOf}. A date without a time outranks an exact time that may fall on the same local day.
 */
export function latestOf(greatest: Value, lastMoment: Value): Value {
  return sql`(case when ${isDateOnly(greatest)} then ${greatest} else ${lastMoment} end)`
}

export function laterOf(one: Value, other: Value): Value {
  return latestOf(greaterOf(one, other), greaterOf(lastMomentOf(one), lastMomentOf(other)))
}
