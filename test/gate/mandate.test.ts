/** What limits the calls of a key, and what an operator has paused. */
import { describe, expect, it } from 'vitest'
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import type { MaybePromise } from '../../src/domain/compliance.js'
import type { CallRequest } from '../../src/domain/decision.js'
import type { AttemptResult, Mandate, Pauses } from '../../src/domain/mandate.js'
import { describeSaid } from '../../src/domain/words/words.js'
import { replyTo } from '../../src/gate/record/write-record.js'
import { CallingRules } from '../../src/law/calling-rules.js'
import type { CallingRulesDocument } from '../../src/law/calling-rules-document.js'
import { answered, fakeCompliance, noon, openHours } from '../support/fake-compliance.js'
import { withoutProvider } from '../support/own-facts.js'
import { strictPolicy } from '../support/strict-policy.js'
import { aCall, type TestGateOptions, testGate, withoutRules } from '../support/test-gate.js'
import { virtualTime } from '../support/virtual-time.js'

const nothing: Mandate = {
  version: 3,
  callKinds: 'any',
  projects: 'any',
  campaigns: 'any',
  callerIds: 'any',
  regions: 'any',
}
const consentedRow = {
  letter: 'E',
  reason: ';;;',
  ebrType: 'P',
  doNotCallToday: false,
  allowed: { manual: true, autodialed: true, ai: true },
  says: [],
} as const
const inRegions = (regions: readonly string[]) =>
  regions.map((region) => ({ region, zone: 'America/New_York' }))
const compliance = (regions = ['NY']) =>
  fakeCompliance({
    legalTime: () => answered({ ...openHours, places: inRegions(regions) }),
  })

async function decide(
  mandate: Partial<Mandate>,
  call: Partial<CallRequest> = {},
  {
    asked = compliance(),
    ...options
  }: TestGateOptions & { asked?: ReturnType<typeof fakeCompliance> } = {},
) {
  const { gate, recorded } = testGate(asked, options)
  const request = aCall({ keyId: 'key-1', mandate: { ...nothing, ...mandate }, ...call })
  const { decision, reason, findings, counted, nextAllowedAt } = await gate.decide(request)
  expect(recorded).toHaveLength(1)
  const [first] = findings
  return { decision, reason, says: first?.says ?? [], first, counted, nextAllowedAt, asked }
}

describe('a limit of a key', () => {
  const call = { callerId: '+1 212 555 0199', campaignId: '7' }
  const limits: readonly (readonly [string, Partial<Mandate>, Partial<CallRequest>, string])[] = [
    ['a kind', { callKinds: ['ai'] }, {}, 'key-kind'],
    ['a project', { projects: { codes: ['S'], campaignIds: [] } }, {}, 'key-project'],
    ['a campaign', { campaigns: [8] }, {}, 'key-project'],
    ['a campaign, with none', { campaigns: [8] }, { campaignId: undefined }, 'key-project'],
    ['a campaign, with blanks', { campaigns: [0] }, { campaignId: ' ' }, 'key-project'],
    ['a caller ID', { callerIds: ['2125550198'] }, {}, 'key-caller-id'],
    ['a caller ID, with none', { callerIds: 'valid' }, { callerId: undefined }, 'key-caller-id'],
    ['a caller ID, with text', { callerIds: 'valid' }, { callerId: 'me' }, 'key-caller-id'],
    ['a caller ID, with 911', { callerIds: 'valid' }, { callerId: '911' }, 'key-caller-id'],
    ...['1111111111', '0125550199', '2120550199', '2121550199', '9115550199', '+12124110199'].map(
      (callerId) =>
        [
          `a caller ID that nobody has, ${callerId}`,
          { callerIds: 'valid' },
          { callerId },
          'key-caller-id',
        ] as const,
    ),
    ['a region', { regions: ['NJ'] }, {}, 'key-region'],
  ]
  it.each(limits)('blocks what is beyond it: %s', async (_name, mandate, more, reason) => {
    const result = await decide(mandate, { ...call, ...more })
    expect(result).toMatchObject({ decision: 'block', reason, first: { check: 'mandate' } })
  })

  it('lets pass what is within it', async () => {
    const mandate: Partial<Mandate> = {
      callKinds: ['manual'],
      projects: { codes: ['main'], campaignIds: [7] },
      campaigns: [7],
      callerIds: ['2125550199'],
      regions: ['NY'],
    }
    expect(await decide(mandate, call)).toMatchObject({
      decision: 'allow',
      first: { check: 'mandate', verdict: 'pass' },
    })
  })

  it('is not told what the lists of another project say', async () => {
    const { asked } = await decide({ campaigns: [8] }, call)
    expect(asked.asked).toEqual([])
  })

  it('to regions needs all places of the number to be in them, and blocks if none is known', async () => {
    const regions = ['NY']
    const two = compliance(['NY', 'NJ'])
    expect(await decide({ regions }, {}, { asked: two })).toMatchObject({ reason: 'key-region' })
    const unknown = fakeCompliance()
    expect(await decide({ regions }, {}, { asked: unknown })).toMatchObject({
      reason: 'key-region',
    })
  })

  it('blocks numbers of other countries, which policy allows unchecked for others', async () => {
    const settings = { nonNanp: 'allow' as const }
    const foreign = { dialed: '+442071838750' }
    const { gate } = testGate(compliance(), { settings })
    expect(await gate.decide(aCall(foreign))).toMatchObject({ reason: 'policy-allows' })
    const limited = { ...foreign, keyId: 'key-1', mandate: nothing }
    expect(await gate.decide(aCall(limited))).toMatchObject({ reason: 'foreign-number' })
  })

  it('never blocks an emergency number', async () => {
    const settings = { serviceCodes: new Set(['911']) }
    const { gate } = testGate(compliance(), {
      settings,
      pauses: { read: () => paused('ai', 'key:key-1') },
    })
    const mandate = { ...nothing, callKinds: ['manual'] as const }
    const request = aCall({ dialed: '911', keyId: 'key-1', mandate, callKind: 'ai' })
    expect(await gate.decide(request)).toMatchObject({ decision: 'allow', reason: 'service-code' })
  })

  it('holds for an account in shadow mode', async () => {
    const settings = { shadow: { accounts: ['main'], trunks: [] } }
    const result = await decide({ callKinds: ['ai'] }, {}, { settings })
    expect(result).toMatchObject({ decision: 'block', reason: 'key-kind' })
  })
})

