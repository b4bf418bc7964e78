/** What a project and campaign mean for a question, read from the database in one go. */
import { parseDay } from '../../domain/clock.js'
import { type DayWindow, type ProjectHours, parseDayWindow } from '../../domain/week-windows.js'
import type { Db, ProjectHoursRow } from '../../storage/tables.js'
import type { StoredProject } from './project-rows.js'

/** Whose lists count for a project: its own or the Master Project's. */
export interface ProjectLists {
  /** Code of the project whose internal do-not-call list counts. */
  readonly internalDncList: string
  /** Code of the project whose relationship and consent records count. */
  readonly ebrProject: string
}

/** The lists, records and rules that hold for calls of one campaign. */
export interface ProjectScope extends ProjectLists {
  readonly accountId: string
  readonly projectCode: string
  readonly campaignId: number
  readonly industryExemption: boolean
  readonly voipRestricted: boolean
  readonly hours: readonly ProjectHours[]
  /** Absent as long as the federal registry has decided nothing of the project. */
  readonly subscription?: FederalSubscription | undefined
}

/** What the federal registry has decided of a project's subscription to its list. */
export interface FederalSubscription {
  readonly status: 'validated' | 'failed' | 'expired'
  /** US area codes whose numbers it lets the project ask about. */
  readonly areaCodes: 'all' | ReadonlySet<string>
}

/** One array for all, since prepared windows are kept per array. */
const noHours: readonly ProjectHours[] = Object.freeze([])

/** A campaign of any project of the account, or a project's default campaign. */
export type WantedScope =
  | { readonly campaignId: number; readonly code: string | undefined }
  | { readonly campaignId: undefined; readonly code: string }

/** `undefined` when the account has no such campaign, or it or its project is not active. */
export async function loadScope(
  db: Db,
  accountId: string,
  wanted: WantedScope,
): Promise<ProjectScope | undefined> {
  const row = await findCampaign(db, accountId, wanted)
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
    ...listsOf({ ...row, account_id: accountId }),
    industryExemption: row.industry_exemption === 1,
    voipRestricted: row.voip_restricted === 1,
    hours: hours.length === 0 ? noHours : Object.freeze(hours.map(hoursOf)),
    subscription: subscriptionOf(row),
  })
}

/**
 * The lists a write to the scope's project goes to, read in the write's own transaction: a scope
 * that was resolved before may be of a moment when the project inherited, or did not.
 */
export async function currentLists(
  transaction: Db,
  { accountId, projectCode }: Pick<ProjectScope, 'accountId' | 'projectCode'>,
): Promise<ProjectLists> {
  const row = await transaction
    .selectFrom('projects')
    .select(['account_id', 'code', 'inherits_internal_dnc', 'inherits_ebr'])
    .where('account_id', '=', accountId)
    .where('code', '=', projectCode)
    .executeTakeFirstOrThrow()
  return listsOf(row)
}

type Inheritance = Pick<
  StoredProject,
  'account_id' | 'code' | 'inherits_internal_dnc' | 'inherits_ebr'
>

/** The Master Project's code is the account's id. */
function listsOf({ account_id: master, code, ...inherits }: Inheritance): ProjectLists {
  return {
    internalDncList: inherits.inherits_internal_dnc === 1 ? master : code,
    ebrProject: inherits.inherits_ebr === 1 ? master : code,
  }
}

async function findCampaign(db: Db, accountId: string, { code, campaignId }: WantedScope) {
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
    campaignId === undefined
      ? query.where('campaigns.is_default', '=', 1)
      : query.where('campaigns.id', '=', campaignId)
  if (code !== undefined) query = query.where('projects.code', '=', code)
  return await query.executeTakeFirst()
}

function subscriptionOf({
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

function hoursOf(row: ProjectHoursRow): ProjectHours {
  return Object.freeze({
    region: row.region,
    monFri: storedWindow(row.mon_fri),
    sat: storedWindow(row.sat),
    sun: storedWindow(row.sun),
    effectiveFrom: storedDay(row.effective_from),
    effectiveUntil: storedDay(row.effective_until),
  })
}

/** Damaged rows stop the question: hours that cannot be read must not fall back to wider ones. */
function storedWindow(text: string): DayWindow | undefined {
  if (text === 'none') return undefined
  const window = parseDayWindow(text)
  if (!window) throw new Error(`project_hours holds the unreadable window '${text}'`)
  return window
}

function storedDay(text: string | null): number | undefined {
  if (text === null) return undefined
  const day = parseDay(text)
  if (day === undefined) throw new Error(`project_hours holds the unreadable day '${text}'`)
  return day
}
