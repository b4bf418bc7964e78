/** Outages of half an hour in virtual time: of one question alone, and how soon the end is noticed. */
import { describe, expect, it } from 'vitest'
import type { Policy } from '../../../src/domain/decision.js'
import {
  linesOf,
  printTally,
  replay,
  replayFacts,
  replayFrom,
  tallyOf,
} from '../../support/call-replay.js'
import { gateDeadlineMs, remoteGate } from '../../support/remote-gate.js'
import { strictPolicy } from '../../support/strict-policy.js'
import { virtualTime } from '../../support/virtual-time.js'

const minute = 60_000
const latencyMs = 600
const downFrom = 10 * minute
const downUntil = 40 * minute
const end = 50 * minute

describe('half an hour in which the scrub alone is not answered', () => {
  const excuse = 'the scrub is down; legal accepts the risk for a quarter of an hour'
  const phases = [
    { phase: 'before', from: -10, until: 0 },
    { phase: 'first 5 minutes', from: 0, until: 5 },
    { phase: 'to 0:15', from: 5, until: 15 },
    { phase: 'to 0:30', from: 15, until: 30 },
    { phase: 'after', from: 30, until: 40 },
  ] as const
  const cases: readonly { readonly name: string; readonly lines: readonly string[] }[] = [
    {
      name: 'strict',
      lines: [
        'before: 588 allow, 6 block: internal-dnc, 6 block: litigator',
        'first 5 minutes: 165 allow, 128 block: check-unanswered, 3 block: internal-dnc, 4 block: litigator',
        'to 0:15: 589 block: check-unanswered, 6 block: internal-dnc, 5 block: litigator',
        'to 0:30: 882 block: check-unanswered, 9 block: internal-dnc, 9 block: litigator',
        'after: 548 allow, 40 block: check-unanswered, 6 block: internal-dnc, 6 block: litigator',
      ],
    },
    {
      name: 'permission unknown',
      lines: [
        'before: 588 allow, 6 block: internal-dnc, 6 block: litigator',
        'first 5 minutes: 165 allow, 128 allow: unknown-allowed, 3 block: internal-dnc, 4 block: litigator',
        'to 0:15: 589 allow: unknown-allowed, 6 block: internal-dnc, 5 block: litigator',
        'to 0:30: 882 block: check-unanswered, 9 block: internal-dnc, 9 block: litigator',
        'after: 548 allow, 40 block: check-unanswered, 6 block: internal-dnc, 6 block: litigator',
      ],
    },
  ]

  it.each(cases)('gate $name', async ({ name, lines }) => {
    const time = virtualTime(replayFrom)
    const leave = { reason: excuse, until: time.now() + downFrom + 15 * minute }
    const lenient: Policy = {
      ...strictPolicy,
      permission: { mode: 'enforce', allowUnknown: leave },
    }
    const gate = remoteGate({
      time,
      latencyMs,
      facts: replayFacts,
      policy: name === 'strict' ? strictPolicy : lenient,
      faults: [{ fault: 'down', questions: ['scrub'], fromMs: downFrom, untilMs: downUntil }],
    })
    const decided = (await replay(time, new Map([[name, gate]]), end)).get(name) ?? []
    await gate.close()
    const tally = tallyOf(decided, phases, downFrom)
    printTally(`gate '${name}', the scrub is down`, tally)
    expect(linesOf(tally)).toEqual(lines)
    const effects = decided.flatMap(({ decision }) =>
      decision.decision === 'allow' ? decision.effects : [],
    )
    expect(new Set(effects.map(({ check }) => check))).toEqual(
      new Set(name === 'strict' ? [] : ['permission']),
    )
    for (const effect of effects) {
      expect(effect).toMatchObject({ effect: 'unknown-allowed', because: excuse })
    }
  })
})

describe('a vendor that is well again after half an hour', () => {
  it('is found out within a minute, and answers every call from then on', async () => {
    const time = virtualTime(replayFrom)
    const faults = [{ fault: 'down', fromMs: downFrom, untilMs: downUntil }] as const
    const gate = remoteGate({ time, latencyMs, faults })
    const decided = (await replay(time, new Map([['strict', gate]]), end)).get('strict') ?? []
    await gate.close()
    const blocked = decided.filter(
      ({ atMs, decision }) => atMs >= downUntil && decision.decision === 'block',
    )
    const recoveredMs = Math.max(...blocked.map(({ atMs }) => atMs)) - downUntil
    console.log(`every call is allowed ${recoveredMs / 1_000} s after the vendor is back`)
    expect(blocked.length).toBeGreaterThan(0)
    expect(recoveredMs).toBeLessThan(minute + gateDeadlineMs)
    expect(time.waiting()).toBe(0)
  })
})