function paused(...subjects: readonly string[]): Pauses {
  const pause = { pausedAt: noon, pausedBy: 'ann', because: 'a test' }
  return new Map(subjects.map((subject) => [subject, pause]))
}

describe('what must be said', () => {
  const texts = { natural: 'Cal. Pub. Util. Code 2874', us: '47 CFR 64.1200(b)(1)' }
  const document = {
    ...loadCallingRules('config/calling-rules.yaml').document,
    disclosures: [
      { key: 'callback-number', callKinds: ['ai'], countries: ['US'], citation: 'third' },
      { key: 'identity', callKinds: ['ai'], countries: ['US'], citation: texts.us },
      { key: 'identity', callKinds: ['ai', 'autodialed'], regions: ['NY'], citation: 'New York' },
      { key: 'natural-voice-first', callKinds: ['ai'], regions: ['CA'], citation: texts.natural },
    ].map((row) => ({ ...row, confidence: 'statute-text' })),
  } as CallingRulesDocument
  const callingRules = new CallingRules(document)
  const consented = (regions?: readonly string[]) =>
    fakeCompliance({
      scrub: () => answered(consentedRow),
      ...(regions && {
        legalTime: () => answered({ ...openHours, places: inRegions(regions) }),
      }),
    })
  const keysIn = async (call: Partial<CallRequest>, regions?: readonly string[]) => {
    const { gate } = testGate(consented(regions), { callingRules })
    const decision = await gate.decide(aCall({ callKind: 'ai', ...call }))
    const { disclosures } = replyTo(decision)
    return { decision: decision.decision, said: disclosures }
  }

  it('comes with an allow, in the order in which it is said, each with its rules', async () => {
    expect(await keysIn({}, ['NY'])).toEqual({
      decision: 'allow',
      said: [
        { key: 'identity', rules: [texts.us, 'New York'] },
        { key: 'callback-number', rules: ['third'] },
      ],
    })
    const { said } = await keysIn({}, ['CA', 'NV'])
    expect(said?.map(({ key }) => key)).toEqual([
      'natural-voice-first',
      'identity',
      'callback-number',
    ])
  })

  it('is that of every rule where the place is not known, and nothing where no rule fits', async () => {
    expect((await keysIn({}))?.said?.map(({ key }) => key)).toEqual([
      'natural-voice-first',
      'identity',
      'callback-number',
    ])
    expect(await keysIn({}, ['ON'])).toEqual({ decision: 'allow', said: undefined })
    const manual = await keysIn({ callKind: 'manual' }, ['NY'])
    expect(manual).toEqual({ decision: 'allow', said: undefined })
  })

  it('does not come with a block, a service code or a number that policy allows unchecked', async () => {
    const settings = { serviceCodes: new Set(['911']), nonNanp: 'allow' as const }
    const blocked = testGate(fakeCompliance(), { callingRules, settings })
    for (const dialed of ['2125550100', '911', '+442071838750']) {
      const decision = await blocked.gate.decide(aCall({ dialed, callKind: 'ai' }))
      expect(replyTo(decision)).not.toHaveProperty('disclosures')
    }
  })
})

