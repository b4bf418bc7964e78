import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Answer, CallRow } from '../../src/domain/compliance.js'
import type { CallKind, ReasonCode } from '../../src/domain/decision.js'
import type { Journal } from '../../src/gate/journal/journal.js'
import { replyTo } from '../../src/gate/record/write-record.js'
import type { LogFields } from '../../src/observability/log.js'
import { silentLogger } from '../../src/runtime/runtime.js'
import {
  answered,
  cleanRow,
  type FakeAnswers,
  fakeCompliance,
  noon,
  openHours,
  unanswered,
} from '../support/fake-compliance.js'
import { alwaysOpen } from '../support/own-facts.js'
import { strictPolicy } from '../support/strict-policy.js'
import { aCall, gateSettings, testGate, withoutRules } from '../support/test-gate.js'

const never = <T>(): Promise<Answer<T>> => new Promise(() => undefined)
const throws = () => {
  throw new Error('source is broken')
}
const questions = ['scrub', 'internalDnc', 'litigator', 'legalTime'] as const

afterEach(() => {
  vi.useRealTimers()
})

const failToWrite: Journal['append'] = (_decision, onWritten) => onWritten?.(new Error('disk full'))

describe('a call that every check passes', () => {
  it('is allowed, with a finding per check, and recorded before the answer', async () => {
    const { gate, recorded } = testGate(fakeCompliance())
    const decision = await gate.decide(aCall())
    expect(decision).toMatchObject({ decision: 'allow', reason: 'permitted' })
    expect(decision.findings.map(({ check, verdict }) => `${check} ${verdict}`).sort()).toEqual([
      'calling-hours pass',
      'internal-dnc pass',
      'litigator pass',
      'permission pass',
    ])
    expect(recorded).toEqual([decision])
  })

  it('may be acted on for a minute, but never past what a finding holds until', async () => {
    const plain = await testGate(fakeCompliance()).gate.decide(aCall())
    expect(plain.validUntil).toBe(noon + 60_000)
    const closing = fakeCompliance({
      legalTime: () => answered(openHours, { holdsUntil: noon + 5_000 }),
    })
    expect((await testGate(closing).gate.decide(aCall())).validUntil).toBe(noon + 5_000)
  })

  it('asks each question once, however many checks want the answer', async () => {
    const compliance = fakeCompliance({
      internalDnc: () => answered({ onList: true, addedAt: noon }),
    })
    await testGate(compliance).gate.decide(aCall())
    expect(compliance.asked.sort()).toEqual(['internalDnc', 'legalTime', 'litigator', 'scrub'])
  })
})

describe('a question that is not answered', () => {
  const failures: readonly (readonly [string, () => never | Answer<never> | Promise<never>])[] = [
    ['throws', throws],
    ['rejects', () => Promise.reject(new Error('no'))],
    ['is unanswered', () => unanswered()],
    ['lacks its list', () => unanswered('list-missing')],
  ]
  for (const question of questions) {
    for (const [how, behave] of failures) {
      it(`blocks when ${question} ${how}`, async () => {
        const answers = { [question]: behave } as Partial<FakeAnswers>
        const { gate, recorded } = testGate(fakeCompliance(answers))
        const decision = await gate.decide(aCall())
        expect(decision.decision).toBe('block')
        expect(['check-unanswered', 'list-missing']).toContain(decision.reason)
        expect(decision.findings).toHaveLength(4)
        expect(recorded).toHaveLength(1)
      })
    }

    it(`blocks at the deadline when ${question} hangs, and keeps the other findings`, async () => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
      const { gate } = testGate(fakeCompliance({ [question]: never } as Partial<FakeAnswers>))
      let done = false
      const deciding = gate.decide(aCall()).finally(() => {
        done = true
      })
      await vi.advanceTimersByTimeAsync(224)
      expect(done).toBe(false)
      await vi.advanceTimersByTimeAsync(1)
      const decision = await deciding
      expect(decision).toMatchObject({ decision: 'block', reason: 'check-unanswered' })
      const unknown = decision.findings.filter(({ verdict }) => verdict === 'unknown')
      expect(unknown.map(({ says }) => says)).toContainEqual([
        { code: 'not-answered-within', params: { ms: 225 } },
      ])
      expect(decision.findings.filter(({ verdict }) => verdict === 'pass').length).toBe(3)
    })
  }
})

