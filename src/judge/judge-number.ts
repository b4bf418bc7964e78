/** The rules about the number of a call. */

import { reasons } from '../domain/checks.js'
import type { RequiredConsent } from '../domain/consent/consent-records.js'
import type { CheckName, Finding } from '../domain/decision.js'
import type { AppliedException } from '../domain/mandate.js'
import type { Instant } from '../domain/time/clock.js'
import { msPerHour } from '../domain/time/dates.js'
import type { OwnFinding } from './combine-findings.js'
import { deriveRow, type OwnRow } from './derive.js'
import { prepareExceptions } from './exceptions.js'
import type { ProviderAnswers } from './facts.js'
import { isBesideProvider, judgeAnswer, type NumberCall } from './number-call.js'
import { findPlaces } from './places.js'
import { judgeCallingHours, judgeLiftedHours, judgeOwnHours } from './rules/calling-hours.js'
import { judgeInternalList, judgeOwnList } from './rules/internal-list.js'
import { judgeLitigator, judgeOwnLitigator } from './rules/litigator.js'
import { judgePermission } from './rules/permission.js'

/** The questions to a provider that our own facts leave open: it is not asked what they forbid, or what is wrong with the request. */
export function listOpenQuestions(about: NumberCall): ReadonlySet<keyof ProviderAnswers> {
  const findNoRow = () => undefined
  const open = [
    ['litigator', () => judgeOwnLitigator(about)],
    ['internalDnc', () => judgeOwnList(about, findNoRow)],
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

export interface JudgedNumber {
  /** Litigator, internal list, calling hours, permission. */
  readonly findings: readonly Finding[]
  /** Our own; absent if it is not known, and where a provider answers. */
  readonly row: OwnRow | undefined
}

/** What was judged of some facts by the law and settings in force, by what else it depends on. */
export interface NumberMemo {
  readonly judged: Map<string, MemoizedNumber>
  /** The facts as JSON, once that was needed. */
  ownText?: string | undefined
}

interface MemoizedNumber {
  readonly judged: JudgedNumber
  readonly from: Instant
  readonly until: Instant
}

/** As {@link judgeNumber} does it, from `memo` while what it has still holds. */
export function judgeNumberOnce(about: NumberCall, memo: NumberMemo | undefined): JudgedNumber {
  if (memo === undefined || about.sources.provider) return judgeNumber(about)
  const { call, stated = '', at } = about
  const key = `${call.callKind} ${stated}`
  const known = memo.judged.get(key)
  if (known && known.from <= at && at < known.until) return known.judged
  const judged = judgeNumber(about)
  // Rows of the law begin and end at full hours, somewhere.
  const nextHour = (Math.floor(at / msPerHour) + 1) * msPerHour
  const until = Math.min(nextHour, ...judged.findings.map(({ holdsUntil }) => holdsUntil))
  if (until > at) memo.judged.set(key, { judged, from: at, until })
  return judged
}

export function judgeNumber(about: NumberCall): JudgedNumber {
  let known: OwnRow | undefined
  const findRow = () => {
    const { permission } = about.sources.own
    if (permission === 'not-asked' || permission.why !== undefined) return undefined
    known ??= deriveRow(about, permission.value)
    return known
  }
  const litigator = guard('litigator', about, () => judgeLitigator(about))
  const internalList = guard('internal-dnc', about, () => judgeInternalList(about, findRow))
  const hours = guard('calling-hours', about, () => judgeCallingHours(about))
  const permission = guard('permission', about, () =>
    judgePermission(about, findLaws(about, hours), (facts) => findRow() ?? deriveRow(about, facts)),
  )
  const lifted = findLifted(about, hours, permission)
  if (lifted.length === 0)
    return { findings: [litigator, internalList, hours, permission], row: known }
  const liftedHours = guard('calling-hours', about, () => judgeLiftedHours(about, lifted))
  const atAnyTime = isOfTime(permission)
    ? guard('permission', about, () => judgeWithoutTime(about, findLaws(about, hours), findRow))
    : permission
  return { findings: [litigator, internalList, liftedHours, atAnyTime], row: known }
}

/** What a rule cannot judge is unknown, whatever fails in it. */
function guard(check: CheckName, { now }: NumberCall, judge: () => Finding): Finding {
  try {
    return judge()
  } catch (cause) {
    const says = [{ code: 'source-failed', quote: String(cause) }] as const
    const failure = { ok: false, reason: 'source-failed', says, source: 'gate' } as const
    return judgeAnswer<never>(check, failure, { now, judge: (never) => never })
  }
}

/** The state consent laws of the call. */
function findLaws(
  { law, call, purpose, number, at }: NumberCall,
  hours: Finding,
): readonly RequiredConsent[] {
  const places = findPlaces([hours])
  const { callKind } = call
  return law.requiredConsents.find({ callKind, purpose: purpose.purpose, number, places }, at)
}

/** The exceptions that lift the hours of a sales call. Only our own facts name the relationship. */
function findLifted(
  { law, settings, call, purpose, at, sources }: NumberCall,
  hours: Finding,
  { relationship }: Finding,
): readonly AppliedException[] {
  if (
    isBesideProvider(sources) ||
    purpose.purpose !== 'telemarketing' ||
    relationship === undefined
  )
    return []
  if (!isOfTime(hours)) return []
  return prepareExceptions(call, { settings, law }, at)?.('hours', relationship) ?? []
}

function isOfTime({ verdict, reason }: Finding): boolean {
  return verdict === 'deny' && reasons[reason].kind === 'time'
}

/** By the row at a time of day at which calls are allowed: its letter and records decide alone. */
function judgeWithoutTime(
  about: NumberCall,
  laws: readonly RequiredConsent[],
  findRow: () => OwnRow | undefined,
): Finding {
  const allowed = { manual: true, autodialed: true, ai: true }
  return judgePermission(about, laws, (facts) => {
    const found = findRow() ?? deriveRow(about, facts)
    return { ...found, row: { ...found.row, doNotCallToday: false, allowed, opensAt: undefined } }
  })
}
