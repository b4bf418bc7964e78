/** The metrics of a running server as a whole. The gauges are read when they are asked for. */
import { Gauge, Histogram, type Registry } from 'prom-client'
import type { QuestionName } from '../domain/compliance.js'
import type { CheckName } from '../domain/decision.js'
import type { Instant } from '../domain/time/clock.js'

export interface ServerReadings {
  /** Decisions that wait for an answer or for the disk, and how many may. */
  readonly decisionsInFlight: number
  readonly maxDecisionsInFlight: number
  /** 0 when every record is on disk. */
  readonly oldestPendingRecordSeconds: number
  /** Free for this user on each file system that is written to; none if one cannot be read. */
  readonly disks: readonly { readonly holds: string; readonly freeBytes: number }[]
  readonly clockBehindSeconds: number
  /** `undefined` if there can be no other server. */
  readonly changeFeed: { readonly lagSeconds: number; readonly isLeader: boolean } | undefined
  /** `undefined` unless this server is an edge. */
  readonly edgeOptOutsPending: number | undefined
  readonly policyExceptions: readonly { readonly check: CheckName; readonly until: Instant }[]
  /** `undefined` when no key in force expires, or the keys cannot be read. */
  readonly nextKeyExpiryAt: Instant | undefined
  /** `undefined` if there was none. */
  readonly lastBackupAt: Instant | undefined
  /** Those that are near the limit on abandoned calls in the current period, or over it. */
  readonly abandonment: readonly {
    readonly account: string
    readonly state: 'near' | 'over'
    readonly campaigns: number
  }[]
  /** Unanswered calls of current periods that the side of the caller ended too early. */
  readonly disconnectedEarly: readonly { readonly account: string; readonly calls: number }[]
  /** Of today, of accounts that have asked and have a limit. */
  readonly providerBudgets: readonly {
    readonly source: string
    readonly account: string
    readonly unit: 'numbers' | 'money'
    readonly used: number
    readonly limit: number | undefined
    readonly state: 'open' | 'near' | 'spent'
  }[]
  /** The share of each rate limit for a provider that is left, from 0 to 1. */
  readonly rateBudgets: readonly {
    readonly source: string
    readonly question: QuestionName
    readonly ratio: number
  }[]
}

export interface ServerMetrics {
  /** `read` is called once each time the metrics are read. */
  setServerReader(read: () => Promise<ServerReadings>): void
  setReadiness(checks: readonly { readonly name: string; readonly ready: boolean }[]): void
  /** From the arrival of an opt-out at the service until no decision can miss it. */
  recordOptOutEnforced(seconds: number): void
  /** From when the person opted out until no decision can miss it. */
  recordOptOutReceived(seconds: number): void
  setReloadSuccess(isSuccessful: boolean): void
  /** Hashes of the settings and the calling rules in use. */
  setConfigurationVersions(versions: { readonly settings: string; readonly rules: string }): void
}

export function createServerMetrics(registry: Registry): ServerMetrics {
  const registers = [registry]
  const optOut = new Histogram({
    name: 'callgate_opt_out_enforced_seconds',
    help: 'Time from the arrival of an opt-out until every decision of this server uses it.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers,
  })
  const received = new Histogram({
    name: 'callgate_opt_out_receipt_seconds',
    help: 'Time from the receipt of an opt-out, as POST /v1/opt-outs says it, until it was in force; the law gives ten business days.',
    buckets: [1, 60, 300, 3_600, 21_600, 86_400, 172_800, 432_000, 604_800, 864_000, 1_209_600],
    registers,
  })
  const ready = new Gauge({
    name: 'callgate_ready',
    help: 'Whether each check of /readyz is ready: 1 or 0.',
    labelNames: ['readiness'],
    registers,
  })
  const reload = new Gauge({
    name: 'callgate_config_last_reload_successful',
    help: 'Whether the last reload found all files valid: 1 or 0; 1 after a start.',
    registers,
  })
  reload.set(1)
  const configuration = new Gauge({
    name: 'callgate_config_info',
    help: 'Always 1; versions of the settings and of the calling rules in use, as callgate reload and config check print them.',
    labelNames: ['settings', 'rules'],
    registers,
  })
  return {
    setServerReader: createReadGauges(registry),
    recordOptOutEnforced: (seconds) => optOut.observe(seconds),
    recordOptOutReceived: (seconds) => received.observe(seconds),
    setReloadSuccess: (isSuccessful) => reload.set(isSuccessful ? 1 : 0),
    setConfigurationVersions({ settings, rules }) {
      configuration.reset()
      configuration.set({ settings, rules }, 1)
    },
    setReadiness(checks) {
      for (const check of checks) ready.set({ readiness: check.name }, check.ready ? 1 : 0)
    },
  }
}

type SelectReading = (from: ServerReadings) => number | undefined

