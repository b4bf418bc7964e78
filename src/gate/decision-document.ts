/** A decision as people and programs read it: the answer of the HTTP call and the kept record. */
import type { CallOutcome, NotCarriedOut, OutcomeState } from '../domain/call-outcome.js'
import { formatInstant, type Instant } from '../domain/clock.js'
import {
  type CallChannel,
  type Decision,
  degradedBy,
  type Finding,
  reasonTexts,
  type Verdict,
} from '../domain/decision.js'

export interface FindingDocument {
  readonly check: string
  readonly verdict: Verdict
  readonly reason: string
  readonly detail: string
  readonly source: string
  /** Milliseconds from establishing the fact to using it. */
  readonly ageMs: number
  /** Instants are ISO 8601 in UTC; absent where there is none. */
  readonly opensAt?: string
}

/** What became of the call, as far as it is known. */
export interface OutcomeDocument {
  readonly state: OutcomeState
  readonly handedOverAt?: string
  readonly notCarriedOutAt?: string
  readonly notCarriedOut?: NotCarriedOut
  readonly leg?: string
  readonly dialledAt?: string
  readonly answeredAt?: string
  readonly failedAt?: string
  readonly endedAt?: string
  readonly dialStatus?: string
  readonly cause?: number
}

export interface DecisionDocument {
  readonly id: string
  readonly decision: 'allow' | 'block'
  readonly reason: string
  readonly message: string
  readonly number: string
  readonly callKind: string
  readonly decidedAt: string
  readonly judgedAt: string
  readonly validUntil: string
  readonly nextAllowedAt?: string
  readonly whatIf: boolean
  readonly degraded: readonly string[]
  readonly findings: readonly FindingDocument[]
  readonly accountId: string
  readonly via: string
  readonly dialed: string
  readonly channel?: CallChannel
  readonly projectId?: string
  readonly campaignId?: string
  readonly postalCode?: string
  readonly callerId?: string
  readonly reference?: string
  /** Of a kept record only, and where anything is known. */
  readonly outcome?: OutcomeDocument
}

export function decisionDocument(decision: Decision): DecisionDocument {
  const { request } = decision
  const usedAt = request.at === undefined ? decision.judgedAt : Number.NEGATIVE_INFINITY
  return {
    id: decision.id,
    decision: decision.decision,
    reason: decision.reason,
    message: messageOf(decision),
    number: decision.number,
    callKind: request.callKind,
    decidedAt: formatInstant(decision.decidedAt),
    judgedAt: formatInstant(decision.judgedAt),
    validUntil: formatInstant(decision.validUntil),
    ...instantField('nextAllowedAt', decision.nextAllowedAt),
    whatIf: request.at !== undefined,
    degraded: degradedBy(decision),
    findings: decision.findings.map((finding) => findingDocument(finding, usedAt)),
    accountId: decision.accountId,
    via: request.via,
    dialed: request.dialed,
    ...(request.channel && { channel: request.channel }),
    ...given('projectId', request.projectId),
    ...given('campaignId', request.campaignId),
    ...given('postalCode', request.postalCode),
    ...given('callerId', request.callerId),
    ...given('reference', request.reference),
  }
}

export function outcomeDocument(outcome: CallOutcome): OutcomeDocument {
  return {
    state: outcome.state,
    ...instantField('handedOverAt', outcome.handedOverAt),
    ...instantField('notCarriedOutAt', outcome.notCarriedOutAt),
    ...(outcome.notCarriedOut && { notCarriedOut: outcome.notCarriedOut }),
    ...given('leg', outcome.leg),
    ...instantField('dialledAt', outcome.dialledAt),
    ...instantField('answeredAt', outcome.answeredAt),
    ...instantField('failedAt', outcome.failedAt),
    ...instantField('endedAt', outcome.endedAt),
    ...given('dialStatus', outcome.dialStatus),
    ...(outcome.cause !== undefined && { cause: outcome.cause }),
  }
}

/** The reason in words, and what the finding it comes from has to say. */
function messageOf({ reason, findings, detail }: Decision): string {
  if (detail !== undefined) return `${reasonTexts[reason]}: ${detail}`
  const decisive = findings.find(
    (finding) => finding.reason === reason && finding.verdict !== 'pass',
  )
  return decisive ? `${reasonTexts[reason]}: ${decisive.detail}` : reasonTexts[reason]
}

/** The facts of a what-if are asked for at that moment, so their age is nothing. */
function findingDocument(finding: Finding, usedAt: Instant): FindingDocument {
  return {
    check: finding.check,
    verdict: finding.verdict,
    reason: finding.reason,
    detail: finding.detail,
    source: finding.source,
    ageMs: Math.max(0, usedAt - finding.asOf),
    ...instantField('opensAt', finding.opensAt),
  }
}

function instantField<Name extends string>(
  name: Name,
  at: Instant | undefined,
): { readonly [key in Name]?: string } {
  return at === undefined || !Number.isFinite(at)
    ? {}
    : ({ [name]: formatInstant(at) } as { [key in Name]: string })
}

function given<Name extends string>(
  name: Name,
  value: string | undefined,
): { readonly [key in Name]?: string } {
  return value === undefined ? {} : ({ [name]: value } as { [key in Name]: string })
}
