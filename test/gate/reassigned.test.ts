/** Which calls are asked about the holder of their number, and what the gate makes of each answer. */
import { describe, expect, it } from 'vitest'
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import type { CallRow, MaybePromise } from '../../src/domain/compliance.js'
import type { CallKind, CallPurpose, CallRequest } from '../../src/domain/decision.js'
import type { ReassignedQuestion, ReassignedStatus } from '../../src/domain/lookups.js'
import { parseDay } from '../../src/domain/time/dates.js'
import { describeSaid, type Said } from '../../src/domain/words/words.js'
import { replyTo } from '../../src/gate/record/write-record.js'
import { answered, cleanRow, fakeCompliance, noon, unanswered } from '../support/fake-compliance.js'
import { strictPolicy } from '../support/strict-policy.js'
import { aCall, testGate, withoutRules } from '../support/test-gate.js'

const consentOn = parseDay('2026-09-01') ?? 0
const released = parseDay('2026-11-15') ?? 0
const askedAt = noon - 3_600_000
const allowed = { manual: true, autodialed: true, ai: true }

const row = (more: Partial<CallRow> = {}): CallRow => ({
  ...cleanRow,
  letter: 'H',
  ebrType: 'P',
  contactOn: consentOn,
  allowed,
  ...more,
})

const report = {
  national: false,
  own: null,
  hasSafeHarbor: true,
  isDisconnected: false,
  since: consentOn,
  askedAt,
} as const

const status = (more: Partial<ReassignedStatus> = {}): ReassignedStatus => ({
  result: 'no',
  report,
  source: 'acme',
  agent: 'agent',
  askedAt,
  releasedOn: released,
  holdsUntil: noon + 86_400_000,
  ...more,
})

const unknown = (result: ReassignedStatus['result'], says: Said = because) =>
  status({ result, says, report: undefined, releasedOn: undefined, holdsUntil: noon })

const because: Said = { code: 'reassigned-unreachable', quote: 'because' }

interface Setting {
  readonly scrub?: Parameters<typeof fakeCompliance>[0]
  readonly row?: Partial<CallRow>
  readonly status?: MaybePromise<ReassignedStatus>
}

function gateOf(setting: Setting = {}, more: Parameters<typeof testGate>[1] = {}) {
  const asked: ReassignedQuestion[] = []
  const compliance = fakeCompliance({
    scrub: () => answered(row(setting.row)),
    ...setting.scrub,
  })
  const reassigned = {
    find: (question: ReassignedQuestion) => {
      asked.push(question)
      return setting.status ?? status()
    },
  }
  return { asked, ...testGate(compliance, { reassigned, ...more }) }
}

const call = (callKind: CallKind, more: Partial<CallRequest> = {}) => aCall({ callKind, ...more })
const kinds = (letter: CallRow['letter'], ebrType: CallRow['ebrType']) =>
  Promise.all(
    (['manual', 'autodialed', 'ai'] as const).map(async (callKind) => {
      const { gate, asked } = gateOf({ row: { letter, ebrType } })
      await gate.decide(call(callKind))
      return asked.length
    }),
  )

const callingRules = {
  ...withoutRules,
  purposes: loadCallingRules('config/calling-rules.yaml').purposes,
}

const kindsFor = (purpose: CallPurpose, setting: Setting) =>
  Promise.all(
    (['manual', 'autodialed', 'ai'] as const).map(async (callKind) => {
      const settings = { purposes: [{ purpose, requestsMay: [], setBy: 'test' }] }
      const { gate, asked } = gateOf(setting, { callingRules, settings })
      await gate.decide(call(callKind))
      return asked.length
    }),
  )

