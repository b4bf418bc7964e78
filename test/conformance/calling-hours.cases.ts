import { expect } from 'vitest'
import { ask } from './support/client.js'
import type { PlaceName } from './support/facts.js'
import { isText } from './support/rules.js'
import { run } from './support/run.js'
import { asRow, asRows, type Needs, section, sentence, sentences } from './support/sentence.js'
import {
  askTimeLegal,
  flat,
  timeLegalPath,
  timeLegalRow,
  timeLegalRows,
} from './support/time-legal.js'
import { instantAt } from './support/times.js'

const phone = '2125550100'
const item = { PhoneNumber: phone }

/** A Tuesday, Saturday and Sunday that are no holidays anywhere. */
const days = { weekday: '2026-03-10', Saturday: '2026-03-14', Sunday: '2026-03-15' } as const

type Window = readonly [from: string, until: string] | 'closed'

const windows: readonly (readonly [PlaceName, string, keyof typeof days, Window])[] = [
  [
    'eight-to-eight-no-sunday',
    'a state with 8 AM to 8 PM and no Sunday',
    'weekday',
    ['08:00:00', '20:00:00'],
  ],
  [
    'eight-to-eight-no-sunday',
    'a state with 8 AM to 8 PM and no Sunday',
    'Saturday',
    ['08:00:00', '20:00:00'],
  ],
  ['eight-to-eight-no-sunday', 'a state with 8 AM to 8 PM and no Sunday', 'Sunday', 'closed'],
  ['nine-to-nine', 'a state with 9 AM to 9 PM on all 7 days', 'weekday', ['09:00:00', '21:00:00']],
  ['nine-to-nine', 'a state with 9 AM to 9 PM on all 7 days', 'Saturday', ['09:00:00', '21:00:00']],
  ['nine-to-nine', 'a state with 9 AM to 9 PM on all 7 days', 'Sunday', ['09:00:00', '21:00:00']],
  ['eight-to-eight', 'a state with 8 AM to 8 PM', 'weekday', ['08:00:00', '20:00:00']],
  ['us-baseline', 'the US baseline of 8 AM to 9 PM', 'weekday', ['08:00:00', '21:00:00']],
  ['us-baseline', 'the US baseline of 8 AM to 9 PM', 'Saturday', ['08:00:00', '21:00:00']],
  ['us-baseline', 'the US baseline of 8 AM to 9 PM', 'Sunday', ['08:00:00', '21:00:00']],
  ['canada', 'the Canadian 9 AM to 9:30 PM', 'weekday', ['09:00:00', '21:30:00']],
  ['canada', 'the Canadian 10 AM to 6 PM', 'Saturday', ['10:00:00', '18:00:00']],
  ['canada', 'the Canadian 10 AM to 6 PM', 'Sunday', ['10:00:00', '18:00:00']],
]

/** Toll-free codes in service and those that are reserved. */
const tollFree = [
  '800',
  '833',
  '844',
  '855',
  '866',
  '877',
  '888',
  '822',
  '880',
  '881',
  '882',
  '883',
  '884',
  '886',
  '887',
  '889',
]

