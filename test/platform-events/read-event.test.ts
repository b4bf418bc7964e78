/** What is read of each kind of event: words, keys, tools, fields and outcomes. */
import { Vapi } from '@vapi-ai/server-sdk'
import type { ChatResponse } from 'retell-sdk/resources/chat'
import type {
  CallAIGatherEndedWebhookEvent,
  CallGatherEndedWebhookEvent,
  CallMachineDetectionEndedWebhookEvent,
  CallRecordingTranscriptionSavedWebhookEvent,
  InboundMessageWebhookEvent,
  TranscriptionWebhookEvent,
} from 'telnyx/resources/webhooks'
import { describe, expect, test } from 'vitest'
import { type Answerer, findOutcomeClass, toLegOutcome } from '../../src/domain/call-outcome.js'
import type {
  CallEvent,
  ExplicitOptOut,
  PlatformName,
  Utterance,
} from '../../src/platform-events/call-event.js'
import { type EventFields, toForm } from '../support/call-scripts.js'
import { outcomes, own, person, read, wordsOf } from './reader.js'

const said = 'please stop calling me'
const spoken: readonly Utterance[] = [{ speaker: 'person', text: said }]
const byKey: ExplicitOptOut = { by: 'key', said: 'key 9' }

/** Only the fields that are named, each as it is expected. */
function expectEvent(
  platform: PlatformName,
  body: EventFields,
  expected: Partial<CallEvent>,
  query = '',
): void {
  const event: Partial<CallEvent> = read(platform, body, query)
  const named = Object.fromEntries(
    Object.keys(expected).map((name) => [name, event[name as keyof CallEvent]]),
  )
  expect(named).toMatchObject(expected)
}

const telnyx = (type: string, payload: object) => ({ data: { event_type: type, payload } })
const vapi = (message: object) => ({ message: { call: { id: 'c-1' }, ...message } })