describe('is asked', () => {
  it.each<[CallRow['letter'], CallRow['ebrType'], string, readonly number[]]>([
    ['H', 'P', 'a consent that lifts a listing', [1, 1, 1]],
    ['O', 'P', 'the same of a landline', [1, 1, 1]],
    ['G', 'P', 'a consent that a person does not need', [0, 1, 1]],
    ['E', 'P', 'the same of a landline', [0, 1, 1]],
    ['O', 'S', 'a sale', [0, 1, 0]],
    ['E', 'I', 'an inquiry', [0, 1, 0]],
    ['G', 'S', 'a sale that permits no call of a machine', [0, 0, 0]],
    ['C', '', 'nothing on file', [0, 0, 0]],
    ['R', 'S', 'a sale that exempts no longer', [0, 0, 0]],
    ['P', 'P', 'a consent that was revoked', [0, 0, 0]],
  ])('%s %s (%s): %j', async (letter, ebrType, _what, expected) => {
    expect(await kinds(letter, ebrType)).toEqual(expected)
  })

  it.each<[CallRow['letter'], string, readonly number[]]>([
    ['H', 'a consent that lifts a list of sales calls', [0, 1, 1]],
    ['O', 'the same of a landline', [0, 1, 1]],
    ['G', 'a consent on no list', [0, 1, 1]],
    ['E', 'the same of a landline', [0, 1, 1]],
    ['V', 'a consent where sales calls to mobile numbers are banned', [0, 1, 1]],
    ['P', 'a consent that was revoked', [0, 0, 0]],
  ])(
    'of a call that is no sale only if the record matters: %s (%s): %j',
    async (letter, _what, expected) => {
      const lineClass = 'EO'.includes(letter) ? 'wireline' : 'wireless'
      expect(await kindsFor('informational', { row: { letter, lineClass } })).toEqual(expected)
    },
  )

  it('of a call that is no sale if the record lifts an opt-out, or may', async () => {
    const lineClass = 'wireline'
    const listed = { internalDnc: () => answered({ onList: true, addedAt: 0 }) }
    const silent = { internalDnc: () => unanswered() }
    for (const scrub of [listed, silent]) {
      const setting = { scrub, row: { letter: 'O', lineClass } } as const
      expect(await kindsFor('informational', setting)).toEqual([1, 1, 1])
      expect(await kindsFor('emergency', setting)).toEqual([0, 0, 0])
    }
    const sold = { scrub: listed, row: { letter: 'O', ebrType: 'S', lineClass } } as const
    expect(await kindsFor('informational', sold)).toEqual([0, 0, 0])
  })

  it('with the day of the record', async () => {
    const { gate, asked } = gateOf()
    await gate.decide(call('ai'))
    expect(asked).toEqual([{ accountId: 'main', number: '2125550100', since: consentOn }])
  })

  it('without a day if the source of the consent does not say it, or does not answer, unless a person calls', async () => {
    const unsaid = gateOf({ row: { contactOn: undefined } })
    await unsaid.gate.decide(call('ai'))
    const silent = gateOf({ scrub: { scrub: () => unanswered() } })
    await silent.gate.decide(call('autodialed'))
    await silent.gate.decide(call('manual'))
    expect([...unsaid.asked, ...silent.asked].map(({ since }) => since)).toEqual([
      undefined,
      undefined,
    ])
  })

  it('with the earliest day of several sources', async () => {
    const other = answered(row({ contactOn: consentOn - 30 }), { source: 'second' })
    const both = () => answered(row(), { otherAnswers: [other] })
    const { gate, asked } = gateOf({ scrub: { scrub: both } })
    await gate.decide(call('ai'))
    expect(asked).toMatchObject([{ since: consentOn - 30 }])
  })
})

const lastFinding = async (setting: Setting, callKind: CallKind = 'ai') => {
  const decision = await gateOf(setting).gate.decide(call(callKind))
  return { decision, finding: decision.findings.at(-1) }
}

it('a record that an autodialed call to a landline does not need lifts limits, or nothing, and never blocks', async () => {
  const settings = {
    purposes: [{ purpose: 'informational', requestsMay: [], setBy: 'test' }],
  } as const
  const lineClass = 'wireline'
  const decide = async (one: ReassignedStatus) => {
    const setting = { row: { letter: 'E', lineClass }, status: one } as const
    const decision = await gateOf(setting, { callingRules, settings }).gate.decide(
      call('autodialed'),
    )
    const { decision: ruling, findings } = decision
    const permission = findings.find(({ check }) => check === 'permission')
    const { reassigned: shown } =
      replyTo(decision).findings.find(({ check }) => check === 'permission') ?? {}
    const lifts = permission?.hasPermission
    return { ruling, findings: findings.length, lifts, permission, shown }
  }
  expect(await decide(status())).toMatchObject({ ruling: 'allow', findings: 5, lifts: true })
  for (const one of [status({ result: 'yes' }), unknown('no-data')]) {
    const { permission, shown, ...rest } = await decide(one)
    expect(rest).toEqual({ ruling: 'allow', findings: 4, lifts: undefined })
    expect(permission?.says.slice(0, -1)).toContainEqual({ code: 'limits-still-apply' })
    expect(permission?.says.at(-1)).toEqual(permission?.reassigned?.says[0])
    expect(permission?.reassigned).toMatchObject({ check: 'reassigned' })
    expect(shown?.facts).toMatchObject({ askedAbout: '2026-09-01' })
  }
})

