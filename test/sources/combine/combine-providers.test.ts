import { describe, expect, it } from 'vitest'
import type { Answer, AnswerFailure, Compliance, Question } from '../../../src/domain/compliance.js'
import { toPhoneNumber } from '../../../src/domain/phone-number.js'
import { combineProviders } from '../../../src/sources/combine/combine-providers.js'
import {
  answered,
  cleanRow,
  type FakeAnswers,
  fakeCompliance,
  openHours,
} from '../../support/fake-compliance.js'
import { quoted } from '../../support/said.js'
import { type VirtualTime, virtualTime } from '../../support/virtual-time.js'

const question: Question = { accountId: 'main', number: toPhoneNumber('2125550100') }

const names = ['scrub', 'internalDnc', 'litigator', 'legalTime'] as const
type Name = (typeof names)[number]

function ask(source: Compliance, name: Name, asked: Question = question) {
  return source[name](asked)
}

/** What a provider does with every question: `yes`, `no`, `refused`, each at once or `yes 700`. */
type Script = string

const yes = {
  scrub: cleanRow,
  internalDnc: { onList: false, addedAt: undefined },
  litigator: { isLitigator: false },
  legalTime: openHours,
}
const no = {
  scrub: {
    ...cleanRow,
    letter: 'D' as const,
    allowed: { manual: false, autodialed: false, ai: false },
  },
  internalDnc: { onList: true, addedAt: undefined },
  litigator: { isLitigator: true },
  legalTime: { ...openHours, permitted: false, secondsLeft: 0 },
}

function provider(source: string, script: Script, timers: VirtualTime) {
  const [what = '', afterMs] = script.split(' ')
  const silence = (): AnswerFailure => ({
    ok: false,
    reason: what as AnswerFailure['reason'],
    says: quoted(`says ${what}`),
    source,
  })
  const give = <T>(value: T | undefined): Answer<T> | Promise<Answer<T>> => {
    const asked = value === undefined ? silence() : answered(value, { source })
    if (afterMs === undefined) return asked
    return new Promise((resolve) => {
      if (afterMs !== 'never') timers.after(Number(afterMs), () => resolve(asked))
    })
  }
  const values: Partial<typeof yes> = what === 'yes' ? yes : what === 'no' ? no : {}
  const answers: FakeAnswers = {
    scrub: () => give(values.scrub),
    internalDnc: () => give(values.internalDnc),
    litigator: () => give(values.litigator),
    legalTime: () => give(values.legalTime),
  }
  return fakeCompliance(answers)
}

interface Case {
  readonly first: Script
  readonly second: Script
  /** Source, yes or no or why not, and `also` behind a plus; then when. */
  readonly gives: string
  /** Whether the second was asked by then. */
  readonly asksSecond: boolean
  readonly background?: boolean
}

function told(name: Name, asked: Answer<unknown>): string {
  if (!asked.ok) return `${asked.source} ${asked.reason}`
  const word = asked.value === yes[name] ? 'yes' : asked.value === no[name] ? 'no' : 'other'
  return [
    `${asked.source} ${word}`,
    ...(asked.otherAnswers ?? []).map((more) => told(name, more)),
  ].join(' + ')
}

async function play(mode: 'fallback' | 'any-no-blocks', name: Name, test: Case) {
  const timers = virtualTime()
  const [first, second] = [
    provider('first', test.first, timers),
    provider('second', test.second, timers),
  ]
  const source = combineProviders(first, second, {
    mode,
    fallbackAfterMs: 500,
    maxDenialWaitMs: 1_200,
    timers,
  })
  const asked = ask(source, name, { ...question, inBackground: test.background })
  let gives = asked instanceof Promise ? 'nothing' : `${told(name, asked)} at once`
  if (asked instanceof Promise) {
    void asked.then((answer) => {
      gives = `${told(name, answer)} after ${timers.monotonicMs()}`
    })
    await timers.advance(3_600_000)
  }
  const outcome = { gives, asksSecond: second.asked.length > 0 }
  expect(outcome).toEqual({ gives: test.gives, asksSecond: test.asksSecond })
  expect([first.asked.length, second.asked.length]).toEqual([1, test.asksSecond ? 1 : 0])
  expect(timers.waiting()).toBe(0)
}

