/** How old what is known of other servers may be when an allow leaves. */
import type { CallKind } from '../domain/decision.js'
import type { ClockReading, Instant } from '../domain/time/clock.js'
import type { Said } from '../domain/words/words.js'

export interface StalenessRules {
  readonly maxStalenessMs: number
  /** Of an edge that has lost its center: what an operator has signed for. */
  readonly whileCutOff?: CutOffException | undefined
}

export interface CutOffException {
  readonly maxAgeMs: number
  readonly callKinds: ReadonlySet<CallKind>
  readonly reason: string
  readonly until: Instant
}

/** The settings of an edge; without centers, the server is none. */
export function toCutOffException({
  centers,
  whileCutOff,
}: {
  readonly centers: readonly string[]
  readonly whileCutOff: {
    readonly maxAgeMs: number
    readonly callKinds: readonly CallKind[]
    readonly reason?: string | undefined
    readonly until?: Instant | undefined
  }
}): CutOffException | undefined {
  const { maxAgeMs, callKinds, reason, until } = whileCutOff
  if (centers.length === 0 || reason === undefined || until === undefined) return undefined
  return { maxAgeMs, callKinds: new Set(callKinds), reason, until }
}

/** By two clocks: one stops while a virtual machine is suspended, the other may be set. */
export function computeAgeMs(known: ClockReading, { now, monotonicMs }: ClockReading): number {
  return Math.max(now - known.now, monotonicMs - known.monotonicMs)
}

interface CallInProgress {
  readonly request: { readonly callKind: CallKind }
  /** Absent if no other server stores anything. */
  readonly currentAt: ClockReading | undefined
}

/** For the record of an allow that only the exception permits; `undefined` if none is needed or applies. */
export function sayException(
  { request, currentAt }: CallInProgress,
  reading: ClockReading,
  { maxStalenessMs, whileCutOff }: StalenessRules,
): Said | undefined {
  if (whileCutOff === undefined || currentAt === undefined) return undefined
  const ageMs = computeAgeMs(currentAt, reading)
  if (ageMs <= maxStalenessMs) return undefined
  const { maxAgeMs, callKinds, reason, until } = whileCutOff
  if (ageMs > maxAgeMs || reading.now >= until || !callKinds.has(request.callKind)) return undefined
  const params = { ageSeconds: Math.ceil(ageMs / 1_000) }
  return { code: 'copy-by-exception', params, quote: reason }
}
