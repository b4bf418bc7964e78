/**
 * Puts what was decided on record. An allow leaves only after its record is on disk and before its deadline, counted from
 * the arrival of the request; otherwise it becomes a block.
 */

import type { MaybePromise } from '../domain/compliance.js'
import {
  type CallRequest,
  type Decision,
  type DecisionFinalizer,
  listDegradedChecks,
  type ReasonCode,
  type StatedPurpose,
} from '../domain/decision.js'
import { maskNumber } from '../domain/phone-number.js'
import type { ClockReading } from '../domain/time/clock.js'
import type { Times } from '../judge/facts.js'
import { findWithheld } from '../judge/release.js'
import { createSampledLine, type LogFields } from '../observability/log.js'
import type { DecisionVia } from '../observability/metrics.js'
import { createDecision } from './create-decision.js'
import type { GateAccount, GateDeps } from './gate-deps.js'
import { blockInstead, type CallRuling, recordNext, type WithAllow } from './pre-check-ruling.js'
import { computeAgeMs } from './staleness.js'
import type { Way } from './way.js'

/** Writing more lines would take a tenth of the time of a decision; the journal has all of them. */
const maxLogLinesPerSecond = 1_000

/** A decision that is counted and logged, and how long it took. */
interface MeasuredDecision {
  readonly final: Decision
  readonly via: DecisionVia
  readonly seconds: number
}

/** The fields of its log line. */
function toLogFields({ final, via, seconds }: MeasuredDecision): LogFields {
  const { id, accountId, number, decision, reason, request } = final
  const degraded = listDegradedChecks(final)
  return {
    decisionId: id,
    account: accountId,
    // A service code is nobody's number.
    number: reason === 'service-code' ? number : maskNumber(number),
    kind: request.callKind,
    decision,
    reason,
    degraded: degraded.length === 0 ? undefined : degraded,
    via,
    server: request.channel?.server,
    channelId: request.channel?.id,
    traceId: request.trace?.traceId,
    ms: Math.round(seconds * 1e6) / 1e3,
  }
}

/** A call on its way through the gate. */
export interface PendingCall {
  readonly request: CallRequest
  readonly way: Way
  readonly account: GateAccount
  readonly purpose?: StatedPurpose | undefined
  /** On the monotonic clock of the timers. */
  readonly arrivedAtMs: number
  /** What was stored until then is in what the call was judged by. */
  readonly currentAt: ClockReading | undefined
  readonly withAllow?: WithAllow | undefined
}

export class DecisionRecorder {
  #deps: GateDeps
  readonly #logDecision: (measured: MeasuredDecision) => void
  #pending = 0

