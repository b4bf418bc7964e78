/**
 * A call that we place and a call to us, as each platform reports them, in every order, with every event lost once and every
 * event twice: what the reader says of each event, joined as the gate joins it, never names our own number as the person's and
 * never lets an answered call fail.
 */
import type { Vapi } from '@vapi-ai/server-sdk'
import fc from 'fast-check'
import { ParticipantInfo } from 'livekit-server-sdk'
import type { PhoneCallResponse } from 'retell-sdk/resources/call'
import type {
  CallAnsweredWebhookEvent,
  CallConversationInsightsGeneratedWebhookEvent,
  CallDtmfReceivedWebhookEvent,
  CallHangupWebhookEvent,
  CallInitiatedWebhookEvent,
  TranscriptionWebhookEvent,
} from 'telnyx/resources/webhooks'
import { describe, expect, test } from 'vitest'
import type { CallEvent, EventOutcome, PlatformName } from '../../src/platform-events/call-event.js'
import { platformNames } from '../../src/platform-events/call-event.js'
import { type EventFields, own, person, read, readEvents, toForm, wordsOf } from './reader.js'

type Script = Readonly<Record<'placed' | 'received' | 'unanswered', readonly EventFields[]>>

type DeepPartial<T> = T extends object ? { [K in keyof T]?: DeepPartial<T[K]> } : T

const said = 'please stop calling me'
const decision = 'D-1'

const twilioCall = (
  direction: string,
  status: string,
  more: Readonly<Record<string, string>> = {},
) =>
  toForm({
    ...{ CallSid: 'CA1', CallStatus: status, Direction: direction, AccountSid: 'AC1' },
    From: direction === 'inbound' ? person : own,
    To: direction === 'inbound' ? own : person,
    ...more,
  })

const twilioWords = (track = 'inbound_track') =>
  toForm({
    ...{ TranscriptionEvent: 'transcription-content', CallSid: 'CA1', Track: track, Final: 'true' },
    TranscriptionData: JSON.stringify({ transcript: said, confidence: 0.9 }),
  })

const twilioScript: Script = {
  placed: [
    twilioCall('outbound-api', 'initiated'),
    twilioCall('outbound-api', 'ringing'),
    twilioCall('outbound-api', 'in-progress'),
    twilioWords(),
    twilioCall('outbound-api', 'completed', { CallDuration: '40' }),
  ],
  received: [
    twilioCall('inbound', 'ringing'),
    twilioCall('inbound', 'in-progress', { SpeechResult: said }),
    twilioCall('inbound', 'completed'),
  ],
  unanswered: [
    twilioCall('outbound-api', 'initiated'),
    twilioCall('outbound-api', 'ringing'),
    twilioCall('outbound-api', 'no-answer', { CallDuration: '0' }),
  ],
}

const telnyxIds = { call_control_id: 'v3:1', call_leg_id: 'leg-1', call_session_id: 'session-1' }
const outgoing = { ...telnyxIds, client_state: 'eyJsZWFkIjo3fQ==', from: own, to: person }
const incoming = { ...telnyxIds, from: person, to: own }
const occurred = { occurred_at: '2026-11-28T16:00:00.000Z' }

const telnyxEvents = (numbers: typeof incoming, direction: 'incoming' | 'outgoing') => {
  const initiated: CallInitiatedWebhookEvent = {
    data: { event_type: 'call.initiated', ...occurred, payload: { ...numbers, direction } },
  }
  const answered: CallAnsweredWebhookEvent = {
    data: { event_type: 'call.answered', ...occurred, payload: numbers },
  }
  const transcription: TranscriptionWebhookEvent = {
    data: {
      event_type: 'call.transcription',
      payload: { ...telnyxIds, transcription_data: { transcript: said, is_final: true } },
    },
  }
  const key: CallDtmfReceivedWebhookEvent = {
    data: { event_type: 'call.dtmf.received', payload: { ...numbers, digit: '9' } },
  }
  const insights: CallConversationInsightsGeneratedWebhookEvent = {
    data: {
      event_type: 'call.conversation_insights.generated',
      payload: { ...telnyxIds, results: [{ insight_id: 'i', result: { do_not_call: true } }] },
    },
  }
  const hangup: CallHangupWebhookEvent = {
    data: {
      event_type: 'call.hangup',
      ...occurred,
      payload: { ...numbers, hangup_cause: 'normal_clearing' },
    },
  }
  return { initiated, answered, transcription, key, insights, hangup }
}

