/** Which legs rest on which decisions, where several could be. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type DecidedCall,
  type MatchOptions,
  matchLegs,
} from '../../src/commands/evidence/match-legs.js'
import type { BilledLeg } from '../../src/data/feeds/call-records.js'
import { msPerHour } from '../../src/domain/time/dates.js'

const second = 1_000
const noon = Date.UTC(2026, 10, 23, 17)
const number = '2125550100'

const idOf = (at: number) => `${at.toString(36).padStart(9, '0')}${'a'.repeat(20)}`

const callAt = (at: number, more: Partial<DecidedCall> = {}): DecidedCall => ({
  ...{ id: idOf(at), number, isAllow: true, reason: 'permitted', decidedAt: at },
  ...{ validUntil: at + 60 * second, outcome: {}, legs: 0, hasWrongLeg: false },
  ...more,
})

const legAt = (startsAt: number, more: Partial<BilledLeg> = {}): BilledLeg => ({
  ...{ line: Math.round(startsAt / second), dialed: number, number, isServiceCode: false },
  ...{ startsAt, orStartsAt: undefined, seconds: 6, id: '', decisionId: undefined },
  ...more,
})

function match(
  legs: readonly BilledLeg[],
  calls: readonly DecidedCall[],
  more: Partial<MatchOptions> = {},
) {
  const period = { since: noon - 24 * msPerHour, until: noon + 24 * msPerHour }
  const options = { ...period, slackMs: 5 * second, maxLegs: 1, ...more }
  const copies = calls.map((call) => [call.id, { ...call }] as const)
  const { mismatches, ...counts } = matchLegs(legs, new Map(copies), options)
  return { ...counts, faults: mismatches.map(({ fault }) => fault) }
}

describe('legs without the id of a decision', () => {
  it('belong to the nearest allow, and it is said that another one was possible', () => {
    const calls = [callAt(noon), callAt(noon + 30 * second)]
    const legs = [legAt(noon + 31 * second), legAt(noon + second)]
    expect(match(legs, calls)).toMatchObject({ byNumber: 2, ambiguous: 1, faults: [] })
    expect(match(legs.slice(1), calls).faults).toEqual(['no-leg'])
  })

  it('begin between the decision and its end, and so much before and after as may be', () => {
    const at = (ms: number) => match([legAt(noon + ms)], [callAt(noon)]).faults
    expect(at(-5 * second)).toEqual([])
    expect(at(65 * second)).toEqual([])
    expect(at(65 * second + 1)).toEqual(['expired'])
    expect(at(-5 * second - 1)).toEqual(['no-decision', 'no-leg'])
    // The last decision about the number is too long ago to be the reason.
    expect(at(msPerHour + 6 * second)).toEqual(['no-leg', 'no-decision'])
  })

  it('may be several of one allow, as many as is said', () => {
    const legs = [legAt(noon + second), legAt(noon + 2 * second), legAt(noon + 3 * second)]
    expect(match(legs, [callAt(noon)]).faults).toEqual(['used-again', 'used-again'])
    expect(match(legs, [callAt(noon)], { maxLegs: 3 }).faults).toEqual([])
  })

  it('in the hour that occurs twice belong to the decision of either', () => {
    const leg = legAt(noon, { orStartsAt: noon + msPerHour })
    expect(match([leg], [callAt(noon)]).faults).toEqual([])
    expect(match([leg], [callAt(noon + msPerHour)]).faults).toEqual([])
    expect(match([leg], [callAt(noon + 0.5 * msPerHour)]).faults).toEqual(['no-decision', 'no-leg'])
  })

  it('are matched the same in any order of the file, and each at most once', () => {
    const times = fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 12 })
    const property = fc.property(times, times, fc.integer(), (legTimes, callTimes, seed) => {
      const calls = [...new Set(callTimes)].map((at) => callAt(noon + at * second))
      const legs = legTimes.map((at, index) => legAt(noon + at * second, { line: index + 1 }))
      const found = match(legs, calls)
      const shuffled = legs.toSorted((a, b) => ((a.line * seed) % 7) - ((b.line * seed) % 7))
      expect(match(shuffled, calls)).toEqual(found)
      const faulty = found.faults.filter((fault) => fault !== 'no-leg').length
      expect(found.byNumber + faulty).toBe(legs.length)
      expect(found.byNumber).toBeLessThanOrEqual(calls.length)
    })
    fc.assert(property)
  })
})

describe('legs with the id of a decision', () => {
  const decisionId = idOf(noon)
  const faultsOf = (leg: Partial<BilledLeg>, call: Partial<DecidedCall> = {}, ms = second) =>
    match([legAt(noon + ms, { decisionId, ...leg })], [callAt(noon, call)]).faults

  it('rest on it, also by its beginning', () => {
    expect(faultsOf({})).toEqual([])
    expect(faultsOf({ decisionId: decisionId.slice(0, 13) })).toEqual([])
  })

  it.each([
    ['no-decision', { decisionId: idOf(noon + 1) }, {}, second],
    ['other-number', { number: '2125550199' }, {}, second],
    ['blocked', {}, { isAllow: false, reason: 'litigator' }, second],
    ['withdrawn', {}, { outcome: { state: 'not-carried-out' } }, second],
    ['expired', {}, {}, 66 * second],
    ['other-time', {}, {}, -6 * second],
  ] as const)('do not if it is %s', (fault, leg, call, ms) => {
    const expected = fault === 'no-decision' ? ['no-leg', fault] : [fault]
    expect(faultsOf(leg, call, ms)).toEqual(expected)
  })

  it('rest on a decision whose number was erased', () => {
    expect(faultsOf({}, { number: '' })).toEqual([])
  })
})

describe('allows without a leg', () => {
  it.each([
    [{}, ['no-leg']],
    [{ state: 'handed-over' }, ['no-leg']],
    [{ state: 'answered', answeredAt: noon }, ['no-leg']],
    [{ state: 'failed' }, []],
    [{ state: 'not-carried-out' }, []],
  ] as const)('with outcome %j give %j', (outcome, faults) => {
    expect(match([], [callAt(noon, { outcome })]).faults).toEqual(faults)
  })

  it('are reported only in the period', () => {
    expect(match([], [callAt(noon)], { since: noon + 1 }).faults).toEqual([])
    expect(match([], [callAt(noon)], { until: noon }).faults).toEqual([])
    // The leg begins after it.
    const legs = [legAt(noon + second)]
    expect(match(legs, [callAt(noon)], { until: noon + second }).faults).toEqual([])
  })
})
