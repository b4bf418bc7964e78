/**
 * Judges recorded decisions again by another configuration, from what their records say: our own rules are
 * applied to the recorded facts by the same code as in a decision. What no rule changes, such as the answers
 * of a provider, stays as it was found.
 */
import type { Settings } from '../config/settings.js'
import { CallingRules } from '../data/calling-rules/calling-rules.js'
import type { Answer, AnswerFailure, Compliance, MaybePromise } from '../domain/compliance.js'
import {
  type CallKind,
  type CallRequest,
  type CheckName,
  type Decision,
  decide,
  type Finding,
  type Policy,
  type ReasonCode,
  toShadowPolicy,
} from '../domain/decision.js'
import type { ListVersion } from '../domain/number-set.js'
import { parseDialString, toPhoneNumber } from '../domain/phone-number.js'
import type { Instant } from '../domain/time/clock.js'
import { parseInstant } from '../domain/time/dates.js'
import type { ProjectHours } from '../domain/time/week-windows.js'
import { buildPolicy } from '../gate/build-policy.js'
import { allChecks, runChecks, selectLegalTimeOptions } from '../gate/checks.js'
import { pickStrictestFinding } from '../gate/combine-findings.js'
import {
  type DecisionDocument,
  type FindingDocument,
  type ListDocument,
  recordVersion,
} from '../gate/decision-document.js'
import { type CallRuling, ruleBeforeChecks } from '../gate/pre-check-ruling.js'
import { nodeRuntime } from '../runtime/runtime.js'
import { CallingHours } from '../service/calling-hours/calling-hours.js'
import { type ListFinding, noListEvidence, noStateFinding } from '../service/lists/list-facts.js'
import type { ProjectScope } from '../service/projects/project-scope.js'
import {
  fromRecordedListing,
  fromRecordedNumber,
  fromRecordedPlace,
  type RecordedFacts,
} from '../service/recorded-facts.js'
import { ScrubEvaluator } from '../service/scrub/scrub-evaluator.js'
import { EmbeddedCompliance } from '../sources/embedded-compliance.js'
import type { Configuration } from './configuration.js'

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
 * - `by-gate`: the gate blocked the call whatever the rules say, for example since it was overloaded;
 * - `unjudged`: the record does not say what the rules would be applied to.
 */
export type Rejudgment =
  | { readonly kind: 'judged'; readonly decision: Decision }
  | { readonly kind: 'by-gate' }
  | { readonly kind: 'unjudged'; readonly why: UnjudgedReason }

const gateReasons: ReadonlySet<string> = new Set<ReasonCode>([
  'not-recorded',
  'clock-behind',
  'expired',
  'invalid-request',
  'overloaded',
])

/** What the questions of one decision are answered from. */
interface RecordedAnswer {
  readonly facts: RecordedFacts
  readonly finding: FindingDocument
  /** When it was answered, by the account's clock. */
  readonly asOf: Instant
}

/** The findings that our own rules are applied to again. */
interface OwnFindings {
  readonly 'internal-dnc'?: FindingDocument | undefined
  readonly 'calling-hours'?: FindingDocument | undefined
  readonly permission?: FindingDocument | undefined
}

export class Rejudger {
  readonly #settings: Settings
  readonly #policy: Policy
  readonly #shadowPolicy: Policy
  readonly #serviceCodes: ReadonlySet<string>
  readonly #embedded: EmbeddedCompliance
  /** One array for the same hours, since windows are cached by array. */
  readonly #hours = new Map<string, readonly ProjectHours[]>()
  /** Of the question that is being answered. */
  #recorded: RecordedAnswer | undefined

