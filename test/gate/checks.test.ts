/** What a rule makes of the answers of a provider: of one source or several, of old ones and of silence. */
import { describe, expect, it } from 'vitest'
import type {
  Answer,
  CallRow,
  LegalTime,
  LitigatorStatus,
  ResultLetter,
} from '../../src/domain/compliance.js'
import type { Finding } from '../../src/domain/decision.js'
import { describeFinding } from '../../src/gate/record/describe-decision.js'
import { answered, cleanRow, noon, openHours } from '../support/fake-compliance.js'
import { quoted } from '../support/said.js'
import { from, judgeAnswers, silent } from './judged-answers.js'

const clear = { isLitigator: false }
const listed = { isLitigator: true }
const clean = [{ code: 'no-litigator' }] as const
const version = (name: string) => ({ name, version: '1', asOf: noon })
const named = (name: string, status: LitigatorStatus): LitigatorStatus => ({
  ...status,
  list: version(name),
})

describe('the litigator check over several sources', () => {
  const cases: readonly (readonly [string, Answer<LitigatorStatus>, Partial<Finding>])[] = [
    ['one, clear', from('a', clear), { verdict: 'pass', source: 'a', says: clean }],
    [
      'one, beside an empty list of others',
      from('a', clear, { otherAnswers: [] }),
      { verdict: 'pass', source: 'a', says: clean },
    ],
    [
      'both clear',
      from('a', clear, { otherAnswers: [from('b', clear)] }),
      { verdict: 'pass', source: 'a, b', says: clean },
    ],
    [
      'the second lists',
      from('a', clear, { otherAnswers: [from('b', listed)] }),
      { verdict: 'deny', reason: 'litigator', source: 'b' },
    ],
    [
      'the first lists, the second is silent',
      from('a', listed, { otherAnswers: [silent('b')] }),
      { verdict: 'deny', reason: 'litigator', source: 'a' },
    ],
    [
      'the second is silent',
      from('a', clear, { otherAnswers: [silent('b')] }),
      {
        ...{ verdict: 'unknown', reason: 'check-unanswered', source: 'b' },
        says: [{ code: 'circuit-open', quote: 'fake circuit-open' }],
      },
    ],
    [
      'two are silent, one for want of a list',
      from('a', clear, { otherAnswers: [silent('b'), silent('c', 'list-missing')] }),
      { verdict: 'unknown', reason: 'list-missing', source: 'c' },
    ],
    [
      'two are silent, one for a list that is too old',
      from('a', clear, { otherAnswers: [silent('b', 'list-missing'), silent('c', 'list-stale')] }),
      { verdict: 'unknown', reason: 'list-stale', source: 'c', isRequestError: false },
    ],
    [
      'a list that cannot be used',
      silent('a', 'list-unusable'),
      { verdict: 'unknown', reason: 'list-unreadable' },
    ],
    [
      'clear by two lists, both are named',
      from('a', named('x', clear), {
        otherAnswers: [from('b', named('y', clear)), from('c', clear)],
      }),
      { verdict: 'pass', lists: [version('x'), version('y')] },
    ],
    [
      'listed by one of two lists, that one is named',
      from('a', named('x', clear), { otherAnswers: [from('b', named('y', listed))] }),
      { verdict: 'deny', lists: [version('y')] },
    ],
    ['no list is told of', from('a', clear), { verdict: 'pass', lists: undefined }],
    [
      'one that came along with another lists',
      from('a', clear, { otherAnswers: [from('b', clear, { otherAnswers: [from('c', listed)] })] }),
      { verdict: 'deny', reason: 'litigator', source: 'c' },
    ],
    [
      'the same source twice',
      from('a', clear, { otherAnswers: [from('a', clear)] }),
      { verdict: 'pass', source: 'a' },
    ],
  ]
  it.each(cases)('%s', async (_, asked, expected) => {
    expect(await judgeAnswers('litigator', { litigator: () => asked })).toMatchObject(expected)
  })

  it('a pass is as old as the oldest answer and holds as long as each does', async () => {
    const first = from('a', clear, { asOf: noon - 1_000, holdsUntil: noon + 9_000 })
    const second = from('b', clear, { asOf: noon - 5_000, holdsUntil: noon + 60_000 })
    for (const asked of [
      { ...first, otherAnswers: [second] },
      { ...second, otherAnswers: [first] },
    ]) {
      const finding = await judgeAnswers('litigator', { litigator: () => asked })
      expect(finding).toMatchObject({ asOf: noon - 5_000, holdsUntil: noon + 9_000 })
    }
  })

  it('a deny is as old as the answer that denies', async () => {
    const otherAnswers = [from('b', listed, { asOf: noon - 7, holdsUntil: noon + 7 })]
    const asked = from('a', clear, { asOf: noon - 5_000, otherAnswers })
    const finding = await judgeAnswers('litigator', { litigator: () => asked })
    expect(finding).toMatchObject({ asOf: noon - 7, holdsUntil: noon + 7 })
  })
})

