/** Reads, creates and changes projects for API clients (spec, "Projects"). */
import { type Caller, parseProjectCode } from '../../domain/caller.js'
import { AppError, invalidRequest } from '../../errors.js'
import type { Db } from '../../storage/tables.js'
import type { WebhookQueue } from '../webhooks/webhook-queue.js'
import { type ProjectDocument, toProjectDocument } from './project-document.js'
import type { ProjectFieldNames, ProjectInput } from './project-input.js'
import { findProject, type StoredProject } from './project-rows.js'
import {
  type ProjectAdapter,
  type ProjectDeps,
  type ProjectUpsertResult,
  upsertProject,
} from './project-upsert.js'

export interface ProjectSaveRequest {
  readonly code: string | undefined
  readonly input: ProjectInput
}

export interface ProjectUpdateRequest {
  /** Code in the path, in its stored form, including any prefix. */
  readonly code: string
  /** The code, if the body repeats it. */
  readonly bodyCode: string | undefined
  readonly input: ProjectInput
}

export interface ProjectSaveResult {
  readonly created: boolean
  readonly project: ProjectDocument
}

const fieldNames: ProjectFieldNames = {
  code: 'ProjectCode',
  name: 'ProjectName',
  notes: 'Notes',
  san: 'San',
  orgId: 'OrgId',
  federalId: 'OrgId',
  webhookUrl: 'WebhookUrl',
  inheritsInternalDnc: 'InheritInternalDnc',
}

export class ProjectRecords {
  readonly #db: Db
  readonly #webhooks: WebhookQueue
  readonly #adapter: ProjectAdapter

  constructor(deps: ProjectDeps) {
    this.#db = deps.db
    this.#webhooks = deps.webhooks
    this.#adapter = { ...deps, fieldNames, projectNotFound: projectCodeNotFound }
  }

  /** `code` is the stored code in any letter case. Throws `not-found`. */
  async get({ accountId }: Caller, code: string): Promise<ProjectDocument> {
    const stored = parseProjectCode(accountId, code) ?? ''
    const project = await findProject(this.#db, accountId, stored)
    if (!project) throw projectCodeNotFound(code)
    return await this.#readDocument(project)
  }

  /** Creates the project, or changes the given fields of an existing one. */
  async save(caller: Caller, { code, input }: ProjectSaveRequest): Promise<ProjectSaveResult> {
    if (code === undefined) throw invalidRequest([{ field: fieldNames.code, rule: 'is required' }])
    const result = await upsertProject(this.#adapter, caller, { code, input })
    return await this.#toSaveResult(caller, result)
  }

  /** Changes the given fields of an existing project. Throws `not-found`. */
  async update(caller: Caller, request: ProjectUpdateRequest): Promise<ProjectSaveResult> {
    const { code, bodyCode, input } = request
    const { accountId } = caller
    if (
      bodyCode !== undefined &&
      parseProjectCode(accountId, bodyCode) !== parseProjectCode(accountId, code)
    ) {
      const rule = 'differs from the code in the path; a code cannot be changed'
      throw invalidRequest([{ field: fieldNames.code, value: bodyCode, rule }])
    }
    const upsert = { code, input, only: 'update', exactCode: true } as const
    const result = await upsertProject(this.#adapter, caller, upsert)
    return await this.#toSaveResult(caller, result)
  }

  async #toSaveResult(
    caller: Caller,
    { code, created }: ProjectUpsertResult,
  ): Promise<ProjectSaveResult> {
    return { created, project: await this.get(caller, code) }
  }

  async #readDocument(project: StoredProject): Promise<ProjectDocument> {
    const { account_id: accountId, code } = project
    const { id } = await this.#db
      .selectFrom('campaigns')
      .select('id')
      .where('account_id', '=', accountId)
      .where('project_code', '=', code)
      .where('is_default', '=', 1)
      .executeTakeFirstOrThrow()
    const registrations = await this.#db
      .selectFrom('state_registrations')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('project_code', '=', code)
      .orderBy('state')
      .execute()
    const lastDelivery = await this.#webhooks.findLastDelivery(accountId, 'project', code)
    return toProjectDocument({ project, defaultCampaignId: id, registrations, lastDelivery })
  }
}

function projectCodeNotFound(code: string): AppError {
  const problem = { field: fieldNames.code, value: code, rule: 'is not a project of this account' }
  const { message } = invalidRequest([problem])
  return new AppError('not-found', message, { problems: [problem] })
}
