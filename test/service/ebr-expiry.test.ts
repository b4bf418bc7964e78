import { describe, expect, test } from 'vitest'
import type { EbrType } from '../../src/domain/compliance.js'
import type { LocalDay } from '../../src/domain/time/clock.js'
import { formatDay, parseDay } from '../../src/domain/time/dates.js'
import {
  computeFederalExpiry,
  computeRegionalExpiry,
  type EbrTerms,
  expiresAfter,
  isExemptOn,
  neverExempt,
  neverExpires,
} from '../../src/law/records/ebr-expiry.js'
import { testLaw } from '../support/service-subjects.js'

/** 2026-11-23 in New York, and 2026-11-24 in UTC. */
const at = Date.UTC(2026, 10, 24, 2)
const zone = 'America/New_York'
/** A permission whose consent ends. */
function untilDay(endsOn: string): EbrTerms {
  return { ...terms('P', '2026-11-01'), consent: { endsOn: parseDay(endsOn) } }
}

function terms(type: EbrType, contactOn: string, obligationEndsOn?: string): EbrTerms {
  const ends = obligationEndsOn === undefined ? undefined : parseDay(obligationEndsOn)
  return { type, contactOn: parseDay(contactOn) ?? Number.NaN, obligationEndsOn: ends }
}

function shown(expiry: LocalDay): string {
  if (expiry === neverExpires) return 'never'
  return expiry === neverExempt ? 'none' : formatDay(expiry)
}

test.each<[EbrType, string, string]>([
  ['S', '2026-01-15', '2027-07-15'],
  ['S', '2025-08-31', '2027-02-28'],
  ['S', '2026-08-31', '2028-02-29'],
  ['I', '2026-01-15', '2026-04-15'],
  ['I', '2025-11-30', '2026-02-28'],
  ['P', '2001-01-01', 'never'],
  ['T', '2026-11-01', 'none'],
])('federally a %s of %s ends on %s', (type, contactOn, expected) => {
  expect(shown(computeFederalExpiry(terms(type, contactOn)))).toBe(expected)
})

test.each<[string, EbrType, string, string | undefined, string]>([
  ['NY', 'S', '2026-01-15', undefined, '2027-07-15'],
  ['CT', 'S', '2026-01-15', undefined, '2027-01-15'],
  ['CT', 'I', '2026-01-15', undefined, '2026-04-15'],
  ['CA', 'I', '2026-01-15', undefined, '2026-02-15'],
  ['ON', 'I', '2026-01-15', undefined, '2026-07-15'],
  ['IN', 'S', '2026-01-15', undefined, 'none'],
  ['IN', 'P', '2026-01-15', undefined, 'never'],
  ['NY', 'T', '2026-01-15', undefined, 'none'],
  ['XX', 'S', '2026-01-15', undefined, 'none'],
  ['XX', 'P', '2026-01-15', undefined, 'never'],
  ['NJ', 'S', '2026-01-15', undefined, 'none'],
  ['NJ', 'S', '2026-01-15', '2026-12-31', '2026-12-31'],
  ['NJ', 'S', '2026-01-15', '2030-12-31', '2027-07-15'],
  ['NJ', 'I', '2026-01-15', '2026-12-31', 'none'],
  ['NJ', 'T', '2026-01-15', '2026-12-31', 'none'],
  ['CT', 'S', '2026-01-15', '2027-06-30', '2027-01-15'],
])('in %s a %s of %s, obligation until %s, ends on %s', (region, type, contact, ends, expected) => {
  expect(
    shown(computeRegionalExpiry(terms(type, contact, ends), { region, day: 0 }, testLaw)),
  ).toBe(expected)
})

test.each([
  ['2027-07-14', true],
  ['2027-07-15', false],
  ['2027-07-16', false],
])('a sale that ends on 2027-07-15 exempts on %s: %s', (day, expected) => {
  const expiry = computeFederalExpiry(terms('S', '2026-01-15'))
  expect(isExemptOn(expiry, parseDay(day) ?? Number.NaN)).toBe(expected)
})

test('what never expires always exempts, what gives no exemption never does', () => {
  expect(isExemptOn(neverExpires, 1_000_000)).toBe(true)
  expect(isExemptOn(neverExempt, 0)).toBe(false)
})

describe('which of two records outlasts the other', () => {
  type Row = [string, EbrTerms, EbrTerms, readonly string[], boolean]
  const sale = terms('S', '2026-01-15')
  test.each<Row>([
    ['an older permission against a new sale', terms('P', '2020-01-01'), sale, ['NY'], true],
    ['a sale against a new permission', sale, terms('P', '2020-01-01'), ['NY'], false],
    ['a later sale', terms('S', '2026-01-16'), sale, ['NY'], true],
    ['an earlier sale', terms('S', '2026-01-14'), sale, ['NY'], false],
    ['a sale against a later inquiry', sale, terms('I', '2026-11-01'), ['NY'], true],
    [
      'an old sale against an inquiry',
      terms('S', '2024-06-01'),
      terms('I', '2026-01-01'),
      ['NY'],
      false,
    ],
    ['a trial against a sale', terms('T', '2026-11-01'), sale, ['NY'], false],
    ['a sale against a trial', sale, terms('T', '2026-11-01'), ['NY'], true],
    ['two permissions', terms('P', '2026-01-01'), terms('P', '2020-01-01'), ['NY'], false],
    ['the same record', sale, sale, ['NY'], false],
    ['one that ends tomorrow against a sale', untilDay('2026-11-24'), sale, ['NY'], false],
    ['one that ends after a sale', untilDay('2027-07-16'), sale, ['NY'], true],
    [
      'one that ends against one without an end',
      untilDay('2036-11-24'),
      terms('P', '2020-01-01'),
      ['NY'],
      false,
    ],
    [
      'one that ends tomorrow against a trial',
      untilDay('2026-11-24'),
      terms('T', '2026-11-01'),
      ['NY'],
      true,
    ],
    [
      'one that has ended against a trial',
      untilDay('2026-11-23'),
      terms('T', '2026-11-01'),
      ['NY'],
      false,
    ],
    [
      'one that has ended in UTC, place unknown',
      untilDay('2026-11-24'),
      terms('T', '2026-11-01'),
      [],
      false,
    ],
    // Both end on 2026-07-01 federally; in Connecticut the sale ends half a year before.
    [
      'federal tie, inquiry better by state',
      terms('I', '2026-04-01'),
      terms('S', '2025-01-01'),
      ['CT'],
      true,
    ],
    [
      'federal tie, sale worse by state',
      terms('S', '2025-01-01'),
      terms('I', '2026-04-01'),
      ['CT'],
      false,
    ],
    ['federal tie, state tie', terms('S', '2025-01-01'), terms('I', '2026-04-01'), ['NY'], false],
    [
      'federal tie, strictest of two states',
      terms('I', '2026-04-01'),
      terms('S', '2025-01-01'),
      ['NY', 'CT'],
      true,
    ],
    ['federal tie, longer obligation', terms('S', '2026-01-15', '2026-12-31'), sale, ['NJ'], true],
    ['federal tie, no region known', terms('I', '2026-04-01'), terms('S', '2025-01-01'), [], false],
  ])('%s', (_name, kept, added, regions, expected) => {
    const places = regions.map((region) => ({ region, zone }))
    expect(expiresAfter(kept, added, { places, law: testLaw, at })).toBe(expected)
  })
})
