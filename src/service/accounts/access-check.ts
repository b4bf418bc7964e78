/** Checks that a project and a campaign belong to the caller's account (spec, "Authentication check"). */
import { type Caller, type Right, type Role, rights } from '../../domain/caller.js'
import { type CallKind, callKinds } from '../../domain/mandate.js'
import type { Instant } from '../../domain/time/clock.js'
import { invalidRequest } from '../../errors.js'
import type { ViewOf } from '../account-view.js'
import { projectNotFound, type ScopeResolver } from '../projects/project-scope.js'

export interface AccessQuery {
  readonly projectId: string | undefined
  readonly campaignId: string | undefined
  /** Field name of the project in errors. */
  readonly projectField: string
}

export interface CallerAccess {
  readonly accountId: string
  readonly role: Role
  readonly rights: readonly Right[]
  readonly callKinds: readonly CallKind[]
  readonly now: Instant
}

export class AccessCheck {
  readonly #projects: ScopeResolver
  readonly #viewOf: ViewOf<'clock'>

  constructor(projects: ScopeResolver, viewOf: ViewOf<'clock'>) {
    this.#projects = projects
    this.#viewOf = viewOf
  }

  /**
   * Returns the account, role and limits of the caller. Throws {@link AppError} naming the project or campaign
   * that is not active in the account; a campaign must belong to the given project.
   */
  async check({ accountId, role, limits }: Caller, question: AccessQuery): Promise<CallerAccess> {
    const { projectId, campaignId, projectField } = question
    if (projectId !== undefined && !(await this.#projects.resolve(accountId, { projectId }))) {
      throw projectNotFound(projectField, projectId)
    }
    if (campaignId !== undefined && !(await this.#projects.resolve(accountId, question))) {
      const which = projectId === undefined ? 'this account' : 'this account and project'
      const rule = `is not an active campaign of ${which}`
      throw invalidRequest([{ field: 'campaignId', value: campaignId, rule }])
    }
    const kinds = limits.mandate?.callKinds ?? limits.callKinds
    return {
      accountId,
      role,
      rights: rights.filter((right) => limits.rights.has(right)),
      callKinds: kinds === 'any' ? callKinds : callKinds.filter((kind) => kinds.includes(kind)),
      now: this.#viewOf(accountId).clock.now(),
    }
  }
}
