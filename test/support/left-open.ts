/** Fails a test file that leaves a server listening or a process of its own running. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll } from 'vitest'
import { killChildren } from '../../scripts/children.mjs'
import { closeAll } from './close-at-end.js'

/** As `process.getActiveResourcesInfo` names them; timers are not among them, vitest has its own. */
const kinds: ReadonlySet<string> = new Set(['TCPServerWrap', 'ProcessWrap'])

/** What is closed is listed until its last connection is gone, and a few turns of the loop more. */
const maxWaitMs = 5_000

const leftOpen = (): string[] => process.getActiveResourcesInfo().filter((kind) => kinds.has(kind))

let openBefore = 0

// Files share a process, so a file answers for what it opened itself.
beforeAll(() => {
  openBefore = leftOpen().length
})

// Hooks end in reverse order, so this one, being the first, runs after those of the test file.
afterAll(async () => {
  await closeAll()
  const giveUpAt = performance.now() + maxWaitMs
  while (leftOpen().length > openBefore && performance.now() < giveUpAt) await nextTurn()
  const left = leftOpen()
  killChildren()
  if (left.length > openBefore) {
    throw new Error(`the tests of this file left open: ${left.slice(openBefore).join(', ')}`)
  }
})