describe('Twilio', () => {
  const call = { CallSid: 'CA1', Direction: 'outbound-api', From: own, To: person }
  const form = (fields: Readonly<Record<string, string>>) => toForm({ ...call, ...fields })

  test('real-time transcription has neither number nor direction', () => {
    const words = toForm({
      ...{ LanguageCode: 'en-US', TranscriptionSid: 'GT1', CallSid: 'CA1', Final: 'true' },
      ...{ TranscriptionEvent: 'transcription-content', Track: 'inbound_track' },
      TranscriptionData: JSON.stringify({ transcript: said, confidence: 0.99 }),
    })
    expectEvent('twilio', words, {
      ...{ type: 'transcription-content', callIds: ['CA1'], utterances: spoken },
      ...{ direction: 'unknown', person: undefined, outcome: { state: 'answered' } },
    })
    const partial = words.replace('Final=true', 'Final=false')
    expect(read('twilio', partial).isInterim).toBe(true)
    const ours = words.replace('inbound_track', 'outbound_track')
    expect(read('twilio', ours).utterances).toEqual([{ speaker: 'agent', text: said }])
    expect(read('twilio', ours).outcome).toBeUndefined()
    const both = words.replace('inbound_track', 'both_tracks')
    expect(read('twilio', both).utterances).toEqual([{ speaker: 'unknown', text: said }])
  })

  test.each<[string, Readonly<Record<string, string>>, Partial<CallEvent>]>([
    ['SpeechResult', { SpeechResult: said, Confidence: '0.9' }, { utterances: spoken }],
    ['a key', { Digits: '9' }, { optOut: byKey }],
    ['a key and the end of the entry', { Digits: '9#' }, { optOut: byKey }],
    ['a longer entry', { Digits: '90210' }, { optOut: undefined }],
    ['another key', { Digits: '1' }, { optOut: undefined }],
    [
      'words that are not final',
      { StableSpeechResult: 'stop', UnstableSpeechResult: 'calling' },
      { isInterim: true, utterances: [{ speaker: 'person', text: 'stop calling' }] },
    ],
    [
      'a transcribed recording',
      { TranscriptionText: said, TranscriptionSid: 'TR1' },
      { utterances: spoken },
    ],
  ])('Gather and recordings: %s', (_name, fields, expected) => {
    expectEvent('twilio', form({ CallStatus: 'in-progress', ...fields }), {
      ...{ person, own, direction: 'outbound' },
      ...expected,
    })
    // An answer is evidence, whatever the status says.
    expect(read('twilio', form({ CallStatus: 'no-answer', ...fields })).outcome?.state).toBe(
      'answered',
    )
  })

  test('the person of a call to us is the caller', () => {
    const voicemail = toForm({
      ...{ CallSid: 'CA2', Direction: 'inbound', From: person, To: own, CallStatus: 'completed' },
      TranscriptionText: said,
    })
    expectEvent('twilio', voicemail, {
      person,
      own,
      direction: 'inbound',
      outcome: undefined,
      utterances: spoken,
    })
  })

  test.each([{ Direction: 'outbound-dial' }, { ParentCallSid: 'CA0' }])(
    'another leg has neither outcome nor words: %o',
    (leg) => {
      const fields = {
        CallStatus: 'in-progress',
        SpeechResult: said,
        Digits: '9',
        HandoffData: '{"opt_out":true}',
        ...leg,
      }
      expectEvent('twilio', form(fields), {
        isOtherLeg: true,
        outcome: undefined,
        utterances: [],
        optOut: undefined,
        summary: undefined,
      })
    },
  )

  test.each<[string, string, ExplicitOptOut | undefined]>([
    ['STOP', '+12125550106', { by: 'text', said: 'Stop. Thanks' }],
    ['stop', 'whatsapp:+12125550106', { by: 'text', said: 'Stop. Thanks' }],
    ['START', '+12125550106', undefined],
    ['', '+12125550106', undefined],
  ])('an incoming text with the type %s from %s', (type, from, optOut) => {
    const text = toForm({
      ...{ MessageSid: 'SM1', SmsSid: 'SM1', SmsStatus: 'received', From: from, To: own },
      ...{ Body: 'Stop. Thanks', OptOutType: type },
    })
    expectEvent('twilio', text, {
      ...{ kind: 'text', direction: 'inbound', person, own, outcome: undefined },
      ...{ utterances: [{ speaker: 'person', text: 'Stop. Thanks' }], optOut },
    })
  })

  test('a report about a text of ours has no words', () => {
    const report = toForm({
      MessageSid: 'SM1',
      MessageStatus: 'delivered',
      From: own,
      To: person,
      Body: 'Reply STOP to opt out',
    })
    expectEvent('twilio', report, { kind: 'text', direction: 'outbound', person, utterances: [] })
  })

  test('ConversationRelay: the socket and the end', () => {
    const setup = {
      type: 'setup',
      callSid: 'CA1',
      direction: 'outbound-api',
      from: own,
      to: person,
      customParameters: { callgateDecision: 'D-1' },
    }
    expectEvent('twilio', setup, { callIds: ['CA1'], person, decisionId: 'D-1' })
    expectEvent(
      'twilio',
      { type: 'prompt', voicePrompt: said, lang: 'en-US', last: true },
      { utterances: spoken },
    )
    expectEvent('twilio', { type: 'dtmf', digit: '9' }, { optOut: byKey })
    const handoff = form({
      SessionStatus: 'ended',
      HandoffData: '{"reasonCode":"live","doNotCall":"yes","note":"was rude"}',
    })
    expectEvent('twilio', handoff, {
      optOut: { by: 'field', said: 'doNotCall: yes' },
      summary: 'live\nyes\nwas rude',
    })
  })

  test('the times and the answerer', () => {
    const report = {
      CallbackSource: 'call-progress-events',
      Timestamp: 'Sat, 28 Nov 2026 16:00:00 +0000',
    }
    const at = Date.UTC(2026, 10, 28, 16)
    expect(read('twilio', form({ ...report, CallStatus: 'in-progress' })).outcome).toMatchObject({
      state: 'answered',
      answeredAt: at,
    })
    expect(
      read('twilio', form({ ...report, CallStatus: 'completed', AnsweredBy: 'machine_end_beep' }))
        .outcome,
    ).toMatchObject({
      ...{ state: 'answered', answeredBy: 'machine', endedAt: at, dialStatus: 'completed' },
    })
    expect(read('twilio', form({ AnsweredBy: 'human' })).outcome).toMatchObject({
      state: 'answered',
      answeredBy: 'person',
    })
  })

  test('fields in the address of a request without a body', () => {
    expectEvent(
      'twilio',
      '',
      { callIds: ['CA1'], person, decisionId: 'D-1' },
      `callgateDecision=D-1&${form({ CallStatus: 'busy' })}`,
    )
  })
})

