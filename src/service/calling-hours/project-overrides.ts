/** Resolves the project of a calling-hours item to its own hours, or to why it cannot be used. */

import { describeProblem, truncate } from '../../errors.js'
import { yieldToEventLoop } from '../../runtime/yield-to-event-loop.js'
import type { ScopeResolver } from '../projects/project-scope.js'
import type { HoursItem } from './calling-hours.js'

export type ProjectOverrides = Pick<HoursItem, 'projectFault' | 'overrides'>

/**
 * Maps each distinct `DNCProjId` to its overrides, looking each project up once. Ids are text or whole
 * numbers; `null` and blank mean the Master Project.
 */
export async function resolveProjectOverrides(
  projects: ScopeResolver,
  accountId: string,
  values: Iterable<unknown>,
): Promise<ReadonlyMap<unknown, ProjectOverrides>> {
  const terms = new Map<unknown, ProjectOverrides>()
  for (const value of values) {
    if (terms.has(value)) continue
    await yieldToEventLoop()
    terms.set(value, await resolveOne(projects, accountId, value))
  }
  return terms
}

async function resolveOne(
  projects: ScopeResolver,
  accountId: string,
  value: unknown,
): Promise<ProjectOverrides> {
  const isId = typeof value === 'string' || Number.isInteger(value)
  if (!isId && value !== null && value !== undefined) {
    return { projectFault: describeProjectFault(value, 'must be text or a whole number') }
  }
  const projectId = isId ? String(value) : undefined
  const scope = await projects.resolve(accountId, { projectId })
  if (!scope) {
    return { projectFault: describeProjectFault(value, 'is not an active project of this account') }
  }
  return { overrides: scope.hours }
}

function describeProjectFault(value: unknown, rule: string): string {
  return describeProblem({ field: 'DNCProjId', value: formatFieldValue(value), rule })
}

/** Formats a value of any type for a result row. */
export function formatFieldValue(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : truncate(JSON.stringify(value))
}
