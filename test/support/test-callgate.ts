/** The whole program over a temporary data folder, on a free port, at a clock that the test moves. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Callgate, openCallgate } from '../../src/app/callgate.js'
import { formatRules } from '../../src/app/configuration.js'
import { openHttpServer } from '../../src/commands/serve/http-server.js'
import { loadSettings } from '../../src/config/load.js'
import { serverAuthor } from '../../src/domain/caller.js'
import type { Clock, Instant } from '../../src/domain/time/clock.js'
import { keepRules } from '../../src/gate/journal/recovery/kept-rules.js'
import { createLogger } from '../../src/observability/log.js'
import { nodeRuntime, type Runtime } from '../../src/runtime/runtime.js'
import { writeMigratedDatabase } from './database.js'
import { engineVariablesOf } from './test-engine.js'

/** A Monday, noon in New York. */
export const mondayNoon = Date.UTC(2026, 10, 23, 17)

export interface TestCallgate {
  readonly callgate: Callgate
  readonly url: string
  readonly dataDir: string
  readonly clock: { at: Instant }
  /** Sets the clock back after records of a later time, and accepts it as an operator does. */
  setBack(at: Instant): Promise<void>
  readonly logLines: string[]
  readonly keys: { readonly main: string; readonly sandbox: string }
  get(path: string, key?: string): Promise<Response>
  postJson(path: string, body: unknown, key?: string): Promise<Response>
  /** Stops the program and leaves its data. */
  stop(): Promise<void>
  /** Stops the program and removes its data. */
  end(): Promise<void>
}

export interface TestCallgateOptions {
  readonly dataDir?: string
  readonly environment?: Readonly<Record<string, string>>
  readonly at?: Instant
}

/** A test that is not about time must not fail because its machine has other work. */
const patient = { CALLGATE_GATE_DEADLINE_MS: '3000' }

/** The caches are allocated at the start, and the default size takes longer than most cases. */
const smallCache = { CALLGATE_GATE_CACHE_MAX_ENTRIES: '1000' }

export async function openTestCallgate(options: TestCallgateOptions = {}): Promise<TestCallgate> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'callgate-test-'))
  const clock: Clock & { at: Instant } = {
    at: options.at ?? mondayNoon,
    now() {
      return this.at
    },
  }
  const logLines: string[] = []
  const world: Runtime = {
    ...nodeRuntime,
    clock,
    log: createLogger('debug', { write: (line) => void logLines.push(line) }),
    processMetrics: false,
  }
  const settings = loadSettings({
    environment: {
      ...smallCache,
      ...(options.environment?.CALLGATE_SOURCE_KIND !== 'remote' && patient),
      ...engineVariablesOf(dataDir),
      ...options.environment,
      CALLGATE_DATA_DIR: dataDir,
      CALLGATE_HTTP_PORT: '0',
    },
  })
  if (options.dataDir === undefined) await writeMigratedDatabase(dataDir)
  const callgate = await openCallgate(settings, world)
  keepRules(join(dataDir, 'journal'), formatRules(callgate.data.rules.document))
  await callgate.journal.open()
  const server = await openHttpServer(callgate)
  const keyOf = async (accountId: string) =>
    (await callgate.keys.create({ accountId, role: 'Administrator', label: 'test' })).key
  const keys = { main: await keyOf('main'), sandbox: await keyOf('sandbox') }
  const stop = async () => {
    // No request of a test is still on its way.
    await server.close(0)
    await callgate.close()
  }
  await leaveStart(server.url)
  const headers = (key: string) => ({ loginId: key })
  return {
    callgate,
    url: server.url,
    dataDir,
    clock,
    async setBack(to) {
      clock.at = to
      await callgate.changeHead.acceptClock(serverAuthor)
      await callgate.changeHead.refresh()
    },
    logLines,
    keys,
    get: (path, key = keys.sandbox) => fetch(`${server.url}${path}`, { headers: headers(key) }),
    postJson: (path, body, key = keys.sandbox) =>
      fetch(`${server.url}${path}`, {
        method: 'POST',
        headers: { ...headers(key), 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    stop,
    async end() {
      await stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/**
 * A request that comes while the process is still busy with its start counts from then. Here that is
 * the start of this very process, with its first request of all.
 */
async function leaveStart(url: string): Promise<void> {
  await (await fetch(`${url}/healthz`)).arrayBuffer()
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
