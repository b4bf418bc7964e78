/** Jobs that keep numbers warm: how they ask, how often, how far they are, and how they end. */
import { describe, expect, it } from 'vitest'
import type { Question } from '../../../src/domain/compliance.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import { AppError } from '../../../src/errors.js'
import type { WarmupResult } from '../../../src/sources/cache/cached-compliance.js'
import {
  Warmer,
  type WarmerOptions,
  type WarmupRequest,
} from '../../../src/sources/warming/warmer.js'
import { type VirtualTime, virtualTime } from '../../support/virtual-time.js'
import { openCached } from '../cache/cached-compliance-fixture.js'

const minute = 60_000
const hour = 60 * minute
const cache = { allowMs: 5 * minute, blockMs: hour }
const maxNumbers = 100_000

interface Choices extends Partial<WarmerOptions> {
  /** How a number is answered; `answered` after 100 ms unless told otherwise. */
  readonly answer?: (question: Question) => WarmupResult
  readonly start?: string
}

function openWarmer({ answer = () => 'answered', start, ...options }: Choices = {}) {
  const time = virtualTime(start)
  const asked: { readonly number: string; readonly at: number; readonly freshForMs: number }[] = []
  let underWay = 0
  let mostUnderWay = 0
  let ids = 0
  const warmer = new Warmer({
    warmUp: (question, freshForMs) => {
      asked.push({ number: question.number, at: time.monotonicMs(), freshForMs })
      underWay += 1
      mostUnderWay = Math.max(mostUnderWay, underWay)
      return new Promise((resolve) => {
        time.after(100, () => {
          underWay -= 1
          resolve(answer(question))
        })
      })
    },
    cache,
    maxNumbers,
    maxInFlight: 10_000,
    clock: time,
    timers: time,
    newId: () => `job${++ids}`,
    ...options,
  })
  return { warmer, time, asked, mostUnderWay: () => mostUnderWay }
}

function numbersOf(count: number, first = 2_125_550_000) {
  return Array.from({ length: count }, (_, index) => ({
    number: toPhoneNumber(String(first + index)),
  }))
}

function request(more: Partial<WarmupRequest> = {}): WarmupRequest {
  return { accountId: 'main', numbers: numbersOf(3), keepForMs: hour, ...more }
}

