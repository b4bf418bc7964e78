/**
 * Which accounts may use lists of other accounts, and the logins of providers, which are account main's. Access to registries is bought by each seller (16 CFR 310.8), so an account
 * uses its own lists, and those of another account only by a right that somebody has stated. Rights end, and are kept.
 */
import { sql } from 'kysely'
import {
  allLists,
  isListName,
  isPortedList,
  isStateList,
  isUsedByChecks,
  type ListOwners,
  type ListUser,
  providerLogins,
  splitListName,
} from '../../data/number-list/list-names.js'
import { mainAccountId } from '../../domain/caller.js'
import type { Clock, Instant } from '../../domain/time/clock.js'
import { type AppError, invalidRequest } from '../../errors.js'
import { recordAudit } from '../../storage/audit/audit-log.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { Db, ListRightRow } from '../../storage/tables.js'
import { runTransaction } from '../sql/account-transaction.js'

export interface ListRight {
  readonly accountId: string
  /** A list that checks use, {@link providerLogins}, or {@link allLists}, which includes those. */
  readonly list: string
  /** The account whose lists they are. */
  readonly ownerId: string
  /** Why the account may use them, such as the contract. */
  readonly because: string
  readonly grantedAt: Instant
  readonly grantedBy: string
  readonly endedAt: Instant | undefined
  readonly endedBy: string | undefined
}

/** Account main, whose lists are the operator's, and accounts without a right. */
export const noListOwners: ListOwners = new Map()

type NewRight = Pick<ListRight, 'accountId' | 'list' | 'ownerId' | 'because' | 'grantedBy'>

const maxReasonLength = 500

export class ListRights {
  readonly #storage: Pick<OpenDatabase, 'db' | 'author' | 'retryWhileLocked'>
  readonly #clock: Clock

  constructor({
    storage,
    clock,
  }: {
    readonly storage: Pick<OpenDatabase, 'db' | 'author' | 'retryWhileLocked'>
    readonly clock: Clock
  }) {
    this.#storage = storage
    this.#clock = clock
  }

  /** Of all accounts, with those that have ended, oldest first. */
  async list(): Promise<readonly ListRight[]> {
    const query = this.#storage.db.selectFrom('list_rights').selectAll()
    return (await query.orderBy('granted_at').orderBy('account_id').orderBy('list').execute()).map(
      toListRight,
    )
  }

  /**
   * Replaces the right of the account to the list, if it has one. Running servers follow within a second. Throws `invalid-request` naming
   * the field for a reason that is missing or too long, if the owner is the account itself, and if logins are not of account main.
   */
  async grant({ accountId, list, ownerId, because, grantedBy }: NewRight): Promise<void> {
    requireReason(because)
    if (accountId === mainAccountId) {
      throw refuse('account', accountId, 'is the operator’s own account, which uses its own lists')
    }
    if (ownerId === accountId) {
      throw refuse('owner', ownerId, 'is the account itself, which needs no right to its own lists')
    }
    if (list === providerLogins && ownerId !== mainAccountId) {
      const rule = `must be ${mainAccountId}: the logins of other accounts are for themselves`
      throw refuse('owner', ownerId, rule)
    }
    const now = this.#clock.now()
    await this.#write(async (db) => {
      await endRight(db, { accountId, list, at: now, by: grantedBy })
      const last = await readLastGrant(db, accountId, list)
      const granted = { granted_at: Math.max(now, last + 1), granted_by: grantedBy }
      await db
        .insertInto('list_rights')
        .values({
          account_id: accountId,
          list,
          owner_id: ownerId,
          because: because.trim(),
          ...granted,
        })
        .execute()
      await recordAudit(db, {
        by: this.#storage.author,
        accountId,
        action: 'list-right.granted',
        subject: { kind: 'list', id: list },
        after: { owner: ownerId },
        reason: because.trim(),
        at: now,
      })
    })
  }

  /** Returns `false` if there is none in force. */
  async end({
    accountId,
    list,
    endedBy,
  }: Pick<ListRight, 'accountId' | 'list'> & { readonly endedBy: string }): Promise<boolean> {
    const at = this.#clock.now()
    return await this.#write(async (db) => {
      if (!(await endRight(db, { accountId, list, at, by: endedBy }))) return false
      await recordAudit(db, {
        by: this.#storage.author,
        accountId,
        action: 'list-right.ended',
        subject: { kind: 'list', id: list },
        at,
      })
      return true
    })
  }

  #write<Result>(work: (db: Db) => Promise<Result>): Promise<Result> {
    return runTransaction(this.#storage, work)
  }
}

