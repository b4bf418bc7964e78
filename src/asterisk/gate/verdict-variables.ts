/** The channel variables that give a decision to the dialplan. */
import { type Reason, reasons } from '../../domain/checks.js'
import { type Decision, listDegradedChecks } from '../../domain/decision.js'
import { formatTraceparent } from '../../domain/trace/trace-context.js'

/**
 * The hangup cause of a blocked call by Q.850: 21, call rejected, SIP 403; 42, congestion, SIP 503. A call that could not be
 * checked or recorded may be retried; a call blocked by a rule may not.
 */
const hangupCauses: Readonly<Record<Reason['kind'], '' | '21' | '42'>> = {
  allow: '',
  rule: '21',
  time: '21',
  list: '42',
  request: '42',
  fault: '42',
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
    CALLGATE_CAUSE: decision === 'allow' ? '' : hangupCauses[reasons[reason].kind],
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
