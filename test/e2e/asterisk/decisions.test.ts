/** What a call through the gate comes to: at the trunk, for its caller, and on its record. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AsteriskServer, startAsterisk } from './lab/asterisk-server.js'
import { type CallgateProcess, startCallgate } from './lab/callgate-process.js'
import { answeredContext, dialers, originate } from './lab/dialers.js'
import { blocked, carried, followCalls, undecided } from './lab/followed-calls.js'
import { asteriskVersions } from './lab/provided-asterisk.js'
import { sendInvite } from './lab/raw-invite.js'
import { kinds, lines } from './lab/sandbox-lines.js'
import { type CallsOptions, placeCalls, startCalls } from './lab/sipp-caller.js'
import { askings, ownGate, siteSettings } from './lab/site-gates.js'
import { startTrunks, type Trunks } from './lab/trunks.js'
import { until } from './lab/until.js'

/** Where calls of a dialer come in that sends a trace. */
const tracedContext = `[traced]
exten => _X.,1,Set(CALL_TRACEPARENT=\${PJSIP_HEADER(read,traceparent)})
 same => n,Goto(gate,\${EXTEN},1)
`

/** Whatever the kind. */
const [allowedNumber, blockedNumber] = ['2125550106', '2125550105']

/** One callgate for the tests of a block; `ended` gets its decisions. */
function useCallgate(
  server: () => AsteriskServer,
  ended: (callgate: CallgateProcess) => void,
  environment: Readonly<Record<string, string>> = {},
): () => CallgateProcess {
  let callgate: CallgateProcess | undefined
  beforeAll(async () => {
    // What is decided is the matter here; a busy machine must not make it overloaded.
    const own = { CALLGATE_GATE_DEADLINE_MS: '8000', ...environment }
    callgate = await startCallgate({ server: server(), environment: own })
  })
  afterAll(async () => {
    if (callgate) ended(callgate)
    await callgate?.close()
  })
  return () => {
    if (!callgate) throw new Error('callgate has not been started')
    return callgate
  }
}

