/** Checks that a project and a campaign belong to the caller's account (spec, "Authentication check"). */
import type { Caller, Role } from '../../domain/caller.js'
import { invalidRequest } from '../../errors.js'
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
}

export class AccessCheck {
  readonly #projects: ScopeResolver

  constructor(projects: ScopeResolver) {
    this.#projects = projects
  }

  /**
   * Returns the account and role of the caller. Throws {@link AppError} naming the project or campaign
   * that is not active in the account; a campaign must belong to the given project.
   */
  async check({ accountId, role }: Caller, question: AccessQuery): Promise<CallerAccess> {
    const { projectId, campaignId, projectField } = question
    if (projectId !== undefined && !(await this.#projects.resolve(accountId, { projectId }))) {
      throw projectNotFound(projectField, projectId)
    }
    if (campaignId !== undefined && !(await this.#projects.resolve(accountId, question))) {
      const which = projectId === undefined ? 'this account' : 'this account and project'
      const rule = `is not an active campaign of ${which}`
      throw invalidRequest([{ field: 'campaignId', value: campaignId, rule }])
    }
    return { accountId, role }
  }
}
