/**
 * May this call be placed now? Check, decide and record are three visible steps. Any failure blocks, except that
 * emergency and service codes always pass.
 */

import { sandboxAccountId } from '../domain/caller.js'
import { checkNames, countedChecks } from '../domain/checks.js'
import type { MaybePromise } from '../domain/compliance.js'
import {
  type CallKind,
  type CallRequest,
  type Decision,
  type DecisionFinalizer,
  decide,
  type Finding,
  type Policy,
  type Ruling,
  telemarketing,
  toShadowPolicy,
} from '../domain/decision.js'
import type { AttemptCounter, Pauses } from '../domain/mandate.js'
import { type PhoneNumber, parseDialString } from '../domain/phone-number.js'
import type { Instant, Timers } from '../domain/time/clock.js'
import type { Said } from '../domain/words/words.js'
import type { StoredFacts } from '../judge/judged.js'
import { findPlaces } from '../judge/places.js'
import { keyOfCallRule } from '../judge/rules/key.js'
import { pausesRule } from '../judge/rules/pauses.js'
import { findPurpose } from '../judge/rules/purpose.js'
import { type LegalTimeOptions, prepareLegalTimeOptions } from './call-terms.js'
import {
  createAttempt,
  findLimits,
  findNextAllowedAt,
  judgeAttempt,
  type LimitsOfCall,
  readAttempts,
  takeAttempt,
  toCountedCall,
} from './checks/attempts.js'
import { runChecks } from './checks/checks.js'
import { prepareExceptions } from './checks/exceptions.js'
import { DecisionRecorder, type Instants, type PendingCall } from './decision-recorder.js'
import type { GateAccount, GateDeps, GateRules } from './gate-deps.js'
import {
  type AlsoRecord,
  type CallRuling,
  ruleBeforeChecks,
  rulingWithoutFindings,
  type UncheckedDial,
} from './pre-check-ruling.js'
import { sayException } from './staleness.js'
import { addStoredFindings, awaitStored, readStored } from './stored-limits.js'

/** Part of the deadline in which checks must answer; the rest is left for the record. */
const checkDeadlineShare = 0.9

type Judging = MaybePromise<DecisionFinalizer>

type NumberRuling = CallRuling & { readonly number: PhoneNumber }

interface AttemptCounting {
  readonly counter: AttemptCounter
  readonly limits: LimitsOfCall
  readonly policy: Policy
}

export class Gate {
  #deps: GateDeps
  #shadowPolicy: Policy
  /** By the checks that an account has in shadow by itself. */
  readonly #ownPolicies = new Map<string, Policy>()
  #legalTimeOptions: Readonly<Record<CallKind, LegalTimeOptions>>
  readonly #recorder: DecisionRecorder
  #pending = 0

  constructor(deps: GateDeps) {
    this.#deps = deps
    this.#recorder = new DecisionRecorder(deps)
    this.#shadowPolicy = toShadowPolicy(deps.policy)
    this.#legalTimeOptions = prepareLegalTimeOptions(deps.settings)
  }

  /**
   * Judges by other rules from now on. A decision that waits for an answer is judged again, since its
   * findings may be partly by the old rules and partly by the new ones.
   */
  replaceRules(rules: GateRules): void {
    this.#deps = { ...this.#deps, ...rules }
    this.#recorder.replaceDeps(this.#deps)
    this.#shadowPolicy = toShadowPolicy(rules.policy)
    this.#ownPolicies.clear()
    this.#legalTimeOptions = prepareLegalTimeOptions(rules.settings)
  }

  /** Decisions that wait for an answer or for the disk. */
  get pendingCount(): number {
    return this.#pending + this.#recorder.pendingCount
  }

  /** For callers that act on the decision at once; see {@link judge}. */
  async decide(request: CallRequest, arrivedAtMs?: number): Promise<Decision> {
    const finalize = await this.judge(request, arrivedAtMs)
    return finalize()
  }

