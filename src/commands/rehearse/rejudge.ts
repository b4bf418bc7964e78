/** Re-evaluates recorded calls under given rules and settings, from the facts in their records. */
import type { Configuration } from '../../app/configuration.js'
import { checks, reasonCodes, reasons } from '../../domain/checks.js'
import type { Decision } from '../../domain/decision.js'
import { parseDialString } from '../../domain/phone-number.js'
import { buildPolicy } from '../../gate/build-policy.js'
import { toCountedCall } from '../../gate/count-attempts.js'
import { createDecision } from '../../gate/create-decision.js'
import {
  type CallRuling,
  ruleBeforeChecks,
  rulingWithoutFindings,
} from '../../gate/pre-check-ruling.js'
import type { DecisionDocument, FindingDocument } from '../../gate/record/decision-document.js'
import { readFacts, readRequest } from '../../gate/record/recorded-facts.js'
import { recordVersion } from '../../gate/record/write-record.js'
import type { Facts } from '../../judge/facts.js'
import {
  type Call,
  type Concluded,
  judge,
  judgePaused,
  type LawInForce,
  type Need,
} from '../../judge/judge.js'
import type { JudgeSettings } from '../../judge/judged.js'
import { findPurpose } from '../../judge/rules/purpose.js'
import { CallingRules } from '../../law/calling-rules.js'
import { WindowEvaluator } from '../../law/hours/window-evaluator.js'
import { prepareClosures } from '../../service/calling-hours/prepare-closures.js'
import { notConfigured } from '../../service/lookups/reassigned-statuses.js'

/**
 * - `newer-record`: written by a newer version of the program;
 * - `erased`: its facts were erased with the number;
 * - `not-checked`: it was blocked before any check, and would be checked now.
 */
export const unjudgedReasons = ['newer-record', 'erased', 'not-checked'] as const
export type UnjudgedReason = (typeof unjudgedReasons)[number]

/**
 * - `judged`: the decision by these rules;
 * - `by-gate`: the gate blocked the call whatever the rules say, for example because it was overloaded;
 * - `unjudged`: the record lacks facts that the rules need.
 */
export type Rejudgment =
  | { readonly kind: 'judged'; readonly decision: Decision }
  | { readonly kind: 'by-gate' }
  | { readonly kind: 'unjudged'; readonly why: UnjudgedReason }

/** Reasons for which the gate blocks because of its own state, before or after the checks. */
export const gateReasons: ReadonlySet<string> = new Set(
  reasonCodes.filter((code) => reasons[code].by.includes('gate')),
)

export interface Rules {
  readonly law: LawInForce & { readonly rules: CallingRules }
  readonly settings: Configuration['settings']['gate'] & JudgeSettings
  readonly serviceCodes: ReadonlySet<string>
}

/** Throws a `RangeError` for an invalid proclaimed day or emergency. */
export function prepareRules({
  settings,
  rules: file,
}: Pick<Configuration, 'settings' | 'rules'>): Rules {
  const rules = new CallingRules(file)
  const closures = prepareClosures(rules, settings.callingHours)
  return {
    law: { rules, windows: new WindowEvaluator(rules, closures) },
    settings: { ...settings.gate, policy: buildPolicy(settings) },
    serviceCodes: new Set(settings.gate.serviceCodes),
  }
}

export function rejudge(rules: Rules, document: DecisionDocument): Rejudgment {
  const why = findUnjudgedReason(document)
  if (why !== undefined) return { kind: 'unjudged', why }
  return gateReasons.has(document.reason) ? { kind: 'by-gate' } : rejudgeAny(rules, document)
}

/** Also covers calls that the gate blocked after the checks: returns what the checks decided. */
export function rejudgeAny(
  rules: Rules,
  document: DecisionDocument,
): Exclude<Rejudgment, { readonly kind: 'by-gate' }> {
  const { law, settings, serviceCodes } = rules
  const request = readRequest(document)
  const facts = readFacts(document)
  const dialed = parseDialString(document.dialed, serviceCodes)
  const { stated, refusal } = findPurpose(request, settings.purposes, law.rules.purposes)
  const conclude = (ruled: CallRuling) => {
    const { id, rules: version, withdraws } = document
    const call = { id, request, purpose: stated, rules: version }
    const by = { times: facts.times, settings, law: law.rules }
    return { kind: 'judged', decision: { ...createDecision(call, ruled, by), withdraws } } as const
  }
  if (dialed.kind !== 'nanp') {
    const ruled = ruleBeforeChecks(dialed, document.mandate ? 'block' : settings.nonNanp)
    const isAsked = ruled.ruling.reason === 'policy-allows'
    const paused = isAsked ? judgePaused(law, settings, request, facts) : undefined
    return conclude(paused ? { number: ruled.number, facts, ...paused } : ruled)
  }
  const { number } = dialed
  if (refusal !== undefined) {
    const refused = rulingWithoutFindings(number, 'block', 'purpose-not-allowed')
    return conclude({ ...refused, says: [refusal] })
  }
  if (document.findings.length === 0) return { kind: 'unjudged', why: 'not-checked' }
  const call = { request, number, stated: stated?.purpose }
  const { ledger } = facts
  const counted = ledger && ledger !== 'not-asked' ? toCountedCall(ledger) : undefined
  const judged = judgeAll(rules, call, facts)
  if (judged === undefined) return { kind: 'unjudged', why: 'not-checked' }
  return conclude({ number, facts, counted, ...judged })
}

/** `undefined` if nothing was looked up. A source that was not asked then is treated as absent, and a count as zero. */
function judgeAll(rules: Rules, call: Call, facts: Facts): Concluded | undefined {
  const judged = judge(rules.law, rules.settings, call, facts)
  if (judged.needs === undefined) return judged
  const answered = answer(judged.needs)
  return answered && judgeAll(rules, call, { ...facts, ...answered })
}

function answer(needs: Need): Partial<Facts> | undefined {
  switch (needs.is) {
    case 'look-ups':
      return undefined
    case 'reassigned':
      return { reassigned: { ...notConfigured, since: needs.since, basis: needs.basis } }
    case 'count':
      return { ledger: { counts: [], isCounted: false } }
  }
}

/** Why a record cannot be judged at all. */
function findUnjudgedReason({
  erased,
  number,
  findings,
  recordVersion: version,
}: DecisionDocument): UnjudgedReason | undefined {
  // Not every record has room for the erasure mark, and only calls to numbers have checks.
  if (erased || (number === '' && findings.length > 0)) return 'erased'
  const isKnown = version === recordVersion && findings.every(isKnownFinding)
  return isKnown ? undefined : 'newer-record'
}

/** Whether this version has both the check and the reason. */
function isKnownFinding({ check, reason, parts = [] }: FindingDocument): boolean {
  const isNamed = check === 'mandate' || Object.hasOwn(checks, check)
  return isNamed && Object.hasOwn(reasons, reason) && parts.every(isKnownFinding)
}
