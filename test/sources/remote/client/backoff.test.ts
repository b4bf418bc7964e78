import { describe, expect, it } from 'vitest'
import { parseHttpDate } from '../../../../src/domain/time/http-date.js'
import {
  computeRetryDelayMs,
  parseRetryAfterMs,
} from '../../../../src/sources/remote/client/backoff.js'
import { instant } from '../../../support/test-clock.js'

const now = instant('2026-11-23T17:00:00Z')

describe('Retry-After', () => {
  it.each([
    ['120', 120_000],
    [' 3 ', 3_000],
    ['0', 1_000],
    ['86400', 600_000],
    ['9'.repeat(400), 600_000],
    ['Mon, 23 Nov 2026 17:00:30 GMT', 30_000],
    ['Mon, 23 Nov 2026 16:00:00 GMT', 1_000],
    ['Tue, 24 Nov 2026 17:00:00 GMT', 600_000],
    [undefined, 10_000],
    ['', 10_000],
    ['soon', 10_000],
    ['-5', 10_000],
    ['1.5', 10_000],
    ['2026-11-23T17:00:30Z', 10_000],
  ])('%s is %i ms', (header, ms) => {
    expect(parseRetryAfterMs(header, now)).toBe(ms)
  })
})

describe('an HTTP date', () => {
  it.each([
    ['Sun, 06 Nov 1994 08:49:37 GMT', '1994-11-06T08:49:37Z'],
    ['Thu, 31 Dec 2026 23:59:59 GMT', '2026-12-31T23:59:59Z'],
    ['Sunday, 06-Nov-94 08:49:37 GMT', '1994-11-06T08:49:37Z'],
    ['Sun Nov  6 08:49:37 1994', '1994-11-06T08:49:37Z'],
  ])('%s is %s', (text, iso) => {
    expect(parseHttpDate(text)).toBe(instant(iso))
  })

  it.each([
    '',
    'Sun, 31 Feb 2026 08:49:37 GMT',
    'Sun, 06 nov 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 25:49:37 GMT',
    'Sun, 06 Nov 1994 08:49:37 +0100',
    'Sun, 06 anF 1994',
    'Sun, 06 Anf 1994 08:49:37 GMT',
  ])('%s is none', (text) => {
    expect(parseHttpDate(text)).toBeUndefined()
  })
})

describe('the wait before another attempt', () => {
  it.each([
    [1, 50, 100],
    [2, 100, 200],
    [3, 200, 400],
    [10, 1_000, 2_000],
  ])('number %i is from %i to %i ms', (attempt, least, most) => {
    expect([computeRetryDelayMs(attempt, () => 0), computeRetryDelayMs(attempt, () => 1)]).toEqual([
      least,
      most,
    ])
  })
})
