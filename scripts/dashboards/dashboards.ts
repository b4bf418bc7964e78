/** The dashboards of `config/grafana/dashboards/`, written by `npm run dashboards`. */
import { reasonCodes, reasons } from '../../src/domain/checks.js'
import { calls, type DashboardSpec, own, type PanelSpec, type Query } from './panels.js'

const rate = (metric: string, selector: string) => `rate(${metric}{${selector}}[$__rate_interval])`
const sumBy = (labels: string, inner: string) => `sum by (${labels}) (${inner})`
/** What may not have happened yet shows as 0. */
const orZero = (expression: string) => `${expression} or vector(0)`

function quantiles(metric: string, selector: string, by = ''): readonly Query[] {
  return [0.5, 0.95, 0.99].map((quantile) => [
    `histogram_quantile(${quantile}, ${sumBy(by === '' ? 'le' : `${by}, le`, rate(`${metric}_bucket`, selector))})`,
    `p${quantile * 100}${by === '' ? '' : ` {{${by}}}`}`,
  ])
}

const undecidedCodes = reasonCodes.filter((code) => ['fault', 'list'].includes(reasons[code].kind))
/** Of decisions that were made without answers. The alerts count the same. */
export const undecided = `reason=~"${undecidedCodes.join('|')}"`
const decisions = 'callgate_decisions_total'
const share = (part: string, window: string, offset = '') =>
  `sum(rate(${decisions}{${calls},${part}}[${window}]${offset})) / sum(rate(${decisions}{${calls}}[${window}]${offset}))`

const up: PanelSpec = {
  title: 'Servers that answer',
  about: 'Those that Prometheus reaches. The calls of one that does not answer are refused.',
  alert: 'CallgateDown',
  unit: 'short',
  queries: [[`sum(up{${own}})`, 'servers']],
  redBelow: 1,
}
const blockers: PanelSpec = {
  title: 'What blocks every call right now',
  about: 'Checks of /readyz that are not ready, by name. /readyz says what is wrong with each.',
  alert: 'CallgateNotReady',
  unit: 'short',
  queries: [[`count by (readiness) (callgate_ready{${own}} == 0)`, '{{readiness}}']],
  noValue: 'nothing',
  redFrom: 1,
}
const p99: PanelSpec = {
  title: 'Time of a decision, p99',
  about: 'From the request until the answer, with its record on disk.',
  alert: 'CallgateSlowDecisionsBudgetBurnsFast',
  unit: 's',
  queries: quantiles('callgate_decision_duration_seconds', calls).slice(2),
  redFrom: 0.25,
}

