/**
 * Every alert fires when it should, alone or with the others that a fault really causes, and none fires in
 * a healthy hour; each has a section of its own in the runbook. `promtool` of Prometheus does the work.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { runChild } from '../../../scripts/children.mjs'
import { providePrometheus } from '../../e2e/asterisk/lab/provided-asterisk.js'

const root = join(import.meta.dirname, '../../..')
const rulesFile = join(root, 'config/prometheus/alerts.yml')

interface Rule {
  readonly alert?: string
  readonly record?: string
  readonly for?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}
const groups: readonly { readonly rules: readonly Rule[] }[] = parse(
  readFileSync(rulesFile, 'utf8'),
).groups
const alerts = groups.flatMap(({ rules }) => rules.filter(({ alert }) => alert !== undefined))
const names = alerts.map(({ alert }) => alert ?? '')

const minutes = 100
/** When the fault of a case begins. */
const faultAt = 20

const steady = (value: number) => `${value}x${minutes}`
const growing = (perMinute: number) => `0+${perMinute}x${minutes}`
/** A gauge that changes with the fault. */
const becomes = (before: number, after: number) =>
  `${before}x${faultAt - 1} ${after}x${minutes - faultAt}`
/** A counter that begins to grow with the fault. */
const beginsToGrow = (perMinute: number) => `0x${faultAt - 1} 0+${perMinute}x${minutes - faultAt}`
/** A counter that grows no more. */
const stops = (perMinute: number) => {
  const last = perMinute * (faultAt - 1)
  return `0+${perMinute}x${faultAt - 1} ${last}x${minutes - faultAt}`
}

type Series = Readonly<Record<string, string | undefined>>

const own = 'job="callgate",instance="a"'
const decisions = (rest: string) => `callgate_decisions_total{${own},kind="manual",${rest}}`
const allowed = decisions('decision="allow",reason="permitted",via="asterisk"')
const blocked = decisions('decision="block",reason="internal-dnc",via="asterisk"')
const overloaded = decisions('decision="block",reason="overloaded",via="asterisk"')
const unanswered = decisions('decision="block",reason="check-unanswered",via="asterisk"')
const fast = `callgate_decision_duration_seconds_bucket{${own},via="asterisk",le="0.25"}`
const timed = `callgate_decision_duration_seconds_count{${own},via="asterisk"}`
const listState = (state: string) => `callgate_list_state{${own},list="us-dnc",state="${state}"}`
const flushed = (le: string) => `callgate_journal_flush_duration_seconds_bucket{${own},le="${le}"}`
const optOut = (le: string) => `callgate_opt_out_enforced_seconds_bucket{${own},le="${le}"}`
const received = (le: string) => `callgate_opt_out_receipt_seconds_bucket{${own},le="${le}"}`
const asked = (outcome: string) =>
  `callgate_source_requests_total{${own},source="vendor",question="scrub",outcome="${outcome}"}`
const witnessAnswered = (witness: string) =>
  `callgate_witness_last_answer_timestamp_seconds{${own},witness="${witness}",keeper="witness"}`
const inFuture = 100_000_000

