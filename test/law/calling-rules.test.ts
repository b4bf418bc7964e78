import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import { formatDay, parseDay } from '../../src/domain/time/dates.js'
import { formatWeek } from '../../src/domain/time/week-windows.js'
import { DataFileError } from '../../src/errors.js'
import { useTempFolder } from '../data/temp-folder.js'

const shipped = 'config/calling-rules.yaml'
const rules = loadCallingRules(shipped)
const folder = useTempFolder()

function day(text: string): number {
  return parseDay(text) ?? Number.NaN
}

const noon = Date.UTC(2026, 10, 23, 17)
const newYork = { region: 'NY', day: day('2026-11-23') }
const toronto = { region: 'ON', day: day('2026-11-23') }

describe('the shipped rules', () => {
  test('say what an AI agent must say in the United States', () => {
    const inNewYork = rules
      .listDisclosures({ callKind: 'ai' }, noon, () => [newYork])
      .map(({ key }) => key)
    expect(inNewYork).toEqual(['identity', 'opt-out', 'callback-number'])
    expect(rules.listDisclosures({ callKind: 'ai' }, noon, () => [toronto])).toEqual([])
    expect(rules.listDisclosures({ callKind: 'manual' }, noon, () => [newYork])).toEqual([])
  })

  test('hold 69 regions of two countries', () => {
    const countries = rules.regions.map(({ country }) => country)
    expect(countries.filter((country) => country === 'US')).toHaveLength(56)
    expect(countries.filter((country) => country === 'CA')).toHaveLength(13)
  })

  test('cite a rule for every region', () => {
    expect(
      rules.regions.filter(
        ({ code, citation }) =>
          !citation ||
          !rules.findEbrRule(code, day('2026-11-20'))?.citation ||
          !rules.findHours(code, day('2026-11-20'))?.citation,
      ),
    ).toEqual([])
  })

  test.each([
    ['PA', '2026-10-17', '8:00-21:00;8:00-12:00;13:30-21:00'],
    ['PA', '2026-10-18', '9:00-19:00;9:00-12:00;0:00-0:00'],
    ['CT', '2023-09-30', '9:00-21:00;9:00-21:00;9:00-21:00'],
    ['CT', '2023-10-01', '9:00-20:00;9:00-20:00;9:00-20:00'],
    ['OK', '2022-10-31', '8:00-21:00;8:00-21:00;8:00-21:00'],
    ['AK', '2026-11-20', '8:00-21:00;8:00-21:00;8:00-21:00'],
    ['QC', '2026-11-20', '9:00-21:30;10:00-18:00;10:00-18:00'],
  ])('%s on %s: %s', (region, date, week) => {
    const hours = rules.findHours(region, day(date))
    expect(hours && formatWeek(hours.week)).toBe(week)
  })

  test.each([
    ['FL', undefined],
    ['WA', '0:00-0:00;0:00-0:00;0:00-0:00'],
    ['AR', '0:00-0:00;0:00-0:00;0:00-0:00'],
    ['MA', '0:00-0:00;0:00-0:00;0:00-0:00'],
    ['MS', '0:00-0:00;0:00-0:00;0:00-0:00'],
    ['AL', '8:00-20:00;8:00-20:00;0:00-0:00'],
    ['CA', '9:00-21:00;9:00-21:00;9:00-21:00'],
    ['GA', '8:00-21:00;8:00-21:00;8:00-21:00'],
    ['IL', '9:00-21:00;9:00-21:00;9:00-21:00'],
    ['IN', '9:00-20:00;9:00-20:00;9:00-20:00'],
    ['KY', '10:00-21:00;10:00-21:00;10:00-21:00'],
    ['ME', '9:00-17:00;0:00-0:00;0:00-0:00'],
    ['NE', '8:00-21:00;8:00-21:00;13:00-21:00'],
    ['NV', '9:00-20:00;9:00-20:00;9:00-20:00'],
    ['OK', '9:00-20:00;9:00-20:00;9:00-20:00'],
    ['SD', '9:00-21:00;0:00-0:00;0:00-0:00'],
    ['UT', '8:00-21:00;8:00-21:00;0:00-0:00'],
  ])('recorded voices in %s: %s', (region, week) => {
    const hours = rules.findRecordedHours(region, day('2026-11-20'))
    expect(hours && formatWeek(hours.week)).toBe(week)
  })

  test('recorded voices in Nebraska start at 13:00 on its legal holidays', () => {
    const hours = rules.findRecordedHours('NE', day('2026-11-26'))
    expect(hours && formatWeek(hours.week)).toBe('13:00-21:00;13:00-21:00;13:00-21:00')
  })

  test.each([
    ...[
      ['CA', 18, 1],
      ['CO', 18, 1],
      ['CT', 12, 3],
      ['IN', 0, 0],
      ['LA', 6, 3],
      ['MI', 12, 0],
      ['MS', 6, 3],
      ['MO', 6, 3],
      ['MT', 6, 3],
      ['NJ', 0, 0],
      ['NM', 12, 3],
      ['PA', 12, 3],
      ['TN', 12, 3],
      ['TX', 12, 3],
      ['WA', 12, 3],
      ['WI', 0, 0],
    ],
    ['FL', 18, 3],
    ['UT', 18, 3],
    ['PR', 18, 3],
    ['ON', 18, 6],
    ['BC', 18, 6],
  ] as const)('%s: a sale exempts %i months, an inquiry %i', (region, sale, inquiry) => {
    expect(rules.findEbrRule(region, day('2026-11-20'))).toMatchObject({ S: sale, I: inquiry })
  })

  test('only New Jersey counts the end date of an obligation', () => {
    const codes = rules.regions.map(({ code }) => code)
    expect(codes.filter((code) => rules.findEbrRule(code, 20_000)?.obligationExempts)).toEqual([
      'NJ',
    ])
  })

  test('five states restrict calls to mobile numbers, Texas under a condition', () => {
    const codes = rules.regions.map(({ code }) => code)
    expect(
      codes.filter((code) => rules.findWirelessBan(code, () => day('2026-11-20')) !== undefined),
    ).toEqual(['AZ', 'LA', 'NJ', 'TX', 'WY'])
  })

  test('give each country its own months for ranking', () => {
    const { US, CA } = rules.document.baselines
    expect([US.ebr, CA.ebr]).toMatchObject([[{ S: 18, I: 3 }], [{ S: 18, I: 6 }]])
  })

  test('know nothing of an unknown region, and allow nothing in it', () => {
    expect(rules.findRegion('ZZ')).toBeUndefined()
    expect(rules.findHours('ZZ', 20_000)).toBeUndefined()
    expect(rules.findEbrRule('ZZ', 20_000)).toBeUndefined()
    expect(rules.findWirelessBan('ZZ', () => 20_000)).toContain('ZZ')
  })
})

