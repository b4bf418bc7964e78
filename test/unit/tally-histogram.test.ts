import { Histogram, Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { createMetrics } from '../../src/observability/metrics.js'

const seconds = [0.0005, 0.00051, 0, 2.5, 10, 10.1, 0.04, 0.3]

/** What is counted in plain arrays reads as if prom-client had counted it. */
async function expectSameText(
  observe: (metrics: ReturnType<typeof createMetrics>) => void,
  usual: Histogram,
  registry: Registry,
): Promise<void> {
  const metrics = createMetrics({ version: 'test', processMetrics: false })
  const read = async () => (await metrics.render()).body
  const name = (await usual.get()).name
  const ours = async () =>
    (await read()).split('\n\n').find((part) => part.includes(`# TYPE ${name} `))
  const theirs = async () => (await registry.metrics()).trimEnd()
  observe(metrics)
  expect((await ours())?.trimEnd()).toBe(await theirs())
  // Reading it changes nothing.
  expect((await ours())?.trimEnd()).toBe(await theirs())
}

it('the durations by endpoint are those of a histogram of prom-client', async () => {
  const registry = new Registry()
  const usual = new Histogram({
    name: 'callgate_api_request_duration_seconds',
    help: 'Time from request to answer by endpoint.',
    labelNames: ['endpoint'],
    buckets: [0.0005, 0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [registry],
  })
  await expectSameText(() => undefined, usual, registry)
  const observe = (metrics: ReturnType<typeof createMetrics>) => {
    for (const [index, one] of seconds.entries()) {
      const endpoint = index % 3 === 0 ? 'decide' : 'predial'
      metrics.recordApiRequest(endpoint, 200, one)
      usual.observe({ endpoint }, one)
    }
  }
  await expectSameText(observe, usual, registry)
})

it('the durations of flushes are those of a histogram without labels, also before the first', async () => {
  const registry = new Registry()
  const usual = new Histogram({
    name: 'callgate_journal_flush_duration_seconds',
    help: 'Time until a batch of records was on disk.',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [registry],
  })
  await expectSameText(() => undefined, usual, registry)
  const observe = (metrics: ReturnType<typeof createMetrics>) => {
    for (const one of seconds) {
      metrics.recordJournalFlush(one)
      usual.observe(one)
    }
  }
  await expectSameText(observe, usual, registry)
})
