import { describe, expect, it } from 'vitest'
import type { Compliance, Question } from '../../../src/domain/compliance.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import type { Clock, Timers } from '../../../src/domain/time/clock.js'
import { systemTimers } from '../../../src/runtime/runtime.js'
import type { CacheSettings } from '../../../src/sources/cache/cache-entry.js'
import { CachedCompliance } from '../../../src/sources/cache/cached-compliance.js'
import {
  answered,
  cleanRow,
  type FakeAnswers,
  fakeCompliance,
  noon,
  openHours,
  unanswered,
} from '../../support/fake-compliance.js'
import { virtualTime } from '../../support/virtual-time.js'

const number = toPhoneNumber('2125550100')
const question: Question = { accountId: 'main', number }

const usual: CacheSettings = {
  maxEntries: 100,
  allowMs: 300_000,
  blockMs: 3_600_000,
  refreshAheadMs: 0,
}

function setUp(
  answers: Partial<FakeAnswers> = {},
  settings: Partial<CacheSettings> = {},
  timers: Timers = systemTimers,
) {
  const seen: string[] = []
  const clock: Clock & { at: number } = {
    at: noon,
    now() {
      return this.at
    },
  }
  const source = fakeCompliance(answers)
  const cached = new CachedCompliance(source, {
    settings: { ...usual, ...settings },
    staleForMs: { scrub: 0, 'internal-dnc': 0, litigator: 0, 'legal-time': 0 },
    staleAfterMs: Number.POSITIVE_INFINITY,
    timers,
    clock,
    observer: {
      countLookups: (name) => (result) => void seen.push(`${name} ${result}`),
      onAnswer: () => undefined,
    },
  })
  return { cached, source, clock, seen }
}

const each: readonly (readonly [string, (compliance: Compliance, asked: Question) => unknown])[] = [
  ['scrub', (compliance, asked) => compliance.scrub(asked)],
  ['internalDnc', (compliance, asked) => compliance.internalDnc(asked)],
  ['litigator', (compliance, asked) => compliance.litigator(asked)],
  ['legalTime', (compliance, asked) => compliance.legalTime(asked)],
]

describe('kept answers', () => {
  for (const [name, ask] of each) {
    it(`${name} is asked once while its answer is fresh, then again`, async () => {
      const { cached, source, clock } = setUp()
      const first = await ask(cached, question)
      clock.at += 299_999
      expect(await ask(cached, question)).toBe(first)
      clock.at += 1
      await ask(cached, question)
      expect(source.asked).toEqual([name, name])
    })

    it(`${name} is never served at or past the instant it holds until`, async () => {
      const short = { holdsUntil: noon + 1_000 }
      const { cached, source, clock } = setUp({
        scrub: () => answered(cleanRow, short),
        internalDnc: () => answered({ onList: false, addedAt: undefined }, short),
        litigator: () => answered({ isLitigator: false }, short),
        legalTime: () => answered(openHours, short),
      })
      await ask(cached, question)
      clock.at += 999
      await ask(cached, question)
      expect(source.asked).toHaveLength(1)
      clock.at += 1
      await ask(cached, question)
      expect(source.asked).toHaveLength(2)
    })

    it(`${name} is kept for exactly what was asked, and by number and account`, async () => {
      const { cached, source } = setUp()
      const others: readonly Question[] = [
        question,
        { ...question, accountId: 'other' },
        { ...question, number: toPhoneNumber('2125550101') },
        { ...question, projectId: 'P1' },
        { ...question, campaignId: 'P1' },
        { ...question, projectId: 'P1', campaignId: 'C1' },
        { ...question, projectId: 'P1', campaignId: 'C2' },
      ]
      for (const one of [...others, ...others]) await ask(cached, one)
      expect(source.asked).toHaveLength(others.length)
      // Only a row depends on the place: no provider has hours by a postal code.
      const placed = { ...question, postalCode: '10001' }
      for (const one of [placed, placed]) await ask(cached, one)
      expect(source.asked).toHaveLength(others.length + (name === 'scrub' ? 1 : 0))
    })

    it(`${name} is not made young by a clock that was set back`, async () => {
      const timers = virtualTime()
      const { cached, source, clock } = setUp({}, {}, timers)
      clock.at += 3_600_000
      await ask(cached, question)
      clock.at -= 3_600_000
      await timers.advance(3_600_000)
      clock.at += 3_600_000
      await ask(cached, question)
      expect(source.asked).toHaveLength(2)
    })

    it(`${name} is dropped when its number changes, and only then`, async () => {
      const { cached, source } = setUp()
      await ask(cached, question)
      cached.numbersChanged('main', [toPhoneNumber('2125550199')])
      cached.numbersChanged('other', [number])
      await ask(cached, question)
      expect(source.asked).toHaveLength(1)
      cached.numbersChanged('main', [number])
      await ask(cached, question)
      expect(source.asked).toHaveLength(2)
      cached.everythingChanged()
      await ask(cached, question)
      expect(source.asked).toHaveLength(3)
    })

    it(`${name} is never kept when it could not be answered`, async () => {
      const none = () => unanswered()
      const { cached, source } = setUp({
        scrub: none,
        internalDnc: none,
        litigator: none,
        legalTime: none,
      })
      await ask(cached, question)
      await ask(cached, question)
      expect(source.asked).toHaveLength(2)
    })

    it(`${name} of a what-if goes straight through`, async () => {
      const { cached, source, seen } = setUp()
      await ask(cached, { ...question, at: noon })
      await ask(cached, { ...question, at: noon })
      expect(source.asked).toHaveLength(2)
      expect(seen.every((line) => line.endsWith('bypass'))).toBe(true)
    })
  }

  it('forbidding answers are kept for longer than permitting ones', async () => {
    const { cached, source, clock } = setUp({
      litigator: () => answered({ isLitigator: true }),
    })
    await cached.litigator(question)
    clock.at += 3_599_999
    await cached.litigator(question)
    expect(source.asked).toHaveLength(1)
  })

  it('an answer under way while its number changes is not kept', async () => {
    let release: (() => void) | undefined
    const held = new Promise<void>((resume) => {
      release = resume
    })
    const { cached, source } = setUp({
      internalDnc: async () => {
        await held
        return answered({ onList: false, addedAt: undefined })
      },
    })
    const early = cached.internalDnc(question)
    cached.numbersChanged('main', [number])
    release?.()
    await early
    await cached.internalDnc(question)
    expect(source.asked).toHaveLength(2)
  })

  it('an answer is not served to a clock that was set back, and gives way to a new one', async () => {
    const { cached, source, clock } = setUp()
    await cached.legalTime(question)
    clock.at -= 1
    await cached.legalTime(question)
    expect(source.asked).toHaveLength(2)
    await cached.legalTime(question)
    expect(source.asked).toHaveLength(2)
  })

  it('made-up postal codes do not pile up', async () => {
    const { cached, source } = setUp()
    for (let code = 0; code < 1_000; code += 1) {
      await cached.scrub({ ...question, postalCode: String(10_000 + code) })
    }
    await cached.scrub({ ...question, postalCode: '10000' })
    expect(source.asked).toHaveLength(1_001)
  })

  it('nothing is kept when the size is 0', async () => {
    const { cached, source } = setUp({}, { maxEntries: 0 })
    await cached.scrub(question)
    await cached.scrub(question)
    expect(source.asked).toHaveLength(2)
  })
})