const healthy: Series = {
  [`up{${own}}`]: steady(1),
  [`process_start_time_seconds{${own}}`]: steady(0),
  [`callgate_build_info{${own},version="1.0.0"}`]: steady(1),
  [`callgate_ready{${own},readiness="records"}`]: steady(1),
  [`callgate_ready{${own},readiness="calls"}`]: steady(1),
  [`callgate_ready{${own},readiness="asterisk"}`]: steady(1),
  [`callgate_clock_behind_seconds{${own}}`]: steady(0),
  [`callgate_config_last_reload_successful{${own}}`]: steady(1),
  [`callgate_disk_free_bytes{${own},holds="data"}`]: steady(200e9),
  [`callgate_next_key_expiry_timestamp_seconds{${own}}`]: steady(inFuture),
  [`callgate_backup_last_success_timestamp_seconds{${own}}`]: steady(0),
  [`callgate_policy_exception_until_timestamp_seconds{${own},check="litigator"}`]: steady(inFuture),
  'probe_ssl_earliest_cert_expiry{job="callgate-tls",instance="gate"}': steady(inFuture),
  [`callgate_ungated_calls_total{${own},server="pbx",trunk="t",hung_up="false"}`]: steady(0),
  [`callgate_asterisk_connected{${own},server="pbx"}`]: steady(1),
  [`callgate_asterisk_reconnects_total{${own},server="pbx"}`]: steady(0),
  [`callgate_decisions_not_carried_out_total{${own},server="pbx",why="timed-out"}`]: steady(0),
  'asterisk_calls_sum{job="asterisk",instance="pbx"}': growing(60),
  [allowed]: growing(60),
  [blocked]: growing(6),
  [fast]: growing(66),
  [timed]: growing(66),
  [`callgate_findings_total{${own},check="litigator",verdict="pass"}`]: growing(66),
  [`callgate_findings_total{${own},check="litigator",verdict="unknown"}`]: steady(0),
  [`callgate_degraded_decisions_total{${own},check="litigator"}`]: steady(0),
  [`callgate_shadowed_decisions_total{${own},check="permission"}`]: steady(0),
  [`callgate_cache_requests_total{${own},source="remote",question="scrub",result="hit"}`]:
    growing(66),
  [`callgate_account_decisions_total{${own},account="main",decision="allow"}`]: growing(60),
  [`callgate_account_decisions_total{${own},account="main",decision="block"}`]: growing(6),
  [`callgate_api_requests_total{${own},endpoint="decide",status="200"}`]: growing(66),
  [optOut('0.01')]: growing(1),
  [optOut('2.5')]: growing(1),
  [optOut('+Inf')]: growing(1),
  [received('86400')]: growing(1),
  [received('+Inf')]: growing(1),
  [`callgate_record_failures_total{${own}}`]: steady(0),
  [`callgate_oldest_pending_record_seconds{${own}}`]: steady(0),
  [flushed('0.005')]: growing(66),
  [flushed('0.5')]: growing(66),
  [flushed('+Inf')]: growing(66),
  [`callgate_journal_unsigned_seconds{${own}}`]: steady(9),
  [`callgate_journal_index_lag_records{${own}}`]: steady(10),
  [`callgate_witness_conflict{${own},witness="w1",keeper="witness"}`]: steady(0),
  [witnessAnswered('w1')]: growing(60),
  [witnessAnswered('w2')]: steady(0),
  [`callgate_witness_last_answer_timestamp_seconds{${own},witness="tsa",keeper="timestamp"}`]:
    steady(0),
  [listState('fresh')]: steady(1),
  [listState('soon-stale')]: steady(0),
  [listState('stale')]: steady(0),
  [listState('unusable')]: steady(0),
  [listState('missing')]: steady(0),
  [`callgate_numbering_area_code_mode{${own},country="US"}`]: steady(0),
  [`callgate_source_circuit_open{${own},source="vendor",question="scrub"}`]: steady(0),
  [`callgate_lookup_circuit_open{${own},source="lookups",question="labels"}`]: steady(0),
  [asked('answered')]: growing(10),
  [asked('deadline')]: steady(0),
  [`callgate_source_rate_budget_ratio{${own},source="vendor",question="scrub"}`]: steady(1),
  [`callgate_webhooks_pending{${own}}`]: steady(0),
  [`callgate_webhook_attempts_total{${own},outcome="delivered"}`]: growing(1),
  [`callgate_monitored_overdue_numbers{${own}}`]: steady(0),
  [`callgate_provider_budget_state{${own},source="provider",account="main",unit="numbers"}`]:
    steady(0),
  [`nodejs_eventloop_lag_p99_seconds{${own}}`]: steady(0.011),
  [`process_resident_memory_bytes{${own}}`]: steady(250e6),
  [`process_open_fds{${own}}`]: steady(80),
  [`process_max_fds{${own}}`]: steady(65_536),
  [`callgate_service_thread_failures_total{${own}}`]: steady(0),
  [`callgate_log_lines_dropped_total{${own}}`]: steady(0),
  [`callgate_trace_spans_dropped_total{${own}}`]: steady(0),
}

/** The only healthy series of that metric. */
function nameOf(metric: string): string {
  const found = Object.keys(healthy).filter((name) => name.startsWith(`${metric}{`))
  expect(found, metric).toHaveLength(1)
  return found[0] ?? ''
}
const metric = (name: string, values: string): Series => ({ [nameOf(name)]: values })

interface Case {
  /** What fires, each as often as there are label sets. */
  readonly fires: readonly string[]
  readonly series: Series
  /** Minute at which it is looked at; the end by default. */
  readonly at?: number
}

