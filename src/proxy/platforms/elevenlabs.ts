/** ElevenLabs' API for agents that call through Twilio or a SIP trunk. */
import {
  type CallPlan,
  type JsonObject,
  listCallIds,
  type Platform,
  readFirst,
  refuseOtherCallees,
  requireKnownFields,
  requireNumber,
  requireObject,
} from './platform.js'

const callFields = new Set([
  ...['agent_id', 'agent_phone_number_id', 'to_number', 'conversation_initiation_client_data'],
  ...['call_recording_enabled', 'telephony_call_config'],
])

function readCalls(fields: JsonObject): CallPlan {
  requireKnownFields(fields, callFields)
  const number = requireNumber(fields.to_number, 'to_number')
  const field = 'conversation_initiation_client_data'
  const data = requireObject(fields[field] ?? {}, field)
  const variables = requireObject(data.dynamic_variables ?? {}, `${field}.dynamic_variables`)
  refuseOtherCallees(data, field)
  refuseOtherCallees(fields.telephony_call_config, 'telephony_call_config')
  return {
    calls: [{ number }],
    addDecisions([id]) {
      fields[field] = { ...data, dynamic_variables: { ...variables, callgate_decision: id } }
    },
    readCallIds: ({ conversation_id: conversation, callSid, sip_call_id: sipCallId }) => [
      listCallIds(conversation, callSid, sipCallId),
    ],
  }
}

const id = '[\\w.-]+'

export const elevenlabs: Platform = {
  name: 'elevenlabs',
  upstream: 'https://api.elevenlabs.io',
  routes: [
    {
      method: 'POST',
      path: /^\/v1\/convai\/(?:twilio|sip-trunk)\/outbound-call$/,
      body: 'json',
      readCalls,
    },
    { method: 'GET', path: new RegExp(`^/v[12]/(?:convai|voices|models|user)(?:/${id})*$`) },
  ],
  fetching: {
    authorize: (key) => ['xi-api-key', key],
    async fetch({ callIds }, { read }) {
      const data = await readFirst(callIds, (callId) => read(`/v1/convai/conversations/${callId}`))
      if (!data) return undefined
      const isOver = data.status === 'done' || data.status === 'failed'
      return isOver ? JSON.stringify({ type: 'post_call_transcription', data }) : 'pending'
    },
  },
  encodeError: ({ status, message, reason, details }) => ({
    detail: { status: status === 403 ? 'forbidden' : 'failed', message, reason, ...details },
  }),
}
