/**
 * Projects and campaigns of an account, and which of them a question is about. What a scope holds
 * is read in `project-scope.ts`.
 */
import type { ChangeListener } from '../../domain/changes.js'
import type { Clock, Instant } from '../../domain/clock.js'
import type { Eventually } from '../../domain/compliance.js'
import { type AppError, invalidRequest } from '../../errors.js'
import type { OpenDatabase } from '../../storage/engine.js'
import type { Db } from '../../storage/tables.js'
import { writeForAccount } from '../sql/account-write.js'
import { BriefMemory } from './brief-memory.js'
import { type HoursInput, readHours, replaceHours } from './project-hours.js'
import { insertCampaign, insertProject, type ProjectSwitches } from './project-rows.js'
import { loadScope, type ProjectScope, type WantedScope } from './project-scope.js'

/** The project and campaign a request names; blank means none. */
export interface ScopeChoice {
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
}

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

type Switches = { readonly [Name in keyof ProjectSwitches]-?: boolean }

export interface Project extends Switches {
  readonly accountId: string
  readonly code: string
  readonly name: string
  readonly status: 'active' | 'inactive'
  readonly campaigns: readonly Campaign[]
  readonly createdAt: Instant
  readonly modifiedAt: Instant
}

export interface Campaign {
  readonly id: number
  readonly name: string
  readonly isDefault: boolean
  readonly status: 'active' | 'inactive'
}

export interface ProjectsOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'patiently'>
  readonly clock: Clock
  readonly changes: ChangeListener
}

const codePattern = /^[A-Z0-9][A-Z0-9_-]{0,39}$/
/** Campaign ids are numbers of at most eight digits. */
const campaignPattern = /^\d{1,8}$/
const longestName = 200

export class Projects implements ScopeResolver {
  readonly #storage: Pick<OpenDatabase, 'db' | 'patiently'>
  readonly #db: Db
  readonly #clock: Clock
  readonly #changes: ChangeListener
  readonly #scopes: BriefMemory<ProjectScope>

  constructor({ storage, clock, changes }: ProjectsOptions) {
    this.#storage = storage
    this.#db = storage.db
    this.#clock = clock
    this.#changes = changes
    this.#scopes = new BriefMemory(clock)
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
  async create(project: NewProject): Promise<string> {
    const code = readNewCode(project)
    refuseBadName('projectName', project.name)
    const createdAt = this.#clock.now()
    const made = await writeForAccount(this.#storage, project.accountId, (transaction) =>
      insertProject(transaction, { ...project, code, createdAt }),
    )
    if (!made) {
      throw invalidRequest([{ field: 'projectCode', value: code, rule: 'is a project already' }])
    }
    this.#changed()
    return code
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
  async setHours(
    { accountId, code }: { readonly accountId: string; readonly code: string },
    region: string,
    hours: HoursInput,
  ): Promise<void> {
    const { projectCode } = await this.#activeProject(accountId, code)
    const row = readHours({ accountId, code: projectCode }, region, hours)
    await writeForAccount(this.#storage, accountId, async (transaction) => {
      await replaceHours(transaction, row)
      await transaction
        .updateTable('projects')
        .set({ modified_at: this.#clock.now() })
        .where('account_id', '=', accountId)
        .where('code', '=', projectCode)
        .execute()
    })
    this.#changed()
  }

  /** All projects of the account, the Master Project first, then by code. */
  async list(accountId: string): Promise<readonly Project[]> {
    const rows = await this.#db
      .selectFrom('projects')
      .selectAll()
      .where('account_id', '=', accountId)
      .orderBy('code')
      .execute()
    const campaigns = await this.#campaignsByCode(accountId)
    const projects = rows.map((row) => ({
      accountId,
      code: row.code,
      name: row.name,
      status: row.status,
      industryExemption: row.industry_exemption === 1,
      voipRestricted: row.voip_restricted === 1,
      inheritsInternalDnc: row.inherits_internal_dnc === 1,
      inheritsEbr: row.inherits_ebr === 1,
      campaigns: campaigns.get(row.code) ?? [],
      createdAt: row.created_at,
      modifiedAt: row.modified_at,
    }))
    return projects.sort((one, other) => rankOf(one) - rankOf(other))
  }

  async #campaignsByCode(accountId: string): Promise<ReadonlyMap<string, readonly Campaign[]>> {
    const rows = await this.#db
      .selectFrom('campaigns')
      .selectAll()
      .where('account_id', '=', accountId)
      .orderBy('id')
      .execute()
    const byCode = new Map<string, Campaign[]>()
    for (const { id, name, status, project_code: code, is_default: isDefault } of rows) {
      const campaigns = byCode.get(code) ?? []
      campaigns.push({ id, name, status, isDefault: isDefault === 1 })
      byCode.set(code, campaigns)
    }
    return byCode
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
  const campaign = campaignId.trim()
  if (campaign === '') return { campaignId: undefined, code: code ?? accountId }
  return campaignPattern.test(campaign) ? { campaignId: Number(campaign), code } : undefined
}

/** Codes are compared trimmed and in upper case; only the Master Project's is stored as it came. */
function readCode(accountId: string, projectId: string): string | undefined {
  const code = projectId.trim().toUpperCase()
  if (code === '') return undefined
  return code === accountId.toUpperCase() ? accountId : code
}

function readNewCode({ accountId, code: text }: NewProject): string {
  const code = text.trim().toUpperCase()
  if (!codePattern.test(code)) {
    const rule = 'must be 1 to 40 letters, digits, - or _, starting with a letter or digit'
    throw invalidRequest([{ field: 'projectCode', value: text, rule }])
  }
  if (code === accountId.toUpperCase()) {
    const rule = 'is the Master Project, which every account has'
    throw invalidRequest([{ field: 'projectCode', value: text, rule }])
  }
  return code
}

function refuseBadName(field: string, name: string): void {
  if (name.trim() !== '' && name.length <= longestName) return
  throw invalidRequest([{ field, value: name, rule: `must be 1 to ${longestName} characters` }])
}

function rankOf(project: Project): number {
  return project.code === project.accountId ? 0 : 1
}
