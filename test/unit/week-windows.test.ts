import { describe, expect, test } from 'vitest'
import { parseDay } from '../../src/domain/time/dates.js'
import {
  findWindowForDay,
  formatDayWindow,
  formatWeek,
  intersectWindows,
  parseDayWindow,
} from '../../src/domain/time/week-windows.js'

const [h8, h9, h12, h20, h21] = [8, 9, 12, 20, 21].map((hour) => hour * 3600) as [
  number,
  number,
  number,
  number,
  number,
]

describe('reading a window', () => {
  test.each([
    ['08:00-20:00', { start: h8, end: h20 }],
    ['00:00-24:00', { start: 0, end: 86_400 }],
    ['23:59-24:00', { start: 86_340, end: 86_400 }],
    ['8:00-20:00', undefined],
    ['20:00-08:00', undefined],
    ['08:00-08:00', undefined],
    ['08:00-24:30', undefined],
    ['08:00-20:60', undefined],
    ['08:75-20:00', undefined],
    ['08:00 - 20:00', undefined],
    ['none', undefined],
    ['', undefined],
  ])("'%s'", (text, expected) => {
    expect(parseDayWindow(text)).toEqual(expected)
  })
})

describe('the window of a day', () => {
  const week = {
    monFri: { start: h8, end: h20 },
    sat: { start: h9, end: h12 },
    sun: undefined,
  }
  test.each([
    ['2026-11-20', week.monFri],
    ['2026-11-21', week.sat],
    ['2026-11-22', undefined],
    ['2026-11-23', week.monFri],
  ])('%s', (date, expected) => {
    expect(findWindowForDay(week, parseDay(date) ?? Number.NaN)).toEqual(expected)
  })

  test('a window that ends before it starts is closed', () => {
    const backwards = { ...week, monFri: { start: h20, end: h8 } }
    expect(findWindowForDay(backwards, parseDay('2026-11-23') ?? Number.NaN)).toBeUndefined()
  })

  test('is shown for people and for a scrub row', () => {
    expect(formatDayWindow(week.monFri)).toBe('08:00-20:00')
    expect(formatWeek(week)).toBe('8:00-20:00;9:00-12:00;0:00-0:00')
    expect(formatWeek({ ...week, sat: { start: h20, end: h8 } })).toBe(
      '8:00-20:00;0:00-0:00;0:00-0:00',
    )
  })
})

describe('what two windows have in common', () => {
  test.each([
    [
      { start: h8, end: h20 },
      { start: h9, end: h21 },
      { start: h9, end: h20 },
    ],
    [
      { start: h8, end: h21 },
      { start: h9, end: h12 },
      { start: h9, end: h12 },
    ],
    [{ start: h8, end: h12 }, { start: h12, end: h20 }, undefined],
    [{ start: h8, end: h12 }, undefined, undefined],
    [undefined, { start: h8, end: h12 }, undefined],
  ])('%o and %o', (one, other, expected) => {
    expect(intersectWindows(one, other)).toEqual(expected)
  })
})
