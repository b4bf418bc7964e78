/** Rows of the calling rules that hold only on some days, and what a finding says of the row that decided. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import { formatDay, parseDay } from '../../src/domain/time/dates.js'
import { toLocalTime } from '../../src/domain/time/time-zones.js'
import { formatWeek } from '../../src/domain/time/week-windows.js'
import { describeSaid } from '../../src/domain/words/words.js'
import { DataFileError } from '../../src/errors.js'
import { computeRegionalExpiry } from '../../src/law/records/ebr-expiry.js'
import type { EbrRecord } from '../../src/law/records/ebr-record.js'
import { aJudged, judgeNumberRules, readAll } from '../support/own-facts.js'
import { hoursOver, planWith, testScrub } from '../support/scrub-parts.js'
import { instant, testClock } from '../support/test-clock.js'

const folder = mkdtempSync(join(tmpdir(), 'callgate-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Rows = Record<string, Record<string, Record<string, unknown>>>

function rulesWith(change: (tree: Rows) => void) {
  const tree = parse(readFileSync('config/calling-rules.yaml', 'utf8'))
  change(tree)
  const file = join(folder, 'rules.yaml')
  writeFileSync(file, JSON.stringify(tree))
  return loadCallingRules(file)
}

const span = { from: '2027-02-01', until: '2027-02-28' }
const rules = rulesWith((tree) => {
  Object.assign(tree.regions?.AZ?.wirelessProhibited ?? {}, span)
  Object.assign(tree.regions?.KY?.automated ?? {}, span)
  const identity = { key: 'identity', callKinds: ['ai'], confidence: 'secondary' }
  Object.assign(tree, { disclosures: [{ ...identity, ...span, citation: 'of February' }] })
  const [row] = (tree.regions?.PA?.history ?? []) as unknown as Record<string, unknown>[]
  Object.assign(row ?? {}, { citation: '73 P.S. 2245.2 of 1996' })
  const months = { S: 6, I: 1, from: '2027-02-01', citation: 'new months' }
  Object.assign(tree.regions?.OH ?? {}, { ebr: months })
  const wisconsin = tree.regions?.WI?.ebr
  Object.assign(wisconsin ?? {}, { citation: 'Wis. Stat. 100.52' })
})

function day(text: string): number {
  return parseDay(text) ?? Number.NaN
}

const plainHours = { overrides: [], recordedVoice: false, requireStatutoryWindow: false }

describe('a row with dates holds on its first and its last local day and not beside them', () => {
  test.each([
    ['2027-01-31', false],
    ['2027-02-01', true],
    ['2027-02-28', true],
    ['2027-03-01', false],
  ])('%s: %s', (date, holds) => {
    expect(rules.findWirelessBan('AZ', () => day(date)) !== undefined).toBe(holds)
    const week = rules.findRecordedHours('KY', day(date))
    expect(week && formatWeek(week.week)).toBe(
      holds ? '10:00-21:00;10:00-21:00;10:00-21:00' : undefined,
    )
  })

  // Midnight in New York is 05:00 UTC.
  test.each([
    ['2027-02-01T04:59:59Z', 'NY America/New_York', false],
    ['2027-02-01T05:00:00Z', 'NY America/New_York', true],
    ['2027-03-01T04:59:59Z', 'NY America/New_York', true],
    ['2027-03-01T05:00:00Z', 'NY America/New_York', false],
    // One of two places is enough.
    ['2027-02-01T04:59:59Z', 'NY America/New_York + GU Pacific/Guam', true],
    // Where the place is not known, the day of Guam or of American Samoa is enough.
    ['2027-01-31T11:59:59Z', '', false],
    ['2027-01-31T14:00:00Z', '', true],
    ['2027-03-01T10:59:59Z', '', true],
    ['2027-03-01T12:00:00Z', '', false],
  ])('an AI agent at %s in %s must say who it is: %s', (at, where, isSaid) => {
    const places = where.split(' + ').flatMap((place) => {
      const [region = '', zone = ''] = place.split(' ')
      return place === '' ? [] : [{ region, day: toLocalTime(zone, instant(at)).day }]
    })
    const said = rules.listDisclosures({ callKind: 'ai' }, instant(at), () => places)
    expect(said).toEqual(isSaid ? [{ key: 'identity', rules: ['of February'] }] : [])
  })

  test.each([
    ['disclosures.0.until', (tree: Rows) => tree.disclosures?.[0]],
    ['regions.AZ.wirelessProhibited.until', (tree: Rows) => tree.regions?.AZ?.wirelessProhibited],
    ['regions.KY.automated.until', (tree: Rows) => tree.regions?.KY?.automated],
  ] as const)('%s before from is refused', (field, find) => {
    const reversed = { from: span.until, until: span.from }
    const load = () => rulesWith((tree) => Object.assign(find(tree) as object, reversed))
    expect(load).toThrow(DataFileError)
    expect(load).toThrow(`${field} '2027-02-01': must not be before from`)
  })
})

describe('rows follow each other', () => {
  const tree = (change: (tree: Rows) => void) => rulesWith(change)
  const ebr = [
    { S: 12, I: 2, until: '2026-12-31', citation: 'of 2026' },
    { S: 6, I: 0, from: '2027-02-01', citation: 'of 2027' },
  ]
  const law = tree(({ regions }) => Object.assign(regions?.NY ?? {}, { ebr }))

  test.each([
    ['2020-01-01', { S: 12, I: 2, basis: 'state', citation: 'of 2026' }],
    ['2026-12-31', { S: 12, I: 2, basis: 'state', citation: 'of 2026' }],
    // In between, the law of the country holds.
    ['2027-01-01', { S: 18, I: 3, basis: 'federal' }],
    ['2027-01-31', { S: 18, I: 3, basis: 'federal' }],
    ['2027-02-01', { S: 6, I: 0, basis: 'state', citation: 'of 2027' }],
  ])('months of a relationship on %s', (date, expected) => {
    expect(law.findEbrRule('NY', day(date))).toMatchObject(expected)
  })

  test.each([
    // Of a sale by the rows of its day, of the days between, and of 2027.
    ['2026-01-15', '2026-12-01', '2027-02-01'],
    ['2025-11-01', '2026-10-31', '2026-11-01'],
    ['2026-09-15', '2026-12-01', '2027-03-15'],
    ['2025-08-15', '2027-01-10', '2027-02-01'],
    ['2026-09-15', '2027-02-01', '2027-03-15'],
    ['2026-01-15', '2027-02-01', '2026-07-15'],
  ])('a sale of %s ends, as seen on %s, on %s', (contact, seen, expected) => {
    const terms = { type: 'S', contactOn: day(contact), obligationEndsOn: undefined } as const
    const expiry = computeRegionalExpiry(terms, { region: 'NY', day: day(seen) }, law)
    expect(formatDay(expiry)).toBe(expected)
  })

  test('a country without a row in force honors nothing', () => {
    const none = tree(({ baselines }) => Object.assign(baselines?.US?.ebr ?? {}, span))
    expect(none.findEbrRule('FL', day('2027-01-31'))).toMatchObject({ S: 0, I: 0, basis: 'none' })
    expect(none.findEbrRule('FL', day('2027-02-28'))).toMatchObject({ S: 18, I: 3 })
  })

  test('of a country, hours too', () => {
    const nights = { monFri: '00:00-24:00', sat: 'none', sun: 'none' }
    const history = [{ until: '2026-12-31', hours: nights, citation: 'of 2026' }]
    const hours = tree(({ baselines }) =>
      Object.assign(baselines?.US ?? {}, { history, effectiveFrom: '2027-01-01' }),
    )
    expect(hours.findHours('GA', day('2026-12-31'))).toMatchObject({ citation: 'of 2026' })
    const later = hours.findHours('GA', day('2027-01-01'))
    expect(later && formatWeek(later.week)).toBe('8:00-21:00;8:00-21:00;8:00-21:00')
  })

  test('of recorded voices, bans and purposes', () => {
    const changed = tree(({ regions, purposes }) => {
      const { automated, wirelessProhibited } = (regions?.AZ ?? {}) as Record<string, object>
      const later = { ...automated, from: '2027-02-01', citation: 'new' }
      Object.assign(regions?.AZ ?? {}, {
        automated: [{ ...automated, until: '2027-01-31' }, later],
        wirelessProhibited: [{ ...wirelessProhibited, ...span, citation: 'ban' }],
      })
      Object.assign(purposes?.political ?? {}, { until: '2027-01-31' })
      const ontario = purposes?.['debt-collection']?.regions as Record<string, object> | undefined
      Object.assign(ontario?.ON ?? {}, { from: '2027-02-01' })
    })
    const cited = (date: string) => changed.findRecordedHours('AZ', day(date))?.citation
    expect([cited('2027-01-31'), cited('2027-02-01')]).toEqual([
      expect.stringMatching(/^A\.R/),
      'new',
    ])
    expect(changed.findWirelessBan('AZ', () => day('2027-02-28'))).toBe('ban')
    expect(changed.findWirelessBan('AZ', () => day('2027-03-01'))).toBeUndefined()
    const hoursOf = (purpose: 'political' | 'debt-collection', region: string, date: string) =>
      changed.purposes.findHours(purpose, { region, day: day(date) })?.citation
    expect(hoursOf('political', 'FL', '2027-01-31')).toContain('house rule')
    expect(hoursOf('political', 'FL', '2027-02-01')).toBeUndefined()
    expect(hoursOf('debt-collection', 'ON', '2027-01-31')).toContain('U.S.C.')
    expect(hoursOf('debt-collection', 'ON', '2027-02-01')).toContain('R.R.O.')
  })

  test('the law on emergencies is that of the day', () => {
    const changed = tree(({ regions }) =>
      Object.assign(regions?.LA?.emergency ?? {}, { from: '2027-02-01' }),
    )
    const emergencies = [{ region: 'LA', from: instant('2027-01-01T00:00:00Z'), name: 'Flood' }]
    const places = [{ region: 'LA', zone: 'America/Chicago' }]
    const hours = hoursOver(plan('LA', 'America/Chicago'), { rules: changed, emergencies })
    const ruleAt = (at: string) =>
      describeSaid(hours.windows.evaluate(places, instant(at), plainHours).says)
    // Midnight in Louisiana is 06:00 UTC.
    expect(ruleAt('2027-02-01T05:59:59Z')).toContain('emergency rule: closed by the operator')
    expect(ruleAt('2027-02-01T06:00:00Z')).toContain('emergency rule: La. R.S. 29:721')
  })

  test.each([
    [{ S: 1, I: 1, from: '2027-02-02', until: '2027-02-01' }, "ebr.until '2027-02-01': must not"],
    [[ebr[0], { S: 1, I: 1 }], 'ebr.1.from: must be after the last day of the row before it'],
    [[{ S: 1, I: 1 }, ebr[1]], "ebr.1.from '2027-02-01': must be after the last day of the row"],
    [[], 'ebr'],
    [{ S: 1, I: 200 }, "ebr.I '200': must be 0 to 120"],
    [[ebr[0], { S: 1, J: 1 }], 'ebr.1.J '],
    ['six months', "ebr 'six months': must be a mapping"],
  ])('%j is refused', (rows, message) => {
    const load = () => tree(({ regions }) => Object.assign(regions?.NY ?? {}, { ebr: rows }))
    expect(load).toThrow(`regions.NY.${message}`)
  })
})

const number = '6022530000'
const plan = (region: string, zone: string) =>
  planWith({
    [number]: {
      place: { country: 'US', source: 'prefix', candidates: [{ region, zone }] },
      lineClass: 'wireless',
    },
  })

function detailOf(
  [region = '', zone = '']: readonly string[],
  at: string,
  record?: Partial<EbrRecord>,
): string | undefined {
  const clock = testClock(at)
  const numberingPlan = plan(region, zone)
  const hours = hoursOver(numberingPlan, { rules })
  const records: Record<string, EbrRecord> = record
    ? { [`main ${number}`]: { ...sale, ...record } }
    : {}
  const { createReader } = testScrub({ clock, plan: numberingPlan, hours, records })
  const own = readAll(createReader(), { accountId: 'main', number: toPhoneNumber(number) })
  if (own instanceof Promise) throw new Error('nothing has to be waited for')
  const now = clock.now()
  const about = aJudged({ law: rules, windows: hours.windows, own, now, at: now })
  expect(judgeNumberRules(about)).toHaveLength(4)
  const { row } = about.derived
  return row && `${row.row.letter}: ${describeSaid(row.row.says)}`
}

const sale = {
  type: 'S',
  contactOn: day('2026-06-15'),
  storedSeq: 1,
  liftsOptOut: true,
} as EbrRecord
const phoenix = ['AZ', 'America/Phoenix']

describe('a verdict names the row that decided', () => {
  test('of a ban on calls to mobile numbers, from its first local day on', () => {
    // Midnight in Arizona is 07:00 UTC.
    expect(detailOf(phoenix, '2027-02-01T07:00:00Z')).toBe('L: ban: AZ, A.R.S. 44-1278(B)(3)')
    expect(detailOf(phoenix, '2027-02-01T06:59:59Z')).toBe('W: ')
  })

  test.each([
    [
      ['NY', 'America/New_York'],
      'G: the sale record on file exempts until 2027-12-15: NY, 47 CFR 64.1200(f)(5); 16 CFR 310.2 (definition)',
    ],
    [['WI', 'America/Chicago'], 'W: the sale record on file never exempts: WI, Wis. Stat. 100.52'],
    [
      ['LA', 'America/Chicago'],
      /^L: ban: LA, .*; the sale record on file no longer exempts since 2026-12-15: LA, /,
    ],
  ])('of how long a sale exempts in %s', (place, expected) => {
    expect(detailOf(place, '2027-01-04T18:00:00Z', {})).toEqual(
      typeof expected === 'string' ? expected : expect.stringMatching(expected),
    )
  })

  test('of how long a sale exempts on the day of the call', () => {
    const ohio = ['OH', 'America/New_York']
    const endsBy = 'OH, new months'
    expect(detailOf(ohio, '2027-01-31T18:00:00Z', {})).toBe(
      `G: the sale record on file exempts until 2027-02-01: ${endsBy}`,
    )
    expect(detailOf(ohio, '2027-02-01T18:00:00Z', {})).toBe(
      `W: the sale record on file no longer exempts since 2026-12-15: ${endsBy}`,
    )
  })

  test('of hours that no longer are in force', () => {
    const places = [{ region: 'PA', zone: 'America/New_York' }]
    const hours = hoursOver(plan('PA', 'America/New_York'), { rules })
    const ruleAt = (at: string) =>
      describeSaid(hours.windows.evaluate(places, instant(at), plainHours).says)
    expect(ruleAt('2026-10-16T15:00:00Z')).toBe(
      'Pennsylvania (PA), America/New_York, Fri 2026-10-16; calls 08:00-21:00; ' +
        'state rule: 73 P.S. 2245.2 of 1996 (until 2026-10-17)',
    )
    expect(ruleAt('2026-10-19T15:00:00Z')).not.toContain('of 1996')
  })
})
