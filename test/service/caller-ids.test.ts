/** The own numbers that calls may show: the register over each engine, and what the gate makes of it. */
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import { type Caller, noLimits } from '../../src/domain/caller.js'
import type { CallRequest, Decision } from '../../src/domain/decision.js'
import type { CallerIdInput } from '../../src/domain/mandate.js'
import type { GateSettings } from '../../src/gate/gate-deps.js'
import { CallerIds } from '../../src/service/accounts/caller-ids.js'
import { DoNotOriginate } from '../../src/service/accounts/do-not-originate.js'
import { insertProject } from '../../src/service/projects/project-rows.js'
import { useDatabase } from '../support/database.js'
import { fakeCompliance } from '../support/fake-compliance.js'
import { buildSubjects, caller } from '../support/service-subjects.js'
import { type TestClock, testClock } from '../support/test-clock.js'
import { aCall, testGate, withoutRules } from '../support/test-gate.js'

const database = useDatabase()
const compliance = fakeCompliance()
const callingRules = {
  ...withoutRules,
  callerIds: loadCallingRules('config/calling-rules.yaml').callerIds,
}

let clock: TestClock
let callerIds: CallerIds
let decide: (call?: Partial<CallRequest>, settings?: Partial<GateSettings>) => Promise<Decision>

const [own, nearby, foreign] = ['3125550150', '2125550151', '7185550152']
const day = 86_400_000
const registered = [{ code: 'registered-caller-id' }]
const toShow = (number: string) => ({ code: 'caller-id-to-show', params: { number } })
const proof = { owner: 'Acme Inc.', proof: 'invoice 7 of Example Telecom' }

function add(inputs: readonly Partial<CallerIdInput>[], by: Caller = caller()) {
  const all = inputs.map((input) => ({ number: own, ...proof, ...input }))
  return callerIds.add(by, all, { by: 'ann' })
}

beforeEach(async () => {
  clock = testClock('2026-11-23T17:00:00Z')
  await buildSubjects(database.storage, { clock })
  for (const code of ['SPRING', 'FALL']) {
    await insertProject(database.db, { accountId: 'main', code, name: code, createdAt: 0 })
  }
  callerIds = new CallerIds({ storage: database.storage, clock, timers: clock })
  decide = (call = {}, settings = {}) => {
    const deps = { callerIds, clock, accountClock: clock, callingRules, settings }
    return testGate(compliance, deps).gate.decide(aCall(call))
  }
})

describe('an account without own numbers', () => {
  it('has no finding', async () => {
    for (const callerId of [undefined, own, 'anonymous']) {
      const { findings } = await decide({ callerId })
      expect(findings.some(({ check }) => check === 'caller-id')).toBe(false)
    }
  })
})

describe('a call of an account with own numbers', () => {
  beforeEach(() => add([{}, { number: nearby, projectId: 'spring' }]))

  it('that shows one passes, however it is written', async () => {
    for (const callerId of [own, `+1${own}`, '(312) 555-0150']) {
      const decision = await decide({ callerId })
      expect(decision).toMatchObject({ decision: 'allow', reason: 'permitted' })
      expect(decision.findings.at(-1)).toMatchObject({ check: 'caller-id', verdict: 'pass' })
    }
  })

  it('that shows another is blocked, of every kind, and is told a number that fits', async () => {
    for (const callKind of ['manual', 'autodialed', 'ai'] as const) {
      const { decision, findings } = await decide({ callerId: foreign, callKind })
      expect(decision).toBe('block')
      expect(findings.at(-1)).toMatchObject({ reason: 'caller-id-not-owned' })
      expect(findings.at(-1)?.says).toContainEqual(toShow(own))
    }
    expect((await decide({ callerId: foreign })).reason).toBe('caller-id-not-owned')
  })

  it('is told one of the same area code first, if the project may show it', async () => {
    const inSpring = await decide({ callerId: foreign, projectId: 'Spring' })
    expect(inSpring.findings.at(-1)?.says).toContainEqual(toShow(nearby))
  })

  it('may show a number of its project, and not one of another', async () => {
    expect((await decide({ callerId: nearby, projectId: 'spring' })).decision).toBe('allow')
    for (const projectId of ['fall', 'main', undefined]) {
      const { reason } = await decide({ callerId: nearby, projectId })
      expect(reason).toBe('caller-id-not-owned')
    }
  })

  it('that names only its campaign may not show a number of one project', async () => {
    const { findings } = await decide({ callerId: nearby, campaignId: '1' })
    expect(findings.at(-1)).toMatchObject({ reason: 'caller-id-not-owned' })
    expect(findings.at(-1)?.says).toContainEqual({ code: 'name-the-project' })
  })

  it.each([undefined, '', 'anonymous'])(
    'that shows nothing is blocked unless a person dials: %s',
    async (callerId) => {
      for (const callKind of ['autodialed', 'ai'] as const) {
        const { decision, findings } = await decide({ callerId, callKind })
        expect(decision).toBe('block')
        expect(findings.at(-1)).toMatchObject({ reason: 'caller-id-missing' })
      }
      expect((await decide({ callerId })).decision).toBe('allow')
    },
  )

  it('of another account is not judged by them', async () => {
    for (const accountId of ['other', 'sandbox']) {
      const { findings } = await decide({ accountId, callerId: foreign })
      expect(findings.some(({ check }) => check === 'caller-id')).toBe(false)
    }
  })
})

