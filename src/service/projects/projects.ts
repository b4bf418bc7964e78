/**
 * Projects and campaigns of an account, as clients and operators change them: through
 * {@link Projects.records}, {@link Projects.rpc} and {@link Projects.registrations}. The scope of a
 * question is in `project-scope.ts`.
 */

import { type Caller, createOperatorCaller } from '../../domain/caller.js'
import type { ChangeObserver } from '../../domain/change-notifier.js'
import type { Clock, Timers } from '../../domain/time/clock.js'
import { type AuditEntry, findAuthor, recordAudit } from '../../storage/audit/audit-log.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { Db, ProjectHoursRow } from '../../storage/tables.js'
import type { ChangeRequests } from '../changes/change-requests.js'
import { runAccountTransaction } from '../sql/account-transaction.js'
import type { WebhookQueue } from '../webhooks/webhook-queue.js'
import {
  type HoursInput,
  readProjectHours,
  removeProjectHours,
  replaceProjectHours,
} from './project-hours.js'
import { type ProjectFieldNames, requireValidName } from './project-input.js'
import {
  listProjects,
  listProjectsWithHours,
  type Project,
  type ProjectWithHours,
} from './project-list.js'
import { ProjectRecords } from './project-records.js'
import { type ProjectRef, ProjectRegistrations } from './project-registrations.js'
import { insertCampaign, type ProjectSwitches } from './project-rows.js'
import { ProjectRpc } from './project-rpc.js'
import {
  type ProjectScope,
  ProjectScopes,
  projectNotFound,
  type ScopeResolver,
} from './project-scope.js'
import { type ProjectAdapter, upsertProject } from './project-upsert.js'
import { ProjectWriter } from './project-writer.js'

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

/** Who changes hours through the API; whoever runs the program when absent. */
interface HoursAuthor {
  readonly caller: Caller
  /** As the person says. */
  readonly reason: string | undefined
}

export interface ProjectsOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'reads' | 'traits' | 'author' | 'retryWhileLocked'>
  readonly clock: Clock
  readonly timers: Pick<Timers, 'monotonicMs'>
  readonly changes: ChangeObserver
  /** The queue for project webhooks. */
  readonly webhooks: WebhookQueue
  readonly changeRequests: Pick<ChangeRequests, 'isNeededFor' | 'require'>
  /** Own hours may be wider than the law (`gate.projectMayWiden`). */
  readonly mayWidenLaw: boolean
}

const fieldNames: ProjectFieldNames = {
  code: 'projectCode',
  name: 'projectName',
  notes: 'notes',
  san: 'san',
  orgId: 'orgId',
  federalId: 'orgId',
  webhookUrl: 'webhookUrl',
  inheritsInternalDnc: 'inheritsInternalDnc',
}

const codeNotFound = (code: string) => projectNotFound(fieldNames.code, code)

export class Projects implements ScopeResolver {
  readonly resolve: ScopeResolver['resolve']
  /** The endpoints for projects. */
  readonly records: ProjectRecords
  /** The older endpoint for projects. */
  readonly rpc: ProjectRpc
  /** Registrations recorded by operators, and their expiry. */
  readonly registrations: ProjectRegistrations
  readonly #storage: ProjectsOptions['storage']
  readonly #db: Db
  readonly #clock: Clock
  readonly #changes: ChangeObserver
  readonly #scopes: ProjectScopes
  readonly #adapter: ProjectAdapter
  readonly #options: Pick<ProjectsOptions, 'changeRequests' | 'mayWidenLaw'>

  constructor({ storage, clock, timers, changes, webhooks, ...options }: ProjectsOptions) {
    const { db } = storage
    this.#options = options
    this.#storage = storage
    this.#db = db
    this.#clock = clock
    this.#changes = changes
    this.#scopes = new ProjectScopes(storage.reads, timers)
    this.resolve = this.#scopes.resolve.bind(this.#scopes)
    const onScopesChanged = () => this.#announceChange()
    const writes = new ProjectWriter({ storage, clock, webhooks, onScopesChanged })
    const deps = { db, writes, webhooks, changeRequests: options.changeRequests }
    this.#adapter = { ...deps, fieldNames, projectNotFound: codeNotFound }
    this.records = new ProjectRecords(deps)
    this.rpc = new ProjectRpc(deps)
    this.registrations = new ProjectRegistrations({ db, clock, writes })
  }