const overview: DashboardSpec = {
  uid: 'callgate-overview',
  title: 'callgate: overview',
  about: 'Whether calls are judged, how, and how fast.',
  rows: [
    {
      title: 'Are calls judged?',
      panels: [
        { kind: 'stat', ...up, span: 4 },
        { kind: 'stat', ...blockers, span: 8 },
        {
          kind: 'stat',
          title: 'Decisions a second',
          about:
            'Of calls, without what-ifs. None while calls go out means that they pass by the gate.',
          alert: 'CallgateDecisionsStopped',
          unit: 'reqps',
          queries: [[`sum(${rate(decisions, calls)})`, 'decisions']],
          span: 4,
        },
        {
          kind: 'stat',
          title: 'Undecided',
          about:
            'Share of calls blocked because a check had no answer or nothing could be recorded.',
          alert: 'CallgateUndecidedBudgetBurnsFast',
          unit: 'percentunit',
          queries: [[orZero(share(undecided, '$__rate_interval')), 'undecided']],
          redFrom: 0.05,
          span: 4,
        },
        { kind: 'stat', ...p99, span: 4 },
      ],
    },
    {
      title: 'Decisions',
      panels: [
        {
          kind: 'graph',
          title: 'Verdicts',
          about: 'Allowed and blocked calls. Undecided ones are among the blocked.',
          alert: 'CallgateAlmostAllBlocked',
          unit: 'reqps',
          queries: [
            [sumBy('decision', rate(decisions, calls)), '{{decision}}'],
            [orZero(`sum(${rate(decisions, `${calls},${undecided}`)})`), 'undecided'],
          ],
        },
        {
          kind: 'graph',
          title: 'Blocks by reason',
          about: 'The ten most frequent reasons. docs/gate.md explains each.',
          alert: 'CallgateBlockRateJump',
          unit: 'reqps',
          stacked: true,
          queries: [
            [
              `topk(10, ${sumBy('reason', rate(decisions, `${calls},decision="block"`))})`,
              '{{reason}}',
            ],
          ],
        },
        {
          kind: 'graph',
          title: 'Calls by kind',
          about: 'Placed by a person, by a machine, or spoken by an AI agent.',
          alert: 'CallgateDecisionsStopped',
          unit: 'reqps',
          stacked: true,
          queries: [[sumBy('kind', rate(decisions, calls)), '{{kind}}']],
        },
        {
          kind: 'graph',
          title: 'Share of blocked calls, and a week ago',
          about: 'A sudden difference is a new campaign, a lost list, or a wrong clock.',
          alert: 'CallgateBlockRateJump',
          unit: 'percentunit',
          max: 1,
          queries: [
            [share('decision="block"', '30m'), 'now'],
            [share('decision="block"', '30m', ' offset 1w'), 'a week ago'],
          ],
        },
        {
          kind: 'graph',
          title: 'Blocked calls by account',
          about:
            'One account at 100 % while others are not has lost its list, project or subscription.',
          alert: 'CallgateAccountBlocked',
          unit: 'percentunit',
          max: 1,
          queries: [
            [
              `${sumBy('account', rate('callgate_account_decisions_total', `${own},decision="block"`))} / ${sumBy('account', rate('callgate_account_decisions_total', own))}`,
              '{{account}}',
            ],
          ],
        },
        {
          kind: 'graph',
          title: 'Unknown findings by check',
          about: 'Share of the findings without an answer. They block, unless policy allows them.',
          alert: 'CallgateUnknownFindings',
          unit: 'percentunit',
          max: 1,
          redFrom: 0.05,
          queries: [
            [
              `${sumBy('check', rate('callgate_findings_total', `${own},verdict="unknown"`))} / ${sumBy('check', rate('callgate_findings_total', own))}`,
              '{{check}}',
            ],
          ],
        },
      ],
    },
    {
      title: 'Time',
      panels: [
        {
          kind: 'heatmap',
          title: 'Time of decisions',
          about:
            'How many decisions took how long. A second band is a source or a disk that stalls.',
          alert: 'CallgateSlowDecisionsBudgetBurnsFast',
          unit: 's',
          queries: [
            [
              sumBy(
                'le',
                `increase(callgate_decision_duration_seconds_bucket{${calls}}[$__rate_interval])`,
              ),
              '{{le}}',
            ],
          ],
        },
        {
          kind: 'graph',
          title: 'Time of a decision',
          about: 'Percentiles of all doors. The deadline is 0.25 s, or 1.5 s with a remote source.',
          alert: 'CallgateSlowDecisionsBudgetBurnsSlow',
          unit: 's',
          queries: quantiles('callgate_decision_duration_seconds', calls),
        },
        {
          kind: 'graph',
          title: 'Opt-out until enforced',
          about: 'From the arrival of an opt-out until no decision of this server can miss it.',
          alert: 'CallgateOptOutsSlow',
          unit: 's',
          redFrom: 1,
          queries: quantiles('callgate_opt_out_enforced_seconds', own),
        },
        {
          kind: 'graph',
          title: 'Allowed by policy, or in shadow',
          about: 'Calls placed although a check was unknown or stale, or in shadow and against it.',
          alert: 'CallgateDegradedAllows',
          unit: 'reqps',
          queries: [
            [
              orZero(sumBy('check', rate('callgate_degraded_decisions_total', own))),
              'degraded {{check}}',
            ],
            [
              orZero(sumBy('check', rate('callgate_shadowed_decisions_total', own))),
              'shadow {{check}}',
            ],
          ],
        },
      ],
    },
  ],
}

