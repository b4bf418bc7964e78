/** What is known of a call's outcome after one more note, in whatever order the notes come. */
import type { CallOutcome, OutcomeState } from '../domain/call-outcome.js'

/** Said by the events of a leg; the other states are our own view of the hand-over. */
const onTheWire: ReadonlySet<OutcomeState | undefined> = new Set(['dialled', 'answered', 'failed'])

/**
 * The note's fields replace those known. What the wire has said is not taken back by a late word of
 * the hand-over, nor is the end of a leg by its beginning. Another leg begins anew, as a second
 * trunk after the first has failed; but none replaces the one that answered. Pure, and merging the
 * notes first or one by one onto what is known comes to the same.
 */
export function mergeOutcome(
  known: Partial<CallOutcome>,
  note: Partial<CallOutcome>,
): Partial<CallOutcome> {
  const otherLeg = note.leg !== undefined && note.leg !== known.leg
  const keepsLeg = otherLeg && known.state === 'answered'
  const state = keepsLeg ? known.state : stateAfter(known.state, note.state, otherLeg)
  return {
    ...(state && { state }),
    handedOverAt: note.handedOverAt ?? known.handedOverAt,
    notCarriedOutAt: note.notCarriedOutAt ?? known.notCarriedOutAt,
    notCarriedOut: note.notCarriedOut ?? known.notCarriedOut,
    ...legOf(otherLeg && !keepsLeg ? {} : known, keepsLeg ? {} : note),
  }
}

function stateAfter(
  known: OutcomeState | undefined,
  noted: OutcomeState | undefined,
  otherLeg: boolean,
): OutcomeState | undefined {
  if (noted === undefined) return known
  if (!onTheWire.has(noted)) return onTheWire.has(known) ? known : noted
  const ended = known === 'answered' || known === 'failed'
  return noted === 'dialled' && ended && !otherLeg ? known : noted
}

function legOf(known: Partial<CallOutcome>, note: Partial<CallOutcome>): Partial<CallOutcome> {
  return {
    leg: note.leg ?? known.leg,
    dialledAt: note.dialledAt ?? known.dialledAt,
    answeredAt: note.answeredAt ?? known.answeredAt,
    failedAt: note.failedAt ?? known.failedAt,
    endedAt: note.endedAt ?? known.endedAt,
    dialStatus: note.dialStatus ?? known.dialStatus,
    cause: note.cause ?? known.cause,
  }
}
