/**
 * Whether a call still reaches the person who gave the consent that it rests on. 47 CFR 64.1200(m) frees a caller from liability
 * who asked the newest data of the national database before the call, and was told `no`.
 */
import {
  type CallRow,
  findUnanswered,
  flattenAnswers,
  hasAnswerWhere,
  type ResultLetter,
} from '../../domain/compliance.js'
import type { CallKind, Finding } from '../../domain/decision.js'
import type { ReassignedStatus } from '../../domain/lookups.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import type { Instant, LocalDay } from '../../domain/time/clock.js'
import { formatDay } from '../../domain/time/dates.js'
import type { Said } from '../../domain/words/words.js'
import type { RestsOn, Sources } from '../facts.js'
import type { CallWithFacts, Judged, Rule } from '../judged.js'
import { needsPermission, relatedLetters } from './consent-evidence.js'

/** The record that a call rests on. */
export interface Basis extends RestsOn {
  /** Without the record, the call would be blocked; otherwise it lifts only limits on how often. */
  readonly isNeeded: boolean
}

/** If the record only raises frequency limits, the call is not blocked, but the record no longer counts: see {@link withoutPermission}. */
export const reassignedRule = {
  id: 'reassigned',
  check: 'reassigned',
  judge(about: Judged) {
    const { finding, basis } = judgeReassigned(about) ?? {}
    return basis?.isNeeded || finding?.verdict === 'pass' ? finding : undefined
  },
} as const satisfies Rule

/** `undefined` if no record permits the call, or nobody was asked. */
function judgeReassigned(about: Judged) {
  const { number, times, reassigned } = about
  const basis = reassigned && findBasis(about)
  if (!basis) return undefined
  const call = { ...basis, number, askedAt: times.accountNow }
  return { basis, finding: createFinding(reassigned, call) }
}

/** The permission finding if the number was reassigned: its record is ignored, so frequency limits apply. */
export function withoutPermission(finding: Finding, about: Judged): Finding {
  if (!finding.hasPermission || about.policy.reassigned.mode === 'shadow') return finding
  const { basis, finding: reassigned } = judgeReassigned(about) ?? {}
  if (!reassigned || basis?.isNeeded || reassigned.verdict === 'pass') return finding
  const says: readonly Said[] = [
    ...finding.says,
    { code: 'limits-still-apply' },
    ...reassigned.says,
  ]
  const lifting = { hasPermission: undefined, relationship: undefined, text: undefined }
  return { ...finding, ...lifting, says, reassigned }
}

/** Letters of numbers with a current record that permit such sales calls; `P` only for a permission. */
const restingLetters: Readonly<
  Record<CallKind, Readonly<Partial<Record<ResultLetter, 'P' | 'any'>>>>
> = {
  // Without the record, a list would block the call.
  manual: { O: 'P', H: 'P' },
  autodialed: { E: 'any', O: 'any', G: 'P', H: 'P' },
  ai: { E: 'P', O: 'P', G: 'P', H: 'P' },
}

function restsOnRecord(row: CallRow, call: CallWithFacts): boolean {
  const { letter, ebrType } = row
  if (call.purpose.purpose === 'telemarketing') {
    const type = restingLetters[call.call.callKind][letter]
    return type === 'any' || type === ebrType
  }
  if (ebrType !== 'P' || !relatedLetters.has(letter)) return false
  if (needsPermission(row, call)) return true
  // Of all lists, only the internal one forbids such calls.
  return (letter === 'O' || letter === 'H') && mayBeListed(call.sources)
}

function mayBeListed({ own: { entry }, provider }: Sources): boolean {
  const isOurs =
    entry !== 'not-asked' && (entry.why !== undefined || entry.value?.removedAt === null)
  const answer = provider?.internalDnc
  if (isOurs || answer === undefined) return isOurs
  return findUnanswered(answer) !== undefined || hasAnswerWhere(answer, ({ onList }) => onList)
}

/** The rows of the sources that gave one; `undefined` if none did. */
function listRows({ provider }: Sources, own: CallRow | undefined): readonly CallRow[] | undefined {
  if (provider === undefined) return own && [own]
  if (!provider.scrub.ok) return undefined
  return flattenAnswers(provider.scrub).flatMap((one) => (one.ok ? [one.value] : []))
}

