/** Two callgates beside one Asterisk, and one callgate beside two: each call has one decision. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type AsteriskServer, startAsterisk } from './lab/asterisk-server.js'
import {
  type CallgateOptions,
  type CallgateProcess,
  startCallgate,
} from './lab/callgate-process.js'
import {
  allHaveOutcomes,
  areAnswered,
  leaks,
  mixedNumbers,
  outcomes,
  unanswered,
} from './lab/evidence.js'
import { noChannelIsLeft, placedMore } from './lab/progress.js'
import { asteriskVersions } from './lab/provided-asterisk.js'
import {
  type CallsOptions,
  type PlacedCall,
  placeCalls,
  type RunningCalls,
  startCalls,
} from './lab/sipp-caller.js'
import { startTrunk, type Trunk } from './lab/sipp-trunk.js'
import { until } from './lab/until.js'

const [allowed = '', blocked = ''] = mixedNumbers
const decided = [200, 403]
const refused = { status: 503, cause: 42 }
const permitKey = 'a secret of two sidecars, of at least 32 characters\n'

/** Ends what a test has started, in any case. */
let running: CallgateProcess[] = []
let loads: RunningCalls[] = []
afterEach(async () => {
  await Promise.all([...loads.map((calls) => calls.kill()), ...running.map((it) => it.close())])
  running = []
  loads = []
})
const load = async (options: CallsOptions) => {
  const calls = await startCalls(options)
  loads.push(calls)
  return calls
}
/** Which sidecar is asked is the matter here; a busy machine must not make them overloaded. */
const patient = { CALLGATE_GATE_DEADLINE_MS: '10000' }
const attach = async ({ environment, ...options }: CallgateOptions) => {
  const callgate = await startCallgate({ ...options, environment: { ...patient, ...environment } })
  running.push(callgate)
  return callgate
}

/** As `callgate-a` and `callgate-b`, with one permit key unless each shall have its own. */
async function attachTwo(server: AsteriskServer, { sharedKey = true } = {}) {
  const file = join(server.folder, 'permit-key')
  writeFileSync(file, permitKey)
  const sidecar = (app: string) =>
    attach({
      server,
      environment: {
        CALLGATE_ASTERISK_APP: app,
        ...(sharedKey && { CALLGATE_ASTERISK_PERMIT_KEY_FILE: file }),
      },
    })
  const [a, b] = await Promise.all([sidecar('callgate-a'), sidecar('callgate-b')])
  return { a, b }
}

const decisionsOf = (...callgates: readonly CallgateProcess[]) =>
  callgates.flatMap((callgate) => callgate.decisions())
const statusesOf = (calls: readonly PlacedCall[]) => calls.map(({ status }) => status)
const callersOf = (some: readonly { readonly callerId?: string | undefined }[]) =>
  some.map(({ callerId }) => callerId).toSorted()
const ungated = async (callgate: CallgateProcess) =>
  (await callgate.metrics()).sum('callgate_ungated_calls_total')

