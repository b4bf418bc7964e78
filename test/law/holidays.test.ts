import { describe, expect, test } from 'vitest'
import { formatDay, parseDay } from '../../src/domain/time/dates.js'
import { findHolidayDate, HolidayCalendar, type HolidayRule } from '../../src/law/hours/holidays.js'

const [sun, mon, tue, thu, fri] = [0, 1, 2, 4, 5] as const

function dayIn(rule: HolidayRule, year: number): string | undefined {
  const day = findHolidayDate(rule, year)
  return day === undefined ? undefined : formatDay(day)
}

describe('the day of a holiday', () => {
  const fixed = { type: 'fixed', month: 7, day: 4, observed: 'never' } as const
  const memorialDay = { type: 'nth-weekday', month: 5, weekday: mon, nth: -1, offset: 0 } as const
  const decemberLast = { type: 'nth-weekday', month: 12, weekday: fri, nth: -1, offset: 0 } as const
  const thanksgiving = { type: 'nth-weekday', month: 11, weekday: thu, nth: 4, offset: 0 } as const
  const firstSunday = { type: 'nth-weekday', month: 11, weekday: sun, nth: 1, offset: 0 } as const
  const victoria = { type: 'weekday-before', month: 5, day: 25, weekday: mon } as const
  const election = { type: 'weekday-after', month: 11, day: 1, weekday: tue } as const
  const utah = [1, 0, -1, -2, -3, -4, 2]
  const shifted = { type: 'fixed-shifted', month: 6, day: 19, shift: utah } as const

  test.each<[string, HolidayRule, number, string | undefined]>([
    ['a fixed date', fixed, 2026, '2026-07-04'],
    ['the last Monday of May', memorialDay, 2026, '2026-05-25'],
    ['the last Monday of May on the 31st', memorialDay, 2027, '2027-05-31'],
    ['the last Friday of December', decemberLast, 2027, '2027-12-31'],
    ['the fourth Thursday', thanksgiving, 2026, '2026-11-26'],
    ['the fourth Thursday on the 22nd', thanksgiving, 2029, '2029-11-22'],
    ['the day after it', { ...thanksgiving, offset: 1 }, 2026, '2026-11-27'],
    ['a first Sunday on the 1st', firstSunday, 2026, '2026-11-01'],
    [
      'Easter on its earliest day of these years',
      { type: 'easter-offset', days: 0 },
      2008,
      '2008-03-23',
    ],
    ['Easter 2024', { type: 'easter-offset', days: 0 }, 2024, '2024-03-31'],
    ['Easter 2027', { type: 'easter-offset', days: 0 }, 2027, '2027-03-28'],
    ['Easter on its latest day', { type: 'easter-offset', days: 0 }, 2038, '2038-04-25'],
    ['Good Friday', { type: 'easter-offset', days: -2 }, 2027, '2027-03-26'],
    ['Mardi Gras', { type: 'easter-offset', days: -47 }, 2027, '2027-02-09'],
    ['the Monday before 25 May', victoria, 2026, '2026-05-18'],
    ['the Monday before 25 May, the 24th', victoria, 2027, '2027-05-24'],
    ['Election Day on the 2nd', { ...election, years: 'every' }, 2027, '2027-11-02'],
    ['Election Day on the 8th', { ...election, years: 'every' }, 2033, '2033-11-08'],
    ['Election Day of even years', { ...election, years: 'even' }, 2026, '2026-11-03'],
    ['no Election Day in an odd year', { ...election, years: 'even' }, 2027, undefined],
    ['a shifted Friday', shifted, 2026, '2026-06-15'],
    ['a shifted Saturday', shifted, 2027, '2027-06-21'],
    ['a shifted Monday', shifted, 2028, '2028-06-19'],
    ['a shifted Tuesday', shifted, 2029, '2029-06-18'],
    ['a shifted Sunday', shifted, 2033, '2033-06-20'],
  ])('%s', (_name, rule, year, expected) => {
    expect(dayIn(rule, year)).toBe(expected)
  })
})

describe('closed days of a year', () => {
  const christmas = {
    name: 'Christmas',
    rule: { type: 'fixed', month: 12, day: 25, observed: 'by-region' },
  } as const
  const newYear = {
    name: 'New Year',
    rule: { type: 'fixed', month: 1, day: 1, observed: 'by-region' },
  } as const
  const fridayAndMonday = { saturday: ['preceding-friday'], sunday: ['following-monday'] } as const
  const both = {
    saturday: ['preceding-friday', 'following-monday'],
    sunday: ['following-monday'],
  } as const
  const none = { saturday: [], sunday: [] } as const

  function days(calendar: HolidayCalendar, year: number): string[] {
    return [...calendar.listClosedDays(year)]
      .map(([day, name]) => `${formatDay(day)} ${name}`)
      .sort()
  }

  test('a Saturday closes the Friday before it as well', () => {
    expect(days(new HolidayCalendar([christmas], fridayAndMonday), 2027)).toEqual([
      '2027-12-24 Christmas (observed)',
      '2027-12-25 Christmas',
    ])
  })

  test('a Sunday closes the Monday after it as well', () => {
    expect(days(new HolidayCalendar([christmas], fridayAndMonday), 2033)).toEqual([
      '2033-12-25 Christmas',
      '2033-12-26 Christmas (observed)',
    ])
  })

  test('a Saturday closes Friday and Monday where both are kept', () => {
    expect(days(new HolidayCalendar([christmas], both), 2027)).toHaveLength(3)
  })

  test('nothing moves without a policy, on a weekday, or for a day never observed elsewhere', () => {
    const never = { ...christmas, rule: { ...christmas.rule, observed: 'never' } } as const
    expect(days(new HolidayCalendar([christmas], none), 2027)).toHaveLength(1)
    expect(days(new HolidayCalendar([christmas], both), 2026)).toHaveLength(1)
    expect(days(new HolidayCalendar([never], both), 2027)).toHaveLength(1)
  })

  test('a New Year on Saturday closes the last day of the year before', () => {
    const calendar = new HolidayCalendar([newYear], fridayAndMonday)
    expect(days(calendar, 2027)).toEqual(['2027-01-01 New Year', '2027-12-31 New Year (observed)'])
    expect(days(calendar, 2028)).toEqual(['2028-01-01 New Year'])
  })

  test("a holiday's own day has its name where another one moves onto it", () => {
    const boxing = {
      name: 'Boxing Day',
      rule: { type: 'fixed', month: 12, day: 26, observed: 'never' },
    } as const
    expect(days(new HolidayCalendar([christmas, boxing], fridayAndMonday), 2033)).toEqual([
      '2033-12-25 Christmas',
      '2033-12-26 Boxing Day',
    ])
  })

  test('a holiday counts between its first and last day only', () => {
    const from = parseDay('2026-01-01')
    const until = parseDay('2027-12-25')
    const calendar = new HolidayCalendar([{ ...christmas, from, until }], none)
    const counted = [2025, 2026, 2027, 2028].map((year) => calendar.listClosedDays(year).size)
    expect(counted).toEqual([0, 1, 1, 0])
  })

  test('names the day', () => {
    const calendar = new HolidayCalendar([christmas], none)
    expect(calendar.findName(parseDay('2026-12-25') ?? 0)).toBe('Christmas')
    expect(calendar.findName(parseDay('2026-12-24') ?? 0)).toBeUndefined()
  })
})
