/** A gate over a fake port, with settings as shipped and a journal that keeps what it is given. */

import { noAbandonment } from '../../src/domain/call-outcome.js'
import type { Compliance } from '../../src/domain/compliance.js'
import { type CallRequest, type Decision, telemarketing } from '../../src/domain/decision.js'
import type { ReassignedSource } from '../../src/domain/lookups.js'
import { noCallerIds } from '../../src/domain/mandate.js'
import { noListEvidence } from '../../src/domain/number-set.js'
import { type Clock, fixedClock } from '../../src/domain/time/clock.js'
import { Gate } from '../../src/gate/gate.js'
import type { GateDeps, GateSettings } from '../../src/gate/gate-deps.js'
import { nameVersion } from '../../src/gate/journal/recovery/kept-rules.js'
import type { OwnFacts } from '../../src/judge/facts.js'
import { createMetrics } from '../../src/observability/metrics.js'
import { silentLogger, systemTimers } from '../../src/runtime/runtime.js'
import { noon } from './fake-compliance.js'
import { strictPolicy } from './strict-policy.js'

export const gateSettings: GateSettings = {
  deadlineMs: 250,
  maxStalenessMs: 500,
  maxPending: 100,
  nonNanp: 'block',
  serviceCodes: new Set(),
  shadow: { accounts: [], trunks: [] },
  houseLimits: [],
  subjects: [],
  purposes: [],
  exceptions: [],
  neighborCallerId: 'warn',
  neighborPrefix: 'area-code',
  aiConsentEvidence: 'none',
  allowValidMs: 60_000,
  blockValidMs: 600_000,
  recordedVoiceWindows: true,
  projectMayWiden: false,
  strictestPlace: { manual: false, autodialed: true, ai: true },
}

/** No law on disclosures, on how often somebody is called, on abandoned calls or on caller IDs. */
export const withoutRules: GateDeps['callingRules'] = {
  listDisclosures: () => [],
  findCountry: () => 'US',
  purposes: { find: () => telemarketing },
  frequency: { find: () => [] },
  abandonment: { find: () => [] },
  exceptions: { find: () => [], liftsCap: () => false },
  requiredConsents: { find: () => [] },
  findEbrRule: () => undefined,
  findWirelessBan: () => undefined,
  callerIds: { findPresenceLaw: () => undefined },
}

/** Nothing is asked of what is stored here, so that a fake provider alone decides. */
export const nothingOwn: OwnFacts = {
  asOf: noon,
  number: { status: 'unknown-prefix', says: [], areaCodeInUse: false },
  ported: noListEvidence,
  litigator: 'not-asked',
  entry: 'not-asked',
  hours: 'not-asked',
  permission: 'not-asked',
}

const withoutWindows: GateDeps['windows'] = {
  evaluate: () => {
    throw new TypeError('nobody asks for our own hours')
  },
  findNextOpening: () => undefined,
}

/** Keeps nothing. */
export const withoutJournal: GateDeps['journal'] = {
  append: (_, onWritten) => onWritten?.(),
  amend: () => undefined,
}

/** No source of reassigned numbers. */
export const withoutReassigned: ReassignedSource = {
  find: () => ({
    result: 'not-configured',
    source: 'reassigned',
  }),
}

export interface TestGate {
  readonly gate: Gate
  readonly recorded: Decision[]
  readonly renderMetrics: () => Promise<string>
}

export interface TestGateOptions extends Partial<Omit<GateDeps, 'settings'>> {
  readonly settings?: Partial<GateSettings>
  /** Now as every account sees it. */
  readonly accountClock?: Clock
  readonly reassigned?: ReassignedSource
  /** What is stored here. */
  readonly own?: OwnFacts
}

export function testGate(
  provider: Compliance,
  {
    accountClock = fixedClock(noon),
    reassigned = withoutReassigned,
    own = nothingOwn,
    ...more
  }: TestGateOptions = {},
): TestGate {
  const recorded: Decision[] = []
  const metrics = createMetrics({ version: 'test', processMetrics: false })
  const sources = { own: { find: () => ({ facts: own }) }, provider }
  const account = { clock: accountClock, sources, reassigned }
  let ids = 0
  const gate = new Gate({
    accounts: { real: account, sandbox: account },
    policy: strictPolicy,
    rulesVersion: nameVersion('{}'),
    callingRules: withoutRules,
    windows: withoutWindows,
    journal: {
      append: (decision, onWritten) => {
        recorded.push(decision)
        onWritten?.()
      },
      amend: (decision) => {
        recorded.splice(0, recorded.length, ...recorded.filter(({ id }) => id !== decision.id))
        recorded.push(decision)
      },
    },
    clock: fixedClock(noon),
    watermark: { getLagMs: () => 0 },
    pauses: { read: () => new Map() },
    callerIds: { read: () => noCallerIds },
    abandonment: { read: () => noAbandonment },
    timers: systemTimers,
    newId: () => `id${++ids}`,
    metrics,
    log: silentLogger,
    ...more,
    settings: { ...gateSettings, ...more.settings },
  })
  return { gate, recorded, renderMetrics: async () => (await metrics.render()).body }
}

export function aCall(more: Partial<CallRequest> = {}): CallRequest {
  return { accountId: 'main', dialed: '2125550100', callKind: 'manual', via: 'http', ...more }
}