  /** Throws a `RangeError` for an invalid proclaimed day or emergency. */
  constructor({ settings, rules }: Pick<Configuration, 'settings' | 'rules'>) {
    this.#settings = settings
    this.#policy = buildPolicy(settings)
    this.#shadowPolicy = toShadowPolicy(this.#policy)
    this.#serviceCodes = new Set(settings.gate.serviceCodes)
    this.#embedded = this.#createSource(new CallingRules(rules))
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
    const findings = this.#judgeFindings(document)
    const { accounts, trunks } = this.#settings.gate.shadow
    const { accountId, trunk, number } = document
    const isShadowed =
      accounts.includes(accountId) || (trunk !== undefined && trunks.includes(trunk))
    const policyAt = Math.max(instantOf(document.decidedAt), instantOf(document.judgedAt))
    const ruling = decide(findings, isShadowed ? this.#shadowPolicy : this.#policy, policyAt)
    return {
      kind: 'judged',
      decision: this.#createDecision(document, { number, ruling, findings }),
    }
  }

  #createDecision(
    document: DecisionDocument,
    { number, ruling, findings, detail }: CallRuling,
  ): Decision {
    const { allowValidMs, blockValidMs } = this.#settings.gate
    const judgedAt = instantOf(document.judgedAt)
    const maxValidMs = ruling.decision === 'allow' ? allowValidMs : blockValidMs
    return {
      ...ruling,
      id: document.id,
      accountId: document.accountId,
      request: toRequest(document),
      number,
      findings,
      decidedAt: instantOf(document.decidedAt),
      judgedAt,
      accountTime: accountTimeOf(document),
      detail,
      validUntil: Math.max(judgedAt, Math.min(judgedAt + maxValidMs, ruling.holdsUntil)),
    }
  }

  #judgeFindings(document: DecisionDocument): readonly Finding[] {
    const accountTime = accountTimeOf(document)
    const judged = new Map(
      this.#runOwnChecks(document, accountTime).map((finding) => [finding.check, finding]),
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

  #runOwnChecks(document: DecisionDocument, askedAt: Instant): readonly Finding[] {
    const own = selectOwnFindings(document)
    const checks = allChecks.filter(({ name }) => name in own)
    if (checks.length === 0) return []
    const { accountId, callKind, projectId, campaignId, postalCode, at } = toRequest(document)
    const question = {
      accountId,
      number: toPhoneNumber(document.number),
      projectId,
      campaignId,
      postalCode,
      at,
      callKind,
      ...selectLegalTimeOptions(this.#settings.gate, callKind),
    }
    const compliance = this.#createCompliance(own, askedAt)
    const deadline = { deadlineMs: 0, timers: nodeRuntime.timers }
    const findings = runChecks(checks, { compliance, question, callKind, askedAt }, deadline)
    if (findings instanceof Promise) throw new TypeError('recorded facts are known at once')
    return findings
  }

  /** Answers from the facts of a record. A question without facts is not judged. */
  #createCompliance(own: OwnFindings, accountTime: Instant): Compliance {
    const answer = <T>(
      finding: FindingDocument | undefined,
      facts: object | undefined,
      ask: () => MaybePromise<Answer<T>>,
    ): Answer<T> => {
      if (finding === undefined || facts === undefined) return notRecorded
      const asOf = accountTime - finding.ageMs
      this.#recorded = { facts: facts as RecordedFacts, finding, asOf }
      const answer = ask()
      if (answer instanceof Promise) throw new TypeError('recorded facts are known at once')
      return answer.ok ? { ...answer, asOf, staleReason: finding.staleReason } : answer
    }
    const { permission, 'calling-hours': hours, 'internal-dnc': entry } = own
    const embedded = this.#embedded
    return {
      litigator: () => notRecorded,
      internalDnc: (question) =>
        answer(entry, permission?.facts, () => embedded.internalDnc(question)),
      legalTime: (question) => answer(hours, hours?.facts, () => embedded.legalTime(question)),
      scrub: (question) => answer(permission, permission?.facts, () => embedded.scrub(question)),
    }
  }

  /** The service in this process, over the facts of the question that is being answered. */
  #createSource(rules: CallingRules): EmbeddedCompliance {
    const recorded = (): RecordedAnswer => {
      if (this.#recorded === undefined) throw new TypeError('no question is being answered')
      return this.#recorded
    }
    const { proclaimedDays, emergencies } = this.#settings.callingHours
    const numberingPlan = {
      lookup: () => fromRecordedNumber(recorded().facts),
      coverage: () => {
        throw new TypeError('records do not have the coverage of the numbering plan')
      },
    }
    const postalCodes = {
      locate: () => {
        const { postal } = recorded().facts
        return postal && fromRecordedPlace(postal, 'postal-code')
      },
    }
    const projects = {
      resolve: (accountId: string): ProjectScope => ({
        ...unnamedScope,
        accountId,
        industryExemption: recorded().facts.industryExemption === true,
        voipRestricted: recorded().facts.voipRestricted === true,
        hours: this.#shareHours(recorded().facts.hours),
      }),
    }
    const internalDnc = { findEntry: () => recorded().facts.entry }
    const consent = { findRecord: () => recorded().facts.record }
    const view = {
      clock: { now: () => recorded().facts.now ?? recorded().asOf },
      numberingPlan,
      hours: new CallingHours({ rules, numberingPlan, postalCodes, proclaimedDays, emergencies }),
      law: rules,
      lists: {
        checkNational: () => toListFinding(recorded()),
        checkState: () => {
          const { state } = recorded().facts
          return state ? fromRecordedListing(state) : noStateFinding
        },
        checkLitigator: (): ListFinding =>
          recorded().facts.isLitigator
            ? { status: 'listed', asOf: 0, ...noListEvidence }
            : noStateFinding,
        findPortedEvidence: () => noListEvidence,
      },
      fixedFacts: undefined,
    }
    return new EmbeddedCompliance({
      evaluator: new ScrubEvaluator({ projects, internalDnc, consent, postalCodes }),
      internalDnc,
      views: { real: view, sandbox: view },
      kind: 'real',
      projects,
      onError: (_, cause) => {
        throw cause
      },
    })
  }