describe('Telnyx', () => {
  const ids = { call_control_id: 'v3:1', call_leg_id: 'leg', call_session_id: 'session' }

  test.each([null, '', 'eyJsZWFkIjo3fQ==', '%%%', 7, { a: 1 }, 'bnVsbA=='])(
    'a state of the client that is not ours: %j',
    (state) => {
      const event = telnyx('call.transcription', {
        ...{ ...ids, client_state: state },
        transcription_data: { confidence: 0.97, is_final: true, transcript: said },
      })
      expectEvent('telnyx', event, {
        ...{
          callIds: ['v3:1', 'leg'],
          sessionId: 'session',
          decisionId: undefined,
          person: undefined,
        },
        utterances: spoken,
      })
    },
  )

  test('a transcription: ours, of one track, not final', () => {
    const state = Buffer.from('{"callgateDecision":"D-1"}').toString('base64')
    const data = (more: object): TranscriptionWebhookEvent => ({
      data: {
        event_type: 'call.transcription',
        payload: { ...ids, client_state: state, transcription_data: { transcript: said, ...more } },
      },
    })
    expectEvent('telnyx', data({}), {
      decisionId: 'D-1',
      direction: 'outbound',
      utterances: spoken,
    })
    expectEvent('telnyx', data({ transcription_track: 'inbound' }), { utterances: spoken })
    expectEvent('telnyx', data({ transcription_track: 'outbound' }), {
      utterances: [{ speaker: 'agent', text: said }],
    })
    expectEvent('telnyx', data({ is_final: false }), { isInterim: true })
  })

  test('without a direction both numbers are kept, and neither is the person', () => {
    expectEvent(
      'telnyx',
      telnyx('call.dtmf.received', { ...ids, digit: '9', from: own, to: person }),
      {
        ...{ direction: 'unknown', person: undefined, own: undefined, optOut: byKey },
        unassigned: { from: own, to: person },
      },
    )
  })

  test('what a gather hears', () => {
    const gather: CallGatherEndedWebhookEvent = {
      data: { event_type: 'call.gather.ended', payload: { ...ids, digits: '9', status: 'valid' } },
    }
    expectEvent('telnyx', gather, { optOut: byKey, outcome: { state: 'answered' } })
    const ai: CallAIGatherEndedWebhookEvent = {
      data: {
        event_type: 'call.ai_gather.ended',
        payload: {
          ...ids,
          message_history: [
            { role: 'assistant', content: 'Shall I stop calling you?' },
            { role: 'user', content: said },
          ],
          result: { 'do not call': 'Yes', note: 'wants out' },
        },
      },
    }
    expect(wordsOf(read('telnyx', ai))).toBe(said)
    expect(read('telnyx', ai)).toMatchObject({ optOut: { by: 'field' }, summary: 'Yes\nwants out' })
    const partial = telnyx('call.ai_gather.partial_results', {
      ...ids,
      partial_results: { opt_out: true },
    })
    expectEvent('telnyx', partial, { optOut: { by: 'field', said: 'opt_out: true' } })
  })

  test('insights and transcribed recordings', () => {
    const insights = (result: unknown) =>
      telnyx('call.conversation_insights.generated', {
        ...ids,
        results: [{ insight_id: 'i', result }],
      })
    expectEvent('telnyx', insights({ do_not_call: true }), {
      optOut: { by: 'field', said: 'do_not_call: true' },
    })
    expectEvent('telnyx', insights('{"do_not_call": "true"}'), {
      optOut: { by: 'field', said: 'do_not_call: true' },
    })
    expectEvent('telnyx', insights({ do_not_call: false }), { optOut: undefined })
    expectEvent('telnyx', insights('Asked us to stop calling.'), {
      optOut: undefined,
      summary: 'Asked us to stop calling.',
    })
    const recording: CallRecordingTranscriptionSavedWebhookEvent = {
      data: {
        event_type: 'call.recording.transcription.saved',
        payload: { ...ids, transcription_text: said },
      },
    }
    expectEvent('telnyx', recording, { utterances: [{ speaker: 'unknown', text: said }] })
  })

  test('a text to us, and reports on ours', () => {
    const message: InboundMessageWebhookEvent = {
      data: {
        event_type: 'message.received',
        payload: {
          id: 'm-1',
          direction: 'inbound',
          from: { phone_number: person },
          to: [{ phone_number: own }],
          text: 'opt out',
        },
      },
    }
    expectEvent('telnyx', message, {
      kind: 'text',
      direction: 'inbound',
      person,
      own,
      utterances: [{ speaker: 'person', text: 'opt out' }],
    })
    const sent = telnyx('message.finalized', {
      direction: 'outbound',
      from: { phone_number: own },
      to: [{ phone_number: person }],
      text: 'Reply STOP',
    })
    expectEvent('telnyx', sent, { kind: 'text', direction: 'outbound', person, utterances: [] })
  })

  test.each<[string, Answerer]>([
    ['human', 'person'],
    ['human_residence', 'person'],
    ['machine', 'machine'],
    ['fax_detected', 'machine'],
    ['not_sure', 'unknown'],
    ['silence', 'unknown'],
    ['new_word', 'unknown'],
  ])('a machine detection of %s', (result, answeredBy) => {
    const event = {
      data: { event_type: 'call.machine.detection.ended', payload: { ...ids, result: 'machine' } },
    } satisfies CallMachineDetectionEndedWebhookEvent
    for (const type of [event.data.event_type, 'call.machine.premium.detection.ended']) {
      expectEvent('telnyx', telnyx(type, { ...ids, result }), {
        outcome: { state: 'answered', answeredBy },
      })
    }
  })

  test('TeXML is read as Twilio sends it', () => {
    expectEvent(
      'telnyx',
      toForm({ CallSid: 'v3:1', CallStatus: 'busy', Direction: 'outbound', From: own, To: person }),
      {
        ...{ callIds: ['v3:1'], person, outcome: { state: 'failed', dialStatus: 'busy' } },
      },
    )
  })
})

