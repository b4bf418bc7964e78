import {
  decisionIdOf,
  firstText,
  idsOf,
  instantOf,
  type JsonObject,
  objectAt,
  textOf,
} from '../fields.js'
import { classifyEnd, type EventSource, type ReadPlatformEvent, toOutcome } from '../reading.js'

export const readLivekit: ReadPlatformEvent = (source) => {
  const { fields } = source
  const type = textOf(fields.event) ?? 'unknown'
  const participant = objectAt(fields, 'participant')
  const attributes = objectAt(participant, 'attributes')
  const decisionId = decisionIdOf(attributes['callgate.decision'])
  // Agents and observers are participants, too.
  const isPhone =
    decisionId !== undefined || Object.keys(attributes).some((name) => name.startsWith('sip.'))
  const isEnd = type === 'participant_left' || type === 'participant_connection_aborted'
  return {
    type,
    decisionId,
    callIds: idsOf(attributes['sip.callID'], participant.sid, attributes['sip.callIDFull']),
    // Only calls to us have a dispatch rule.
    direction: textOf(attributes['sip.ruleID']) === undefined ? undefined : 'inbound',
    person: textOf(attributes['sip.phoneNumber']),
    own: textOf(attributes['sip.trunkPhoneNumber']),
    outcome: isPhone ? readOutcome(source, type, participant) : undefined,
    isEnd: isPhone && isEnd,
  }
}

function readOutcome({ fields, data }: EventSource, type: string, participant: JsonObject) {
  const at = instantOf(fields.createdAt ?? fields.created_at)
  const status = objectAt(participant, 'attributes')['sip.callStatus']
  if (type === 'participant_joined') {
    // The participant is there before it is dialed.
    return status === 'active' ? toOutcome('answered') : toOutcome('dialing', { dialledAt: at })
  }
  if (type !== 'participant_left' && type !== 'participant_connection_aborted') return undefined
  const reason = firstText(participant.disconnectReason, participant.disconnect_reason)
  const found = classifyEnd(data, [
    ['livekit.sip.callStatus', status],
    ['livekit.disconnectReason', reason],
  ])
  return toOutcome(found, { endedAt: at, reason })
}
