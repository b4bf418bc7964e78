/** Calls that an edge is about to allow are counted at the center, with those of all other servers. */
import type { EdgeAttemptRequest } from '../api/edges.js'
import type { Caller } from '../domain/caller.js'
import type { AttemptCounter, CountedAttempt } from '../domain/mandate.js'
import { AppError } from '../errors.js'
import type { Db } from '../storage/tables.js'
import type { CenterClient } from './center-client.js'

/** At the edge. */
export function countAtCenter(client: Pick<CenterClient, 'attempt'>): AttemptCounter {
  return {
    take: (attempt, limits) => client.attempt({ action: 'take', attempt, limits }),
    readCounts: async (attempt, limits) =>
      (await client.attempt({ action: 'read', attempt, limits })).counts,
    release: async ({ decisionId }) => {
      await client.attempt({ action: 'release', decisionId })
    },
  }
}

const nothing: CountedAttempt = { isCounted: false, counts: [] }

/** At the center. Throws `forbidden` for a call of another account, or of its key. */
export async function countForEdge(
  { accountId, keyId }: Caller,
  request: EdgeAttemptRequest,
  { counter, db }: { readonly counter: AttemptCounter; readonly db: Db },
): Promise<CountedAttempt> {
  if (request.action === 'release') {
    await counter.release({ decisionId: request.decisionId, accountId })
    return nothing
  }
  const { attempt } = request
  const ofKey = db.selectFrom('api_keys').select('id').where('account_id', '=', accountId)
  const isOwn =
    attempt.accountId === accountId &&
    (attempt.keyId === '' || (await ofKey.where('id', '=', attempt.keyId).executeTakeFirst()))
  if (!isOwn) {
    throw new AppError(
      'forbidden',
      `key ${keyId}: the attempt is of another account than ${accountId}`,
    )
  }
  if (request.action === 'take') return await counter.take(attempt, request.limits)
  return { isCounted: false, counts: await counter.readCounts(attempt, request.limits) }
}
