/** The outcome of a decided call: its handover to the channel, and the leg that was dialed for it. */
import type { CallReach } from './mandate.js'
import type { Instant } from './time/clock.js'

/**
 * Why a decision did not reach its channel: the channel had left (the caller hung up, or the
 * dialplan's time limit passed), Asterisk refused the action, did not answer in time, or was not
 * connected.
 */
export const handoverFailures = [
  'channel-left',
  'action-failed',
  'timed-out',
  'disconnected',
] as const
export type HandoverFailure = (typeof handoverFailures)[number]

/** `not-placed`: whoever asked reports that the call never left. */
export const notCarriedOutReasons = [...handoverFailures, 'not-placed'] as const
export type NotCarriedOutReason = (typeof notCarriedOutReasons)[number]

export const answerers = ['person', 'machine', 'unknown'] as const
export type Answerer = (typeof answerers)[number]

/** `handed-over`: the dialplan has the verdict; later states come from events of the trunk leg. */
export const outcomeStates = [
  'not-carried-out',
  'handed-over',
  'dialled',
  'answered',
  'failed',
] as const
export type OutcomeState = (typeof outcomeStates)[number]

/** The known outcome; a later record replaces the fields it contains. */
export interface CallOutcome {
  readonly state: OutcomeState
  readonly handedOverAt?: Instant | undefined
  readonly notCarriedOutAt?: Instant | undefined
  readonly notCarriedOut?: NotCarriedOutReason | undefined
  /** The leg on the trunk, such as `PJSIP/carrier-a-0000001f`. */
  readonly leg?: string | undefined
  readonly dialledAt?: Instant | undefined
  readonly answeredAt?: Instant | undefined
  readonly answeredBy?: Answerer | undefined
  readonly failedAt?: Instant | undefined
  readonly endedAt?: Instant | undefined
  /** As reported by Asterisk: ANSWER, BUSY, NOANSWER, CANCEL, CONGESTION, CHANUNAVAIL. */
  readonly dialStatus?: string | undefined
  /** Q.850 cause of the end of the leg. */
  readonly cause?: number | undefined
}

/** A shorter talk is taken for none. */
const minTalkMs = 30_000

/** ITU-T Q.850: the number is not assigned, busy, out of order, or has changed. */
const causesOfNoConnection: ReadonlySet<number | undefined> = new Set([1, 17, 22, 27])

/** How far a call got, as far as that is known; `undefined` if it may have got anywhere. */
export function findReach({
  state,
  answeredAt,
  answeredBy,
  failedAt,
  endedAt,
  dialStatus,
  cause,
}: Partial<CallOutcome>): CallReach | undefined {
  if (answeredAt !== undefined || state === 'answered') {
    const isShort =
      answeredAt !== undefined && endedAt !== undefined && endedAt - answeredAt < minTalkMs
    return answeredBy === 'machine' || isShort ? 1 : 2
  }
  if (failedAt === undefined && state !== 'failed') return undefined
  return dialStatus?.toUpperCase() === 'BUSY' || causesOfNoConnection.has(cause) ? -1 : 0
}

/** Records the outcome of calls; never throws, and callers do not wait for it. */
export interface OutcomeRecorder {
  /**
   * `own`: this process made the decision. An outcome for another sidecar's decision is stored only if
   * its record is in the same database.
   */
  record(decisionId: string, outcome: Partial<CallOutcome>, own: boolean): void
}
