/** The probes of a server whose disk does not answer. */
import { execFileSync } from 'node:child_process'
import { createReadStream, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { createDatabaseCheck, createRecordsCheck } from '../../src/commands/serve/write-probe.js'
import { monotonicSeconds } from '../../src/runtime/runtime.js'
import { openTestCallgate } from '../support/test-callgate.js'

it('asks a database that hangs once, however often readiness is asked for', async () => {
  const { callgate, end } = await openTestCallgate()
  try {
    const hanging = () => new Promise<never>(() => undefined)
    const storage = {
      ...callgate.storage,
      checkFault: vi.fn(hanging),
      probeWrite: vi.fn(hanging),
    }
    const check = createDatabaseCheck({ ...callgate, storage })
    for (let answer = 0; answer < 3; answer += 1) await check()
    expect(storage.checkFault).toHaveBeenCalledOnce()
    expect(storage.probeWrite).toHaveBeenCalledOnce()
  } finally {
    await end()
  }
})

it('notices a journal that hangs after a call was allowed, while none comes', async () => {
  const { callgate, dataDir, end } = await openTestCallgate()
  const path = join(dataDir, 'journal', '.probe')
  try {
    const { recentCalls } = callgate
    const check = createRecordsCheck(callgate)
    expect(await check()).toMatchObject({ ready: true })
    recentCalls.allowedAtMs = monotonicSeconds() * 1000
    // Opening it waits for a reader.
    rmSync(path)
    execFileSync('mkfifo', [path])
    await expect
      .poll(async () => (await check()).detail)
      .toMatch(/^an append to the journal takes \d+ ms/)
    recentCalls.allowedAtMs = monotonicSeconds() * 1000
    expect(await check()).toMatchObject({ ready: true })
  } finally {
    createReadStream(path).on('error', () => undefined)
    await end()
  }
})
