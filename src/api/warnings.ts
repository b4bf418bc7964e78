/** Human-readable warnings, sent in a header since the body has a published form. */
import type { Reply } from './endpoint.js'

export const warningHeader = 'X-Callgate-Warning'
const maxShown = 5

/** The header in the description of an endpoint. */
export const warningReplyHeader: Readonly<Record<string, string>> = {
  [warningHeader]:
    `Records that were stored but have no effect, or were ended by an opt-out, and postal codes that are ignored: at most ` +
    `${maxShown}, separated by " | ", then how many more; absent when there are none`,
}

/** The header with the first warnings and the number of the others; empty without warnings. */
export function createWarningHeaders(warnings: readonly string[]): NonNullable<Reply['headers']> {
  if (warnings.length === 0) return {}
  const more = warnings.length - maxShown
  const shown = warnings.slice(0, maxShown)
  const texts = more > 0 ? [...shown, `and ${more} more`] : shown
  return { [warningHeader]: texts.join(' | ') }
}
