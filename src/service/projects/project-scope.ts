/**
 * The scope of a request: which lists, records and hours apply to its project and campaign, and the
 * lists its key may change.
 */

import type { ListOwners } from '../../data/number-list/list-names.js'
import {
  type Caller,
  canUseScope,
  nameCaller,
  parseCampaignId,
  parseProjectCode,
  type ScopeChoice,
} from '../../domain/caller.js'
import type { MaybePromise } from '../../domain/compliance.js'
import type { Timers } from '../../domain/time/clock.js'
import { parseDay } from '../../domain/time/dates.js'
import {
  type DayWindow,
  type ProjectHours,
  parseDayWindow,
} from '../../domain/time/week-windows.js'
import { AppError, invalidRequest } from '../../errors.js'
import { TtlCache } from '../../runtime/ttl-cache.js'
import type { Db, ProjectHoursRow } from '../../storage/tables.js'
import { readListOwners } from '../lists/list-rights.js'
import { readCacheLimits } from '../sql/read-cache-limits.js'
import type { StoredProject } from './project-rows.js'

/** The lists that apply to a project: its own or the Master Project's. */
export interface ProjectLists {
  /** Code of the project whose internal do-not-call list applies. */
  readonly internalDncList: string
  /** Code of the project whose relationship and permission records apply. */
  readonly ebrProject: string
}

/** The lists, records and rules that apply to calls of one campaign. */
export interface ProjectScope extends ProjectLists {
  readonly accountId: string
  readonly projectCode: string
  readonly campaignId: number
  readonly industryExemption: boolean
  readonly voipRestricted: boolean
  readonly hours: readonly ProjectHours[]
  /** Whose lists the account uses besides its own. */
  readonly listOwners: ListOwners
  /** Absent while the federal registry has not decided on the project. */
  readonly subscription?: FederalSubscription | undefined
}

/** The status of a project's subscription to the federal registry. */
interface FederalSubscription {
  readonly status: 'validated' | 'failed' | 'expired'
  /** US area codes covered by the subscription. */
  readonly areaCodes: 'all' | ReadonlySet<string>
}

/** Resolves the lists, records and hours that apply to a question. */
export interface ScopeResolver {
  /**
   * Without a project, the scope of the Master Project (whose code is the account's id); without a
   * campaign, that of the project's default campaign; a campaign alone implies its project. `undefined`
   * when the project or campaign is unknown, inactive or of another account, or when the campaign does
   * not belong to the project.
   */
  resolve(accountId: string, choice?: ScopeChoice): MaybePromise<ProjectScope | undefined>
}

/** Scopes from the database, cached for a second. */
export class ProjectScopes implements ScopeResolver {
  readonly #db: Db
  readonly #cache: TtlCache<ProjectScope>

  constructor(db: Db, timers: Pick<Timers, 'monotonicMs'>) {
    this.#db = db
    this.#cache = new TtlCache({ timers, ...readCacheLimits })
  }

  resolve(
    accountId: string,
    { projectId = '', campaignId = '' }: ScopeChoice = {},
  ): MaybePromise<ProjectScope | undefined> {
    const key = JSON.stringify([accountId, projectId, campaignId])
    return (
      this.#cache.get(key) ??
      this.#cache.fetch(key, () => loadScope(this.#db, accountId, { projectId, campaignId }))
    )
  }

  clear(): void {
    this.#cache.clear()
  }
}

async function loadScope(
  db: Db,
  accountId: string,
  { projectId, campaignId }: Required<ScopeChoice>,
): Promise<ProjectScope | undefined> {
  const row = await findCampaign(db, accountId, { projectId, campaignId })
  if (!row) return undefined
  const hours = await db
    .selectFrom('project_hours')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('project_code', '=', row.code)
    .execute()
  return Object.freeze({
    accountId,
    projectCode: row.code,
    campaignId: row.campaignId,
    ...toProjectLists({ ...row, account_id: accountId }),
    industryExemption: row.industry_exemption === 1,
    voipRestricted: row.voip_restricted === 1,
    hours: Object.freeze(hours.map(toProjectHours)),
    listOwners: await readListOwners(db, accountId),
    subscription: toSubscription(row),
  })
}

/**
 * The lists that a write to the scope's project goes to, read in the write's own transaction, since
 * inheritance may have changed after the scope was resolved.
 */
export async function readCurrentLists(
  transaction: Db,
  { accountId, projectCode }: Pick<ProjectScope, 'accountId' | 'projectCode'>,
): Promise<ProjectLists> {
  const row = await transaction
    .selectFrom('projects')
    .select(['account_id', 'code', 'inherits_internal_dnc', 'inherits_ebr'])
    .where('account_id', '=', accountId)
    .where('code', '=', projectCode)
    .executeTakeFirstOrThrow()
  return toProjectLists(row)
}

type Inheritance = Pick<
  StoredProject,
  'account_id' | 'code' | 'inherits_internal_dnc' | 'inherits_ebr'
>

