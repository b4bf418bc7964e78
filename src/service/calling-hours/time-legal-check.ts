/**
 * IsTimeLegalToCall (spec, "Calling hours"): resolves the project and date of each item and checks it
 * against the calling hours. The API limits the number of items.
 */

import type { Caller } from '../../domain/caller.js'
import type { TimeLegalItem, TimeLegalRow } from '../../domain/calling-hours.js'
import type { Instant } from '../../domain/time/clock.js'
import { parseInstant } from '../../domain/time/dates.js'
import { describeProblem } from '../../errors.js'
import { mapInSlices } from '../../runtime/yield-to-event-loop.js'
import type { AccountView } from '../account-view.js'
import type { ScopeResolver } from '../projects/project-scope.js'
import type { HoursItem, TimeLegalResult } from './calling-hours.js'
import { formatFieldValue, resolveProjectOverrides } from './project-overrides.js'

export interface TimeLegalCheckOptions {
  readonly projects: ScopeResolver
  readonly viewOf: (accountId: string) => Pick<AccountView, 'clock'> & {
    readonly hours: { checkTimeLegal(item: HoursItem): TimeLegalResult }
  }
}

type ParsedDate = Pick<HoursItem, 'at'> & { readonly fault?: string }

export class TimeLegalCheck {
  readonly #options: TimeLegalCheckOptions

  constructor(options: TimeLegalCheckOptions) {
    this.#options = options
  }

  /** Exactly one row per item, in order; a bad item is a row with its status. */
  async check(
    { accountId }: Caller,
    items: readonly TimeLegalItem[],
  ): Promise<readonly TimeLegalRow[]> {
    const { clock, hours } = this.#options.viewOf(accountId)
    const now = clock.now()
    const named = items.map(({ projectId }) => projectId)
    const projects = await resolveProjectOverrides(this.#options.projects, accountId, named)
    return await mapInSlices(items, (item) => {
      const date = readDate(item.proposedAt)
      const project = projects.get(item.projectId)
      const { phoneNumber } = item
      const answer = hours.checkTimeLegal({ phoneNumber, now, at: date.at, ...project })
      const unreadable = answer.status === 'INVALID_DATE' ? date.fault : undefined
      return {
        phoneNumber: formatFieldValue(phoneNumber),
        permitted: answer.permitted,
        secondsLeft: answer.secondsLeft,
        status: answer.status,
        message: unreadable ?? answer.message,
      }
    })
  }
}

/** An unreadable date becomes NaN, which is never within the allowed range. */
function readDate(value: unknown): ParsedDate {
  if (value === undefined || value === null) return {}
  const at: Instant | undefined = typeof value === 'string' ? parseInstant(value) : undefined
  if (at !== undefined) return { at }
  const rule = 'must be an ISO 8601 date-time in UTC, such as 2026-11-24T13:00:00Z'
  const field = 'CallProposedDateTimeInUTC'
  return { at: Number.NaN, fault: describeProblem({ field, value: formatFieldValue(value), rule }) }
}
