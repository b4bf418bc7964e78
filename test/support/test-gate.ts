/** A gate over a fake port, with settings as shipped and a journal that keeps what it is given. */

import { fixedClock, systemTimers } from '../../src/domain/clock.js'
import type { Compliance } from '../../src/domain/compliance.js'
import { type CallRequest, type Decision, strictPolicy } from '../../src/domain/decision.js'
import { allChecks } from '../../src/gate/checks/all-checks.js'
import { Gate, type GateParts, type GateSettings } from '../../src/gate/gate.js'
import { silentLogger } from '../../src/log.js'
import { createMetrics } from '../../src/metrics.js'
import { noon } from './fake-compliance.js'

export const gateSettings: GateSettings = {
  deadlineMs: 250,
  maxPending: 100,
  nonNanp: 'block',
  serviceCodes: new Set(),
  allowValidMs: 60_000,
  blockValidMs: 600_000,
  recordedVoiceWindows: true,
  projectMayWiden: false,
  strictestPlace: { manual: false, autodialed: true, ai: true },
}

export interface TestGate {
  readonly gate: Gate
  readonly recorded: Decision[]
  readonly metricsText: () => Promise<string>
}

export function testGate(
  compliance: Compliance,
  more: Partial<Omit<GateParts, 'settings'>> & { readonly settings?: Partial<GateSettings> } = {},
): TestGate {
  const recorded: Decision[] = []
  const metrics = createMetrics({ version: 'test', processMetrics: false })
  let ids = 0
  const gate = new Gate({
    compliance,
    checks: allChecks,
    policy: strictPolicy,
    journal: {
      append: async (decision) => {
        recorded.push(decision)
      },
      amend: (decision) => {
        recorded.splice(0, recorded.length, ...recorded.filter(({ id }) => id !== decision.id))
        recorded.push(decision)
      },
    },
    clock: fixedClock(noon),
    newestStored: { note: () => undefined, behindMs: () => 0 },
    timers: systemTimers,
    clockOf: () => fixedClock(noon),
    newId: () => `id${++ids}`,
    metrics,
    log: silentLogger,
    ...more,
    settings: { ...gateSettings, ...more.settings },
  })
  return { gate, recorded, metricsText: async () => (await metrics.text()).body }
}

export function aCall(more: Partial<CallRequest> = {}): CallRequest {
  return { accountId: 'main', dialed: '2125550100', callKind: 'manual', via: 'http', ...more }
}