section('calling-hours', () => {
  sentences(
    [
      'application/json',
      'text/json',
      'application/vnd.example+json',
      'application/json; charset=utf-8',
    ],
    (type) => `content type ${type} is accepted`,
    async (type) => {
      const reply = await askTimeLegal([item], { headers: { 'content-type': type } })
      expect(reply.status).toBe(200)
    },
  )

  sentence(
    'response 200 is a JSON array, of rows or of objects with a Response array',
    async () => {
      const reply = await askTimeLegal([item])
      expect(reply.headers.get('content-type')).toMatch(/json/)
      expect(asRows(reply.json()).every((row) => 'Status' in row || 'Response' in row)).toBe(true)
    },
  )

  sentences(
    [1, 2, 17],
    (count) => `response 200 has exactly one row per input item: ${count}`,
    async (count) => {
      expect(await timeLegalRows(Array.from({ length: count }, () => item))).toHaveLength(count)
    },
  )

  sentence('rows answer the items in their order', async () => {
    const items = ['12', phone, '8005550100', phone].map((one) => ({ PhoneNumber: one }))
    const rows = await timeLegalRows(items)
    expect(rows.slice(1).map((row) => row.PhoneNumber)).toEqual([phone, '8005550100', phone])
    expect(rows[0]).toMatchObject({ Status: 'INVALID_PHONE' })
  })

  sentences(
    [
      ['a missing body', ''],
      ['an empty object', '{}'],
      ['an empty list', '{"IsTimeLegalToCall":[]}'],
      ['null in place of the list', '{"IsTimeLegalToCall":null}'],
      ['text in place of the list', '{"IsTimeLegalToCall":"2125550100"}'],
      ['malformed JSON', '{"IsTimeLegalToCall":['],
    ] as const,
    ([what]) => `${what} is a batch-level error: 400 with ReasonPhrase`,
    async ([, body]) => {
      const headers = { 'content-type': 'application/json' }
      const reply = await ask({ path: timeLegalPath, method: 'POST', body, headers })
      expect(reply.status).toBe(400)
      expect(isText(asRow(reply.json()).ReasonPhrase)).toBe(true)
    },
  )

  sentences(
    [null, 'x'.repeat(44)],
    (key) => `response 401 has ReasonPhrase: ${key === null ? 'no key' : 'unknown key'}`,
    async (key) => {
      const reply = await askTimeLegal([item], { key })
      expect(reply.status).toBe(401)
      expect(isText(asRow(reply.json()).ReasonPhrase)).toBe(true)
    },
  )

  sentences(
    windows,
    ([, what, day, window]) =>
      `${what}: ${day} is ${window === 'closed' ? 'closed all day' : `open from ${window[0]} until ${window[1]}`}`,
    async ([place, , day, window], needs) => {
      if (window === 'closed') await expectClosed(needs, place, days[day])
      else await expectWindow(needs, { place, day: days[day], window })
    },
  )

  sentence(
    'hours are those of the called party’s local time in winter and summer',
    async (needs) => {
      for (const day of ['2026-01-13', '2026-07-14']) {
        await expectWindow(needs, { place: 'us-baseline', day, window: ['08:00:00', '21:00:00'] })
      }
    },
  )

  sentence(
    'a project-level override comes before state law and federal baseline',
    async (needs) => {
      const project = needs(run.facts.project, 'facts.project')
      const { place, from, until } = needs(project.hours, 'facts.project.hours')
      await expectWindow(needs, {
        place,
        day: days.weekday,
        window: [from, until],
        more: { DNCProjId: project.code },
      })
    },
  )

  sentence('without the project its override does not count', async (needs) => {
    const { place, from } = needs(run.facts.project?.hours, 'facts.project.hours')
    const { phone: number, zone } = needs(run.facts.places?.[place], `facts.places.${place}`)
    const at = Date.parse(instantAt(zone, days.weekday, from)) - 1000
    const row = await timeLegalRow({
      PhoneNumber: number,
      CallProposedDateTimeInUTC: new Date(at).toISOString(),
    })
    expect(row).toMatchObject({ Status: 'OK', IsCallPermitted: true })
  })

  sentences(
    [
      '',
      ' ',
      '212555010',
      '21255501000',
      '12125550100',
      '+12125550100',
      '212-555-0100',
      '(212) 555-0100',
      '212555010x',
      'abcdefghij',
      '٢١٢٥٥٥٠١٠٠',
      '212555010O',
    ],
    (text) => `INVALID_PHONE: '${text}' is not 10 digits or not numeric`,
    async (text) => {
      expect(await timeLegalRow({ PhoneNumber: text })).toMatchObject({
        IsCallPermitted: false,
        Status: 'INVALID_PHONE',
      })
    },
  )

  sentence('INVALID_PROJECT: DNCProjId unknown', async () => {
    const row = await timeLegalRow({ ...item, DNCProjId: 'NO-SUCH-CODE' })
    expect(row).toMatchObject({ IsCallPermitted: false, Status: 'INVALID_PROJECT' })
  })

  sentence('INVALID_DATE: more than 50 years from today', async () => {
    const row = await timeLegalRow({ ...item, CallProposedDateTimeInUTC: '2150-01-01T00:00:00Z' })
    expect(row).toMatchObject({ IsCallPermitted: false, Status: 'INVALID_DATE' })
  })

  sentences(
    tollFree,
    (code) => `TOLL_FREE: area code ${code}`,
    async (code) => {
      const row = await timeLegalRow({ PhoneNumber: `${code}5550100` })
      expect(row).toMatchObject({ IsCallPermitted: false, Status: 'TOLL_FREE' })
    },
  )

  sentence(
    'UNKNOWN_NXX: the prefix is not in the master list, and no timezone is guessed',
    async (needs) => {
      const unknown = needs(run.facts.unknownPrefix, 'facts.unknownPrefix')
      const row = await timeLegalRow({
        PhoneNumber: unknown,
        CallProposedDateTimeInUTC: '2026-03-10T18:00:00Z',
      })
      expect(row).toMatchObject({ IsCallPermitted: false, Status: 'UNKNOWN_NXX' })
    },
  )

  sentence('a bad row does not fail the batch', async () => {
    const reply = await askTimeLegal([item, { PhoneNumber: '1' }, item, {}])
    expect(reply.status).toBe(200)
    const found = flat(reply.json()).map(({ Status }) => Status)
    expect(found).toHaveLength(4)
    expect(found.map((status) => status === 'INVALID_PHONE')).toEqual([false, true, false, true])
  })
})

interface OpenHours {
  readonly place: PlaceName
  readonly day: string
  readonly window: readonly [from: string, until: string]
  readonly more?: { readonly DNCProjId: string }
}

/** The first and last second inside, and those just outside. */
async function expectWindow(needs: Needs, { place, day, window, more }: OpenHours): Promise<void> {
  const { phone: number, zone } = needs(run.facts.places?.[place], `facts.places.${place}`)
  const [opens, closes] = window.map((time) => Date.parse(instantAt(zone, day, time)))
  if (opens === undefined || closes === undefined) throw new TypeError('a window has two ends')
  const asked = [
    [opens - 1000, false, undefined],
    [opens, true, (closes - opens) / 1000],
    [closes - 1000, true, 1],
    [closes, false, undefined],
  ] as const
  const rows = await timeLegalRows(
    asked.map(([at]) => ({
      PhoneNumber: number,
      CallProposedDateTimeInUTC: new Date(at).toISOString(),
      ...more,
    })),
  )
  const wanted = asked.map(([, IsCallPermitted, seconds]) => ({
    IsCallPermitted,
    Status: 'OK',
    ...(seconds !== undefined && { SecondsInCallWindow: seconds }),
  }))
  expect(rows).toMatchObject(wanted)
}

async function expectClosed(needs: Needs, place: PlaceName, day: string): Promise<void> {
  const { phone: number, zone } = needs(run.facts.places?.[place], `facts.places.${place}`)
  const times = ['00:00:00', '07:59:59', '08:00:00', '12:00:00', '19:59:59', '23:59:59']
  const rows = await timeLegalRows(
    times.map((time) => ({
      PhoneNumber: number,
      CallProposedDateTimeInUTC: instantAt(zone, day, time),
    })),
  )
  expect(rows.map(({ Status, IsCallPermitted }) => `${Status} ${IsCallPermitted}`)).toEqual(
    times.map(() => 'OK false'),
  )
}
