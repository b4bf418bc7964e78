/** Reads the events that voice platforms send about their calls and texts. */
import type { CallEvent, PlatformName } from './call-event.js'
import { isObject, type JsonObject, parseJson } from './fields.js'
import { readBland } from './platforms/bland.js'
import { readElevenlabs } from './platforms/elevenlabs.js'
import { readLivekit } from './platforms/livekit.js'
import { readRetell } from './platforms/retell.js'
import { readSignalwire } from './platforms/signalwire.js'
import { readTelnyx } from './platforms/telnyx.js'
import { readTwilio } from './platforms/twilio.js'
import { readVapi } from './platforms/vapi.js'
import { completeEvent, type EventReaderData, type ReadPlatformEvent } from './reading.js'

export interface EventText {
  /** As it was received: JSON, or a form. */
  readonly body: string
  /** Of the address that the platform called, without the question mark. */
  readonly query: string
}

/** Never throws; the event of a text that cannot be read has the type `unreadable`. */
export type ReadEvent = (platform: PlatformName, event: EventText) => readonly CallEvent[]

const readers: Readonly<Record<PlatformName, ReadPlatformEvent>> = {
  livekit: readLivekit,
  vapi: readVapi,
  retell: readRetell,
  telnyx: readTelnyx,
  twilio: readTwilio,
  elevenlabs: readElevenlabs,
  bland: readBland,
  signalwire: readSignalwire,
}

export function createEventReader(data: EventReaderData): ReadEvent {
  return (platform, { body, query }) => {
    const parameters = new URLSearchParams(query)
    const found = parseBody(body, parameters)
    if (found.length === 0 || found.length > maxListed) return [unreadable]
    return found.map((fields) =>
      completeEvent(readers[platform]({ fields, query: parameters, data })),
    )
  }
}

const unreadable: CallEvent = {
  type: 'unreadable',
  kind: 'call',
  callIds: [],
  direction: 'unknown',
  utterances: [],
}

/** Each is worked on while the platform waits for an answer. */
const maxListed = 100

/** Several events may come as a list. An event without a body has its fields in the address. */
function parseBody(body: string, query: URLSearchParams): readonly JsonObject[] {
  const text = body.trim()
  if (/^[[{]/.test(text)) {
    const value = parseJson(text)
    return (Array.isArray(value) ? value : [value]).filter(isObject)
  }
  if (text !== '' && !text.includes('=')) return []
  const form = text === '' ? query : new URLSearchParams(text)
  const pairs = [...form].filter(([name]) => name !== '')
  // The first of several values counts.
  return pairs.length === 0 ? [] : [Object.fromEntries(pairs.reverse())]
}
