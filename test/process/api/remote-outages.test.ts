/** A provider that fails, seen from outside: decisions, readiness, metrics, and that all heals. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openCallgate } from '../../../src/app/callgate.js'
import { openHttpServer } from '../../../src/commands/serve/http-server.js'
import { loadSettings } from '../../../src/config/load.js'
import { questionNames } from '../../../src/domain/compliance.js'
import type { Timers } from '../../../src/domain/time/clock.js'
import { describeSaid } from '../../../src/domain/words/words.js'
import { openFakeVendor } from '../../../src/fake-vendor/fake-vendor.js'
import { type Fault, type FaultKind, faultKinds } from '../../../src/fake-vendor/fault.js'
import { nodeRuntime, systemTimers } from '../../../src/runtime/runtime.js'
import { useTempFolder } from '../../data/temp-folder.js'
import {
  findingOf,
  ofEachQuestion,
  openRemoteCallgate,
  type RemoteCallgate,
  withRemoteCallgate,
} from '../../support/remote-callgate.js'
import { mondayNoon } from '../../support/test-callgate.js'

/** A circuit that opens and closes again within a test. */
const impatient = {
  ...ofEachQuestion('DEADLINE_MS', '300'),
  RETRIES: '0',
  CIRCUIT_FAILURES: '2',
  CIRCUIT_OPEN_MS: '150',
}

/** Behind these the right answer still comes, at once or within the deadline. */
const harmless: ReadonlySet<FaultKind> = new Set([
  ...(['slow', 'slow-body', 'stale-keepalive', 'wrapped', 'wrapped-each'] as const),
  // Of one number each there is no other order.
  'out-of-order',
])

function faultOf(kind: FaultKind): Fault {
  if (kind === 'slow' || kind === 'slow-body') return { kind, ms: 20 }
  return kind === 'rate-limited' ? { kind, retryAfterSeconds: 1 } : ({ kind } as Fault)
}

let nextLine = 0
/** A number that nobody has been asked about. */
const freshNumber = () => String(2_127_360_000 + nextLine++)

describe('a vendor with a fault', () => {
  /** Each case leaves them healed for the next. */
  let hasty: RemoteCallgate
  let patient: RemoteCallgate
  beforeAll(async () => {
    hasty = await openRemoteCallgate({ provider: impatient })
    patient = await openRemoteCallgate({
      provider: { ...impatient, ...ofEachQuestion('DEADLINE_MS', '1400') },
    })
  })
  afterAll(async () => {
    await hasty.end()
    await patient.end()
  })

  it.each(faultKinds)(
    '%s: the call is blocked, unless the answer is right, and it heals',
    async (kind) => {
      const isHarmless = harmless.has(kind)
      const { decide, vendor, sourceReady } = isHarmless ? patient : hasty
      vendor.setFault('all', faultOf(kind))
      for (let call = 0; call < 3; call += 1) {
        const decision = await decide(freshNumber())
        expect(decision.reason).toBe(isHarmless ? 'permitted' : 'check-unanswered')
        expect(decision.degraded).toEqual([])
        const unknown = decision.findings.filter(({ verdict }) => verdict === 'unknown')
        expect(unknown).toHaveLength(isHarmless ? 0 : 4)
        expect(new Set(unknown.map(({ source }) => source))).toEqual(
          new Set(isHarmless ? [] : ['acme']),
        )
      }
      expect(await sourceReady()).toMatch(/^acme is /)
      vendor.setFault('all', undefined)
      const asked = async () => (await decide(freshNumber())).reason
      await expect.poll(asked).toBe('permitted')
      await expect.poll(sourceReady).toBe('acme is in use')
    },
  )
})

/** One fault of each outcome; `fault-matrix.test.ts` has the others for every question and policy. */
describe('a vendor that fails once', () => {
  it.each([
    ['server-error', 'permitted'],
    ['garbage', 'check-unanswered'],
    ['missing-row', 'check-unanswered'],
    ['unauthorized', 'check-unanswered'],
  ] as const)('%s: what may pass is asked again within the call: %s', async (kind, reason) => {
    await withRemoteCallgate({}, async ({ decide, vendor }) => {
      for (const question of questionNames) vendor.setFault(question, { kind, times: 1 })
      expect((await decide(freshNumber())).reason).toBe(reason)
      expect((await decide(freshNumber())).reason).toBe('permitted')
    })
  })
})

describe('one question of four that fails', () => {
  const checks = {
    scrub: 'permission',
    'internal-dnc': 'internal-dnc',
    litigator: 'litigator',
    'legal-time': 'calling-hours',
  } as const
  it.each(questionNames)('%s: its check alone is unknown', async (question) => {
    await withRemoteCallgate({ provider: impatient }, async ({ decide, vendor, sourceReady }) => {
      vendor.setFault(question, { kind: 'server-error' })
      const decision = await decide(freshNumber())
      const unknown = decision.findings.filter(({ verdict }) => verdict === 'unknown')
      expect(decision.reason).toBe('check-unanswered')
      expect(unknown.map(({ check }) => check)).toEqual([checks[question]])
      await decide(freshNumber())
      expect(await sourceReady()).toBe(`acme is not asked for ${question} (answered 503)`)
    })
  })
})

