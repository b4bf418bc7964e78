/** Calls of a phone, and what became of each: for the caller, on record, and at the trunks. */
import type { DecisionDocument } from '../../../../src/gate/record/decision-document.js'
import type { CallgateProcess } from './callgate-process.js'
import { type CallsOptions, type PlacedCall, placeCalls } from './sipp-caller.js'
import type { TrunkArrival, Trunks } from './trunks.js'
import { until } from './until.js'

export interface FollowedCall extends Pick<PlacedCall, 'number' | 'status' | 'cause'> {
  /** Of its decision; absent where there is none. */
  readonly reason?: string
  /** Each INVITE, such as `2125550106 on trunk with its decision`. */
  readonly dialled: readonly string[]
}

export interface CallsToFollow extends CallsOptions {
  readonly callgate: CallgateProcess
  readonly trunks: Trunks
  /** Whether callgate is asked about each, as is taken for granted. */
  readonly asked?: boolean
}

/** Resolves when the calls have ended and what callgate was asked is on record. */
export async function followCalls(options: CallsToFollow): Promise<readonly FollowedCall[]> {
  const { callgate, trunks, asked = true } = options
  const { calls } = await placeCalls({ rate: 50, ...options })
  if (asked) await until('each call is on record', () => calls.every(hasRecord(callgate)))
  const decisions = callgate.decisions()
  const arrived = trunks.arrived()
  return calls.map((call) => {
    const decision = decisions.find(isOf(call))
    return {
      number: call.number,
      status: call.status,
      cause: call.cause,
      ...(decision && { reason: decision.reason }),
      dialled: arrived.filter(isOf(call)).map((arrival) => dialling(arrival, decision)),
    }
  })
}

/** An allowed call and a refused one, as {@link followCalls} tells of them. */
export const carried = (number: string, trunk: string): FollowedCall => ({
  number,
  status: 200,
  cause: undefined,
  reason: 'permitted',
  dialled: [`${number} on ${trunk} with its decision`],
})
export const blocked = (number: string, reason: string): FollowedCall => ({
  number,
  status: 403,
  cause: 21,
  reason,
  dialled: [],
})
export const undecided = (number: string, reason?: string): FollowedCall => ({
  number,
  status: 503,
  cause: 42,
  dialled: [],
  ...(reason !== undefined && { reason }),
})

/** Caller ids of the lab never repeat; the recipes pass them on to callgate and to the trunk. */
const isOf =
  (call: PlacedCall) =>
  ({ callerId }: { readonly callerId?: string | undefined }) =>
    callerId === call.callerId

const hasRecord = (callgate: CallgateProcess) => {
  const decisions = callgate.decisions()
  return (call: PlacedCall) => decisions.some(isOf(call))
}

function dialling(arrival: TrunkArrival, decision: DecisionDocument | undefined): string {
  const { number, trunk, decisionId } = arrival
  if (decisionId === '') return `${number} on ${trunk} without a decision`
  const whose = decisionId === decision?.id ? 'its decision' : `another decision, ${decisionId}`
  return `${number} on ${trunk} with ${whose}`
}
