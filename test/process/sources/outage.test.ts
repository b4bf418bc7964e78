/**
 * Four hours in which the vendor does not answer, replayed in virtual time: it is down, then silent,
 * then answers 503, then is slow, then back. The same calls go through gates of several policies,
 * each with a vendor, a client and a cache of its own.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type QuestionName, questionNames } from '../../../src/domain/compliance.js'
import type { CheckPolicy, Policy, PolicyEffect } from '../../../src/domain/decision.js'
import { describeWhy } from '../../../src/gate/record/describe-decision.js'
import {
  callsPerSecond,
  type Decided,
  knownNo,
  linesOf,
  printTally,
  replay,
  replayFacts,
  replayFrom,
  tallyOf,
} from '../../support/call-replay.js'
import {
  allowMs,
  gateDeadlineMs,
  type RemoteGate,
  type RemoteGateOptions,
  remoteGate,
} from '../../support/remote-gate.js'
import { strictPolicy } from '../../support/strict-policy.js'
import { instant } from '../../support/test-clock.js'
import { virtualTime } from '../../support/virtual-time.js'

const minute = 60_000
const hour = 60 * minute

/** Milliseconds since the replay began, at nine in the morning in New York. */
const outageFrom = 30 * minute
const outageUntil = outageFrom + 4 * hour
const end = outageUntil + 30 * minute
const faults = [
  { fault: 'down', fromMs: outageFrom, untilMs: outageFrom + 80 * minute },
  { fault: 'silent', fromMs: outageFrom + 80 * minute, untilMs: outageFrom + 160 * minute },
  { fault: '503', fromMs: outageFrom + 160 * minute, untilMs: outageFrom + 220 * minute },
  { fault: 'slow', fromMs: outageFrom + 220 * minute, untilMs: outageUntil },
] as const
/** From here on the vendor answers again, though too late for the call that waits. */
const answersAgainAt = outageFrom + 220 * minute

/** By minutes since the outage began. */
const phases = [
  { phase: 'before', from: -30, until: 0 },
  { phase: 'down, first 5 minutes', from: 0, until: 5 },
  { phase: 'down, to 1:05', from: 5, until: 65 },
  { phase: 'down, to 1:20', from: 65, until: 80 },
  { phase: 'silent, to 2:00', from: 80, until: 120 },
  { phase: 'silent, to 2:40', from: 120, until: 160 },
  { phase: '503, to 3:40', from: 160, until: 220 },
  { phase: 'slow, to 4:00', from: 220, until: 240 },
  { phase: 'back', from: 240, until: 270 },
] as const

const policyEnd = instant(replayFrom) + outageFrom + 2 * hour
const excuse = 'the vendor is down; legal accepts the risk for two hours'

const latencyMs = 600
const slowMs = 2_000

function allChecks(policy: CheckPolicy): Policy {
  return {
    litigator: policy,
    'internal-dnc': policy,
    permission: policy,
    'calling-hours': policy,
    attempts: policy,
    'caller-id': policy,
    reassigned: policy,
    abandonment: policy,
  }
}

const unknownPasses: CheckPolicy = {
  mode: 'enforce',
  allowUnknown: { reason: excuse, until: policyEnd },
}

const gateNames = ['strict', 'permission unknown', 'all unknown', 'stale', 'shadow'] as const
type GateName = (typeof gateNames)[number]

const gates: Readonly<Record<GateName, Pick<RemoteGateOptions, 'policy' | 'staleForMs'>>> = {
  /** Everything blocks that does not pass. */
  strict: { policy: strictPolicy },
  /** Unknown passes in one check, for two hours. */
  'permission unknown': { policy: { ...strictPolicy, permission: unknownPasses } },
  /** Unknown passes in every check, for two hours. */
  'all unknown': { policy: allChecks(unknownPasses) },
  /** Kept answers permit for an hour past their age. */
  stale: { policy: strictPolicy, staleForMs: hour },
  /** Nothing is enforced. */
  shadow: { policy: allChecks({ mode: 'shadow' }) },
}

/** Of each question, in 3 h 40 min: one probe a minute once it is found dead, and the finding out. */
const mostRequestsToDeadVendor = 300

