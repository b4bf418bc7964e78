/** Apart from the other dates, since loading luxon takes longer than what some threads and commands do. */
import { DateTime } from 'luxon'
import type { Instant } from './clock.js'

/** Parses the date of an HTTP header in any form of RFC 9110, section 5.6.7; `undefined` for anything else. */
export function parseHttpDate(text: string): Instant | undefined {
  const date = DateTime.fromHTTP(text, { zone: 'utc' })
  return date.isValid ? date.toMillis() : undefined
}
