/** What bounds the time series of the metrics. */
import { expect, it } from 'vitest'
import { createMetrics } from '../../src/observability/metrics.js'

it('counts decisions of the first 200 accounts by account, and those of all others as other', async () => {
  const metrics = createMetrics({ version: 'test', processMetrics: false })
  const decide = (accountId: string, via: 'http' | 'what-if') =>
    metrics.recordDecision({
      accountId,
      decision: 'allow',
      reason: 'permitted',
      kind: 'manual',
      via,
      seconds: 0.001,
      findings: [],
      effects: [],
    })
  decide('asks only what-ifs', 'what-if')
  const accounts = Array.from({ length: 250 }, (_, index) => `account-${index}`)
  for (const account of [...accounts, ...accounts]) decide(account, 'http')
  const { body } = await metrics.render()
  const counted = [
    ...body.matchAll(/^callgate_account_decisions_total\{account="(.*?)",.*\} (\d+)$/gm),
  ]
  expect(counted.map(([, account, count]) => [account, Number(count)])).toEqual([
    ...accounts.slice(0, 200).map((account) => [account, 2]),
    ['other', 100],
  ])
})