it('a project without own numbers is not judged by those of another', async () => {
  await add([{ number: nearby, projectId: 'SPRING' }])
  expect((await decide({ callerId: foreign, projectId: 'FALL' })).decision).toBe('allow')
  expect((await decide({ callerId: foreign, projectId: 'SPRING' })).decision).toBe('block')
  const onlyCampaign = await decide({ callerId: foreign, campaignId: '1' })
  expect(onlyCampaign.decision).toBe('block')
})

describe('a number may be shown', () => {
  it('from an instant on and until another', async () => {
    const now = clock.now()
    await add([{ from: now + day, until: now + 2 * day }])
    const early = await decide({ callerId: own })
    expect(early).toMatchObject({ decision: 'block', reason: 'caller-id-expired' })
    expect(early.findings.at(-1)?.says).toContainEqual({
      code: 'caller-id-starts',
      params: { at: '2026-11-24T17:00:00Z' },
    })
    expect((await decide({ callerId: own, at: now + day })).decision).toBe('allow')
    expect((await decide({ callerId: own, at: now + 2 * day })).reason).toBe('caller-id-expired')
  })

  it('so that an allow is not valid longer', async () => {
    await add([{ until: clock.now() + 5_000 }])
    const { validUntil } = await decide({ callerId: own })
    expect(validUntil).toBe(clock.now() + 5_000)
  })

  it('until it is ended, which another process sees within a second', async () => {
    const elsewhere = new CallerIds({ storage: database.storage, clock, timers: clock })
    await add([{}])
    expect((await decide({ callerId: own })).decision).toBe('allow')
    await elsewhere.end(caller(), { number: own }, { by: 'bob' })
    clock.advance(1_001)
    const ended = await decide({ callerId: own })
    expect(ended).toMatchObject({ decision: 'block', reason: 'caller-id-expired' })
    expect(ended.findings.at(-1)?.says).toContainEqual({ code: 'no-caller-id-to-show' })
    await expect(callerIds.end(caller(), { number: own }, { by: 'bob' })).rejects.toMatchObject({
      kind: 'not-found',
    })
    clock.advance(1)
    await add([{}])
    expect((await decide({ callerId: own })).decision).toBe('allow')
  })
})

