/**
 * The port to one Asterisk: its parsed events, the actions on its channels, and their error.
 * `ari-connection.ts` implements it.
 */
import type { Instant } from '../domain/time/clock.js'

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

/** A leg that is being dialed. */
export interface DialEvent {
  /** Empty when dialing starts; then RINGING, PROGRESS, and finally ANSWER, BUSY, NOANSWER ... */
  readonly status: string
  /** The part after the technology: `2125550100@carrier-a`; guaranteed only when dialing starts. */
  readonly dialString: string
  /** The channel on whose behalf it dials; absent for originated legs. */
  readonly caller: AsteriskChannel | undefined
  readonly peer: AsteriskChannel
  readonly at: Instant
}

/** Called one at a time, in the order of the events; what they throw is logged. */
export interface AsteriskEvents {
  /** A channel has entered the application, by Stasis() or after a claim. */
  onChannelEntered(channel: AsteriskChannel, args: readonly string[]): void
  /** A channel has left: continued, hung up, or removed by a time limit. */
  onChannelLeft(channelId: string): void
  /** StasisBroadcast() offers a channel; it enters the application that claims it first. */
  onChannelOffered(channel: AsteriskChannel): void
  onDial(event: DialEvent): void
  /** A leg starts dialing, but Asterisk cannot report its channel, which has text that is not UTF-8. */
  onUnseenDial(dialString: string): void
  onChannelEnded(channelId: string, cause: number, at: Instant): void
  /** From now on events are missed, until the next `onResynchronized`. */
  onDisconnected(): void
  /**
   * After a connect: all current channels. Not called when Asterisk cannot list its channels, although
   * events arrive.
   */
  onResynchronized(channels: readonly AsteriskChannel[]): void
}

export interface DialplanLocation {
  readonly context: string
  readonly extension: string
  readonly priority: number
}

/** Hangup causes by the names that every Asterisk knows: 503 with cause 34, and 403 with 21. */
export type HangupReason = 'congestion' | 'rejected'

/** Each rejects with an `AriError`, at the latest when the action's time limit has passed. */
export interface AsteriskActions {
  /** Sets all in one request, while the channel is in the application. Values: `[\w.:+-]*`. */
  setVariables(channelId: string, values: Readonly<Record<string, string>>): Promise<void>
  /** `undefined` when it is not set. */
  getVariable(channelId: string, name: string): Promise<string | undefined>
  /** Continues in the dialplan after Stasis(), or at a location. */
  resume(channelId: string, place?: DialplanLocation): Promise<void>
  hangup(channelId: string, reason: HangupReason): Promise<void>
  /** False when another application has it already. */
  claim(channelId: string): Promise<boolean>
}

/**
 * `gone`: the channel no longer exists or has left the application (it may be used elsewhere, so it is
 * left alone); `refused`: Asterisk answered with an error; `timed-out`: no answer in time, so the
 * action may or may not have been executed; `disconnected`: not sent.
 */
export type AriErrorKind = 'gone' | 'refused' | 'timed-out' | 'disconnected'

export class AriError extends Error {
  readonly kind: AriErrorKind
  readonly action: string

  constructor(kind: AriErrorKind, action: string, detail: string) {
    super(`${action}: ${detail}`)
    this.name = 'AriError'
    this.kind = kind
    this.action = action
  }
}
