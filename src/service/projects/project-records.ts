/** The projects of an account as its clients read, make and change them (spec, "Projects"). */
import type { Caller } from '../../domain/caller.js'
import { readCode } from '../../domain/project-code.js'
import { AppError, invalidRequest } from '../../errors.js'
import type { Db } from '../../storage/tables.js'
import type { WebhookQueue } from '../webhooks/webhook-queue.js'
import { type ProjectDocument, projectDocument } from './project-document.js'
import type { ProjectFieldNames, ProjectInput } from './project-input.js'
import { type ProjectDoor, type PutProject, putProject } from './project-put.js'
import { findProject, type StoredProject } from './project-rows.js'
import type { ProjectWrites } from './project-write.js'

export interface ProjectRecordsOptions {
  readonly db: Db
  readonly writes: ProjectWrites
  readonly webhooks: WebhookQueue
}

export interface ProjectSaveRequest {
  readonly code: string | undefined
  readonly input: ProjectInput
}

export interface ProjectUpdateRequest {
  /** In the address: as stored, with any prefix. */
  readonly code: string
  /** In the body, where it may stand again. */
  readonly bodyCode: string | undefined
  readonly input: ProjectInput
}

export interface SavedProject {
  readonly created: boolean
  readonly project: ProjectDocument
}

const names: ProjectFieldNames = {
  code: 'ProjectCode',
  name: 'ProjectName',
  notes: 'Notes',
  san: 'San',
  orgId: 'OrgId',
  federalId: 'OrgId',
  webhookUrl: 'WebhookUrl',
}

export class ProjectRecords {
  readonly #db: Db
  readonly #webhooks: WebhookQueue
  readonly #door: ProjectDoor

  constructor({ db, writes, webhooks }: ProjectRecordsOptions) {
    this.#db = db
    this.#webhooks = webhooks
    this.#door = { writes, webhooks, names, unknown: unknownCode }
  }

  /** The code as stored, compared without letter case. Throws `not-found`. */
  async get({ accountId }: Caller, code: string): Promise<ProjectDocument> {
    const stored = readCode(accountId, code) ?? ''
    const project = await findProject(this.#db, accountId, stored)
    if (!project) throw unknownCode(code)
    return await this.#documentOf(project)
  }

  /** Makes the project, or changes what is given of the one of that code. */
  async save(caller: Caller, { code, input }: ProjectSaveRequest): Promise<SavedProject> {
    if (code === undefined) throw invalidRequest([{ field: names.code, rule: 'is required' }])
    const put = await putProject(this.#door, caller, { code, input })
    return await this.#saved(caller, put)
  }

  /** Changes what is given of a project there is. Throws `not-found`. */
  async update(caller: Caller, request: ProjectUpdateRequest): Promise<SavedProject> {
    const { code, bodyCode, input } = request
    const { accountId } = caller
    if (bodyCode !== undefined && readCode(accountId, bodyCode) !== readCode(accountId, code)) {
      const rule = 'is not the code in the address; a code cannot be changed'
      throw invalidRequest([{ field: names.code, value: bodyCode, rule }])
    }
    const wanted = { code, input, only: 'update', exactly: true } as const
    const put = await putProject(this.#door, caller, wanted)
    return await this.#saved(caller, put)
  }

  async #saved(caller: Caller, { code, created }: PutProject): Promise<SavedProject> {
    return { created, project: await this.get(caller, code) }
  }

  async #documentOf(project: StoredProject): Promise<ProjectDocument> {
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
    const lastDelivery = await this.#webhooks.lastDelivery(accountId, 'project', code)
    return projectDocument({ project, defaultCampaignId: id, registrations, lastDelivery })
  }
}

function unknownCode(code: string): AppError {
  const problem = { field: names.code, value: code, rule: 'is not a project of this account' }
  const { message } = invalidRequest([problem])
  return new AppError('not-found', message, { problems: [problem] })
}
