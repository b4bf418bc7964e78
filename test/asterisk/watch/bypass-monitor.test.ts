import { describe, expect, it } from 'vitest'
import type { AsteriskChannel, DialEvent } from '../../../src/asterisk/asterisk-port.js'
import { PermitSigner } from '../../../src/asterisk/permit.js'
import { Trunks } from '../../../src/asterisk/trunks.js'
import {
  BypassMonitor,
  type BypassMonitorDeps,
} from '../../../src/asterisk/watch/bypass-monitor.js'
import { LegOutcomeTracker } from '../../../src/asterisk/watch/leg-outcomes.js'
import type { TrunkSettings } from '../../../src/config/settings.js'
import type { LogFields, LogLevel } from '../../../src/observability/log.js'
import { FakeActions } from '../../support/fake-actions.js'

const now = Date.UTC(2026, 10, 23, 17)
const permits = new PermitSigner('a key of at least thirty-two characters')
const granted = { channelId: 'gated', number: '2125550100', decisionId: 'd1' }
const permit = permits.sign({ ...granted, expiresAt: now + 60_000 })

const trunk = (name: string, more: Partial<TrunkSettings> = {}): TrunkSettings => ({
  name,
  channel: `PJSIP/${name}`,
  dialPrefix: '',
  watch: true,
  defaults: {},
  ...more,
})

interface Line {
  readonly level: LogLevel
  readonly message: string
  readonly fields: LogFields
}

