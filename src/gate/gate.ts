/**
 * May this call be placed now? Check, decide and record are three visible steps. Any failure blocks, except that
 * emergency and service codes always pass.
 */

import { sandboxAccountId } from '../domain/caller.js'
import { type MaybePromise, mapMaybePromise } from '../domain/compliance.js'
import type { CallRequest, Decision, DecisionFinalizer } from '../domain/decision.js'
import type { ReassignedStatus } from '../domain/lookups.js'
import { type PhoneNumber, parseDialString } from '../domain/phone-number.js'
import type { LocalDay } from '../domain/time/clock.js'
import type { Said } from '../domain/words/words.js'
import type { Facts } from '../judge/facts.js'
import {
  type Call,
  type Concluded,
  judge,
  judgePaused,
  type LawInForce,
  listOpenQuestions,
  type Need,
} from '../judge/judge.js'
import type { NumberMemo } from '../judge/judge-number.js'
import type { JudgeSettings } from '../judge/judged.js'
import { findPurpose } from '../judge/rules/purpose.js'
import { createSampledLine } from '../observability/log.js'
import { withTimeout } from '../runtime/runtime.js'
import { createAttempt, readAttempts, takeAttempt, toCountedCall } from './count-attempts.js'
import { DecisionRecorder, type PendingCall } from './decision-recorder.js'
import type { GateAccount, GateDeps, GateRules, GateSettings } from './gate-deps.js'
import { type FoundSources, lookUp } from './look-up.js'
import {
  ruleBeforeChecks,
  rulingWithoutFindings,
  type UncheckedDial,
  type WithAllow,
} from './pre-check-ruling.js'
import { readPauses, readStored } from './read-stored.js'
import { sayException } from './staleness.js'
import { type Way, ways } from './way.js'

/** Part of the deadline in which checks must answer; the rest is left for the record. */
const checkDeadlineShare = 0.9

type Judging = MaybePromise<DecisionFinalizer>

interface FailedRule {
  readonly check: string
  readonly why: string | undefined
}

/** A call, and what is known of it so far. */
interface KnownCall {
  readonly call: PendingCall
  readonly number: PhoneNumber
  readonly facts: Facts
  readonly memo?: NumberMemo | undefined
  /** Of the decision, if its attempt was counted or read. */
  readonly id?: string | undefined
  /** Of an attempt that was counted, or perhaps was. */
  readonly reservation?: { release(): Promise<void> } | undefined
}

function toCall({ call, number }: Pick<KnownCall, 'call' | 'number'>): Call {
  return { request: call.request, number, stated: call.purpose?.purpose }
}

function withFacts(known: KnownCall, more: Partial<Facts>): KnownCall {
  return { ...known, facts: { ...known.facts, ...more } }
}

export class Gate {
  #deps: GateDeps
  #law: LawInForce
  #settings: GateSettings & JudgeSettings
  readonly #recorder: DecisionRecorder
  readonly #logFailedRule: (failed: FailedRule) => void
  #pending = 0
  /** How often the rules were replaced. */
  #replaced = 0

