/** Fails a test file that leaves a server listening or a process of its own running, unless one of its tests failed. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { killChildren, livingChildren } from '../../scripts/children.mjs'
import { closeAll } from './close-at-end.js'

/** As `process.getActiveResourcesInfo` names them; timers are not among them, vitest has its own. */
const kinds: ReadonlySet<string> = new Set(['TCPServerWrap', 'ProcessWrap'])

/** What is closed is listed until its last connection is gone, and a moment more. */
const maxWaitMs = 5_000

const leftOpen = (): string[] => process.getActiveResourcesInfo().filter((kind) => kinds.has(kind))

let openBefore = 0
let aTryFailed = false

// Files share a process, so a file answers for what it opened itself.
beforeAll(() => {
  openBefore = leftOpen().length
})

// A try that fails ends before it closes what it opened, which would disturb the next try and the tests after it.
beforeEach(({ onTestFailed }) => {
  const startedBefore = livingChildren()
  onTestFailed(() => {
    aTryFailed = true
    killChildren(startedBefore)
  })
})

// Hooks end in reverse order, so this one, being the first, runs after those of the test file.
afterAll(async () => {
  await closeAll()
  const giveUpAt = performance.now() + maxWaitMs
  while (leftOpen().length > openBefore && performance.now() < giveUpAt) await sleep(1)
  const left = leftOpen()
  killChildren()
  if (left.length > openBefore && !aTryFailed) {
    throw new Error(`the tests of this file left open: ${left.slice(openBefore).join(', ')}`)
  }
})
