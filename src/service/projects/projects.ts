/**
 * Projects and campaigns of an account, and which of them a question is about. What a scope holds
 * is read in `project-scope.ts`; what clients and operators change of a project goes through
 * {@link Projects.records}, {@link Projects.rpc} and {@link Projects.facts}.
 */
import { operator, readCampaignId, type ScopeChoice } from '../../domain/caller.js'
import type { ChangeListener } from '../../domain/changes.js'
import type { Clock, Timers } from '../../domain/clock.js'
import type { Eventually } from '../../domain/compliance.js'
import { readCode } from '../../domain/project-code.js'
import { type AppError, invalidRequest } from '../../errors.js'
import type { OpenDatabase } from '../../storage/engine.js'
import type { Db } from '../../storage/tables.js'
import { BriefMemory } from '../accounts/brief-memory.js'
import { writeForAccount } from '../sql/account-write.js'
import type { WebhookQueue } from '../webhooks/webhook-queue.js'
import { ProjectFacts, type ProjectRef } from './project-facts.js'
import { type HoursInput, readHours, removeHours, replaceHours } from './project-hours.js'
import { type ProjectFieldNames, refuseBadName } from './project-input.js'
import { listProjects, type Project } from './project-list.js'
import { type ProjectDoor, putProject } from './project-put.js'
import { ProjectRecords } from './project-records.js'
import { insertCampaign, type ProjectSwitches } from './project-rows.js'
import { ProjectRpc } from './project-rpc.js'
import { loadScope, type ProjectScope, type WantedScope } from './project-scope.js'
import { ProjectWrites } from './project-write.js'

/** The part other subjects need: which lists, records and hours a question is about. */
export interface ScopeResolver {
  resolve(accountId: string, choice?: ScopeChoice): Eventually<ProjectScope | undefined>
}

export interface NewProject extends ProjectSwitches {
  readonly accountId: string
  readonly code: string
  readonly name: string
}

export interface NewCampaign {
  readonly accountId: string
  readonly projectCode: string
  readonly name: string
}

export interface ProjectsOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'patiently'>
  readonly clock: Clock
  readonly timers: Pick<Timers, 'monotonicMs'>
  readonly changes: ChangeListener
  /** Keeps what a project's address is told; without it no project can have an address. */
  readonly webhooks: WebhookQueue
}

const names: ProjectFieldNames = {
  code: 'projectCode',
  name: 'projectName',
  notes: 'notes',
  san: 'san',
  orgId: 'orgId',
  federalId: 'orgId',
  webhookUrl: 'webhookUrl',
}

const unknown = (code: string) => unknownProject(names.code, code)

export class Projects implements ScopeResolver {
  /** The calls for projects. */
  readonly records: ProjectRecords
  /** The older call for projects. */
  readonly rpc: ProjectRpc
  /** What operators record, and what ends by itself. */
  readonly facts: ProjectFacts
  readonly #storage: Pick<OpenDatabase, 'db' | 'patiently'>
  readonly #db: Db
  readonly #clock: Clock
  readonly #changes: ChangeListener
  readonly #scopes: BriefMemory<ProjectScope>
  readonly #door: ProjectDoor

  constructor({ storage, clock, timers, changes, webhooks }: ProjectsOptions) {
    const { db } = storage
    this.#storage = storage
    this.#db = db
    this.#clock = clock
    this.#changes = changes
    this.#scopes = new BriefMemory(timers)
    const onScopesChanged = () => this.#changed()
    const writes = new ProjectWrites({ storage, clock, webhooks, onScopesChanged })
    this.#door = { writes, webhooks, names, unknown }
    this.records = new ProjectRecords({ db, writes, webhooks })
    this.rpc = new ProjectRpc(db, { writes, webhooks })
    this.facts = new ProjectFacts({ db, clock, writes })
  }

