/** What all servers of a database together may do a limited number of times: the database counts. */
import type { Instant } from '../../domain/time/clock.js'
import type { Db } from '../tables.js'

export interface SharedLimit {
  /** Of what is limited and in which period, such as `requests scrub main 29412345`. */
  readonly key: string
  /** A positive whole number, as the amount taken is; 1 for what may happen only once. */
  readonly limit: number
  /** What has been taken is remembered at least until then. */
  readonly expiresAt: Instant
}

/**
 * Takes up to `amount` of the limit, in one statement, and resolves to how much that was: 0 when all has been taken. What
 * servers and commands take at the same time is never more than the limit. `db` may be a transaction, which holds up
 * others with the same key until its end, and takes nothing if it fails.
 */
export async function takeShared(db: Db, limit: SharedLimit, amount: number): Promise<number> {
  return (await takeSharedPart(db, limit, amount)).granted
}

export interface SharedPart {
  readonly granted: number
  /** By all together, with what was granted; at most the limit. */
  readonly taken: number
}

/** Does the same, and resolves also to how much has been taken by all. */
export async function takeSharedPart(
  db: Db,
  { key, limit, expiresAt }: SharedLimit,
  amount: number,
): Promise<SharedPart> {
  const row = await db
    .insertInto('shared_limits')
    .values({ key, taken: amount, expires_at: expiresAt })
    .onConflict((conflict) =>
      conflict
        .column('key')
        .doUpdateSet((limits) => ({ taken: limits('shared_limits.taken', '+', amount) }))
        .where('shared_limits.taken', '<', limit),
    )
    .returning('taken')
    .executeTakeFirst()
  if (!row) return { granted: 0, taken: limit }
  const before = row.taken - amount
  return { granted: Math.min(amount, limit - before), taken: Math.min(row.taken, limit) }
}

/** Gives back what was taken and not used, or was not granted, so that others can take it. */
export async function returnShared(db: Db, key: string, amount: number): Promise<void> {
  await db
    .updateTable('shared_limits')
    .set((limits) => ({ taken: limits('taken', '-', amount) }))
    .where('key', '=', key)
    .execute()
}

const maxDeletedAtOnce = 10_000

/** Returns whether there may be more to delete. */
export async function deleteExpiredLimits(db: Db, now: Instant): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('shared_limits')
    .where('key', 'in', (expired) =>
      expired
        .selectFrom('shared_limits')
        .select('key')
        .where('expires_at', '<', now)
        .limit(maxDeletedAtOnce),
    )
    .executeTakeFirst()
  return numDeletedRows >= maxDeletedAtOnce
}