const cases: Readonly<Record<string, Case>> = {
  'nothing is scraped': { fires: ['CallgateAbsent'], series: { [`up{${own}}`]: undefined } },
  'callgate does not answer': {
    fires: ['CallgateDown'],
    series: { [`up{${own}}`]: becomes(1, 0) },
  },
  'callgate crashes again and again': {
    fires: ['CallgateRestarting'],
    series: metric('process_start_time_seconds', `0x${faultAt - 1} 0+120x${minutes - faultAt}`),
  },
  'records are not ready': {
    fires: ['CallgateNotReady'],
    series: { [`callgate_ready{${own},readiness="records"}`]: becomes(1, 0) },
  },
  'every account is blocked': {
    fires: ['CallgateEveryCallBlocked'],
    series: { [`callgate_ready{${own},readiness="calls"}`]: becomes(1, 0) },
  },
  'the clock was set back': {
    fires: ['CallgateClockBehind'],
    series: metric('callgate_clock_behind_seconds', becomes(0, 30)),
  },
  'the disk fills within a day': {
    fires: ['CallgateDiskFilling'],
    series: {
      [`callgate_disk_free_bytes{${own},holds="journal"}`]: `45000000000-60000000x${minutes}`,
    },
  },
  'the disk is almost full': {
    fires: ['CallgateDiskAlmostFull', 'CallgateDiskFilling'],
    series: { [`callgate_disk_free_bytes{${own},holds="data"}`]: becomes(200e9, 100e6) },
  },
  'a key expires in a day': {
    fires: ['CallgateKeyExpiresSoon'],
    series: metric('callgate_next_key_expiry_timestamp_seconds', becomes(inFuture, 86_400)),
  },
  'the last backup is three days old': {
    fires: ['CallgateBackupOld'],
    series: metric('callgate_backup_last_success_timestamp_seconds', becomes(0, -3 * 86_400)),
  },
  'a certificate expires in a day': {
    fires: ['CallgateCertificateExpiresSoon'],
    series: metric('probe_ssl_earliest_cert_expiry', becomes(inFuture, 86_400)),
  },
  'two versions run': {
    fires: ['CallgateVersionsDiffer'],
    series: { 'callgate_build_info{job="callgate",instance="b",version="1.1.0"}': steady(1) },
  },
  'a reload found mistakes': {
    fires: ['CallgateReloadFailed'],
    series: metric('callgate_config_last_reload_successful', becomes(1, 0)),
  },
  'a call leaves without a decision': {
    fires: ['CallgateUngatedCalls'],
    series: metric('callgate_ungated_calls_total', becomes(0, 1)),
    at: faultAt + 5,
  },
  'Asterisk is gone': {
    fires: ['CallgateAsteriskDisconnected'],
    series: metric('callgate_asterisk_connected', becomes(1, 0)),
  },
  'the connection flaps': {
    fires: ['CallgateAsteriskFlapping'],
    series: metric('callgate_asterisk_reconnects_total', beginsToGrow(1)),
  },
  'verdicts do not arrive': {
    fires: ['CallgateNotCarriedOut'],
    series: metric('callgate_decisions_not_carried_out_total', beginsToGrow(3)),
  },
  'calls pass by the gate': {
    fires: ['CallgateCallsWithoutDecisions', 'CallgateDecisionsStopped'],
    series: { [allowed]: stops(60), [blocked]: stops(6), [fast]: stops(66), [timed]: stops(66) },
    at: faultAt + 25,
  },
  'one decision in ten is slow': {
    fires: ['CallgateSlowDecisionsBudgetBurnsFast', 'CallgateSlowDecisionsBudgetBurnsSlow'],
    series: { [fast]: growing(59), [timed]: growing(66) },
  },
  'one decision in two hundred is slow': {
    fires: ['CallgateSlowDecisionsBudgetBurnsSlow'],
    series: { [fast]: growing(663), [timed]: growing(666) },
  },
  'one call in five is not decided': {
    fires: ['CallgateUndecidedBudgetBurnsFast', 'CallgateUndecidedBudgetBurnsSlow'],
    series: { [unanswered]: growing(15) },
  },
  'one call in fifty is not decided': {
    fires: ['CallgateUndecidedBudgetBurnsSlow'],
    series: { [unanswered]: growing(1.25) },
  },
  'the gate is overloaded': {
    fires: ['CallgateOverloaded'],
    series: { [overloaded]: `0x${minutes - 10} 0+0.1x10` },
  },
  'a check is not answered': {
    fires: ['CallgateUnknownFindings'],
    series: {
      [`callgate_findings_total{${own},check="litigator",verdict="unknown"}`]: beginsToGrow(10),
    },
  },
  'policy lets unknown pass': {
    fires: ['CallgateDegradedAllows'],
    series: metric('callgate_degraded_decisions_total', beginsToGrow(1)),
  },
  'stale answers are used': {
    fires: ['CallgateStaleAnswers'],
    series: {
      [`callgate_cache_requests_total{${own},source="remote",question="scrub",result="stale"}`]:
        beginsToGrow(1),
    },
  },
  'a check is in shadow': {
    fires: ['CallgateShadowedAllows'],
    series: metric('callgate_shadowed_decisions_total', beginsToGrow(1)),
  },
  'an exception ends tomorrow': {
    fires: ['CallgatePolicyExceptionEnds'],
    series: metric('callgate_policy_exception_until_timestamp_seconds', becomes(inFuture, 86_400)),
  },
  'a campaign has many abandoned calls': {
    fires: ['CallgateAbandonedCalls'],
    series: {
      [`callgate_abandonment_campaigns{${own},account="main",state="near"}`]: becomes(0, 1),
    },
  },
  'twice as many calls are blocked': {
    fires: ['CallgateBlockRateJump'],
    series: {
      [allowed]: `0+60x${minutes - 41} ${60 * (minutes - 41)}+30x40`,
      [blocked]: `0+6x${minutes - 41} ${6 * (minutes - 41)}+36x40`,
    },
  },
  'all calls are blocked': {
    fires: ['CallgateAccountBlocked', 'CallgateAlmostAllBlocked'],
    series: {
      [allowed]: steady(0),
      [blocked]: growing(66),
      [`callgate_account_decisions_total{${own},account="main",decision="allow"}`]: steady(0),
      [`callgate_account_decisions_total{${own},account="main",decision="block"}`]: growing(66),
    },
  },
  'one account is blocked': {
    fires: ['CallgateAccountBlocked'],
    series: {
      [`callgate_account_decisions_total{${own},account="acme",decision="block"}`]: growing(3),
    },
  },
  'requests fail': {
    fires: ['CallgateServerErrors'],
    series: {
      [`callgate_api_requests_total{${own},endpoint="scrub-post",status="500"}`]: beginsToGrow(1),
    },
  },
  'opt-outs wait for the database': {
    fires: ['CallgateOptOutsSlow'],
    series: { [optOut('0.01')]: steady(0) },
  },
  'opt-outs come in days after they were made': {
    fires: ['CallgateOptOutsLate'],
    series: { [received('86400')]: steady(0) },
  },
  'words that may be an opt-out wait for a person': {
    fires: ['CallgateUnclearOptOuts'],
    series: {
      [`callgate_unclear_opt_outs{${own},account="acme",platform="retell"}`]: becomes(0, 2),
    },
  },
  'a proxy has the wrong secret': {
    fires: ['CallgatePlatformSignatures'],
    series: {
      [`callgate_platform_refused_signatures_total{${own},platform="vapi"}`]: beginsToGrow(3),
    },
  },
  'no words come from a platform': {
    fires: ['CallgatePlatformDeaf'],
    series: {
      [`callgate_platform_deaf{${own},account="acme",platform="twilio"}`]: becomes(0, 1),
    },
  },
  'events of a platform cannot be worked on': {
    fires: ['CallgatePlatformEventsFail'],
    series: {
      [`callgate_platform_events_total{${own},platform="twilio",result="failed"}`]: beginsToGrow(1),
    },
  },
  'records are refused by the disk': {
    fires: ['CallgateRecordsFail'],
    series: metric('callgate_record_failures_total', beginsToGrow(5)),
  },
  'records wait for the disk': {
    fires: ['CallgateRecordsLate'],
    series: metric('callgate_oldest_pending_record_seconds', becomes(0, 3)),
  },
  'flushes are slow': {
    fires: ['CallgateJournalSlow'],
    series: { [flushed('0.005')]: steady(0) },
  },
  'records are not signed': {
    fires: ['CallgateJournalUnsigned'],
    series: metric('callgate_journal_unsigned_seconds', becomes(9, 4_000)),
  },
  'the index does not follow': {
    fires: ['CallgateIndexBehind'],
    series: metric('callgate_journal_index_lag_records', becomes(10, 50_000)),
  },
  'the journal was rolled back': {
    fires: ['CallgateJournalRolledBack'],
    series: metric('callgate_witness_conflict', becomes(0, 1)),
  },
  'no witness answers': {
    fires: ['CallgateWitnessesSilent'],
    series: { [witnessAnswered('w1')]: stops(60) },
  },
  'a list will be too old': {
    fires: ['CallgateListSoonTooOld'],
    series: { [listState('soon-stale')]: becomes(0, 1) },
  },
  'a list is too old': {
    fires: ['CallgateListTooOld'],
    series: { [listState('stale')]: becomes(0, 1) },
  },
  'a list is damaged': {
    fires: ['CallgateListUnusable'],
    series: { [listState('unusable')]: becomes(0, 1) },
  },
  'a list is missing': {
    fires: ['CallgateListMissing'],
    series: { [listState('missing')]: becomes(0, 1) },
  },
  'prefixes are not imported': {
    fires: ['CallgateAreaCodeMode'],
    series: metric('callgate_numbering_area_code_mode', becomes(0, 1)),
  },
  'the provider is not asked': {
    fires: ['CallgateSourceCircuitOpen'],
    series: metric('callgate_source_circuit_open', becomes(0, 1)),
  },
  'the lookup provider is not asked': {
    fires: ['CallgateLookupCircuitOpen'],
    series: metric('callgate_lookup_circuit_open', becomes(0, 1)),
  },
  'the provider is late': {
    fires: ['CallgateSourceFails'],
    series: { [asked('deadline')]: beginsToGrow(5) },
  },
  'the rate limit is used up': {
    fires: ['CallgateRateBudgetSpent'],
    series: metric('callgate_source_rate_budget_ratio', becomes(1, 0)),
  },
  'most of a budget is used': {
    fires: ['CallgateProviderBudgetNearlySpent'],
    series: metric('callgate_provider_budget_state', becomes(0, 1)),
  },
  'a budget is used up': {
    fires: ['CallgateProviderBudgetSpent'],
    series: metric('callgate_provider_budget_state', becomes(0, 2)),
  },
  'webhooks are not accepted': {
    fires: ['CallgateWebhooksStuck'],
    series: {
      ...metric('callgate_webhooks_pending', becomes(0, 40)),
      ...metric('callgate_webhook_attempts_total', stops(1)),
    },
  },
  'labels are not checked': {
    fires: ['CallgateMonitorOverdue'],
    series: metric('callgate_monitored_overdue_numbers', becomes(0, 12)),
  },
  'the event loop is held': {
    fires: ['CallgateEventLoopSlow'],
    series: metric('nodejs_eventloop_lag_p99_seconds', becomes(0.011, 0.4)),
  },
  'memory grows': {
    fires: ['CallgateMemoryGrows'],
    series: metric('process_resident_memory_bytes', becomes(250e6, 3e9)),
  },
  'descriptors run out': {
    fires: ['CallgateDescriptors'],
    series: metric('process_open_fds', becomes(80, 60_000)),
  },
  'a service thread dies': {
    fires: ['CallgateServiceThreadFails'],
    series: metric('callgate_service_thread_failures_total', beginsToGrow(1)),
  },
  'nobody reads the log': {
    fires: ['CallgateLogLinesDropped'],
    series: metric('callgate_log_lines_dropped_total', beginsToGrow(10)),
  },
  'the collector of traces is down': {
    fires: ['CallgateTraceSpansDropped'],
    series: metric('callgate_trace_spans_dropped_total', beginsToGrow(64)),
  },
}