const telnyxPlaced = telnyxEvents(outgoing, 'outgoing')
const telnyxScript: Script = {
  placed: Object.values(telnyxPlaced),
  received: Object.values(telnyxEvents(incoming, 'incoming')),
  unanswered: [
    telnyxPlaced.initiated,
    {
      data: {
        event_type: 'call.hangup',
        payload: { ...outgoing, hangup_cause: 'no_answer' },
      },
    } satisfies CallHangupWebhookEvent,
  ],
}

const retellCall = (
  direction: 'inbound' | 'outbound',
  call: DeepPartial<PhoneCallResponse> = {},
): DeepPartial<PhoneCallResponse> => ({
  ...{ call_id: 'call-1', call_type: 'phone_call', direction },
  from_number: direction === 'inbound' ? person : own,
  to_number: direction === 'inbound' ? own : person,
  ...(direction === 'outbound' && { metadata: { callgate_decision: decision } }),
  ...call,
})
const retellWords: DeepPartial<PhoneCallResponse> = {
  transcript_object: [
    { role: 'agent', content: 'You can say stop calling me at any time' },
    { role: 'user', content: said },
  ],
}
const retellEvents = (direction: 'inbound' | 'outbound') => [
  { event: 'call_started', call: retellCall(direction, { call_status: 'ongoing' }) },
  { event: 'transcript_updated', call: retellCall(direction, retellWords) },
  {
    event: 'call_ended',
    call: retellCall(direction, {
      ...retellWords,
      ...{ call_status: 'error', disconnection_reason: 'error_asr', duration_ms: 40_000 },
      ...{ start_timestamp: 1_795_800_000_000, end_timestamp: 1_795_800_040_000 },
    }),
  },
  {
    event: 'call_analyzed',
    call: retellCall(direction, {
      ...retellWords,
      disconnection_reason: 'error_asr',
      call_analysis: { call_summary: 'Wants no calls.', custom_analysis_data: { opt_out: true } },
    }),
  },
]
const retellScript: Script = {
  placed: retellEvents('outbound'),
  received: retellEvents('inbound'),
  unanswered: [
    {
      event: 'call_ended',
      call: retellCall('outbound', {
        ...{ call_status: 'not_connected', disconnection_reason: 'dial_no_answer' },
        transcript_object: [],
      }),
    },
    {
      event: 'call_analyzed',
      call: retellCall('outbound', {
        disconnection_reason: 'dial_no_answer',
        call_analysis: { call_summary: '', in_voicemail: false },
      }),
    },
  ],
}

const vapiMessage = (
  message: DeepPartial<Vapi.ServerMessageMessage>,
  callType: 'inboundPhoneCall' | 'outboundPhoneCall' = 'outboundPhoneCall',
) => ({
  message: {
    customer: { number: person },
    phoneNumber: { number: own },
    call: {
      ...{ id: 'call-1', type: callType },
      ...(callType === 'outboundPhoneCall' && {
        assistantOverrides: { metadata: { callgateDecision: decision } },
      }),
    },
    ...message,
  },
})
const vapiMessages = [
  { role: 'bot', message: 'You can say stop calling me at any time' },
  { role: 'user', message: said },
]
const vapiEvents = (type: 'inboundPhoneCall' | 'outboundPhoneCall') => [
  vapiMessage({ type: 'status-update', status: 'ringing' }, type),
  vapiMessage({ type: 'status-update', status: 'in-progress' }, type),
  vapiMessage(
    { type: 'transcript', role: 'user', transcriptType: 'final', transcript: said },
    type,
  ),
  vapiMessage({ type: 'conversation-update', messages: vapiMessages }, type),
  vapiMessage(
    {
      type: 'end-of-call-report',
      endedReason: 'call.in-progress.error-assistant-did-not-receive-customer-audio',
      artifact: { messages: vapiMessages },
    },
    type,
  ),
]
const vapiScript: Script = {
  placed: vapiEvents('outboundPhoneCall'),
  received: vapiEvents('inboundPhoneCall'),
  unanswered: [
    vapiMessage({ type: 'status-update', status: 'ringing' }),
    vapiMessage({
      type: 'end-of-call-report',
      endedReason: 'call.in-progress.error-providerfault-outbound-sip-480-temporarily-unavailable',
      artifact: { messages: [] },
    }),
  ],
}

