/** The scope a request names, or the refusal that says which of its ids is not the account's. */
import type { ScopeChoice } from '../../domain/caller.js'
import { invalidRequest } from '../../errors.js'
import type { ProjectScope } from './project-scope.js'
import { type ScopeResolver, unknownProject } from './projects.js'

/** Throws {@link AppError} naming `projId` or `campaignId`, its value and the rule. */
export async function requireScope(
  projects: ScopeResolver,
  accountId: string,
  { projectId, campaignId }: ScopeChoice,
): Promise<ProjectScope> {
  const found = projects.resolve(accountId, { projectId, campaignId })
  const scope = found instanceof Promise ? await found : found
  if (scope) return scope
  if (campaignId === undefined || !(await projects.resolve(accountId, { projectId }))) {
    throw unknownProject('projId', projectId ?? '')
  }
  const rule = 'is not an active campaign of this account and project'
  throw invalidRequest([{ field: 'campaignId', value: campaignId, rule }])
}
