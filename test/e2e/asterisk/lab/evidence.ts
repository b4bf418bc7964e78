/**
 * What must hold whatever fails: the INVITEs at the trunk against the decisions on record and against
 * what the callers were told. Each finding is a sentence; where all is well there is none.
 */
import type { DecisionDocument } from '../../../../src/gate/record/decision-document.js'
import type { PlacedCall } from './sipp-caller.js'
import type { Arrival } from './sipp-trunk.js'

/** Sandbox numbers that may have an AI call at the lab's instant. */
export const allowedNumbers: readonly string[] = [
  '2125550106',
  '3105550106',
  '3125550108',
  '4155550112',
]
/** Without consent, of a litigator, on the internal list, on a day without calls in their state. */
const blockedNumbers: readonly string[] = ['2125550100', '2125550105', '2125550104', '6175550107']
/** One of the one kind, one of the other, and so on. */
export const mixedNumbers: readonly string[] = allowedNumbers.flatMap((number, index) => [
  number,
  blockedNumbers[index] ?? '',
])

export interface Evidence {
  readonly arrived: readonly Arrival[]
  /** Of every callgate that may have decided. */
  readonly decisions: readonly DecisionDocument[]
  readonly calls: readonly PlacedCall[]
}

/** Calls that reached the trunk against the word of the gate, or without one. */
export function leaks({ arrived, decisions, calls }: Evidence): readonly string[] {
  const records = new Map(decisions.map((decision) => [decision.id, decision]))
  const placed = new Map(calls.map((call) => [call.callerId, call]))
  const dialled = new Set<string>()
  return arrived.flatMap((arrival) => {
    const { decisionId, callerId, number } = arrival
    const record = records.get(decisionId)
    const twice = dialled.has(decisionId)
    dialled.add(decisionId)
    return [
      ...(twice ? ['its decision has been dialled before'] : []),
      ...(blockedNumbers.includes(number) ? ['the number is blocked'] : []),
      ...(record ? against(arrival, record) : ['no such decision is on record']),
      ...(wasRefused(placed.get(callerId)) ? ['its caller was refused by the gate'] : []),
    ].map((why) => `${number} from ${callerId}, decision '${decisionId}': ${why}`)
  })
}

function against(arrival: Arrival, record: DecisionDocument): readonly string[] {
  return [
    ...(record.decision === 'allow' ? [] : [`decided ${record.decision}`]),
    ...(record.number === arrival.number ? [] : [`decided for ${record.number}`]),
    ...(record.callerId === arrival.callerId ? [] : [`decided for a call of ${record.callerId}`]),
    ...(wasNotDone(record) ? [`not carried out: ${record.outcome?.notCarriedOut}`] : []),
  ]
}

/** An action that Asterisk did not answer in time may have been done all the same. */
function wasNotDone({ outcome }: DecisionDocument): boolean {
  return outcome?.state === 'not-carried-out' && outcome.notCarriedOut !== 'timed-out'
}

/** The trunk of these tests refuses nothing, so a refusal is the gate's. */
function wasRefused(call: PlacedCall | undefined): boolean {
  return call?.status === 403 || call?.status === 503
}

/** Calls whose caller was left without a final answer, or had to give up waiting for one. */
export function unanswered(calls: readonly PlacedCall[]): readonly string[] {
  return calls.flatMap(({ callerId, number, status, gaveUp }) => {
    if (status !== undefined && !gaveUp) return []
    return [`${number} from ${callerId}: ${gaveUp ? 'gave up' : 'no answer'}, status ${status}`]
  })
}

/** How many decisions there are of each outcome; `unknown` where none is on record. */
export function outcomes(
  decisions: readonly DecisionDocument[],
): Readonly<Partial<Record<string, number>>> {
  const counts: Partial<Record<string, number>> = {}
  for (const { outcome } of decisions) {
    const state = outcome?.state ?? 'unknown'
    counts[state] = (counts[state] ?? 0) + 1
  }
  return counts
}

/** Whether what became of the call is on the record of each. */
export function allHaveOutcomes(decisions: readonly DecisionDocument[]): boolean {
  return decisions.every(({ outcome }) => outcome !== undefined)
}

/** Whether the calls answered on record are those that arrived; the record is a moment behind. */
export function areAnswered({ arrived, decisions }: Omit<Evidence, 'calls'>): boolean {
  const answered = decisions.filter(({ outcome }) => outcome?.state === 'answered')
  const ids = new Set(arrived.map(({ decisionId }) => decisionId))
  return answered.length === ids.size && answered.every(({ id }) => ids.has(id))
}