describe('a warming job', () => {
  it('asks about each number at once, with all that a call will ask with', async () => {
    const questions: Question[] = []
    const { warmer, time } = openWarmer({
      warmUp: async (question) => {
        questions.push(question)
        return 'answered'
      },
    })
    const numbers = [{ number: toPhoneNumber('2125550100'), postalCode: '10001' }]
    warmer.start(request({ numbers, projectId: 'P', campaignId: 'C' }))
    await time.settle()
    const about = { accountId: 'main', ...numbers[0], projectId: 'P', campaignId: 'C' }
    expect(questions).toEqual([about])
    warmer.close()
  })

  it('tells how far it is, and how long it will take', async () => {
    const { warmer, time } = openWarmer({ maxInFlight: 1_000 })
    const numbers = numbersOf(4_000)
    const { id, ...started } = warmer.start(request({ numbers }))
    expect(started).toEqual({
      state: 'asking',
      numbers: 4_000,
      done: 0,
      fresh: 0,
      answered: 0,
      unanswered: 0,
      scope: { projectId: undefined, campaignId: undefined },
      startedAt: time.now(),
      keptUntil: time.now() + hour,
      passes: 0,
      secondsLeft: undefined,
    })
    await time.advance(100)
    expect(warmer.find('main', id)).toMatchObject({ state: 'asking', done: 1_000, secondsLeft: 1 })
    await time.advance(300)
    expect(warmer.find('main', id)).toMatchObject({
      state: 'warm',
      done: 4_000,
      answered: 4_000,
      passes: 1,
      secondsLeft: undefined,
    })
    warmer.close()
  })

  it('counts what was fresh already, was answered, and was not', async () => {
    const outcomes: readonly WarmupResult[] = ['fresh', 'answered', 'unanswered']
    const { warmer, time } = openWarmer({
      answer: ({ number }) => outcomes[Number(number) % 3] ?? 'answered',
    })
    const { id } = warmer.start(request({ numbers: numbersOf(30), keepForMs: 0 }))
    await time.advance(10_000)
    expect(warmer.find('main', id)).toMatchObject({
      state: 'ended',
      done: 30,
      fresh: 10,
      answered: 10,
      unanswered: 10,
    })
  })

  it('has never more numbers under way than it may, whatever the jobs', async () => {
    const { warmer, time, mostUnderWay } = openWarmer({ maxInFlight: 50 })
    warmer.start(request({ numbers: numbersOf(120) }))
    warmer.start(request({ numbers: numbersOf(120, 3_035_550_000) }))
    await time.advance(100)
    expect(mostUnderWay()).toBe(50)
    await time.advance(1_000)
    expect(mostUnderWay()).toBe(50)
    warmer.close()
  })

  it('takes turns with other jobs', async () => {
    const { warmer, time, asked } = openWarmer({ maxInFlight: 10 })
    warmer.start(request({ numbers: numbersOf(30) }))
    warmer.start(request({ numbers: numbersOf(10, 3_035_550_000) }))
    await time.advance(400)
    const areaCodes = asked.map(({ number }) => number.slice(0, 3))
    expect(areaCodes.filter((_, index) => index % 10 === 0)).toEqual(['212', '303', '212', '212'])
    warmer.close()
  })

  it('asks less at once while much stays unanswered, and more again when it does not', async () => {
    let isUp = false
    const { warmer, time, asked } = openWarmer({
      maxInFlight: 2_000,
      answer: () => (isUp ? 'answered' : 'unanswered'),
    })
    warmer.start(request({ numbers: numbersOf(8_000) }))
    await time.advance(50)
    const sizes: number[] = [asked.length]
    for (let block = 1; block < 8; block += 1) {
      const before = asked.length
      isUp = block >= 4
      await time.advance(100)
      sizes.push(asked.length - before)
    }
    expect(sizes).toEqual([2_000, 1_000, 500, 500, 1_000, 2_000, 1_000, 0])
    warmer.close()
  })

  it('asks no less at once for one account because another’s numbers stay unanswered', async () => {
    const { warmer, time, asked } = openWarmer({
      maxInFlight: 2_000,
      answer: ({ accountId }) => (accountId === 'other' ? 'unanswered' : 'answered'),
    })
    warmer.start(request({ accountId: 'other', numbers: numbersOf(8_000, 3_035_550_000) }))
    warmer.start(request({ numbers: numbersOf(8_000) }))
    await time.advance(50)
    const sizes: number[] = [asked.length]
    for (let block = 1; block < 6; block += 1) {
      const before = asked.length
      await time.advance(100)
      sizes.push(asked.length - before)
    }
    expect(sizes).toEqual([2_000, 2_000, 1_000, 2_000, 500, 2_000])
    warmer.close()
  })
})

describe('what was not answered', () => {
  it('is tried again as long as a tenth of it is answered each time', async () => {
    const tries = new Map<string, number>()
    const { warmer, time, asked } = openWarmer({
      answer: ({ number }) => {
        const count = (tries.get(number) ?? 0) + 1
        tries.set(number, count)
        const needed = Number(number.slice(-1)) < 8 ? 2 : 99
        return count >= needed ? 'answered' : 'unanswered'
      },
    })
    const { id } = warmer.start(request({ numbers: numbersOf(10), keepForMs: 0 }))
    await time.advance(60_000)
    expect(asked).toHaveLength(10 + 10 + 2)
    expect(warmer.find('main', id)).toMatchObject({ state: 'ended', answered: 8, unanswered: 2 })
  })

  it('is asked in the next pass, and is answered once it is found fresh', async () => {
    let outcome: WarmupResult = 'unanswered'
    const { warmer, time } = openWarmer({ answer: () => outcome })
    const { id } = warmer.start(request())
    await time.advance(3_000)
    expect(warmer.find('main', id)).toMatchObject({ state: 'warm', unanswered: 3 })
    outcome = 'fresh'
    await time.advance(2 * minute)
    expect(warmer.find('main', id)).toMatchObject({ unanswered: 0, answered: 3, fresh: 0 })
    warmer.close()
  })

  it('includes what the source throws at', async () => {
    const { warmer, time } = openWarmer({ warmUp: () => Promise.reject(new Error('broken')) })
    const { id } = warmer.start(request({ keepForMs: 0 }))
    await time.advance(10_000)
    expect(warmer.find('main', id)).toMatchObject({ state: 'ended', unanswered: 3 })
  })
})