/** Name, help and value of the gauges without labels. */
const plainGauges: readonly (readonly [string, string, SelectReading])[] = [
  [
    'callgate_decisions_in_flight',
    'Decisions that wait for an answer of a source or for the disk.',
    (from) => from.decisionsInFlight,
  ],
  [
    'callgate_decisions_max_in_flight',
    'Decisions that may wait at once (gate.maxPending); more are blocked as overloaded.',
    (from) => from.maxDecisionsInFlight,
  ],
  [
    'callgate_oldest_pending_record_seconds',
    'How long the oldest record that is not on disk has waited; 0 when all are on disk.',
    (from) => from.oldestPendingRecordSeconds,
  ],
  [
    'callgate_clock_behind_seconds',
    'How far the clock is behind the newest stored record, or from the clock of a shared database; 0 up to two seconds. No call is allowed while it is greater.',
    (from) => from.clockBehindSeconds,
  ],
  [
    'callgate_change_feed_lag_seconds',
    'How old the moment is until which this server knows what others have stored; absent with SQLite. Beyond cluster.maxStalenessMs no call is allowed.',
    (from) => from.changeFeed?.lagSeconds,
  ],
  [
    'callgate_leader',
    'Whether this server sends webhooks, scans and checks labels for all that share its database: 1 or 0; absent with SQLite, 0 of an edge.',
    (from) => (from.changeFeed === undefined ? undefined : Number(from.changeFeed.isLeader)),
  ],
  [
    'callgate_edge_unconfirmed_opt_outs',
    'Opt-outs that were given to this edge and are not known to be at its center; absent unless this server is an edge.',
    (from) => from.edgeOptOutsPending,
  ],
  [
    'callgate_next_key_expiry_timestamp_seconds',
    'When the next API key in force expires; absent when none does.',
    (from) => (from.nextKeyExpiryAt === undefined ? undefined : from.nextKeyExpiryAt / 1000),
  ],
  [
    'callgate_backup_last_success_timestamp_seconds',
    'When the last backup of the data folder began that was completed; absent without one.',
    (from) => (from.lastBackupAt === undefined ? undefined : from.lastBackupAt / 1000),
  ],
]

type AddGauge = (
  name: string,
  help: string,
  set: (gauge: Gauge, readings: ServerReadings) => void,
  labelNames?: string[],
) => void

function createReadGauges(registry: Registry): ServerMetrics['setServerReader'] {
  let read: (() => Promise<ServerReadings>) | undefined
  let reading: Promise<ServerReadings | undefined> | undefined
  /** prom-client collects all metrics in one go, so they share what is read. */
  const readOnce = () => {
    reading ??= Promise.resolve(read?.()).finally(() => {
      reading = undefined
    })
    return reading
  }
  const gauge: AddGauge = (name, help, set, labelNames = []) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        const readings = await readOnce()
        if (labelNames.length === 0) this.remove()
        else this.reset()
        if (readings) set(this, readings)
      },
    })
  for (const [name, help, select] of plainGauges) {
    gauge(name, help, (to, readings) => {
      const selected = select(readings)
      if (selected !== undefined) to.set(selected)
    })
  }
  addLabeledGauges(gauge)
  addBudgetGauges(gauge)
  return (from) => {
    read = from
  }
}

function addLabeledGauges(gauge: AddGauge): void {
  gauge(
    'callgate_disk_free_bytes',
    'Free space on each file system that is written to, by what is on it: data is the data folder with all that has no disk of its own.',
    (to, { disks }) => {
      for (const { holds, freeBytes } of disks) to.set({ holds }, freeBytes)
    },
    ['holds'],
  )
  gauge(
    'callgate_policy_exception_until_timestamp_seconds',
    'When an allowed unknown of the check blocks again (policy.<check>.until), also after that.',
    (to, { policyExceptions }) => {
      for (const { check, until } of policyExceptions) to.set({ check }, until / 1000)
    },
    ['check'],
  )
  gauge(
    'callgate_source_rate_budget_ratio',
    'Share of the requests that may be sent at once to a provider which is left: 0 while the next one must wait.',
    (to, { rateBudgets }) => {
      for (const { source, question, ratio } of rateBudgets) to.set({ source, question }, ratio)
    },
    ['source', 'question'],
  )
  gauge(
    'callgate_abandonment_campaigns',
    'Campaigns whose share of abandoned calls is near the limit of a calling rule in the current period, or so high that autodialed calls are blocked (over).',
    (to, { abandonment }) => {
      for (const { account, state, campaigns } of abandonment) to.set({ account, state }, campaigns)
    },
    ['account', 'state'],
  )
  gauge(
    'callgate_disconnected_early_calls',
    'Unanswered calls that the caller ended before the ring time of a calling rule, in the current periods of all campaigns.',
    (to, { disconnectedEarly }) => {
      for (const { account, calls } of disconnectedEarly) to.set({ account }, calls)
    },
    ['account'],
  )
}

function addBudgetGauges(gauge: AddGauge): void {
  const ofBudget = ['source', 'account', 'unit']
  gauge(
    'callgate_provider_budget_used',
    'What the account has asked the provider on this UTC day: numbers, or money in the currency of the budget; only of accounts with a limit.',
    (to, { providerBudgets }) => {
      for (const { source, account, unit, used } of providerBudgets) {
        to.set({ source, account, unit }, used)
      }
    },
    ofBudget,
  )
  gauge(
    'callgate_provider_budget_limit',
    'What the account may ask the provider on a UTC day.',
    (to, { providerBudgets }) => {
      for (const { source, account, unit, limit } of providerBudgets) {
        if (limit !== undefined) to.set({ source, account, unit }, limit)
      }
    },
    ofBudget,
  )
  gauge(
    'callgate_provider_budget_state',
    'How much of the budget is used up: 0 little, 1 from budget.warnAtPercent, 2 all of it, so the provider is not asked for the account until the next UTC day.',
    (to, { providerBudgets }) => {
      for (const { source, account, unit, state } of providerBudgets) {
        to.set({ source, account, unit }, ['open', 'near', 'spent'].indexOf(state))
      }
    },
    ofBudget,
  )
}