describe('Retell', () => {
  const call = { call_id: 'c1', direction: 'outbound', from_number: own, to_number: person }
  const retell = (event: string, fields: object) => ({ event, call: { ...call, ...fields } })

  test('an error after 40 seconds with words is an answer', () => {
    const event = retell('call_ended', {
      ...{ disconnection_reason: 'error_asr', call_status: 'error', duration_ms: 40_000 },
      transcript_object: [
        { role: 'agent', content: 'Hi' },
        { role: 'user', content: 'who is this' },
      ],
    })
    expectEvent('retell', event, {
      outcome: { state: 'answered', dialStatus: 'error_asr' },
      isWholeTranscript: true,
    })
  })

  test.each([
    ['a talk time', { disconnection_reason: 'dial_no_answer', duration_ms: 1 }],
    [
      'a time of the start',
      { disconnection_reason: 'dial_busy', start_timestamp: 1_795_800_000_000 },
    ],
    [
      'words',
      {
        disconnection_reason: 'user_declined',
        transcript_object: [{ role: 'user', content: 'no' }],
      },
    ],
    ['a mailbox', { disconnection_reason: 'dial_failed', call_analysis: { in_voicemail: true } }],
    [
      'a key',
      {
        disconnection_reason: 'dial_failed',
        transcript_with_tool_calls: [{ role: 'dtmf', digit: '9' }],
      },
    ],
  ])('%s wins over the reason', (_name, fields) => {
    expect(read('retell', retell('call_analyzed', fields)).outcome?.state).toBe('answered')
  })

  test.each([
    ['new_reason', 'not_connected', 'failed'],
    ['new_reason', 'ended', 'answered'],
    ['new_reason', 'error', 'answered'],
    ['new_reason', undefined, 'answered'],
    [undefined, undefined, 'answered'],
  ])('a reason %s that is not known, with the status %s: %s', (reason, status, state) => {
    expect(
      read('retell', retell('call_ended', { disconnection_reason: reason, call_status: status }))
        .outcome?.state,
    ).toBe(state)
  })

  test('words, keys, texts and tools of the transcript', () => {
    const event = retell('call_ended', {
      transcript_with_tool_calls: [
        { role: 'agent', content: 'Press 9 to opt out' },
        { role: 'user', content: 'please stop' },
        { role: 'transfer_target', content: 'do not call me' },
        { role: 'user', content: 'calling me' },
        { role: 'tool_call_result', tool_call_id: 't', content: 'do not call' },
        { role: 'injected', content: 'do not call' },
        { role: 'sms', content: 'stop texting' },
      ],
    })
    expect(wordsOf(read('retell', event))).toBe('please stop calling me stop texting')
    const keys = (...digits: string[]) =>
      retell('call_ended', {
        transcript_with_tool_calls: digits.map((digit) =>
          digit === '' ? { role: 'user', content: 'x' } : { role: 'dtmf', digit },
        ),
      })
    expectEvent('retell', keys('9'), { optOut: byKey })
    expectEvent('retell', keys('1', '', '9'), { optOut: byKey })
    expectEvent('retell', keys('9', '0', '2'), { optOut: undefined })
    const tool = (name: string, args: unknown) =>
      retell('call_ended', {
        transcript_with_tool_calls: [
          { role: 'tool_call_invocation', tool_call_id: 't', name, arguments: args },
        ],
      })
    expectEvent('retell', tool('opt_out', `{"said":"${said}"}`), { optOut: { by: 'tool', said } })
    expectEvent('retell', tool('addToDNC', ''), { optOut: { by: 'tool', said: undefined } })
    expectEvent('retell', tool('update_crm', '{"do_not_call":"true"}'), {
      optOut: { by: 'field', said: 'do_not_call: true' },
    })
    expectEvent('retell', tool('update_crm', '{"do_not_call":"false"}'), { optOut: undefined })
    expectEvent('retell', tool('send_text', '{"message":"Reply STOP to opt out"}'), {
      optOut: undefined,
      summary: undefined,
    })
    expectEvent('retell', tool('end_call', '{"reason":"wants no more calls"}'), {
      optOut: undefined,
      summary: 'wants no more calls',
    })
  })

  test('a custom function', () => {
    expectEvent(
      'retell',
      { name: 'opt_out', args: { said: 'stop' }, call },
      {
        ...{
          type: 'function',
          callIds: ['c1'],
          person,
          optOut: { by: 'tool', said: 'stop' },
          outcome: { state: 'answered' },
        },
      },
    )
  })

  test('the analysis', () => {
    const analyzed = (custom: unknown) =>
      retell('call_analyzed', {
        call_analysis: { call_summary: 'Summary.', custom_analysis_data: custom },
      })
    expectEvent('retell', analyzed({ do_not_call: true }), {
      optOut: { by: 'field', said: 'do_not_call: true' },
      summary: 'Summary.',
    })
    expectEvent('retell', analyzed({ 'Do not call?': 'Yes, asked to be removed' }), {
      optOut: { by: 'field', said: 'Do not call?: Yes, asked to be removed' },
    })
    expectEvent('retell', analyzed({ opt_out: 'wants no calls' }), {
      optOut: undefined,
      summary: 'Summary.\nwants no calls',
    })
    for (const no of [false, 'no', 'No', 'N/A', null, '', 0, 'unknown', 'not requested'])
      expectEvent('retell', analyzed({ opt_out: no }), { optOut: undefined, summary: 'Summary.' })
  })

  test('lines of a transcript', () => {
    const lines = (transcript: string) =>
      read('retell', retell('call_ended', { transcript })).utterances
    expect(
      lines('Agent: Hi\nUser: please stop\ncalling me\n\nAgent: Sure.\nSay stop any time'),
    ).toEqual([
      { speaker: 'agent', text: 'Hi' },
      { speaker: 'person', text: said },
      { speaker: 'agent', text: 'Sure. Say stop any time' },
    ])
    expect(lines('please stop\r\ncalling me')).toEqual([{ speaker: 'unknown', text: said }])
    expect(lines('Hello\nUser: hi')).toEqual([
      { speaker: 'unknown', text: 'Hello' },
      { speaker: 'person', text: 'hi' },
    ])
    expect(lines('Transfer target: do not call me')).toEqual([
      { speaker: 'agent', text: 'do not call me' },
    ])
  })

  test('chats', () => {
    const chat: Partial<ChatResponse> = {
      ...{ chat_id: 'chat-1', chat_type: 'sms_chat' },
      message_with_tool_calls: [
        { role: 'agent', content: 'Reply STOP to opt out', created_timestamp: 1, message_id: 'a' },
        { role: 'user', content: said, created_timestamp: 2, message_id: 'b' },
      ],
    }
    const event = read('retell', { event: 'chat_ended', chat })
    expect(event).toMatchObject({ kind: 'text', callIds: ['chat-1'], isWholeTranscript: true })
    expect(event.outcome).toBeUndefined()
    expect(wordsOf(event)).toBe(said)
  })

  test('a batch has the decisions by number', () => {
    expectEvent('retell', retell('call_started', { metadata: { callgate_decision: 'D-1' } }), {
      decisionId: 'D-1',
    })
    expectEvent('retell', retell('call_started', { metadata: 'text' }), { decisionId: undefined })
  })
})

