import { describe, expect, it } from 'vitest'
import {
  type AttemptOutcome,
  type AttemptResult,
  computeNextAttemptAt,
} from '../../src/service/webhooks/webhook-retry-policy.js'
import { instant } from '../support/test-clock.js'

const now = instant('2026-11-23T17:00:00Z')
const [second, minute, hour] = [1_000, 60_000, 3_600_000]
const retryMs = [minute, 5 * minute, 30 * minute, 2 * hour, 6 * hour]

function pauseOf(
  attempt: number,
  over: Partial<AttemptResult> = {},
  random = 0,
): number | undefined {
  const result: AttemptResult = { sentAt: now, outcome: 'bad-status', httpStatus: 500, ...over }
  const at = computeNextAttemptAt({ attempt, result, now }, { retryMs, random: () => random })
  return at === undefined ? undefined : at - now
}

describe('the pause after attempt', () => {
  it.each([
    [1, minute],
    [2, 5 * minute],
    [3, 30 * minute],
    [4, 2 * hour],
    [5, 6 * hour],
    [6, undefined],
    [7, undefined],
  ])('%i is %s ms', (attempt, pauseMs) => {
    expect(pauseOf(attempt)).toBe(pauseMs)
  })

  it('1 is longer by chance, by a tenth at most', () => {
    expect([pauseOf(1, {}, 0.5), pauseOf(1, {}, 0.999_999)]).toEqual([63_000, 66_000])
  })

  it.each([
    'blocked-address',
    'unreachable',
    'timeout',
    'cut-off',
    'too-large',
    'unreadable',
  ] as AttemptOutcome[])('1 is the same when it is %s', (outcome) => {
    expect(pauseOf(1, { outcome, httpStatus: null })).toBe(minute)
  })

  it.each([300, 301, 308, 400, 401, 403, 404, 408, 409, 413, 422, 429, 501, 502, 503])(
    '1 is the same when it is a %i',
    (httpStatus) => {
      expect(pauseOf(1, { httpStatus })).toBe(minute)
    },
  )

  it('1 is for ever when the receiver is gone, or can never be sent to', () => {
    const never: readonly Partial<AttemptResult>[] = [
      { httpStatus: 410, retryAfter: '60' },
      { outcome: 'bad-url', httpStatus: null },
      { outcome: 'bad-header', httpStatus: null },
    ]
    expect(never.map((over) => pauseOf(1, over))).toEqual([undefined, undefined, undefined])
  })
})

describe('Retry-After', () => {
  it.each([
    ['1', minute],
    ['60', minute],
    ['90', 90 * second],
    [' 600 ', 10 * minute],
    ['86400', 6 * hour],
    ['9'.repeat(400), 6 * hour],
    ['Mon, 23 Nov 2026 17:10:00 GMT', 10 * minute],
    ['Mon, 23 Nov 2026 16:00:00 GMT', minute],
    ['Tue, 23 Nov 2027 17:00:00 GMT', 6 * hour],
    ['', minute],
    ['soon', minute],
    ['-5', minute],
    ['1e9', minute],
    [undefined, minute],
  ])('%s makes the first pause %i ms', (retryAfter, pauseMs) => {
    expect(pauseOf(1, { httpStatus: 503, retryAfter })).toBe(pauseMs)
  })

  it('makes no attempt beyond the plan, and none of a plan without any', () => {
    expect(pauseOf(6, { retryAfter: '60' })).toBeUndefined()
    const result = {
      sentAt: now,
      outcome: 'bad-status',
      httpStatus: 503,
      retryAfter: '60',
    } as const
    const plan = { retryMs: [], random: () => 0 }
    expect(computeNextAttemptAt({ attempt: 1, result, now }, plan)).toBeUndefined()
  })
})
