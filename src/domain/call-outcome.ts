/** What became of a decided call: the channel it was given to and the leg that was dialled for it. */
import type { Instant } from './clock.js'

/**
 * Why a decision did not reach its channel: the channel had left (its caller hung up, or the
 * dialplan's own time limit passed), Asterisk refused the action, did not answer in time, or was
 * not connected.
 */
export const notCarriedOutCauses = [
  'channel-left',
  'action-failed',
  'timed-out',
  'disconnected',
] as const
export type NotCarriedOut = (typeof notCarriedOutCauses)[number]

/** `handed-over`: the dialplan has the verdict; the rest is said by the events of the trunk leg. */
export const outcomeStates = [
  'not-carried-out',
  'handed-over',
  'dialled',
  'answered',
  'failed',
] as const
export type OutcomeState = (typeof outcomeStates)[number]

/** What is known of the outcome so far; each later note replaces the fields it brings. */
export interface CallOutcome {
  readonly state: OutcomeState
  readonly handedOverAt?: Instant | undefined
  readonly notCarriedOutAt?: Instant | undefined
  readonly notCarriedOut?: NotCarriedOut | undefined
  /** The leg on the trunk, such as `PJSIP/carrier-a-0000001f`. */
  readonly leg?: string | undefined
  readonly dialledAt?: Instant | undefined
  readonly answeredAt?: Instant | undefined
  readonly failedAt?: Instant | undefined
  readonly endedAt?: Instant | undefined
  /** As Asterisk says it: ANSWER, BUSY, NOANSWER, CANCEL, CONGESTION, CHANUNAVAIL. */
  readonly dialStatus?: string | undefined
  /** Q.850 cause with which the leg ended. */
  readonly cause?: number | undefined
}

/** Takes what becomes known of a call; never throws, and nobody waits for it. */
export interface OutcomeRecorder {
  /**
   * `own` says that this process made the decision; what is known of another sidecar's decision is
   * kept only where its record is.
   */
  note(decisionId: string, outcome: Partial<CallOutcome>, own: boolean): void
}
