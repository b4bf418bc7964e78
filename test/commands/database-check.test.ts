/** The check `database` of a server whose database does not answer. */
import { expect, it, vi } from 'vitest'
import { createDatabaseCheck } from '../../src/commands/serve/write-probe.js'
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
