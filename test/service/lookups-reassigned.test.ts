/** Disconnects against a consent, two answers as one, and the test data of sandbox mode. */
import { describe, expect, it } from 'vitest'
import type { ReassignedAnswer, ReassignedFlag } from '../../src/domain/lookups.js'
import { parseDay } from '../../src/domain/time/dates.js'
import {
  combineReassigned,
  combineReassignedAnswers,
  createReassignedAnswer,
  createSandboxAnswer,
  deriveReassigned,
  limitToDatabasePeriod,
  nationalDataSince,
} from '../../src/service/lookups/reassigned-answer.js'
import { n } from '../support/service-subjects.js'

function day(text: string): number {
  const found = parseDay(text)
  if (found === undefined) throw new TypeError(text)
  return found
}

describe('one body of data', () => {
  it.each<[string, string | undefined, string, ReassignedFlag]>([
    ['a disconnect after the consent', '2024-05-02', '2024-05-01', true],
    ['a disconnect on the day of the consent', '2024-05-01', '2024-05-01', true],
    ['a disconnect before it', '2024-04-30', '2024-05-01', false],
    ['no disconnect ever', undefined, '2024-05-01', false],
    ['a disconnect long after an old consent', '2024-05-01', '2015-01-01', true],
  ])('with %s', (_what, latest, consent, expected) => {
    const latestOn = latest === undefined ? undefined : day(latest)
    expect(deriveReassigned({ latestOn }, day(consent))).toBe(expected)
  })

  it('without data on the number has no answer', () => {
    expect(deriveReassigned(undefined, day('2024-05-01'))).toBeNull()
  })
})

const each = [true, false, null] as const

describe('the two bodies together', () => {
  /** national, own, combined, harbour */
  it.each<[ReassignedFlag, ReassignedFlag, ReassignedFlag, boolean]>([
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
    expect(combineReassigned(national, own)).toBe(combined)
    expect(createReassignedAnswer(national, own)).toEqual({ national, own, hasSafeHarbor })
  })
})

describe('a consent older than the national database', () => {
  const start = '2021-01-27'
  it.each<[string, ReassignedAnswer, string, ReassignedAnswer]>([
    [
      'keeps a yes',
      createReassignedAnswer(true, null),
      '2021-01-26',
      createReassignedAnswer(true, null),
    ],
    [
      'has no no, and no harbour',
      createReassignedAnswer(false, null),
      '2021-01-26',
      createReassignedAnswer(null, null),
    ],
    [
      'keeps what the own data says',
      createReassignedAnswer(false, false),
      '2019-01-01',
      createReassignedAnswer(null, false),
    ],
    [
      'of its first day has one',
      createReassignedAnswer(false, null),
      start,
      createReassignedAnswer(false, null),
    ],
  ])('%s', (_what, answer, consent, expected) => {
    expect(limitToDatabasePeriod(answer, day(consent))).toEqual(expected)
  })

  it('is one before 2021-01-27', () => {
    expect(nationalDataSince).toBe(day(start))
  })
})

describe('two answers as one', () => {
  const all = each.flatMap((national) => each.map((own) => createReassignedAnswer(national, own)))

  it('never lose a yes, nor make one', () => {
    for (const one of all) {
      for (const other of all) {
        const both = combineReassignedAnswers(one, other)
        expect(both.national).toBe(combineReassigned(one.national, other.national))
        expect(both.own).toBe(combineReassigned(one.own, other.own))
        if (combineReassigned(both.national, both.own) === true)
          expect(both.hasSafeHarbor).toBe(false)
      }
    }
  })

  it.each<[string, ReassignedAnswer, ReassignedAnswer, boolean]>([
    [
      'the first that has national data',
      createReassignedAnswer(false, null),
      createReassignedAnswer(null, false),
      true,
    ],
    [
      'the second where the first has none',
      createReassignedAnswer(null, false),
      createReassignedAnswer(false, null),
      true,
    ],
    [
      'the first that denies it',
      { national: false, own: null, hasSafeHarbor: false },
      ...([createReassignedAnswer(false, null), false] as const),
    ],
    [
      'a first that grants it without a no',
      { national: null, own: null, hasSafeHarbor: true },
      ...([createReassignedAnswer(null, null), true] as const),
    ],
  ])('the harbour is told by %s', (_who, one, other, expected) => {
    expect(combineReassignedAnswers(one, other).hasSafeHarbor).toBe(expected)
  })
})

describe('test data', () => {
  const number = n('2127365001')
  const answers = Array.from({ length: 300 }, (_, index) =>
    createSandboxAnswer(number, day('2024-01-01') + index),
  )

  it('is the same for the same number and day', () => {
    expect(createSandboxAnswer(number, day('2024-01-01'))).toEqual(answers[0])
    expect(createSandboxAnswer(n('2127365001'), day('20240101'))).toEqual(answers[0])
  })

  it('has all outcomes and harbours, in each body of data', () => {
    const seen = (of: (answer: ReassignedAnswer) => unknown) => new Set(answers.map(of))
    expect(seen(({ national, own }) => combineReassigned(national, own))).toEqual(new Set(each))
    expect(seen(({ national }) => national)).toEqual(new Set(each))
    expect(seen(({ own }) => own)).toEqual(new Set(each))
    expect(seen(({ hasSafeHarbor }) => hasSafeHarbor)).toEqual(new Set([true, false]))
  })

  it('is another for other numbers', () => {
    const others = Array.from({ length: 50 }, (_, index) =>
      createSandboxAnswer(n(`21273650${10 + index}`), day('2024-01-01')),
    )
    expect(new Set(others.map((one) => JSON.stringify(one))).size).toBeGreaterThan(3)
  })
})
