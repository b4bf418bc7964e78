/** Laws of the decision as a whole: whatever the facts are, over the rules as shipped. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AnswerFailure } from '../../src/domain/compliance.js'
import { type CallKind, type CallPurpose, callKinds } from '../../src/domain/decision.js'
import type { Mandate } from '../../src/domain/mandate.js'
import type { ListFinding } from '../../src/domain/number-set.js'
import { toPhoneNumber } from '../../src/domain/phone-number.js'
import { allRules } from '../../src/judge/all-rules.js'
import type { Fact, Facts, Ledger, OwnFacts } from '../../src/judge/facts.js'
import { type Judgment, judge, type LawInForce } from '../../src/judge/judge.js'
import type { NumberMemo } from '../../src/judge/judge-number.js'
import type { JudgeSettings } from '../../src/judge/judged.js'
import type { EbrRecord } from '../../src/law/records/ebr-record.js'
import { noon } from '../support/fake-compliance.js'
import { shortOrLong } from '../support/long.js'
import { knownFacts } from '../support/own-facts.js'
import { areaCodePlan, hoursOver, rules } from '../support/scrub-parts.js'
import { strictPolicy } from '../support/strict-policy.js'
import { aCall, gateSettings } from '../support/test-gate.js'

const openLaw = (): LawInForce => ({ rules, windows: hoursOver(areaCodePlan).windows })
const law = openLaw()
const settings: JudgeSettings = {
  ...gateSettings,
  policy: strictPolicy,
  houseLimits: [{ calls: 1, seconds: 3_600 }],
}

const anyCall: Mandate = {
  ...{ version: 1, callKinds: 'any', projects: 'any', campaigns: 'any' },
  ...{ callerIds: 'any', regions: 'any' },
}
const runs = shortOrLong(400, 20_000)

const dayMs = 86_400_000
const today = noon / dayMs - ((noon / dayMs) % 1)

const listed: ListFinding = {
  status: 'listed',
  asOf: noon - 9 * dayMs,
  listedOn: today - 30,
  lists: [{ name: 'us-dnc', version: 'v1', asOf: noon - 9 * dayMs }],
  holdsUntil: noon + 20 * dayMs,
}
const clear: ListFinding = { status: 'clear', lists: [] }
const uncovered: ListFinding = {
  status: 'not-covered',
  says: [{ code: 'list-not-covering', params: { list: 'us-dnc', areaCode: '212', load: 'load' } }],
  lists: [],
}

const numbers = ['2127361000', '6025550100', '4168691234', '7872345678', '8015551234', '3053581234']

interface Drawn {
  readonly number: string
  readonly callKind: CallKind
  readonly stated: CallPurpose | undefined
  readonly at: number
  readonly own: OwnFacts
}

const aList = fc.constantFrom(clear, clear, listed, uncovered)

const aRecord = fc.option(
  fc.record({
    type: fc.constantFrom('S', 'I', 'P', 'T'),
    contactOn: fc.constantFrom(today, today - 20, today - 100, today - 600),
    liftsOptOut: fc.boolean(),
    evidence: fc.constantFrom('none', 'written'),
  }),
  { nil: undefined },
)

const drawn: fc.Arbitrary<Drawn> = fc
  .record({
    number: fc.constantFrom(...numbers),
    callKind: fc.constantFrom(...callKinds),
    stated: fc.constantFrom(undefined, undefined, 'informational', 'debt-collection', 'emergency'),
    hour: fc.integer({ min: 0, max: 24 * 14 }),
    litigator: fc.constantFrom(clear, clear, clear, listed, uncovered),
    national: aList,
    state: aList,
    record: aRecord,
    optedOutDaysAgo: fc.option(fc.constantFrom(0, 10, 200), { nil: undefined }),
    exempt: fc.boolean(),
  })
  .map(({ number, callKind, stated, hour, record, optedOutDaysAgo, exempt, ...lists }): Drawn => {
    const optedOutAt = noon - (optedOutDaysAgo ?? 0) * dayMs
    const entry =
      optedOutDaysAgo === undefined
        ? undefined
        : { addedAt: optedOutAt, removedAt: null, optedOutAt, optedOutSeq: 5 }
    const onFile = record && toRecord(record)
    const facts = areaCodePlan.lookup(toPhoneNumber(number))
    const own = knownFacts({
      number: facts,
      entry,
      record: onFile,
      lists,
      terms: { industryExemption: exempt },
    })
    return {
      number,
      callKind,
      stated: stated as CallPurpose | undefined,
      at: noon + hour * 3_600_000,
      own,
    }
  })

function toRecord({
  type,
  contactOn,
  liftsOptOut,
  evidence,
}: {
  readonly type: string
  readonly contactOn: number
  readonly liftsOptOut: boolean
  readonly evidence: string
}): EbrRecord {
  return {
    type: type as EbrRecord['type'],
    contactOn,
    contactAt: undefined,
    obligationEndsOn: undefined,
    storedSeq: 7,
    liftsOptOut,
    ...(type === 'P' && { consent: { evidence: evidence as 'none' } }),
  }
}

function factsOf({ at }: Drawn, own: OwnFacts): Facts {
  return {
    times: { now: at, accountNow: at },
    own,
    reassigned: {
      result: 'no',
      basis: 'consent',
      source: 'reassigned',
      askedAt: at,
      holdsUntil: at + dayMs,
    },
    ledger: 'not-asked',
  }
}

function judgeDrawn(
  one: Drawn,
  {
    own = one.own,
    by = law,
    memo,
  }: { readonly own?: OwnFacts; readonly by?: LawInForce; readonly memo?: NumberMemo } = {},
) {
  return requireRuling(judge(by, settings, callOf(one), factsOf(one, own), memo))
}

const callOf = ({ callKind, stated, number }: Drawn) => ({
  request: aCall({ dialed: number, callKind }),
  number: toPhoneNumber(number),
  stated,
})

const pausedBy = { pausedAt: noon, pausedBy: 'Ada', because: 'a test' }
const ownNumber = { number: '2125550100', project: '', hasPresence: true }
const limit = {
  ...{ id: 'house', calls: 1, periodMs: 3_600_000, per: 'person', isPerSubject: false },
  ...{ counts: 'all', citation: 'gate.houseLimits' },
} as const

const someStored = fc.record(
  {
    pauses: fc.constantFrom('unread' as const, [{ subject: 'ai', ...pausedBy }]),
    callerIds: fc.constantFrom(
      'unread' as const,
      { mustBeOwn: true, numbers: [ownNumber] },
      { mustBeOwn: true, numbers: [{ ...ownNumber, number: '2125550101', until: noon - 1 }] },
    ),
    abandoned: fc.constantFrom(
      'unread' as const,
      rules.document.abandonmentRules.map(({ id }) => ({
        ...{ rule: id, from: 0, until: 2 * noon, answered: 1_000, abandoned: 500 },
        ...{ unanswered: 0, disconnectedEarly: 0 },
      })),
    ),
  },
  { requiredKeys: [] },
)

/** What else may be known of a call; `settings` limit how often somebody is called. */
const drawnMore = fc.record({
  stored: fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, someStored),
  mandate: fc.constantFrom(undefined, undefined, anyCall, { ...anyCall, regions: ['TX'] }),
  ledger: fc.constantFrom(
    { isCounted: true, counts: [] },
    { isCounted: false, counts: [{ limit, attempts: ['d1'], opensAt: noon + 60_000 }] },
    { failure: 'no database' },
  ),
}) as fc.Arbitrary<Pick<Facts, 'stored'> & { mandate?: Mandate; ledger: Ledger }>

