/**
 * May this call be placed now? Measure, decide and record are three visible steps, and an allow
 * leaves only after its record is on disk. Whatever fails on the way blocks; emergency and service
 * codes alone pass whatever happens.
 */
import { type Clock, type Instant, monotonicSeconds, type Timers } from '../domain/clock.js'
import type { Compliance, Question } from '../domain/compliance.js'
import {
  type CallRequest,
  type Decision,
  decide,
  degradedBy,
  type Finding,
  type Policy,
  type PolicyEffect,
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

export class Gate {
  readonly #parts: GateParts
  #pending = 0

  constructor(parts: GateParts) {
    this.#parts = parts
  }

  /** Never rejects: what goes wrong is a block with its reason. */
  async decide(request: CallRequest): Promise<Decision> {
    const started = monotonicSeconds()
    const dialed = parseDialed(request.dialed, this.#parts.settings.serviceCodes)
    if (dialed.kind !== 'nanp') return this.#decideUnasked(request, dialed, started)
    if (this.#pending >= this.#parts.settings.maxPending) {
      const overloaded = restingOnNothing(dialed.number, 'block', 'overloaded')
      return this.#giveAtOnce(request, overloaded, started)
    }
    this.#pending += 1
    try {
      const judged = this.#judgeNumber(request, dialed.number)
      const judgement = judged instanceof Promise ? await judged : judged
      return await this.#give(this.#decisionOf(request, judgement), started)
    } finally {
      this.#pending -= 1
    }
  }

  /** Blocks and records, unasked, a call whose facts cannot be read; `detail` says which and why. */
  refuse(request: CallRequest, detail: string): Decision {
    const unread = restingOnNothing('', 'block', 'invalid-request')
    return this.#giveAtOnce(request, { ...unread, detail }, monotonicSeconds())
  }

  /** Numbers that nobody is asked about: service codes, extensions, foreign and invalid ones. */
  async #decideUnasked(request: CallRequest, dialed: Unasked, started: number): Promise<Decision> {
    const judgement = judgeUnasked(dialed, this.#parts.settings.nonNanp)
    if (judgement.ruling.reason === 'policy-allows') {
      return await this.#give(this.#decisionOf(request, judgement), started)
    }
    return this.#giveAtOnce(request, judgement, started)
  }

  #judgeNumber(request: CallRequest, number: PhoneNumber): Judgement | Promise<Judgement> {
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
    const found = runChecks(checks, questions, { deadlineMs: settings.deadlineMs, timers })
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

  /**
   * Gives an allow once it is on disk and only while what it rests on still holds; a block is given
   * whether or not its record is on disk by the deadline.
   */
  async #give(judged: Decision, started: number): Promise<Decision> {
    const { journal, settings, clockOf, timers } = this.#parts
    const decision = this.#unlessClockIsBehind(judged)
    let given = decision
    if (journal) {
      const leftMs = settings.deadlineMs - (monotonicSeconds() - started) * 1000
      const recorded = await withinMs(this.#recorded(journal, decision), leftMs, timers)
      if (!recorded && decision.decision === 'allow') given = withheld(decision, 'not-recorded')
    }
    const { at, accountId } = decision.request
    const expired = at === undefined && decision.holdsUntil <= clockOf(accountId).now()
    if (expired && given.decision === 'allow') given = withheld(decision, 'expired')
    given = this.#unlessClockIsBehind(given)
    if (given !== decision) journal?.amend(given)
    this.#measure(given, monotonicSeconds() - started)
    return given
  }

  /** An allow is of a time, and a clock that is behind what was stored tells none. */
  #unlessClockIsBehind(decision: Decision): Decision {
    if (decision.decision !== 'allow') return decision
    const behindMs = this.#parts.newestStored.behindMs()
    if (behindMs === 0) return decision
    const detail = `by ${Math.ceil(behindMs / 1000)} s`
    return { ...withheld(decision, 'clock-behind'), detail }
  }

  /** Emergency calls, and blocks that took no asking, wait for no disk. */
  #giveAtOnce(request: CallRequest, judgement: Judgement, started: number): Decision {
    const decision = this.#decisionOf(request, judgement)
    const { journal } = this.#parts
    if (journal) void this.#recorded(journal, decision)
    this.#measure(decision, monotonicSeconds() - started)
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

  #measure(decision: Decision, seconds: number): void {
    const { metrics, log } = this.#parts
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
