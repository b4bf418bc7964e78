/** Twilio's API: forms, with capitalized names. SignalWire has one that is compatible with it. */
import { Refusal } from '../refusal.js'
import {
  type CallFetching,
  type CallPlan,
  isObject,
  type JsonObject,
  listCallIds,
  type Platform,
  type PlatformRoute,
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
    addDecisions([id = ''], eventsUrl) {
      if ((fields.StatusCallback ?? '') === '' && eventsUrl !== undefined) {
        fields.StatusCallback = `${eventsUrl}#${retries}`
        fields.StatusCallbackMethod = 'POST'
        fields.StatusCallbackEvent = ['initiated', 'ringing', 'answered', 'completed']
      }
      for (const name of callbackFields) {
        const address = fields[name]
        if (typeof address === 'string') fields[name] = addDecision(address, id, '&')
      }
      if (typeof fields.Twiml === 'string') fields.Twiml = addToTwiml(fields.Twiml, id, eventsUrl)
    },
    readCallIds: ({ sid }) => [listCallIds(sid)],
  }
}

/** Twilio repeats a callback only if this asks for it, and then only after these failures. */
const retries = 'rc=5&rp=ct,rt,5xx'

const callbackFields = [
  ...['StatusCallback', 'AsyncAmdStatusCallback', 'RecordingStatusCallback'],
  ...['Url', 'FallbackUrl'],
]

function addDecision(address: string, id: string, and: string): string {
  const [base = '', ...fragment] = address.split('#')
  // An empty address is that of the document itself.
  if (base.trim() === '') return address
  return [`${base}${base.includes('?') ? and : '?'}callgateDecision=${id}`, ...fragment].join('#')
}

const elementPattern = /<[A-Za-z](?:"[^"]*"|'[^']*'|[^<>"'])*>/g
const callbackPattern = /(\s(?:action|\w+Callback(?:Url)?)\s*=\s*)(?:"([^"]*)"|'([^']*)')/g

/** Real-time transcriptions lack the called number, so only their address joins them to the call. */
function addToTwiml(twiml: string, id: string, eventsUrl: string | undefined): string {
  return twiml.replaceAll(elementPattern, (element) => {
    const isDeaf = /^<Transcription\s*[\s/>]/.test(element) && !/\sstatusCallbackUrl/.test(element)
    const address =
      eventsUrl && ` statusCallbackUrl="${eventsUrl}#${retries.replace('&', '&amp;')}"`
    const heard = isDeaf && address ? element.replace(/^<Transcription/, `$&${address}`) : element
    return heard.replaceAll(callbackPattern, (_all, start: string, double?: string, single = '') =>
      double === undefined
        ? `${start}'${addDecision(single, id, '&amp;')}'`
        : `${start}"${addDecision(double, id, '&amp;')}"`,
    )
  })
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

interface TwilioApi {
  /** Patterns of an account's address, and of the id of a call. */
  readonly account: string
  readonly callId: string
  /** How the address of the calls may end. */
  readonly suffix: string
}

function listRoutes({ account, callId, suffix }: TwilioApi): readonly PlatformRoute[] {
  const calls = `^${account}/Calls`
  return [
    { method: 'POST', path: new RegExp(`${calls}${suffix}$`), body: 'form', readCalls },
    {
      method: 'POST',
      path: new RegExp(`${calls}/${callId}${suffix}$`),
      body: 'form',
      requireHarmless: readUpdate,
    },
    { method: 'GET', path: new RegExp(`^${account}(?:/[\\w-]+)*(?:\\.[a-z0-9]+)?$`) },
  ]
}

/** Fetches transcriptions of recordings. Twilio does not keep real-time ones. */
function fetchTranscriptions(prefix: string): CallFetching {
  return {
    authorize: (key) => ['authorization', `Basic ${Buffer.from(key).toString('base64')}`],
    async fetch({ callIds: [callId], number }, { read, readKey }) {
      if (callId === undefined) return undefined
      const [sid = ''] = readKey.split(':')
      const account = `${prefix}/2010-04-01/Accounts/${encodeURIComponent(sid)}`
      const list = await read(`${account}/Calls/${encodeURIComponent(callId)}/Recordings.json`)
      const texts: string[] = []
      for (const recording of listCallIds(...readEach(list?.recordings, 'sid'))) {
        const path = `${account}/Recordings/${encodeURIComponent(recording)}/Transcriptions.json`
        const found = await read(path)
        texts.push(...readEach(found?.transcriptions, 'transcription_text').map(String))
      }
      if (texts.length === 0) return undefined
      return new URLSearchParams({
        CallSid: callId,
        To: `+1${number}`,
        Direction: 'outbound-api',
        TranscriptionText: texts.join('\n'),
      }).toString()
    },
  }
}

function readEach(list: unknown, name: string): readonly unknown[] {
  if (!Array.isArray(list)) return []
  return list.filter(isObject).flatMap((one) => one[name] ?? [])
}

const encodeError: Platform['encodeError'] = ({ status, message, reason, details }) => ({
  // Twilio's own codes have five digits; 20003 is "permission denied".
  code: 20_003,
  message: `${message} (${reason})`,
  more_info: 'https://www.twilio.com/docs/errors/20003',
  status,
  details: { reason, ...details },
})

export const twilio: Platform = {
  name: 'twilio',
  upstream: 'https://api.twilio.com',
  routes: listRoutes({
    account: '/2010-04-01/Accounts/AC[0-9A-Za-z]{32}',
    callId: 'CA[0-9A-Za-z]{32}',
    suffix: '\\.json',
  }),
  fetching: fetchTranscriptions(''),
  encodeError,
}

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'

export const signalwire: Platform = {
  name: 'signalwire',
  routes: listRoutes({
    account: `/api/laml/2010-04-01/Accounts/${uuid}`,
    callId: uuid,
    suffix: '(?:\\.json)?',
  }),
  fetching: fetchTranscriptions('/api/laml'),
  encodeError,
}
