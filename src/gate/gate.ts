/**
 * May this call be placed now? Measure, decide and record are three visible steps, and an allow
 * leaves only after its record is on disk and before its deadline, counted from the arrival of the
 * request. Whatever fails on the way blocks; emergency and service codes alone pass whatever happens.
 */
import type { Clock, Instant, Timers } from '../domain/clock.js'
import type { Compliance, Question } from '../domain/compliance.js'
import {
  type CallRequest,
  type Decision,
  type DeliverDecision,
  decide,
  degradedBy,
  type Finding,
  type Policy,
  type PolicyEffect,
  type ReasonCode,
} from '../domain/decision.js'
import { maskNumber, type PhoneNumber, parseDialed } from '../domain/phone-number.js'
import type { Logger } from '../log.js'
import type { Metrics } from '../metrics.js'
import { askAbout, type GateStandards } from './call-questions.js'
import type { Check } from './checks/check.js'
import { withinMs } from './deadline.js'
import type { Journal } from './journal.js'
import { runChecks } from './run-checks.js'
import {
  type Judgement,
  judgeUnasked,
  restingOnNothing,
  type Unasked,
  withheld,
} from './unasked.js'

export interface GateSettings extends GateStandards {
  readonly deadlineMs: number
  readonly maxPending: number
  readonly nonNanp: 'block' | 'allow'
  readonly serviceCodes: ReadonlySet<string>
  readonly allowValidMs: number
  readonly blockValidMs: number
}

/** The newest instant at which anything was stored, by the machine's clock. */
export interface NewestStored {
  note(at: Instant): void
  /** Milliseconds that the clock is behind it; 0 while it can be believed. */
  behindMs(): number
}

export type GateJournal = Pick<Journal, 'append' | 'amend'>

export interface GateParts {
  readonly compliance: Compliance
  readonly checks: readonly Check[]
  readonly policy: Policy
  /** Absent where decisions are only looked at, as by `callgate check`. */
  readonly journal: GateJournal | undefined
  readonly settings: GateSettings
  readonly clock: Clock
  readonly newestStored: NewestStored
  readonly timers: Timers
  /** Now as the account sees it; the sandbox may stand still. */
  readonly clockOf: (accountId: string) => Clock
  readonly newId: (at: number) => string
  readonly metrics: Metrics
  readonly log: Logger
}

/** Part of the deadline in which checks must answer; the rest is left for the record. */
const shareForChecks = 0.9

export class Gate {
  readonly #parts: GateParts
  #pending = 0

  constructor(parts: GateParts) {
    this.#parts = parts
  }

  /** For callers that act on the decision at once; see {@link judge}. */
  async decide(request: CallRequest, arrivedAtMs?: number): Promise<Decision> {
    const deliver = await this.judge(request, arrivedAtMs)
    return deliver()
  }

  /**
   * Judges and records. Never rejects: what goes wrong is a block with its reason. `arrivedAtMs` is
   * when the request arrived, on the monotonic clock of the timers; now when absent.
   */
  async judge(
    request: CallRequest,
    arrivedAtMs = this.#parts.timers.monotonicMs(),
  ): Promise<DeliverDecision> {
    const { settings } = this.#parts
    const dialed = parseDialed(request.dialed, settings.serviceCodes)
    if (dialed.kind !== 'nanp') return this.#judgeUnasked(request, dialed, arrivedAtMs)
    const isFull = this.#pending >= settings.maxPending
    if (isFull || this.#leftMs(arrivedAtMs, shareForChecks) <= 0) {
      const overloaded = restingOnNothing(dialed.number, 'block', 'overloaded')
      const decision = this.#giveAtOnce(request, overloaded, arrivedAtMs)
      return () => decision
    }
    this.#pending += 1
    try {
      const judged = this.#judgeNumber(request, dialed.number, arrivedAtMs)
      const judgement = judged instanceof Promise ? await judged : judged
      return await this.#record(this.#decisionOf(request, judgement), arrivedAtMs)
    } finally {
      this.#pending -= 1
    }
  }