function watching(
  more: Partial<Pick<BypassMonitorDeps, 'enforce' | 'trunks' | 'clock' | 'claimUsedPermit'>> = {},
) {
  const actions = new FakeActions()
  const lines: Line[] = []
  const counted: unknown[] = []
  const notes: (readonly [string, string | undefined])[] = []
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push({ level, message, fields })
  const watch = new BypassMonitor({
    server: 'pbx',
    trunks: new Trunks([
      trunk('trunk'),
      trunk('strict', { enforce: true }),
      trunk('lax', { enforce: false }),
      trunk('prefixed', { dialPrefix: '9' }),
      trunk('unwatched', { watch: false, enforce: true }),
    ]),
    enforce: false,
    actions,
    permits,
    claimUsedPermit: () => Promise.reject(new Error('there is no database')),
    legOutcomes: new LegOutcomeTracker({
      outcomes: { record: (id, outcome) => void notes.push([id, outcome.state]) },
    }),
    clock: { now: () => now },
    serviceCodes: new Set(),
    metrics: { countUngatedCall: (call) => void counted.push(call) },
    log: { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') },
    ...more,
  })
  return { watch, actions, lines, counted, notes }
}

const settled = () => new Promise((resume) => setImmediate(resume))

const channel = (id: string, name: string, variables: Record<string, string> = {}) =>
  ({ id, name, callerNumber: '', variables, application: undefined }) satisfies AsteriskChannel

/** A channel whose events carry the permit that is set on it; '' is none. */
const caller = (held: string, id = 'gated') =>
  channel(id, 'PJSIP/caller-00000001', { CALLGATE_PERMIT: held })

const dialling = (more: Partial<DialEvent> = {}, on = 'trunk'): DialEvent => ({
  status: '',
  dialString: `2125550100@${on}`,
  caller: caller(permit),
  peer: channel('leg', `PJSIP/${on}-00000002`),
  at: now,
  ...more,
})

describe('a leg that a permit covers', () => {
  const covered: readonly (readonly [string, DialEvent])[] = [
    ['on a watched trunk', dialling()],
    ['as an address', dialling({ dialString: 'trunk/sip:+12125550100@h:5060' })],
    [
      'behind the prefix of its trunk',
      dialling({ dialString: '92125550100@prefixed' }, 'prefixed'),
    ],
    ['on a trunk that is not watched', dialling({}, 'unwatched')],
    ['on a channel of no trunk', dialling({ peer: channel('leg', 'Local/2125550100@x-0001;1') })],
    ['through a queue', dialling({ dialString: 'PJSIP/2125550100@trunk' })],
  ]
  for (const [what, event] of covered) {
    it(`continues, and its outcome is recorded with its decision: ${what}`, async () => {
      const { watch, counted, actions, notes } = watching({ enforce: true })
      watch.onDial(event)
      watch.onDial({ ...event, status: 'ANSWER', dialString: '' })
      watch.onChannelEnded('leg', 16, now + 1)
      await settled()
      expect([counted, actions.asked]).toEqual([[], []])
      expect(notes).toEqual([
        ['d1', 'dialled'],
        ['d1', 'answered'],
        ['d1', 'answered'],
      ])
    })
  }
})

describe('a leg that no permit covers', () => {
  const other = (over: Partial<typeof granted>, expiresAt = now + 60_000) =>
    caller(permits.sign({ ...granted, ...over, expiresAt }))
  const forged = new PermitSigner('another key of thirty-two characters or more')
  const uncovered: readonly (readonly [string, DialEvent, string])[] = [
    ['originated: nobody is the caller', dialling({ caller: undefined }), 'no-caller'],
    [
      'originated with a permit of its own',
      dialling({
        caller: undefined,
        peer: channel('leg', 'PJSIP/trunk-00000002', { CALLGATE_PERMIT: permit }),
      }),
      'no-caller',
    ],
    ['dialled by the dialplan alone', dialling({ caller: caller('') }), 'no-permit'],
    [
      'transferred: the caller is the old trunk leg',
      dialling({ caller: caller('', 't') }),
      'no-permit',
    ],
    [
      'a permit copied to another channel',
      dialling({ caller: caller(permit, 'x') }),
      'permit-not-valid',
    ],
    ['another number', dialling({ dialString: '2125550199@trunk' }), 'permit-not-valid'],
    [
      'a permit for another number',
      dialling({ caller: other({ number: '2125550199' }) }),
      'permit-not-valid',
    ],
    ['an expired permit', dialling({ caller: other({}, now) }), 'permit-not-valid'],
    [
      'a permit of a foreign key',
      dialling({ caller: caller(forged.sign({ ...granted, expiresAt: now + 60_000 })) }),
      'permit-not-valid',
    ],
    ['a word for a permit', dialling({ caller: caller('allow') }), 'permit-not-valid'],
    [
      'a number that cannot be read',
      dialling({ dialString: 'trunk/sip:%32@h' }),
      'number-unreadable',
    ],
    ['two numbers', dialling({ dialString: '2125550100@trunk/2125550199' }), 'number-unreadable'],
    ['no number', dialling({ dialString: 'trunk' }), 'number-unreadable'],
    ['seen first as it rings', dialling({ status: 'RINGING', caller: undefined }), 'no-caller'],
  ]
  for (const [what, event, why] of uncovered) {
    it(`is counted and logged: ${what}`, async () => {
      const { watch, counted, lines, actions, notes } = watching()
      watch.onDial(event)
      watch.onDial({ ...event, status: 'RINGING' })
      watch.onDial({ ...event, status: 'ANSWER' })
      await settled()
      expect(counted).toEqual([{ server: 'pbx', trunk: 'trunk', hungUp: false }])
      expect(lines).toMatchObject([
        { level: 'error', fields: { why, trunk: 'trunk', channelId: 'leg', hungUp: false } },
      ])
      expect([actions.asked, notes]).toEqual([[], []])
    })
  }

  it('is told with its channels and no more of the number than the log may show', () => {
    const { watch, lines } = watching()
    watch.onDial(dialling({ caller: caller('') }))
    expect(lines[0]?.fields).toEqual({
      server: 'pbx',
      trunk: 'trunk',
      channelId: 'leg',
      channel: 'PJSIP/trunk-00000002',
      callerChannelId: 'gated',
      number: '212555****',
      why: 'no-permit',
      enforced: false,
      hungUp: false,
    })
  })

  it('is hung up at once where that is set, for all trunks or for its own', async () => {
    const cases: readonly (readonly [string, boolean, boolean])[] = [
      ['trunk', false, false],
      ['trunk', true, true],
      ['strict', false, true],
      ['lax', true, false],
    ]
    for (const [on, enforce, hungUp] of cases) {
      const { watch, actions, counted, lines } = watching({ enforce })
      watch.onDial(dialling({ caller: undefined }, on))
      expect(actions.asked).toEqual(hungUp ? ['hangup leg rejected'] : [])
      await settled()
      expect(counted).toEqual([{ server: 'pbx', trunk: on, hungUp }])
      expect(lines.map(({ level }) => level)).toEqual([hungUp ? 'warn' : 'error'])
    }
  })

  it('is counted as not hung up when Asterisk does not do it', async () => {
    for (const failure of [
      'gone',
      'refused',
      'timed-out',
      'disconnected',
      'hidden fault',
    ] as const) {
      const { watch, actions, counted, lines } = watching({ enforce: true })
      actions.will('hangup', failure)
      watch.onDial(dialling({ caller: undefined }))
      await settled()
      expect(counted).toEqual([{ server: 'pbx', trunk: 'trunk', hungUp: false }])
      expect(lines).toMatchObject([{ level: 'error', fields: { enforced: true, hungUp: false } }])
      expect(lines[0]?.fields.err).toBeInstanceOf(Error)
    }
  })

  it('passes unseen when it is an emergency call, or on no watched trunk', async () => {
    const { watch, actions, counted, lines } = watching({ enforce: true })
    watch.onDial(dialling({ caller: undefined, dialString: '911@trunk' }))
    watch.onDial(dialling({ caller: undefined, peer: channel('l2', 'PJSIP/unwatched-00000003') }))
    watch.onDial(dialling({ caller: undefined, peer: channel('l3', 'PJSIP/desk-00000004') }))
    await settled()
    expect([counted, actions.asked, lines]).toEqual([[], [], []])
  })
})

describe('a leg that is heard of late', () => {
  it('is judged as of its dialling, however long this process was paused', async () => {
    const clock = { now: () => now + 90_000 }
    const { watch, actions, counted } = watching({ enforce: true, clock })
    watch.onDial(dialling())
    watch.onDial(dialling({ at: now + 60_001, peer: channel('late', 'PJSIP/trunk-00000003') }))
    await settled()
    expect(actions.asked).toEqual(['hangup late rejected'])
    expect(counted).toHaveLength(1)
  })

  it('has no longer for a clock of Asterisk that runs ahead', async () => {
    const expired = caller(permits.sign({ ...granted, expiresAt: now }))
    const { watch, counted } = watching()
    watch.onDial(dialling({ caller: expired, at: now - 1 }))
    expect(counted).toEqual([])
    watch.onDial(dialling({ caller: expired, at: now + 1, peer: channel('2', 'PJSIP/trunk-2') }))
    expect(counted).toHaveLength(1)
  })
})

describe('a leg whose first event is missing', () => {
  it('is counted and told by the trunk of its dial string, unless it is an emergency call', () => {
    const { watch, counted, lines } = watching({ enforce: true })
    for (const dialString of [
      '2125550105@trunk',
      'strict/sip:2125550105@h:5060',
      '911@trunk',
      '2125550105@unwatched',
      '2125550105@trunk-2',
      '',
    ]) {
      watch.onUnseenDial(dialString)
    }
    expect(counted).toEqual([
      { server: 'pbx', trunk: 'trunk', hungUp: false },
      { server: 'pbx', trunk: 'strict', hungUp: false },
    ])
    expect(lines.map(({ level }) => level)).toEqual(['error', 'error'])
  })

  it('is logged at a later event and not hung up, since it may be an emergency call', async () => {
    const { watch, counted, lines, actions } = watching({ enforce: true })
    watch.onResynchronized([])
    watch.onDial(dialling({ status: 'ANSWER', dialString: '' }))
    watch.onDial(dialling({ status: 'ANSWER', dialString: '' }))
    await settled()
    expect(counted).toEqual([{ server: 'pbx', trunk: 'trunk', hungUp: false }])
    expect(lines).toMatchObject([{ level: 'error', fields: { why: 'begin-unseen' } }])
    expect(actions.asked).toEqual([])
  })
})

describe.each([
  ['of a subroutine', (permit: string) => `ib(callgate-leg^s^1(${permit}))`],
  ['in place of a URL', (permit: string) => `i,callgate-permit(${permit})`],
])('a permit among the arguments of Dial(), %s', (_, argumentsWith) => {
  const dials = (argument: string, more: Partial<AsteriskChannel> = {}) => ({
    ...channel('gated', 'PJSIP/caller-00000001'),
    application: { name: 'Dial', data: `PJSIP/2125550100@trunk,60,${argumentsWith(argument)}` },
    ...more,
  })

  it('covers the leg without a request', () => {
    const { watch, actions, counted, notes } = watching({ enforce: true })
    watch.onDial(dialling({ caller: dials(permit) }))
    expect([actions.asked, counted, notes]).toEqual([[], [], [['d1', 'dialled']]])
  })

  it.each([
    ['none', '', {}, 'no-permit'],
    ['of another channel', permit, { id: 'copied' }, 'permit-not-valid'],
    ['that is forged', `1.zzzzzzzz.d1.${'A'.repeat(43)}`, {}, 'permit-not-valid'],
  ] as const)('%s does not', (_, argument, more, why) => {
    const { watch, lines } = watching()
    watch.onDial(dialling({ caller: dials(argument, more) }))
    expect(lines).toMatchObject([{ level: 'error', fields: { why } }])
  })

  it('is not the decision id that earlier recipes put there', () => {
    const { watch, actions, counted, notes } = watching({ enforce: true })
    const variables = { CALLGATE_PERMIT: permit }
    watch.onDial(dialling({ caller: dials('0mwpj83s86ce52e66b0fb41ceaba1', { variables }) }))
    expect([actions.asked, counted, notes]).toEqual([[], [], [['d1', 'dialled']]])
  })
})

describe('events without the permit of the caller', () => {
  const bare = channel('gated', 'PJSIP/caller-00000001')
  const leg = (id: string) => channel(id, `PJSIP/trunk-0000000${id}`)

  it('make the monitor ask Asterisk for it', async () => {
    const { watch, actions, lines, counted, notes } = watching({ enforce: true })
    actions.variables.set('CALLGATE_PERMIT', permit)
    watch.onDial(dialling({ caller: bare, peer: leg('1') }))
    watch.onDial(dialling({ caller: bare, peer: leg('2') }))
    await settled()
    expect(actions.asked).toEqual(Array(2).fill('variable gated CALLGATE_PERMIT'))
    expect([lines, counted, notes.length]).toEqual([[], [], 2])
  })

  it('that it does not carry one is found so too', async () => {
    const { watch, actions, counted } = watching({ enforce: true })
    watch.onDial(dialling({ caller: bare }))
    await settled()
    expect(actions.asked).toEqual(['variable gated CALLGATE_PERMIT', 'hangup leg rejected'])
    expect(counted).toEqual([{ server: 'pbx', trunk: 'trunk', hungUp: true }])
  })

  it('an Asterisk that does not tell leaves the leg uncovered', async () => {
    const { watch, actions, lines } = watching({ enforce: true })
    actions.will('getVariable', 'timed-out')
    watch.onDial(dialling({ caller: bare }))
    await settled()
    expect(actions.asked.at(-1)).toBe('hangup leg rejected')
    expect(lines.at(-1)?.fields).toMatchObject({ why: 'permit-unknown', hungUp: true })
  })

  it('what happens to the leg meanwhile is told after it is judged', async () => {
    const { watch, actions, notes } = watching()
    actions.variables.set('CALLGATE_PERMIT', permit)
    actions.will('getVariable', 'later')
    watch.onDial(dialling({ caller: bare }))
    watch.onDial(dialling({ caller: bare, status: 'ANSWER', dialString: '' }))
    watch.onChannelEnded('leg', 16, now)
    await settled()
    expect(notes).toEqual([])
    actions.answer('getVariable')
    await settled()
    expect(notes.map(([, state]) => state)).toEqual(['dialled', 'answered', 'answered'])
  })

  it('are not asked about where no trunk is watched', () => {
    const { watch, actions } = watching({ enforce: true })
    watch.onDial(dialling({ caller: bare }, 'unwatched'))
    watch.onDial(dialling({ caller: bare }, 'desk'))
    expect(actions.asked).toEqual([])
  })
})

describe('after events have been missed', () => {
  const appDial = { name: 'AppDial', data: '(Outgoing Line)' }
  const onTrunk = (id: string, application: AsteriskChannel['application']) => ({
    ...channel(id, `PJSIP/trunk-0000000${id}`),
    application,
  })

  it('legs that began meanwhile are logged once with their count, and not hung up', async () => {
    const { watch, lines, counted, actions } = watching({ enforce: true })
    const there = [
      onTrunk('1', appDial),
      onTrunk('2', { ...appDial, name: 'AppDial2' }),
      onTrunk('3', { name: 'Queue', data: 'inbound' }),
      onTrunk('4', undefined),
      { ...channel('5', 'PJSIP/desk-00000005'), application: appDial },
    ]
    watch.onResynchronized(there)
    watch.onResynchronized(there)
    watch.onDial(dialling({ status: 'RINGING', caller: undefined, peer: onTrunk('1', appDial) }))
    await settled()
    expect(lines).toMatchObject([
      { level: 'warn', message: 'legs on watched trunks started while disconnected' },
    ])
    expect(lines[0]?.fields).toEqual({ server: 'pbx', count: 2 })
    expect([counted, actions.asked]).toEqual([[], []])
  })

  it('a leg that is in the list before it is seen to dial is judged then', async () => {
    const { watch, counted, actions, notes } = watching({ enforce: true })
    const gated = { ...channel('7', 'PJSIP/trunk-00000007'), application: appDial }
    watch.onResynchronized([onTrunk('1', appDial), gated])
    watch.onDial(dialling({ caller: undefined, peer: onTrunk('1', appDial) }))
    watch.onDial(dialling({ caller: undefined, peer: onTrunk('1', appDial) }))
    watch.onDial(dialling({ peer: gated }))
    await settled()
    expect(actions.asked).toEqual(['hangup 1 rejected'])
    expect(counted).toHaveLength(1)
    expect(notes).toEqual([['d1', 'dialled']])
  })

  it('that a leg began to dial while not connected is no offence of its', () => {
    const { watch, counted, lines } = watching({ enforce: true })
    watch.onResynchronized([])
    watch.onDisconnected()
    watch.onDial(dialling({ status: 'RINGING', dialString: '' }))
    expect(counted).toEqual([])
    expect(lines).toMatchObject([{ level: 'warn', fields: { count: 1 } }])
  })

  it('legs judged before are not logged again', () => {
    const { watch, lines } = watching()
    watch.onDial(dialling())
    watch.onResynchronized([{ ...dialling().peer, application: appDial }])
    expect(lines).toEqual([])
  })

  it('a leg without a dial string is logged and not hung up', async () => {
    const { watch, lines, counted, actions } = watching({ enforce: true })
    watch.onDial(dialling({ status: 'RINGING', dialString: '' }))
    watch.onDial(dialling({ status: 'ANSWER', dialString: '' }))
    await settled()
    expect(lines).toMatchObject([{ level: 'warn', fields: { count: 1 } }])
    expect([counted, actions.asked]).toEqual([[], []])
  })

  it('a leg that is younger than the list of channels is not judged again', async () => {
    const { watch, lines, notes } = watching()
    watch.onDial(dialling())
    watch.onResynchronized([])
    watch.onDial(dialling({ status: 'ANSWER', dialString: '' }))
    expect([lines, notes.map(([, state]) => state)]).toEqual([[], ['dialled', 'answered']])
  })

  it('a channel id is forgotten at its end, or when two lists lack it', async () => {
    for (const forget of [
      (watch: BypassMonitor) => watch.onChannelEnded('leg', 16, now),
      (watch: BypassMonitor) => {
        watch.onResynchronized([])
        watch.onResynchronized([])
      },
    ]) {
      const { watch, counted } = watching()
      watch.onDial(dialling({ caller: undefined }))
      forget(watch)
      watch.onDial(dialling({ caller: undefined }))
      await settled()
      expect(counted).toHaveLength(2)
    }
  })
})

describe('a leg with the id of a permit that was used over HTTP', () => {
  const id = '0195f3a2-7c41-7d2e-9a55-3c0e6f1b2d48'
  const claimOf = (decisionId: string | undefined) => {
    const claims: unknown[] = []
    const claimUsedPermit: BypassMonitorDeps['claimUsedPermit'] = async (claim) => {
      claims.push(claim)
      return decisionId
    }
    return { claims, claimUsedPermit }
  }

  it('continues, and its outcome is recorded with the decision', async () => {
    const { claims, claimUsedPermit } = claimOf('d7')
    const { watch, counted, actions, notes } = watching({ enforce: true, claimUsedPermit })
    const event = dialling({ caller: caller(id) })
    watch.onDial(event)
    watch.onDial({ ...event, status: 'ANSWER', dialString: '' })
    await settled()
    expect(claims).toEqual([
      { id, number: '2125550100', server: 'pbx', channelId: 'gated', usedAfter: now - 60_000 },
    ])
    expect([counted, actions.asked]).toEqual([[], []])
    expect(notes).toEqual([
      ['d7', 'dialled'],
      ['d7', 'answered'],
    ])
  })

  it('continues with the id among the arguments of Dial()', async () => {
    const { claimUsedPermit } = claimOf('d7')
    const { watch, counted, notes } = watching({ enforce: true, claimUsedPermit })
    const data = `PJSIP/x,30,U(callgate-leg^s^1(${id}))`
    const from = { ...channel('gated', 'PJSIP/a-1'), application: { name: 'Dial', data } }
    watch.onDial(dialling({ caller: from }))
    await settled()
    expect([counted, notes]).toEqual([[], [['d7', 'dialled']]])
  })

  it('is hung up if the permit was not used, or by another channel', async () => {
    const { claimUsedPermit } = claimOf(undefined)
    const { watch, actions, lines } = watching({ enforce: true, claimUsedPermit })
    watch.onDial(dialling({ caller: caller(id) }))
    await settled()
    expect(actions.asked).toHaveLength(1)
    expect(lines).toMatchObject([{ fields: { why: 'permit-not-valid', hungUp: true } }])
  })

  it('is hung up if the database does not answer', async () => {
    const { watch, lines } = watching({ enforce: true })
    watch.onDial(dialling({ caller: caller(id) }))
    await settled()
    expect(lines).toMatchObject([
      { level: 'warn' },
      { fields: { why: 'permit-unknown', hungUp: true } },
    ])
  })
})
