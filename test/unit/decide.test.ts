import { describe, expect, it } from 'vitest'
import {
  type CheckName,
  type CheckPolicy,
  checkNames,
  decide,
  type Finding,
  listDegradedChecks,
  type Policy,
  type PolicyEffect,
  type Ruling,
  type Verdict,
} from '../../src/domain/decision.js'
import { describeWhy } from '../../src/gate/record/describe-decision.js'
import { quoted } from '../support/said.js'
import { strictPolicy } from '../support/strict-policy.js'

const now = Date.UTC(2026, 10, 23, 17)
const soon = now + 20_000
const forEver = Number.POSITIVE_INFINITY

function finding(check: CheckName, verdict: Verdict, more: Partial<Finding> = {}): Finding {
  const reasons = { pass: 'permitted', deny: 'litigator', unknown: 'check-unanswered' } as const
  return {
    check,
    verdict,
    reason: reasons[verdict],
    says: quoted(`${check} ${verdict}`),
    source: 'vendor',
    asOf: now,
    holdsUntil: verdict === 'unknown' ? Number.NEGATIVE_INFINITY : now + 60_000,
    ...more,
  }
}

const policies = {
  enforce: { mode: 'enforce' },
  'enforce, unknown until later': allowing('enforce', soon),
  'enforce, unknown until now': allowing('enforce', now),
  'enforce, unknown until earlier': allowing('enforce', now - 1),
  shadow: { mode: 'shadow' },
  'shadow, unknown until later': allowing('shadow', soon),
  'shadow, unknown until now': allowing('shadow', now),
} as const satisfies Record<string, CheckPolicy>
type PolicyName = keyof typeof policies

function allowing(mode: CheckPolicy['mode'], until: number): CheckPolicy {
  return { mode, allowUnknown: { reason: 'signed off', until } }
}

const findings = {
  pass: ['pass', false],
  'stale pass': ['pass', true],
  deny: ['deny', false],
  'stale deny': ['deny', true],
  unknown: ['unknown', false],
} as const
type FindingName = keyof typeof findings

function made(check: CheckName, name: FindingName): Finding {
  const [verdict, stale] = findings[name]
  return finding(check, verdict, stale ? { notRenewed: quoted('circuit open') } : {})
}

type Effect = PolicyEffect['effect']

/** What one finding does: whether it lets the call pass, the effect, and until when it holds. */
const fresh = ['allow', undefined, now + 60_000] as const
const stale = ['allow', 'stale-allowed', now + 60_000] as const
const letPass = ['allow', 'unknown-allowed', soon] as const
const blocks = ['block', undefined, now + 60_000] as const
const silent = ['block', undefined, Number.NEGATIVE_INFINITY] as const
const shadowed = ['allow', 'shadowed', forEver] as const
const unseen = ['allow', undefined, forEver] as const

type Outcome = readonly ['allow' | 'block', Effect | undefined, number]

const table: Readonly<Record<PolicyName, Readonly<Record<FindingName, Outcome>>>> = {
  enforce: {
    pass: fresh,
    'stale pass': stale,
    deny: blocks,
    'stale deny': blocks,
    unknown: silent,
  },
  'enforce, unknown until later': {
    pass: fresh,
    'stale pass': stale,
    deny: blocks,
    'stale deny': blocks,
    unknown: letPass,
  },
  'enforce, unknown until now': {
    pass: fresh,
    'stale pass': stale,
    deny: blocks,
    'stale deny': blocks,
    unknown: silent,
  },
  'enforce, unknown until earlier': {
    pass: fresh,
    'stale pass': stale,
    deny: blocks,
    'stale deny': blocks,
    unknown: silent,
  },
  shadow: {
    pass: unseen,
    'stale pass': unseen,
    deny: shadowed,
    'stale deny': shadowed,
    unknown: shadowed,
  },
  'shadow, unknown until later': {
    pass: unseen,
    'stale pass': unseen,
    deny: shadowed,
    'stale deny': shadowed,
    unknown: unseen,
  },
  'shadow, unknown until now': {
    pass: unseen,
    'stale pass': unseen,
    deny: shadowed,
    'stale deny': shadowed,
    unknown: shadowed,
  },
}

const policyNames = Object.keys(policies) as PolicyName[]
const findingNames = Object.keys(findings) as FindingName[]

const withPolicy = (of: Partial<Record<CheckName, PolicyName>>): Policy => {
  const given = Object.entries(of).map(([check, name]) => [check, policies[name]])
  return { ...strictPolicy, ...(Object.fromEntries(given) as Partial<Policy>) }
}

const effectsOf = ({ effects }: Ruling) => effects.map(({ check, effect }) => `${check} ${effect}`)

describe('one check', () => {
  for (const policy of policyNames) {
    for (const name of findingNames) {
      const [decision, effect, holdsUntil] = table[policy][name]
      it(`${policy}: ${name} gives ${decision}${effect ? `, ${effect}` : ''}`, () => {
        const ruling = decide([made('litigator', name)], withPolicy({ litigator: policy }), now)
        expect(ruling).toMatchObject({ decision, holdsUntil, nextAllowedAt: undefined })
        expect(effectsOf(ruling)).toEqual(effect ? [`litigator ${effect}`] : [])
        const isDegraded = effect === 'stale-allowed' || effect === 'unknown-allowed'
        expect(listDegradedChecks(ruling)).toEqual(isDegraded ? ['litigator'] : [])
        expect(ruling.reason).toBe(
          decision === 'allow' ? 'permitted' : made('litigator', name).reason,
        )
      })
    }
  }

  it.each(checkNames)('%s is judged by its own policy and by no other', (check) => {
    const others = checkNames.filter((name) => name !== check)
    const open = allowing('shadow', soon)
    const rest = Object.fromEntries(others.map((name) => [name, open])) as Partial<Policy>
    for (const name of ['deny', 'unknown'] as const) {
      const ruling = decide([made(check, name)], { ...strictPolicy, ...rest }, now)
      expect(ruling.decision).toBe('block')
    }
  })
})

