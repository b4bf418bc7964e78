/** A decision as people and programs read it: the answer of the HTTP call and the kept record. */
import type { CallOutcome, NotCarriedOut, OutcomeState } from '../domain/call-outcome.js'
import { formatInstant, type Instant } from '../domain/clock.js'
import {
  type CallChannel,
  type Decision,
  degradedBy,
  type Finding,
  type PolicyEffect,
  reasonTexts,
  type Verdict,
} from '../domain/decision.js'
import type { ListVersion } from '../domain/number-set.js'

/** Which content of an imported list a finding rests on. */
export interface ListDocument {
  readonly name: string
  readonly version: string
  readonly asOf: string
}

export interface FindingDocument {
  readonly check: string
  readonly verdict: Verdict
  readonly reason: string
  readonly detail: string
  readonly source: string
  /** Milliseconds from establishing the fact to using it. */
  readonly ageMs: number
  /** The answer is past its age; the detail says why there is no newer one. */
  readonly stale?: true
  /** Instants are ISO 8601 in UTC; absent where there is none. */
  readonly opensAt?: string
  /** Absent where no imported list was looked at, or the source cannot tell. */
  readonly lists?: readonly ListDocument[]
}

/** What policy set aside of a finding, and why. */
export interface PolicyDocument {
  readonly check: string
  readonly effect: PolicyEffect['effect']
  readonly because: string
  readonly until?: string
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
  /** The digits that were judged, to be dialed as they are; on an allow only. */
  readonly dial?: string
  readonly callKind: string
  readonly decidedAt: string
  readonly judgedAt: string
  readonly validUntil: string
  readonly nextAllowedAt?: string
  readonly whatIf: boolean
  /** Checks without a fresh answer on which an allow rests all the same. */
  readonly degraded: readonly string[]
  /** Absent where policy set nothing aside. */
  readonly policy?: readonly PolicyDocument[]
  readonly findings: readonly FindingDocument[]
  readonly accountId: string
  /** Id of the key that asked. */
  readonly keyId?: string
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
  return {
    id: decision.id,
    decision: decision.decision,
    reason: decision.reason,
    message: messageOf(decision),
    number: decision.number,
    ...(decision.decision === 'allow' && { dial: decision.number }),
    callKind: request.callKind,
    decidedAt: formatInstant(decision.decidedAt),
    judgedAt: formatInstant(decision.judgedAt),
    validUntil: formatInstant(decision.validUntil),
    ...instantField('nextAllowedAt', decision.nextAllowedAt),
    whatIf: request.at !== undefined,
    degraded: degradedBy(decision),
    ...(decision.effects.length > 0 && { policy: decision.effects.map(policyDocument) }),
    findings: decision.findings.map((finding) => findingDocument(finding, decision.usedAt)),
    accountId: decision.accountId,
    ...given('keyId', request.keyId),
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

/** The reason in words, and what the finding it comes from, or policy, has to say. */
function messageOf({ decision, reason, findings, effects, detail }: Decision): string {
  if (detail !== undefined) return `${reasonTexts[reason]}: ${detail}`
  if (decision === 'allow') return effects.length === 0 ? reasonTexts[reason] : letPass(effects)
  const decisive = findings.find(
    (finding) =>
      finding.reason === reason &&
      finding.verdict !== 'pass' &&
      !effects.some(({ check }) => check === finding.check),
  )
  return decisive ? `${reasonTexts[reason]}: ${decisive.detail}` : reasonTexts[reason]
}

/** Why a call was let pass that not every check passed on a fresh answer. */
function letPass(effects: readonly PolicyEffect[]): string {
  const isStaleOnly = effects.every(({ effect }) => effect === 'stale-allowed')
  const passed = isStaleOnly ? 'every check passed, not all by fresh answers' : 'policy let it pass'
  return `${passed}: ${effects.map(policyText).join('; ')}`
}

/** One thing that policy set aside, as a person reads it. */
export function policyText({
  check,
  effect,
  because,
  until,
}: PolicyDocument | PolicyEffect): string {
  switch (effect) {
    case 'unknown-allowed':
      return `${check} unknown, allowed${untilText(until)} (${because})`
    case 'stale-allowed':
      return `${check} by an answer past its age (${because})`
    case 'shadowed':
      return `${check} in shadow, would have blocked (${because})`
  }
}

function untilText(until: string | Instant | undefined): string {
  if (typeof until === 'string') return ` until ${until}`
  return until !== undefined && Number.isFinite(until) ? ` until ${formatInstant(until)}` : ''
}

function policyDocument({ check, effect, because, until }: PolicyEffect): PolicyDocument {
  return { check, effect, because, ...instantField('until', until) }
}

function findingDocument(finding: Finding, usedAt: Instant): FindingDocument {
  return {
    check: finding.check,
    verdict: finding.verdict,
    reason: finding.reason,
    detail: finding.detail,
    source: finding.source,
    ageMs: Math.max(0, usedAt - finding.asOf),
    ...(finding.staleBecause !== undefined && { stale: true as const }),
    ...instantField('opensAt', finding.opensAt),
    ...(finding.lists && finding.lists.length > 0 && { lists: finding.lists.map(listDocument) }),
  }
}

/** Each version is written out once: it is the same in a great many records. */
const listDocuments = new WeakMap<ListVersion, ListDocument>()

function listDocument(list: ListVersion): ListDocument {
  const known = listDocuments.get(list)
  if (known) return known
  const { name, version, asOf } = list
  const made = { name, version, asOf: formatInstant(asOf) }
  listDocuments.set(list, made)
  return made
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
