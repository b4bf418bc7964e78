/**
 * A real Prometheus scrapes two servers under mixed traffic with faults, and every query of every panel is
 * answered with data. The first asks a provider that fails at times and has an Asterisk that is down; the
 * second decides from lists of its own, and a witness keeps the heads of its journal.
 */
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { parse, stringify } from 'yaml'
import { runChild, startChild } from '../../../scripts/children.mjs'
import { dashboards } from '../../../scripts/dashboards/dashboards.js'
import { providePrometheus } from '../../e2e/asterisk/lab/provided-asterisk.js'
import { until } from '../../e2e/asterisk/lab/until.js'
import { findFreePorts } from '../../support/free-port.js'
import { callgate, type Serving, serve } from '../../support/program.js'
import { type VendorProcess, vendorProcess } from '../../support/vendor-process.js'
import { startWitness, type WitnessProcess } from '../../support/witness-process.js'
import { findUnknownNames } from './metric-names.js'

const root = join(import.meta.dirname, '../../..')
const folder = mkdtempSync(join(tmpdir(), 'callgate-live-'))
const noon = '2026-11-23T17:00:00Z'
const deadlines = Object.fromEntries(
  ['SCRUB', 'INTERNAL_DNC', 'LITIGATOR', 'LEGAL_TIME'].map((question) => [
    `CALLGATE_SOURCE_PROVIDER_${question}_DEADLINE_MS`,
    '200',
  ]),
)

let vendor: VendorProcess
let witness: WitnessProcess
let remote: Serving
let own: Serving
let promtool: string
let prometheusUrl: string
let endPrometheus: () => Promise<void>
const stopping = new AbortController()
let traffic: Promise<void>

async function openOwn(): Promise<Serving> {
  const journals = join(folder, 'journals.txt')
  writeFileSync(journals, '')
  witness = await startWitness(['--folder', join(folder, 'witness'), '--logs', journals])
  const environment = {
    CALLGATE_DATA_DIR: join(folder, 'own'),
    CALLGATE_SANDBOX_AT: noon,
    CALLGATE_JOURNAL_WITNESSES: JSON.stringify([
      { kind: 'witness', url: witness.url, key: witness.verifierKey },
    ]),
  }
  const load = async (name: string, content: string, ...args: readonly string[]) => {
    const file = join(folder, `${name}.csv`)
    writeFileSync(file, content)
    const { code, err } = await callgate(['import', ...args, file], environment)
    expect(code, err).toBe(0)
  }
  mkdirSync(environment.CALLGATE_DATA_DIR)
  await load('dnc', '8505550123\n2125550123\n', 'us-dnc', '--area-codes', 'all')
  await load('litigators', '8505550124\n', 'litigators')
  await load('status', 'number,status\n8505550123,connected\n', 'line-status')
  const server = await serve(environment)
  appendFileSync(journals, readFileSync(join(environment.CALLGATE_DATA_DIR, 'journal/tree/key')))
  return server
}

async function openRemote(): Promise<Serving> {
  const environment = {
    CALLGATE_DATA_DIR: join(folder, 'remote'),
    CALLGATE_SANDBOX_AT: noon,
    CALLGATE_SOURCE_KIND: 'remote',
    CALLGATE_SOURCE_PROVIDER_NAME: 'vendor',
    CALLGATE_SOURCE_PROVIDER_BASE_URL: vendor.url,
    CALLGATE_SOURCE_PROVIDER_LOGIN_ID: vendor.loginId,
    ...deadlines,
    CALLGATE_LOOKUPS_BASE_URL: vendor.url,
    CALLGATE_LOOKUPS_LOGIN_ID: vendor.loginId,
    CALLGATE_SOURCE_PROVIDER_BUDGET_NUMBERS_PER_DAY: '1000000',
    CALLGATE_GATE_CACHE_ALLOW_MS: '1000',
    CALLGATE_GATE_CACHE_BLOCK_MS: '1000',
    CALLGATE_POLICY_PERMISSION_MODE: 'shadow',
    // It may be night.
    CALLGATE_POLICY_CALLING_HOURS_MODE: 'shadow',
    CALLGATE_POLICY_PERMISSION_STALE_FOR_MS: '600000',
    CALLGATE_POLICY_LITIGATOR_ON_UNKNOWN: 'allow',
    CALLGATE_POLICY_LITIGATOR_REASON: 'test',
    CALLGATE_POLICY_LITIGATOR_UNTIL: '2031-01-01T00:00:00Z',
    CALLGATE_ASTERISK_URL: 'http://127.0.0.1:1',
    CALLGATE_ASTERISK_USERNAME: 'callgate',
    CALLGATE_ASTERISK_PASSWORD: 'secret',
    CALLGATE_ASTERISK_TRUNKS: '[{name: carrier-a, channel: PJSIP/carrier-a}]',
    CALLGATE_WEBHOOKS_ALLOW: '127.0.0.1',
  }
  const server = await serve(environment)
  await callgate(['keys', 'create', '--expires', '2031-01-01'], environment)
  return server
}