const livekitEvent = (event: string, attributes: Record<string, string>, reason?: number) => ({
  event,
  createdAt: '1795800000',
  participant: new ParticipantInfo({
    ...{ sid: 'PA_1', identity: 'sip', kind: 3 },
    attributes: {
      ...{ 'sip.callID': 'SCL_1', 'sip.phoneNumber': person, 'sip.trunkPhoneNumber': own },
      ...attributes,
    },
    ...(reason !== undefined && { disconnectReason: reason }),
  }).toJson(),
})
const livekitPlaced = { 'callgate.decision': decision }
const livekitReceived = { 'sip.ruleID': 'SDR_1', 'sip.callStatus': 'active' }
/** SIP_TRUNK_FAILURE. */
const trunkFailure = 13
const livekitScript: Script = {
  placed: [
    livekitEvent('participant_joined', { ...livekitPlaced, 'sip.callStatus': 'dialing' }),
    livekitEvent(
      'participant_left',
      { ...livekitPlaced, 'sip.callStatus': 'active' },
      trunkFailure,
    ),
  ],
  received: [
    livekitEvent('participant_joined', livekitReceived),
    livekitEvent('participant_left', livekitReceived, trunkFailure),
  ],
  unanswered: [
    livekitEvent('participant_joined', { ...livekitPlaced, 'sip.callStatus': 'dialing' }),
    livekitEvent('participant_left', { ...livekitPlaced, 'sip.callStatus': 'ringing' }, 11),
  ],
}

const elevenlabsEvents = (direction: 'inbound' | 'outbound') => [
  {
    type: 'post_call_transcription',
    event_timestamp: 1_795_800_060,
    data: {
      ...{ conversation_id: 'conv_1', status: 'failed' },
      metadata: {
        accepted_time_unix_secs: 1_795_800_000,
        phone_call: {
          ...{ direction, external_number: person, agent_number: own, call_sid: 'CA1' },
        },
      },
      transcript: [
        { role: 'agent', message: 'You can say stop calling me at any time' },
        { role: 'user', message: 'please ****', original_message: said },
      ],
      conversation_initiation_client_data: {
        dynamic_variables: direction === 'outbound' ? { callgate_decision: decision } : {},
      },
    },
  },
]
const elevenlabsScript: Script = {
  placed: elevenlabsEvents('outbound'),
  received: elevenlabsEvents('inbound'),
  unanswered: [
    {
      type: 'call_initiation_failure',
      data: {
        ...{ conversation_id: 'conv_1', failure_reason: 'busy' },
        metadata: {
          type: 'twilio',
          body: { CallSid: 'CA1', To: person, From: own, Direction: 'outbound-api' },
        },
      },
    },
  ],
}

const blandReport = (fields: object) => ({
  ...{ call_id: 'b-1', inbound: false, to: person, from: own, completed: true },
  ...{ queue_status: 'complete', metadata: { callgate_decision: decision } },
  ...fields,
})
const blandWords = {
  concatenated_transcript: ` assistant : You can say stop calling me \n user : ${said} \n assistant : Sure`,
}
const blandScript: Script = {
  placed: [
    blandReport({ transcripts: [{ user: 'user', text: said }] }),
    blandReport({ answered_by: 'no-answer', ...blandWords }),
  ],
  received: [
    blandReport({ inbound: true, to: own, from: person, metadata: {}, ...blandWords }),
    blandReport({
      ...{ inbound: true, to: own, from: person, metadata: {} },
      transcripts: [{ user: 'user', text: said }],
    }),
  ],
  unanswered: [blandReport({ answered_by: 'no-answer', transcripts: [] })],
}

const signalwireReport = {
  ...{ call_id: 's1', action: 'post_conversation', call_answer_date: 1_795_800_000_000_000 },
  call_log: [
    { role: 'system', content: 'stop calling me means opt out' },
    { role: 'assistant', content: 'You can say stop calling me' },
    { role: 'user', content: said },
  ],
}
const signalwireState = (state: string, more: object = {}) => ({
  event_type: 'calling.call.state',
  params: {
    ...{ call_id: 's1', call_state: state, direction: 'outbound' },
    device: { type: 'phone', params: { from_number: own, to_number: person } },
    ...more,
  },
})
const signalwireScript: Script = {
  placed: [
    signalwireState('created'),
    signalwireState('answered', { answer_time: 1_795_800_000_000 }),
    { ...signalwireReport, caller_id_number: own },
    signalwireState('ended', { answer_time: 1_795_800_000_000, end_time: 1_795_800_060_000 }),
  ],
  received: [{ ...signalwireReport, caller_id_number: person, SWMLCall: { direction: 'inbound' } }],
  unanswered: [signalwireState('ringing'), signalwireState('ended')],
}