describe('the reason of a block', () => {
  const row = (more: Partial<CallRow>): Partial<FakeAnswers> => ({
    scrub: () => answered({ ...cleanRow, ...more }),
  })
  const none = { manual: false, autodialed: false, ai: false }
  const cases: readonly (readonly [CallKind, Partial<FakeAnswers>, ReasonCode])[] = [
    [
      'manual',
      row({
        letter: 'D',
        reason: 'National (USA) 2024-01-31;;;',
        listedOn: 'national',
        allowed: none,
      }),
      'national-dnc',
    ],
    [
      'manual',
      row({ letter: 'D', reason: ';State (TX) 2024-01-31;;', listedOn: 'state', allowed: none }),
      'state-dnc',
    ],
    [
      'manual',
      row({ letter: 'D', reason: 'Litigator', listedOn: 'litigator', allowed: none }),
      'litigator',
    ],
    ['manual', row({ letter: 'P', allowed: none }), 'internal-dnc'],
    ['manual', row({ letter: 'P', ebrType: 'P', allowed: none }), 'consent-revoked'],
    ['manual', row({ letter: 'B', allowed: none }), 'list-not-covering'],
    ['manual', row({ letter: 'I', allowed: none }), 'unknown-prefix'],
    ['manual', row({ letter: 'M', allowed: none }), 'invalid-number'],
    ['manual', row({ letter: 'L', allowed: none }), 'wireless-state'],
    ['manual', row({ letter: 'F', ebrType: 'P', allowed: none }), 'wireless-state'],
    ['manual', row({ letter: 'V', ebrType: 'P', allowed: none }), 'wireless-state'],
    ['manual', row({ letter: 'S', allowed: none }), 'not-permitted'],
    ['manual', row({ letter: 'T', allowed: none }), 'not-permitted'],
    ['manual', row({ doNotCallToday: true, allowed: none }), 'restricted-day'],
    ['manual', row({ allowed: none }), 'outside-calling-hours'],
    ['autodialed', row({ letter: 'W' }), 'no-consent'],
    ['autodialed', row({ letter: 'Y' }), 'no-consent'],
    ['autodialed', row({ letter: 'G', ebrType: 'S' }), 'no-consent'],
    ['autodialed', row({ letter: 'H', ebrType: 'I' }), 'no-consent'],
    ['ai', row({ letter: 'C' }), 'no-consent'],
    ['ai', row({ letter: 'X' }), 'no-consent'],
    ['ai', row({ letter: 'E', ebrType: 'S' }), 'no-consent'],
    ['ai', row({ letter: 'O', ebrType: 'I' }), 'no-consent'],
    ['ai', row({ letter: 'G', ebrType: 'P' }), 'outside-calling-hours'],
    ['manual', { litigator: () => answered({ isLitigator: true }) }, 'litigator'],
    ['manual', { internalDnc: () => answered({ onList: true, addedAt: noon }) }, 'internal-dnc'],
  ]
  for (const [kind, answers, reason] of cases) {
    it(`${reason} for a ${kind} call`, async () => {
      const { gate } = testGate(fakeCompliance(answers))
      expect(await gate.decide(aCall({ callKind: kind }))).toMatchObject({
        decision: 'block',
        reason,
      })
    })
  }

  const statuses = {
    INVALID_PHONE: 'invalid-number',
    INVALID_PROJECT: 'unknown-project',
    INVALID_DATE: 'check-unanswered',
    TOLL_FREE: 'toll-free',
    UNKNOWN_NXX: 'unknown-prefix',
  } as const
  for (const [status, reason] of Object.entries(statuses)) {
    it(`${reason} for the row status ${status}`, async () => {
      const { gate } = testGate(
        fakeCompliance({
          legalTime: () =>
            answered({ ...openHours, status: status as keyof typeof statuses, permitted: false }),
        }),
      )
      expect(await gate.decide(aCall())).toMatchObject({ decision: 'block', reason })
    })
  }

  it('a permission newer than the internal entry lifts it, shown by the letters O and H only', async () => {
    const onList = { internalDnc: () => answered({ onList: true, addedAt: noon }) }
    const all = { manual: true, autodialed: true, ai: true }
    for (const letter of ['O', 'H'] as const) {
      const { gate } = testGate(
        fakeCompliance({ ...onList, ...row({ letter, ebrType: 'P', allowed: all }) }),
      )
      expect((await gate.decide(aCall({ callKind: 'ai' }))).decision).toBe('allow')
    }
    for (const letter of ['E', 'G', 'C'] as const) {
      const { gate } = testGate(
        fakeCompliance({ ...onList, ...row({ letter, ebrType: 'P', allowed: all }) }),
      )
      expect((await gate.decide(aCall())).reason).toBe('internal-dnc')
    }
    const { gate } = testGate(fakeCompliance({ ...onList, scrub: () => unanswered() }))
    expect((await gate.decide(aCall())).reason).toBe('internal-dnc')
  })
})

