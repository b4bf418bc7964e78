/**
 * 50 calls a second for 20 seconds, or a minute in the long form, half of them blocked, and not one lost, leaked or
 * forgotten.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { machineFacts } from '../../../bench/machine.js'
import { shortOrLong } from '../../support/long.js'
import { type AsteriskServer, startAsterisk } from './lab/asterisk-server.js'
import { type CallgateProcess, type Samples, startCallgate } from './lab/callgate-process.js'
import {
  allHaveOutcomes,
  allowedNumbers,
  areAnswered,
  leaks,
  mixedNumbers,
} from './lab/evidence.js'
import { msToTrunk, quantile } from './lab/latency.js'
import { type CallsReport, type PlacedCall, placeCalls } from './lab/sipp-caller.js'
import { type Arrival, startTrunk, type Trunk } from './lab/sipp-trunk.js'
import { until } from './lab/until.js'

const rate = 50
const total = rate * shortOrLong(20, 60)

describe(`${total} calls at ${rate} a second`, () => {
  let server: AsteriskServer
  let trunk: Trunk
  let callgate: CallgateProcess
  let report: CallsReport
  let arrived: readonly Arrival[]
  let metrics: Samples
  let linesBefore: number

  const isAllowed = ({ number }: PlacedCall) => allowedNumbers.includes(number)

  beforeAll(async () => {
    server = await startAsterisk({ version: 22 })
    trunk = await startTrunk({ server })
    callgate = await startCallgate({ server })
    linesBefore = callgate.log().length
    report = await placeCalls({ server, numbers: mixedNumbers, total, rate, hangUpAfterMs: 100 })
    await until('no channel is left', async () => (await server.channels()) === 0)
    arrived = trunk.arrived()
    await until(
      'every call and its outcome is on record',
      () => {
        const decisions = callgate.decisions()
        return (
          decisions.length >= total &&
          allHaveOutcomes(decisions) &&
          areAnswered({ arrived, decisions })
        )
      },
      { everyMs: 500 },
    )
    metrics = await callgate.metrics()
  }, 240_000)
  afterAll(async () => {
    await trunk.close()
    await callgate.close()
    await server.close()
  })

  it('are each placed and answered: the allowed by the trunk, the blocked with 403', () => {
    const { created, successful, failed } = report.statistics
    expect({ created, successful, failed }).toEqual({
      created: total,
      successful: total,
      failed: 0,
    })
    const wrong = report.calls.filter((call) => call.status !== (isAllowed(call) ? 200 : 403))
    expect(wrong).toEqual([])
  })

  it('have one record each, with their own channel and what was decided for their number', () => {
    const decisions = callgate.decisions()
    expect(decisions).toHaveLength(total)
    expect(new Set(decisions.map(({ channel }) => channel?.id)).size).toBe(total)
    const placed = new Map(report.calls.map((call) => [call.callerId, call]))
    const wrong = decisions.filter(({ callerId = '', number, decision }) => {
      const call = placed.get(callerId)
      return call?.number !== number || (decision === 'allow') !== isAllowed(call)
    })
    expect(wrong).toEqual([])
    expect(new Set(decisions.map(({ callerId }) => callerId)).size).toBe(total)
  })

  it('reach the trunk when they are allowed, each once, and no other does', async () => {
    const decisions = callgate.decisions()
    const allowed = decisions.filter(({ decision }) => decision === 'allow')
    expect(arrived.map(({ decisionId }) => decisionId).toSorted()).toEqual(
      allowed.map(({ id }) => id).toSorted(),
    )
    expect(leaks({ arrived, decisions, calls: report.calls })).toEqual([])
    expect((await trunk.close()).created).toBe(allowed.length)
  })

  it('leave nothing ungated, nothing undone and nothing to complain of', () => {
    const counts = {
      decisions: metrics.sum('callgate_decisions_total', { via: 'asterisk' }),
      ungated: metrics.sum('callgate_ungated_calls_total'),
      notCarriedOut: metrics.sum('callgate_decisions_not_carried_out_total'),
      connected: metrics.sum('callgate_asterisk_connected'),
      reconnects: metrics.sum('callgate_asterisk_reconnects_total'),
    }
    expect(counts).toEqual({
      decisions: total,
      ungated: 0,
      notCarriedOut: 0,
      connected: 1,
      reconnects: 0,
    })
    const lines = callgate.log().slice(linesBefore)
    expect(lines.filter(({ message }) => message === 'decision')).toHaveLength(total)
    expect(lines.filter(({ level }) => Number(level) >= 40)).toEqual([])
  })

  it('tell how long they took', () => {
    const toTrunk = msToTrunk(report.calls, arrived)
    const sentAt = new Map(report.calls.map(({ callerId, sentAt: at }) => [callerId, at]))
    const toDecision = callgate.decisions().flatMap(({ callerId = '', decidedAt }) => {
      const sent = sentAt.get(callerId)
      return sent === undefined ? [] : [Date.parse(decidedAt) - sent]
    })
    expect([toTrunk.length, toDecision.length]).toEqual([arrived.length, total])
    const line = (what: string, values: readonly number[]) =>
      `${what}: p50 ${quantile(values, 0.5).toFixed(1)} ms, p99 ${quantile(values, 0.99).toFixed(1)} ms\n`
    process.stdout.write(
      `${machineFacts()}${total} calls at ${rate} a second\n` +
        line('INVITE in to INVITE at the trunk', toTrunk) +
        line('INVITE in to decision (to the millisecond)', toDecision),
    )
  })
})