describe('a vendor in an outage', () => {
  let remote: RemoteCallgate
  beforeAll(async () => {
    // The circuit stays open while a slow machine looks at it.
    remote = await openRemoteCallgate({ provider: { ...impatient, CIRCUIT_OPEN_MS: '3000' } })
  })
  afterAll(() => remote.end())

  it('is counted and named while it lasts, and no more after it', async () => {
    const { decide, vendor, metrics, sourceReady } = remote
    const kept = '2125550106'
    expect((await decide(kept)).reason).toBe('permitted')
    vendor.setFault('all', { kind: 'silent' })
    expect(findingOf(await decide(freshNumber()), 'litigator')).toMatchObject({
      verdict: 'unknown',
      source: 'acme',
      says: [{ code: 'deadline', quote: 'no answer within 300 ms' }],
    })
    await decide(freshNumber())
    // The call stops waiting a little before the request is given up.
    await expect
      .poll(sourceReady)
      .toBe(
        `acme is not asked for ${questionNames
          .map((name) => `${name} (no reply within 300 ms)`)
          .join(', ')}`,
      )
    const left = await decide(freshNumber())
    expect(findingOf(left, 'permission').says).toEqual([
      {
        code: 'circuit-open',
        quote: 'requests are paused after repeated failures: no reply within 300 ms',
      },
    ])
    expect((await decide(kept)).reason).toBe('permitted')
    const during = await metrics()
    for (const question of questionNames) {
      const of = `source="acme",question="${question}"`
      expect(during).toContain(`callgate_source_requests_total{${of},outcome="answered"} 1`)
      expect(during).toContain(`callgate_source_requests_total{${of},outcome="deadline"} 2`)
      expect(during).toContain(`callgate_source_circuit_open{${of}} 1`)
      const cache = `callgate_cache_requests_total{source="remote",question="${question}"`
      // One more for each time that readiness has judged the last call again.
      expect(during).toMatch(new RegExp(`${cache},result="miss"\\} [4-9]`))
      expect(during).toContain(`${cache},result="hit"} 1`)
    }
    expect(
      remote.logLines.filter((line) => line.includes('requests to a provider are paused')),
    ).toHaveLength(4)

    vendor.reset()
    const asked = async () => (await decide(freshNumber())).reason
    await expect.poll(asked).toBe('permitted')
    const after = await metrics()
    for (const question of questionNames) {
      expect(after).toContain(
        `callgate_source_circuit_open{source="acme",question="${question}"} 0`,
      )
    }
    expect(await sourceReady()).toBe('acme is in use')
  })

  it('that is down is found again at its address', async () => {
    const { decide, vendor } = remote
    await vendor.close()
    const down = await decide(freshNumber())
    expect(down.reason).toBe('check-unanswered')
    expect(describeSaid(findingOf(down, 'permission').says)).toContain('ECONNREFUSED')
    const { port, loginId } = vendor
    const again = await openFakeVendor({ port, loginId, at: mondayNoon })
    try {
      const asked = async () => (await decide(freshNumber())).reason
      await expect.poll(asked).toBe('permitted')
    } finally {
      await again.close()
    }
  })
})

describe('the time for a decision', () => {
  const folder = useTempFolder()
  /** Opens the program over the machine's timers and notes for how long it waits for anything. */
  async function waits(environment: Readonly<Record<string, string>>): Promise<readonly number[]> {
    const noted: number[] = []
    const timers: Timers = {
      monotonicMs: () => 0,
      after(ms, run) {
        noted.push(ms)
        return systemTimers.after(ms, run)
      },
    }
    const settings = loadSettings({
      environment: {
        ...environment,
        CALLGATE_DATA_DIR: folder.path,
        CALLGATE_HTTP_PORT: '0',
      },
    })
    const callgate = await openCallgate(settings, { ...nodeRuntime, timers, processMetrics: false })
    const server = await openHttpServer(callgate)
    try {
      const dialed = freshNumber()
      const call = { accountId: 'main', dialed, callKind: 'manual', via: 'http' } as const
      await callgate.gate.decide(call)
    } finally {
      await server.close()
      await callgate.close()
    }
    return noted
  }

  it('is 1500 ms with a provider: one that takes 600 ms answers a cold call', async () => {
    await withRemoteCallgate({ vendor: { latencyMs: 600 } }, async ({ decide }) => {
      expect((await decide('2125550106', { callKind: 'ai' })).reason).toBe('permitted')
    })
  })

  it('is over for a silent provider, whose answer is unknown then', async () => {
    await withRemoteCallgate({}, async ({ decide, vendor }) => {
      vendor.setFault('scrub', { kind: 'silent' })
      const decision = await decide(freshNumber())
      expect(decision).toMatchObject({ decision: 'block', reason: 'check-unanswered' })
      expect(findingOf(decision, 'permission')).toMatchObject({
        verdict: 'unknown',
        detail: expect.stringMatching(/^not answered within 13[0-5]\d ms$/),
        source: 'gate',
      })
      expect(findingOf(decision, 'litigator').verdict).toBe('pass')
    })
  })

  it('is 250 ms without one, and as the settings say', async () => {
    // Nine tenths of it are for the checks; the rest is for the record.
    expect(await waits({})).toContain(225)
    const own = await waits({ CALLGATE_GATE_DEADLINE_MS: '780' })
    expect(own).toContain(702)
  })

  it('may be shorter than the provider takes: the answer is there for the next call', async () => {
    // Long enough for a busy machine to decide by cached answers.
    const environment = { CALLGATE_GATE_DEADLINE_MS: '600' }
    await withRemoteCallgate({ vendor: { latencyMs: 1_200 }, environment }, async ({ decide }) => {
      expect((await decide('2125550106')).reason).toBe('check-unanswered')
      const asked = async () => (await decide('2125550106')).reason
      await expect.poll(asked, { interval: 100 }).toBe('permitted')
    })
  })
})