describe('Vapi', () => {
  test.each([
    ['transcript', { role: 'user', transcriptType: 'final', transcript: said }],
    [
      'transcript[transcriptType="final"]',
      { role: 'user', transcriptType: 'final', transcript: said },
    ],
    [
      'transcript',
      {
        role: 'user',
        transcriptType: 'final',
        transcript: '[filtered]',
        isFiltered: true,
        originalTranscript: said,
      },
    ],
    [
      'conversation-update',
      {
        messagesOpenAIFormatted: [
          { role: 'assistant', content: 'Hi' },
          { role: 'user', content: said },
        ],
      },
    ],
    [
      'conversation-update',
      { conversation: [{ role: 'user', content: [{ type: 'text', text: said }] }] },
    ],
    ['status-update', { status: 'forwarding', messages: [{ role: 'user', message: said }] }],
    [
      'end-of-call-report',
      { artifact: { messages: [{ role: 'user', message: '[filtered]', originalMessage: said }] } },
    ],
    [
      'end-of-call-report',
      { artifact: { transcript: `AI: Hi\nUser: please stop\ncalling me\nAI: Sure` } },
    ],
    ['end-of-call-report', { endedReason: 'customer-did-not-answer', transcript: `User: ${said}` }],
  ])('the words of %s: %o', (type, fields) => {
    const event = read('vapi', vapi({ type, ...fields }))
    expect(wordsOf(event)).toBe(said)
    expect(event.outcome?.state).toBe('answered')
    expect(event.isInterim).toBeUndefined()
  })

  test('a transcript that is not final, and one of the agent', () => {
    const partial = {
      type: 'transcript',
      role: 'user',
      transcriptType: 'partial',
      transcript: 'stop',
    }
    expectEvent('vapi', vapi(partial), { isInterim: true })
    expect(wordsOf(read('vapi', vapi({ ...partial, role: 'assistant' })))).toBe('')
  })

  test.each([
    [
      {
        toolCallList: [
          {
            id: 't',
            type: 'function',
            function: { name: 'opt_out', arguments: `{"said":"${said}"}` },
          },
        ],
      },
    ],
    [{ toolCallList: [{ id: 't', name: 'opt_out', parameters: { said } }] }],
    [
      {
        toolCallList: [
          { id: 't', type: 'function', function: { name: 'optOut', parameters: { said } } },
        ],
      },
    ],
    [
      {
        toolWithToolCallList: [
          { type: 'function', name: 'opt_out', toolCall: { id: 't', parameters: { said } } },
        ],
      },
    ],
    [{ functionCall: { name: 'opt_out', parameters: { said } } }],
    [
      {
        artifact: {
          messages: [
            {
              role: 'tool_calls',
              toolCalls: [{ function: { name: 'opt_out', arguments: `{"said":"${said}"}` } }],
            },
          ],
        },
      },
    ],
  ])('a tool: %o', (fields) => {
    expectEvent('vapi', vapi({ type: 'tool-calls', ...fields }), { optOut: { by: 'tool', said } })
  })

  test.each([
    [{ analysis: { structuredData: { optOut: true } } }],
    [{ analysis: { structuredDataMulti: [{ a: { optOut: 'true' } }] } }],
    [{ artifact: { structuredOutputs: { 'id-1': { name: 'Opt out', result: true } } } }],
    [{ call: { analysis: { structuredData: { optOut: 'yes' } } } }],
  ])('an analysis: %o', (fields) => {
    expect(read('vapi', vapi({ type: 'end-of-call-report', ...fields })).optOut?.by).toBe('field')
  })

  test('a summary is nobody’s words', () => {
    expectEvent('vapi', vapi({ type: 'end-of-call-report', analysis: { summary: said } }), {
      utterances: [],
      summary: said,
      optOut: undefined,
    })
  })

  test.each([
    ['chat.created', { chat: { id: 'chat-1', sessionId: 's-1', input: said } }],
    [
      'chat.created',
      { chat: { id: 'chat-1', sessionId: 's-1', input: [{ role: 'user', content: said }] } },
    ],
    [
      'session.updated',
      {
        session: {
          id: 's-1',
          customer: { number: person },
          messages: [{ role: 'user', message: said }],
        },
      },
    ],
  ])('a text: %s %o', (type, fields) => {
    const event = read('vapi', vapi({ type, customer: { number: person }, ...fields }))
    expect(event).toMatchObject({ kind: 'text', direction: 'inbound', person })
    expect(event.callIds).toContain('s-1')
    expect(wordsOf(event)).toBe(said)
  })

  test('the customer is the person in both directions, and a batch has decisions by number', () => {
    const message = (type: string) => ({
      ...{
        type: 'status-update',
        status: 'in-progress',
        customer: { number: person },
        phoneNumber: { number: own },
      },
      call: {
        id: 'c-1',
        type,
        assistantOverrides: { metadata: { callgateDecision: { [person]: 'D-2', [own]: 'D-3' } } },
      },
    })
    expectEvent(
      'vapi',
      { message: message('outboundPhoneCall') },
      { person, own, direction: 'outbound', decisionId: 'D-2' },
    )
    expectEvent(
      'vapi',
      { message: message('inboundPhoneCall') },
      { person, own, direction: 'inbound', outcome: undefined },
    )
  })

  test.each(['user-interrupted', 'transfer-update', 'speech-update'])(
    '%s shows that somebody answered',
    (type) => {
      expect(read('vapi', vapi({ type, role: 'user' })).outcome?.state).toBe('answered')
      expect(
        read('vapi', vapi({ type: 'speech-update', role: 'assistant' })).outcome,
      ).toBeUndefined()
    },
  )
})

