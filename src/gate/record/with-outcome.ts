/** A recorded decision with the outcome of its call. */
import type { CallOutcome } from '../../domain/call-outcome.js'
import { formatFinite, formatInstant } from '../../domain/time/dates.js'
import type { DecisionDocument, OutcomeDocument } from './decision-document.js'

/** A stored decision, with what is known of its call. */
export function withOutcome(
  document: DecisionDocument,
  { state, ...more }: Partial<CallOutcome>,
): DecisionDocument {
  return state ? { ...document, outcome: toOutcomeDocument({ state, ...more }) } : document
}

function toOutcomeDocument(outcome: CallOutcome): OutcomeDocument {
  return {
    state: outcome.state,
    handedOverAt: formatFinite(outcome.handedOverAt),
    notCarriedOutAt: formatFinite(outcome.notCarriedOutAt),
    notCarriedOut: outcome.notCarriedOut,
    leg: outcome.leg,
    dialledAt: formatFinite(outcome.dialledAt),
    answeredAt: formatFinite(outcome.answeredAt),
    answeredBy: outcome.answeredBy,
    greetingEndedAt: formatFinite(outcome.greetingEndedAt),
    connectedAt: formatFinite(outcome.connectedAt),
    messagePlayed: outcome.messagePlayed,
    identityConfirmed: outcome.identityConfirmed,
    said: outcome.said
      ?.toSorted((a, b) => a.at - b.at)
      .map(({ key, at }) => ({ key, at: formatInstant(at) })),
    failedAt: formatFinite(outcome.failedAt),
    endedAt: formatFinite(outcome.endedAt),
    dialStatus: outcome.dialStatus,
    cause: outcome.cause,
  }
}