describe('a pause', () => {
  const ai = { callKinds: ['ai'] as const }
  const cases: readonly (readonly [
    string,
    string,
    Partial<Mandate>,
    Partial<CallRequest>,
    boolean,
  ])[] = [
    ['of the key', 'key:key-1', {}, {}, true],
    ['of another key', 'key:key-2', {}, {}, false],
    ['of the agents of the account', 'agents:main', ai, { callKind: 'ai' }, true],
    ['of agents, for a key that is none', 'agents:main', {}, {}, false],
    ['of the agents of another account', 'agents:other', ai, { callKind: 'ai' }, false],
    ['of the AI calls of the account', 'ai:main', {}, { callKind: 'ai' }, true],
    ['of the AI calls of the account, for a manual one', 'ai:main', {}, {}, false],
    ['of the AI calls of another account', 'ai:other', {}, { callKind: 'ai' }, false],
    ['of all AI calls', 'ai', {}, { callKind: 'ai' }, true],
    ['of all AI calls, for a manual one', 'ai', {}, {}, false],
  ]
  const permissive = fakeCompliance({ scrub: () => answered(consentedRow) })
  it.each(cases)('%s', async (_name, subject, mandate, call, isBlocked) => {
    const options = { asked: permissive, pauses: { read: () => paused(subject) } }
    const result = await decide(mandate, call, options)
    expect(result.decision).toBe(isBlocked ? 'block' : 'allow')
    if (isBlocked) {
      expect(describeSaid(result.says)).toContain('since 2026-11-23T17:00:00Z by ann: a test')
    }
  })

  it('of all AI calls holds for calls without a key', async () => {
    const { gate } = testGate(permissive, { pauses: { read: async () => paused('ai') } })
    const call = aCall({ callKind: 'ai', via: 'asterisk' })
    expect(await gate.decide(call)).toMatchObject({ reason: 'ai-paused' })
  })

  it('holds for numbers of other countries that policy allows unchecked', async () => {
    const call = aCall({ dialed: '+442071838750', callKind: 'ai', via: 'asterisk' })
    const reasonWith = async (read: () => MaybePromise<Pauses>) => {
      const settings = { nonNanp: 'allow' as const, deadlineMs: 20 }
      const { gate } = testGate(permissive, { pauses: { read }, settings })
      return (await gate.decide(call)).reason
    }
    expect(await reasonWith(() => paused('ai'))).toBe('ai-paused')
    expect(await reasonWith(async () => paused('ai'))).toBe('ai-paused')
    expect(await reasonWith(async () => paused())).toBe('policy-allows')
    const refusal = () => Promise.reject(new Error('no database'))
    expect(await reasonWith(refusal)).toBe('check-unanswered')
    expect(await reasonWith(() => new Promise(() => undefined))).toBe('check-unanswered')
  })

  it('is read beside the checks, which may wait for the same database', async () => {
    const order: string[] = []
    let answer: () => void = () => undefined
    const asked = fakeCompliance({
      legalTime: () => {
        order.push('check')
        return new Promise((resolve) => {
          answer = () => resolve(answered(openHours))
        })
      },
    })
    const pauses = {
      read: async () => {
        order.push('pauses')
        return paused()
      },
    }
    const { gate } = testGate(asked, { pauses })
    const deciding = gate.decide(aCall())
    expect(order).toEqual(['pauses', 'check'])
    answer()
    await deciding
  })

  it('that is not known by the deadline blocks', async () => {
    const pauses = { read: () => new Promise<Pauses>(() => undefined) }
    const { gate } = testGate(permissive, { pauses, settings: { deadlineMs: 20 } })
    expect(await gate.decide(aCall())).toMatchObject({ decision: 'block' })
  })

  it('that cannot be read blocks', async () => {
    const pauses = { read: () => Promise.reject(new Error('no database')) }
    const { gate } = testGate(permissive, { pauses })
    expect(await gate.decide(aCall())).toMatchObject({
      decision: 'block',
      reason: 'check-unanswered',
    })
  })
})

