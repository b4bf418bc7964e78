/** What became of the calls of attempts. One that is not known to have stayed here counts, whatever is reported afterwards. */
import { sql } from 'kysely'
import type { AttemptReports, PlacedCall, ReportedAttempt } from '../../domain/mandate.js'
import type { OpenDatabase } from '../../storage/open-database.js'
import type { Db } from '../../storage/tables.js'

type OutcomeStorage = Pick<OpenDatabase, 'db' | 'traits' | 'retryWhileLocked'>

/** On an edge nothing changes: the attempts of its calls are at its center, and count there as ones of unknown outcome. */
export class AttemptOutcomes implements AttemptReports {
  readonly #storage: OutcomeStorage

  constructor(storage: OutcomeStorage) {
    this.#storage = storage
  }

  async noteNotPlaced(
    attempt: Pick<ReportedAttempt, 'decisionId' | 'accountId'>,
  ): Promise<'released' | 'placed' | 'has-permit'> {
    const { db, traits, retryWhileLocked } = this.#storage
    if (traits.isCopy) return 'released'
    const permit = await db
      .selectFrom('permits')
      .select('id')
      .where('decision_id', '=', attempt.decisionId)
      .limit(1)
      .executeTakeFirst()
    if (permit) return 'has-permit'
    const isReleased = await retryWhileLocked(() => releaseAttempt(db, attempt))
    return isReleased ? 'released' : 'placed'
  }

  async notePlaced(attempt: ReportedAttempt, { dialedAt, reach }: PlacedCall): Promise<void> {
    const { db, traits, retryWhileLocked } = this.#storage
    if (traits.isCopy) return
    const { decisionId, keyId, accountId, subject = null, personId = null, number, at } = attempt
    const changes = {
      placed: 1,
      at: sql<number>`case when attempts.at < ${dialedAt ?? at} then ${dialedAt ?? at} else attempts.at end`,
      ...(reach !== undefined && {
        reach: sql<number>`case when ${reach} < 1 and attempts.reach > ${reach} then attempts.reach else ${reach} end`,
      }),
    }
    await retryWhileLocked(async () => {
      if (number === undefined) {
        const update = db.updateTable('attempts').set(changes)
        await update.where('decision_id', '=', decisionId).execute()
        return
      }
      // It may have been released before: then it counts again.
      await db
        .insertInto('attempts')
        .values({
          decision_id: decisionId,
          key_id: keyId,
          account_id: accountId,
          number,
          subject,
          person: personId,
          at: Math.max(at, dialedAt ?? at),
          purpose: attempt.purpose ?? 'telemarketing',
          reach: reach ?? null,
          placed: 1,
        })
        .onConflict((conflict) => conflict.column('decision_id').doUpdateSet(changes))
        .execute()
    })
  }
}

/** False if its call is known to have left, so that it counts. */
export async function releaseAttempt(
  db: Db,
  { decisionId, accountId }: Pick<ReportedAttempt, 'decisionId' | 'accountId'>,
): Promise<boolean> {
  await db
    .deleteFrom('attempts')
    .where('decision_id', '=', decisionId)
    .where('account_id', '=', accountId)
    .where('placed', 'is', null)
    .execute()
  const counted = await db
    .selectFrom('attempts')
    .select('at')
    .where('decision_id', '=', decisionId)
    .executeTakeFirst()
  if (counted) return false
  await db
    .updateTable('approvals')
    .set({ state: 'approved', decision_id: null })
    .where('decision_id', '=', decisionId)
    .where('account_id', '=', accountId)
    .execute()
  return true
}
