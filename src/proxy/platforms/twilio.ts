/** Twilio's API: forms, with capitalized names. */
import { Refusal } from '../refusal.js'
import {
  type CallPlan,
  type JsonObject,
  type Platform,
  readCallerId,
  requireKnownFields,
  requireNumber,
} from './platform.js'

/** Not `CallToken` and `Byoc`, which forward another call or change its route. */
const callFields = new Set([
  'To',
  'From',
  'Url',
  'Method',
  'FallbackUrl',
  'FallbackMethod',
  'StatusCallback',
  'StatusCallbackEvent',
  'StatusCallbackMethod',
  'SendDigits',
  'Timeout',
  'Record',
  'RecordingChannels',
  'RecordingStatusCallback',
  'RecordingStatusCallbackMethod',
  'RecordingStatusCallbackEvent',
  'RecordingTrack',
  'RecordingConfigurationId',
  'SipAuthUsername',
  'SipAuthPassword',
  'MachineDetection',
  'MachineDetectionTimeout',
  'MachineDetectionSpeechThreshold',
  'MachineDetectionSpeechEndThreshold',
  'MachineDetectionSilenceTimeout',
  'Trim',
  'CallerId',
  'AsyncAmd',
  'AsyncAmdStatusCallback',
  'AsyncAmdStatusCallbackMethod',
  'CallReason',
  'TimeLimit',
  'ClientNotificationUrl',
  'Twiml',
  'ApplicationSid',
])
const listFields = new Set(['StatusCallbackEvent', 'RecordingStatusCallbackEvent'])

function readCalls(fields: JsonObject): CallPlan {
  requireFields(fields, callFields)
  const number = requireNumber(fields.To, 'To')
  if (typeof fields.Twiml === 'string') requireHarmlessTwiml(fields.Twiml)
  return {
    calls: [{ number, callerId: readCallerId(fields.From, 'From') }],
    addDecisions([id]) {
      const callback = fields.StatusCallback
      if (typeof callback !== 'string' || id === undefined) return
      const [address = '', ...fragment] = callback.split('#')
      const separator = address.includes('?') ? '&' : '?'
      fields.StatusCallback = [`${address}${separator}callgateDecision=${id}`, ...fragment].join(
        '#',
      )
    },
  }
}

/** A call that is running can be ended; other changes may bring in somebody else. */
function readUpdate(fields: JsonObject): void {
  requireFields(fields, new Set(['Status']))
  if (fields.Status === 'completed' || fields.Status === 'canceled') return
  throw new Refusal('unknown-request', "Status: must be 'completed' or 'canceled'")
}

function requireFields(fields: JsonObject, known: ReadonlySet<string>): void {
  requireKnownFields(fields, known)
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'string' || listFields.has(name)) continue
    throw new Refusal('ambiguous-request', `${name}: is given more than once`)
  }
}

/** Without Dial, Refer, Redirect, Enqueue and Conference, and without what may be one of them in disguise. */
const harmlessElements = new Set([
  ...['Response', 'Say', 'Play', 'Pause', 'Gather', 'Record', 'Hangup', 'Connect', 'Stream'],
  ...['ConversationRelay', 'Language', 'Parameter', 'Start', 'Stop', 'Transcription', 'Config'],
  ...['break', 'emphasis', 'lang', 'p', 'phoneme', 'prosody', 's', 'say-as', 'sub', 'w'],
])

function requireHarmlessTwiml(text: string): void {
  // As the SDK writes it; another encoding could hide elements.
  const elements = text.replace(/^<\?xml version="1\.0" encoding="UTF-8"\?>/, '')
  if (!/^\s*<Response[\s/>]/.test(elements)) {
    throw new Refusal('other-callee', 'Twiml: must begin with <Response>')
  }
  for (const [, name = ''] of elements.matchAll(/<\/?([^\s/>]*)/g)) {
    if (harmlessElements.has(name)) continue
    const message = `Twiml: the element <${name.slice(0, 20)}> may bring in another callee`
    throw new Refusal('other-callee', message)
  }
}

const account = '/2010-04-01/Accounts/AC[0-9A-Za-z]{32}'

export const twilio: Platform = {
  name: 'twilio',
  upstream: 'https://api.twilio.com',
  routes: [
    { method: 'POST', path: new RegExp(`^${account}/Calls\\.json$`), body: 'form', readCalls },
    {
      method: 'POST',
      path: new RegExp(`^${account}/Calls/CA[0-9A-Za-z]{32}\\.json$`),
      body: 'form',
      requireHarmless: readUpdate,
    },
    { method: 'GET', path: new RegExp(`^${account}(?:/[\\w-]+)*(?:\\.[a-z0-9]+)?$`) },
  ],
  encodeError: ({ status, message, reason, details }) => ({
    // Twilio's own codes have five digits; 20003 is "permission denied".
    code: 20_003,
    message: `${message} (${reason})`,
    more_info: 'https://www.twilio.com/docs/errors/20003',
    status,
    details: { reason, ...details },
  }),
}
