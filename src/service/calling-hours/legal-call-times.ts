/**
 * LegalCallTimesForDate: when each number may be called on the given local days. As in
 * IsTimeLegalToCall, no call is allowed on a restricted day or during an emergency.
 */

import type { Caller } from '../../domain/caller.js'
import type { CallTimesItem, CallTimesRow } from '../../domain/calling-hours.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { msPerDay, parseDay, parseInstant, toUtcDay } from '../../domain/time/dates.js'
import { describeProblem, type FieldProblem } from '../../errors.js'
import { mapInSlices } from '../../runtime/yield-to-event-loop.js'
import type { AccountView } from '../account-view.js'
import type { ScopeResolver } from '../projects/project-scope.js'
import type { CallingHours, HoursItem } from './calling-hours.js'
import { formatFieldValue, resolveProjectOverrides } from './project-overrides.js'

export interface LegalCallTimesOptions {
  readonly projects: ScopeResolver
  readonly viewOf: (accountId: string) => Pick<AccountView, 'clock'> & {
    readonly hours: Pick<CallingHours, 'listCallTimes' | 'findLocalDay'>
  }
}

/** Maximum days of one item: a month. */
const maxDays = 31

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
    const { clock, hours } = this.#options.viewOf(accountId)
    const now = clock.now()
    const named = items.map(({ projectId }) => projectId)
    const projects = await resolveProjectOverrides(this.#options.projects, accountId, named)
    return await mapInSlices(items, (item) => {
      const { phoneNumber, projectId } = item
      const asked = { phoneNumber, now, dateField: 'Date', ...projects.get(projectId) }
      const { status, message, times } = listCallTimes(hours, asked, item)
      return { phoneNumber: formatFieldValue(phoneNumber), times, status, message }
    })
  }
}

function listCallTimes(
  hours: Pick<CallingHours, 'listCallTimes' | 'findLocalDay'>,
  asked: HoursItem,
  { date, numberOfDays }: CallTimesItem,
) {
  const utcToday = toUtcDay(asked.now)
  const day = readDay(date, () => hours.findLocalDay(asked, asked.now) ?? utcToday)
  const count = readCount(numberOfDays)
  const fault = [day, count].find((value) => typeof value === 'object')
  const at: Instant =
    typeof day === 'number' && typeof count === 'number' ? day * msPerDay : Number.NaN
  const found = hours.listCallTimes({ ...asked, at }, { from: Number(day), count: Number(count) })
  const unreadable = found.status === 'INVALID_DATE' && fault ? describeProblem(fault) : undefined
  return { ...found, message: unreadable ?? found.message }
}

/** A date, or a date-time of which only the date is used. Absent or `null`: today where the number is. */
function readDay(value: unknown, today: () => LocalDay): LocalDay | FieldProblem {
  if (value === undefined || value === null) return today()
  const text = typeof value === 'string' ? value.trim() : ''
  // The date is taken as written, whatever the UTC offset of the date-time.
  const day = parseDay(parseInstant(text) === undefined ? text : text.slice(0, 10))
  if (day !== undefined) return day
  const rule = 'must be a date such as 2026-11-24'
  return { field: 'Date', value: formatFieldValue(value), rule }
}

function readCount(value: unknown): number | FieldProblem {
  if (value === undefined || value === null) return 1
  const count = typeof value === 'string' && /^\d{1,3}$/.test(value) ? Number(value) : value
  if (Number.isInteger(count) && Number(count) >= 1 && Number(count) <= maxDays) {
    return Number(count)
  }
  const rule = `must be a whole number from 1 to ${maxDays}`
  return { field: 'NumberOfDays', value: formatFieldValue(value), rule }
}
