/** Asking anew ahead of an answer's end, and asking before anybody needs an answer. */
import { describe, expect, it } from 'vitest'
import type {
  Answer,
  LitigatorStatus,
  MaybePromise,
  Question,
} from '../../../src/domain/compliance.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import { answered, openHours, unanswered } from '../../support/fake-compliance.js'
import { allowMs, blockMs, justNow, openCached } from './cached-compliance-fixture.js'

const number = toPhoneNumber('2125550100')
const question: Question = { accountId: 'main', number }
const minute = 60_000

type Litigator = Answer<LitigatorStatus>
const permitting = (more = {}) => answered({ isLitigator: false }, { ...justNow, ...more })
const forbidding = (more = {}) => answered({ isLitigator: true }, { ...justNow, ...more })

/** A source that answers when the test says so. */
function held() {
  const waiting: ((asked: Litigator) => void)[] = []
  return {
    litigator: (): MaybePromise<Litigator> => new Promise((resolve) => waiting.push(resolve)),
    answer: (asked: Litigator) => waiting.shift()?.(asked),
  }
}

describe('refresh ahead', () => {
  /** How long answers live, how much ahead is asked, and the age from which a hit asks anew. */
  const cases: readonly (readonly [string, number, number, number])[] = [
    ['a minute before the end', 5 * minute, minute, 4 * minute],
    ['in the last quarter of a life shorter than twice the time ahead', 80_000, minute, minute],
    ['at least ten seconds after the last asking', 12_000, minute, 10_000],
  ]
  for (const [name, lifeMs, refreshAheadMs, fromMs] of cases) {
    it(`begins ${name}`, async () => {
      const { cached, source, time } = openCached(
        {},
        { settings: { allowMs: lifeMs, refreshAheadMs } },
      )
      await cached.litigator(question)
      await time.advance(fromMs - 1)
      await cached.litigator(question)
      expect(source.asked).toHaveLength(1)
      await time.advance(1)
      await cached.litigator(question)
      expect(source.asked).toHaveLength(2)
      await time.advance(lifeMs - 1)
      await cached.litigator(question)
      expect(source.asked).toHaveLength(3)
    })
  }

  it('never begins when it is switched off, nor for a life under ten seconds', async () => {
    for (const settings of [{ refreshAheadMs: 0 }, { refreshAheadMs: minute, allowMs: 10_000 }]) {
      const { cached, source, time } = openCached({}, { settings })
      await cached.litigator(question)
      await time.advance((settings.allowMs ?? allowMs) - 1)
      await cached.litigator(question)
      expect(source.asked).toHaveLength(1)
    }
  })

  it('never happens for an answer that expires before its maximum age', async () => {
    const { time: other } = openCached()
    const holdsUntil = other.now() + 2 * minute
    const { cached, source, time } = openCached(
      { litigator: () => permitting({ holdsUntil }) },
      { settings: { refreshAheadMs: minute } },
    )
    await cached.litigator(question)
    await time.advance(2 * minute - 1)
    await cached.litigator(question)
    expect(source.asked).toHaveLength(1)
  })

  const settings = { refreshAheadMs: minute }

  async function nearItsEnd() {
    const source = held()
    const opened = openCached({ litigator: source.litigator }, { settings })
    const first = opened.cached.litigator(question)
    source.answer(permitting())
    await first
    await opened.time.advance(allowMs - minute)
    return { ...opened, answer: source.answer }
  }

  it('gives the hit at once, and asks once however many ask', async () => {
    const { cached, source, seen } = await nearItsEnd()
    const hits = [1, 2, 3].map(() => cached.litigator(question))
    expect(hits).toEqual([permitting(), permitting(), permitting()])
    expect(source.asked).toHaveLength(2)
    expect(seen.slice(1)).toEqual([
      'litigator hit',
      'litigator refresh',
      'litigator hit',
      'litigator hit',
    ])
  })

  it('gives what it brought from then on', async () => {
    const { cached, time, answer } = await nearItsEnd()
    await cached.litigator(question)
    answer(forbidding())
    await time.settle()
    expect(await cached.litigator(question)).toEqual(forbidding())
  })

  it('changes nothing when it is not answered, and tries again after ten seconds', async () => {
    const { cached, source, time, answer } = await nearItsEnd()
    await cached.litigator(question)
    answer(unanswered())
    await time.advance(9_999)
    expect(await cached.litigator(question)).toEqual(permitting())
    expect(source.asked).toHaveLength(2)
    await time.advance(1)
    await cached.litigator(question)
    expect(source.asked).toHaveLength(3)
  })

  it('is one at a time, however long it takes', async () => {
    const { cached, source, time } = await nearItsEnd()
    await cached.litigator(question)
    await time.advance(20_000)
    await cached.litigator(question)
    expect(source.asked).toHaveLength(2)
  })

  it('is not kept when its number changed meanwhile', async () => {
    const { cached, source, time, answer } = await nearItsEnd()
    await cached.litigator(question)
    cached.numbersChanged('main', [number])
    answer(permitting())
    await time.settle()
    void cached.litigator(question)
    expect(source.asked).toHaveLength(3)
  })

  it('does no harm when the source throws', async () => {
    let isBroken = false
    const { cached, time } = openCached(
      {
        litigator: () => {
          if (isBroken) throw new Error('broken')
          return permitting()
        },
      },
      { settings },
    )
    await cached.litigator(question)
    isBroken = true
    await time.advance(allowMs - minute)
    expect(cached.litigator(question)).toEqual(permitting())
    await time.settle()
  })
})

