/**
 * Judges recorded decisions again by another configuration, from what their records say: our own rules are
 * applied to the recorded facts by the same code as in a decision. What no rule changes, such as the answers
 * of a provider, stays as it was found.
 */
import type { Configuration } from '../../app/configuration.js'
import type { Settings } from '../../config/settings.js'
import { checks, reasonCodes, reasons } from '../../domain/checks.js'
import {
  type CallKind,
  type CallPurpose,
  type CallRequest,
  type CheckName,
  checkNames,
  type Decision,
  decide,
  type Finding,
  type Policy,
  type ReasonCode,
  type Ruling,
  type StatedPurpose,
  telemarketing,
  toShadowPolicy,
} from '../../domain/decision.js'
import type { Mandate } from '../../domain/mandate.js'
import { parseDialString, toPhoneNumber } from '../../domain/phone-number.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant } from '../../domain/time/dates.js'
import { buildPolicy } from '../../gate/build-policy.js'
import {
  type CallRuling,
  ruleBeforeChecks,
  rulingWithoutFindings,
} from '../../gate/pre-check-ruling.js'
import type { DecisionDocument, FindingDocument } from '../../gate/record/decision-document.js'
import { recordVersion } from '../../gate/record/write-record.js'
import { combineParts } from '../../judge/combine-findings.js'
import { judgeNumber } from '../../judge/judge-number.js'
import { findRegionDays } from '../../judge/places.js'
import { findPurpose } from '../../judge/rules/purpose.js'
import { addReassigned, findBasis, withoutPermission } from '../../judge/rules/reassigned.js'
import { CallingRules } from '../../law/calling-rules.js'
import { WindowEvaluator } from '../../law/hours/window-evaluator.js'
import { prepareClosures } from '../../service/calling-hours/prepare-closures.js'
import {
  type CountedContext,
  isCountJudged,
  judgeCount,
  toReassignedStatus,
} from './recorded-counts.js'
import {
  instantOf,
  judgeEntry,
  type OwnFindings,
  selectOwnFindings,
  toListVersion,
  toOwnFacts,
} from './recorded-own-facts.js'

/**
 * - `newer-record`: written by a newer version of the program;
 * - `erased`: its facts were erased with the number;
 * - `not-checked`: it was blocked before any check, and would be checked now.
 */
export const unjudgedReasons = ['newer-record', 'erased', 'not-checked'] as const
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

/** With these, the gate blocks by its own state, before or after the checks. */
export const gateReasons: ReadonlySet<string> = new Set(
  reasonCodes.filter((code) => reasons[code].by.includes('gate')),
)

export class Rejudger {
  readonly #settings: Settings
  readonly #policy: Policy
  readonly #shadowPolicy: Policy
  readonly #serviceCodes: ReadonlySet<string>
  readonly #rules: CallingRules
  readonly #windows: WindowEvaluator

  /** Throws a `RangeError` for an invalid proclaimed day or emergency. */
  constructor({ settings, rules }: Pick<Configuration, 'settings' | 'rules'>) {
    this.#settings = settings
    this.#policy = buildPolicy(settings)
    this.#shadowPolicy = toShadowPolicy(this.#policy)
    this.#serviceCodes = new Set(settings.gate.serviceCodes)
    this.#rules = new CallingRules(rules)
    this.#windows = new WindowEvaluator(
      this.#rules,
      prepareClosures(this.#rules, settings.callingHours),
    )
  }

  rejudge(document: DecisionDocument): Rejudgment {
    const why = findUnjudgedReason(document)
    if (why !== undefined) return { kind: 'unjudged', why }
    return gateReasons.has(document.reason) ? { kind: 'by-gate' } : this.judge(document)
  }

