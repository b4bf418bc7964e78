/** Whether too many of the calls of a campaign that persons answered were abandoned, as far as that was reported. */
import type { AbandonmentCount, AbandonmentLimit } from '../../domain/call-outcome.js'
import type { Finding } from '../../domain/decision.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { Said } from '../../domain/words/words.js'
import { type AbandonmentState, judgeAbandoned } from '../../law/abandonment-rules.js'
import type { Judged, Rule } from '../judged.js'

interface JudgedCount {
  readonly limit: AbandonmentLimit
  readonly count: AbandonmentCount
  readonly state: AbandonmentState
}

/** Nothing to judge if no law counts the call, or nothing was reported of calls of the campaign in the period. */
export const abandonmentRule = {
  id: 'abandonment',
  check: 'abandonment',
  judge(about: Judged) {
    const { law, call, number, derived, stored, times } = about
    const { purpose } = about.purpose
    const { abandoned: counts } = stored
    const { now } = times
    if (counts === undefined) return undefined
    const at = call.at ?? now
    const limits = law.abandonment.find({ number, purpose, places: derived.places }, at)
    if (limits.length === 0) return undefined
    if (counts === 'unread') {
      const says = [{ code: 'abandoned-calls-unread' }] as const
      return createFinding({ verdict: 'unknown', reason: 'check-unanswered', says }, now)
    }
    const current = counts.filter(({ from, until }) => from <= at && at < until)
    if (current.length === 0) return undefined
    const judged = limits.flatMap((limit): JudgedCount[] => {
      const count = current.find(({ rule }) => rule === limit.id)
      return count ? [{ limit, count, state: judgeAbandoned(limit, count) }] : []
    })
    if (judged.length === 0) return undefined
    const over = judged.filter(({ state }) => state === 'over')
    const says = (over.length > 0 ? over : judged).map(sayCount)
    if (over.length === 0) return createFinding({ verdict: 'pass', reason: 'permitted', says }, now)
    const opensAt = Math.max(...over.map(({ count }) => count.until))
    return createFinding({ verdict: 'deny', reason: 'abandonment-rate', says, opensAt }, now)
  },
} as const satisfies Rule

function sayCount({ limit, count, state }: JudgedCount): Said {
  const { maxPercent, warnPercent, minAnswered, citation } = limit
  const { answered, abandoned } = count
  const [since, until] = [formatInstant(count.from), formatInstant(count.until)]
  const params = { abandoned, answered, since, until, maxPercent, citation, state }
  return { code: 'abandoned-calls', params: { ...params, minAnswered, warnPercent } }
}

function createFinding(
  judgment: Pick<Finding, 'verdict' | 'reason' | 'says' | 'opensAt'>,
  asOf: Instant,
): Finding {
  const holdsUntil = Number.POSITIVE_INFINITY
  return { check: 'abandonment', source: 'outcomes', asOf, holdsUntil, ...judgment }
}