describe('keeping numbers warm', () => {
  /** Over a real cache, whose answers live for five minutes or to their own end. */
  function overCache(keepForMs: number, start?: VirtualTime) {
    const opened = openCached()
    const time = start ?? opened.time
    const warmer = new Warmer({
      warmUp: (question, freshForMs) => opened.cached.warmUp(question, freshForMs),
      cache,
      maxNumbers,
      maxInFlight: 10_000,
      clock: opened.time,
      timers: opened.time,
      newId: () => 'job',
    })
    warmer.start(request({ numbers: numbersOf(100), keepForMs }))
    return { ...opened, time, warmer }
  }

  it('leaves no call with an expired answer, for about an asking in four minutes', async () => {
    const { cached, source, time, warmer, seen } = overCache(hour)
    const question = { accountId: 'main', number: toPhoneNumber('2125550042') }
    await time.advance(1_000)
    for (let second = 0; second < 3_500; second += 10) {
      await time.advance(10_000)
      await cached.litigator(question)
    }
    const lookUps = seen.filter((line) => /litigator (?:hit|miss|expired)/.test(line))
    expect(new Set(lookUps)).toEqual(new Set(['litigator hit']))
    const askings = source.asked.length / 4 / 100
    expect(askings).toBeGreaterThan(12)
    expect(askings).toBeLessThan(20)
    warmer.close()
  })

  it('ends when its time is over, and asks nothing more', async () => {
    const { source, time, warmer } = overCache(10 * minute)
    await time.advance(10 * minute)
    expect(warmer.find('main', 'job')).toMatchObject({ state: 'ended' })
    const before = source.asked.length
    await time.advance(hour)
    expect(source.asked).toHaveLength(before)
    expect(time.waiting()).toBe(0)
  })

  it('asks a second after each quarter of an hour, when calling windows open', async () => {
    const { warmer, time, asked } = openWarmer({
      start: '2026-11-23T12:59:30Z',
      cache: { ...cache, allowMs: hour },
    })
    warmer.start(request({ numbers: numbersOf(1) }))
    await time.advance(hour)
    const minutes = asked.map(({ at }) => Math.round((at - 30_000) / 1_000) / 60)
    expect(minutes.filter((at) => Math.abs((at % 15) - 1 / 60) < 0.01)).toHaveLength(4)
    warmer.close()
  })

  it('looks ahead to the pass after the next, and further when passes are long', async () => {
    const { warmer, time, asked } = openWarmer({ maxInFlight: 1 })
    warmer.start(request({ numbers: numbersOf(1_000) }))
    await time.advance(10 * minute)
    expect(asked[0]?.freshForMs).toBe(1.5 * 75_000)
    expect(asked.at(-1)?.freshForMs).toBe(75_000 + 100_000)
    warmer.close()
  })
})

describe('a job', () => {
  it('asks nothing more once it is stopped, and is known as stopped', async () => {
    const { warmer, time, asked } = openWarmer({ maxInFlight: 10 })
    const { id } = warmer.start(request({ numbers: numbersOf(100) }))
    await time.advance(100)
    expect(warmer.stop('main', id)).toMatchObject({ state: 'stopped' })
    const before = asked.length
    await time.advance(hour / 2)
    expect(asked).toHaveLength(before)
    expect(warmer.find('main', id)).toMatchObject({ state: 'stopped', numbers: 100 })
  })

  it('is stopped in the middle of a block', async () => {
    const { warmer, time, asked } = openWarmer()
    const { id } = warmer.start(request({ numbers: numbersOf(5_000) }))
    await time.settle()
    expect(asked).toHaveLength(50)
    warmer.stop('main', id)
    await time.advance(hour)
    expect(asked).toHaveLength(50)
  })

  it('is one of its account alone', async () => {
    const { warmer, time } = openWarmer()
    const { id } = warmer.start(request({ keepForMs: 0 }))
    expect(warmer.find('other', id)).toBeUndefined()
    expect(warmer.stop('other', id)).toBeUndefined()
    expect(warmer.find('main', id)).toMatchObject({ state: 'asking' })
    await time.advance(10_000)
    expect(warmer.find('main', id)).toMatchObject({ state: 'ended' })
    expect(warmer.find('other', id)).toBeUndefined()
    expect(warmer.find('main', 'none')).toBeUndefined()
  })

  it('is remembered for an hour after its end, and of many the last hundred', async () => {
    const { warmer, time } = openWarmer()
    const { id } = warmer.start(request({ keepForMs: 0 }))
    await time.advance(hour)
    expect(warmer.find('main', id)).toBeDefined()
    await time.advance(1_000)
    expect(warmer.find('main', id)).toBeUndefined()
    for (let job = 0; job < 101; job += 1) {
      warmer.start(request({ keepForMs: 0 }))
      await time.advance(1_000)
    }
    expect(warmer.find('main', 'job2')).toBeUndefined()
    expect(warmer.find('main', 'job3')).toBeDefined()
  })

  it('is remembered however many jobs another account has', async () => {
    const { warmer, time } = openWarmer()
    const { id } = warmer.start(request({ keepForMs: 0 }))
    await time.advance(1_000)
    for (let job = 0; job < 150; job += 1) {
      warmer.start(request({ accountId: 'other', keepForMs: 0 }))
      await time.advance(1_000)
    }
    expect(warmer.find('main', id)).toMatchObject({ state: 'ended' })
    expect(warmer.find('other', 'job2')).toBeUndefined()
    expect(warmer.find('other', 'job151')).toMatchObject({ state: 'ended' })
  })

  it('without a number is over at once', async () => {
    const { warmer, time } = openWarmer()
    const { id } = warmer.start(request({ numbers: [] }))
    await time.settle()
    expect(warmer.find('main', id)).toMatchObject({ state: 'ended', done: 0, numbers: 0 })
  })

  it('leaves no timer when the warmer is closed, whatever it was doing', async () => {
    for (const ms of [undefined, 0, 50, 200, 2_000]) {
      const { warmer, time } = openWarmer({ warmUp: async () => 'unanswered' })
      warmer.start(request({ numbers: numbersOf(5_000) }))
      warmer.start(request({ numbers: numbersOf(5_000) }))
      await (ms === undefined ? time.settle() : time.advance(ms))
      warmer.close()
      await time.settle()
      expect(time.waiting()).toBe(0)
    }
  })
})

