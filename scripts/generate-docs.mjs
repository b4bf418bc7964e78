/**
 * Writes docs/settings.md, docs/metrics.md and the table of reasons in docs/gate.md from the compiled program, so that they
 * always match the code. With `--check` it writes nothing and exits with 1 when a page differs.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import { createListFileRoute } from '../dist/app/lists/list-file-route.js'
import { isReloadable, listSettingLeaves, unwrapSchema } from '../dist/config/load.js'
import { settingsSchema } from '../dist/config/settings.js'
import { factFeedNames } from '../dist/data/facts/fact-feeds.js'
import { handoverFailures } from '../dist/domain/call-outcome.js'
import { checkNames, reasonCodes, reasons } from '../dist/domain/checks.js'
import { answerFailureReasons, questionNames } from '../dist/domain/compliance.js'
import { callKinds, callPurposes } from '../dist/domain/decision.js'
import { journalRoutes } from '../dist/gate/journal/journal-routes.js'
import { decisionEndpoints } from '../dist/http/decision-routes.js'
import { listMetricStates } from '../dist/observability/list-metrics.js'
import { createMetrics } from '../dist/observability/metrics.js'
import { permitEvents } from '../dist/observability/service-metrics.js'
import { permitRoutes } from '../dist/permits/permit-routes.js'
import { platformNames } from '../dist/platform-events/call-event.js'
import { createServiceRoutes } from '../dist/service/service-routes.js'
import { attemptOutcomes } from '../dist/service/webhooks/webhook-retry-policy.js'
import { lookupNames } from '../dist/sources/remote/lookups/lookup-options.js'
import { warmupRoutes } from '../dist/sources/warming/warmup-routes.js'

const pages = {
  'docs/settings.md': settingsPage(),
  'docs/metrics.md': await metricsPage(),
  'docs/gate.md': gatePage(),
}
const onlyCheck = process.argv.includes('--check')

for (const [path, text] of Object.entries(pages)) {
  const file = new URL(`../${path}`, import.meta.url)
  if (!onlyCheck) writeFileSync(file, text)
  else if (readFileSync(file, 'utf8') !== text) {
    console.error(`${path} differs from the code; run: npm run docs`)
    process.exitCode = 1
  }
}

/** The page with the table of reasons in place of the one that it has. */
function gatePage() {
  const text = readFileSync(new URL('../docs/gate.md', import.meta.url), 'utf8')
  const findings = [...checkNames, 'mandate']
  const rows = reasonCodes.map((name) => {
    const { text: meaning, by } = reasons[name]
    const givers = by.map((one) => (findings.includes(one) ? code(one) : one.replace('-', ' ')))
    return [code(name), meaning, givers.join(', ')]
  })
  const written = table(['Reason', 'Meaning', 'Given by'], rows)
  return text.replace(/^\| Reason .*?\n(?=\n## )/ms, () => written)
}

function settingsPage() {
  const leaves = listSettingLeaves()
  const defaults = settingsSchema.parse({})
  const sections = new Map()
  for (const leaf of leaves) {
    const section = leaf.path.length === 1 ? 'Program' : leaf.path[0]
    sections.set(section, [...(sections.get(section) ?? []), settingRow(leaf, defaults)])
  }
  const head = ['Setting', 'Variable', 'Default', 'Values', 'Change', 'Meaning']
  const parts = [...sections].map(([name, rows]) => `## ${name}\n\n${table(head, rows)}`)
  return `# Settings

Generated from \`src/config/\` by \`npm run docs\`; do not edit.

Settings come from one YAML file (\`--config <file>\`, else \`CALLGATE_CONFIG\`, else
\`config/callgate.yaml\`) and from environment variables, which override the file. A variable is
named after the path of its setting. Numbers, booleans, lists and maps are written as in YAML, such as
\`CALLGATE_GATE_SERVICE_CODES='["112"]'\`. The program refuses to start on an unknown setting, an unknown
variable that begins with \`CALLGATE_\`, a wrong type or a value out of range, and lists all such
mistakes at once.

**Change** says how a running server takes a changed setting over: by a [reload](operations.md#reload), or only by a
restart.

${parts.join('\n')}`
}

function settingRow({ path, variable, schema }, defaults) {
  const value = path.reduce((at, key) => at?.[key], defaults)
  return [
    code(path.join('.')),
    code(variable),
    value === undefined ? 'unset' : code(JSON.stringify(value)),
    valuesOf(schema),
    isReloadable(schema) ? 'reload' : 'restart',
    schema.description,
  ]
}

/** The permitted values: the words, the range and unit, or the type. */
function valuesOf(schema) {
  const inner = unwrapSchema(schema)
  if (inner instanceof z.ZodEnum) return inner.options.map(code).join(', ')
  if (inner instanceof z.ZodBoolean) return '`true`, `false`'
  if (inner instanceof z.ZodArray) return 'list'
  if (inner instanceof z.ZodRecord) return 'map'
  const unit = unitOf(schema)
  if (inner instanceof z.ZodNumber) {
    return `${inner.minValue} to ${inner.maxValue}${unit === undefined ? '' : ` ${unit}`}`
  }
  return unit ?? 'text'
}

function unitOf(schema) {
  const unit = schema.meta()?.unit
  if (unit !== undefined || typeof schema.unwrap !== 'function') return unit
  return unitOf(schema.unwrap())
}

async function metricsPage() {
  const metrics = createMetrics({ version: '0', processMetrics: false })
  observeEach(metrics)
  const { body } = await metrics.render()
  const rows = [...body.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)$/gm)].map(
    ([, name, help, type]) => [code(name), type, labelsOf(name, body), help],
  )
  const values = Object.entries(labelValues()).map(([label, texts]) => [code(label), texts])
  return `# Metrics

Generated from \`src/observability/\` by \`npm run docs\`; do not edit.

\`GET /metrics\` answers in the Prometheus text format and needs no key. No label ever contains a
telephone number, a channel id or text from a caller. Histograms have \`_bucket\`, \`_sum\` and
\`_count\` series. The default process metrics of prom-client (\`process_*\`, \`nodejs_*\`) are there as
well: memory, CPU, event loop, garbage collection.

${table(['Metric', 'Type', 'Labels', 'Meaning'], rows)}
## Label values

${table(['Label', 'Values'], values)}`
}

