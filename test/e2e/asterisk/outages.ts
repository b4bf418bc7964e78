/** Whatever breaks, at the trunk arrives what is allowed on record, and gating heals by itself. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { DecisionDocument } from '../../../src/gate/record/decision-document.js'
import { shortOrLong } from '../../support/long.js'
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
import { allWait, arrivedMore, noChannelIsLeft, placedMore } from './lab/progress.js'
import type { AsteriskVersion } from './lab/provided-asterisk.js'
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
const restarts = shortOrLong(5, 10)
const refused = { status: 503, cause: 42 }

/** What is set wrong in callgate's settings, and how ari.conf is made to agree. */
const mistakes = [
  {
    wrong: 'password',
    environment: { CALLGATE_ASTERISK_PASSWORD: 'mistyped%sesame' },
    correct: (conf: string) => conf.replace('password = secret', 'password = mistyped%sesame'),
  },
  {
    wrong: 'user',
    environment: {
      CALLGATE_ASTERISK_USERNAME: 'nobody',
      CALLGATE_ASTERISK_PASSWORD: 'open-sesame',
    },
    correct: (conf: string) => `${conf}\n[nobody]\ntype = user\npassword = open-sesame\n`,
  },
]

/** The tests of one version, so that two versions can be tried side by side. */
export function testOutages(version: AsteriskVersion): void {
  describe(`beside Asterisk ${version}`, () => outagesBeside(version))
}

