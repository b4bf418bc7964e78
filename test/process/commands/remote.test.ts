/** The program over a provider as an operator runs it: processes, signals, files, exit codes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { listSourceWarnings } from '../../../src/commands/serve/source-readiness.js'
import { loadSettings } from '../../../src/config/load.js'
import type { DecisionDocument } from '../../../src/gate/record/decision-document.js'
import { fetchMetrics } from '../../support/fresh-metrics.js'
import { callgate, type Serving, serve } from '../../support/program.js'
import { findingOf } from '../../support/remote-callgate.js'
import { type VendorProcess, vendorProcess } from '../../support/vendor-process.js'

let vendor: VendorProcess
beforeAll(async () => {
  vendor = await vendorProcess()
})
afterAll(() => vendor.end())

let dataDir = ''
/** Ended after each test, whatever came of it. */
let serving: Serving[] = []
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'callgate-remote-'))
})
afterEach(async () => {
  await vendor.setFaults({ all: null, scrub: null })
  await Promise.all(serving.map((server) => server.end('SIGKILL')))
  serving = []
  rmSync(dataDir, { recursive: true, force: true })
})

const environmentOf = (more: Readonly<Record<string, string>> = {}) => ({
  CALLGATE_DATA_DIR: join(dataDir, 'front'),
  CALLGATE_SOURCE_KIND: 'remote',
  CALLGATE_SOURCE_PROVIDER_NAME: 'acme',
  CALLGATE_SOURCE_PROVIDER_BASE_URL: vendor.url,
  CALLGATE_SOURCE_PROVIDER_LOGIN_ID: vendor.loginId,
  ...more,
})

async function started(environment: Readonly<Record<string, string>>): Promise<Serving> {
  const server = await serve(environment)
  serving.push(server)
  return server
}

/** The server is ended in the test itself. */
async function ended(server: Serving, signal: NodeJS.Signals): Promise<number | string> {
  serving = serving.filter((one) => one !== server)
  return server.end(signal)
}

async function decide({ url, keys }: Serving, number: string): Promise<DecisionDocument> {
  const response = await fetch(`${url}/v1/decisions`, {
    method: 'POST',
    headers: { loginId: keys.main, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ number, callKind: 'manual' }),
  })
  expect(response.status).toBe(200)
  return (await response.json()) as DecisionDocument
}

/** The hour of the test is any hour, so the two checks that do not depend on it are looked at. */
const timeless = ['litigator', 'internal-dnc'] as const

describe('callgate serve with a provider', () => {
  it('asks it, tells so, and ends on a signal', async () => {
    const server = await started(environmentOf())
    const decision = await decide(server, '2127361000')
    for (const check of timeless) {
      expect(findingOf(decision, check)).toMatchObject({
        verdict: 'pass',
        source: expect.stringContaining('acme'),
      })
    }
    const readiness = async () => {
      const ready = await fetch(`${server.url}/readyz`, { headers: { connection: 'close' } })
      return [ready.status, await ready.text()]
    }
    await expect.poll(readiness).toEqual([200, expect.stringContaining('acme is in use')])
    expect(await ended(server, 'SIGTERM')).toBe(0)
    expect(server.output()).not.toContain(vendor.loginId)
  })

  it('ends within seconds while calls wait for a silent provider, and answers them', async () => {
    const server = await started(environmentOf())
    await vendor.setFaults({ all: { kind: 'silent' } })
    const numbers = Array.from({ length: 200 }, (_, index) => 5_000 + index)
    const warm = await fetch(`${server.url}/v1/warm`, {
      method: 'POST',
      headers: { loginId: server.keys.main, 'content-type': 'application/json' },
      body: JSON.stringify({ numbers: numbers.map((line) => `212736${line}`) }),
    })
    expect(warm.status).toBe(202)
    const calls = Array.from({ length: 20 }, (_, index) => decide(server, `212736${1_100 + index}`))
    await expect.poll(() => underWay(server)).toBe(calls.length)
    const before = performance.now()
    expect(await ended(server, 'SIGTERM')).toBe(0)
    expect(performance.now() - before).toBeLessThan(5_000)
    for (const decision of await Promise.all(calls)) {
      expect(decision.decision).toBe('block')
      expect(findingOf(decision, 'litigator').verdict).toBe('unknown')
    }
  })

  it('a second signal ends it at once', async () => {
    const server = await started(environmentOf({ CALLGATE_GATE_DEADLINE_MS: '30000' }))
    await vendor.setFaults({ all: { kind: 'silent' } })
    const call = decide(server, '2127361200').catch(() => 'cut off')
    await expect.poll(() => underWay(server)).toBeGreaterThan(0)
    void server.end('SIGTERM')
    await expect.poll(() => server.output()).toContain('stopping')
    expect(await ended(server, 'SIGTERM')).toBe('SIGTERM')
    expect(await call).toBe('cut off')
  })

  it('takes up again what it was asked before a restart: own opt-outs stay', async () => {
    const first = await started(environmentOf())
    const list = `${first.url}/app/main/rpc/pdnc?phoneList=2127361300&actionType=add`
    const headers = { loginId: first.keys.main, connection: 'close' }
    expect((await fetch(list, { headers })).status).toBe(200)
    expect((await decide(first, '2127361300')).reason).toBe('internal-dnc')
    expect(await ended(first, 'SIGTERM')).toBe(0)
    const again = await started(environmentOf())
    const key = { ...again, keys: first.keys }
    expect((await decide(key, '2127361300')).reason).toBe('internal-dnc')
    expect(await ended(again, 'SIGINT')).toBe(0)
  })
})