/** What the strict gate does; a leave for one check alone changes nothing while all are silent. */
const strictLines = [
  'before: 1764 allow, 18 block: internal-dnc, 18 block: litigator',
  'down, first 5 minutes: 139 allow, 155 block: check-unanswered, 4 block: internal-dnc, 2 block: litigator',
  'down, to 1:05: 3528 block: check-unanswered, 36 block: internal-dnc, 36 block: litigator',
  'down, to 1:20: 882 block: check-unanswered, 8 block: internal-dnc, 10 block: litigator',
  'silent, to 2:00: 2352 block: check-unanswered, 24 block: internal-dnc, 24 block: litigator',
  'silent, to 2:40: 2352 block: check-unanswered, 24 block: internal-dnc, 24 block: litigator',
  '503, to 3:40: 3528 block: check-unanswered, 36 block: internal-dnc, 36 block: litigator',
  'slow, to 4:00: 604 allow, 572 block: check-unanswered, 12 block: internal-dnc, 12 block: litigator',
  'back: 1764 allow, 18 block: internal-dnc, 18 block: litigator',
]

const expected: Readonly<Record<GateName, readonly string[]>> = {
  strict: strictLines,
  'permission unknown': strictLines,
  'all unknown': [
    'before: 1764 allow, 18 block: internal-dnc, 18 block: litigator',
    'down, first 5 minutes: 139 allow, 155 allow: unknown-allowed, 4 block: internal-dnc, 2 block: litigator',
    'down, to 1:05: 3528 allow: unknown-allowed, 36 block: internal-dnc, 36 block: litigator',
    'down, to 1:20: 882 allow: unknown-allowed, 8 block: internal-dnc, 10 block: litigator',
    'silent, to 2:00: 2352 allow: unknown-allowed, 24 block: internal-dnc, 24 block: litigator',
    'silent, to 2:40: 2352 block: check-unanswered, 24 block: internal-dnc, 24 block: litigator',
    '503, to 3:40: 3528 block: check-unanswered, 36 block: internal-dnc, 36 block: litigator',
    'slow, to 4:00: 604 allow, 572 block: check-unanswered, 12 block: internal-dnc, 12 block: litigator',
    'back: 1764 allow, 18 block: internal-dnc, 18 block: litigator',
  ],
  stale: [
    'before: 1764 allow, 18 block: internal-dnc, 18 block: litigator',
    'down, first 5 minutes: 139 allow, 155 allow: stale-allowed, 4 block: internal-dnc, 2 block: litigator',
    'down, to 1:05: 3379 allow: stale-allowed, 149 block: check-unanswered, 36 block: internal-dnc, 36 block: litigator',
    'down, to 1:20: 882 block: check-unanswered, 8 block: internal-dnc, 10 block: litigator',
    'silent, to 2:00: 2352 block: check-unanswered, 24 block: internal-dnc, 24 block: litigator',
    'silent, to 2:40: 2352 block: check-unanswered, 24 block: internal-dnc, 24 block: litigator',
    '503, to 3:40: 3528 block: check-unanswered, 36 block: internal-dnc, 36 block: litigator',
    'slow, to 4:00: 604 allow, 351 allow: stale-allowed, 221 block: check-unanswered, 12 block: internal-dnc, 12 block: litigator',
    'back: 1764 allow, 18 block: internal-dnc, 18 block: litigator',
  ],
  shadow: [
    'before: 1764 allow, 36 allow: shadowed',
    'down, first 5 minutes: 139 allow, 161 allow: shadowed',
    'down, to 1:05: 3600 allow: shadowed',
    'down, to 1:20: 900 allow: shadowed',
    'silent, to 2:00: 2400 allow: shadowed',
    'silent, to 2:40: 2400 allow: shadowed',
    '503, to 3:40: 3600 allow: shadowed',
    'slow, to 4:00: 604 allow, 596 allow: shadowed',
    'back: 1764 allow, 36 allow: shadowed',
  ],
}

const time = virtualTime(replayFrom)
const opened = new Map<GateName, RemoteGate>()
let results: ReadonlyMap<GateName, readonly Decided[]> = new Map()