  constructor(deps: GateDeps) {
    this.#deps = deps
    this.#recorder = new DecisionRecorder(deps)
    this.#logFailedRule = createSampledLine(deps.log, {
      level: 'error',
      message: 'a rule could not be applied, so its check is unknown',
      fields: ({ check, why }) => ({ check, why }),
      max: 10,
      per: 'minute',
    })
    this.#law = { rules: deps.callingRules, windows: deps.windows }
    this.#settings = { ...deps.settings, policy: deps.policy }
  }

  /**
   * Judges by other rules from now on. A decision that waits for an answer is judged again, since its
   * findings may be partly by the old rules and partly by the new ones.
   */
  replaceRules(rules: GateRules): void {
    this.#replaced += 1
    this.#deps = { ...this.#deps, ...rules }
    this.#recorder.replaceDeps(this.#deps)
    this.#law = { rules: rules.callingRules, windows: rules.windows }
    this.#settings = { ...rules.settings, policy: rules.policy }
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

  /** What a decision would be; `problem` says what is wrong with the facts of the call, if anything is. */
  async preview(request: CallRequest, problem?: Said): Promise<Decision> {
    const call = this.#begin(request, ways.preview)
    const decision = (await this.#judgeCall(call))()
    // As in a decision, emergency calls pass whatever else is wrong.
    if (problem === undefined || decision.reason === 'service-code') return decision
    return this.#refuse(call, problem)
  }

  /** Whether a call that was allowed is so still: what was counted then is not counted again. */
  recheck(request: CallRequest): Judging {
    return this.#judgeCall(this.#begin(request, ways.recheck))
  }

  /**
   * Judges and records; at once if neither a source nor the disk has to be waited for. Never rejects: a failure is a
   * block with its reason. `arrivedAtMs` is on the monotonic clock of the timers; now when absent.
   */
  judge(
    request: CallRequest,
    arrivedAtMs = this.#deps.timers.monotonicMs(),
    withAllow?: WithAllow,
  ): Judging {
    const begun = this.#begin(request, ways.decision, { arrivedAtMs, withAllow })
    const judging = this.#judgeCall(begun)
    if (withAllow === undefined) return judging
    return mapMaybePromise(judging, (finalize) => (isDelayed) => {
      const final = finalize(isDelayed)
      withAllow.left(final)
      return final
    })
  }

  #begin(
    request: CallRequest,
    way: Way,
    {
      arrivedAtMs = this.#deps.timers.monotonicMs(),
      withAllow,
    }: { readonly arrivedAtMs?: number; readonly withAllow?: WithAllow | undefined } = {},
  ): PendingCall {
    const account = this.#accountOf(request)
    return { request, way, account, arrivedAtMs, currentAt: this.#deps.feed?.currentAt, withAllow }
  }

  #judgeCall(begun: PendingCall): Judging {
    const { settings, timers, callingRules } = this.#deps
    const { request, account, way } = begun
    const { stated: purpose, refusal } = findPurpose(
      request,
      settings.purposes,
      callingRules.purposes,
    )
    const call = purpose ? { ...begun, purpose } : begun
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
    const isFull = way.isRecorded && this.pendingCount >= settings.maxPending
    const blocked =
      isFull || this.#recorder.remainingMs(call, timers.monotonicMs()) <= 0
        ? rulingWithoutFindings(number, 'block', 'overloaded')
        : refusal !== undefined && {
            ...rulingWithoutFindings(number, 'block', 'purpose-not-allowed'),
            says: [refusal],
          }
    if (blocked) {
      const decision = this.#recorder.recordNow(call, blocked)
      return () => decision
    }
    const known = { call, number, facts: { times: this.#recorder.readTimes(account) } }
    return this.#judgeBy(known)
  }

  /** Judges by what is known, and finds out what that needs, until nothing more is needed. */
  #judgeBy(known: KnownCall): Judging {
    const { call, facts } = known
    const judged = judge(this.#law, this.#settings, toCall(known), facts, known.memo)
    if (judged.needs === undefined) return this.#conclude(known, judged)
    const found = this.#answer(judged.needs, known)
    return found instanceof Promise ? this.#judgeLater(call, found) : this.#judgeBy(found)
  }

  /** Of a call that waits for a fact. The rules may have been replaced meanwhile. */
  async #judgeLater(call: PendingCall, finding: Promise<KnownCall>): Promise<DecisionFinalizer> {
    const replaced = this.#replaced
    const found = await this.#whilePending(call, finding)
    try {
      if (this.#replaced === replaced) return await this.#judgeBy(found)
    } catch (cause) {
      found.reservation?.release().catch(() => undefined)
      throw cause
    }
    const releasing = found.reservation?.release().catch(() => undefined)
    if (releasing) {
      const { timers } = this.#deps
      await withTimeout(releasing, this.#shareDeadline(call), () => undefined, { timers })
    }
    return await this.#judgeCall({ ...call, purpose: undefined })
  }

  #answer(needs: Need, known: KnownCall): MaybePromise<KnownCall> {
    switch (needs.is) {
      case 'look-ups':
        return this.#lookUp(known)
      case 'reassigned':
        return mapMaybePromise(this.#askIfReassigned(needs.since, known), (status) =>
          withFacts(known, {
            reassigned: { ...status, since: needs.since, basis: needs.basis },
          }),
        )
      case 'count':
        return this.#count(needs, known)
    }
  }

  #lookUp(known: KnownCall): MaybePromise<KnownCall> {
    const { call, number, facts } = known
    const { timers, attempts } = this.#deps
    const deadlineMs = this.#shareDeadline(call)
    const isCounted = attempts !== undefined && call.way.counts !== 'not-asked'
    const ledger = isCounted ? undefined : 'not-asked'
    // Read beside the others: one after the other, a database that does not answer would be waited for twice.
    const { request, way } = call
    const { now } = facts.times
    const deadline = { ms: deadlineMs, timers }
    const stored = readStored({ request, way, number, now }, this.#deps, deadline)
    const found = this.#findSources(known, deadlineMs)
    if (!(found instanceof Promise || stored instanceof Promise)) {
      const { sources, memo } = found
      const { own, provider } = sources
      return { call, number, facts: { times: facts.times, own, provider, stored, ledger }, memo }
    }
    return Promise.all([found, stored]).then(([{ sources, memo }, read]) => {
      // What took its time to be found is judged when it is known.
      const times = this.#recorder.readTimes(call.account)
      return { ...known, facts: { times, ...sources, stored: read, ledger }, memo }
    })
  }

  #findSources(known: KnownCall, deadlineMs: number): MaybePromise<FoundSources> {
    const { timers } = this.#deps
    const {
      call: { request, account, way },
      number,
      facts: { times },
    } = known
    // Every field is named: a spread is slow.
    const question = {
      accountId: request.accountId,
      number,
      projectId: request.projectId,
      campaignId: request.campaignId,
      postalCode: request.postalCode,
      at: request.at,
      asked: { now: times.accountNow, monotonicMs: timers.monotonicMs() },
      callKind: request.callKind,
      inBackground: way.isInBackground,
      trace: request.trace,
    }
    return lookUp(account.sources, {
      question,
      deadlineMs,
      timers,
      listOpen: (own) =>
        listOpenQuestions(this.#law, this.#settings, toCall(known), { times, own }),
    })
  }

  #askIfReassigned(
    since: LocalDay | undefined,
    { call, number }: KnownCall,
  ): MaybePromise<ReassignedStatus> {
    const { accountId } = call.request
    const asking = call.account.reassigned.find({ accountId, number, since })
    if (!(asking instanceof Promise)) return asking
    const { timers } = this.#deps
    const ms = this.#shareDeadline(call)
    const says = { code: 'not-answered-within', params: { ms: Math.round(ms) } } as const
    const late = () => ({ ...unreachable, says, askedAt: call.account.clock.now() })
    return withTimeout(asking, ms, late, { timers })
  }

  /**
   * An attempt is counted only when nothing else blocks the call, and taken back if the allow does not leave. Otherwise only
   * what would count is read: it may be why the call is not allowed when all else would allow it.
   */
  async #count(
    { how, limits }: Extract<Need, { readonly is: 'count' }>,
    known: KnownCall,
  ): Promise<KnownCall> {
    const { call, number } = known
    const { newId, timers, attempts: counter } = this.#deps
    if (counter === undefined) throw new TypeError('nothing counts attempts')
    const { request } = call
    const { now } = known.facts.times
    const id = newId(now)
    const stated = call.purpose?.purpose
    const purpose = stated === 'telemarketing' ? undefined : stated
    const at = request.at ?? now
    const attempt = createAttempt(request, { decisionId: id, number, purpose, at })
    const deadline = { ms: this.#shareDeadline(call), timers }
    if (how === 'read' || call.way.counts === 'read') {
      const ledger = await readAttempts(counter, attempt, limits.frequency, deadline)
      return { ...withFacts(known, { ledger }), id }
    }
    const { ledger, settled } = await takeAttempt(counter, { attempt, limits }, deadline)
    const release = async () => {
      await settled
      await counter.release(attempt)
    }
    return { ...withFacts(known, { ledger }), id, reservation: settled && { release } }
  }

  #conclude(known: KnownCall, { findings, ruling }: Concluded): Judging {
    const { call, number, facts, id, reservation } = known
    for (const { verdict, check, says } of findings) {
      const [said] = verdict === 'unknown' ? says : []
      if (said?.code === 'rule-failed') this.#logFailedRule({ check, why: said.quote })
    }
    const { timers } = this.#deps
    const { times, ledger } = facts
    const mayBeExcepted = this.#settings.whileCutOff !== undefined && ruling.decision === 'allow'
    const reading = { now: this.#deps.clock.now(), monotonicMs: timers.monotonicMs() }
    const exception = mayBeExcepted ? sayException(call, reading, this.#settings) : undefined
    const counted =
      ledger === undefined || ledger === 'not-asked' ? undefined : toCountedCall(ledger)
    const says = exception && [exception]
    const judged = { number, findings, ruling, facts, memo: known.memo, says, id, counted }
    const recording = this.#recorder.record(call, judged, times)
    if (reservation === undefined) return recording
    return mapMaybePromise(recording, (finalize) => (isDelayed) => {
      const final = finalize(isDelayed)
      if (final.decision === 'block') reservation.release().catch(() => undefined)
      return final
    })
  }

  async #whilePending<Result>({ way }: PendingCall, work: Promise<Result>): Promise<Result> {
    const { isRecorded } = way
    if (isRecorded) this.#pending += 1
    try {
      return await work
    } finally {
      if (isRecorded) this.#pending -= 1
    }
  }

  /** What the next step may take, in milliseconds, with enough left for the record. */
  #shareDeadline(call: PendingCall): number {
    const leftMs = this.#recorder.remainingMs(call, this.#deps.timers.monotonicMs())
    return Math.max(0, leftMs) * checkDeadlineShare
  }

  /** Blocks and records, without checks, a call with invalid facts; `why` says which and why. */
  refuse(request: CallRequest, why: Said): Decision {
    return this.#refuse(this.#begin(request, ways.decision), why)
  }

  #refuse(call: PendingCall, why: Said): Decision {
    const invalid = rulingWithoutFindings('', 'block', 'invalid-request')
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
    const { timers } = this.#deps
    const { number } = judgment
    const deadline = { ms: this.#shareDeadline(call), timers }
    const pauses = readPauses({ request: call.request, number: '' }, this.#deps, deadline)
    return mapMaybePromise(pauses, (read) => {
      const times = this.#recorder.readTimes(call.account)
      const facts = { times, stored: { pauses: read } }
      const paused = judgePaused(this.#law, this.#settings, call.request, facts)
      if (paused === undefined) return this.#recorder.record(call, judgment)
      return this.#recorder.record(call, { number, facts, ...paused }, times)
    })
  }
}

/** That of a source that was not asked, or did not answer. */
const unreachable: ReassignedStatus = { result: 'unreachable', source: 'reassigned' }
