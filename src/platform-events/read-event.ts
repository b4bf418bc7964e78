/** Reads what an event of a platform says. */
import type { CallEvent, PlatformName, Utterance } from './call-event.js'

export interface ReceivedEvent {
  /** As it came: JSON or a form. */
  readonly body: string
  /** Of the address it was sent to, without the question mark. */
  readonly query: string
}

type Fields = Readonly<Record<string, unknown>>

/** Never throws: what cannot be read is one event of type `unreadable`. */
export function readEvent(platform: PlatformName, received: ReceivedEvent): readonly CallEvent[] {
  try {
    return [readers[platform]?.(received) ?? unreadable]
  } catch {
    return [unreadable]
  }
}

const unreadable: CallEvent = {
  type: 'unreadable',
  kind: 'call',
  callIds: [],
  direction: 'unknown',
  utterances: [],
}

const readers: Partial<Record<PlatformName, (received: ReceivedEvent) => CallEvent>> = {
  retell: ({ body }) => {
    const event = toFields(JSON.parse(body))
    const call = toFields(event.call)
    const isInbound = call.direction === 'inbound'
    const type = textOf(event.event) ?? 'unknown'
    const lines = Array.isArray(call.transcript_object) ? call.transcript_object.map(toFields) : []
    const state = ({ call_started: 'answered', call_ended: 'answered' } as const)[type]
    const isFailed = /^dial_/.test(textOf(call.disconnection_reason) ?? '')
    return {
      type,
      kind: 'call',
      decisionId: textOf(toFields(call.metadata).callgate_decision),
      callIds: [textOf(call.call_id)].flatMap((id) => id ?? []),
      direction: isInbound ? 'inbound' : 'outbound',
      person: textOf(isInbound ? call.from_number : call.to_number),
      own: textOf(isInbound ? call.to_number : call.from_number),
      ...(state && { outcome: { state: isFailed ? 'failed' : state } }),
      ...(type === 'call_ended' && { isEnd: true as const }),
      utterances: lines.map(
        ({ role, content }): Utterance => ({
          speaker: role === 'user' ? 'person' : 'agent',
          text: textOf(content) ?? '',
        }),
      ),
      ...(lines.length > 0 && { isWholeTranscript: true as const }),
      summary: textOf(toFields(call.call_analysis).call_summary),
    }
  },
  twilio: ({ body, query }) => {
    const form = new URLSearchParams(body)
    const text = form.get('Body') ?? undefined
    const isInbound = form.get('Direction') === 'inbound' || text !== undefined
    const data = form.get('TranscriptionData')
    const spoken = data ? textOf(toFields(JSON.parse(data)).transcript) : undefined
    const said = spoken ?? text
    const track = form.get('Track')
    const status = form.get('CallStatus') ?? ''
    const state = twilioStates[status]
    return {
      type: form.get('TranscriptionEvent') ?? status,
      kind: text === undefined ? 'call' : 'text',
      decisionId: new URLSearchParams(query).get('callgateDecision') ?? undefined,
      callIds: [form.get('CallSid') ?? form.get('MessageSid')].flatMap((id) => id ?? []),
      direction: isInbound ? 'inbound' : form.has('Direction') ? 'outbound' : 'unknown',
      person: form.get(isInbound ? 'From' : 'To') ?? undefined,
      own: form.get(isInbound ? 'To' : 'From') ?? undefined,
      ...(state && { outcome: { state, dialStatus: status } }),
      utterances: said
        ? [{ speaker: track === 'outbound_track' ? 'agent' : 'person', text: said }]
        : [],
      ...(form.get('OptOutType') === 'STOP' && { optOut: { by: 'text' as const, said } }),
    }
  },
}

const twilioStates: Readonly<Record<string, 'dialled' | 'answered' | 'failed'>> = {
  initiated: 'dialled',
  'in-progress': 'answered',
  completed: 'answered',
  busy: 'failed',
  'no-answer': 'failed',
}

const toFields = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined
