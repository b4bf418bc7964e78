/**
 * May this call be placed now? Check, decide and record are three visible steps, and an allow leaves
 * only after its record is on disk and before its deadline, counted from the arrival of the request.
 * Any failure blocks, except that emergency and service codes always pass.
 */

import { sandboxAccountId } from '../domain/caller.js'
import type { MaybePromise } from '../domain/compliance.js'
import {
  type CallKind,
  type CallRequest,
  type Decision,
  type DecisionFinalizer,
  decide,
  type Finding,
  type Policy,
  type ReasonCode,
  type Ruling,
  toShadowPolicy,
} from '../domain/decision.js'
import type { Pauses } from '../domain/mandate.js'
import { parseDialString } from '../domain/phone-number.js'
import type { ClockReading, Instant } from '../domain/time/clock.js'
import { createSampledLine } from '../observability/log.js'
import { runChecks } from './checks.js'
import { type MeasuredDecision, toLogFields } from './decision-document.js'
import type { GateAccount, GateDeps, GateRules } from './gate-deps.js'
import { type LegalTimeOptions, prepareLegalTimeOptions } from './legal-time-options.js'
import {
  type AttemptToCount,
  awaitPauses,
  countAttempt,
  createAttempt,
  findRegionDays,
  judgeMandate,
  refuseByMandate,
} from './mandate.js'
import {
  type AlsoRecord,
  blockInstead,
  type CallRuling,
  findBlockReason,
  recordNext,
  ruleBeforeChecks,
  rulingWithoutFindings,
  type UncheckedDial,
} from './pre-check-ruling.js'
import { computeAgeMs, describeException } from './staleness.js'

/** Part of the deadline in which checks must answer; the rest is left for the record. */
const checkDeadlineShare = 0.9

/** Writing more lines would take a tenth of the time of a decision; the journal has all of them. */
const maxLogLinesPerSecond = 1_000

/** One reading of two clocks. */
interface Instants {
  /** By the machine's clock. */
  readonly now: Instant
  /** By the account's. */
  readonly accountNow: Instant
}

/** A call on its way through the gate. */
interface PendingCall {
  readonly request: CallRequest
  readonly account: GateAccount
  /** On the monotonic clock of the timers. */
  readonly arrivedAtMs: number
  /** What was stored until then is in what the call was judged by. */
  readonly currentAt: ClockReading | undefined
  readonly alsoRecord?: AlsoRecord | undefined
}

type Judging = MaybePromise<DecisionFinalizer>

export class Gate {
  #deps: GateDeps
  #shadowPolicy: Policy
  #legalTimeOptions: Readonly<Record<CallKind, LegalTimeOptions>>
  readonly #logDecision: (measured: MeasuredDecision) => void
  #pending = 0