function requireRuling(judged: Judgment) {
  if (judged.needs) throw new TypeError(`it needs ${judged.needs.is}`)
  return judged
}

const why: AnswerFailure = {
  ok: false,
  reason: 'source-failed',
  says: [{ code: 'source-failed', quote: 'the database is away' }],
  source: 'embedded',
}

const parts = ['litigator', 'entry', 'hours', 'permission'] as const

describe('whatever the facts are', () => {
  it('the call, the settings and all facts mean the same after JSON, by rules that judged many others and by new ones', () => {
    const unused = openLaw()
    const reread = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value))
    const seen = new Set<string>()
    fc.assert(
      fc.property(drawn, drawnMore, (one, { mandate, ledger, ...more }) => {
        const { request, ...call } = callOf(one)
        const asked = { ...call, request: { ...request, mandate, callerId: '2125550101' } }
        const facts = { ...factsOf(one, one.own), ...more, ledger }
        const judgment = JSON.stringify(judge(law, settings, asked, facts))
        for (const { reason } of requireRuling(JSON.parse(judgment)).findings) seen.add(reason)
        expect(JSON.stringify(judge(law, reread(settings), reread(asked), reread(facts)))).toBe(
          judgment,
        )
        expect(JSON.stringify(judge(unused, settings, asked, facts))).toBe(judgment)
      }),
      { numRuns: runs, seed: 11 },
    )
    const expected = ['key-region', 'ai-paused', 'caller-id-expired', 'abandonment-rate']
    for (const reason of [...expected, 'too-many-attempts']) expect(seen).toContain(reason)
  })

  it('each rule has a finding, or is among those that had nothing to judge', () => {
    fc.assert(
      fc.property(drawn, drawnMore, (one, { mandate, ledger, ...more }) => {
        const { request, ...call } = callOf(one)
        const facts = { ...factsOf(one, one.own), ...more, ledger }
        const asked = { ...call, request: { ...request, mandate } }
        const { findings, notJudged } = requireRuling(judge(law, settings, asked, facts))
        const missing = allRules.filter(
          ({ id, check }) =>
            !notJudged.includes(id) && !findings.some((finding) => finding.check === check),
        )
        expect(missing).toEqual([])
        expect(new Set(notJudged).size).toBe(notJudged.length)
        const named = allRules.filter(({ id }) => !notJudged.includes(id))
        expect(findings.every(({ check }) => named.some((rule) => rule.check === check))).toBe(true)
      }),
      { numRuns: runs },
    )
  })

  it('what was judged of them before is the same an instant later, an hour later and a day later', () => {
    fc.assert(
      fc.property(drawn, (one) => {
        const memo: NumberMemo = { judged: new Map() }
        for (const later of [0, 1, 59 * 60_000, 3_599_999, 3_600_000, dayMs]) {
          const then = { ...one, at: one.at + later }
          const fresh = JSON.stringify(judgeDrawn(then))
          expect(JSON.stringify(judgeDrawn(then, { memo }))).toBe(fresh)
        }
      }),
      { numRuns: runs },
    )
  })

  it('no fact that is unknown allows a call, and what was known before does not, either', () => {
    let allowed = 0
    fc.assert(
      fc.property(drawn, fc.constantFrom(...parts), fc.boolean(), (one, part, isKnownBefore) => {
        if (judgeDrawn(one).ruling.decision === 'allow') allowed += 1
        const known = one.own[part] as Fact<unknown>
        const last = { value: known.value, asOf: noon }
        const own = {
          ...one.own,
          [part]: { why, last: isKnownBefore ? last : undefined },
        } as OwnFacts
        expect(judgeDrawn(one, { own }).ruling.decision).toBe('block')
      }),
      // Fixed, since it must meet calls that are allowed otherwise.
      { numRuns: runs, seed: 7 },
    )
    expect(allowed).toBeGreaterThan(runs / 100)
  })

  it('each rule about the number has a finding', () => {
    fc.assert(
      fc.property(drawn, (one) => {
        const checks = judgeDrawn(one).findings.map(({ check }) => check)
        expect(checks).toEqual(
          expect.arrayContaining(['litigator', 'internal-dnc', 'calling-hours', 'permission']),
        )
      }),
      { numRuns: runs },
    )
  })

  it('an allow has a pass of each rule, and holds longer than no time', () => {
    fc.assert(
      fc.property(drawn, (one) => {
        const { findings, ruling } = judgeDrawn(one)
        const isAllowed = findings.every(({ verdict }) => verdict === 'pass')
        expect(ruling.decision).toBe(isAllowed ? 'allow' : 'block')
        if (isAllowed) expect(ruling.holdsUntil).toBeGreaterThan(one.at)
      }),
      { numRuns: runs },
    )
  })
})

