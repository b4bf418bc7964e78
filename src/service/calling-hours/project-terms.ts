/** What the project of a calling-hours item means: its own hours, or why it cannot be used. */
import { yieldToEventLoop } from '../../domain/slices.js'
import { describeProblem, shorten } from '../../errors.js'
import type { ScopeResolver } from '../projects/projects.js'
import type { HoursItem } from './time-legal.js'

export type ProjectTerms = Pick<HoursItem, 'projectFault' | 'overrides'>

/**
 * The terms by the value of `DNCProjId`; each project named is looked up once, however many items
 * name it. Ids come as text or as whole numbers; `null` and blank mean the Master Project.
 */
export async function projectTerms(
  projects: ScopeResolver,
  accountId: string,
  values: Iterable<unknown>,
): Promise<ReadonlyMap<unknown, ProjectTerms>> {
  const terms = new Map<unknown, ProjectTerms>()
  for (const value of values) {
    if (terms.has(value)) continue
    await yieldToEventLoop()
    terms.set(value, await termsOf(projects, accountId, value))
  }
  return terms
}

async function termsOf(
  projects: ScopeResolver,
  accountId: string,
  value: unknown,
): Promise<ProjectTerms> {
  const isId = typeof value === 'string' || Number.isInteger(value)
  if (!isId && value !== null && value !== undefined) {
    return { projectFault: projectFault(value, 'must be text or a whole number') }
  }
  const projectId = isId ? String(value) : undefined
  const scope = await projects.resolve(accountId, { projectId })
  if (!scope) {
    return { projectFault: projectFault(value, 'is not an active project of this account') }
  }
  return { overrides: scope.hours }
}

function projectFault(value: unknown, rule: string): string {
  return describeProblem({ field: 'DNCProjId', value: textOf(value), rule })
}

/** A value of any type as the row shows it. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : shorten(JSON.stringify(value))
}
