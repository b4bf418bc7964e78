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
import { joinNotes, readAnalysis, readToolCalls } from '../signals.js'
import { readUtterances } from '../transcript.js'

export const readElevenlabs: ReadPlatformEvent = (source) => {
  const { fields } = source
  const type = textOf(fields.type) ?? 'unknown'
  const data = objectAt(fields, 'data')
  const call = objectAt(data, 'metadata', 'phone_call')
  // Of a call that could not be placed, in the words of the carrier.
  const carrier = objectAt(data, 'metadata', 'body')
  const isFailure = type === 'call_initiation_failure'
  const { optOut, notes } = readNotes(source, data)
  const utterances = readUtterances(data.transcript, {
    role: 'role',
    text: ['original_message', 'message'],
  })
  const variables = objectAt(data, 'conversation_initiation_client_data', 'dynamic_variables')
  return {
    type,
    decisionId: decisionIdOf(variables.callgate_decision ?? variables.callgateDecision),
    callIds: idsOf(data.conversation_id, call.call_sid, carrier.CallSid, carrier.call_sid),
    direction: isFailure ? 'outbound' : readDirection(call.direction),
    person: firstText(call.external_number, carrier.To, carrier.to_number),
    own: firstText(call.agent_number, carrier.From, carrier.from_number),
    outcome: readOutcome(source, data, type),
    isAnswered: instantOf(objectAt(data, 'metadata').accepted_time_unix_secs) !== undefined,
    isEnd: isFailure || type === 'post_call_transcription',
    utterances,
    isWholeTranscript: utterances.length > 0,
    summary: [textOf(objectAt(data, 'analysis').transcript_summary), ...notes],
    optOut,
  }
}

const readDirection = (value: unknown) =>
  value === 'inbound' || value === 'outbound' ? value : undefined

function readOutcome({ data: tables }: EventSource, data: JsonObject, type: string) {
  if (type === 'call_initiation_failure') {
    const reason = data.failure_reason
    return toOutcome(classifyEnd(tables, [['elevenlabs.failure_reason', reason]]), { reason })
  }
  if (type !== 'post_call_transcription') return undefined
  const metadata = objectAt(data, 'metadata')
  const { call_result: result } = objectAt(metadata, 'phone_call')
  const found = classifyEnd(tables, [
    ['elevenlabs.call_result', result],
    ['elevenlabs.status', data.status],
    ['elevenlabs.failure_reason', data.failure_reason],
  ])
  return toOutcome(found, {
    answeredAt: instantOf(metadata.accepted_time_unix_secs),
    reason: firstText(result, data.status, data.failure_reason),
  })
}

function readNotes({ data: { signals } }: EventSource, data: JsonObject) {
  const analysis = objectAt(data, 'analysis')
  const calls = listOf(data.transcript)
    .flatMap((one) => listOf(objectAt(one).tool_calls))
    .filter(isObject)
    .map((one) => ({
      name: firstText(one.tool_name, one.name),
      args: one.params_as_json ?? one.parameters,
    }))
  return joinNotes([
    readToolCalls(calls, signals),
    readAnalysis(
      [analysis.data_collection_results, analysis.data_collection_results_list],
      signals,
    ),
  ])
}
