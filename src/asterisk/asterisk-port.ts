/**
 * What the gate needs of one Asterisk: its events, already read, and the actions on its channels.
 * `ari-connection.ts` fills it; nothing else knows the library behind it.
 */
import type { Instant } from '../domain/clock.js'

export interface AsteriskChannel {
  readonly id: string
  /** Technology, endpoint and serial, such as `PJSIP/carrier-a-0000001f`. */
  readonly name: string
  readonly callerNumber: string
  /** The variables that `channelvars` of ari.conf publishes with each event; others are absent. */
  readonly variables: Readonly<Record<string, string>>
  /** The dialplan application it executes, such as `Stasis` with `callgate,2125550100,kind=ai`. */
  readonly application: { readonly name: string; readonly data: string } | undefined
}

/** A leg that is being dialled. */
export interface DialEvent {
  /** Empty when dialling starts; then RINGING, PROGRESS, and last ANSWER, BUSY, NOANSWER ... */
  readonly status: string
  /** What follows the technology: `2125550100@carrier-a`; surely there only when dialling starts. */
  readonly dialString: string
  /** The channel on whose behalf it dials; absent for originated legs. */
  readonly caller: AsteriskChannel | undefined
  readonly peer: AsteriskChannel
  readonly at: Instant
}

/** Called one at a time, in the order of the events; what they throw is logged. */
export interface AsteriskEvents {
  /** A channel has entered our application, by Stasis() or after a claim. */
  entered(channel: AsteriskChannel, args: readonly string[]): void
  /** It has left: continued, hung up, or taken out by a time limit. */
  left(channelId: string): void
  /** StasisBroadcast() offers a channel; whoever claims it first sees it enter. */
  offered(channel: AsteriskChannel): void
  dial(event: DialEvent): void
  /** A leg begins to dial, and Asterisk cannot say which: its channel holds text that is no UTF-8. */
  dialUnseen(dialString: string): void
  ended(channelId: string, cause: number, at: Instant): void
  /** From now on events are missed, until the next `resynchronised`. */
  disconnected(): void
  /**
   * After a connect: every channel there is now. It stays out, with events coming all the same,
   * where Asterisk cannot list its channels.
   */
  resynchronised(channels: readonly AsteriskChannel[]): void
}

export interface DialplanPlace {
  readonly context: string
  readonly extension: string
  readonly priority: number
}

/** Hangup causes by the names that every Asterisk knows: 503 with cause 34, and 403 with 21. */
export type HangupReason = 'congestion' | 'rejected'

/** Each rejects with an `AriError`, at the latest when the action's time limit has passed. */
export interface AsteriskActions {
  /** Sets all in one request, while the channel is in our application. Values: `[\w.:+-]*`. */
  setVariables(channelId: string, values: Readonly<Record<string, string>>): Promise<void>
  /** `undefined` when it is not set. */
  variable(channelId: string, name: string): Promise<string | undefined>
  /** Lets the dialplan go on after Stasis(), or at a place. */
  resume(channelId: string, place?: DialplanPlace): Promise<void>
  hangup(channelId: string, reason: HangupReason): Promise<void>
  /** False when another application has it already. */
  claim(channelId: string): Promise<boolean>
}
