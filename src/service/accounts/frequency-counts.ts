/** Which attempts count towards the frequency limits of a call. */
import type { Attempt, FrequencyCount, FrequencyLimit } from '../../domain/mandate.js'
import type { Instant } from '../../domain/time/clock.js'
import type { Db } from '../../storage/tables.js'

/** Those until an instant; by default, also those of a server whose clock is ahead. */
export async function readFrequencyCounts(
  db: Db,
  attempt: Attempt,
  limits: readonly FrequencyLimit[],
  until: Instant = Number.MAX_SAFE_INTEGER,
): Promise<readonly FrequencyCount[]> {
  const counts: FrequencyCount[] = []
  for (const limit of limits) counts.push(await readCount(db, attempt, limit, until))
  return counts
}

/** An attempt at an instant counts until, and not at, the instant a period later. */
async function readCount(
  db: Db,
  { accountId, call: { number }, personId, subject, at }: Attempt,
  limit: FrequencyLimit,
  until: Instant,
): Promise<FrequencyCount> {
  const { calls, periodMs, per, isPerSubject, counts } = limit
  const person = per === 'person' ? personId : undefined
  const newest = (column: 'number' | 'person', value: string) => {
    let query = db
      .selectFrom('attempts')
      .select(['decision_id', 'at'])
      .where('account_id', '=', accountId)
      .where(column, '=', value)
      .where('at', '>', at - periodMs)
      .where('at', '<=', until)
    if (isPerSubject && subject !== undefined) {
      query = query.where((row) =>
        row.or([row('subject', '=', subject), row('subject', 'is', null)]),
      )
    }
    if (counts === 'connected') {
      query = query.where((row) => row.or([row('answered', '=', 1), row('answered', 'is', null)]))
    }
    return query.orderBy('at', 'desc').limit(calls).execute()
  }
  const rows = await newest('number', number)
  if (person !== undefined) rows.push(...(await newest('person', person)))
  const counted = [...new Map(rows.map((row) => [row.decision_id, Number(row.at)]))]
    .sort(([, one], [, other]) => other - one)
    .slice(0, calls)
  const attempts = counted.map(([id]) => id)
  const last = counted[calls - 1]
  return last === undefined ? { limit, attempts } : { limit, attempts, opensAt: last[1] + periodMs }
}
