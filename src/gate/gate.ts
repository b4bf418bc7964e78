/**
 * May this call be placed now? Measure, decide and record are three visible steps, and an allow
 * leaves only after its record is on disk. Whatever fails on the way blocks; emergency and service
 * codes alone pass whatever happens.
 */
import { type Clock, monotonicSeconds } from '../domain/clock.js'
import type { Compliance, Question } from '../domain/compliance.js'
import {
  type CallRequest,
  type Decision,
  decide,
  type Finding,
  type Policy,
  type ReasonCode,
  type Ruling,
} from '../domain/decision.js'
import { type PhoneNumber, parseDialed } from '../domain/phone-number.js'
import type { Logger } from '../log.js'
import type { Metrics } from '../metrics.js'
import { askAbout, type GateStandards } from './call-questions.js'
import type { Check } from './checks/check.js'
import type { Journal } from './journal.js'
import { runChecks } from './run-checks.js'

export interface GateSettings extends GateStandards {
  readonly deadlineMs: number
  readonly maxPending: number
  readonly nonNanp: 'block' | 'allow'
  readonly serviceCodes: ReadonlySet<string>
  readonly allowValidMs: number
  readonly blockValidMs: number
}

export interface GateParts {
  readonly compliance: Compliance
  readonly checks: readonly Check[]
  readonly policy: Policy
  /** Absent where decisions are only looked at, as by `callgate check`. */
  readonly journal: Pick<Journal, 'append'> | undefined
  readonly settings: GateSettings
  readonly clock: Clock
  /** Now as the account sees it; the sandbox may stand still. */
  readonly clockOf: (accountId: string) => Clock
  readonly newId: (at: number) => string
  readonly metrics: Metrics
  readonly log: Logger
}

/** What the rules say of a dialled text, before it is recorded. */
interface Judgement {
  readonly number: string
  readonly ruling: Ruling
  readonly findings: readonly Finding[]
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
    this.#pending += 1
    try {
      const judgement = await this.#judge(request)
      const decision = await this.#record(this.#decisionOf(request, judgement), started)
      this.#measure(decision, monotonicSeconds() - started)
      return decision
    } finally {
      this.#pending -= 1
    }
  }

  #judge(request: CallRequest): Judgement | Promise<Judgement> {
    const { settings } = this.#parts
    const dialed = parseDialed(request.dialed, settings.serviceCodes)
    switch (dialed.kind) {
      case 'service-code':
        return { number: dialed.code, ruling: ruled('allow', 'service-code'), findings: [] }
      case 'extension':
        return { number: dialed.digits, ruling: this.#nonNanp('extension'), findings: [] }
      case 'foreign':
        return { number: dialed.digits, ruling: this.#nonNanp('foreign-number'), findings: [] }
      case 'invalid':
        return { number: request.dialed, ruling: ruled('block', 'invalid-number'), findings: [] }
      case 'nanp':
        return this.#judgeNumber(request, dialed.number)
    }
  }

  #nonNanp(reason: ReasonCode): Ruling {
    return this.#parts.settings.nonNanp === 'allow'
      ? ruled('allow', 'policy-allows')
      : ruled('block', reason)
  }

  #judgeNumber(request: CallRequest, number: PhoneNumber): Judgement | Promise<Judgement> {
    const { checks, clockOf, compliance, policy, settings } = this.#parts
    if (this.#pending > settings.maxPending) {
      return { number, ruling: ruled('block', 'overloaded'), findings: [] }
    }
    const question: Question = {
      accountId: request.accountId,
      number,
      projectId: request.projectId,
      campaignId: request.campaignId,
      postalCode: request.postalCode,
      at: request.at,
    }
    const questions = askAbout(question, {
      compliance,
      callKind: request.callKind,
      askedAt: clockOf(request.accountId).now(),
      standards: settings,
    })
    const found = runChecks(checks, questions, settings.deadlineMs)
    const judged = (findings: readonly Finding[]) => ({
      number,
      ruling: decide(findings, policy),
      findings,
    })
    return found instanceof Promise ? found.then(judged) : judged(found)
  }

  #judgedAt(request: CallRequest): number {
    return request.at ?? this.#parts.clockOf(request.accountId).now()
  }

  #decisionOf(request: CallRequest, { number, ruling, findings }: Judgement): Decision {
    const { clock, newId, settings } = this.#parts
    const decidedAt = clock.now()
    const judgedAt = this.#judgedAt(request)
    const longestMs = ruling.decision === 'allow' ? settings.allowValidMs : settings.blockValidMs
    return {
      ...ruling,
      id: newId(decidedAt),
      accountId: request.accountId,
      request,
      number,
      findings,
      decidedAt,
      judgedAt,
      validUntil: Math.max(judgedAt, Math.min(judgedAt + longestMs, ruling.holdsUntil)),
    }
  }

  /** Gives the decision once it is on disk; an allow that cannot be recorded becomes a block. */
  async #record(decision: Decision, started: number): Promise<Decision> {
    const { journal, settings, log } = this.#parts
    if (!journal) return decision
    const written = journal.append(decision).then(
      () => true,
      (cause: unknown) => {
        log.error('a decision could not be recorded', { decisionId: decision.id, cause })
        return false
      },
    )
    if (decision.reason === 'service-code') return decision
    const leftMs = settings.deadlineMs - (monotonicSeconds() - started) * 1000
    if (await withinMs(written, leftMs)) return decision
    const withheld = {
      ...decision,
      ...ruled('block', 'not-recorded'),
      validUntil: decision.judgedAt,
    }
    journal.append(withheld).catch(() => undefined)
    return withheld
  }

  #measure(decision: Decision, seconds: number): void {
    const { metrics, log } = this.#parts
    const { request, reason, findings, degradedBy } = decision
    const via = request.at === undefined ? request.via : 'what-if'
    const kind = request.callKind
    metrics.decided({
      decision: decision.decision,
      reason,
      kind,
      via,
      seconds,
      findings,
      degradedBy,
    })
    log.info('decision', {
      decisionId: decision.id,
      account: decision.accountId,
      number: decision.number,
      kind,
      decision: decision.decision,
      reason,
      via,
      ms: Math.round(seconds * 1e6) / 1e3,
    })
  }
}

function ruled(decision: 'allow' | 'block', reason: ReasonCode): Ruling {
  return {
    decision,
    reason,
    degradedBy: [],
    holdsUntil: Number.POSITIVE_INFINITY,
    nextAllowedAt: undefined,
  }
}

/** Whether the promise came true in time; it must not reject. */
async function withinMs(promise: Promise<boolean>, limitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), Math.max(0, limitMs))
  })
  const inTime = await Promise.race([promise, late])
  clearTimeout(timer)
  return inTime
}
