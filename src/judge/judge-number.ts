/** The rules about the called number. Their findings are cached with the facts, and their open questions go to the provider. */
import type { Finding } from '../domain/decision.js'
import type { Instant } from '../domain/time/clock.js'
import { msPerHour } from '../domain/time/dates.js'
import type { OwnFinding } from './combine-findings.js'
import { DerivedFacts } from './derive.js'
import type { ProviderAnswers } from './facts.js'
import type { CallWithFacts, Derived, Judged } from './judged.js'
import { guard } from './make-finding.js'
import { callingHoursRule, judgeOwnHours } from './rules/calling-hours.js'
import { internalListRule, judgeOwnList } from './rules/internal-list.js'
import { judgeOwnLitigator, litigatorRule } from './rules/litigator.js'

/** The questions to a provider that our own facts leave open: it is not asked what they forbid, or what is wrong with the request. */
export function findOpenQuestions(about: CallWithFacts): ReadonlySet<keyof ProviderAnswers> {
  const open = [
    ['litigator', () => judgeOwnLitigator(about)],
    ['internalDnc', () => judgeOwnList(about, {})],
    ['legalTime', () => judgeOwnHours(about)],
  ] as const
  return new Set(['scrub', ...open.flatMap(([name, judge]) => (isOpen(judge) ? [name] : []))])
}

/** What cannot be judged is open. */
function isOpen(judge: () => OwnFinding | undefined): boolean {
  try {
    const { verdict, isRequestError } = judge()?.finding ?? {}
    return verdict !== 'deny' && isRequestError !== true
  } catch {
    return true
  }
}

/** Their findings only depend on the number, the kind of call and its purpose. */
const rulesOfNumber = [litigatorRule, internalListRule, callingHoursRule] as const

/** Findings for one set of facts under the law and settings in force, by kind and purpose of the call. */
export interface NumberMemo {
  readonly judged: Map<string, JudgedNumber>
  /** The facts as JSON, after first use. */
  ownText?: string | undefined
}

interface JudgedNumber {
  readonly derived: Derived
  /** By rule id. */
  readonly findings: ReadonlyMap<string, Finding>
  readonly from: Instant
  readonly until: Instant
}

/** Taken from `memo` while that is still valid. */
export function judgeNumber(about: CallWithFacts, memo: NumberMemo | undefined): JudgedNumber {
  const { call, stated = '', at, sources } = about
  const kept = sources.provider ? undefined : memo?.judged
  const key = `${call.callKind} ${stated}`
  const known = kept?.get(key)
  if (known && known.from <= at && at < known.until) return known
  const derived = new DerivedFacts(about)
  const judged: Judged = { ...about, derived }
  const findings = new Map(
    rulesOfNumber.map((rule) => [rule.id, guard(rule.check, about, () => rule.judge(judged))]),
  )
  // Rows of the law begin and end at full hours, somewhere.
  const nextHour = (Math.floor(at / msPerHour) + 1) * msPerHour
  const ends = [...findings.values(), derived.permission].map(({ holdsUntil }) => holdsUntil)
  const found = { derived, findings, from: at, until: Math.min(nextHour, ...ends) }
  if (found.until > at) kept?.set(key, found)
  return found
}
