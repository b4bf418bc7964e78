import { beforeEach, describe, expect, it } from 'vitest'
import { loadCallingRules } from '../../src/data/calling-rules/calling-rules-schema.js'
import type { CallRequest, Decision } from '../../src/domain/decision.js'
import type { Pauses } from '../../src/domain/mandate.js'
import type { Gate } from '../../src/gate/gate.js'
import type { GateSettings } from '../../src/gate/gate-deps.js'
import { replyTo } from '../../src/gate/record/write-record.js'
import type { RowRules } from '../../src/judge/row.js'
import { Attempts } from '../../src/service/accounts/attempts.js'
import { useDatabase } from '../support/database.js'
import { answered, fakeCompliance, openHours } from '../support/fake-compliance.js'
import { alwaysOpen, knownFacts, landlineNowhere, ownGate } from '../support/own-facts.js'
import { aCall, testGate } from '../support/test-gate.js'

const database = useDatabase()
const callingRules = loadCallingRules('config/calling-rules.yaml')
const webhooks = { add: async () => '', wake: () => undefined }

const florida = '3055550100'
const oregon = '5035550100'
const britishColumbia = '6045550100'
const maine = '2075550100'
const newYork = '2125550100'

let now: number
let ids = 0

beforeEach(() => {
  now = Date.parse('2026-11-23T14:00:00Z')
})

interface Options {
  readonly settings?: Partial<GateSettings>
  readonly pauses?: Pauses
  /** Local time is UTC less these; calls from 08:00 to 20:00. */
  readonly behindUtc?: number
}

function openGate({ settings = {}, pauses = new Map(), behindUtc }: Options = {}): Gate {
  const clock = { now: () => now }
  const windows: RowRules['windows'] = {
    evaluate(places, at, options) {
      const open = alwaysOpen.evaluate(places, at, options)
      if (behindUtc === undefined) return open
      const hour = 3_600_000
      const intoDay = (at - behindUtc * hour) % (24 * hour)
      const isOpen = intoDay >= 8 * hour && intoDay < 20 * hour
      const opensAt = at - intoDay + (intoDay < 8 * hour ? 8 : 32) * hour
      return { ...open, permitted: isOpen, opensAt: isOpen ? at : opensAt }
    },
    findNextOpening(places, at, options) {
      return this.evaluate(places, at, options).opensAt
    },
  }
  // Machines may call a landline everywhere.
  const find = () => knownFacts({ asOf: now, number: landlineNowhere })
  return ownGate(find, {
    windows,
    attempts: new Attempts(database.storage, webhooks),
    callingRules,
    clock,
    accountClock: clock,
    newId: () => `d${++ids}`,
    pauses: { read: () => pauses },
    settings: { deadlineMs: 60_000, ...settings },
  }).gate
}

type Call = Partial<CallRequest>

async function callAt(gate: Gate, instants: readonly string[], call: Call): Promise<Decision[]> {
  const decisions: Decision[] = []
  for (const instant of instants) {
    now = Date.parse(instant)
    decisions.push(await gate.decide(aCall(call)))
  }
  return decisions
}

const outcomes = (decisions: readonly Decision[]) =>
  decisions.map(({ decision, reason, nextAllowedAt }) =>
    decision === 'allow'
      ? 'allow'
      : `${reason} ${nextAllowedAt === undefined ? '-' : new Date(nextAllowedAt).toISOString()}`,
  )

const threeInFlorida = ['2026-11-23T14:00:00Z', '2026-11-23T16:00:00Z', '2026-11-23T18:00:00Z']

/** What counted the call, as its reply shows it. */
function limitsOf(decision: Decision | undefined) {
  if (!decision) throw new Error('there is no decision')
  const { facts } = replyTo(decision).findings.at(-1) ?? {}
  return (facts?.limits ?? []) as { readonly id: string; readonly attempts: readonly string[] }[]
}

