/** The older call for projects (`rpc/project`): make, change, switch on and off, list. */
import { type Caller, mayName } from '../../domain/caller.js'
import { readCode } from '../../domain/project-code.js'
import { type AppError, invalidRequest } from '../../errors.js'
import type { Db } from '../../storage/tables.js'
import type { WebhookQueue } from '../webhooks/webhook-queue.js'
import type { ProjectFieldNames } from './project-input.js'
import { listProjects, type Project } from './project-list.js'
import {
  findMeant,
  type ProjectDoor,
  type ProjectPut,
  type PutProject,
  putProject,
} from './project-put.js'
import { accountOf } from './project-rows.js'
import type { ProjectWrites } from './project-write.js'

export type ProjectHandler =
  | 'insert_project'
  | 'update_project'
  | 'deactivate_project'
  | 'reactivate_project'

/** Absent is not given. */
export interface ProjectRpcRequest {
  readonly code?: string | undefined
  /** Addresses a project there is; the account's id is the Master Project. */
  readonly projectId?: string | undefined
  readonly handler?: ProjectHandler | undefined
  readonly name?: string | undefined
  readonly notes?: string | undefined
  readonly federalId?: string | undefined
  readonly inheritsInternalDnc?: boolean | undefined
  readonly inheritsEbr?: boolean | undefined
  /** The answer lists projects; with nothing to change it is all the call does. */
  readonly listing: boolean
}

export interface ProjectListing {
  readonly accountId: string
  readonly accountName: string
  readonly projects: readonly Project[]
}

export interface ProjectRpcAnswer {
  readonly created: boolean
  /** When it was asked for: the project that was put, or all. */
  readonly listing: ProjectListing | undefined
}

const names: ProjectFieldNames = {
  code: 'project_code',
  name: 'project_name',
  notes: 'notes',
  san: 'nat_dnc_org_id',
  orgId: 'nat_dnc_org_id',
  federalId: 'nat_dnc_org_id',
  webhookUrl: 'webhook_url',
}

const meanings: Readonly<Record<ProjectHandler, Pick<ProjectPut, 'only' | 'status'>>> = {
  insert_project: { only: 'insert' },
  update_project: { only: 'update' },
  deactivate_project: { only: 'update', status: 'inactive' },
  reactivate_project: { only: 'update', status: 'active' },
}

export class ProjectRpc {
  readonly #db: Db
  readonly #door: Pick<ProjectDoor, 'writes' | 'webhooks'>

  constructor(
    db: Db,
    { writes, webhooks }: { readonly writes: ProjectWrites; readonly webhooks: WebhookQueue },
  ) {
    this.#db = db
    this.#door = { writes, webhooks }
  }

  /** Throws {@link AppError}: `invalid-request`, or `forbidden` for a change of an inactive project. */
  async answer(caller: Caller, request: ProjectRpcRequest): Promise<ProjectRpcAnswer> {
    const { accountId } = caller
    const asked = addressed(accountId, request)
    if (request.listing && !changes(request)) {
      return { created: false, listing: await this.#listing(caller, asked) }
    }
    if (!asked) throw invalidRequest([{ field: names.code, rule: 'is required' }])
    const put = await this.#put(caller, asked, request)
    const stored = { field: 'projId', code: put.code } as const
    const listing = request.listing ? await this.#listing(caller, stored) : undefined
    return { created: put.created, listing }
  }

  async #put(
    caller: Caller,
    asked: Addressed,
    { handler, name, notes, federalId, ...request }: ProjectRpcRequest,
  ): Promise<PutProject> {
    const { inheritsInternalDnc, inheritsEbr } = request
    const byId = asked.field === 'projId'
    if (byId && handler === 'insert_project') {
      const rule = 'addresses a project there is; insert_project needs project_code alone'
      throw invalidRequest([{ field: 'projId', value: asked.code, rule }])
    }
    const door = {
      ...this.#door,
      names: { ...names, code: asked.field },
      unknown: () => unknown(asked),
    }
    return await putProject(door, caller, {
      ...(byId && { only: 'update', exactly: true }),
      ...(handler !== undefined && meanings[handler]),
      code: asked.code,
      input: { name, notes, federalId, inheritsInternalDnc, inheritsEbr },
    })
  }

  /** Without `asked` all projects that the caller's key may name. */
  async #listing(caller: Caller, asked: Addressed | undefined): Promise<ProjectListing> {
    const { accountId } = caller
    const { name: accountName } = await accountOf(this.#db, accountId)
    const code = asked && (await this.#codeOf(accountId, asked))
    const listed = await listProjects(this.#db, accountId, code)
    const projects = listed.filter((project) => mayName(caller, { projectId: project.code }))
    return { accountId, accountName, projects }
  }

  async #codeOf(accountId: string, asked: Addressed): Promise<string> {
    const exactly = asked.field === 'projId'
    const { found } = await findMeant(this.#db, accountId, { code: asked.code, exactly })
    if (!found) throw unknown(asked)
    return found.code
  }
}

interface Addressed {
  readonly field: 'project_code' | 'projId'
  readonly code: string
}

function addressed(
  accountId: string,
  { code, projectId }: ProjectRpcRequest,
): Addressed | undefined {
  if (projectId === undefined)
    return code === undefined ? undefined : { field: 'project_code', code }
  if (code !== undefined && readCode(accountId, code) !== readCode(accountId, projectId)) {
    const rule = 'names another project than project_code; give one of them'
    throw invalidRequest([{ field: 'projId', value: projectId, rule }])
  }
  return { field: 'projId', code: projectId }
}

function changes(request: ProjectRpcRequest): boolean {
  const { code: _code, projectId: _id, listing: _listing, ...given } = request
  return Object.values(given).some((value) => value !== undefined)
}

function unknown({ field, code }: Addressed): AppError {
  const rule = 'is not a project of this account'
  return invalidRequest([{ field, value: code, rule }])
}
