import { describe, expect, it } from 'vitest'
import { CircuitBreaker } from '../../../../src/sources/remote/batching/circuit-breaker.js'

function openCircuit(random = 1) {
  const told: string[] = []
  const circuit = new CircuitBreaker({
    maxFailures: 3,
    openMs: 5_000,
    random: () => random,
    onChange: (open, detail) => told.push(`${open ? 'open' : 'closed'} ${detail}`),
  })
  const fail = (times: number, now = 0) => {
    for (let at = 0; at < times; at += 1)
      circuit.recordFailure(circuit.startRequest(), `failure at ${now}`, now)
  }
  return { circuit, told, fail }
}

describe('a circuit', () => {
  it('opens after a number of failures in a row and reports the last one', () => {
    const { circuit, told, fail } = openCircuit()
    fail(2)
    circuit.recordSuccess(false)
    fail(2)
    expect([circuit.getState(0), circuit.isOpen, circuit.detail]).toEqual(['closed', false, ''])
    fail(1, 7)
    expect([circuit.getState(7), circuit.isOpen, circuit.detail]).toEqual([
      'open',
      true,
      'failure at 7',
    ])
    expect(told).toEqual(['open failure at 7'])
  })

  it('does not count inconclusive results', () => {
    const { circuit, fail } = openCircuit()
    fail(2)
    circuit.recordInconclusive(false, 0)
    expect(circuit.getState(0)).toBe('closed')
    fail(1)
    expect(circuit.getState(0)).toBe('open')
  })

  it('lets one probe through when it is due', () => {
    const { circuit, fail } = openCircuit()
    fail(3)
    expect([circuit.getState(4_999), circuit.getState(5_000)]).toEqual(['open', 'due'])
    expect(circuit.startRequest()).toBe(true)
    expect(circuit.getState(6_000)).toBe('probing')
  })

  it('closes when a probe succeeds, and counts from zero', () => {
    const { circuit, told, fail } = openCircuit()
    fail(3)
    circuit.recordSuccess(circuit.startRequest())
    expect([circuit.getState(5_000), told.at(-1)]).toEqual(['closed', 'closed failure at 0'])
    fail(2)
    expect(circuit.getState(5_000)).toBe('closed')
    fail(1, 5_000)
    expect(circuit.getState(9_999)).toBe('open')
    expect(circuit.getState(10_000)).toBe('due')
  })

  it('doubles its delay after each failed probe, up to a minute, and reports no change', () => {
    const { circuit, told, fail } = openCircuit()
    fail(3)
    let now = 0
    for (const ms of [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]) {
      expect([ms, circuit.getState(now + ms - 1), circuit.getState(now + ms)]).toEqual([
        ms,
        'open',
        'due',
      ])
      now += ms
      fail(1, now)
    }
    expect(told).toHaveLength(1)
    circuit.recordSuccess(circuit.startRequest())
    fail(3, now)
    expect(circuit.getState(now + 5_000)).toBe('due')
  })

  it('never waits less than three quarters', () => {
    const { circuit, fail } = openCircuit(0)
    fail(3)
    expect([circuit.getState(3_749), circuit.getState(3_750)]).toEqual(['open', 'due'])
  })

  it('has the probe still due when it said nothing', () => {
    const { circuit, fail } = openCircuit()
    fail(3)
    circuit.recordInconclusive(circuit.startRequest(), 6_000)
    expect([circuit.getState(6_000), circuit.isOpen]).toEqual(['due', true])
  })

  it('while open hears only the probe', () => {
    const { circuit, told, fail } = openCircuit()
    fail(3)
    circuit.recordSuccess(false)
    circuit.recordFailure(false, 'late', 1)
    circuit.recordInconclusive(false, 1)
    expect([circuit.getState(1), circuit.detail, told.length]).toEqual(['open', 'failure at 0', 1])
  })
})
