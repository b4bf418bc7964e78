/** What stands in while the source is silent: which old answers are given, for how long, and to whom. */
import { describe, expect, it } from 'vitest'
import type {
  Answer,
  AnswerSuccess,
  CallRow,
  LitigatorStatus,
  MaybePromise,
  Question,
} from '../../../src/domain/compliance.js'
import type { CallKind } from '../../../src/domain/decision.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import { answered, cleanRow, unanswered } from '../../support/fake-compliance.js'
import { quoted } from '../../support/said.js'
import { allowMs, blockMs, justNow, openCached } from './cached-compliance-fixture.js'

const number = toPhoneNumber('2125550100')
const question: Question = { accountId: 'main', number }
const minute = 60_000
const staleForMs = 10 * minute
const circuitOpen = unanswered('circuit-open')

type Litigator = Answer<LitigatorStatus>

const permitting = (more: Partial<AnswerSuccess<LitigatorStatus>> = {}) =>
  answered({ isLitigator: false }, { ...justNow, ...more })
const forbidding = (more: Partial<AnswerSuccess<LitigatorStatus>> = {}) =>
  answered({ isLitigator: true }, { ...justNow, ...more })

describe('an answer past its age, while the source does not answer,', () => {
  /** First answer, how much later it is asked again, and whether the old answer is given then. */
  const cases: readonly (readonly [string, Litigator, number, boolean])[] = [
    ['permits just after its age', permitting(), allowMs, true],
    ['permits to the end of the time policy gives', permitting(), allowMs + staleForMs - 1, true],
    ['permits no longer than that', permitting(), allowMs + staleForMs, false],
    ['forbids just after its age', forbidding(), blockMs, true],
    ['forbids however old it is', forbidding(), 1_000 * blockMs, true],
  ]
  for (const [name, first, laterMs, isGiven] of cases) {
    it(name, async () => {
      let now: Litigator = first
      const { cached, time, seen } = openCached(
        { litigator: () => now },
        { staleForMs: { litigator: staleForMs } },
      )
      await cached.litigator(question)
      now = unanswered('circuit-open')
      await time.advance(laterMs)
      const given = await cached.litigator(question)
      const old = { ...first, notRenewed: circuitOpen.says }
      expect(given).toEqual(isGiven ? old : now)
      expect(seen).toEqual([
        'litigator miss',
        'litigator expired',
        ...(isGiven ? ['litigator stale'] : []),
      ])
    })
  }

  for (const [name, make] of [
    ['permits', permitting],
    ['forbids', forbidding],
  ] as const) {
    it(`${name} never at or past the instant it holds until`, async () => {
      const holds = openCached({}).time.now() + 2 * minute
      let now: Litigator = make({ holdsUntil: holds })
      const { cached, time } = openCached(
        { litigator: () => now },
        { settings: { allowMs: minute, blockMs: minute }, staleForMs: { litigator: staleForMs } },
      )
      await cached.litigator(question)
      now = unanswered()
      await time.advance(2 * minute - 1)
      expect(await cached.litigator(question)).toMatchObject({ ok: true })
      await time.advance(1)
      expect(await cached.litigator(question)).toEqual(now)
    })
  }

  it('does not permit by a clock that was set back, and still forbids', async () => {
    const results = []
    for (const make of [permitting, forbidding]) {
      let now: Litigator = make()
      let shiftMs = 0
      const { cached, time } = openCached(
        { litigator: () => now },
        {
          staleForMs: { litigator: staleForMs },
          clockOf: (clock) => ({ now: () => clock.now() + shiftMs }),
        },
      )
      await cached.litigator(question)
      now = unanswered()
      shiftMs = -1
      await time.settle()
      results.push((await cached.litigator(question)).ok)
    }
    expect(results).toEqual([false, true])
  })

  it('is not given to a number that has changed since', async () => {
    let now: Litigator = forbidding()
    const { cached, time } = openCached({ litigator: () => now })
    await cached.litigator(question)
    now = unanswered()
    await time.advance(blockMs)
    cached.numbersChanged('main', [number])
    expect(await cached.litigator(question)).toEqual(now)
  })

  it('is not cached again: it keeps aging, and the source is asked every time', async () => {
    let now: Litigator = permitting()
    const { cached, time, source } = openCached(
      { litigator: () => now },
      { staleForMs: { litigator: 2_000 } },
    )
    await cached.litigator(question)
    now = unanswered()
    await time.advance(allowMs)
    const answers = []
    for (let second = 0; second < 3; second += 1) {
      answers.push((await cached.litigator(question)).ok)
      await time.advance(1_000)
    }
    expect(answers).toEqual([true, true, false])
    expect(source.asked).toHaveLength(4)
  })

  it('gives way to the source as soon as that answers', async () => {
    const answers: Litigator[] = [forbidding(), unanswered(), permitting()]
    const { cached, time } = openCached({ litigator: () => answers.shift() ?? unanswered() })
    await cached.litigator(question)
    await time.advance(blockMs)
    expect(await cached.litigator(question)).toMatchObject({ value: { isLitigator: true } })
    const fresh = await cached.litigator(question)
    expect(fresh).toEqual(permitting())
  })
})

