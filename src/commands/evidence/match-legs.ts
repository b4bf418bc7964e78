/**
 * Matches the legs that a carrier billed with the recorded decisions: by the id of the decision where the leg has one, else by
 * number and time. Pure.
 */
import { type BilledLeg, minIdLength } from '../../data/feeds/call-records.js'
import type { CallOutcome } from '../../domain/call-outcome.js'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant, msPerHour } from '../../domain/time/dates.js'

/** What a decision said, and what is known of its call. */
export interface DecidedCall {
  readonly id: string
  /** As {@link BilledLeg.number}; empty if it was erased. */
  readonly number: string
  readonly isAllow: boolean
  readonly reason: string
  readonly decidedAt: Instant
  readonly validUntil: Instant
  outcome: Partial<CallOutcome>
  /** Those that are matched with it. */
  legs: number
  /** Whether there is a leg that must not rest on it. */
  hasWrongLeg: boolean
}

/**
 * - `no-decision`: a leg without a decision, which went around the gate;
 * - `blocked`, `expired`, `withdrawn`: its decision was a block, or an allow that was no longer valid, or whose call was
 *   reported as not placed;
 * - `used-again`: its allow has other legs, as many as it may have;
 * - `other-number`, `other-time`: it names a decision for another number, or of a later time;
 * - `no-leg`: an allow without a leg, and nothing says that its call was not placed.
 */
export const faults = [
  'no-decision',
  'blocked',
  'expired',
  'withdrawn',
  'used-again',
  'other-number',
  'other-time',
  'no-leg',
] as const
export type Fault = (typeof faults)[number]

/** At least one of leg and call. */
export interface Mismatch {
  readonly fault: Fault
  readonly leg?: BilledLeg | undefined
  readonly call?: DecidedCall | undefined
  /** For people. */
  readonly detail: string
}

export interface MatchOptions {
  /** Legs that begin in it, and allows that were decided in it, are reported; others only take part. */
  readonly since: Instant
  readonly until: Instant
  /** How much earlier than its decision, or later than the end of it, a leg may begin: clocks differ. */
  readonly slackMs: number
  readonly maxLegs: number
}

export interface Matching {
  readonly byId: number
  readonly byNumber: number
  /** Of those by number: they could be of several allows, and the nearest in time was taken. */
  readonly ambiguous: number
  /** Allows without a leg that were reported as not placed, and as not connected. */
  readonly notPlaced: number
  readonly notConnected: number
  readonly mismatches: readonly Mismatch[]
}

/** A leg without a decision is compared with the last decision about its number, if that is as recent. */
export const relatedMs = msPerHour

export function matchLegs(
  legs: readonly BilledLeg[],
  calls: ReadonlyMap<string, DecidedCall>,
  options: MatchOptions,
): Matching {
  const matcher = new Matcher(calls, options)
  const unnamed = new Map<string, BilledLeg[]>()
  for (const leg of legs.toSorted((a, b) => a.startsAt - b.startsAt || a.line - b.line)) {
    if (leg.decisionId !== undefined) matcher.matchById(leg, leg.decisionId)
    else addTo(unnamed, leg.number, leg)
  }
  for (const [number, some] of unnamed) matcher.matchByNumber(number, some)
  return matcher.finish()
}

function addTo<One>(groups: Map<string, One[]>, key: string, one: One): void {
  const group = groups.get(key)
  if (group) group.push(one)
  else groups.set(key, [one])
}

interface Pair {
  readonly leg: BilledLeg
  readonly call: DecidedCall
  readonly distanceMs: number
}

class Matcher {
  readonly #calls: ReadonlyMap<string, DecidedCall>
  readonly #options: MatchOptions
  /** In the order of time. */
  readonly #byNumber = new Map<string, DecidedCall[]>()
  /** By the first characters of their ids. */
  readonly #byBeginning = new Map<string, DecidedCall[]>()
  readonly #counts = { byId: 0, byNumber: 0, ambiguous: 0, notPlaced: 0, notConnected: 0 }
  readonly #mismatches: Mismatch[] = []

