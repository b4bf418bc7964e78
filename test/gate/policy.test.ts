/** What policy makes of a decision, and where it is shown: answer, record, log, metrics, pre-dial. */
import { describe, expect, it } from 'vitest'
import { decisionSchema } from '../../src/api/gate/decision-body.js'
import { createVerdictVariables } from '../../src/asterisk/gate/verdict-variables.js'
import { answerFailureReasons, isRequestError } from '../../src/domain/compliance.js'
import type { CallRequest, CheckPolicy, Decision, Policy } from '../../src/domain/decision.js'
import { fixedClock } from '../../src/domain/time/clock.js'
import type { Journal } from '../../src/gate/journal/journal.js'
import type { DecisionReply } from '../../src/gate/record/decision-document.js'
import { encodeReply, replyTo } from '../../src/gate/record/write-record.js'
import { createDecisionRoutes } from '../../src/http/decision-routes.js'
import { createLogger } from '../../src/observability/log.js'
import { silentLogger } from '../../src/runtime/runtime.js'
import {
  answered,
  type FakeAnswers,
  fakeCompliance,
  noon,
  openHours,
  unanswered,
} from '../support/fake-compliance.js'
import { noPermits, noRecentCalls, noRepeats } from '../support/no-permits.js'
import { quoted } from '../support/said.js'
import { strictPolicy } from '../support/strict-policy.js'
import { admin, adminKey, openTestApp } from '../support/test-app.js'
import { aCall, testGate } from '../support/test-gate.js'

const allowing = (until: number, mode: CheckPolicy['mode'] = 'enforce'): CheckPolicy => ({
  mode,
  allowUnknown: { reason: 'vendor is moving; J. Doe', until },
})
const shadow: CheckPolicy = { mode: 'shadow' }
const allInShadow: Policy = {
  litigator: shadow,
  'internal-dnc': shadow,
  permission: shadow,
  'calling-hours': shadow,
  attempts: shadow,
  'caller-id': shadow,
  reassigned: shadow,
  abandonment: shadow,
}

const listed = () => answered({ isLitigator: true })
const oldAndClear = () =>
  answered({ isLitigator: false }, { asOf: noon - 340_000, notRenewed: quoted('circuit open') })
const closed = () => answered({ ...openHours, permitted: false, opensAt: noon + 3_600_000 })

const failToAppend: Journal['append'] = (_decision, onWritten) => onWritten?.(new Error('full'))

interface Setting {
  readonly policy?: Partial<Policy>
  readonly answers?: Partial<FakeAnswers>
}

function gateOf({ policy = {}, answers = {} }: Setting, more: Parameters<typeof testGate>[1] = {}) {
  return testGate(fakeCompliance(answers), { policy: { ...strictPolicy, ...policy }, ...more })
}

const decided = (setting: Setting, call: Partial<CallRequest> = {}): Promise<Decision> =>
  gateOf(setting).gate.decide(aCall(call))

describe('a call whose account or trunk is in shadow', () => {
  const shadowed = { accounts: ['acme'], trunks: ['carrier-a'] }
  const ask = (call: Partial<CallRequest>, answers: Partial<FakeAnswers>) =>
    gateOf({ answers }, { settings: { shadow: shadowed } }).gate.decide(aCall(call))

  it.each<[string, Partial<CallRequest>]>([
    ['account', { accountId: 'acme' }],
    ['trunk', { trunk: 'carrier-a' }],
  ])('is allowed, and recorded with what would have blocked it: %s', async (_, call) => {
    const decision = await ask(call, { litigator: listed, legalTime: closed })
    expect(decision).toMatchObject({ decision: 'allow', reason: 'permitted' })
    expect(decision.effects.map(({ check, effect }) => `${check} ${effect}`)).toEqual([
      'litigator shadowed',
      'calling-hours shadowed',
    ])
    expect(replyTo(decision).trunk).toBe(call.trunk)
  })

  it.each<[string, Partial<CallRequest>]>([
    ['another account', { accountId: 'acme2' }],
    ['another trunk', { trunk: 'carrier-b' }],
    ['no trunk', {}],
  ])('is blocked as always: %s', async (_, call) => {
    expect(await ask(call, { litigator: listed })).toMatchObject({ reason: 'litigator' })
  })

  it('is not allowed without a record', async () => {
    const journal = { append: failToAppend, amend: () => undefined }
    const { gate } = gateOf({}, { settings: { shadow: shadowed }, journal })
    const decision = await gate.decide(aCall({ accountId: 'acme' }))
    expect(decision).toMatchObject({ decision: 'block', reason: 'not-recorded' })
  })
})

