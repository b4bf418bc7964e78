/** The window and offset of a scrub row: inside or not, the next edge, the next opening. */
import { describe, expect, test } from 'vitest'
import { formatInstant } from '../../../../src/domain/time/dates.js'
import {
  computeRowHours,
  getNextFullMinute,
  getNextFullQuarter,
  parseCallingWindow,
} from '../../../../src/sources/remote/questions/row-hours.js'
import { instant } from '../../../support/test-clock.js'

const week = '8:00-21:00;9:00-12:00;0:00-0:00'
const open24 = '0:00-24:00;0:00-24:00;0:00-24:00'

interface Row {
  readonly case: string
  readonly at: string
  readonly offset: number
  readonly window?: string
  readonly inside: boolean
  readonly nextEdge: string
  readonly opensAt?: string
}

/** 2026-11-23 is a Monday. */
const rows: readonly Row[] = [
  {
    case: 'noon',
    at: '2026-11-23T17:00:00Z',
    offset: -300,
    inside: true,
    nextEdge: '2026-11-24T02:00:00Z',
  },
  {
    case: 'the opening instant',
    at: '2026-11-23T13:00:00Z',
    offset: -300,
    inside: true,
    nextEdge: '2026-11-24T02:00:00Z',
  },
  {
    case: 'a moment before opening',
    at: '2026-11-23T12:59:59.999Z',
    offset: -300,
    inside: false,
    nextEdge: '2026-11-23T13:00:00Z',
    opensAt: '2026-11-23T13:00:00Z',
  },
  {
    case: 'a moment before closing',
    at: '2026-11-24T01:59:59.999Z',
    offset: -300,
    inside: true,
    nextEdge: '2026-11-24T02:00:00Z',
  },
  {
    case: 'the closing instant',
    at: '2026-11-24T02:00:00Z',
    offset: -300,
    inside: false,
    nextEdge: '2026-11-24T05:00:00Z',
  },
  {
    case: 'before two in the morning',
    at: '2026-11-23T06:00:00Z',
    offset: -300,
    inside: false,
    nextEdge: '2026-11-23T07:00:00Z',
    opensAt: '2026-11-23T13:00:00Z',
  },
  {
    case: 'Saturday',
    at: '2026-11-28T15:00:00Z',
    offset: -300,
    inside: true,
    nextEdge: '2026-11-28T17:00:00Z',
  },
  {
    case: 'Sunday, closed',
    at: '2026-11-29T17:00:00Z',
    offset: -300,
    inside: false,
    nextEdge: '2026-11-30T05:00:00Z',
  },
  {
    case: 'still Saturday there, Sunday in UTC',
    at: '2026-11-29T02:00:00Z',
    offset: -300,
    inside: false,
    nextEdge: '2026-11-29T05:00:00Z',
  },
  {
    case: 'Guam, a day ahead',
    at: '2026-11-22T23:00:00Z',
    offset: 600,
    inside: true,
    nextEdge: '2026-11-23T11:00:00Z',
  },
  {
    case: 'half hours of Newfoundland',
    at: '2026-11-23T11:00:00Z',
    offset: -210,
    inside: false,
    nextEdge: '2026-11-23T11:30:00Z',
    opensAt: '2026-11-23T11:30:00Z',
  },
  {
    case: 'open all day: not past midnight',
    at: '2026-11-23T17:00:00Z',
    offset: -300,
    window: open24,
    inside: true,
    nextEdge: '2026-11-24T05:00:00Z',
  },
  {
    case: 'open all day, at one: not past two',
    at: '2026-11-23T06:00:00Z',
    offset: -300,
    window: open24,
    inside: true,
    nextEdge: '2026-11-23T07:00:00Z',
  },
  {
    case: 'Sunday at one: the opening is unknown',
    at: '2026-03-08T06:00:00Z',
    offset: -300,
    window: '8:00-21:00;8:00-21:00;8:00-21:00',
    inside: false,
    nextEdge: '2026-03-08T07:00:00Z',
  },
  {
    case: 'Sunday at three: it is known',
    at: '2026-03-08T07:00:00Z',
    offset: -240,
    window: '8:00-21:00;8:00-21:00;8:00-21:00',
    inside: false,
    nextEdge: '2026-03-08T12:00:00Z',
    opensAt: '2026-03-08T12:00:00Z',
  },
]

describe('hours of a row', () => {
  test.each(rows)('$case', ({ at, offset, window = week, inside, nextEdge, opensAt }) => {
    const found = computeRowHours({ callingWindow: window, utcOffsetMinutes: offset }, instant(at))
    expect(found?.isInside).toBe(inside)
    expect(formatInstant(found?.nextEdge ?? 0)).toBe(nextEdge)
    expect(found?.opensAt === undefined ? undefined : formatInstant(found.opensAt)).toBe(opensAt)
  })

  test.each([
    ['no offset', week, undefined],
    ['an offset of no place on earth', week, 900],
    ['the same in the west', week, -721],
    ['no window', '', -300],
    ['an unreadable window', 'any time', -300],
  ])('are absent with %s', (_case, callingWindow, utcOffsetMinutes) => {
    const at = instant('2026-11-23T17:00:00Z')
    expect(computeRowHours({ callingWindow, utcOffsetMinutes }, at)).toBeUndefined()
  })
})

describe('CallingWindow', () => {
  const day = (start: number, end: number) => ({ start: start * 3600, end: end * 3600 })
  test.each([
    [week, { monFri: day(8, 21), sat: day(9, 12), sun: undefined }],
    ['08:00-21:00; 09:00-12:00 ;00:00-00:00', { monFri: day(8, 21), sat: day(9, 12) }],
    ['24:00-24:00;9:30-10:00;0:00-24:00', { sat: day(9.5, 10), sun: day(0, 24) }],
  ])('%s', (text, expected) => {
    expect(parseCallingWindow(text)).toEqual(expected)
  })

  test.each([
    '',
    ';;',
    '8:00-21:00',
    '8:00-21:00;9:00-12:00',
    `${week};8:00-9:00`,
    '21:00-8:00;9:00-12:00;9:00-12:00',
    '8:00-25:00;9:00-12:00;9:00-12:00',
    '8:60-21:00;9:00-12:00;9:00-12:00',
    '8-21;9-12;9-12',
    '8:00-21:00,9:00-12:00,9:00-12:00',
    '8:00-9:00-10:00;9:00-12:00;9:00-12:00',
    '99:99-99:99;9:00-12:00;9:00-12:00',
    'x-x;9:00-12:00;9:00-12:00',
    '-;-;-',
    '8:00am-9:00pm;9:00-12:00;9:00-12:00',
  ])('%j cannot be read', (text) => {
    expect(parseCallingWindow(text)).toBeUndefined()
  })
})

test.each([
  ['2026-11-23T17:00:00Z', '2026-11-23T17:01:00Z', '2026-11-23T17:15:00Z'],
  ['2026-11-23T17:00:00.001Z', '2026-11-23T17:01:00Z', '2026-11-23T17:15:00Z'],
  ['2026-11-23T17:14:59.999Z', '2026-11-23T17:15:00Z', '2026-11-23T17:15:00Z'],
  ['2026-11-23T17:59:30Z', '2026-11-23T18:00:00Z', '2026-11-23T18:00:00Z'],
])('after %s comes the full minute %s and the full quarter %s', (at, minute, quarter) => {
  expect(formatInstant(getNextFullMinute(instant(at)))).toBe(minute)
  expect(formatInstant(getNextFullQuarter(instant(at)))).toBe(quarter)
})
