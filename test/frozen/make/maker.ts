/** Chooses the steps of a world from a seed, and knows what time it is there. */
import type { Call, Mode, Sent, Step, Stratum, World } from '../script.js'
import { seededNumbers } from '../time.js'

export const kinds = ['manual', 'autodialed', 'ai'] as const

export interface Beginning {
  readonly name: string
  readonly stratum: Stratum
  readonly mode: Mode
  readonly seed: number
  readonly settings: object
  readonly isSample?: true
}

export class Maker {
  readonly steps: Step[] = []
  calls = 0
  readonly #next: () => number
  readonly #begins: Beginning
  #startMs = 0
  #nowMs = 0

  constructor(begins: Beginning) {
    this.#begins = begins
    this.#next = seededNumbers(begins.seed)
    this.startAt(this.pick(starts))
  }

  get world(): World {
    const at = new Date(this.#startMs).toISOString()
    const { settings, ...rest } = this.#begins
    return { ...rest, at, settings, steps: this.steps }
  }

  get nowMs(): number {
    return this.#nowMs
  }

  startAt(text: string): void {
    this.#startMs = Date.parse(text)
    this.#nowMs = this.#startMs
  }

  below(bound: number): number {
    return this.#next() % bound
  }

  /** One time in so many. */
  once(inTimes: number): boolean {
    return this.below(inTimes) === 0
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T
  }

  /** So many milliseconds from now. */
  instant(fromNowMs: number): string {
    return new Date(this.#nowMs + fromNowMs).toISOString()
  }

  day(fromNowDays: number): string {
    return this.instant(fromNowDays * dayMs).slice(0, 10)
  }

  pass(ms: number): void {
    this.#nowMs += ms
    this.steps.push(['pass', ms])
  }

  /** Mostly goes on in the morning when it is night in all of North America. */
  keepToDay(): void {
    const hour = new Date(this.#nowMs).getUTCHours()
    if (hour < 3 || hour > 13 || this.once(10)) return
    this.pass((15 - hour) * hourMs)
  }

  add(step: Step): void {
    this.steps.push(step)
  }

  send(sent: Sent): void {
    this.add(['send', sent])
  }

  call(call: Call): void {
    this.calls += 1
    this.add(['call', call])
  }

  pair(one: Call, other: Call): void {
    this.calls += 2
    this.add(['pair', one, other])
  }
}

export const hourMs = 3_600_000
export const dayMs = 24 * hourMs

/** Days of every kind: usual ones, weekends, holidays, the ends of summer time; by day and in the evening of somewhere. */
const starts = [
  '2026-11-23T17:00:00.000Z',
  '2026-11-24T14:00:00.000Z',
  '2026-11-25T20:30:00.000Z',
  '2026-11-26T18:00:00.000Z',
  '2026-11-28T16:00:00.000Z',
  '2026-11-29T19:00:00.000Z',
  '2026-12-02T12:55:00.000Z',
  '2026-12-03T01:40:00.000Z',
  '2026-12-07T18:00:00.000Z',
  '2026-12-14T22:00:00.000Z',
  '2026-12-24T19:00:00.000Z',
  '2027-01-05T16:00:00.000Z',
  '2027-01-18T17:30:00.000Z',
  '2027-02-10T15:00:00.000Z',
  '2027-03-14T18:00:00.000Z',
  '2027-05-19T19:00:00.000Z',
  '2027-07-05T16:00:00.000Z',
  '2027-08-12T02:30:00.000Z',
] as const
