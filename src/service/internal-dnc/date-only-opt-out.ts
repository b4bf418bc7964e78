/**
 * Opt-outs of which only the day is known. One is stored as the last millisecond of its day in UTC:
 * a time of day that nobody else has, and the latest that may be meant there.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { msPerDay, msPerHour, toUtcDay } from '../../domain/time/dates.js'

export function encodeDateOnly(day: LocalDay): Instant {
  return (day + 1) * msPerDay - 1
}

/** The day of an opt-out of which only that is known; `undefined` for any other instant. */
export function decodeDateOnly(at: Instant): LocalDay | undefined {
  return at % msPerDay === msPerDay - 1 ? toUtcDay(at) : undefined
}

type Value = RawBuilder<unknown>

/** How long a day goes on in American Samoa after it has ended in UTC. */
const longestLagMs = 11 * msPerHour

const isDayAlone = (at: Value) => sql`${at} % ${msPerDay} = ${msPerDay} - 1`

/** The last moment that may be meant, wherever the number is. */
export function lastMomentOf(at: Value): Value {
  return sql`(${at} + case when ${isDayAlone(at)} then ${longestLagMs} else 0 end)`
}

export const greaterOf = (one: Value, other: Value): Value =>
  sql`(case when ${one} > ${other} then ${one} else ${other} end)`

/** The latest of several: the last moment of a day alone, where an exact time falls into its evening. */
export function latestOf(greatest: Value, lastMoment: Value): Value {
  return sql`(case when ${isDayAlone(greatest)} then ${greatest} else ${lastMoment} end)`
}

export function laterOf(one: Value, other: Value): Value {
  return latestOf(greaterOf(one, other), greaterOf(lastMomentOf(one), lastMomentOf(other)))
}