interface Tree {
  [key: string]: Tree
}

function pristine(): Tree {
  return parse(readFileSync(shipped, 'utf8')) as Tree
}

/** The message about the shipped file with values put in by path; `undefined` takes a field out. */
function complaint(changes: Record<string, unknown>): string {
  const tree = pristine()
  for (const [path, value] of Object.entries(changes)) put(tree, path.split('.'), value)
  return messageOf(JSON.stringify(tree))
}

function put(tree: Tree, path: readonly string[], value: unknown): void {
  const last = path.at(-1) ?? ''
  const parent = path.slice(0, -1).reduce<Tree>((at, key) => at[key] ?? {}, tree)
  if (value === undefined) delete parent[last]
  else parent[last] = value as Tree
}

function messageOf(text: string): string {
  try {
    loadCallingRules(folder.write('rules.yaml', text))
  } catch (error) {
    if (error instanceof DataFileError) return error.message
    throw error
  }
  return 'was accepted'
}

describe('a rules file with a mistake is refused', () => {
  const badWindow = 'must be none or HH:MM-HH:MM with the start before the end, 24:00 at most'
  test.each<[string, Record<string, unknown>, string]>([
    [
      'a window in words',
      { 'regions.AL.hours.sat': '8 to 20' },
      `regions.AL.hours.sat '8 to 20': ${badWindow}`,
    ],
    [
      'a window backwards',
      { 'regions.AL.hours.sat': '20:00-08:00' },
      `regions.AL.hours.sat '20:00-08:00': ${badWindow}`,
    ],
    ['an empty window', { 'regions.AL.hours.sat': '08:00-08:00' }, `'08:00-08:00': ${badWindow}`],
    [
      'a window over the day',
      { 'regions.AL.hours.sat': '08:00-24:01' },
      `'08:00-24:01': ${badWindow}`,
    ],
    ['minutes over 59', { 'regions.AL.hours.sat': '08:60-20:00' }, `'08:60-20:00': ${badWindow}`],
    [
      'a window without a zero',
      { 'regions.AL.hours.sat': '8:00-20:00' },
      `'8:00-20:00': ${badWindow}`,
    ],
    [
      'a window that is no text',
      { 'regions.AL.hours.sat': 8 },
      "regions.AL.hours.sat '8': must be a string",
    ],
    [
      'a day left out',
      { 'regions.AL.hours.sun': undefined },
      'regions.AL.hours.sun: is missing; must be a string',
    ],
    [
      'a misspelt field',
      { 'regions.AL.huors': 'none' },
      "regions.AL.huors 'none': is not a known field",
    ],
    ['an unknown field at the top', { extra: 1 }, "extra '1': is not a known field"],
    [
      'a region without a citation',
      { 'regions.FL.citation': undefined },
      'regions.FL.citation: is missing; must be a string',
    ],
    [
      'an empty citation',
      { 'regions.FL.citation': '' },
      "regions.FL.citation '': must not be empty",
    ],
    [
      'an unknown country',
      { 'regions.FL.country': 'MX' },
      "regions.FL.country 'MX': must be one of US, CA",
    ],
    [
      'a region code in words',
      { 'regions.Florida': {} },
      "regions.Florida '{}': must be two capital letters",
    ],
    [
      'an unknown holiday',
      { 'regions.AL.holidays': ['my_day'] },
      'regions.AL.holidays.0.key: must be a key of holidays',
    ],
    [
      'an unknown disputed holiday',
      { 'regions.AL.holidaysDisputed.0.key': 'my_day' },
      "regions.AL.holidaysDisputed.0.key 'my_day': must be a key of holidays",
    ],
    [
      'holidays without a policy',
      { 'regions.AL.observedPolicy': undefined },
      'regions.AL.observedPolicy: is missing; a region with holidays needs one',
    ],
    [
      'an unknown policy',
      { 'regions.AL.observedPolicy': 'sometimes' },
      "regions.AL.observedPolicy 'sometimes': must be a key of observedPolicies",
    ],
    [
      'an unknown source',
      { 'regions.AL.sources': ['hearsay'] },
      "regions.AL.sources.0 'hearsay': must be a key of sources",
    ],
    ['no source', { 'regions.AL.sources': [] }, "regions.AL.sources '[]': must name a source"],
    [
      'a date that does not exist',
      { 'regions.PA.effectiveFrom': '2026-02-30' },
      "regions.PA.effectiveFrom '2026-02-30': must be a date YYYY-MM-DD that exists",
    ],
    [
      'a gap after the history',
      { 'regions.PA.effectiveFrom': '2026-10-19' },
      "regions.PA.effectiveFrom '2026-10-19': must be the day after the last history row",
    ],
    [
      'a history without a start',
      { 'regions.PA.effectiveFrom': undefined },
      'regions.PA.effectiveFrom: history and effectiveFrom go together',
    ],
    [
      'a start without a history',
      { 'regions.PA.history': undefined },
      "regions.PA.effectiveFrom '2026-10-18': history and effectiveFrom go together",
    ],
    [
      'a history without hours',
      { 'regions.PA.hours': undefined },
      'regions.PA.hours: must be given where there is a history',
    ],
    [
      'a history out of order',
      {
        'regions.PA.history': [
          { until: '2026-10-18', hours: { monFri: 'none', sat: 'none', sun: 'none' } },
          { until: '2026-10-17', hours: { monFri: 'none', sat: 'none', sun: 'none' } },
        ],
      },
      "regions.PA.history.1.until '2026-10-17': must be after the row before it",
    ],
    [
      'months in words',
      { 'regions.NJ.ebr.S': 'none' },
      "regions.NJ.ebr.S 'none': must be a number",
    ],
    ['negative months', { 'regions.NJ.ebr.S': -1 }, "regions.NJ.ebr.S '-1': must be 0 to 120"],
    [
      'a holiday in month 13',
      { 'holidays.christmas_day.rule.month': 13 },
      "holidays.christmas_day.rule.month '13': must be 1 to 12",
    ],
    [
      'a holiday on 31 June',
      { 'holidays.flag_day.rule.day': 31 },
      "holidays.flag_day.rule.day '31': must be a day of that month in every year",
    ],
    [
      'a fifth Monday',
      { 'holidays.labor_day.rule.nth': 5 },
      "holidays.labor_day.rule.nth '5': must be 1 to 4, or -1",
    ],
    [
      'an unknown weekday',
      { 'holidays.labor_day.rule.weekday': 'monday' },
      "holidays.labor_day.rule.weekday 'monday': must be one of sun, mon, tue",
    ],
    [
      'an unknown kind of holiday',
      { 'holidays.labor_day.rule.type': 'lunar' },
      "holidays.labor_day.rule.type 'lunar': must be one of fixed, fixed-shifted, nth-weekday",
    ],
    [
      'holiday hours without a list',
      { 'regions.NE.automated.holidays': undefined },
      "regions.NE.automated.holidayHours '13:00-21:00': goes with holidays and observedPolicy",
    ],
    [
      'a holiday that ends before it starts',
      { 'regions.AL.holidays': [{ key: 'juneteenth', from: '2025-06-01', until: '2024-06-01' }] },
      "regions.AL.holidays.0.until '2024-06-01': must not be before from",
    ],
    [
      'an unknown switch',
      { 'defaults.disputedHolidays': 'maybe' },
      "defaults.disputedHolidays 'maybe': must be one of ban, allow",
    ],
    [
      'no baseline for Canada',
      { 'baselines.CA': undefined },
      'baselines.CA: is missing; must be a mapping',
    ],
    [
      'a source address that is none',
      { 'sources.xs-tool.url': 'somewhere' },
      "sources.xs-tool.url 'somewhere': must be a URL",
    ],
    [
      'a limit on abandoned calls that is warned of too late',
      { 'abandonmentRules.0.warnPercent': 4 },
      "abandonmentRules.0.warnPercent '4': must not be above percent",
    ],
    [
      'a limit on abandoned calls in two periods',
      { 'abandonmentRules.0.monthIn': 'America/Toronto' },
      'must be given, or monthIn instead',
    ],
    [
      'a month of no time zone',
      { 'abandonmentRules.2.monthIn': 'America/Torronto' },
      "abandonmentRules.2.monthIn 'America/Torronto': must be a time zone of an area code",
    ],
    [
      'a limit on abandoned calls of another country',
      { 'abandonmentRules.0.country': 'MX' },
      "abandonmentRules.0.country 'MX': must be one of US, CA",
    ],
  ])('%s', (_name, changes, expected) => {
    const message = complaint(changes)
    expect(message).toContain(expected)
    expect(message).toContain(' 1 mistake(s):')
  })

  test.each([
    'disclosures',
    'frequencyRules',
    'exceptions',
    'consentRequired',
    'conversations',
    'reassignedReleases',
    'purposes',
    'abandonmentRules',
    'revocation',
    'callerIdRules',
  ])('a file without %s', (table) => {
    const message = complaint({ [table]: undefined })
    expect(message).toContain(` 1 mistake(s):\n  - ${table}: is missing`)
  })

  test('every mistake is listed, also several of one region', () => {
    const message = complaint({
      'regions.AL.hours.sat': '8 to 20',
      'regions.AL.observedPolicy': undefined,
      'regions.PA.effectiveFrom': '2026-10-19',
      'regions.PA.citation': undefined,
      'regions.TX.wirelessProhibited.when': 'never',
    })
    expect(message).toContain('5 mistake(s):')
    expect(message.match(/\n {2}- /g)).toHaveLength(5)
  })

  test('text that is no YAML', () => {
    expect(messageOf('regions: [')).toContain(
      'rules.yaml: unexpected end of the stream within a flow collection (1:11)',
    )
  })

  test('a key that comes twice', () => {
    expect(messageOf('about: 1\nabout: 2\n')).toContain('duplicated mapping key (2:1)')
  })

  test('a list instead of a document', () => {
    expect(messageOf('- 1\n')).toContain("request '[1]': must be a mapping")
  })

  test('a file that is not there', () => {
    expect(() => loadCallingRules('/nowhere/rules.yaml')).toThrow('/nowhere/rules.yaml: ENOENT')
  })
})

describe('switches for doubtful holidays', () => {
  function closedIn2027(changes: Record<string, unknown>, region: string): string[] {
    const tree = pristine()
    for (const [path, value] of Object.entries(changes)) put(tree, path.split('.'), value)
    const path = folder.write('rules.yaml', JSON.stringify(tree))
    return [...loadCallingRules(path).listRestrictedDays(region, 2027).keys()].map(formatDay)
  }

  test('disputed days open when the file says so', () => {
    const days = closedIn2027({ 'defaults.disputedHolidays': 'allow' }, 'AL')
    expect(days).not.toContain('2027-12-01')
    expect(days).toContain('2027-02-09')
  })

  test('days of a part of the region open when the file says so', () => {
    const days = closedIn2027({ 'defaults.limitedHolidays': 'allow' }, 'AL')
    expect(days).toContain('2027-12-01')
    expect(days).not.toContain('2027-02-09')
  })
})