const gate: DashboardSpec = {
  uid: 'callgate-asterisk',
  title: 'callgate: gate and Asterisk',
  about: 'Whether the calls of each Asterisk go through the gate.',
  rows: [
    {
      title: 'Asterisk',
      panels: [
        {
          kind: 'stat',
          title: 'Connected',
          about: '1 while calls of this Asterisk reach the gate. At 0 they are refused.',
          alert: 'CallgateAsteriskDisconnected',
          unit: 'short',
          redBelow: 1,
          queries: [[`min by (server) (callgate_asterisk_connected{${own}})`, '{{server}}']],
          span: 8,
        },
        {
          kind: 'stat',
          title: 'Ungated legs',
          about: 'Legs that started on a watched trunk without a permit, in the time shown.',
          alert: 'CallgateUngatedCalls',
          unit: 'short',
          redFrom: 1,
          queries: [
            [orZero(`sum(increase(callgate_ungated_calls_total{${own}}[$__range]))`), 'legs'],
          ],
          span: 8,
        },
        {
          kind: 'stat',
          title: 'Reconnects',
          about:
            'In the time shown. A few are restarts of Asterisk; many are a network or a rival.',
          alert: 'CallgateAsteriskFlapping',
          unit: 'short',
          redFrom: 4,
          queries: [
            [
              `sum by (server) (increase(callgate_asterisk_reconnects_total{${own}}[$__range]))`,
              '{{server}}',
            ],
          ],
          span: 8,
        },
        {
          kind: 'graph',
          title: 'Ungated legs by trunk',
          about: 'Each is a call that nobody checked. hung_up says whether callgate ended it.',
          alert: 'CallgateUngatedCalls',
          unit: 'short',
          queries: [
            [
              `sum by (trunk, hung_up) (increase(callgate_ungated_calls_total{${own}}[$__rate_interval]))`,
              '{{trunk}}, hung up {{hung_up}}',
            ],
          ],
        },
        {
          kind: 'graph',
          title: 'Decisions not carried out',
          about:
            'The channel had left, or Asterisk did not take the verdict. The dialplan refuses those calls.',
          alert: 'CallgateNotCarriedOut',
          unit: 'reqps',
          queries: [
            [
              sumBy('server, why', rate('callgate_decisions_not_carried_out_total', own)),
              '{{server}} {{why}}',
            ],
          ],
        },
      ],
    },
    {
      title: 'Doors',
      panels: [
        {
          kind: 'graph',
          title: 'Decisions by door',
          about:
            'asterisk is ARI, http is POST /v1/decisions, predial the one-line answer for dialplans.',
          alert: 'CallgateDecisionsStopped',
          unit: 'reqps',
          stacked: true,
          queries: [[sumBy('via', rate(decisions, calls)), '{{via}}']],
        },
        {
          kind: 'graph',
          title: 'Time by door, p99',
          about: 'From the request until the answer.',
          alert: 'CallgateSlowDecisionsBudgetBurnsFast',
          unit: 's',
          redFrom: 0.25,
          queries: quantiles('callgate_decision_duration_seconds', calls, 'via').slice(2),
        },
        {
          kind: 'graph',
          title: 'Decisions that wait',
          about:
            'For a source or for the disk, and how many may. Beyond that, calls are blocked as overloaded.',
          alert: 'CallgateOverloaded',
          unit: 'short',
          queries: [
            [`sum(callgate_decisions_in_flight{${own}})`, 'waiting'],
            [`sum(callgate_decisions_max_in_flight{${own}})`, 'may wait'],
          ],
        },
        {
          kind: 'graph',
          title: 'Requests by status',
          about: 'Of the whole API. 429 is a rate limit, 503 a limit of the server, 500 a fault.',
          alert: 'CallgateServerErrors',
          unit: 'reqps',
          stacked: true,
          queries: [[sumBy('status', rate('callgate_api_requests_total', own)), '{{status}}']],
        },
      ],
    },
  ],
}