const firing = 'count by (alertname) (ALERTS{alertstate="firing"})'
/** For how many minutes each alert that fires was pending before. */
const minutesPending =
  `max by (alertname) (count_over_time(ALERTS{alertstate="pending"}[${minutes}m])) ` +
  'and on (alertname) ALERTS{alertstate="firing"}'

/** The `for` of each alert in minutes; 0 without one. */
const holdMinutes = new Map(
  alerts.map(({ alert = '', for: hold = '0m' }) => {
    const [, count, unit] = /^(\d+)([mh])$/.exec(hold) ?? []
    expect(unit, `${alert}: for ${hold}`).toBeDefined()
    return [alert, Number(count) * (unit === 'h' ? 60 : 1)] as const
  }),
)

/**
 * In the format of `promtool test rules`. An alert with a `for` must have been pending for that long: it did not
 * fire before, nor begin anew.
 */
function toRuleTest(name: string, { fires, series, at = minutes }: Case) {
  const all = Object.entries({ ...healthy, ...series })
  return {
    name,
    interval: '1m',
    input_series: all.flatMap(([one, values]) => (values ? [{ series: one, values }] : [])),
    promql_expr_test: [
      {
        expr: firing,
        eval_time: `${at}m`,
        exp_samples: fires.map((alertname) => ({
          labels: `{alertname="${alertname}"}`,
          value: 1,
        })),
      },
      {
        expr: minutesPending,
        eval_time: `${at}m`,
        exp_samples: fires.flatMap((alertname) => {
          const value = holdMinutes.get(alertname) ?? 0
          return value === 0 ? [] : [{ labels: `{alertname="${alertname}"}`, value }]
        }),
      },
    ],
  }
}