  constructor(deps: GateDeps) {
    this.#deps = deps
    this.#shadowPolicy = toShadowPolicy(deps.policy)
    this.#logDecision = createSampledLine(deps.log, {
      level: 'info',
      message: 'decision',
      fields: toLogFields,
      max: maxLogLinesPerSecond,
      per: 'second',
    })
    this.#legalTimeOptions = prepareLegalTimeOptions(deps.settings)
  }

  /**
   * Judges by other rules from now on. A decision that waits for an answer is judged again, since its
   * findings may be partly by the old rules and partly by the new ones.
   */
  replaceRules(rules: GateRules): void {
    this.#deps = { ...this.#deps, ...rules }
    this.#shadowPolicy = toShadowPolicy(rules.policy)
    this.#legalTimeOptions = prepareLegalTimeOptions(rules.settings)
  }

  /** Decisions that wait for an answer or for the disk. */
  get pendingCount(): number {
    return this.#pending
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
    const { settings, checks, timers, feed } = this.#deps
    const account = this.#accountOf(request)
    const monotonicMs = timers.monotonicMs()
    const call = { request, account, arrivedAtMs, currentAt: feed?.currentAt, alsoRecord }
    const dialed = parseDialString(request.dialed, settings.serviceCodes)
    if (dialed.kind !== 'nanp') return this.#judgeWithoutChecks(call, dialed)
    const { number } = dialed
    const deadlineMs = settings.deadlineMs * checkDeadlineShare - (monotonicMs - call.arrivedAtMs)
    if (this.#pending >= settings.maxPending || deadlineMs <= 0) {
      const overloaded = rulingWithoutFindings(number, 'block', 'overloaded')
      const decision = this.#decideImmediately(call, overloaded)
      return () => decision
    }
    const refused = request.mandate && refuseByMandate(request, this.#deps.clock.now())
    if (refused) return this.#concludeAgainst(call, number, refused)
    // Read beside the checks: one after the other, a database that does not answer would be waited for twice.
    const pauses = this.#deps.pauses.read()
    const { at, callKind } = request
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
      asked: { now: askedAt, monotonicMs },
      callKind,
      recordedVoice: legalTimeOptions.recordedVoice,
      requireStatutoryWindow: legalTimeOptions.requireStatutoryWindow,
      strictestPlace: legalTimeOptions.strictestPlace,
      inBackground: this.#deps.asksInBackground,
      trace: request.trace,
    }
    const { compliance } = account
    const findings = runChecks(
      checks,
      { compliance, question, callKind, askedAt },
      { deadlineMs, timers },
    )
    return findings instanceof Promise || pauses instanceof Promise
      ? this.#awaitAnswers(call, number, [
          findings,
          awaitPauses(pauses, { ms: deadlineMs, timers }),
        ])
      : this.#conclude(call, number, findings, pauses)
  }

  async #awaitAnswers(
    call: PendingCall,
    number: string,
    answering: readonly [MaybePromise<readonly Finding[]>, MaybePromise<Pauses | undefined>],
  ): Promise<DecisionFinalizer> {
    const deps = this.#deps
    this.#pending += 1
    const [findings, pauses] = await Promise.all(answering).finally(() => {
      this.#pending -= 1
    })
    if (this.#deps !== deps) return this.judge(call.request, call.arrivedAtMs, call.alsoRecord)
    return await this.#conclude(call, number, findings, pauses)
  }

  #conclude(
    call: PendingCall,
    number: string,
    checked: readonly Finding[],
    pauses: Pauses | undefined,
  ): Judging {
    const { settings, timers } = this.#deps
    const { request } = call
    const isUnlimited = request.mandate === undefined && pauses?.size === 0
    const mandate = isUnlimited
      ? undefined
      : judgeMandate(request, checked, { pauses, at: this.#deps.clock.now() })
    const findings = mandate ? [mandate, ...checked] : checked
    const instants = this.#readInstants(call.account)
    const ruling = this.#rule(call, findings, instants)
    const mayBeExcepted = settings.whileCutOff !== undefined && ruling.decision === 'allow'
    const detail = mayBeExcepted
      ? describeException(call, { now: instants.now, monotonicMs: timers.monotonicMs() }, settings)
      : undefined
    const judged = { number, findings, ruling, detail }
    const attempts = ruling.decision === 'allow' ? request.mandate?.attempts : undefined
    return attempts && this.#deps.attempts && request.at === undefined
      ? this.#takeAttempt(call, judged, { limits: attempts, counter: this.#deps.attempts })
      : this.#record(call, judged, instants)
  }

  /** An attempt is counted only when nothing else blocks the call, and taken back if the allow does not leave. */
  async #takeAttempt(
    call: PendingCall,
    judged: CallRuling,
    counting: Omit<AttemptToCount, 'attempt'>,
  ): Promise<DecisionFinalizer> {
    const { clock, timers, newId } = this.#deps
    const at = clock.now()
    const id = newId(at)
    const attempt = createAttempt(call.request, { decisionId: id, number: judged.number, at })
    const leftMs = Math.max(0, this.#remainingMs(call.arrivedAtMs, timers.monotonicMs()))
    this.#pending += 1
    const { finding, ...counted } = await countAttempt(
      { ...counting, attempt },
      { ms: leftMs * checkDeadlineShare, timers },
    )
    this.#pending -= 1
    const findings = finding ? [finding, ...judged.findings.slice(1)] : judged.findings
    const instants = this.#readInstants(call.account)
    const ruling = this.#rule(call, findings, instants)
    const recounted = { ...judged, findings, ruling, id, counted }
    const finalize = await this.#record(call, recounted, instants)
    return (isDelayed) => {
      const final = finalize(isDelayed)
      if (!finding && final.decision === 'block')
        counting.counter.release(id).catch(() => undefined)
      return final
    }
  }

  /** Whatever else may be said about the call, this finding blocks it. */
  #concludeAgainst(call: PendingCall, number: string, finding: Finding): Judging {
    const instants = this.#readInstants(call.account)
    const ruling = this.#rule(call, [finding], instants)
    return this.#record(call, { number, findings: [finding], ruling }, instants)
  }

  #rule(call: PendingCall, findings: readonly Finding[], instants: Instants): Ruling {
    const { accountId, trunk } = call.request
    const { accounts, trunks } = this.#deps.settings.shadow
    const isShadowed =
      accounts.includes(accountId) || (trunk !== undefined && trunks.includes(trunk))
    const policy = isShadowed ? this.#shadowPolicy : this.#deps.policy
    // The later of the instant that is judged and now: an exception to policy that has ended at
    // either of them does not apply.
    const policyAt = Math.max(instants.now, call.request.at ?? instants.accountNow)
    return decide(findings, policy, policyAt)
  }

  /** Blocks and records, without checks, a call with invalid facts; `detail` says which and why. */
  refuse(request: CallRequest, detail: string): Decision {
    const invalid = rulingWithoutFindings('', 'block', 'invalid-request')
    const account = this.#accountOf(request)
    const arrivedAtMs = this.#deps.timers.monotonicMs()
    const call = { request, account, arrivedAtMs, currentAt: undefined }
    return this.#decideImmediately(call, { ...invalid, detail })
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
    return { ...this.#createDecision(call, ruleBeforeChecks(dialed, 'block')), id: '-' }
  }

  #accountOf({ accountId }: CallRequest): GateAccount {
    const { real, sandbox } = this.#deps.accounts
    return accountId === sandboxAccountId ? sandbox : real
  }

  #readInstants({ clock: accountClock }: GateAccount): Instants {
    const { clock } = this.#deps
    const now = clock.now()
    return { now, accountNow: accountClock === clock ? now : accountClock.now() }
  }

  /** For service codes, extensions, foreign and invalid numbers. */
  #judgeWithoutChecks(call: PendingCall, dialed: UncheckedDial): Judging {
    // What limits a key can only be judged for numbers of the plan.
    const nonNanp = call.request.mandate ? 'block' : this.#deps.settings.nonNanp
    const judgment = ruleBeforeChecks(dialed, nonNanp)
    if (judgment.ruling.reason !== 'policy-allows') {
      const decision = this.#decideImmediately(call, judgment)
      return () => decision
    }
    const { settings, clock, pauses: inForce, timers } = this.#deps
    const ms = settings.deadlineMs * checkDeadlineShare
    const pauses = awaitPauses(inForce.read(), { ms, timers })
    const conclude = (read: Pauses | undefined) => {
      const paused = judgeMandate(call.request, [], { pauses: read, at: clock.now() })
      const { number } = judgment
      return paused ? this.#concludeAgainst(call, number, paused) : this.#record(call, judgment)
    }
    return pauses instanceof Promise ? pauses.then(conclude) : conclude(pauses)
  }

  /** Emergency calls, and blocks without checks, do not wait for the disk. */
  #decideImmediately(call: PendingCall, judgment: CallRuling): Decision {
    const decision = this.#createDecision(call, judgment)
    this.#deps.journal.append(decision)
    this.#measure(decision, this.#deps.timers.monotonicMs() - call.arrivedAtMs)
    return decision
  }

  #createDecision(
    { request, account }: Pick<PendingCall, 'request' | 'account'>,
    { number, ruling, findings, detail, id, counted }: CallRuling,
    { now: decidedAt, accountNow: accountTime } = this.#readInstants(account),
  ): Decision {
    const { newId, settings, callingRules } = this.#deps
    const { callKind, at: judgedAt = accountTime } = request
    const disclosures =
      ruling.reason === 'permitted'
        ? callingRules.listDisclosures(callKind, judgedAt, () => findRegionDays(findings, judgedAt))
        : undefined
    const maxValidMs = ruling.decision === 'allow' ? settings.allowValidMs : settings.blockValidMs
    return {
      id: id ?? newId(decidedAt),
      accountId: request.accountId,
      request,
      number,
      findings,
      decidedAt,
      judgedAt,
      accountTime,
      counted,
      disclosures,
      detail,
      validUntil: Math.max(judgedAt, Math.min(judgedAt + maxValidMs, ruling.holdsUntil)),
      encoded: undefined,
      decision: ruling.decision,
      reason: ruling.reason,
      effects: ruling.effects,
      holdsUntil: ruling.holdsUntil,
      nextAllowedAt: ruling.nextAllowedAt,
    }
  }

  /**
   * An allow must be on disk by the deadline; if it is not, the journal keeps trying. A block does not
   * wait for the disk.
   */
  #record(
    call: PendingCall,
    judgment: CallRuling,
    instants = this.#readInstants(call.account),
  ): Judging {
    const { journal, timers } = this.#deps
    const judged = this.#createDecision(call, judgment, instants)
    const decision = this.#blockWhenClockIsWrong(judged, instants.now)
    if (decision.decision !== 'allow') {
      journal.append(decision)
      return this.#createFinalizer(call, decision)
    }
    return new Promise((resolve) => {
      let isWaiting = true
      let cancel: (() => void) | undefined
      const end = (failure?: unknown, blockReason?: ReasonCode) => {
        if (!isWaiting) return
        isWaiting = false
        this.#pending -= 1
        cancel?.()
        const reason = failure === undefined ? blockReason : 'not-recorded'
        resolve(this.#createFinalizer(call, decision, reason))
      }
      this.#pending += 1
      journal.append(decision, call.alsoRecord ? recordNext(call.alsoRecord, decision, end) : end)
      // What is not recorded has ended by now.
      if (!isWaiting) return
      const remainingMs = Math.max(0, this.#remainingMs(call.arrivedAtMs, timers.monotonicMs()))
      cancel = timers.after(remainingMs, () => end('late'))
    })
  }

  #createFinalizer(call: PendingCall, decision: Decision, failed?: ReasonCode): DecisionFinalizer {
    return (isDelayed = false) => {
      const instants = this.#readInstants(call.account)
      const monotonicMs = this.#deps.timers.monotonicMs()
      const isLate = this.#remainingMs(call.arrivedAtMs, monotonicMs) <= 0
      const reason = isDelayed
        ? 'overloaded'
        : findBlockReason(decision, instants.accountNow, {
            failed,
            isLate,
            isCurrent: this.#isCurrent(call, decision, { now: instants.now, monotonicMs }),
          })
      const isWithheld = decision.decision === 'allow' && reason !== undefined
      const final = isWithheld
        ? blockInstead(decision, reason)
        : this.#blockWhenClockIsWrong(decision, instants.now)
      if (final !== decision) this.#deps.journal.amend(final)
      this.#measure(final, monotonicMs - call.arrivedAtMs)
      return final
    }
  }

  /** What is left of the deadline; 0 or less when it has passed. */
  #remainingMs(arrivedAtMs: number, monotonicMs: number): number {
    return this.#deps.settings.deadlineMs - (monotonicMs - arrivedAtMs)
  }

  /**
   * The age counts from before the call was judged, so what was stored longer ago cannot have been missed. A
   * decision with a detail is recorded as an exception.
   */
  #isCurrent({ currentAt }: PendingCall, { detail }: Decision, reading: ClockReading): boolean {
    if (currentAt === undefined) return true
    const { maxStalenessMs, whileCutOff } = this.#deps.settings
    const maxAgeMs = detail === undefined ? maxStalenessMs : (whileCutOff?.maxAgeMs ?? 0)
    return computeAgeMs(currentAt, reading) <= maxAgeMs
  }

  /** Calling hours and the age of facts cannot be judged by a clock that is known to be wrong. */
  #blockWhenClockIsWrong(decision: Decision, now: Instant): Decision {
    if (decision.decision !== 'allow') return decision
    const lagMs = this.#deps.watermark.getLagMs(now)
    if (lagMs === 0) return decision
    const detail = `by ${Math.ceil(Math.abs(lagMs) / 1000)} s`
    return { ...blockInstead(decision, lagMs > 0 ? 'clock-behind' : 'clock-ahead'), detail }
  }

  #measure(final: Decision, tookMs: number): void {
    const { decision, reason, request, findings, effects, accountId } = final
    const seconds = tookMs / 1000
    const via = request.at === undefined ? request.via : 'what-if'
    this.#deps.metrics.recordDecision({
      accountId,
      decision,
      reason,
      kind: request.callKind,
      via,
      seconds,
      findings,
      effects: decision === 'allow' && request.at === undefined ? effects : [],
    })
    this.#logDecision({ final, via, seconds })
  }
}
