/**
 * Replays a recorded decision from the facts in its record and compares every byte. If the gate itself blocked an allow, that reason is taken
 * from the record.
 */
import type { ReasonCode } from '../../domain/checks.js'
import type { Decision } from '../../domain/decision.js'
import type { RecordedDecision } from '../../gate/journal/recorded-decisions.js'
import { blockInstead } from '../../gate/pre-check-ruling.js'
import type { DecisionDocument } from '../../gate/record/decision-document.js'
import { readRecord } from '../../gate/record/read-record.js'
import { writeDecision } from '../../gate/record/write-record.js'
import {
  gateReasons,
  type Rules,
  rejudge,
  rejudgeAny,
  type UnjudgedReason,
} from '../rehearse/rejudge.js'

/** A member of a record, such as `findings.permission.reason`; absent values are `undefined`. */
export interface MemberDifference {
  readonly member: string
  readonly recorded: unknown
  readonly replayed: unknown
}

/**
 * - `same`, `different`: it was replayed from its facts;
 * - `by-gate`: the gate itself blocked the call before any check, so no rule was applied;
 * - `not-replayed`: the record lacks facts that the rules need.
 */
export type Replay =
  | { readonly kind: 'same' }
  | { readonly kind: 'different'; readonly members: readonly MemberDifference[] }
  | { readonly kind: 'by-gate' }
  | { readonly kind: 'not-replayed'; readonly why: UnjudgedReason }

export function replay(
  rules: Rules,
  { document, body }: Pick<RecordedDecision, 'document' | 'body'>,
): Replay {
  const rejudged = rejudge(rules, document)
  const isByGate = rejudged.kind === 'by-gate'
  if (isByGate && document.findings.length === 0) return { kind: 'by-gate' }
  const found = isByGate ? rejudgeAny(rules, document) : rejudged
  if (found.kind === 'unjudged') return { kind: 'not-replayed', why: found.why }
  const text = writeDecision(withWhatTheGateDid(found.decision, document))
  if (text === body) return { kind: 'same' }
  return {
    kind: 'different',
    members: listDifferences(document, readRecord('decision', { body: text })),
  }
}

/** Applies what the gate did after the rules: it blocked the allow, or an edge returned it under an exception. */
function withWhatTheGateDid(decision: Decision, document: DecisionDocument): Decision {
  // A code that this version does not have shows up as a difference.
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
  // Only the order of the members differs.
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
