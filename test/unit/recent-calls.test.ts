import { expect, it } from 'vitest'
import { RecentCalls } from '../../src/app/status/recent-calls.js'
import type { ReasonCode } from '../../src/domain/decision.js'

it('a call that is judged again does not excuse one that failed meanwhile', async () => {
  let nowMs = 0
  let resolve: (judged: { readonly reason: ReasonCode }) => void = () => undefined
  const judged = new Promise<{ readonly reason: ReasonCode }>((take) => {
    resolve = take
  })
  const calls = new RecentCalls({ monotonicMs: () => nowMs })
  const noteFailure = () =>
    calls.note({
      accountId: 'main',
      request: { accountId: 'main', dialed: '2125550100', callKind: 'manual', via: 'http' },
      reason: 'check-unanswered',
      findings: [],
    })
  const find = () => calls.find('main', () => judged)?.problem
  noteFailure()
  nowMs = 1_000
  expect(find()).toContain('check-unanswered')
  nowMs = 1_500
  noteFailure()
  resolve({ reason: 'permitted' })
  await judged
  expect(find()).toContain('check-unanswered')
  nowMs = 3_000
  expect(find()).toContain('check-unanswered')
  await judged
  expect(find()).toBeUndefined()
})