const sources: DashboardSpec = {
  uid: 'callgate-sources',
  title: 'callgate: sources and cache',
  about:
    'Where answers come from, how fast, and what fails. Providers show only with source.kind remote.',
  rows: [
    {
      title: 'Cache',
      panels: [
        {
          kind: 'graph',
          title: 'Answers from the cache',
          about:
            'Share of the questions to providers, and of the looks at the facts stored here, that were answered from memory.',
          alert: 'CallgateRateBudgetSpent',
          unit: 'percentunit',
          max: 1,
          queries: [
            [
              `${sumBy('source, question', rate('callgate_cache_requests_total', `${own},result=~"hit|refresh"`))} / ${sumBy('source, question', rate('callgate_cache_requests_total', own))}`,
              '{{source}} {{question}}',
            ],
          ],
        },
        {
          kind: 'graph',
          title: 'Cache look-ups by result',
          about: 'stale means that the source does not answer and an old answer is used.',
          alert: 'CallgateStaleAnswers',
          unit: 'reqps',
          stacked: true,
          queries: [[sumBy('result', rate('callgate_cache_requests_total', own)), '{{result}}']],
        },
      ],
    },
    {
      title: 'Sources',
      panels: [
        {
          kind: 'graph',
          title: 'Requests by outcome',
          about:
            'Looks at the facts stored here, and requests to providers. Everything but answered leaves a check unknown.',
          alert: 'CallgateSourceFails',
          unit: 'reqps',
          queries: [
            [
              sumBy('source, outcome', rate('callgate_source_requests_total', own)),
              '{{source}} {{outcome}}',
            ],
          ],
        },
        {
          kind: 'graph',
          title: 'Time of a source, p99',
          about: 'By question. It is a part of the time of a decision.',
          alert: 'CallgateSlowDecisionsBudgetBurnsSlow',
          unit: 's',
          queries: [
            [
              `histogram_quantile(0.99, ${sumBy('source, question, le', rate('callgate_source_request_duration_seconds_bucket', own))})`,
              '{{source}} {{question}}',
            ],
          ],
        },
        {
          kind: 'graph',
          title: 'Open circuits',
          about: '1 while a provider is not asked, since its requests kept failing.',
          alert: 'CallgateSourceCircuitOpen',
          unit: 'short',
          max: 1,
          redFrom: 1,
          queries: [
            [
              `max by (source, question) (callgate_source_circuit_open{${own}})`,
              '{{source}} {{question}}',
            ],
            [
              `max by (source, question) (callgate_lookup_circuit_open{${own}})`,
              '{{source}} {{question}}',
            ],
          ],
        },
        {
          kind: 'graph',
          title: 'Rate budget left',
          about: 'Share of the burst that a provider permits. At 0 the next question waits.',
          alert: 'CallgateRateBudgetSpent',
          unit: 'percentunit',
          max: 1,
          queries: [
            [
              `min by (source, question) (callgate_source_rate_budget_ratio{${own}})`,
              '{{source}} {{question}}',
            ],
          ],
        },
        {
          kind: 'graph',
          title: 'Budgets of the day by account',
          about: 'The share that is used up; at 100 % the provider is not asked for the account.',
          alert: 'CallgateProviderBudgetSpent',
          unit: 'percentunit',
          max: 1,
          redFrom: 1,
          queries: [
            [
              `max by (source, account, unit) (callgate_provider_budget_used{${own}} / callgate_provider_budget_limit{${own}})`,
              '{{source}} {{account}} {{unit}}',
            ],
          ],
        },
      ],
    },
    {
      title: 'Look-ups and webhooks',
      panels: [
        {
          kind: 'graph',
          title: 'Look-up requests by outcome',
          about: 'Of the provider of identity, line and label look-ups.',
          alert: 'CallgateLookupCircuitOpen',
          unit: 'reqps',
          queries: [
            [
              sumBy('question, outcome', rate('callgate_lookup_requests_total', own)),
              '{{question}} {{outcome}}',
            ],
          ],
        },
        {
          kind: 'graph',
          title: 'Webhooks',
          about: 'Attempts by outcome, and how many wait.',
          alert: 'CallgateWebhooksStuck',
          unit: 'short',
          queries: [
            [
              `sum by (outcome) (increase(callgate_webhook_attempts_total{${own}}[$__rate_interval]))`,
              '{{outcome}}',
            ],
            [`sum(callgate_webhooks_pending{${own}})`, 'waiting'],
          ],
        },
      ],
    },
  ],
}