const folder = mkdtempSync(join(tmpdir(), 'callgate-alerts-'))
let promtool: string

beforeAll(async () => {
  promtool = (await providePrometheus()).promtool
})
afterAll(() => rmSync(folder, { recursive: true }))

async function testRules(file: string, tests: readonly ReturnType<typeof toRuleTest>[]) {
  const path = join(folder, file)
  const content = { rule_files: [rulesFile], evaluation_interval: '1m', tests }
  writeFileSync(path, stringify(content, { aliasDuplicateObjects: false }))
  const { code, out, err } = await runChild(promtool, ['test', 'rules', path], {
    timeout: 110_000,
    // It needs 200 MB then, and a fifth less time.
    env: { ...process.env, GOGC: '1000' },
  })
  expect(code, `${out}\n${err}`).toBe(0)
}

describe('the alerts', () => {
  test('are accepted by Prometheus', async () => {
    const config = join(root, 'config/prometheus/prometheus.yml')
    const inCompose = join(root, 'config/compose/prometheus.yml')
    for (const args of [
      ['check', 'rules', '--lint=all', '--lint-fatal', rulesFile],
      ['check', 'config', config],
      // Its alerts are beside it only in the container.
      ['check', 'config', '--syntax-only', inCompose],
    ]) {
      const { code, out, err } = await runChild(promtool, args)
      expect(code, `${out}\n${err}`).toBe(0)
    }
  })

  test('do not fire while all is well', async () => {
    const quiet = [15, 50, minutes].map((at) => toRuleTest(`${at}`, { fires: [], series: {}, at }))
    await testRules('healthy.yml', quiet)
  })

  test.for(chunk(Object.entries(cases), 10))('fire for their faults: %j', async (some) => {
    await testRules(
      `${some[0]?.[0]}.yml`,
      some.map(([name, one]) => toRuleTest(name, one)),
    )
  })

  test('each have a case', () => {
    const covered = new Set(Object.values(cases).flatMap(({ fires }) => fires))
    expect([...covered].sort()).toEqual([...names].sort())
  })

  test('each have a severity, a summary, and a section of the runbook, which has no other', () => {
    for (const { alert, labels, annotations } of alerts) {
      expect(['critical', 'warning', 'info'], alert).toContain(labels?.severity)
      expect(annotations?.summary, alert).toBeTruthy()
      expect(annotations?.runbook_url, alert).toBe(
        `https://runbook.example.com/callgate.md#${alert?.toLowerCase()}`,
      )
    }
    const runbook = readFileSync(join(root, 'docs/runbook.md'), 'utf8')
    const sections = [...runbook.matchAll(/^### (\w+)$/gm)].map(([, name]) => name)
    expect(sections).toEqual(names)
    for (const section of runbook.split(/^### /m).slice(1)) {
      const title = section.slice(0, section.indexOf('\n'))
      for (const part of ['**Calls:**', '**Look:**', '**Do:**']) {
        expect(section, title).toContain(part)
      }
    }
  })
})

function chunk<Item>(items: readonly Item[], size: number): (readonly Item[])[] {
  return items.length === 0 ? [] : [items.slice(0, size), ...chunk(items.slice(size), size)]
}