describe('a number that is known to be on the internal list', () => {
  const unknownIsAllowed = allowing(noon + 3_600_000)
  const onList = () => answered({ onList: true, addedAt: undefined })

  it.each([
    { what: 'silent', scrub: () => new Promise<never>(() => undefined) },
    { what: 'failing', scrub: () => unanswered() },
    { what: 'throwing', scrub: () => Promise.reject(new Error('broken')) },
  ])('stays barred while the scrub is $what and unknown is allowed', async ({ scrub, what }) => {
    const { decision, reason, findings } = await gateOf(
      {
        policy: { 'internal-dnc': unknownIsAllowed, permission: unknownIsAllowed },
        answers: { internalDnc: onList, scrub },
      },
      { settings: { deadlineMs: 20 } },
    ).gate.decide(aCall())
    const finding = findings.find(({ check }) => check === 'internal-dnc')
    expect(finding?.verdict, what).toBe('deny')
    expect([decision, reason]).toEqual(['block', 'internal-dnc'])
  })
})

describe('an unknown that whoever asks has caused', () => {
  const everywhere = allowing(noon + 3_600_000)
  const policy: Policy = {
    litigator: everywhere,
    'internal-dnc': everywhere,
    permission: everywhere,
    'calling-hours': everywhere,
    attempts: everywhere,
    'caller-id': everywhere,
    reassigned: everywhere,
    abandonment: everywhere,
  }

  it.each(['bad-question', 'not-askable'] as const)(
    '%s blocks, whatever is allowed',
    async (why) => {
      const silent = () => unanswered(why)
      const answers = { litigator: silent, scrub: silent, internalDnc: silent, legalTime: silent }
      expect(await decided({ policy, answers })).toMatchObject({
        decision: 'block',
        reason: 'check-unanswered',
        effects: [],
      })
    },
  )

  it.each(answerFailureReasons.filter((why) => !isRequestError(why)))(
    '%s is let pass where that is allowed',
    async (why) => {
      const answers = { litigator: () => unanswered(why) }
      expect(await decided({ policy, answers })).toMatchObject({ decision: 'allow' })
    },
  )

  it('blocks also beside a source that is merely silent', async () => {
    const litigator = () =>
      answered(
        { isLitigator: false },
        { otherAnswers: [unanswered('deadline'), unanswered('not-askable')] },
      )
    expect(await decided({ policy, answers: { litigator } })).toMatchObject({ decision: 'block' })
  })
})

