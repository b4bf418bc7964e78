/** Runs the case tables of `test/cases`: rows that can be checked with a calendar and a clock. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import { formatDay, formatInstant, parseDay, parseInstant } from '../../src/domain/time/dates.js'
import { toLocalTime } from '../../src/domain/time/time-zones.js'
import {
  type DayWindow,
  formatWeek,
  type ProjectHours,
  parseDayWindow,
} from '../../src/domain/time/week-windows.js'
import { describeSaid } from '../../src/domain/words/words.js'
import { CallingHours } from '../../src/service/calling-hours/calling-hours.js'
import { useTempFolder } from '../data/temp-folder.js'
import { candidate, fakeNumberingPlan, fakePostalCodes } from '../support/fake-numbering.js'
import { type TableRow, tableRows } from '../support/markdown-table.js'

const rulesFile = 'config/calling-rules.yaml'
const rules = loadCallingRules(rulesFile)
const hours = new CallingHours({
  rules,
  numberingPlan: fakeNumberingPlan({}),
  postalCodes: fakePostalCodes({}),
  proclaimedDays: [],
  emergencies: [],
})

/** A cell; empty where the table has no such column. */
function cell(row: TableRow, column: string): string {
  return row.get(column) ?? ''
}

function instant(text: string): number {
  const at = parseInstant(text)
  if (at === undefined) throw new Error(`the table holds '${text}', which is no instant`)
  return at
}

function day(text: string): number {
  const found = parseDay(text)
  if (found === undefined) throw new Error(`the table holds '${text}', which is not a date`)
  return found
}

function windowOf(text: string): DayWindow | undefined {
  const window = parseDayWindow(text)
  if (!window && text !== 'none') throw new Error(`the table holds '${text}' as a window`)
  return window
}

const projectPattern =
  /^([A-Z]{2}) (\S+) \/ (\S+) \/ (\S+)(?: from (\S+))?(?: until (\S+))?(?: within law)?$/

function projectHours(text: string): ProjectHours[] {
  if (text === '') return []
  const match = projectPattern.exec(text)
  if (!match) throw new Error(`the table holds '${text}' as project hours`)
  const [, region = '', monFri = '', sat = '', sun = '', from, until] = match
  return [
    {
      region,
      monFri: windowOf(monFri),
      sat: windowOf(sat),
      sun: windowOf(sun),
      effectiveFrom: from === undefined ? undefined : day(from),
      effectiveUntil: until === undefined ? undefined : day(until),
    },
  ]
}

const callRows = tableRows('test/cases/calling-hours.md').map((row) => ({
  row,
  places: cell(row, 'Where').split(' + '),
  local: cell(row, 'Local time'),
  title: [...row.values()].filter((text) => text !== '').join(', '),
}))

describe('calls of the table', () => {
  test('are all there', () => {
    expect(callRows.length).toBeGreaterThan(100)
  })

  test.each(callRows)('$title', ({ row, places, local }) => {
    const at = instant(local)
    const answer = hours.windows.evaluate(places.map(candidate), at, {
      overrides: projectHours(cell(row, 'Project hours')),
      recordedVoice: cell(row, 'Voice') === 'recorded',
      requireStatutoryWindow: cell(row, 'Project hours').endsWith('within law'),
    })
    const opens = cell(row, 'Permitted') === 'yes' ? local : cell(row, 'Opens')
    expect({
      permitted: answer.permitted ? 'yes' : 'no',
      secondsLeft: answer.secondsLeft,
      opens: answer.opensAt && formatInstant(answer.opensAt),
      closedBy: answer.restrictedDay ?? '',
    }).toEqual({
      permitted: cell(row, 'Permitted'),
      secondsLeft: Number(cell(row, 'Seconds left')),
      opens: opens === '' ? undefined : formatInstant(instant(opens)),
      closedBy: cell(row, 'Closed by'),
    })
    expect(describeSaid(answer.says)).toContain(cell(row, 'Answer shows'))
  })

  test.each(callRows)('$local is the local time of $places', ({ places, local }) => {
    const reading = toLocalTime(candidate(places[0] ?? '').zone, instant(local))
    const wall = formatInstant(reading.day * 86_400_000 + reading.secondOfDay * 1000)
    expect(wall.slice(0, 19).replace('T', ' ')).toBe(local.slice(0, 19))
  })
})

