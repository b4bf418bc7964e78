/** Reads events with the shipped tables. */
import { readCallOutcomes } from '../../src/data/files/call-outcomes.js'
import { readOptOutSignals } from '../../src/data/files/opt-out-signals.js'
import type { CallEvent, PlatformName } from '../../src/platform-events/call-event.js'
import { createEventReader } from '../../src/platform-events/read-event.js'
import type { EventFields } from '../support/call-scripts.js'

export const outcomes = readCallOutcomes('config/call-outcomes.yaml')
const signals = readOptOutSignals('config/opt-out-signals.yaml')
export const readEvents = createEventReader({ outcomes, signals })

/** The called person, and our own number. */
export const person = '+12125550106'
export const own = '+12125550199'

export function read(platform: PlatformName, body: EventFields, query = ''): CallEvent {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const [event, ...more] = readEvents(platform, { body: text, query })
  if (event === undefined || more.length > 0) throw new Error('must be one event')
  return event
}

export function wordsOf(event: CallEvent): string {
  return event.utterances
    .flatMap(({ speaker, text }) => (speaker === 'person' ? [text] : []))
    .join(' ')
}
