import type { Instant } from '../../domain/time/clock.js'
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
import { type EventSource, type Reading, type ReadPlatformEvent, toOutcome } from '../reading.js'
import { joinNotes, readAnalysis, readToolCalls } from '../signals.js'
import { readUtterances } from '../transcript.js'
import { readTwilio } from './twilio.js'

export const readSignalwire: ReadPlatformEvent = (source) => {
  const { fields } = source
  if (isObject(fields.params)) return readState(source)
  const isReport = fields.call_log !== undefined || fields.post_prompt_data !== undefined
  return isReport ? readReport(source) : readTwilio(source)
}

const directionOf = (value: unknown) => {
  const text = textOf(value)
  if (text?.startsWith('outbound')) return 'outbound'
  return text?.startsWith('inbound') ? 'inbound' : undefined
}

/** Of `calling.call.state`: only an answered call has a time of the answer. */
function readState({ fields, query }: EventSource): Reading {
  const params = objectAt(fields, 'params')
  const device = objectAt(params, 'device', 'params')
  const state = textOf(params.call_state)
  const answeredAt = instantOf(params.answer_time)
  const isEnd = state === 'ended'
  return {
    type: firstText(fields.event_type, state) ?? 'unknown',
    decisionId: decisionIdOf(query.get('callgateDecision')),
    callIds: idsOf(params.call_id),
    direction: directionOf(params.direction),
    from: firstText(device.from_number, params.from),
    to: firstText(device.to_number, params.to),
    outcome: readStateOutcome(state, answeredAt, params),
    isAnswered: answeredAt !== undefined,
    isEnd,
  }
}

function readStateOutcome(
  state: string | undefined,
  answeredAt: Instant | undefined,
  { end_time: endTime, end_reason: reason }: JsonObject,
) {
  if (state === 'created' || state === 'ringing') return toOutcome('dialing')
  if (state === 'answered') return toOutcome('answered', { answeredAt })
  if (state !== 'ended') return undefined
  const found = answeredAt === undefined ? 'not-answered' : 'answered'
  return toOutcome(found, { answeredAt, endedAt: instantOf(endTime), reason })
}

/** Of an AI agent, after the call. */
function readReport({ fields, query, data: { signals } }: EventSource): Reading {
  const call = objectAt(fields, 'SWMLCall')
  const { raw, substituted, parsed } = objectAt(fields, 'post_prompt_data')
  const utterances = readUtterances(fields.call_log, { role: 'role', text: ['content'] })
  const calls = listOf(fields.swaig_log)
    .filter(isObject)
    .map(({ command_name: name, command_arg: args }) => ({ name, args }))
  const { optOut, notes } = joinNotes([
    readToolCalls(calls, signals),
    readAnalysis(parsed, signals),
  ])
  const answeredAt = instantOf(fields.call_answer_date)
  const endedAt = instantOf(fields.call_end_date)
  return {
    type: firstText(fields.action) ?? 'post_prompt',
    decisionId: decisionIdOf(query.get('callgateDecision')),
    callIds: idsOf(fields.call_id),
    direction: directionOf(call.direction ?? fields.direction),
    // On an inbound call the caller ID is the person's, otherwise it is the account's.
    from: firstText(call.from_number, call.from, fields.caller_id_number),
    to: firstText(call.to_number, call.to),
    outcome:
      answeredAt === undefined
        ? toOutcome('unknown', { endedAt })
        : toOutcome('answered', { answeredAt, endedAt }),
    isEnd: true,
    utterances,
    isWholeTranscript: utterances.length > 0,
    summary: [textOf(substituted) ?? textOf(raw), ...notes],
    optOut,
  }
}
