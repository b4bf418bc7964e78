/** The journal while its writer waits for a disk. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { fakeCompliance, noon } from '../../support/fake-compliance.js'
import { recordsIn } from '../../support/journal.js'
import { aCall, testGate } from '../../support/test-gate.js'
import { testJournal } from '../../support/test-journal.js'

/** What a write waits for. */
let disk: Promise<void> = Promise.resolve()

vi.mock('../../../src/runtime/thread.js', async (load) => {
  const real = await load<typeof import('../../../src/runtime/thread.js')>()
  const startThread: typeof real.startThread = (work, options) => {
    const thread = real.startThread(work, options)
    return {
      ask: (request) => disk.then(() => thread.ask(request)),
      close: () => thread.close(),
      terminate: () => thread.terminate(),
    }
  }
  return { ...real, startThread }
})

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-journal-'))
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

it('writes an outcome without a further decision, also after a flush that took long', async () => {
  const { journal } = testJournal(dataDir, () => noon)
  await journal.open()
  const decision = await testGate(fakeCompliance()).gate.decide(aCall())
  let release = () => {}
  disk = new Promise((resolve) => {
    release = resolve
  })
  const written = new Promise<void>((resolve) => journal.append(decision, () => resolve()))
  await nextTurn()
  await nextTurn()
  journal.record(decision.id, { state: 'handed-over', handedOverAt: noon }, true)
  // Longer than an outcome waits for a flush of its own.
  await pause(200)
  release()
  await written
  await expect.poll(() => journal.waitingCount).toBe(0)
  await nextTurn()
  journal.record(decision.id, { state: 'answered', answeredAt: noon }, true)
  await expect.poll(() => recordsIn(dataDir).length).toBe(4)
  await journal.close()
})
