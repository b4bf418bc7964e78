import { formatInstant, parseDay } from '../../domain/time/dates.js'
import { describeProblem, type FieldProblem } from '../../errors.js'
import type { CallingRules } from '../../law/calling-rules.js'
import {
  type Emergency,
  type EnteredClosures,
  OperatorClosures,
  type ProclaimedDay,
} from '../../law/hours/operator-closures.js'

/** Throws a `RangeError` that lists every closure with an unknown region, a bad date or no time. */
export function prepareClosures(rules: CallingRules, entered: EnteredClosures): OperatorClosures {
  const problems = [
    ...entered.proclaimedDays.flatMap((day, index) => dayProblems(rules, day, index)),
    ...entered.emergencies.flatMap((row, index) => emergencyProblems(rules, row, index)),
  ]
  if (problems.length > 0) throw new RangeError(problems.map(describeProblem).join('; '))
  return new OperatorClosures(entered)
}

function regionProblem(rules: CallingRules, field: string, value: string): FieldProblem[] {
  const rule = 'must be a region of the calling rules'
  return rules.findRegion(value) ? [] : [{ field: `${field}.region`, value, rule }]
}

function dayProblems(rules: CallingRules, day: ProclaimedDay, index: number): FieldProblem[] {
  const field = `proclaimedDays.${index}`
  const rule = 'must be a date YYYY-MM-DD that exists'
  const exists = parseDay(day.date) !== undefined
  return [
    ...regionProblem(rules, field, day.region),
    ...(exists ? [] : [{ field: `${field}.date`, value: day.date, rule }]),
  ]
}

function emergencyProblems(rules: CallingRules, row: Emergency, index: number): FieldProblem[] {
  const field = `emergencies.${index}`
  const lasts = row.until === undefined || row.until > row.from
  const value = row.until === undefined ? '' : formatInstant(row.until)
  const rule = `must be after from, ${formatInstant(row.from)}`
  return [
    ...regionProblem(rules, field, row.region),
    ...(lasts ? [] : [{ field: `${field}.until`, value, rule }]),
  ]
}
