/** The lab itself: calls go out with a sidecar that allows all, and not one without. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startAlwaysAllow } from './lab/always-allow.js'
import { type AsteriskServer, startAsterisk } from './lab/asterisk-server.js'
import { startCallgate } from './lab/callgate-process.js'
import { asteriskVersions } from './lab/provided-asterisk.js'
import { placeCalls, startCalls } from './lab/sipp-caller.js'
import { startTrunk, type Trunk } from './lab/sipp-trunk.js'
import { until } from './lab/until.js'

describe.each(asteriskVersions)('a lab with Asterisk %i', (version) => {
  let server: AsteriskServer
  let trunk: Trunk

  beforeAll(async () => {
    server = await startAsterisk({ version })
  })
  afterAll(() => server.close())

  beforeEach(async () => {
    trunk = await startTrunk({ server })
  })
  afterEach(async () => {
    await until('no channel is left', async () => (await server.channels()) === 0)
    await trunk.close()
  })

  const numbersAtTrunk = () => trunk.arrived().map(({ number }) => number)

  it('is the Asterisk that was asked for', async () => {
    expect(await server.cli('core show version')).toMatch(new RegExp(`^Asterisk ${version}\\.`))
  })

  describe('with an application that allows every call', () => {
    let application: Awaited<ReturnType<typeof startAlwaysAllow>>
    beforeEach(async () => {
      application = await startAlwaysAllow({ server })
    })
    afterEach(async () => {
      await application.end()
    })

    it('dials the number on the trunk, with the decision id and the caller id', async () => {
      const { calls } = await placeCalls({ server, numbers: ['2125550100'], hangUpAfterMs: 50 })
      const [call] = calls
      expect(calls).toMatchObject([{ number: '2125550100', status: 200, gaveUp: false }])
      expect(trunk.arrived()).toMatchObject([
        { number: '2125550100', decisionId: 'always', callerId: call?.callerId },
      ])
      const { created, successful, failed } = await trunk.close()
      expect({ created, successful, failed }).toEqual({ created: 1, successful: 1, failed: 0 })
    })

    it('counts as many calls at the trunk as were placed, each once', async () => {
      const numbers = ['2125550100', '3105550101', '7735550102']
      const report = await placeCalls({ server, numbers, total: 30, rate: 50 })
      expect(report.calls.map(({ status }) => status)).toEqual(Array(30).fill(200))
      const callerIds = (some: readonly { callerId: string }[]) =>
        some.map(({ callerId }) => callerId).toSorted()
      expect(callerIds(trunk.arrived())).toEqual(callerIds(report.calls))
      expect((await trunk.close()).created).toBe(30)
    })

    it('tells when an INVITE left the caller and when it came to the trunk', async () => {
      const { calls } = await placeCalls({ server, numbers: ['2125550100'] })
      const [sent, arrived] = [calls[0]?.sentAt ?? 0, trunk.arrived()[0]?.at ?? 0]
      expect(arrived).toBeGreaterThan(sent)
      expect(calls[0]?.answeredAt).toBeGreaterThan(arrived)
    })

    it('lets a caller give up while the trunk rings', async () => {
      await trunk.close()
      trunk = await startTrunk({ server, behaviour: { does: 'ring' } })
      const { calls } = await placeCalls({ server, numbers: ['2125550100'], giveUpAfterMs: 1_000 })
      expect(calls).toMatchObject([{ status: 487, gaveUp: true }])
      await until('the trunk is told', () => trunk.cancelled() === 1)
    })

    it('passes the answer of the trunk on to the caller', async () => {
      await trunk.close()
      trunk = await startTrunk({ server, behaviour: { does: 'reject', status: 486 } })
      const { calls } = await placeCalls({ server, numbers: ['2125550100'] })
      expect(calls).toMatchObject([{ status: 486, cause: 17 }])
      expect(numbersAtTrunk()).toEqual(['2125550100'])
    })

    it('dials for a dialer on the manager interface and for a call file', async () => {
      const channel = 'Local/2125550100@gate/n'
      await server.originateByAmi({ Channel: channel, Application: 'Wait', Data: '1' })
      server.callFile([`Channel: ${channel}`, 'Application: Wait', 'Data: 1'])
      await until('both arrive', () => trunk.arrived().length === 2)
      expect(numbersAtTrunk()).toEqual(['2125550100', '2125550100'])
    })

    it('goes on after a restart of Asterisk', async () => {
      await application.end()
      await server.restart()
      application = await startAlwaysAllow({ server })
      const { calls } = await placeCalls({ server, numbers: ['2125550100'] })
      expect(calls).toMatchObject([{ status: 200 }])
    })
  })

  describe('without an application', () => {
    it('dials nothing and says that nobody could decide', async () => {
      const { calls } = await placeCalls({ server, numbers: ['2125550100', '3105550101'] })
      expect(calls.map(({ status, cause }) => [status, cause])).toEqual([
        [503, 42],
        [503, 42],
      ])
      expect((await trunk.close()).created).toBe(0)
    })

    it('dials emergency codes', async () => {
      const { calls } = await placeCalls({ server, numbers: ['911', '2125550100'] })
      expect(calls.map(({ status }) => status)).toEqual([200, 503])
      expect(numbersAtTrunk()).toEqual(['911'])
    })

    it('sees a dialer that names the trunk itself', async () => {
      const action = { Channel: 'PJSIP/2125550100@trunk', Application: 'Wait', Data: '1' }
      await server.originateByAmi(action)
      await until('it arrives', () => trunk.arrived().length === 1)
    })
  })

  it('runs callgate beside it, whose decision travels with the call', async () => {
    // How long a slow machine takes is tested elsewhere.
    const environment = { CALLGATE_GATE_DEADLINE_MS: '8000' }
    const callgate = await startCallgate({ server, environment })
    try {
      const numbers = ['2125550106', '2125550105']
      const { calls } = await placeCalls({ server, numbers, hangUpAfterMs: 50 })
      expect(calls.map(({ status }) => status)).toEqual([200, 403])
      const decisions = callgate.decisions()
      expect(decisions.map(({ number, decision }) => [number, decision])).toEqual([
        ['2125550106', 'allow'],
        ['2125550105', 'block'],
      ])
      expect(trunk.arrived()).toMatchObject([{ decisionId: decisions[0]?.id }])
      const made = { decision: 'allow', via: 'asterisk' }
      expect((await callgate.metrics()).sum('callgate_decisions_total', made)).toBe(1)
      expect(callgate.log().filter(({ message }) => message === 'decision')).toHaveLength(2)
    } finally {
      await callgate.close()
    }
  })

  it('holds calls while Asterisk is frozen, and takes them when it is thawed', async () => {
    server.freeze()
    const calls = await startCalls({ server, numbers: ['911'] })
    await until('the call is placed', () => calls.placed().length === 1)
    expect(numbersAtTrunk()).toEqual([])
    server.thaw()
    expect((await calls.done).calls).toMatchObject([{ status: 200 }])
    expect(numbersAtTrunk()).toEqual(['911'])
  })
})