describe('ElevenLabs, Bland, SignalWire and LiveKit', () => {
  test('ElevenLabs: collected data, tools and results of the call', () => {
    const report = (data: object) => ({
      type: 'post_call_transcription',
      data: { conversation_id: 'conv_1', ...data },
    })
    expectEvent(
      'elevenlabs',
      report({
        analysis: {
          data_collection_results: { do_not_call: { value: true, rationale: 'She said so.' } },
        },
      }),
      {
        ...{ optOut: { by: 'field', said: 'do_not_call: true' }, summary: 'She said so.' },
      },
    )
    expectEvent(
      'elevenlabs',
      report({
        analysis: { data_collection_results: { do_not_call: { value: false, rationale: '' } } },
      }),
      { optOut: undefined },
    )
    expectEvent(
      'elevenlabs',
      report({
        transcript: [
          {
            role: 'agent',
            tool_calls: [{ tool_name: 'opt_out', params_as_json: `{"said":"${said}"}` }],
          },
        ],
      }),
      {
        optOut: { by: 'tool', said },
      },
    )
    const results = {
      answered: 'answered',
      voicemail: 'answered',
      busy: 'failed',
      no_answer: 'failed',
      failed: 'answered',
      new: 'answered',
    }
    for (const [result, state] of Object.entries(results)) {
      expect(
        read('elevenlabs', report({ metadata: { phone_call: { call_result: result } } })).outcome
          ?.state,
      ).toBe(state)
    }
    expect(
      read('elevenlabs', report({ metadata: { phone_call: { call_result: 'voicemail' } } })).outcome
        ?.answeredBy,
    ).toBe('machine')
  })

  test('Bland: one text with labels in the middle, a mailbox, variables and analysis', () => {
    const report = {
      call_id: 'b1',
      inbound: false,
      to: person,
      from: own,
      queue_status: 'complete',
    }
    const lines = (text: string) =>
      wordsOf(read('bland', { ...report, concatenated_transcript: text }))
    expect(lines('user : please stop \n assistant : Sorry \n user : calling me')).toBe(said)
    expect(lines('assistant : Hi user : please stop calling me agent-action : ended')).toBe(said)
    expectEvent(
      'bland',
      { ...report, answered_by: 'voicemail' },
      { outcome: { state: 'answered', answeredBy: 'machine' } },
    )
    expectEvent(
      'bland',
      { ...report, inbound: true, to: own, from: person },
      { person, own, outcome: undefined },
    )
    expectEvent(
      'bland',
      { ...report, analysis: { opt_out: 'yes' }, summary: 'Angry.' },
      { optOut: { by: 'field', said: 'opt_out: yes' }, summary: 'Angry.\nyes' },
    )
    expectEvent(
      'bland',
      { ...report, variables: { do_not_call: true, name: 'stop calling' } },
      { optOut: { by: 'field', said: 'do_not_call: true' }, summary: undefined },
    )
  })

  test('SignalWire: forms and JSON as of Twilio, and the report of an AI agent', () => {
    const fields = {
      CallSid: 'CA1',
      CallStatus: 'in-progress',
      Direction: 'outbound-api',
      From: own,
      To: person,
      SpeechResult: said,
    }
    for (const body of [toForm(fields), fields]) {
      expectEvent('signalwire', body, { callIds: ['CA1'], person, utterances: spoken })
    }
    const report = {
      call_id: 's1',
      caller_id_number: own,
      call_log: [{ role: 'user', content: said }],
      post_prompt_data: { raw: 'Wants no calls', parsed: [{ opt_out: true }] },
    }
    expectEvent('signalwire', report, {
      ...{ person: undefined, unassigned: { from: own, to: undefined }, summary: 'Wants no calls' },
      optOut: { by: 'field', said: 'opt_out: true' },
    })
  })

  test.each([
    ['active', 'CONNECTION_TIMEOUT', 'answered'],
    ['active', 'SIP_TRUNK_FAILURE', 'answered'],
    ['hangup', 'USER_REJECTED', 'answered'],
    ['ringing', 'USER_UNAVAILABLE', 'failed'],
    ['dialing', undefined, 'failed'],
    ['automation', 'USER_REJECTED', 'answered'],
    [undefined, 'USER_REJECTED', 'failed'],
    [undefined, 'SIP_TRUNK_FAILURE', 'answered'],
    [undefined, 'NEW', 'answered'],
    [undefined, undefined, 'answered'],
  ])('LiveKit: a participant %s who left for %s was %s', (status, disconnectReason, state) => {
    const attributes = {
      'callgate.decision': 'D-1',
      'sip.phoneNumber': person,
      ...(status && { 'sip.callStatus': status }),
    }
    for (const event of ['participant_left', 'participant_connection_aborted']) {
      expect(
        read('livekit', { event, participant: { sid: 'PA_1', attributes, disconnectReason } }),
      ).toMatchObject({ outcome: { state }, isEnd: true })
    }
  })

  test('LiveKit: agents are no calls', () => {
    const agent = {
      event: 'participant_left',
      participant: { sid: 'PA_2', kind: 'AGENT', disconnectReason: 'CLIENT_INITIATED' },
    }
    expect(read('livekit', agent).outcome).toBeUndefined()
    expect(read('livekit', agent).isEnd).toBeUndefined()
  })
})

