/**
 * What each platform sends of a call that we place and of a call to us, from the dial to the end, and of one that nobody answers.
 */
import type { Vapi } from '@vapi-ai/server-sdk'
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
import type { PlatformName } from '../../src/platform-events/call-event.js'

/** Objects are sent as JSON, text as a form. */
export type EventFields = object | string

export type CallScript = Readonly<
  Record<'placed' | 'received' | 'unanswered', readonly EventFields[]>
>

export interface ScriptedCall {
  /** With the country code. */
  readonly person: string
  readonly own: string
  readonly decision: string
  /** Is in every id of the call. */
  readonly id: string
  /** Of the person, who pauses between them. */
  readonly words: readonly string[]
}

type DeepPartial<T> = T extends object ? { [K in keyof T]?: DeepPartial<T[K]> } : T

export function toForm(fields: Readonly<Record<string, string>>): string {
  return new URLSearchParams(fields).toString()
}

export function createCallScripts({
  person,
  own,
  decision,
  id,
  words,
}: ScriptedCall): Readonly<Record<PlatformName, CallScript>> {
  const said = words.join(' ')
  const twilioCall = (
    direction: string,
    status: string,
    more: Readonly<Record<string, string>> = {},
  ) =>
    toForm({
      ...{ CallSid: `CA${id}`, CallStatus: status, Direction: direction, AccountSid: 'AC1' },
      From: direction === 'inbound' ? person : own,
      To: direction === 'inbound' ? own : person,
      ...more,
    })

  const twilioWords = (text: string, index: number) =>
    toForm({
      ...{
        TranscriptionEvent: 'transcription-content',
        CallSid: `CA${id}`,
        Track: 'inbound_track',
        Final: 'true',
      },
      ...{ LanguageCode: 'en-US', SequenceId: String(index + 2) },
      TranscriptionData: JSON.stringify({ transcript: text, confidence: 0.9 }),
    })

  const twilioScript: CallScript = {
    placed: [
      twilioCall('outbound-api', 'initiated'),
      twilioCall('outbound-api', 'ringing'),
      twilioCall('outbound-api', 'in-progress'),
      ...words.map(twilioWords),
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

  const telnyxIds = {
    call_control_id: `v3:${id}`,
    call_leg_id: `leg-${id}`,
    call_session_id: `session-${id}`,
  }
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
    const transcriptions = words.map(
      (transcript, index): TranscriptionWebhookEvent => ({
        data: {
          event_type: 'call.transcription',
          occurred_at: `2026-11-28T16:00:1${index}.000Z`,
          payload: { ...telnyxIds, transcription_data: { transcript, is_final: true } },
        },
      }),
    )
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
    return [initiated, answered, ...transcriptions, key, insights, hangup]
  }

  const telnyxPlaced = telnyxEvents(outgoing, 'outgoing')
  const telnyxScript: CallScript = {
    placed: telnyxPlaced,
    received: telnyxEvents(incoming, 'incoming'),
    unanswered: [
      ...telnyxPlaced.slice(0, 1),
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
    ...{ call_id: `call-${id}`, call_type: 'phone_call', direction },
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
  const retellScript: CallScript = {
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
        ...{ id: `call-${id}`, type: callType },
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
    ...words.map((transcript, index) =>
      vapiMessage(
        {
          ...{ type: 'transcript', role: 'user', transcriptType: 'final', transcript },
          timestamp: 1_795_800_010_000 + index,
        },
        type,
      ),
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
  const vapiScript: CallScript = {
    placed: vapiEvents('outboundPhoneCall'),
    received: vapiEvents('inboundPhoneCall'),
    unanswered: [
      vapiMessage({ type: 'status-update', status: 'ringing' }),
      vapiMessage({
        type: 'end-of-call-report',
        endedReason:
          'call.in-progress.error-providerfault-outbound-sip-480-temporarily-unavailable',
        artifact: { messages: [] },
      }),
    ],
  }

  const livekitEvent = (event: string, attributes: Record<string, string>, reason?: number) => ({
    event,
    createdAt: '1795800000',
    participant: new ParticipantInfo({
      ...{ sid: `PA_${id}`, identity: 'sip', kind: 3 },
      attributes: {
        ...{ 'sip.callID': `SCL_${id}`, 'sip.phoneNumber': person, 'sip.trunkPhoneNumber': own },
        ...attributes,
      },
      ...(reason !== undefined && { disconnectReason: reason }),
    }).toJson(),
  })
  const livekitPlaced = { 'callgate.decision': decision }
  const livekitReceived = { 'sip.ruleID': 'SDR_1', 'sip.callStatus': 'active' }
  /** SIP_TRUNK_FAILURE. */
  const trunkFailure = 13
  const livekitScript: CallScript = {
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
        ...{ conversation_id: `conv_${id}`, status: 'failed' },
        metadata: {
          accepted_time_unix_secs: 1_795_800_000,
          phone_call: {
            ...{ direction, external_number: person, agent_number: own, call_sid: `CA${id}` },
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
  const elevenlabsScript: CallScript = {
    placed: elevenlabsEvents('outbound'),
    received: elevenlabsEvents('inbound'),
    unanswered: [
      {
        type: 'call_initiation_failure',
        data: {
          ...{ conversation_id: `conv_${id}`, failure_reason: 'busy' },
          metadata: {
            type: 'twilio',
            body: { CallSid: `CA${id}`, To: person, From: own, Direction: 'outbound-api' },
          },
        },
      },
    ],
  }

  const blandReport = (fields: object) => ({
    ...{ call_id: `b-${id}`, inbound: false, to: person, from: own, completed: true },
    ...{ queue_status: 'complete', metadata: { callgate_decision: decision } },
    ...fields,
  })
  const blandWords = {
    concatenated_transcript: ` assistant : You can say stop calling me \n user : ${said} \n assistant : Sure`,
  }
  const blandScript: CallScript = {
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
    ...{ call_id: `s-${id}`, action: 'post_conversation', call_answer_date: 1_795_800_000_000_000 },
    call_log: [
      { role: 'system', content: 'stop calling me means opt out' },
      { role: 'assistant', content: 'You can say stop calling me' },
      { role: 'user', content: said },
    ],
  }
  const signalwireState = (state: string, more: object = {}) => ({
    event_type: 'calling.call.state',
    params: {
      ...{ call_id: `s-${id}`, call_state: state, direction: 'outbound' },
      device: { type: 'phone', params: { from_number: own, to_number: person } },
      ...more,
    },
  })
  const signalwireScript: CallScript = {
    placed: [
      signalwireState('created'),
      signalwireState('answered', { answer_time: 1_795_800_000_000 }),
      { ...signalwireReport, caller_id_number: own },
      signalwireState('ended', { answer_time: 1_795_800_000_000, end_time: 1_795_800_060_000 }),
    ],
    received: [
      { ...signalwireReport, caller_id_number: person, SWMLCall: { direction: 'inbound' } },
    ],
    unanswered: [signalwireState('ringing'), signalwireState('ended')],
  }

  return {
    twilio: twilioScript,
    telnyx: telnyxScript,
    retell: retellScript,
    vapi: vapiScript,
    livekit: livekitScript,
    elevenlabs: elevenlabsScript,
    bland: blandScript,
    signalwire: signalwireScript,
  }
}
