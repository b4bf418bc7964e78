/** Writes the rows of a project; which projects an account may have is decided in `projects.ts`. */
import type { Instant } from '../../domain/clock.js'
import type { Db } from '../../storage/tables.js'

/** What a project may switch on; everything is off unless said. */
export interface ProjectSwitches {
  /** Lifts national and state list matches (letter `X`). */
  readonly industryExemption?: boolean | undefined
  /** Treats VoIP like wireless in states that bar sales calls to wireless numbers. */
  readonly voipRestricted?: boolean | undefined
  /** Uses the Master Project's internal do-not-call list. */
  readonly inheritsInternalDnc?: boolean | undefined
  /** Uses the Master Project's relationship and consent records. */
  readonly inheritsEbr?: boolean | undefined
}

export interface NewProjectRow extends ProjectSwitches {
  readonly accountId: string
  readonly code: string
  readonly name: string
  readonly createdAt: Instant
}

/** Adds the project and its default campaign. Gives `false` when the code is taken. */
export async function insertProject(db: Db, project: NewProjectRow): Promise<boolean> {
  const made = await db
    .insertInto('projects')
    .values({
      account_id: project.accountId,
      code: project.code,
      name: project.name,
      status: 'active',
      industry_exemption: project.industryExemption ? 1 : 0,
      voip_restricted: project.voipRestricted ? 1 : 0,
      inherits_internal_dnc: project.inheritsInternalDnc ? 1 : 0,
      inherits_ebr: project.inheritsEbr ? 1 : 0,
      created_at: project.createdAt,
      modified_at: project.createdAt,
    })
    .onConflict((conflict) => conflict.columns(['account_id', 'code']).doNothing())
    .executeTakeFirst()
  if (made.numInsertedOrUpdatedRows === 0n) return false
  await insertCampaign(db, { ...project, name: 'Default Campaign', isDefault: true })
  return true
}

export interface NewCampaignRow {
  readonly accountId: string
  /** Code of the campaign's project. */
  readonly code: string
  readonly name: string
  readonly isDefault: boolean
}

/** Gives the campaign's id. */
export async function insertCampaign(db: Db, campaign: NewCampaignRow): Promise<number> {
  const { id } = await db
    .insertInto('campaigns')
    .values({
      account_id: campaign.accountId,
      project_code: campaign.code,
      name: campaign.name,
      is_default: campaign.isDefault ? 1 : 0,
      status: 'active',
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}