describe('an old scrub row that permits one kind of call', () => {
  const row: CallRow = {
    ...cleanRow,
    letter: 'W',
    allowed: { manual: true, autodialed: false, ai: false },
  }
  const cases: readonly (readonly [CallKind | undefined, boolean])[] = [
    ['manual', false],
    ['autodialed', true],
    ['ai', true],
    [undefined, false],
  ]
  for (const [callKind, isGiven] of cases) {
    it(`is ${isGiven ? '' : 'not '}given for a call of kind ${callKind ?? 'unknown'}`, async () => {
      let now: Answer<CallRow> = answered(row)
      const { cached, time } = openCached({ scrub: () => now })
      await cached.scrub(question)
      now = unanswered()
      await time.advance(allowMs)
      expect((await cached.scrub({ ...question, callKind })).ok).toBe(isGiven)
    })
  }
})

describe('a source that is silent for long', () => {
  const staleAfterMs = 1_000

  function silent(first: Litigator, sourceMs: number) {
    let now: () => MaybePromise<Litigator> = () => first
    const opened = openCached({ litigator: () => now() }, { staleAfterMs })
    const grow = async () => {
      await opened.cached.litigator(question)
      now = () =>
        new Promise((resolve) => {
          opened.time.after(sourceMs, () => resolve(permitting()))
        })
      await opened.time.advance(blockMs)
    }
    return { ...opened, grow }
  }

  it('is waited for a while only where an old answer may stand in', async () => {
    const { cached, time, grow } = silent(forbidding(), 5_000)
    await grow()
    let given: Litigator | undefined
    void Promise.resolve(cached.litigator(question)).then((asked) => {
      given = asked
    })
    await time.advance(staleAfterMs - 1)
    expect(given).toBeUndefined()
    await time.advance(1)
    expect(given).toEqual({
      ...forbidding(),
      notRenewed: [{ code: 'not-answered-within', params: { ms: 1000 } }],
    })
  })

  it('is waited for to its end where none may', async () => {
    const { cached, time, grow } = silent(permitting(), 5_000)
    await grow()
    let given: Litigator | undefined
    void Promise.resolve(cached.litigator(question)).then((asked) => {
      given = asked
    })
    await time.advance(4_999)
    expect(given).toBeUndefined()
    await time.advance(1)
    expect(given).toEqual(permitting())
  })

  it('fills the cache with its late answer', async () => {
    const { cached, time, grow, source } = silent(forbidding(), 5_000)
    await grow()
    void cached.litigator(question)
    await time.advance(5_000)
    expect(await cached.litigator(question)).toEqual(permitting())
    expect(source.asked).toHaveLength(2)
  })

  it('leaves no timer, whether it answers in time or late', async () => {
    for (const sourceMs of [10, 5_000]) {
      const { cached, time, grow } = silent(forbidding(), sourceMs)
      await grow()
      void cached.litigator(question)
      await time.advance(sourceMs)
      expect(time.waiting()).toBe(0)
    }
  })

  it('is not missed by who finds that another has had an answer meanwhile', async () => {
    const waiting: ((asked: Litigator) => void)[] = []
    let now: () => MaybePromise<Litigator> = () => forbidding()
    const { cached, time } = openCached({ litigator: () => now() })
    await cached.litigator(question)
    await time.advance(blockMs)
    now = () => new Promise((resolve) => waiting.push(resolve))
    const both = Promise.all([cached.litigator(question), cached.litigator(question)])
    waiting[1]?.(permitting())
    await time.settle()
    waiting[0]?.(unanswered())
    expect(await both).toEqual([permitting(), permitting()])
  })
})

