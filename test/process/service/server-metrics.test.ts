/** What `/metrics` says of a running server as a whole. */
import { mkdirSync, mkdtempSync, rmSync, statfsSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fetchMetrics } from '../../support/fresh-metrics.js'
import { callgate, type Serving, serve } from '../../support/program.js'

const folder = mkdtempSync(join(tmpdir(), 'callgate-metrics-'))
const environment = {
  CALLGATE_DATA_DIR: join(folder, 'var'),
  CALLGATE_SANDBOX_AT: '2026-11-23T17:00:00Z',
  CALLGATE_POLICY_LITIGATOR_ON_UNKNOWN: 'allow',
  CALLGATE_POLICY_LITIGATOR_REASON: 'test',
  CALLGATE_POLICY_LITIGATOR_UNTIL: '2031-01-01T00:00:00Z',
  // Nobody listens there: these metrics do not need an Asterisk, and it must show as not connected.
  CALLGATE_ASTERISK_URL: 'http://127.0.0.1:1',
  CALLGATE_ASTERISK_USERNAME: 'callgate',
  CALLGATE_ASTERISK_PASSWORD: 'secret',
  CALLGATE_ASTERISK_TRUNKS: '[{name: carrier-a, channel: PJSIP/carrier-a}]',
}
let server: Serving

/** On another disk than the data folder, which is in memory or not. */
const otherDisk = statSync(tmpdir()).dev === statSync('/dev/shm').dev ? '/var/tmp' : '/dev/shm'
const journal = mkdtempSync(join(otherDisk, 'callgate-metrics-'))

beforeAll(async () => {
  mkdirSync(environment.CALLGATE_DATA_DIR)
  symlinkSync(journal, join(environment.CALLGATE_DATA_DIR, 'journal'))
  server = await serve(environment)
})
afterAll(async () => {
  await server.end('SIGTERM')
  rmSync(folder, { recursive: true })
  rmSync(journal, { recursive: true })
})

/** The value of a series, named with its labels as they are printed. */
async function read(series: string): Promise<number | undefined> {
  const text = await fetchMetrics(server.url)
  const line = text.split('\n').find((one) => one.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length))
}

const ask = (fields: object) =>
  fetch(`${server.url}/v1/decisions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', loginId: server.keys.sandbox },
    body: JSON.stringify({ callKind: 'manual', ...fields }),
  })

test('readiness is a metric for each check', async () => {
  expect(await read('callgate_ready{readiness="records"}')).toBe(1)
  expect(await read('callgate_ready{readiness="clock"}')).toBe(1)
  expect(await read('callgate_ready{readiness="asterisk"}')).toBe(0)
})

test('the counters of an Asterisk start at 0', async () => {
  expect(await read('callgate_asterisk_reconnects_total{server="asterisk"}')).toBe(0)
  const ungated =
    'callgate_ungated_calls_total{server="asterisk",trunk="carrier-a",hung_up="false"}'
  expect(await read(ungated)).toBe(0)
})

test('decisions are counted by account, without what-ifs', async () => {
  await ask({ number: '2125550100' })
  await ask({ number: '2125550100', at: '2026-11-23T17:00:00Z' })
  const allowed = 'callgate_account_decisions_total{account="sandbox",decision="allow"}'
  expect(await read(allowed)).toBe(1)
  expect(await read('callgate_journal_flush_duration_seconds_count')).toBeGreaterThan(0)
  expect(await read('callgate_oldest_pending_record_seconds')).toBe(0)
  expect(await read('callgate_decisions_in_flight')).toBe(0)
  expect(await read('callgate_decisions_max_in_flight')).toBeGreaterThan(0)
})

test('the time until an opt-out is enforced is measured', async () => {
  await fetch(`${server.url}/app/main/rpc/pdnc`, {
    method: 'POST',
    headers: { loginId: server.keys.sandbox },
    body: new URLSearchParams({ phoneList: '2125550100', actionType: 'add' }),
  })
  expect(await read('callgate_opt_out_enforced_seconds_count')).toBe(1)
})

test('disk, clock, exceptions and keys are read when they are asked for', async () => {
  for (const [holds, path] of [
    ['data', folder],
    ['journal', journal],
  ] as const) {
    const { bavail, bsize } = statfsSync(path)
    const free = (await read(`callgate_disk_free_bytes{holds="${holds}"}`)) ?? 0
    expect(free, holds).toBeGreaterThan(bavail * bsize * 0.5)
    expect(free, holds).toBeLessThan(bavail * bsize * 2)
  }
  expect(await read('callgate_clock_behind_seconds')).toBe(0)
  const exception = 'callgate_policy_exception_until_timestamp_seconds{check="litigator"}'
  expect(await read(exception)).toBe(Date.UTC(2031, 0, 1) / 1000)
  expect(await read('callgate_next_key_expiry_timestamp_seconds')).toBeUndefined()
  await callgate(['keys', 'create', '--expires', '2027-06-01', '--account', 'main'], environment)
  const expiry = await read('callgate_next_key_expiry_timestamp_seconds')
  expect(expiry).toBeGreaterThanOrEqual(Date.UTC(2027, 4, 31) / 1000)
  expect(expiry).toBeLessThanOrEqual(Date.UTC(2027, 5, 2) / 1000)
})
