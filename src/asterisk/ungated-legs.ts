/** What is done about a leg that no permit covers: counted, logged and, where that is set, hung up. */
import type { TrunkSettings } from '../config.js'
import type { Instant } from '../domain/clock.js'
import { maskNumber } from '../domain/phone-number.js'
import type { Logger } from '../log.js'
import type { Metrics } from '../metrics.js'
import type { AsteriskActions, AsteriskChannel } from './asterisk-port.js'
import type { LegNumber } from './leg-number.js'

/**
 * Why no permit covers a leg. `permit-not-valid`: forged, expired, or given for another channel or
 * number; `permit-unknown`: Asterisk did not tell what the channel carries; `begin-unseen`: nor that
 * the leg began to dial, and on whose behalf.
 */
export type Uncovered =
  | 'no-caller'
  | 'no-permit'
  | 'permit-not-valid'
  | 'permit-unknown'
  | 'number-unreadable'
  | 'begin-unseen'

/** A leg at its first event, with what is needed to judge it. */
export interface Leg {
  readonly peer: AsteriskChannel
  readonly caller: AsteriskChannel | undefined
  readonly trunk: TrunkSettings | undefined
  readonly number: LegNumber
  /** Asterisk's time of the event, for the record. */
  readonly at: Instant
  /**
   * For the expiry of permits: the earlier of Asterisk's time and ours. After a pause of this
   * process events are read late, and a call that was allowed then must not be hung up for it. An
   * originator has no say in either time.
   */
  readonly begunAt: Instant
}

export interface UngatedLegsParts {
  /** By the name the settings give it. */
  readonly server: string
  /** Whether to hang up, for trunks that do not say so themselves. */
  readonly enforce: boolean
  readonly actions: Pick<AsteriskActions, 'hangup'>
  readonly metrics: Pick<Metrics, 'ungatedCall'>
  readonly log: Logger
}

export class UngatedLegs {
  readonly #parts: UngatedLegsParts

  constructor(parts: UngatedLegsParts) {
    this.#parts = parts
  }

  /** Emergency calls pass without the gate; trunks that are not watched are nobody's business. */
  found(leg: Leg, why: Uncovered): void {
    const { trunk, number } = leg
    if (!trunk?.watch || number.kind === 'service-code') return
    if (trunk.enforce ?? this.#parts.enforce) void this.#hangUp(leg, why)
    else this.tell(leg, why)
  }

  /** Counts and logs a leg that is let go on, or that was hung up or should have been. */
  tell(leg: Leg, why: Uncovered, done: Enforced = { enforced: false, hungUp: false }): void {
    const { server, metrics, log } = this.#parts
    const { peer, caller, number } = leg
    const trunk = leg.trunk?.name ?? ''
    metrics.ungatedCall({ server, trunk, hungUp: done.hungUp })
    // Someone must act on a call that goes on; one that was hung up is healed.
    log[done.hungUp ? 'warn' : 'error']('a leg on a watched trunk has no permit', {
      server,
      trunk,
      channelId: peer.id,
      channel: peer.name,
      callerChannelId: caller?.id,
      number: number.kind === 'number' ? maskNumber(number.number) : undefined,
      why,
      ...done,
    })
  }

  /** Of a leg whose channel is not known. */
  tellUnknown(trunk: TrunkSettings, dialString: string): void {
    const { server, metrics, log } = this.#parts
    metrics.ungatedCall({ server, trunk: trunk.name, hungUp: false })
    log.error('a leg on a watched trunk cannot be judged: Asterisk does not tell its channel', {
      server,
      trunk: trunk.name,
      dialString,
    })
  }

  async #hangUp(leg: Leg, why: Uncovered): Promise<void> {
    try {
      await this.#parts.actions.hangup(leg.peer.id, 'rejected')
      this.tell(leg, why, { enforced: true, hungUp: true })
    } catch (cause) {
      this.tell(leg, why, { enforced: true, hungUp: false, err: cause })
    }
  }
}

interface Enforced {
  readonly enforced: boolean
  readonly hungUp: boolean
  readonly err?: unknown
}
