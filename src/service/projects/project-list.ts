/** Projects of an account with their campaigns, for lists. */
import type { Selectable } from 'kysely'
import type { Instant } from '../../domain/time/clock.js'
import type { CampaignRow, Db, FtcStatus } from '../../storage/tables.js'
import type { ProjectSwitches, StoredProject } from './project-rows.js'

type Switches = { readonly [Name in keyof ProjectSwitches]-?: boolean }

export interface Project extends Switches {
  readonly accountId: string
  readonly code: string
  readonly name: string
  readonly status: 'active' | 'inactive'
  /** Null while the project has no id at the federal registry. */
  readonly ftcStatus: FtcStatus | null
  readonly campaigns: readonly Campaign[]
  readonly createdAt: Instant
  readonly modifiedAt: Instant
}

interface Campaign {
  readonly id: number
  readonly name: string
  readonly isDefault: boolean
  readonly status: 'active' | 'inactive'
}

/** All projects, the Master Project first, then by code; or only the one with the given stored code. */
export async function listProjects(
  db: Db,
  accountId: string,
  code?: string,
): Promise<readonly Project[]> {
  let projects = db
    .selectFrom('projects')
    .selectAll()
    .where('account_id', '=', accountId)
    .orderBy('code')
  let campaigns = db
    .selectFrom('campaigns')
    .selectAll()
    .where('account_id', '=', accountId)
    .orderBy('id')
  if (code !== undefined) {
    projects = projects.where('code', '=', code)
    campaigns = campaigns.where('project_code', '=', code)
  }
  const rows = await projects.execute()
  const byCode = campaignsByCode(await campaigns.execute())
  return rows
    .map((row) => projectOf(row, byCode.get(row.code) ?? []))
    .sort((a, b) => sortRank(a) - sortRank(b))
}

function campaignsByCode(
  rows: readonly Selectable<CampaignRow>[],
): ReadonlyMap<string, readonly Campaign[]> {
  const byCode = new Map<string, Campaign[]>()
  for (const { id, name, status, project_code: code, is_default: isDefault } of rows) {
    const campaigns = byCode.get(code) ?? []
    campaigns.push({ id, name, status, isDefault: isDefault === 1 })
    byCode.set(code, campaigns)
  }
  return byCode
}

function projectOf(row: StoredProject, campaigns: readonly Campaign[]): Project {
  return {
    accountId: row.account_id,
    code: row.code,
    name: row.name,
    status: row.status,
    ftcStatus: row.ftc_status,
    industryExemption: row.industry_exemption === 1,
    voipRestricted: row.voip_restricted === 1,
    inheritsInternalDnc: row.inherits_internal_dnc === 1,
    inheritsEbr: row.inherits_ebr === 1,
    campaigns,
    createdAt: row.created_at,
    modifiedAt: row.modified_at,
  }
}

function sortRank(project: Project): number {
  return project.code === project.accountId ? 0 : 1
}

/** Hours as text: `09:00-20:00`, or `none`; days `YYYY-MM-DD`, null if open. */
interface StoredHours {
  readonly region: string
  readonly monFri: string
  readonly sat: string
  readonly sun: string
  readonly effectiveFrom: string | null
  readonly effectiveUntil: string | null
}

export interface ProjectWithHours extends Project {
  readonly registrations: readonly {
    readonly state: string
    readonly status: string
    readonly submittedAt: Instant | null
  }[]
  readonly hours: readonly StoredHours[]
}

export async function listProjectsWithHours(
  db: Db,
  accountId: string,
): Promise<readonly ProjectWithHours[]> {
  const projects = await listProjects(db, accountId)
  const registrations = await db
    .selectFrom('state_registrations')
    .select(['project_code', 'state', 'status', 'submitted_at as submittedAt'])
    .where('account_id', '=', accountId)
    .orderBy('state')
    .execute()
  const hours = await db
    .selectFrom('project_hours')
    .select(['project_code', 'region', 'mon_fri as monFri', 'sat', 'sun'])
    .select(['effective_from as effectiveFrom', 'effective_until as effectiveUntil'])
    .where('account_id', '=', accountId)
    .orderBy('region')
    .orderBy('effective_from')
    .execute()
  const ofProject = <Row extends { readonly project_code: string }>(
    rows: readonly Row[],
    code: string,
  ) => rows.filter((row) => row.project_code === code).map(({ project_code: _, ...row }) => row)
  return projects.map((project) => ({
    ...project,
    registrations: ofProject(registrations, project.code),
    hours: ofProject(hours, project.code),
  }))
}