/** Calls of every kind, opt-outs and look-ups, while the provider is well, slow and broken in turn. */
async function makeTraffic(): Promise<void> {
  const post = (url: string, loginId: string, body: object) =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', loginId },
      body: JSON.stringify(body),
    }).then((answer) => answer.text())
  for (let round = 0; !stopping.signal.aborted; round += 1) {
    const fault = round % 20
    if (fault === 8)
      await vendor.setFaults({ scrub: { kind: 'silent' }, litigator: { kind: 'silent' } })
    if (fault === 16) await vendor.setFaults({ scrub: null, litigator: null })
    for (const [server, account] of [
      [remote, 'main'],
      [own, 'main'],
      [own, 'sandbox'],
    ] as const) {
      const key = server.keys[account]
      for (const callKind of ['manual', 'autodialed', 'ai']) {
        const number = `21255501${String(round % 10).padStart(2, '0')}`
        await post(`${server.url}/v1/decisions`, key, { number, callKind })
      }
      await fetch(`${server.url}/v1/predial?number=2125550100&kind=manual`, {
        headers: { loginId: key },
      })
      await fetch(`${server.url}/app/main/rpc/pdnc`, {
        method: 'POST',
        headers: { loginId: key },
        body: new URLSearchParams({ phoneList: '3035550100', actionType: 'add' }),
      })
      await fetch(`${server.url}/v1.4/Data/IDPremium?phone=2125550100`, {
        headers: { loginId: key },
      })
    }
    if (round === 2) {
      await post(`${remote.url}/v1.5/Reputation/OneTimeScan`, remote.keys.main, {
        PhoneNumbers: ['2125550100'],
        NotificationURL: 'http://127.0.0.1:1/nobody',
      })
    }
    await pause(50)
  }
}

async function startPrometheus(program: string, targets: readonly string[]): Promise<void> {
  const [port] = await findFreePorts(1)
  const config = join(folder, 'prometheus.yml')
  const rules = join(root, 'config/prometheus/alerts.yml')
  writeFileSync(
    config,
    stringify({
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [rules],
      scrape_configs: [{ job_name: 'callgate', static_configs: [{ targets }] }],
    }),
  )
  const child = startChild(
    program,
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'tsdb')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
    { stdio: 'ignore' },
  )
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  endPrometheus = async () => {
    child.kill('SIGTERM')
    await ended
  }
  prometheusUrl = `http://127.0.0.1:${port}`
}

interface QueryAnswer {
  readonly status: string
  readonly error?: string
  readonly data?: { readonly result: readonly { readonly value: readonly [number, string] }[] }
}

/** As Grafana would replace its variables, over the last seconds. */
function fillIn(expression: string): string {
  return expression
    .replaceAll('$__rate_interval', '10s')
    .replaceAll('$__range', '20s')
    .replaceAll('$__interval', '5s')
    .replaceAll('$job', 'callgate')
    .replaceAll('$instance', '.*')
}

async function query(expression: string): Promise<QueryAnswer> {
  const url = `${prometheusUrl}/api/v1/query?query=${encodeURIComponent(fillIn(expression))}`
  const answer = await fetch(url).catch(() => undefined)
  return answer ? ((await answer.json()) as QueryAnswer) : { status: 'error', error: 'no answer' }
}

