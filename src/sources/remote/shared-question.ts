/** One question to a provider and everybody who waits for its answer. */
import type { Asked, Question } from '../../domain/compliance.js'

/** One who waits, or several who came within a millisecond of each other. */
export interface Listener<Asks extends Question, Value> {
  readonly question: SharedQuestion<Asks, Value>
  readonly inBackground: boolean
  /** When it is told that there is no answer, on the monotonic clock. */
  readonly deadlineMs: number
  readonly promise: Promise<Asked<Value>>
  readonly tell: (asked: Asked<Value>) => void
}

/** Who comes so soon after another shares its promise, and is told that much too early. */
const sameMomentMs = 1

export class SharedQuestion<Asks extends Question, Value> {
  readonly asks: Asks
  readonly identity: string
  /** Another one once its request was refused and is asked again in parts. */
  group: string
  /** Lower came earlier; decides which group is sent first. */
  order = 0
  isUrgent: boolean
  place: 'queued' | 'resting' | 'sent' | 'ended' = 'queued'
  /** Failed requests that it was in. */
  attempts = 0
  /** It was in a request whose key was not accepted, and is asked with another. */
  isWithNewKey = false
  /** Listeners that have not been told. */
  waiting = 0
  /** Of all listeners the last. */
  lastDeadlineMs = Number.NEGATIVE_INFINITY
  readonly listeners: Listener<Asks, Value>[] = []

  constructor(asks: Asks, about: { readonly identity: string; readonly group: string }) {
    this.asks = asks
    this.identity = about.identity
    this.group = about.group
    this.isUrgent = asks.inBackground !== true
  }

  /** The promise that the next one may share. */
  listenerLike(inBackground: boolean, deadlineMs: number): Listener<Asks, Value> | undefined {
    const last = this.listeners.at(-1)
    const isLike =
      last?.inBackground === inBackground && deadlineMs - last.deadlineMs <= sameMomentMs
    return isLike ? last : undefined
  }

  listen(inBackground: boolean, deadlineMs: number): Listener<Asks, Value> {
    let tell: Listener<Asks, Value>['tell'] = () => undefined
    const promise = new Promise<Asked<Value>>((resolve) => {
      tell = resolve
    })
    const listener = { question: this, inBackground, deadlineMs, promise, tell }
    this.listeners.push(listener)
    this.waiting += 1
    this.lastDeadlineMs = Math.max(this.lastDeadlineMs, deadlineMs)
    return listener
  }
}

export type Questions<Asks extends Question, Value> = readonly SharedQuestion<Asks, Value>[]
