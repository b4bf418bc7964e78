/**
 * People who asked not to be called again are not called, unless they gave written permission
 * after that (spec, "Internal DNC membership": a newer Permission EBR overrides an entry).
 *
 * Only the source that keeps both the entry and the permission can say which is newer. So an entry is
 * overridden only by a scrub row of its own source, and if several sources list the number, each of
 * them must have such a row.
 */

import {
  type Answer,
  type AnswerSuccess,
  flattenAnswers,
  type ScrubVerdict,
} from '../../domain/compliance.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { Check } from './check.js'

export const internalDncCheck: Check<'internalDnc'> = {
  name: 'internal-dnc',
  question: 'internalDnc',
  /**
   * A listed number without a row that shows a newer permission is denied, not unknown: policy on
   * unknowns must not allow a number that is known to be listed because its scrub is late.
   */
  judge(entry, { answers }) {
    const { onList, addedAt } = entry.value
    if (!onList) {
      const detail = 'not on the internal do-not-call list'
      return { verdict: 'pass', reason: 'permitted', detail }
    }
    const listed = formatListed(addedAt)
    const row = findFreshRow(entry.source, answers.scrub)
    if (row?.value.ebrType !== 'P') {
      return { verdict: 'deny', reason: 'internal-dnc', detail: listed }
    }
    const { letter, optOut, detail } = row.value
    if (letter === 'O' || letter === 'H') {
      return {
        verdict: 'pass',
        reason: 'permitted',
        detail: `${listed}; a newer permission record overrides it`,
        asOf: Math.min(entry.asOf, row.asOf),
        holdsUntil: Math.min(entry.holdsUntil, row.holdsUntil),
      }
    }
    if (letter !== 'P') return { verdict: 'deny', reason: 'internal-dnc', detail: listed }
    const why = optOut && detail !== undefined ? `; ${detail}` : ''
    if (optOut === 'not-lifted') {
      return { verdict: 'deny', reason: 'internal-dnc', detail: `${listed}${why}` }
    }
    const revoked = why || ', which is newer than the permission record'
    return { verdict: 'deny', reason: 'consent-revoked', detail: `${listed}${revoked}` }
  },
}

function formatListed(addedAt: Instant | undefined): string {
  const since = addedAt === undefined ? '' : ` since ${formatInstant(addedAt)}`
  return `on the internal do-not-call list${since}`
}

/**
 * The row of that source. A stale row shows no permission, since it may have been withdrawn
 * meanwhile; answers beside a stale answer were kept just as long.
 */
function findFreshRow(
  source: string,
  scrub: Answer<ScrubVerdict>,
): AnswerSuccess<ScrubVerdict> | undefined {
  if (!scrub.ok || scrub.staleReason !== undefined) return undefined
  for (const row of flattenAnswers(scrub)) {
    if (row.ok && row.source === source && row.staleReason === undefined) return row
  }
  return undefined
}
