import { describe, expect, it } from 'vitest'
import { LegOutcomeTracker } from '../../../src/asterisk/watch/leg-outcomes.js'
import type { CallOutcome } from '../../../src/domain/call-outcome.js'
import { mergeOutcome } from '../../../src/gate/journal/merge-outcome.js'

/** What happens to the legs of one decision, in order; the time of each is its place, from 1. */
type Happening =
  | readonly ['dialled', leg: string]
  | readonly ['status', leg: string, status: string]
  | readonly ['ended', leg: string, cause: number]
  | readonly ['resynchronized', ...legs: string[]]

const channel = (leg: string) => ({
  id: leg,
  name: `PJSIP/${leg}`,
  callerNumber: '',
  variables: {},
  application: undefined,
})

function play(happenings: readonly Happening[]) {
  const notes: { decisionId: string; outcome: Partial<CallOutcome>; own: boolean }[] = []
  const legs = new LegOutcomeTracker({
    outcomes: {
      record: (decisionId, outcome, own) => void notes.push({ decisionId, outcome, own }),
    },
  })
  happenings.forEach((happening, index) => {
    const at = index + 1
    const [what, ...rest] = happening
    const [leg = ''] = happening.slice(1) as string[]
    if (what === 'dialled') legs.onLegDialed(channel(leg), 'd1', at)
    if (what === 'status') legs.onLegProgressed({ peer: channel(leg), status: happening[2], at })
    if (what === 'ended') legs.onLegEnded(leg, happening[2], at)
    if (what === 'resynchronized') legs.onResynchronized(new Set(rest as string[]))
  })
  return { notes, outcome: notes.map(({ outcome }) => outcome).reduce(mergeOutcome, {}) }
}

const answer = (leg: string, dialledAt: number, answeredAt: number) =>
  ({ state: 'answered', leg, dialledAt, answeredAt, dialStatus: 'ANSWER' }) as const

type Case = readonly [string, readonly Happening[], Partial<CallOutcome>]

const failures = ['BUSY', 'NOANSWER', 'CANCEL', 'CONGESTION', 'CHANUNAVAIL', 'INVALIDARGS'].map(
  (status): Case => {
    const happenings: readonly Happening[] = [
      ['dialled', 'a'],
      ['status', 'a', status],
      ['ended', 'a', 17],
    ]
    const times = { dialledAt: 1, failedAt: 2, endedAt: 3 }
    const outcome = {
      state: 'failed',
      leg: 'PJSIP/a',
      dialStatus: status,
      cause: 17,
      ...times,
    } as const
    return [`it fails with ${status}`, happenings, outcome]
  },
)

/** Somebody may have answered, nobody knows when. */
const mayBeAnswered = ['DONTCALL', 'TORTURE', 'ABORT', 'SOMETHINGNEW'].map(
  (status): Case => [
    `it may have been answered with ${status}`,
    [
      ['dialled', 'a'],
      ['status', 'a', status],
      ['ended', 'a', 17],
    ],
    {
      ...{ state: 'answered', leg: 'PJSIP/a', dialStatus: status },
      dialledAt: 1,
      endedAt: 3,
      cause: 17,
    },
  ],
)

const endsWithoutStatus = [1, 3, 16, 17, 18, 19, 21, 26, 31, 34, 38, 102, 127].map(
  (cause): Case => {
    const mayHaveAnswered = [16, 26, 31, 102, 127].includes(cause)
    const end = mayHaveAnswered
      ? { state: 'answered' as const }
      : { state: 'failed' as const, failedAt: 2 }
    return [
      `it ends without a status, with the cause ${cause}`,
      [
        ['dialled', 'a'],
        ['ended', 'a', cause],
      ],
      { ...end, leg: 'PJSIP/a', dialledAt: 1, endedAt: 2, cause },
    ]
  },
)