/** Records one observation of every metric, so that each one shows its labels. */
function observeEach(metrics) {
  metrics.recordDecision({
    accountId: 'main',
    decision: 'allow',
    reason: 'permitted',
    kind: 'ai',
    purpose: 'emergency',
    via: 'http',
    seconds: 0,
    findings: [{ check: 'litigator', verdict: 'pass' }],
    effects: [
      { check: 'litigator', effect: 'unknown-allowed', because: '' },
      { check: 'litigator', effect: 'shadowed', because: '' },
    ],
  })
  metrics.countCacheLookups('embedded', 'scrub')('hit')
  metrics.recordSourceRequest('embedded', 'scrub', 'answered', 0)
  metrics.setSourceCircuit('provider', 'scrub', false)
  metrics.recordApiRequest('decide', 200, 0)
  metrics.countIgnoredFields('scrub-post', 1)
  metrics.observeJournal({ waitingCount: 0, unsignedSeconds: 0 })
  metrics.countRecordFailure()
  metrics.setLists([{ name: 'us-dnc', entries: 0, asOf: 0 }])
  metrics.setListAgesReader(() => [
    {
      name: 'us-dnc',
      ageSeconds: 0,
      maxAgeSeconds: 0,
      states: [listMetricStates[0]],
      isInForce: true,
    },
  ])
  metrics.setAreaCodeMode('US', false)
  metrics.recordLookupRequest({
    source: 'lookups',
    question: 'identity',
    outcome: 'answered',
    seconds: 0,
  })
  metrics.setLookupCircuit('lookups', 'identity', false)
  metrics.setFacts([{ name: 'reassigned', entries: 0, asOf: 0 }])
  metrics.countWebhookAttempt('delivered')
  metrics.setPendingWebhooks(0)
  metrics.countEndedScan('Complete')
  metrics.countPermitEvent('issued')
  metrics.countPlatformEvent('retell', 'stored')
  metrics.countRefusedSignatures('retell', 1)
  const ofPlatform = { accountId: 'main', platform: 'retell' }
  const calls = { placed: 1, answered: 1, heard: 1, optedOut: 1, problem: undefined }
  metrics.setPlatforms({
    platforms: [{ ...ofPlatform, ...calls }],
    unclear: [{ ...ofPlatform, count: 1 }],
    held: [ofPlatform],
  })
  metrics.setMonitoredNumbers({ monitored: 0, overdue: 0 })
  metrics.setReadiness([{ name: 'records', ready: true }])
  metrics.recordJournalFlush(0)
  metrics.countRemovedDecisions('retention', 0)
  metrics.recordOptOutEnforced(0)
  metrics.setConfigurationVersions({ settings: '0', rules: '0' })
  metrics.setServerReader(async () => ({
    decisionsInFlight: 0,
    maxDecisionsInFlight: 0,
    oldestPendingRecordSeconds: 0,
    clockBehindSeconds: 0,
    changeFeed: { lagSeconds: 0, isLeader: true },
    edgeOptOutsPending: 0,
    policyExceptions: [{ check: 'litigator', until: 0 }],
    lastBackupAt: 0,
    nextKeyExpiryAt: 0,
    providerBudgets: [
      { source: 'acme', account: 'main', unit: 'money', used: 1, limit: 2, state: 'open' },
    ],
    abandonment: [{ account: 'main', state: 'near', campaigns: 1 }],
    disks: [{ holds: 'data', freeBytes: 1 }],
    disconnectedEarly: [{ account: 'main', calls: 1 }],
    rateBudgets: [{ source: 'provider', question: 'scrub', ratio: 1 }],
  }))
  const witness = { name: 'w', kind: 'witness', failures: 0, isConflict: false }
  metrics.setWitnesses([witness], 0)
  metrics.setAsteriskConnected('asterisk', false)
  metrics.countAsteriskReconnect('asterisk')
  metrics.countHandoverFailure('asterisk', 'timed-out')
  metrics.countUngatedCall({ server: 'asterisk', trunk: 'carrier-a', hungUp: false })
}

