/** A provider whose answers are of no use to any call: `/readyz` and the doctor say so, though its circuit is closed. */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { Fault } from '../../../src/fake-vendor/fault.js'
import { callgate } from '../../support/program.js'
import {
  ofEachQuestion,
  openRemoteCallgate,
  type RemoteCallgate,
} from '../../support/remote-callgate.js'

let remote: RemoteCallgate
let nextLine = 0
/** A number that nobody has been asked about. */
const freshNumber = () => String(2_127_360_000 + nextLine++)

beforeAll(async () => {
  remote = await openRemoteCallgate({
    provider: { ...ofEachQuestion('DEADLINE_MS', '1000'), CIRCUIT_OPEN_MS: '500' },
  })
})
// Also when a case has failed, for its next try and for the next case.
afterEach(() => remote.vendor.setFault('all', undefined))
afterAll(() => remote.end())

async function readyz(): Promise<string> {
  const response = await remote.get('/readyz')
  return `${response.status} ${await response.text()}`
}

it.each<readonly [string, Fault, string]>([
  ['limits the rate', { kind: 'rate-limited', retryAfterSeconds: 2 }, 'no request may be sent for'],
  ['sends rows that cannot be read', { kind: 'missing-field' }, 'litigator: '],
  ['fails', { kind: 'server-error' }, 'answered 503'],
])('a provider that %s', async (_case, fault, why) => {
  const { vendor, decide, dataDir, url } = remote
  const asked = async () => (await decide(freshNumber())).reason
  await expect.poll(asked).toBe('permitted')
  vendor.setFault('all', fault)
  const blocked = 'main: every call is blocked: the latest calls got check-unanswered'
  // More calls must fail than were allowed a moment ago, and the answer to others, of up to a second ago, is shared.
  const afterOneMore = async () => {
    expect(await asked()).toBe('check-unanswered')
    return await readyz()
  }
  await expect.poll(afterOneMore).toMatch(new RegExp(`^503 .*${blocked}.*${why}`))
  for (let call = 0; call < 2; call += 1) {
    expect(await asked()).toBe('check-unanswered')
    expect(await readyz()).toMatch(/^503 /)
  }
  const environment = { CALLGATE_DATA_DIR: dataDir, CALLGATE_SOURCE_KIND: 'remote' }
  const { code, out } = await callgate(['doctor', '--url', url], {
    ...environment,
    CALLGATE_SOURCE_PROVIDER_NAME: 'acme',
    CALLGATE_SOURCE_PROVIDER_BASE_URL: vendor.url,
    CALLGATE_SOURCE_PROVIDER_LOGIN_ID: vendor.loginId,
  })
  expect(code).toBe(2)
  expect(out).toMatch(new RegExp(`NOW \\] decisions: calls of account main are blocked: .*${why}`))
  // No call comes, and none is needed to find that the provider answers again.
  expect(await readyz()).toMatch(/^503 /)
  vendor.setFault('all', undefined)
  await expect.poll(readyz).toMatch(/^200 /)
})
