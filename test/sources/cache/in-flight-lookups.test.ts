import { describe, expect, it } from 'vitest'
import { InFlightLookups } from '../../../src/sources/cache/in-flight-lookups.js'

describe('what is under way', () => {
  it('has changed for all who ask about the key, and for nobody who asks afterwards', () => {
    const underWay = new InFlightLookups()
    const [first, second, other] = [underWay.begin('a'), underWay.begin('a'), underWay.begin('b')]
    underWay.invalidate('a')
    const later = underWay.begin('a')
    expect([first, second, other, later].map(({ isInvalidated }) => isInvalidated)).toEqual([
      true,
      true,
      false,
      false,
    ])
  })

  it('has changed for everybody when no key is named', () => {
    const underWay = new InFlightLookups()
    const asking = [underWay.begin('a'), underWay.begin('b')]
    underWay.invalidate()
    expect(asking.map(({ isInvalidated }) => isInvalidated)).toEqual([true, true])
  })

  it('is forgotten when the last who asks has ended, also after a change', () => {
    const underWay = new InFlightLookups()
    const before = underWay.begin('a')
    underWay.invalidate('a')
    const [first, second] = [underWay.begin('a'), underWay.begin('a')]
    underWay.end('a', before)
    underWay.end('a', first)
    expect(underWay.begin('a')).toBe(second)
    underWay.end('a', second)
    underWay.end('a', second)
    expect(underWay.begin('a')).not.toBe(second)
  })
})
