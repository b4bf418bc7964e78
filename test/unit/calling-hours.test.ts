import { describe, expect, test } from 'vitest'
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import { formatInstant, parseInstant } from '../../src/domain/time/dates.js'
import type { ProjectHours } from '../../src/domain/time/week-windows.js'
import { describeSaid } from '../../src/domain/words/words.js'
import type { Emergency, ProclaimedDay } from '../../src/law/hours/operator-closures.js'
import { CallingHours } from '../../src/service/calling-hours/calling-hours.js'
import { candidate, fakeNumberingPlan, fakePostalCodes } from '../support/fake-numbering.js'

const rules = loadCallingRules('config/calling-rules.yaml')

function instant(text: string): number {
  const at = parseInstant(text)
  if (at === undefined) throw new Error(`'${text}' is no instant`)
  return at
}

function callingHours(
  closures: { proclaimedDays?: ProclaimedDay[]; emergencies?: Emergency[] } = {},
): CallingHours {
  return new CallingHours({
    rules,
    numberingPlan: fakeNumberingPlan({
      '205': ['AL America/Chicago'],
      '212': ['NY America/New_York'],
      '270': ['KY America/New_York', 'KY America/Chicago'],
      '303': ['CO America/Denver'],
      '416': ['ON America/Toronto'],
      '850': ['FL America/New_York', 'FL America/Chicago'],
    }),
    postalCodes: fakePostalCodes({
      '10001': ['NY America/New_York'],
      '14201': ['NY America/New_York'],
      '94105': ['CA America/Los_Angeles'],
      '32501': ['FL America/Chicago'],
      'M5V 1A1': ['ON America/Toronto'],
    }),
    proclaimedDays: [],
    emergencies: [],
    ...closures,
  })
}

const now = instant('2026-11-24T17:00:00Z')
const hours = callingHours()
const plain = { overrides: [], recordedVoice: false, requireStatutoryWindow: false }

function judge(
  service: CallingHours,
  where: readonly string[],
  more: { at: string; postalCode?: string | undefined },
) {
  const { postalCode } = more
  const places = where.map((place) => ({ ...candidate(place), postalCode }))
  return service.windows.evaluate(places, instant(more.at), plain)
}

describe('how long a judgement holds', () => {
  test.each([
    ['inside the window: to its end', '2026-11-24T12:00:00-05:00', '2026-11-25T01:00:00Z'],
    ['before the window: to its opening', '2026-11-24T06:00:00-05:00', '2026-11-24T13:00:00Z'],
    ['after the window: to local midnight', '2026-11-24T21:00:00-05:00', '2026-11-25T05:00:00Z'],
  ])('%s', (_name, at, until) => {
    const answer = judge(hours, ['FL America/New_York'], { at })
    expect(formatInstant(answer.holdsUntil)).toBe(until)
  })

  test('with two places the earlier midnight counts', () => {
    const places = ['FL America/Chicago', 'FL America/New_York']
    const answer = judge(hours, places, { at: '2026-11-24T21:00:00-05:00' })
    expect(formatInstant(answer.holdsUntil)).toBe('2026-11-25T05:00:00Z')
  })

  test('parts of a second are cut from the seconds left', () => {
    const answer = judge(hours, ['FL America/New_York'], { at: '2026-11-24T19:59:58.500-05:00' })
    expect([answer.permitted, answer.secondsLeft]).toEqual([true, 1])
  })

  test('no place at all is no permission', () => {
    expect(judge(hours, [], { at: '2026-11-24T12:00:00-05:00' })).toMatchObject({
      permitted: false,
      says: [{ code: 'no-place' }],
    })
  })

  test('the same question has the same answer again, after other projects asked', () => {
    const places = [candidate('FL America/New_York')]
    const at = instant('2026-11-24T20:30:00-05:00')
    const ask = (overrides: readonly ProjectHours[]) =>
      hours.windows.evaluate(places, at, { ...plain, overrides }).permitted
    const day = { start: 0, end: 86_400 }
    const open = [{ region: 'FL', monFri: day, sat: day, sun: day }]
    expect([ask([]), ask(open), ask([]), ask(open)]).toEqual([false, true, false, true])
  })

  test('each kind of voice and of project has its own answer for the same list of hours', () => {
    const late = { start: 8 * 3600, end: 22 * 3600 }
    const overrides = [{ region: 'KY', monFri: late, sat: late, sun: late }]
    const at = instant('2026-11-24T21:30:00-05:00')
    const isPermitted = (recordedVoice: boolean, requireStatutoryWindow: boolean) => {
      const options = { overrides, recordedVoice, requireStatutoryWindow }
      return hours.windows.evaluate([candidate('KY America/New_York')], at, options).permitted
    }
    const answers = [false, true].flatMap((recordedVoice) =>
      [false, true].map((within) => isPermitted(recordedVoice, within)),
    )
    expect(answers).toEqual([true, false, false, false])
    expect(isPermitted(false, false)).toBe(true)
  })
})