describe.each(asteriskVersions)('calls through Asterisk %i', (version) => {
  let server: AsteriskServer
  let trunks: Trunks
  /** Decision id and number of each allow. */
  const allowed = new Set<string>()

  beforeAll(async () => {
    const gates = [
      ...['busy', 'ringing'].map((trunk) => ({
        name: trunk,
        trunk,
        arguments: ['kind=manual'],
      })),
      ...askings.map((asking, index) => ({ ...asking, name: `asking-${index}`, trunk: 'trunk' })),
    ]
    server = await startAsterisk({
      version,
      trunks: ['trunk', 'trunk-ai', 'trunk-manual', 'busy', 'ringing'],
      globals: {
        CALLGATE_KIND: 'autodialed',
        CALLGATE_DIAL_SECONDS: '1',
        CALLGATE_REFUSED_SOUND: '',
        CALLGATE_WAIT: '10',
      },
      extensions: answeredContext + tracedContext + gates.map(ownGate).join(''),
      callerContexts: ['traced', ...gates.map(({ name }) => `gate-${name}`)],
    })
    trunks = await startTrunks(server, {
      trunk: { does: 'answer' },
      'trunk-ai': { does: 'answer' },
      'trunk-manual': { does: 'answer', afterMs: 50 },
      busy: { does: 'reject', status: 486 },
      ringing: { does: 'ring' },
    })
  })
  afterAll(async () => {
    await trunks.close()
    await server.close()
  })

  const withCallgate = (environment?: Readonly<Record<string, string>>) => {
    const callgate = useCallgate(() => server, keepAllowed, environment)
    const record = (callerId: string | undefined) =>
      callgate()
        .decisions()
        .find((one) => one.callerId === callerId)
    return {
      callgate,
      record,
      follow: (options: Omit<CallsOptions, 'server'> & { readonly asked?: boolean }) =>
        followCalls({ server, callgate: callgate(), trunks, ...options }),
      outcome: (callerId: string | undefined) =>
        until('the outcome is on record', () => {
          const outcome = record(callerId)?.outcome
          return outcome?.endedAt || outcome?.notCarriedOutAt ? outcome : undefined
        }),
    }
  }
  const keepAllowed = (callgate: CallgateProcess) => {
    for (const { id, number, decision } of callgate.decisions())
      if (decision === 'allow') allowed.add(`${id} ${number}`)
  }
  const arrivedFrom = (callerId: string | undefined) =>
    trunks.arrived().filter((arrival) => arrival.callerId === callerId)

  describe('at noon of a working day', () => {
    const { callgate, record, follow, outcome } = withCallgate()

    it.each(kinds)('go out for %s calls where the line permits it', async (...kind) => {
      const [, context, trunk, place] = kind
      const expected = lines.map(({ line, reasons }) => {
        const number = `212555${line}`
        const reason = reasons[place]
        return reason === 'permitted' ? carried(number, trunk) : blocked(number, reason)
      })
      const numbers = expected.map(({ number }) => number)
      expect(await follow({ context, numbers })).toEqual(expected)
    })

    it('go out to Alabama', async () => {
      const numbers = ['2055550106']
      expect(await follow({ numbers })).toEqual([carried('2055550106', 'trunk')])
    })

    it.each(['outbound', 'gate'])(
      'go out as ten digits from %s, however dialled',
      async (context) => {
        const numbers = [
          '2125550106',
          '12125550106',
          '+12125550106',
          '212-555-0106',
          '1-212-555-0106',
        ]
        const asTenDigits = carried(allowedNumber, 'trunk')
        expect(await follow({ context, numbers })).toEqual(
          numbers.map((number) => ({ ...asTenDigits, number })),
        )
      },
    )

    it.each(['outbound', 'gate'])(
      'pass from %s unasked to emergency and service codes',
      async (context) => {
        const numbers = ['911', '933', '988', '411']
        expect(await follow({ context, numbers, asked: false })).toEqual(
          numbers.map((number) => ({
            number,
            status: 200,
            cause: undefined,
            dialled: [`${number} on trunk without a decision`],
          })),
        )
      },
    )

    it('have on record when they were handed over, dialled, answered and ended', async () => {
      const [context, numbers] = ['gate-manual', [allowedNumber]]
      const { calls } = await placeCalls({ server, context, numbers, hangUpAfterMs: 50 })
      const known = await outcome(calls[0]?.callerId)
      expect(known).toMatchObject({ state: 'answered', dialStatus: 'ANSWER', cause: 16 })
      expect(known.leg).toMatch(/^PJSIP\/trunk-manual-[0-9a-f]{8}$/)
      const { handedOverAt, dialledAt, answeredAt, endedAt } = known
      const times = [handedOverAt, dialledAt, answeredAt, endedAt].map((at) => Date.parse(at ?? ''))
      expect(times).toEqual(times.toSorted((one, other) => one - other))
    })

    it.each([
      ['BUSY', 'the line is busy', 'gate-busy', {}, { status: 486, cause: 17 }],
      ['NOANSWER', 'nobody answers', 'gate-ringing', {}, { status: 480, cause: 19 }],
      ['CANCEL', 'the caller gives up', 'gate-ringing', { giveUpAfterMs: 300 }, { status: 487 }],
    ] as const)('have %s on record when %s', async (dialStatus, _, context, more, told) => {
      const { calls } = await placeCalls({ server, context, numbers: [allowedNumber], ...more })
      expect(calls).toMatchObject([told])
      const known = await outcome(calls[0]?.callerId)
      expect(known).toMatchObject({ state: 'failed', dialStatus, failedAt: expect.any(String) })
      expect(known.answeredAt).toBeUndefined()
      const arrivals = arrivedFrom(calls[0]?.callerId)
      expect(arrivals).toMatchObject([{ number: allowedNumber }])
      expect(arrivals[0]?.cancelledAt === undefined).toBe(dialStatus === 'BUSY')
    })

    it('are not dialled when the caller hangs up before the decision', async () => {
      callgate().freeze()
      const options = { server, numbers: [allowedNumber], giveUpAfterMs: 300 }
      const [call] = (await (await startCalls(options)).done).calls
      callgate().thaw()
      expect(call).toMatchObject({ status: 487, gaveUp: true })
      const notCarriedOut = 'channel-left'
      expect(await outcome(call?.callerId)).toMatchObject({
        state: 'not-carried-out',
        notCarriedOut,
      })
      expect(arrivedFrom(call?.callerId)).toEqual([])
      const metric = 'callgate_decisions_not_carried_out_total'
      expect((await callgate().metrics()).sum(metric, { why: notCarriedOut })).toBe(1)
    })

    it('are refused as undecided while no decision can be written to disk', async () => {
      const journal = join(callgate().dataDir, 'journal')
      renameSync(journal, `${journal}-away`)
      const { calls } = await placeCalls({ server, numbers: [allowedNumber] })
      renameSync(`${journal}-away`, journal)
      expect(calls).toMatchObject([{ status: 503, cause: 42 }])
      const { callerId } = calls[0] ?? {}
      expect(arrivedFrom(callerId)).toEqual([])
      const reasonOnRecord = () => record(callerId)?.reason
      await until('it is on record as blocked', () => reasonOnRecord() === 'not-recorded')
    })

    it.each(dialers)('are gated when a dialer originates them by %s', async (dialer) => {
      const [arrivedBefore, before] = [trunks.arrived().length, callgate().decisions().length]
      const variables = { __CALL_PROJECT: 'sandbox', __CALL_POSTAL: '10001', __CALL_REF: 'lead-7' }
      for (const number of [allowedNumber, blockedNumber, '1-212-555-0106'])
        await originate(server, dialer, { channel: `Local/${number}@gate/n`, variables })
      await until('all are on record', () => callgate().decisions().length === before + 3)
      const decisions = callgate().decisions().slice(before)
      const facts = { projectId: 'sandbox', postalCode: '10001', reference: 'lead-7' }
      expect(decisions).toMatchObject([
        { number: allowedNumber, decision: 'allow', ...facts },
        { number: blockedNumber, decision: 'block', ...facts },
        { number: allowedNumber, decision: 'allow', ...facts },
      ])
      const arrived = trunks.arrived()
      expect(arrived).toHaveLength(arrivedBefore + 2)
      expect(arrived.filter(({ trunk }) => trunk === 'trunk').slice(-2)).toMatchObject([
        { number: allowedNumber, decisionId: decisions[0]?.id },
        { number: allowedNumber, decisionId: decisions[2]?.id },
      ])
    })

    it('have one line in the log each, which shows no number', async () => {
      await follow({ numbers: [allowedNumber, blockedNumber] })
      const decisions = callgate().decisions()
      const logged = callgate()
        .log()
        .filter(({ message }) => message === 'decision')
      expect(logged).toHaveLength(decisions.length)
      for (const { id, decision, reason, channel } of decisions)
        expect(logged.find(({ decisionId }) => decisionId === id)).toMatchObject({
          number: expect.stringMatching(/^\d{6}\*{4}$/),
          decision,
          reason,
          via: 'asterisk',
          server: 'asterisk',
          channelId: channel?.id,
        })
      expect(JSON.stringify(callgate().log())).not.toMatch(/555.?01\d\d/)
    })

    it('pass the trace of their INVITE on to the log and to the trunk', async () => {
      const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
      const traceparent = `00-${traceId}-00f067aa0ba902b7-01`
      const before = callgate().decisions().length
      const call = { uri: `sip:${allowedNumber}@127.0.0.1`, context: 'traced', silenceMs: 10_000 }
      for (const headers of [[`traceparent: ${traceparent}`], []])
        expect(await sendInvite({ server, ...call, headers })).toBe(200)
      const [traced, other] = callgate().decisions().slice(before)
      const arrived = new Map(trunks.arrived().map((one) => [one.decisionId, one.traceparent]))
      expect([traced, other].map((one) => arrived.get(one?.id ?? ''))).toEqual([traceparent, ''])
      const logged = new Map(
        callgate()
          .log()
          .map(({ decisionId, traceId: id }) => [decisionId, id]),
      )
      expect([traced, other].map((one) => logged.get(one?.id))).toEqual([traceId, undefined])
    })

    it('are counted as they are on record', async () => {
      await follow({ numbers: [allowedNumber, blockedNumber] })
      const metrics = await callgate().metrics()
      const reasons = callgate()
        .decisions()
        .map(({ reason }) => reason)
      for (const reason of new Set(reasons))
        expect(metrics.sum('callgate_decisions_total', { reason, via: 'asterisk' }), reason).toBe(
          reasons.filter((one) => one === reason).length,
        )
      expect(metrics.sum('callgate_asterisk_connected', { server: 'asterisk' })).toBe(1)
      expect(metrics.sum('callgate_asterisk_reconnects_total')).toBe(0)
      expect(metrics.sum('callgate_ungated_calls_total')).toBe(0)
    })

    it('can be read back over HTTP by the id that the trunk was told', async () => {
      const { calls } = await placeCalls({ server, numbers: [allowedNumber] })
      await outcome(calls[0]?.callerId)
      const { url, keys, decisions } = callgate()
      const [arrival] = arrivedFrom(calls[0]?.callerId)
      const headers = { loginId: keys.sandbox, connection: 'close' }
      const reply = await fetch(`${url}/v1/decisions/${arrival?.decisionId}`, { headers })
      expect(await reply.json()).toEqual(decisions().find(({ id }) => id === arrival?.decisionId))
    })
  })

  describe('on a Sunday morning', () => {
    const { follow } = withCallgate({ CALLGATE_SANDBOX_AT: '2026-11-22T17:30:00Z' })

    it('go out where the day and the hour permit it', async () => {
      const expected = [
        carried('2125550106', 'trunk-manual'),
        carried('3105550106', 'trunk-manual'),
        blocked('2055550106', 'outside-calling-hours'),
        blocked('8085550106', 'outside-calling-hours'),
      ]
      const numbers = expected.map(({ number }) => number)
      expect(await follow({ context: 'gate-manual', numbers })).toEqual(expected)
    })
  })

  describe("with a site's own settings", () => {
    const { callgate } = withCallgate(siteSettings)

    it('are placed on a trunk in shadow although a check would block them, and on no other', async () => {
      const before = callgate().decisions().length
      for (const context of ['gate-ai', 'gate-manual']) {
        const { calls } = await placeCalls({ server, context, numbers: [blockedNumber] })
        const { callerId } = calls[0] ?? {}
        const arrived = arrivedFrom(callerId).map(({ trunk, number }) => [trunk, number])
        expect(arrived).toEqual(context === 'gate-ai' ? [['trunk-ai', blockedNumber]] : [])
      }
      await until('both are on record', () => callgate().decisions().length === before + 2)
      const shadowed = { check: 'litigator', effect: 'shadowed' }
      expect(callgate().decisions().slice(before)).toMatchObject([
        {
          trunk: 'trunk-ai',
          decision: 'allow',
          policy: expect.arrayContaining([expect.objectContaining(shadowed)]),
        },
        { trunk: 'trunk-manual', decision: 'block', reason: 'litigator' },
      ])
      expect(callgate().decisions().at(-1)).not.toHaveProperty('policy')
    })

    it('go on at the announcement when they are blocked, and are not answered', async () => {
      const sound = join(server.folder, 'refused')
      writeFileSync(`${sound}.ulaw`, Buffer.alloc(4_000, 0xff))
      await server.setGlobals({ CALLGATE_REFUSED_SOUND: sound })
      const calls = await startCalls({ server, numbers: [blockedNumber] })
      const channel = await until('it is played', async () => {
        const channels = (await server.ari('GET', '/channels')).body as readonly {
          readonly dialplan: Readonly<Record<string, unknown>>
        }[]
        return channels.find(({ dialplan }) => dialplan.app_name === 'Playback')
      })
      await server.setGlobals({ CALLGATE_REFUSED_SOUND: '' })
      expect(channel).toMatchObject({ state: 'Ring', dialplan: { context: 'callgate-refused' } })
      expect((await calls.done).calls).toMatchObject([{ status: 403, cause: 21 }])
      expect(arrivedFrom(calls.placed()[0]?.callerId)).toEqual([])
    })

    const cases = askings.map(
      (asking, index) =>
        [asking.arguments.join(), asking.variable ?? 'nothing', index, asking] as const,
    )
    it.each(cases)("are judged by the arguments '%s' and %s", async (...one) => {
      const [, , index, { refused, record }] = one
      const [arrivedBefore, before] = [trunks.arrived().length, callgate().decisions().length]
      const options = { server, context: `gate-asking-${index}`, numbers: ['2125550100'] }
      const { calls } = await placeCalls(options)
      await until('it is on record', () => callgate().decisions().length === before + 1)
      const [status, cause, reason] = refused ?? [200, undefined, 'permitted']
      expect(calls).toMatchObject([{ status, cause }])
      expect(callgate().decisions().at(-1)).toMatchObject({ reason, ...record })
      expect(trunks.arrived()).toHaveLength(arrivedBefore + (refused ? 0 : 1))
    })
  })

  it('without callgate are refused as undecided', async () => {
    const { calls } = await placeCalls({ server, numbers: [allowedNumber] })
    const { number, status, cause, dialled } = undecided(allowedNumber)
    expect(calls).toMatchObject([{ number, status, cause }])
    expect(arrivedFrom(calls[0]?.callerId)).toEqual(dialled)
  })

  it('reached a trunk by an allow each, and no others did by the count of SIPp', async () => {
    const arrived = trunks.arrived()
    expect(await trunks.close()).toBe(arrived.length)
    const gated = arrived.filter(({ number }) => number.length > 3)
    const said = gated.map(({ decisionId, number }) => `${decisionId} ${number}`)
    expect(said).toEqual([...new Set(said)])
    expect(said.filter((one) => !allowed.has(one))).toEqual([])
  })
})