it('in shadow it leaves the permission of such a call as it is, so that the same limits are lifted', async () => {
  const settings = {
    purposes: [{ purpose: 'informational', requestsMay: [], setBy: 'test' }],
  } as const
  const lineClass = 'wireline'
  const rules = loadCallingRules('config/calling-rules.yaml')
  const decide = async (mode: 'shadow' | 'enforce', found: ReassignedStatus) => {
    const limits: string[] = []
    const policy = { ...strictPolicy, reassigned: { mode, allowUnknown: undefined } }
    const setting = { row: { letter: 'E', lineClass }, status: found } as const
    const attempts = {
      take: async (_: unknown, { frequency }: { frequency: readonly { id: string }[] }) => {
        limits.push(...frequency.map(({ id }) => id))
        return { isCounted: true, counts: [] }
      },
      release: async () => undefined,
    }
    const gate = gateOf(setting, {
      callingRules: rules,
      settings,
      policy,
      attempts: attempts as never,
    }).gate
    const { findings } = await gate.decide(call('autodialed'))
    const permission = findings.find(({ check }) => check === 'permission')
    return { limits, says: permission?.says, lifts: permission?.hasPermission }
  }
  const kept = await decide('enforce', status())
  expect(kept).toMatchObject({ limits: [], lifts: true })
  expect(await decide('shadow', status({ result: 'yes' }))).toEqual(kept)
  expect(await decide('shadow', unknown('no-data'))).toEqual(kept)
  const lost = await decide('enforce', status({ result: 'yes' }))
  expect(lost.limits).toEqual(['us-home-30-days'])
  expect(lost.lifts).toBeUndefined()
})

it('asks about the day of a conversation in which the person confirmed the identity, if that is later', async () => {
  const confirmedOn = consentOn + 20
  const ask = async (more: Partial<CallRow>, other?: Partial<CallRow>) => {
    const both = answered(row(more), {
      otherAnswers: other ? [answered(row(other), { source: 'second' })] : undefined,
    } as object)
    const { gate, asked } = gateOf({ scrub: { scrub: () => both } })
    const { findings } = replyTo(await gate.decide(call('ai')))
    return [asked[0]?.since, findings.at(-1)?.facts?.because]
  }
  expect(await ask({ confirmedOn })).toEqual([confirmedOn, 'last-contact'])
  expect(await ask({ confirmedOn: consentOn })).toEqual([consentOn, 'consent'])
  expect(await ask({ confirmedOn: consentOn - 1 })).toEqual([consentOn, 'consent'])
  // Of several sources the earliest, so another that knows nothing of the conversation keeps its day.
  expect(await ask({ confirmedOn }, {})).toEqual([consentOn, 'consent'])
  expect(await ask({ confirmedOn }, { confirmedOn: confirmedOn + 1 })).toEqual([
    confirmedOn,
    'last-contact',
  ])
})

