import { describe, expect, it } from 'vitest'
import { loadSettings } from '../../src/config/load.js'
import { createListAges } from '../../src/data/number-list/list-ages.js'
import { instant } from '../support/test-clock.js'

const dayMs = 86_400_000
const asOf = instant('2026-10-01')
const list = (name: string) => ({ name, version: 'v', asOf })

const settings = (environment: Readonly<Record<string, string>> = {}) =>
  loadSettings({ environment }).lists
const ages = createListAges(settings())

describe('the age of a list', () => {
  it.each([
    { name: 'us-dnc', days: 31, by: ['lists.maxAgeDays.usDnc', '16 CFR 310.4(b)(3)(iv)'] },
    {
      name: 'canada-dnc',
      days: 31,
      by: [
        'lists.maxAgeDays.canadaDnc',
        expect.stringContaining('CRTC Unsolicited Telecommunications Rules'),
      ],
    },
    { name: 'state-dnc-fl', days: 92, by: ['lists.maxAgeDays.stateDnc'] },
    { name: 'litigators', days: undefined, by: undefined },
    {
      name: 'ported-wireless',
      days: 15,
      by: ['lists.maxAgeDays.ported', '47 CFR 64.1200(a)(1)(iv)'],
    },
    {
      name: 'ported-wireline',
      days: 15,
      by: ['lists.maxAgeDays.ported', '47 CFR 64.1200(a)(1)(iv)'],
    },
    { name: 'ported-other', days: undefined, by: undefined },
    { name: 'custom-vip', days: undefined, by: undefined },
    { name: 'custom-us-dnc', days: undefined, by: undefined },
  ])('of $name is $days days by default', ({ name, days, by }) => {
    expect(ages.findMaxAgeDays(name)).toBe(days)
    // A second look is answered from what the first one found.
    expect(ages.findLimit(name)?.days).toBe(days)
    expect(ages.findLimit(name)?.by).toEqual(by)
    const staleAt = days === undefined ? Number.POSITIVE_INFINITY : asOf + days * dayMs + 1
    expect(ages.computeStaleAt(list(name))).toBe(staleAt)
  })

  it('is told by the settings, of a state before that of all states', () => {
    const told = createListAges(
      settings({
        CALLGATE_LISTS_MAX_AGE_DAYS_US_DNC: '7',
        CALLGATE_LISTS_MAX_AGE_DAYS_LITIGATORS: '400',
        CALLGATE_LISTS_MAX_AGE_DAYS_STATE_DNC: '0',
        CALLGATE_LISTS_MAX_AGE_DAYS_OF_STATE: '{ FL: 30, TX: 0 }',
      }),
    )
    const names = ['us-dnc', 'litigators', 'state-dnc-fl', 'state-dnc-tx', 'state-dnc-wy']
    expect(names.map((name) => told.findMaxAgeDays(name))).toEqual([
      7,
      400,
      30,
      undefined,
      undefined,
    ])
    expect(told.findLimit('state-dnc-fl')?.by).toEqual(['lists.maxAgeDaysOfState.FL'])
  })

  const soon = 0.8 * 31 * dayMs
  it.each([
    { after: -dayMs, state: 'fresh' },
    { after: 0, state: 'fresh' },
    { after: soon - 1, state: 'fresh' },
    { after: soon, state: 'soon-stale' },
    { after: 31 * dayMs, state: 'soon-stale' },
    { after: 31 * dayMs + 1, state: 'stale' },
    { after: 400 * dayMs, state: 'stale' },
  ])('$after ms on is $state', ({ after, state }) => {
    expect(ages.findState(list('us-dnc'), asOf + after)).toBe(state)
    expect(asOf + after >= ages.computeStaleAt(list('us-dnc'))).toBe(state === 'stale')
    expect(ages.findState(list('litigators'), asOf + after)).toBe('fresh')
  })

  it('is reported from another share of it where the settings say so', () => {
    const late = createListAges(settings({ CALLGATE_LISTS_WARN_AT_PERCENT: '100' }))
    expect(late.findState(list('us-dnc'), asOf + 31 * dayMs - 1)).toBe('fresh')
    expect(late.findState(list('us-dnc'), asOf + 31 * dayMs)).toBe('soon-stale')
  })
})
