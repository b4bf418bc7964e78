/**
 * Every fault of a provider x every question x every policy, over real sockets, at 200 decisions a
 * second: the exact decision, and within the gate's deadline. The table is printed.
 */

import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type Compliance,
  type QuestionName,
  questionNames,
} from '../../../src/domain/compliance.js'
import type { CheckName, CheckPolicy, Decision, Policy } from '../../../src/domain/decision.js'
import { type Clock, fixedClock } from '../../../src/domain/time/clock.js'
import { describeSaid } from '../../../src/domain/words/words.js'
import { type FakeVendor, openFakeVendor } from '../../../src/fake-vendor/fake-vendor.js'
import { type Fault, type FaultKind, faultKinds } from '../../../src/fake-vendor/fault.js'
import type { Gate } from '../../../src/gate/gate.js'
import { silentLogger, systemTimers } from '../../../src/runtime/runtime.js'
import { CachedCompliance } from '../../../src/sources/cache/cached-compliance.js'
import { RemoteCompliance } from '../../../src/sources/remote/remote-compliance.js'
import { noon } from '../../support/fake-compliance.js'
import { strictPolicy } from '../../support/strict-policy.js'
import { aCall, testGate, withoutJournal } from '../../support/test-gate.js'

/** Nine tenths are for the checks. */
const deadlineMs = 600
const graceMs = 50
/** A machine that makes this thread wait longer than that may make answers late. */
const mostWaitMs = 10
/** Two at a time every 10 ms: 200 a second, and rows that can be taken for one another. */
const pairs = 20
const betweenPairsMs = 10
const until = noon + 3_600_000

const policies = {
  block: { mode: 'enforce' },
  allow: { mode: 'enforce', allowUnknown: { reason: 'outage, signed off', until } },
  shadow: { mode: 'shadow' },
  /** Over a cache whose answers are past their age, and may permit for an hour longer. */
  stale: { mode: 'enforce' },
} as const satisfies Readonly<Record<string, CheckPolicy>>
type PolicyName = keyof typeof policies
const policyNames = Object.keys(policies) as readonly PolicyName[]

interface Row {
  readonly name: string
  readonly fault: Fault
  /** Whether the questions are answered all the same, and so every policy allows. */
  readonly answered: boolean
}

const harmless: ReadonlySet<FaultKind> = new Set(['stale-keepalive', 'wrapped', 'wrapped-each'])

function faultOf(kind: FaultKind): Fault {
  return kind === 'slow' ? { kind, ms: 2_000 } : ({ kind } as Fault)
}

const rows: readonly Row[] = [
  ...faultKinds.map((kind) => ({
    name: kind,
    fault: faultOf(kind),
    answered: harmless.has(kind),
  })),
  { name: 'slow, 50 ms', fault: { kind: 'slow', ms: 50 }, answered: true },
  { name: 'slow-body, 50 ms', fault: { kind: 'slow-body', ms: 50 }, answered: true },
  { name: 'reset, once', fault: { kind: 'reset', times: 1 }, answered: true },
  { name: 'hang-up, once', fault: { kind: 'hang-up', times: 1 }, answered: true },
  { name: 'server-error, once', fault: { kind: 'server-error', times: 1 }, answered: true },
  { name: 'half-closed, once', fault: { kind: 'half-closed', times: 1 }, answered: true },
]

const checkOf: Readonly<Record<QuestionName, CheckName>> = {
  scrub: 'permission',
  'internal-dnc': 'internal-dnc',
  litigator: 'litigator',
  'legal-time': 'calling-hours',
}

let vendor: FakeVendor
beforeAll(async () => {
  vendor = await openFakeVendor({ at: noon })
})
afterAll(() => vendor.close())

/** A provider's client of its own for each cell, so that no cell feels the circuit of another. */
function openProvider(): RemoteCompliance {
  const asked = { requestsPerMinute: 60_000, numbersPerRequest: 500, deadlineMs: 1_000 }
  return new RemoteCompliance({
    name: 'vendor',
    addresses: {
      baseUrl: vendor.url,
      rpcUrl: vendor.url,
      monitorUrl: vendor.url,
      authUrl: vendor.authUrl,
    },
    credentials: { kind: 'login-id', loginId: vendor.loginId },
    limits: {
      coalesceMs: 5,
      maxQueued: 1_000,
      maxRequests: 8,
      retries: 2,
      circuitFailures: 5,
      circuitOpenMs: 1_000,
    },
    questions: { scrub: asked, 'internal-dnc': asked, litigator: asked, 'legal-time': asked },
    clock: fixedClock(noon),
    timers: systemTimers,
    random: () => 0.5,
    observer: { onRequest: () => undefined, onCircuitChange: () => undefined },
    log: silentLogger,
  })
}

interface Source {
  readonly compliance: Compliance
  readonly clock: Clock
}

function gateWith(source: Source, check: CheckName, name: PolicyName): Gate {
  const policy: Policy = { ...strictPolicy, [check]: policies[name] }
  const { compliance, clock: accountClock } = source
  const more = { accountClock, policy, journal: withoutJournal, settings: { deadlineMs } }
  return testGate(compliance, more).gate
}

const ageMs = 300_000
const hourMs = 3_600_000
const staleNumbers = Array.from({ length: 10 }, (_, index) => `646736100${index}`)

