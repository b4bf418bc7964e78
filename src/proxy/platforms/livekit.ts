/** LiveKit's server API: Twirp over JSON. */
import { Refusal } from '../refusal.js'
import {
  type CallPlan,
  isObject,
  type JsonObject,
  listCallIds,
  listFields,
  type Platform,
  readCallerId,
  removeNulls,
  requireHarmlessHeaders,
  requireKnownFields,
  requireNumber,
} from './platform.js'

/** `sipRequestUri`, `sipToHeader`, `toUserOverride`, `destination` and an inline `trunk` may name another callee. */
const callFields = new Set([
  'sipTrunkId',
  'sipCallTo',
  'sipNumber',
  'roomName',
  'participantIdentity',
  'participantName',
  'participantMetadata',
  'participantAttributes',
  'dtmf',
  'playRingtone',
  'playDialtone',
  'hidePhoneNumber',
  'headers',
  'includeHeaders',
  'ringingTimeout',
  'maxCallDuration',
  'enableKrisp',
  'krispEnabled',
  'mediaEncryption',
  'media',
  'waitUntilAnswered',
  'displayName',
])

/** Twirp reads both spellings of a field, so both become one here. */
function toCamelCase(fields: JsonObject): void {
  for (const name of Object.keys(fields)) {
    const camel = name.replace(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase())
    if (camel === name) continue
    if (Object.hasOwn(fields, camel)) {
      throw new Refusal(
        'ambiguous-request',
        `'${name}' and '${camel}' are the same field; send one`,
      )
    }
    fields[camel] = fields[name]
    delete fields[name]
  }
}

function readCalls(fields: JsonObject): CallPlan {
  removeNulls(fields)
  toCamelCase(fields)
  requireKnownFields(fields, callFields)
  const number = requireNumber(fields.sipCallTo, 'sipCallTo')
  if (fields.headers !== undefined) {
    requireHarmlessHeaders(listFields(fields.headers, 'headers'), 'headers')
  }
  const attributes = fields.participantAttributes
  if (attributes !== undefined && !isObject(attributes)) {
    throw new Refusal('ambiguous-request', 'participantAttributes: must be an object')
  }
  return {
    calls: [{ number, callerId: readCallerId(fields.sipNumber, 'sipNumber') }],
    addDecisions([id]) {
      fields.participantAttributes = { ...attributes, 'callgate.decision': id }
    },
    readCallIds: (answer) => [
      listCallIds(
        answer.participantId ?? answer.participant_id,
        answer.sipCallId ?? answer.sip_call_id,
      ),
    ],
  }
}

const harmless: Readonly<Record<string, string>> = {
  SIP: 'ListSIPTrunk|ListSIPInboundTrunk|ListSIPOutboundTrunk|ListSIPDispatchRule|GetSIPInboundTrunk|GetSIPOutboundTrunk',
  RoomService:
    'CreateRoom|ListRooms|DeleteRoom|ListParticipants|GetParticipant|RemoveParticipant|MutePublishedTrack|UpdateParticipant|UpdateSubscriptions|SendData|UpdateRoomMetadata',
  AgentDispatchService: 'CreateDispatch|ListDispatch|DeleteDispatch',
  Egress:
    'StartRoomCompositeEgress|StartParticipantEgress|StartTrackEgress|StartTrackCompositeEgress|ListEgress|StopEgress',
}

const harmlessPaths = Object.entries(harmless).map(
  ([service, methods]) => `${service}/(?:${methods})`,
)

export const livekit: Platform = {
  name: 'livekit',
  routes: [
    {
      method: 'POST',
      path: /^\/twirp\/livekit\.SIP\/CreateSIPParticipant$/,
      body: 'json',
      readCalls,
    },
    {
      method: 'POST',
      path: new RegExp(`^/twirp/livekit\\.(?:${harmlessPaths.join('|')})$`),
      body: 'json',
    },
  ],
  encodeError: ({ status, reason, message, decisionId, details }) => ({
    code: status === 403 ? 'permission_denied' : 'unavailable',
    msg: `${message} (${reason})`,
    // The values must be text, or the SDK fails to read the error.
    meta: {
      reason,
      ...(decisionId !== undefined && { decisionId }),
      details: JSON.stringify(details),
    },
  }),
}
