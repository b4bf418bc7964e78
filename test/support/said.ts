/** What is said of a call, for tests that do not care for what exactly. */
import type { Said } from '../../src/domain/words/words.js'

/** That a source failed, and what it said. */
export function quoted(quote: string): readonly Said[] {
  return [{ code: 'source-failed', quote }]
}