  /** Adds a project with its default campaign; returns the code as stored: trimmed, upper case. */
  async create({ accountId, code, ...input }: NewProject): Promise<string> {
    const result = await upsertProject(this.#adapter, createOperatorCaller(accountId), {
      code,
      input,
      only: 'insert',
    })
    return result.code
  }

  /** Adds a campaign to an active project; returns its id. */
  async createCampaign({ accountId, projectCode, name }: NewCampaign): Promise<number> {
    requireValidName('campaignName', name)
    const { projectCode: code } = await this.#activeProject(accountId, projectCode)
    const id = await runAccountTransaction(this.#storage, accountId, async (transaction) => {
      const id = await insertCampaign(transaction, { accountId, code, name, isDefault: false })
      await recordAudit(transaction, {
        by: this.#storage.author,
        accountId,
        action: 'campaign.created',
        subject: { kind: 'campaign', id: String(id) },
        after: { project: code, name },
        at: this.#clock.now(),
      })
      return id
    })
    this.#announceChange()
    return id
  }

  /** Sets a project's own calling hours for a region, replacing those with the same first day. */
  async setHours(
    { accountId, code }: ProjectRef,
    region: string,
    hours: HoursInput,
    by?: HoursAuthor,
  ) {
    const { projectCode } = await this.#activeProject(accountId, code)
    const project = { accountId, code: projectCode }
    const row = readProjectHours(project, region, hours)
    const { account_id, project_code, ...after } = row
    await this.#requireSecondPerson(project, { region: row.region, row }, by)
    const change = { ...this.#describeAuthor(by), action: 'project-hours.set', after }
    await this.#changeHours(project, change, (transaction) => replaceProjectHours(transaction, row))
  }

  /** Removes a project's own calling hours for a region. */
  async removeHours(
    { accountId, code }: ProjectRef,
    region: string,
    by?: HoursAuthor,
  ): Promise<void> {
    const { projectCode } = await this.#activeProject(accountId, code)
    const project = { accountId, code: projectCode }
    await this.#requireSecondPerson(project, { region: region.trim().toUpperCase() }, by)
    const author = this.#describeAuthor(by)
    const change = { ...author, action: 'project-hours.removed', before: { region } }
    await this.#changeHours(project, change, (transaction) =>
      removeProjectHours(transaction, project, region),
    )
  }

  /** Throws `approval-needed` if they become wider and that needs a second person; without `row` all are removed. */
  async #requireSecondPerson(
    { accountId, code }: ProjectRef,
    { region, row }: { readonly region: string; readonly row?: ProjectHoursRow },
    by: HoursAuthor | undefined,
  ): Promise<void> {
    const { changeRequests, mayWidenLaw } = this.#options
    const caller = by?.caller ?? createOperatorCaller(accountId)
    if (!caller.change && !changeRequests.isNeededFor('widen-hours')) return
    const { isWider, toHoursChange } = await import('./wider-hours.js')
    const before = await this.#db
      .selectFrom('project_hours')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('project_code', '=', code)
      .where('region', '=', region)
      .execute()
    const kept = before.filter((one) => one.effective_from !== row?.effective_from)
    const after = row ? [...kept, row] : []
    // What was approved may not be wider any more.
    if (!caller.change && !isWider(before, after, { mayWidenLaw })) return
    await changeRequests.require(caller, toHoursChange({ code, region, row, reason: by?.reason }))
  }

  #describeAuthor(by: HoursAuthor | undefined): Pick<AuditEntry, 'by' | 'reason'> {
    if (by === undefined) return { by: this.#storage.author }
    return { by: findAuthor(this.#storage, by.caller), reason: by.reason }
  }

  async #changeHours(
    { accountId, code }: ProjectRef,
    entry: Pick<AuditEntry, 'by' | 'reason' | 'action' | 'before' | 'after'>,
    change: (transaction: Db) => Promise<void>,
  ): Promise<void> {
    await runAccountTransaction(this.#storage, accountId, async (transaction) => {
      await change(transaction)
      await transaction
        .updateTable('projects')
        .set({ modified_at: this.#clock.now() })
        .where('account_id', '=', accountId)
        .where('code', '=', code)
        .execute()
      const subject = { kind: 'project', id: code }
      await recordAudit(transaction, { ...entry, accountId, subject, at: this.#clock.now() })
    })
    this.#announceChange()
  }

  /** Changes the status and the given switches of a project; returns the code as stored. */
  async set(
    { accountId, code }: ProjectRef,
    { status, ...input }: ProjectSwitches & { readonly status?: 'active' | 'inactive' },
  ): Promise<string> {
    const upsert = { code, input, only: 'update', exactCode: true, status } as const
    return (await upsertProject(this.#adapter, createOperatorCaller(accountId), upsert)).code
  }

  /** All projects of the account, the Master Project first, then by code. */
  async list(accountId: string): Promise<readonly Project[]> {
    return await listProjects(this.#db, accountId)
  }

  /** As {@link Projects.list}, with the state registrations and hours of each. */
  async listWithHours(accountId: string): Promise<readonly ProjectWithHours[]> {
    return await listProjectsWithHours(this.#storage.reads, accountId)
  }

  async #activeProject(accountId: string, code: string): Promise<ProjectScope> {
    const scope = await this.resolve(accountId, { projectId: code })
    if (!scope) throw projectNotFound('projectCode', code)
    return scope
  }

  /** Drops cached scopes, since another process may have changed the projects. */
  clearCache(): void {
    this.#scopes.clear()
  }

  #announceChange(): void {
    this.#scopes.clear()
    this.#changes.everythingChanged()
  }
}
