/**
 * Judges again what is counted about other calls, and whether a number is still that of the person who gave consent: by the
 * rules, from what was counted and answered then.
 */
import type { AbandonmentCount } from '../../domain/call-outcome.js'
import { nameCampaign } from '../../domain/call-outcome.js'
import type { CallPurpose, CallRequest, Finding, Policy } from '../../domain/decision.js'
import type { ReassignedStatus } from '../../domain/lookups.js'
import type { Instant } from '../../domain/time/clock.js'
import { parseDay } from '../../domain/time/dates.js'
import type { DecisionDocument, FindingDocument } from '../../gate/record/decision-document.js'
import type { JudgeSettings } from '../../judge/judged.js'
import type { Law } from '../../judge/law.js'
import { findPlaces } from '../../judge/places.js'
import { abandonmentRule } from '../../judge/rules/abandonment.js'
import { findLimits, judgeAttempt } from '../../judge/rules/attempts.js'
import { subjectRule } from '../../judge/rules/subject.js'
import { notConfigured } from '../../service/lookups/reassigned-statuses.js'
import { instantOf } from './recorded-own-facts.js'

/** The call, and the rules that count it. */
export interface CountedContext {
  readonly request: CallRequest
  readonly number: string
  readonly purpose: CallPurpose
  /** Of the checks, judged again. */
  readonly findings: readonly Finding[]
  readonly policy: Policy
  readonly rules: {
    readonly settings: Pick<JudgeSettings, 'houseLimits' | 'exceptions' | 'subjects'>
    readonly law: Pick<Law, 'frequency' | 'exceptions' | 'abandonment'>
  }
  /** By the machine's clock. */
  readonly now: Instant
}

/** Whether the permission is judged again, on which depends which laws count the call, and whether it rests on a consent. */
const hasOwnPermission = ({ findings }: DecisionDocument): boolean =>
  findings.some(({ check, facts }) => check === 'permission' && facts !== undefined)

/** Whether a finding on what is counted or registered is judged again. */
export function isCountJudged(
  { check, reason, facts }: FindingDocument,
  document: DecisionDocument,
): boolean {
  if (check === 'abandonment') return facts !== undefined
  if (check === 'attempts' && reason === 'unknown-subject') return true
  const isOfPermission = check === 'attempts' || check === 'reassigned'
  // What could not be counted has no facts.
  return isOfPermission && facts !== undefined && hasOwnPermission(document)
}

/** `undefined` if nothing counts the call now. */
export function judgeCount(
  recorded: FindingDocument,
  context: CountedContext,
): Finding | undefined {
  if (recorded.check === 'abandonment') return judgeRecordedAbandonment(recorded, context)
  if (recorded.reason === 'unknown-subject') {
    const { request: call, purpose, rules, now } = context
    return subjectRule.judge({ call, purpose, settings: rules.settings, now })
  }
  return judgeRecordedAttempts(recorded, context)
}

interface RecordedLimit {
  readonly id: string
  readonly attempts: readonly string[]
  /** Of a full one. */
  readonly opensAt?: string
}

function judgeRecordedAttempts(
  { facts }: FindingDocument,
  { request, number, purpose, findings, policy, rules, now }: CountedContext,
): Finding | undefined {
  const ruling = { decision: 'allow', nextAllowedAt: undefined } as const
  const counting = { rules, policy, purpose, now }
  const limits = findLimits(request, { number, findings, ruling }, counting)
  if (limits === undefined) return undefined
  const left = [...((facts?.limits ?? []) as readonly RecordedLimit[])]
  const counts = limits.frequency.map((limit) => {
    const index = left.findIndex(({ id }) => id === limit.id)
    const [known] = index === -1 ? [] : left.splice(index, 1)
    const { attempts = [], opensAt } = known ?? {}
    const isFull = attempts.length >= limit.calls
    // Of a limit that was not full then, it is not known.
    const room = opensAt === undefined ? now + limit.periodMs : instantOf(opensAt)
    return { limit, attempts, opensAt: isFull ? room : undefined }
  })
  return judgeAttempt({ counts, isCounted: false }, limits, now)[0]
}

interface RecordedRate extends Omit<AbandonmentCount, 'from' | 'until'> {
  readonly from: string
  readonly until: string
}

function judgeRecordedAbandonment(
  { facts }: FindingDocument,
  { request, number, purpose, findings, rules, now }: CountedContext,
): Finding | undefined {
  const counts = ((facts?.rules ?? []) as readonly RecordedRate[]).map((rate) => ({
    ...rate,
    from: instantOf(rate.from),
    until: instantOf(rate.until),
  }))
  return abandonmentRule.judge({
    ...{ law: rules.law, call: request, number, purpose, now },
    places: findPlaces(findings),
    stored: { abandoned: new Map([[nameCampaign(request), counts]]) },
  })
}

/** What the sources of reassigned numbers said, by the finding that was made of it. */
export function toReassignedStatus({ facts, source }: FindingDocument): ReassignedStatus {
  if (facts === undefined) return notConfigured
  const { answer, says, askedAbout, safeHarbor, national, ownData, release } = facts
  const { askedBy, askedAt, holdsUntil } = facts
  const day = (value: unknown) => (typeof value === 'string' ? parseDay(value) : undefined)
  const instant = (value: unknown) => (typeof value === 'string' ? instantOf(value) : undefined)
  const since = day(askedAbout)
  const hasReport = answer === 'yes' || answer === 'no' || answer === 'disconnected'
  const report = {
    since: since ?? 0,
    national,
    own: ownData,
    hasSafeHarbor: safeHarbor === true,
    isDisconnected: answer === 'disconnected',
    askedAt: instant(askedAt) ?? Number.POSITIVE_INFINITY,
  } as NonNullable<ReassignedStatus['report']>
  return {
    result: answer as ReassignedStatus['result'],
    says: says as ReassignedStatus['says'],
    report: hasReport ? report : undefined,
    source,
    agent: askedBy as ReassignedStatus['agent'],
    askedAt: instant(askedAt),
    releasedOn: day(release),
    holdsUntil: instant(holdsUntil) ?? Number.POSITIVE_INFINITY,
  }
}
