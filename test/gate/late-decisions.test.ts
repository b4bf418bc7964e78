/** No allow leaves after its deadline, counted from the arrival of the request. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Answer } from '../../src/domain/compliance.js'
import type { Decision } from '../../src/domain/decision.js'
import { answered, fakeCompliance, noon, unanswered } from '../support/fake-compliance.js'
import { shortOrLong } from '../support/long.js'
import { strictPolicy } from '../support/strict-policy.js'
import { aCall, testGate } from '../support/test-gate.js'
import { virtualTime } from '../support/virtual-time.js'

const deadlineMs = 250
const start = '2026-11-23T17:00:00Z'

/** A gate in virtual time whose source and journal take their time. */
function slowGate(sourceMs = 0, journalMs = 0) {
  const time = virtualTime(start)
  const after = <T>(ms: number, value: () => T): T | Promise<T> =>
    ms === 0 ? value() : new Promise((resolve) => time.after(ms, () => resolve(value())))
  const records: string[] = []
  const compliance = fakeCompliance({
    litigator: () => after(sourceMs, () => answered({ isLitigator: false })),
  })
  const until = noon + 3_600_000
  const { gate, renderMetrics } = testGate(compliance, {
    timers: time,
    policy: {
      ...strictPolicy,
      litigator: { mode: 'enforce', allowUnknown: { reason: 'x', until } },
    },
    journal: {
      append: ({ reason }, onWritten) => {
        records.push(reason)
        void after(journalMs, () => onWritten?.())
      },
      amend: ({ reason }) => void records.push(reason),
    },
  })
  return { gate, time, records, compliance, renderMetrics }
}

async function judged(
  { gate, time }: Pick<ReturnType<typeof slowGate>, 'gate' | 'time'>,
  lagMs: number,
) {
  const deciding = gate.judge(aCall(), time.monotonicMs() - lagMs)
  let deliver: Awaited<typeof deciding> | undefined
  void Promise.resolve(deciding).then((last) => {
    deliver = last
  })
  for (let waited = 0; deliver === undefined && waited < 2_000; waited += 1) await time.advance(1)
  return await deciding
}

describe('a request that waited for the event loop', () => {
  it('is answered at once, unasked, when the deadline cannot be met', async () => {
    const { gate, time, compliance, records } = slowGate()
    const decision = (await gate.judge(aCall(), time.monotonicMs() - deadlineMs))()
    expect(decision).toMatchObject({ decision: 'block', reason: 'overloaded' })
    expect([compliance.asked, records, time.waiting()]).toEqual([[], ['overloaded'], 0])
  })

  it('has only what is left of its time', async () => {
    const parts = slowGate(200)
    const decision = (await judged(parts, 100))()
    expect(parts.time.monotonicMs()).toBe(135)
    expect(decision.effects.map(({ effect }) => effect)).toEqual(['unknown-allowed'])
  })

  it('passes an emergency call however late it is', async () => {
    const { gate, time } = slowGate()
    const deliver = await gate.judge(aCall({ dialed: '911' }), time.monotonicMs() - 60_000)
    expect(deliver()).toMatchObject({ decision: 'allow', reason: 'service-code' })
    expect(deliver(true)).toMatchObject({ decision: 'allow', reason: 'service-code' })
  })
})

describe('an allow that is on record', () => {
  it('leaves as a block when its deadline has passed by then, and the record and count say so', async () => {
    const { gate, time, records, renderMetrics } = slowGate()
    const deliver = await gate.judge(aCall())
    await time.advance(deadlineMs)
    expect(deliver()).toMatchObject({ decision: 'block', reason: 'overloaded' })
    expect(records).toEqual(['permitted', 'overloaded'])
    expect(await renderMetrics()).not.toContain('decision="allow"')
  })

  it('leaves up to its deadline', async () => {
    const { gate, time, records } = slowGate()
    const deliver = await gate.judge(aCall())
    await time.advance(deadlineMs - 1)
    expect(deliver()).toMatchObject({ decision: 'allow' })
    expect(records).toEqual(['permitted'])
  })

  it('leaves as a block when another answer must be sent first', async () => {
    const { gate } = slowGate()
    expect((await gate.judge(aCall()))(true)).toMatchObject({ reason: 'overloaded' })
  })
})

it('no allow leaves late and none is lost without cause, whatever stalls', async () => {
  const seed = 20_261_122
  const numRuns = shortOrLong(300, 1_500)
  const ms = fc.integer({ min: 0, max: 400 })
  const seen = { allow: 0, block: 0 }
  const call = fc.record({ lagMs: ms, sourceMs: ms, journalMs: ms, sendMs: ms })
  await fc.assert(
    fc.asyncProperty(call, async ({ lagMs, sourceMs, journalMs, sendMs }) => {
      const parts = slowGate(sourceMs % 3 === 0 ? sourceMs : 0, journalMs % 2 === 0 ? journalMs : 0)
      const arrivedAtMs = parts.time.monotonicMs() - lagMs
      const deliver = await judged(parts, lagMs)
      const judgedAfterMs = parts.time.monotonicMs() - arrivedAtMs
      expect(judgedAfterMs).toBeLessThanOrEqual(Math.max(deadlineMs, lagMs) + 1)
      await parts.time.advance(sendMs % 5 === 0 ? sendMs : 0)
      const decision: Decision = deliver()
      const leftAfterMs = parts.time.monotonicMs() - arrivedAtMs
      seen[decision.decision] += 1
      if (decision.decision === 'allow') expect(leftAfterMs).toBeLessThan(deadlineMs)
      else expect(['overloaded', 'not-recorded']).toContain(decision.reason)
      if (lagMs + sourceMs + journalMs + sendMs < 200) expect(decision.decision).toBe('allow')
      expect(parts.records.at(-1)).toBe(decision.reason)
    }),
    { seed, numRuns },
  )
  process.stdout.write(`late decisions: seed ${seed}, ${numRuns} calls: ${JSON.stringify(seen)}\n`)
  expect(Math.min(seen.allow, seen.block)).toBeGreaterThan(numRuns / 10)
})

it('a question that is never answered is unknown in time for the record', async () => {
  const time = virtualTime(start)
  const never = () => new Promise<Answer<never>>(() => undefined)
  const { gate } = testGate(fakeCompliance({ litigator: never, scrub: () => unanswered() }), {
    timers: time,
  })
  const deciding = gate.decide(aCall())
  await time.advance(225)
  expect(await deciding).toMatchObject({ decision: 'block', reason: 'check-unanswered' })
})
