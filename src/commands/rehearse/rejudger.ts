/**
 * Judges recorded decisions again by another configuration, from what their records say: our own rules are
 * applied to the recorded facts by the same code as in a decision. What no rule changes, such as the answers
 * of a provider, stays as it was found.
 */
import type { Configuration } from '../../app/configuration.js'
import type { Settings } from '../../config/settings.js'
import { CallingRules } from '../../data/calling-rules/calling-rules.js'
import {
  type CallKind,
  type CallPurpose,
  type CallRequest,
  type CheckName,
  type Decision,
  decide,
  type Finding,
  type Policy,
  type ReasonCode,
  type StatedPurpose,
  telemarketing,
  toShadowPolicy,
} from '../../domain/decision.js'
import { parseDialString, toPhoneNumber } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'
import { buildPolicy } from '../../gate/build-policy.js'
import { findPurpose, selectLegalTimeOptions } from '../../gate/call-terms.js'
import { allChecks, runChecks } from '../../gate/checks/checks.js'
import { pickStrictestFinding } from '../../gate/checks/combine-findings.js'
import { prepareExceptions } from '../../gate/checks/exceptions.js'
import {
  type DecisionDocument,
  type FindingDocument,
  recordVersion,
} from '../../gate/decision-document.js'
import { findRegionDays } from '../../gate/mandate.js'
import {
  type CallRuling,
  ruleBeforeChecks,
  rulingWithoutFindings,
} from '../../gate/pre-check-ruling.js'
import { nodeRuntime } from '../../runtime/runtime.js'
import {
  instantOf,
  type OwnFindings,
  RecordedCompliance,
  selectOwnFindings,
  toListVersion,
} from './recorded-compliance.js'

/**
 * - `old-record`: written before records had the facts;
 * - `newer-record`: written by a newer version of the program;
 * - `erased`: its facts were erased with the number;
 * - `not-checked`: it was blocked before any check, and would be checked now.
 */
export const unjudgedReasons = ['old-record', 'newer-record', 'erased', 'not-checked'] as const
export type UnjudgedReason = (typeof unjudgedReasons)[number]

/**
 * - `judged`: the decision by the other configuration;
 * - `by-gate`: the gate blocked the call whatever the rules say, for example because it was overloaded;
 * - `unjudged`: the record does not say what the rules would be applied to.
 */
export type Rejudgment =
  | { readonly kind: 'judged'; readonly decision: Decision }
  | { readonly kind: 'by-gate' }
  | { readonly kind: 'unjudged'; readonly why: UnjudgedReason }

const gateReasons: ReadonlySet<string> = new Set<ReasonCode>([
  'not-recorded',
  'clock-behind',
  'clock-ahead',
  'not-current',
  'expired',
  'invalid-request',
  'overloaded',
])

export class Rejudger {
  readonly #settings: Settings
  readonly #policy: Policy
  readonly #shadowPolicy: Policy
  readonly #serviceCodes: ReadonlySet<string>
  readonly #rules: CallingRules
  readonly #compliance: RecordedCompliance

  /** Throws a `RangeError` for an invalid proclaimed day or emergency. */
  constructor({ settings, rules }: Pick<Configuration, 'settings' | 'rules'>) {
    this.#settings = settings
    this.#policy = buildPolicy(settings)
    this.#shadowPolicy = toShadowPolicy(this.#policy)
    this.#serviceCodes = new Set(settings.gate.serviceCodes)
    this.#rules = new CallingRules(rules)
    this.#compliance = new RecordedCompliance(this.#rules, settings)
  }

