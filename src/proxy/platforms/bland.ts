/** Bland's API. */
import { Refusal } from '../refusal.js'
import {
  type CallPlan,
  isObject,
  type JsonObject,
  listCallIds,
  type Platform,
  readCallerId,
  readFirst,
  refuseOtherCallees,
  requireKnownFields,
  requireNumber,
} from './platform.js'

/** Not `transfer_phone_number`, `transfer_list` and `endpoint`, nor `retry`, `start_time` and `dispatch_hours`, which dial later. */
const callFields = new Set([
  ...['phone_number', 'from', 'task', 'pathway_id', 'pathway_version', 'persona_id', 'voice'],
  ...['first_sentence', 'wait_for_greeting', 'block_interruptions', 'interruption_threshold'],
  ...['model', 'temperature', 'keywords', 'pronunciation_guide', 'language', 'timezone', 'tools'],
  ...['request_data', 'dynamic_data', 'metadata', 'max_duration', 'record', 'background_track'],
  ...['noise_cancellation', 'ignore_button_press', 'voicemail', 'voicemail_message'],
  ...['voicemail_action', 'sensitive_voicemail_detection', 'answered_by_enabled', 'memory_id'],
  ...['webhook', 'webhook_events', 'summary_prompt', 'analysis_prompt', 'analysis_schema'],
  ...['available_tags', 'dispositions', 'citation_schema_ids', 'json_mode_enabled'],
  ...['local_dialing', 'geospatial_dialing', 'precall_dtmf_sequence', 'guard_rails'],
])

function readCalls(fields: JsonObject): CallPlan {
  requireKnownFields(fields, callFields)
  const number = requireNumber(fields.phone_number, 'phone_number')
  for (const name of ['tools', 'voicemail', 'dynamic_data']) refuseOtherCallees(fields[name], name)
  const { metadata = {} } = fields
  if (!isObject(metadata)) throw new Refusal('ambiguous-request', 'metadata: must be an object')
  return {
    calls: [{ number, callerId: readCallerId(fields.from, 'from') }],
    addDecisions([id]) {
      fields.metadata = { ...metadata, callgate_decision: id }
    },
    readCallIds: ({ call_id: callId }) => [listCallIds(callId)],
  }
}

const id = '[\\w.-]+'

export const bland: Platform = {
  name: 'bland',
  upstream: 'https://api.bland.ai',
  routes: [
    { method: 'POST', path: /^\/v1\/calls$/, body: 'json', readCalls },
    { method: 'POST', path: new RegExp(`^/v1/calls/${id}/stop$`), body: 'json' },
    { method: 'GET', path: new RegExp(`^/v[12](?:/${id})+$`) },
  ],
  fetching: {
    authorize: (key) => ['authorization', key],
    async fetch({ callIds }, { read }) {
      const call = await readFirst(callIds, (callId) => read(`/v1/calls/${callId}`))
      if (!call) return undefined
      return call.completed === false ? 'pending' : JSON.stringify(call)
    },
  },
  encodeError: ({ message, reason, details }) => ({
    status: 'error',
    message: `${message} (${reason})`,
    errors: [{ error: reason, message }],
    ...details,
  }),
}
