/** How old an event may be, on a loop whose turns are played by the test. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EventLoopMonitor } from '../../src/runtime/runtime.js'

/** Work in one turn before it polls, an idle wait for events, and work of events before ours. */
interface Turn {
  readonly beforeMs: number
  readonly idleMs: number
  readonly eventsMs: number
}

function played() {
  let now = 0
  let idle = 0
  let sample: () => void = () => undefined
  const watch = new EventLoopMonitor({
    performance: {
      now: () => now,
      nodeTiming: {
        get idleTime() {
          return idle
        },
      },
    },
    setImmediate: (run) => {
      sample = run
      return { unref: () => undefined }
    },
  })
  watch.start()
  /** Gives the start of the poll, before which the events of the turn before were taken. */
  const turn = ({ beforeMs, idleMs, eventsMs }: Turn, atEvent: () => void = () => undefined) => {
    now += beforeMs
    const polledAt = now
    now += idleMs
    idle += idleMs
    const wokenAt = now
    now += eventsMs
    atEvent()
    sample()
    return { polledAt, wokenAt }
  }
  return { watch, turn, now: () => now }
}

const quick: Turn = { beforeMs: 0.1, idleMs: 20, eventsMs: 0.2 }

describe('the earliest arrival of an event', () => {
  it('is about now on an idle loop', () => {
    const { watch, turn, now } = played()
    for (let at = 0; at < 5; at += 1) turn(quick)
    turn(quick, () => expect(now() - watch.earliestArrivalMs()).toBeLessThan(1))
  })

  it('is before a stall that the loop has just left, and about now two turns later', () => {
    const { watch, turn, now } = played()
    for (let at = 0; at < 5; at += 1) turn(quick)
    turn({ ...quick, eventsMs: 900 })
    const busy: Turn = { beforeMs: 1, idleMs: 0, eventsMs: 1 }
    turn(busy, () => expect(now() - watch.earliestArrivalMs()).toBeGreaterThan(900))
    turn(busy)
    turn(busy, () => expect(now() - watch.earliestArrivalMs()).toBeLessThan(10))
  })

  it('of a new connection is that of the connection while what it sent is not read yet', () => {
    const { watch, turn, now } = played()
    for (let at = 0; at < 5; at += 1) turn(quick)
    turn({ ...quick, eventsMs: 900 })
    const busy: Turn = { beforeMs: 1, idleMs: 0, eventsMs: 1 }
    let mark = watch.markAccept()
    turn(busy, () => {
      mark = watch.markAccept()
    })
    turn(busy, () => expect(now() - watch.earliestArrivalMs(mark)).toBeGreaterThan(900))
    turn(busy)
    turn(busy, () => expect(now() - watch.earliestArrivalMs(mark)).toBeLessThan(10))
  })

  it('of a connection is before all turns that accepted one each without a wait between them', () => {
    const { watch, turn, now } = played()
    for (let at = 0; at < 5; at += 1) turn(quick)
    const busy: Turn = { beforeMs: 0, idleMs: 0, eventsMs: 100 }
    const firstAt = now()
    for (let at = 0; at < 20; at += 1) turn(busy, () => watch.markAccept())
    let mark = watch.markAccept()
    turn(busy, () => {
      mark = watch.markAccept()
    })
    turn(busy, () => expect(watch.earliestArrivalMs(mark)).toBeLessThanOrEqual(firstAt))
    turn({ ...busy, idleMs: 5, eventsMs: 0 }, () => {
      mark = watch.markAccept()
    })
    turn(busy, () => expect(now() - watch.earliestArrivalMs(mark)).toBeLessThan(210))
  })

  it('is never after the true arrival, whatever the turns take', () => {
    const ms = fc.integer({ min: 0, max: 500 })
    const turns = fc.array(fc.record({ beforeMs: ms, idleMs: ms, eventsMs: ms }), { minLength: 3 })
    fc.assert(
      fc.property(turns, (all) => {
        const { watch, turn } = played()
        let before: ReturnType<typeof turn> | undefined
        for (const one of all) {
          let earliest = 0
          const at = turn(one, () => {
            earliest = watch.earliestArrivalMs()
          })
          // What is handled now woke the loop, or came after the poll of the turn before it.
          const trueArrival = one.idleMs > 0 ? at.wokenAt : before?.wokenAt
          if (trueArrival !== undefined) expect(earliest).toBeLessThanOrEqual(trueArrival)
          before = at
        }
      }),
      { seed: 12, numRuns: 2_000 },
    )
  })
})
