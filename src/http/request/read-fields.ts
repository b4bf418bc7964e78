/**
 * The fields of the address, and how fields from several places are joined. Which fields an endpoint
 * knows and what they must hold is judged by its schema.
 */
import type { IncomingMessage } from 'node:http'
import { columnField } from '../../api/records/ebr-record.js'
import { mergeRepeatedValues } from '../../api/unknown-fields.js'
import { invalidRequest, truncate } from '../../errors.js'
import { FormFields, joinedRecords } from './form-fields.js'

/** Names as given; a value is text unless it came as JSON. */
export type RawFields = Readonly<Record<string, unknown>>

/**
 * A field that is given twice is refused, or is read once if its values are equal or all but one are
 * empty.
 */
export type RepeatPolicy = 'refused' | 'equal'

/** The fields after the `?`, name by name, repeated ones included. */
export function queryPairs(request: IncomingMessage): Iterable<readonly [string, string]> {
  return new URLSearchParams((request.url ?? '').split('?').slice(1).join('?'))
}

/** The fields after the `?`. */
export function readQuery(request: IncomingMessage, repeats: RepeatPolicy = 'refused'): RawFields {
  const address = request.url ?? ''
  const start = address.indexOf('?')
  if (start === -1) return {}
  const found = new FormFields()
  for (const [name, value] of urlencodedPairs(address.slice(start + 1))) found.add(name, value)
  return collectFields(found.pairs(), repeats)
}

/** Characters of a form that are parsed in one go. */
const pieceLength = 4_096

export function* urlencodedPairs(text: string): Generator<readonly [string, string]> {
  for (let start = 0; start < text.length; ) {
    const separator = text.indexOf('&', start + pieceLength)
    const end = separator === -1 ? text.length : separator
    yield* new URLSearchParams(text.slice(start, end))
    start = end
  }
}

/** Joins fields from several places. */
export function mergeFields(
  parts: readonly RawFields[],
  repeats: RepeatPolicy = 'refused',
): RawFields {
  return collectFields(
    parts.flatMap((part) => Object.entries(part)),
    repeats,
  )
}

export function collectFields(
  pairs: Iterable<readonly [string, unknown]>,
  repeats: RepeatPolicy,
): RawFields {
  const found = new Map<string, unknown>()
  for (const [name, value] of pairs) {
    const join = name === columnField ? joinedRecords : mergeRepeatedValues
    const counted = found.has(name) ? join(found.get(name), value) : { value }
    // Clients send the key in several places. Equal values are one key.
    const mayRepeat = repeats === 'equal' || name.toLowerCase() === 'loginid'
    if (!counted || (!mayRepeat && found.has(name))) {
      throw invalidRequest([{ field: truncate(name), rule: 'is given twice' }])
    }
    found.set(name, counted.value)
  }
  return Object.fromEntries(found)
}