describe('proclaimed days', () => {
  const closed = callingHours({
    proclaimedDays: [{ region: 'LA', date: '2026-12-24', name: 'Christmas Eve' }],
  })

  test('close the local day', () => {
    const answer = judge(closed, ['LA America/Chicago'], { at: '2026-12-24T12:00:00-06:00' })
    expect(answer).toMatchObject({ permitted: false, restrictedDay: 'Christmas Eve' })
    expect(answer.says).toContainEqual({ code: 'closed-by-operator' })
    expect(formatInstant(answer.opensAt ?? 0)).toBe('2026-12-26T14:00:00Z')
  })

  test('leave the day before and other regions open', () => {
    const before = judge(closed, ['LA America/Chicago'], { at: '2026-12-23T12:00:00-06:00' })
    const other = judge(closed, ['AR America/Chicago'], { at: '2026-12-24T12:00:00-06:00' })
    expect([before.permitted, other.permitted]).toEqual([true, true])
  })

  test.each([
    ['an unknown region', { region: 'ZZ', date: '2026-12-24' }, "proclaimedDays.0.region 'ZZ'"],
    ['a bad date', { region: 'LA', date: '2026-12-32' }, "proclaimedDays.0.date '2026-12-32'"],
  ])('%s is refused', (_name, day, message) => {
    expect(() => callingHours({ proclaimedDays: [{ ...day, name: 'x' }] })).toThrow(message)
  })
})

describe('declared emergencies', () => {
  const statewide = callingHours({
    emergencies: [
      {
        region: 'LA',
        from: instant('2026-12-01T15:00:00-06:00'),
        until: instant('2026-12-04T10:00:00-06:00'),
        name: 'Hurricane Zoe',
      },
    ],
  })
  const inBuffalo = callingHours({
    emergencies: [
      {
        region: 'NY',
        from: instant('2026-11-20T00:00:00-05:00'),
        postalPrefixes: ['142', '14 0'],
        name: 'Snow in Erie County',
        citation: 'Order 12',
      },
    ],
  })

  test.each([
    ['open before it starts', '2026-12-01T14:00:00-06:00', true, 3600, undefined],
    ['closed from its first second', '2026-12-01T15:00:00-06:00', false, 0, 'Hurricane Zoe'],
    ['closed to its last second', '2026-12-04T09:59:59-06:00', false, 0, 'Hurricane Zoe'],
    ['open when it ends within the window', '2026-12-04T10:00:00-06:00', true, 36_000, undefined],
  ])('%s', (_name, at, permitted, secondsLeft, restrictedDay) => {
    const answer = judge(statewide, ['LA America/Chicago'], { at })
    expect(answer).toMatchObject({ permitted, secondsLeft, restrictedDay })
  })

  test('the next opening is after its end, and the law is cited', () => {
    const answer = judge(statewide, ['LA America/Chicago'], { at: '2026-12-02T12:00:00-06:00' })
    expect(formatInstant(answer.opensAt ?? 0)).toBe('2026-12-04T16:00:00Z')
    expect(describeSaid(answer.says)).toContain('General Order R-29617')
  })

  test.each([
    ['a postal code inside', '14201', false],
    ['a longer code inside', '14001-1234', false],
    ['a postal code outside', '10001', true],
    ['no postal code: the whole state counts', undefined, false],
  ])('in a part of a state: %s', (_name, postalCode, permitted) => {
    const answer = judge(inBuffalo, ['NY America/New_York'], { at: formatInstant(now), postalCode })
    expect(answer.permitted).toBe(permitted)
    if (!permitted) {
      expect(describeSaid(answer.says)).toContain('Order 12')
      expect(answer.opensAt).toBeUndefined()
      expect(formatInstant(answer.holdsUntil)).toBe('2026-11-25T05:00:00Z')
    }
  })

  test('two that follow each other are one closure', () => {
    const day = (text: string) => instant(`2026-12-${text}T00:00:00-06:00`)
    const chained = callingHours({
      emergencies: [
        { region: 'LA', from: day('02'), until: day('04'), name: 'second' },
        { region: 'LA', from: day('01'), until: day('02'), name: 'first' },
      ],
    })
    const answer = judge(chained, ['LA America/Chicago'], { at: '2026-12-01T12:00:00-06:00' })
    expect(formatInstant(answer.opensAt ?? 0)).toBe('2026-12-04T14:00:00Z')
  })

  test('one that ends before it starts, or in an unknown region, is refused with both named', () => {
    const row = { region: 'ZZ', from: now, until: now, name: 'x' }
    expect(() => callingHours({ emergencies: [row] })).toThrow(
      /emergencies\.0\.region 'ZZ': .*; emergencies\.0\.until .*: must be after from/,
    )
  })
})

