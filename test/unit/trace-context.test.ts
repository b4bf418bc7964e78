import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatTraceparent, parseTraceparent } from '../../src/domain/trace/trace-context.js'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'

describe('traceparent', () => {
  it('is read', () => {
    expect(parseTraceparent(`00-${traceId}-${spanId}-01`)).toEqual({
      traceId,
      spanId,
      isSampled: true,
    })
  })

  it.each([
    ['00', false],
    ['02', false],
    ['03', true],
    ['ff', true],
  ])('only the lowest bit of flags %s says whether it is sampled', (flags, isSampled) => {
    expect(parseTraceparent(`00-${traceId}-${spanId}-${flags}`)).toMatchObject({ isSampled })
  })

  it.each([`cc-${traceId}-${spanId}-01`, `cc-${traceId}-${spanId}-01-what-the-future-holds`])(
    'of a later version is read like version 00: %s',
    (header) => {
      expect(parseTraceparent(header)).toEqual({ traceId, spanId, isSampled: true })
    },
  )

  it.each([
    '',
    'nonsense',
    `${traceId}-${spanId}-01`,
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-01-more`,
    `00-${traceId}-${spanId}-01-`,
    `cc-${traceId}-${spanId}-01.more`,
    `00-${traceId}-${spanId}`,
    `00-${traceId}-${spanId}-1`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId.slice(1)}-${spanId}-01`,
    ` 00-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-01\r\nX-Other: 1`,
    // Two headers, as node:http joins them.
    `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
  ])('that is malformed is ignored: %j', (header) => {
    expect(parseTraceparent(header)).toBeUndefined()
  })

  it('is written as it is read', () => {
    const hex = (length: number) =>
      fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`)).filter((text) => !/^0*$/.test(text))
    fc.assert(
      fc.property(hex(32), hex(16), fc.boolean(), (traceId, spanId, isSampled) => {
        const context = { traceId, spanId, isSampled }
        expect(parseTraceparent(formatTraceparent(context))).toEqual(context)
      }),
    )
  })
})
