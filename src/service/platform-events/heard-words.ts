/** Decides whether an event is an opt-out, an unclear one, or none, and which outcome it shows. */
import type { CallOutcome } from '../../domain/call-outcome.js'
import type { OptOutReport } from '../../domain/consent/consent-records.js'
import type { OptOutReader, ReadWords } from '../../domain/consent/opt-out-words.js'
import type { CallEvent } from '../../platform-events/call-event.js'
import type { PlatformCall } from './platform-calls.js'
import type { UnclearOptOut } from './unclear-opt-outs.js'

const maxSaidLength = 500

export interface Heard {
  readonly event: CallEvent
  readonly person: ReadWords
  /** The reading of words without a known speaker. */
  readonly unknown: ReadWords
  readonly summary: ReadWords
}

export interface Verdict {
  readonly optOut?: Pick<OptOutReport, 'said' | 'source' | 'channel'> | undefined
  readonly unclear?: Pick<UnclearOptOut, 'kind' | 'said'> | undefined
  readonly isOwn: boolean
}

/** An opt-out is unclear if the person is unknown, or has a caller ID of the account. */
export function judge(
  heard: Heard,
  { call, isPersonOwn: isOwn }: { readonly call: PlatformCall; readonly isPersonOwn: boolean },
): Verdict {
  const { event, person, unknown, summary } = heard
  const { optOut: explicit } = event
  const isStop = explicit !== undefined || person.reading === 'stop'
  const isKnown = call.number !== null && !isOwn
  if (isStop && isKnown) return { optOut: toStatement(heard), isOwn }
  const mayBeStop = isStop || unknown.reading === 'stop' || summary.reading === 'stop'
  const found = [
    [isStop || person.reading === 'unclear', 'words', explicit?.said ?? person.words],
    [unknown.reading !== 'none', 'speaker', unknown.words],
    [summary.reading !== 'none', 'summary', summary.words],
  ] as const
  const [, kind, said] = found.find(([isFound]) => isFound) ?? []
  // After an opt-out of the person, nothing is left to clear up.
  if (kind === undefined || (isKnown && call.opted_out_at !== null)) return { isOwn }
  const unjoined = isOwn ? 'own-number' : 'unjoined'
  return {
    unclear: { kind: !isKnown && mayBeStop ? unjoined : kind, said: limit(said) ?? null },
    isOwn,
  }
}

function toStatement({ event, person }: Heard): Verdict['optOut'] {
  const { optOut: explicit, kind } = event
  const said = limit(explicit?.said ?? person.words)
  if (kind === 'text') return { said, source: 'text', channel: 'text' }
  if (explicit === undefined) return { said, source: 'transcript', channel: 'call-voice' }
  const channel =
    explicit.by === 'key' ? 'call-key' : explicit.by === 'text' ? 'text' : 'call-voice'
  return { said, source: explicit.by, channel }
}

const limit = (said: string | undefined) => said?.trim().slice(0, maxSaidLength) || undefined

const strength = { none: 0, unclear: 1, stop: 2 } as const
export const strongest = (one: ReadWords, other: ReadWords) =>
  strength[other.reading] > strength[one.reading] ? other : one

/** Joins what one speaker said into one text, since people pause in the middle of a sentence. */
export const joinWords = (events: readonly CallEvent[], speaker: 'person' | 'unknown') =>
  sortByPosition(events)
    .flatMap(({ utterances }) => utterances)
    .filter((one) => one.speaker === speaker)
    .map(({ text }) => text)
    .join(' ')

/** A call may go on after an opt-out, a consent may end that, and then the person may say it again. */
export const isSaidNow = (event: CallEvent, readOptOut: OptOutReader) => {
  const { isWholeTranscript, optOut } = event
  if (isWholeTranscript || optOut?.by === 'field') return false
  return optOut !== undefined || readOptOut(joinWords([event], 'person')).reading === 'stop'
}

/** A stranger may replay a late event, so it can opt a person out, but not report a call as unanswered. */
export const asDelivered = (event: CallEvent, delivery: string | null): CallEvent =>
  delivery === 'late' && event.outcome?.state !== 'answered'
    ? { ...event, outcome: undefined, isEnd: undefined }
    : event

/** Events without a position keep their place. */
function sortByPosition(events: readonly CallEvent[]): readonly CallEvent[] {
  const sorted = events
    .filter(({ position }) => position !== undefined)
    .sort((one, other) => (one.position ?? 0) - (other.position ?? 0))
  return events.map((event) => (event.position === undefined ? event : (sorted.shift() ?? event)))
}

export const hasWords = ({ utterances, optOut }: CallEvent) =>
  optOut?.by === 'key' ||
  utterances.some(({ speaker, text }) => speaker === 'person' && text.trim() !== '')

/** Somebody who speaks or presses a key has answered, whatever else the platform reports. */
export const isEvidenceOfAnswer = (event: CallEvent) =>
  event.kind === 'call' && (event.outcome?.state === 'answered' || hasWords(event))

export function toOutcome(event: CallEvent): Partial<CallOutcome> | undefined {
  if (event.kind !== 'call' || event.direction === 'inbound') return undefined
  const { outcome, callIds } = event
  if (outcome === undefined && !hasWords(event)) return undefined
  return {
    ...outcome,
    state: isEvidenceOfAnswer(event) ? 'answered' : (outcome?.state ?? 'dialled'),
    leg: callIds[0]?.slice(0, 100),
    dialStatus: outcome?.dialStatus?.slice(0, 100),
  }
}
