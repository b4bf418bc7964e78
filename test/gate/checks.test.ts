/** What a check makes of answers: of one source or several, of old ones and of silence. */
import { describe, expect, it } from 'vitest'
import type {
  Answer,
  AnswerFailure,
  AnswerSuccess,
  EbrType,
  InternalDncStatus,
  LegalTime,
  LitigatorStatus,
  ResultLetter,
  ScrubVerdict,
} from '../../src/domain/compliance.js'
import type { CallKind, Finding } from '../../src/domain/decision.js'
import type { Check } from '../../src/gate/checks/check.js'
import {
  callingHoursCheck,
  internalDncCheck,
  litigatorCheck,
  runChecks,
} from '../../src/gate/checks/checks.js'
import { permissionCheck } from '../../src/gate/checks/permission.js'
import { describeFinding } from '../../src/gate/record/describe-decision.js'
import { systemTimers } from '../../src/runtime/runtime.js'
import {
  answered,
  cleanRow,
  type FakeAnswers,
  fakeCompliance,
  noon,
  openHours,
  unanswered,
} from '../support/fake-compliance.js'
import { quoted } from '../support/said.js'

async function run(
  check: Check,
  answers: Partial<FakeAnswers>,
  { callKind = 'manual', askedAt = noon }: { callKind?: CallKind; askedAt?: number } = {},
): Promise<Finding> {
  const compliance = fakeCompliance(answers)
  const question = { accountId: 'main', number: '2125550100' } as never
  const call = {
    compliance,
    question,
    callKind,
    askedAt,
    aiConsentEvidence: 'none',
    requiredConsents: { find: () => [] },
  } as const
  const [finding] = await runChecks([check], call, { deadlineMs: 100, timers: systemTimers })
  if (!finding) throw new Error('the check gave no finding')
  return finding
}

const from = <T>(source: string, value: T, more: Partial<AnswerSuccess<T>> = {}) =>
  answered(value, { source, ...more })

const silent = (source: string, why: AnswerFailure['reason'] = 'circuit-open'): AnswerFailure => ({
  ...unanswered(why),
  source,
})

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
    expect(await run(litigatorCheck, { litigator: () => asked })).toMatchObject(expected)
  })

  it('a pass is as old as the oldest answer and holds as long as each does', async () => {
    const first = from('a', clear, { asOf: noon - 1_000, holdsUntil: noon + 9_000 })
    const second = from('b', clear, { asOf: noon - 5_000, holdsUntil: noon + 60_000 })
    for (const asked of [
      { ...first, otherAnswers: [second] },
      { ...second, otherAnswers: [first] },
    ]) {
      const finding = await run(litigatorCheck, { litigator: () => asked })
      expect(finding).toMatchObject({ asOf: noon - 5_000, holdsUntil: noon + 9_000 })
    }
  })

  it('a deny is as old as the answer that denies', async () => {
    const otherAnswers = [from('b', listed, { asOf: noon - 7, holdsUntil: noon + 7 })]
    const asked = from('a', clear, { asOf: noon - 5_000, otherAnswers })
    const finding = await run(litigatorCheck, { litigator: () => asked })
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
    const finding = await run(litigatorCheck, { litigator: () => asked })
    expect({ notRenewed: undefined, ...finding }).toMatchObject(expected)
    expect(describeFinding(finding)).toBe(text)
  })

  it('a fresh finding says nothing of age', async () => {
    const finding = await run(litigatorCheck, { litigator: () => from('a', clear) })
    expect(finding.notRenewed).toBeUndefined()
    expect(describeFinding(finding)).toBe('not on the litigator list')
  })
})

describe('the permission check over several sources', () => {
  const none = { manual: false, autodialed: false, ai: false }
  const row = (letter: ResultLetter, more: Partial<ScrubVerdict> = {}): ScrubVerdict => ({
    ...cleanRow,
    letter,
    ...more,
  })
  const cases: readonly (readonly [string, Answer<ScrubVerdict>, Partial<Finding>])[] = [
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
    expect(await run(permissionCheck, { scrub: () => asked })).toMatchObject(expected)
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
    expect(await run(callingHoursCheck, { legalTime: () => asked })).toMatchObject(expected)
  })
})

