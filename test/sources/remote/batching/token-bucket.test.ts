import { describe, expect, it } from 'vitest'
import { TokenBucket } from '../../../../src/sources/remote/batching/token-bucket.js'
import { chance, mostInAMinute } from '../../../support/rate-proof.js'

describe('a token bucket', () => {
  it.each([
    { perMinute: 1, burst: 1 },
    { perMinute: 2, burst: 2 },
    { perMinute: 10, burst: 2 },
    { perMinute: 100, burst: 10 },
    { perMinute: 1_000_000, burst: 100_000 },
  ])('of $perMinute a minute gives $burst at once', ({ perMinute, burst }) => {
    const bucket = new TokenBucket(perMinute)
    let taken = 0
    while (bucket.getWaitMs(0) === 0 && taken < 200_000) {
      bucket.take(0)
      taken += 1
    }
    expect([bucket.burst, taken]).toEqual([burst, burst])
  })

  it.each([1, 2, 3, 7, 10, 19, 59, 100, 101, 999, 6_000])(
    'never gives more than %i in any minute, however it is asked',
    (perMinute) => {
      for (let seed = 1; seed <= 20; seed += 1) {
        const random = chance(seed * 7 + perMinute)
        const bucket = new TokenBucket(perMinute)
        const times: number[] = []
        let now = random() * 1e9
        while (times.length < 3_000 && times.length < perMinute * 12) {
          const wait = bucket.getWaitMs(now)
          if (wait === 0) {
            bucket.take(now)
            times.push(now)
          } else now += wait
          // Greedy, idle, late, or stopped for an hour with the machine.
          const kind = random()
          if (kind > 0.97) now += random() * 3_600_000
          else if (kind > 0.9) now += random() * 5_000
          else if (kind > 0.7) now += random()
        }
        expect(mostInAMinute(times)).toBeLessThanOrEqual(perMinute)
      }
    },
  )

  it.each([1, 2, 10, 100, 1_000])('of %i a minute gives nearly as many, too', (perMinute) => {
    const bucket = new TokenBucket(perMinute)
    let taken = 0
    let now = 0
    while (now < 3_600_000) {
      now += bucket.getWaitMs(now)
      bucket.take(now)
      taken += 1
    }
    expect(taken / 60).toBeGreaterThan(Math.min(perMinute * 0.87, perMinute - 0.99))
  })

  it('is full and not fuller after a process stood still', () => {
    const bucket = new TokenBucket(100)
    const takeAll = (now: number) => {
      let taken = 0
      for (; bucket.getWaitMs(now) === 0; taken += 1) bucket.take(now)
      return taken
    }
    expect([takeAll(0), takeAll(86_400_000)]).toEqual([10, 10])
  })

  it('gives nothing when the time goes back', () => {
    const bucket = new TokenBucket(10)
    bucket.take(1_000_000)
    bucket.take(1_000_000)
    expect(bucket.getWaitMs(0)).toBeGreaterThan(1_000_000)
  })

  it('waits whole milliseconds that are enough', () => {
    const random = chance(3)
    const bucket = new TokenBucket(97)
    for (let now = 1e9, at = 0; at < 10_000; at += 1) {
      const wait = bucket.getWaitMs(now)
      expect(Number.isInteger(wait)).toBe(true)
      now += wait
      expect(bucket.getWaitMs(now)).toBe(0)
      bucket.take(now)
      now += random()
    }
  })

  it.each([
    { left: 0, taken: 9, isNow: true },
    { left: 5, taken: 4, isNow: true },
    { left: 5, taken: 5, isNow: false },
    { left: 99, taken: 0, isNow: true },
    { left: 99, taken: 1, isNow: false },
  ])('leaving $left after $taken: at once $isNow', ({ left, taken, isNow }) => {
    const bucket = new TokenBucket(100)
    for (let at = 0; at < taken; at += 1) bucket.take(0)
    expect(bucket.getWaitMs(0, left) === 0).toBe(isNow)
  })

  it('after a pause begins with one', () => {
    const bucket = new TokenBucket(100)
    bucket.pause(1_000, 10_000)
    expect(bucket.getWaitMs(1_000)).toBe(10_000)
    expect(bucket.getWaitMs(11_000)).toBe(0)
    bucket.take(11_000)
    expect(bucket.getWaitMs(11_000)).toBeGreaterThan(600)
  })

  it('keeps the longer of two pauses', () => {
    const bucket = new TokenBucket(100)
    bucket.pause(0, 10_000)
    bucket.pause(0, 2_000)
    expect(bucket.getWaitMs(0)).toBe(10_000)
  })
})
