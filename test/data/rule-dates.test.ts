/** Rows of the calling rules that hold only on some days, and what a finding says of the row that decided. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules.js'
import { parseDay } from '../../src/domain/time/dates.js'
import { toLocalTime } from '../../src/domain/time/time-zones.js'
import { formatWeek } from '../../src/domain/time/week-windows.js'
import { DataFileError } from '../../src/errors.js'
import type { EbrRecord } from '../../src/service/consent/ebr-record.js'
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
  const wisconsin = tree.regions?.WI?.ebr
  Object.assign(wisconsin ?? {}, { citation: 'Wis. Stat. 100.52' })
})

function day(text: string): number {
  return parseDay(text) ?? Number.NaN
}

describe('a row with dates holds on its first and its last local day and not beside them', () => {
  test.each([
    ['2027-01-31', false],
    ['2027-02-01', true],
    ['2027-02-28', true],
    ['2027-03-01', false],
  ])('%s: %s', (date, holds) => {
    expect(rules.findWirelessBan('AZ', () => day(date)) !== undefined).toBe(holds)
    const week = rules.findRecordedHours('KY', day(date))
    expect(week && formatWeek(week)).toBe(holds ? '10:00-21:00;10:00-21:00;10:00-21:00' : undefined)
    expect(rules.listDisclosureRows('NY', day(date))).toHaveLength(holds ? 1 : 0)
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
  const { evaluator, listFacts } = testScrub({ clock, plan: numberingPlan, hours, records })
  const account = {
    clock,
    lists: listFacts,
    numberingPlan,
    hours,
    law: rules,
    fixedFacts: undefined,
  }
  const judged = evaluator.evaluate(account, 'main', { number: number as never })
  if (judged instanceof Promise) throw new Error('nothing has to be waited for')
  return `${judged.verdict.letter}: ${judged.verdict.detail}`
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
    expect(detailOf(phoenix, '2027-02-01T06:59:59Z')).toBe('W: undefined')
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

  test('of hours that no longer are in force', () => {
    const places = [{ region: 'PA', zone: 'America/New_York' }]
    const hours = hoursOver(plan('PA', 'America/New_York'), { rules })
    const ruleAt = (at: string) => hours.evaluate({ candidates: places, at: instant(at) }).rule
    expect(ruleAt('2026-10-16T15:00:00Z')).toBe(
      'Pennsylvania (PA), America/New_York, Fri 2026-10-16: calls 08:00-21:00; ' +
        'state rule: 73 P.S. 2245.2 of 1996 (until 2026-10-17)',
    )
    expect(ruleAt('2026-10-19T15:00:00Z')).not.toContain('of 1996')
  })
})
