/** A provider over HTTP, where the provider is another callgate in a process of its own. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { fixedClock, type Instant } from '../../../src/domain/time/clock.js'
import { formatInstant } from '../../../src/domain/time/dates.js'
import { systemTimers } from '../../../src/runtime/runtime.js'
import { RemoteCompliance } from '../../../src/sources/remote/remote-compliance.js'
import { complianceContract } from '../../contract/compliance.contract.js'
import { fakeProvider } from '../../support/fake-provider.js'
import { type Serving, serve } from '../../support/program.js'

/** The contract only reads: one server for each instant serves all its cases. */
const servers = new Map<Instant, Promise<Serving>>()
const folders: string[] = []

function serverAt(at: Instant): Promise<Serving> {
  const known = servers.get(at)
  if (known) return known
  const folder = mkdtempSync(join(tmpdir(), 'callgate-provider-'))
  folders.push(folder)
  const started = serve({
    CALLGATE_DATA_DIR: folder,
    CALLGATE_SANDBOX_AT: formatInstant(at),
  })
  servers.set(at, started)
  return started
}

afterAll(async () => {
  for (const started of servers.values()) await (await started).end('SIGTERM')
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

complianceContract('a callgate in another process', async (sandboxAt) => {
  const { url, keys } = await serverAt(sandboxAt)
  const { options } = fakeProvider({
    question: { requestsPerMinute: 100_000, deadlineMs: 10_000 },
    limits: { coalesceMs: 0 },
  })
  const compliance = new RemoteCompliance({
    ...options,
    transport: undefined,
    timers: systemTimers,
    clock: fixedClock(sandboxAt),
    credentials: { kind: 'login-id', loginId: keys.sandbox },
    addresses: { baseUrl: url, rpcUrl: url, monitorUrl: url, authUrl: `${url}/oauth/token` },
  })
  return { compliance, close: () => compliance.close() }
})
