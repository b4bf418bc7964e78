/**
 * The rows of IsTimeLegalToCall for one caller (spec, "Calling hours"): settles what each item
 * means (project, date) and lets the calling hours judge it. The batch's size is the API's limit.
 */
import type { Caller } from '../../domain/caller.js'
import { type Clock, type Instant, parseInstant } from '../../domain/clock.js'
import type { TimeLegalItem, TimeLegalRow } from '../../domain/time-legal-row.js'
import { describeProblem, shorten } from '../../errors.js'
import type { ScopeResolver } from '../accounts/projects.js'
import type { HoursItem, TimeLegalAnswer } from './time-legal.js'

export interface TimeLegalOptions {
  readonly projects: ScopeResolver
  /** The sandbox may stand at an instant of its own. */
  readonly clockOf: (accountId: string) => Clock
  /** The sandbox has places of its own for the fictional numbers. */
  readonly hoursOf: (accountId: string) => { timeLegal(item: HoursItem): TimeLegalAnswer }
}

type ProjectTerms = Pick<HoursItem, 'projectFault' | 'overrides'>
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
    const projects = await this.#projectsOf(accountId, items)
    return items.map((item) => {
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

  /** Each project named is looked up once, however many items name it. */
  async #projectsOf(
    accountId: string,
    items: readonly TimeLegalItem[],
  ): Promise<ReadonlyMap<unknown, ProjectTerms>> {
    const terms = new Map<unknown, ProjectTerms>()
    for (const { projectId } of items) {
      if (!terms.has(projectId)) terms.set(projectId, await this.#project(accountId, projectId))
    }
    return terms
  }

  /** Ids come as text or as whole numbers; `null` and blank mean the Master Project. */
  async #project(accountId: string, value: unknown): Promise<ProjectTerms> {
    const isId = typeof value === 'string' || Number.isInteger(value)
    if (!isId && value !== null && value !== undefined) {
      return { projectFault: projectFault(value, 'must be text or a whole number') }
    }
    const projectId = isId ? String(value) : undefined
    const scope = await this.#options.projects.resolve(accountId, { projectId })
    if (!scope) {
      return { projectFault: projectFault(value, 'is not an active project of this account') }
    }
    return { overrides: scope.hours }
  }
}

function projectFault(value: unknown, rule: string): string {
  return describeProblem({ field: 'DNCProjId', value: textOf(value), rule })
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

function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : shorten(JSON.stringify(value))
}
