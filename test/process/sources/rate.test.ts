/**
 * How rarely a provider is asked, in virtual time: a vendor that takes 600 ms and permits 100
 * requests a minute of each question, behind the gate with settings as shipped.
 */
import { afterEach, describe, expect, it } from 'vitest'
import { type QuestionName, questionNames } from '../../../src/domain/compliance.js'
import type { Decision } from '../../../src/domain/decision.js'
import {
  gateDeadlineMs,
  numbersOfNewYork,
  type RemoteGate,
  remoteGate,
  seededRandom,
} from '../../support/remote-gate.js'
import { type VirtualTime, virtualTime } from '../../support/virtual-time.js'

const latencyMs = 600
const requestsPerMinute = 100

let open: RemoteGate | undefined

afterEach(async () => {
  await open?.close()
  open = undefined
})

function setUp(time: VirtualTime): RemoteGate {
  open = remoteGate({ time, latencyMs, requestsPerMinute })
  return open
}

const sentOf = ({ vendor }: RemoteGate) =>
  Object.fromEntries(questionNames.map((name) => [name, vendor.requestsOf(name).length]))

/** Asks them all at once and gives what was decided, once enough time has passed for all. */
async function decideAtOnce(gate: RemoteGate, numbers: readonly string[], time: VirtualTime) {
  const decisions: Decision[] = []
  for (const number of numbers) void gate.decide(number).then((one) => decisions.push(one))
  await time.advance(gateDeadlineMs + 1)
  expect(decisions).toHaveLength(numbers.length)
  return decisions.filter(({ decision }) => decision === 'allow').length
}

describe('a provider that permits 100 requests a minute', () => {
  it('is asked about 1,000 cold numbers at once in four scrub requests at most', async () => {
    const time = virtualTime()
    const gate = setUp(time)
    expect(await decideAtOnce(gate, numbersOfNewYork(1_000), time)).toBe(1_000)
    expect(gate.vendor.requestsOf('scrub').length).toBeLessThanOrEqual(4)
    // 1,000 numbers fit in one request of each question, but for the internal list's 200.
    expect(sentOf(gate)).toEqual({ scrub: 1, 'internal-dnc': 5, litigator: 1, 'legal-time': 1 })
  })

  it('is asked at most once more in all for 1,000 decisions about warm numbers', async () => {
    const time = virtualTime()
    const gate = setUp(time)
    const numbers = numbersOfNewYork(1_000)
    await decideAtOnce(gate, numbers, time)
    const before = gate.vendor.requests.length
    expect(await decideAtOnce(gate, numbers, time)).toBe(1_000)
    expect(gate.vendor.requests.length - before).toBeLessThanOrEqual(1)
  })

  it('is asked once of each question for 1,000 decisions at once about one cold number', async () => {
    const time = virtualTime()
    const gate = setUp(time)
    const [number = ''] = numbersOfNewYork(1)
    const calls = Array.from({ length: 1_000 }, () => number)
    expect(await decideAtOnce(gate, calls, time)).toBe(1_000)
    expect(sentOf(gate)).toEqual({ scrub: 1, 'internal-dnc': 1, litigator: 1, 'legal-time': 1 })
  })
})

describe('100 decisions a second on a list of 100,000 numbers', () => {
  const minutes = 12
  const everyMs = 10

  interface Tally {
    decided: number
    allowed: number
    longestMs: number
    readonly waits: number[]
  }

  async function dial(gate: RemoteGate, time: VirtualTime): Promise<Tally> {
    const numbers = numbersOfNewYork(100_000)
    const random = seededRandom(7)
    const tally: Tally = { decided: 0, allowed: 0, longestMs: 0, waits: [] }
    const endMs = time.monotonicMs() + minutes * 60_000
    const call = () => {
      if (time.monotonicMs() >= endMs) return
      time.after(everyMs, call)
      const askedMs = time.monotonicMs()
      void gate.decide(numbers[Math.floor(random() * numbers.length)] ?? '').then((decision) => {
        const waitedMs = time.monotonicMs() - askedMs
        tally.decided += 1
        if (decision.decision === 'allow') tally.allowed += 1
        tally.longestMs = Math.max(tally.longestMs, waitedMs)
        tally.waits.push(waitedMs)
      })
    }
    call()
    await time.advance(minutes * 60_000 + gateDeadlineMs)
    return tally
  }

  it('never exceeds the rate, and 99 of 100 calls are answered in time', {
    timeout: 300_000,
  }, async () => {
    const time = virtualTime()
    const gate = setUp(time)
    const tally = await dial(gate, time)
    const { vendor } = gate
    const shown = (question: QuestionName) => ({
      question,
      requests: vendor.requestsOf(question).length,
      'most in a minute': vendor.mostInAMinute(question),
      'numbers per request': Math.round(
        vendor.requestsOf(question).reduce((sum, { numbers }) => sum + numbers.length, 0) /
          vendor.requestsOf(question).length,
      ),
    })
    tally.waits.sort((one, other) => one - other)
    const waitAt = (share: number) => tally.waits[Math.floor(share * (tally.waits.length - 1))]
    console.table(questionNames.map(shown))
    console.table({
      decisions: tally.decided,
      allowed: `${((100 * tally.allowed) / tally.decided).toFixed(3)} %`,
      'wait p50 / p90 / p99, ms': [0.5, 0.9, 0.99].map(waitAt).join(' / '),
      'longest wait, ms': tally.longestMs,
    })
    expect(tally.decided).toBe((minutes * 60_000) / everyMs)
    expect(vendor.requests.filter(({ met }) => met !== 'well')).toEqual([])
    for (const question of questionNames) {
      expect(vendor.mostInAMinute(question)).toBeLessThanOrEqual(requestsPerMinute)
    }
    // Every number is clean and the hour is right, so what is not allowed was not answered in time.
    expect(tally.allowed / tally.decided).toBeGreaterThanOrEqual(0.99)
    expect(tally.longestMs).toBeLessThanOrEqual(gateDeadlineMs)
  })
})
