/** Held numbers: blocked while it is unknown which call of a platform had an opt-out. */
import { sql } from 'kysely'
import type { Db } from '../tables.js'

export interface HeldNumber {
  readonly accountId: string
  readonly number: string
  readonly platform: string
  readonly heardAt: number
  /** Id of the unclear opt-out. */
  readonly heldBy: string
}

/** A call that was allowed longer ago is over. */
const maxCallMs = 14_400_000

/** Reads the numbers of calls that may have had the opt-out. A call with a known platform id did not, since the opt-out did not name it. */
export async function readHeldNumbers(db: Db, accountId?: string): Promise<readonly HeldNumber[]> {
  return await db
    .selectFrom('unclear_opt_outs as heard')
    .innerJoin('platform_calls as calls', (join) =>
      join
        .onRef('calls.account_id', '=', 'heard.account_id')
        .onRef('calls.platform', '=', 'heard.platform')
        .onRef('calls.registered_at', '<=', 'heard.heard_at')
        .on('calls.registered_at', '>=', sql<number>`heard.heard_at - ${maxCallMs}`),
    )
    .select([
      'calls.account_id as accountId',
      'calls.platform',
      'heard.heard_at as heardAt',
      'heard.id as heldBy',
      sql<string>`calls.number`.as('number'),
    ])
    .distinct()
    .where('heard.resolved_at', 'is', null)
    .where('heard.kind', 'in', ['unjoined', 'own-number'])
    .where('heard.decision_id', 'is', null)
    .where('calls.has_call_id', '=', 0)
    .where('calls.number', 'is not', null)
    .$if(accountId !== undefined, (query) => query.where('heard.account_id', '=', accountId ?? ''))
    .execute()
}

/** Key of a held number among the pauses, which the gate keeps in memory. */
export const nameHeldNumber = (accountId: string, number: string): `held:${string}:${string}` =>
  `held:${accountId}:${number}`
