/** Counts and lists the recorded calls that another configuration would have decided otherwise, and why. */
import { sandboxAccountId } from '../../domain/caller.js'
import { reasons } from '../../domain/checks.js'
import type { Decision } from '../../domain/decision.js'
import { formatInstant } from '../../domain/time/dates.js'
import { readRecordedDecisions, type TimeRange } from '../../gate/journal/recorded-decisions.js'
import type { DecisionDocument } from '../../gate/record/decision-document.js'
import { describeFinding, describePolicy } from '../../gate/record/describe-decision.js'
import { type Rules, rejudge, type UnjudgedReason } from './rejudge.js'

type Ruled = Pick<DecisionDocument, 'decision' | 'reason'>

interface FlippedCall {
  readonly id: string
  readonly decidedAt: string
  readonly accountId: string
  readonly number: string
  readonly callKind: string
  readonly recorded: Ruled
  readonly rehearsed: Ruled
  /** The findings that changed, or how policy treats them otherwise. */
  readonly why: readonly string[]
}

/** Of the calls of a time, what-ifs left out. */
export interface RehearsalReport {
  readonly since: string
  readonly until: string
  /** Absent for all but the sandbox. */
  readonly account?: string | undefined
  readonly decisions: number
  /** Of the decisions that can be rehearsed, those that allowed the call. */
  readonly allowed: number
  readonly blocked: number
  readonly wouldHaveBlocked: number
  readonly wouldHaveAllowed: number
  /** Blocked as before, with another reason. */
  readonly otherReason: number
  /** By the reason that the call would have been blocked with. */
  readonly blockedByReason: Readonly<Record<string, number>>
  /** By the reason that the call was blocked with. */
  readonly allowedByReason: Readonly<Record<string, number>>
  /** Blocked by the gate itself, for example because it was overloaded; no rule changes that. */
  readonly blockedByGate: number
  readonly notRehearsed: Readonly<Partial<Record<UnjudgedReason, number>>>
  /** The first ones of those that would have been decided otherwise. */
  readonly flipped: readonly FlippedCall[]
}

export interface RehearsalOptions {
  /** Of the journal. */
  readonly folder: string
  readonly range: TimeRange
  /** Absent for all but the sandbox. */
  readonly account: string | undefined
  /** How many calls are listed at most. */
  readonly maxListed: number
}

/** Reads the journal once; keeps no more of it than what is listed. */
export function rehearse(rules: Rules, options: RehearsalOptions): RehearsalReport {
  const { folder, range, account, maxListed } = options
  const counter = new RehearsalCounter(rules, maxListed)
  for (const { document, isAmendment } of readRecordedDecisions(folder, range)) {
    const { accountId, whatIf } = document
    const isMeant = account === undefined ? accountId !== sandboxAccountId : accountId === account
    if (whatIf || !isMeant) continue
    // Only allows are amended, and they keep their findings.
    if (isAmendment) counter.count({ ...document, decision: 'allow', reason: 'permitted' }, -1)
    counter.count(document, 1)
  }
  return { ...counter.report(range), account }
}

class RehearsalCounter {
  readonly #rules: Rules
  readonly #maxListed: number
  readonly #counts = {
    decisions: 0,
    allowed: 0,
    blocked: 0,
    wouldHaveBlocked: 0,
    wouldHaveAllowed: 0,
    otherReason: 0,
    blockedByGate: 0,
  }
  readonly #notRehearsed = new Map<UnjudgedReason, number>()
  readonly #blockedByReason = new Map<string, number>()
  readonly #allowedByReason = new Map<string, number>()
  readonly #flipped = new Map<string, FlippedCall>()

  constructor(rules: Rules, maxListed: number) {
    this.#rules = rules
    this.#maxListed = maxListed
  }

  /** Counts a call, or with -1 takes back what was counted for it. */
  count(document: DecisionDocument, by: 1 | -1): void {
    const counts = this.#counts
    const found = rejudge(this.#rules, document)
    counts.decisions += by
    if (found.kind === 'by-gate') counts.blockedByGate += by
    if (found.kind === 'unjudged') addTo(this.#notRehearsed, found.why, by)
    if (found.kind !== 'judged') return
    const { decision } = found
    counts[document.decision === 'allow' ? 'allowed' : 'blocked'] += by
    if (decision.decision === document.decision) {
      const isBlock = decision.decision === 'block'
      if (isBlock && decision.reason !== document.reason) counts.otherReason += by
      return
    }
    if (decision.decision === 'block') {
      counts.wouldHaveBlocked += by
      addTo(this.#blockedByReason, decision.reason, by)
    } else {
      counts.wouldHaveAllowed += by
      addTo(this.#allowedByReason, document.reason, by)
    }
    if (by === -1) this.#flipped.delete(document.id)
    else if (this.#flipped.size < this.#maxListed) {
      this.#flipped.set(document.id, describeFlip(document, decision))
    }
  }

  report({ since, until }: TimeRange): RehearsalReport {
    return {
      since: formatInstant(since),
      until: formatInstant(until),
      ...this.#counts,
      blockedByReason: sortByCount(this.#blockedByReason),
      allowedByReason: sortByCount(this.#allowedByReason),
      notRehearsed: sortByCount(this.#notRehearsed),
      flipped: [...this.#flipped.values()],
    }
  }
}

function addTo<Key>(counted: Map<Key, number>, key: Key, by: number): void {
  counted.set(key, (counted.get(key) ?? 0) + by)
}

function sortByCount(counted: ReadonlyMap<string, number>): Record<string, number> {
  const entries = [...counted].filter(([, count]) => count > 0)
  return Object.fromEntries(entries.sort(([, one], [, other]) => other - one))
}

function describeFlip(document: DecisionDocument, decision: Decision): FlippedCall {
  const { id, decidedAt, accountId, number, callKind } = document
  return {
    id,
    decidedAt,
    accountId,
    number,
    callKind,
    recorded: { decision: document.decision, reason: document.reason },
    rehearsed: { decision: decision.decision, reason: decision.reason },
    why: explainFlip(document, decision),
  }
}

function explainFlip(document: DecisionDocument, decision: Decision): readonly string[] {
  const recorded = new Map(document.findings.map((finding) => [finding.check, finding]))
  const changed = decision.findings.flatMap((finding) => {
    const { check, verdict, reason } = finding
    const before = recorded.get(check)
    if (before?.verdict === verdict && before.reason === reason) return []
    return [
      `${check}: was ${before?.verdict ?? 'not checked'}, would be ${verdict}: ${describeFinding(finding)}`,
    ]
  })
  if (changed.length > 0) return changed
  const before = (document.policy ?? []).map((one) => describePolicy(one, document.findings))
  const after = decision.effects.map((one) => describePolicy(one, decision.findings))
  const effects = [
    ...before.filter((text) => !after.includes(text)).map((text) => `policy was: ${text}`),
    ...after.filter((text) => !before.includes(text)).map((text) => `policy would be: ${text}`),
  ]
  return effects.length > 0 ? effects : [reasons[decision.reason].text]
}
