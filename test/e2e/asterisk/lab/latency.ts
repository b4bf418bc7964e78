/** How long a call takes from its caller to the trunk, and to its decision. */
import type { PlacedCall } from './sipp-caller.js'
import type { Arrival } from './sipp-trunk.js'

/** Milliseconds from the caller's INVITE to that at the trunk, for each call that arrived there. */
export function msToTrunk(
  calls: readonly PlacedCall[],
  arrived: readonly Arrival[],
): readonly number[] {
  const sentAt = new Map(calls.map((call) => [call.callerId, call.sentAt]))
  return arrived.map(({ callerId, at }) => {
    const sent = sentAt.get(callerId)
    if (sent === undefined) throw new Error(`nobody has placed the call from ${callerId}`)
    return at - sent
  })
}

/** The smallest value that so many of the values do not exceed; NaN of none. `share`: 0.5, 0.99. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}
