/**
 * All exported metrics with their closed label sets, together with the other files of this folder named
 * `*-metrics.ts`. Only these files use prom-client. Labels never contain a telephone number, a channel
 * id or text from a caller.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { AnswerFailureReason, QuestionName } from '../domain/compliance.js'
import type {
  CallKind,
  CallPurpose,
  CallRequest,
  FindingName,
  PolicyEffect,
  ReasonCode,
  Verdict,
} from '../domain/decision.js'
import { type AsteriskMetrics, createAsteriskMetrics } from './asterisk-metrics.js'
import { createJournalMetrics, type JournalMetrics } from './journal-metrics.js'
import { createListMetrics, type ListMetrics } from './list-metrics.js'
import { createServerMetrics, type ServerMetrics } from './server-metrics.js'
import { createServiceMetrics, type ServiceMetrics } from './service-metrics.js'
import { createWitnessMetrics, type WitnessMetrics } from './witness-metrics.js'

type CacheResult = 'hit' | 'miss' | 'expired' | 'bypass' | 'stale' | 'refresh'
/** How a decision was requested; what-ifs are not attempts and are counted separately. */
export type DecisionVia = CallRequest['via'] | 'what-if'

interface DecisionMeasurement {
  readonly accountId: string
  readonly decision: 'allow' | 'block'
  readonly reason: ReasonCode
  readonly kind: CallKind
  /** Absent if nobody said it. */
  readonly purpose?: CallPurpose | undefined
  readonly via: DecisionVia
  readonly seconds: number
  readonly findings: readonly { readonly check: FindingName; readonly verdict: Verdict }[]
  readonly effects: readonly PolicyEffect[]
}

/** Decisions without what-ifs since the start, counted up. */
export interface DecisionTotals {
  readonly allowed: number
  readonly blocked: number
  /** Upper bounds of the buckets in seconds; the last bucket has none. */
  readonly bounds: readonly number[]
  /** Of the time from request to recorded decision, by bucket; not cumulated. */
  readonly counts: readonly number[]
}

export interface Metrics
  extends AsteriskMetrics,
    JournalMetrics,
    ListMetrics,
    ServerMetrics,
    ServiceMetrics,
    WitnessMetrics {
  recordDecision(measure: DecisionMeasurement): void
  readDecisionTotals(): DecisionTotals
  /** The counter of the cache of the `facts` of `embedded`, or of the answers of `remote` to a question. */
  countCacheLookups(source: string, question: QuestionName | 'facts'): (result: CacheResult) => void
  /**
   * One HTTP request with many numbers to a provider, or one look at the `facts` about a number that are stored here. `source`
   * is `embedded`, or the name of a provider in the settings.
   */
  recordSourceRequest(
    source: string,
    question: QuestionName | 'facts',
    outcome: 'answered' | 'unanswered' | AnswerFailureReason,
    seconds: number,
  ): void
  /** Providers are named as in the settings. */
  setSourceCircuit(source: string, question: QuestionName, open: boolean): void
  recordApiRequest(endpoint: string, status: number, seconds: number): void
  /** Unknown fields of a published call, each name once per request. */
  countIgnoredFields(endpoint: string, count: number): void
  /** The time one flush of the journal took, with the wait for its thread. */
  recordJournalFlush(seconds: number): void
  countDroppedLogLine(): void
  countDroppedSpans(count: number): void
  /** 1 while a country's prefixes are resolved by area code only. */
  setAreaCodeMode(country: 'US' | 'CA', active: boolean): void
  render(): Promise<{ readonly contentType: string; readonly body: string }>
}

/** With the deadlines: 0.25 s by default, 1.5 s with a remote source. */
const decisionBuckets = [
  0.00001, 0.00005, 0.0001, 0.0005, 0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 1.5, 2.5,
]
const sourceBuckets = [...decisionBuckets, 10]
const flushBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
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
    ...createDecisionMetrics(registry),
    ...createAnswerMetrics(registry),
    ...createJournalMetrics(registry),
    recordJournalFlush: createTallyHistogram(registry, {
      name: 'callgate_journal_flush_duration_seconds',
      help: 'Time until a batch of records was on disk.',
      buckets: flushBuckets,
    }),
    ...createLogMetrics(registry),
    ...createDataMetrics(registry),
    ...createListMetrics(registry),
    ...createAsteriskMetrics(registry),
    ...createServerMetrics(registry),
    ...createServiceMetrics(registry),
    ...createWitnessMetrics(registry),
    render: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
  }
}

/** Of which each has time series of its own. */
const maxAccounts = 200

