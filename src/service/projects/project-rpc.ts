/** The older endpoint for projects (`rpc/project`): create, change, activate, deactivate, list. */
import { type Caller, canUseScope, parseProjectCode } from '../../domain/caller.js'
import { type AppError, invalidRequest } from '../../errors.js'
import type { Db } from '../../storage/tables.js'
import type { ProjectFieldNames } from './project-input.js'
import { listProjects, type Project } from './project-list.js'
import { readProjectAccount } from './project-rows.js'
import {
  findProjectByCode,
  type ProjectDeps,
  type ProjectUpsert,
  type ProjectUpsertResult,
  upsertProject,
} from './project-upsert.js'

type ProjectHandler =
  | 'insert_project'
  | 'update_project'
  | 'deactivate_project'
  | 'reactivate_project'

/** Absent fields leave the project unchanged. */
export interface ProjectRpcRequest {
  readonly code?: string | undefined
  /** Code of an existing project; the account's id means the Master Project. */
  readonly projectId?: string | undefined
  readonly handler?: ProjectHandler | undefined
  readonly name?: string | undefined
  readonly notes?: string | undefined
  readonly federalId?: string | undefined
  readonly inheritsInternalDnc?: boolean | undefined
  readonly inheritsEbr?: boolean | undefined
  /** Whether the answer lists projects; without changes, the request only lists. */
  readonly listing: boolean
}

export interface ProjectListing {
  readonly accountId: string
  readonly accountName: string
  readonly projects: readonly Project[]
}

export interface ProjectRpcResult {
  readonly created: boolean
  /** Present if requested: the saved project, or all projects. */
  readonly listing: ProjectListing | undefined
}

const fieldNames: ProjectFieldNames = {
  code: 'project_code',
  name: 'project_name',
  notes: 'notes',
  san: 'nat_dnc_org_id',
  orgId: 'nat_dnc_org_id',
  federalId: 'nat_dnc_org_id',
  webhookUrl: 'webhook_url',
  inheritsInternalDnc: 'use_master_dnc_dnm_database',
}

const handlerActions: Readonly<Record<ProjectHandler, Pick<ProjectUpsert, 'only' | 'status'>>> = {
  insert_project: { only: 'insert' },
  update_project: { only: 'update' },
  deactivate_project: { only: 'update', status: 'inactive' },
  reactivate_project: { only: 'update', status: 'active' },
}

export class ProjectRpc {
  readonly #db: Db
  readonly #adapter: ProjectDeps

  constructor(deps: ProjectDeps) {
    this.#db = deps.db
    this.#adapter = deps
  }

  /** Throws {@link AppError}: `invalid-request`, or `forbidden` for a change of an inactive project. */
  async handle(caller: Caller, request: ProjectRpcRequest): Promise<ProjectRpcResult> {
    const { accountId } = caller
    const reference = readProjectReference(accountId, request)
    if (request.listing && !hasChanges(request)) {
      return { created: false, listing: await this.#list(caller, reference) }
    }
    if (!reference) throw invalidRequest([{ field: fieldNames.code, rule: 'is required' }])
    const result = await this.#upsert(caller, reference, request)
    const stored = { field: 'projId', code: result.code } as const
    const listing = request.listing ? await this.#list(caller, stored) : undefined
    return { created: result.created, listing }
  }

  async #upsert(
    caller: Caller,
    reference: ProjectReference,
    { handler, name, notes, federalId, ...request }: ProjectRpcRequest,
  ): Promise<ProjectUpsertResult> {
    const { inheritsInternalDnc, inheritsEbr } = request
    const byId = reference.field === 'projId'
    if (byId && handler === 'insert_project') {
      const rule = 'must not be given with insert_project; use project_code'
      throw invalidRequest([{ field: 'projId', value: reference.code, rule }])
    }
    const adapter = {
      ...this.#adapter,
      fieldNames: { ...fieldNames, code: reference.field },
      projectNotFound: () => projectNotFound(reference),
    }
    return await upsertProject(adapter, caller, {
      ...(byId && { only: 'update', exactCode: true }),
      ...(handler !== undefined && handlerActions[handler]),
      code: reference.code,
      input: { name, notes, federalId, inheritsInternalDnc, inheritsEbr },
    })
  }

  /** Without `reference` all projects that the caller's key may use. */
  async #list(caller: Caller, reference: ProjectReference | undefined): Promise<ProjectListing> {
    const { accountId } = caller
    const { name: accountName } = await readProjectAccount(this.#db, accountId)
    const code = reference && (await this.#findCode(accountId, reference))
    const listed = await listProjects(this.#db, accountId, code)
    const projects = listed.filter((project) => canUseScope(caller, { projectId: project.code }))
    return { accountId, accountName, projects }
  }

  async #findCode(accountId: string, reference: ProjectReference): Promise<string> {
    const exactCode = reference.field === 'projId'
    const { found } = await findProjectByCode(this.#db, accountId, {
      code: reference.code,
      exactCode,
    })
    if (!found) throw projectNotFound(reference)
    return found.code
  }
}

interface ProjectReference {
  readonly field: 'project_code' | 'projId'
  readonly code: string
}

function readProjectReference(
  accountId: string,
  { code, projectId }: ProjectRpcRequest,
): ProjectReference | undefined {
  if (projectId === undefined)
    return code === undefined ? undefined : { field: 'project_code', code }
  if (
    code !== undefined &&
    parseProjectCode(accountId, code) !== parseProjectCode(accountId, projectId)
  ) {
    const rule = 'is not the same project as project_code; give only one of them'
    throw invalidRequest([{ field: 'projId', value: projectId, rule }])
  }
  return { field: 'projId', code: projectId }
}

function hasChanges(request: ProjectRpcRequest): boolean {
  const { code: _code, projectId: _id, listing: _listing, ...changes } = request
  return Object.values(changes).some((value) => value !== undefined)
}

function projectNotFound({ field, code }: ProjectReference): AppError {
  const rule = 'is not a project of this account'
  return invalidRequest([{ field, value: code, rule }])
}
