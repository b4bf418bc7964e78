/**
 * The outcome of a decided call: its handover to the channel, and the leg that was dialed for it; and how many calls of a campaign
 * are answered in which nobody speaks.
 */
import { parseCampaignId, parseProjectCode, type ScopeChoice } from './caller.js'
import type { DisclosureKey } from './decision.js'
import type { CallKind, CallReach } from './mandate.js'
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

export interface SaidDisclosure {
  readonly key: DisclosureKey
  readonly at: Instant
}

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
  /** When the person had finished the greeting, and when somebody or something began to speak to them. */
  readonly greetingEndedAt?: Instant | undefined
  readonly connectedAt?: Instant | undefined
  /** Whether a recorded message was played because nobody spoke. */
  readonly messagePlayed?: boolean | undefined
  /** The person who answered confirmed the identity. */
  readonly identityConfirmed?: true | undefined
  /** The disclosures of the decision that were said; each once. */
  readonly said?: readonly SaidDisclosure[] | undefined
  readonly failedAt?: Instant | undefined
  readonly endedAt?: Instant | undefined
  /** As reported by Asterisk: ANSWER, BUSY, NOANSWER, CANCEL, CONGESTION, CHANUNAVAIL. */
  readonly dialStatus?: string | undefined
  /** Q.850 cause of the end of the leg. */
  readonly cause?: number | undefined
}

/** ITU-T Q.850: the number is not assigned, busy, out of order, or has changed. */
const causesOfNoConnection: ReadonlySet<number | undefined> = new Set([1, 17, 22, 27])

/**
 * How far a call got, as far as that is known; `undefined` if it may have got anywhere. A talk of less than `minTalkMs` is
 * taken for none, unless it is reported that a person answered.
 */
export function findReach(
  { state, answeredAt, answeredBy, failedAt, endedAt, dialStatus, cause }: Partial<CallOutcome>,
  minTalkMs: number,
): CallReach | undefined {
  if (answeredAt !== undefined || state === 'answered') {
    const isShort =
      answeredAt !== undefined && endedAt !== undefined && endedAt - answeredAt < minTalkMs
    return answeredBy === 'machine' || (isShort && answeredBy !== 'person') ? 1 : 2
  }
  if (failedAt === undefined && state !== 'failed') return undefined
  return dialStatus?.toUpperCase() === 'BUSY' || causesOfNoConnection.has(cause) ? -1 : 0
}

/** How long a call rang that nobody answered. */
export interface UnansweredRing {
  readonly ringMs: number
  /** Whether the side of the caller ended it; also if nothing says who did. */
  readonly isEndedByCaller: boolean
}

/** `Dial()` has these when the caller hangs up, and when its time is over. */
const statusesOfCaller: ReadonlySet<string | undefined> = new Set([undefined, 'CANCEL', 'NOANSWER'])
/** ITU-T Q.850: normal clearing, no user responding, timer expired, interworking. With others, the network ended the call. */
const causesOfCaller: ReadonlySet<number | undefined> = new Set([undefined, 16, 18, 102, 127])

/** `undefined` if the call was answered or did not ring, or if it is not known from when until when it rang. */
export function findRing(outcome: Partial<CallOutcome>): UnansweredRing | undefined {
  const { dialledAt, failedAt, endedAt, dialStatus, cause } = outcome
  const end = failedAt ?? endedAt
  if (findReach(outcome, 0) !== 0 || dialledAt === undefined || end === undefined) return undefined
  // Platforms write canceled, cancelled and no-answer.
  const status = dialStatus
    ?.toUpperCase()
    .replace(/[^A-Z]/g, '')
    .replace(/^CANCELL?ED$/, 'CANCEL')
  // While the leg of a canceled call ends, it may get any cause.
  const isByCause = status === 'CANCEL' || causesOfCaller.has(cause)
  return { ringMs: end - dialledAt, isEndedByCaller: statusesOfCaller.has(status) && isByCause }
}

/** Records the outcome of calls; never throws, and callers do not wait for it. */
export interface OutcomeRecorder {
  /**
   * `own`: this process made the decision. An outcome for another sidecar's decision is stored only if
   * its record is in the same database.
   */
  record(decisionId: string, outcome: Partial<CallOutcome>, own: boolean): void
}

