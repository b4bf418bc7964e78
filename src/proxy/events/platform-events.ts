/** How each platform signs its events, and what it says in them. */
import type { PlatformName } from '../platforms/platform.js'
import {
  decisionOf,
  instantOf,
  linesOfUser,
  objectAt,
  type ReadEvent,
  statusOf,
  textOf,
  utterancesOf,
} from './call-event.js'
import {
  type VerifyEvent,
  verifyLivekit,
  verifyRetell,
  verifyTelnyx,
  verifyTwilio,
  verifyVapi,
} from './signatures.js'

export interface PlatformEvents {
  readonly verify: VerifyEvent
  readonly body: 'json' | 'form'
  readonly read: ReadEvent
}

const users = new Set<unknown>(['user', 'customer'])

const readVapi: ReadEvent = (fields) => {
  const message = objectAt(fields, 'message')
  const type = textOf(message.type) ?? 'unknown'
  const call = objectAt(message, 'call')
  const { number } = { ...objectAt(call, 'customer'), ...objectAt(message, 'customer') }
  const { callgateDecision } = objectAt(call, 'assistantOverrides', 'metadata')
  const leg = statusOf(call.id)
  const event = {
    type,
    decisionId: decisionOf(callgateDecision, number),
    number: textOf(number),
    callId: leg,
    utterances: [],
  }
  if (type === 'status-update') {
    const state = ({ ringing: 'dialled', 'in-progress': 'answered' } as const)[
      String(message.status)
    ]
    return { ...event, ...(state && { outcome: { state, leg } }) }
  }
  if (type !== 'end-of-call-report') return event
  const artifact = objectAt(message, 'artifact')
  const spoken = utterancesOf(artifact.messages ?? message.messages, {
    roles: users,
    text: ['message', 'content'],
  })
  const reason = statusOf(message.endedReason)
  const isFailed = /did-not-answer|busy|fail|error|not-found|invalid|rejected/i
  return {
    ...event,
    outcome: {
      state: reason !== undefined && isFailed.test(reason) ? 'failed' : 'answered',
      leg,
      dialStatus: reason,
    },
    utterances: spoken.length > 0 ? spoken : linesOfUser(artifact.transcript ?? message.transcript),
  }
}

const readRetell: ReadEvent = (fields) => {
  const type = textOf(fields.event) ?? 'unknown'
  const call = objectAt(fields, 'call')
  const number = textOf(call.to_number)
  const leg = statusOf(call.call_id)
  const event = {
    type,
    decisionId: decisionOf(objectAt(call, 'metadata').callgate_decision, number),
    number,
    callId: leg,
    utterances: [],
  }
  if (type === 'call_started') return { ...event, outcome: { state: 'dialled', leg } }
  if (type !== 'call_ended' && type !== 'call_analyzed') return event
  const reason = statusOf(call.disconnection_reason)
  const isFailed =
    /^(?:dial_|error_|invalid_|telephony_|no_valid_|concurrency_|registered_|user_declined|marked_as_spam|scam_)/
  const spoken = utterancesOf(call.transcript_object, { roles: users, text: ['content'] })
  return {
    ...event,
    outcome: {
      state: reason !== undefined && isFailed.test(reason) ? 'failed' : 'answered',
      leg,
      endedAt: instantOf(call.end_timestamp),
      dialStatus: reason,
    },
    utterances: spoken.length > 0 ? spoken : linesOfUser(call.transcript),
  }
}

const readTelnyx: ReadEvent = (fields) => {
  const data = objectAt(fields, 'data')
  const type = textOf(data.event_type) ?? 'unknown'
  const payload = objectAt(data, 'payload')
  const number = textOf(payload.to)
  const leg = statusOf(payload.call_control_id)
  const event = {
    type,
    decisionId: decisionOf(readClientState(payload.client_state), number),
    number,
    callId: leg,
    utterances: [],
  }
  if (type === 'call.initiated') return { ...event, outcome: { state: 'dialled', leg } }
  if (type === 'call.answered') return { ...event, outcome: { state: 'answered', leg } }
  if (type === 'call.transcription') {
    const { transcript, transcription_track: track } = objectAt(payload, 'transcription_data')
    const text = track === 'outbound' ? undefined : textOf(transcript)
    return { ...event, utterances: text === undefined ? [] : [text] }
  }
  if (type !== 'call.hangup') return event
  const cause = statusOf(payload.hangup_cause)
  const state = cause === 'normal_clearing' ? 'answered' : 'failed'
  return { ...event, outcome: { state, leg, dialStatus: cause } }
}

function readClientState(value: unknown): unknown {
  try {
    const text = Buffer.from(textOf(value) ?? '', 'base64').toString()
    return objectAt(JSON.parse(text)).callgateDecision
  } catch {
    return undefined
  }
}

const twilioStates: Readonly<Record<string, 'dialled' | 'answered' | 'failed'>> = {
  initiated: 'dialled',
  ringing: 'dialled',
  'in-progress': 'answered',
  completed: 'answered',
  busy: 'failed',
  'no-answer': 'failed',
  failed: 'failed',
  canceled: 'failed',
}

const readTwilio: ReadEvent = (fields, query) => {
  const status = statusOf(fields.CallStatus)
  const state = status === undefined ? undefined : twilioStates[status]
  return {
    type: status ?? textOf(fields.TranscriptionEvent) ?? 'unknown',
    decisionId: decisionOf(query.get('callgateDecision'), undefined),
    number: textOf(fields.To),
    callId: statusOf(fields.CallSid),
    ...(state && { outcome: { state, leg: statusOf(fields.CallSid), dialStatus: status } }),
    utterances: readTwilioTranscript(fields.TranscriptionData, fields.Track),
  }
}

function readTwilioTranscript(data: unknown, track: unknown): readonly string[] {
  if (track === 'outbound_track') return []
  try {
    const text = textOf(objectAt(JSON.parse(textOf(data) ?? '')).transcript)
    return text === undefined ? [] : [text]
  } catch {
    return []
  }
}

const readLivekit: ReadEvent = (fields) => {
  const type = textOf(fields.event) ?? 'unknown'
  const participant = objectAt(fields, 'participant')
  const attributes = objectAt(participant, 'attributes')
  const leg = statusOf(attributes['sip.callID'] ?? participant.sid)
  const event = {
    type,
    decisionId: decisionOf(attributes['callgate.decision'], undefined),
    number: textOf(attributes['sip.phoneNumber']),
    callId: leg,
    utterances: [],
  }
  if (type === 'participant_joined') return { ...event, outcome: { state: 'dialled', leg } }
  if (type !== 'participant_left' && type !== 'participant_connection_aborted') return event
  const reason = statusOf(participant.disconnectReason ?? participant.disconnect_reason)
  const isFailed = /^(?:USER_UNAVAILABLE|USER_REJECTED|SIP_TRUNK_FAILURE|CONNECTION_TIMEOUT)$/
  const state = reason !== undefined && isFailed.test(reason) ? 'failed' : 'answered'
  return { ...event, outcome: { state, leg, dialStatus: reason } }
}

export const platformEvents: Readonly<Record<PlatformName, PlatformEvents>> = {
  livekit: { verify: verifyLivekit, body: 'json', read: readLivekit },
  vapi: { verify: verifyVapi, body: 'json', read: readVapi },
  retell: { verify: verifyRetell, body: 'json', read: readRetell },
  telnyx: { verify: verifyTelnyx, body: 'json', read: readTelnyx },
  twilio: { verify: verifyTwilio, body: 'form', read: readTwilio },
}