  /** Of a call that the gate itself blocked after the checks: what they had decided. */
  judge(document: DecisionDocument): Exclude<Rejudgment, { readonly kind: 'by-gate' }> {
    const dialed = parseDialString(document.dialed, this.#serviceCodes)
    const { stated, refusal } = findPurpose(
      toRequest(document),
      this.#settings.gate.purposes,
      this.#rules.purposes,
    )
    // A key that is paused has a finding for any number.
    if (dialed.kind !== 'nanp' && document.findings.length === 0) {
      const nonNanp = document.mandate ? 'block' : this.#settings.gate.nonNanp
      const judgment = ruleBeforeChecks(dialed, nonNanp)
      return { kind: 'judged', decision: this.#createDecision(document, judgment, stated) }
    }
    if (refusal !== undefined) {
      const refused = rulingWithoutFindings(document.number, 'block', 'purpose-not-allowed')
      return {
        kind: 'judged',
        decision: this.#createDecision(document, { ...refused, says: [refusal] }),
      }
    }
    if (document.findings.length === 0) return { kind: 'unjudged', why: 'not-checked' }
    const findings = this.#judgeFindings(document, stated)
    const policyAt = Math.max(instantOf(document.decidedAt), instantOf(document.judgedAt))
    const ruling = decide(findings, this.#choosePolicy(document), policyAt)
    const number = dialed.kind === 'nanp' ? dialed.number : document.number
    return {
      kind: 'judged',
      decision: this.#createDecision(document, { number, ruling, findings }, stated),
    }
  }

  /** How the checks, without what is counted and stored about calls, rule for a later instant, by the same facts. */
  ruleAt(document: DecisionDocument, at: Instant): Ruling {
    const findings = document.findings.filter(({ check }) => checksOfNumbers.has(check))
    const decidedAt = formatInstant(accountTimeOf(document))
    const judgedAt = formatInstant(at)
    const found = this.judge({ ...document, findings, whatIf: true, decidedAt, judgedAt })
    if (found.kind !== 'judged') throw new TypeError('the call has no finding of a check')
    return found.decision
  }

  #choosePolicy({ accountId, trunk, policy = [] }: DecisionDocument): Policy {
    const { accounts, trunks } = this.#settings.gate.shadow
    const isShadowed =
      accounts.includes(accountId) || (trunk !== undefined && trunks.includes(trunk))
    if (isShadowed) return this.#shadowPolicy
    // An account may have some checks in shadow by itself, which only the effects show.
    const own = checkNames.filter((name) =>
      policy.some(({ check, effect }) => check === name && effect === 'shadowed'),
    )
    return own.length === 0 ? this.#policy : toShadowPolicy(this.#policy, own)
  }

  #createDecision(
    document: DecisionDocument,
    { number, ruling, findings, says }: CallRuling,
    purpose?: StatedPurpose,
  ): Decision {
    const { allowValidMs, blockValidMs } = this.#settings.gate
    const { version, ...counted } = document.mandate ?? {}
    // The record names the version of the limits, which are the key's.
    const mandate = version === undefined ? undefined : ({ version } as Mandate)
    const request = { ...toRequest(document), mandate }
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
      counted,
      disclosures:
        ruling.reason === 'permitted'
          ? this.#rules.listDisclosures({ ...request, purpose: purpose?.purpose }, judgedAt, () =>
              findRegionDays(findings, judgedAt),
            )
          : undefined,
      says,
      rules: document.rules,
      validUntil: Math.max(judgedAt, Math.min(judgedAt + maxValidMs, ruling.holdsUntil)),
    }
  }

  #judgeFindings(
    document: DecisionDocument,
    stated: StatedPurpose | undefined,
  ): readonly Finding[] {
    const accountTime = accountTimeOf(document)
    const judged = this.#runOwnChecks(document, accountTime, stated)
    const own = selectOwnFindings(document)
    const judge = (recorded: FindingDocument): Finding => {
      const found = judged.find(({ check }) => check === recorded.check)
      if (found === undefined || own[recorded.check as keyof OwnFindings] !== recorded) {
        return restoreFinding(recorded, accountTime)
      }
      const { reassigned } = recorded
      return reassigned ? withoutPermission(found, restoreFinding(reassigned, accountTime)) : found
    }
    const checks = document.findings.map((finding) => {
      if (finding.parts === undefined) return judge(finding)
      return combineParts(finding.parts.map(judge))
    })
    return document.findings.flatMap((recorded, index) => {
      if (!isCountJudged(recorded, document)) return checks[index] ?? []
      const again =
        recorded.check === 'reassigned'
          ? judged.find(({ check }) => check === 'reassigned')
          : judgeCount(recorded, this.#createContext(document, stated, checks))
      // The record has when it was counted or asked, by its age.
      return again ? { ...again, asOf: accountTime - recorded.ageMs } : []
    })
  }

  #createContext(
    document: DecisionDocument,
    stated: StatedPurpose | undefined,
    findings: readonly Finding[],
  ): CountedContext {
    return {
      request: toRequest(document),
      number: document.number,
      purpose: stated?.purpose ?? 'telemarketing',
      findings,
      policy: this.#policy,
      rules: { settings: this.#settings.gate, law: this.#rules },
      now: instantOf(document.decidedAt),
    }
  }

  #runOwnChecks(
    document: DecisionDocument,
    accountTime: Instant,
    stated: StatedPurpose | undefined,
  ): readonly Finding[] {
    const own = selectOwnFindings(document)
    if (Object.keys(own).length === 0) return []
    const call = toRequest(document)
    const facts = own.permission?.facts
    const now = typeof facts?.now === 'number' ? facts.now : accountTime
    const about = {
      law: this.#rules,
      windows: this.#windows,
      settings: this.#settings.gate,
      call,
      number: toPhoneNumber(document.number),
      stated: stated?.purpose,
      purpose: stated ? this.#rules.purposes.find(stated.purpose) : telemarketing,
      at: call.at ?? accountTime,
      now,
      sources: { own: toOwnFacts(own, document, accountTime) },
    }
    const { findings, row } = judgeNumber(about)
    const judged = findings.map((finding) => withAge(finding, own, accountTime))
    const answered = document.findings.find(
      (one) => one.check === 'reassigned' && isCountJudged(one, document),
    )
    const basis = answered && findBasis(judged, about, row?.row)
    if (!basis) return judged
    return addReassigned(judged, toReassignedStatus(answered), basis, about)
  }
}