/** A law on how many of the calls that persons answer may be abandoned, which are those in which nobody speaks soon. */
export interface AbandonmentLimit {
  readonly id: string
  readonly maxPercent: number
  readonly warnPercent: number
  /** Of fewer answered calls, none is one too many. */
  readonly minAnswered: number
  /** A call in which somebody speaks within so long of the greeting is not abandoned. */
  readonly connectWithinMs: number
  /** So long an unanswered call rings before the side of the caller ends it; `undefined` if the law does not say. */
  readonly ringMs: number | undefined
  /** Each period is so many days, the first one from the first call on, or a calendar month in a time zone. */
  readonly period: { readonly days: number } | { readonly monthIn: string }
  readonly citation: string
}

/** The calls of a campaign that persons answered in a period, as a law counts them. */
export interface AbandonmentCount {
  /** Of an {@link AbandonmentLimit}. */
  readonly rule: string
  readonly from: Instant
  readonly until: Instant
  readonly answered: number
  readonly abandoned: number
  /** Not answered, with times of dialing and end; and those that the side of the caller ended too early. */
  readonly unanswered: number
  readonly disconnectedEarly: number
}

/** Of the campaigns of an account; see {@link nameCampaign}. */
export type AbandonmentCounts = ReadonlyMap<string, readonly AbandonmentCount[]>

export const noAbandonment: AbandonmentCounts = new Map()

/** The campaign whose calls count together; a call without one is of the campaign that its project is. */
export function nameCampaign({
  accountId,
  projectId = '',
  campaignId = '',
}: ScopeChoice & { readonly accountId: string }): string {
  const id = parseCampaignId(campaignId)
  if (id !== undefined) return `campaign:${id}`
  return `project:${parseProjectCode(accountId, projectId) ?? accountId}`
}

/** A call that was allowed, and that the laws on abandoned calls count for its campaign. */
export interface CampaignCall {
  readonly decisionId: string
  readonly accountId: string
  /** See {@link nameCampaign}. */
  readonly campaign: string
  readonly callKind: CallKind
  readonly at: Instant
}

/** `ring` of a call that nobody answered; `none` if it was reported to have rung so, and was answered after all. */
export type AnswerReport = Pick<
  CallOutcome,
  'answeredBy' | 'answeredAt' | 'greetingEndedAt' | 'connectedAt'
> & { readonly ring?: UnansweredRing | 'none' | undefined }

export interface AbandonmentReports {
  /** Counts the call by each of the limits once; a later report corrects how it counts. */
  count(
    call: CampaignCall,
    report: AnswerReport,
    limits: readonly AbandonmentLimit[],
  ): Promise<void>
}

/**
 * The meaning of a platform's word for the end of a call. `inbound-only`: used only for inbound calls. `dialing`: the call is not over. `unknown`: the word leaves open whether
 * somebody answered, so the call counts as answered.
 */
export const outcomeClasses = [
  'not-dialed',
  'not-answered',
  'answered',
  'answered-by-person',
  'answered-by-machine',
  'dialing',
  'inbound-only',
  'unknown',
] as const
export type OutcomeClass = (typeof outcomeClasses)[number]

export interface OutcomeTable {
  readonly exact: ReadonlyMap<string, OutcomeClass>
  readonly prefixes: readonly (readonly [prefix: string, outcomeClass: OutcomeClass])[]
}

/** Returns `undefined` if the table does not have the word. The longest matching prefix wins. */
export function findOutcomeClass(table: OutcomeTable, word: string): OutcomeClass | undefined {
  const exact = table.exact.get(word)
  if (exact !== undefined) return exact
  const fitting = table.prefixes.filter(([prefix]) => word.startsWith(prefix))
  return fitting.sort(([one], [other]) => other.length - one.length)[0]?.[1]
}

type LegOutcome = Pick<CallOutcome, 'answeredBy'> & {
  readonly state: 'dialled' | 'answered' | 'failed'
}

/** Returns `undefined` for a class that is not the outcome of an outbound call. A call that was not dialed counts as a failed attempt. */
export function toLegOutcome(outcomeClass: OutcomeClass): LegOutcome | undefined {
  return legOutcomes[outcomeClass]
}

const legOutcomes: Readonly<Record<OutcomeClass, LegOutcome | undefined>> = {
  'not-dialed': { state: 'failed' },
  'not-answered': { state: 'failed' },
  answered: { state: 'answered' },
  'answered-by-person': { state: 'answered', answeredBy: 'person' },
  'answered-by-machine': { state: 'answered', answeredBy: 'machine' },
  dialing: { state: 'dialled' },
  'inbound-only': undefined,
  unknown: { state: 'answered', answeredBy: 'unknown' },
}