const lists: DashboardSpec = {
  uid: 'callgate-data',
  title: 'callgate: lists and facts',
  about: 'What decisions are based on, and for how long it may still be used.',
  rows: [
    {
      title: 'Lists',
      panels: [
        {
          kind: 'stat',
          title: 'Time until a list may no longer be used',
          about: 'By law or by lists.maxAgeDays. Import it before; 0 or less blocks its numbers.',
          alert: 'CallgateListSoonTooOld',
          unit: 's',
          redBelow: 86_400,
          queries: [
            [
              `min by (list) (callgate_list_max_age_seconds{${own}} - callgate_list_age_seconds{${own}})`,
              '{{list}}',
            ],
          ],
          noValue: 'no list with a maximum age',
          span: 12,
        },
        {
          kind: 'stat',
          title: 'Lists that cannot be used',
          about: 'Missing, too old or damaged. The numbers they cover are blocked.',
          alert: 'CallgateListMissing',
          unit: 'short',
          redFrom: 1,
          queries: [
            [
              `max by (list, state) (callgate_list_state{${own},state=~"missing|stale|unusable"} == 1)`,
              '{{list}} {{state}}',
            ],
          ],
          noValue: 'none',
          span: 12,
        },
        {
          kind: 'graph',
          title: 'Age of lists',
          about: 'Share of the maximum age. An import sets it back; at 1 the list is not used.',
          alert: 'CallgateListTooOld',
          unit: 'percentunit',
          redFrom: 1,
          queries: [
            [
              `max by (list) (callgate_list_age_seconds{${own}} / callgate_list_max_age_seconds{${own}})`,
              '{{list}}',
            ],
          ],
        },
        {
          kind: 'graph',
          title: 'Numbers in lists',
          about: 'A list that shrinks at once was imported from a damaged or partial file.',
          alert: 'CallgateListUnusable',
          unit: 'short',
          queries: [[`max by (list) (callgate_list_entries{${own}})`, '{{list}}']],
        },
      ],
    },
    {
      title: 'Facts and prefixes',
      panels: [
        {
          kind: 'graph',
          title: 'Entries of facts',
          about: 'Ported numbers, line types, reassigned numbers and labels that were imported.',
          alert: 'CallgateListUnusable',
          unit: 'short',
          queries: [[`max by (feed) (callgate_fact_entries{${own}})`, '{{feed}}']],
        },
        {
          kind: 'graph',
          title: 'Age of facts',
          about: 'Since the as-of date of the imported file.',
          alert: 'CallgateListUnusable',
          unit: 's',
          queries: [
            [`time() - max by (feed) (callgate_fact_as_of_timestamp_seconds{${own}})`, '{{feed}}'],
          ],
        },
        {
          kind: 'stat',
          title: 'Area-code mode',
          about:
            '1 while prefixes of the country are not imported, so that places are those of area codes.',
          alert: 'CallgateAreaCodeMode',
          unit: 'short',
          redFrom: 1,
          queries: [
            [`max by (country) (callgate_numbering_area_code_mode{${own}})`, '{{country}}'],
          ],
          span: 12,
        },
        {
          kind: 'stat',
          title: 'Monitored numbers that are overdue',
          about: 'Not checked for labels for more than a day.',
          alert: 'CallgateMonitorOverdue',
          unit: 'short',
          redFrom: 1,
          queries: [[`sum(callgate_monitored_overdue_numbers{${own}})`, 'overdue']],
          span: 12,
        },
      ],
    },
  ],
}