describe('answers past their age', () => {
  const why = quoted('circuit open')
  const late = [{ code: 'deadline', quote: 'too late' }] as const
  const old = { asOf: noon - 340_400, notRenewed: why }
  const noneNewer = (by: string) => `${by} gives no newer answer: the source failed: circuit open`
  const cleanText = 'not on the litigator list'
  const cases: readonly (readonly [string, Answer<LitigatorStatus>, Partial<Finding>, string])[] = [
    [
      'one that permits',
      from('a', clear, old),
      { verdict: 'pass', notRenewed: why, says: clean },
      `${cleanText}; ${noneNewer('a')}`,
    ],
    [
      'one that forbids',
      from('a', listed, old),
      { verdict: 'deny', notRenewed: why, says: [{ code: 'litigator' }] },
      `linked to a known TCPA litigator; ${noneNewer('a')}`,
    ],
    [
      'a fresh one beside an old one',
      from('a', clear, { otherAnswers: [from('b', clear, old)] }),
      { verdict: 'pass', notRenewed: why, says: clean },
      `${cleanText}; ${noneNewer('b')}`,
    ],
    [
      'two old ones',
      from('a', clear, {
        ...old,
        otherAnswers: [from('b', clear, { ...old, notRenewed: late })],
      }),
      { verdict: 'pass', notRenewed: [...why, ...late], says: clean },
      `${cleanText}; ${noneNewer('a')}; b gives no newer answer: no answer in time: too late`,
    ],
    [
      'a deny that does not rest on the old one',
      from('a', clear, { ...old, otherAnswers: [from('b', listed)] }),
      { verdict: 'deny', source: 'b', notRenewed: undefined },
      'linked to a known TCPA litigator',
    ],
    [
      'an old one made later than it is used, by a clock that was set back',
      from('a', clear, { ...old, asOf: noon + 5_000 }),
      { says: clean, notRenewed: why },
      `${cleanText}; ${noneNewer('a')}`,
    ],
  ]
  it.each(cases)('%s', async (_, asked, expected, text) => {
    const finding = await judgeAnswers('litigator', { litigator: () => asked })
    expect({ notRenewed: undefined, ...finding }).toMatchObject(expected)
    expect(describeFinding(finding)).toBe(text)
  })

  it('a fresh finding says nothing of age', async () => {
    const finding = await judgeAnswers('litigator', { litigator: () => from('a', clear) })
    expect(finding.notRenewed).toBeUndefined()
    expect(describeFinding(finding)).toBe('not on the litigator list')
  })
})

