/** A gate over a provider as the program composes it, in virtual time, with settings as shipped. */

import type { QuestionName } from '../../src/domain/compliance.js'
import type { Decision, Policy } from '../../src/domain/decision.js'
import { silentLogger } from '../../src/runtime/runtime.js'
import type { CacheSettings } from '../../src/sources/cache/cache-entry.js'
import { CachedCompliance } from '../../src/sources/cache/cached-compliance.js'
import { RemoteCompliance } from '../../src/sources/remote/remote-compliance.js'
import { aCall, testGate, withoutJournal } from './test-gate.js'
import { type VirtualVendor, type VirtualVendorOptions, virtualVendor } from './virtual-vendor.js'

export const gateDeadlineMs = 1_500

/** Of every question. */
export const allowMs = 300_000
const blockMs = 3_600_000

export interface RemoteGateOptions extends VirtualVendorOptions {
  readonly policy?: Policy
  readonly staleForMs?: number
  readonly cache?: Partial<CacheSettings>
}

export interface RemoteGate {
  readonly vendor: VirtualVendor
  /** A call by a person to a number, decided at once, in virtual time. */
  decide(number: string): Promise<Decision>
  close(): Promise<void>
}

/** From 0 up to 1, the same each time for the same seed. */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export function remoteGate(options: RemoteGateOptions): RemoteGate {
  const { time, requestsPerMinute = 100, staleForMs = 0 } = options
  const vendor = virtualVendor(options)
  const question = (numbersPerRequest: number) => ({
    requestsPerMinute,
    numbersPerRequest,
    deadlineMs: 3_000,
  })
  const remote = new RemoteCompliance({
    name: 'vendor',
    addresses: {
      baseUrl: 'http://vendor.test',
      rpcUrl: 'http://vendor.test',
      monitorUrl: 'http://vendor.test',
      authUrl: 'http://vendor.test/oauth/token',
    },
    credentials: { kind: 'login-id', loginId: 'key' },
    limits: {
      coalesceMs: 5,
      maxQueued: 20_000,
      maxRequests: 8,
      retries: 2,
      circuitFailures: 5,
      circuitOpenMs: 5_000,
    },
    questions: {
      scrub: question(10_000),
      'internal-dnc': question(200),
      litigator: question(10_000),
      'legal-time': question(1_000),
    },
    clock: time,
    timers: time,
    random: seededRandom(1),
    observer: { onRequest: () => undefined, onCircuitChange: () => undefined },
    log: silentLogger,
    transport: vendor,
  })
  const compliance = new CachedCompliance(remote, {
    settings: {
      maxEntries: 10_000,
      allowMs,
      blockMs,
      refreshAheadMs: 60_000,
      ...options.cache,
    },
    staleForMs: ofEach(staleForMs),
    staleAfterMs: 1_000,
    timers: time,
    clock: time,
    observer: { countLookups: () => () => undefined, onAnswer: () => undefined },
  })
  const { gate } = testGate(compliance, {
    ...(options.policy && { policy: options.policy }),
    settings: { deadlineMs: gateDeadlineMs, maxPending: 2_000 },
    journal: withoutJournal,
    clock: time,
    timers: time,
    accountClock: time,
  })
  return {
    vendor,
    decide: (dialed) => gate.decide(aCall({ dialed })),
    close: () => remote.close(),
  }
}

function ofEach(value: number): Readonly<Record<QuestionName, number>> {
  return { scrub: value, 'internal-dnc': value, litigator: value, 'legal-time': value }
}

/** Different ordinary numbers of New York. */
export function numbersOfNewYork(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => String(2_122_000_000 + index))
}
