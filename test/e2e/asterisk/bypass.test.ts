/**
 * The watch over the trunks: whatever is dialled there past the gate is told and, where that is set,
 * cancelled; what the gate has allowed and emergency calls are left alone.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startAlwaysAllow } from './lab/always-allow.js'
import { type AsteriskServer, startAsterisk } from './lab/asterisk-server.js'
import { type CallgateProcess, startCallgate } from './lab/callgate-process.js'
import type { LabProcess } from './lab/lab-process.js'
import { type AsteriskVersion, asteriskVersions } from './lab/provided-asterisk.js'
import { placeCalls, startCalls } from './lab/sipp-caller.js'
import { type Arrival, startTrunk, type Trunk } from './lab/sipp-trunk.js'
import { until } from './lab/until.js'
import { createAndDial, hangUpAll, nakedContexts, waysAround } from './lab/ways-around.js'

const trunkNames = ['trunk', 'trunk-ai', 'trunk-manual', 'trunk-open']
/** The gate allows it for every kind of call. */
const allowed = '2125550106'

/** Transfers are dialled without asking: what the recipes warn of. */
function startCarelessAsterisk(version: AsteriskVersion): Promise<AsteriskServer> {
  return startAsterisk({
    version,
    trunks: trunkNames,
    extensions: nakedContexts,
    callerContexts: ['naked', 'naked-ai', 'naked-open'],
    globals: { CALLGATE_TRANSFER_CONTEXT: 'naked' },
  })
}

/** Changes a file of the configuration and starts Asterisk anew. */
async function reconfigure(
  server: AsteriskServer,
  { file, from, to }: { readonly file: string; readonly from: RegExp; readonly to: string },
): Promise<void> {
  const path = join(server.folder, 'etc', file)
  const before = readFileSync(path, 'utf8')
  const after = before.replace(from, to)
  expect(after).not.toBe(before)
  writeFileSync(path, after)
  await server.restart()
}

/** `more` settings of trunks by their name, after `PJSIP/<name>`. */
function trunkSettings(more: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const trunks = trunkNames.map(
    (name) => `{ name: ${name}, channel: PJSIP/${name}${more[name] ? `, ${more[name]}` : ''} }`,
  )
  return { CALLGATE_ASTERISK_TRUNKS: `[${trunks.join(', ')}]` }
}

/** Cancelled where that is enforced, answered where it is not. */
const hasItsFate =
  (enforced: boolean) =>
  ({ cancelledAt, answeredAt }: Arrival) =>
    (enforced ? cancelledAt : answeredAt) !== undefined

const ungatedLegs = (callgate: CallgateProcess) =>
  callgate.log().filter(({ message }) => message === 'a leg on a watched trunk has no permit')

const ungatedCount = async (callgate: CallgateProcess, labels: Readonly<Record<string, string>>) =>
  (await callgate.metrics()).sum('callgate_ungated_calls_total', { server: 'asterisk', ...labels })

