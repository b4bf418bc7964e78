import { describe, expect, it } from 'vitest'
import { loadSettings } from '../../src/config/load.js'
import {
  type AllPolicySettings,
  buildPolicy,
  type CheckPolicySettings,
  listPolicyWarnings,
  type PolicySettings,
} from '../../src/gate/build-policy.js'
import { strictPolicy } from '../support/strict-policy.js'

const now = Date.UTC(2026, 10, 23, 17)
const day = 86_400_000

const enforced: CheckPolicySettings = { mode: 'enforce', onUnknown: 'block' }
const shadowed: CheckPolicySettings = { mode: 'shadow', onUnknown: 'block' }
const allowing = (until: number, mode: 'enforce' | 'shadow' = 'enforce'): CheckPolicySettings => ({
  mode,
  onUnknown: 'allow',
  reason: 'vendor is moving; J. Doe',
  until,
})

const settings = (more: Partial<PolicySettings> = {}): PolicySettings => ({
  litigator: enforced,
  internalDnc: enforced,
  permission: enforced,
  callingHours: enforced,
  attempts: enforced,
  callerId: enforced,
  reassigned: enforced,
  abandonment: enforced,
  ...more,
})

const withShadow = (
  policy: PolicySettings,
  shadow: Partial<AllPolicySettings['gate']['shadow']> = {},
): AllPolicySettings => ({
  policy,
  gate: { shadow: { all: false, accounts: [], trunks: [], ...shadow } },
})

describe('policy from settings', () => {
  it('is the strictest where nothing is said', () => {
    expect(buildPolicy(loadSettings({ environment: {} }))).toEqual(strictPolicy)
  })

  it('holds mode, reason and end of the check they are set for', () => {
    const settings = loadSettings({
      environment: {
        CALLGATE_POLICY_INTERNAL_DNC_MODE: 'shadow',
        CALLGATE_POLICY_CALLING_HOURS_ON_UNKNOWN: 'allow',
        CALLGATE_POLICY_CALLING_HOURS_REASON: 'vendor is moving; J. Doe',
        CALLGATE_POLICY_CALLING_HOURS_UNTIL: '2026-11-24T17:00:00Z',
      },
    })
    expect(buildPolicy(settings)).toEqual({
      ...strictPolicy,
      'internal-dnc': { mode: 'shadow' },
      'calling-hours': {
        mode: 'enforce',
        allowUnknown: { reason: 'vendor is moving; J. Doe', until: now + day },
      },
    })
  })

  it('has every check in shadow with gate.shadow.all, exceptions for unknowns included', () => {
    const given = settings({ litigator: allowing(now + day) })
    const policy = buildPolicy(withShadow(given, { all: true }))
    expect(Object.values(policy).map(({ mode }) => mode)).toEqual(Array(8).fill('shadow'))
    expect(policy.litigator.allowUnknown?.until).toBe(now + day)
  })

  it('refuses a trunk in shadow that the settings do not have', () => {
    const environment = { CALLGATE_GATE_SHADOW_TRUNKS: '["carrier-z"]' }
    expect(() => loadSettings({ environment })).toThrow(
      'gate.shadow.trunks.0: must be the name of a trunk of asterisk.trunks',
    )
  })

  const incomplete: readonly (readonly [string, CheckPolicySettings])[] = [
    ['no reason', { mode: 'enforce', onUnknown: 'allow', until: now + day }],
    ['no end', { mode: 'enforce', onUnknown: 'allow', reason: 'because' }],
    [
      'block, with both',
      { mode: 'enforce', onUnknown: 'block', reason: 'because', until: now + day },
    ],
  ]
  it.each(incomplete)('lets no unknown pass with %s', (_, litigator) => {
    expect(buildPolicy(withShadow(settings({ litigator })))).toEqual(strictPolicy)
  })
})

describe('warnings of the start', () => {
  const all = (one: CheckPolicySettings): PolicySettings => ({
    litigator: one,
    internalDnc: one,
    permission: one,
    callingHours: one,
    attempts: one,
    callerId: one,
    reassigned: one,
    abandonment: one,
  })
  const cases: readonly (readonly [string, PolicySettings, readonly string[]])[] = [
    ['the strictest', settings(), []],
    [
      'unknown allowed',
      settings({ internalDnc: allowing(now + day) }),
      [
        'policy.internalDnc: unknown is allowed until 2026-11-24T17:00:00Z: vendor is moving; J. Doe',
      ],
    ],
    [
      'unknown allowed until now',
      settings({ litigator: allowing(now) }),
      [
        'policy.litigator: unknown blocks again since 2026-11-23T17:00:00Z; it was allowed for: vendor is moving; J. Doe',
      ],
    ],
    [
      'two checks, one in shadow with an end that has passed',
      settings({ permission: allowing(now - day, 'shadow'), callingHours: shadowed }),
      [
        'policy.permission: in shadow; its findings block nothing',
        'policy.permission: unknown blocks again since 2026-11-22T17:00:00Z; it was allowed for: vendor is moving; J. Doe',
        'policy.callingHours: in shadow; its findings block nothing',
      ],
    ],
    [
      'a far end, and answers past their age',
      settings({ litigator: { ...allowing(now + 32 * day), staleForMs: 90_000 } }),
      [
        'policy.litigator: unknown is allowed until 2026-12-25T17:00:00Z (more than a month ahead): vendor is moving; J. Doe',
        'policy.litigator: an answer may permit for 90 s past its maximum age while its source does not answer',
      ],
    ],
    [
      'all in shadow',
      all(shadowed),
      [
        ...[
          ...['litigator', 'internalDnc', 'permission', 'callingHours'],
          ...['attempts', 'callerId', 'reassigned', 'abandonment'],
        ].map((name) => `policy.${name}: in shadow; its findings block nothing`),
        'policy: every check is in shadow; no number of the plan is blocked',
      ],
    ],
  ]
  it.each(cases)('%s', (_, given, lines) => {
    expect(listPolicyWarnings(withShadow(given), now)).toEqual(lines)
  })

  it('names what gate.shadow measures only', () => {
    const shadow = { accounts: ['acme'], trunks: ['carrier-a'] }
    expect(listPolicyWarnings(withShadow(settings(), shadow), now)).toEqual([
      'gate.shadow.accounts: calls of account acme are not blocked by any check',
      'gate.shadow.trunks: calls on trunk carrier-a are not blocked by any check',
    ])
    expect(listPolicyWarnings(withShadow(settings(), { all: true }), now)).toEqual([
      'policy: every check is in shadow; no number of the plan is blocked',
    ])
  })
})