beforeAll(async () => {
  for (const name of gateNames) {
    opened.set(
      name,
      remoteGate({ time, latencyMs, slowMs, faults, facts: replayFacts, ...gates[name] }),
    )
  }
  results = await replay(time, opened, end)
}, 300_000)

afterAll(async () => {
  for (const gate of opened.values()) await gate.close()
})

function decidedBy(name: GateName): readonly Decided[] {
  return results.get(name) ?? []
}

function vendorOf(name: GateName) {
  const gate = opened.get(name)
  if (!gate) throw new Error(`no gate ${name}`)
  return gate.vendor
}

const allowsOf = (name: GateName) =>
  decidedBy(name).filter(({ decision }) => decision.decision === 'allow')

/** When the vendor sent an answer about a number, by question and number. */
function answeredBy(name: GateName): (question: QuestionName, number: string) => readonly number[] {
  const times = new Map<string, number[]>()
  for (const { question, atMs, numbers: asked, met } of vendorOf(name).requests) {
    if (met !== 'well' && met !== 'slow') continue
    for (const number of asked) {
      const key = `${question} ${number}`
      const known = times.get(key) ?? []
      known.push(atMs + (met === 'slow' ? slowMs : latencyMs))
      times.set(key, known)
    }
  }
  return (question, number) => times.get(`${question} ${number}`) ?? []
}

