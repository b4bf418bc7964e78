import { expect, test } from 'vitest'
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import { formatInstant, parseDay, parseInstant } from '../../src/domain/time/dates.js'
import type { ProjectHours } from '../../src/domain/time/week-windows.js'
import type { Emergency } from '../../src/law/hours/operator-closures.js'
import { CallingHours } from '../../src/service/calling-hours/calling-hours.js'
import { fakeNumberingPlan, fakePostalCodes } from '../support/fake-numbering.js'

const rules = loadCallingRules('config/calling-rules.yaml')
const now = parseInstant('2026-11-20T12:00:00Z') ?? 0

function callingHours(emergencies: readonly Emergency[] = []): CallingHours {
  return new CallingHours({
    rules,
    numberingPlan: fakeNumberingPlan({
      '205': ['AL America/Chicago'],
      '212': ['NY America/New_York'],
      '416': ['ON America/Toronto'],
      '850': ['FL America/New_York', 'FL America/Chicago'],
      '270': ['KY America/New_York', 'KY America/Chicago'],
    }),
    postalCodes: fakePostalCodes({}),
    proclaimedDays: [],
    emergencies,
  })
}

interface Asked {
  readonly number: string
  readonly day: string
  readonly days?: number
  readonly emergencies?: readonly Emergency[]
  readonly overrides?: readonly ProjectHours[]
}

/** `status from..until from..until`, instants without the year. */
function times({ number, day, days = 1, emergencies, overrides }: Asked): string {
  const from = parseDay(day) ?? 0
  const item = { phoneNumber: number, now, at: from * 86_400_000, overrides }
  const answer = callingHours(emergencies).listCallTimes(item, { from, count: days })
  const short = (at: number) => formatInstant(at).slice(5, 16)
  return [
    answer.status,
    ...answer.times.map((span) => `${short(span.from)}..${short(span.until)}`),
  ].join(' ')
}

const at = (text: string) => parseInstant(text) ?? Number.NaN
const floridaStorm: Emergency = {
  region: 'NY',
  from: at('2026-11-23T17:00:00Z'),
  until: at('2026-11-23T18:30:00Z'),
  name: 'storm',
}
const lunch: ProjectHours = {
  region: 'NY',
  monFri: { start: 12 * 3600, end: 13 * 3600 },
  sat: undefined,
  sun: undefined,
}

test.each<[string, Asked, string]>([
  ['a weekday', { number: '2125550100', day: '2026-11-23' }, 'OK 11-23T13:00..11-24T02:00'],
  ['no Sunday in Alabama', { number: '2055550100', day: '2026-11-22' }, 'OK'],
  [
    'Saturday to Monday in Alabama',
    { number: '2055550100', day: '2026-11-21', days: 3 },
    'OK 11-21T14:00..11-22T02:00 11-23T14:00..11-24T02:00',
  ],
  ['a restricted holiday', { number: '2055550100', day: '2026-12-25' }, 'OK'],
  [
    'a Canadian weekend',
    { number: '4165550100', day: '2026-11-21', days: 2 },
    'OK 11-21T15:00..11-21T23:00 11-22T15:00..11-22T23:00',
  ],
  [
    'two candidate zones: what both permit',
    { number: '8505550100', day: '2026-11-23' },
    'OK 11-23T14:00..11-24T01:00',
  ],
  [
    'two candidate zones with another law',
    { number: '2705550100', day: '2026-11-23' },
    'OK 11-23T16:00..11-24T02:00',
  ],
  [
    'an emergency in the middle of the day',
    { number: '2125550100', day: '2026-11-23', emergencies: [floridaStorm] },
    'OK 11-23T13:00..11-23T17:00 11-23T18:30..11-24T02:00',
  ],
  [
    'an emergency without an end',
    {
      number: '2125550100',
      day: '2026-11-23',
      emergencies: [{ ...floridaStorm, until: undefined }],
    },
    'OK 11-23T13:00..11-23T17:00',
  ],
  [
    'project hours',
    { number: '2125550100', day: '2026-11-23', days: 7, overrides: [lunch] },
    'OK 11-23T17:00..11-23T18:00 11-24T17:00..11-24T18:00 11-25T17:00..11-25T18:00 ' +
      '11-26T17:00..11-26T18:00 11-27T17:00..11-27T18:00',
  ],
  [
    'the day daylight saving ends',
    { number: '2125550100', day: '2026-10-31', days: 2 },
    'OK 10-31T12:00..11-01T01:00 11-01T13:00..11-02T02:00',
  ],
  ['toll-free', { number: '8005550100', day: '2026-11-23' }, 'TOLL_FREE'],
  ['an unknown prefix', { number: '9995550100', day: '2026-11-23' }, 'UNKNOWN_NXX'],
  ['no number', { number: '212', day: '2026-11-23' }, 'INVALID_PHONE'],
  ['sixty years ahead', { number: '2125550100', day: '2086-11-23' }, 'INVALID_DATE'],
])('%s', (_what, asked, expected) => {
  expect(times(asked)).toBe(expected)
})

test('agrees with IsTimeLegalToCall at every quarter of an hour of three weeks', () => {
  const hours = callingHours([floridaStorm])
  const from = parseDay('2026-11-20') ?? 0
  for (const number of ['2055550100', '2125550100', '4165550100', '8505550100', '2705550100']) {
    const item = { phoneNumber: number, now }
    const { times: spans } = hours.listCallTimes(item, { from: from - 1, count: 24 })
    for (let quarter = 0; quarter < 21 * 96; quarter += 1) {
      const instant = from * 86_400_000 + quarter * 900_000
      const { permitted } = hours.checkTimeLegal({ ...item, at: instant })
      const listed = spans.some((span) => span.from <= instant && instant < span.until)
      expect(`${number} ${formatInstant(instant)} ${listed}`).toBe(
        `${number} ${formatInstant(instant)} ${permitted}`,
      )
    }
  }
})