describe('a decision and its policy', () => {
  const until = noon + 20_000
  const unknown: Setting = {
    policy: { litigator: allowing(until) },
    answers: { litigator: () => unanswered() },
  }
  const unknownText =
    'litigator unknown, allowed until 2026-11-23T17:00:20Z (vendor is moving; J. Doe)'
  const staleText = 'litigator by a stale answer (the source failed: circuit open)'
  const shadowText = 'litigator in shadow, would have blocked (linked to a known TCPA litigator)'

  interface Row {
    readonly setting: Setting
    readonly decision: 'allow' | 'block'
    readonly reason: string
    readonly message: string
    readonly degraded: readonly string[]
    readonly policy: DecisionReply['policy']
  }
  const rows: Readonly<Record<string, Row>> = {
    'every check passes': {
      setting: {},
      decision: 'allow',
      reason: 'permitted',
      message: 'every check passed',
      degraded: [],
      policy: undefined,
    },
    'an unknown that is let pass': {
      setting: unknown,
      decision: 'allow',
      reason: 'permitted',
      message: `policy let it pass: ${unknownText}`,
      degraded: ['litigator'],
      policy: [
        {
          check: 'litigator',
          effect: 'unknown-allowed',
          because: 'vendor is moving; J. Doe',
          until: '2026-11-23T17:00:20Z',
        },
      ],
    },
    'an unknown that is let pass, of a call blocked by another check': {
      setting: { ...unknown, answers: { ...unknown.answers, legalTime: closed } },
      decision: 'block',
      reason: 'outside-calling-hours',
      message:
        'the local time is outside the lawful calling hours: calls 08:00-21:00; place by prefix',
      degraded: [],
      policy: [
        {
          check: 'litigator',
          effect: 'unknown-allowed',
          because: 'vendor is moving; J. Doe',
          until: '2026-11-23T17:00:20Z',
        },
      ],
    },
    'an answer past its age': {
      setting: { answers: { litigator: oldAndClear } },
      decision: 'allow',
      reason: 'permitted',
      message: `every check passed, some by stale answers: ${staleText}`,
      degraded: ['litigator'],
      policy: [
        {
          check: 'litigator',
          effect: 'stale-allowed',
          because: 'the source failed: circuit open',
        },
      ],
    },
    'a deny in shadow': {
      setting: { policy: { litigator: shadow }, answers: { litigator: listed } },
      decision: 'allow',
      reason: 'permitted',
      message: `policy let it pass: ${shadowText}`,
      degraded: [],
      policy: [
        { check: 'litigator', effect: 'shadowed', because: 'linked to a known TCPA litigator' },
      ],
    },
    'a deny in shadow, and the same reason from a check that is enforced': {
      setting: {
        policy: { 'internal-dnc': shadow },
        answers: {
          internalDnc: () => answered({ onList: true, addedAt: undefined }),
          scrub: () =>
            answered({
              letter: 'P',
              reason: ';;;',
              ebrType: '',
              doNotCallToday: false,
              allowed: { manual: false, autodialed: false, ai: false },
              says: [],
            }),
        },
      },
      decision: 'block',
      reason: 'internal-dnc',
      degraded: [],
      message:
        'the number is on the internal do-not-call list: on the internal do-not-call list (scrub result P)',
      policy: [
        { check: 'internal-dnc', effect: 'shadowed', because: 'on the internal do-not-call list' },
      ],
    },
    'all checks in shadow': {
      setting: { policy: allInShadow, answers: { litigator: listed, legalTime: closed } },
      decision: 'allow',
      reason: 'permitted',
      degraded: [],
      message: `policy let it pass: ${shadowText}; calling-hours in shadow, would have blocked (calls 08:00-21:00; place by prefix)`,
      policy: [
        { check: 'litigator', effect: 'shadowed', because: 'linked to a known TCPA litigator' },
        {
          check: 'calling-hours',
          effect: 'shadowed',
          because: 'calls 08:00-21:00; place by prefix',
        },
      ],
    },
    'a number listed here while its scrub is silent, where unknown is let pass': {
      setting: {
        policy: { 'internal-dnc': allowing(until), permission: allowing(until) },
        answers: {
          internalDnc: () => answered({ onList: true, addedAt: undefined }),
          scrub: () => unanswered(),
        },
      },
      decision: 'block',
      reason: 'internal-dnc',
      degraded: [],
      message: 'the number is on the internal do-not-call list: on the internal do-not-call list',
      policy: [
        {
          check: 'permission',
          effect: 'unknown-allowed',
          because: 'vendor is moving; J. Doe',
          until: '2026-11-23T17:00:20Z',
        },
      ],
    },
  }
  for (const [what, { setting, ...expected }] of Object.entries(rows)) {
    it(`${what}: ${expected.decision}, as answer and record tell`, async () => {
      const document = replyTo(await decided(setting))
      expect({ policy: undefined, ...document }).toMatchObject(expected)
      expect(document.policy !== undefined).toBe(expected.policy !== undefined)
      expect(decisionSchema.parse(document)).toEqual(document)
    })
  }
})

