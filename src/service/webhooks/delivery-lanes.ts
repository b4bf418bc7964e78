/**
 * Chooses the next event to send. The receivers of an account share a few lanes, so that one that
 * hangs does not block the others, and the number of lanes is bounded whatever URLs are given.
 */

import { createHash } from 'node:crypto'
import type { Instant } from '../../domain/time/clock.js'
import { parseUrl } from '../../runtime/parse-url.js'
import type { WebhookEventRow } from '../../storage/tables.js'
import { RoundRobin } from '../background/round-robin.js'

/** The event of a lane that is due next. */
export type LaneHead = Pick<WebhookEventRow, 'id' | 'lane'> & {
  readonly next_attempt_at: Instant
}

const lanesPerAccount = 8

/** The lane for an account and the scheme, host and port of its receiver. */
export function computeLane(accountId: string, url: string): string {
  const receiver = parseUrl(url)?.origin ?? ''
  const [byte = 0] = createHash('sha256').update(receiver).digest()
  return `${accountId} ${byte % lanesPerAccount}`
}

function parseLaneAccount(lane: string): string {
  return lane.slice(0, lane.lastIndexOf(' '))
}

/** Maximum deliveries in flight for one account, whatever the total limit. */
const maxPerAccount = 8

/**
 * The deliveries in flight: one account has at most a quarter of all, and one of its lanes half of
 * that. Accounts take turns, and so do the lanes of each account.
 */
export class DeliveryLanes {
  readonly #max: number
  readonly #maxPerAccount: number
  /** Event id to lane. */
  readonly #inFlight = new Map<string, string>()
  /** Keyed by account and by lane. */
  readonly #turns = new RoundRobin()

  constructor(max: number) {
    this.#max = max
    this.#maxPerAccount = Math.min(maxPerAccount, Math.ceil(max / 4))
  }

  /** Ids of events. */
  get inFlight(): readonly string[] {
    return [...this.#inFlight.keys()]
  }

  /** Picks the next due event that may be sent now, and marks it as in flight. */
  take(heads: Iterable<LaneHead>, now: Instant): LaneHead | undefined {
    if (this.#inFlight.size >= this.#max) return undefined
    const [next] = [...heads]
      .filter((head) => head.next_attempt_at <= now && this.#hasRoom(head.lane))
      .sort((one, other) => this.#compare(one, other))
    if (!next) return undefined
    this.#inFlight.set(next.id, next.lane)
    this.#turns.take(parseLaneAccount(next.lane))
    this.#turns.take(next.lane)
    return next
  }

  release(id: string): void {
    this.#inFlight.delete(id)
  }

  #hasRoom(lane: string): boolean {
    const lanes = [...this.#inFlight.values()]
    const inLane = lanes.filter((one) => one === lane).length
    const ofAccount = lanes.filter((one) => parseLaneAccount(one) === parseLaneAccount(lane)).length
    return ofAccount < this.#maxPerAccount && inLane < Math.ceil(this.#maxPerAccount / 2)
  }

  #compare(one: LaneHead, other: LaneHead): number {
    const turn = (key: string) => this.#turns.latest(key)
    return (
      turn(parseLaneAccount(one.lane)) - turn(parseLaneAccount(other.lane)) ||
      turn(one.lane) - turn(other.lane) ||
      one.next_attempt_at - other.next_attempt_at
    )
  }
}
