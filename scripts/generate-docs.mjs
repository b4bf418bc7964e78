/**
 * Writes docs/settings.md and docs/metrics.md from the compiled program, so that they cannot say
 * anything else than the code. With `--check` writes nothing and ends with 1 when a page differs.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import { settingsSchema } from '../dist/config.js'
import { factFeedNames } from '../dist/data/facts/fact-feeds.js'
import { notCarriedOutCauses } from '../dist/domain/call-outcome.js'
import { questionNames, unansweredReasons } from '../dist/domain/compliance.js'
import { callKinds, checkNames, reasonTexts } from '../dist/domain/decision.js'
import { gateRoutes } from '../dist/gate/gate-routes.js'
import { warmRoutes } from '../dist/gate/warm-routes.js'
import { frontDoorEndpoints } from '../dist/http/front-door.js'
import { settingLeaves, unwrapped } from '../dist/load-settings.js'
import { createMetrics } from '../dist/metrics.js'
import { measuredListStates } from '../dist/metrics-lists.js'
import { serviceRoutes } from '../dist/service/service-routes.js'
import { attemptOutcomes } from '../dist/service/webhooks/retry-plan.js'
import { lookupNames } from '../dist/sources/remote/lookup-options.js'

const pages = { 'docs/settings.md': settingsPage(), 'docs/metrics.md': await metricsPage() }
const onlyCheck = process.argv.includes('--check')

for (const [path, text] of Object.entries(pages)) {
  const file = new URL(`../${path}`, import.meta.url)
  if (!onlyCheck) writeFileSync(file, text)
  else if (readFileSync(file, 'utf8') !== text) {
    console.error(`${path} differs from the code; run: npm run docs`)
    process.exitCode = 1
  }
}

function settingsPage() {
  const leaves = settingLeaves()
  const defaults = settingsSchema.parse({})
  const sections = new Map()
  for (const leaf of leaves) {
    const section = leaf.path.length === 1 ? 'Program' : leaf.path[0]
    sections.set(section, [...(sections.get(section) ?? []), settingRow(leaf, defaults)])
  }
  const head = ['Setting', 'Variable', 'Default', 'Values', 'Meaning']
  const parts = [...sections].map(([name, rows]) => `## ${name}\n\n${table(head, rows)}`)
  return `# Settings

Generated from \`src/config.ts\` and the \`src/config-*.ts\` beside it by \`npm run docs\`; do not edit.

Settings come from one YAML file (\`--config <file>\`, else \`CALLGATE_CONFIG\`, else
\`config/callgate.yaml\`) and from environment variables, which win over the file. A variable is
named after the path of its setting; numbers, truth values, lists and maps are written in it as in
YAML, such as \`CALLGATE_GATE_SERVICE_CODES='["112"]'\`. A variable that begins with \`CALLGATE_\` and is
no setting, an unknown setting, a wrong type and a value out of range stop the start, all of them
listed at once.

${parts.join('\n')}`
}

function settingRow({ path, variable, schema }, defaults) {
  const value = path.reduce((at, key) => at?.[key], defaults)
  return [
    code(path.join('.')),
    code(variable),
    value === undefined ? 'unset' : code(JSON.stringify(value)),
    valuesOf(schema),
    schema.description,
  ]
}

/** What may be written: the words, the range and unit, or the kind of value. */
function valuesOf(schema) {
  const inner = unwrapped(schema)
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
  const { body } = await metrics.text()
  const rows = [...body.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)$/gm)].map(
    ([, name, help, type]) => [code(name), type, labelsOf(name, body), help],
  )
  const values = Object.entries(labelValues()).map(([label, texts]) => [code(label), texts])
  return `# Metrics

Generated from \`src/metrics.ts\` and the \`src/metrics-*.ts\` beside it by \`npm run docs\`; do not edit.

\`GET /metrics\` answers in the Prometheus text format and asks for no key. No label ever holds a
telephone number, a channel id or a caller's text. Histograms have \`_bucket\`, \`_sum\` and
\`_count\` series. Beside these there are the usual process metrics of prom-client (\`process_*\`,
\`nodejs_*\`): memory, CPU, event loop, garbage collection.

${table(['Metric', 'Type', 'Labels', 'Meaning'], rows)}
## Label values

${table(['Label', 'Values'], values)}`
}