function createDecisionMetrics(
  registry: Registry,
): Pick<Metrics, 'recordDecision' | 'readDecisionTotals'> {
  const registers = [registry]
  const decisions = createTallyCounter(registry, {
    name: 'callgate_decisions_total',
    help: 'Decisions by verdict, reason, call kind and interface.',
    labels: ['decision', 'reason', 'kind', 'via'],
  })
  const byAccount = createTallyCounter(registry, {
    name: 'callgate_account_decisions_total',
    help: `Decisions by account, without what-ifs. Accounts beyond the first ${maxAccounts} are counted as other.`,
    labels: ['account', 'decision'],
  })
  const byPurpose = createTallyCounter(registry, {
    name: 'callgate_purpose_decisions_total',
    help: 'Decisions on calls that somebody said the purpose of, without what-ifs.',
    labels: ['purpose', 'decision'],
  })
  const namedAccounts = new Set<string>()
  const duration = createTallyHistogram(registry, {
    name: 'callgate_decision_duration_seconds',
    help: 'Time from request to recorded decision.',
    label: 'via',
    buckets: decisionBuckets,
  })
  const findings = createTallyCounter(registry, {
    name: 'callgate_findings_total',
    help: 'Findings of the checks.',
    labels: ['check', 'verdict'],
  })
  const degraded = new Counter({
    name: 'callgate_degraded_decisions_total',
    help: 'Allowed calls for which policy let an unknown or stale finding pass.',
    labelNames: ['check'],
    registers,
  })
  const shadowed = new Counter({
    name: 'callgate_shadowed_decisions_total',
    help: 'Allowed calls that a check in shadow mode would have blocked.',
    labelNames: ['check'],
    registers,
  })
  return {
    recordDecision(measure) {
      const { accountId, decision, reason, kind, purpose, via } = measure
      decisions(decision, reason, kind, via)
      if (via !== 'what-if') {
        if (namedAccounts.size < maxAccounts) namedAccounts.add(accountId)
        byAccount(namedAccounts.has(accountId) ? accountId : 'other', decision)
        if (purpose) byPurpose(purpose, decision)
      }
      duration(measure.seconds, via)
      for (const { check, verdict } of measure.findings) findings(check, verdict)
      for (const { check, effect } of measure.effects) {
        if (effect === 'shadowed') shadowed.inc({ check })
        else degraded.inc({ check })
      }
    },
    readDecisionTotals() {
      const ofCalls = ([verdict, , , via]: readonly string[], wanted: string) =>
        verdict === wanted && via !== 'what-if'
      return {
        allowed: decisions.sum((values) => ofCalls(values, 'allow')),
        blocked: decisions.sum((values) => ofCalls(values, 'block')),
        bounds: decisionBuckets,
        counts: duration.sum((via) => via !== 'what-if'),
      }
    },
  }
}

function createAnswerMetrics(
  registry: Registry,
): Pick<
  Metrics,
  | 'countCacheLookups'
  | 'recordSourceRequest'
  | 'setSourceCircuit'
  | 'recordApiRequest'
  | 'countIgnoredFields'
> {
  const registers = [registry]
  const cacheLookups = createTallyCounter(registry, {
    name: 'callgate_cache_requests_total',
    help:
      'Lookups in the answer cache. bypass: a what-if, which is never cached; stale: an answer beyond ' +
      'its maximum age, used because its source does not answer; refresh: an answer renewed before it expires.',
    labels: ['source', 'question', 'result'],
  })
  const sources = createTallyCounter(registry, {
    name: 'callgate_source_requests_total',
    help: 'Looks at the facts that are stored here, and requests to providers.',
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
    help: '1 while the circuit breaker of a provider is open for a question.',
    labelNames: ['source', 'question'],
    registers,
  })
  const api = createTallyCounter(registry, {
    name: 'callgate_api_requests_total',
    help: 'Requests by endpoint of the published API and HTTP status.',
    labels: ['endpoint', 'status'],
  })
  const apiDuration = createTallyHistogram(registry, {
    name: 'callgate_api_request_duration_seconds',
    help: 'Time from request to answer by endpoint.',
    label: 'endpoint',
    buckets: requestBuckets,
  })
  const ignored = new Counter({
    name: 'callgate_api_ignored_fields_total',
    help: 'Unknown request fields that the endpoint ignored, each name once per request.',
    labelNames: ['endpoint'],
    registers,
  })
  return {
    countIgnoredFields: (endpoint, count) => ignored.inc({ endpoint }, count),
    countCacheLookups: (source, question) => cacheLookups.within(source, question),
    recordSourceRequest(source, question, outcome, seconds) {
      sources(source, question, outcome)
      sourceDuration.observe({ source, question }, seconds)
    },
    setSourceCircuit: (source, question, open) => circuit.set({ source, question }, open ? 1 : 0),
    recordApiRequest(endpoint, status, seconds) {
      api(endpoint, String(status))
      apiDuration(seconds, endpoint)
    },
  }
}

function createLogMetrics(
  registry: Registry,
): Pick<Metrics, 'countDroppedLogLine' | 'countDroppedSpans'> {
  const dropped = new Counter({
    name: 'callgate_log_lines_dropped_total',
    help: 'Log lines dropped because standard output was not read fast enough.',
    registers: [registry],
  })
  const spans = new Counter({
    name: 'callgate_trace_spans_dropped_total',
    help: 'Spans that were not exported because the collector did not accept them in time.',
    registers: [registry],
  })
  return {
    countDroppedLogLine: () => dropped.inc(),
    countDroppedSpans: (count) => spans.inc(count),
  }
}