  /** Blocks and records, unasked, a call whose facts cannot be read; `detail` says which and why. */
  refuse(request: CallRequest, detail: string): Decision {
    const unread = restingOnNothing('', 'block', 'invalid-request')
    const arrivedAtMs = this.#parts.timers.monotonicMs()
    return this.#giveAtOnce(request, { ...unread, detail }, arrivedAtMs)
  }

  /**
   * Allows a call to a service code of which no record can be kept, such as of somebody without a key;
   * its id says so. Nor is it counted: strangers may ask as often as they like.
   */
  passUnrecorded(request: CallRequest): Decision {
    const dialed = parseDialed(request.dialed, this.#parts.settings.serviceCodes)
    if (dialed.kind !== 'service-code') throw new TypeError('only service codes pass unrecorded')
    return { ...this.#decisionOf(request, judgeUnasked(dialed, 'block')), id: '-' }
  }

  /** Numbers that nobody is asked about: service codes, extensions, foreign and invalid ones. */
  async #judgeUnasked(
    request: CallRequest,
    dialed: Unasked,
    arrivedAtMs: number,
  ): Promise<DeliverDecision> {
    const judgement = judgeUnasked(dialed, this.#parts.settings.nonNanp)
    if (judgement.ruling.reason === 'policy-allows') {
      return await this.#record(this.#decisionOf(request, judgement), arrivedAtMs)
    }
    const decision = this.#giveAtOnce(request, judgement, arrivedAtMs)
    return () => decision
  }

  #judgeNumber(
    request: CallRequest,
    number: PhoneNumber,
    arrivedAtMs: number,
  ): Judgement | Promise<Judgement> {
    const { checks, clock, clockOf, compliance, policy, settings, timers } = this.#parts
    const question: Question = {
      accountId: request.accountId,
      number,
      projectId: request.projectId,
      campaignId: request.campaignId,
      postalCode: request.postalCode,
      at: request.at,
      callKind: request.callKind,
    }
    const questions = askAbout(question, {
      compliance,
      callKind: request.callKind,
      askedAt: clockOf(request.accountId).now(),
      standards: settings,
    })
    const deadlineMs = this.#leftMs(arrivedAtMs, shareForChecks)
    const found = runChecks(checks, questions, { deadlineMs, timers })
    const judged = (findings: readonly Finding[]) => {
      // The later of the two: neither an end that has passed lets pass what is judged as of before
      // it, nor is a call judged as of after an end let pass because that is still to come.
      const policyAt = Math.max(clock.now(), request.at ?? clockOf(request.accountId).now())
      return { number, ruling: decide(findings, policy, policyAt), findings }
    }
    return found instanceof Promise ? found.then(judged) : judged(found)
  }

  #decisionOf(request: CallRequest, judgement: Judgement): Decision {
    const { number, ruling, findings } = judgement
    const { clock, clockOf, newId, settings } = this.#parts
    const decidedAt = clock.now()
    const usedAt = clockOf(request.accountId).now()
    const judgedAt = request.at ?? usedAt
    const longestMs = ruling.decision === 'allow' ? settings.allowValidMs : settings.blockValidMs
    // Named fields first: an object that begins with a spread takes V8 a hundred times as long.
    return {
      id: newId(decidedAt),
      accountId: request.accountId,
      request,
      number,
      findings,
      decidedAt,
      judgedAt,
      usedAt,
      detail: judgement.detail,
      validUntil: Math.max(judgedAt, Math.min(judgedAt + longestMs, ruling.holdsUntil)),
      ...ruling,
    }
  }