/** One observation of everything, so that each metric shows its labels. */
function observeEach(metrics) {
  metrics.decided({
    ...{ decision: 'allow', reason: 'permitted', kind: 'ai', via: 'http', seconds: 0 },
    findings: [{ check: 'litigator', verdict: 'pass' }],
    effects: [
      { check: 'litigator', effect: 'unknown-allowed', because: '' },
      { check: 'litigator', effect: 'shadowed', because: '' },
    ],
  })
  metrics.cacheAsked('embedded', 'scrub', 'hit')
  const asked = { source: 'embedded', question: 'scrub', outcome: 'answered', seconds: 0 }
  metrics.sourceAsked(asked)
  metrics.sourceCircuit('provider', 'scrub', false)
  metrics.apiAnswered('decide', 200, 0)
  metrics.fieldsIgnored('scrub-post', 1)
  metrics.recordsPending(0)
  metrics.recordFailed()
  metrics.lists([{ name: 'us-dnc', entries: 0, asOf: 0 }])
  metrics.listAges(() => [
    { name: 'us-dnc', ageSeconds: 0, maxAgeSeconds: 0, states: [measuredListStates[0]] },
  ])
  metrics.areaCodeMode('US', false)
  metrics.lookupAsked({ source: 'lookups', question: 'identity', outcome: 'answered', seconds: 0 })
  metrics.lookupCircuit('lookups', 'identity', false)
  metrics.facts([{ name: 'reassigned', entries: 0, asOf: 0 }])
  metrics.webhookAttempted('delivered')
  metrics.webhooksPending(0)
  metrics.scanEnded('Complete')
  metrics.monitored({ monitored: 0, overdue: 0 })
  metrics.asteriskConnected('asterisk', false)
  metrics.asteriskReconnected('asterisk')
  metrics.callNotCarriedOut('asterisk', 'timed-out')
  metrics.ungatedCall({ server: 'asterisk', trunk: 'carrier-a', hungUp: false })
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
    decision: words(['allow', 'block']),
    reason: words(Object.keys(reasonTexts)),
    kind: words(callKinds),
    via: `${words(['http', 'predial', 'asterisk', 'check'])}; ${code('what-if')} for a request with ${code('at')}`,
    server: `${code('asterisk')}, and the names of ${code('asterisk.servers')}`,
    trunk: `the names of ${code('asterisk.trunks')}`,
    hung_up: words(['true', 'false']),
    why: words(notCarriedOutCauses),
    check: words(checkNames),
    verdict: words(['pass', 'deny', 'unknown']),
    source: `${code('embedded')}, and of caches ${code('remote')}, otherwise the names of ${code('source.provider')} and ${code('source.secondProvider')}; of look-ups ${code('lookups.name')}`,
    question: `${words(questionNames)}; of look-ups ${words(lookupNames)}`,
    result: words(['hit', 'miss', 'expired', 'bypass', 'stale', 'refresh']),
    outcome: `${words(['answered', 'unanswered', ...unansweredReasons])}; of webhooks ${words(attemptOutcomes)}`,
    endpoint: `${words(endpointNames())}; ${code('unmatched')} when path or method mean none`,
    status: `HTTP status; ${code('499')} when the client left before the answer; of scans ${words(['Complete', 'Failed'])}`,
    list: 'names of imported lists',
    state: words(measuredListStates),
    feed: words(factFeedNames),
    country: words(['US', 'CA']),
  }
}

/** Binding asks a subject nothing, so none is needed. */
function endpointNames() {
  const nobody = {}
  const routes = [
    ...serviceRoutes(nobody, { wrappedRows: false }),
    ...gateRoutes(nobody),
    ...warmRoutes(nobody, { serviceCodes: new Set() }),
  ]
  return [...frontDoorEndpoints, ...routes.map(({ endpoint }) => endpoint)].map(({ name }) => name)
}

function code(text) {
  return `\`${text}\``
}

/** Columns are padded to one width, as the formatter wants them. */
function table(head, rows) {
  const widths = head.map((name, at) => Math.max(name.length, ...rows.map((row) => row[at].length)))
  const line = (cells) => `| ${cells.map((cell, at) => cell.padEnd(widths[at])).join(' | ')} |\n`
  return line(head) + line(widths.map((width) => '-'.repeat(width))) + rows.map(line).join('')
}
