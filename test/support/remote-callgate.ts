/** The whole program in front of fake vendors that stand at its instant, for calls of account main. */
import { expect } from 'vitest'
import type { Instant } from '../../src/domain/time/clock.js'
import {
  type FakeVendor,
  type FakeVendorOptions,
  openFakeVendor,
} from '../../src/fake-vendor/fake-vendor.js'
import type { DecisionDocument, FindingDocument } from '../../src/gate/record/decision-document.js'
import { fetchMetrics } from './fresh-metrics.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from './test-callgate.js'

export type Environment = Readonly<Record<string, string>>

export interface RemoteCallgate extends TestCallgate {
  readonly vendor: FakeVendor
  /** A call of account main, by hand unless said otherwise. */
  decide(number: string, more?: Readonly<Record<string, unknown>>): Promise<DecisionDocument>
  /** Writes to this callgate's own internal list, for account main. */
  ownList(action: 'add' | 'remove', number: string): Promise<void>
  metrics(): Promise<string>
  /** What `/readyz` says of the source. */
  sourceReady(): Promise<string>
}

export interface RemoteCallgateOptions {
  readonly at?: Instant
  readonly vendor?: FakeVendorOptions
  /** Settings of the first provider by the end of their variables, such as `CIRCUIT_OPEN_MS`. */
  readonly provider?: Environment
  readonly environment?: Environment
}

const questions = ['SCRUB', 'INTERNAL_DNC', 'LITIGATOR', 'LEGAL_TIME'] as const
type Which = 'PROVIDER' | 'SECOND_PROVIDER'

/** Variables of one provider. Its rate is so high that no test waits for it. */
export function providerVariables(which: Which, settings: Environment): Environment {
  const all = { ...ofEachQuestion('REQUESTS_PER_MINUTE', '100000'), ...settings }
  return Object.fromEntries(
    Object.entries(all).map(([name, value]) => [`CALLGATE_SOURCE_${which}_${name}`, value]),
  )
}

/** The same setting for each of the four questions. */
export function ofEachQuestion(setting: string, value: string): Environment {
  return Object.fromEntries(questions.map((question) => [`${question}_${setting}`, value]))
}

/** Ends the vendor as well. */
export async function openRemoteCallgate(
  options: RemoteCallgateOptions = {},
): Promise<RemoteCallgate> {
  const { at = mondayNoon } = options
  const vendor = await openFakeVendor({ at, ...options.vendor })
  const key = hasKey(options.provider) ? {} : { LOGIN_ID: vendor.loginId }
  const provider = { NAME: 'acme', BASE_URL: vendor.url, ...key, ...options.provider }
  const environment = {
    CALLGATE_SOURCE_KIND: 'remote',
    ...providerVariables('PROVIDER', provider),
    ...options.environment,
  }
  try {
    return around(await openTestCallgate({ at, environment }), vendor)
  } catch (cause) {
    await vendor.close()
    throw cause
  }
}

function hasKey(provider: Environment = {}): boolean {
  return 'CLIENT_ID' in provider || 'LOGIN_ID_FILE' in provider
}

/** Opens one for the work and ends it after it, whatever comes of it. */
export async function withRemoteCallgate(
  options: RemoteCallgateOptions,
  work: (remote: RemoteCallgate) => Promise<void>,
): Promise<void> {
  const remote = await openRemoteCallgate(options)
  try {
    await work(remote)
  } finally {
    await remote.end()
  }
}

function around(running: TestCallgate, vendor: FakeVendor): RemoteCallgate {
  const { main } = running.keys
  return {
    ...running,
    vendor,
    async decide(number, more = {}) {
      const response = await running.postJson(
        '/v1/decisions',
        { number, callKind: 'manual', ...more },
        main,
      )
      expect(response.status).toBe(200)
      return (await response.json()) as DecisionDocument
    },
    async ownList(action, number) {
      const path = `/app/main/rpc/pdnc?phoneList=${number}&actionType=${action}`
      expect((await running.get(path, main)).status).toBe(200)
    },
    metrics: () => fetchMetrics(running.url),
    async sourceReady() {
      const response = await running.get('/readyz')
      const { checks } = (await response.json()) as {
        checks: readonly { readonly name: string; readonly detail?: string }[]
      }
      return `${checks.find(({ name }) => name === 'source')?.detail}`
    },
    async end() {
      await running.end()
      await vendor.close()
    },
  }
}

/** Writes to a vendor's internal list. */
export async function vendorList(
  { url, loginId }: Pick<FakeVendor, 'url' | 'loginId'>,
  action: 'add' | 'remove',
  number: string,
): Promise<void> {
  const path = `${url}/app/main/rpc/pdnc?phoneList=${number}&actionType=${action}`
  const headers = { loginId, connection: 'close' }
  expect((await fetch(path, { headers })).status).toBe(200)
}

/** Records a permission at a vendor, `date` as MM/DD/YYYY. */
export async function vendorConsent(
  { url, loginId }: Pick<FakeVendor, 'url' | 'loginId'>,
  number: string,
  date: string,
): Promise<void> {
  const headers = { loginId, connection: 'close', 'content-type': 'application/json' }
  const record = { phoneNumber: number, type: 'P', dateOfLastContact: date }
  const body = JSON.stringify({ ebrList: [record] })
  const response = await fetch(`${url}/app/main/rpc/ebr`, { method: 'POST', headers, body })
  expect(await response.json()).toEqual({ success: true })
}

export function findingOf(decision: DecisionDocument, check: string): FindingDocument {
  const found = decision.findings.find((finding) => finding.check === check)
  if (!found) throw new Error(`no finding of ${check}`)
  return found
}

/** Check -> who answered it. */
export function sourcesOf(decision: DecisionDocument): Readonly<Record<string, string>> {
  return Object.fromEntries(decision.findings.map(({ check, source }) => [check, source]))
}