/** Two rights of the same instant would be one. */
async function readLastGrant(db: Db, accountId: string, list: string): Promise<Instant> {
  const row = await db
    .selectFrom('list_rights')
    .select('granted_at')
    .where('account_id', '=', accountId)
    .where('list', '=', list)
    .orderBy('granted_at', 'desc')
    .executeTakeFirst()
  return row?.granted_at ?? 0
}

async function endRight(
  db: Db,
  {
    accountId,
    list,
    at,
    by,
  }: {
    readonly accountId: string
    readonly list: string
    readonly at: Instant
    readonly by: string
  },
): Promise<boolean> {
  const ended = await db
    .updateTable('list_rights')
    .set({ ended_at: at, ended_by: by })
    .where('account_id', '=', accountId)
    .where('list', '=', list)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  return ended.numUpdatedRows > 0n
}

/** What the account may use now. */
export async function readListOwners(db: Db, accountId: string): Promise<ListOwners> {
  if (accountId === mainAccountId) return noListOwners
  const rows = await db
    .selectFrom('list_rights')
    .select(['list', 'owner_id'])
    .where('account_id', '=', accountId)
    .where('ended_at', 'is', null)
    .execute()
  return new Map(rows.map(({ list, owner_id: ownerId }) => [list, ownerId]))
}

/** Of all accounts with a right to a list of another one. */
export async function readAllListOwners(db: Db): Promise<ReadonlyMap<string, ListOwners>> {
  const rows = await db
    .selectFrom('list_rights')
    .select(['account_id', 'list', 'owner_id'])
    .where('ended_at', 'is', null)
    .execute()
  const all = new Map<string, Map<string, string>>()
  for (const { account_id: accountId, list, owner_id: ownerId } of rows) {
    all.set(accountId, (all.get(accountId) ?? new Map()).set(list, ownerId))
  }
  return all
}

/** Countries that neither an account calls nor one with a right to its lists, as subjects of pauses. */
export async function readUnneededCountries(reads: Db): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ readonly subject: string }>`
    select subject from pauses where subject like 'country:%' and not exists (
      select 1 from list_rights where ended_at is null and owner_id = pauses.account_id and not exists (
        select 1 from pauses as same
        where same.subject = substr(pauses.subject, 1, ${'country:US:'.length}) || list_rights.account_id))`.execute(
    reads,
  )
  return new Set(rows.map(({ subject }) => subject))
}

/** What an account may do with a published list or numbering file; `needed`: its numbers are not covered without it. */
export type ListAccess = 'use' | 'needed' | 'none'

/** For each of them, as of now. */
export async function readListAccess(
  db: Db,
  accountId: string,
): Promise<(name: string) => ListAccess> {
  const listOwners = await readListOwners(db, accountId)
  return (name) => {
    if (canUseList(name, { accountId, listOwners })) return 'use'
    return isStateList(name) ? 'needed' : 'none'
  }
}

/** Whether the account needs a published list or numbering file for its calls, and may use it. */
export function canUseList(name: string, { accountId, listOwners }: ListUser): boolean {
  const { owner, list } = splitListName(name)
  // Numbering files, which are no lists, and ported numbers are the same for all accounts.
  if (owner === accountId || isPortedList(list) || !isListName(list)) return true
  return isUsedByChecks(list) && (listOwners.get(list) ?? listOwners.get(allLists)) === owner
}

function requireReason(because: string): void {
  if (because.trim() !== '' && because.trim().length <= maxReasonLength) return
  const rule = `is required and must have at most ${maxReasonLength} characters`
  throw refuse('because', because, rule)
}

const refuse = (field: string, value: string, rule: string): AppError =>
  invalidRequest([{ field, value, rule }])

function toListRight(row: ListRightRow): ListRight {
  return {
    accountId: row.account_id,
    list: row.list,
    ownerId: row.owner_id,
    because: row.because,
    grantedAt: row.granted_at,
    grantedBy: row.granted_by,
    endedAt: row.ended_at ?? undefined,
    endedBy: row.ended_by ?? undefined,
  }
}