/** The record has when each fact was read, by its age. */
function withAge(finding: Finding, own: OwnFindings, accountTime: Instant): Finding {
  const recorded = own[finding.check as keyof OwnFindings]
  if (recorded === undefined) return finding
  const notRenewed = recorded.notRenewed as Finding['notRenewed']
  return { ...finding, asOf: accountTime - recorded.ageMs, notRenewed }
}

const checksOfNumbers: ReadonlySet<string> = new Set([
  ...checkNames.filter((name) => checks[name].judges === 'answer'),
  'reassigned',
])

/** Those whose facts no rule of ours is applied to again. */
const keptChecks: ReadonlySet<CheckName> = new Set(['attempts', 'reassigned', 'abandonment'])

/** A finding to which no rule of ours was applied. */
function restoreFinding(recorded: FindingDocument, accountTime: Instant): Finding {
  const { verdict, says, source, ageMs, opensAt, holdsUntil, lists } = recorded
  const check = recorded.check as CheckName
  const end = holdsUntil ?? (check === 'reassigned' ? recorded.facts?.holdsUntil : undefined)
  const isClosed = check === 'calling-hours' && verdict === 'deny'
  const unlimited = verdict === 'unknown' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  return {
    check,
    verdict,
    reason: recorded.reason as ReasonCode,
    says: says as Finding['says'],
    source,
    asOf: accountTime - ageMs,
    holdsUntil: typeof end === 'string' ? instantOf(end) : unlimited,
    // The record leaves out that the next opening is not known.
    opensAt:
      opensAt !== undefined ? instantOf(opensAt) : isClosed ? Number.POSITIVE_INFINITY : undefined,
    isRequestError: recorded.requestError,
    notRenewed: recorded.notRenewed as Finding['notRenewed'],
    lists: lists?.map(toListVersion),
    // Only those of checks that our own rules are applied to again.
    facts: keptChecks.has(check) && recorded.facts ? JSON.stringify(recorded.facts) : undefined,
    ...judgeEntry(recorded),
  }
}

/** Why a record cannot be judged at all. */
function findUnjudgedReason({
  erased,
  number,
  findings,
  recordVersion: version,
}: DecisionDocument): UnjudgedReason | undefined {
  // The mark of an erasure does not fit into each record, and only numbers are checked.
  if (erased || (number === '' && findings.length > 0)) return 'erased'
  const isKnown = version === recordVersion && findings.every(isKnownFinding)
  return isKnown ? undefined : 'newer-record'
}

/** Of a check and with a reason that this version has. */
function isKnownFinding({ check, reason, parts = [] }: FindingDocument): boolean {
  const isNamed = check === 'mandate' || Object.hasOwn(checks, check)
  return isNamed && Object.hasOwn(reasons, reason) && parts.every(isKnownFinding)
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
