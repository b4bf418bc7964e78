import { describe, expect, it } from 'vitest'
import { UnderWay } from '../../src/sources/under-way.js'

describe('what is under way', () => {
  it('has changed for all who ask about the key, and for nobody who asks afterwards', () => {
    const underWay = new UnderWay()
    const [first, second, other] = [underWay.begin('a'), underWay.begin('a'), underWay.begin('b')]
    underWay.change('a')
    const later = underWay.begin('a')
    expect([first, second, other, later].map(({ changed }) => changed)).toEqual([
      ...[true, true, false, false],
    ])
  })

  it('has changed for everybody when no key is named', () => {
    const underWay = new UnderWay()
    const asking = [underWay.begin('a'), underWay.begin('b')]
    underWay.change()
    expect(asking.map(({ changed }) => changed)).toEqual([true, true])
  })

  it('is forgotten when the last who asks has ended, also after a change', () => {
    const underWay = new UnderWay()
    const before = underWay.begin('a')
    underWay.change('a')
    const [first, second] = [underWay.begin('a'), underWay.begin('a')]
    underWay.end('a', before)
    underWay.end('a', first)
    expect(underWay.begin('a')).toBe(second)
    underWay.end('a', second)
    underWay.end('a', second)
    expect(underWay.begin('a')).not.toBe(second)
  })
})