  constructor(deps: GateDeps) {
    this.#deps = deps
    this.#logDecision = createSampledLine(deps.log, {
      level: 'info',
      message: 'decision',
      fields: toLogFields,
      max: maxLogLinesPerSecond,
      per: 'second',
    })
  }

  /** Records by these from now on. */
  replaceDeps(deps: GateDeps): void {
    this.#deps = deps
  }

  /** Allows that wait for the disk. */
  get pendingCount(): number {
    return this.#pending
  }

  readTimes({ clock: accountClock }: GateAccount): Times {
    const { clock } = this.#deps
    const now = clock.now()
    return { now, accountNow: accountClock === clock ? now : accountClock.now() }
  }

  /** Emergency calls, and blocks without checks, do not wait for the disk. */
  recordNow(call: PendingCall, judgment: CallRuling): Decision {
    const decision = this.createDecision(call, judgment)
    if (call.way.isRecorded) this.#deps.journal.append(decision)
    this.#measure(call, decision)
    return decision
  }

  /** While the journal must not be written to. */
  blockUnrecorded(call: PendingCall, judgment: CallRuling): Decision {
    const decision = this.createDecision(call, judgment)
    this.#measure(call, decision)
    return decision
  }

  createDecision(
    { request, account, purpose }: Pick<PendingCall, 'request' | 'account' | 'purpose'>,
    ruled: CallRuling,
    times = this.readTimes(account),
  ): Decision {
    const { newId, settings, callingRules: law, rulesVersion: rules } = this.#deps
    const id = ruled.id ?? newId(times.now)
    return createDecision({ id, request, purpose, rules }, ruled, { times, settings, law })
  }

  /**
   * An allow must be on disk by the deadline; if it is not, the journal keeps trying. A block does not
   * wait for the disk.
   */
  record(
    call: PendingCall,
    judgment: CallRuling,
    times = this.readTimes(call.account),
  ): MaybePromise<DecisionFinalizer> {
    const { journal, timers } = this.#deps
    const judged = this.createDecision(call, judgment, times)
    const decision = this.#withhold(call, judged) ?? judged
    if (!call.way.isRecorded) return this.#createFinalizer(call, decision)
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
      journal.append(decision, call.withAllow ? recordNext(call.withAllow, decision, end) : end)
      // What is not recorded has ended by now.
      if (!isWaiting) return
      const remainingMs = Math.max(0, this.remainingMs(call, timers.monotonicMs()))
      cancel = timers.after(remainingMs, () => end('late'))
    })
  }

  #createFinalizer(call: PendingCall, decision: Decision, failed?: ReasonCode): DecisionFinalizer {
    return (isDelayed = false) => {
      const monotonicMs = this.#deps.timers.monotonicMs()
      const withheld = this.#withhold(call, decision, { failed, isDelayed, monotonicMs })
      if (withheld && call.way.isRecorded) this.#deps.journal.amend(withheld)
      const final = withheld ?? decision
      this.#measure(call, final, monotonicMs)
      return final
    }
  }

  /** The block in the place of an allow that may not leave now; `undefined` if it may. */
  #withhold(
    call: PendingCall,
    decision: Decision,
    {
      failed,
      isDelayed = false,
      monotonicMs = this.#deps.timers.monotonicMs(),
    }: {
      readonly failed?: ReasonCode | undefined
      readonly isDelayed?: boolean
      readonly monotonicMs?: number
    } = {},
  ): Decision | undefined {
    if (decision.decision === 'block') return undefined
    const { now, accountNow } = this.readTimes(call.account)
    const withheld = findWithheld(decision, decision.request.at !== undefined, {
      accountNow,
      failed: isDelayed ? undefined : failed,
      isLate: isDelayed || this.remainingMs(call, monotonicMs) <= 0,
      currency: this.#readCurrency(call, decision, { now, monotonicMs }),
      clockLagMs: this.#deps.watermark.getLagMs(now),
    })
    if (withheld === undefined) return undefined
    const { reason, says = decision.says } = withheld
    return { ...blockInstead(decision, reason), says }
  }

  /** What is left of the deadline; 0 or less when it has passed. */
  remainingMs({ way, arrivedAtMs }: PendingCall, monotonicMs: number): number {
    return way.findDeadline(this.#deps.settings) - (monotonicMs - arrivedAtMs)
  }

  /**
   * The age counts from before the call was judged, so what was stored longer ago cannot have been missed. A
   * decision that says something is recorded as an exception.
   */
  #readCurrency({ currentAt }: PendingCall, { says }: Decision, reading: ClockReading) {
    if (currentAt === undefined) return undefined
    const { maxStalenessMs, whileCutOff } = this.#deps.settings
    const maxAgeMs = says === undefined ? maxStalenessMs : (whileCutOff?.maxAgeMs ?? 0)
    return { ageMs: computeAgeMs(currentAt, reading), maxAgeMs }
  }

  #measure(
    { way, arrivedAtMs }: PendingCall,
    final: Decision,
    monotonicMs = this.#deps.timers.monotonicMs(),
  ): void {
    if (!way.isRecorded) return
    const { decision, reason, request, purpose, findings, effects, accountId } = final
    const seconds = (monotonicMs - arrivedAtMs) / 1000
    const via = request.at === undefined ? request.via : 'what-if'
    this.#deps.metrics.recordDecision({
      accountId,
      decision,
      reason,
      kind: request.callKind,
      purpose: purpose?.purpose,
      via,
      seconds,
      findings,
      effects: decision === 'allow' && request.at === undefined ? effects : [],
    })
    this.#deps.recentCalls?.note(final)
    this.#logDecision({ final, via, seconds })
  }
}