/** The Master Project's code is the account's id. */
function toProjectLists({ account_id: master, code, ...inherits }: Inheritance): ProjectLists {
  return {
    internalDncList: inherits.inherits_internal_dnc === 1 ? master : code,
    ebrProject: inherits.inherits_ebr === 1 ? master : code,
  }
}

async function findCampaign(
  db: Db,
  accountId: string,
  { projectId = '', campaignId = '' }: ScopeChoice,
) {
  const isDefault = campaignId.trim() === ''
  const id = isDefault ? undefined : parseCampaignId(campaignId)
  if (!isDefault && id === undefined) return undefined
  const named = parseProjectCode(accountId, projectId)
  const code = named ?? (isDefault ? accountId : undefined)
  let query = db
    .selectFrom('campaigns')
    .innerJoin('projects', (join) =>
      join
        .onRef('projects.account_id', '=', 'campaigns.account_id')
        .onRef('projects.code', '=', 'campaigns.project_code'),
    )
    .select([
      'campaigns.id as campaignId',
      'projects.code',
      'projects.industry_exemption',
      'projects.voip_restricted',
      'projects.inherits_internal_dnc',
      'projects.inherits_ebr',
      'projects.ftc_status',
      'projects.ftc_entire_us',
      'projects.ftc_area_codes',
    ])
    .where('campaigns.account_id', '=', accountId)
    .where('campaigns.status', '=', 'active')
    .where('projects.status', '=', 'active')
  query =
    id === undefined
      ? query.where('campaigns.is_default', '=', 1)
      : query.where('campaigns.id', '=', id)
  if (code !== undefined) query = query.where('projects.code', '=', code)
  return await query.executeTakeFirst()
}

function toSubscription({
  ftc_status: status,
  ftc_entire_us: entireUs,
  ftc_area_codes: areaCodes,
}: Pick<StoredProject, 'ftc_status' | 'ftc_entire_us' | 'ftc_area_codes'>):
  | FederalSubscription
  | undefined {
  if (status === null || status === 'pending') return undefined
  if (status !== 'validated') return { status, areaCodes: new Set() }
  return { status, areaCodes: entireUs === 1 ? 'all' : new Set(areaCodes.split(',')) }
}

function toProjectHours(row: ProjectHoursRow): ProjectHours {
  return Object.freeze({
    region: row.region,
    monFri: parseStoredWindow(row.mon_fri),
    sat: parseStoredWindow(row.sat),
    sun: parseStoredWindow(row.sun),
    effectiveFrom: parseStoredDay(row.effective_from),
    effectiveUntil: parseStoredDay(row.effective_until),
  })
}

/** Throws for a damaged row, since falling back could apply wider hours. */
function parseStoredWindow(text: string): DayWindow | undefined {
  if (text === 'none') return undefined
  const window = parseDayWindow(text)
  if (!window) throw new Error(`project_hours contains the invalid window '${text}'`)
  return window
}

function parseStoredDay(text: string | null): number | undefined {
  if (text === null) return undefined
  const day = parseDay(text)
  if (day === undefined) throw new Error(`project_hours contains the invalid day '${text}'`)
  return day
}

/** Throws {@link AppError} naming `projectField` or `campaignId`, its value and the rule. */
export function requireScope(
  projects: ScopeResolver,
  accountId: string,
  choice: ScopeChoice,
  projectField: 'projId' | 'projectId' = 'projId',
): MaybePromise<ProjectScope> {
  const scope = projects.resolve(accountId, choice)
  if (scope && !(scope instanceof Promise)) return scope
  return requireFound(scope, { projects, accountId, choice, projectField })
}

async function requireFound(
  found: MaybePromise<ProjectScope | undefined>,
  {
    projects,
    accountId,
    choice: { projectId, campaignId },
    projectField,
  }: {
    readonly projects: ScopeResolver
    readonly accountId: string
    readonly choice: ScopeChoice
    readonly projectField: string
  },
): Promise<ProjectScope> {
  const scope = await found
  if (scope) return scope
  if (campaignId === undefined || !(await projects.resolve(accountId, { projectId }))) {
    throw projectNotFound(projectField, projectId ?? '')
  }
  const rule = 'is not an active campaign of this account and project'
  throw invalidRequest([{ field: 'campaignId', value: campaignId, rule }])
}

/**
 * Throws `forbidden` when a key limited to projects would change lists of another project: a project
 * that inherits uses the list and records of the Master Project. `code` is the owner of the lists.
 */
export function requireListAccess(caller: Caller, code: string): void {
  if (canUseScope(caller, { projectId: code })) return
  const problem =
    `the project uses or would use lists of project '${code}' (inheritance), which ` +
    `${nameCaller(caller)} may not use; use a key that may`
  throw new AppError('forbidden', problem)
}

/** The error for a project or campaign that {@link ScopeResolver.resolve} does not find. */
export function projectNotFound(field: string, value: string): AppError {
  return invalidRequest([{ field, value, rule: 'is not an active project of this account' }])
}
