/** Whatever is asked and however the provider answers: its rate holds, and everybody is told. */
import { describe, expect, it } from 'vitest'
import type { Timers } from '../../../src/domain/time/clock.js'
import { about, anyNumber, type SentRequest } from '../../support/fake-provider.js'
import { shortOrLong } from '../../support/long.js'
import { nothingLeft, openAsker, textOf } from '../../support/open-batch-client.js'
import { chance, mostInAMinute } from '../../support/rate-proof.js'
import type { VirtualTime } from '../../support/virtual-time.js'

/** Timers of a busy machine: most a little late, some by much. */
const lateTimers =
  (random: () => number) =>
  (time: VirtualTime): Timers => ({
    monotonicMs: () => time.monotonicMs(),
    after: (ms, run) => {
      const lateMs = random() < 0.02 ? random() * 2_000 : random() * 3
      return time.after(ms + lateMs, run)
    },
  })

/** A provider that answers, fails, refuses, hangs and complains. */
const moody = (random: () => number, time: Timers) => (sent: SentRequest) => {
  const ends: readonly (() => void)[] = [
    ...Array.from({ length: 6 }, () => () => sent.answer()),
    () => sent.fail('cut-off'),
    () => sent.reply({ status: 500 }),
    () => sent.reply({ status: 429, retryAfter: '2' }),
    () => undefined,
  ]
  const end = ends[Math.floor(random() * ends.length)]
  time.after(random() * 900, () => end?.())
}

interface Load {
  readonly perMinute: number
  readonly seed: number
  readonly minutes: number
  readonly timers: (time: VirtualTime) => Timers
}

interface Told {
  readonly number: string
  readonly text: string
  readonly afterMs: number
  readonly inBackground: boolean
}

async function minutesOfLoad({ perMinute, seed, minutes, timers }: Load) {
  const random = chance(seed)
  const opened = openAsker({
    random,
    timers,
    question: { requestsPerMinute: perMinute, numbersPerRequest: 1 + Math.floor(random() * 20) },
    limits: { maxQueued: 100, circuitFailures: 3, circuitOpenMs: 500, retries: 3 },
  })
  const { asker, time, transport } = opened
  transport.onSend = moody(random, time)
  const told: Promise<Told>[] = []
  while (time.monotonicMs() < minutes * 60_000) {
    const burst = random() < 0.1 ? Math.floor(random() * 50) : 1
    for (let at = 0; at < burst; at += 1) {
      const inBackground = random() < 0.2
      const number = random() < 0.1 ? '2125550100' : anyNumber()
      const more = { inBackground, projectId: random() < 0.1 ? 'P' : undefined }
      const askedAtMs = time.monotonicMs()
      told.push(
        Promise.resolve(asker.ask(about(number, more))).then((asked) => ({
          number,
          inBackground,
          text: textOf(asked),
          afterMs: time.monotonicMs() - askedAtMs,
        })),
      )
    }
    await time.advance(random() < 0.05 ? random() * 8_000 : random() * 120)
  }
  return { ...opened, told }
}

describe('requests of an asker', () => {
  it.each([
    { perMinute: 1, minutes: 20 },
    { perMinute: 7, minutes: 10 },
    { perMinute: 100, minutes: 5 },
    { perMinute: 600, minutes: 2 },
  ])('are never more than $perMinute in any minute', async ({ perMinute, minutes }) => {
    for (const seed of [11, 22, 33].slice(0, shortOrLong(1, 3))) {
      const timers = lateTimers(chance(seed + 1))
      const load = { perMinute, seed, minutes, timers }
      const { transport, time, told, left } = await minutesOfLoad(load)
      const times = transport.sent.map(({ atMs }) => atMs)
      expect(mostInAMinute(times)).toBeLessThanOrEqual(perMinute)
      expect(times.length).toBeGreaterThan(perMinute * minutes * 0.1)
      await time.advance(120_000)
      await Promise.all(told)
      expect(left()).toEqual(nothingLeft)
    }
  })

  it('are answered in time, and each about its number', async () => {
    const kinds = new Set<string | undefined>()
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const load = { perMinute: 120, seed, minutes: 3, timers: (time: VirtualTime) => time }
      const { time, told, left } = await minutesOfLoad(load)
      await time.advance(60_000)
      for (const { number, text, afterMs, inBackground } of await Promise.all(told)) {
        // Timers wait whole milliseconds.
        expect(afterMs).toBeLessThan((inBackground ? 30_000 : 3_000) + 1)
        if (text.startsWith('value')) expect(text).toBe(`value of ${number}`)
        kinds.add(text.split(' ')[0])
      }
      expect(left()).toEqual(nothingLeft)
    }
    expect([...kinds].sort()).toEqual([
      'circuit-open',
      'deadline',
      'overloaded',
      'rate-limited',
      'source-failed',
      'value',
    ])
  })

  it('of a process that stood still are a burst, and no more', async () => {
    let aheadMs = 0
    const { asker, time, transport } = openAsker({
      question: { requestsPerMinute: 100, numbersPerRequest: 1, deadlineMs: 60_000 },
      limits: { maxRequests: 100 },
      timers: (virtual) => ({
        monotonicMs: () => virtual.monotonicMs() + aheadMs,
        after: virtual.after,
      }),
    })
    transport.onSend = (sent) => sent.answer()
    for (let at = 0; at < 40; at += 1) void asker.ask(about())
    await time.advance(5)
    expect(transport.sent).toHaveLength(10)
    aheadMs = 3_600_000
    for (let at = 0; at < 40; at += 1) void asker.ask(about())
    await time.advance(5)
    expect(transport.sent).toHaveLength(20)
  })
})