describe.each(asteriskVersions)('beside Asterisk %i, a watch over the trunks', (version) => {
  let server: AsteriskServer
  let someoneElse: LabProcess

  beforeAll(async () => {
    server = await startCarelessAsterisk(version)
    const from = /(\[trunk-manual\]\(callgate-trunk\)\n)/
    await reconfigure(server, { file: 'pjsip.conf', from, to: '$1allow_transfer = yes\n' })
    someoneElse = await startAlwaysAllow({ server, app: 'someone-else' })
  })
  afterAll(async () => {
    await someoneElse.end()
    await server.close()
  })

  const modes = [
    {
      does: 'tells',
      environment: trunkSettings({ 'trunk-ai': 'enforce: true', 'trunk-open': 'watch: false' }),
      behaviour: { does: 'answer', afterMs: 100 },
      enforced: false,
    },
    {
      does: 'tells and cancels',
      environment: {
        ...trunkSettings({ 'trunk-ai': 'enforce: false', 'trunk-open': 'watch: false' }),
        CALLGATE_ASTERISK_ENFORCE: 'true',
      },
      behaviour: { does: 'ring' },
      enforced: true,
    },
  ] as const

  describe.each(modes.map((mode) => [mode.does, mode] as const))('that %s', (_, mode) => {
    const { environment, behaviour, enforced } = mode
    const labels = { trunk: 'trunk', hung_up: String(enforced) }
    let callgate: CallgateProcess
    const ends: (() => Promise<unknown>)[] = []
    const atEnd = (end: () => Promise<unknown>) => void ends.push(end)
    const begin = async (trunk: string, how: Parameters<typeof startTrunk>[0]['behaviour']) => {
      const started = await startTrunk({ server, trunk, ...(how && { behaviour: how }) })
      atEnd(started.close)
      return started
    }

    beforeAll(async () => {
      callgate = await startCallgate({ server, environment })
    })
    afterAll(() => callgate.close())
    afterEach(async () => {
      await hangUpAll(server)
      for (const end of ends.splice(0)) await end()
    })

    it.each(waysAround.map((way) => [way.name, way] as const))('%s', async (_, way) => {
      const { take, number, why } = way
      const linesBefore = ungatedLegs(callgate).length
      const countBefore = await ungatedCount(callgate, labels)
      const trunk = await begin('trunk', behaviour)
      await take({ server, app: 'someone-else', atEnd }, number)
      await until('the leg is told', () => ungatedLegs(callgate).length > linesBefore)
      await until('the trunk has its fate', () => trunk.arrived().some(hasItsFate(enforced)))
      await hangUpAll(server)

      expect(ungatedLegs(callgate).slice(linesBefore)).toEqual([
        expect.objectContaining({
          server: 'asterisk',
          trunk: 'trunk',
          why,
          enforced,
          hungUp: enforced,
          channel: expect.stringMatching(/^PJSIP\/trunk-[0-9a-f]{8}$/),
          number: `${number.slice(0, 6)}****`,
        }),
      ])
      expect(JSON.stringify(callgate.log())).not.toContain(number)
      expect(await ungatedCount(callgate, labels)).toBe(countBefore + 1)
      expect(trunk.arrived().map((leg) => leg.number)).toEqual([number])
      expect(trunk.cancelled()).toBe(enforced ? 1 : 0)
      expect(trunk.arrived()[0]?.answeredAt === undefined).toBe(enforced)
    })

    it('ends what is created in the application of the gate, dialled or not', async () => {
      const linesBefore = ungatedLegs(callgate).length
      const trunk = await begin('trunk', { does: 'ring' })
      await createAndDial(server, { app: 'callgate', number: '2125550105' })
      await until('no channel is left', async () => (await server.channels()) === 0)
      const reported = () => ungatedLegs(callgate).length - linesBefore
      await until('each leg that arrived is reported', () => reported() >= trunk.arrived().length)
      await until('each is canceled', () => trunk.cancelled() >= trunk.arrived().length)
      expect(reported()).toBe(trunk.arrived().length)
      expect(trunk.cancelled()).toBe(trunk.arrived().length)
    })

    it('follows what a trunk says for itself', async () => {
      const trunk = await begin('trunk-ai', { does: enforced ? 'answer' : 'ring' })
      const patient = { context: 'naked-ai', giveUpAfterMs: 60_000 }
      const calls = await startCalls({ server, numbers: [allowed], ...patient })
      atEnd(calls.kill)
      const wanted = { trunk: 'trunk-ai', hung_up: String(!enforced) }
      await until('it is counted', async () => (await ungatedCount(callgate, wanted)) === 1)
      await until('the trunk has its fate', () => trunk.arrived().some(hasItsFate(!enforced)))
      expect(trunk.arrived()).toHaveLength(1)
    })

    describe('leaves alone', () => {
      /** Runs it and expects that nothing was told or counted of it by the end. */
      async function untold(run: () => Promise<unknown>): Promise<void> {
        const [lines, count] = [ungatedLegs(callgate).length, await ungatedCount(callgate, {})]
        await run()
        await until('no channel is left', async () => (await server.channels()) === 0)
        // What is asked after the calls is answered after their events: Asterisk sends in order.
        await placeCalls({ server, numbers: ['2125550105'] })
        expect(ungatedLegs(callgate).slice(lines)).toEqual([])
        expect(await ungatedCount(callgate, {})).toBe(count)
      }

      it('calls from the gate', async () => {
        const trunk = await begin('trunk', undefined)
        await untold(async () => {
          const numbers = [allowed, '3105550106', '7735550106']
          const report = await placeCalls({ server, numbers, total: 30, rate: 30 })
          expect(report.calls.map(({ status }) => status)).toEqual(Array(30).fill(200))
        })
        expect(trunk.arrived()).toHaveLength(30)
        expect(trunk.cancelled()).toBe(0)
      })

      it('calls that dialers originate through the gate', async () => {
        const trunk = await begin('trunk', { does: 'answer', hangUpAfterMs: 50 })
        await untold(async () => {
          const channel = `Local/${allowed}@gate/n`
          await server.originateByAmi({ Channel: channel, Application: 'Wait', Data: '30' })
          server.callFile([`Channel: ${channel}`, 'Application: Wait', 'Data: 30'])
          const query = { endpoint: channel, formats: 'ulaw', context: 'answered', extension: 's' }
          expect((await server.ari('POST', '/channels', query)).status).toBe(200)
          await until('all are over', () =>
            [trunk.arrived()].every(
              (legs) => legs.length === 3 && legs.every((leg) => leg.answeredAt),
            ),
          )
        })
        expect(trunk.cancelled()).toBe(0)
      })

      it('emergency calls, with the gate and without', async () => {
        const trunk = await begin('trunk', undefined)
        await untold(async () => {
          await placeCalls({ server, numbers: ['911', '933'] })
          const { calls } = await placeCalls({ server, context: 'naked', numbers: ['911'] })
          expect(calls).toMatchObject([{ status: 200 }])
          const channel = 'PJSIP/911@trunk'
          await server.originateByAmi({ Channel: channel, Application: 'Hangup' })
          await until('it arrives', () => trunk.arrived().length === 4)
        })
        expect(trunk.arrived().map(({ number }) => number)).toEqual(['911', '933', '911', '911'])
        expect(trunk.cancelled()).toBe(0)
      })

      it('a trunk that is not to be watched', async () => {
        const trunk = await begin('trunk-open', undefined)
        await untold(async () => {
          const { calls } = await placeCalls({ server, context: 'naked-open', numbers: [allowed] })
          expect(calls).toMatchObject([{ status: 200 }])
        })
        expect(trunk.arrived()).toHaveLength(1)
      })
    })
  })

  it('needs not see a transfer by the far end where the trunk is of the shipped template', async () => {
    const callgate = await startCallgate({ server, environment: modes[1].environment })
    const trunk = await startTrunk({ server })
    const behaviour = { does: 'transfer', to: allowed } as const
    const ai = await startTrunk({ server, trunk: 'trunk-ai', behaviour })
    try {
      const about = { context: 'gate-ai', numbers: [allowed], hangUpAfterMs: 10_000 }
      const { calls } = await placeCalls({ server, ...about })
      expect(calls).toMatchObject([{ status: 200 }])
      expect(ai.arrived()).toMatchObject([{ transferTaken: false }])
      expect((await trunk.close()).created).toBe(0)
    } finally {
      await Promise.all([trunk.close(), ai.close(), callgate.close()])
    }
  })
})

