/** Until when the law would have an opt-out honored, and until when it may be confirmed. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import {
  checkCallingRules,
  loadCallingRules,
} from '../../src/data/calling-rules/calling-rules-schema.js'
import { formatDay, parseDay } from '../../src/domain/time/dates.js'
import { CallingRules } from '../../src/law/calling-rules.js'

const shipped = 'config/calling-rules.yaml'
const { revocation } = loadCallingRules(shipped)
const day = (text: string) => parseDay(text) ?? Number.NaN
const lastDay = (receivedAt: string) => {
  const terms = revocation?.find(Date.parse(receivedAt), [])
  return terms && formatDay(terms.lastDay)
}

describe('the last day', () => {
  test.each([
    ['a Friday; Thanksgiving is no business day', '2026-11-20T17:00:00Z', '2026-12-07'],
    [
      'the Saturday after it: the first business day is the same',
      '2026-11-21T17:00:00Z',
      '2026-12-07',
    ],
    ['the Sunday after it', '2026-11-22T17:00:00Z', '2026-12-07'],
    ['the Monday after it', '2026-11-23T17:00:00Z', '2026-12-08'],
    ['Thursday night in New York is Thursday', '2026-11-20T04:00:00Z', '2026-12-04'],
    ['Christmas and New Year', '2026-12-18T17:00:00Z', '2027-01-05'],
    [
      'Independence Day on a Saturday closes the Friday before',
      '2026-06-25T17:00:00Z',
      '2026-07-10',
    ],
    ['Juneteenth on a Saturday closes the Friday before', '2027-06-17T17:00:00Z', '2027-07-02'],
    [
      'New Year on a Saturday closes the last day of the year',
      '2027-12-30T17:00:00Z',
      '2028-01-14',
    ],
  ])('of %s', (_what, receivedAt, expected) => {
    expect(lastDay(receivedAt)).toBe(expected)
  })

  test('is not known from before the rule', () => {
    expect(lastDay('2025-04-10T17:00:00Z')).toBeUndefined()
    expect(lastDay('2025-04-11T17:00:00Z')).toBe('2025-04-25')
  })
})

test('one text may confirm it within five minutes', () => {
  const receivedAt = Date.parse('2026-11-20T17:00:00Z')
  expect(revocation?.find(receivedAt, [])?.confirmBefore).toBe(receivedAt + 300_000)
})

describe('a rule whose day is not settled', () => {
  const idsOn = (at: string, dates: { rule: string; from: number }[]) =>
    revocation?.find(Date.parse(at), dates)?.rules.map(({ id }) => id)

  test('is not in force until an operator enters a day, and from that day on', () => {
    expect(idsOn('2030-01-15T17:00:00Z', [])).toEqual(['tcpa-revocation'])
    const dates = [{ rule: 'fcc-26-67', from: day('2027-03-01') }]
    expect(idsOn('2027-02-28T17:00:00Z', dates)).toEqual(['tcpa-revocation'])
    expect(idsOn('2027-03-01T17:00:00Z', dates)).toEqual(['tcpa-revocation', 'fcc-26-67'])
    expect(revocation?.undatedRules.map(({ id }) => id)).toEqual(['fcc-26-67', 'revoke-all'])
  })

  test('of several in force the strictest counts, so that none makes anything looser', () => {
    const document = parse(readFileSync(shipped, 'utf8'))
    const [, second, third] = document.revocation.rules
    Object.assign(second, { businessDays: 5, confirmationMinutes: 30 })
    Object.assign(third, { businessDays: 20, confirmationMinutes: 2 })
    const checked = checkCallingRules(document)
    if (!checked.ok) throw new Error(JSON.stringify(checked.problems))
    const dates = ['fcc-26-67', 'revoke-all'].map((rule) => ({ rule, from: day('2026-01-01') }))
    const receivedAt = Date.parse('2026-11-20T17:00:00Z')
    const terms = new CallingRules(checked.document).revocation?.find(receivedAt, dates)
    expect(terms && formatDay(terms.lastDay)).toBe('2026-11-30')
    expect(terms?.confirmBefore).toBe(receivedAt + 120_000)
  })
})

test.each([
  [{ utcOffsetHours: -13 }, 'must be -12 to 14'],
  [{ holidays: ['labour_day'] }, 'must be a key of holidays'],
  [{ observedPolicy: 'never' }, 'must be a key of observedPolicies'],
  [{ rules: [{ id: 'x', businessDays: 0, confirmationMinutes: 5 }] }, 'must be 1 or more'],
  [
    {
      rules: [
        {
          id: 'x',
          businessDays: 1,
          confirmationMinutes: 5,
          datedByOperator: true,
          from: '2026-01-01',
          citation: 'c',
          confidence: 'secondary',
        },
      ],
    },
    'goes without from and until',
  ],
])('a file with %j is refused', (change, rule) => {
  const document = parse(readFileSync(shipped, 'utf8'))
  Object.assign(document.revocation, change)
  const checked = checkCallingRules(document)
  expect(JSON.stringify(checked)).toContain(rule)
})
