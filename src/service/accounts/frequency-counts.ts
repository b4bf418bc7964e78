/** Which attempts count towards the frequency limits of a call. */
import {
  type Attempt,
  countedReach,
  type FrequencyCount,
  type FrequencyLimit,
} from '../../domain/mandate.js'
import type { Instant } from '../../domain/time/clock.js'
import { findEnd, findLatestNotCounted } from '../../law/frequency-limits.js'
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

/** What is not known of an attempt, every limit counts. */
async function readCount(
  db: Db,
  { accountId, call: { number }, personId, subject, at }: Attempt,
  limit: FrequencyLimit,
  until: Instant,
): Promise<FrequencyCount> {
  const { calls, per, isPerSubject, counts, purposes } = limit
  const person = per === 'person' ? personId : undefined
  const newest = (column: 'number' | 'person', value: string) => {
    let query = db
      .selectFrom('attempts')
      .select(['decision_id', 'at'])
      .where('account_id', '=', accountId)
      .where(column, '=', value)
      .where('at', '>', findLatestNotCounted(limit, at))
      .where('at', '<=', until)
    if (isPerSubject && subject !== undefined) {
      query = query.where((row) =>
        row.or([row('subject', '=', subject), row('subject', 'is', null)]),
      )
    }
    if (counts !== 'all') {
      query = query.where((row) =>
        row.or([row('reach', '>=', countedReach[counts]), row('reach', 'is', null)]),
      )
    }
    if (purposes) query = query.where('purpose', 'in', purposes)
    return query.orderBy('at', 'desc').limit(calls).execute()
  }
  const rows = await newest('number', number)
  if (person !== undefined) rows.push(...(await newest('person', person)))
  const counted = [...new Map(rows.map((row) => [row.decision_id, Number(row.at)]))]
    .sort(([, one], [, other]) => other - one)
    .slice(0, calls)
  const attempts = counted.map(([id]) => id)
  const last = counted[calls - 1]
  if (last === undefined) return { limit, attempts }
  return { limit, attempts, opensAt: findEnd(limit, last[1]) }
}
