/** How far a call got, by what is known of its outcome. */
import { expect, it } from 'vitest'
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import { type CallOutcome, findReach } from '../../src/domain/call-outcome.js'
import { CallingRules } from '../../src/law/calling-rules.js'

const at = 1_000_000
const rules = loadCallingRules('config/calling-rules.yaml')

it.each([
  [{}, undefined],
  [{ state: 'handed-over' }, undefined],
  [{ state: 'dialled', dialledAt: at }, undefined],
  [{ state: 'failed' }, 0],
  [{ failedAt: at, dialStatus: 'NOANSWER' }, 0],
  [{ failedAt: at, dialStatus: 'busy' }, -1],
  [{ state: 'failed', cause: 17 }, -1],
  [{ state: 'failed', cause: 16 }, 0],
  [{ state: 'answered' }, 2],
  [{ state: 'answered', answeredBy: 'machine' }, 1],
  [{ answeredAt: at, endedAt: at + 29_999 }, 1],
  [{ answeredAt: at, endedAt: at + 30_000 }, 2],
  // Somebody may say all that is to be said in less.
  [{ answeredAt: at, endedAt: at + 1_000, answeredBy: 'person' }, 2],
  [{ answeredAt: at, endedAt: at + 1_000, answeredBy: 'unknown' }, 1],
] as const satisfies readonly (readonly [Partial<CallOutcome>, number | undefined])[])(
  '%j: %s',
  (outcome, reach) => {
    expect(findReach(outcome, rules.findMinTalkMs(at))).toBe(reach)
  },
)

it('takes the shortest time of the rows in force, and without one any talk', () => {
  const row = { citation: 'x', confidence: 'baseline' as const }
  const timeOn = (day: number) =>
    new CallingRules({
      ...rules.document,
      conversations: [
        { ...row, minSeconds: 30, from: 10, until: 20 },
        { ...row, minSeconds: 20, from: 20, until: 21 },
      ],
    }).findMinTalkMs(day * 86_400_000)
  expect([9, 10, 20, 21, 22].map(timeOn)).toEqual([0, 30_000, 20_000, 20_000, 0])
  expect(findReach({ answeredAt: at, endedAt: at + 1_000 }, 0)).toBe(2)
})
