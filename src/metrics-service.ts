/** The metrics of the compliance service's own work. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Instant } from './domain/clock.js'

export interface LookupMeasure {
  /** The provider by the name the settings give it. */
  readonly source: string
  readonly question: string
  readonly outcome: string
  readonly seconds: number
}

export interface FactsMeasure {
  /** Name of the feed. */
  readonly name: string
  readonly entries: number
  readonly asOf: Instant
}

export interface ServiceMetrics {
  /** One HTTP request to the provider of look-ups. */
  lookupAsked(measure: LookupMeasure): void
  lookupCircuit(source: string, question: string, open: boolean): void
  facts(facts: readonly FactsMeasure[]): void
  webhookAttempted(outcome: string): void
  webhooksPending(count: number): void
  scanEnded(status: 'Complete' | 'Failed'): void
  monitored(counts: { readonly monitored: number; readonly overdue: number }): void
}

const lookupBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export function serviceMetrics(registry: Registry): ServiceMetrics {
  return {
    ...lookupMetrics(registry),
    ...factMetrics(registry),
    ...webhookMetrics(registry),
    ...reputationMetrics(registry),
  }
}

function lookupMetrics(registry: Registry): Pick<ServiceMetrics, 'lookupAsked' | 'lookupCircuit'> {
  const registers = [registry]
  const requests = new Counter({
    name: 'callgate_lookup_requests_total',
    help: 'Requests sent to the provider of look-ups and labels.',
    labelNames: ['source', 'question', 'outcome'],
    registers,
  })
  const duration = new Histogram({
    name: 'callgate_lookup_request_duration_seconds',
    help: 'Time the provider of look-ups took to answer.',
    labelNames: ['source', 'question'],
    buckets: lookupBuckets,
    registers,
  })
  const circuit = new Gauge({
    name: 'callgate_lookup_circuit_open',
    help: '1 while the provider of look-ups is not asked because it kept failing.',
    labelNames: ['source', 'question'],
    registers,
  })
  return {
    lookupAsked({ source, question, outcome, seconds }) {
      requests.inc({ source, question, outcome })
      duration.observe({ source, question }, seconds)
    },
    lookupCircuit: (source, question, open) => circuit.set({ source, question }, open ? 1 : 0),
  }
}

function factMetrics(registry: Registry): Pick<ServiceMetrics, 'facts'> {
  const registers = [registry]
  const entries = new Gauge({
    name: 'callgate_fact_entries',
    help: 'Facts in an imported feed.',
    labelNames: ['feed'],
    registers,
  })
  const asOf = new Gauge({
    name: 'callgate_fact_as_of_timestamp_seconds',
    help: 'When the content of an imported feed was true.',
    labelNames: ['feed'],
    registers,
  })
  return {
    facts(facts) {
      entries.reset()
      asOf.reset()
      for (const { name, entries: count, asOf: at } of facts) {
        entries.set({ feed: name }, count)
        asOf.set({ feed: name }, at / 1000)
      }
    },
  }
}

function webhookMetrics(
  registry: Registry,
): Pick<ServiceMetrics, 'webhookAttempted' | 'webhooksPending'> {
  const registers = [registry]
  const attempts = new Counter({
    name: 'callgate_webhook_attempts_total',
    help: 'Attempts to deliver a notification, by outcome.',
    labelNames: ['outcome'],
    registers,
  })
  const pending = new Gauge({
    name: 'callgate_webhooks_pending',
    help: 'Notifications that are not delivered and not given up.',
    registers,
  })
  return {
    webhookAttempted: (outcome) => attempts.inc({ outcome }),
    webhooksPending: (count) => pending.set(count),
  }
}

function reputationMetrics(registry: Registry): Pick<ServiceMetrics, 'scanEnded' | 'monitored'> {
  const registers = [registry]
  const scans = new Counter({
    name: 'callgate_scans_ended_total',
    help: 'One-time scans that ended, by status.',
    labelNames: ['status'],
    registers,
  })
  const monitored = new Gauge({
    name: 'callgate_monitored_numbers',
    help: 'Numbers on the reputation monitor, of all accounts.',
    registers,
  })
  const overdue = new Gauge({
    name: 'callgate_monitored_overdue_numbers',
    help: 'Monitored numbers whose labels were not looked at for more than a day.',
    registers,
  })
  return {
    scanEnded: (status) => scans.inc({ status }),
    monitored(counts) {
      monitored.set(counts.monitored)
      overdue.set(counts.overdue)
    },
  }
}
