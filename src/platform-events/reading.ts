/** What the reader of a platform finds in an event, and how it becomes a {@link CallEvent}. */
import type { CallOutcomes, OutcomeTableName } from '../data/files/call-outcomes.js'
import type { OptOutSignals } from '../data/files/opt-out-signals.js'
import { findOutcomeClass, type OutcomeClass, toLegOutcome } from '../domain/call-outcome.js'
import type { CallEvent, EventOutcome, ExplicitOptOut, Utterance } from './call-event.js'
import { type JsonObject, statusOf, textOf } from './fields.js'

export interface EventReaderData {
  readonly outcomes: CallOutcomes
  /** Opt-outs that do not depend on words. */
  readonly signals: OptOutSignals
}

export interface EventSource {
  readonly fields: JsonObject
  readonly query: URLSearchParams
  readonly data: EventReaderData
}

export interface Reading extends Pick<CallEvent, 'type' | 'callIds'> {
  readonly kind?: 'text' | undefined
  readonly decisionId?: string | undefined
  readonly sessionId?: string | undefined
  readonly direction?: CallEvent['direction'] | undefined
  /** Of the call or text, as the platform wrote them. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** Where the platform names the person whatever the direction. */
  readonly person?: string | undefined
  readonly own?: string | undefined
  readonly isOtherLeg?: boolean | undefined
  readonly outcome?: EventOutcome | undefined
  /** Whether the event shows that somebody or something answered, whatever the outcome says. */
  readonly isAnswered?: boolean | undefined
  readonly isEnd?: boolean | undefined
  readonly utterances?: readonly Utterance[] | undefined
  readonly position?: number | undefined
  readonly isInterim?: boolean | undefined
  readonly isWholeTranscript?: boolean | undefined
  readonly summary?: readonly (string | undefined)[] | undefined
  readonly optOut?: ExplicitOptOut | undefined
}

export type ReadPlatformEvent = (source: EventSource) => Reading

export function completeEvent(reading: Reading): CallEvent {
  const { type, callIds, sessionId, kind = 'call', decisionId, isOtherLeg = false } = reading
  // The decision's id is only in outbound calls.
  const direction =
    reading.direction ?? (decisionId === undefined || kind === 'text' ? 'unknown' : 'outbound')
  const base: Omit<CallEvent, 'utterances'> = {
    type: type.slice(0, maxTypeLength),
    kind,
    decisionId,
    callIds,
    sessionId,
    direction,
    ...findPeople(reading, direction),
    ...(reading.isEnd && { isEnd: true as const }),
  }
  if (isOtherLeg) return { ...base, isOtherLeg: true, utterances: [] }
  const { utterances = [], optOut } = reading
  const summary = [...new Set(reading.summary?.flatMap((text) => textOf(text)?.trim() ?? []))]
  return {
    ...base,
    outcome: kind === 'text' || direction === 'inbound' ? undefined : findOutcome(reading),
    utterances,
    ...(utterances.length > 0 && !reading.isWholeTranscript && { position: reading.position }),
    ...(reading.isInterim && { isInterim: true }),
    ...(reading.isWholeTranscript && { isWholeTranscript: true }),
    summary: summary.length > 0 ? summary.join('\n') : undefined,
    optOut,
  }
}

const maxTypeLength = 100

function findPeople(reading: Reading, direction: CallEvent['direction']) {
  const { from, to, person, own } = reading
  if (person !== undefined || own !== undefined) return { person, own }
  if (direction === 'outbound') return { person: to, own: from }
  if (direction === 'inbound') return { person: from, own: to }
  return from === undefined && to === undefined ? {} : { unassigned: { from, to } }
}

/** Words and keys of the person are evidence that wins over every reason. */
function findOutcome({ outcome, isAnswered, utterances, optOut }: Reading) {
  const hasEvidence =
    isAnswered ||
    utterances?.some(({ speaker }) => speaker !== 'agent') ||
    optOut?.by === 'key' ||
    outcome?.answeredAt !== undefined
  if (!hasEvidence) return outcome
  return { ...outcome, state: 'answered' as const }
}

/** Classifies by the first table that has its word; `unknown` if none has. */
export function classifyEnd(
  { outcomes }: EventReaderData,
  words: readonly (readonly [OutcomeTableName, unknown])[],
): OutcomeClass {
  for (const [table, word] of words) {
    const text = textOf(word)
    const found = text === undefined ? undefined : findOutcomeClass(outcomes[table], text)
    if (found !== undefined) return found
  }
  return 'unknown'
}

export function toOutcome(
  outcomeClass: OutcomeClass | undefined,
  details: Omit<EventOutcome, 'state' | 'dialStatus'> & { readonly reason?: unknown } = {},
): EventOutcome | undefined {
  const leg = outcomeClass && toLegOutcome(outcomeClass)
  if (leg === undefined) return undefined
  const { reason, answeredBy = leg.answeredBy, answeredAt, ...times } = details
  return {
    state: leg.state,
    ...(leg.state === 'answered' && { answeredBy, answeredAt }),
    ...times,
    dialStatus: statusOf(reason),
  }
}