function createDataMetrics(registry: Registry): Pick<Metrics, 'setAreaCodeMode'> {
  const areaCodes = new Gauge({
    name: 'callgate_numbering_area_code_mode',
    help: '1 while prefixes of the country are resolved by area code because none are imported.',
    labelNames: ['country'],
    registers: [registry],
  })
  return {
    setAreaCodeMode: (country, active) => areaCodes.set({ country }, active ? 1 : 0),
  }
}

type CountLabels = (...values: readonly string[]) => void

interface TallyCounter extends CountLabels {
  within(first: string, second: string): CountLabels
  /** Of what was counted with labels that are wanted. */
  sum(isWanted: (values: readonly string[]) => boolean): number
}

/** A branch or, where something was counted, a leaf. */
interface LabelNode {
  readonly values: readonly string[]
  readonly children: Map<string, LabelNode>
  count: number
}

/**
 * A counter that is counted in plain maps, one level per label, and passed to prom-client only when
 * it is read: prom-client's own increment hashes its labels each time, which would slow down each
 * decision noticeably. `within` gives the counter for values of the first two labels.
 */
function createTallyCounter<Label extends string>(
  registry: Registry,
  about: { readonly name: string; readonly help: string; readonly labels: readonly Label[] },
): TallyCounter {
  const root: LabelNode = { values: [], children: new Map(), count: 0 }
  const all: LabelNode[] = []
  new Counter({
    name: about.name,
    help: about.help,
    labelNames: about.labels,
    registers: [registry],
    collect() {
      this.reset()
      for (const { values, count } of all) if (count > 0) this.labels(...values).inc(count)
    },
  })
  const branch = (from: LabelNode, value: string): LabelNode => {
    const made = { values: [...from.values, value], children: new Map(), count: 0 }
    from.children.set(value, made)
    all.push(made)
    return made
  }
  const countFrom =
    (from: LabelNode): CountLabels =>
    (...values) => {
      let at = from
      for (const value of values) at = at.children.get(value) ?? branch(at, value)
      at.count += 1
    }
  return Object.assign(countFrom(root), {
    // What two counters of the same labels count is added up when it is read.
    within: (first: string, second: string) => countFrom(branch(branch(root, first), second)),
    sum: (isWanted: (values: readonly string[]) => boolean) =>
      all.reduce(
        (sum, { values, count }) => (count > 0 && isWanted(values) ? sum + count : sum),
        0,
      ),
  })
}

/** What prom-client keeps for each value of the label; it has no method to set it. */
interface Distribution {
  /** By upper bound; not cumulated. */
  readonly bucketValues: Record<number, number>
  sum: number
  count: number
}

interface TallyHistogram {
  (observed: number, labelValue?: string): void
  /** By bucket, of the label values that are wanted. */
  sum(isWanted: (labelValue: string) => boolean): readonly number[]
}

/**
 * A histogram with at most one label, which is counted in plain numbers until the metrics are read. The returned function adds an observation, which must
 * be a finite number, with the value of the label if there is one.
 */
function createTallyHistogram(
  registry: Registry,
  about: {
    readonly name: string
    readonly help: string
    readonly label?: string
    readonly buckets: readonly number[]
  },
): TallyHistogram {
  const { label, buckets } = about
  const tallies = new Map<string, { readonly counts: number[]; sum: number }>()
  const begin = (labelValue: string) => {
    const tally = { counts: new Array<number>(buckets.length + 1).fill(0), sum: 0 }
    tallies.set(labelValue, tally)
    return tally
  }
  // A histogram without a label is there from the start.
  if (label === undefined) begin('')
  new Histogram({
    name: about.name,
    help: about.help,
    labelNames: label === undefined ? [] : [label],
    buckets: [...buckets],
    registers: [registry],
    collect() {
      this.reset()
      for (const value of tallies.keys()) this.zero(label === undefined ? {} : { [label]: value })
      const { hashMap } = this as unknown as { readonly hashMap: Record<string, Distribution> }
      const distributions = Object.values(hashMap)
      for (const [index, { counts, sum }] of [...tallies.values()].entries()) {
        const distribution = distributions[index] as Distribution
        distribution.sum = sum
        for (const [bucket, count] of counts.entries()) {
          distribution.count += count
          const upperBound = buckets[bucket]
          if (upperBound !== undefined) distribution.bucketValues[upperBound] = count
        }
      }
    },
  })
  const observe = (observed: number, labelValue = '') => {
    const tally = tallies.get(labelValue) ?? begin(labelValue)
    let bucket = 0
    while (observed > (buckets[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1
    tally.counts[bucket] = (tally.counts[bucket] ?? 0) + 1
    tally.sum += observed
  }
  return Object.assign(observe, {
    sum(isWanted: (labelValue: string) => boolean) {
      const sums = new Array<number>(buckets.length + 1).fill(0)
      for (const [value, { counts }] of tallies) {
        if (!isWanted(value)) continue
        for (const [bucket, count] of counts.entries()) sums[bucket] = (sums[bucket] ?? 0) + count
      }
      return sums
    },
  })
}