describe('answers of several sources to one question', () => {
  it('are kept as long as the one that holds shortest', async () => {
    const { time } = openCached()
    const soon = time.now() + 1_000
    const {
      cached,
      source,
      time: own,
    } = openCached({
      litigator: () => permitting({ otherAnswers: [permitting({ holdsUntil: soon })] }),
    })
    await cached.litigator(question)
    await own.advance(999)
    await cached.litigator(question)
    expect(source.asked).toHaveLength(1)
    await own.advance(1)
    await cached.litigator(question)
    expect(source.asked).toHaveLength(2)
  })

  it('forbid when one of them does, and are cached that way', async () => {
    const { cached, source, time } = openCached({
      litigator: () => permitting({ otherAnswers: [forbidding()] }),
    })
    await cached.litigator(question)
    await time.advance(blockMs - 1)
    await cached.litigator(question)
    expect(source.asked).toHaveLength(1)
  })

  const half = permitting({ otherAnswers: [unanswered()] })

  it('are never kept when one is missing', async () => {
    const { cached, source } = openCached({ litigator: () => half })
    await cached.litigator(question)
    await cached.litigator(question)
    expect(source.asked).toHaveLength(2)
  })

  it('yield to a stale denial of one of them when the other is missing', async () => {
    const old = permitting({ otherAnswers: [forbidding({ source: 'second' })] })
    let now: Litigator = old
    const { cached, time } = openCached({ litigator: () => now })
    await cached.litigator(question)
    now = half
    await time.advance(blockMs)
    const { says: notRenewed } = unanswered('source-failed')
    expect(await cached.litigator(question)).toEqual(forbidding({ source: 'second', notRenewed }))
  })

  it('are given as they are when one is missing and another forbids', async () => {
    const now = [forbidding(), forbidding({ otherAnswers: [unanswered()] })]
    const { cached, time } = openCached({ litigator: () => now.shift() ?? unanswered() })
    await cached.litigator(question)
    await time.advance(blockMs)
    expect(await cached.litigator(question)).toEqual(forbidding({ otherAnswers: [unanswered()] }))
  })
})

describe('a no beside a silent other source', () => {
  const silent = unanswered('circuit-open')

  it('is asked about again, and no older yes stands in afterwards', async () => {
    let now: Litigator = permitting({ otherAnswers: [permitting({ source: 'second' })] })
    const { cached, time, source } = openCached(
      { litigator: () => now },
      { staleForMs: { litigator: staleForMs } },
    )
    await cached.litigator(question)
    await time.advance(allowMs + minute)
    now = forbidding({ otherAnswers: [silent] })
    expect(await cached.litigator(question)).toBe(now)
    expect(await cached.litigator(question)).toBe(now)
    expect(source.asked).toHaveLength(3)
    now = silent
    await time.advance(minute)
    expect(await cached.litigator(question)).toMatchObject({
      value: { isLitigator: true },
      notRenewed: circuitOpen.says,
    })
  })

  it('found by a refresh replaces the cached permitting answer', async () => {
    let now: Litigator = permitting()
    const { cached, time } = openCached(
      { litigator: () => now },
      { settings: { refreshAheadMs: minute } },
    )
    await cached.litigator(question)
    await time.advance(allowMs - minute)
    now = forbidding({ otherAnswers: [silent] })
    expect(await cached.litigator(question)).toMatchObject({ value: { isLitigator: false } })
    await time.settle()
    expect(await cached.litigator(question)).toBe(now)
  })

  it('of one kind of call ends the yes of that kind', async () => {
    const both = { ...cleanRow, allowed: { manual: true, autodialed: true, ai: true } }
    const noAi = { ...cleanRow, allowed: { manual: true, autodialed: true, ai: false } }
    let now: Answer<CallRow> = answered(both, { otherAnswers: [answered(both)] })
    const { cached, time } = openCached({ scrub: () => now }, { staleForMs: { scrub: staleForMs } })
    const asAi: Question = { ...question, callKind: 'ai' }
    await cached.scrub(asAi)
    await time.advance(allowMs + minute)
    now = answered(noAi, { otherAnswers: [silent] })
    await cached.scrub(asAi)
    now = silent
    expect(await cached.scrub(asAi)).toMatchObject({ value: noAi })
  })
})

