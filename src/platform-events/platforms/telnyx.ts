import {
  decisionIdOf,
  firstText,
  idsOf,
  instantOf,
  isObject,
  type JsonObject,
  listOf,
  objectAt,
  parseJsonObject,
  textOf,
} from '../fields.js'
import {
  classifyEnd,
  type EventSource,
  type Reading,
  type ReadPlatformEvent,
  toOutcome,
} from '../reading.js'
import { findKeyOptOut, joinNotes, readAnalysis } from '../signals.js'
import { readUtterances } from '../transcript.js'
import { readTwilio } from './twilio.js'

export const readTelnyx: ReadPlatformEvent = (source) => {
  const { fields } = source
  // TeXML sends the events of Twilio.
  if (fields.data === undefined && fields.CallSid !== undefined) return readTwilio(source)
  const event = objectAt(fields, 'data')
  const payload = objectAt(event, 'payload')
  const type = firstText(event.event_type, fields.event_type) ?? 'unknown'
  return type.startsWith('message.') ? readText(type, payload) : readCall(source, type, event)
}

function directionOf(value: unknown) {
  if (value === 'outgoing' || value === 'outbound') return 'outbound'
  return value === 'incoming' || value === 'inbound' ? 'inbound' : undefined
}

/** Somebody must have answered for these. */
const answerEvents =
  /^call\.(?:answered|bridged|machine\.(?:premium\.)?(?:detection|greeting)\.ended|dtmf\.received|ai_gather\..*|transcription|conversation\..*|conversation_insights\..*)$/

function readCall(source: EventSource, type: string, event: JsonObject): Reading {
  const { signals } = source.data
  const payload = objectAt(event, 'payload')
  const decisions = readClientState(payload.client_state)
  const digits = payload.digit ?? payload.digits
  const results = listOf(payload.results).map((one) => objectAt(one).result)
  const { optOut, notes } = joinNotes([
    { optOut: findKeyOptOut(digits, signals), notes: [] },
    readAnalysis([results, payload.result, payload.partial_results], signals),
  ])
  const isMachineDetection = /^call\.machine\.(?:premium\.)?detection\.ended$/.test(type)
  return {
    type,
    decisionId: decisionIdOf(decisions, textOf(payload.to)),
    callIds: idsOf(payload.call_control_id, payload.call_leg_id),
    // Of several numbers that one request dials, it tells no legs apart.
    sessionId: isObject(decisions) ? undefined : textOf(payload.call_session_id),
    direction: directionOf(payload.direction),
    from: textOf(payload.from),
    to: textOf(payload.to),
    outcome: readOutcome(source, type, event),
    isAnswered: answerEvents.test(type) || textOf(digits) !== undefined,
    isEnd: type === 'call.hangup',
    ...readWords(type, payload),
    position: instantOf(event.occurred_at),
    // The result of a machine detection is a word about the call, but no text.
    summary: isMachineDetection ? [] : notes,
    optOut,
  }
}

function readOutcome({ data }: EventSource, type: string, event: JsonObject) {
  const { hangup_cause: reason, result } = objectAt(event, 'payload')
  const at = instantOf(event.occurred_at)
  if (type === 'call.initiated') return toOutcome('dialing', { dialledAt: at })
  if (type === 'call.answered') return toOutcome('answered', { answeredAt: at })
  if (/^call\.machine\.(?:premium\.)?detection\.ended$/.test(type))
    return toOutcome(classifyEnd(data, [['telnyx.machine_detection', result]]))
  if (type !== 'call.hangup') return undefined
  return toOutcome(classifyEnd(data, [['telnyx.hangup_cause', reason]]), { endedAt: at, reason })
}

function readWords(type: string, payload: JsonObject) {
  if (type === 'call.transcription') {
    const {
      transcript,
      transcription_track: track,
      is_final: isFinal,
    } = objectAt(payload, 'transcription_data')
    const text = textOf(transcript)
    if (text === undefined) return {}
    // Only one of the engines names the track. The other transcribes the person unless it is configured otherwise.
    const speaker = track === 'outbound' ? ('agent' as const) : ('person' as const)
    return { utterances: [{ speaker, text }], isInterim: isFinal === false }
  }
  const recorded = textOf(payload.transcription_text)
  if (recorded !== undefined) {
    return { utterances: [{ speaker: 'unknown' as const, text: recorded }] }
  }
  const spoken = { role: 'role', text: ['content'] }
  return { utterances: readUtterances(payload.message_history, spoken) }
}

/** A client can set any text here. */
function readClientState(value: unknown): unknown {
  const text = Buffer.from(textOf(value) ?? '', 'base64').toString()
  return parseJsonObject(text)?.callgateDecision
}

function readText(type: string, payload: JsonObject): Reading {
  const isReceived = type === 'message.received'
  const text = isReceived ? textOf(payload.text) : undefined
  const to = objectAt(listOf(payload.to)[0]).phone_number ?? payload.to
  return {
    type,
    kind: 'text',
    callIds: idsOf(payload.id),
    direction: isReceived ? 'inbound' : directionOf(payload.direction),
    from: firstText(objectAt(payload, 'from').phone_number, payload.from),
    to: textOf(to),
    utterances: text === undefined ? [] : [{ speaker: 'person', text }],
  }
}