  rejudge(document: DecisionDocument): Rejudgment {
    if (document.erased) return { kind: 'unjudged', why: 'erased' }
    const version = document.recordVersion ?? 1
    if (version < recordVersion) return { kind: 'unjudged', why: 'old-record' }
    if (version > recordVersion) return { kind: 'unjudged', why: 'newer-record' }
    if (gateReasons.has(document.reason)) return { kind: 'by-gate' }
    const dialed = parseDialString(document.dialed, this.#serviceCodes)
    if (dialed.kind !== 'nanp') {
      const judgment = ruleBeforeChecks(dialed, this.#settings.gate.nonNanp)
      return { kind: 'judged', decision: this.#createDecision(document, judgment) }
    }
    if (document.findings.length === 0) return { kind: 'unjudged', why: 'not-checked' }
    const { stated, refusal } = findPurpose(
      toRequest(document),
      this.#settings.gate.purposes,
      this.#rules.purposes,
    )
    if (refusal !== undefined) {
      const refused = rulingWithoutFindings(dialed.number, 'block', 'purpose-not-allowed')
      return {
        kind: 'judged',
        decision: this.#createDecision(document, { ...refused, detail: refusal }),
      }
    }
    const findings = this.#judgeFindings(document, stated)
    const { accounts, trunks } = this.#settings.gate.shadow
    const { accountId, trunk, number } = document
    const isShadowed =
      accounts.includes(accountId) || (trunk !== undefined && trunks.includes(trunk))
    const policyAt = Math.max(instantOf(document.decidedAt), instantOf(document.judgedAt))
    const ruling = decide(findings, isShadowed ? this.#shadowPolicy : this.#policy, policyAt)
    return {
      kind: 'judged',
      decision: this.#createDecision(document, { number, ruling, findings }, stated),
    }
  }

  #createDecision(
    document: DecisionDocument,
    { number, ruling, findings, detail }: CallRuling,
    purpose?: StatedPurpose,
  ): Decision {
    const { allowValidMs, blockValidMs } = this.#settings.gate
    const request = toRequest(document)
    const judgedAt = instantOf(document.judgedAt)
    const maxValidMs = ruling.decision === 'allow' ? allowValidMs : blockValidMs
    return {
      ...ruling,
      id: document.id,
      accountId: document.accountId,
      request,
      number,
      findings,
      decidedAt: instantOf(document.decidedAt),
      judgedAt,
      accountTime: accountTimeOf(document),
      purpose,
      disclosures:
        ruling.reason === 'permitted'
          ? this.#rules.listDisclosures({ ...request, purpose: purpose?.purpose }, judgedAt, () =>
              findRegionDays(findings, judgedAt),
            )
          : undefined,
      detail,
      validUntil: Math.max(judgedAt, Math.min(judgedAt + maxValidMs, ruling.holdsUntil)),
    }
  }

  #judgeFindings(
    document: DecisionDocument,
    stated: StatedPurpose | undefined,
  ): readonly Finding[] {
    const accountTime = accountTimeOf(document)
    const judged = new Map(
      this.#runOwnChecks(document, accountTime, stated).map((finding) => [finding.check, finding]),
    )
    const own = selectOwnFindings(document)
    const judge = (recorded: FindingDocument): Finding => {
      const found = judged.get(recorded.check as CheckName)
      if (found === undefined || own[recorded.check as keyof OwnFindings] !== recorded) {
        return restoreFinding(recorded, accountTime)
      }
      return { ...found, detail: restoreAge(found.detail, recorded.detail) }
    }
    return document.findings.map((finding) => {
      if (finding.parts === undefined) return judge(finding)
      const parts = finding.parts.map(judge)
      return { ...pickStrictestFinding(parts), parts }
    })
  }

  #runOwnChecks(
    document: DecisionDocument,
    askedAt: Instant,
    stated: StatedPurpose | undefined,
  ): readonly Finding[] {
    const own = selectOwnFindings(document)
    const checks = allChecks.filter(({ name }) => name in own)
    if (checks.length === 0) return []
    const { accountId, callKind, projectId, campaignId, postalCode, at } = toRequest(document)
    const purpose = stated ? this.#rules.purposes.find(stated.purpose) : telemarketing
    const question = {
      accountId,
      number: toPhoneNumber(document.number),
      projectId,
      campaignId,
      postalCode,
      at,
      callKind,
      purpose: stated?.purpose,
      ...selectLegalTimeOptions(this.#settings.gate, callKind, purpose),
    }
    const compliance = this.#compliance.answerFor(own, askedAt)
    const deadline = { deadlineMs: 0, timers: nodeRuntime.timers }
    const { aiConsentEvidence } = this.#settings.gate
    const findExceptions = prepareExceptions(
      toRequest(document),
      { settings: this.#settings.gate, callingRules: this.#rules },
      at ?? askedAt,
    )
    const asked = { compliance, question, callKind, purpose, askedAt }
    const call = { ...asked, aiConsentEvidence, findExceptions }
    const findings = runChecks(checks, call, deadline)
    if (findings instanceof Promise) throw new TypeError('recorded facts are known at once')
    return findings
  }
}

/** Those whose facts no rule of ours is applied to again. */
const keptChecks: ReadonlySet<CheckName> = new Set(['attempts', 'reassigned'])

/** A finding to which no rule of ours was applied. */
function restoreFinding(recorded: FindingDocument, accountTime: Instant): Finding {
  const { verdict, detail, source, ageMs, opensAt, holdsUntil, lists } = recorded
  const check = recorded.check as CheckName
  const end = holdsUntil ?? (check === 'reassigned' ? recorded.facts?.holdsUntil : undefined)
  const isClosed = check === 'calling-hours' && verdict === 'deny'
  const unlimited = verdict === 'unknown' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  return {
    check,
    verdict,
    reason: recorded.reason as ReasonCode,
    detail,
    source,
    asOf: accountTime - ageMs,
    holdsUntil: typeof end === 'string' ? instantOf(end) : unlimited,
    // The record leaves out that the next opening is not known.
    opensAt:
      opensAt !== undefined ? instantOf(opensAt) : isClosed ? Number.POSITIVE_INFINITY : undefined,
    isRequestError: recorded.requestError,
    staleReason: recorded.staleReason,
    lists: lists?.map(toListVersion),
    // Only those of checks that our own rules are applied to again.
    facts: keptChecks.has(check) && recorded.facts ? JSON.stringify(recorded.facts) : undefined,
  }
}

const ageText = /; answered \d+ s ago; /

/** The record has the age at the time of the question, which is a little before that of the decision. */
function restoreAge(detail: string, recorded: string): string {
  const [age] = ageText.exec(recorded) ?? []
  return age === undefined ? detail : detail.replace(ageText, age)
}

/** The account's clock is not in the record of a what-if; only ages depend on it there. */
function accountTimeOf({ whatIf, decidedAt, judgedAt }: DecisionDocument): Instant {
  return instantOf(whatIf ? decidedAt : judgedAt)
}

function toRequest(document: DecisionDocument): CallRequest {
  const { accountId, keyId, dialed, projectId, campaignId, postalCode, callerId } = document
  const { subject, personId, reference, trunk, channel, whatIf, judgedAt } = document
  return {
    accountId,
    keyId,
    dialed,
    callKind: document.callKind as CallKind,
    purpose: document.purposeSetBy === 'request' ? (document.purpose as CallPurpose) : undefined,
    projectId,
    campaignId,
    postalCode,
    callerId,
    subject,
    personId,
    reference,
    at: whatIf ? instantOf(judgedAt) : undefined,
    trunk,
    channel,
    via: document.via as CallRequest['via'],
  }
}
