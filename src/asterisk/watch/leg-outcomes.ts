/**
 * Records the outcome of legs with a permit: dialed, answered or failed, ended. `bypass-monitor.ts`
 * checks the permits.
 */
import type { CallOutcome, OutcomeRecorder, OutcomeState } from '../../domain/call-outcome.js'
import type { Instant } from '../../domain/time/clock.js'
import type { AsteriskChannel, DialEvent } from '../asterisk-port.js'

interface TrackedLeg {
  readonly decisionId: string
  readonly name: string
  readonly dialedAt: Instant
  answeredAt?: Instant
  failedAt?: Instant
  /** Of `Dial()`. */
  dialStatus?: string
  state: Extract<OutcomeState, 'dialled' | 'answered' | 'failed'>
  /** Whether it was missing in the last list of channels. */
  isMissing: boolean
}

/** Statuses of a leg that is still being dialed. */
const inProgressStatuses: ReadonlySet<string> = new Set(['', 'RINGING', 'PROGRESS', 'PROCEEDING'])
/** Asterisk's value for an unknown cause; Q.850 does not use this number. */
const noCause = 0
/** Dial() reports CONTINUE and GOTO after the callee answered and its subroutine has run. */
const answeredPattern = /^(?:ANSWER$|CONTINUE$|GOTO)/
/** Any other status means that somebody may have answered at an unknown time; DONTCALL and TORTURE are keys that the person pressed. */
const unansweredStatuses: ReadonlySet<string> = new Set([
  'BUSY',
  'NOANSWER',
  'CANCEL',
  'CONGESTION',
  'CHANUNAVAIL',
  'INVALIDARGS',
])
/** ITU-T Q.850. Others, such as 16 (normal clearing), also end answered calls. */
const unansweredCauses: ReadonlySet<number> = new Set([
  1, 3, 17, 18, 19, 20, 21, 22, 27, 28, 34, 38, 42,
])

export class LegOutcomeTracker {
  readonly #outcomes: OutcomeRecorder
  /** By channel id, from dialing to hangup. */
  readonly #legs = new Map<string, TrackedLeg>()
  /**
   * The leg that represents its decision, by decision id. Of several legs, such as a second trunk after
   * a failure or several trunks in parallel, it is the answered one, otherwise the last.
   */
  readonly #decisionLegs = new Map<string, TrackedLeg>()

  constructor(deps: { readonly outcomes: OutcomeRecorder }) {
    this.#outcomes = deps.outcomes
  }

  /** A leg with a valid permit starts dialing. */
  onLegDialed(peer: Pick<AsteriskChannel, 'id' | 'name'>, decisionId: string, at: Instant): void {
    if (this.#legs.has(peer.id)) return
    const leg: TrackedLeg = {
      decisionId,
      name: peer.name,
      dialedAt: at,
      state: 'dialled',
      isMissing: false,
    }
    this.#legs.set(peer.id, leg)
    if (this.#decisionLegs.get(decisionId)?.state === 'answered') return
    this.#decisionLegs.set(decisionId, leg)
    this.#record(leg)
  }

  /** A later event of a leg; ignored for unknown legs. */
  onLegProgressed({ peer, status, at }: Pick<DialEvent, 'peer' | 'status' | 'at'>): void {
    const leg = this.#legs.get(peer.id)
    if (leg?.state !== 'dialled' || inProgressStatuses.has(status)) return
    leg.dialStatus = status
    if (!unansweredStatuses.has(status)) {
      leg.state = 'answered'
      if (answeredPattern.test(status)) leg.answeredAt = at
      if (this.#decisionLegs.get(leg.decisionId)?.state !== 'answered') {
        this.#decisionLegs.set(leg.decisionId, leg)
      }
    } else {
      leg.state = 'failed'
      leg.failedAt = at
    }
    this.#record(leg)
  }

  /** If the final status was missed, the cause decides whether the leg was answered. A cause that leaves it open counts as answered. */
  onLegEnded(channelId: string, cause: number, at: Instant): void {
    const leg = this.#legs.get(channelId)
    if (!leg) return
    if (leg.state === 'dialled' && unansweredCauses.has(cause)) {
      leg.state = 'failed'
      leg.failedAt = at
    } else if (leg.state === 'dialled') leg.state = 'answered'
    this.#record(leg, { endedAt: at, cause: cause === noCause ? undefined : cause })
    this.#forget(channelId, leg)
  }

  /**
   * Forgets legs that are missing in two consecutive lists; one is not enough, since a leg may be newer
   * than the list. Their end was missed, so the record keeps the last known state without an end.
   */
  onResynchronized(present: ReadonlySet<string>): void {
    for (const [channelId, leg] of this.#legs) {
      const wasMissing = leg.isMissing
      leg.isMissing = !present.has(channelId)
      if (wasMissing && leg.isMissing) this.#forget(channelId, leg)
    }
  }

  #forget(channelId: string, leg: TrackedLeg): void {
    this.#legs.delete(channelId)
    if (this.#decisionLegs.get(leg.decisionId) === leg) this.#decisionLegs.delete(leg.decisionId)
  }

  /**
   * Records all that is known of a leg, but only while it represents its decision. Passes `own` as false, since the decision's
   * record is already on disk and the permit may be from another sidecar.
   */
  #record(leg: TrackedLeg, end: Pick<Partial<CallOutcome>, 'endedAt' | 'cause'> = {}): void {
    if (this.#decisionLegs.get(leg.decisionId) !== leg) return
    const { decisionId, state, name, dialedAt: dialledAt, answeredAt, failedAt, dialStatus } = leg
    const known = { state, leg: name, dialledAt, answeredAt, failedAt, dialStatus }
    this.#outcomes.record(decisionId, { ...known, ...end }, false)
  }
}
