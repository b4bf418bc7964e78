/** The content of one event of a voice platform about a call or a text message. */
import type { Answerer } from '../domain/call-outcome.js'
import type { Instant } from '../domain/time/clock.js'

export const platformNames = [
  'livekit',
  'vapi',
  'retell',
  'telnyx',
  'twilio',
  'elevenlabs',
  'bland',
  'signalwire',
] as const
export type PlatformName = (typeof platformNames)[number]

/** Who speaks, or `unknown` where neither a role nor a track names the speaker. */
export type Speaker = 'person' | 'agent' | 'unknown'

export interface Utterance {
  readonly speaker: Speaker
  readonly text: string
}

/** An opt-out that does not depend on words. */
export interface ExplicitOptOut {
  /** `key`: a key that the settings name. `tool`: the agent called an opt-out tool. `field`: an analysis field that the settings name. `text`: the platform's own opt-out flag of a text message. */
  readonly by: 'key' | 'tool' | 'field' | 'text'
  /** What the person said or pressed, if the event has it. */
  readonly said?: string | undefined
}

export interface EventOutcome {
  readonly state: 'dialled' | 'answered' | 'failed'
  readonly answeredBy?: Answerer | undefined
  readonly dialledAt?: Instant | undefined
  readonly answeredAt?: Instant | undefined
  readonly endedAt?: Instant | undefined
  /** The platform's word for it; at most 100 characters. */
  readonly dialStatus?: string | undefined
}

export interface CallEvent {
  /** The platform's name of the event, for logs. */
  readonly type: string
  readonly kind: 'call' | 'text'
  /** Id of callgate's decision, as the platform repeats it. */
  readonly decisionId?: string | undefined
  /** Ids of the call at the platform, the most specific first; empty if the event names none. */
  readonly callIds: readonly string[]
  /** Shared by all legs of a call: an event with a known session and none of the ids of the call is about another leg. */
  readonly sessionId?: string | undefined
  /** `outbound`: we called the person. `inbound`: the person called or wrote to us. */
  readonly direction: 'outbound' | 'inbound' | 'unknown'
  /** Number of the person by the direction, as the platform wrote it; absent while the direction is unknown. */
  readonly person?: string | undefined
  /** Our side's number, as the platform wrote it. */
  readonly own?: string | undefined
  /** Only while the direction is unknown. Another event of the call, or an allowed call, shows which number is the person's. */
  readonly unassigned?: { readonly from?: string | undefined; readonly to?: string | undefined }
  /** True for a leg to somebody else, such as the target of a transfer: neither its outcome nor its words are the person's. */
  readonly isOtherLeg?: true | undefined
  readonly outcome?: EventOutcome | undefined
  /** Whether the call is over. */
  readonly isEnd?: true | undefined
  /** In the order they were said. */
  readonly utterances: readonly Utterance[]
  /** Position of the words in the call, by the platform's count or clock, since events may arrive in another order. */
  readonly position?: number | undefined
  /** True if the utterances are a guess that a later event replaces. They are read alone, not with the rest of the call. */
  readonly isInterim?: true | undefined
  /** True if the utterances are all of the call so far, not only the latest ones. */
  readonly isWholeTranscript?: true | undefined
  /** Text about the call, such as a summary, which nobody said. An opt-out in it can only be unclear. */
  readonly summary?: string | undefined
  readonly optOut?: ExplicitOptOut | undefined
}
