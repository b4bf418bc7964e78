/** The channel variables that give a decision to the dialplan. */
import { type Decision, listDegradedChecks, type ReasonCode } from '../../domain/decision.js'
import { formatTraceparent } from '../../domain/trace/trace-context.js'

/** Q.850: 21, call rejected, for a rule that blocks. 42, congestion, for no decision. */
type HangupCause = '' | '21' | '42'

/**
 * The hangup cause of a blocked call, SIP 403 or 503. A call that could not be checked or recorded may
 * be retried; a call blocked by a rule may not.
 */
const hangupCauses: Readonly<Record<ReasonCode, HangupCause>> = {
  'not-recorded': '42',
  'clock-behind': '42',
  'clock-ahead': '42',
  'not-current': '42',
  expired: '42',
  'ai-paused': '21',
  'key-paused': '21',
  'key-kind': '21',
  'key-project': '21',
  'key-caller-id': '21',
  'key-region': '21',
  'key-concurrent': '21',
  'key-attempts': '21',
  'key-cool-down': '21',
  'approval-needed': '21',
  'permit-too-short': '21',
  'invalid-request': '42',
  'invalid-number': '21',
  'foreign-number': '21',
  extension: '21',
  litigator: '21',
  'consent-revoked': '21',
  'internal-dnc': '21',
  'national-dnc': '21',
  'state-dnc': '21',
  'wireless-state': '21',
  'list-not-covering': '21',
  'list-stale': '42',
  'list-unreadable': '42',
  'toll-free': '21',
  'unknown-prefix': '21',
  'no-consent': '21',
  'consent-unproven': '21',
  reassigned: '21',
  disconnected: '21',
  'not-permitted': '21',
  'purpose-not-allowed': '21',
  'unknown-project': '21',
  'caller-id-invalid': '21',
  'caller-id-not-owned': '21',
  'caller-id-expired': '21',
  'caller-id-missing': '21',
  'caller-id-do-not-originate': '21',
  'caller-id-neighbor': '21',
  'restricted-day': '21',
  'outside-calling-hours': '21',
  'too-many-attempts': '21',
  'abandonment-rate': '21',
  'unknown-subject': '21',
  'list-missing': '42',
  'check-unanswered': '42',
  overloaded: '42',
  'policy-allows': '',
  'service-code': '',
  permitted: '',
}

/** `permit` is empty unless the call is allowed. */
export function createVerdictVariables(
  verdict: Decision,
  permit: string,
): Readonly<Record<string, string>> {
  const { decision, number, reason, id, seq, request } = verdict
  return {
    CALLGATE_DECISION: decision,
    CALLGATE_NUMBER: number,
    CALLGATE_REASON: reason,
    CALLGATE_CAUSE: decision === 'allow' ? '' : hangupCauses[reason],
    CALLGATE_ID: id,
    CALLGATE_SEQ: seq === undefined ? '' : String(seq),
    // No comma, which would start the value of the next variable.
    CALLGATE_DEGRADED: listDegradedChecks(verdict).join('+'),
    CALLGATE_PERMIT: permit,
    CALLGATE_TRACEPARENT: request.trace ? formatTraceparent(request.trace) : '',
  }
}

/** No decision; clears values from an earlier decision or from the originator of the call. */
export const noVerdictVariables: Readonly<Record<string, string>> = {
  CALLGATE_DECISION: '',
  CALLGATE_NUMBER: '',
  CALLGATE_REASON: '',
  CALLGATE_CAUSE: '42',
  CALLGATE_ID: '',
  CALLGATE_SEQ: '',
  CALLGATE_DEGRADED: '',
  CALLGATE_PERMIT: '',
  CALLGATE_TRACEPARENT: '',
}
