import { expect, it } from 'vitest'
import { isWider, type OwnHours } from '../../src/service/projects/wider-hours.js'

const hours = (
  mon_fri: string,
  { sat = 'none', sun = 'none', from, until }: Readonly<Record<string, string>> = {},
): OwnHours => ({
  ...{ mon_fri, sat, sun },
  effective_from: from ?? null,
  effective_until: until ?? null,
})
const nine = hours('09:00-17:00')
const wider = (before: readonly OwnHours[], after: readonly OwnHours[], mayWidenLaw = false) =>
  isWider(before, after, { mayWidenLaw })

it.each([
  ['the same', [nine], [nine], false],
  ['shorter', [nine], [hours('10:00-16:00')], false],
  ['none at all', [nine], [hours('none')], false],
  ['longer at the end', [nine], [hours('09:00-17:01')], true],
  ['earlier', [nine], [hours('08:59-17:00')], true],
  ['another day of the week', [nine], [hours('09:00-17:00', { sun: '12:00-13:00' })], true],
  ['none before on that day', [hours('none')], [nine], true],
  ['the law alone again', [nine], [], true],
  [
    'the law alone again from a day on',
    [nine],
    [hours('09:00-17:00', { until: '2026-12-31' })],
    true,
  ],
  [
    'longer from a day on',
    [nine],
    [hours('09:00-17:00', { until: '2026-12-31' }), hours('09:00-18:00', { from: '2027-01-01' })],
    true,
  ],
  [
    'shorter from a day on',
    [nine],
    [hours('09:00-17:00', { until: '2026-12-31' }), hours('09:00-16:00', { from: '2027-01-01' })],
    false,
  ],
  ['in the place of the law', [], [hours('08:00-21:00')], false],
] as const)('%s', (_name, before, after, expected) => {
  expect(wider(before, after)).toBe(expected)
})

it('in the place of the law, where projects may widen it', () => {
  expect(wider([], [nine], true)).toBe(true)
  expect(wider([], [hours('none')], true)).toBe(false)
})