/**
 * Whether it must be asked if the number was reassigned, and since when. For calls of a machine, also if it is not known whether
 * there is a record; for an emergency, never, since it rests on nothing.
 */
export function findBasis(about: Judged): Basis | undefined {
  const { call, purpose, sources, derived } = about
  if (purpose.machines === 'unlimited') return undefined
  const { callKind } = call
  // If the row cannot be derived, the permission is unknown.
  const own = derived.permission.verdict === 'unknown' ? undefined : derived.row?.row
  const all = listRows(sources, own)
  if (all === undefined) {
    if (callKind === 'manual') return undefined
    return { since: undefined, basis: 'consent', isNeeded: true }
  }
  // Nothing rests on a record, as with almost every call of a person.
  if (all.every(({ ebrType }) => ebrType === '')) return undefined
  const { permission } = derived
  const { restsOnRecord: rests, parts = [] } = permission
  const isRequired = rests || parts.some((part) => part.restsOnRecord)
  const needed = all.filter((row) => (isRequired ? row.ebrType !== '' : restsOnRecord(row, about)))
  const isNeeded = needed.length > 0
  const lifts = callKind === 'autodialed' && permission.hasPermission
  const lifting = lifts ? all.filter(({ ebrType }) => ebrType === 'P') : []
  const rows = isNeeded ? needed : lifting
  if (rows.length === 0) return undefined
  return { ...findEarliest(rows), isNeeded }
}

/** What the rows rest on. Since the earliest day more disconnects are found. */
function findEarliest(rows: readonly CallRow[]): RestsOn {
  let since: LocalDay | undefined
  let basis: Basis['basis'] = rows.some(({ ebrType }) => ebrType === 'P')
    ? 'consent'
    : 'last-contact'
  for (const { contactOn, confirmedOn, ebrType } of rows) {
    const isConfirmed = confirmedOn !== undefined && confirmedOn > (contactOn ?? confirmedOn)
    const day = isConfirmed ? confirmedOn : contactOn
    if (day === undefined || (since !== undefined && since <= day)) continue
    since = day
    basis = ebrType === 'P' && !isConfirmed ? 'consent' : 'last-contact'
  }
  return { since, basis }
}

interface AskedCall extends RestsOn {
  readonly number: PhoneNumber
  readonly askedAt: Instant
}

function createFinding(status: ReassignedStatus, call: AskedCall): Finding {
  const { result, source, holdsUntil } = status
  const isUnknown = !(result in judgments)
  const judgment = judgments[result] ?? { verdict: 'unknown', reason: 'check-unanswered' }
  return {
    check: 'reassigned',
    ...judgment,
    says: sayStatus(status, call),
    source,
    asOf: Math.min(status.report?.askedAt ?? call.askedAt, call.askedAt),
    holdsUntil: isUnknown ? Number.NEGATIVE_INFINITY : (holdsUntil ?? Number.POSITIVE_INFINITY),
  }
}

const pass = { verdict: 'pass', reason: 'permitted' } as const

/** The others are unknown. */
const judgments: Readonly<
  Partial<Record<ReassignedStatus['result'], Pick<Finding, 'verdict' | 'reason'>>>
> = {
  yes: { verdict: 'deny', reason: 'reassigned' },
  disconnected: { verdict: 'deny', reason: 'disconnected' },
  no: pass,
  'not-covered': pass,
  // As a register of caller IDs without a number: doctor says so.
  'not-configured': pass,
}

function sayStatus(
  { result, says, report, source: asked, releasedOn = 0 }: ReassignedStatus,
  { since, basis }: RestsOn,
): readonly Said[] {
  const day = formatDay(report?.since ?? since ?? 0)
  const about = { since: day, basis, asked, release: formatDay(releasedOn) }
  switch (result) {
    case 'yes':
      return [{ code: 'number-reassigned', params: about }]
    case 'disconnected':
      return [{ code: 'out-of-service', params: { asked } }]
    case 'no': {
      const said: Said = { code: 'not-reassigned', params: about }
      return report?.hasSafeHarbor ? [said, { code: 'safe-harbor' }] : [said]
    }
    default:
      return [says ?? { code: 'reassigned-unreachable' }]
  }
}