describe('an answer', () => {
  it('no passes, as long as its data are the newest, and proves that they were asked', async () => {
    const { decision, finding } = await lastFinding({
      status: status({ holdsUntil: noon + 5_000 }),
    })
    expect(decision).toMatchObject({ decision: 'allow', validUntil: noon + 5_000 })
    expect(finding).toMatchObject({ check: 'reassigned', verdict: 'pass', asOf: askedAt })
    expect(finding?.says).toEqual([
      {
        code: 'not-reassigned',
        params: {
          ...{ since: '2026-09-01', basis: 'consent' },
          ...{ asked: 'acme', release: '2026-11-15' },
        },
      },
      { code: 'safe-harbor' },
    ])
    expect(describeSaid(finding?.says ?? [])).toContain('safe harbor')
    expect(replyTo(decision).findings.at(-1)?.facts).toEqual({
      answer: 'no',
      number: '2125550100',
      askedAbout: '2026-09-01',
      because: 'consent',
      safeHarbor: true,
      national: false,
      ownData: null,
      release: '2026-11-15',
      askedBy: 'agent',
      source: 'acme',
      askedAt: '2026-11-23T16:00:00Z',
      holdsUntil: '2026-11-23T17:00:05Z',
    })
  })

  it.each([
    ['yes', 'reassigned'],
    ['disconnected', 'disconnected'],
  ] as const)('%s blocks every kind of call', async (result, reason) => {
    for (const callKind of ['manual', 'autodialed', 'ai'] as const) {
      const { decision, finding } = await lastFinding({ status: status({ result }) }, callKind)
      expect(decision).toMatchObject({ decision: 'block', reason })
      expect(decision.nextAllowedAt).toBeUndefined()
      expect(finding).toMatchObject({ verdict: 'deny', reason })
    }
  })

  it('that is not known blocks, and says why', async () => {
    const reasons = {
      'no-data': { code: 'no-data-since', params: { since: '2026-09-01' } },
      'not-asked': { code: 'person-day-unknown' },
      unreachable: { code: 'reassigned-unreachable', quote: 'because' },
    } as const
    for (const result of ['no-data', 'not-asked', 'unreachable'] as const) {
      const why = reasons[result]
      const { decision, finding } = await lastFinding({ status: unknown(result, why) })
      expect(decision).toMatchObject({ decision: 'block', reason: 'check-unanswered' })
      expect(finding).toMatchObject({ check: 'reassigned', verdict: 'unknown' })
      const facts = { answer: result, says: why, safeHarbor: false }
      expect(replyTo(decision).findings.at(-1)?.facts).toMatchObject(facts)
      expect(finding?.says).toEqual([why])
    }
  })

  it('that is not known passes if policy allows it', async () => {
    const until = noon + 60_000
    const policy = {
      ...strictPolicy,
      reassigned: { mode: 'enforce', allowUnknown: { reason: 'J. Doe', until } },
    } as const
    const decide = async (one: ReassignedStatus) =>
      (await gateOf({ status: one }, { policy }).gate.decide(call('ai'))).decision
    expect(await decide(unknown('no-data'))).toBe('allow')
    expect(await decide(status({ result: 'yes' }))).toBe('block')
  })

  it('passes if nobody could have data', async () => {
    const says = { code: 'no-data-of-canada' } as const
    const none = { ...unknown('not-covered', says), holdsUntil: noon + 60_000 }
    const { decision, finding } = await lastFinding({ status: none })
    expect(decision.decision).toBe('allow')
    expect(finding).toMatchObject({ verdict: 'pass', says: [says] })
  })

  it('passes without a source, which the record says', async () => {
    const says = { code: 'no-source-of-reassigned' } as const
    const { decision, finding } = await lastFinding({
      status: {
        result: 'not-configured',
        says,
        source: 'reassigned',
        holdsUntil: noon * 2,
      },
    })
    expect(decision.decision).toBe('allow')
    expect(finding).toMatchObject({ verdict: 'pass', says: [says] })
    expect(replyTo(decision).findings.at(-1)?.facts).toBeUndefined()
  })

  it('is not waited for beyond the deadline', async () => {
    const never = new Promise<ReassignedStatus>(() => undefined)
    const { gate } = gateOf({ status: never }, { settings: { deadlineMs: 20 } })
    const decision = await gate.decide(call('ai'))
    expect(decision.findings.at(-1)).toMatchObject({ check: 'reassigned', verdict: 'unknown' })
    expect(decision.findings.at(-1)?.says).toEqual([
      { code: 'not-answered-within', params: { ms: expect.any(Number) } },
    ])
  })

  it('is a lesser reason than a list, and a greater one than the hour', async () => {
    const listed = { litigator: () => answered({ isLitigator: true }) }
    const yes = status({ result: 'yes' })
    expect((await lastFinding({ scrub: listed, status: yes })).decision.reason).toBe('litigator')
    const closed = { allowed: { manual: false, autodialed: false, ai: false } }
    expect((await lastFinding({ row: closed, status: yes })).decision.reason).toBe('reassigned')
  })
})

it('an answer that is known is not waited for', () => {
  for (const callKind of ['manual', 'autodialed', 'ai'] as const) {
    const { gate } = gateOf({ status: status({ result: 'yes' }) })
    expect(gate.judge(call(callKind))).not.toBeInstanceOf(Promise)
  }
})

it('an answer is judged alike for calls on the same basis', async () => {
  const shared = status()
  const { gate } = gateOf({ status: shared })
  const [first, second] = [await gate.decide(call('ai')), await gate.decide(call('autodialed'))]
  expect(first.findings.at(-1)?.check).toBe('reassigned')
  expect(second.findings.at(-1)).toEqual(first.findings.at(-1))
  const sold = await gateOf({ status: shared, row: { ebrType: 'S', letter: 'E' } }).gate.decide(
    call('autodialed'),
  )
  expect(sold.findings.at(-1)?.says).toMatchObject([
    { code: 'not-reassigned', params: { basis: 'last-contact' } },
    { code: 'safe-harbor' },
  ])
  expect(describeSaid(sold.findings.at(-1)?.says ?? [])).toContain('the last contact')
})

it('an account that has it in shadow is told what it would block', async () => {
  const pause = { pausedAt: 0, pausedBy: 'operator', because: 'new' }
  const pauses = { read: () => new Map([['check:reassigned:main', pause]]) }
  const { gate } = gateOf({ status: status({ result: 'yes' }) }, { pauses })
  expect(await gate.decide(call('ai'))).toMatchObject({
    decision: 'allow',
    effects: [{ check: 'reassigned', effect: 'shadowed' }],
  })
  const other = await gate.decide(call('ai', { accountId: 'other' }))
  expect(other.reason).toBe('reassigned')
})
