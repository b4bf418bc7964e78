import { DateTime } from 'luxon'
import { describe, expect, it } from 'vitest'
import {
  addMonths,
  formatDay,
  formatInstant,
  parseDay,
  parseInstant,
} from '../../src/domain/time/dates.js'
import {
  assertZoneRulesAreCurrent,
  getTimeZone,
  toInstant,
  toLocalTime,
} from '../../src/domain/time/time-zones.js'

const at = (text: string): number => {
  const instant = parseInstant(text)
  if (instant === undefined) throw new Error(text)
  return instant
}

describe('packaged zone rules', () => {
  it('are new enough for the law of 2026', () => {
    expect(() => assertZoneRulesAreCurrent()).not.toThrow()
  })

  const offsets = [
    ['America/Vancouver', '2026-07-01T12:00:00Z', -7],
    ['America/Vancouver', '2026-12-15T12:00:00Z', -7],
    ['America/Edmonton', '2026-12-15T12:00:00Z', -6],
    ['America/Winnipeg', '2026-12-15T12:00:00Z', -5],
    ['America/Toronto', '2026-12-15T12:00:00Z', -5],
    ['America/Toronto', '2026-07-01T12:00:00Z', -4],
    ['America/St_Johns', '2026-12-15T12:00:00Z', -3.5],
    ['America/Phoenix', '2026-07-01T12:00:00Z', -7],
    ['Pacific/Guam', '2026-07-01T12:00:00Z', 10],
    ['America/New_York', '2075-07-01T12:00:00Z', -4],
    ['America/New_York', '1990-01-01T12:00:00Z', -5],
  ] as const
  for (const [name, instant, hours] of offsets) {
    it(`${name} is ${hours} h from UTC at ${instant}`, () => {
      expect(getTimeZone(name).offset(at(instant))).toBe(hours * 60)
    })
  }

  it('answer alike in any order of questions', () => {
    const name = 'America/Chicago'
    const summer = at('2026-07-01T00:00:00Z')
    const winter = at('2026-12-01T00:00:00Z')
    const seen = [summer, winter, summer, winter].map((instant) =>
      getTimeZone(name).offset(instant),
    )
    expect(seen).toEqual([-300, -360, -300, -360])
  })

  it('serve luxon', () => {
    const time = DateTime.fromMillis(at('2026-12-15T18:00:00Z'), {
      zone: getTimeZone('America/Winnipeg'),
    })
    expect(time.toISO()).toBe('2026-12-15T13:00:00.000-05:00')
  })

  it('refuse a name they do not have', () => {
    expect(() => getTimeZone('America/Atlantis')).toThrow("'America/Atlantis' is not a time zone")
  })
})

describe('wall clock and instant', () => {
  it('are each other’s inverse away from clock changes', () => {
    const instant = at('2026-11-24T03:00:05Z')
    const local = toLocalTime('America/New_York', instant)
    expect(formatDay(local.day)).toBe('2026-11-23')
    expect(local.secondOfDay).toBe(22 * 3600 + 5)
    expect(toInstant('America/New_York', local.day, local.secondOfDay, 'earlier')).toBe(instant)
  })

  it('a reading that comes twice has an earlier and a later instant', () => {
    const day = parseDay('2026-11-01') ?? 0
    const halfPastOne = 5400
    const [first, second] = (['earlier', 'later'] as const).map((which) =>
      formatInstant(toInstant('America/New_York', day, halfPastOne, which)),
    )
    expect(first).toBe('2026-11-01T05:30:00Z')
    expect(second).toBe('2026-11-01T06:30:00Z')
  })

  it('a reading that is skipped is taken with the offset from before the gap', () => {
    const day = parseDay('2026-03-08') ?? 0
    const halfPastTwo = 9000
    expect(formatInstant(toInstant('America/New_York', day, halfPastTwo, 'earlier'))).toBe(
      '2026-03-08T07:30:00Z',
    )
  })
})

describe('instants and days as text', () => {
  const instants = [
    ['2026-11-23T17:00:00Z', '2026-11-23T17:00:00Z'],
    ['2026-11-23T17:00:00.250Z', '2026-11-23T17:00:00.250Z'],
    ['2026-11-23T12:00:00-05:00', '2026-11-23T17:00:00Z'],
    ['2026-11-23T17:00', '2026-11-23T17:00:00Z'],
    ['2026-11-23', '2026-11-23T00:00:00Z'],
  ] as const
  for (const [text, canonical] of instants) {
    it(`'${text}' is ${canonical}`, () => {
      expect(formatInstant(at(text))).toBe(canonical)
    })
  }

  for (const text of [
    '',
    'now',
    '2026-02-30',
    '2026-13-01',
    '2026-11-23T24:00:00Z',
    '11/23/2026',
  ]) {
    it(`'${text}' is no instant`, () => {
      expect(parseInstant(text)).toBeUndefined()
    })
  }

  it('days are read in the three usual forms, and only when they exist', () => {
    for (const text of ['2026-02-28', '02/28/2026', '2/28/2026', '20260228']) {
      expect(formatDay(parseDay(text) ?? 0)).toBe('2026-02-28')
    }
    for (const text of ['2026-02-29', '13/01/2026', '2026-2-1', 'today']) {
      expect(parseDay(text)).toBeUndefined()
    }
  })

  it('months later is the same day, or the last one of a shorter month', () => {
    const rows = [
      ['2026-01-31', 1, '2026-02-28'],
      ['2024-01-31', 1, '2024-02-29'],
      ['2026-05-15', 18, '2027-11-15'],
      ['2026-11-30', 3, '2027-02-28'],
    ] as const
    for (const [from, months, to] of rows) {
      expect(formatDay(addMonths(parseDay(from) ?? 0, months))).toBe(to)
    }
  })
})
