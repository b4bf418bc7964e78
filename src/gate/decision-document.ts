/** A decision as people and programs read it: the reply to the HTTP call, and the stored record. */
import type { CallOutcome, HandoverFailure, OutcomeState } from '../domain/call-outcome.js'
import {
  type CallChannel,
  type Decision,
  listDegradedChecks,
  type PolicyEffect,
  reasonTexts,
  type Verdict,
} from '../domain/decision.js'
import type { ListVersion } from '../domain/number-set.js'
import type { Instant } from '../domain/time/clock.js'
import { formatInstant } from '../domain/time/dates.js'

/** The version of an imported list that a finding is based on. */
interface ListDocument {
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
  /** The answer is older than its maximum age; the detail says why there is no newer one. */
  readonly stale?: true | undefined
  /** Instants are ISO 8601 in UTC. */
  readonly opensAt?: string | undefined
  /** Absent if no imported list was checked, or the source does not report it. */
  readonly lists?: readonly ListDocument[] | undefined
}

/** How policy overrode a finding, and why. */
export interface PolicyDocument {
  readonly check: string
  readonly effect: PolicyEffect['effect']
  readonly because: string
  readonly until?: string | undefined
}

/** What happened to the call, as far as it is known. */
export interface OutcomeDocument {
  readonly state: OutcomeState
  readonly handedOverAt?: string | undefined
  readonly notCarriedOutAt?: string | undefined
  readonly notCarriedOut?: HandoverFailure | undefined
  readonly leg?: string | undefined
  readonly dialledAt?: string | undefined
  readonly answeredAt?: string | undefined
  readonly failedAt?: string | undefined
  readonly endedAt?: string | undefined
  readonly dialStatus?: string | undefined
  readonly cause?: number | undefined
}

export interface DecisionDocument {
  readonly id: string
  readonly decision: 'allow' | 'block'
  readonly reason: string
  readonly message: string
  readonly number: string
  /** The digits that were checked, to be dialed unchanged; on an allow only. */
  readonly dial?: string | undefined
  readonly callKind: string
  readonly decidedAt: string
  readonly judgedAt: string
  readonly validUntil: string
  readonly nextAllowedAt?: string | undefined
  readonly whatIf: boolean
  /** Checks without a fresh answer that policy allowed; empty for a block. */
  readonly degraded: readonly string[]
  /** Absent if policy overrode no finding. */
  readonly policy?: readonly PolicyDocument[] | undefined
  readonly findings: readonly FindingDocument[]
  readonly accountId: string
  /** Id of the API key. */
  readonly keyId?: string | undefined
  readonly via: string
  readonly dialed: string
  readonly channel?: CallChannel | undefined
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
  readonly postalCode?: string | undefined
  readonly callerId?: string | undefined
  readonly reference?: string | undefined
  /** Only in a stored record, if anything is known. */
  readonly outcome?: OutcomeDocument | undefined
}

const jsonTexts = new WeakMap<Decision, string>()

/** Made once per decision: the record and the reply are the same text. */
export function toDecisionJson(decision: Decision): string {
  const known = jsonTexts.get(decision)
  if (known !== undefined) return known
  const json = JSON.stringify(toDecisionDocument(decision))
  jsonTexts.set(decision, json)
  return json
}

