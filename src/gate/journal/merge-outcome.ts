/** Merges a new note about a call's outcome into what is known, in whatever order notes arrive. */
import type { CallOutcome, OutcomeState, SaidDisclosure } from '../../domain/call-outcome.js'

/** States that come from events of a leg; the others are our own view of the handover. */
const legStates: ReadonlySet<OutcomeState | undefined> = new Set(['dialled', 'answered', 'failed'])

/**
 * The note's fields replace known ones. The state of a leg is not replaced by a late note about the
 * handover, nor its end by its beginning or by another end. Another leg, such as a second trunk after the first failed,
 * starts over, but no leg replaces the one that answered. What was said stays, each as it was first noted. Pure and associative: merging notes with each
 * other first gives the same result.
 */
export function mergeOutcome(
  known: Partial<CallOutcome>,
  note: Partial<CallOutcome>,
): Partial<CallOutcome> {
  const otherLeg = note.leg !== undefined && note.leg !== known.leg
  const keepsLeg = otherLeg && known.state === 'answered'
  const state = keepsLeg ? known.state : mergeState(known.state, note.state, otherLeg)
  return {
    ...(state && { state }),
    handedOverAt: note.handedOverAt ?? known.handedOverAt,
    notCarriedOutAt: note.notCarriedOutAt ?? known.notCarriedOutAt,
    notCarriedOut: note.notCarriedOut ?? known.notCarriedOut,
    said: mergeSaid(known.said, note.said),
    ...mergeLeg(otherLeg && !keepsLeg ? {} : known, keepsLeg ? {} : note),
  }
}

function mergeSaid(
  known: readonly SaidDisclosure[] = [],
  noted: readonly SaidDisclosure[] = [],
): readonly SaidDisclosure[] | undefined {
  const said = [...known, ...noted.filter(({ key }) => !known.some((one) => one.key === key))]
  return said.length === 0 ? undefined : said
}

function mergeState(
  known: OutcomeState | undefined,
  noted: OutcomeState | undefined,
  otherLeg: boolean,
): OutcomeState | undefined {
  if (noted === undefined) return known
  if (!legStates.has(noted)) return legStates.has(known) ? known : noted
  const ended = known === 'answered' || known === 'failed'
  return ended && !otherLeg ? known : noted
}

function mergeLeg(known: Partial<CallOutcome>, note: Partial<CallOutcome>): Partial<CallOutcome> {
  return {
    leg: note.leg ?? known.leg,
    dialledAt: note.dialledAt ?? known.dialledAt,
    answeredAt: note.answeredAt ?? known.answeredAt,
    answeredBy: note.answeredBy ?? known.answeredBy,
    greetingEndedAt: note.greetingEndedAt ?? known.greetingEndedAt,
    connectedAt: note.connectedAt ?? known.connectedAt,
    messagePlayed: note.messagePlayed ?? known.messagePlayed,
    identityConfirmed: note.identityConfirmed ?? known.identityConfirmed,
    failedAt: note.failedAt ?? known.failedAt,
    endedAt: note.endedAt ?? known.endedAt,
    dialStatus: note.dialStatus ?? known.dialStatus,
    cause: note.cause ?? known.cause,
  }
}