describe('two checks', () => {
  for (const [one, other] of pairs(policyNames)) {
    it(`${one} beside ${other}: each finding counts by its own policy`, () => {
      const policy = withPolicy({ litigator: one, permission: other })
      for (const [first, second] of pairs(findingNames)) {
        const ruling = decide([made('litigator', first), made('permission', second)], policy, now)
        const [a, b] = [table[one][first], table[other][second]]
        const isAllowed = a[0] === 'allow' && b[0] === 'allow'
        const effects = [a[1] && `litigator ${a[1]}`, b[1] && `permission ${b[1]}`]
        const row = `${first} and ${second}`
        expect(ruling.decision, row).toBe(isAllowed ? 'allow' : 'block')
        expect(ruling.holdsUntil, row).toBe(Math.min(a[2], b[2]))
        expect(effectsOf(ruling), row).toEqual(effects.filter((effect) => effect !== undefined))
        const degraded = effects.filter((effect) => effect && !effect.endsWith('shadowed'))
        const checks = degraded.map((effect) => effect?.split(' ')[0])
        expect(listDegradedChecks(ruling), row).toEqual(isAllowed ? checks : [])
      }
    })
  }
})

function pairs<T>(of: readonly T[]): readonly (readonly [T, T])[] {
  return of.flatMap((one) => of.map((other) => [one, other] as const))
}

describe('what an effect tells', () => {
  const cases: readonly (readonly [PolicyName, FindingName, PolicyEffect, string])[] = [
    [
      'enforce, unknown until later',
      'unknown',
      { check: 'permission', effect: 'unknown-allowed', because: 'signed off', until: soon },
      'signed off',
    ],
    [
      'enforce',
      'stale pass',
      { check: 'permission', effect: 'stale-allowed' },
      'the source failed: circuit open',
    ],
    [
      'shadow',
      'deny',
      { check: 'permission', effect: 'shadowed' },
      'the source failed: permission deny',
    ],
    [
      'shadow',
      'unknown',
      { check: 'permission', effect: 'shadowed' },
      'the source failed: permission unknown',
    ],
  ]
  it.each(cases)('%s: %s', (policy, name, effect, why) => {
    const found = [made('permission', name)]
    const ruling = decide(found, withPolicy({ permission: policy }), now)
    expect(ruling.effects).toEqual([effect])
    expect(ruling.effects.map((one) => describeWhy(one, found))).toEqual([why])
  })
})

describe('no findings, or all in shadow', () => {
  it('blocks without a finding, whatever policy says', () => {
    const shadow = Object.fromEntries(checkNames.map((name) => [name, 'shadow' as const]))
    for (const policy of [strictPolicy, withPolicy(shadow)]) {
      expect(decide([], policy, now)).toMatchObject({
        decision: 'block',
        reason: 'check-unanswered',
      })
    }
  })

  it('allows when every check is in shadow, and tells each that would have blocked', () => {
    const shadow = Object.fromEntries(checkNames.map((name) => [name, 'shadow' as const]))
    const denied = checkNames.map((name) => made(name, 'deny'))
    const ruling = decide(denied, withPolicy(shadow), now)
    expect(ruling).toMatchObject({ decision: 'allow', reason: 'permitted', holdsUntil: forEver })
    expect(effectsOf(ruling)).toEqual(checkNames.map((name) => `${name} shadowed`))
    expect(listDegradedChecks(ruling)).toEqual([])
  })
})

describe('when the call may be placed', () => {
  const opensAt = now + 3_600_000
  const closed = finding('calling-hours', 'deny', { reason: 'outside-calling-hours', opensAt })
  const beside = (policy: CheckPolicy, other: Finding) =>
    decide([closed, other], { ...strictPolicy, [other.check]: policy }, now).nextAllowedAt
  const cases: readonly (readonly [string, CheckPolicy, Finding, number | undefined])[] = [
    ['a pass', policies.enforce, made('litigator', 'pass'), opensAt],
    ['a stale pass', policies.enforce, made('litigator', 'stale pass'), opensAt],
    ['an unknown that blocks', policies.enforce, made('litigator', 'unknown'), undefined],
    [
      'an unknown let pass until later than that',
      allowing('enforce', opensAt + 1),
      made('litigator', 'unknown'),
      opensAt,
    ],
    [
      'an unknown that blocks again from then on',
      allowing('enforce', opensAt),
      made('litigator', 'unknown'),
      undefined,
    ],
    ['a deny', policies.enforce, made('litigator', 'deny'), undefined],
    ['a deny in shadow', policies.shadow, made('litigator', 'deny'), opensAt],
  ]
  it.each(cases)('closed hours beside %s', (_, policy, other, expected) => {
    expect(beside(policy, other)).toBe(expected)
  })

  it('closed hours in shadow block nothing and promise nothing', () => {
    const ruling = decide([closed], { ...strictPolicy, 'calling-hours': policies.shadow }, now)
    expect(ruling).toMatchObject({ decision: 'allow', nextAllowedAt: undefined })
  })
})
