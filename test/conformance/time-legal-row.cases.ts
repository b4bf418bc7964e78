import { expect } from 'vitest'
import { isInt32, isOneOf, isText, isTextOrNull, isTrueOrFalse } from './support/rules.js'
import { run } from './support/run.js'
import {
  fieldTable,
  type Needs,
  type Row,
  section,
  sentence,
  sentences,
} from './support/sentence.js'
import { timeLegalRow, timeLegalRows } from './support/time-legal.js'
import { instantAt } from './support/times.js'

const statuses = [
  'OK',
  'INVALID_PHONE',
  'INVALID_PROJECT',
  'INVALID_DATE',
  'TOLL_FREE',
  'UNKNOWN_NXX',
]

const phone = '2125550100'

/** A row of every status that can be had of any server. */
function oneOfEach(): Promise<readonly Row[]> {
  return timeLegalRows([
    { PhoneNumber: run.facts.places?.['us-baseline']?.phone ?? phone },
    { PhoneNumber: '12' },
    { PhoneNumber: phone, DNCProjId: 'NO-SUCH-CODE' },
    { PhoneNumber: phone, CallProposedDateTimeInUTC: '1900-01-01T00:00:00Z' },
    { PhoneNumber: '8005550100' },
    { PhoneNumber: run.facts.unknownPrefix ?? phone },
  ])
}

section('time-legal-row', () => {
  fieldTable(oneOfEach, [
    ['PhoneNumber', 'string', isText],
    ['IsCallPermitted', 'boolean', isTrueOrFalse],
    ['SecondsInCallWindow', 'integer of 32 bits', isInt32],
    ['Status', `one of ${statuses.join(', ')}`, isOneOf(statuses)],
    ['StatusMessage', 'string or null', isTextOrNull],
    [
      'StatusMessage',
      'null when Status is OK',
      (text, row) => row.Status !== 'OK' || text === null,
    ],
    [
      'StatusMessage',
      'explains any other Status to a person',
      (text, row) => row.Status === 'OK' || (isText(text) && text.length > 0),
    ],
    [
      'IsCallPermitted',
      'false for every Status but OK',
      (permitted, row) => row.Status === 'OK' || permitted === false,
    ],
  ])

  sentence('PhoneNumber: the 10-digit number of the row', async () => {
    expect((await timeLegalRow({ PhoneNumber: phone })).PhoneNumber).toBe(phone)
  })

  sentences(
    [
      ['inside a legal window in the called party’s local time', '12:00:00', true],
      ['before the window', '05:00:00', false],
      ['after the window', '23:00:00', false],
    ] as const,
    ([what, , permitted]) => `IsCallPermitted: ${permitted} ${what}`,
    async ([, time, permitted], needs) => {
      const row = await baselineRow(needs, time)
      expect(row).toMatchObject({ Status: 'OK', IsCallPermitted: permitted })
    },
  )

  sentences(
    [
      ['20:00:00', 3600],
      ['12:34:56', 8 * 3600 + 25 * 60 + 4],
      ['20:59:59', 1],
      ['08:00:00', 13 * 3600],
    ] as const,
    ([time, seconds]) =>
      `SecondsInCallWindow: ${seconds} seconds are left of a day until 21:00 at ${time}`,
    async ([time, seconds], needs) => {
      expect(await baselineRow(needs, time)).toMatchObject({
        IsCallPermitted: true,
        SecondsInCallWindow: seconds,
      })
    },
  )
})

async function baselineRow(needs: Needs, time: string): Promise<Row> {
  const place = needs(run.facts.places?.['us-baseline'], 'facts.places.us-baseline')
  const at = instantAt(place.zone, '2026-03-10', time)
  return await timeLegalRow({ PhoneNumber: place.phone, CallProposedDateTimeInUTC: at })
}