const fallbacks: readonly Case[] = [
  { first: 'yes', second: 'no', gives: 'first yes at once', asksSecond: false },
  { first: 'no', second: 'yes', gives: 'first no at once', asksSecond: false },
  { first: 'yes 499', second: 'no', gives: 'first yes after 499', asksSecond: false },
  { first: 'yes 700', second: 'no 100', gives: 'second no after 600', asksSecond: true },
  { first: 'yes 700', second: 'no 300', gives: 'first yes after 700', asksSecond: true },
  { first: 'yes 700', second: 'no', gives: 'second no after 500', asksSecond: true },
  { first: 'yes 700', second: 'deadline 50', gives: 'first yes after 700', asksSecond: true },
  { first: 'yes 700', second: 'refused', gives: 'first yes after 700', asksSecond: true },
  { first: 'yes never', second: 'yes 600', gives: 'second yes after 1100', asksSecond: true },
  { first: 'circuit-open', second: 'yes', gives: 'second yes at once', asksSecond: true },
  { first: 'not-askable', second: 'yes 600', gives: 'second yes after 600', asksSecond: true },
  { first: 'rate-limited 20', second: 'no 5', gives: 'second no after 25', asksSecond: true },
  { first: 'deadline 3000', second: 'yes 600', gives: 'second yes after 1100', asksSecond: true },
  { first: 'deadline 700', second: 'yes 600', gives: 'second yes after 1100', asksSecond: true },
  {
    first: 'refused',
    second: 'deadline 9',
    asksSecond: true,
    gives: 'first+second refused after 9',
  },
  {
    first: 'deadline 3000',
    second: 'refused 9',
    asksSecond: true,
    gives: 'first+second deadline after 3000',
  },
  {
    first: 'not-askable',
    second: 'circuit-open',
    asksSecond: true,
    gives: 'first+second circuit-open at once',
  },
  {
    first: 'yes 9000',
    second: 'no',
    background: true,
    asksSecond: false,
    gives: 'first yes after 9000',
  },
  {
    first: 'deadline 9000',
    second: 'no 9',
    background: true,
    asksSecond: true,
    gives: 'second no after 9009',
  },
]

const bothAsked: readonly Case[] = [
  { first: 'yes', second: 'yes', gives: 'first yes + second yes at once', asksSecond: true },
  { first: 'yes', second: 'no', gives: 'first yes + second no at once', asksSecond: true },
  { first: 'no', second: 'yes', gives: 'first no + second yes at once', asksSecond: true },
  { first: 'yes 9', second: 'yes 7', gives: 'first yes + second yes after 9', asksSecond: true },
  { first: 'yes 7', second: 'no 900', gives: 'first yes + second no after 900', asksSecond: true },
  {
    first: 'yes',
    second: 'deadline 3000',
    asksSecond: true,
    gives: 'first yes + second deadline after 3000',
  },
  {
    first: 'circuit-open',
    second: 'yes',
    asksSecond: true,
    gives: 'second yes + first circuit-open at once',
  },
  {
    first: 'circuit-open',
    second: 'no 600',
    asksSecond: true,
    gives: 'second no + first circuit-open after 600',
  },
  {
    first: 'circuit-open',
    second: 'refused',
    asksSecond: true,
    gives: 'first+second circuit-open at once',
  },
  {
    first: 'yes 9000',
    second: 'yes 9',
    background: true,
    asksSecond: true,
    gives: 'first yes + second yes after 9000',
  },
]

/** An entry of the internal list may be lifted, so the other is waited for, but not for ever. */
const earlyNo: readonly (Case & { readonly list: string })[] = [
  {
    first: 'yes 900',
    second: 'no 7',
    gives: 'second no after 7',
    asksSecond: true,
    list: 'first yes + second no after 900',
  },
  {
    first: 'no',
    second: 'yes never',
    gives: 'first no after 0',
    asksSecond: true,
    list: 'first no + the other deadline after 1200',
  },
  {
    first: 'no 1100',
    second: 'yes never',
    gives: 'first no after 1100',
    asksSecond: true,
    list: 'first no + the other deadline after 1200',
  },
  {
    first: 'no 1400',
    second: 'yes never',
    gives: 'first no after 1400',
    asksSecond: true,
    list: 'first no + the other deadline after 1400',
  },
  {
    first: 'no',
    second: 'yes 400',
    gives: 'first no after 0',
    asksSecond: true,
    list: 'first no + second yes after 400',
  },
]

describe.each(names)('%s of two providers', (name) => {
  it.each(earlyNo)('any no blocks: $first, $second -> $gives or $list', (test) =>
    play('any-no-blocks', name, name === 'internalDnc' ? { ...test, gives: test.list } : test),
  )

  it.each(fallbacks)('fallback: $first, $second -> $gives', (test) => play('fallback', name, test))

  it.each(bothAsked)('any no blocks: $first, $second -> $gives', (test) =>
    play('any-no-blocks', name, test),
  )
})