describe('the attempts of a key', () => {
  const attempts = { attemptsPerHour: 5 }
  /** Counts what it was asked. */
  function counter(answer: () => Promise<AttemptResult>) {
    const events: string[] = []
    return {
      events,
      take: ({ decisionId }: { decisionId: string }) => {
        events.push(`take ${decisionId}`)
        return answer().then((result) => ({
          counts: [],
          isCounted: result.refused === undefined,
          ...result,
        }))
      },
      readCounts: async () => [],
      release: async ({ decisionId }: { decisionId: string }) =>
        void events.push(`release ${decisionId}`),
    }
  }
  const some = async () => ({ remaining: { hour: 4 } })

  it('are counted for the decision that is recorded, and what is left is in it', async () => {
    const attemptCounter = counter(some)
    const { gate, recorded } = testGate(compliance(), { attempts: attemptCounter })
    const call = aCall({ keyId: 'key-1', mandate: { ...nothing, attempts } })
    expect(await gate.decide(call)).toMatchObject({
      decision: 'allow',
      counted: { remaining: { hour: 4 } },
    })
    expect(attemptCounter.events).toEqual([`take ${recorded[0]?.id}`])
  })

  it('do not include what-ifs, blocks and calls of keys without limits', async () => {
    const attemptCounter = counter(some)
    const limited = { mandate: { ...nothing, attempts }, keyId: 'key-1' }
    const { gate } = testGate(compliance(), { attempts: attemptCounter })
    await gate.decide(aCall({ ...limited, at: noon }))
    await gate.decide(aCall({ ...limited, callKind: 'ai' }))
    await gate.decide(aCall({ keyId: 'key-1', mandate: nothing }))
    expect(attemptCounter.events).toEqual([])
  })

  it('block when none is left, until there is room', async () => {
    const refused = {
      reason: 'key-attempts' as const,
      says: [{ code: 'key-calls', params: { calls: 5, within: 'hour' } }] as const,
      opensAt: noon + 60_000,
    }
    const attemptCounter = counter(async () => ({ refused }))
    const provided = await decide({ attempts }, {}, { attempts: attemptCounter })
    // A provider does not say how it will answer then.
    expect([provided.reason, provided.nextAllowedAt]).toEqual(['key-attempts', undefined])
    const result = await decide(
      { attempts },
      {},
      { attempts: attemptCounter, ...withoutProvider() },
    )
    expect(result).toMatchObject({
      decision: 'block',
      reason: 'key-attempts',
      nextAllowedAt: noon + 60_000,
      first: { verdict: 'deny', says: refused.says },
    })
  })

  it('block when they cannot be counted', async () => {
    const failing = counter(() => Promise.reject(new Error('no database')))
    const result = await decide({ attempts }, {}, { attempts: failing })
    expect(result).toMatchObject({ decision: 'block', reason: 'check-unanswered' })
    expect(result.says).toEqual([{ code: 'attempts-not-counted', quote: 'no database' }])
  })

  it('are taken back when they are counted too late, or the allow does not leave', async () => {
    let count: (result: AttemptResult) => void = () => undefined
    const late = counter(
      () =>
        new Promise((resolve) => {
          count = resolve
        }),
    )
    const time = virtualTime()
    const options = { timers: time, settings: { deadlineMs: 20 } }
    const deciding = decide({ attempts }, {}, { attempts: late, ...options })
    await time.advance(20)
    const result = await deciding
    expect(result).toMatchObject({ decision: 'block', reason: 'check-unanswered' })
    expect(late.events).toHaveLength(1)
    count({ remaining: {} })
    await expect.poll(() => late.events).toEqual(['take id1', 'release id1'])

    // Policy lets the call pass, so that what is counted late stays counted.
    let countLate: (result: AttemptResult) => void = () => undefined
    const slow = counter(() => new Promise((resolve) => (countLate = resolve)))
    const allowUnknown = { reason: 'the database is moved', until: noon + 60_000 }
    const limit = {
      id: 'x',
      calls: 3,
      periodMs: 1_000,
      per: 'number',
      isPerSubject: false,
    } as const
    const find = () => [{ ...limit, counts: 'all', citation: 'x' } as const]
    const passing = testGate(compliance(), {
      ...options,
      attempts: slow,
      policy: { ...strictPolicy, attempts: { mode: 'enforce', allowUnknown } },
      callingRules: { ...withoutRules, frequency: { find } },
    })
    const passed = passing.gate.decide(aCall())
    await time.advance(19)
    expect((await passed).decision).toBe('allow')
    countLate({})
    await new Promise(setImmediate)
    expect(slow.events).toEqual(['take id1'])

    const unrecorded = counter(some)
    const { gate } = testGate(compliance(), {
      attempts: unrecorded,
      journal: {
        append: (_, onWritten) => onWritten?.(new Error('disk full')),
        amend: () => undefined,
      },
    })
    const call = aCall({ keyId: 'key-1', mandate: { ...nothing, attempts } })
    expect(await gate.decide(call)).toMatchObject({ decision: 'block', reason: 'not-recorded' })
    expect(unrecorded.events).toEqual(['take id1', 'release id1'])
  })
})