describe('a known no of one source', () => {
  const listed = {
    ...cleanRow,
    letter: 'D',
    allowed: { manual: false, autodialed: false, ai: false },
  }
  const asManual: Question = { ...question, callKind: 'manual' }

  it('is not lifted by another’s answer while it is silent', async () => {
    const barred = answered(listed as CallRow, {
      ...justNow,
      otherAnswers: [answered(cleanRow, { ...justNow, source: 'second' })],
    })
    let now: Answer<CallRow> = barred
    const { cached, time } = openCached({ scrub: () => now })
    await cached.scrub(asManual)
    await time.advance(blockMs)
    now = answered(cleanRow, {
      ...justNow,
      source: 'second',
      otherAnswers: [unanswered('circuit-open')],
    })
    for (let times = 0; times < 2; times += 1) {
      expect(await cached.scrub(asManual)).toMatchObject({
        value: listed,
        notRenewed: circuitOpen.says,
      })
    }
  })

  it('is not lifted by one that stands in for it, and ends with its own newer answer', async () => {
    let now: Litigator = forbidding()
    const { cached, time } = openCached({ litigator: () => now })
    await cached.litigator(question)
    await time.advance(blockMs)
    now = permitting({ source: 'second', unavailablePrimary: { says: quoted('first is down') } })
    for (let times = 0; times < 2; times += 1) {
      expect(await cached.litigator(question)).toMatchObject({
        value: { isLitigator: true },
        notRenewed: quoted('first is down'),
      })
    }
    now = permitting()
    expect(await cached.litigator(question)).toBe(now)
  })

  it('counts from when it comes, also after the answer of one that stood in', async () => {
    const { cached, time, source, come } = openWithLatePrimary()
    expect(await cached.litigator(question)).toMatchObject({ source: 'second' })
    expect(await cached.litigator(question)).toMatchObject({ source: 'second' })
    come(forbidding())
    await time.settle()
    expect(await cached.litigator(question)).toEqual(forbidding())
    expect(source.asked).toHaveLength(1)
  })

  it('is not kept when the number changed before it came', async () => {
    const { cached, time, source, come } = openWithLatePrimary()
    await cached.litigator(question)
    cached.numbersChanged(question.accountId, [question.number])
    come(permitting({ source: 'first' }))
    await time.settle()
    expect(await cached.litigator(question)).toMatchObject({ source: 'second' })
    expect(source.asked).toHaveLength(2)
  })

  /** The second source answers, and the first when `come` is called. */
  function openWithLatePrimary() {
    let come: (answer: Litigator) => void = () => undefined
    const lateAnswer = new Promise<Litigator>((resolve) => {
      come = resolve
    })
    const now = permitting({
      source: 'second',
      unavailablePrimary: { says: quoted('slow'), lateAnswer },
    })
    return { ...openCached({ litigator: () => now }), come }
  }
})

it('a row of a restricted day is a no, whatever its flags say', async () => {
  let now: Answer<CallRow> = answered({ ...cleanRow, doNotCallToday: true }, justNow)
  const { cached, time } = openCached({ scrub: () => now })
  await cached.scrub({ ...question, callKind: 'manual' })
  await time.advance(2 * blockMs)
  now = unanswered()
  expect(await cached.scrub({ ...question, callKind: 'manual' })).toMatchObject({
    value: { doNotCallToday: true },
  })
})