describe('Florida, three calls in 24 hours', () => {
  it('refuses the fourth until 24 hours after the first, and not longer', async () => {
    const gate = openGate({ behindUtc: 5 })
    const times = [...threeInFlorida, '2026-11-23T20:00:00Z', '2026-11-24T13:59:59.999Z']
    const decisions = await callAt(gate, [...times, '2026-11-24T14:00:00Z'], { dialed: florida })
    const refused = 'too-many-attempts 2026-11-24T14:00:00.000Z'
    expect(outcomes(decisions)).toEqual(['allow', 'allow', 'allow', refused, refused, 'allow'])
    expect(decisions[3]?.findings.at(-1)).toMatchObject({
      check: 'attempts',
      verdict: 'deny',
      says: [
        {
          code: 'limit-count',
          params: {
            attempts: 3,
            calls: 3,
            counts: 'calls',
            seconds: 24 * 3600,
            citation: 'Fla. Stat. 501.616(6)(b)',
            until: '2026-11-24T14:00:00Z',
          },
        },
      ],
    })
    expect(limitsOf(decisions[3])).toMatchObject([
      { id: 'fl-24h', attempts: [2, 1, 0].map((at) => decisions[at]?.id) },
    ])
  })

  it('opens with the day when the day is closed at the end of the 24 hours', async () => {
    const gate = openGate({ behindUtc: 5 })
    const [, , , refused, night] = await callAt(
      gate,
      // 19:00 to 19:50 of a day, then 19:55, then 21:00: closed by both.
      [
        '2026-11-24T00:00:00Z',
        '2026-11-24T00:30:00Z',
        '2026-11-24T00:50:00Z',
        '2026-11-24T00:55:00Z',
        '2026-11-24T02:00:00Z',
      ],
      { dialed: florida },
    )
    // 19:00 of the next day is open.
    expect(outcomes([refused as Decision])).toEqual(['too-many-attempts 2026-11-25T00:00:00.000Z'])
    // 08:00 would be open but for the attempts.
    expect(outcomes([night as Decision])).toEqual([
      'outside-calling-hours 2026-11-25T00:00:00.000Z',
    ])
  })

  it('counts calls of other accounts and to other numbers apart, and what-ifs not at all', async () => {
    const gate = openGate()
    await callAt(gate, threeInFlorida, { dialed: florida })
    now += 1
    const ask = async (call: Call) =>
      (await gate.decide(aCall({ dialed: florida, ...call }))).reason
    expect(await ask({ accountId: 'other' })).toBe('permitted')
    expect(await ask({ dialed: '3055550101' })).toBe('permitted')
    for (let again = 0; again < 5; again += 1) {
      expect(await ask({ at: Date.parse('2026-11-24T14:00:00Z') })).toBe('permitted')
    }
    expect(await ask({ at: now })).toBe('too-many-attempts')
    // As it was before the third call.
    expect(await ask({ at: Date.parse('2026-11-23T17:00:00Z') })).toBe('permitted')
    expect(await ask({})).toBe('too-many-attempts')
  })

  it('counts calls on one subject, those without one, and no others; a subject must be known', async () => {
    const settings = { subjects: [{ account: 'main', subjects: ['solar', 'roof'] }] }
    const gate = openGate({ settings })
    await callAt(gate, threeInFlorida, { dialed: florida, subject: 'solar' })
    now = Date.parse('2026-11-23T20:00:00Z')
    const ask = async (call: Call) =>
      (await gate.decide(aCall({ dialed: florida, ...call }))).reason
    expect(await ask({ subject: 'solar' })).toBe('too-many-attempts')
    expect(await ask({})).toBe('too-many-attempts')
    expect(await ask({ subject: 'solar2' })).toBe('unknown-subject')
    expect(await ask({ subject: 'solar', accountId: 'other' })).toBe('unknown-subject')
    expect(await ask({ subject: 'roof' })).toBe('permitted')
    // Without a subject it may have been about solar or roof.
    const other = { dialed: '3055550199' }
    await callAt(gate, threeInFlorida, other)
    expect((await gate.decide(aCall({ ...other, subject: 'roof' }))).reason).toBe(
      'too-many-attempts',
    )
  })

  it('counts the numbers of a person together, and each number by itself', async () => {
    const gate = openGate()
    await callAt(gate, threeInFlorida.slice(0, 2), { dialed: florida, personId: 'p1' })
    await callAt(gate, threeInFlorida.slice(2), { dialed: '3055550101', personId: 'p1' })
    const ask = async (call: Call) => (await gate.decide(aCall(call))).reason
    expect(await ask({ dialed: '3055550102', personId: 'p1' })).toBe('too-many-attempts')
    expect(await ask({ dialed: '3055550102', personId: 'p2' })).toBe('permitted')
    expect(await ask({ dialed: florida, personId: 'p3' })).toBe('permitted')
    expect(await ask({ dialed: florida })).toBe('too-many-attempts')
  })

  it('holds for a number of Florida whatever the postal code says, and for a postal code of Florida', async () => {
    const places = [
      { region: 'NY', zone: 'America/New_York' },
      { region: 'FL', zone: 'America/New_York' },
    ]
    const gate = openGate()
    const elsewhere = testGate(
      fakeCompliance({ legalTime: () => answered({ ...openHours, places }) }),
      {
        callingRules,
        attempts: new Attempts(database.storage, webhooks),
        newId: () => `d${++ids}`,
      },
    ).gate
    const inNewYork = await gate.decide(aCall({ dialed: newYork }))
    expect(inNewYork.findings.some(({ check }) => check === 'attempts')).toBe(false)
    for (const one of [elsewhere, elsewhere, elsewhere]) {
      expect((await one.decide(aCall({ dialed: newYork }))).reason).toBe('permitted')
    }
    // A provider does not say when it would permit the next one.
    const { reason, nextAllowedAt } = await elsewhere.decide(aCall({ dialed: newYork }))
    expect([reason, nextAllowedAt]).toEqual(['too-many-attempts', undefined])
  })

  it('gives the last call to one of a hundred that ask at the same time', async () => {
    const gate = openGate({ settings: { maxPending: 1_000 } })
    await callAt(gate, threeInFlorida.slice(0, 2), { dialed: florida })
    const racing = Array.from({ length: 100 }, () => gate.decide(aCall({ dialed: florida })))
    const allowed = (await Promise.all(racing)).filter(({ decision }) => decision === 'allow')
    expect(allowed).toHaveLength(1)
  })

  it('gives an attempt back whose allow did not leave', async () => {
    const failing = testGate(fakeCompliance(), {
      callingRules,
      attempts: new Attempts(database.storage, webhooks),
      newId: () => `d${++ids}`,
      journal: { append: (_, onWritten) => onWritten?.(new Error('full')), amend: () => undefined },
    }).gate
    for (let again = 0; again < 4; again += 1) {
      expect((await failing.decide(aCall({ dialed: florida }))).reason).toBe('not-recorded')
    }
    const { db } = database.storage
    const readAll = () => db.selectFrom('attempts').select('decision_id').execute()
    await expect.poll(readAll).toEqual([])
  })
})

