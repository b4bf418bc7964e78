/** How far a call got, by what is known of its outcome. */
import { expect, it } from 'vitest'
import { type CallOutcome, findReach } from '../../src/domain/call-outcome.js'

const at = 1_000_000

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
    expect(findReach(outcome)).toBe(reach)
  },
)