describe('two providers', () => {
  it.each(['fallback', 'any-no-blocks'] as const)('%s: two silences name both', async (mode) => {
    const timers = virtualTime()
    const [first, second] = [
      provider('first', 'refused', timers),
      provider('second', 'deadline', timers),
    ]
    const source = combineProviders(first, second, {
      mode,
      fallbackAfterMs: 500,
      maxDenialWaitMs: 1_200,
      timers,
    })
    expect(await source.scrub(question)).toEqual({
      ok: false,
      reason: 'refused',
      says: [
        { code: 'source-failed', source: 'first', quote: 'says refused' },
        { code: 'source-failed', source: 'second', quote: 'says deadline' },
      ],
      source: 'first+second',
    })
  })

  it('each keeps its own age and end', async () => {
    const of = (source: string, asOf: number, holdsUntil: number) =>
      fakeCompliance({ scrub: () => answered(cleanRow, { source, asOf, holdsUntil }) })
    const source = combineProviders(of('first', 5, 100), of('second', 7, 90), {
      mode: 'any-no-blocks',
      fallbackAfterMs: 500,
      maxDenialWaitMs: 1_200,
      timers: virtualTime(),
    })
    expect(await source.scrub(question)).toMatchObject({
      source: 'first',
      asOf: 5,
      holdsUntil: 100,
      otherAnswers: [{ source: 'second', asOf: 7, holdsUntil: 90 }],
    })
  })

  it('any no blocks: a row that permits some kind of call waits for the other', async () => {
    const timers = virtualTime()
    const manualOnly = {
      ...cleanRow,
      allowed: { manual: true, autodialed: false, ai: false },
    }
    const first = fakeCompliance({ scrub: () => answered(manualOnly, { source: 'first' }) })
    const second = provider('second', 'no 800', timers)
    const source = combineProviders(first, second, {
      mode: 'any-no-blocks',
      fallbackAfterMs: 500,
      maxDenialWaitMs: 1_200,
      timers,
    })
    const asked = source.scrub(question)
    await timers.advance(800)
    expect(await asked).toMatchObject({
      source: 'first',
      value: manualOnly,
      otherAnswers: [{ source: 'second', value: no.scrub }],
    })
  })

  it('any no blocks: a row that bars this kind of call does not wait for ever', async () => {
    const timers = virtualTime()
    const manualOnly = { ...cleanRow, allowed: { manual: true, autodialed: false, ai: false } }
    const first = fakeCompliance({ scrub: () => answered(manualOnly, { source: 'first' }) })
    const second = provider('second', 'yes never', timers)
    const source = combineProviders(first, second, {
      mode: 'any-no-blocks',
      fallbackAfterMs: 500,
      maxDenialWaitMs: 1_200,
      timers,
    })
    const barred = source.scrub({ ...question, callKind: 'ai' })
    let manual: unknown
    void Promise.resolve(source.scrub({ ...question, callKind: 'manual' })).then((asked) => {
      manual = asked
    })
    await timers.advance(1_200)
    expect(await barred).toMatchObject({
      source: 'first',
      value: manualOnly,
      otherAnswers: [{ ok: false, reason: 'deadline' }],
    })
    await timers.advance(5_000)
    expect(manual).toBeUndefined()
  })

  it('the question goes to both as it was asked', async () => {
    const seen: Question[] = []
    const noting = (source: string): Compliance => ({
      ...fakeCompliance(),
      scrub: (asked) => {
        seen.push(asked)
        return { ok: false, reason: 'deadline', says: quoted('late'), source }
      },
    })
    const asked = { ...question, projectId: 'P', postalCode: '10001', at: 5, inBackground: true }
    for (const mode of ['fallback', 'any-no-blocks'] as const) {
      const options = { mode, fallbackAfterMs: 500, maxDenialWaitMs: 1_200, timers: virtualTime() }
      await combineProviders(noting('first'), noting('second'), options).scrub(asked)
    }
    expect(seen).toEqual([asked, asked, asked, asked])
  })

  it('fallback: an answer of the second tells why, and where that of the first will be', async () => {
    const timers = virtualTime()
    const options = {
      mode: 'fallback',
      fallbackAfterMs: 500,
      maxDenialWaitMs: 1_200,
      timers,
    } as const
    const slow = combineProviders(
      provider('first', 'no 700', timers),
      provider('second', 'yes', timers),
      {
        ...options,
      },
    ).litigator(question)
    await timers.advance(500)
    const given = await slow
    expect(given).toMatchObject({ source: 'second' })
    const { unavailablePrimary } = given.ok ? given : {}
    expect(unavailablePrimary?.says).toEqual([{ code: 'not-answered-within', params: { ms: 500 } }])
    await timers.advance(200)
    expect(await unavailablePrimary?.lateAnswer).toMatchObject({
      source: 'first',
      value: no.litigator,
    })
    const silent = combineProviders(
      provider('first', 'circuit-open', timers),
      provider('second', 'yes', timers),
      options,
    )
    expect(await silent.litigator(question)).toMatchObject({
      source: 'second',
      unavailablePrimary: { says: quoted('says circuit-open') },
    })
  })

  it('fallback: a first that breaks its word leaves no timer', async () => {
    const timers = virtualTime()
    const broken = fakeCompliance({ scrub: () => Promise.reject(new Error('broken')) })
    const options = {
      mode: 'fallback',
      fallbackAfterMs: 500,
      maxDenialWaitMs: 1_200,
      timers,
    } as const
    const source = combineProviders(broken, fakeCompliance(), options)
    await expect(source.scrub(question)).rejects.toThrow('broken')
    expect(timers.waiting()).toBe(0)
  })
})
