/** Reads and writes the rows of a project, without validation. */
import type { Selectable } from 'kysely'
import type { Instant } from '../../domain/time/clock.js'
import type { AccountRow, Db, ProjectRow } from '../../storage/tables.js'

export type StoredProject = Selectable<ProjectRow>

/** The switches of a project; all are off by default. */
export interface ProjectSwitches {
  /** Overrides national and state list matches (letter `X`). */
  readonly industryExemption?: boolean | undefined
  /** Treats VoIP like wireless in states that prohibit sales calls to wireless numbers. */
  readonly voipRestricted?: boolean | undefined
  /** Uses the Master Project's internal do-not-call list. */
  readonly inheritsInternalDnc?: boolean | undefined
  /** Uses the Master Project's relationship and permission records. */
  readonly inheritsEbr?: boolean | undefined
}

export interface NewProjectRow {
  readonly accountId: string
  readonly code: string
  readonly name: string
  readonly createdAt: Instant
  /** Absent columns are empty, absent switches off. */
  readonly columns?: Partial<Omit<StoredProject, 'account_id' | 'code' | 'name'>>
}

/** Adds the project and its default campaign. Returns `false` when the code is taken. */
export async function insertProject(
  db: Db,
  { accountId, code, name, createdAt, columns }: NewProjectRow,
): Promise<boolean> {
  const inserted = await db
    .insertInto('projects')
    .values({
      account_id: accountId,
      code,
      name,
      status: 'active',
      industry_exemption: 0,
      voip_restricted: 0,
      inherits_internal_dnc: 0,
      inherits_ebr: 0,
      created_at: createdAt,
      modified_at: createdAt,
      ...columns,
    })
    .onConflict((conflict) => conflict.columns(['account_id', 'code']).doNothing())
    .executeTakeFirst()
  if (inserted.numInsertedOrUpdatedRows === 0n) return false
  await insertCampaign(db, { accountId, code, name: 'Default Campaign', isDefault: true })
  return true
}

/** Finds a project by its code exactly as stored. */
export async function findProject(
  db: Db,
  accountId: string,
  code: string,
): Promise<StoredProject | undefined> {
  return await db
    .selectFrom('projects')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('code', '=', code)
    .executeTakeFirst()
}

/** The account columns that the project endpoints need. */
export async function readProjectAccount(
  db: Db,
  accountId: string,
): Promise<Pick<Selectable<AccountRow>, 'name' | 'auto_prefix'>> {
  return await db
    .selectFrom('accounts')
    .select(['name', 'auto_prefix'])
    .where('id', '=', accountId)
    .executeTakeFirstOrThrow()
}

export interface NewCampaignRow {
  readonly accountId: string
  /** Code of the campaign's project. */
  readonly code: string
  readonly name: string
  readonly isDefault: boolean
}

/** Returns the campaign's id. */
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
