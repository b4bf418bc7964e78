/** Fails a test file that leaves a server listening or a process of its own running. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll } from 'vitest'

/** As `process.getActiveResourcesInfo` names them; timers are not among them, vitest has its own. */
const kinds: ReadonlySet<string> = new Set(['TCPServerWrap', 'ProcessWrap'])

/** What is closed is listed for a few turns of the loop more. */
const mostTurns = 50

const leftOpen = (): string[] => process.getActiveResourcesInfo().filter((kind) => kinds.has(kind))

// Hooks end in reverse order, so this one, being the first, runs after those of the test file.
afterAll(async () => {
  for (let turn = 0; turn < mostTurns && leftOpen().length > 0; turn += 1) await nextTurn()
  const left = leftOpen()
  if (left.length > 0) throw new Error(`the tests of this file left open: ${left.join(', ')}`)
})