describe('the permission check over several sources', () => {
  const none = { manual: false, autodialed: false, ai: false }
  const row = (letter: ResultLetter, more: Partial<CallRow> = {}): CallRow => ({
    ...cleanRow,
    letter,
    ...more,
  })
  const cases: readonly (readonly [string, Answer<CallRow>, Partial<Finding>])[] = [
    [
      'different letters that both permit are both told',
      from('a', row('C'), { otherAnswers: [from('b', row('W'))] }),
      {
        verdict: 'pass',
        says: [
          { code: 'scrub-letter', params: { letter: 'C' }, source: 'a' },
          { code: 'scrub-letter', params: { letter: 'W' }, source: 'b' },
        ],
      },
    ],
    [
      'of two denies the reason that ranks highest',
      from('a', row('B', { allowed: none }), {
        otherAnswers: [
          from('b', row('D', { allowed: none, reason: 'Litigator', listedOn: 'litigator' })),
          from('c', row('I', { allowed: none })),
        ],
      }),
      { verdict: 'deny', reason: 'litigator', source: 'b' },
    ],
    [
      'no list covers it',
      from('a', row('B', { allowed: none })),
      {
        verdict: 'deny',
        reason: 'list-not-covering',
        says: [{ code: 'scrub-letter', params: { letter: 'B' } }],
      },
    ],
    [
      'the list that covers it is too old',
      from('a', row('B', { allowed: none, listProblem: 'stale', says: quoted('45 days old') })),
      {
        verdict: 'deny',
        reason: 'list-stale',
        says: [
          { code: 'scrub-letter', params: { letter: 'B', problem: 'stale' } },
          ...quoted('45 days old'),
        ],
      },
    ],
    [
      'the list that covers it cannot be read',
      from('a', row('B', { allowed: none, listProblem: 'unreadable', says: quoted('EMFILE') })),
      {
        verdict: 'deny',
        reason: 'list-unreadable',
        says: [
          { code: 'scrub-letter', params: { letter: 'B', problem: 'unreadable' } },
          ...quoted('EMFILE'),
        ],
      },
    ],
    [
      'a pass names the lists it rests on',
      from('a', row('C', { lists: [version('x'), version('y')] })),
      { verdict: 'pass', lists: [version('x'), version('y')] },
    ],
    [
      'so does each deny',
      from('a', row('D', { allowed: none, lists: [version('x')] })),
      { verdict: 'deny', lists: [version('x')] },
    ],
    [
      'also one of the hour',
      from('a', row('C', { allowed: none, lists: [version('x')] })),
      { reason: 'outside-calling-hours', lists: [version('x')] },
    ],
    [
      'and one of the day',
      from('a', row('C', { doNotCallToday: true, lists: [version('x')] })),
      { reason: 'restricted-day', lists: [version('x')] },
    ],
    [
      'of two denies with one reason the first',
      from('a', row('I', { allowed: none }), {
        otherAnswers: [from('b', row('I', { allowed: none }))],
      }),
      { verdict: 'deny', reason: 'unknown-prefix', source: 'a' },
    ],
  ]
  it.each(cases)('%s', async (_, asked, expected) => {
    expect(await judgeAnswers('permission', { scrub: () => asked })).toMatchObject(expected)
  })
})

describe('calling hours of several sources', () => {
  const closed = (opensAt: number | undefined, more: Partial<LegalTime> = {}): LegalTime => ({
    ...openHours,
    permitted: false,
    opensAt,
    ...more,
  })
  const [early, late] = [noon + 1_000, noon + 9_000]
  const cases: readonly (readonly [string, Answer<LegalTime>, Partial<Finding>])[] = [
    [
      'the later opening counts',
      from('a', closed(late), { otherAnswers: [from('b', closed(early))] }),
      { reason: 'outside-calling-hours', opensAt: late },
    ],
    [
      'none is near where one has none',
      from('a', closed(early), { otherAnswers: [from('b', closed(undefined))] }),
      { reason: 'outside-calling-hours', opensAt: Number.POSITIVE_INFINITY },
    ],
    [
      'a deny that time does not lift has no opening',
      from('a', closed(early), {
        otherAnswers: [from('b', closed(late, { status: 'TOLL_FREE' }))],
      }),
      { reason: 'toll-free', opensAt: undefined },
    ],
    [
      'an open one changes nothing',
      from('a', openHours, { otherAnswers: [from('b', closed(early))] }),
      { reason: 'outside-calling-hours', opensAt: early, source: 'b' },
    ],
  ]
  it.each(cases)('%s', async (_, asked, expected) => {
    expect(await judgeAnswers('calling-hours', { legalTime: () => asked })).toMatchObject(expected)
  })
})

describe('an answer that is used again', () => {
  it('is judged by each kind of call', async () => {
    const scrub = answered(cleanRow)
    const kinds = ['manual', 'ai', 'manual', 'autodialed', 'ai'] as const
    const found: string[] = []
    for (const callKind of kinds) {
      const { verdict, reason } = await judgeAnswers('permission', { scrub: () => scrub }, callKind)
      found.push(`${callKind} ${verdict} ${reason}`)
    }
    expect(found).toEqual([
      'manual pass permitted',
      'ai deny no-consent',
      'manual pass permitted',
      'autodialed pass permitted',
      'ai deny no-consent',
    ])
  })

  it('is judged by its age when it is past it', async () => {
    const fresh = from('a', clear)
    await judgeAnswers('litigator', { litigator: () => fresh })
    const stale = { ...fresh, notRenewed: quoted('circuit open') }
    const finding = await judgeAnswers('litigator', { litigator: () => stale })
    expect(describeFinding(finding)).toBe(
      'not on the litigator list; a gives no newer answer: the source failed: circuit open',
    )
  })

  it('is judged by another value that is put in its place', async () => {
    const one = from('a', clear)
    await judgeAnswers('litigator', { litigator: () => one })
    const other = { ...one, value: listed }
    expect((await judgeAnswers('litigator', { litigator: () => other })).verdict).toBe('deny')
  })
})
