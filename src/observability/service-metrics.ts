/** The metrics of the compliance service. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Instant } from '../domain/time/clock.js'

interface LookupMeasurement {
  /** Name of the provider in the settings. */
  readonly source: string
  readonly question: string
  readonly outcome: string
  readonly seconds: number
}

interface FactsMeasurement {
  /** Name of the feed. */
  readonly name: string
  readonly entries: number
  readonly asOf: Instant
}

export interface ServiceMetrics {
  /** One HTTP request to the lookup provider. */
  recordLookupRequest(measure: LookupMeasurement): void
  setLookupCircuit(source: string, question: string, open: boolean): void
  setFacts(facts: readonly FactsMeasurement[]): void
  countWebhookAttempt(outcome: string): void
  setPendingWebhooks(count: number): void
  countEndedScan(status: 'Complete' | 'Failed'): void
  setMonitoredNumbers(counts: { readonly monitored: number; readonly overdue: number }): void
  countServiceThreadFailure(): void
  countPermitEvent(event: PermitEvent): void
  countPlatformEvent(platform: string, result: string): void
  countRefusedSignatures(platform: string, count: number): void
  setPlatforms(figures: PlatformMeasurement): void
}

interface OfPlatform {
  readonly accountId: string
  readonly platform: string
}

interface PlatformMeasurement {
  readonly platforms: readonly (OfPlatform &
    Readonly<Record<(typeof platformCallStates)[number], number>> & {
      readonly problem: string | undefined
    })[]
  readonly unclear: readonly (OfPlatform & { readonly count: string | number | bigint })[]
  /** One entry per held number and unclear opt-out. */
  readonly held: readonly OfPlatform[]
}

const platformCallStates = ['placed', 'answered', 'heard', 'optedOut'] as const

export const permitEvents = ['issued', 'used', 'refused', 'released', 'void'] as const
export type PermitEvent = (typeof permitEvents)[number]

const lookupBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export function createServiceMetrics(registry: Registry): ServiceMetrics {
  return {
    ...createLookupMetrics(registry),
    ...createFactMetrics(registry),
    ...createWebhookMetrics(registry),
    ...createReputationMetrics(registry),
    ...createThreadMetrics(registry),
    ...createPermitMetrics(registry),
    ...createPlatformMetrics(registry),
  }
}

function createLookupMetrics(
  registry: Registry,
): Pick<ServiceMetrics, 'recordLookupRequest' | 'setLookupCircuit'> {
  const registers = [registry]
  const requests = new Counter({
    name: 'callgate_lookup_requests_total',
    help: 'Requests to the provider of lookups and labels.',
    labelNames: ['source', 'question', 'outcome'],
    registers,
  })
  const duration = new Histogram({
    name: 'callgate_lookup_request_duration_seconds',
    help: 'Time the lookup provider took to answer.',
    labelNames: ['source', 'question'],
    buckets: lookupBuckets,
    registers,
  })
  const circuit = new Gauge({
    name: 'callgate_lookup_circuit_open',
    help: '1 while the circuit breaker of the lookup provider is open for a question.',
    labelNames: ['source', 'question'],
    registers,
  })
  return {
    recordLookupRequest({ source, question, outcome, seconds }) {
      requests.inc({ source, question, outcome })
      duration.observe({ source, question }, seconds)
    },
    setLookupCircuit: (source, question, open) => circuit.set({ source, question }, open ? 1 : 0),
  }
}

function createFactMetrics(registry: Registry): Pick<ServiceMetrics, 'setFacts'> {
  const registers = [registry]
  const entries = new Gauge({
    name: 'callgate_fact_entries',
    help: 'Facts in an imported feed.',
    labelNames: ['feed'],
    registers,
  })
  const asOf = new Gauge({
    name: 'callgate_fact_as_of_timestamp_seconds',
    help: 'As-of date of the content of an imported feed.',
    labelNames: ['feed'],
    registers,
  })
  return {
    setFacts(facts) {
      entries.reset()
      asOf.reset()
      for (const { name, entries: count, asOf: at } of facts) {
        entries.set({ feed: name }, count)
        asOf.set({ feed: name }, at / 1000)
      }
    },
  }
}