describe('nextAllowedAt', () => {
  const closed = () => answered({ ...openHours, permitted: false, opensAt: noon + 3_600_000 })

  it('tells when the call may be placed, where time is the only thing against it', async () => {
    const { gate } = testGate(fakeCompliance({ legalTime: closed }))
    expect(await gate.decide(aCall())).toMatchObject({
      reason: 'outside-calling-hours',
      nextAllowedAt: noon + 3_600_000,
    })
  })

  it('is silent where anything else is against the call as well', async () => {
    const { gate } = testGate(
      fakeCompliance({
        legalTime: closed,
        litigator: () => answered({ isLitigator: true }),
      }),
    )
    expect((await gate.decide(aCall())).nextAllowedAt).toBeUndefined()
  })
})

describe('a decision that cannot be recorded', () => {
  const failing = {
    append: failToWrite,
    amend: () => undefined,
  }

  it('withholds an allow', async () => {
    const { gate } = testGate(fakeCompliance(), { journal: failing })
    expect(await gate.decide(aCall())).toMatchObject({ decision: 'block', reason: 'not-recorded' })
  })

  it('withholds an allow when the record is not on disk by the deadline', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const given: string[] = []
    const { gate } = testGate(fakeCompliance(), {
      journal: {
        append: ({ decision }) => {
          given.push(decision)
        },
        amend: ({ decision }) => void given.push(decision),
      },
    })
    const deciding = gate.decide(aCall())
    await vi.advanceTimersByTimeAsync(250)
    expect(await deciding).toMatchObject({ decision: 'block', reason: 'not-recorded' })
    expect(given).toEqual(['allow', 'block'])
  })

  it('gives a block all the same, with its own reason', async () => {
    const listed = { litigator: () => answered({ isLitigator: true }) }
    const { gate } = testGate(fakeCompliance(listed), { journal: failing })
    expect(await gate.decide(aCall())).toMatchObject({ decision: 'block', reason: 'litigator' })
  })

  it('never holds up an emergency call', async () => {
    const { gate } = testGate(fakeCompliance(), { journal: failing })
    expect(await gate.decide(aCall({ dialed: '911' }))).toMatchObject({ decision: 'allow' })
  })
})

describe('an allow whose facts cease to hold while it is on its way', () => {
  it('is withheld, and its record says so', async () => {
    let now = noon
    const closing = fakeCompliance({
      legalTime: () => answered(openHours, { holdsUntil: noon + 1_000 }),
      scrub: async () => {
        now += 1_000
        return answered(cleanRow)
      },
    })
    const { gate, recorded } = testGate(closing, { accountClock: { now: () => now } })
    expect(await gate.decide(aCall())).toMatchObject({ decision: 'block', reason: 'expired' })
    expect(recorded.map(({ reason }) => reason)).toEqual(['expired'])
  })
})