describe('an answer that is used again', () => {
  it('is judged once for the calls of a kind', async () => {
    const scrub = answered(cleanRow)
    const first = await run(permissionCheck, { scrub: () => scrub })
    expect(await run(permissionCheck, { scrub: () => scrub })).toBe(first)
  })

  it('is judged again for another kind of call', async () => {
    const scrub = answered(cleanRow)
    const kinds = ['manual', 'ai', 'manual', 'autodialed', 'ai'] as const
    const found: string[] = []
    for (const callKind of kinds) {
      const { verdict, reason } = await run(permissionCheck, { scrub: () => scrub }, { callKind })
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

  it('is judged again once it is past its age', async () => {
    const fresh = from('a', clear)
    await run(litigatorCheck, { litigator: () => fresh })
    const stale = { ...fresh, notRenewed: quoted('circuit open') }
    const finding = await run(litigatorCheck, { litigator: () => stale })
    expect(describeFinding(finding)).toBe(
      'not on the litigator list; a gives no newer answer: the source failed: circuit open',
    )
  })

  it('is judged anew when another value is put in its place', async () => {
    const one = from('a', clear)
    await run(litigatorCheck, { litigator: () => one })
    const other = { ...one, value: listed }
    expect((await run(litigatorCheck, { litigator: () => other })).verdict).toBe('deny')
  })

  it('of the internal list is judged by the row of each call', async () => {
    const internalDnc = () => entry
    const entry = from<InternalDncStatus>('a', { onList: true, addedAt: undefined })
    const rowOf = (letter: ResultLetter, ebrType: EbrType | '') => () =>
      from<ScrubVerdict>('a', { ...cleanRow, letter, ebrType })
    const verdicts: string[] = []
    for (const scrub of [rowOf('O', 'P'), rowOf('P', 'P'), rowOf('O', 'P'), () => silent('a')]) {
      const { verdict, reason } = await run(internalDncCheck, { internalDnc, scrub })
      verdicts.push(`${verdict} ${reason}`)
    }
    expect(verdicts).toEqual([
      'pass permitted',
      'deny consent-revoked',
      'pass permitted',
      'deny internal-dnc',
    ])
  })
})

describe('an entry of the internal list is lifted by a newer permission of the same source', () => {
  const entry = (source: string, more: Partial<AnswerSuccess<InternalDncStatus>> = {}) =>
    from<InternalDncStatus>(source, { onList: true, addedAt: undefined }, more)
  const off = (source: string, more: Partial<AnswerSuccess<InternalDncStatus>> = {}) =>
    from<InternalDncStatus>(source, { onList: false, addedAt: undefined }, more)
  const row = (
    source: string,
    [letter, ebrType]: readonly [ResultLetter, EbrType | ''],
    more: Partial<AnswerSuccess<ScrubVerdict>> = {},
  ) => from<ScrubVerdict>(source, { ...cleanRow, letter, ebrType }, more)
  const newer = ['O', 'P'] as const
  const older = ['P', 'P'] as const
  const old = { notRenewed: quoted('circuit open') }

  type Row = readonly [string, Answer<InternalDncStatus>, Answer<ScrubVerdict>, string]
  const cases: readonly Row[] = [
    ['same source', entry('a'), row('a', newer), 'pass permitted'],
    ['same source, wireless', entry('a'), row('a', ['H', 'P']), 'pass permitted'],
    ['same source, a sale', entry('a'), row('a', ['O', 'S']), 'deny internal-dnc'],
    ['same source, on no list', entry('a'), row('a', ['E', 'P']), 'deny internal-dnc'],
    ['same source, older', entry('a'), row('a', older), 'deny consent-revoked'],
    ['another source', entry('own'), row('a', newer), 'deny internal-dnc'],
    ['another source, older', entry('own'), row('a', older), 'deny internal-dnc'],
    ['a row past its age', entry('a'), row('a', newer, old), 'deny internal-dnc'],
    ['an entry past its age', entry('a', old), row('a', newer), 'pass permitted'],
    ['no row', entry('a'), silent('a'), 'deny internal-dnc'],
    [
      'the row that came along with another',
      entry('b'),
      row('a', ['C', ''], { otherAnswers: [row('b', newer)] }),
      'pass permitted',
    ],
    [
      'the row that came along with one past its age',
      entry('b'),
      row('a', ['C', ''], { ...old, otherAnswers: [row('b', newer)] }),
      'deny internal-dnc',
    ],
    [
      'a row that came along and is past its age',
      entry('b'),
      row('a', newer, { otherAnswers: [row('b', newer, old)] }),
      'deny internal-dnc',
    ],
    [
      'listed by both, lifted by one',
      entry('a', { otherAnswers: [entry('b')] }),
      row('a', newer, { otherAnswers: [row('b', ['C', ''])] }),
      'deny internal-dnc',
    ],
    [
      'listed by both, lifted by one, older at the other',
      entry('a', { otherAnswers: [entry('b')] }),
      row('a', newer, { otherAnswers: [row('b', older)] }),
      'deny consent-revoked',
    ],
    [
      'listed by both, lifted by both',
      entry('a', { otherAnswers: [entry('b')] }),
      row('a', newer, { otherAnswers: [row('b', newer)] }),
      'pass permitted',
    ],
    [
      'listed by the second, lifted by the first',
      off('a', { otherAnswers: [entry('b')] }),
      row('a', newer),
      'deny internal-dnc',
    ],
    [
      'listed by the first and lifted there, the second silent',
      entry('a', { otherAnswers: [silent('b')] }),
      row('a', newer),
      'unknown check-unanswered',
    ],
    [
      'listed by the first, the second silent',
      entry('a', { otherAnswers: [silent('b')] }),
      row('a', ['C', '']),
      'deny internal-dnc',
    ],
    ['listed by none', off('a', { otherAnswers: [off('b')] }), silent('a'), 'pass permitted'],
  ]
  it.each(cases)('%s', async (_, internalDnc, scrub, expected) => {
    const answers = { internalDnc: () => internalDnc, scrub: () => scrub }
    const { verdict, reason } = await run(internalDncCheck, answers)
    expect(`${verdict} ${reason}`).toBe(expected)
  })

  it('a pass that rests on the row is no younger and holds no longer than the row', async () => {
    const answers = {
      internalDnc: () => entry('a', { asOf: noon - 2_000 }),
      scrub: () => row('a', newer, { asOf: noon - 5_000, holdsUntil: noon + 7_000 }),
    }
    expect(await run(internalDncCheck, answers)).toMatchObject({
      asOf: noon - 5_000,
      holdsUntil: noon + 7_000,
    })
  })

  it('a number on nobody’s list passes although no scrub comes', async () => {
    const scrub = () => new Promise<never>(() => undefined)
    const internalDnc = () => off('a', { otherAnswers: [off('b')] })
    expect(await run(internalDncCheck, { internalDnc, scrub })).toMatchObject({ verdict: 'pass' })
  })

  it('a number on a list is denied although no scrub comes', async () => {
    const scrub = () => new Promise<never>(() => undefined)
    const internalDnc = () => entry('a')
    expect(await run(internalDncCheck, { internalDnc, scrub })).toMatchObject({
      verdict: 'deny',
      reason: 'internal-dnc',
    })
  })
})
