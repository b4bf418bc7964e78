/** Several servers that ask the same provider keep to its limits together. */
import { expect, test } from 'vitest'
import { createProviderOptions } from '../../../src/app/remote-stack.js'
import { loadSettings } from '../../../src/config/load.js'
import { createMetrics } from '../../../src/observability/metrics.js'
import { nodeRuntime } from '../../../src/runtime/runtime.js'
import { buildLookupProviderOptions } from '../../../src/sources/remote/lookups/lookup-options.js'
import { useDatabase } from '../../support/database.js'

function settingsOf(servers: number, more: Readonly<Record<string, string>> = {}) {
  return loadSettings({
    environment: {
      CALLGATE_SOURCE_KIND: 'remote',
      CALLGATE_SOURCE_PROVIDER_BASE_URL: 'https://provider.example.com',
      CALLGATE_SOURCE_PROVIDER_LOGIN_ID: 'secret',
      CALLGATE_CLUSTER_SERVERS: String(servers),
      ...more,
    },
  })
}

const database = useDatabase()

const ratesOf = (questions: Readonly<Record<string, { readonly requestsPerMinute: number }>>) =>
  Object.entries(questions).map(([name, { requestsPerMinute }]) => [name, requestsPerMinute])

test.each([
  [1, [100, 100, 1_000, 100]],
  [3, [33, 33, 333, 33]],
])('each of %i has its part for questions', (servers, expected) => {
  const metrics = createMetrics({ version: 'test', processMetrics: false })
  const settings = settingsOf(servers)
  const { questions } = createProviderOptions(settings, 'provider', {
    runtime: nodeRuntime,
    metrics,
    getSettings: () => settings,
    storage: database.storage,
  })
  const names = ['scrub', 'internal-dnc', 'litigator', 'legal-time']
  expect(ratesOf(questions)).toEqual(names.map((name, index) => [name, expected[index]]))
})

test('and for lookups, of which labels have a limit of their own', () => {
  const { questions } = buildLookupProviderOptions({
    servers: 3,
    requestsPerMinute: 500,
    timeoutMs: 5_000,
    baseUrl: 'https://lookups.example.com',
  } as never)
  expect(ratesOf(questions)).toEqual([
    ['identity', 166],
    ['line-status', 166],
    ['res-or-business', 166],
    ['reassigned', 166],
    ['labels', 33],
  ])
})

test('a limit that gives a server nothing is refused', () => {
  const rate = { CALLGATE_SOURCE_PROVIDER_SCRUB_REQUESTS_PER_MINUTE: '2' }
  expect(() => settingsOf(3, rate)).toThrow(
    'source.provider.scrub.requestsPerMinute: is 2 and must be at least cluster.servers, which is 3',
  )
  expect(settingsOf(2, rate).cluster.servers).toBe(2)
})
