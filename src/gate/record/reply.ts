/** What a caller is answered about a decision. */
import type { CallOutcome } from '../../domain/call-outcome.js'
import type { Decision } from '../../domain/decision.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { DecisionDocument, DecisionReply, OutcomeDocument } from './decision-document.js'
import { toReply } from './describe-decision.js'
import { readRecord } from './read-record.js'
import { formatFinite, writeDecision } from './write-record.js'

/** The reply about a decision that was just made. */
export function replyTo(decision: Decision): DecisionReply {
  return toReply(readRecord('decision', { id: decision.id, body: writeDecision(decision) }))
}

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
