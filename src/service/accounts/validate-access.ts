/** Whether a project and a campaign are the caller's (spec, "Authentication check"). */
import type { Caller, Role } from '../../domain/caller.js'
import { invalidRequest } from '../../errors.js'
import { type ScopeResolver, unknownProject } from '../projects/projects.js'

export interface AccessQuestion {
  readonly projectId: string | undefined
  readonly campaignId: string | undefined
  /** What a refusal calls the project. */
  readonly projectField: string
}

export interface AccessFacts {
  readonly accountId: string
  readonly role: Role
}

export class ValidateAccess {
  readonly #projects: ScopeResolver

  constructor(projects: ScopeResolver) {
    this.#projects = projects
  }

  /**
   * Whose the caller's key is. Throws {@link AppError} naming the project or campaign that is not
   * an active one of the account; a campaign has to be of the project that is given with it.
   */
  async check({ accountId, role }: Caller, question: AccessQuestion): Promise<AccessFacts> {
    const { projectId, campaignId, projectField } = question
    if (projectId !== undefined && !(await this.#projects.resolve(accountId, { projectId }))) {
      throw unknownProject(projectField, projectId)
    }
    if (campaignId !== undefined && !(await this.#projects.resolve(accountId, question))) {
      const which = projectId === undefined ? 'this account' : 'this account and project'
      const rule = `is not an active campaign of ${which}`
      throw invalidRequest([{ field: 'campaignId', value: campaignId, rule }])
    }
    return { accountId, role }
  }
}
