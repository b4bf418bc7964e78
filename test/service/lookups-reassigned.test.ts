/** Disconnects against a consent, two answers as one, and the test data of sandbox mode. */
import { describe, expect, it } from 'vitest'
import { parseDay } from '../../src/domain/clock.js'
import type { Reassigned, ReassignedAnswer } from '../../src/domain/lookups.js'
import {
  answerOf,
  asFarAsKnown,
  eitherOf,
  joined,
  nationalDataSince,
  sandboxAnswer,
  saysReassigned,
} from '../../src/service/lookups/reassigned.js'
import { n } from '../support/service-subjects.js'

function day(text: string): number {
  const found = parseDay(text)
  if (found === undefined) throw new TypeError(text)
  return found
}

describe('one body of data', () => {
  it.each<[string, string | undefined, string, Reassigned]>([
    ['a disconnect after the consent', '2024-05-02', '2024-05-01', true],
    ['a disconnect on the day of the consent', '2024-05-01', '2024-05-01', true],
    ['a disconnect before it', '2024-04-30', '2024-05-01', false],
    ['no disconnect ever', undefined, '2024-05-01', false],
    ['a disconnect long after an old consent', '2024-05-01', '2015-01-01', true],
  ])('with %s', (_what, latest, consent, expected) => {
    const latestOn = latest === undefined ? undefined : day(latest)
    expect(saysReassigned({ latestOn }, day(consent))).toBe(expected)
  })

  it('without data on the number has no answer', () => {
    expect(saysReassigned(undefined, day('2024-05-01'))).toBeNull()
  })
})

const each = [true, false, null] as const

describe('the two bodies together', () => {
  /** national, own, combined, harbour */
  it.each<[Reassigned, Reassigned, Reassigned, boolean]>([
    [true, true, true, false],
    [true, false, true, false],
    [true, null, true, false],
    [false, true, true, false],
    [false, false, false, true],
    [false, null, false, true],
    [null, true, true, false],
    [null, false, false, false],
    [null, null, null, false],
  ])('%s and %s are %s, harbour %s', (national, own, combined, hasSafeHarbor) => {
    expect(eitherOf(national, own)).toBe(combined)
    expect(answerOf(national, own)).toEqual({ national, own, hasSafeHarbor })
  })
})

describe('a consent older than the national database', () => {
  const start = '2021-01-27'
  it.each<[string, ReassignedAnswer, string, ReassignedAnswer]>([
    ['keeps a yes', answerOf(true, null), '2021-01-26', answerOf(true, null)],
    ['has no no, and no harbour', answerOf(false, null), '2021-01-26', answerOf(null, null)],
    ['keeps what the own data says', answerOf(false, false), '2019-01-01', answerOf(null, false)],
    ['of its first day has one', answerOf(false, null), start, answerOf(false, null)],
  ])('%s', (_what, answer, consent, expected) => {
    expect(asFarAsKnown(answer, day(consent))).toEqual(expected)
  })

  it('is one before 2021-01-27', () => {
    expect(nationalDataSince).toBe(day(start))
  })
})

describe('two answers as one', () => {
  const all = each.flatMap((national) => each.map((own) => answerOf(national, own)))

  it('never lose a yes, nor make one', () => {
    for (const one of all) {
      for (const other of all) {
        const both = joined(one, other)
        expect(both.national).toBe(eitherOf(one.national, other.national))
        expect(both.own).toBe(eitherOf(one.own, other.own))
        if (eitherOf(both.national, both.own) === true) expect(both.hasSafeHarbor).toBe(false)
      }
    }
  })

  it.each<[string, ReassignedAnswer, ReassignedAnswer, boolean]>([
    ['the first that has national data', answerOf(false, null), answerOf(null, false), true],
    ['the second where the first has none', answerOf(null, false), answerOf(false, null), true],
    [
      'the first that denies it',
      { national: false, own: null, hasSafeHarbor: false },
      ...([answerOf(false, null), false] as const),
    ],
    [
      'a first that grants it without a no',
      { national: null, own: null, hasSafeHarbor: true },
      ...([answerOf(null, null), true] as const),
    ],
  ])('the harbour is told by %s', (_who, one, other, expected) => {
    expect(joined(one, other).hasSafeHarbor).toBe(expected)
  })
})

describe('test data', () => {
  const number = n('2127365001')
  const answers = Array.from({ length: 300 }, (_, index) =>
    sandboxAnswer(number, day('2024-01-01') + index),
  )

  it('is the same for the same number and day', () => {
    expect(sandboxAnswer(number, day('2024-01-01'))).toEqual(answers[0])
    expect(sandboxAnswer(n('2127365001'), day('20240101'))).toEqual(answers[0])
  })

  it('has all outcomes and harbours, in each body of data', () => {
    const seen = (of: (answer: ReassignedAnswer) => unknown) => new Set(answers.map(of))
    expect(seen(({ national, own }) => eitherOf(national, own))).toEqual(new Set(each))
    expect(seen(({ national }) => national)).toEqual(new Set(each))
    expect(seen(({ own }) => own)).toEqual(new Set(each))
    expect(seen(({ hasSafeHarbor }) => hasSafeHarbor)).toEqual(new Set([true, false]))
  })

  it('is another for other numbers', () => {
    const others = Array.from({ length: 50 }, (_, index) =>
      sandboxAnswer(n(`21273650${10 + index}`), day('2024-01-01')),
    )
    expect(new Set(others.map((one) => JSON.stringify(one))).size).toBeGreaterThan(3)
  })
})
