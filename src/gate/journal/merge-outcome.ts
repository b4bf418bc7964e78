/** Merges a new note about a call's outcome into what is known, in whatever order notes arrive. */
import type { CallOutcome, OutcomeState, SaidDisclosure } from '../../domain/call-outcome.js'

/** States that come from events of a leg; the others are our own view of the handover. */
const legStates: ReadonlySet<OutcomeState | undefined> = new Set(['dialled', 'answered', 'failed'])

/**
 * The note's fields replace known ones. The state of a leg is not replaced by a late note about the
 * handover, nor its end by its beginning. An answer replaces a failure, in whatever order the reports come, since
 * an answered call that counts as failed leads to one call too many. Another leg, such as a second trunk after the first failed,
 * starts over, but no leg replaces the one that answered. What was said stays, each as it was first noted. Pure and associative: merging notes with each
 * other first gives the same result.
 */
export function mergeOutcome(
  known: Partial<CallOutcome>,
  note: Partial<CallOutcome>,
): Partial<CallOutcome> {
  const otherLeg = note.leg !== undefined && note.leg !== known.leg
  if (otherLeg && known.state === 'answered') {
    return mergeFields(known, note, { before: known, after: nothing, state: known.state })
  }
  const before = otherLeg ? nothing : known
  const state = mergeState(known.state, note.state, otherLeg)
  return mergeFields(known, note, { before, after: note, state })
}

const nothing: Partial<CallOutcome> = {}

/** What is known of one leg, and what is new about it. */
interface LegNotes {
  readonly before: Partial<CallOutcome>
  readonly after: Partial<CallOutcome>
  readonly state: OutcomeState | undefined
}

/** One literal, since spreads took 30 µs. */
function mergeFields(
  known: Partial<CallOutcome>,
  note: Partial<CallOutcome>,
  { before, after, state }: LegNotes,
): Partial<CallOutcome> {
  const merged: { -readonly [Field in keyof CallOutcome]?: CallOutcome[Field] } = {
    handedOverAt: note.handedOverAt ?? known.handedOverAt,
    notCarriedOutAt: note.notCarriedOutAt ?? known.notCarriedOutAt,
    notCarriedOut: note.notCarriedOut ?? known.notCarriedOut,
    said: note.said?.length ? mergeSaid(known.said, note.said) : known.said,
    leg: after.leg ?? before.leg,
    dialledAt: after.dialledAt ?? before.dialledAt,
    answeredAt: after.answeredAt ?? before.answeredAt,
    answeredBy: after.answeredBy ?? before.answeredBy,
    greetingEndedAt: after.greetingEndedAt ?? before.greetingEndedAt,
    connectedAt: after.connectedAt ?? before.connectedAt,
    messagePlayed: after.messagePlayed ?? before.messagePlayed,
    identityConfirmed: after.identityConfirmed ?? before.identityConfirmed,
    failedAt: after.failedAt ?? before.failedAt,
    endedAt: after.endedAt ?? before.endedAt,
    dialStatus: after.dialStatus ?? before.dialStatus,
    cause: after.cause ?? before.cause,
  } satisfies Record<Exclude<keyof CallOutcome, 'state'>, unknown>
  if (state) merged.state = state
  return merged
}

function mergeSaid(
  known: readonly SaidDisclosure[] = [],
  noted: readonly SaidDisclosure[],
): readonly SaidDisclosure[] {
  return [...known, ...noted.filter(({ key }) => !known.some((one) => one.key === key))]
}

function mergeState(
  known: OutcomeState | undefined,
  noted: OutcomeState | undefined,
  otherLeg: boolean,
): OutcomeState | undefined {
  if (noted === undefined) return known
  if (!legStates.has(noted)) return legStates.has(known) ? known : noted
  if (otherLeg || noted === 'answered') return noted
  return known === 'answered' || known === 'failed' ? known : noted
}