describe('a call whose facts cannot be read', () => {
  it('is blocked unasked, and its record says what was wrong', async () => {
    const asked: string[] = []
    const compliance = fakeCompliance({
      litigator: async () => {
        asked.push('litigator')
        return answered({ isLitigator: false })
      },
    })
    const { gate, recorded } = testGate(compliance)
    const channel = { server: 'asterisk', id: '1795210306.1' }
    const call = aCall({ via: 'asterisk', channel })
    const why = "kind 'robot': must be one of manual, autodialed, ai"
    const decision = gate.refuse(call, { code: 'invalid-fact', quote: why })
    expect(decision).toMatchObject({ decision: 'block', reason: 'invalid-request', findings: [] })
    expect(recorded).toEqual([decision])
    expect(asked).toEqual([])
    const document = replyTo(decision)
    expect(document.message).toContain(why)
    expect(document.detail).toBe(why)
    expect(document.says).toEqual([{ code: 'invalid-fact', quote: why }])
    expect(document.channel).toEqual(channel)
    expect(document.dialed).toBe(call.dialed)
  })
})

describe('overload', () => {
  it('blocks what comes on top of the pending limit, and still passes 911', async () => {
    let release: (() => void) | undefined
    const held = new Promise<void>((resume) => {
      release = resume
    })
    const compliance = fakeCompliance({
      litigator: async () => {
        await held
        return answered({ isLitigator: false })
      },
    })
    const { gate } = testGate(compliance, { settings: { maxPending: 2 } })
    const first = [gate.decide(aCall()), gate.decide(aCall())]
    expect((await gate.decide(aCall())).reason).toBe('overloaded')
    expect((await gate.decide(aCall({ dialed: '911' }))).decision).toBe('allow')
    release?.()
    expect((await Promise.all(first)).map(({ decision }) => decision)).toEqual(['allow', 'allow'])
    expect((await gate.decide(aCall())).decision).toBe('allow')
  })
})

describe('metrics', () => {
  it('count attempts by verdict, and what-ifs apart', async () => {
    const { gate, renderMetrics } = testGate(fakeCompliance())
    await gate.decide(aCall({ via: 'predial' }))
    await gate.decide(aCall({ at: noon }))
    const text = await renderMetrics()
    expect(text).toContain(
      'callgate_decisions_total{decision="allow",reason="permitted",kind="manual",via="predial"} 1',
    )
    expect(text).toContain(
      'callgate_decisions_total{decision="allow",reason="permitted",kind="manual",via="what-if"} 1',
    )
    expect(text).toContain('callgate_findings_total{check="permission",verdict="pass"} 2')
    expect(text).not.toContain('2125550100')
  })
})

it('logs at most a thousand decisions a second, and how many more there were', async () => {
  vi.useFakeTimers()
  const lines: LogFields[] = []
  const info = (message: string, fields?: LogFields) => void lines.push({ message, ...fields })
  const { gate } = testGate(fakeCompliance(), { log: { ...silentLogger, info } })
  for (let asked = 0; asked < 1_200; asked += 1) await gate.decide(aCall())
  expect(lines).toHaveLength(1_000)
  vi.advanceTimersByTime(1_000)
  expect(lines.slice(1_000)).toEqual([{ message: 'decision: more in the last second', count: 200 }])
})

describe('a decision that waits for an answer while the rules are replaced', () => {
  it('is judged again, since the mixture could allow what both block', async () => {
    let answer: (verdict: Answer<CallRow>) => void = () => undefined
    const nothing = { manual: false, autodialed: false, ai: false }
    const listed = answered({ ...cleanRow, letter: 'D' as const, allowed: nothing })
    let isReplaced = false
    // The old rules permit the hour, and forbid what is on a list.
    const { gate } = testGate(
      fakeCompliance({
        legalTime: () => answered({ ...openHours, permitted: !isReplaced }),
        scrub: () => (isReplaced ? listed : new Promise((resolve) => (answer = resolve))),
      }),
    )
    const deciding = gate.decide(aCall())
    // The new ones forbid the hour, and only record what is on a list.
    isReplaced = true
    const policy = { ...strictPolicy, permission: { mode: 'shadow' } } as const
    gate.replaceRules({
      policy,
      settings: gateSettings,
      rulesVersion: 'ba9876543210',
      callingRules: withoutRules,
      windows: alwaysOpen,
    })
    answer(listed)
    const rules = 'ba9876543210'
    const reason = 'outside-calling-hours'
    expect(await deciding).toMatchObject({ decision: 'block', reason, rules })
  })
})
