import { describe, expect, it } from 'vitest'
import type { AriErrorKind } from '../../../src/asterisk/asterisk-port.js'
import { StasisGate, type StasisGateDeps } from '../../../src/asterisk/gate/stasis-gate.js'
import { PermitSigner } from '../../../src/asterisk/permit.js'
import { asteriskSchema } from '../../../src/config/asterisk.js'
import type { CallOutcome } from '../../../src/domain/call-outcome.js'
import { reasonCodes } from '../../../src/domain/checks.js'
import type { CallRequest, Decision, DecisionFinalizer } from '../../../src/domain/decision.js'
import type { Said } from '../../../src/domain/words/words.js'
import type { LogLevel } from '../../../src/observability/log.js'
import {
  type ActionName,
  aChannel,
  type Behaviour,
  FakeActions,
} from '../../support/fake-actions.js'
import { fakeCompliance } from '../../support/fake-compliance.js'
import { instant, testClock } from '../../support/test-clock.js'
import { testGate } from '../../support/test-gate.js'
import { virtualTime } from '../../support/virtual-time.js'

const number = '2125550100'
const permits = new PermitSigner('k'.repeat(32))
/** The verdict's variables where there is none. */
const cleared = {
  CALLGATE_DECISION: '',
  CALLGATE_NUMBER: '',
  CALLGATE_REASON: '',
  CALLGATE_CAUSE: '42',
  CALLGATE_ID: '',
  CALLGATE_SEQ: '',
  CALLGATE_DEGRADED: '',
  CALLGATE_PERMIT: '',
  CALLGATE_TRACEPARENT: '',
}
/** The account's own clock stands elsewhere, as that of a sandbox may. */
const judgedAt = instant('2025-01-01T12:00:00Z')

/** Decides as told, at once or when `give()` is called. */
class FakeGate {
  readonly asked: CallRequest[] = []
  readonly refused: { readonly request: CallRequest; readonly why: Said }[] = []
  verdict: Pick<Decision, 'decision' | 'reason'> = { decision: 'allow', reason: 'permitted' }
  /** On the gate's own clock. */
  decidedAt = 0
  holds = false
  broken = false
  readonly #held: { readonly give: () => void; readonly fail: () => void }[] = []
  #ids = 0

  /** Instants the gate was told the calls arrived at. */
  readonly arrivals: number[] = []

  judge(request: CallRequest, arrivedAtMs: number): Promise<DecisionFinalizer> {
    this.asked.push(request)
    this.arrivals.push(arrivedAtMs)
    if (this.broken) return Promise.reject(new Error('the gate is broken'))
    const decision = this.#decision(request, this.verdict, number)
    if (!this.holds) return Promise.resolve(() => decision)
    return new Promise((resolve, reject) => {
      this.#held.push({
        give: () => resolve(() => decision),
        fail: () => reject(new Error('the gate is broken')),
      })
    })
  }

  refuse(request: CallRequest, why: Said): Decision {
    this.refused.push({ request, why })
    return this.#decision(request, { decision: 'block', reason: 'invalid-request' }, '')
  }

  /** Gives the oldest decision that is held, or fails to. */
  give(how: 'give' | 'fail' = 'give'): void {
    const held = this.#held.shift()
    if (!held) throw new Error('no decision is held')
    held[how]()
  }

  #decision(
    request: CallRequest,
    { decision, reason }: Pick<Decision, 'decision' | 'reason'>,
    judged: string,
  ): Decision {
    this.#ids += 1
    return {
      id: `d${this.#ids}`,
      accountId: request.accountId,
      request,
      number: reason === 'service-code' ? request.dialed : judged,
      findings: [],
      decidedAt: this.decidedAt,
      judgedAt,
      accountTime: judgedAt,
      validUntil: judgedAt + 60_000,
      rules: '0123456789ab',
      decision,
      reason,
      effects: [],
      holdsUntil: Number.POSITIVE_INFINITY,
      nextAllowedAt: undefined,
    }
  }
}