describe('too much', () => {
  const refusalOf = (work: () => unknown): unknown => {
    try {
      work()
    } catch (error) {
      if (error instanceof AppError) return `${error.kind}: ${error.message}`
      throw error
    }
    return 'accepted'
  }

  const startOf = (warmer: Warmer, accountId: string, count: number) =>
    refusalOf(() => warmer.start(request({ accountId, numbers: numbersOf(count) })))

  it('is more numbers in the jobs of an account than can be kept', () => {
    const { warmer } = openWarmer({ maxNumbers: 10 })
    expect(startOf(warmer, 'main', 11)).toBe(
      "invalid-request: numbers '11 numbers': must be at most 10: 10 can be kept warm at once " +
        '(gate.cache.maxEntries)',
    )
    expect(startOf(warmer, 'main', 7)).toBe('accepted')
    expect(startOf(warmer, 'main', 4)).toBe(
      "invalid-request: numbers '4 numbers': must be at most 3: 10 can be kept warm at once " +
        '(gate.cache.maxEntries), and other jobs of the account have 7',
    )
    expect(startOf(warmer, 'main', 3)).toBe('accepted')
    warmer.close()
  })

  it('is more than there is room for, which does not tell what other accounts have', () => {
    const { warmer } = openWarmer({ maxNumbers: 10 })
    expect(startOf(warmer, 'other', 7)).toBe('accepted')
    expect(startOf(warmer, 'main', 4)).toBe(
      "not-available: numbers '4 numbers': exceed the free capacity " +
        '(gate.cache.maxEntries); send fewer, or try again later',
    )
    expect(startOf(warmer, 'main', 3)).toBe('accepted')
    warmer.close()
  })

  it('is more than sixteen jobs of one account at once', async () => {
    const { warmer } = openWarmer()
    const ids = Array.from({ length: 16 }, () => warmer.start(request()).id)
    expect(refusalOf(() => warmer.start(request()))).toMatch(/16 jobs of the account are running/)
    expect(refusalOf(() => warmer.start(request({ accountId: 'other' })))).toBe('accepted')
    warmer.stop('main', ids[0] ?? '')
    expect(refusalOf(() => warmer.start(request()))).toBe('accepted')
    warmer.close()
  })

  it('is any number when the cache is off', () => {
    const nothings = [
      { maxNumbers: 0 },
      { cache: { ...cache, allowMs: 0 } },
      { cache: { ...cache, blockMs: 0 } },
    ]
    for (const nothing of nothings) {
      const { warmer } = openWarmer(nothing)
      expect(refusalOf(() => warmer.start(request()))).toMatch(/^not-available: gate\.cache/)
    }
  })
})
