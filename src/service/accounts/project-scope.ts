/** What a project and campaign mean for a question, read from the database in one go. */
import { parseDay } from '../../domain/clock.js'
import { type DayWindow, type ProjectHours, parseDayWindow } from '../../domain/week-windows.js'
import type { Db, ProjectHoursRow } from '../../storage/tables.js'

/** The lists, records and rules that hold for calls of one campaign. */
export interface ProjectScope {
  readonly accountId: string
  readonly projectCode: string
  readonly campaignId: number
  /** Code of the project whose internal do-not-call list counts: its own or the Master Project's. */
  readonly internalDncList: string
  /** Code of the project whose relationship and consent records count. */
  readonly ebrProject: string
  readonly industryExemption: boolean
  readonly voipRestricted: boolean
  readonly hours: readonly ProjectHours[]
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
    // The Master Project's code is the account's id.
    internalDncList: row.inherits_internal_dnc === 1 ? accountId : row.code,
    ebrProject: row.inherits_ebr === 1 ? accountId : row.code,
    industryExemption: row.industry_exemption === 1,
    voipRestricted: row.voip_restricted === 1,
    hours: hours.length === 0 ? noHours : Object.freeze(hours.map(hoursOf)),
  })
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