describe('a number that nobody may show', () => {
  const lists = () => new DoNotOriginate({ storage: database.storage, clock })
  const listed = 'caller-id-do-not-originate'

  it('blocks a call of any account and kind, by the longest prefix, in the register or not', async () => {
    expect(
      await lists().replace('itg', ['888-555-0', '+1 (718)', '718', '7185550152'], 'ann'),
    ).toBe(3)
    const decision = await decide({ callerId: foreign })
    expect(decision).toMatchObject({ decision: 'block', reason: listed })
    expect(decision.findings.at(-1)?.says).toEqual([
      { code: 'caller-id-barred', params: { prefix: '7185550152', list: 'itg' } },
    ])
    for (const call of [
      { callerId: '8885550100' },
      { callerId: '+17182000100', callKind: 'autodialed' },
      { callerId: foreign, accountId: 'sandbox' },
    ] as const) {
      expect((await decide(call)).reason).toBe(listed)
    }
    await add([{ number: foreign }])
    expect((await decide({ callerId: foreign })).reason).toBe(listed)
    for (const callerId of ['8885560100', '2127180100', undefined]) {
      expect((await decide({ callerId })).reason).not.toBe(listed)
    }
  })

  it('may be shown again when its list no longer has it, and no other does', async () => {
    await lists().replace('one', [foreign], 'ann')
    await lists().replace('two', ['718'], 'ann')
    await lists().replace('one', ['900'], 'ann')
    expect(await lists().list()).toMatchObject([
      { source: 'one', entries: 1 },
      { source: 'two', entries: 1 },
    ])
    expect((await decide({ callerId: foreign })).reason).toBe(listed)
    await lists().replace('two', [], 'ann')
    expect((await decide({ callerId: foreign })).reason).toBe(listed)
    clock.advance(1_001)
    expect((await decide({ callerId: foreign })).decision).toBe('allow')
  })

  it('is barred within a second of the import of the first list', async () => {
    const reads = vi.spyOn(database.storage.reads, 'selectFrom')
    for (const callerId of [foreign, nearby, own, '2125550153']) {
      expect((await decide({ callerId })).decision).toBe('allow')
    }
    // The register and whether there is a list, and nothing for each number that is shown.
    expect(reads.mock.calls.map(([table]) => table)).toEqual(['caller_ids', 'do_not_originate'])
    reads.mockRestore()
    await lists().replace('one', ['718'], 'ann')
    clock.advance(1_001)
    expect((await decide({ callerId: foreign })).reason).toBe(listed)
    expect((await decide({ callerId: nearby })).decision).toBe('allow')
  })

  it.each(['', '12', '1 12', '055', '21255501990', 'none', '2125x50199'])(
    "is not '%s', and then the list stays as it was",
    async (text) => {
      await lists().replace('itg', ['718'], 'ann')
      await expect(lists().replace('itg', ['900', text], 'ann')).rejects.toMatchObject({
        problems: [{ field: 'prefixes[1]' }],
      })
      expect((await decide({ callerId: foreign })).reason).toBe(listed)
      expect((await lists().list())[0]?.entries).toBe(1)
    },
  )

  it('is found in a list of thousands', async () => {
    const many = Array.from(
      { length: 5_000 },
      (_, index) => `80055${String(index).padStart(5, '0')}`,
    )
    expect(await lists().replace('itg', [...many, ...many], 'ann')).toBe(5_000)
    expect((await decide({ callerId: '8005500123' })).reason).toBe(listed)
    expect((await decide({ callerId: '8002000123' })).decision).toBe('allow')
  })
})

describe('an own number that begins as that of the person called', () => {
  beforeEach(() => add([{}, { number: nearby }]))
  const call = { callerId: nearby }

  it('passes with a warning, as nothing shows that the account is there', async () => {
    const decision = await decide(call)
    expect(decision.decision).toBe('allow')
    expect(decision.findings.at(-1)).toMatchObject({ check: 'caller-id', verdict: 'pass' })
    expect(decision.findings.at(-1)?.says).toContainEqual({ code: 'neighbor-by-area-code' })
    expect((await decide({ callerId: own })).findings.at(-1)?.says).toEqual(registered)
  })

  it('is blocked or not looked at, as the settings say', async () => {
    const blocked = await decide(call, { neighborCallerId: 'block' })
    expect(blocked).toMatchObject({ decision: 'block', reason: 'caller-id-neighbor' })
    expect((await decide(call, { neighborCallerId: 'off' })).findings.at(-1)?.says).toEqual(
      registered,
    )
    const wide = { neighborCallerId: 'block', neighborPrefix: 'exchange' } as const
    expect((await decide({ ...call, dialed: '2122000100' }, wide)).decision).toBe('allow')
    expect((await decide(call, wide)).reason).toBe('caller-id-neighbor')
  })

  it('passes once its presence is recorded', async () => {
    await add([{ number: nearby, presence: 'office, 1 Main St, New York' }])
    const { decision, findings } = await decide(call, { neighborCallerId: 'block' })
    expect(decision).toBe('allow')
    expect(findings.at(-1)?.says).toEqual(registered)
    expect(await callerIds.list(caller())).toMatchObject([
      { presence: 'office, 1 Main St, New York' },
      { presence: undefined },
    ])
  })

  it('is not the one that is suggested, if it would be blocked', async () => {
    const { findings } = await decide({ callerId: foreign }, { neighborCallerId: 'block' })
    expect(findings.at(-1)?.says).toContainEqual(toShow(own))
    const warned = await decide({ callerId: foreign })
    expect(warned.findings.at(-1)?.says).toContainEqual(toShow(nearby))
  })
})