describe.each(asteriskVersions)('two sidecars in turn beside Asterisk %i', (version) => {
  let server: AsteriskServer
  let trunk: Trunk

  beforeAll(async () => {
    server = await startAsterisk({ version, globals: { CALLGATE_WAIT: '1.5' } })
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    trunk = await startTrunk({ server })
  })
  afterEach(async () => {
    await noChannelIsLeft(server).finally(trunk.close)
  })
  const place = async (more: Partial<CallsOptions> = {}) => {
    const usual = { server, context: 'gate-two', numbers: mixedNumbers, total: 20, rate: 50 }
    return (await placeCalls({ ...usual, ...more })).calls
  }
  const tenOfEach = Array.from({ length: 10 }, () => decided).flat()

  it('asks the first alone while it answers, and the second takes its calls for gated', async () => {
    const { a, b } = await attachTwo(server)
    const calls = await place()
    expect(statusesOf(calls)).toEqual(tenOfEach)
    await until('each is on record', () => a.decisions().length >= calls.length)
    expect(callersOf(a.decisions())).toEqual(callersOf(calls))
    expect(b.decisions()).toEqual([])
    expect(leaks({ arrived: trunk.arrived(), decisions: a.decisions(), calls })).toEqual([])
    expect([await ungated(a), await ungated(b)]).toEqual([0, 0])
  })

  it('takes the calls of a sidecar with another permit key for ungated', async () => {
    const { a, b } = await attachTwo(server, { sharedKey: false })
    const calls = await place()
    expect(statusesOf(calls)).toEqual(tenOfEach)
    await until('the second has seen all legs', async () => (await ungated(b)) === 10)
    expect(await ungated(a)).toBe(0)
  })

  it('asks the second without a wait when the first is dead, and refuses without both', async () => {
    // Whoever waits for the dead one gives up long before.
    await server.setGlobals({ CALLGATE_WAIT: '60' })
    try {
      const { a, b } = await attachTwo(server)
      await a.killHard()
      const calls = await place()
      expect(statusesOf(calls)).toEqual(tenOfEach)
      await until('each is on record', () => b.decisions().length >= calls.length)
      expect(callersOf(b.decisions())).toEqual(callersOf(calls))
      expect(leaks({ arrived: trunk.arrived(), decisions: b.decisions(), calls })).toEqual([])
      expect(await ungated(b)).toBe(0)
      await b.killHard()
      expect(await place({ total: 2 })).toMatchObject([refused, refused])
      expect(trunk.arrived()).toHaveLength(10)
    } finally {
      await server.setGlobals({ CALLGATE_WAIT: '1.5' })
    }
  })

  it('asks the second when the first is frozen, whose late decisions change nothing', async () => {
    // Room for the second to answer on a busy machine.
    await server.setGlobals({ CALLGATE_WAIT: '4' })
    const { a, b } = await attachTwo(server)
    a.freeze()
    const calls = await load({
      server,
      context: 'gate-two',
      numbers: mixedNumbers,
      total: 100,
      rate: 50,
    })
    // Thawed while some calls wait for the first, and some have gone on to the second.
    await until('the second has decided', () => b.decisions().length >= 20)
    a.thaw()
    const report = await calls.done
    await server.setGlobals({ CALLGATE_WAIT: '1.5' })
    expect(unanswered(report.calls)).toEqual([])
    expect(new Set(statusesOf(report.calls))).toEqual(new Set(decided))
    await until('what became of each is on record', () => {
      const decisions = decisionsOf(a, b)
      return allHaveOutcomes(decisions) && areAnswered({ arrived: trunk.arrived(), decisions })
    })
    const decisions = decisionsOf(a, b)
    expect(leaks({ arrived: trunk.arrived(), decisions, calls: report.calls })).toEqual([])
    expect(callersOf(trunk.arrived())).toEqual(
      callersOf(report.calls.filter(({ status }) => status === 200)),
    )
    expect(outcomes(a.decisions())['not-carried-out']).toBeGreaterThanOrEqual(20)
    expect([await ungated(a), await ungated(b)]).toEqual([0, 0])
  })
})

describe('two sidecars at once, by StasisBroadcast of Asterisk 22', () => {
  let server: AsteriskServer
  let trunk: Trunk

  beforeAll(async () => {
    const globals = { CALLGATE_WAIT: '1.5', CALLGATE_BROADCAST_MS: '1200' }
    server = await startAsterisk({ version: 22, globals })
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    trunk = await startTrunk({ server })
  })
  afterEach(async () => {
    await noChannelIsLeft(server).finally(trunk.close)
  })
  const calling = { context: 'gate-broadcast', numbers: mixedNumbers, rate: 50 }

  it('has each call decided once while both are alive', async () => {
    const { a, b } = await attachTwo(server)
    const { calls } = await placeCalls({ server, ...calling, total: 40 })
    expect(statusesOf(calls)).toEqual(Array.from({ length: 20 }, () => decided).flat())
    const decisions = decisionsOf(a, b)
    expect(callersOf(decisions)).toEqual(callersOf(calls))
    expect(leaks({ arrived: trunk.arrived(), decisions, calls })).toEqual([])
    expect([await ungated(a), await ungated(b)]).toEqual([0, 0])
  })

  it.each(['killed', 'frozen'] as const)('goes on with one when the other is %s', async (fate) => {
    const { a, b } = await attachTwo(server)
    const calls = await load({ server, ...calling, total: 1_000 })
    await until('both decide', () => [a, b].every((one) => one.decisions().length > 5))
    if (fate === 'killed') await a.killHard()
    else a.freeze()
    const before = calls.placed().length
    await placedMore(calls, 40)
    const report = await calls.stop()
    expect(unanswered(report.calls)).toEqual([])
    expect(statusesOf(report.calls.slice(before))).not.toContain(503)
    const placed = callersOf(report.calls.slice(before))
    await until('each is on record', () => {
      const recorded = new Set(callersOf(b.decisions()))
      return placed.every((caller) => recorded.has(caller))
    })
    const decisions = decisionsOf(a, b)
    expect(leaks({ arrived: trunk.arrived(), decisions, calls: report.calls })).toEqual([])
    expect(await ungated(b)).toBe(0)
  })

  it('refuses when both are dead', async () => {
    const { a, b } = await attachTwo(server)
    await Promise.all([a.killHard(), b.killHard()])
    const { calls } = await placeCalls({ server, ...calling, total: 4 })
    expect(calls).toMatchObject([refused, refused, refused, refused])
    expect(trunk.arrived()).toEqual([])
  })
})