  /** An allow is given once it is on disk; a block whether or not its record is by the deadline. */
  async #record(judged: Decision, arrivedAtMs: number): Promise<DeliverDecision> {
    const { journal, timers } = this.#parts
    const decision = this.#unlessClockIsBehind(judged)
    const recording = journal && this.#recorded(journal, decision)
    const recorded = recording ? await withinMs(recording, this.#leftMs(arrivedAtMs), timers) : true
    return (isDelayed = false) => {
      const reason = isDelayed ? 'overloaded' : this.#whyWithheld(decision, arrivedAtMs, recorded)
      const isWithheld = decision.decision === 'allow' && reason !== undefined
      const given = isWithheld ? withheld(decision, reason) : this.#unlessClockIsBehind(decision)
      if (given !== decision) journal?.amend(given)
      this.#measure(given, arrivedAtMs)
      return given
    }
  }

  /** Why an allow may not leave any more. */
  #whyWithheld(decision: Decision, arrivedAtMs: number, recorded: boolean): ReasonCode | undefined {
    if (!recorded) return 'not-recorded'
    if (this.#leftMs(arrivedAtMs) <= 0) return 'overloaded'
    const { at, accountId } = decision.request
    const isExpired = decision.holdsUntil <= this.#parts.clockOf(accountId).now()
    return at === undefined && isExpired ? 'expired' : undefined
  }

  /** What is left of the deadline, or of a share of it; not above 0 when it has passed. */
  #leftMs(arrivedAtMs: number, share = 1): number {
    const { settings, timers } = this.#parts
    return settings.deadlineMs * share - (timers.monotonicMs() - arrivedAtMs)
  }

  /** Calling hours and the age of facts cannot be judged by a clock that is known to be wrong. */
  #unlessClockIsBehind(decision: Decision): Decision {
    if (decision.decision !== 'allow') return decision
    const behindMs = this.#parts.newestStored.behindMs()
    if (behindMs === 0) return decision
    const detail = `by ${Math.ceil(behindMs / 1000)} s`
    return { ...withheld(decision, 'clock-behind'), detail }
  }

  /** Emergency calls, and blocks that took no asking, wait for no disk. */
  #giveAtOnce(request: CallRequest, judgement: Judgement, arrivedAtMs: number): Decision {
    const decision = this.#decisionOf(request, judgement)
    const { journal } = this.#parts
    if (journal) void this.#recorded(journal, decision)
    this.#measure(decision, arrivedAtMs)
    return decision
  }

  /** Whether the record is on disk; the journal itself tries a failed one again. */
  #recorded(journal: GateJournal, decision: Decision): Promise<boolean> {
    return journal.append(decision).then(
      () => {
        this.#parts.newestStored.note(decision.decidedAt)
        return true
      },
      (cause: unknown) => {
        const { log } = this.#parts
        log.error('a decision could not be recorded', { decisionId: decision.id, err: cause })
        return false
      },
    )
  }

  #measure(decision: Decision, arrivedAtMs: number): void {
    const { metrics, log, timers } = this.#parts
    const seconds = (timers.monotonicMs() - arrivedAtMs) / 1000
    const { request, reason, findings } = decision
    const degraded = degradedBy(decision)
    const via = request.at === undefined ? request.via : 'what-if'
    const kind = request.callKind
    metrics.decided({
      decision: decision.decision,
      reason,
      kind,
      via,
      seconds,
      findings,
      effects: countedEffects(decision),
    })
    log.info('decision', {
      decisionId: decision.id,
      account: decision.accountId,
      number: shownNumber(decision),
      kind,
      decision: decision.decision,
      reason,
      degraded: degraded.length === 0 ? undefined : degraded,
      via,
      server: request.channel?.server,
      channelId: request.channel?.id,
      ms: Math.round(seconds * 1e6) / 1e3,
    })
  }
}

/** Counters tell of calls that were let pass: not of blocks, and not of what-ifs. */
function countedEffects({ request, decision, effects }: Decision): readonly PolicyEffect[] {
  return decision === 'allow' && request.at === undefined ? effects : []
}

/** What a log line may tell of a number; service codes are nobody's. */
function shownNumber({ reason, number }: Decision): string {
  return reason === 'service-code' ? number : maskNumber(number)
}