const journal: DashboardSpec = {
  uid: 'callgate-process',
  title: 'callgate: journal and process',
  about: 'Whether decisions reach the disk in time, and what the process uses.',
  rows: [
    {
      title: 'Journal',
      panels: [
        {
          kind: 'graph',
          title: 'Time of a flush',
          about: 'Until a batch of records is on disk. No allow leaves before.',
          alert: 'CallgateJournalSlow',
          unit: 's',
          redFrom: 0.1,
          queries: quantiles('callgate_journal_flush_duration_seconds', own),
        },
        {
          kind: 'graph',
          title: 'Oldest record that waits',
          about: 'How long it has waited for the disk.',
          alert: 'CallgateRecordsLate',
          unit: 's',
          redFrom: 0.5,
          queries: [
            [`max by (instance) (callgate_oldest_pending_record_seconds{${own}})`, '{{instance}}'],
          ],
        },
        {
          kind: 'graph',
          title: 'Records that wait or failed',
          about: 'Failed ones are tried again; their calls were blocked.',
          alert: 'CallgateRecordsFail',
          unit: 'short',
          queries: [
            [`sum(callgate_records_pending{${own}})`, 'waiting'],
            [`sum(increase(callgate_record_failures_total{${own}}[$__rate_interval]))`, 'failed'],
          ],
        },
        {
          kind: 'graph',
          title: 'Records not in the index yet',
          about: 'They are on disk, but searches do not find them yet.',
          alert: 'CallgateIndexBehind',
          unit: 'short',
          queries: [
            [`sum by (instance) (callgate_journal_index_lag_records{${own}})`, '{{instance}}'],
          ],
        },
        {
          kind: 'graph',
          title: 'Records not signed yet',
          about:
            'How long the oldest one waits for a checkpoint, which is signed each ten seconds.',
          alert: 'CallgateJournalUnsigned',
          unit: 's',
          redFrom: 300,
          queries: [
            [`max by (instance) (callgate_journal_unsigned_seconds{${own}})`, '{{instance}}'],
          ],
        },
        {
          kind: 'graph',
          title: 'Since a witness answered',
          about: 'Of those that keep the signed heads of the journal; time stamps are rarer.',
          alert: 'CallgateWitnessesSilent',
          unit: 's',
          redFrom: 600,
          queries: [
            [
              `time() - max by (instance, witness) (callgate_witness_last_answer_timestamp_seconds{${own},keeper!="timestamp"})`,
              '{{witness}} of {{instance}}',
            ],
          ],
        },
        {
          kind: 'graph',
          title: 'Witnesses with another past',
          about:
            'Such a witness has a head that the journal does not go on from, since it was rolled back.',
          alert: 'CallgateJournalRolledBack',
          unit: 'short',
          redFrom: 1,
          queries: [
            [
              `max by (instance, witness) (callgate_witness_conflict{${own}})`,
              '{{witness}} of {{instance}}',
            ],
          ],
        },
      ],
    },
    {
      title: 'Process',
      panels: [
        {
          kind: 'graph',
          title: 'Event loop',
          about: 'How long the thread that decides is held, p99 since the last scrape.',
          alert: 'CallgateEventLoopSlow',
          unit: 's',
          redFrom: 0.1,
          queries: [
            [`max by (instance) (nodejs_eventloop_lag_p99_seconds{${own}})`, '{{instance}}'],
          ],
        },
        {
          kind: 'graph',
          title: 'Memory',
          about: 'Of the whole process, and the heap of the main thread.',
          alert: 'CallgateMemoryGrows',
          unit: 'bytes',
          queries: [
            [`max by (instance) (process_resident_memory_bytes{${own}})`, 'resident {{instance}}'],
            [`max by (instance) (nodejs_heap_size_used_bytes{${own}})`, 'heap {{instance}}'],
          ],
        },
        {
          kind: 'graph',
          title: 'Processor time',
          about: 'In cores, of all threads together.',
          alert: 'CallgateEventLoopSlow',
          unit: 'short',
          queries: [
            [`sum by (instance) (${rate('process_cpu_seconds_total', own)})`, '{{instance}}'],
          ],
        },
        {
          kind: 'graph',
          title: 'Garbage collection',
          about: 'Share of the time that the main thread spends on it.',
          alert: 'CallgateMemoryGrows',
          unit: 'percentunit',
          queries: [[sumBy('kind', rate('nodejs_gc_duration_seconds_sum', own)), '{{kind}}']],
        },
      ],
    },
    {
      title: 'Machine and keys',
      panels: [
        {
          kind: 'stat',
          title: 'Free disk space',
          about:
            'On each file system that is written to: that of the data folder, and others by what is on them.',
          alert: 'CallgateDiskFilling',
          unit: 'bytes',
          redBelow: 5e9,
          queries: [[`min by (holds) (callgate_disk_free_bytes{${own}})`, '{{holds}}']],
        },
        {
          kind: 'stat',
          title: 'Clock behind',
          about: 'How far the clock is behind the newest record. Above 0 no call is allowed.',
          alert: 'CallgateClockBehind',
          unit: 's',
          redFrom: 1,
          queries: [[`max(callgate_clock_behind_seconds{${own}})`, 'behind']],
        },
        {
          kind: 'stat',
          title: 'Next key expires in',
          about: 'Of the keys with an end.',
          alert: 'CallgateKeyExpiresSoon',
          unit: 's',
          redBelow: 604_800,
          queries: [[`min(callgate_next_key_expiry_timestamp_seconds{${own}}) - time()`, 'key']],
          noValue: 'none expires',
        },
        {
          kind: 'stat',
          title: 'Open files',
          about: 'Share of the permitted file descriptors.',
          alert: 'CallgateDescriptors',
          unit: 'percentunit',
          redFrom: 0.8,
          queries: [[`max(process_open_fds{${own}} / process_max_fds{${own}})`, 'open']],
        },
        {
          kind: 'stat',
          title: 'Lost trace spans',
          about: 'Spans that the collector did not accept in time; 0 also if none are exported.',
          alert: 'CallgateTraceSpansDropped',
          unit: 'short',
          redFrom: 1,
          queries: [
            [`sum(increase(callgate_trace_spans_dropped_total{${own}}[$__range]))`, 'spans'],
          ],
        },
      ],
    },
  ],
}

