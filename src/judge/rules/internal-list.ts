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
  type CallRow,
  flattenAnswers,
  type InternalDncStatus,
} from '../../domain/compliance.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatDay, toUtcDay } from '../../domain/time/dates.js'
import type { Said } from '../../domain/words/words.js'
import { combineSources, type OwnFinding } from '../combine-findings.js'
import type { CallWithFacts, Derived, Judged, OwnRow, Rule } from '../judged.js'
import { findAnswer, findOwn, type Judgment, judgeAnswer, judgeFact } from '../make-finding.js'
import { findConsentProblem } from './consent-evidence.js'

const notOnInternalList = {
  verdict: 'pass',
  reason: 'permitted',
  says: [{ code: 'not-on-internal-list' }],
} as const satisfies Judgment

export const internalListRule = {
  id: 'internal-list',
  check: 'internal-dnc',
  judge(about: Judged) {
    const { times, sources, derived } = about
    const scrub = sources.provider?.scrub
    const asked = findAnswer(sources, 'internalDnc')
    return combineSources(judgeOwnList(about, derived), asked, (answer) =>
      judgeAnswer('internal-dnc', answer, {
        now: times.accountNow,
        judge: ({ onList, addedAt }) =>
          onList ? judgeListed(addedAt, findFreshRow(answer, scrub), about) : notOnInternalList,
      }),
    )
  },
} as const satisfies Rule

/** `row` shows whether a permission is newer. */
export function judgeOwnList(
  about: CallWithFacts,
  derived: Partial<Pick<Derived, 'row'>>,
): OwnFinding | undefined {
  const {
    sources: { own },
    times,
  } = about
  return judgeFact('internal-dnc', own.entry, {
    now: times.accountNow,
    judge: (entry) => {
      if (entry?.removedAt !== null) return findOwn('internal-dnc', own, notOnInternalList)
      return findOwn('internal-dnc', own, judgeListed(entry.addedAt, derived.row, about))
    },
  })
}

/**
 * A listed number without a row that shows a newer permission is denied, not unknown: policy on
 * unknowns must not allow a number that is known to be listed because its scrub is late.
 */
function judgeListed(
  addedAt: Instant | undefined,
  found: Pick<OwnRow, 'row' | 'asOf' | 'holdsUntil'> | undefined,
  about: CallWithFacts,
): Judgment {
  const listed = sayListed(addedAt)
  const { row } = found ?? {}
  if (found === undefined || row?.ebrType !== 'P') {
    return { verdict: 'deny', reason: 'internal-dnc', says: [listed] }
  }
  const { letter, optOut } = row
  // A ban on sales calls to mobile numbers forbids no others.
  const isUnbanned = letter === 'V' && about.purpose.purpose !== 'telemarketing'
  if (letter === 'O' || letter === 'H' || isUnbanned) {
    const problem = findConsentProblem(row, about)
    if (problem) return { verdict: 'deny', reason: 'internal-dnc', says: [listed, problem.says] }
    const { asOf, holdsUntil } = found
    const says = [listed, { code: 'newer-permission' } as const]
    return { verdict: 'pass', reason: 'permitted', says, asOf, holdsUntil }
  }
  if (letter !== 'P') return { verdict: 'deny', reason: 'internal-dnc', says: [listed] }
  const why = optOut ? row.says : []
  if (optOut === 'not-lifted') {
    return { verdict: 'deny', reason: 'internal-dnc', says: [listed, ...why] }
  }
  const revoked: readonly Said[] = why.length > 0 ? why : [{ code: 'newer-opt-out' }]
  return { verdict: 'deny', reason: 'consent-revoked', says: [listed, ...revoked] }
}

function sayListed(addedAt: Instant | undefined): Said {
  if (addedAt === undefined) return { code: 'on-internal-list' }
  return { code: 'on-internal-list-since', params: { since: formatDay(toUtcDay(addedAt)) } }
}

/**
 * The row of that source. A stale row shows no permission, since it may have been withdrawn
 * meanwhile; answers beside a stale answer were kept just as long.
 */
function findFreshRow(
  entry: Answer<InternalDncStatus>,
  scrub: Answer<CallRow> | undefined,
): Pick<OwnRow, 'row' | 'asOf' | 'holdsUntil'> | undefined {
  if (!entry.ok || !scrub?.ok || scrub.notRenewed !== undefined) return undefined
  const isOfSource = (row: Answer<CallRow>): row is AnswerSuccess<CallRow> =>
    row.ok && row.source === entry.source && row.notRenewed === undefined
  const row = flattenAnswers(scrub).find(isOfSource)
  if (row === undefined) return undefined
  return {
    row: row.value,
    asOf: Math.min(entry.asOf, row.asOf),
    holdsUntil: Math.min(endOf(entry), endOf(row)),
  }
}

const endOf = ({ holdsUntil = Number.POSITIVE_INFINITY }: AnswerSuccess<unknown>) => holdsUntil