describe('one callgate beside Asterisk 22 and 16', () => {
  let servers: readonly { readonly name: string; readonly server: AsteriskServer }[] = []
  let trunks: readonly Trunk[] = []

  beforeAll(async () => {
    const ariUsers = { oldtimer: 'another secret, with a % sign' }
    const [newer, older] = await Promise.all([
      startAsterisk({ version: 22 }),
      startAsterisk({ version: 16, ariUsers }),
    ])
    servers = [
      { name: 'asterisk', server: newer },
      { name: 'old', server: older },
    ]
  })
  afterAll(() => Promise.all(servers.map(({ server }) => server.close())))
  beforeEach(async () => {
    trunks = await Promise.all(servers.map(({ server }) => startTrunk({ server })))
  })
  afterEach(() => Promise.all(trunks.map((trunk) => trunk.close())))

  const attachToBoth = () => {
    const [first, second] = servers
    const login = 'username: oldtimer, password: "another secret, with a % sign"'
    return attach({
      ...(first && { server: first.server }),
      environment: {
        CALLGATE_ASTERISK_SERVERS: `[{ name: old, url: "${second?.server.url}", ${login} }]`,
      },
    })
  }
  const place = async ({ server }: { readonly server: AsteriskServer }) =>
    (await placeCalls({ server, numbers: [allowed, blocked] })).calls
  const arrived = () => trunks.flatMap((trunk) => trunk.arrived())

  it('gates the calls of both, each with its own user, and records which it was', async () => {
    const callgate = await attachToBoth()
    const calls = (await Promise.all(servers.map(place))).flat()
    expect(statusesOf(calls)).toEqual([...decided, ...decided])
    expect(trunks.map((trunk) => trunk.arrived().length)).toEqual([1, 1])
    const decisions = callgate.decisions()
    expect(leaks({ arrived: arrived(), decisions, calls })).toEqual([])
    const serverOf = new Map(decisions.map(({ callerId, channel }) => [callerId, channel?.server]))
    expect(calls.map(({ callerId }) => serverOf.get(callerId))).toEqual(
      servers.flatMap(({ name }) => [name, name]),
    )
  })

  it.each([
    { dies: 0, check: 'asterisk', goesOn: 1 },
    { dies: 1, check: 'asterisk old', goesOn: 0 },
  ])('goes on with the other, and says so, when $check dies', async ({ dies, check, goesOn }) => {
    const [dead, alive] = [servers[dies], servers[goesOn]]
    if (!dead || !alive) throw new Error('two servers are needed')
    const callgate = await attachToBoth()
    const notReady = async () => {
      const { checks } = await callgate.readiness()
      return checks.filter(({ ready }) => !ready).map(({ name }) => name)
    }
    await dead.server.kill()
    try {
      await until('one is not ready', async () => (await notReady()).length > 0)
      expect(await notReady()).toEqual([check])
      const metrics = await callgate.metrics()
      const connected = [dead, alive].map(({ name }) =>
        metrics.sum('callgate_asterisk_connected', { server: name }),
      )
      expect(connected).toEqual([0, 1])
      expect(statusesOf(await place(alive))).toEqual(decided)
    } finally {
      await dead.server.start()
    }
    await until('both are ready', callgate.isReady)
    expect(statusesOf(await place(dead))).toEqual(decided)
    expect(trunks.map((trunk) => trunk.arrived().length)).toEqual([1, 1])
  })
})