function createWebhookMetrics(
  registry: Registry,
): Pick<ServiceMetrics, 'countWebhookAttempt' | 'setPendingWebhooks'> {
  const registers = [registry]
  const attempts = new Counter({
    name: 'callgate_webhook_attempts_total',
    help: 'Attempts to deliver a webhook, by outcome.',
    labelNames: ['outcome'],
    registers,
  })
  attempts.inc({ outcome: 'delivered' }, 0)
  const pending = new Gauge({
    name: 'callgate_webhooks_pending',
    help: 'Webhooks that are waiting for delivery or retry.',
    registers,
  })
  return {
    countWebhookAttempt: (outcome) => attempts.inc({ outcome }),
    setPendingWebhooks: (count) => pending.set(count),
  }
}

function createReputationMetrics(
  registry: Registry,
): Pick<ServiceMetrics, 'countEndedScan' | 'setMonitoredNumbers'> {
  const registers = [registry]
  const scans = new Counter({
    name: 'callgate_scans_ended_total',
    help: 'One-time scans that ended, by status.',
    labelNames: ['status'],
    registers,
  })
  const monitored = new Gauge({
    name: 'callgate_monitored_numbers',
    help: 'Numbers on the reputation monitor, in all accounts.',
    registers,
  })
  const overdue = new Gauge({
    name: 'callgate_monitored_overdue_numbers',
    help: 'Monitored numbers whose labels have not been checked for more than a day.',
    registers,
  })
  return {
    countEndedScan: (status) => scans.inc({ status }),
    setMonitoredNumbers(counts) {
      monitored.set(counts.monitored)
      overdue.set(counts.overdue)
    },
  }
}

function createThreadMetrics(
  registry: Registry,
): Pick<ServiceMetrics, 'countServiceThreadFailure'> {
  const failures = new Counter({
    name: 'callgate_service_thread_failures_total',
    help: 'Service threads that ended by an error; their requests failed.',
    registers: [registry],
  })
  return { countServiceThreadFailure: () => failures.inc() }
}

function createPermitMetrics(registry: Registry): Pick<ServiceMetrics, 'countPermitEvent'> {
  const events = new Counter({
    name: 'callgate_permits_total',
    help: 'Permits by what happened to them: given with an allow, used, a use refused, given back unused, or made void.',
    labelNames: ['event'],
    registers: [registry],
  })
  return { countPermitEvent: (event) => events.inc({ event }) }
}

function createPlatformMetrics(
  registry: Registry,
): Pick<ServiceMetrics, 'countPlatformEvent' | 'countRefusedSignatures' | 'setPlatforms'> {
  const registers = [registry]
  const events = new Counter({
    name: 'callgate_platform_events_total',
    help: 'Events of voice platforms that were stored, and what was found in them; `failed` events are tried again.',
    labelNames: ['platform', 'result'],
    registers,
  })
  const refused = new Counter({
    name: 'callgate_platform_refused_signatures_total',
    help: 'Events of voice platforms that proxies have refused, because they were not signed with a known secret.',
    labelNames: ['platform'],
    registers,
  })
  const labelNames = ['account', 'platform']
  const calls = new Gauge({
    name: 'callgate_platform_calls',
    help: 'Calls through a voice platform that were allowed in the last 24 hours, by state; `heard`: answered, with words of the person.',
    labelNames: [...labelNames, 'state'],
    registers,
  })
  const deaf = new Gauge({
    name: 'callgate_platform_deaf',
    help: '1 while calls go out through a voice platform and no events come back, or no words of persons.',
    labelNames,
    registers,
  })
  const unclear = new Gauge({
    name: 'callgate_unclear_opt_outs',
    help: 'Unclear opt-outs that wait for a person to confirm or dismiss them.',
    labelNames,
    registers,
  })
  const held = new Gauge({
    name: 'callgate_held_numbers',
    help: 'Numbers that are held, and so blocked, because an opt-out is not joined to its call yet.',
    labelNames,
    registers,
  })
  return {
    countPlatformEvent: (platform, result) => events.inc({ platform, result }),
    // Also counts 0, since an alert sees only a rise from an existing value.
    countRefusedSignatures: (platform, count) => refused.inc({ platform }, count),
    setPlatforms(figures) {
      for (const gauge of [calls, deaf, unclear, held]) gauge.reset()
      for (const { accountId: account, platform, problem, ...counts } of figures.platforms) {
        for (const state of platformCallStates)
          calls.set({ account, platform, state }, counts[state])
        deaf.set({ account, platform }, problem === undefined ? 0 : 1)
      }
      for (const { accountId: account, platform, count } of figures.unclear) {
        unclear.set({ account, platform }, Number(count))
      }
      for (const { accountId: account, platform } of figures.held) held.inc({ account, platform })
    },
  }
}
