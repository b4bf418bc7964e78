/**
 * Who may send next. The receivers of an account share a few lanes, so that one that hangs does not
 * hold up the others, and there are never many lanes to choose from, whatever addresses are given.
 */
import { createHash } from 'node:crypto'
import type { Instant } from '../../domain/clock.js'
import type { WebhookEventRow } from '../../storage/tables.js'

/** What a lane has to send first, now or later. */
export type FirstOfLane = Pick<WebhookEventRow, 'id' | 'lane'> & {
  readonly next_attempt_at: Instant
}

const lanesOfAccount = 8

/** Of the account and of the receiver's scheme, host and port. */
export function laneOf(accountId: string, url: string): string {
  const receiver = URL.canParse(url) ? new URL(url).origin : ''
  const [byte = 0] = createHash('sha256').update(receiver).digest()
  return `${accountId} ${byte % lanesOfAccount}`
}

function accountOf(lane: string): string {
  return lane.slice(0, lane.lastIndexOf(' '))
}

/** However many may be under way at once. */
const mostOfAccount = 8

/**
 * What is under way, within bounds: one account has at most a quarter of all, one of its lanes half
 * of that. Accounts take turns, and so do the lanes of each.
 */
export class Lanes {
  readonly #most: number
  readonly #mostOfAccount: number
  /** Lanes by event. */
  readonly #underWay = new Map<string, string>()
  /** Turns are counted; by account and by lane, the latest. */
  readonly #latestTurns = new Map<string, number>()
  #turns = 0

  constructor(most: number) {
    this.#most = most
    this.#mostOfAccount = Math.min(mostOfAccount, Math.ceil(most / 4))
  }

  /** Ids of events. */
  get underWay(): readonly string[] {
    return [...this.#underWay.keys()]
  }

  /** Of what is due, what may be sent now and is next by its turn; it is then under way. */
  take(firsts: Iterable<FirstOfLane>, now: Instant): FirstOfLane | undefined {
    if (this.#underWay.size >= this.#most) return undefined
    const [next] = [...firsts]
      .filter((first) => first.next_attempt_at <= now && this.#hasRoom(first.lane))
      .sort((one, other) => this.#compare(one, other))
    if (!next) return undefined
    this.#underWay.set(next.id, next.lane)
    this.#turns += 1
    this.#latestTurns.set(accountOf(next.lane), this.#turns).set(next.lane, this.#turns)
    return next
  }

  leave(id: string): void {
    this.#underWay.delete(id)
  }

  #hasRoom(lane: string): boolean {
    const lanes = [...this.#underWay.values()]
    const inLane = lanes.filter((one) => one === lane).length
    const ofAccount = lanes.filter((one) => accountOf(one) === accountOf(lane)).length
    return ofAccount < this.#mostOfAccount && inLane < Math.ceil(this.#mostOfAccount / 2)
  }

  #compare(one: FirstOfLane, other: FirstOfLane): number {
    const turn = (name: string) => this.#latestTurns.get(name) ?? 0
    return (
      turn(accountOf(one.lane)) - turn(accountOf(other.lane)) ||
      turn(one.lane) - turn(other.lane) ||
      one.next_attempt_at - other.next_attempt_at
    )
  }
}
