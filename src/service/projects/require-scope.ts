/** What a request may be about: the scope it names, and the lists its key may change. */
import { type Caller, mayName, type ScopeChoice } from '../../domain/caller.js'
import { AppError, invalidRequest } from '../../errors.js'
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

/**
 * Throws `forbidden` when a key limited to projects would change what another project stands on: a
 * project that inherits uses the list and the records of the Master Project. `code` is the project
 * they belong to.
 */
export function requireOwnLists(caller: Caller, code: string): void {
  if (mayName(caller, { projectId: code })) return
  const problem =
    `the project uses or would use what belongs to project '${code}' (inheritance), which key ` +
    `${caller.keyId} may not name; use a key that may`
  throw new AppError('forbidden', problem)
}