describe.each(asteriskVersions)("beside Asterisk %i, a site's own Dial()", (version) => {
  let server: AsteriskServer
  let callgate: CallgateProcess
  let trunk: Trunk

  beforeAll(async () => {
    // The last step of the recipes, with other arguments of Dial().
    const extensions = `${nakedContexts}
[own-verdict](!)
 same => n,GotoIf($["\${FILTER(a-z,\${CALLGATE_DECISION:0:16})}:\${FILTER(0-9,\${CALLGATE_NUMBER:0:32})}" != "allow:\${EXTEN}"]?refuse)
 same => n,Dial(PJSIP/\${EXTEN}@trunk,60)
 same => n(refuse),Hangup(42)
[own](callgate-number,callgate-start,callgate-ask,own-verdict,callgate-late)
`
    const callerContexts = ['naked', 'own']
    server = await startAsterisk({ version, trunks: trunkNames, extensions, callerContexts })
    callgate = await startCallgate({
      server,
      environment: { CALLGATE_ASTERISK_ENFORCE: 'true' },
    })
    trunk = await startTrunk({ server })
  })
  afterAll(async () => {
    await trunk.close()
    await callgate.close()
    await server.close()
  })

  it.each(['asked for', 'in the events'])('is covered by its permit, %s', async (where) => {
    const before = trunk.arrived().length
    if (where === 'in the events') {
      const to = '[general]\nchannelvars = CALLGATE_PERMIT\n'
      await reconfigure(server, { file: 'ari.conf', from: /\[general\]\n/, to })
      await until('callgate is ready', callgate.isReady)
    }
    const about = { context: 'own', numbers: [allowed], total: 20, rate: 20, hangUpAfterMs: 300 }
    const { calls } = await placeCalls({ server, ...about })
    expect(calls.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(trunk.arrived()).toHaveLength(before + 20)
    await until('no channel is left', async () => (await server.channels()) === 0)
    expect(ungatedLegs(callgate)).toEqual([])
  })

  it('is hung up when it has none', async () => {
    const before = trunk.arrived().length
    const { calls } = await placeCalls({
      server,
      context: 'naked',
      numbers: [allowed],
      hangUpAfterMs: 5_000,
    })
    expect(calls).toHaveLength(1)
    await until('it is told', () => ungatedLegs(callgate).length === 1)
    expect(ungatedLegs(callgate)).toMatchObject([{ why: 'no-permit', hungUp: true }])
    await until('the trunk sees it end', () => {
      const leg = trunk.arrived()[before]
      return leg?.cancelledAt !== undefined || leg?.endedAt !== undefined
    })
  })
})