async function underWay({ url }: Serving): Promise<number> {
  const metrics = await fetchMetrics(url, { headers: { connection: 'close' } })
  const misses =
    /callgate_cache_requests_total\{source="remote",question="scrub",result="miss"\} (\d+)/
  return Number(misses.exec(metrics)?.[1] ?? 0)
}

describe('what serve refuses at the start', () => {
  const withoutKey = { CALLGATE_SOURCE_PROVIDER_LOGIN_ID: '' }
  const second = {
    CALLGATE_SOURCE_SECOND_PROVIDER_BASE_URL: 'http://127.0.0.1:1',
    CALLGATE_SOURCE_SECOND_PROVIDER_CLIENT_ID: 'c',
  }
  const cases: readonly (readonly [string, Readonly<Record<string, string>>, readonly string[]])[] =
    [
      [
        'a key file that is not there',
        { ...withoutKey, CALLGATE_SOURCE_PROVIDER_LOGIN_ID_FILE: '/no/such/key' },
        ['/no/such/key', 'source.provider.loginIdFile', 'cannot be read'],
      ],
      [
        'a key file that is empty',
        { ...withoutKey, CALLGATE_SOURCE_PROVIDER_LOGIN_ID_FILE: '/dev/null' },
        ['/dev/null', 'source.provider.loginIdFile', 'its first line is empty'],
      ],
      [
        'a key file that is a folder',
        { ...withoutKey, CALLGATE_SOURCE_PROVIDER_LOGIN_ID_FILE: '/' },
        ['source.provider.loginIdFile', 'cannot be read'],
      ],
      [
        'a secret file of the second provider that is not there',
        { ...second, CALLGATE_SOURCE_SECOND_PROVIDER_CLIENT_SECRET_FILE: '/no/such/secret' },
        ['/no/such/secret', 'source.secondProvider.clientSecretFile'],
      ],
      ['no key', withoutKey, ['source.provider', 'needs either loginId or loginIdFile']],
      [
        'an address with a key in it',
        { CALLGATE_SOURCE_PROVIDER_BASE_URL: 'https://h.test/?loginId=s3cret' },
        ['source.provider.baseUrl', 'without key or query'],
      ],
    ]
  it.each(cases)('%s', async (_name, more, texts) => {
    const { code, err, out } = await callgate(['serve'], environmentOf(more))
    expect(code).toBeGreaterThan(0)
    for (const text of texts) expect(err).toContain(text)
    expect(err).not.toContain(vendor.loginId)
    expect(err).not.toContain('s3cret')
    expect(out).toBe('')
  })
})