function labelsOf(name, body) {
  const sample = new RegExp(`^${name}(?:_count)?(?:\\{(.*)\\})? `, 'm').exec(body)
  if (!sample) throw new Error(`${name} has no sample: observe it in observeEach`)
  const labels = [...(sample[1] ?? '').matchAll(/(\w+)=/g)].map(([, label]) => code(label))
  return labels.join(', ') || 'none'
}

function labelValues() {
  const words = (list) => list.map(code).join(', ')
  return {
    account: `account ids; ${code('other')} for accounts beyond the first 200`,
    readiness: `the checks of ${code('/readyz')}`,
    decision: words(['allow', 'block']),
    reason: words(reasonCodes),
    kind: words(callKinds),
    purpose: words(callPurposes),
    via: `${words(['http', 'predial', 'asterisk', 'check'])}; ${code('what-if')} for a request with ${code('at')}`,
    server: `${code('asterisk')}, and the names of ${code('asterisk.servers')}`,
    trunk: `the names of ${code('asterisk.trunks')}`,
    hung_up: words(['true', 'false']),
    why: words(handoverFailures),
    check: words(checkNames),
    verdict: words(['pass', 'deny', 'unknown']),
    source: `${code('embedded')}; for caches also ${code('remote')}, otherwise the names of ${code('source.provider')} and ${code('source.secondProvider')}; for look-ups ${code('lookups.name')}`,
    question: `${code('facts')} of ${code('embedded')}; of providers ${words(questionNames)}; for look-ups ${words(lookupNames)}`,
    platform: words(platformNames),
    result: `${words(['hit', 'miss', 'expired', 'bypass', 'stale', 'refresh'])}; for events of platforms ${words(['stored', 'opt-out', 'unclear', 'unreadable', 'failed'])}`,
    outcome: `${words(['answered', 'unanswered', ...answerFailureReasons])}; for webhooks ${words(attemptOutcomes)}`,
    endpoint: `${words(endpointNames())}; ${code('unmatched')} when path and method match none`,
    status: `HTTP status; ${code('499')} when the client disconnected before the answer; for scans ${words(['Complete', 'Failed'])}`,
    by: words(['retention', 'erasure']),
    list: 'names of imported lists',
    state: `${words(listMetricStates)}; for campaigns ${words(['near', 'over'])}; for calls through platforms ${words(['placed', 'answered', 'heard', 'optedOut'])}`,
    settings: '12 hex digits',
    rules: '12 hex digits',
    feed: words(factFeedNames),
    event: words(permitEvents),
    country: words(['US', 'CA']),
    witness: `the names of ${code('journal.witnesses')}: of the key of a witness, the path of a file, or the host of an address`,
    keeper: words(['witness', 'file', 'timestamp', 'webhook']),
  }
}

/** Creating the routes calls no service, so empty objects suffice. */
function endpointNames() {
  const services = {}
  const routes = [
    ...createServiceRoutes(services, { wrappedRows: false }),
    ...journalRoutes(services),
    createListFileRoute(services),
    ...permitRoutes(services),
    ...warmupRoutes(services, { serviceCodes: new Set() }),
  ]
  return [...decisionEndpoints, ...routes.map(({ endpoint }) => endpoint)].map(({ name }) => name)
}

function code(text) {
  return `\`${text}\``
}

/** Pads all cells of a column to the same width. */
function table(head, rows) {
  const widths = head.map((name, at) => Math.max(name.length, ...rows.map((row) => row[at].length)))
  const line = (cells) => `| ${cells.map((cell, at) => cell.padEnd(widths[at])).join(' | ')} |\n`
  return line(head) + line(widths.map((width) => '-'.repeat(width))) + rows.map(line).join('')
}