it('an unknown subject is said, also where it is in shadow and the call is counted', () => {
  const number = toPhoneNumber('2127361000')
  const policy = { ...strictPolicy, attempts: { mode: 'shadow' } } as const
  const facts = {
    times: { now: noon, accountNow: noon },
    own: knownFacts({ number: areaCodePlan.lookup(number) }),
    ledger: { isCounted: true, counts: [] },
  } as const
  const request = aCall({ dialed: number, callKind: 'manual', subject: 'solar' })
  const call = { request, number, stated: undefined }
  const { findings, ruling } = requireRuling(judge(law, { ...settings, policy }, call, facts))
  const ofAttempts = findings.filter(({ check }) => check === 'attempts')
  expect(ofAttempts.map(({ reason }) => reason)).toEqual(['unknown-subject', 'permitted'])
  expect(ruling.effects).toMatchObject([{ check: 'attempts', effect: 'shadowed' }])
})

describe('a ruling needs', () => {
  const number = toPhoneNumber('2127361000')
  const call = { request: aCall({ dialed: number, callKind: 'ai' }), number, stated: undefined }
  const times = { now: noon, accountNow: noon }
  const permission = toRecord({
    type: 'P',
    contactOn: today,
    liftsOptOut: true,
    evidence: 'written',
  })
  const own = knownFacts({ number: areaCodePlan.lookup(number), record: permission })

  it('look-ups before anything else', () => {
    expect(judge(law, settings, call, { times })).toEqual({ needs: { is: 'look-ups' } })
  })

  it('nothing for a key that may not ask: it learns nothing that was not in its request', () => {
    const mandate = { callKinds: ['manual'], version: 1 } as unknown as Mandate
    const request = { ...call.request, mandate }
    const { findings, ruling } = requireRuling(
      judge(law, settings, { ...call, request }, { times }),
    )
    expect(findings.map(({ check }) => check)).toEqual(['mandate'])
    expect(ruling).toMatchObject({ decision: 'block', reason: 'key-kind' })
  })

  it('to know whether the number was reassigned, where the call rests on a record', () => {
    const facts = { times, own, ledger: 'not-asked' } as const
    expect(judge(law, settings, call, facts)).toEqual({
      needs: { is: 'reassigned', since: today, basis: 'consent' },
    })
    const manual = { ...call, request: aCall({ dialed: number, callKind: 'manual' }) }
    expect(requireRuling(judge(law, settings, manual, facts)).ruling.decision).toBe('allow')
  })

  it('a count where a limit counts the call, reserved only if all else allows it', () => {
    const houseLimits = [{ calls: 1, seconds: 3_600 }]
    const limited = { ...settings, houseLimits }
    const request = aCall({ dialed: number, callKind: 'manual' })
    const need = (facts: OwnFacts, more: Partial<typeof request> = {}) => {
      const asked = { ...call, request: { ...request, ...more } }
      return judge(law, limited, asked, { times, own: facts }).needs
    }
    expect(need(own)).toMatchObject({ is: 'count', how: 'reserve' })
    expect(need(own, { at: noon })).toMatchObject({ is: 'count', how: 'read' })
    const optedOut = { addedAt: noon, removedAt: null, optedOutAt: noon, optedOutSeq: 9 }
    expect(need(knownFacts({ number: own.number, entry: optedOut }))).toBeUndefined()
  })
})