function outagesBeside(version: AsteriskVersion): void {
  let server: AsteriskServer
  let trunk: Trunk
  let running: CallgateProcess[] = []
  let loads: RunningCalls[] = []

  beforeAll(async () => {
    // Waits of half the shipped length keep the tests short; nothing else differs.
    server = await startAsterisk({ version, globals: { CALLGATE_WAIT: '1.5' } })
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    trunk = await startTrunk({ server })
  })
  afterEach(async () => {
    await Promise.all([...loads.map((calls) => calls.kill()), ...running.map((it) => it.close())])
    running = []
    loads = []
    await trunk.close()
  })

  const attach = async (options: CallgateOptions = {}) => {
    const callgate = await startCallgate({ server, ...options })
    running.push(callgate)
    return callgate
  }
  /** 50 calls a second, of numbers that are allowed and blocked by turns, until it is stopped. */
  const load = async (more: Partial<CallsOptions> = {}) => {
    const usual = { server, numbers: mixedNumbers, total: 5_000, rate: 50 }
    const calls = await startCalls({ ...usual, ...more })
    loads.push(calls)
    return calls
  }
  const answersOf = (calls: readonly PlacedCall[]) =>
    calls.map(({ status, cause }) => ({ status, cause }))
  const place = async (numbers: readonly string[]) => (await placeCalls({ server, numbers })).calls

  /** A next call is decided by this callgate and dialled, another is blocked by it. */
  const expectGating = async (callgate: CallgateProcess) => {
    await until('callgate is ready', callgate.isReady, { withinMs: 20_000 })
    const [before, arrivedBefore] = [callgate.decisions().length, trunk.arrived().length]
    const calls = await place([allowed, blocked])
    expect(calls.map(({ status }) => status)).toEqual([200, 403])
    await until('both are on record', () => callgate.decisions().length >= before + 2)
    const decided = callgate.decisions().slice(before)
    const words = decided.map(({ decision, number }) => `${decision} ${number}`)
    expect(words.toSorted()).toEqual([`allow ${allowed}`, `block ${blocked}`])
    const ids = decided.filter(({ decision }) => decision === 'allow').map(({ id }) => id)
    const arrivals = trunk.arrived().slice(arrivedBefore)
    expect(arrivals.map(({ decisionId }) => decisionId)).toEqual(ids)
  }

  /** Of calls that have ended; the outcomes are written a moment later. */
  const decisionsWithOutcomes = async (callgate: CallgateProcess) => {
    await until('outcomes of all', () => allHaveOutcomes(callgate.decisions()))
    return callgate.decisions()
  }

  /** The part of every case that is the same. */
  const expectNoLeak = (
    calls: readonly PlacedCall[],
    decisions: readonly DecisionDocument[],
    leastDialled = 10,
  ) => {
    const arrived = trunk.arrived()
    expect(leaks({ arrived, decisions, calls })).toEqual([])
    expect(arrived.length).toBeGreaterThanOrEqual(leastDialled)
  }

  it('dials nothing while callgate is not running, and gates once it is', async () => {
    const { calls } = await placeCalls({ server, numbers: mixedNumbers, total: 40, rate: 50 })
    expect(answersOf(calls)).toEqual(Array(40).fill(refused))
    expect((await place(['911'])).map(({ status }) => status)).toEqual([200])
    expect(trunk.arrived().map(({ number }) => number)).toEqual(['911'])
    await noChannelIsLeft(server)
    await expectGating(await attach())
  })

  it('refuses the calls that wait when callgate is killed', async () => {
    const callgate = await attach()
    callgate.freeze()
    const calls = await load({ total: 20, rate: 100 })
    await allWait(server, 20)
    await callgate.killHard()
    expect(answersOf((await calls.done).calls)).toEqual(Array(20).fill(refused))
    expect(trunk.arrived()).toEqual([])
    await noChannelIsLeft(server)
    await expectGating(await attach({ dataDir: callgate.dataDir }))
  })

  it('takes over the calls that still wait when it is back in time', async () => {
    // A start of callgate takes seconds on a machine with other work.
    await server.setGlobals({ CALLGATE_WAIT: '60' })
    try {
      const killed = await attach()
      killed.freeze()
      const calls = await load({ numbers: [allowed, blocked], total: 4, giveUpAfterMs: 120_000 })
      await allWait(server, 4)
      await killed.killHard()
      const environment = { CALLGATE_GATE_DEADLINE_MS: '10000' }
      const callgate = await attach({ dataDir: killed.dataDir, environment })
      const report = await calls.done
      expect(report.calls.map(({ status }) => status)).toEqual([200, 403, 200, 403])
      expectNoLeak(report.calls, await decisionsWithOutcomes(callgate), 2)
      await noChannelIsLeft(server)
    } finally {
      await server.setGlobals({ CALLGATE_WAIT: '1.5' })
    }
  })

  it('has each dialled call on record when callgate is killed under load', async () => {
    const killed = await attach()
    const calls = await load({ hangUpAfterMs: 100 })
    await arrivedMore(trunk, 30)
    await killed.killHard()
    const before = killed.decisions().length
    await placedMore(calls, 30)
    const callgate = await attach({ dataDir: killed.dataDir })
    await arrivedMore(trunk, 30)
    const report = await calls.stop()
    expect(unanswered(report.calls)).toEqual([])
    await noChannelIsLeft(server)
    expectNoLeak(report.calls, callgate.decisions(), 60)
    await expectGating(callgate)
    const isWritten = () => allHaveOutcomes(callgate.decisions().slice(before))
    await until('outcomes of all but the killed one', isWritten)
  })

  it('lets none of the released calls out when a frozen callgate is thawed', async () => {
    const callgate = await attach()
    const calls = await load()
    await arrivedMore(trunk, 20)
    callgate.freeze()
    // Longer than a call waits.
    await placedMore(calls, 120)
    callgate.thaw()
    await arrivedMore(trunk, 20)
    const report = await calls.stop()
    expect(unanswered(report.calls)).toEqual([])
    await noChannelIsLeft(server)
    await until('all that was dialled is on record', () => {
      return areAnswered({ arrived: trunk.arrived(), decisions: callgate.decisions() })
    })
    const decisions = await decisionsWithOutcomes(callgate)
    expectNoLeak(report.calls, decisions)

    // Each decision was dialled, handed over as a block, or is on record as not carried out.
    const states = outcomes(decisions)
    expect(Object.keys(states).toSorted()).toEqual(['answered', 'handed-over', 'not-carried-out'])
    const late = decisions.filter(({ outcome }) => outcome?.state === 'not-carried-out')
    const released = late.filter(({ outcome }) => outcome?.notCarriedOut === 'channel-left')
    expect(released.length).toBeGreaterThanOrEqual(20)
    // Each of them is counted; so is one whose answer came too late and that was dialled.
    const counted = (await callgate.metrics()).sum('callgate_decisions_not_carried_out_total')
    expect(counted).toBeGreaterThanOrEqual(late.length)
    await expectGating(callgate)
  })

  it.each(version === 22 ? mistakes : mistakes.slice(0, 1))(
    'is not ready with a wrong ARI $wrong, and gates once it is put right',
    async (given) => {
      const { environment, correct } = given
      const conf = join(server.folder, 'etc/ari.conf')
      const original = readFileSync(conf, 'utf8')
      const callgate = await attach({ environment, until: 'listening' })
      const {
        CALLGATE_ASTERISK_USERNAME: user = 'callgate',
        CALLGATE_ASTERISK_PASSWORD: password,
      } = environment
      const problem = `refuses the user '${user}' or its password (HTTP 401)`
      await until('it has been refused', async () => /HTTP 401/.test(await detailOf(callgate)))
      expect(await detailOf(callgate)).toContain(problem)
      const { calls } = await placeCalls({ server, numbers: mixedNumbers, total: 30, rate: 20 })
      expect(answersOf(calls)).toEqual(Array(30).fill(refused))
      expect(trunk.arrived()).toEqual([])
      expect(await callgate.isReady()).toBe(false)
      expect((await callgate.metrics()).sum('callgate_asterisk_connected')).toBe(0)

      writeFileSync(conf, correct(original))
      await server.cli('module reload res_ari.so')
      try {
        await expectGating(callgate)
        await noChannelIsLeft(server)
      } finally {
        writeFileSync(conf, original)
        await server.cli('module reload res_ari.so')
      }
      const told = callgate.log().filter((line) => String(line.problem).includes('HTTP 401'))
      expect(told.map(({ level, message }) => [level, message])).toEqual([
        [50, 'not connected to Asterisk'],
      ])
      for (const secret of [password, encodeURIComponent(password)]) {
        expect(outputOf(callgate)).not.toContain(secret)
      }
    },
  )

  it(`gates again after each of ${restarts} restarts of Asterisk under load`, async () => {
    const callgate = await attach()
    // Nobody gives up: a call that was cut off has no end of its own.
    const calls = await load({ hangUpAfterMs: 100, giveUpAfterMs: 300_000 })
    for (let restart = 0; restart < restarts; restart += 1) {
      await arrivedMore(trunk, 5)
      await server.restart()
    }
    await arrivedMore(trunk, 5)
    const before = calls.placed().length
    await placedMore(calls, 20)
    const stopped = calls.stop().catch(() => undefined)
    await until(
      'the last have answers',
      () => unanswered(calls.placed().slice(before)).length === 0,
    )
    await noChannelIsLeft(server)
    await calls.kill()
    await stopped
    expectNoLeak(calls.placed(), await decisionsWithOutcomes(callgate), 5 * (restarts + 1))
    await expectGating(callgate)
    const metrics = await callgate.metrics()
    expect(metrics.sum('callgate_asterisk_reconnects_total')).toBeGreaterThanOrEqual(restarts)
    expect(metrics.sum('callgate_ungated_calls_total')).toBe(0)
  })

  it('decides the calls of a frozen Asterisk when it is thawed', async () => {
    // The time limit of the dialplan ends none of them.
    await server.setGlobals({ CALLGATE_WAIT: '60' })
    try {
      const callgate = await attach()
      // Nobody gives up: a slow machine takes a while to catch up with what came while Asterisk stood still.
      const calls = await load({ giveUpAfterMs: 300_000 })
      await arrivedMore(trunk, 20)
      server.freeze()
      await placedMore(calls, 250).finally(() => server.thaw())
      await arrivedMore(trunk, 20)
      const report = await calls.stop()
      expect(unanswered(report.calls)).toEqual([])
      await noChannelIsLeft(server)
      expectNoLeak(report.calls, await decisionsWithOutcomes(callgate))
      expect((await callgate.metrics()).sum('callgate_asterisk_reconnects_total')).toBeGreaterThan(
        0,
      )
      await expectGating(callgate)
    } finally {
      await server.setGlobals({ CALLGATE_WAIT: '1.5' })
    }
  })

  it('ends with an answer for each call when callgate is stopped under load', async () => {
    const stopped = await attach()
    const calls = await load({ hangUpAfterMs: 100 })
    await arrivedMore(trunk, 30)
    expect(await stopped.stop()).toBe(0)
    const decisions = stopped.decisions()
    await placedMore(calls, 20)
    const report = await calls.stop()
    expect(unanswered(report.calls)).toEqual([])
    await noChannelIsLeft(server)
    expect(stopped.decisions()).toEqual(decisions)
    expectNoLeak(report.calls, decisions, 30)
    expect(outcomes(decisions).unknown).toBeUndefined()
    await expectGating(await attach({ dataDir: stopped.dataDir }))
  })

  it('raises an alarm when another program takes its application, and has it back', async () => {
    const callgate = await attach()
    await expectGating(callgate)
    const other = await attach()
    await until('it is not ready', async () => !(await callgate.isReady()))
    expect(await detailOf(callgate)).toBe("another program has taken the application 'callgate'")
    expect((await callgate.metrics()).sum('callgate_asterisk_connected')).toBe(0)
    const alarm = 'another program has taken the Stasis application, so no call reaches this gate'
    const told = callgate.log().filter(({ message }) => message === alarm)
    expect(told.map(({ level }) => level)).toEqual([50])

    const before = callgate.decisions().length
    await expectGating(other)
    expect(callgate.decisions()).toHaveLength(before)
    await other.stop()
    expect(answersOf(await place([allowed, blocked]))).toEqual([refused, refused])
    expect(await callgate.isReady()).toBe(false)

    await server.restart()
    await expectGating(callgate)
    expect((await callgate.metrics()).sum('callgate_asterisk_connected')).toBe(1)
  })
}

/** What /readyz says of the Asterisk. */
async function detailOf(callgate: CallgateProcess): Promise<string> {
  const { checks } = await callgate.readiness()
  return checks.find(({ name }) => name === 'asterisk')?.detail ?? ''
}

/** All that it has printed, lines that are no JSON included. */
function outputOf({ dataDir }: CallgateProcess): string {
  return readdirSync(dataDir)
    .filter((name) => name.startsWith('output-'))
    .map((name) => readFileSync(join(dataDir, name), 'utf8'))
    .join('')
}
