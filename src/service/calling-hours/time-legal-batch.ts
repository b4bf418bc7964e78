/**
 * The rows of IsTimeLegalToCall for one caller (spec, "Calling hours"): settles what each item
 * means (project, date) and lets the calling hours judge it. The batch's size is the API's limit.
 */
import type { Caller } from '../../domain/caller.js'
import { type Clock, type Instant, parseInstant } from '../../domain/clock.js'
import { mapInSlices } from '../../domain/slices.js'
import type { TimeLegalItem, TimeLegalRow } from '../../domain/time-legal-row.js'
import { describeProblem } from '../../errors.js'
import type { ScopeResolver } from '../projects/projects.js'
import { projectTerms, textOf } from './project-terms.js'
import type { HoursItem, TimeLegalAnswer } from './time-legal.js'

export interface TimeLegalOptions {
  readonly projects: ScopeResolver
  /** The sandbox may stand at an instant of its own. */
  readonly clockOf: (accountId: string) => Clock
  /** The sandbox has places of its own for the fictional numbers. */
  readonly hoursOf: (accountId: string) => { timeLegal(item: HoursItem): TimeLegalAnswer }
}

type DateTerms = Pick<HoursItem, 'at'> & { readonly fault?: string }

export class TimeLegal {
  readonly #options: TimeLegalOptions

  constructor(options: TimeLegalOptions) {
    this.#options = options
  }

  /** Exactly one row per item, in order; a bad item is a row with its status. */
  async check(
    { accountId }: Caller,
    items: readonly TimeLegalItem[],
  ): Promise<readonly TimeLegalRow[]> {
    const now = this.#options.clockOf(accountId).now()
    const hours = this.#options.hoursOf(accountId)
    const named = items.map(({ projectId }) => projectId)
    const projects = await projectTerms(this.#options.projects, accountId, named)
    return await mapInSlices(items, (item) => {
      const date = readDate(item.proposedAt)
      const project = projects.get(item.projectId)
      const { phoneNumber } = item
      const answer = hours.timeLegal({ phoneNumber, now, at: date.at, ...project })
      const unreadable = answer.status === 'INVALID_DATE' ? date.fault : undefined
      return {
        phoneNumber: textOf(phoneNumber),
        permitted: answer.permitted,
        secondsLeft: answer.secondsLeft,
        status: answer.status,
        message: unreadable ?? answer.message,
      }
    })
  }
}

/** A date that cannot be read is handed on as no instant at all, which no rule lets pass. */
function readDate(value: unknown): DateTerms {
  if (value === undefined || value === null) return {}
  const at: Instant | undefined = typeof value === 'string' ? parseInstant(value) : undefined
  if (at !== undefined) return { at }
  const rule = 'must be an ISO 8601 date-time in UTC, such as 2026-11-24T13:00:00Z'
  const field = 'CallProposedDateTimeInUTC'
  return { at: Number.NaN, fault: describeProblem({ field, value: textOf(value), rule }) }
}
