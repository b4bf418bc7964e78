/** A record names of a project's hours only those that can apply to the call. */
import { expect, it } from 'vitest'
import { closedWeek } from '../../src/domain/time/week-windows.js'
import { selectHours } from '../../src/judge/recorded-facts.js'

const hours = ['FL', 'NY', 'FL', 'TX'].map((region, index) => ({
  ...closedWeek,
  region,
  effectiveFrom: index,
}))

it('keeps the hours of the places, in their order', () => {
  expect(selectHours(hours, [{ region: 'FL' }, { region: 'CA' }])).toEqual([hours[0], hours[2]])
})

it('has none for places without hours', () => {
  expect(selectHours(hours, [{ region: 'CA' }])).toBeUndefined()
  expect(selectHours(hours, [])).toBeUndefined()
})