describe('a four-hour outage of the vendor', () => {
  it.each(gateNames)('gate %s: what was allowed and why, call by call', (name) => {
    const tally = tallyOf(decidedBy(name), phases, outageFrom)
    printTally(`gate '${name}', ${decidedBy(name).length} calls`, tally)
    expect(decidedBy(name)).toHaveLength((end / 1_000) * callsPerSecond)
    expect(linesOf(tally)).toEqual(expected[name])
  })

  it.each(gateNames)('gate %s: every decision came within the deadline', (name) => {
    const longest = Math.max(...decidedBy(name).map(({ waitedMs }) => waitedMs))
    expect(longest).toBeLessThanOrEqual(gateDeadlineMs)
  })

  it.each(gateNames)('gate %s: every allow that was degraded tells why', (name) => {
    const dumb = allowsOf(name).filter(({ decision: { findings, effects } }) =>
      findings.some(({ check, verdict, notRenewed }) => {
        if (verdict === 'pass' && notRenewed === undefined) return false
        const tellsWhy = (one: PolicyEffect) => describeWhy(one, findings).trim() !== ''
        return !effects.some((one) => one.check === check && tellsWhy(one))
      }),
    )
    expect(dumb).toEqual([])
  })

  it.each(gateNames)(
    'gate %s: every allow without excuse rests on answers of 5 minutes',
    (name) => {
      const answersOf = answeredBy(name)
      const groundless = allowsOf(name)
        .filter(({ decision }) => decision.effects.length === 0)
        .filter(({ atMs, waitedMs, number }) => {
          const nowMs = atMs + waitedMs
          return !questionNames.every((question) =>
            answersOf(question, number).some((at) => at <= nowMs && at > nowMs - allowMs),
          )
        })
      expect(groundless).toEqual([])
    },
  )

  it('the strict gate allows nothing once its answers are 5 minutes old', () => {
    const late = allowsOf('strict').filter(
      ({ atMs }) => atMs >= outageFrom + allowMs && atMs < answersAgainAt,
    )
    expect(late).toEqual([])
  })

  it('a leave for one check is used, and opens no other', () => {
    const silent = decidedBy('permission unknown').filter(
      ({ atMs }) => atMs >= outageFrom + allowMs && atMs < outageFrom + 2 * hour - gateDeadlineMs,
    )
    for (const { decision, number } of silent) {
      const used = decision.effects.map(({ check, because }) => [check, because])
      const expectedUse = knownNo.has(number) ? [] : [['permission', excuse]]
      expect([decision.decision, used]).toEqual(['block', expectedUse])
    }
  })

  it('unknown is allowed for the reason and up to the end that policy gives', () => {
    const excused = allowsOf('all unknown').filter(({ decision }) => decision.effects.length > 0)
    expect(excused.length).toBeGreaterThan(0)
    for (const { decision } of excused) {
      expect(decision.decidedAt).toBeLessThan(policyEnd)
      expect(decision.validUntil).toBeLessThanOrEqual(policyEnd)
      for (const effect of decision.effects) {
        expect(effect).toMatchObject({
          effect: 'unknown-allowed',
          because: excuse,
          until: policyEnd,
        })
      }
    }
  })

  it('stale answers permit for an hour past their 5 minutes and no longer', () => {
    const stale = allowsOf('stale').filter(({ decision }) => decision.effects.length > 0)
    const ages = stale.flatMap(({ decision }) =>
      decision.findings
        .filter(({ notRenewed }) => notRenewed !== undefined)
        .map(({ asOf }) => decision.accountTime - asOf),
    )
    expect(Math.max(...ages)).toBeLessThan(allowMs + hour)
    expect(Math.max(...ages)).toBeGreaterThan(allowMs + hour - 5 * minute)
  })

  it('no outage lifts a known no, whatever policy says of unknown and stale', () => {
    for (const name of gateNames) {
      const lifted = allowsOf(name).filter(({ number }) => knownNo.has(number))
      const enforced = name !== 'shadow'
      expect([name, lifted.length > 0]).toEqual([name, !enforced])
      if (enforced) {
        const reasons = decidedBy(name).filter(({ number }) => knownNo.has(number))
        expect(new Set(reasons.map(({ decision }) => decision.reason))).toEqual(
          new Set(['internal-dnc', 'litigator']),
        )
      }
    }
  })

  it('in shadow every check is still judged', () => {
    const silent = decidedBy('shadow').filter(
      ({ atMs }) => atMs >= outageFrom + allowMs && atMs < answersAgainAt,
    )
    for (const { decision, number } of silent) {
      expect(decision.decision).toBe('allow')
      // One for each question.
      expect(decision.findings).toHaveLength(4)
      expect(decision.findings.some(({ verdict }) => verdict !== 'pass')).toBe(true)
      expect(decision.effects.map(({ effect }) => effect)).toContain('shadowed')
      if (!knownNo.has(number)) continue
      expect(decision.findings.some(({ verdict }) => verdict === 'deny')).toBe(true)
    }
  })

  it('the dead vendor is hardly asked', () => {
    const calls = (callsPerSecond * (answersAgainAt - outageFrom)) / 1_000
    const sent = (name: GateName, question: QuestionName) =>
      vendorOf(name)
        .requestsOf(question)
        .filter(({ atMs }) => atMs >= outageFrom && atMs < answersAgainAt).length
    const rows = gateNames.map((name) => ({
      gate: name,
      counts: questionNames.map((question) => sent(name, question)),
    }))
    console.log(`requests to the dead vendor in 3 h 40 min of ${calls} calls`)
    console.table(
      Object.fromEntries(
        rows.map(({ gate, counts }) => [
          gate,
          Object.fromEntries(questionNames.map((question, index) => [question, counts[index]])),
        ]),
      ),
    )
    for (const { gate, counts } of rows) {
      expect([gate, Math.max(...counts) <= mostRequestsToDeadVendor]).toEqual([gate, true])
    }
  })

  it.each(gateNames)('gate %s: the vendor is asked again within a minute', (name) => {
    for (const question of questionNames) {
      const first = vendorOf(name)
        .requestsOf(question)
        .find(({ atMs }) => atMs >= answersAgainAt)
      expect((first?.atMs ?? Number.POSITIVE_INFINITY) - answersAgainAt).toBeLessThan(
        minute + 1_000,
      )
    }
  })

  it.each(gateNames)('gate %s: once the vendor is back every clean call is allowed', (name) => {
    const after = decidedBy(name).filter(
      ({ atMs, number }) => atMs >= outageUntil + slowMs && !knownNo.has(number),
    )
    expect(after.filter(({ decision }) => decision.decision === 'block')).toEqual([])
  })

  it('nothing is left waiting', async () => {
    for (const gate of opened.values()) await gate.close()
    await time.settle()
    expect(time.waiting()).toBe(0)
    expect(gateNames.map((name) => vendorOf(name).underWay())).toEqual([0, 0, 0, 0, 0])
  })
})