  /**
   * Judges and records; at once if neither a source nor the disk has to be waited for. Never rejects: a failure is a
   * block with its reason. `arrivedAtMs` is on the monotonic clock of the timers; now when absent.
   */
  judge(
    request: CallRequest,
    arrivedAtMs = this.#deps.timers.monotonicMs(),
    alsoRecord?: AlsoRecord,
  ): Judging {
    const { settings, timers, feed } = this.#deps
    const account = this.#accountOf(request)
    const monotonicMs = timers.monotonicMs()
    const { stated: purpose, refusal } = findPurpose(
      request,
      settings.purposes,
      this.#deps.callingRules.purposes,
    )
    const currentAt = feed?.currentAt
    const call: PendingCall = { request, account, purpose, arrivedAtMs, currentAt, alsoRecord }
    const dialed = parseDialString(request.dialed, settings.serviceCodes)
    if (dialed.kind !== 'nanp') return this.#judgeWithoutChecks(call, dialed)
    const { number } = dialed
    if (this.#deps.shut?.problem !== undefined) {
      const ruling = rulingWithoutFindings(number, 'block', 'not-recorded')
      const decision = this.#recorder.blockUnrecorded(call, {
        ...ruling,
        says: [{ code: 'server-shut' }],
      })
      return () => decision
    }
    const deadlineMs = settings.deadlineMs * checkDeadlineShare - (monotonicMs - call.arrivedAtMs)
    const blocked =
      this.pendingCount >= settings.maxPending || deadlineMs <= 0
        ? rulingWithoutFindings(number, 'block', 'overloaded')
        : refusal !== undefined && {
            ...rulingWithoutFindings(number, 'block', 'purpose-not-allowed'),
            says: [refusal],
          }
    if (blocked) {
      const decision = this.#recorder.recordNow(call, blocked)
      return () => decision
    }
    const refused =
      request.mandate && keyOfCallRule.judge({ call: request, now: this.#deps.clock.now() })
    if (refused) return this.#concludeAgainst(call, number, refused)
    // Read beside the checks: one after the other, a database that does not answer would be waited for twice.
    const stored = readStored(request, this.#deps, { ms: deadlineMs, timers })
    const findings = this.#check(call, number, { deadlineMs, at: request.at })
    return findings instanceof Promise || stored instanceof Promise
      ? this.#awaitAnswers(call, number, [findings, stored])
      : this.#conclude(call, number, findings, stored)
  }

  async #awaitAnswers(
    call: PendingCall,
    number: PhoneNumber,
    answering: readonly [MaybePromise<readonly Finding[]>, MaybePromise<StoredFacts>],
  ): Promise<DecisionFinalizer> {
    const deps = this.#deps
    const [findings, stored] = await this.#whilePending(Promise.all(answering))
    if (this.#deps !== deps) return this.judge(call.request, call.arrivedAtMs, call.alsoRecord)
    return await this.#conclude(call, number, findings, stored)
  }

  /** The findings of the checks; `at` in a what-if. */
  #check(
    { request, account, purpose: stated }: PendingCall,
    number: PhoneNumber,
    { deadlineMs, at }: { readonly deadlineMs: number; readonly at: Instant | undefined },
  ): MaybePromise<readonly Finding[]> {
    const { checks, timers, asksInBackground, callingRules } = this.#deps
    const { callKind } = request
    const purpose = stated ? callingRules.purposes.find(stated.purpose) : telemarketing
    const legalTimeOptions = this.#legalTimeOptions[callKind]
    const askedAt = account.clock.now()
    // Every field is named: a spread is slow.
    const question = {
      accountId: request.accountId,
      number,
      projectId: request.projectId,
      campaignId: request.campaignId,
      postalCode: request.postalCode,
      at,
      asked: { now: askedAt, monotonicMs: timers.monotonicMs() },
      callKind,
      recordedVoice: legalTimeOptions.recordedVoice && purpose.machines !== 'unlimited',
      requireStatutoryWindow: legalTimeOptions.requireStatutoryWindow,
      strictestPlace: legalTimeOptions.strictestPlace,
      purpose: stated?.purpose,
      inBackground: asksInBackground,
      trace: request.trace,
    }
    const { compliance, reassigned } = account
    const { aiConsentEvidence, exceptions } = this.#deps.settings
    const toCheck = {
      compliance,
      question,
      callKind,
      purpose,
      askedAt,
      reassigned,
      aiConsentEvidence,
      requiredConsents: callingRules.requiredConsents,
      findExceptions:
        exceptions.length === 0 ? undefined : prepareExceptions(request, this.#deps, at ?? askedAt),
    }
    return runChecks(checks, toCheck, { deadlineMs, timers })
  }

  #conclude(
    call: PendingCall,
    number: PhoneNumber,
    checked: readonly Finding[],
    stored: StoredFacts,
  ): Judging {
    const { settings, timers, clock } = this.#deps
    const { request } = call
    const { purpose = 'telemarketing' } = call.purpose ?? {}
    const policy = this.#choosePolicy(request, stored.pauses)
    const inForce =
      policy.reassigned.mode === 'shadow' ? checked.map((one) => one.inShadow ?? one) : checked
    const findings = addStoredFindings(inForce, {
      law: this.#deps.callingRules,
      settings,
      call: request,
      number,
      purpose,
      places: findPlaces(checked),
      stored,
      now: clock.now(),
    })
    const instants = this.#recorder.readInstants(call.account)
    const ruling = rule(request, findings, policy, instants)
    const mayBeExcepted = settings.whileCutOff !== undefined && ruling.decision === 'allow'
    const exception = mayBeExcepted
      ? sayException(call, { now: instants.now, monotonicMs: timers.monotonicMs() }, settings)
      : undefined
    const judged = { number, findings, ruling, says: exception && [exception] }
    const counting = { rules: this.#deps, policy, purpose, now: instants.now }
    const counter = this.#deps.attempts
    const limits = counter && findLimits(request, judged, counting)
    if (counter && limits) return this.#countAndRecord(call, judged, { counter, limits, policy })
    const isByRate = findings.some(({ reason }) => reason === 'abandonment-rate')
    return isByRate
      ? this.#recordWithNext(call, judged, policy)
      : this.#recorder.record(call, judged, instants)
  }

  async #recordWithNext(
    call: PendingCall,
    judged: NumberRuling,
    policy: Policy,
  ): Promise<DecisionFinalizer> {
    const ruling = await this.#whilePending(this.#findNext(call, judged, policy))
    return await this.#recorder.record(call, { ...judged, ruling })
  }

  /**
   * An attempt is counted only when nothing else blocks the call, and taken back if the allow does not leave. Otherwise only
   * what would count is read: it may be why the call is not allowed when all else would allow it.
   */
  async #countAndRecord(
    call: PendingCall,
    judged: NumberRuling,
    counting: AttemptCounting,
  ): Promise<DecisionFinalizer> {
    const deps = this.#deps
    const { counter } = counting
    const { ruling, attempt, taken } = await this.#whilePending(this.#count(call, judged, counting))
    /** One that may have been counted although that is not known was perhaps counted late. */
    const settled = 'failure' in taken ? taken.settled : taken.isCounted && Promise.resolve()
    const release = async () => {
      await settled
      if (settled) await counter.release(attempt)
    }
    if (this.#deps !== deps) {
      await release().catch(() => undefined)
      return await this.judge(call.request, call.arrivedAtMs, call.alsoRecord)
    }
    const finalize = await this.#recorder.record(call, ruling)
    return (isDelayed) => {
      const final = finalize(isDelayed)
      if (final.decision === 'block') release().catch(() => undefined)
      return final
    }
  }

  async #whilePending<Result>(work: Promise<Result>): Promise<Result> {
    this.#pending += 1
    try {
      return await work
    } finally {
      this.#pending -= 1
    }
  }

  async #count(
    call: PendingCall,
    judged: NumberRuling,
    { counter, limits, policy }: AttemptCounting,
  ) {
    const { clock, newId } = this.#deps
    const { request } = call
    const now = clock.now()
    const id = newId(now)
    const { number } = judged
    const stated = call.purpose?.purpose
    const purpose = stated === 'telemarketing' ? undefined : stated
    const at = request.at ?? now
    const attempt = createAttempt(request, { decisionId: id, number, purpose, at })
    const isTaken = judged.ruling.decision === 'allow' && request.at === undefined
    const deadline = this.#shareDeadline(call)
    const taken = await (isTaken
      ? takeAttempt(counter, { attempt, limits }, deadline)
      : readAttempts(counter, attempt, limits.frequency, deadline))
    const counted = judgeAttempt(taken, limits, now)
    const others = counted.some(({ check }) => check === 'mandate')
      ? judged.findings.slice(1)
      : judged.findings
    const findings = [...counted.filter(isOfKey), ...others, ...counted.filter(isNotOfKey)]
    const instants = this.#recorder.readInstants(call.account)
    const ruled = { ...judged, findings, ruling: rule(request, findings, policy, instants) }
    const ruling = await this.#findNext(call, ruled, policy)
    return {
      ruling: { ...ruled, ruling, id, counted: toCountedCall(taken) },
      attempt,
      taken,
    }
  }

  /** When what is counted and the checks must all permit the call, these are asked again for the instant at which the last one opens. */
  async #findNext(
    call: PendingCall,
    { number, findings: found, ruling }: NumberRuling,
    policy: Policy,
  ): Promise<Ruling> {
    const isByCount = found.some(
      ({ check, verdict }) => verdict !== 'pass' && countedChecks.has(check),
    )
    if (!isByCount || ruling.nextAllowedAt === undefined) return ruling
    const { request } = call
    const nextAllowedAt = await findNextAllowedAt(ruling.nextAllowedAt, async (at) => {
      const { ms: deadlineMs } = this.#shareDeadline(call)
      const findings = await this.#check(call, number, { deadlineMs, at })
      return rule(request, findings, policy, { now: at, accountNow: at })
    })
    return { ...ruling, nextAllowedAt }
  }

  /** What the next step may take, with enough left for the record. */
  #shareDeadline({ arrivedAtMs }: PendingCall): { readonly ms: number; readonly timers: Timers } {
    const { timers } = this.#deps
    const leftMs = this.#recorder.remainingMs(arrivedAtMs, timers.monotonicMs())
    return { ms: Math.max(0, leftMs) * checkDeadlineShare, timers }
  }

  /** Whatever else may be said about the call, this finding blocks it. */
  #concludeAgainst(call: PendingCall, number: string, finding: Finding): Judging {
    const instants = this.#recorder.readInstants(call.account)
    const policy = this.#choosePolicy(call.request, undefined)
    const ruling = rule(call.request, [finding], policy, instants)
    return this.#recorder.record(call, { number, findings: [finding], ruling }, instants)
  }

  #choosePolicy({ accountId, trunk }: CallRequest, pauses: Pauses | undefined): Policy {
    const { settings, policy } = this.#deps
    const { accounts, trunks } = settings.shadow
    const isShadowed =
      accounts.includes(accountId) || (trunk !== undefined && trunks.includes(trunk))
    if (isShadowed) return this.#shadowPolicy
    if (pauses === undefined || pauses.size === 0) return policy
    const shadowed = checkNames.filter((check) => pauses.has(`check:${check}:${accountId}`))
    if (shadowed.length === 0) return policy
    const key = shadowed.join()
    const own = this.#ownPolicies.get(key) ?? toShadowPolicy(policy, shadowed)
    this.#ownPolicies.set(key, own)
    return own
  }

  /** Blocks and records, without checks, a call with invalid facts; `why` says which and why. */
  refuse(request: CallRequest, why: Said): Decision {
    const invalid = rulingWithoutFindings('', 'block', 'invalid-request')
    const account = this.#accountOf(request)
    const arrivedAtMs = this.#deps.timers.monotonicMs()
    const call = { request, account, arrivedAtMs, currentAt: undefined }
    return this.#recorder.recordNow(call, { ...invalid, says: [why] })
  }

  /**
   * Allows a call to a service code that cannot be recorded, for example because the request has no
   * key; its id is `-`. It is not counted either, since strangers may send any number of them.
   */
  allowUnrecorded(request: CallRequest): Decision {
    const dialed = parseDialString(request.dialed, this.#deps.settings.serviceCodes)
    if (dialed.kind !== 'service-code')
      throw new TypeError('only service codes may be allowed without a record')
    const call = { request, account: this.#accountOf(request) }
    return { ...this.#recorder.createDecision(call, ruleBeforeChecks(dialed, 'block')), id: '-' }
  }

  #accountOf({ accountId }: CallRequest): GateAccount {
    const { real, sandbox } = this.#deps.accounts
    return accountId === sandboxAccountId ? sandbox : real
  }

  /** For service codes, extensions, foreign and invalid numbers. */
  #judgeWithoutChecks(call: PendingCall, dialed: UncheckedDial): Judging {
    // What limits a key can only be judged for numbers of the plan.
    const nonNanp = call.request.mandate ? 'block' : this.#deps.settings.nonNanp
    const judgment = ruleBeforeChecks(dialed, nonNanp)
    if (judgment.ruling.reason !== 'policy-allows') {
      const decision = this.#recorder.recordNow(call, judgment)
      return () => decision
    }
    const { settings, clock, pauses: inForce, timers, callingRules } = this.#deps
    const { number } = judgment
    const ms = settings.deadlineMs * checkDeadlineShare
    const pauses = awaitStored(inForce.read(), { ms, timers })
    const conclude = (read: Pauses | undefined) => {
      const paused = pausesRule.judge({
        ...{ call: call.request, number: '', law: callingRules, now: clock.now() },
        stored: { pauses: read },
      })
      return paused
        ? this.#concludeAgainst(call, number, paused)
        : this.#recorder.record(call, judgment)
    }
    return pauses instanceof Promise ? pauses.then(conclude) : conclude(pauses)
  }
}

const isOfKey = ({ check }: Finding) => check === 'mandate'
const isNotOfKey = (finding: Finding) => !isOfKey(finding)

/**
 * By the later of the instant that is judged and now: an exception to policy that has ended at either of them does not
 * apply.
 */
function rule(
  { at }: CallRequest,
  findings: readonly Finding[],
  policy: Policy,
  { now, accountNow }: Instants,
): Ruling {
  return decide(findings, policy, Math.max(now, at ?? accountNow))
}