describe('how long an allow holds that rests on a let-pass unknown', () => {
  const silent = { litigator: () => unanswered() }
  const cases: readonly (readonly [string, number, number])[] = [
    ['the usual minute, where the end is later', noon + 3_600_000, noon + 60_000],
    ['to the end, where that is sooner', noon + 20_000, noon + 20_000],
    ['a moment', noon + 1, noon + 1],
  ]
  it.each(cases)('%s', async (_, until, validUntil) => {
    const decision = await decided({ policy: { litigator: allowing(until) }, answers: silent })
    expect(decision).toMatchObject({ decision: 'allow', validUntil })
  })

  it('is withheld when the end passes while it is being recorded', async () => {
    let now = noon
    const clock = { now: () => now }
    const setting = { policy: { litigator: allowing(noon + 10) }, answers: silent }
    const { gate } = gateOf(setting, {
      clock,
      accountClock: clock,
      journal: {
        append: (_decision, onWritten) => {
          now = noon + 10
          onWritten?.()
        },
        amend: () => undefined,
      },
    })
    expect(await gate.decide(aCall())).toMatchObject({
      decision: 'block',
      reason: 'expired',
      effects: [{ effect: 'unknown-allowed' }],
    })
  })

  it('never outlasts what it rests on because of a finding in shadow', async () => {
    const ending = () => answered({ isLitigator: false }, { holdsUntil: noon + 5_000 })
    const inShadow = { policy: { litigator: shadow }, answers: { litigator: ending } }
    expect((await decided(inShadow)).validUntil).toBe(noon + 60_000)
    expect((await decided({ answers: { litigator: ending } })).validUntil).toBe(noon + 5_000)
  })
})

describe('which instant the end is held against', () => {
  const hour = 3_600_000
  const cases: readonly (readonly [string, number, number | undefined, 'allow' | 'block'])[] = [
    // what, end, the request's at, decision
    ['now, before the end', noon + 1, undefined, 'allow'],
    ['now, at the end', noon, undefined, 'block'],
    ['a what-if of later, before the end', noon + 2 * hour, noon + hour, 'allow'],
    ['a what-if of later, after the end', noon + hour, noon + 2 * hour, 'block'],
    ['a what-if of earlier, of an end that has passed', noon - hour, noon - 2 * hour, 'block'],
    ['a what-if of earlier, before the end', noon + hour, noon - hour, 'allow'],
  ]
  it.each(cases)('%s', async (_, until, at, decision) => {
    const setting = {
      policy: { litigator: allowing(until) },
      answers: { litigator: () => unanswered() },
    }
    expect((await decided(setting, { at })).decision).toBe(decision)
  })

  it('the account’s own clock, where that is ahead of the machine’s', async () => {
    const setting = {
      policy: { litigator: allowing(noon + hour) },
      answers: { litigator: () => unanswered() },
    }
    const { gate } = gateOf(setting, { accountClock: fixedClock(noon + hour) })
    expect((await gate.decide(aCall())).decision).toBe('block')
  })
})

describe('the age of a finding', () => {
  const age = ({ findings }: DecisionReply, check: string) => {
    const found = findings.find((finding) => finding.check === check)
    return [found?.ageMs, found?.stale]
  }
  it('is told, and whether it is past what is usual, also of a what-if', async () => {
    const setting = { answers: { litigator: oldAndClear } }
    for (const at of [undefined, noon - 86_400_000, noon + 86_400_000]) {
      const document = replyTo(await decided(setting, { at }))
      expect(age(document, 'litigator')).toEqual([340_000, true])
      expect(age(document, 'permission')).toEqual([0, undefined])
    }
  })
})

