/** Telnyx's call control API. */
import { Refusal } from '../refusal.js'
import {
  type CallPlan,
  isObject,
  type JsonObject,
  listCallIds,
  type Platform,
  type PlatformApi,
  readCallerId,
  readFirst,
  refuseOtherCallees,
  requireHarmlessHeaders,
  requireKnownFields,
  requireNumber,
  requireObject,
} from './platform.js'

/** Not `link_to`, `bridge_…`, `conference_config`, `supervise_…` and `diversion`, which concern other calls. */
const callFields = new Set([
  'to',
  'from',
  'from_display_name',
  'connection_id',
  'answering_machine_detection',
  'answering_machine_detection_config',
  'assistant',
  'audio_url',
  'billing_group_id',
  'client_state',
  'command_id',
  'conversation_relay_config',
  'custom_headers',
  'deepfake_detection',
  'media_encryption',
  'media_name',
  'preferred_codecs',
  'privacy',
  'record',
  'record_channels',
  'record_custom_file_name',
  'record_format',
  'record_max_length',
  'record_timeout_secs',
  'record_track',
  'record_trim',
  'send_silence_when_idle',
  'sip_auth_password',
  'sip_auth_username',
  'sip_headers',
  'sip_region',
  'sip_transport_protocol',
  'sound_modifications',
  'stream_auth_token',
  'stream_bidirectional_codec',
  'stream_bidirectional_mode',
  'stream_bidirectional_sampling_rate',
  'stream_bidirectional_target_legs',
  'stream_codec',
  'stream_establish_before_call_originate',
  'stream_track',
  'stream_url',
  'time_limit_secs',
  'timeout_secs',
  'transcription',
  'transcription_config',
  'webhook_retries_policies',
  'webhook_url',
  'webhook_url_method',
])

function readCalls(fields: JsonObject): CallPlan {
  requireKnownFields(fields, callFields)
  const isList = Array.isArray(fields.to)
  const numbers: readonly unknown[] = Array.isArray(fields.to) ? fields.to : [fields.to]
  if (numbers.length === 0) throw new Refusal('no-phone-number', 'to: must have a number')
  for (const name of ['assistant', 'conversation_relay_config']) {
    refuseOtherCallees(fields[name], name)
  }
  for (const name of ['custom_headers', 'sip_headers']) requireHeaderList(fields[name], name)
  const callerId = readCallerId(fields.from, 'from')
  const calls = numbers.map((value, index) => ({
    number: requireNumber(value, isList ? `to[${index}]` : 'to'),
    callerId,
  }))
  return {
    calls,
    addDecisions(ids) {
      // The customer's own state comes back in its webhooks and is not ours to change.
      if ((fields.client_state ?? '') !== '') return
      const decisions = calls.map(({ number }, index) => [number, ids[index]] as const)
      const state = isList ? Object.fromEntries(decisions) : ids[0]
      fields.client_state = Buffer.from(JSON.stringify({ callgateDecision: state })).toString(
        'base64',
      )
    },
    // Nothing tells which of several numbers the one call of the answer is to.
    ...(calls.length === 1 && { readCallIds }),
  }
}

function readCallIds({ data }: JsonObject): readonly (readonly string[])[] {
  const answer = isObject(data) ? data : {}
  return [listCallIds(answer.call_control_id, answer.call_leg_id, answer.call_session_id)]
}

/** Telnyx keeps only the words of its AI assistants. */
async function fetchConversation(callId: string, { read }: PlatformApi) {
  const list = await read(`/v2/ai/conversations?metadata-%3Ecall_control_id=eq.${callId}`)
  const [conversation] = Array.isArray(list?.data) ? list.data.filter(isObject) : []
  const [conversationId] = listCallIds(conversation?.id)
  if (conversationId === undefined) return undefined
  const path = `/v2/ai/conversations/${encodeURIComponent(conversationId)}/messages`
  return await read(`${path}?page%5Bsize%5D=100`)
}

function requireHeaderList(value: unknown, field: string): void {
  if (value === undefined) return
  if (!Array.isArray(value)) throw new Refusal('ambiguous-request', `${field}: must be a list`)
  const headers = value.map((one) => requireObject(one, field))
  for (const header of headers) {
    requireKnownFields(header, new Set(['name', 'value']), `${field}.`)
  }
  requireHarmlessHeaders(
    headers.map(({ name, value: text }) => [name, text] as const),
    field,
  )
}

const id = '[\\w.:+-]+'
/** Not transfer, refer, bridge and enqueue, which bring in somebody else. */
const harmlessActions = [
  'answer',
  'hangup',
  'reject',
  'speak',
  'send_dtmf',
  'client_state_update',
  'ai_assistant_(?:start|stop|add_messages)',
  'conversation_relay_(?:start|stop)',
  'fork_(?:start|stop)',
  'gather(?:_stop|_using_ai|_using_audio|_using_speak)?',
  'playback_(?:start|stop)',
  'record_(?:start|stop|pause|resume)',
  'streaming_(?:start|stop)',
  'suppression_(?:start|stop)',
  'transcription_(?:start|stop)',
]

export const telnyx: Platform = {
  name: 'telnyx',
  upstream: 'https://api.telnyx.com',
  routes: [
    { method: 'POST', path: /^\/v2\/calls$/, body: 'json', readCalls },
    {
      method: 'POST',
      path: new RegExp(`^/v2/calls/${id}/actions/(?:${harmlessActions.join('|')})$`),
      body: 'json',
      requireHarmless: (fields) => refuseOtherCallees(fields, 'body'),
    },
    { method: 'GET', path: new RegExp(`^/v2(?:/${id})+$`) },
  ],
  fetching: {
    authorize: (key) => ['authorization', `Bearer ${key}`],
    async fetch({ callIds, number }, api) {
      const found = await readFirst(callIds, (callId) => fetchConversation(callId, api))
      const messages = Array.isArray(found?.data) ? found.data.filter(isObject) : []
      if (messages.length === 0) return undefined
      const payload = {
        call_control_id: callIds[0],
        to: `+1${number}`,
        message_history: messages.map(({ role, text }) => ({ role, content: text })),
      }
      return JSON.stringify({ data: { event_type: 'call.ai_gather.ended', payload } })
    },
  },
  encodeError: ({ status, message, reason, details }) => ({
    errors: [
      {
        code: reason,
        title: status === 403 ? 'Call refused' : 'Call failed',
        detail: `${message} (${reason})`,
        meta: details,
      },
    ],
  }),
}
