import { describe, expect, it } from 'vitest'
import type { CallOutcome } from '../../../src/domain/call-outcome.js'
import { mergeOutcome } from '../../../src/gate/journal/merge-outcome.js'

const leg = (name: string, dialledAt: number) => ({ leg: name, dialledAt })
const dialled = (name: string, at: number) => ({ state: 'dialled', ...leg(name, at) }) as const
const answered = (name: string, began: number, answeredAt: number) =>
  ({ state: 'answered', ...leg(name, began), answeredAt, dialStatus: 'ANSWER' }) as const
const failed = (name: string, began: number, failedAt: number) =>
  ({ state: 'failed', ...leg(name, began), failedAt, dialStatus: 'BUSY' }) as const
const handedOver = { state: 'handed-over', handedOverAt: 1 } as const
const timedOut = {
  ...({ state: 'not-carried-out', notCarriedOut: 'timed-out' } as const),
  notCarriedOutAt: 2,
}
const bothHandOvers = { handedOverAt: 1, notCarriedOutAt: 2, notCarriedOut: 'timed-out' } as const

type Notes = readonly Partial<CallOutcome>[]

const orders: readonly (readonly [string, Notes, Partial<CallOutcome>])[] = [
  ['handed over', [handedOver], handedOver],
  ['handed over, dialled', [handedOver, dialled('a', 3)], { ...dialled('a', 3), handedOverAt: 1 }],
  ['nothing said', [{ ...dialled('a', 3), said: [] }], dialled('a', 3)],
  [
    'what was said, and said again',
    [
      { ...answered('a', 3, 4), said: [{ key: 'identity', at: 5 }] },
      {
        said: [
          { key: 'identity', at: 6 },
          { key: 'opt-out', at: 7 },
        ],
      },
      { said: [] },
    ],
    {
      ...answered('a', 3, 4),
      said: [
        { key: 'identity', at: 5 },
        { key: 'opt-out', at: 7 },
      ],
    },
  ],
  [
    'dialled, and then the late word that it was handed over',
    [dialled('a', 3), handedOver],
    { ...dialled('a', 3), handedOverAt: 1 },
  ],
  [
    'answered, and then the late word that it was handed over',
    [dialled('a', 3), answered('a', 3, 4), handedOver],
    { ...answered('a', 3, 4), handedOverAt: 1 },
  ],
  [
    'the hand-over timed out, and yet it is dialled',
    [timedOut, dialled('a', 3)],
    { ...timedOut, ...dialled('a', 3) },
  ],
  [
    'dialled, and then the word that the hand-over timed out',
    [dialled('a', 3), timedOut],
    { ...timedOut, ...dialled('a', 3) },
  ],
  [
    'timed out, then handed over after all',
    [timedOut, handedOver],
    { state: 'handed-over', ...bothHandOvers },
  ],
  [
    'handed over, then not carried out',
    [handedOver, timedOut],
    { state: 'not-carried-out', ...bothHandOvers },
  ],
  [
    'answered, ended',
    [dialled('a', 3), answered('a', 3, 4), { ...answered('a', 3, 4), endedAt: 5, cause: 16 }],
    { ...answered('a', 3, 4), endedAt: 5, cause: 16 },
  ],
  [
    'the beginning of a leg told after its answer',
    [answered('a', 3, 4), dialled('a', 3)],
    answered('a', 3, 4),
  ],
  [
    'the beginning of a leg told after it failed',
    [failed('a', 3, 4), dialled('a', 3)],
    failed('a', 3, 4),
  ],
  [
    'answered, told after the word that it failed',
    [dialled('a', 3), failed('a', 3, 4), answered('a', 3, 4)],
    { ...answered('a', 3, 4), failedAt: 4 },
  ],
  [
    'failed, told after the word that it was answered',
    [answered('a', 3, 4), { state: 'failed', leg: 'a', endedAt: 9, cause: 16 }],
    { ...answered('a', 3, 4), endedAt: 9, cause: 16 },
  ],
  [
    'answered without the name of the leg',
    [failed('a', 3, 4), { state: 'answered' }, dialled('a', 3)],
    { ...failed('a', 3, 4), state: 'answered' },
  ],
  [
    'the second trunk is answered after the word that it failed',
    [failed('a', 3, 4), failed('b', 5, 6), { state: 'answered', leg: 'b', answeredBy: 'machine' }],
    { ...failed('b', 5, 6), state: 'answered', answeredBy: 'machine' },
  ],
  [
    'a second trunk after the first has failed',
    [handedOver, dialled('a', 3), { ...failed('a', 3, 4), endedAt: 4, cause: 17 }, dialled('b', 5)],
    { ...dialled('b', 5), handedOverAt: 1 },
  ],
  [
    'the second trunk fails too',
    [failed('a', 3, 4), dialled('b', 5), { ...failed('b', 5, 6), cause: 34 }],
    { ...failed('b', 5, 6), cause: 34 },
  ],
  [
    'another leg after one has answered',
    [answered('a', 3, 4), dialled('b', 5), failed('b', 5, 6), answered('c', 7, 8)],
    answered('a', 3, 4),
  ],
  ['nothing but the end of a leg', [{ endedAt: 5, cause: 16 }], { endedAt: 5, cause: 16 }],
  [
    'what a later note does not bring stays',
    [
      { ...answered('a', 3, 4), cause: 16 },
      { state: 'answered', leg: 'a', endedAt: 5 },
    ],
    { ...answered('a', 3, 4), cause: 16, endedAt: 5 },
  ],
]

describe('what is known of an outcome', () => {
  for (const [what, notes, expected] of orders) {
    it(`after: ${what}`, () => {
      expect(notes.reduce(mergeOutcome, {})).toEqual(expected)
    })

    it(`is the same wherever the notes were merged first: ${what}`, () => {
      for (let split = 0; split <= notes.length; split += 1) {
        const [before, after] = [notes.slice(0, split), notes.slice(split)]
        const waiting = after.reduce(mergeOutcome, {})
        expect(mergeOutcome(before.reduce(mergeOutcome, {}), waiting)).toEqual(expected)
      }
    })

    it(`is the same when what was written is noted again: ${what}`, () => {
      for (let written = 1; written <= notes.length; written += 1) {
        const row = notes.slice(0, written).reduce(mergeOutcome, {})
        expect(mergeOutcome(row, notes.reduce(mergeOutcome, {}))).toEqual(expected)
      }
    })
  }
})

describe('answered', () => {
  it('wins among the notes of one leg in every order of them', () => {
    const notes = [handedOver, dialled('a', 3), failed('a', 3, 5), answered('a', 3, 4)]
    for (const order of permute(notes)) {
      expect(order.reduce<Partial<CallOutcome>>(mergeOutcome, {})).toMatchObject({
        state: 'answered',
        answeredAt: 4,
      })
    }
  })
})

function permute<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  if (items.length <= 1) return [items]
  return items.flatMap((first, index) =>
    permute(items.filter((_, other) => other !== index)).map((rest) => [first, ...rest]),
  )
}