describe('the facts of a scrub row', () => {
  const at = instant('2026-11-24T12:00:00-05:00')
  const places = (...texts: string[]) => texts.map(candidate)

  test.each([
    ['a state', places('PA America/New_York'), '9:00-19:00;9:00-12:00;0:00-0:00'],
    ['Canada', places('ON America/Toronto'), '9:00-21:30;10:00-18:00;10:00-18:00'],
    [
      'two states',
      places('KY America/New_York', 'RI America/New_York'),
      '10:00-18:00;10:00-17:00;0:00-0:00',
    ],
    [
      'two zones of a state',
      places('FL America/New_York', 'FL America/Chicago'),
      '8:00-20:00;8:00-20:00;8:00-20:00',
    ],
    ['an unknown region', places('ZZ America/New_York'), '0:00-0:00;0:00-0:00;0:00-0:00'],
    ['no place', [], '0:00-0:00;0:00-0:00;0:00-0:00'],
  ])('the calling window of %s', (_name, candidates, expected) => {
    expect(hours.formatCallingWindow({ candidates, at })).toBe(expected)
  })

  test('a project replaces the calling window from its first day on', () => {
    const week = { monFri: { start: 36_000, end: 57_600 }, sat: undefined, sun: undefined }
    const candidates = places('FL America/New_York')
    const text = (effectiveFrom: number) =>
      hours.formatCallingWindow({
        candidates,
        at,
        overrides: [{ region: 'FL', ...week, effectiveFrom }],
      })
    const today = Math.floor(at / 86_400_000)
    expect(text(today)).toBe('10:00-16:00;0:00-0:00;0:00-0:00')
    expect(text(today + 1)).toBe('8:00-20:00;8:00-20:00;8:00-20:00')
  })

  test.each([
    ['a plain day', 'AL America/Chicago', '2026-11-24T12:00:00-06:00', false],
    ['a holiday at night', 'AL America/Chicago', '2026-11-26T23:00:00-06:00', true],
    ['a holiday elsewhere', 'GA America/New_York', '2026-11-26T12:00:00-05:00', false],
    ['a Sunday ban is no restricted day', 'AL America/Chicago', '2026-11-22T12:00:00-06:00', false],
  ])('do not call today on %s', (_name, where, time, expected) => {
    expect(judge(hours, [where], { at: time }).isDayClosed).toBe(expected)
  })

  test('do not call today when one of two places has a holiday, or no place is known', () => {
    const thanksgiving = { at: '2026-11-26T12:00:00-05:00' }
    const two = ['GA America/New_York', 'AL America/Chicago']
    expect(judge(hours, two, thanksgiving).isDayClosed).toBe(true)
    expect(judge(hours, [], { at: '2026-11-24T12:00:00-05:00' }).isDayClosed).toBe(true)
  })

  test.each([
    ['the evening before', '2026-11-23T23:59:59-06:00', false],
    ['hours before it starts on the same day', '2026-11-24T08:00:00-06:00', true],
    ['while it lasts', '2026-11-24T12:00:00-06:00', true],
    ['after it ended on the same day', '2026-11-24T16:00:00-06:00', false],
  ])('an emergency from 10:00 to 16:00: %s', (_name, time, expected) => {
    const service = callingHours({
      emergencies: [
        {
          region: 'LA',
          from: instant('2026-11-24T10:00:00-06:00'),
          until: instant('2026-11-24T16:00:00-06:00'),
          name: 'Flood',
        },
      ],
    })
    expect(judge(service, ['LA America/Chicago'], { at: time }).isDayClosed).toBe(expected)
  })
})

