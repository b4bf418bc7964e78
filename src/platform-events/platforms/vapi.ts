import type { CallEvent, Utterance } from '../call-event.js'
import {
  decisionIdOf,
  firstText,
  idsOf,
  instantOf,
  isObject,
  type JsonObject,
  listOf,
  objectAt,
  textOf,
} from '../fields.js'
import { classifyEnd, type EventSource, type ReadPlatformEvent, toOutcome } from '../reading.js'
import { joinNotes, readAnalysis, readToolCalls, type ToolCall } from '../signals.js'
import { firstTranscript, readLabeledText, readUtterances } from '../transcript.js'

export const readVapi: ReadPlatformEvent = (source) => {
  const message = isObject(source.fields.message) ? source.fields.message : source.fields
  const type = textOf(message.type) ?? 'unknown'
  const { chat, session } = message
  const call = objectAt(message, 'call')
  const isText = /^(?:chat|session)\./.test(type)
  const person = firstText(
    ...[message, call, session, chat].map((one) => objectAt(one, 'customer').number),
    objectAt(message, 'contact').number,
  )
  const own = firstText(
    ...[message, call, session].map((one) => objectAt(one, 'phoneNumber').number),
  )
  const { optOut, notes } = readNotes(source, message)
  return {
    type,
    kind: isText ? 'text' : undefined,
    decisionId: findDecisionId(message, person),
    callIds: isText
      ? idsOf(objectAt(chat).id, objectAt(session).id, objectAt(chat).sessionId)
      : idsOf(call.id, message.callId),
    direction: readDirection(call.type, isText),
    person,
    own,
    outcome: readOutcome(source, type, message),
    // A person who speaks, interrupts or is transferred has answered.
    isAnswered:
      type === 'user-interrupted' ||
      type === 'transfer-update' ||
      (type === 'speech-update' && message.role === 'user'),
    isEnd:
      type === 'end-of-call-report' || (type === 'status-update' && message.status === 'ended'),
    ...readWords(type, message),
    position: instantOf(message.timestamp),
    summary: [
      ...[message, call].map((one) => textOf(objectAt(one, 'analysis').summary)),
      textOf(message.summary),
      ...notes,
    ],
    optOut,
  }
}

function readDirection(callType: unknown, isText: boolean): CallEvent['direction'] | undefined {
  if (callType === 'inboundPhoneCall' || isText) return 'inbound'
  return callType === 'outboundPhoneCall' ? 'outbound' : undefined
}

function findDecisionId(message: JsonObject, person: string | undefined): string | undefined {
  const { call, customer, chat, session } = message
  const holders = [call, customer, objectAt(call, 'customer'), chat, session]
  const overrides = ['assistantOverrides', 'squadOverrides', 'workflowOverrides']
  for (const holder of holders) {
    for (const name of overrides) {
      const { callgateDecision } = objectAt(holder, name, 'metadata')
      const id = decisionIdOf(callgateDecision, person)
      if (id !== undefined) return id
    }
  }
  return undefined
}

function readOutcome({ data }: EventSource, type: string, message: JsonObject) {
  const { status } = message
  const call = objectAt(message, 'call')
  if (type === 'status-update' && status !== 'ended') {
    // A status that is not in the table, such as queued, says nothing yet.
    const found = classifyEnd(data, [['vapi.status', status]])
    return found === 'unknown' ? undefined : toOutcome(found)
  }
  if (type !== 'end-of-call-report' && type !== 'status-update') return undefined
  const reason = firstText(message.endedReason, call.endedReason)
  return toOutcome(classifyEnd(data, [['vapi.endedReason', reason]]), {
    endedAt: instantOf(message.endedAt ?? call.endedAt),
    reason,
  })
}

const spoken = {
  role: 'role',
  text: ['originalMessage', 'originalTranscript', 'message', 'content', 'transcript'],
}

function readWords(type: string, message: JsonObject) {
  if (type.startsWith('transcript')) {
    const said = readUtterances([message], spoken)
    return { utterances: said, isInterim: message.transcriptType === 'partial' && said.length > 0 }
  }
  const utterances = firstTranscript(...listTranscripts(message))
  return { utterances, isWholeTranscript: utterances.length > 0 }
}

/** The same words in several forms, the best first. */
function listTranscripts(message: JsonObject): readonly (readonly Utterance[])[] {
  const { chat, session } = message
  const call = objectAt(message, 'call')
  const holders = [message, objectAt(message, 'artifact'), call, objectAt(call, 'artifact')]
  if (chat !== undefined || session !== undefined) {
    const { input, messages } = objectAt(chat)
    const written = textOf(input)
    return [
      [
        ...readUtterances(messages, spoken),
        ...readUtterances(input, spoken),
        ...(written === undefined ? [] : [{ speaker: 'person' as const, text: written }]),
      ],
      readUtterances(objectAt(session).messages, spoken),
    ]
  }
  return [
    ...holders.map(({ messages }) => readUtterances(messages, spoken)),
    ...holders.map((holder) => readUtterances(holder.messagesOpenAIFormatted, spoken)),
    readUtterances(message.conversation, spoken),
    ...holders.map(({ transcript }) => readLabeledText(transcript)),
  ]
}

function readNotes({ data: { signals } }: EventSource, message: JsonObject) {
  const call = objectAt(message, 'call')
  const artifacts = [objectAt(message, 'artifact'), objectAt(call, 'artifact')]
  const analyses = [objectAt(message, 'analysis'), objectAt(call, 'analysis')]
  return joinNotes([
    readToolCalls(listToolCalls(message), signals),
    ...analyses.map(({ structuredData, structuredDataMulti }) =>
      readAnalysis([structuredData, structuredDataMulti], signals),
    ),
    ...artifacts.map(({ structuredOutputs }) => readAnalysis(structuredOutputs, signals)),
  ])
}

function listToolCalls(message: JsonObject): readonly ToolCall[] {
  const spokenMessages = [message.messages, objectAt(message, 'artifact').messages].flatMap(listOf)
  const calls = [
    ...listOf(message.toolCallList),
    ...listOf(message.toolCalls),
    ...listOf(message.toolWithToolCallList).map((one) => {
      const toolCall = objectAt(one, 'toolCall')
      return { name: objectAt(one).name ?? objectAt(one, 'function').name, ...toolCall }
    }),
    message.functionCall,
    ...spokenMessages.flatMap((one) => listOf(objectAt(one).toolCalls)),
  ]
  return calls.filter(isObject).map((one) => {
    const called = objectAt(one, 'function')
    return {
      name: firstText(called.name, one.name),
      args: called.arguments ?? called.parameters ?? one.arguments ?? one.parameters,
    }
  })
}