const regionRows = tableRows('test/cases/region-windows.md').map((row) => ({
  region: cell(row, 'Region'),
  zone: cell(row, 'Zone'),
  offset: cell(row, 'UTC'),
  monFri: windowOf(cell(row, 'Mon-Fri')),
  sat: windowOf(cell(row, 'Sat')),
  sun: windowOf(cell(row, 'Sun')),
}))

describe('the window of every region', () => {
  test('the table has every region of the rules', () => {
    expect(regionRows.map(({ region }) => region)).toEqual(rules.regions.map(({ code }) => code))
  })

  const days = [
    { date: '2026-11-21', weekday: 'sat' },
    { date: '2026-11-22', weekday: 'sun' },
    { date: '2026-11-23', weekday: 'monFri' },
  ] as const
  const rows = regionRows.flatMap((row) => days.map((one) => ({ ...row, ...one })))

  test.each(rows)('$region on $date', ({ region, zone, offset, date, weekday, ...week }) => {
    const midnight = instant(`${date}T00:00:00${offset}`)
    const judge = (second: number) =>
      hours.windows.evaluate([{ region, zone }], midnight + second * 1000, {
        overrides: [],
        recordedVoice: false,
        requireStatutoryWindow: false,
      })
    const window = week[weekday]
    if (!window) {
      const quarters = Array.from({ length: 24 * 4 }, (_, quarter) => quarter * 900)
      expect(quarters.filter((second) => judge(second).permitted)).toEqual([])
      return
    }
    const { start, end } = window
    const answers = [start - 1, start, end - 1, end].map(judge)
    expect(answers.map(({ permitted, secondsLeft }) => [permitted, secondsLeft])).toEqual([
      [false, 0],
      [true, end - start],
      [true, 1],
      [false, 0],
    ])
  })

  test.each(regionRows)('$region in a scrub row', ({ region, zone, offset, ...week }) => {
    const question = { candidates: [{ region, zone }], at: instant(`2026-11-23T12:00:00${offset}`) }
    expect(hours.formatCallingWindow(question)).toBe(formatWeek(week))
  })
})

describe('restricted days from 2026-11-20 to 2027-12-31', () => {
  const folder = useTempFolder()
  const table = tableRows('test/cases/restricted-days.md').flatMap((row) =>
    cell(row, 'Days')
      .split(', ')
      .map((date) => ({
        region: cell(row, 'Region'),
        date: `${cell(row, 'Month')}-${date}`,
        certain: cell(row, 'Certainty') === 'certain',
      })),
  )

  function closedDays(from: typeof rules, region: string): string[] {
    return [2026, 2027]
      .flatMap((year) => [...from.listRestrictedDays(region, year).keys()].map(formatDay))
      .filter((date) => date >= '2026-11-20')
      .sort()
  }

  test.each(rules.regions)('$code', ({ code }) => {
    const expected = table.filter(({ region }) => region === code).map(({ date }) => date)
    expect(closedDays(rules, code)).toEqual(expected.sort())
  })

  test('without the doubtful days only the certain ones are left', () => {
    const text = readFileSync(rulesFile, 'utf8').replace(/(Holidays): ban/g, '$1: allow')
    const certainOnly = loadCallingRules(folder.write('rules.yaml', text))
    const closed = rules.regions.flatMap(({ code }) =>
      closedDays(certainOnly, code).map((date) => `${code} ${date}`),
    )
    const expected = table
      .filter(({ certain }) => certain)
      .map(({ region, date }) => `${region} ${date}`)
    expect(closed.sort()).toEqual(expected.sort())
  })
})