const scripts: Readonly<Record<PlatformName, Script>> = {
  twilio: twilioScript,
  telnyx: telnyxScript,
  retell: retellScript,
  vapi: vapiScript,
  livekit: livekitScript,
  elevenlabs: elevenlabsScript,
  bland: blandScript,
  signalwire: signalwireScript,
}

interface JoinedCall {
  readonly people: ReadonlySet<string>
  readonly state: EventOutcome['state'] | undefined
  readonly words: string
}

/** As the gate joins events of one call: the direction from any of them, and an answer wins. */
function join(events: readonly CallEvent[]): JoinedCall {
  let direction: CallEvent['direction'] = 'unknown'
  let state: JoinedCall['state']
  for (const event of events) {
    if (event.isOtherLeg) continue
    if (event.direction !== 'unknown') direction = event.direction
    if (event.outcome && state !== 'answered' && event.outcome.state !== 'dialled')
      state = event.outcome.state
  }
  const people = events.flatMap((event) => {
    const { from, to } = event.unassigned ?? {}
    const number = event.person ?? (direction === 'inbound' ? from : to)
    return number !== undefined && (event.person !== undefined || direction !== 'unknown')
      ? [number]
      : []
  })
  return { people: new Set(people), state, words: events.map(wordsOf).join(' ').trim() }
}

const fewOrders = 720

/** All orders where there are few, else seeded shuffles. */
function listOrders<T>(items: readonly T[]): readonly (readonly T[])[] {
  const count = items.reduce((product, _item, index) => product * (index + 1), 1)
  if (count <= fewOrders) return permute(items)
  return fc.sample(fc.shuffledSubarray([...items], { minLength: items.length }), {
    numRuns: fewOrders,
    seed: 7,
  })
}

function permute<T>(items: readonly T[]): readonly (readonly T[])[] {
  if (items.length < 2) return [items]
  return items.flatMap((first, index) =>
    permute(items.toSpliced(index, 1)).map((rest) => [first, ...rest]),
  )
}

describe.each(platformNames)('a call of %s', (platform) => {
  const { placed, received, unanswered } = scripts[platform]
  const queryOf = (script: readonly EventFields[]) =>
    (platform === 'twilio' || platform === 'signalwire') && script !== received
      ? `callgateDecision=${decision}`
      : ''
  const readAll = (script: readonly EventFields[], order: readonly EventFields[]) =>
    order.map((body) => read(platform, body, queryOf(script)))
  const hasWords = platform !== 'livekit'

  test('that we place is answered by the person we called, in every order and with every event twice', () => {
    for (const order of listOrders(readAll(placed, placed))) {
      const joined = join(order)
      expect(joined).toMatchObject({ people: new Set([person]), state: 'answered' })
      if (hasWords) expect(joined.words).toContain(said)
      expect(join([...order, ...order])).toMatchObject({ state: 'answered' })
    }
  })

  test('never fails when an event is lost, and never names our number', () => {
    for (const [index] of placed.entries()) {
      const { state, people } = join(readAll(placed, placed.toSpliced(index, 1)))
      expect(state).not.toBe('failed')
      expect(people).not.toContain(own)
    }
  })

  test('to us is of the person who called, and no attempt', () => {
    for (const order of listOrders(readAll(received, received))) {
      const joined = join(order)
      expect(joined.people).toEqual(new Set([person]))
      if (hasWords) expect(joined.words).toContain(said)
    }
    for (const event of readAll(received, received)) {
      expect(event.person ?? person).toBe(person)
      expect(event.decisionId).toBeUndefined()
      if (event.direction === 'inbound') expect(event.outcome).toBeUndefined()
    }
  })

  test('that nobody answers has failed', () => {
    const events = readAll(unanswered, unanswered)
    const people = new Set([person])
    expect(join(events)).toMatchObject({ people, state: 'failed', words: '' })
    expect(events.at(-1)?.isEnd).toBe(true)
  })

  test('has our reference in the events of a call that we place', () => {
    const events = readAll(placed, placed)
    // Telnyx repeats the state of the client, which is the customer's own here.
    if (platform === 'telnyx') expect(events.every((event) => !event.decisionId)).toBe(true)
    else expect(new Set(events.map((event) => event.decisionId))).toEqual(new Set([decision]))
    expect(events.every((event) => event.callIds.length > 0)).toBe(true)
  })

  test('has nothing of the agent as the words of the person', () => {
    for (const event of readAll(placed, placed)) {
      expect(wordsOf(event)).not.toContain('You can say')
      expect(wordsOf(event)).not.toContain('means opt out')
    }
  })
})