describe('the legal time of a number', () => {
  test.each<
    [string, Partial<Parameters<CallingHours['checkTimeLegal']>[0]>, string, string | null]
  >([
    ['a plain number', { phoneNumber: '2125550100' }, 'OK', null],
    [
      'nine digits',
      { phoneNumber: '212555010' },
      'INVALID_PHONE',
      "PhoneNumber '212555010': must be exactly 10 digits",
    ],
    [
      'a country code',
      { phoneNumber: '12125550100' },
      'INVALID_PHONE',
      "PhoneNumber '12125550100': must be exactly 10 digits",
    ],
    [
      'punctuation',
      { phoneNumber: '212-555-0100' },
      'INVALID_PHONE',
      "PhoneNumber '212-555-0100': must be exactly 10 digits",
    ],
    [
      'a line end',
      { phoneNumber: '2125550100\n' },
      'INVALID_PHONE',
      "PhoneNumber '2125550100\n': must be exactly 10 digits",
    ],
    [
      'no number',
      { phoneNumber: null },
      'INVALID_PHONE',
      'PhoneNumber: must be text of exactly 10 digits',
    ],
    [
      'a number that is no text',
      { phoneNumber: 2125550100 },
      'INVALID_PHONE',
      "PhoneNumber '2125550100': must be text of exactly 10 digits",
    ],
    [
      'a list',
      { phoneNumber: ['2125550100'] },
      'INVALID_PHONE',
      `PhoneNumber '["2125550100"]': must be text of exactly 10 digits`,
    ],
    [
      'an unknown project',
      { phoneNumber: '2125550100', projectFault: "DNCProjId 'X': is unknown" },
      'INVALID_PROJECT',
      "DNCProjId 'X': is unknown",
    ],
    [
      'toll-free',
      { phoneNumber: '8335550100' },
      'TOLL_FREE',
      "PhoneNumber '8335550100': area code 833 is toll-free or reserved for it and has no place",
    ],
    [
      'reserved toll-free',
      { phoneNumber: '8895550100' },
      'TOLL_FREE',
      "PhoneNumber '8895550100': area code 889 is toll-free or reserved for it and has no place",
    ],
    [
      'an unknown prefix',
      { phoneNumber: '9995550100' },
      'UNKNOWN_NXX',
      "PhoneNumber '9995550100': not among the exchanges of 999 in the list",
    ],
    [
      'an unknown prefix, known postal code',
      { phoneNumber: '9995550100', postalCode: '10001' },
      'UNKNOWN_NXX',
      "PhoneNumber '9995550100': not among the exchanges of 999 in the list",
    ],
    [
      'a bad phone and an unknown project',
      { phoneNumber: '', projectFault: 'x' },
      'INVALID_PHONE',
      "PhoneNumber '': must be exactly 10 digits",
    ],
    [
      'an unknown project and a bad date',
      { phoneNumber: '2125550100', projectFault: 'x', at: 0 },
      'INVALID_PROJECT',
      'x',
    ],
    [
      'a bad date and toll-free',
      { phoneNumber: '8005550100', at: instant('2099-01-01') },
      'INVALID_DATE',
      "CallProposedDateTimeInUTC '2099-01-01T00:00:00Z': must be within 50 years of today, 2026-11-24",
    ],
  ])('%s', (_name, item, status, message) => {
    const answer = hours.checkTimeLegal({ phoneNumber: '', now, ...item })
    expect({ status: answer.status, message: answer.message }).toEqual({ status, message })
    expect(answer.permitted).toBe(status === 'OK')
    expect(answer.secondsLeft > 0).toBe(status === 'OK')
  })

  test.each([
    ['2076-11-24T23:59:59Z', 'OK'],
    ['2076-11-25T00:00:00Z', 'INVALID_DATE'],
    ['1976-11-24T00:00:00Z', 'OK'],
    ['1976-11-23T23:59:59Z', 'INVALID_DATE'],
    ['2126-11-24T12:00:00Z', 'INVALID_DATE'],
  ])('fifty years around 2026-11-24: %s is %s', (at, status) => {
    const answer = hours.checkTimeLegal({ phoneNumber: '2125550100', now, at: instant(at) })
    expect(answer.status).toBe(status)
  })

  test.each([[Number.NaN], [Number.POSITIVE_INFINITY], [9e15]])('%d is no date', (at) => {
    expect(hours.checkTimeLegal({ phoneNumber: '2125550100', now, at }).status).toBe('INVALID_DATE')
  })

  test('without a proposed time it is now', () => {
    const answer = hours.checkTimeLegal({ phoneNumber: '2125550100', now })
    expect(answer).toMatchObject({ status: 'OK', permitted: true, secondsLeft: 9 * 3600 })
    expect(answer).toMatchObject({ placeSource: 'area-code', opensAt: now })
  })

  test('a refused time is still OK, with the rule and the next opening', () => {
    const at = instant('2026-11-22T18:00:00Z')
    const answer = hours.checkTimeLegal({ phoneNumber: '2055550100', now, at })
    expect(answer).toMatchObject({ status: 'OK', permitted: false, secondsLeft: 0, message: null })
    expect(describeSaid(answer.says)).toContain('Ala. Admin. Code r. 770-X-5-.17')
    expect(formatInstant(answer.opensAt ?? 0)).toBe('2026-11-23T14:00:00Z')
  })

  test.each([
    ['270 is split between two zones', '2705550100', '2026-11-24T10:30:00-05:00', false],
    ['both zones of 270 are open', '2705550100', '2026-11-24T11:00:00-05:00', true],
    ['850 is split between two zones', '8505550100', '2026-11-24T08:30:00-05:00', false],
    ['both zones of 850 are open', '8505550100', '2026-11-24T09:00:00-05:00', true],
  ])('%s', (_name, phoneNumber, time, permitted) => {
    expect(hours.checkTimeLegal({ phoneNumber, now, at: instant(time) }).permitted).toBe(permitted)
  })
})