describe('metrics and log', () => {
  const cases: readonly (readonly [string, Setting, Partial<CallRequest>, readonly string[]])[] = [
    [
      'an unknown let pass',
      {
        policy: { litigator: allowing(noon + 1) },
        answers: { litigator: () => unanswered() },
      },
      {},
      ['callgate_degraded_decisions_total{check="litigator"} 1'],
    ],
    [
      'an answer past its age',
      { answers: { litigator: oldAndClear } },
      {},
      ['callgate_degraded_decisions_total{check="litigator"} 1'],
    ],
    [
      'a what-if is no call that was let pass',
      { answers: { litigator: oldAndClear } },
      { at: noon },
      [],
    ],
    [
      'a block is no call that was let pass',
      {
        policy: { permission: shadow },
        answers: { litigator: oldAndClear, legalTime: closed, scrub: () => unanswered() },
      },
      {},
      [],
    ],
    [
      'a deny in shadow',
      { policy: { litigator: shadow }, answers: { litigator: listed } },
      {},
      ['callgate_shadowed_decisions_total{check="litigator"} 1'],
    ],
  ]
  it.each(cases)('count %s', async (_, setting, call, lines) => {
    const { gate, renderMetrics } = gateOf(setting)
    await gate.decide(aCall(call))
    const counted = (await renderMetrics())
      .split('\n')
      .filter((line) => /^callgate_(degraded|shadowed)_decisions_total\{/.test(line))
    expect(counted).toEqual(lines)
  })

  it('a line names the checks an allow rests on without a fresh answer, and else nothing', async () => {
    const lines: Record<string, unknown>[] = []
    const log = createLogger('info', {
      write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>),
    })
    for (const setting of [{ answers: { litigator: oldAndClear } }, {}]) {
      await gateOf(setting, { log }).gate.decide(aCall())
    }
    expect(lines.map(({ message, degraded }) => [message, degraded])).toEqual([
      ['decision', ['litigator']],
      ['decision', undefined],
    ])
  })
})

describe('doors', () => {
  const setting: Setting = {
    policy: { permission: allowing(noon + 60_000) },
    answers: { litigator: oldAndClear, scrub: () => unanswered() },
  }
  const open = (of: Setting) =>
    openTestApp({
      routes: [],
      decisionRoutes: createDecisionRoutes({
        permits: noPermits,
        journal: { durableSeq: 0 },
        repeats: noRepeats,
        recentCalls: noRecentCalls,
        shut: { problem: undefined },
        authenticate: (key) => (key === adminKey ? admin : undefined),
        gate: {
          judge: (call) => gateOf(of).gate.judge(call),
          allowUnrecorded: (call) => gateOf(of).gate.allowUnrecorded(call),
        },
        encode: encodeReply,
        serviceCodes: new Set(),
        maxBodyBytes: 10_000,
        clock: fixedClock(noon),
        logger: silentLogger,
      }),
    })

  it('the pre-dial line stays as it is, and a header names the checks', async () => {
    const { send } = await open(setting)
    const { text, headers } = await send('/v1/predial?number=2125550100&kind=manual')
    expect(text).toBe('allow:2125550100:id1:end\n')
    expect(headers.get('x-callgate-degraded')).toBe('litigator,permission')
  })

  it('without the header where nothing was let pass, and for an emergency call', async () => {
    const { send } = await open({})
    for (const number of ['2125550100', '911']) {
      const { headers, text } = await send(`/v1/predial?number=${number}&kind=manual`)
      expect(text).toMatch(/^allow:/)
      expect(headers.has('x-callgate-degraded')).toBe(false)
    }
  })

  it('the dialplan reads the same names, and of a block none', async () => {
    const allow = createVerdictVariables(await decided(setting), 'permit')
    expect(allow.CALLGATE_DEGRADED).toBe('litigator+permission')
    const answers = { ...setting.answers, legalTime: closed }
    const block = createVerdictVariables(await decided({ ...setting, answers }), '')
    expect(block).toMatchObject({ CALLGATE_DECISION: 'block', CALLGATE_DEGRADED: '' })
  })
})
