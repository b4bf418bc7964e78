/** Known TCPA litigators are not called; consent does not override this. */
import type { LitigatorStatus } from '../../domain/compliance.js'
import type { Finding } from '../../domain/decision.js'
import type { ListFinding } from '../../domain/number-set.js'
import { combineSources, type OwnFinding } from '../combine-findings.js'
import { ownSource } from '../facts.js'
import type { CallWithFacts, Rule } from '../judged.js'
import { findAnswer, findOwn, isBesideProvider, judgeAnswer, judgeFact } from '../make-finding.js'

/** By an entry of the list, or none. */
const litigatorJudgments = {
  listed: { verdict: 'deny', reason: 'litigator', says: [{ code: 'litigator' }] },
  clear: { verdict: 'pass', reason: 'permitted', says: [{ code: 'no-litigator' }] },
} as const satisfies Readonly<Record<string, Pick<Finding, 'verdict' | 'reason' | 'says'>>>

export const litigatorRule = {
  id: 'litigator',
  check: 'litigator',
  judge(about: CallWithFacts) {
    const { sources, times } = about
    const asked = findAnswer(sources, 'litigator')
    return combineSources(judgeOwnLitigator(about), asked, (answer) =>
      judgeAnswer('litigator', answer, { now: times.accountNow, judge: judgeStatus }),
    )
  },
} as const satisfies Rule

function judgeStatus({ isLitigator, list }: LitigatorStatus) {
  const { listed, clear } = litigatorJudgments
  return { ...(isLitigator ? listed : clear), lists: list && [list] }
}

/** Where a provider answers, our own list is used only if one is imported. */
export function judgeOwnLitigator({ sources, times }: CallWithFacts): OwnFinding | undefined {
  const { own } = sources
  const { litigator } = own
  const isUncovered =
    litigator !== 'not-asked' &&
    litigator.why === undefined &&
    litigator.value.status === 'not-covered'
  const fact = isUncovered ? { why: toFailure(litigator.value) } : litigator
  if (fact !== 'not-asked' && fact.why?.reason === 'list-missing' && isBesideProvider(sources)) {
    return undefined
  }
  return judgeFact('litigator', fact, {
    now: times.accountNow,
    judge: ({ status, lists, holdsUntil }) => {
      const judgment = litigatorJudgments[status === 'listed' ? 'listed' : 'clear']
      return findOwn('litigator', own, { ...judgment, lists: lists.slice(0, 1), holdsUntil })
    },
  })
}

/** A list that is missing or too old clears nobody. */
function toFailure({
  says,
  isUnusable,
  isStale,
}: Extract<ListFinding, { readonly status: 'not-covered' }>) {
  const unusable = isUnusable ? 'list-unusable' : 'list-missing'
  const reason = isStale ? 'list-stale' : unusable
  return { ok: false, reason, says, source: ownSource } as const
}
