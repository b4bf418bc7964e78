/**
 * Every metric we export and its closed label sets; those of the service's own work are in
 * `metrics-service.ts`, those of the imported lists in `metrics-lists.ts`, those of the calls of an
 * Asterisk in `metrics-asterisk.ts`. These and `metrics-tally.ts` are the doors to prom-client. No label ever holds a telephone number, a channel
 * id or a caller's text.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { QuestionName, UnansweredReason } from './domain/compliance.js'
import type {
  CallKind,
  CallRequest,
  CheckName,
  PolicyEffect,
  ReasonCode,
  Verdict,
} from './domain/decision.js'
import { type AsteriskMetrics, asteriskMetrics } from './metrics-asterisk.js'
import { type ListMetrics, listMetrics } from './metrics-lists.js'
import { type ServiceMetrics, serviceMetrics } from './metrics-service.js'
import { tally } from './metrics-tally.js'

export type { QuestionName }
export type CacheResult = 'hit' | 'miss' | 'expired' | 'bypass' | 'stale' | 'refresh'
/** How a decision came in; what-ifs are no attempts and are counted apart. */
export type DecisionVia = CallRequest['via'] | 'what-if'

export interface DecisionMeasure {
  readonly decision: 'allow' | 'block'
  readonly reason: ReasonCode
  readonly kind: CallKind
  readonly via: DecisionVia
  readonly seconds: number
  readonly findings: readonly { readonly check: CheckName; readonly verdict: Verdict }[]
  readonly effects: readonly PolicyEffect[]
}

export interface SourceMeasure {
  /** `embedded`, or a provider by the name the settings give it. */
  readonly source: string
  readonly question: QuestionName
  readonly outcome: 'answered' | 'unanswered' | UnansweredReason
  readonly seconds: number
}

export interface Metrics extends AsteriskMetrics, ListMetrics, ServiceMetrics {
  decided(measure: DecisionMeasure): void
  /** `source` is `embedded` or `remote`. */
  cacheAsked(source: string, question: QuestionName, result: CacheResult): void
  /** Of a provider one HTTP request with its many numbers, in process one question. */
  sourceAsked(measure: SourceMeasure): void
  /** Providers by the names the settings give them. */
  sourceCircuit(source: string, question: QuestionName, open: boolean): void
  apiAnswered(endpoint: string, status: number, seconds: number): void
  /** Fields that a published call does not know, each name once a request. */
  fieldsIgnored(endpoint: string, count: number): void
  recordsPending(count: number): void
  recordFailed(): void
  logLineDropped(): void
  /** 1 while a country's prefixes are judged by area code alone. */
  areaCodeMode(country: 'US' | 'CA', active: boolean): void
  text(): Promise<{ readonly contentType: string; readonly body: string }>
}

const decisionBuckets = [0.00001, 0.00005, 0.0001, 0.0005, 0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 1]
const sourceBuckets = [...decisionBuckets, 0.5, 2.5, 10].sort((one, other) => one - other)
const requestBuckets = [0.0005, 0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]

export interface MetricsOptions {
  readonly version: string
  /** Memory, CPU, event loop and garbage collection of the process. */
  readonly processMetrics?: boolean
}

export function createMetrics(options: MetricsOptions): Metrics {
  const registry = new Registry()
  if (options.processMetrics ?? true) collectDefaultMetrics({ register: registry })
  new Gauge({
    name: 'callgate_build_info',
    help: 'Version of the running program; always 1.',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version: options.version, node: process.versions.node }, 1)
  return {
    ...decisionMetrics(registry),
    ...answerMetrics(registry),
    ...recordMetrics(registry),
    ...logMetrics(registry),
    ...dataMetrics(registry),
    ...listMetrics(registry),
    ...asteriskMetrics(registry),
    ...serviceMetrics(registry),
    text: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
  }
}

