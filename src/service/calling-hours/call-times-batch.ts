/**
 * The rows of LegalCallTimesForDate for one caller: when each number may be called on some of its
 * local days. A restricted day or an emergency leaves no time, as in IsTimeLegalToCall.
 */
import type { CallTimesItem, CallTimesRow } from '../../domain/call-times.js'
import type { Caller } from '../../domain/caller.js'
import {
  type Clock,
  type Instant,
  type LocalDay,
  parseDay,
  parseInstant,
} from '../../domain/clock.js'
import { mapInSlices } from '../../domain/slices.js'
import { describeProblem, type FieldProblem } from '../../errors.js'
import type { ScopeResolver } from '../projects/projects.js'
import type { CallingHours } from './calling-hours.js'
import { projectTerms, textOf } from './project-terms.js'
import type { HoursItem } from './time-legal.js'

export interface LegalCallTimesOptions {
  readonly projects: ScopeResolver
  readonly clockOf: (accountId: string) => Clock
  readonly hoursOf: (accountId: string) => Pick<CallingHours, 'callTimes' | 'localDay'>
}

/** Days of one item, at most: a month. */
const mostDays = 31
const dayMs = 86_400_000

export class LegalCallTimes {
  readonly #options: LegalCallTimesOptions

  constructor(options: LegalCallTimesOptions) {
    this.#options = options
  }

  /** Exactly one row per item, in order; a bad item is a row with its status. */
  async list(
    { accountId }: Caller,
    items: readonly CallTimesItem[],
  ): Promise<readonly CallTimesRow[]> {
    const now = this.#options.clockOf(accountId).now()
    const hours = this.#options.hoursOf(accountId)
    const named = items.map(({ projectId }) => projectId)
    const projects = await projectTerms(this.#options.projects, accountId, named)
    return await mapInSlices(items, (item) => {
      const { phoneNumber, projectId } = item
      const asked = { phoneNumber, now, dateField: 'Date', ...projects.get(projectId) }
      const { status, message, times } = answer(hours, asked, item)
      return { phoneNumber: textOf(phoneNumber), times, status, message }
    })
  }
}

function answer(
  hours: Pick<CallingHours, 'callTimes' | 'localDay'>,
  asked: HoursItem,
  { date, numberOfDays }: CallTimesItem,
) {
  const utcToday = Math.floor(asked.now / dayMs)
  const day = readDay(date, () => hours.localDay(asked, asked.now) ?? utcToday)
  const count = readCount(numberOfDays)
  const fault = [day, count].find((value) => typeof value === 'object')
  const at: Instant =
    typeof day === 'number' && typeof count === 'number' ? day * dayMs : Number.NaN
  const found = hours.callTimes({ ...asked, at }, { from: Number(day), count: Number(count) })
  const unreadable = found.status === 'INVALID_DATE' && fault ? describeProblem(fault) : undefined
  return { ...found, message: unreadable ?? found.message }
}

/** A date alone, or a date-time whose date counts; absent and `null` mean the number's own today. */
function readDay(value: unknown, today: () => LocalDay): LocalDay | FieldProblem {
  if (value === undefined || value === null) return today()
  const text = typeof value === 'string' ? value.trim() : ''
  // Of a date-time the date as it is written counts, in whatever zone it was meant.
  const day = parseDay(parseInstant(text) === undefined ? text : text.slice(0, 10))
  if (day !== undefined) return day
  const rule = 'must be a date such as 2026-11-24'
  return { field: 'Date', value: textOf(value), rule }
}

function readCount(value: unknown): number | FieldProblem {
  if (value === undefined || value === null) return 1
  const count = typeof value === 'string' && /^\d{1,3}$/.test(value) ? Number(value) : value
  if (Number.isInteger(count) && Number(count) >= 1 && Number(count) <= mostDays) {
    return Number(count)
  }
  const rule = `must be a whole number from 1 to ${mostDays}`
  return { field: 'NumberOfDays', value: textOf(value), rule }
}