describe('the rules of other places', () => {
  it('count every subject in Oregon', async () => {
    const settings = { subjects: [{ subjects: ['a', 'b', 'c', 'd'] }] }
    const gate = openGate({ settings, behindUtc: 8 })
    const times = ['17', '19', '21', '23'].map((hour) => `2026-11-23T${hour}:00:00Z`)
    const decisions: Decision[] = []
    for (const [index, time] of times.entries()) {
      const call = { dialed: oregon, subject: 'abcd'[index] }
      decisions.push(...(await callAt(gate, [time], call)))
    }
    const refused = 'too-many-attempts 2026-11-24T17:00:00.000Z'
    expect(outcomes(decisions)).toEqual(['allow', 'allow', 'allow', refused])
  })

  it('allow one call in 30 days in British Columbia', async () => {
    const gate = openGate({ behindUtc: 7 })
    const times = ['2026-11-10T18:00:00Z', '2026-12-08T18:00:00Z', '2026-12-10T18:00:00Z']
    const decisions = await callAt(gate, times, { dialed: britishColumbia })
    const refused = 'too-many-attempts 2026-12-10T18:00:00.000Z'
    expect(outcomes(decisions)).toEqual(['allow', refused, 'allow'])
  })

  it('limit only machines in Maine, to one answered call in 8 hours', async () => {
    const gate = openGate()
    const machine = { dialed: maine, callKind: 'autodialed' } as const
    const times = ['2026-11-23T14:00:00Z', '2026-11-23T15:00:00Z']
    const [first, second] = await callAt(gate, times, machine)
    expect([first?.reason, second?.reason]).toEqual(['permitted', 'too-many-attempts'])
    expect((await gate.decide(aCall({ ...machine, callKind: 'manual' }))).reason).toBe('permitted')
    await database.storage.db.updateTable('attempts').set({ reach: 0 }).execute()
    expect((await gate.decide(aCall(machine))).reason).toBe('permitted')
  })
})

describe('an own limit', () => {
  it('holds beside the law, for its account and project', async () => {
    const houseLimits = [{ account: 'main', project: 'solar', calls: 1, seconds: 15 }]
    const gate = openGate({ settings: { houseLimits } })
    const call = { dialed: newYork, projectId: 'solar' }
    const times = ['2026-11-23T14:00:00Z', '2026-11-23T14:00:14Z', '2026-11-23T14:00:15Z']
    const decisions = await callAt(gate, times, call)
    const refused = 'too-many-attempts 2026-11-23T14:00:15.000Z'
    expect(outcomes(decisions)).toEqual(['allow', refused, 'allow'])
    expect((await gate.decide(aCall({ ...call, projectId: 'roof' }))).reason).toBe('permitted')
    expect((await gate.decide(aCall({ ...call, accountId: 'other' }))).reason).toBe('permitted')
  })
})

describe('in shadow', () => {
  it('too many attempts are reported and counted, and block nothing', async () => {
    const pause = { pausedAt: 0, pausedBy: 'operator', because: 'new' }
    const gate = openGate({ pauses: new Map([['check:attempts:main', pause]]) })
    const times = [...threeInFlorida, '2026-11-23T20:00:00Z', '2026-11-23T20:00:01Z']
    const decisions = await callAt(gate, times, { dialed: florida })
    expect(decisions.map(({ decision }) => decision)).toEqual(Array(5).fill('allow'))
    expect(decisions[4]?.effects).toMatchObject([{ check: 'attempts', effect: 'shadowed' }])
    const [limit] = limitsOf(decisions[4])
    expect(limit?.attempts).toEqual([3, 2, 1].map((at) => decisions[at]?.id))
    expect((await openGate().decide(aCall({ dialed: florida }))).reason).toBe('too-many-attempts')
  })
})
