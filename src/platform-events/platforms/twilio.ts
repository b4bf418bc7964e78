import type { Utterance } from '../call-event.js'
import {
  decisionIdOf,
  firstText,
  idsOf,
  instantOf,
  type JsonObject,
  numberOf,
  objectOf,
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

export const readTwilio: ReadPlatformEvent = (source) => {
  const { fields } = source
  const messageId = fields.MessageSid ?? fields.SmsMessageSid ?? fields.SmsSid
  if (textOf(messageId) !== undefined) return readText(fields)
  return readCall(source)
}

function readCall(source: EventSource): Reading {
  const { fields, query, data } = source
  const parameters = objectOf(fields.customParameters)
  const { optOut, notes } = joinNotes([
    { optOut: findKeyOptOut(fields.Digits ?? fields.digit, data.signals), notes: [] },
    readAnalysis(fields.HandoffData, data.signals),
  ])
  const status = textOf(fields.CallStatus)
  const { direction, isOtherLeg } = readLeg(fields)
  return {
    type: firstText(fields.TranscriptionEvent, fields.type, status) ?? 'unknown',
    decisionId: decisionIdOf(query.get('callgateDecision') ?? parameters.callgateDecision),
    callIds: idsOf(fields.CallSid, fields.callSid),
    direction,
    from: numberIn(fields.From ?? fields.from),
    to: numberIn(fields.To ?? fields.to),
    isOtherLeg,
    outcome: readOutcome(source, status),
    isAnswered:
      (numberOf(fields.CallDuration) ?? 0) > 0 ||
      textOf(fields.AnsweredBy) !== undefined ||
      /^\s*[\d*#]+\s*$/.test(textOf(fields.Digits ?? fields.digit) ?? ''),
    isEnd: isEndStatus(status),
    ...readWords(fields),
    position: numberOf(fields.SequenceId),
    summary: notes,
    optOut,
  }
}

function directionOf(text = ''): 'inbound' | 'outbound' | undefined {
  if (text.startsWith('outbound')) return 'outbound'
  return text.startsWith('inbound') ? 'inbound' : undefined
}

/** A leg that another leg placed goes to the target of a transfer or to an agent. */
function readLeg(fields: JsonObject) {
  const direction = textOf(fields.Direction ?? fields.direction)
  const isOtherLeg = direction === 'outbound-dial' || textOf(fields.ParentCallSid) !== undefined
  return { direction: directionOf(direction), isOtherLeg }
}

/** Senders of other channels than the telephone's have the channel before the number. */
function numberIn(value: unknown): string | undefined {
  return textOf(value)?.replace(/^(?:whatsapp|rcs|sms|tel):/i, '')
}

function readOutcome({ fields, data }: EventSource, status: string | undefined) {
  const at = instantOf(fields.Timestamp)
  const answerer = textOf(fields.AnsweredBy)
  const byStatus =
    status === undefined ? undefined : classifyEnd(data, [['twilio.CallStatus', status]])
  const isReport = fields.CallbackSource === 'call-progress-events'
  return toOutcome(
    answerer === undefined ? byStatus : classifyEnd(data, [['twilio.AnsweredBy', answerer]]),
    {
      answeredAt: isReport && status === 'in-progress' ? at : undefined,
      endedAt: isEndStatus(status) ? at : undefined,
      reason: status,
    },
  )
}

function isEndStatus(status: string | undefined): boolean {
  return status !== undefined && /^(?:completed|busy|no-answer|canceled|failed)$/.test(status)
}

function readWords(fields: JsonObject) {
  const { Track: track, type } = fields
  const live = textOf(objectOf(fields.TranscriptionData).transcript)
  if (live !== undefined) {
    const speaker =
      track === 'inbound_track' ? 'person' : track === 'outbound_track' ? 'agent' : 'unknown'
    return { utterances: [{ speaker, text: live } as const], isInterim: fields.Final === 'false' }
  }
  const final = [fields.SpeechResult, fields.TranscriptionText]
  if (type === 'prompt') final.push(fields.voicePrompt)
  const utterances = final.flatMap(toPerson)
  if (utterances.length > 0) return { utterances, isInterim: fields.last === false }
  // Both parts of a result that is not final.
  const partial = [textOf(fields.StableSpeechResult), textOf(fields.UnstableSpeechResult)]
  return { utterances: toPerson(partial.filter(Boolean).join(' ')), isInterim: true }
}

function toPerson(value: unknown): readonly Utterance[] {
  const text = textOf(value)
  return text === undefined ? [] : [{ speaker: 'person', text }]
}

/** Incoming texts, and reports on those that were sent. */
function readText(fields: JsonObject): Reading {
  const status =
    textOf(fields.MessageStatus)?.toLowerCase() ?? textOf(fields.SmsStatus)?.toLowerCase()
  const isReceived = status === undefined || status === 'received' || status === 'receiving'
  const isOptOut = isReceived && textOf(fields.OptOutType)?.toUpperCase() === 'STOP'
  const body = textOf(fields.Body)
  return {
    type: `message ${status ?? 'received'}`,
    kind: 'text',
    callIds: idsOf(fields.MessageSid, fields.SmsMessageSid, fields.SmsSid),
    direction: isReceived ? 'inbound' : 'outbound',
    from: numberIn(fields.From),
    to: numberIn(fields.To),
    utterances: isReceived ? toPerson(body) : [],
    optOut: isOptOut ? { by: 'text', said: body } : undefined,
  }
}
