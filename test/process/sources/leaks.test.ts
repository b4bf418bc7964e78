/**
 * Ten thousands of decisions over a provider that fails in every way leave nothing behind: no
 * question, timer, socket or promise, and the heap where it was.
 */

import { setTimeout as pause } from 'node:timers/promises'
import { queryObjects, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '../../../src/domain/time/clock.js'
import { type Fault, faultKinds } from '../../../src/fake-vendor/fault.js'
import type { Gate } from '../../../src/gate/gate.js'
import { silentLogger, systemTimers } from '../../../src/runtime/runtime.js'
import { CachedCompliance } from '../../../src/sources/cache/cached-compliance.js'
import { RemoteCompliance } from '../../../src/sources/remote/remote-compliance.js'
import { noon } from '../../support/fake-compliance.js'
import { shortOrLong } from '../../support/long.js'
import { seededRandom } from '../../support/remote-gate.js'
import { aCall, testGate, withoutJournal } from '../../support/test-gate.js'
import { type VendorProcess, vendorProcess } from '../../support/vendor-process.js'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const decisions = shortOrLong(30_000, 100_000)
const atOnce = 200

/** A limit that does not say when it ends stops all questions for a minute, longer than the test. */
const parameters: Readonly<Record<string, object>> = {
  slow: { ms: 150 },
  'rate-limited': { retryAfterSeconds: 0 },
}
/** A few silent ones suffice; while one lasts every call waits for its deadline. */
const faults: readonly Fault[] = faultKinds.map(
  (kind) => ({ kind, chance: 0.3, ...parameters[kind] }) as Fault,
)

interface Left {
  readonly timers: number
  readonly sockets: number
  readonly promises: number
  readonly heapMb: number
}

/** What is alive after a collection; what has been closed is listed for a few turns more. */
async function leftBehind(): Promise<Left> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  collectGarbage()
  const active = process.getActiveResourcesInfo()
  return {
    timers: active.filter((kind) => kind === 'Timeout').length,
    sockets: active.filter((kind) => kind === 'TCPSocketWrap').length,
    promises: queryObjects(Promise, { format: 'count' }),
    heapMb: process.memoryUsage().heapUsed / 2 ** 20,
  }
}

let vendor: VendorProcess
beforeAll(async () => {
  vendor = await vendorProcess('--at', '2026-11-23T17:00:00Z')
})
afterAll(() => vendor.end())

/** A client, its cache and a gate over them, whose clock moves on quickly. */
function openGate() {
  const begun = systemTimers.monotonicMs()
  // A minute passes in a second, so that answers age while the test lasts, and the evening does not come.
  const clock: Clock = { now: () => noon + (systemTimers.monotonicMs() - begun) * 60 }
  const asked = { requestsPerMinute: 1_000_000, numbersPerRequest: 200, deadlineMs: 120 }
  const remote = new RemoteCompliance({
    name: 'vendor',
    addresses: {
      baseUrl: vendor.url,
      rpcUrl: vendor.url,
      monitorUrl: vendor.url,
      authUrl: `${vendor.url}/oauth/token`,
    },
    credentials: { kind: 'login-id', loginId: vendor.loginId },
    limits: {
      coalesceMs: 2,
      maxQueued: 400,
      maxRequests: 8,
      retries: 2,
      circuitFailures: 20,
      circuitOpenMs: 20,
    },
    questions: { scrub: asked, 'internal-dnc': asked, litigator: asked, 'legal-time': asked },
    clock,
    timers: systemTimers,
    random: seededRandom(2),
    observer: { onRequest: () => undefined, onCircuitChange: () => undefined },
    log: silentLogger,
  })
  const stale = 60_000
  const compliance = new CachedCompliance(remote, {
    settings: { maxEntries: 2_000, allowMs: 30_000, blockMs: 30_000, refreshAheadMs: 6_000 },
    staleForMs: { scrub: stale, 'internal-dnc': stale, litigator: stale, 'legal-time': stale },
    staleAfterMs: 80,
    timers: systemTimers,
    clock,
    observer: { countLookups: () => () => undefined, onAnswer: () => undefined },
  })
  const more = {
    journal: withoutJournal,
    clock,
    accountClock: clock,
    settings: { deadlineMs: 100 },
  }
  return { remote, gate: testGate(compliance, more).gate }
}

interface Round {
  readonly given: number
  readonly blocked: number
  readonly degraded: number
}

/** Calls to a few thousand numbers, more than the cache keeps, with one fault after another. */
async function round(gate: Gate, count: number): Promise<Round> {
  const random = seededRandom(count)
  let begun = 0
  let blocked = 0
  let degraded = 0
  const caller = async (): Promise<void> => {
    while (begun < count) {
      begun += 1
      const dialed = `212736${String(Math.floor(random() * 3_000)).padStart(4, '0')}`
      const { decision, effects } = await gate.decide(aCall({ dialed }))
      degraded += effects.length
      if (decision !== 'block') continue
      blocked += 1
      // A circuit that is open would take all calls before the next fault.
      await pause(20)
    }
  }
  const trouble = troubleUntil(() => begun >= count)
  await Promise.all(Array.from({ length: atOnce }, caller))
  await trouble
  return { given: begun, blocked, degraded }
}

async function troubleUntil(isOver: () => boolean): Promise<void> {
  for (let turn = 0; !isOver(); turn += 1) {
    await vendor.setFaults({ all: faults[turn % faults.length] ?? null })
    await pause(100)
    // Long enough for the circuits to close again.
    await vendor.setFaults({ all: null })
    await pause(300)
  }
}

const shown = (left: Left) =>
  `${left.timers} timers, ${left.sockets} sockets, ${left.promises} promises, ` +
  `${left.heapMb.toFixed(1)} MB`

describe(`${decisions} decisions with faults`, () => {
  it('leave no timer, socket or promise, and the heap where it was', async () => {
    const unopened = await leftBehind()
    const { remote, gate } = openGate()
    // The cache fills, and what is compiled and loaded once is no leak.
    await round(gate, 30_000)
    await quiet(remote)
    const before = await leftBehind()
    const { given, blocked, degraded } = await round(gate, decisions)
    await quiet(remote)
    const after = await leftBehind()
    await remote.close()
    const closed = await leftBehind()
    process.stdout.write(
      `${given} decisions, ${blocked} blocked, ${degraded} stale answers; ` +
        `open before: ${shown(before)}; after: ${shown(after)}; closed: ${shown(closed)}\n`,
    )
    expect(given).toBe(decisions)
    // Faults struck, and not every call.
    expect(blocked).toBeGreaterThan(decisions / 100)
    expect(blocked).toBeLessThan(decisions)
    expect(after.promises).toBeLessThanOrEqual(before.promises + 100)
    expect(after.heapMb).toBeLessThan(before.heapMb + 2)
    expect(closed.timers).toBeLessThanOrEqual(unopened.timers)
    expect(closed.sockets).toBeLessThanOrEqual(unopened.sockets)
    expect(closed.promises).toBeLessThanOrEqual(unopened.promises + 100)
  }, 240_000)
})

/** Until every question has been answered and idle connections are the only ones. */
async function quiet(remote: RemoteCompliance): Promise<void> {
  while (remote.countPending() > 0) await pause(20)
}