/** A cache that has asked about {@link staleNumbers} so long ago that it must ask again. */
async function agedCache(provider: RemoteCompliance): Promise<Source> {
  let at = noon
  const clock: Clock = { now: () => at }
  const cache = new CachedCompliance(provider, {
    settings: { maxEntries: 100, allowMs: ageMs, blockMs: ageMs, refreshAheadMs: 0 },
    staleForMs: { scrub: hourMs, 'internal-dnc': hourMs, litigator: hourMs, 'legal-time': hourMs },
    staleAfterMs: deadlineMs * 0.8,
    timers: systemTimers,
    clock,
    observer: { countLookups: () => () => undefined, onAnswer: () => undefined },
  })
  const { gate } = testGate(cache, { journal: withoutJournal })
  await Promise.all(staleNumbers.map((dialed) => gate.decide(aCall({ dialed }))))
  at += ageMs + 1
  return { compliance: cache, clock }
}

interface Given {
  readonly policy: PolicyName
  readonly decision: Decision
  readonly ms: number
}

let numbers = 0

async function decideAtPace(gates: Readonly<Record<PolicyName, Gate>>): Promise<readonly Given[]> {
  const given: Promise<Given>[] = []
  const decideOne = async (policy: PolicyName): Promise<Given> => {
    numbers += 1
    const dialed =
      policy === 'stale'
        ? (staleNumbers[numbers % staleNumbers.length] ?? '')
        : `212736${String(numbers % 10_000).padStart(4, '0')}`
    const started = performance.now()
    const decision = await gates[policy].decide(aCall({ dialed }))
    return { policy, decision, ms: performance.now() - started }
  }
  const begun = performance.now()
  for (let pair = 0; pair < pairs; pair += 1) {
    const policy = policyNames[pair % policyNames.length] ?? 'block'
    given.push(decideOne(policy), decideOne(policy))
    const aheadMs = (pair + 1) * betweenPairsMs - (performance.now() - begun)
    if (aheadMs > 0) await pause(aheadMs)
  }
  return Promise.all(given)
}

/** How long this thread was ready to run while others had the processor. */
function waitedForProcessorMs(): number {
  return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[1]) / 1e6
}

/** Decided too late, or with an answer that was late although its question has no fault. */
function isLate({ reason, findings }: Decision, faulty: CheckName | undefined): boolean {
  if (reason === 'overloaded') return true
  const late = findings.filter(({ says }) => /not? answer(?:ed)? within/.test(describeSaid(says)))
  return late.some(({ check }) => check !== faulty)
}

/** `allow`, `allow (why)` where policy made the difference, or `block (reason)`. */
function summary({ decision, reason, effects }: Decision): string {
  if (decision === 'block') return `block (${reason})`
  return ['allow', ...effects.map(({ effect }) => `(${effect})`)].join(' ')
}

const whenUnknown: Readonly<Record<PolicyName, string>> = {
  block: 'block (check-unanswered)',
  allow: 'allow (unknown-allowed)',
  shadow: 'allow (shadowed)',
  stale: 'allow (stale-allowed)',
}

interface Cell {
  readonly seen: Readonly<Record<PolicyName, readonly string[]>>
  /** Less what a machine that is busy with others may have added. */
  readonly slowestMs: number
}

async function cell(question: QuestionName, { fault, answered }: Row): Promise<Cell> {
  const provider = openProvider()
  const fresh = { compliance: provider, clock: fixedClock(noon) }
  const check = checkOf[question]
  const gates = {
    block: gateWith(fresh, check, 'block'),
    allow: gateWith(fresh, check, 'allow'),
    shadow: gateWith(fresh, check, 'shadow'),
    stale: gateWith(await agedCache(provider), check, 'stale'),
  }
  // What connecting costs is no part of a fault.
  await gates.block.decide(aCall({ dialed: '2127369999' }))
  vendor.setFault(question, fault)
  try {
    const told: Given[] = []
    let slowestMs = 0
    do {
      const waitedMs = waitedForProcessorMs()
      const given = await decideAtPace(gates)
      const waitMs = waitedForProcessorMs() - waitedMs
      for (const one of given) {
        // What this machine, busy with others, makes late is blocked for that, and tells nothing here.
        const isTold = waitMs < mostWaitMs || !isLate(one.decision, answered ? undefined : check)
        if (isTold) told.push(one)
        slowestMs = Math.max(slowestMs, one.ms - waitMs)
      }
    } while (policyNames.some((policy) => told.every((one) => one.policy !== policy)))
    const of = (policy: PolicyName) => [
      ...new Set(told.filter((one) => one.policy === policy).map((one) => summary(one.decision))),
    ]
    return {
      seen: {
        block: of('block'),
        allow: of('allow'),
        shadow: of('shadow'),
        stale: of('stale'),
      },
      slowestMs,
    }
  } finally {
    vendor.setFault(question, undefined)
    await provider.close()
  }
}

const table: string[] = []

describe('a provider with a fault', () => {
  for (const row of rows) {
    const { name, answered } = row
    for (const question of questionNames) {
      it(`${name}, of ${question}`, async () => {
        const { seen, slowestMs } = await cell(question, row)
        const shown = policyNames.map((policy) => seen[policy].join(' / ').padEnd(27)).join('')
        table.push(
          `${name.padEnd(20)}${question.padEnd(14)}${shown}` +
            `${slowestMs.toFixed(0).padStart(5)} ms`,
        )
        for (const policy of policyNames) {
          expect(seen[policy], policy).toEqual([answered ? 'allow' : whenUnknown[policy]])
        }
        expect(slowestMs).toBeLessThanOrEqual(deadlineMs + graceMs)
      })
    }
  }

  afterAll(() => {
    const head =
      'fault'.padEnd(20) +
      'question'.padEnd(14) +
      policyNames.map((policy) => `policy ${policy}`.padEnd(27)).join('')
    process.stdout.write(`\n${[`${head}slowest`, ...table].join('\n')}\n`)
  })
})