describe('anything else', () => {
  const bytes = fc.oneof(
    fc.json({ maxDepth: 6 }),
    fc.string({ maxLength: 200 }),
    fc.webQueryParameters(),
  )

  /** Values of wrong types in the places of a real event. */
  const spoiled = fc
    .tuple(
      fc.constantFrom(...platformNames),
      fc.nat(),
      fc.array(fc.tuple(fc.nat(), fc.jsonValue({ maxDepth: 3 })), { minLength: 1, maxLength: 4 }),
    )
    .map(([platform, index, changes]) => {
      const { placed, received, unanswered } = scripts[platform]
      const bodies = [...placed, ...received, ...unanswered]
      const body = bodies[index % bodies.length] ?? {}
      return { platform, body: typeof body === 'string' ? body : spoil(body, changes) }
    })

  function spoil(body: object, changes: readonly (readonly [number, unknown])[]): object {
    const copy: unknown = JSON.parse(JSON.stringify(body))
    const places: (readonly [Record<string, unknown>, string])[] = []
    const visit = (value: unknown) => {
      if (typeof value !== 'object' || value === null) return
      for (const name of Object.keys(value)) {
        places.push([value as Record<string, unknown>, name])
        visit((value as Record<string, unknown>)[name])
      }
    }
    visit(copy)
    for (const [index, value] of changes) {
      const [holder, name] = places[index % places.length] ?? []
      if (holder && name !== undefined) holder[name] = value
    }
    return copy as object
  }

  const numRuns = process.argv.includes('--long') ? 200_000 : 1_000

  test('is read without an error', () => {
    fc.assert(
      fc.property(fc.constantFrom(...platformNames), bytes, bytes, (platform, body, query) => {
        for (const event of readEvents(platform, { body, query }))
          expect(event.type).toBeTypeOf('string')
      }),
      { numRuns },
    )
  })

  test('in the place of a value is read without an error, and makes no person of our number', () => {
    fc.assert(
      fc.property(spoiled, ({ platform, body }) => {
        const text = typeof body === 'string' ? body : JSON.stringify(body)
        const events = readEvents(platform, { body: text, query: '' })
        for (const event of events) {
          expect(event.type).toBeTypeOf('string')
          if (event.direction === 'unknown') expect(event.person ?? person).not.toBe(own)
          expect(JSON.parse(JSON.stringify(event))).toMatchObject({ type: event.type })
        }
      }),
      { numRuns },
    )
  })

  test.each(platformNames)(
    'is read without an error by %s: deep, long and special texts',
    (platform) => {
      const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
      const long = {
        call: {
          transcript_object: Array.from({ length: 20_000 }, () => ({ role: 'user', content: 'a' })),
        },
      }
      const bodies = [
        ...[
          deep,
          `{"data":${deep}}`,
          `{"call":{"call_analysis":{"custom_analysis_data":${deep}}}}`,
        ],
        ...[
          JSON.stringify(long),
          '',
          '   ',
          '{',
          'null',
          '[1,null]',
          '"x"',
          '%',
          '=&=&%zz=%',
          '\u0000',
        ],
        ...[
          '{"__proto__":{"CallStatus":"x"}}',
          '{"CallStatus":"constructor","CallSid":"__proto__"}',
        ],
        ...[
          'CallStatus=toString&CallSid=valueOf&Direction=hasOwnProperty',
          '{"params":{"call_state":"toString"}}',
        ],
        ...['{"data":{"event_type":"call.initiated","payload":{"direction":"constructor"}}}'],
        `{"message":{"type":"status-update","status":"__proto__"}}`,
      ]
      for (const body of bodies)
        expect(readEvents(platform, { body, query: '' }).length).toBeLessThan(3)
    },
  )

  test('that is no event has the type unreadable', () => {
    for (const body of ['', '{', '[]', '{"a":', '[1,2]'])
      expect(readEvents('vapi', { body, query: '' })).toMatchObject([
        { type: 'unreadable', utterances: [] },
      ])
  })
})
