/** Warnings beside an answer whose body has a published form: one header, for people to read. */
import type { Reply } from './endpoint.js'

export const warningHeader = 'X-Callgate-Warning'
const maxShown = 5

/** For the description of an endpoint. */
export const warningReplyHeader: Readonly<Record<string, string>> = {
  [warningHeader]:
    `Records that were stored and cannot act, or were ended by an opt-out, and why: at most ` +
    `${maxShown}, separated by " | ", then how many more; absent where there are none`,
}

/** The header with the first warnings and the number of the others; nothing without any. */
export function warningHeaders(warnings: readonly string[]): NonNullable<Reply['headers']> {
  if (warnings.length === 0) return {}
  const more = warnings.length - maxShown
  const shown = warnings.slice(0, maxShown)
  const texts = more > 0 ? [...shown, `and ${more} more`] : shown
  return { [warningHeader]: texts.join(' | ') }
}
