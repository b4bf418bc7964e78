/**
 * What became of the legs that decisions cover, told to the record: dialled, answered or failed,
 * ended. Whether a leg is covered is the business of `bypass-watch.ts`.
 */
import type { CallOutcome, OutcomeRecorder, OutcomeState } from '../domain/call-outcome.js'
import type { Instant } from '../domain/clock.js'
import type { AsteriskChannel, DialEvent } from './asterisk-port.js'

interface Leg {
  readonly decisionId: string
  readonly name: string
  readonly dialledAt: Instant
  state: Extract<OutcomeState, 'dialled' | 'answered' | 'failed'>
  /** Whether the last list of channels lacked it. */
  missing: boolean
}

/** Statuses that end nothing: the leg rings, or the network tells of its progress. */
const underWay: ReadonlySet<string> = new Set(['', 'RINGING', 'PROGRESS', 'PROCEEDING'])
/** Asterisk's word for a cause that nobody gave; Q.850 has none of that number. */
const noCause = 0
/** Dial() tells CONTINUE and GOTO of a callee who has picked up and whose subroutine has run. */
const pickedUp = /^(?:ANSWER$|CONTINUE$|GOTO)/

export class LegOutcomes {
  readonly #outcomes: OutcomeRecorder
  /** By channel id, from dialling to hang-up. */
  readonly #legs = new Map<string, Leg>()
  /**
   * The leg that stands for its decision, by decision id. Of several it is the one that answers,
   * else the last: a second trunk after the first has failed, or trunks that are rung at once.
   */
  readonly #standing = new Map<string, Leg>()

  constructor(parts: { readonly outcomes: OutcomeRecorder }) {
    this.#outcomes = parts.outcomes
  }

  /** A leg that the decision covers begins to dial. */
  dialled(peer: Pick<AsteriskChannel, 'id' | 'name'>, decisionId: string, at: Instant): void {
    if (this.#legs.has(peer.id)) return
    const leg: Leg = {
      decisionId,
      name: peer.name,
      dialledAt: at,
      state: 'dialled',
      missing: false,
    }
    this.#legs.set(peer.id, leg)
    if (this.#standing.get(decisionId)?.state === 'answered') return
    this.#standing.set(decisionId, leg)
    this.#note(leg, {})
  }

  /** A later event of a leg; of one that is not known nothing is told. */
  progressed({ peer, status, at }: Pick<DialEvent, 'peer' | 'status' | 'at'>): void {
    const leg = this.#legs.get(peer.id)
    if (leg?.state !== 'dialled' || underWay.has(status)) return
    if (pickedUp.test(status)) {
      leg.state = 'answered'
      if (this.#standing.get(leg.decisionId)?.state !== 'answered') {
        this.#standing.set(leg.decisionId, leg)
      }
      this.#note(leg, { answeredAt: at, dialStatus: status })
    } else {
      leg.state = 'failed'
      this.#note(leg, { failedAt: at, dialStatus: status })
    }
  }

  /** A leg that ends without a last status has failed; its cause tells why. */
  ended(channelId: string, cause: number, at: Instant): void {
    const leg = this.#legs.get(channelId)
    if (!leg) return
    const failedNow = leg.state === 'dialled'
    if (failedNow) leg.state = 'failed'
    const known = cause === noCause ? undefined : cause
    this.#note(leg, { ...(failedNow && { failedAt: at }), endedAt: at, cause: known })
    this.#forget(channelId, leg)
  }

  /**
   * Forgets the legs that are gone: that two lists in a row lack, since a leg may be younger than
   * one list. When and how they ended was not seen, so nothing is told: the record keeps the last
   * state that was, without an end.
   */
  resynchronised(present: ReadonlySet<string>): void {
    for (const [channelId, leg] of this.#legs) {
      const wasMissing = leg.missing
      leg.missing = !present.has(channelId)
      if (wasMissing && leg.missing) this.#forget(channelId, leg)
    }
  }

  #forget(channelId: string, leg: Leg): void {
    this.#legs.delete(channelId)
    if (this.#standing.get(leg.decisionId) === leg) this.#standing.delete(leg.decisionId)
  }

  /**
   * Tells of a leg only while it stands for its decision. Not as our own: an allow leaves only
   * after its record is on disk, and a permit may be that of another sidecar.
   */
  #note(leg: Leg, more: Partial<CallOutcome>): void {
    if (this.#standing.get(leg.decisionId) !== leg) return
    const { decisionId, state, name, dialledAt } = leg
    this.#outcomes.note(decisionId, { state, leg: name, dialledAt, ...more }, false)
  }
}