const cases: readonly Case[] = [
  ['a leg begins to dial', [['dialled', 'a']], { state: 'dialled', leg: 'PJSIP/a', dialledAt: 1 }],
  [
    'it rings and tells of progress',
    [
      ['dialled', 'a'],
      ['status', 'a', 'RINGING'],
      ['status', 'a', 'PROGRESS'],
      ['status', 'a', 'PROCEEDING'],
    ],
    { state: 'dialled', leg: 'PJSIP/a', dialledAt: 1 },
  ],
  [
    'it ends without a cause',
    [
      ['dialled', 'a'],
      ['status', 'a', 'NOANSWER'],
      ['ended', 'a', 0],
    ],
    {
      state: 'failed',
      leg: 'PJSIP/a',
      dialStatus: 'NOANSWER',
      dialledAt: 1,
      failedAt: 2,
      endedAt: 3,
    },
  ],
  [
    'it answers, and ends',
    [
      ['dialled', 'a'],
      ['status', 'a', 'RINGING'],
      ['status', 'a', 'ANSWER'],
      ['ended', 'a', 16],
    ],
    { ...answer('PJSIP/a', 1, 3), endedAt: 4, cause: 16 },
  ],
  ...failures,
  ...mayBeAnswered,
  ...endsWithoutStatus,
  [
    'it ends without a last status',
    [
      ['dialled', 'a'],
      ['status', 'a', 'RINGING'],
      ['ended', 'a', 21],
    ],
    { state: 'failed', leg: 'PJSIP/a', dialledAt: 1, failedAt: 3, endedAt: 3, cause: 21 },
  ],
  [
    'a second trunk answers after the first has failed, whose end comes late',
    [
      ['dialled', 'a'],
      ['status', 'a', 'CONGESTION'],
      ['dialled', 'b'],
      ['ended', 'a', 34],
      ['status', 'b', 'ANSWER'],
      ['ended', 'b', 16],
    ],
    { ...answer('PJSIP/b', 3, 5), endedAt: 6, cause: 16 },
  ],
  [
    'of two legs rung at once the first to be dialled answers, and the other is cancelled',
    [
      ['dialled', 'a'],
      ['dialled', 'b'],
      ['status', 'a', 'ANSWER'],
      ['status', 'b', 'CANCEL'],
      ['ended', 'b', 26],
      ['ended', 'a', 16],
    ],
    { ...answer('PJSIP/a', 1, 3), endedAt: 6, cause: 16 },
  ],
  [
    'a leg dialled after one has answered does not take its place',
    [
      ['dialled', 'a'],
      ['status', 'a', 'ANSWER'],
      ['dialled', 'b'],
      ['status', 'b', 'BUSY'],
      ['ended', 'b', 17],
      ['ended', 'a', 16],
      ['dialled', 'c'],
    ],
    { ...answer('PJSIP/a', 1, 2), endedAt: 6, cause: 16 },
  ],
  [
    'the end was not seen: the state stays and no end is told',
    [
      ['dialled', 'a'],
      ['status', 'a', 'ANSWER'],
      ['resynchronized'],
      ['resynchronized'],
      ['ended', 'a', 16],
    ],
    answer('PJSIP/a', 1, 2),
  ],
  [
    'a leg that is younger than the list of channels is still told of',
    [['dialled', 'a'], ['resynchronized'], ['status', 'a', 'ANSWER'], ['ended', 'a', 16]],
    { ...answer('PJSIP/a', 1, 3), endedAt: 4, cause: 16 },
  ],
  [
    'a leg that is still there after a reconnect goes on',
    [
      ['dialled', 'a'],
      ['resynchronized'],
      ['resynchronized', 'a', 'x'],
      ['resynchronized'],
      ['status', 'a', 'BUSY'],
    ],
    { state: 'failed', leg: 'PJSIP/a', dialledAt: 1, failedAt: 5, dialStatus: 'BUSY' },
  ],
]

describe('the outcome of a leg', () => {
  for (const [what, happenings, outcome] of cases) {
    it(what, () => expect(play(happenings).outcome).toEqual(outcome))
  }

  it('is reported for the decision that covers it, never as a leg of the gate', () => {
    const { notes } = play([
      ['dialled', 'a'],
      ['ended', 'a', 16],
    ])
    expect(notes.map(({ decisionId, own }) => [decisionId, own])).toEqual([
      ['d1', false],
      ['d1', false],
    ])
  })

  it('is not reported for legs without a decision, nor twice', () => {
    expect(
      play([
        ['status', 'x', 'ANSWER'],
        ['ended', 'x', 16],
      ]).notes,
    ).toEqual([])
    expect(
      play([
        ['dialled', 'a'],
        ['dialled', 'a'],
        ['status', 'a', 'BUSY'],
        ['status', 'a', 'BUSY'],
        ['ended', 'a', 17],
        ['ended', 'a', 17],
      ]).notes,
    ).toHaveLength(3)
  })
})