  constructor(calls: ReadonlyMap<string, DecidedCall>, options: MatchOptions) {
    this.#calls = calls
    this.#options = options
    const inOrder = [...calls.values()].sort((a, b) => a.decidedAt - b.decidedAt)
    for (const call of inOrder) {
      addTo(this.#byNumber, call.number, call)
      addTo(this.#byBeginning, call.id.slice(0, minIdLength), call)
    }
  }

  matchById(leg: BilledLeg, id: string): void {
    const similar = this.#byBeginning.get(id.slice(0, minIdLength)) ?? []
    const named = similar.filter((one) => one.id.startsWith(id))
    const call = named.find(({ number }) => number === leg.number) ?? named[0]
    if (call === undefined) {
      this.#report('no-decision', `names decision ${id}, which is not recorded`, { leg })
      return
    }
    const wrong = this.#findFault(leg, call)
    if (wrong) this.#report(...wrong, { leg, call })
    else this.#use(leg, call, 'byId')
  }

  /** Why a leg that names a decision must not rest on it. */
  #findFault(leg: BilledLeg, call: DecidedCall): readonly [Fault, string] | undefined {
    if (call.number !== '' && call.number !== leg.number) {
      return ['other-number', `decision ${call.id} is for ${call.number}`]
    }
    if (!call.isAllow) return ['blocked', `decision ${call.id} is a block (${call.reason})`]
    if (isNotPlaced(call)) return ['withdrawn', describeNotPlaced(call)]
    const { slackMs, maxLegs } = this.#options
    const at = nearestStart(leg, call)
    if (at > call.validUntil + slackMs) return ['expired', describeEnd(call)]
    if (at < call.decidedAt - slackMs) {
      return [
        'other-time',
        `decision ${call.id} is of ${formatInstant(call.decidedAt)}, later than the leg`,
      ]
    }
    return call.legs >= maxLegs ? ['used-again', describeUse(call)] : undefined
  }

  /** The pairs that are nearest in time first. */
  matchByNumber(number: string, legs: readonly BilledLeg[]): void {
    const calls = this.#byNumber.get(number) ?? []
    const allows = calls.filter((call) => call.isAllow && !isNotPlaced(call))
    const longestMs = Math.max(0, ...allows.map((call) => call.validUntil - call.decidedAt))
    let first = 0
    const pairs = legs.flatMap((leg) => {
      // Both are in the order of time, and a number may have many calls a day.
      const earliest = leg.startsAt - longestMs - this.#options.slackMs
      while ((allows[first]?.decidedAt ?? Number.POSITIVE_INFINITY) < earliest) first += 1
      return this.#listPairs(leg, allows, first)
    })
    const choices = new Map<BilledLeg, number>()
    for (const { leg } of pairs) choices.set(leg, (choices.get(leg) ?? 0) + 1)
    const left = new Set(legs)
    for (const { leg, call } of pairs.sort((a, b) => a.distanceMs - b.distanceMs)) {
      if (!left.has(leg) || call.legs >= this.#options.maxLegs) continue
      left.delete(leg)
      this.#use(leg, call, 'byNumber')
      if ((choices.get(leg) ?? 0) > 1 && this.#isInPeriod(leg.startsAt)) this.#counts.ambiguous += 1
    }
    for (const leg of left) this.#report(...this.#explain(leg, calls))
  }

  #listPairs(leg: BilledLeg, allows: readonly DecidedCall[], first: number): readonly Pair[] {
    const { slackMs } = this.#options
    const pairs: Pair[] = []
    const latest = (leg.orStartsAt ?? leg.startsAt) + slackMs
    for (let index = first; index < allows.length; index += 1) {
      const call = allows[index] as DecidedCall
      if (call.decidedAt > latest) break
      const at = nearestStart(leg, call)
      if (at < call.decidedAt - slackMs || at > call.validUntil + slackMs) continue
      pairs.push({ leg, call, distanceMs: Math.abs(at - call.decidedAt) })
    }
    return pairs
  }

  /** By the last decision about the number before the leg. */
  #explain(
    leg: BilledLeg,
    calls: readonly DecidedCall[],
  ): readonly [Fault, string, Pick<Mismatch, 'leg' | 'call'>] {
    const { slackMs } = this.#options
    const latest = leg.orStartsAt ?? leg.startsAt
    const detailOfNone = 'no decision about this number is of that time'
    const none = ['no-decision', detailOfNone, { leg }] as const
    const call = calls.findLast(({ decidedAt }) => decidedAt <= latest + slackMs)
    if (call === undefined || leg.startsAt - call.decidedAt > relatedMs + slackMs) {
      return none
    }
    const [fault, detail] = this.#findFault(leg, call) ?? ['used-again', describeUse(call)]
    // Between the two readings of a local time.
    return fault === 'other-time' ? none : [fault, detail, { leg, call }]
  }

  #use(leg: BilledLeg, call: DecidedCall, how: 'byId' | 'byNumber'): void {
    call.legs += 1
    if (this.#isInPeriod(leg.startsAt)) this.#counts[how] += 1
  }

  #report(fault: Fault, detail: string, of: Pick<Mismatch, 'leg' | 'call'>): void {
    // Whatever is wrong with the leg, the decision is not without one.
    if (of.call) of.call.hasWrongLeg = true
    const at = of.leg?.startsAt ?? of.call?.decidedAt
    if (at !== undefined && this.#isInPeriod(at)) this.#mismatches.push({ fault, detail, ...of })
  }

  #isInPeriod(at: Instant): boolean {
    return at >= this.#options.since && at < this.#options.until
  }

