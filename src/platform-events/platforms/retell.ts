import {
  decisionIdOf,
  firstText,
  idsOf,
  instantOf,
  isObject,
  type JsonObject,
  listOf,
  numberOf,
  objectAt,
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
import {
  findKeyOptOut,
  joinNotes,
  type ReadNotes,
  readAnalysis,
  readToolCalls,
} from '../signals.js'
import { firstTranscript, readLabeledText, readUtterances } from '../transcript.js'

export const readRetell: ReadPlatformEvent = (source) => {
  const { fields } = source
  if (isObject(fields.chat)) return readChat(source, fields.chat)
  const call = objectAt(fields, isObject(fields.call_inbound) ? 'call_inbound' : 'call')
  const type = textOf(fields.event) ?? 'function'
  const number = textOf(call.to_number)
  const { words, notes } = readContent(source, call)
  const { optOut, notes: summary } = joinNotes([
    // A custom function has no type of event.
    readToolCalls([{ name: fields.name, args: fields.args }], source.data.signals),
    ...notes,
  ])
  return {
    type,
    decisionId: decisionIdOf(objectAt(call, 'metadata').callgate_decision, number),
    callIds: idsOf(call.call_id, objectAt(call, 'telephony_identifier').twilio_call_sid),
    direction:
      type === 'call_inbound' ? 'inbound' : readDirection(call.direction ?? fields.direction),
    from: textOf(call.from_number),
    to: number,
    outcome: readOutcome(source, type, call),
    isAnswered: isObject(fields.args) || hasTalked(call),
    isEnd: type === 'call_ended' || type === 'call_analyzed',
    utterances: words,
    isWholeTranscript: words.length > 0,
    summary: [firstText(objectAt(call, 'call_analysis').call_summary), ...summary],
    optOut,
  }
}

const readDirection = (value: unknown) =>
  value === 'inbound' || value === 'outbound' ? value : undefined

function readOutcome({ data }: EventSource, type: string, call: JsonObject) {
  const answeredAt = instantOf(call.start_timestamp)
  if (type !== 'call_ended' && type !== 'call_analyzed') {
    // These are sent only for a call that was connected.
    const isConnected = /^(?:call_started|transcript_updated|transfer_\w+)$/.test(type)
    return isConnected ? toOutcome('answered', { answeredAt }) : undefined
  }
  const reason = call.disconnection_reason
  const found = classifyEnd(data, [
    ['retell.disconnection_reason', reason],
    ['retell.call_status', call.call_status],
  ])
  const isMachine = objectAt(call, 'call_analysis').in_voicemail === true
  return toOutcome(isMachine ? 'answered-by-machine' : found, {
    answeredAt,
    endedAt: instantOf(call.end_timestamp),
    reason,
  })
}

const hasTalked = (call: JsonObject): boolean =>
  instantOf(call.start_timestamp) !== undefined || (numberOf(call.duration_ms) ?? 0) > 0

const spoken = { role: 'role', text: ['content'] }

/** Of a call or chat. */
function readContent({ data: { signals } }: EventSource, call: JsonObject) {
  const entries = [
    ...listOf(call.transcript_with_tool_calls ?? call.scrubbed_transcript_with_tool_calls),
    ...listOf(call.message_with_tool_calls),
  ].filter(isObject)
  const texts = entries.flatMap(({ role, content }) => {
    const text = role === 'sms' ? textOf(content) : undefined
    return text === undefined ? [] : [{ speaker: 'person' as const, text }]
  })
  const words = firstTranscript(
    readUtterances(call.transcript_object, spoken),
    readUtterances(
      entries.filter(({ role }) => role !== 'sms'),
      spoken,
    ),
    readLabeledText(call.transcript),
  )
  const tools = entries
    .filter(({ role }) => role === 'tool_call_invocation')
    .map(({ name, arguments: args }) => ({ name, args }))
  const analysis = objectAt(call, 'call_analysis')
  const notes: readonly ReadNotes[] = [
    ...readKeys(entries).map((keys) => ({ optOut: findKeyOptOut(keys, signals), notes: [] })),
    readToolCalls(tools, signals),
    readAnalysis(analysis.custom_analysis_data, signals),
    { optOut: readAnalysis(call.collected_dynamic_variables, signals).optOut, notes: [] },
  ]
  return { words: [...words, ...texts], notes }
}

/** Keys that were pressed in a row are one entry. */
function readKeys(entries: readonly JsonObject[]): readonly string[] {
  const runs = ['']
  for (const { role, digit } of entries) {
    if (role === 'dtmf') runs.push(`${runs.pop() ?? ''}${textOf(digit) ?? ''}`)
    else if (runs.at(-1) !== '') runs.push('')
  }
  return runs
}

function readChat(source: EventSource, chat: JsonObject): Reading {
  const { fields } = source
  const analysis = objectAt(chat, 'chat_analysis')
  const { words, notes } = readContent(source, { ...chat, call_analysis: analysis })
  const { optOut, notes: summary } = joinNotes(notes)
  const metadata = objectOf(chat.metadata)
  return {
    type: textOf(fields.event) ?? 'chat',
    kind: 'text',
    decisionId: decisionIdOf(metadata.callgate_decision),
    callIds: idsOf(chat.chat_id),
    direction: readDirection(chat.direction),
    from: textOf(chat.from_number),
    to: textOf(chat.to_number),
    utterances: words,
    isWholeTranscript: words.length > 0,
    summary: [firstText(analysis.chat_summary), ...summary],
    optOut,
  }
}
