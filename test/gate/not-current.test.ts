/** No allow leaves while the gate does not know what others have stored in the last moments. */
import { expect, it } from 'vitest'
import type { ClockReading } from '../../src/domain/time/clock.js'
import type { GateSettings } from '../../src/gate/gate-deps.js'
import { fakeCompliance } from '../support/fake-compliance.js'
import { aCall, testGate } from '../support/test-gate.js'
import { virtualTime } from '../support/virtual-time.js'

/** A gate whose feed was current at `feed.currentAt`, and whose records take `journalMs`. */
function gateWithFeed(journalMs = 0, settings: Partial<GateSettings> = {}) {
  const time = virtualTime('2026-11-23T17:00:00Z')
  const read = (): ClockReading => ({ now: time.now(), monotonicMs: time.monotonicMs() })
  const feed = { currentAt: read() }
  const reasons: string[] = []
  const { gate, renderMetrics } = testGate(fakeCompliance(), {
    timers: time,
    clock: time,
    feed,
    settings,
    journal: {
      append: ({ reason }, onWritten) => {
        reasons.push(reason)
        if (journalMs === 0) onWritten?.()
        else time.after(journalMs, () => onWritten?.())
      },
      amend: ({ reason }) => void reasons.push(reason),
    },
  })
  return { gate, time, feed, reasons, renderMetrics, read }
}

it('allows up to maxStalenessMs after the last look, and blocks beyond it until the next', async () => {
  const { gate, time, feed, reasons, read, renderMetrics } = gateWithFeed()
  await time.advance(500)
  expect(await gate.decide(aCall())).toMatchObject({ decision: 'allow' })
  await time.advance(1)
  expect(await gate.decide(aCall())).toMatchObject({ decision: 'block', reason: 'not-current' })
  // It is never on record as an allow.
  expect(reasons).toEqual(['permitted', 'not-current'])
  expect(await renderMetrics()).toContain('reason="not-current",kind="manual",via="http"} 1')
  feed.currentAt = read()
  expect(await gate.decide(aCall())).toMatchObject({ decision: 'allow' })
})

it('counts from before the call was judged, not from a look while its record was written', async () => {
  const { gate, time, feed, read } = gateWithFeed(200)
  await time.advance(400)
  const deciding = gate.decide(aCall())
  await time.advance(150)
  // A change that came with this look is not in the answers by which the call was judged.
  feed.currentAt = read()
  await time.advance(50)
  expect(await deciding).toMatchObject({ decision: 'block', reason: 'not-current' })
})

it('does not trust a clock that stood still: that of a suspended machine, or one that was set', async () => {
  const { gate, time, feed, read } = gateWithFeed()
  const { now, monotonicMs } = read()
  feed.currentAt = { now: now - 3_600_000, monotonicMs }
  expect(await gate.decide(aCall())).toMatchObject({ reason: 'not-current' })
  feed.currentAt = { now: now + 3_600_000, monotonicMs: monotonicMs - 501 }
  expect(await gate.decide(aCall())).toMatchObject({ reason: 'not-current' })
  feed.currentAt = { now: now + 3_600_000, monotonicMs: time.monotonicMs() }
  expect(await gate.decide(aCall())).toMatchObject({ decision: 'allow' })
})

it('still blocks for the reason that was found, and lets emergency calls pass', async () => {
  const { gate, feed } = gateWithFeed()
  feed.currentAt = { now: 0, monotonicMs: Number.NEGATIVE_INFINITY }
  expect(await gate.decide(aCall({ dialed: '911' }))).toMatchObject({ reason: 'service-code' })
  expect(await gate.decide(aCall({ dialed: '12' }))).toMatchObject({ reason: 'extension' })
})

it('allows longer what an operator has signed for, and says so in the record', async () => {
  const until = Date.parse('2026-11-23T17:01:00Z')
  const reason = 'the line is being moved; signed A. Person'
  const whileCutOff = { maxAgeMs: 60_000, callKinds: new Set(['manual'] as const), reason, until }
  const { gate, time, reasons } = gateWithFeed(0, { whileCutOff })
  await time.advance(2_000)
  expect(await gate.decide(aCall())).toMatchObject({
    decision: 'allow',
    says: [{ code: 'copy-by-exception', params: { ageSeconds: 2 }, quote: reason }],
  })
  expect(reasons).toEqual(['permitted'])
  await time.advance(58_000)
  expect(await gate.decide(aCall())).toMatchObject({ reason: 'not-current' })
  const others = { ...whileCutOff, callKinds: new Set(['ai', 'autodialed'] as const) }
  const strict = gateWithFeed(0, { whileCutOff: others })
  await strict.time.advance(2_000)
  expect(await strict.gate.decide(aCall())).toMatchObject({ reason: 'not-current' })
})