describe('South Carolina', () => {
  const [charleston, columbia] = ['8435550150', '8035550100']

  it('lets no call show a number of it without presence, whatever the settings say', async () => {
    const call = { callerId: charleston, dialed: columbia }
    const unregistered = await decide(call, { neighborCallerId: 'off' })
    expect(unregistered).toMatchObject({ decision: 'block', reason: 'caller-id-neighbor' })
    expect(unregistered.findings.at(-1)?.says).toContainEqual({
      code: 'neighbor-by-law',
      params: { citation: expect.stringContaining('S.C. Code 37-21-50') },
    })
    await add([{ number: charleston }])
    expect((await decide(call)).reason).toBe('caller-id-neighbor')
    await add([{ number: charleston, presence: 'office in Charleston' }])
    expect((await decide(call)).decision).toBe('allow')
  })

  it('is not asked of calls to other places, or from other numbers', async () => {
    for (const call of [
      { callerId: charleston, dialed: '2125550100' },
      { callerId: own, dialed: columbia },
      { callerId: undefined, dialed: columbia },
    ]) {
      const { decision, findings } = await decide(call)
      expect(decision).toBe('allow')
      expect(findings.some(({ check }) => check === 'caller-id')).toBe(false)
    }
  })
})

it('blocks if the numbers cannot be read', async () => {
  const failing = { read: () => Promise.reject(new Error('no database')) }
  const { gate } = testGate(compliance, { callerIds: failing })
  const unknown = { check: 'caller-id', verdict: 'unknown', reason: 'check-unanswered' }
  const decision = await gate.decide(aCall({ callerId: own }))
  expect(decision).toMatchObject({ decision: 'block', reason: 'check-unanswered' })
  expect(decision.findings.at(-1)).toMatchObject(unknown)
  expect((await gate.decide(aCall())).decision).toBe('allow')
})

describe('the register', () => {
  it('keeps what was said before a change, and what has ended', async () => {
    const callbackTestedAt = clock.now()
    await add([{ carrier: 'Example', attestation: 'A', callbackTestedAt }])
    clock.advance(day)
    await add([{ proof: 'port order 9' }])
    clock.advance(day)
    await callerIds.end(caller(), { number: `1-${own}` }, { by: 'bob' })
    expect(await callerIds.list(caller())).toEqual([])
    const first = Date.parse('2026-11-23T17:00:00Z')
    expect(await callerIds.list(caller(), { ended: true })).toMatchObject([
      { proof: 'port order 9', addedAt: first + day, endedAt: first + 2 * day, endedBy: 'bob' },
      {
        proof: proof.proof,
        attestation: 'A',
        addedBy: 'ann',
        endedAt: first + day,
        callbackTestedAt,
      },
    ])
  })

  it('takes the same number again and again at one instant', async () => {
    for (let time = 0; time < 3; time += 1) await add([{}])
    expect(await callerIds.list(caller())).toHaveLength(1)
    expect(await callerIds.list(caller(), { ended: true })).toHaveLength(3)
    await Promise.all([add([{}]), add([{}])])
    expect(await callerIds.list(caller())).toHaveLength(1)
  })

  it.each([
    [{ number: '911' }, 'callerIds[1].number'],
    [{ number: '9005550100' }, 'callerIds[1].number'],
    [{ number: `1${own}` }, 'callerIds[1].number'],
    [{ number: nearby, owner: ' ' }, 'callerIds[1].owner'],
    [{ number: nearby, proof: 'x'.repeat(201) }, 'callerIds[1].proof'],
    [{ number: nearby, carrier: 'x'.repeat(201) }, 'callerIds[1].carrier'],
    [{ number: nearby, projectId: 'NONE' }, 'callerIds[1].projectId'],
    [{ number: nearby, from: 2, until: 2 }, 'callerIds[1].until'],
  ])('refuses %j, and takes none of the others', async (input, field) => {
    await expect(add([{}, input])).rejects.toMatchObject({ problems: [{ field }] })
    expect(await callerIds.list(caller())).toEqual([])
  })

  it('belongs to its account, and to the projects of a key', async () => {
    await add([{}, { number: nearby, projectId: 'SPRING' }, { number: foreign, projectId: 'FALL' }])
    expect(await callerIds.list(caller('other'))).toEqual([])
    const projects = { codes: ['SPRING'], campaignIds: [] }
    const limited = { ...caller(), limits: { ...noLimits, projects } }
    expect(await callerIds.list(limited)).toMatchObject([{ number: nearby }])
    await expect(add([{}], limited)).rejects.toMatchObject({ kind: 'forbidden' })
    await expect(add([{ projectId: 'FALL' }], limited)).rejects.toMatchObject({ kind: 'forbidden' })
    await expect(callerIds.end(limited, { number: own }, { by: 'x' })).rejects.toMatchObject({
      kind: 'forbidden',
    })
    await expect(
      callerIds.end(caller('other'), { number: own }, { by: 'x' }),
    ).rejects.toMatchObject({
      kind: 'not-found',
    })
    await add([{ projectId: 'SPRING' }], limited)
  })
})
