/** Reads the rows that decisions rest on, as the database has them, with what was replaced or ended. For evidence. */
import { formatInstant } from '../../domain/time/dates.js'
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

/** What keys may do, without what they are checked by, and all versions of their limits, the oldest first. */
export async function readKeyRows(
  db: Db,
  accountId: string,
  keyIds: readonly string[],
): Promise<readonly StoredRow[]> {
  if (keyIds.length === 0) return []
  const keys = await db
    .selectFrom('api_keys')
    .select([
      'id',
      'account_id',
      'label',
      'role',
      'rights',
      'projects',
      'call_kinds',
      'call_limits',
    ])
    .select(['version', 'not_before', 'expires_at', 'created_at', 'revoked_at'])
    .where('account_id', '=', accountId)
    .where('id', 'in', keyIds)
    .orderBy('id')
    .execute()
  const versions = await db
    .selectFrom('key_versions')
    .selectAll()
    .where('key_id', 'in', keyIds)
    .orderBy('version')
    .execute()
  return keys.map((key) => ({
    ...key,
    versions: versions
      .filter(({ key_id }) => key_id === key.id)
      .map(({ version, limits, changed_at, changed_by }) => ({
        ...{ version, limits: JSON.parse(limits) },
        ...{ changedAt: formatInstant(changed_at), changedBy: changed_by },
      })),
  }))
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