describe('a slow answer', () => {
  it('is as old as its question', async () => {
    const { litigator, answer } = held()
    const { cached, source, time } = openCached({ litigator })
    const first = cached.litigator(question)
    await time.advance(20_000)
    answer(permitting())
    await first
    await time.advance(allowMs - 20_000 - 1)
    await cached.litigator(question)
    expect(source.asked).toHaveLength(1)
    await time.advance(1)
    void cached.litigator(question)
    expect(source.asked).toHaveLength(2)
  })

  it('does not replace one that was asked for later', async () => {
    const { litigator, answer } = held()
    const later: Litigator[] = []
    const { cached, time } = openCached({ litigator: () => later.shift() ?? litigator() })
    const slow = cached.litigator(question)
    await time.advance(1)
    later.push(forbidding())
    await cached.litigator(question)
    answer(permitting())
    expect(await slow).toEqual(permitting())
    expect(await cached.litigator(question)).toEqual(forbidding())
  })

  it('is kept although another number changed meanwhile', async () => {
    const { litigator, answer } = held()
    const { cached, source } = openCached({ litigator })
    const first = cached.litigator(question)
    cached.numbersChanged('main', [toPhoneNumber('2125550199')])
    cached.numbersChanged('other', [number])
    answer(permitting())
    await first
    await cached.litigator(question)
    expect(source.asked).toHaveLength(1)
  })
})

describe('a question in the background', () => {
  it('is answered from the cache and adds nothing to it', async () => {
    const { cached, source, time, seen } = openCached({}, { settings: { refreshAheadMs: minute } })
    const inBackground = { ...question, inBackground: true }
    await cached.scrub(inBackground)
    await cached.scrub(question)
    expect(seen).toEqual(['scrub miss', 'scrub miss'])
    await time.advance(allowMs - 1)
    await cached.scrub(inBackground)
    expect(seen.slice(2)).toEqual(['scrub hit'])
    await time.advance(1)
    await cached.scrub(inBackground)
    await cached.scrub(question)
    expect(seen.slice(3)).toEqual(['scrub expired', 'scrub expired'])
    expect(source.asked).toHaveLength(4)
  })
})

describe('warming a number', () => {
  const names = ['scrub', 'internalDnc', 'litigator', 'legalTime']

  it('asks all that is missing, and nothing twice', async () => {
    const { cached, source } = openCached()
    await cached.litigator(question)
    expect(await cached.warmUp(question, minute)).toBe('answered')
    expect(source.asked).toEqual(['litigator', 'scrub', 'internalDnc', 'legalTime'])
    expect(await cached.warmUp(question, minute)).toBe('fresh')
    expect(source.asked).toHaveLength(4)
  })

  it('marks the question, so that no call has to ask it', async () => {
    const questions: unknown[] = []
    const { cached, source, seen } = openCached()
    const scrub = source.scrub
    source.scrub = (asked) => {
      questions.push(asked)
      return scrub(asked)
    }
    await cached.warmUp(question, minute)
    expect(questions).toEqual([{ ...question, inBackground: true }])
    for (const name of names) {
      await cached[name as 'legalTime'](question)
    }
    expect(seen.filter((line) => line.endsWith('hit'))).toHaveLength(4)
  })

  it('asks again what would expire too early', async () => {
    const { cached, source, time } = openCached()
    await cached.warmUp(question, minute)
    await time.advance(allowMs - minute)
    expect(await cached.warmUp(question, minute)).toBe('fresh')
    await time.advance(1)
    expect(await cached.warmUp(question, minute)).toBe('answered')
    expect(source.asked).toHaveLength(8)
  })

  it('wants nothing to be fresh for longer than half its life', async () => {
    const { cached, time } = openCached()
    await cached.warmUp(question, 10 * blockMs)
    await time.advance(allowMs / 2)
    expect(await cached.warmUp(question, 10 * blockMs)).toBe('fresh')
    await time.advance(1)
    expect(await cached.warmUp(question, 10 * blockMs)).toBe('answered')
  })

  it('does not renew an answer with a short expiry before it has expired', async () => {
    const { time: other } = openCached()
    const holdsUntil = other.now() + minute
    const { cached, source, time } = openCached({
      legalTime: () => answered(openHours, { holdsUntil }),
    })
    await cached.warmUp(question, 5 * minute)
    await time.advance(minute - 1)
    await cached.warmUp(question, minute)
    expect(source.asked).toHaveLength(4)
    await time.advance(1)
    await cached.warmUp(question, minute)
    expect(source.asked.slice(4)).toEqual(['legalTime'])
  })

  it('is unanswered when one answer is missing, and asks only that again', async () => {
    let litigator: Litigator = unanswered()
    const { cached, source } = openCached({ litigator: () => litigator })
    expect(await cached.warmUp(question, minute)).toBe('unanswered')
    litigator = permitting()
    expect(await cached.warmUp(question, minute)).toBe('answered')
    expect(source.asked).toEqual([...names, 'litigator'])
  })

  it('asks once for all who warm it at the same time', async () => {
    const source = held()
    const { cached, source: fake, time } = openCached({ litigator: source.litigator })
    const both = Promise.all([cached.warmUp(question, minute), cached.warmUp(question, minute)])
    await time.settle()
    source.answer(permitting())
    expect(await both).toEqual(['answered', 'answered'])
    expect(fake.asked.filter((name) => name === 'litigator')).toHaveLength(1)
  })

  it('never happens without a cache', async () => {
    const { cached, source } = openCached({}, { settings: { maxEntries: 0 } })
    expect(await cached.warmUp(question, minute)).toBe('unanswered')
    expect(source.asked).toEqual([])
  })
})