  /**
   * The scope a request names: without a project the account's Master Project (also named by the
   * account's id), without a campaign the project's default one; a campaign alone implies its
   * project. `undefined` when anything named is unknown, inactive, of another account, or when the
   * campaign is not of the project. Answers at once when asked again within a second.
   */
  resolve(accountId: string, choice: ScopeChoice = {}): Eventually<ProjectScope | undefined> {
    const wanted = readChoice(accountId, choice)
    if (!wanted) return undefined
    const key = `${accountId} ${wanted.code ?? ''} ${wanted.campaignId ?? ''}`
    return (
      this.#scopes.get(key) ?? this.#scopes.fill(key, () => loadScope(this.#db, accountId, wanted))
    )
  }

  /** Adds a project with its default campaign; gives the code as stored: trimmed, upper case. */
  async create({ accountId, code, ...input }: NewProject): Promise<string> {
    const made = await putProject(this.#door, operator(accountId), { code, input, only: 'insert' })
    return made.code
  }

  /** Adds a campaign to an active project; gives its id. */
  async createCampaign({ accountId, projectCode, name }: NewCampaign): Promise<number> {
    refuseBadName('campaignName', name)
    const { projectCode: code } = await this.#activeProject(accountId, projectCode)
    const id = await writeForAccount(this.#storage, accountId, (transaction) =>
      insertCampaign(transaction, { accountId, code, name, isDefault: false }),
    )
    this.#changed()
    return id
  }

  /** Sets a project's own calling hours for a region, in place of those from the same first day. */
  async setHours({ accountId, code }: ProjectRef, region: string, hours: HoursInput) {
    const { projectCode } = await this.#activeProject(accountId, code)
    const project = { accountId, code: projectCode }
    const row = readHours(project, region, hours)
    await this.#changeHours(project, (transaction) => replaceHours(transaction, row))
  }

  /** Takes a project's own calling hours for a region away again. */
  async removeHours({ accountId, code }: ProjectRef, region: string): Promise<void> {
    const { projectCode } = await this.#activeProject(accountId, code)
    const project = { accountId, code: projectCode }
    await this.#changeHours(project, (transaction) => removeHours(transaction, project, region))
  }

  async #changeHours(
    { accountId, code }: ProjectRef,
    change: (transaction: Db) => Promise<void>,
  ): Promise<void> {
    await writeForAccount(this.#storage, accountId, async (transaction) => {
      await change(transaction)
      await transaction
        .updateTable('projects')
        .set({ modified_at: this.#clock.now() })
        .where('account_id', '=', accountId)
        .where('code', '=', code)
        .execute()
    })
    this.#changed()
  }

  /** Switches a project on or off, and what is given of its switches; gives the code as stored. */
  async set(
    { accountId, code }: ProjectRef,
    { status, ...input }: ProjectSwitches & { readonly status?: 'active' | 'inactive' },
  ): Promise<string> {
    const put = { code, input, only: 'update', exactly: true, status } as const
    return (await putProject(this.#door, operator(accountId), put)).code
  }

  /** All projects of the account, the Master Project first, then by code. */
  async list(accountId: string): Promise<readonly Project[]> {
    return await listProjects(this.#db, accountId)
  }

  async #activeProject(accountId: string, code: string): Promise<ProjectScope> {
    const scope = await this.resolve(accountId, { projectId: code })
    if (!scope) throw unknownProject('projectCode', code)
    return scope
  }

  /** Drops what is kept in memory: another process may have changed the projects. */
  forget(): void {
    this.#scopes.forget()
  }

  #changed(): void {
    this.#scopes.forget()
    this.#changes.everythingChanged()
  }
}

/** The refusal for a project or campaign that {@link Projects.resolve} does not know. */
export function unknownProject(field: string, value: string): AppError {
  return invalidRequest([{ field, value, rule: 'is not an active project of this account' }])
}

function readChoice(
  accountId: string,
  { projectId = '', campaignId = '' }: ScopeChoice,
): WantedScope | undefined {
  const code = readCode(accountId, projectId)
  if (campaignId.trim() === '') return { campaignId: undefined, code: code ?? accountId }
  const campaign = readCampaignId(campaignId)
  return campaign === undefined ? undefined : { campaignId: campaign, code }
}