function stasis(settings: unknown = {}, more: Partial<StasisGateDeps> = {}) {
  const actions = new FakeActions()
  const decisions = new FakeGate()
  const clock = testClock()
  decisions.decidedAt = clock.now()
  const notes: (readonly [string, Partial<CallOutcome>, boolean])[] = []
  const counted: string[] = []
  const lines: { readonly level: LogLevel; readonly message: string; readonly fields: unknown }[] =
    []
  const at = (level: LogLevel) => (message: string, fields: unknown) => {
    lines.push({ level, message, fields })
  }
  const gate = new StasisGate({
    server: 'pbx',
    app: 'callgate',
    accountId: 'main',
    actions,
    gate: decisions,
    settings: asteriskSchema.parse(settings),
    permits,
    clock,
    eventLoop: { earliestArrivalMs: () => 0 },
    serviceCodes: new Set(['112']),
    outcomes: { record: (...note) => notes.push(note) },
    metrics: { countHandoverFailure: (server, why) => counted.push(`${server} ${why}`) },
    log: { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') },
    ...more,
  })
  const levels = () => lines.map(({ level }) => level)
  return { gate, actions, decisions, clock, notes, counted, lines, levels }
}

type Stasis = ReturnType<typeof stasis>

const args = [number, 'kind=manual']
const announcing = { announcement: { context: 'blocked' } }

function notCarriedOut({ notes, counted, clock }: Stasis, id: string, why: string): void {
  const outcome = {
    state: 'not-carried-out',
    notCarriedOutAt: clock.now(),
    notCarriedOut: why,
  }
  expect(notes).toEqual([[id, outcome, true]])
  expect(counted).toEqual([`pbx ${why}`])
}

describe('a call that is allowed', () => {
  it('gets its decision in one request, then goes on after Stasis()', async () => {
    const one = stasis(announcing)
    one.gate.onChannelEntered(aChannel(), [...args, 'project=5', 'ref=r'])
    await one.gate.drain()
    expect(one.decisions.asked).toEqual([
      {
        accountId: 'main',
        dialed: number,
        callKind: 'manual',
        projectId: '5',
        reference: 'r',
        channel: { server: 'pbx', id: 'c1' },
        via: 'asterisk',
      },
    ])
    expect(one.actions.asked).toEqual(['setVariables c1', 'resume c1'])
    expect(one.actions.set.get('c1')).toEqual({
      CALLGATE_DECISION: 'allow',
      CALLGATE_NUMBER: number,
      CALLGATE_REASON: 'permitted',
      CALLGATE_CAUSE: '',
      CALLGATE_ID: 'd1',
      CALLGATE_SEQ: '',
      CALLGATE_DEGRADED: '',
      CALLGATE_PERMIT: expect.stringMatching(/^1\./),
      CALLGATE_TRACEPARENT: '',
    })
    const handedOver = { state: 'handed-over', handedOverAt: one.clock.now() }
    expect(one.notes).toEqual([['d1', handedOver, true]])
    expect(one.counted).toEqual([])
    expect(one.levels()).toEqual([])
  })

  it('carries a permit for its channel and number, as long as the allow is good', async () => {
    const one = stasis()
    one.gate.onChannelEntered(aChannel(), args)
    await one.gate.drain()
    const permit = one.actions.set.get('c1')?.CALLGATE_PERMIT ?? ''
    const now = one.clock.now()
    const asked: readonly (readonly [string, string, number, boolean])[] = [
      ['c1', number, now + 59_999, true],
      ['c1', number, now + 60_000, false],
      ['c2', number, now, false],
      ['c1', '2125550101', now, false],
    ]
    for (const [channelId, to, at, good] of asked) {
      const read = permits.verify(permit, { channelId, number: to, now: at })
      expect(read).toEqual(good ? { decisionId: 'd1' } : undefined)
    }
  })
})

describe('the caller ID of a call', () => {
  const shown = async (callerNumber: string, args: readonly string[]) => {
    const time = virtualTime()
    const { gate } = testGate(fakeCompliance(), { timers: time })
    const eventLoop = { earliestArrivalMs: () => time.monotonicMs() }
    const one = stasis({}, { gate, eventLoop })
    one.gate.onChannelEntered(aChannel({ callerNumber }), [number, 'kind=manual', ...args])
    await one.gate.drain()
    return one.actions.set.get('c1')?.CALLGATE_REASON
  }

  it.each([
    ['101', 'permitted'],
    ['9', 'permitted'],
    ['alice', 'permitted'],
    ['anonymous', 'permitted'],
    ['2125550199', 'permitted'],
    ['0000000000', 'caller-id-invalid'],
    ['+442079460000', 'caller-id-invalid'],
    ['5550199', 'caller-id-invalid'],
    ['911', 'caller-id-invalid'],
  ])('%s is judged as at every other door', async (callerId, reason) => {
    expect(await shown(callerId, [])).toBe(reason)
    expect(await shown('2125550199', [`callerid=${callerId}`])).toBe(reason)
  })
})

describe('an event that waited for the event loop', () => {
  const entering = async (dialed: string, ageMs: number) => {
    const time = virtualTime()
    const { gate, recorded } = testGate(fakeCompliance(), { timers: time })
    const eventLoop = { earliestArrivalMs: () => time.monotonicMs() - ageMs }
    const one = stasis({}, { gate, eventLoop })
    one.gate.onChannelEntered(aChannel(), [dialed, 'kind=manual'])
    await one.gate.drain()
    return { set: one.actions.set.get('c1'), recorded }
  }

  it('is blocked as overloaded from its deadline on', async () => {
    const { set, recorded } = await entering(number, 250)
    expect(set).toMatchObject({
      CALLGATE_DECISION: 'block',
      CALLGATE_REASON: 'overloaded',
      CALLGATE_PERMIT: '',
    })
    expect(recorded.map(({ reason }) => reason)).toEqual(['overloaded'])
    expect((await entering(number, 100)).set).toMatchObject({ CALLGATE_DECISION: 'allow' })
  })

  it('passes when it is an emergency call', async () => {
    expect((await entering('911', 60_000)).set).toMatchObject({ CALLGATE_DECISION: 'allow' })
  })
})

describe('an allow that ends before it is handed over', () => {
  it('is not handed over, and the call is hung up', async () => {
    const one = stasis()
    one.actions.will('setVariables', 'later')
    one.gate.onChannelEntered(aChannel(), args)
    await one.actions.whenAsked('setVariables')
    one.clock.advance(60_000)
    one.actions.answer('setVariables')
    await one.gate.drain()
    expect(one.actions.asked).toEqual(['setVariables c1', 'hangup c1 congestion'])
    expect(one.notes).toMatchObject([
      ['d1', { state: 'not-carried-out', notCarriedOut: 'timed-out' }, true],
    ])
  })

  it('carries no permit beyond its own time, however long deciding took', async () => {
    const one = stasis()
    one.decisions.decidedAt = one.clock.now() - 240
    one.gate.onChannelEntered(aChannel(), args)
    await one.gate.drain()
    const permit = one.actions.set.get('c1')?.CALLGATE_PERMIT ?? ''
    const at = (now: number) => permits.verify(permit, { channelId: 'c1', number, now })
    expect(at(one.clock.now() + 59_759)).toEqual({ decisionId: 'd1' })
    expect(at(one.clock.now() + 59_760)).toBeUndefined()
  })
})

describe('a call that is blocked', () => {
  it.each([
    ['after Stasis()', {}, 'resume c1'],
    ['at the announcement', announcing, 'resume c1 blocked,s,1'],
    [
      'at a named place of it',
      { announcement: { context: 'blocked', extension: 'no', priority: 7 } },
      'resume c1 blocked,no,7',
    ],
  ])('goes on %s, without a permit', async (_where, settings, resumed) => {
    const one = stasis(settings)
    one.decisions.verdict = { decision: 'block', reason: 'litigator' }
    one.gate.onChannelEntered(aChannel(), args)
    await one.gate.drain()
    expect(one.actions.asked).toEqual(['setVariables c1', resumed])
    expect(one.actions.set.get('c1')).toEqual({
      CALLGATE_DECISION: 'block',
      CALLGATE_NUMBER: number,
      CALLGATE_REASON: 'litigator',
      CALLGATE_CAUSE: '21',
      CALLGATE_ID: 'd1',
      CALLGATE_SEQ: '',
      CALLGATE_DEGRADED: '',
      CALLGATE_PERMIT: '',
      CALLGATE_TRACEPARENT: '',
    })
    expect(one.notes.map(([id, { state }]) => [id, state])).toEqual([['d1', 'handed-over']])
  })

  const undecided: ReadonlySet<string> = new Set([
    'not-recorded',
    'clock-behind',
    'clock-ahead',
    'not-current',
    'expired',
    'invalid-request',
    'list-stale',
    'list-unreadable',
    'list-missing',
    'check-unanswered',
    'overloaded',
  ])
  const allowing: ReadonlySet<string> = new Set(['policy-allows', 'service-code', 'permitted'])
  for (const reason of reasonCodes.filter((code) => !allowing.has(code))) {
    const cause = undecided.has(reason) ? '42' : '21'
    it(`ends with cause ${cause} for ${reason}`, async () => {
      const one = stasis()
      one.decisions.verdict = { decision: 'block', reason }
      one.gate.onChannelEntered(aChannel(), args)
      await one.gate.drain()
      expect(one.actions.set.get('c1')).toMatchObject({ CALLGATE_CAUSE: cause })
    })
  }
})

describe('a call whose facts cannot be read', () => {
  const rows: readonly (readonly [string, readonly string[], string, string])[] = [
    ['without arguments', [], '', 'number: is required as the first argument'],
    ['with an unknown key', [number, 'zip=1'], number, "argument 'zip=1': must be one of"],
    ['with a key twice', [number, 'kind=ai', 'kind=manual'], number, 'is given twice'],
    ['with an overlong number', ['9'.repeat(5_000)], '9'.repeat(128), 'longer than 128'],
  ]
  for (const [what, given, dialed, detail] of rows) {
    it(`is refused, recorded and carried out like any block: ${what}`, async () => {
      const one = stasis(announcing)
      one.gate.onChannelEntered(aChannel(), given)
      await one.gate.drain()
      expect(one.decisions.asked).toEqual([])
      const [refused] = one.decisions.refused
      expect(refused?.request).toMatchObject({ dialed, callKind: 'ai', via: 'asterisk' })
      expect(refused?.why).toEqual({ code: 'invalid-fact', quote: expect.stringContaining(detail) })
      expect(one.actions.asked).toEqual(['setVariables c1', 'resume c1 blocked,s,1'])
      expect(one.actions.set.get('c1')).toMatchObject({
        CALLGATE_DECISION: 'block',
        CALLGATE_REASON: 'invalid-request',
        CALLGATE_CAUSE: '42',
        CALLGATE_PERMIT: '',
      })
    })
  }

  for (const kind of ['gone', 'refused', 'timed-out', 'disconnected'] as const) {
    it(`is refused when a variable cannot be read: ${kind}`, async () => {
      const one = stasis({ variables: { project: 'PROJECT' } })
      one.actions.will('getVariable', kind)
      one.gate.onChannelEntered(aChannel(), args)
      await one.gate.drain()
      expect(one.decisions.asked).toEqual([])
      const quote = `project: variable PROJECT cannot be read: getVariable: ${kind}`
      expect(one.decisions.refused.map(({ why }) => why)).toEqual([{ code: 'invalid-fact', quote }])
      expect(one.actions.set.get('c1')).toMatchObject({ CALLGATE_CAUSE: '42' })
    })
  }

  it('is hung up when it cannot go on, as a channel that ARI has created cannot', async () => {
    const one = stasis()
    one.actions.will('resume', 'refused')
    one.gate.onChannelEntered(aChannel({ application: { name: 'Stasis', data: 'callgate' } }), [])
    await one.gate.drain()
    expect(one.actions.asked.at(-1)).toBe('hangup c1 congestion')
    notCarriedOut(one, 'd1', 'action-failed')
  })
})

describe('facts from channel variables', () => {
  it('are asked for on the channel that waits', async () => {
    const one = stasis({ variables: { project: 'PROJECT', kind: 'KIND' } })
    one.actions.variables.set('PROJECT', '5')
    one.gate.onChannelEntered(aChannel(), args)
    await one.gate.drain()
    expect(one.actions.asked).toEqual(['variable c1 PROJECT', 'setVariables c1', 'resume c1'])
    expect(one.decisions.asked).toMatchObject([{ projectId: '5', callKind: 'manual' }])
  })
})

describe('an emergency call', () => {
  for (const dialed of ['911', '112', '+911', 'sip:933@pbx']) {
    it(`is decided on whatever its arguments hold, and nothing else is asked: ${dialed}`, async () => {
      const one = stasis({ variables: { project: 'PROJECT' }, defaults: { kind: 'manual' } })
      one.decisions.verdict = { decision: 'allow', reason: 'service-code' }
      one.gate.onChannelEntered(aChannel(), [dialed, 'zip=1', 'kind=x', 'kind=y', 'trunk=none'])
      await one.gate.drain()
      expect(one.decisions.refused).toEqual([])
      expect(one.decisions.asked).toMatchObject([{ dialed, callKind: 'manual' }])
      expect(one.actions.asked).toEqual(['setVariables c1', 'resume c1'])
      expect(one.actions.set.get('c1')).toMatchObject({ CALLGATE_DECISION: 'allow' })
    })
  }

  for (const args of [
    ['911', '2125550105'],
    ['911;ext=2125550105'],
    ['911', 'PJSIP/2125550105@trunk', 'kind=ai'],
  ]) {
    it(`is none with another number behind it: ${args.join()}`, async () => {
      const one = stasis()
      one.gate.stopAccepting()
      one.gate.onChannelEntered(aChannel(), args)
      await one.gate.drain()
      expect(one.decisions.asked).toEqual([])
      expect(one.actions.set.get('c1')).toMatchObject({ CALLGATE_DECISION: '' })
    })
  }

  it('is still let pass when calls are no longer taken', async () => {
    const one = stasis()
    one.gate.stopAccepting()
    one.gate.onChannelEntered(aChannel(), ['911'])
    await one.gate.drain()
    expect(one.decisions.asked).toHaveLength(1)
    expect(one.actions.set.get('c1')).toMatchObject({ CALLGATE_DECISION: 'allow' })
  })
})

describe('a channel that leaves', () => {
  it('while its facts are read is not judged, and its refusal not carried out', async () => {
    const one = stasis({ variables: { project: 'PROJECT' } })
    one.actions.will('getVariable', 'later')
    one.gate.onChannelEntered(aChannel(), args)
    one.gate.onChannelLeft('c1')
    one.actions.answer('getVariable')
    await one.gate.drain()
    expect(one.decisions.asked).toEqual([])
    expect(one.decisions.refused).toHaveLength(1)
    expect(one.actions.asked).toEqual(['variable c1 PROJECT'])
    notCarriedOut(one, 'd1', 'channel-left')
    expect(one.levels()).toEqual(['info'])
  })

  it('during its decision gets no more requests', async () => {
    const one = stasis()
    one.decisions.holds = true
    one.gate.onChannelEntered(aChannel(), args)
    one.gate.onChannelLeft('c1')
    one.gate.onChannelLeft('c1')
    one.clock.advance(200)
    one.decisions.give()
    await one.gate.drain()
    expect(one.actions.asked).toEqual([])
    notCarriedOut(one, 'd1', 'channel-left')
    expect(one.lines).toEqual([
      {
        level: 'info',
        message: 'a decision was not carried out',
        fields: { decisionId: 'd1', server: 'pbx', channelId: 'c1', why: 'channel-left' },
      },
    ])
  })

  const answers: readonly Exclude<Behaviour, 'later'>[] = [
    'done',
    'gone',
    'refused',
    'timed-out',
    'disconnected',
  ]
  for (const answer of answers) {
    it(`while its variables are set is neither let go nor hung up: ${answer}`, async () => {
      const one = stasis()
      one.actions.will('setVariables', 'later')
      one.gate.onChannelEntered(aChannel(), args)
      await one.actions.whenAsked('setVariables c1')
      one.gate.onChannelLeft('c1')
      one.actions.answer('setVariables', answer)
      await one.gate.drain()
      expect(one.actions.asked).toEqual(['setVariables c1'])
      notCarriedOut(one, 'd1', 'channel-left')
    })
  }

  /** Asterisk may tell that the channel left before it answers the request that let it go. */
  const letGo: readonly (readonly [Exclude<Behaviour, 'later'>, 'handed-over' | 'channel-left'])[] =
    [
      ['done', 'handed-over'],
      ['timed-out', 'handed-over'],
      ['gone', 'channel-left'],
      ['refused', 'channel-left'],
      ['disconnected', 'channel-left'],
    ]
  for (const [answer, ending] of letGo) {
    it(`once it was let go is ${ending} when the answer is ${answer}`, async () => {
      const one = stasis()
      one.actions.will('resume', 'later')
      one.gate.onChannelEntered(aChannel(), args)
      await one.actions.whenAsked('resume c1')
      one.gate.onChannelLeft('c1')
      one.actions.answer('resume', answer)
      await one.gate.drain()
      expect(one.actions.asked).toEqual(['setVariables c1', 'resume c1'])
      if (ending === 'channel-left') notCarriedOut(one, 'd1', ending)
      else expect(one.notes.map(([id, { state }]) => [id, state])).toEqual([['d1', ending]])
    })
  }

  it('after it was handed over changes nothing, nor does an unknown channel', async () => {
    const one = stasis()
    one.gate.onChannelEntered(aChannel(), args)
    await one.gate.drain()
    one.gate.onChannelLeft('c1')
    one.gate.onChannelLeft('c9')
    expect(one.notes.map(([id, { state }]) => [id, state])).toEqual([['d1', 'handed-over']])
    expect(one.counted).toEqual([])
  })
})

describe('an action that fails', () => {
  const hungUp = 'hangup c1 congestion'
  const rows: readonly (readonly [
    AriErrorKind | 'hidden fault',
    string,
    readonly string[],
    LogLevel,
  ])[] = [
    ['gone', 'channel-left', [], 'info'],
    ['refused', 'action-failed', [hungUp], 'warn'],
    ['timed-out', 'timed-out', [hungUp], 'warn'],
    ['disconnected', 'disconnected', [], 'warn'],
    ['hidden fault', 'action-failed', [hungUp], 'warn'],
  ]
  const actions: readonly (readonly [ActionName, readonly string[], readonly string[]])[] = [
    ['setVariables', ['setVariables c1'], []],
    ['resume', ['setVariables c1', 'resume c1'], ['setVariables c1']],
  ]
  for (const [action, tried, takenBack] of actions) {
    for (const [kind, why, then, level] of rows) {
      it(`${action}, ${kind}: not carried out, ${why}${then.length ? ', hung up' : ''}`, async () => {
        const one = stasis()
        one.actions.will(action, kind)
        one.gate.onChannelEntered(aChannel(), args)
        await one.gate.drain()
        const before = then.length > 0 ? takenBack : []
        expect(one.actions.asked).toEqual([...tried, ...before, ...then])
        notCarriedOut(one, 'd1', why)
        expect(one.lines).toMatchObject([
          { level, fields: { decisionId: 'd1', channelId: 'c1', server: 'pbx', why } },
        ])
      })
    }
  }

  it('takes the verdict back before it hangs up a call that it told to go on', async () => {
    const one = stasis()
    one.actions.will('resume', 'timed-out')
    one.gate.onChannelEntered(aChannel(), args)
    await one.gate.drain()
    expect(one.actions.asked.at(-1)).toBe(hungUp)
    expect(one.actions.set.get('c1')).toEqual(cleared)
  })

  it('hangs up no call that has gone on, though nobody said so in time', async () => {
    const one = stasis()
    one.actions.will('resume', 'later')
    one.gate.onChannelEntered(aChannel(), args)
    await one.actions.whenAsked('resume c1')
    one.actions.will('setVariables', 'gone')
    one.actions.answer('resume', 'timed-out')
    await one.gate.drain()
    expect(one.actions.asked).toEqual(['setVariables c1', 'resume c1', 'setVariables c1'])
    notCarriedOut(one, 'd1', 'timed-out')
  })

  it('is recorded before the channel is hung up, and a failed hangup changes nothing', async () => {
    const one = stasis()
    one.actions.will('setVariables', 'refused')
    one.actions.will('hangup', 'later')
    one.gate.onChannelEntered(aChannel(), args)
    await one.actions.whenAsked('hangup c1')
    notCarriedOut(one, 'd1', 'action-failed')
    one.actions.answer('hangup', 'timed-out')
    await one.gate.drain()
    notCarriedOut(one, 'd1', 'action-failed')
    expect(one.levels()).toEqual(['warn', 'debug'])
  })
})

describe('a gate that throws', () => {
  it('does not leave the caller waiting', async () => {
    const one = stasis()
    one.decisions.broken = true
    one.gate.onChannelEntered(aChannel(), args)
    await one.gate.drain()
    expect(one.actions.asked).toEqual(['hangup c1 congestion'])
    expect(one.notes).toEqual([])
    expect(one.levels()).toEqual(['error'])
  })

  it('does not hang up a channel that has left, which may be in use elsewhere', async () => {
    const one = stasis()
    one.decisions.holds = true
    one.gate.onChannelEntered(aChannel(), args)
    one.gate.onChannelLeft('c1')
    one.decisions.give('fail')
    await one.gate.drain()
    expect(one.actions.asked).toEqual([])
    expect(one.levels()).toEqual(['error'])
  })
})

describe('two channels', () => {
  it('are kept apart, whichever decision comes first', async () => {
    const one = stasis()
    one.decisions.holds = true
    one.gate.onChannelEntered(aChannel(), args)
    one.decisions.verdict = { decision: 'block', reason: 'litigator' }
    one.gate.onChannelEntered(aChannel({ id: 'c2' }), args)
    one.gate.onChannelLeft('c1')
    one.decisions.give()
    one.decisions.give()
    await one.gate.drain()
    expect(one.actions.asked).toEqual(['setVariables c2', 'resume c2'])
    expect(one.actions.set.get('c2')).toMatchObject({
      CALLGATE_ID: 'd2',
      CALLGATE_REASON: 'litigator',
    })
    expect(one.notes.map(([id, { state }]) => [id, state]).sort()).toEqual([
      ['d1', 'not-carried-out'],
      ['d2', 'handed-over'],
    ])
  })
})

describe('a channel that enters again', () => {
  it('while its call is under way is the same call', async () => {
    const one = stasis()
    one.decisions.holds = true
    one.gate.onChannelEntered(aChannel(), args)
    one.gate.onChannelEntered(aChannel(), args)
    one.decisions.give()
    await one.gate.drain()
    expect(one.decisions.asked).toHaveLength(1)
    expect(one.actions.asked).toEqual(['setVariables c1', 'resume c1'])
  })

  it('after it left is a new call, and the old decision is not carried out', async () => {
    const one = stasis()
    one.decisions.holds = true
    one.gate.onChannelEntered(aChannel(), args)
    one.gate.onChannelLeft('c1')
    one.gate.onChannelEntered(aChannel(), args)
    one.decisions.give()
    one.decisions.give()
    await one.gate.drain()
    expect(one.actions.asked).toEqual(['setVariables c1', 'resume c1'])
    expect(one.actions.set.get('c1')).toMatchObject({ CALLGATE_ID: 'd2' })
    expect(one.notes.map(([id, { state }]) => [id, state]).sort()).toEqual([
      ['d1', 'not-carried-out'],
      ['d2', 'handed-over'],
    ])
  })

  it('after its call has ended is a new call', async () => {
    const one = stasis()
    for (const left of [false, true]) {
      one.gate.onChannelEntered(aChannel(), args)
      await one.gate.drain()
      if (left) one.gate.onChannelLeft('c1')
    }
    expect(one.notes.map(([id, { state }]) => [id, state])).toEqual([
      ['d1', 'handed-over'],
      ['d2', 'handed-over'],
    ])
  })
})

describe('an offered channel', () => {
  it.each<readonly [string, Behaviour, boolean, readonly LogLevel[]]>([
    ['is claimed, and decided on once it enters', 'done', true, []],
    ['is ignored when another application takes it', 'done', false, ['debug']],
    ['is ignored when it no longer exists', 'gone', true, ['debug']],
    ['is left when the claim fails', 'timed-out', true, ['warn']],
  ])('%s', async (_what, behaviour, wins, levels) => {
    const one = stasis()
    one.actions.will('claim', behaviour)
    one.actions.claimWins = wins
    one.gate.onChannelOffered(aChannel())
    await new Promise(setImmediate)
    expect(one.actions.asked).toEqual(['claim c1'])
    expect(one.levels()).toEqual(levels)
    expect(one.decisions.asked).toEqual([])
  })

  it('is not claimed when calls are no longer taken', async () => {
    const one = stasis()
    one.gate.stopAccepting()
    one.gate.onChannelOffered(aChannel())
    await new Promise(setImmediate)
    expect(one.actions.asked).toEqual([])
  })
})

describe('channels that are there on connecting', () => {
  const waiting = (id: string, data: string, name = 'Stasis') =>
    aChannel({ id, application: { name, data } })
  const broadcast = '500,^callgate,2125550100:kind=manual'

  it('are taken over when they wait in our application and are unknown', async () => {
    const one = stasis()
    one.gate.onResynchronized([
      waiting('c1', 'callgate,2125550100,kind=manual,ref="a,b"'),
      waiting('c2', 'callgate-b,2125550100'),
      waiting('c3', 'PJSIP/2125550100@trunk', 'Dial'),
      waiting('c4', broadcast, 'StasisBroadcast'),
      aChannel({ id: 'c5', application: undefined }),
    ])
    await one.gate.drain()
    expect(one.actions.asked).toEqual(['setVariables c1', 'resume c1'])
    expect(one.decisions.asked).toMatchObject([{ callKind: 'manual', reference: 'a,b' }])
    expect(one.lines).toMatchObject([{ level: 'info', fields: { server: 'pbx', channelId: 'c1' } }])
  })

  it('go on with their call when it is under way, also when the list lacks it', async () => {
    const one = stasis()
    one.decisions.holds = true
    one.gate.onChannelEntered(aChannel(), args)
    one.gate.onChannelEntered(aChannel({ id: 'c2' }), args)
    one.gate.onResynchronized([aChannel()])
    one.gate.onChannelEntered(aChannel(), args)
    one.decisions.give()
    one.decisions.give()
    await one.gate.drain()
    expect(one.decisions.asked).toHaveLength(2)
    expect(one.notes.map(([id, { state }]) => [id, state])).toEqual([
      ['d1', 'handed-over'],
      ['d2', 'handed-over'],
    ])
  })

  for (const [name, data] of [
    ['Stasis', 'callgate,2125550100,kind=manual'],
    ['StasisBroadcast', broadcast],
  ] as const) {
    it(`get a new decision when the first did not reach them: ${name}`, async () => {
      const one = stasis()
      one.actions.will('setVariables', 'disconnected')
      one.gate.onChannelEntered(waiting('c1', data, name), args)
      await one.gate.drain()
      notCarriedOut(one, 'd1', 'disconnected')
      one.actions.will('setVariables', 'done')
      one.gate.onResynchronized([waiting('c1', data, name)])
      await one.gate.drain()
      expect(one.decisions.asked).toMatchObject([{ callKind: 'manual' }, { callKind: 'manual' }])
      expect(one.actions.set.get('c1')).toMatchObject({ CALLGATE_ID: 'd2' })
      expect(one.notes.map(([id, { state }]) => [id, state])).toEqual([
        ['d1', 'not-carried-out'],
        ['d2', 'handed-over'],
      ])
    })
  }

  it('are let alone when they were let go, have left, or have gone on', async () => {
    const one = stasis()
    const ids = ['c1', 'c2', 'c3']
    for (const id of ids) {
      if (id === 'c3') one.actions.will('setVariables', 'disconnected')
      one.gate.onChannelEntered(aChannel({ id }), args)
      await one.gate.drain()
    }
    one.gate.onChannelLeft('c2')
    one.actions.will('setVariables', 'done')
    const asked = one.actions.asked.length
    one.gate.onResynchronized([aChannel(), aChannel({ id: 'c2' }), waiting('c3', '', 'Dial')])
    await one.gate.drain()
    expect(one.decisions.asked).toHaveLength(3)
    expect(one.actions.asked).toHaveLength(asked)
  })

  it('leave as ever after a list that lacked them', async () => {
    const one = stasis()
    one.decisions.holds = true
    one.gate.onChannelEntered(aChannel(), args)
    one.gate.onResynchronized([])
    one.gate.onChannelLeft('c1')
    one.decisions.give()
    await one.gate.drain()
    expect(one.actions.asked).toEqual([])
    notCarriedOut(one, 'd1', 'channel-left')
  })

  it('are taken over when they had left, have come again and were not reached', async () => {
    const one = stasis()
    one.gate.onChannelEntered(aChannel(), args)
    await one.gate.drain()
    one.gate.onChannelLeft('c1')
    one.actions.will('setVariables', 'disconnected')
    one.gate.onChannelEntered(aChannel(), args)
    await one.gate.drain()
    one.actions.will('setVariables', 'done')
    one.gate.onResynchronized([aChannel()])
    await one.gate.drain()
    expect(one.actions.set.get('c1')).toMatchObject({ CALLGATE_ID: 'd3' })
  })

  it('are decided again when an id is reused and its end was missed', async () => {
    const one = stasis()
    one.gate.onChannelEntered(aChannel(), args)
    await one.gate.drain()
    one.gate.onResynchronized([])
    one.gate.onResynchronized([aChannel()])
    await one.gate.drain()
    expect(one.decisions.asked).toHaveLength(2)
  })

  it('are taken over though ten thousand others have left since', async () => {
    const one = stasis()
    for (let id = 0; id < 10_000; id += 1) one.gate.onChannelLeft(`x${id}`)
    one.gate.onResynchronized([aChannel({ id: 'x9999' }), aChannel({ id: 'x0' })])
    await one.gate.drain()
    expect(one.actions.asked).toEqual(['setVariables x0', 'resume x0'])
  })
})

describe('a gate that takes no more calls', () => {
  it('hands a call back at once, undecided, with no verdict left on it', async () => {
    const one = stasis(announcing)
    one.gate.stopAccepting()
    one.gate.onChannelEntered(aChannel(), args)
    await one.gate.drain()
    expect(one.actions.asked).toEqual(['setVariables c1', 'resume c1'])
    expect(one.actions.set.get('c1')).toEqual(cleared)
    expect(one.decisions.asked).toEqual([])
    expect(one.decisions.refused).toEqual([])
    expect(one.notes).toEqual([])
    expect(one.levels()).toEqual(['info'])
  })

  for (const action of ['setVariables', 'resume'] as const) {
    it(`leaves it to the dialplan’s time limit when ${action} fails`, async () => {
      const one = stasis()
      one.actions.will(action, 'timed-out')
      one.gate.stopAccepting()
      one.gate.onChannelEntered(aChannel(), args)
      await one.gate.drain()
      expect(one.actions.asked.at(-1)).toBe(`${action} c1`)
      expect(one.levels()).toEqual(['info'])
    })
  }

  it('ends when every call that it had taken has ended, and not before', async () => {
    const one = stasis()
    one.decisions.holds = true
    one.actions.will('resume', 'later')
    one.gate.onChannelEntered(aChannel(), args)
    one.gate.onChannelEntered(aChannel({ id: 'c2' }), args)
    one.gate.stopAccepting()
    const ended: string[] = []
    const drained = [1, 2].map(() => one.gate.drain().then(() => ended.push('drained')))
    one.decisions.give()
    await one.actions.whenAsked('resume c1')
    one.actions.answer('resume')
    await new Promise(setImmediate)
    expect(ended).toEqual([])
    one.decisions.give()
    await one.actions.whenAsked('resume c2')
    expect(ended).toEqual([])
    one.actions.answer('resume')
    await Promise.all(drained)
    expect(one.notes.map(([id, { state }]) => [id, state])).toEqual([
      ['d1', 'handed-over'],
      ['d2', 'handed-over'],
    ])
    await one.gate.drain()
  })
})

describe('settings that break a rule', () => {
  it('are refused when the gate is made', () => {
    expect(() => stasis({ defaults: { postal: 'x' } })).toThrow("asterisk.defaults.postal 'x'")
  })
})
