/** An account as a row: what is stored of it, and what may be. */
import type { Selectable, Updateable } from 'kysely'
import { invalidRequest } from '../../errors.js'
import type { AccountRow, Db } from '../../storage/tables.js'
import type { Account, AccountSwitches } from './accounts.js'

const mostCredits = 1_000_000_000

export function accountOf(row: Selectable<AccountRow>): Account {
  return {
    id: row.id,
    kind: row.kind,
    name: row.name,
    agentsMayRemove: row.agents_may_remove === 1,
    repeatedAdd: row.ignores_repeated_add === 1 ? 'ignored' : 'ends-consent',
    country: row.country,
    mayScan: row.may_scan === 1,
    scanCredits: row.scan_credits ?? 'unlimited',
    autoPrefix: row.auto_prefix === 1,
    createdAt: row.created_at,
  }
}

/** The account as it stands in `db`, which may be a transaction. */
export async function findAccount(db: Db, id: string): Promise<Account | undefined> {
  const row = await db.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst()
  return row && accountOf(row)
}

/** The columns of what is named. Throws `invalid-request` for credits that are no whole number. */
export function rowOf(changes: Partial<AccountSwitches>): Updateable<AccountRow> {
  const { agentsMayRemove, repeatedAdd, country, mayScan, scanCredits, autoPrefix } = changes
  return {
    ...(agentsMayRemove !== undefined && { agents_may_remove: agentsMayRemove ? 1 : 0 }),
    ...(repeatedAdd !== undefined && { ignores_repeated_add: repeatedAdd === 'ignored' ? 1 : 0 }),
    ...(country !== undefined && { country }),
    ...(mayScan !== undefined && { may_scan: mayScan ? 1 : 0 }),
    ...(scanCredits !== undefined && { scan_credits: creditsOf(scanCredits) }),
    ...(autoPrefix !== undefined && { auto_prefix: autoPrefix ? 1 : 0 }),
  }
}

function creditsOf(credits: number | 'unlimited'): number | null {
  if (credits === 'unlimited') return null
  if (Number.isInteger(credits) && credits >= 0 && credits <= mostCredits) return credits
  const rule = `must be a whole number up to ${mostCredits}, or unlimited`
  throw invalidRequest([{ field: 'scanCredits', value: String(credits), rule }])
}