function decisionMetrics(registry: Registry): Pick<Metrics, 'decided'> {
  const registers = [registry]
  const decisions = tally(registry, {
    name: 'callgate_decisions_total',
    help: 'Decisions by verdict, reason, call kind and door.',
    labels: ['decision', 'reason', 'kind', 'via'],
  })
  const duration = new Histogram({
    name: 'callgate_decision_duration_seconds',
    help: 'Time from request to recorded decision.',
    labelNames: ['via'],
    buckets: decisionBuckets,
    registers,
  })
  const findings = tally(registry, {
    name: 'callgate_findings_total',
    help: 'Findings of the checks.',
    labels: ['check', 'verdict'],
  })
  const degraded = new Counter({
    name: 'callgate_degraded_decisions_total',
    help: 'Calls allowed in which policy let an unknown or a stale finding pass.',
    labelNames: ['check'],
    registers,
  })
  const shadowed = new Counter({
    name: 'callgate_shadowed_decisions_total',
    help: 'Calls allowed that a check would have blocked if it were enforced.',
    labelNames: ['check'],
    registers,
  })
  return {
    decided(measure) {
      const { decision, reason, kind, via } = measure
      decisions(decision, reason, kind, via)
      duration.observe({ via }, measure.seconds)
      for (const { check, verdict } of measure.findings) findings(check, verdict)
      for (const { check, effect } of measure.effects) {
        if (effect === 'shadowed') shadowed.inc({ check })
        else degraded.inc({ check })
      }
    },
  }
}

function answerMetrics(
  registry: Registry,
): Pick<Metrics, 'cacheAsked' | 'sourceAsked' | 'sourceCircuit' | 'apiAnswered' | 'fieldsIgnored'> {
  const registers = [registry]
  const cache = tally(registry, {
    name: 'callgate_cache_requests_total',
    help:
      'Look-ups in the answer cache; bypass is a what-if, which is never cached, stale an answer ' +
      'past its age while its source is silent, refresh one that is asked anew ahead of its end.',
    labels: ['source', 'question', 'result'],
  })
  const sources = tally(registry, {
    name: 'callgate_source_requests_total',
    help: 'Questions put to the service in process, and requests sent to providers.',
    labels: ['source', 'question', 'outcome'],
  })
  const sourceDuration = new Histogram({
    name: 'callgate_source_request_duration_seconds',
    help: 'Time a source took to answer.',
    labelNames: ['source', 'question'],
    buckets: sourceBuckets,
    registers,
  })
  const circuit = new Gauge({
    name: 'callgate_source_circuit_open',
    help: '1 while a provider is not asked a question because it kept failing.',
    labelNames: ['source', 'question'],
    registers,
  })
  const api = tally(registry, {
    name: 'callgate_api_requests_total',
    help: 'Requests by endpoint of the published API and HTTP status.',
    labels: ['endpoint', 'status'],
  })
  const apiDuration = new Histogram({
    name: 'callgate_api_request_duration_seconds',
    help: 'Time from request to answer by endpoint.',
    labelNames: ['endpoint'],
    buckets: requestBuckets,
    registers,
  })
  const ignored = new Counter({
    name: 'callgate_api_ignored_fields_total',
    help: 'Fields of requests that the endpoint does not know and passed over, each name once a request.',
    labelNames: ['endpoint'],
    registers,
  })
  return {
    fieldsIgnored: (endpoint, count) => ignored.inc({ endpoint }, count),
    cacheAsked: (source, question, result) => cache(source, question, result),
    sourceAsked({ source, question, outcome, seconds }) {
      sources(source, question, outcome)
      sourceDuration.observe({ source, question }, seconds)
    },
    sourceCircuit: (source, question, open) => circuit.set({ source, question }, open ? 1 : 0),
    apiAnswered(endpoint, status, seconds) {
      api(endpoint, String(status))
      apiDuration.observe({ endpoint }, seconds)
    },
  }
}

function recordMetrics(registry: Registry): Pick<Metrics, 'recordsPending' | 'recordFailed'> {
  const registers = [registry]
  const pending = new Gauge({
    name: 'callgate_records_pending',
    help: 'Decisions made but not yet on disk.',
    registers,
  })
  const failures = new Counter({
    name: 'callgate_record_failures_total',
    help: 'Decisions that could not be written to disk; allows among them were withheld.',
    registers,
  })
  return {
    recordsPending: (count) => pending.set(count),
    recordFailed: () => failures.inc(),
  }
}

function logMetrics(registry: Registry): Pick<Metrics, 'logLineDropped'> {
  const dropped = new Counter({
    name: 'callgate_log_lines_dropped_total',
    help: 'Log lines dropped because standard output was not read fast enough.',
    registers: [registry],
  })
  return { logLineDropped: () => dropped.inc() }
}

function dataMetrics(registry: Registry): Pick<Metrics, 'areaCodeMode'> {
  const areaCodes = new Gauge({
    name: 'callgate_numbering_area_code_mode',
    help: '1 while prefixes of the country are judged by area code because none are imported.',
    labelNames: ['country'],
    registers: [registry],
  })
  return {
    areaCodeMode: (country, active) => areaCodes.set({ country }, active ? 1 : 0),
  }
}
