/** Reads the rows that decisions rest on, as the database has them, with what was replaced or ended. For evidence. */
import type { Db } from '../../storage/tables.js'

/** Rows of some numbers of one account; of each number the oldest first. */
type ReadNumberRows<Row> = (
  db: Db,
  accountId: string,
  numbers: readonly string[],
) => Promise<readonly Row[]>

/** Rows of any of the tables, by column. */
export type StoredRow = Readonly<Record<string, unknown>>

export const readConsentRows: ReadNumberRows<StoredRow> = (db, accountId, numbers) =>
  db
    .selectFrom('consents')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('number', 'in', numbers)
    .orderBy('number')
    .orderBy('recorded_at')
    .orderBy('id')
    .execute()

/** Relationships and permissions. */
export const readEbrRows: ReadNumberRows<StoredRow> = (db, accountId, numbers) =>
  db
    .selectFrom('ebr_records')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('number', 'in', numbers)
    .orderBy('number')
    .orderBy('id')
    .execute()

export const readOptOutRows: ReadNumberRows<StoredRow> = (db, accountId, numbers) =>
  db
    .selectFrom('internal_dnc')
    .selectAll()
    .where('account_id', '=', accountId)
    // By the key of the table, which begins with the list.
    .where('list', 'in', (query) =>
      query.selectFrom('projects').select('code').where('account_id', '=', accountId),
    )
    .where('number', 'in', numbers)
    .orderBy('number')
    .orderBy('list')
    .execute()

export const readStatementRows: ReadNumberRows<StoredRow> = (db, accountId, numbers) =>
  db
    .selectFrom('opt_out_statements')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('number', 'in', numbers)
    .orderBy('number')
    .orderBy('heard_at')
    .orderBy('id')
    .execute()

/** Own numbers of the account. */
export const readCallerIdRows: ReadNumberRows<StoredRow> = async (db, accountId, numbers) => {
  // PostgreSQL takes no empty list.
  if (numbers.length === 0) return []
  return await db
    .selectFrom('caller_ids')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('number', 'in', numbers)
    .orderBy('number')
    .orderBy('added_at')
    .orderBy('project')
    .execute()
}

/** With the registrations to call: those of the federal registry, and of each state. */
export async function readProjectRows(
  db: Db,
  accountId: string,
  {
    codes,
    campaignIds,
  }: { readonly codes: readonly string[]; readonly campaignIds: readonly number[] },
): Promise<readonly StoredRow[]> {
  const projects = await db
    .selectFrom('projects')
    .select(['account_id', 'code', 'name', 'status', 'created_at', 'modified_at', 'san', 'org_id'])
    .select(['industry_exemption', 'voip_restricted', 'inherits_internal_dnc', 'inherits_ebr'])
    .select(['ftc_status', 'ftc_checked_at', 'ftc_expires_on', 'ftc_entire_us', 'ftc_area_codes'])
    .where('account_id', '=', accountId)
    .where(({ eb, or, selectFrom }) => {
      const ofCampaigns = selectFrom('campaigns')
        .select('project_code')
        .where('account_id', '=', accountId)
        .where('id', 'in', campaignIds)
      return or([
        eb('code', 'in', codes),
        ...(campaignIds.length > 0 ? [eb('code', 'in', ofCampaigns)] : []),
      ])
    })
    .orderBy('code')
    .execute()
  const registrations = await db
    .selectFrom('state_registrations')
    .select(['project_code', 'state', 'status', 'confirmation', 'submitted_at'])
    .where('account_id', '=', accountId)
    .orderBy('state')
    .execute()
  return projects.map((project) => ({
    ...project,
    registrations: registrations.filter(({ project_code: code }) => code === project.code),
  }))
}

/** What keys were limited to, the oldest version first. */
export async function readKeyVersionRows(
  db: Db,
  accountId: string,
  keyIds: readonly string[],
): Promise<readonly StoredRow[]> {
  if (keyIds.length === 0) return []
  return await db
    .selectFrom('key_versions')
    .innerJoin('api_keys', 'api_keys.id', 'key_versions.key_id')
    .selectAll('key_versions')
    .select('api_keys.account_id')
    .where('api_keys.account_id', '=', accountId)
    .where('key_id', 'in', keyIds)
    .orderBy('key_id')
    .orderBy('key_versions.version')
    .execute()
}

/** Checks in shadow and paused keys of an account. */
export async function readPauseRows(db: Db, accountId: string): Promise<readonly StoredRow[]> {
  return await db
    .selectFrom('pauses')
    .selectAll()
    .where('account_id', '=', accountId)
    .orderBy('subject')
    .execute()
}

/** Of lists that servers share; empty over SQLite. */
export async function readListVersionRows(
  db: Db,
  names: readonly string[],
): Promise<readonly StoredRow[]> {
  if (names.length === 0) return []
  return await db.selectFrom('list_versions').selectAll().where('name', 'in', names).execute()
}

export async function readAccountIds(db: Db): Promise<readonly string[]> {
  const rows = await db.selectFrom('accounts').select('id').execute()
  return rows.map(({ id }) => id)
}
