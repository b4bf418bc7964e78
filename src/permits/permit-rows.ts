/** The SQL of permits; the rules around it are in `permits.ts`. */
import type { Instant } from '../domain/time/clock.js'
import type { Db, PermitRow } from '../storage/tables.js'

export async function insertPermit(db: Db, row: PermitRow): Promise<void> {
  await db.insertInto('permits').values(row).execute()
}

/** Only one of the account. */
export function readPermit(db: Db, accountId: string, id: string): Promise<PermitRow | undefined> {
  return db
    .selectFrom('permits')
    .selectAll()
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .executeTakeFirst()
}

export interface PermitMove {
  readonly id: string
  readonly state: 'used' | 'released' | 'void'
  readonly now: Instant
}

/**
 * Ends a permit that is in force, in one statement: of all who do that, one gets the row. A use also needs the key that the
 * permit was issued to.
 */
export function movePermit(db: Db, { id, state, now }: PermitMove): Promise<PermitRow | undefined> {
  return db
    .updateTable('permits')
    .set({ state, ended_at: now })
    .where('id', '=', id)
    .where('state', '=', 'issued')
    .where('expires_at', '>', now)
    .$if(state === 'used', (query) =>
      query.where(({ exists, selectFrom }) =>
        exists(
          selectFrom('api_keys')
            .select('api_keys.id')
            .whereRef('api_keys.id', '=', 'permits.key_id')
            .where('revoked_at', 'is', null)
            .where(({ eb, or }) =>
              or([eb('api_keys.expires_at', 'is', null), eb('api_keys.expires_at', '>', now)]),
            ),
        ),
      ),
    )
    .returningAll()
    .executeTakeFirst()
}

/** Whether that channel may dial by a permit that was used after an instant; the first channel that asks, and no other. */
export async function claimPermit(
  db: Db,
  {
    id,
    accountId,
    number,
    channel,
    usedAfter,
  }: {
    readonly id: string
    readonly accountId: string
    readonly number: string
    readonly channel: string
    readonly usedAfter: Instant
  },
): Promise<Pick<PermitRow, 'decision_id'> | undefined> {
  return await db
    .updateTable('permits')
    .set({ channel })
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .where('number', '=', number)
    .where('state', '=', 'used')
    .where('ended_at', '>', usedAfter)
    .where(({ eb, or }) => or([eb('channel', 'is', null), eb('channel', '=', channel)]))
    .returning('decision_id')
    .executeTakeFirst()
}

/** How long a permit can be read after it has expired. */
const keptMs = 30 * 86_400_000
const maxDeletedAtOnce = 10_000

/** Returns whether there may be more to delete. */
export async function deleteOldPermits(db: Db, now: Instant): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('permits')
    .where('id', 'in', (old) =>
      old
        .selectFrom('permits')
        .select('id')
        .where('expires_at', '<', now - keptMs)
        .limit(maxDeletedAtOnce),
    )
    .executeTakeFirst()
  return numDeletedRows >= maxDeletedAtOnce
}