export function toDecisionDocument(decision: Decision): DecisionDocument {
  const { request, effects, accountTime } = decision
  const decidedAt = formatInstant(decision.decidedAt)
  // JSON leaves out what is undefined.
  return {
    id: decision.id,
    decision: decision.decision,
    reason: decision.reason,
    message: formatMessage(decision),
    number: decision.number,
    dial: decision.decision === 'allow' ? decision.number : undefined,
    callKind: request.callKind,
    decidedAt,
    judgedAt:
      decision.judgedAt === decision.decidedAt ? decidedAt : formatInstant(decision.judgedAt),
    validUntil: formatInstant(decision.validUntil),
    nextAllowedAt: formatFinite(decision.nextAllowedAt),
    whatIf: request.at !== undefined,
    degraded: listDegradedChecks(decision),
    policy: effects.length > 0 ? effects.map(toPolicyDocument) : undefined,
    findings: decision.findings.map((finding) => ({
      check: finding.check,
      verdict: finding.verdict,
      reason: finding.reason,
      detail: finding.detail,
      source: finding.source,
      ageMs: Math.max(0, accountTime - finding.asOf),
      stale: finding.staleReason === undefined ? undefined : true,
      opensAt: formatFinite(finding.opensAt),
      lists: finding.lists?.length ? finding.lists.map(toListDocument) : undefined,
    })),
    accountId: decision.accountId,
    keyId: request.keyId,
    via: request.via,
    dialed: request.dialed,
    channel: request.channel,
    projectId: request.projectId,
    campaignId: request.campaignId,
    postalCode: request.postalCode,
    callerId: request.callerId,
    reference: request.reference,
  }
}

export function toOutcomeDocument(outcome: CallOutcome): OutcomeDocument {
  return {
    state: outcome.state,
    handedOverAt: formatFinite(outcome.handedOverAt),
    notCarriedOutAt: formatFinite(outcome.notCarriedOutAt),
    notCarriedOut: outcome.notCarriedOut,
    leg: outcome.leg,
    dialledAt: formatFinite(outcome.dialledAt),
    answeredAt: formatFinite(outcome.answeredAt),
    failedAt: formatFinite(outcome.failedAt),
    endedAt: formatFinite(outcome.endedAt),
    dialStatus: outcome.dialStatus,
    cause: outcome.cause,
  }
}

/** The reason in words, with the detail of the finding it comes from, or what policy overrode. */
function formatMessage({ decision, reason, findings, effects, detail }: Decision): string {
  if (detail !== undefined) return `${reasonTexts[reason]}: ${detail}`
  if (decision === 'allow')
    return effects.length === 0 ? reasonTexts[reason] : formatPolicyAllow(effects)
  const decisive = findings.find(
    (finding) =>
      finding.reason === reason &&
      finding.verdict !== 'pass' &&
      !effects.some(({ check }) => check === finding.check),
  )
  return decisive ? `${reasonTexts[reason]}: ${decisive.detail}` : reasonTexts[reason]
}

/** Why a call is allowed although not every check passed with a fresh answer. */
function formatPolicyAllow(effects: readonly PolicyEffect[]): string {
  const isStaleOnly = effects.every(({ effect }) => effect === 'stale-allowed')
  const passed = isStaleOnly ? 'every check passed, some by stale answers' : 'policy let it pass'
  return `${passed}: ${effects.map(formatPolicyEffect).join('; ')}`
}

/** How policy overrode one finding, for people. */
export function formatPolicyEffect({
  check,
  effect,
  because,
  until,
}: PolicyDocument | PolicyEffect): string {
  switch (effect) {
    case 'unknown-allowed':
      return `${check} unknown, allowed${formatUntil(until)} (${because})`
    case 'stale-allowed':
      return `${check} by a stale answer (${because})`
    case 'shadowed':
      return `${check} in shadow, would have blocked (${because})`
  }
}

function formatUntil(until: string | Instant | undefined): string {
  if (typeof until === 'string') return ` until ${until}`
  return until !== undefined && Number.isFinite(until) ? ` until ${formatInstant(until)}` : ''
}

function toPolicyDocument({ check, effect, because, until }: PolicyEffect): PolicyDocument {
  return { check, effect, because, until: formatFinite(until) }
}

const listDocuments = new WeakMap<ListVersion, ListDocument>()

/** The same few lists are part of every decision. */
function toListDocument(list: ListVersion): ListDocument {
  const known = listDocuments.get(list)
  if (known) return known
  const document = { name: list.name, version: list.version, asOf: formatInstant(list.asOf) }
  listDocuments.set(list, document)
  return document
}

/** Infinity, for an instant that is not soon, is left out. */
function formatFinite(at: Instant | undefined): string | undefined {
  return at === undefined || !Number.isFinite(at) ? undefined : formatInstant(at)
}
