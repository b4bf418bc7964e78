/** A usual request of each platform, by its raw text, for tests that change it. */
import type { PlatformName } from '../../src/platform-events/call-event.js'

export interface CallRequest {
  readonly path: string
  readonly contentType: string
  readonly body: (number: string) => string
  /** A request that is passed on without a decision. */
  readonly harmless: { readonly method: string; readonly path: string; readonly body?: string }
}

const json = 'application/json'

export const accountPath = `/2010-04-01/Accounts/AC${'0'.repeat(32)}`

const projectId = '0b2c3d4e-0000-4000-8000-000000000000'
const spacePath = `/api/laml/2010-04-01/Accounts/${projectId}`

/** Platforms that take forms. */
export const isFormPlatform = (name: PlatformName) => name === 'twilio' || name === 'signalwire'

export const callRequests: Readonly<Record<PlatformName, CallRequest>> = {
  livekit: {
    path: '/twirp/livekit.SIP/CreateSIPParticipant',
    contentType: json,
    body: (number) => `{"sipTrunkId":"ST_1","sipCallTo":"${number}","roomName":"room"}`,
    harmless: { method: 'POST', path: '/twirp/livekit.RoomService/ListRooms', body: '{}' },
  },
  vapi: {
    path: '/call',
    contentType: json,
    body: (number) => `{"assistantId":"a","phoneNumberId":"p","customer":{"number":"${number}"}}`,
    harmless: { method: 'GET', path: '/call/0b2c3d4e-0000-4000-8000-000000000000' },
  },
  retell: {
    path: '/v2/create-phone-call',
    contentType: json,
    body: (number) => `{"from_number":"+12125550199","to_number":"${number}"}`,
    harmless: { method: 'POST', path: '/v3/list-calls', body: '{"limit":5}' },
  },
  telnyx: {
    path: '/v2/calls',
    contentType: json,
    body: (number) => `{"connection_id":"7","from":"+12125550199","to":"${number}"}`,
    harmless: { method: 'POST', path: '/v2/calls/v3:abc_-1/actions/hangup', body: '{}' },
  },
  twilio: {
    path: `${accountPath}/Calls.json`,
    contentType: 'application/x-www-form-urlencoded',
    body: (number) =>
      `To=${encodeURIComponent(number)}&From=%2B12125550199&Url=https%3A%2F%2Fa.example%2Ft`,
    harmless: { method: 'GET', path: `${accountPath}/Calls/CA${'0'.repeat(32)}.json?PageSize=5` },
  },
  elevenlabs: {
    path: '/v1/convai/sip-trunk/outbound-call',
    contentType: json,
    body: (number) => `{"agent_id":"a","agent_phone_number_id":"p","to_number":"${number}"}`,
    harmless: { method: 'GET', path: '/v1/convai/conversations/conv_1' },
  },
  bland: {
    path: '/v1/calls',
    contentType: json,
    body: (number) => `{"task":"Say hello.","phone_number":"${number}"}`,
    harmless: { method: 'GET', path: '/v1/calls/0b2c3d4e-0000-4000-8000-000000000000' },
  },
  signalwire: {
    path: `${spacePath}/Calls.json`,
    contentType: 'application/x-www-form-urlencoded',
    body: (number) =>
      `To=${encodeURIComponent(number)}&From=%2B12125550199&Url=https%3A%2F%2Fa.example%2Ft`,
    harmless: { method: 'GET', path: `${spacePath}/Calls/${projectId}.json` },
  },
}