describe('tables of outcomes', () => {
  /** As the vendor's page groups them; written independently of the file. */
  function expectedOf(reason: string): string {
    if (
      /^call\.start\.error-|^assistant-not-|^assistant-request-(?:failed|returned-(?!forw))|^scheduled-|^call-start-error|^call\.start\./.test(
        reason,
      )
    )
      return 'failed'
    if (
      /outbound-sip-\d|sip-outbound-call-failed|transport-never-connected|^customer-(?:busy|did-not-answer)$|^twilio-(?:failed|reported)|^vonage-(?:failed|rejected)/.test(
        reason,
      )
    )
      return 'failed'
    if (/inbound-call|inbound-caller|^call\.ringing\.hook|forwarding-phone-number/.test(reason))
      return 'none'
    return 'answered'
  }

  test('every reason of Vapi’s SDK is in the table, and most of them mean answered', () => {
    const reasons = Object.values(Vapi.ServerMessageEndOfCallReportEndedReason)
    expect(reasons.length).toBeGreaterThan(590)
    const table = outcomes['vapi.endedReason']
    const wrong = reasons.filter((reason) => {
      const found = findOutcomeClass(table, reason)
      return found === undefined || (toLegOutcome(found)?.state ?? 'none') !== expectedOf(reason)
    })
    expect(wrong).toEqual([])
    const failed = reasons.filter((reason) => expectedOf(reason) === 'failed')
    expect(failed.length).toBeLessThan(50)
    // Both events that have the reason.
    for (const reason of reasons) {
      for (const message of [
        { type: 'end-of-call-report' },
        { type: 'status-update', status: 'ended' },
      ]) {
        const { outcome } = read('vapi', vapi({ ...message, endedReason: reason }))
        expect([reason, outcome?.state ?? 'none']).toEqual([reason, expectedOf(reason)])
      }
    }
  })

  test('a reason that no table has means answered, by nobody knows whom', () => {
    const unknown = { state: 'answered', answeredBy: 'unknown' }
    expect(
      read('vapi', vapi({ type: 'end-of-call-report', endedReason: 'brand-new-reason' })).outcome,
    ).toMatchObject(unknown)
    expect(read('vapi', vapi({ type: 'end-of-call-report' })).outcome).toMatchObject(unknown)
    expect(read('telnyx', telnyx('call.hangup', { hangup_cause: 'new' })).outcome).toMatchObject(
      unknown,
    )
    expect(read('telnyx', telnyx('call.hangup', {})).outcome).toMatchObject(unknown)
    expect(read('twilio', 'CallSid=CA1&CallStatus=paused').outcome).toMatchObject(unknown)
    expect(read('retell', { event: 'call_ended', call: { call_id: 'c' } }).outcome).toMatchObject(
      unknown,
    )
    expect(read('bland', { call_id: 'b', queue_status: 'complete' }).outcome).toMatchObject(unknown)
    expect(
      read('elevenlabs', { type: 'call_initiation_failure', data: { failure_reason: 'unknown' } })
        .outcome,
    ).toMatchObject(unknown)
  })

  test('the longest prefix counts', () => {
    const table = outcomes['vapi.endedReason']
    expect(findOutcomeClass(table, 'call.in-progress.error-providerfault-outbound-sip-503-x')).toBe(
      'not-answered',
    )
    expect(findOutcomeClass(table, 'call.in-progress.error-new')).toBe('answered')
    expect(findOutcomeClass(table, 'call.in-progress.new')).toBeUndefined()
  })
})