beforeAll(async () => {
  vendor = await vendorProcess()
  const provided = await providePrometheus()
  promtool = provided.promtool
  ;[own, remote] = await Promise.all([openOwn(), openRemote()])
  const targets = [own, remote].map(({ url }) => url.replace('http://', ''))
  await startPrometheus(provided.prometheus, targets)
  const hasRead = async () => (await query('up == 1')).data?.result.length === targets.length
  await until('Prometheus has read from both', hasRead, { withinMs: 180_000, everyMs: 500 })
  traffic = makeTraffic()
})
afterAll(async () => {
  stopping.abort()
  await traffic
  await Promise.all([endPrometheus(), remote.end('SIGTERM'), own.end('SIGTERM')])
  await Promise.all([vendor.end(), witness.end('SIGTERM')])
  rmSync(folder, { recursive: true })
})

/** Why they may be without data here. */
const mayBeEmpty: Readonly<Record<string, string>> = {
  'a week ago': 'Prometheus has run for seconds',
}

const panels = dashboards.flatMap(({ title, rows }) =>
  rows.flatMap((row) => row.panels.map((panel) => ({ dashboard: title, ...panel }))),
)

describe('every query has data', () => {
  test.each(panels)('$dashboard: $title', async ({ queries }) => {
    for (const [expression, legend] of queries) {
      expect(findUnknownNames(expression)).toEqual([])
      if (mayBeEmpty[legend] !== undefined) continue
      await vi
        .waitUntil(
          async () => {
            const { status, error, data } = await query(expression)
            if (status !== 'success' && error !== 'no answer')
              throw new Error(`${expression}: ${error}`)
            return data?.result.some(({ value: [, text] }) => Number.isFinite(Number(text)))
          },
          { timeout: 60_000, interval: 500 },
        )
        .catch((cause: unknown) => {
          throw new Error(`no data: ${fillIn(expression)}`, { cause })
        })
    }
  })
})

test('the alerts name metrics and labels that exist', () => {
  const rules = parse(readFileSync(join(root, 'config/prometheus/alerts.yml'), 'utf8'))
  const expressions: readonly string[] = rules.groups.flatMap(
    (group: { rules: { expr: string }[] }) => group.rules.map(({ expr }) => expr),
  )
  const own = expressions.filter((one) => !one.includes('callgate:'))
  expect(own.flatMap(findUnknownNames)).toEqual([])
  expect(findUnknownNames('rate(callgate_decisons_total{job="a"}[5m])')).not.toEqual([])
  expect(findUnknownNames('callgate_decisions_total{verdict="allow"}')).not.toEqual([])
  expect(findUnknownNames('sum by (server) (callgate_ready{job="a"})')).not.toEqual([])
})

test('the alerts of what is wrong here fire, and no query of a rule fails', async () => {
  await vi.waitUntil(
    async () => {
      const { data } = await query('ALERTS{alertname="CallgateDegradedAllows"}')
      return (data?.result.length ?? 0) > 0
    },
    { timeout: 60_000, interval: 500 },
  )
  const answer = await fetch(`${prometheusUrl}/api/v1/rules`)
  const { data } = (await answer.json()) as {
    data: { groups: { rules: { name: string; health: string; lastError?: string }[] }[] }
  }
  const all = data.groups.flatMap(({ rules }) => rules)
  expect(all.filter(({ health }) => health === 'err')).toEqual([])
})

test('the metrics are as Prometheus wants them', async () => {
  const text = await (await fetch(`${remote.url}/metrics`)).text()
  const file = join(folder, 'metrics.txt')
  writeFileSync(file, text)
  const { out, err } = await runChild('sh', ['-c', `"${promtool}" check metrics < "${file}"`])
  // prom-client calls three of its gauges a total.
  const problems = `${out}${err}`
    .split('\n')
    .filter(
      (line) => line !== '' && !/^nodejs_active_(?:handles|requests|resources)_total /.test(line),
    )
  expect(problems).toEqual([])
})