  #shareHours(hours: readonly ProjectHours[] = noHours): readonly ProjectHours[] {
    if (hours.length === 0) return noHours
    const text = JSON.stringify(hours)
    const shared = this.#hours.get(text) ?? hours
    this.#hours.set(text, shared)
    return shared
  }
}

const noHours: readonly ProjectHours[] = []

const notRecorded: AnswerFailure = {
  ok: false,
  reason: 'not-askable',
  detail: 'the record has no facts for it',
  source: 'record',
}

const unnamedScope = { projectCode: '', campaignId: 0, internalDncList: '', ebrProject: '' }

/** Also of several sources, since our own is one of them at most. */
function selectOwnFindings({ findings }: DecisionDocument): OwnFindings {
  const withFacts = (check: CheckName) =>
    findings
      .filter((finding) => finding.check === check)
      .flatMap((finding) => finding.parts ?? [finding])
      .find(({ facts }) => facts !== undefined)
  const hours = withFacts('calling-hours')
  const permission = withFacts('permission')
  // The scrub of the source that has the entry says whether a permission overrides it.
  const entry =
    permission &&
    findings.find(
      ({ check, source, verdict }) =>
        check === 'internal-dnc' && source === permission.source && verdict !== 'unknown',
    )
  return {
    ...(hours && { 'calling-hours': hours }),
    ...(permission && { permission }),
    ...(entry && { 'internal-dnc': entry }),
  }
}

/** The lists of all parts of a scrub are those that the record names. */
function toListFinding({ facts, finding }: RecordedAnswer): ListFinding {
  const lists = finding.lists?.map(toListVersion) ?? []
  const evidence = { lists, holdsUntil: facts.listsHoldUntil ?? Number.POSITIVE_INFINITY }
  return facts.national
    ? fromRecordedListing(facts.national, evidence)
    : { status: 'clear', ...evidence }
}

function toListVersion({ name, version, asOf }: ListDocument): ListVersion {
  return { name, version, asOf: instantOf(asOf) }
}

/** A finding to which no rule of ours was applied. */
function restoreFinding(recorded: FindingDocument, accountTime: Instant): Finding {
  const { verdict, detail, source, ageMs, opensAt, holdsUntil, lists } = recorded
  const check = recorded.check as CheckName
  const isClosed = check === 'calling-hours' && verdict === 'deny'
  const unlimited = verdict === 'unknown' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  return {
    check,
    verdict,
    reason: recorded.reason as ReasonCode,
    detail,
    source,
    asOf: accountTime - ageMs,
    holdsUntil: holdsUntil === undefined ? unlimited : instantOf(holdsUntil),
    // The record leaves out that the next opening is not known.
    opensAt:
      opensAt !== undefined ? instantOf(opensAt) : isClosed ? Number.POSITIVE_INFINITY : undefined,
    isRequestError: recorded.requestError,
    staleReason: recorded.staleReason,
    lists: lists?.map(toListVersion),
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
  const { reference, trunk, channel, whatIf, judgedAt } = document
  return {
    accountId,
    keyId,
    dialed,
    callKind: document.callKind as CallKind,
    projectId,
    campaignId,
    postalCode,
    callerId,
    reference,
    at: whatIf ? instantOf(judgedAt) : undefined,
    trunk,
    channel,
    via: document.via as CallRequest['via'],
  }
}

/** Throws a `TypeError` for what is not an instant, which no record has. */
function instantOf(text: string): Instant {
  const at = parseInstant(text)
  if (at === undefined) throw new TypeError(`'${text}' in a record is not an instant`)
  return at
}