describe('a postal code', () => {
  const eightInNewYork = instant('2026-11-24T08:00:00-05:00')
  const ask = (more: { postalCode?: string }) =>
    hours.checkTimeLegal({ phoneNumber: '2125550100', now, at: eightInNewYork, ...more })

  test.each([
    ['none: the place of the number', {}, true, 'area-code'],
    ['known: its place alone', { postalCode: '94105' }, false, 'postal-code'],
    ['unknown: the place of the number', { postalCode: '99999' }, true, 'area-code'],
    ['empty: the place of the number', { postalCode: '' }, true, 'area-code'],
  ])('%s', (_name, more, permitted, placeSource) => {
    expect(ask(more)).toMatchObject({ permitted, placeSource })
  })

  test('decides a number of two zones', () => {
    const question = { phoneNumber: '8505550100', now, postalCode: '32501' }
    const at = (text: string) => hours.checkTimeLegal({ ...question, at: instant(text) }).permitted
    expect(at('2026-11-24T08:30:00-06:00')).toBe(true)
    expect(at('2026-11-24T19:30:00-06:00')).toBe(true)
  })

  test('frees from an emergency elsewhere in the state', () => {
    const service = callingHours({
      emergencies: [{ region: 'NY', from: 0, postalPrefixes: ['142'], name: 'Snow' }],
    })
    const permitted = (more: { postalCode?: string }) =>
      service.checkTimeLegal({ phoneNumber: '2125550100', now, ...more }).permitted
    expect(permitted({})).toBe(false)
    expect(permitted({ postalCode: '14201' })).toBe(false)
    expect(permitted({ postalCode: '10001' })).toBe(true)
  })
})
