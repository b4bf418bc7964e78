/** Entries of internal lists, our own and those of providers: which of them a newer permission lifts. */
import { describe, expect, it } from 'vitest'
import type {
  Answer,
  AnswerFailure,
  AnswerSuccess,
  CallRow,
  EbrType,
  InternalDncStatus,
  ResultLetter,
} from '../../src/domain/compliance.js'
import type { Finding } from '../../src/domain/decision.js'
import { msPerDay, toUtcDay } from '../../src/domain/time/dates.js'
import { showFacts } from '../../src/gate/record/shown-facts.js'
import type { OwnFacts } from '../../src/judge/facts.js'
import type { EbrRecord } from '../../src/law/records/ebr-record.js'
import type { InternalDncEntry } from '../../src/law/records/opt-out.js'
import { cleanRow, noon } from '../support/fake-compliance.js'
import { aJudged, judgeNumberRules, knownFacts } from '../support/own-facts.js'
import { quoted } from '../support/said.js'
import { from, judgeAnswers, silent } from './judged-answers.js'

describe('an entry of the internal list is lifted by a newer permission of the same source', () => {
  const entry = (source: string, more: Partial<AnswerSuccess<InternalDncStatus>> = {}) =>
    from<InternalDncStatus>(source, { onList: true, addedAt: undefined }, more)
  const off = (source: string, more: Partial<AnswerSuccess<InternalDncStatus>> = {}) =>
    from<InternalDncStatus>(source, { onList: false, addedAt: undefined }, more)
  const row = (
    source: string,
    [letter, ebrType]: readonly [ResultLetter, EbrType | ''],
    more: Partial<AnswerSuccess<CallRow>> = {},
  ) => from<CallRow>(source, { ...cleanRow, letter, ebrType }, more)
  const newer = ['O', 'P'] as const
  const older = ['P', 'P'] as const
  const old = { notRenewed: quoted('circuit open') }

  type Row = readonly [string, Answer<InternalDncStatus>, Answer<CallRow>, string]
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
    const { verdict, reason } = await judgeAnswers('internal-dnc', answers)
    expect(`${verdict} ${reason}`).toBe(expected)
  })

  it('a pass that rests on the row is no younger and holds no longer than the row', async () => {
    const answers = {
      internalDnc: () => entry('a', { asOf: noon - 2_000 }),
      scrub: () => row('a', newer, { asOf: noon - 5_000, holdsUntil: noon + 7_000 }),
    }
    expect(await judgeAnswers('internal-dnc', answers)).toMatchObject({
      asOf: noon - 5_000,
      holdsUntil: noon + 7_000,
    })
  })

  it('a number on nobody’s list passes although no scrub comes', async () => {
    const scrub = () => new Promise<never>(() => undefined)
    const internalDnc = () => off('a', { otherAnswers: [off('b')] })
    expect(await judgeAnswers('internal-dnc', { internalDnc, scrub })).toMatchObject({
      verdict: 'pass',
    })
  })

  it('a number on a list is denied although no scrub comes', async () => {
    const scrub = () => new Promise<never>(() => undefined)
    const internalDnc = () => entry('a')
    expect(await judgeAnswers('internal-dnc', { internalDnc, scrub })).toMatchObject({
      verdict: 'deny',
      reason: 'internal-dnc',
    })
  })

  it('is judged by the row of each call', async () => {
    const answer = entry('a')
    const internalDnc = () => answer
    const verdicts: string[] = []
    for (const scrub of [row('a', newer), row('a', older), row('a', newer), silent('a')]) {
      const answers = { internalDnc, scrub: () => scrub }
      const { verdict, reason } = await judgeAnswers('internal-dnc', answers)
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

describe('our own entry', () => {
  const addedAt = noon - 10 * msPerDay
  const entry: InternalDncEntry = {
    ...{ addedAt, removedAt: null, optedOutAt: addedAt, optedOutSeq: 5 },
  }
  const permission: EbrRecord = {
    type: 'P',
    contactOn: toUtcDay(noon) - 1,
    contactAt: undefined,
    obligationEndsOn: undefined,
    storedSeq: 9,
    liftsOptOut: true,
  }
  const says = [{ code: 'source-failed', quote: 'no disk' }] as const
  const why: AnswerFailure = { ok: false, reason: 'source-failed', says, source: 'embedded' }
  const listed = knownFacts({ entry })
  const judge = (own: OwnFacts) => {
    const { verdict, reason, notRenewed } = findIn(judgeNumberRules(aJudged({ own })))
    return `${verdict} ${reason}${notRenewed ? ', not renewed' : ''}`
  }

  it.each<[string, OwnFacts, string]>([
    ['forbids', listed, 'deny internal-dnc'],
    ['is none', knownFacts(), 'pass permitted'],
    [
      'that was removed does not',
      knownFacts({ entry: { ...entry, removedAt: noon } }),
      'pass permitted',
    ],
    [
      'is lifted by a newer permission',
      knownFacts({ entry, record: permission }),
      'pass permitted',
    ],
    [
      'is lifted by no newer sale',
      knownFacts({ entry, record: { ...permission, type: 'S' } }),
      'deny internal-dnc',
    ],
    [
      'ends an older permission',
      knownFacts({ entry, record: { ...permission, storedSeq: 2 } }),
      'deny consent-revoked',
    ],
    [
      'forbids where the permission cannot be read',
      { ...listed, permission: { why } },
      'deny internal-dnc',
    ],
    [
      'forbids whatever was known of the permission before',
      {
        ...listed,
        permission: { why, last: knownFacts({ entry, record: permission }).permission as never },
      },
      'deny internal-dnc',
    ],
    ['that cannot be read is unknown', { ...listed, entry: { why } }, 'unknown check-unanswered'],
    [
      'that was known before it could not be read forbids',
      { ...listed, entry: { why, last: { value: entry, asOf: noon } } },
      'deny internal-dnc, not renewed',
    ],
    [
      'that was not known before it could not be read permits nothing',
      { ...listed, entry: { why, last: { value: undefined, asOf: noon } } },
      'unknown check-unanswered',
    ],
  ])('%s', (_, own, expected) => {
    expect(judge(own)).toBe(expected)
  })

  it('keeps in its record since when it is listed', () => {
    const finding = findIn(judgeNumberRules(aJudged({ own: listed })))
    expect(showFacts(finding, { own: listed }, '')).toEqual({ addedAt })
  })

  it('forbids beside a provider that permits, and is lifted by no row of it', async () => {
    const beside = { ...listed, permission: 'not-asked' } as const
    const provided = { internalDnc: from('a', { onList: false, addedAt: undefined }) }
    const scrub = from<CallRow>('a', { ...cleanRow, letter: 'O', ebrType: 'P' })
    const provider = { ...provided, litigator: undefined, legalTime: undefined, scrub }
    expect(findIn(judgeNumberRules(aJudged({ own: beside, provider })))).toMatchObject({
      verdict: 'deny',
      source: 'embedded',
    })
  })
})

function findIn(findings: readonly Finding[]): Finding {
  const found = findings.find(({ check }) => check === 'internal-dnc')
  if (!found) throw new Error('the rule gave no finding')
  return found
}
