/**
 * Judges a recorded decision again as it was judged, and compares every byte with the record. What a record does not have the
 * facts of is taken as recorded: the answers of providers, the limits of keys, the register of caller IDs, and why the gate
 * itself blocked an allow. What follows from that is judged again all the same.
 */
import type { Configuration } from '../../app/configuration.js'
import { checkNames, checks, countedChecks, type ReasonCode } from '../../domain/checks.js'
import type { Decision } from '../../domain/decision.js'
import type { RecordedDecision } from '../../gate/journal/recorded-decisions.js'
import { blockInstead } from '../../gate/pre-check-ruling.js'
import type { DecisionDocument, FindingDocument } from '../../gate/record/decision-document.js'
import { readRecord } from '../../gate/record/read-record.js'
import { writeDecision } from '../../gate/record/write-record.js'
import { ownSource } from '../../judge/facts.js'
import { findNextAllowedAt } from '../../judge/rules/attempts.js'
import { isCountJudged } from '../rehearse/recorded-counts.js'
import { instantOf } from '../rehearse/recorded-own-facts.js'
import { gateReasons, Rejudger, type UnjudgedReason } from '../rehearse/rejudger.js'

/** A member of a record, such as `findings.permission.detail`; absent values are `undefined`. */
export interface MemberDifference {
  readonly member: string
  readonly recorded: unknown
  readonly replayed: unknown
}

/** A check whose finding, or part of it, was taken as recorded, and who gave it. */
export interface GivenFinding {
  readonly check: string
  readonly source: string
}

/**
 * - `same`, `different`: it was judged again, from its facts and with what is `given`;
 * - `by-gate`: blocked by the gate itself before any check, so no rule was applied;
 * - `not-replayed`: it does not have what the rules were applied to.
 */
export type Replay =
  | { readonly kind: 'same'; readonly given: readonly GivenFinding[] }
  | {
      readonly kind: 'different'
      readonly given: readonly GivenFinding[]
      readonly members: readonly MemberDifference[]
    }
  | { readonly kind: 'by-gate' }
  | { readonly kind: 'not-replayed'; readonly why: UnjudgedReason }

export class Replayer {
  readonly #rejudger: Rejudger

  /** Throws a `RangeError` for an invalid proclaimed day or emergency. */
  constructor(configuration: Pick<Configuration, 'settings' | 'rules'>) {
    this.#rejudger = new Rejudger(configuration)
  }

  async replay({ document, body }: Pick<RecordedDecision, 'document' | 'body'>): Promise<Replay> {
    const rejudged = this.#rejudger.rejudge(document)
    if (rejudged.kind === 'unjudged') return { kind: 'not-replayed', why: rejudged.why }
    const isByGate = rejudged.kind === 'by-gate'
    if (isByGate && document.findings.length === 0) return { kind: 'by-gate' }
    const found = isByGate ? this.#rejudger.judge(document) : rejudged
    if (found.kind === 'unjudged') return { kind: 'not-replayed', why: found.why }
    const given = listGiven(document)
    const judged = this.#findNext(document, found.decision, given)
    const text = writeDecision(withWhatTheGateDid(judged, document))
    if (text === body) return { kind: 'same', given }
    const members = listDifferences(document, readRecord('decision', { body: text }))
    return { kind: 'different', given, members }
  }

  /** When what is counted about other calls blocks, the gate looks for an instant at which the checks allow the call too. */
  #findNext(
    document: DecisionDocument,
    decision: Decision,
    given: readonly GivenFinding[],
  ): Decision {
    const { nextAllowedAt, findings } = decision
    const isByCount = findings.some(
      ({ check, verdict }) => verdict !== 'pass' && countedChecks.has(check),
    )
    if (!isByCount || nextAllowedAt === undefined) return decision
    // Providers were asked again, and what they answered then is not recorded.
    if (given.some(({ check }) => !storedChecks.has(check))) {
      const recorded = document.nextAllowedAt
      return {
        ...decision,
        nextAllowedAt: recorded === undefined ? undefined : instantOf(recorded),
      }
    }
    const next = findNextAllowedAt(nextAllowedAt, (at) => this.#rejudger.ruleAt(document, at))
    return { ...decision, nextAllowedAt: next }
  }
}

/** By what was counted and registered at that moment. */
const storedChecks: ReadonlySet<string> = new Set([
  ...checkNames.filter((name) => checks[name].judges !== 'answer'),
  'mandate',
])

/** An entry on a list of ours, or that a source did not answer, is a fact itself. */
function listGiven(document: DecisionDocument): readonly GivenFinding[] {
  return document.findings
    .flatMap((finding) => finding.parts ?? [finding])
    .filter((finding) => isGiven(finding, document))
    .map(({ check, source }) => ({ check, source }))
}

function isGiven(finding: FindingDocument, document: DecisionDocument): boolean {
  const { check, source, verdict, facts } = finding
  if (verdict === 'unknown') return false
  // Without facts, there is no source of reassigned numbers.
  if (check === 'reassigned' && facts === undefined) return false
  if (storedChecks.has(check)) return !isCountJudged(finding, document)
  return facts === undefined && source !== ownSource
}

/** An allow that the gate did not let leave, or only by an exception of an edge. */
function withWhatTheGateDid(decision: Decision, document: DecisionDocument): Decision {
  // Of this program, or the replay differs.
  const says = document.says as Decision['says']
  const reason = document.reason as ReasonCode
  if (decision.decision !== 'allow') return decision
  if (gateReasons.has(reason)) return { ...blockInstead(decision, reason), says }
  return reason === 'permitted' ? { ...decision, says } : decision
}

/** The innermost members that differ; findings are named by their checks. */
function listDifferences(
  recorded: unknown,
  replayed: unknown,
  path = '',
): readonly MemberDifference[] {
  if (JSON.stringify(recorded) === JSON.stringify(replayed)) return []
  if (!isTree(recorded) || !isTree(replayed)) return [{ member: path, recorded, replayed }]
  const [before, after] = [nameMembers(recorded), nameMembers(replayed)]
  const inside = [...new Set([...before.keys(), ...after.keys()])].flatMap((name) =>
    listDifferences(before.get(name), after.get(name), path === '' ? name : `${path}.${name}`),
  )
  // The same members in another order.
  return inside.length > 0 ? inside : [{ member: path, recorded, replayed }]
}

const isTree = (value: unknown): value is object => typeof value === 'object' && value !== null

function nameMembers(tree: object): ReadonlyMap<string, unknown> {
  const entries = Object.entries(tree)
  if (!Array.isArray(tree)) return new Map(entries)
  const names = tree.map((one) => (isTree(one) && 'check' in one ? String(one.check) : undefined))
  const areNames = names.every((name, index) => name && names.indexOf(name) === index)
  return new Map(
    entries.map(([index, one]) => [areNames ? (names[Number(index)] ?? '') : index, one]),
  )
}