  finish(): Matching {
    for (const call of this.#calls.values()) this.#countWithoutLeg(call)
    const at = ({ leg, call }: Mismatch) => leg?.startsAt ?? call?.decidedAt ?? 0
    const mismatches = this.#mismatches.sort((a, b) => at(a) - at(b))
    return { ...this.#counts, mismatches }
  }

  #countWithoutLeg(call: DecidedCall): void {
    const { isAllow, legs, hasWrongLeg, decidedAt, reason, outcome } = call
    if (!isAllow || legs > 0 || hasWrongLeg || reason === 'service-code') return
    if (!this.#isInPeriod(decidedAt)) return
    if (isNotPlaced(call)) this.#counts.notPlaced += 1
    // Most carriers bill only calls that were answered.
    else if (outcome.state === 'failed') this.#counts.notConnected += 1
    else this.#report('no-leg', describeOutcome(outcome), { call })
  }
}

/** Of the two readings of a local time that occurs twice, the one that is nearer to the decision. */
function nearestStart({ startsAt, orStartsAt }: BilledLeg, { decidedAt }: DecidedCall): Instant {
  if (orStartsAt === undefined) return startsAt
  const isLater = Math.abs(orStartsAt - decidedAt) < Math.abs(startsAt - decidedAt)
  return isLater ? orStartsAt : startsAt
}

const isNotPlaced = ({ outcome }: DecidedCall) => outcome.state === 'not-carried-out'

const describeNotPlaced = ({ id, outcome }: DecidedCall) =>
  `the call of decision ${id} was reported as not placed (${outcome.notCarriedOut ?? 'not-placed'})`

const describeEnd = ({ id, validUntil }: DecidedCall) =>
  `the allow of decision ${id} was valid until ${formatInstant(validUntil)}`

const describeUse = ({ id }: DecidedCall) => `the allow of decision ${id} has another leg`

function describeOutcome({ state, answeredAt }: Partial<CallOutcome>): string {
  if (answeredAt !== undefined) return `was answered at ${formatInstant(answeredAt)}`
  return state === undefined ? 'nothing is known of the call' : `the call is ${state}`
}