const compliance: DashboardSpec = {
  uid: 'callgate-compliance',
  title: 'callgate: for compliance officers',
  about:
    'What was blocked, what was let through, and how old the lists were. Choose the time at the top.',
  rows: [
    {
      title: 'In the time shown',
      panels: [
        {
          kind: 'stat',
          title: 'Blocked calls',
          about: 'All reasons together.',
          alert: 'CallgateAlmostAllBlocked',
          unit: 'short',
          queries: [
            [`sum(increase(${decisions}{${calls},decision="block"}[$__range]))`, 'blocked'],
          ],
        },
        {
          kind: 'stat',
          title: 'Allowed calls',
          about: 'Each of them is on record.',
          alert: 'CallgateAlmostAllBlocked',
          unit: 'short',
          queries: [
            [`sum(increase(${decisions}{${calls},decision="allow"}[$__range]))`, 'allowed'],
          ],
        },
        {
          kind: 'stat',
          title: 'Allowed by an exception or in shadow',
          about:
            'Calls that the strictest policy would have blocked. callgate report shadow lists them.',
          alert: 'CallgateShadowedAllows',
          unit: 'short',
          redFrom: 1,
          queries: [
            [
              `sum(increase(callgate_degraded_decisions_total{${own}}[$__range])) + sum(increase(callgate_shadowed_decisions_total{${own}}[$__range])) or sum(increase(callgate_shadowed_decisions_total{${own}}[$__range])) or sum(increase(callgate_degraded_decisions_total{${own}}[$__range])) or vector(0)`,
              'calls',
            ],
          ],
        },
        {
          kind: 'stat',
          title: 'Calls without a decision',
          about: 'Legs on watched trunks that no decision covers.',
          alert: 'CallgateUngatedCalls',
          unit: 'short',
          redFrom: 1,
          queries: [
            [orZero(`sum(increase(callgate_ungated_calls_total{${own}}[$__range]))`), 'legs'],
          ],
        },
        {
          kind: 'graph',
          title: 'Blocked calls by reason, per hour',
          about: 'docs/gate.md explains each reason.',
          alert: 'CallgateBlockRateJump',
          unit: 'short',
          stacked: true,
          queries: [
            [
              `sum by (reason) (increase(${decisions}{${calls},decision="block"}[1h]))`,
              '{{reason}}',
            ],
          ],
          span: 24,
        },
        {
          kind: 'graph',
          title: 'Opt-outs, per hour',
          about: 'Requests that added numbers to an internal list, each with one or more numbers.',
          alert: 'CallgateOptOutsSlow',
          unit: 'short',
          queries: [
            [`sum(increase(callgate_opt_out_enforced_seconds_count{${own}}[1h]))`, 'requests'],
          ],
        },
        {
          kind: 'graph',
          title: 'Days until a list may no longer be used',
          about: 'The federal registry must be downloaded at least every 31 days.',
          alert: 'CallgateListSoonTooOld',
          unit: 'd',
          queries: [
            [
              `min by (list) (callgate_list_max_age_seconds{${own}} - callgate_list_age_seconds{${own}}) / 86400`,
              '{{list}}',
            ],
          ],
        },
      ],
    },
  ],
}

export const dashboards: readonly DashboardSpec[] = [
  overview,
  gate,
  sources,
  lists,
  journal,
  compliance,
]