it('an answer that was under way when it was asked for is as old as its request', async () => {
  const { cached, time, source } = openCached({
    litigator: () => permitting({ asOf: time.now() - 200_000 }),
  })
  await cached.litigator(question)
  await time.advance(allowMs - 200_000)
  await cached.litigator(question)
  expect(source.asked).toHaveLength(2)
})

describe('what one of two sources forbids', () => {
  const D: CallRow = {
    ...cleanRow,
    letter: 'D',
    allowed: { manual: false, autodialed: false, ai: false },
  }
  const asManual: Question = { ...question, callKind: 'manual' }
  const silent = unanswered('circuit-open')
  const minuteMs = 60_000

  /** Each answer is that of one source as of the moment it is given; the last stays. */
  function played() {
    let now: Answer<CallRow> = silent
    const { cached, time } = openCached({ scrub: () => now }, { staleForMs: { scrub: staleForMs } })
    const row = (source: string, value: CallRow, more: Partial<AnswerSuccess<CallRow>> = {}) =>
      answered(value, { source, asOf: time.now(), ...more })
    const ask = async (next: Answer<CallRow>, more: Partial<Question> = {}) => {
      now = next
      const asked = await cached.scrub({ ...asManual, ...more })
      if (!asked.ok) return asked.reason
      return `${asked.source} ${asked.value.letter}${asked.notRenewed ? ' stale' : ''}`
    }
    const warmUp = async (next: Answer<CallRow>) => {
      now = next
      await cached.warmUp(asManual, minuteMs)
    }
    return { time, row, ask, warmUp }
  }
  const because = { unavailablePrimary: { says: quoted('first is down') } }

  it('is kept when the fallback source forbids for another reason', async () => {
    const { time, row, ask } = played()
    expect(await ask(row('first', D))).toBe('first D')
    await time.advance(blockMs)
    const atNight = { ...cleanRow, allowed: D.allowed }
    const end = { holdsUntil: time.now() + minuteMs }
    expect(await ask(row('second', atNight, { ...because, ...end }))).toBe('second C')
    await time.advance(blockMs)
    expect(await ask(row('second', cleanRow, because))).toBe('first D stale')
    expect(await ask(silent)).toBe('first D stale')
    expect(await ask(row('first', cleanRow))).toBe('first C')
  })

  it('is kept when only the other source permits', async () => {
    const { time, row, ask } = played()
    await ask(row('first', cleanRow, { otherAnswers: [row('second', cleanRow)] }))
    await time.advance(allowMs)
    expect(await ask(row('second', D, { otherAnswers: [silent] }))).toBe('second D')
    expect(await ask(row('first', cleanRow, { otherAnswers: [silent] }))).toBe('second D stale')
    expect(await ask(silent)).toBe('second D stale')
    expect(await ask(row('second', cleanRow, { otherAnswers: [silent] }))).toBe('first C stale')
  })

  it('is not passed over by a whole answer that was asked for before it', async () => {
    const { time, row, ask } = played()
    const before = row('first', cleanRow, { otherAnswers: [row('second', cleanRow)] })
    await time.advance(5_000)
    await ask(row('first', D, { otherAnswers: [silent] }))
    expect(await ask(before)).toBe('first C')
    expect(await ask(silent)).toBe('first D stale')
  })

  it('counts for every postal code', async () => {
    const { row, ask } = played()
    await ask(row('first', D))
    expect(await ask(silent, { postalCode: '10001' })).toBe('first D stale')
  })

  it('is not assumed when a partial answer agrees with a complete permitting one', async () => {
    const { time, row, ask, warmUp } = played()
    await ask(row('first', cleanRow, { otherAnswers: [row('second', cleanRow)] }))
    await time.advance(allowMs - 1)
    await warmUp(row('first', cleanRow, { otherAnswers: [silent] }))
    expect(await ask(silent)).toBe('first C')
  })

  it('a stale permitting answer is not used for an invalid question', async () => {
    const { time, row, ask } = played()
    await ask(row('first', cleanRow))
    await time.advance(allowMs)
    expect(await ask(unanswered('bad-question'))).toBe('bad-question')
    expect(await ask(silent)).toBe('first C stale')
  })
})
