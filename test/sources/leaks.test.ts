/**
 * A hundred thousand decisions over a provider that fails in every way leave nothing behind: no
 * question, timer, socket or promise, and the heap where it was.
 */

import { setTimeout as pause } from 'node:timers/promises'
import { queryObjects, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fixedClock, systemTimers } from '../../src/domain/clock.js'
import { type Fault, faultKinds } from '../../src/fake-vendor/fault.js'
import { silentLogger } from '../../src/log.js'
import { CachedCompliance } from '../../src/sources/cached.js'
import { openRemote } from '../../src/sources/remote/remote.js'
import { noon } from '../support/fake-compliance.js'
import { seededRandom } from '../support/remote-gate.js'
import { aCall, testGate } from '../support/test-gate.js'
import { type VendorProcess, vendorProcess } from '../support/vendor-process.js'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const decisions = 100_000
const atOnce = 200

/** A few silent ones suffice; while one lasts every call waits for its deadline. */
const faults: readonly Fault[] = faultKinds.map(
  (kind) => ({ kind, chance: 0.3, ...(kind === 'slow' && { ms: 150 }) }) as Fault,
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

interface Round {
  readonly given: number
  readonly blocked: number
  readonly underWay: number
}

/** A provider's client from opening to closing, with a fault after another while calls come in. */
async function round(count: number, seed: number): Promise<Round> {
  const random = seededRandom(seed)
  const asked = { requestsPerMinute: 1_000_000, numbersPerRequest: 200, deadlineMs: 120 }
  const remote = openRemote({
    name: 'vendor',
    addresses: {
      ...{ baseUrl: vendor.url, rpcUrl: vendor.url, monitorUrl: vendor.url },
      authUrl: `${vendor.url}/oauth/token`,
    },
    credentials: { kind: 'login-id', loginId: vendor.loginId },
    limits: {
      ...{ coalesceMs: 2, maxQueued: 400, maxRequests: 8, retries: 2 },
      ...{ circuitFailures: 20, circuitOpenMs: 20 },
    },
    questions: { scrub: asked, 'internal-dnc': asked, litigator: asked, 'legal-time': asked },
    clock: fixedClock(noon),
    timers: systemTimers,
    random,
    watch: { requested: () => undefined, circuit: () => undefined },
    log: silentLogger,
  })
  const compliance = new CachedCompliance(remote, {
    settings: { maxEntries: 1_000, allowMs: 300_000, blockMs: 3_600_000, refreshAheadMs: 60_000 },
    staleForMs: { scrub: 0, 'internal-dnc': 0, litigator: 0, 'legal-time': 0 },
    staleAfterMs: 80,
    standardsMatter: false,
    timers: systemTimers,
    clockOf: () => fixedClock(noon),
    watch: { asked: () => undefined, answered: () => undefined },
  })
  const { gate } = testGate(compliance, { journal: undefined, settings: { deadlineMs: 100 } })
  let begun = 0
  let blocked = 0
  const caller = async (): Promise<void> => {
    while (begun < count) {
      begun += 1
      const dialed = `212${String(2_000_000 + Math.floor(random() * 7_000_000))}`
      const { decision } = await gate.decide(aCall({ dialed }))
      if (decision !== 'block') continue
      blocked += 1
      // A circuit that is open would take all calls before the next fault.
      await pause(20)
    }
  }
  const trouble = troubleUntil(() => begun >= count)
  await Promise.all(Array.from({ length: atOnce }, caller))
  await trouble
  await remote.close()
  return { given: begun, blocked, underWay: remote.underWay() }
}

async function troubleUntil(isOver: () => boolean): Promise<void> {
  for (let turn = 0; !isOver(); turn += 1) {
    await vendor.setFaults({ all: faults[turn % faults.length] ?? null })
    await pause(100)
    // Long enough for the circuits to close again.
    await vendor.setFaults({ all: null })
    await pause(300)
  }
  await vendor.setFaults({ all: null })
}

describe('a hundred thousand decisions with faults', () => {
  it('leave no timer, socket or promise, and the heap where it was', async () => {
    // What is compiled and loaded once is no leak.
    await round(5_000, 1)
    const before = await leftBehind()
    const { given, blocked, underWay } = await round(decisions, 2)
    const after = await leftBehind()
    const shown = (left: Left) =>
      `${left.timers} timers, ${left.sockets} sockets, ${left.promises} promises, ` +
      `${left.heapMb.toFixed(1)} MB`
    process.stdout.write(
      `${given} decisions, ${blocked} blocked; before: ${shown(before)}; after: ${shown(after)}\n`,
    )
    expect([given, underWay]).toEqual([decisions, 0])
    // Faults struck, and not every call.
    expect(blocked).toBeGreaterThan(decisions / 10)
    expect(blocked).toBeLessThan(decisions * 0.9)
    expect(after.timers).toBeLessThanOrEqual(before.timers)
    expect(after.sockets).toBeLessThanOrEqual(before.sockets)
    expect(after.promises).toBeLessThanOrEqual(before.promises + 50)
    expect(after.heapMb).toBeLessThan(before.heapMb + 2)
  }, 240_000)
})