describe('the start warns of a key that can be read on its way', () => {
  it.each([
    ['https://vendor.test', []],
    ['http://localhost:8490', []],
    ['http://127.0.0.1:8490', []],
    ['http://[::1]:8490', []],
    [
      'http://vendor.test',
      ['acme is used without TLS at http://vendor.test, so its key can be intercepted'],
    ],
    ['http://127.0.0.1.vendor.test', [expect.stringContaining('without TLS')]],
  ])('%s', (url, warnings) => {
    const environment = environmentOf({ CALLGATE_SOURCE_PROVIDER_BASE_URL: url })
    expect(listSourceWarnings(loadSettings({ environment }))).toEqual(warnings)
  })
})

describe('callgate check with a provider', () => {
  const check = (...options: readonly string[]) =>
    callgate(
      ['check', '2127361400', '--kind', 'manual', '--account', 'main', ...options],
      environmentOf(),
    )

  it('shows who answered, and ends', async () => {
    const { code, out } = await check('--json')
    expect(code).toBe(0)
    const decision = JSON.parse(out) as DecisionDocument
    expect(decision.findings.map(({ verdict }) => verdict)).not.toContain('unknown')
    expect(findingOf(decision, 'litigator').source).toBe('acme')
    expect(findingOf(decision, 'permission').source).toBe('acme')
  })

  it('ends as well when the provider is silent, and says that it is', async () => {
    await vendor.setFaults({ all: { kind: 'silent' } })
    const { code, out } = await check('--exit-code')
    expect(code).toBe(3)
    expect(out).toMatch(/^BLOCK/)
    expect(out).toContain('[??] litigator')
  })

  it('of a fictional number asks nobody but the sandbox', async () => {
    await vendor.setFaults({ all: { kind: 'silent' } })
    const args = ['check', '2125550100', '--kind', 'manual', '--at', '2026-11-23T17:00:00Z']
    const { out } = await callgate(args, environmentOf())
    expect(out).toMatch(/^ALLOW {2}2125550100 {2}manual call, account sandbox/)
  })
})

describe('a callgate as the provider of another', () => {
  it('answers for its real account: its lists and its opt-outs', async () => {
    const back = { CALLGATE_DATA_DIR: join(dataDir, 'back') }
    for (const [name, number] of [
      ['us-dnc', '2127362001'],
      ['litigators', '2127362002'],
    ] as const) {
      const file = join(dataDir, `${name}.txt`)
      writeFileSync(file, `${number}\n`)
      expect((await callgate(['import', 'list', name, file], back)).code).toBe(0)
    }
    const provider = await started(back)
    const keyFile = join(dataDir, 'key')
    writeFileSync(keyFile, `${provider.keys.main}\n`)
    const front = await started(
      environmentOf({
        CALLGATE_SOURCE_PROVIDER_BASE_URL: provider.url,
        CALLGATE_SOURCE_PROVIDER_LOGIN_ID: '',
        CALLGATE_SOURCE_PROVIDER_LOGIN_ID_FILE: keyFile,
      }),
    )
    const list = `${provider.url}/app/main/rpc/pdnc?phoneList=2127362003&actionType=add`
    const headers = { loginId: provider.keys.main, connection: 'close' }
    expect((await fetch(list, { headers })).status).toBe(200)
    for (const [number, check, reason] of [
      ['2127362001', 'permission', 'national-dnc'],
      ['2127362002', 'litigator', 'litigator'],
      ['2127362003', 'internal-dnc', 'internal-dnc'],
      ['3037362000', 'permission', 'list-not-covering'],
    ] as const) {
      const decision = await decide(front, number)
      expect(decision).toMatchObject({ decision: 'block', reason })
      expect(findingOf(decision, check)).toMatchObject({ verdict: 'deny', source: 'acme' })
    }
    const clean = await decide(front, '2127362000')
    for (const check of timeless) expect(findingOf(clean, check).verdict).toBe('pass')
    expect(clean.findings.map(({ verdict }) => verdict)).not.toContain('unknown')
    expect(await ended(provider, 'SIGTERM')).toBe(0)
    const alone = await decide(front, '2127362009')
    expect(alone.decision).toBe('block')
    expect(findingOf(alone, 'litigator')).toMatchObject({ verdict: 'unknown', source: 'acme' })
    expect(await ended(front, 'SIGTERM')).toBe(0)
  })
})
